"""What `LinearGATE`, `GATE` and any further method have in common."""

from collections.abc import Sequence
from copy import copy
from inspect import signature
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from graphgate.errors import InputError
from graphgate.estimators import hyperparameters as arguments
from graphgate.estimators.base import GraphEmbedder
from graphgate.estimators.fitted import Encoded, Fitted, Summary
from graphgate.estimators.persistence import SavedModel, deciding, not_a_model
from graphgate.estimators.registry import method_of
from graphgate.graph.graph import Graph
from graphgate.io.provenance import versions
from graphgate.linear.attribution import SimilarityParts


class Embedder(GraphEmbedder):
    """An embedder whose model encodes other graphs, is saved, and grows in a store.

    Attributes
    ----------
    fit_ : what was learned, of a class of its own for every method.
    notes_ : anything else to save with the model, as plain JSON.
    """

    fit_: Fitted
    notes_: dict[str, Any]
    _params: dict[str, Any]  # that were used, as far as they decide the result
    memory_limit: float | str | None

    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Learn from a `Graph`, or from features or `Attributes` with `adjacency`; not from `y`.

        Without an adjacency there are no edges.
        """
        raise NotImplementedError

    def encode(self, X: Any, *, adjacency: Any = None) -> Encoded:
        """All that the model computes for a graph, from one pass over it."""
        raise NotImplementedError

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
        raise NotImplementedError

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
            seed = saved.params.get("random_state", 0)
            arguments.integer("random_state", seed, minimum=0, maximum=arguments.LARGEST_SEED)
            estimator._restore()
        except InputError as error:
            raise InputError(f"{what}: {error}") from None
        return estimator

    def _deciding_params(self, **used: Any) -> dict[str, Any]:
        """The parameters that decide the result; `used` are what some of them stood for."""
        params = {name: getattr(self, name) for name in deciding(type(self))} | used
        if "dtype" in params:
            params["dtype"] = str(params["dtype"]).removeprefix("torch.")
        return {n: v.item() if isinstance(v, np.generic) else v for n, v in params.items()}

    def _restore(self) -> None:
        """Refuse parts of a model that do not belong together, and complete it."""

    @property
    def seed_(self) -> int:
        """The random seed that was used."""
        return int(self._params["random_state"])

    def refitted(self, graph: Graph, n_components: int) -> Self:
        """Fitted on another graph, with vectors of this size."""
        raise NotImplementedError

    def with_fit(self, fit: Any) -> Self:
        """A copy that has learned something else."""
        other = copy(self)
        other.fit_ = fit
        return other
