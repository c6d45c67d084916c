"""GATE as users hold it: a scikit-learn estimator from attributed graphs to embeddings."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from graphgate.errors import DivergenceError, InputError, listing
from graphgate.estimators import hyperparameters as arguments
from graphgate.estimators.persistence import SavedModel, load_model, save_model
from graphgate.estimators.presets import find_preset
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph
from graphgate.nn import collapsed
from graphgate.nn.autoencoder import Architecture, EncoderOutput, GATEModel
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss
from graphgate.nn.pattern import AttentionPattern
from graphgate.preprocessing.structural import ROLES
from graphgate.training.checkpoint import Checkpoint
from graphgate.training.loop import Schedule, train
from graphgate.training.objective import training_objective


@dataclass(frozen=True)
class Attention:
    """Attention coefficients as N×N CSR arrays; row i holds α_ij over what node i attends to.

    encoder, decoder : one array a layer, layer 1 first.
    """

    encoder: tuple[sp.csr_array, ...]
    decoder: tuple[sp.csr_array, ...]

    @property
    def average(self) -> sp.csr_array:
        """Σ_k (α(k) + α̂(k)) / 2L, what the paper draws."""
        layers = (*self.encoder, *self.decoder)
        mean = layers[0].copy()
        mean.data = np.mean([layer.data for layer in layers], axis=0)
        return mean


class GATE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Graph attention auto-encoder (Salehi & Davulcu, 2019).

    Learns one vector a node, without labels, from features and edges, and embeds nodes that it
    has not seen. Bare, it is the authors' form with their program's defaults.

    Parameters
    ----------
    dims : d(1) … d(L), the size of each layer; the last is the embedding's.
    preset : "authors" or "paper": feature loss and clipping where these are None.
    activation : σ, by name; "identity" is the paper's choice and by far the fastest.
    tied_weights : the decoder's weights are the encoder's, transposed.
    shared_attention : the decoder's attention is the encoder's.
    attention : "softmax", or "uniform" (1/|N_i|) or "ones" to switch it off.
    feature_loss : "rows" (paper) or "frobenius" (authors); None takes the preset's.
    feature_weight : weight of the feature loss; 0 switches it off.
    structure_weight : λ, the weight of the structure loss; 0 switches it off.
    epochs, learning_rate : number of passes over the graph, and step size of Adam.
    clip_norm : longest gradient; None takes the preset's, infinity never clips.
    patience, tolerance : stop after `patience` epochs in which the loss has not fallen by the
        fraction `tolerance`; None runs all epochs.
    random_state : seed of the starting weights, an int, a NumPy RandomState or None.
    device, dtype : where and in which precision to compute: "cpu", "cuda"; "float32", "float64".
    checkpoint : file that keeps the state of a run, so that the same fit resumes there.
    checkpoint_every : epochs between two such states.
    progress : show a progress bar (on terminals only).

    Attributes
    ----------
    embedding_ : (N, D), the embedding of the graph given to `fit`.
    attention_ : `Attention` on that graph.
    history_ : `History`, the losses of every epoch and why training stopped.
    model_ : the network, `GATEModel`.
    seed_ : the seed that was used.
    notes_ : what the maker of the graph wants to find again with the model; saved with it.
    n_features_in_ : F.
    encoding_ : the `graphgate.Encoding` of the graph's attributes, learned from the nodes given to
        `fit` alone; None where features were given.

    Examples
    --------
    >>> graph = Graph.from_edges(np.eye(4), [(0, 1), (1, 2), (2, 3)])
    >>> gate = GATE(dims=(8, 2), epochs=300, learning_rate=0.01, random_state=0).fit(graph)
    >>> gate.embedding_.shape
    (4, 2)
    """

    def __init__(
        self,
        dims: tuple[int, ...] = (512, 512),
        *,
        preset: str = "authors",
        activation: str = "identity",
        tied_weights: bool = True,
        shared_attention: bool = True,
        attention: str = "softmax",
        feature_loss: str | None = None,
        feature_weight: float = 1.0,
        structure_weight: float = 1.0,
        epochs: int = 200,
        learning_rate: float = 1e-4,
        clip_norm: float | None = None,
        patience: int | None = None,
        tolerance: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
        device: str = "cpu",
        dtype: str = "float32",
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 50,
        progress: bool = True,
    ) -> None:
        self.dims = dims
        self.preset = preset
        self.activation = activation
        self.tied_weights = tied_weights
        self.shared_attention = shared_attention
        self.attention = attention
        self.feature_loss = feature_loss
        self.feature_weight = feature_weight
        self.structure_weight = structure_weight
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.clip_norm = clip_norm
        self.patience = patience
        self.tolerance = tolerance
        self.random_state = random_state
        self.device = device
        self.dtype = dtype
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.progress = progress

    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Learn from a `Graph`, or from features or `Attributes` with `adjacency`; not from `y`.

        Without an adjacency the graph has no edges.
        """
        graph = self._graph(X, adjacency, reset=True)
        architecture, loss, schedule = self._settings(graph)
        device, dtype = arguments.device(self.device), arguments.dtype(self.dtype)
        seed = arguments.seed(self.random_state)
        checkpoint = self._checkpoint(graph, architecture, loss, schedule, seed)
        model = GATEModel(architecture, np.random.default_rng(seed), dtype=dtype).to(device)
        history = train(
            dict(model.named_parameters()),
            training_objective(model, graph, loss),
            schedule,
            checkpoint=checkpoint,
            show_progress=self.progress,
        )
        self.model_, self.history_, self.seed_ = model, history, seed
        self.notes_: dict[str, Any] = {}
        self._encoder = _encoder(model)
        self.directed_, self.weighted_ = graph.directed, graph.weighted
        self._training = {
            "preset": self.preset,
            "feature_loss": loss.feature_form,
            "feature_weight": loss.feature_weight,
            "structure_weight": loss.structure_weight,
            "epochs": schedule.epochs,
            "learning_rate": schedule.learning_rate,
            "random_state": seed,
        }
        encoding = self._encode(graph)
        self.embedding_ = encoding.h.cpu().numpy()
        self.attention_ = self._attention(encoding, graph)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, adjacency: Any = None) -> np.ndarray:
        """`fit`, then the embedding of the same graph, (N, D)."""
        return self.fit(X, adjacency=adjacency).embedding_

    def transform(self, X: Any, *, adjacency: Any = None, nodes: Any = None) -> np.ndarray:
        """The embedding of a graph, which may hold nodes never seen, (N, D).

        The model holds no graph: give the nodes to embed together with everything within L hops
        of them. `nodes` (ids or a mask) asks for the rows of these nodes only, in that order.
        Then only their L-hop neighbourhood is computed: the same vectors as those of the whole
        graph, but for the last bits, which depend on where in an array a number stands.
        """
        graph = self._graph(X, adjacency, reset=False)
        if nodes is None:
            return self._encode(graph).h.cpu().numpy()
        near = graph.neighborhood(nodes, self.model_.n_layers)
        wanted = near.rows(graph.ids[graph.rows(nodes)])
        return self._encode(near).h.cpu().numpy()[wanted]

    def attend(self, X: Any, *, adjacency: Any = None) -> Attention:
        """The attention coefficients on a graph."""
        graph = self._graph(X, adjacency, reset=False)
        return self._attention(self._encode(graph), graph)

    def reconstruct(self, X: Any, *, adjacency: Any = None) -> np.ndarray:
        """X̂, the features as the decoder gives them back, (N, F), dense."""
        graph = self._graph(X, adjacency, reset=False)
        with torch.no_grad():
            pattern = AttentionPattern(graph, **self._where())
            return self.model_.decode(self._encode(graph), pattern).x.cpu().numpy()

    def _graph(self, X: Any, adjacency: Any, *, reset: bool) -> Graph:
        if not reset:
            check_is_fitted(self, "model_")
        if isinstance(X, Attributes):
            X, adjacency = Graph(X, adjacency), None
        if not isinstance(X, Graph):
            if not reset:
                self._refuse_plain()
            kinds = [np.float32, np.float64]
            X = validate_data(self, X, accept_sparse="csr", dtype=kinds, reset=reset)
            if reset:
                self.encoding_ = None
            return Graph(X, adjacency)
        if adjacency is not None:
            raise InputError("a Graph has its own edges; give either a Graph or adjacency=")
        if not reset:
            return self.as_trained(X)
        graph = X.encoded()
        self.encoding_ = graph.encoding
        self.n_features_in_ = graph.n_features
        self.__dict__.pop("feature_names_in_", None)
        if graph.feature_names is not None:
            self.feature_names_in_ = np.array(graph.feature_names, dtype=object)
        return graph

    def as_trained(self, graph: Graph) -> Graph:
        """The graph with the features that the model was trained with, in their order.

        `transform` and the like do this themselves; doing it once beforehand warns once.
        """
        check_is_fitted(self, "model_")
        if graph.attributes is not None:
            if self.encoding_ is None:
                raise InputError(
                    "the model was trained on plain features, but this graph has attributes; give "
                    f"its {self.n_features_in_:,} features as an array, or train on attributes"
                )
            trained_on = tuple(self.encoding_.kinds)
            if graph.structural and not set(ROLES) <= set(trained_on):
                raise InputError(
                    "the model was trained on attributes of nodes, but this graph has only edges; "
                    f"give its nodes' attributes too: {listing(trained_on)}"
                )
            if not graph.structural and trained_on[: len(ROLES)] == ROLES:
                raise InputError(
                    "the model was trained on edges alone, but this graph's nodes have attributes; "
                    "give the edges without them, or train on attributes"
                )
            return graph.encoded(self.encoding_)
        names = getattr(self, "feature_names_in_", None)
        if names is not None and graph.feature_names is not None:
            return graph.with_features([str(name) for name in names])
        self._refuse_plain()
        if graph.n_features != self.n_features_in_:
            raise InputError(
                f"the graph has {graph.n_features} features, but GATE is expecting "
                f"{self.n_features_in_} features as input"
            )
        return graph

    def _refuse_plain(self) -> None:
        """Features without names, of the right width by chance, may be anything."""
        if self.encoding_ is not None:
            raise InputError(
                "the model was trained on attributes, but these are plain features; give "
                f"attributes, which are then encoded: {listing(tuple(self.encoding_.kinds))}"
            )

    def architecture(self, n_features: int) -> Architecture:
        """The network that `fit` would make for so many features."""
        return Architecture(
            n_features,
            arguments.layer_sizes(self.dims),
            self.activation,
            bool(self.tied_weights),
            bool(self.shared_attention),
            self.attention,
        )

    def _settings(self, graph: Graph) -> tuple[Architecture, Loss, Schedule]:
        """The constructor's arguments, checked."""
        form = find_preset(self.preset)
        architecture = self.architecture(graph.n_features)
        loss = Loss(
            form.feature_loss if self.feature_loss is None else self.feature_loss,
            arguments.number("feature_weight", self.feature_weight),
            arguments.number("structure_weight", self.structure_weight),
        )
        clip_norm = form.clip_norm if self.clip_norm is None else self.clip_norm
        schedule = Schedule(
            epochs=arguments.whole("epochs", self.epochs),
            learning_rate=arguments.number("learning_rate", self.learning_rate),
            clip_norm=arguments.number("clip_norm", clip_norm),
            patience=None if self.patience is None else arguments.whole("patience", self.patience),
            tolerance=arguments.number("tolerance", self.tolerance),
        )
        return architecture, loss, schedule

    def _where(self) -> dict[str, Any]:
        weight = self.model_.encoder_weight[0]
        return {"device": weight.device, "dtype": weight.dtype}

    @torch.no_grad()
    def _encode(self, graph: Graph) -> EncoderOutput:
        """X is not made dense by rule here: one product with it does not pay for that."""
        x = FeatureMatrix(graph.x, **self._where())
        pattern = AttentionPattern(graph, **self._where())
        encoding = self._encoder.encode(x, pattern, by_blocks=True)
        if not torch.isfinite(encoding.h).all():
            raise DivergenceError(
                "the embedding has values that are not finite: weights or features are too large; "
                "train with a lower learning_rate, or scale the features"
            )
        return encoding

    @torch.no_grad()
    def _attention(self, encoding: EncoderOutput, graph: Graph) -> Attention:
        pattern = AttentionPattern(graph, **self._where())
        encoder = tuple(pattern.to_scipy(alpha) for alpha in encoding.attention)
        if not self.model_.architecture.has_own_decoder_attention:
            return Attention(encoder, encoder)
        decoding = self.model_.decode(encoding, pattern)
        return Attention(encoder, tuple(pattern.to_scipy(alpha) for alpha in decoding.attention))

    def _checkpoint(
        self, graph: Graph, architecture: Architecture, loss: Loss, schedule: Schedule, seed: int
    ) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        every = arguments.whole("checkpoint_every", self.checkpoint_every)
        if self.random_state is None:
            raise InputError("a checkpoint needs a fixed random_state, so that the run can resume")
        # Everything that decides the course of a run; the number of epochs only decides its end.
        course = asdict(schedule)
        del course["epochs"]
        parts = [asdict(architecture), asdict(loss), course, seed, str(self.dtype)]
        parts.append(graph.fingerprint())
        run = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        return Checkpoint(Path(self.checkpoint), every, run)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file (safetensors with a JSON header)."""
        check_is_fitted(self, "model_")
        names = getattr(self, "feature_names_in_", None)
        save_model(
            path,
            SavedModel(
                self.model_,
                feature_names=None if names is None else tuple(map(str, names)),
                directed=self.directed_,
                weighted=self.weighted_,
                training=self._training,
                encoding=self.encoding_,
                notes=self.notes_,
            ),
        )

    @classmethod
    def load(cls, path: str | Path, *, device: str = "cpu") -> Self:
        """The model in a file, ready for `transform`; it gives the same bytes as the saved one.

        A loaded model has no `embedding_`, `attention_` or `history_`: it holds no graph.
        """
        saved = load_model(path)
        fields = asdict(saved.model.architecture)
        n_features = fields.pop("n_features")
        gate = cls(**fields, **saved.training, device=device, dtype=saved.dtype)
        gate.model_ = saved.model.to(arguments.device(device))
        gate._encoder = _encoder(gate.model_)
        gate._training = saved.training
        gate.notes_ = saved.notes
        gate.seed_ = saved.training["random_state"]
        gate.directed_, gate.weighted_ = saved.directed, saved.weighted
        gate.n_features_in_, gate.encoding_ = n_features, saved.encoding
        if saved.feature_names is not None:
            gate.feature_names_in_ = np.array(saved.feature_names, dtype=object)
        return gate

    @property
    def _n_features_out(self) -> int:
        return self.model_.architecture.dims[-1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = [str(self.dtype)]
        return tags


@torch.no_grad()
def _encoder(model: GATEModel) -> GATEModel | collapsed.FoldedEncoder:
    """What embeds: a linear model needs no more than its weights folded into one matrix."""
    return collapsed.fold(model) if model.architecture.activation == "identity" else model
