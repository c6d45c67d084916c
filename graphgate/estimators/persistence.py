"""Model files: what was learned, and what is needed to use it again."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from inspect import signature
from math import inf
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from graphgate.errors import InputError
from graphgate.estimators.base import GraphKind
from graphgate.estimators.codec import Rebuilding, take_apart
from graphgate.estimators.hyperparameters import DTYPES
from graphgate.estimators.registry import EMBEDDERS
from graphgate.io.tensors import read_tensors, write_tensors
from graphgate.preprocessing.attribute_encoder import AttributeEncoder

# Parameters that say how to compute, not what: a model file does not have them.
EXECUTION = {"device", "memory_limit", "warm_start", "progress"}
EXECUTION |= {"checkpoint", "checkpoint_every", "scratch"}
_INFINITY = "infinity"  # for which JSON has no number


@dataclass(frozen=True)
class SavedModel:
    """The content of a model file.

    method : the name of the estimator.
    params : those that decide the result, with the random seed that was used.
    n_features : F, after encoding.
    feature_names : (F,) if the features had names.
    encoder : of the graph's attributes, if it had any, as plain JSON.
    fitted_on : the kind of graph.
    notes : anything else to save with the model, as plain JSON.
    fit : what was learned.
    """

    method: str
    params: dict[str, Any]
    n_features: Annotated[int, (1, inf)]
    feature_names: tuple[str, ...] | None
    encoder: dict[str, Any] | None
    fitted_on: GraphKind
    notes: dict[str, Any]
    versions: dict[str, Any]
    fit: Any

    def write(self, path: Path | str) -> None:
        write_tensors(path, "model", *take_apart(self))

    @classmethod
    def read(cls, path: Path | str, wanted: type) -> tuple["SavedModel", type]:
        """The model of an estimator of this class, and its own class; else an `InputError`."""
        header, tensors = read_tensors(path, "model", {field.name: object for field in fields(cls)})
        what = not_a_model(path)
        saved = Rebuilding({}, DTYPES["float32"], what).part(cls, header, "", {})
        kind = _kind_of(path, saved.method, wanted)
        params = read_params(kind, deciding(kind), saved.params, what)
        dtype, names = params.get("dtype", "float32"), saved.feature_names
        if dtype not in DTYPES:
            raise InputError(f"{what}: unknown dtype {dtype!r}")
        if names is not None and len(names) != saved.n_features:
            raise InputError(
                f"{what}: its feature names do not match its {saved.n_features} features"
            )
        rebuilding = Rebuilding(tensors, DTYPES[dtype], what, {"F": saved.n_features})
        fit = rebuilding.tree(get_type_hints(kind)["fit_"], saved.fit, "fit")
        return replace(saved, params=params, fit=fit), kind

    def restored_encoder(self, what: str) -> AttributeEncoder | None:
        """The encoder of attributes, if nodes were not described by features."""
        if (self.encoder is None) != (self.fitted_on.content == "features"):
            content = self.fitted_on.content
            raise InputError(f"{what}: its encoder does not match the content {content!r}")
        if self.encoder is None:
            return None
        encoder = AttributeEncoder.from_dict(self.encoder, what)
        if tuple(encoder.get_feature_names_out()) != self.feature_names:
            raise InputError(f"{what}: its feature names do not match its encoder")
        return encoder


def deciding(kind: type) -> list[str]:
    """The names of the parameters of an estimator that decide the result."""
    return [name for name in signature(kind).parameters if name not in EXECUTION]


def not_a_model(path: Path | str) -> str:
    """The beginning of messages about files that are no models."""
    return f"{path} is not a graphgate model file"


def _kind_of(path: Path | str, method: str, wanted: type) -> type:
    """The class of the estimator of a method, which is the wanted one or derived from it."""
    if method not in EMBEDDERS:
        raise InputError(f"{path} holds a model of the method {method!r}, which is not registered")
    kind: type = EMBEDDERS[method].maker()
    if issubclass(wanted, kind):
        return wanted
    if not issubclass(kind, wanted):
        title = kind.__name__
        raise InputError(
            f"{path} holds a {title} model, not a {wanted.__name__} model; load it with "
            f"{title}.load, or any model with load_model"
        )
    return kind


# --- parameters ----------------------------------------------------------------------------------


def read_params(kind: type, names: Iterable[str], given: Any, what: str) -> dict[str, Any]:
    """The parameters of these names, of the types that the estimator's signature has."""
    hints = get_type_hints(kind.__init__)  # type: ignore[misc]
    rebuilding = Rebuilding({}, DTYPES["float32"], what, infinite=True)
    return rebuilding.fields({name: hints[name] for name in names}, given, "params")
