"""Estimators by name, and model files of any of them."""

from pathlib import Path
from typing import Any

from graphgate.errors import InputError, check_choice
from graphgate.estimators.embedder import Embedder as Estimator
from graphgate.estimators.registry import EMBEDDERS

OF_STORE = "of a store"  # the note of a model whose nodes are in the tables of a store


def named_estimator(method: str, params: dict[str, Any]) -> Estimator:
    """An unfitted estimator of a method, such as "linear" or "gate", with these parameters."""
    check_choice("method", method, tuple(EMBEDDERS))
    known = parameters_by_method()
    if unknown := sorted(params.keys() - known[method]):
        name = unknown[0]
        for other in EMBEDDERS:
            if name in known[other]:
                raise InputError(
                    f"{name} is a parameter of method={other!r}; omit it, or use that method"
                )
        raise InputError(f"{EMBEDDERS[method].title} has no parameter {name!r}")
    estimator: Estimator = EMBEDDERS[method].maker()(**params)
    return estimator


def parameters_by_method() -> dict[str, set[str]]:
    """The names of the parameters of every method, by its name."""
    return {name: set(method.maker()().get_params()) for name, method in EMBEDDERS.items()}


def load_model(path: str | Path, *, device: str | None = None) -> Estimator:
    """The model that `save` wrote to a file, whichever estimator it is of.

    device : where to compute, for methods that have a choice, such as `GATE`.

    >>> from tempfile import TemporaryDirectory
    >>> from graphgate import Graph, LinearGATE
    >>> with TemporaryDirectory() as folder:
    ...     LinearGATE(n_components=2).fit(Graph([[1.0], [2.0], [4.0]])).save(f"{folder}/model")
    ...     load_model(f"{folder}/model").transform(Graph([[3.0]])).shape
    (1, 2)
    """
    estimator = Estimator.load(path, device=device)
    if OF_STORE in estimator.notes_:
        raise InputError(
            f"{path} is the model of a store, without what its tables hold of single nodes; open "
            "the store, and save the model that it returns"
        )
    return estimator
