"""What `LinearGATE`, `GATE` and any further method have in common."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from graphgate.compute.counts import GraphCounts
from graphgate.compute.machine import available_bytes, room_within, shortage
from graphgate.compute.plan_log import Plan, log_plan, log_traffic
from graphgate.compute.processes import Processes, current_processes
from graphgate.errors import InputError, MemoryLimitError
from graphgate.estimators import hyperparameters as arguments
from graphgate.estimators.base import Given, GraphEmbedder, GraphKind
from graphgate.estimators.equal_vectors import warn_of_equal_vectors
from graphgate.estimators.fitted import Encoded, Fitted, Summary
from graphgate.estimators.persistence import SavedModel, deciding, not_a_model
from graphgate.estimators.registry import method_of
from graphgate.graph.graph import Graph
from graphgate.io.provenance import versions
from graphgate.io.reading_options import reading_of
from graphgate.linear.attribution import SimilarityParts
from graphgate.preprocessing.attribute_encoder import AttributeEncoder


@dataclass(frozen=True)
class Prepared:
    """A graph as a fit takes it, and how it will be fitted.

    graph : with features, which `encoder` made if it is not None.
    kind : of the graph that was given.
    processes : those that share the fit.
    available : bytes for the fit, None where unknown.
    """

    graph: Graph
    kind: GraphKind
    encoder: AttributeEncoder | None
    processes: Processes
    plan: Any
    available: int | None


class Embedder(GraphEmbedder):
    """An embedder whose model encodes other graphs, is saved, and grows in a store.

    A method is a class derived from this one with `plan`, `_learn` and `_encode`, whose parameters
    include `scale`, `random_state`, `dtype` and `memory_limit`, and with an annotation of `fit_`.

    Attributes
    ----------
    fit_ : what was learned, of a class of its own for every method.
    notes_ : anything else to save with the model, as plain JSON.
    """

    fit_: Fitted
    notes_: dict[str, Any]
    _params: dict[str, Any]  # that were used, as far as they decide the result
    dtype: str
    random_state: Any
    memory_limit: float | str | None

    def prepare(
        self, X: Any, adjacency: Any = None, processes: Processes | None = None
    ) -> "Prepared":
        """What `fit` is given, encoded, with the plan of the fit; `fit` and `encode` take it too.

        processes : those that share the fit; by default, those that torchrun has started.
        """
        given, processes = self._given(X, adjacency), processes or current_processes()
        return Prepared(*given, processes, *self.planned(GraphCounts.of(given.graph), processes))

    def planned(
        self, counts: GraphCounts, processes: Processes, loading: int = 0
    ) -> tuple[Plan, int | None]:
        """The plan for a graph of this size, and the memory that there is for it.

        That is the least that any of the processes has; None where it is unknown, as on devices
        other than the CPU.

        loading : bytes of the graph, where it is not in memory yet.
        """
        available = room_within(arguments.memory_limit(self.memory_limit))
        if available is None and str(getattr(self, "device", "cpu")).startswith("cpu"):
            free = available_bytes()
            available = None if free is None else free // processes.local_size
        available = processes.least(available)
        if available is not None:
            available -= loading
        return self.plan(counts, available, processes.size), available

    def plan(self, counts: GraphCounts, available: int | None = None, n_processes: int = 1) -> Plan:
        """How a graph of this size is fitted, in this many bytes beside it; None is unlimited."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Learn from a `Graph`, or from features or `Attributes` with `adjacency`; not from `y`.

        Without an adjacency there are no edges.
        """
        prepared = X if isinstance(X, Prepared) else self.prepare(X, adjacency)
        if self.memory_limit is not None:
            self.check_fits(prepared)
        processes = prepared.processes
        seed = int(processes.broadcast(torch.tensor(arguments.seed(self.random_state))))
        log_plan(processes, prepared.plan)
        self.fit_, self.embedding_, used = self._learn(prepared, seed)
        log_traffic(processes)
        self._learned_from(Given(prepared.graph, prepared.kind, prepared.encoder))
        self._params = self._deciding_params(random_state=seed, **used)
        reading = reading_of(prepared.graph)
        self.notes_ = {} if reading is None else {"reading": reading.to_dict()}
        warn_of_equal_vectors(self.embedding_, prepared.graph)
        return self

    def _learn(self, prepared: "Prepared", seed: int) -> tuple[Any, np.ndarray, dict[str, Any]]:
        """What is learned, the embedding, and what some parameters stand for."""
        raise NotImplementedError

    def keeps_within(self, plan: Plan, available: int | None) -> bool:
        """Whether a plan keeps within this many bytes.

        A limit may be exceeded by a fifth: what libraries take is not known exactly.
        """
        limit = arguments.memory_limit(self.memory_limit) or 0
        return available is None or plan.bytes <= available + limit // 5

    def check_fits(self, prepared: "Prepared") -> None:
        """Raise `MemoryLimitError` if a fit needs more memory than is available."""
        plan, available = prepared.plan, prepared.available
        if available is None or self.keeps_within(plan, available):
            return
        dims, hint = plan.fitting_dims(available), f"; {plan.remedy}"
        if dims is not None:
            hint = f"; dims={dims} would fit" if dims else "; no dims would fit"
        available, limited = max(0, available), self.memory_limit is not None
        raise MemoryLimitError(
            f"the fit {shortage(plan.bytes, available, limited=limited)}{hint}",
            needed=plan.bytes,
            available=available,
            fitting_dims=dims,
        )

    def encode(self, X: Any, *, adjacency: Any = None) -> Encoded:
        """All that the model computes for a graph, from one pass over it."""
        if isinstance(X, Prepared):
            return self._encode(X.graph)
        return self._encode(self._encoded(self._checked_graph(X, adjacency)))

    def _encode(self, graph: Graph) -> Encoded:
        raise NotImplementedError

    def reconstruct(self, X: Any, *, adjacency: Any = None) -> np.ndarray:
        """X̂, the features of the nodes as the model reconstructs them, (N, F), dense."""
        return self.encode(X, adjacency=adjacency).reconstruction()

    def predict_links(self, graph: Graph, n: int = 100) -> tuple[np.ndarray, Any]:
        """The likeliest edges that a graph does not have, by methods that propose any."""
        raise InputError(f"{type(self).__name__} proposes no edges; use LinearGATE")

    def explain_similarity(
        self, node: Any, others: Sequence[Any], graph: Graph | None = None
    ) -> list[SimilarityParts]:
        """What cosines are made of, by methods whose vectors are sums of views and sources."""
        name = type(self).__name__
        raise InputError(f"similarities of {name} are no sums of columns; use LinearGATE")

    def summary(self) -> Summary:
        """What the fit reports about itself."""
        return Summary()

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file (safetensors with a JSON header).

        It contains no graph, but the ids of the nodes given to `fit` where the model knows them.
        """
        check_is_fitted(self)
        names, encoder = getattr(self, "feature_names_in_", None), self.encoder_
        SavedModel(
            method_of(type(self)).name,
            self._params,
            self.n_features_in_,
            None if names is None else tuple(map(str, names)),
            None if encoder is None else encoder.to_dict(),
            self.fitted_on_,
            self.notes_,
            versions(),
            self.fit_,
        ).write(path)

    @classmethod
    def load(cls, path: str | Path, *, device: str | None = None) -> Self:
        """The model in a file, ready for `transform`.

        Every parameter that decides the result is that of the saved model, the random seed
        included; `device` is yours, where a method has one. A loaded model has no `embedding_`: it
        holds no graph.
        """
        (saved, kind), what = SavedModel.read(path, cls), not_a_model(path)
        given = {} if device is None else {"device": device}
        if given.keys() - signature(kind).parameters.keys():
            raise InputError(f"{path} holds a {kind.__name__}, which has no device; omit it")
        estimator: Self = kind(**saved.params, **given)
        estimator.n_features_in_, estimator.fitted_on_ = saved.n_features, saved.fitted_on
        estimator.encoder_, estimator.notes_ = saved.restored_encoder(what), saved.notes
        if saved.feature_names is not None:
            estimator.feature_names_in_ = np.array(saved.feature_names, dtype=object)
        estimator._params, estimator.fit_ = saved.params, saved.fit
        try:
            seed, largest = saved.params["random_state"], arguments.LARGEST_SEED
            arguments.integer("random_state", seed, minimum=0, maximum=largest)
            estimator._restore()
        except InputError as error:
            raise InputError(f"{what}: {error}") from None
        return estimator

    def _deciding_params(self, **used: Any) -> dict[str, Any]:
        """The parameters that decide the result; `used` are what some of them stood for."""
        params = {name: getattr(self, name) for name in deciding(type(self))}
        params |= {"dtype": self._dtype_name} | used
        return {n: v.item() if isinstance(v, np.generic) else v for n, v in params.items()}

    @property
    def _dtype_name(self) -> str:
        return str(self.dtype).removeprefix("torch.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = [self._dtype_name]
        return tags

    def _restore(self) -> None:
        """Refuse parts of a model that do not belong together, and complete it."""

    @property
    def seed_(self) -> int:
        """The random seed that was used."""
        return int(self._params["random_state"])

    def refitted(self, graph: Graph, n_components: int) -> Self:
        """Fitted on another graph, with vectors of this size."""
        return clone(self).fit(graph)

    def with_fit(self, fit: Any) -> Self:
        """A copy that has learned something else."""
        other = copy(self)
        other.fit_ = fit
        return other
