"""GATE, the graph attention auto-encoder, as a scikit-learn estimator."""

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from graphgate.compute.counts import GraphCounts
from graphgate.compute.processes import Processes
from graphgate.errors import InputError
from graphgate.estimators import hyperparameters as arguments
from graphgate.estimators.embedder import Embedder, Prepared
from graphgate.estimators.equal_vectors import warn_of_equal_vectors
from graphgate.estimators.fitted import Summary
from graphgate.estimators.gate_fit import EmbeddedGraph, GATEFit
from graphgate.graph.graph import Graph
from graphgate.linear.coordinates import sources_of_rules
from graphgate.linear.solution import column_weights
from graphgate.linear.weights import MOST_SOURCES
from graphgate.nn.autoencoder import Architecture, GATEModel
from graphgate.nn.losses import Loss
from graphgate.training.loop import Schedule
from graphgate.training.memory import fitting_plan
from graphgate.training.plan import TrainingPlan, part_size
from graphgate.training.run import Start, TrainingRun


class GATE(Embedder):
    """Graph attention auto-encoder (Salehi & Davulcu, 2019).

    Learns one vector per node, without labels, from features and edges, and embeds nodes that it
    has not seen. By default it is trained in our own form, which takes seconds: it starts from the
    singular vectors of the features and stops when the loss has flattened. The presets follow the
    reference implementation and the paper.

    Without a preset, columns of attributes count as much as the rest of the data supports them,
    by the weights that `LinearGATE` chooses; `encoder_.weights_` has them.

    Parameters
    ----------
    dims : d(1) … d(L), the size of each layer; the last is the dimension of the embedding.
    preset : "authors" or "paper" for a published formulation, with its random start and its value
        of every parameter that is None here; None is our own form.
    activation : σ, by name; "identity" is the paper's choice and by far the fastest.
    tied_weights : the decoder's weights are the encoder's, transposed.
    shared_attention : the decoder's attention is the encoder's.
    attention : "softmax", or "uniform" (1/|N_i|) or "ones" to switch it off.
    feature_loss : "rows" (paper) or "frobenius" (authors, and our own form).
    feature_weight : weight of the feature loss; 0 switches it off.
    structure_weight : λ, the weight of the structure loss; 0 switches it off.
    epochs : number of passes over the graph, at most; 200 in the presets, 30 in our form. By
        parts, an epoch is as many steps as visit N nodes, but at most 5, and its loss the mean of
        their estimates of the loss of the whole graph.
    learning_rate : step size of Adam; 1e-4 in the presets, fitted to the sizes in our form.
    clip_norm : maximum gradient norm; infinity never clips.
    patience, tolerance : stop after `patience` epochs in which the loss has not fallen by the
        fraction `tolerance`; a patience of infinity, as in the presets, runs all epochs.
    batch_size : nodes in a part of the graph, one or more of which make a step of training; "full"
        for the whole graph; "auto" for the whole graph in the presets and up to 50,000 nodes, and
        beyond that parts of 16,384 nodes or a sixteenth of all, whichever is more. Only training
        is by parts: `embedding_` is that of the graph.
    parts_per_step : parts whose gradients are averaged in a step, which the processes under
        `torchrun` share; None is one for each of them. With a number, the result does not depend
        on how many processes there are.
    scale : whether numbers among attributes are standardized; features are used as they are.
    random_state : random seed of the initial weights, an int, a NumPy RandomState or None.
    device, dtype : where and in which precision to compute: "cpu", "cuda"; "float32", "float64".
    memory_limit : how much memory the process may take in all: a number of bytes, or text such as
        "500MB" or "4GiB"; None is what is free. A run that would take more is trained in blocks
        of columns, with the same result up to rounding, if its activation is the identity and its
        weights and attention are shared with the decoder. Part of it is then in a temporary file.
    warm_start : start from the weights of the last `fit`, as far as features are the same.
    checkpoint : file that stores the state of training, from which the same fit resumes.
    checkpoint_every : epochs between two checkpoints.
    progress : show a progress bar (on terminals only).

    Attributes
    ----------
    embedding_ : (N, D), the embedding of the graph given to `fit`.
    attention_ : `Attention` on that graph.
    history_ : `History`, the losses of every epoch and why training stopped.
    model_ : the network, `GATEModel`.
    seed_ : the random seed that was used.
    weight_unit_ : what edge weights are divided by: their mean in training, in our form; or 1.
    notes_ : anything else to save with the model, as plain JSON.
    n_features_in_ : F.
    encoder_ : the `AttributeEncoder` of the graph's attributes, fitted on the nodes given to `fit`
        alone; None where features were given.
    fitted_on_ : what kind of graph `fit` was given; others are refused.

    Examples
    --------
    >>> graph = Graph.from_edges(np.eye(4), [(0, 1), (1, 2), (2, 3)])
    >>> gate = GATE(dims=(8, 2), epochs=300, learning_rate=0.01, random_state=0).fit(graph)
    >>> gate.embedding_.shape
    (4, 2)
    """

    fit_: GATEFit

    def __init__(
        self,
        dims: tuple[int, ...] = (512, 512),
        *,
        preset: str | None = None,
        activation: str = "identity",
        tied_weights: bool = True,
        shared_attention: bool = True,
        attention: str = "softmax",
        feature_loss: str | None = None,
        feature_weight: float = 1.0,
        structure_weight: float = 1.0,
        epochs: int | None = None,
        learning_rate: float | None = None,
        clip_norm: float | None = None,
        patience: int | float | None = None,
        tolerance: float | None = None,
        batch_size: int | str = "auto",
        parts_per_step: int | None = None,
        scale: bool = True,
        random_state: int | np.random.RandomState | None = None,
        device: str = "cpu",
        dtype: str = "float32",
        memory_limit: float | str | None = None,
        warm_start: bool = False,
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
        self.batch_size = batch_size
        self.parts_per_step = parts_per_step
        self.scale = scale
        self.random_state = random_state
        self.device = device
        self.dtype = dtype
        self.memory_limit = memory_limit
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.progress = progress

    def prepare(
        self, X: Any, adjacency: Any = None, processes: Processes | None = None
    ) -> Prepared:
        """As for any method; without a preset, columns of attributes are weighed."""
        prepared = super().prepare(X, adjacency, processes)
        graph, encoder = prepared.graph, prepared.encoder
        if self.preset is not None or encoder is None or prepared.kind.content != "attributes":
            return prepared
        sources = sources_of_rules(encoder.rules_)
        if not 1 < len(sources) <= MOST_SOURCES:
            return prepared
        weights = column_weights(graph, sources, prepared.processes)
        by_name = dict(zip((source.name for source in sources), weights, strict=True))
        encoder = encoder.weighted([by_name.get(rule.name, 1.0) for rule in encoder.rules_])
        graph = graph.with_x(encoder.weigh(graph.x), graph.feature_names, copy=False)
        return replace(prepared, graph=graph, encoder=encoder)

    def _learn(self, prepared: Prepared, seed: int) -> tuple[GATEFit, np.ndarray, dict[str, Any]]:
        graph, run, start = prepared.graph, prepared.plan, None
        if arguments.boolean("warm_start", self.warm_start) and hasattr(self, "fit_"):
            start = Start(self.model_, getattr(self, "feature_names_in_", None))
        if self.checkpoint is not None and self.random_state is None:
            raise InputError("a checkpoint needs a fixed random_state, so that the run can resume")
        if self.checkpoint is not None and start is not None:
            raise InputError("a run with a warm_start has no checkpoint; omit one of the two")
        model, self.history_ = run.execute(
            graph,
            seed,
            arguments.device(self.device),
            prepared.processes,
            checkpoint=None if self.checkpoint is None else Path(self.checkpoint),
            checkpoint_every=arguments.integer("checkpoint_every", self.checkpoint_every),
            show_progress=self.progress,
            start=start,
        )
        fit = GATEFit.of(model, run.weight_unit(graph))
        encoded = fit.encode(graph, prepared.processes)
        self.attention_ = encoded.attention
        return fit, encoded.embedding, {"dims": model.architecture.dims}

    def transform(self, X: Any, *, adjacency: Any = None, nodes: Any = None) -> np.ndarray:
        """The embedding of a graph, which may have nodes never seen in `fit`, (N, D).

        The model holds no graph: give the nodes to embed together with everything within L hops
        of them. `nodes` (ids or a mask) selects rows, in that order; then only the L-hop
        neighborhood of these nodes is encoded. Their vectors are those of the whole graph, up to
        rounding.
        """
        graph = self._checked_graph(X, adjacency)
        if nodes is None:
            z = self.fit_.encode(self._encoded(graph)).embedding
            warn_of_equal_vectors(z, graph)
            return self._with_ids(z, X)
        rows = graph.rows(nodes)
        z = np.empty((0, self._n_features_out), dtype=self._dtype_name)
        if len(rows):
            near = self._encoded(graph.neighborhood(nodes, self.model_.n_layers))
            z = self.fit_.encode(near).embedding[near.rows(graph.ids[rows])]
        return self._with_ids(z, X, rows)

    def _encode(self, graph: Graph) -> EmbeddedGraph:
        return self.fit_.encode(graph)

    def checked_settings(
        self, n_features: int, *, by_parts: bool = False
    ) -> tuple[Architecture, Loss, Schedule]:
        """The parameters, validated, as `fit` uses them for this many features."""
        architecture = Architecture(
            n_features,
            arguments.layer_sizes(self.dims),
            self.activation,
            arguments.boolean("tied_weights", self.tied_weights),
            arguments.boolean("shared_attention", self.shared_attention),
            self.attention,
        )
        loss = Loss(
            self._chosen("feature_loss"),
            arguments.number("feature_weight", self.feature_weight),
            arguments.number("structure_weight", self.structure_weight),
        )
        form = arguments.find_preset(self.preset)
        patience, tolerance = form.by_parts if by_parts else (form.patience, form.tolerance)
        rate = self._chosen("learning_rate")
        if rate is None:
            rate = arguments.fitting_learning_rate(architecture.sizes)
        schedule = Schedule(
            epochs=arguments.integer("epochs", self._chosen("epochs")),
            learning_rate=arguments.number("learning_rate", rate),
            clip_norm=arguments.number("clip_norm", self._chosen("clip_norm")),
            patience=arguments.patience(patience if self.patience is None else self.patience),
            tolerance=arguments.number(
                "tolerance", tolerance if self.tolerance is None else self.tolerance
            ),
            keep_best=form.svd_start,
        )
        return architecture, loss, schedule

    def plan(
        self, counts: GraphCounts, available: int | None = None, n_processes: int = 1
    ) -> TrainingRun:
        """How `fit` trains on a graph of this size, in this many bytes beside it."""
        form = arguments.find_preset(self.preset)
        batch_size = arguments.batch_size(self.batch_size)
        size = part_size(counts, batch_size, published=self.preset is not None)
        architecture, loss, schedule = self.checked_settings(
            counts.features, by_parts=size is not None
        )
        parts = n_processes if self.parts_per_step is None else self.parts_per_step
        plan = TrainingPlan(
            counts,
            architecture,
            arguments.dtype(self.dtype),
            bool(loss.feature_weight),
            form.svd_start,
            part_size=size,
            parts_per_step=arguments.integer("parts_per_step", parts),
        )
        schedule = replace(schedule, steps=plan.steps_per_epoch)
        return TrainingRun(
            fitting_plan(plan, available, n_processes), loss, schedule, form.scale_free
        )

    def _chosen(self, name: str) -> Any:
        """A parameter, or what the preset has for it where it is None."""
        given, form = getattr(self, name), arguments.find_preset(self.preset)
        return getattr(form, name) if given is None else given

    def _restore(self) -> None:
        architecture, _, _ = self.checked_settings(self.n_features_in_)
        if architecture != self.fit_.architecture:
            raise InputError("its parameters are not those of its network")
        arguments.batch_size(self.batch_size)
        self.fit_ = self.fit_.on(arguments.device(self.device))

    @property
    def model_(self) -> GATEModel:
        return self.fit_.model

    @property
    def weight_unit_(self) -> float:
        return self.fit_.unit

    def summary(self) -> Summary:
        """What the fit reports about itself."""
        return Summary(history=getattr(self, "history_", None))

    def refitted(self, graph: Graph, n_components: int) -> Self:
        """Fitted on another graph, with vectors of this size, starting from its weights."""
        if tuple(self.dims)[-1] != n_components:
            raise InputError(
                f"the vectors of the store have size {n_components}, but those of dims="
                f"{self.dims} would have another; let dims end with {n_components}"
            )
        return copy(self).set_params(warm_start=True).fit(graph)

    @property
    def _n_features_out(self) -> int:
        return self.model_.architecture.dims[-1]
