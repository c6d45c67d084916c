"""Model files: what was learned, and what is needed to use it again."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
from torch import Tensor

from graphgate.errors import InputError
from graphgate.estimators.base import Content, GraphKind
from graphgate.estimators.hyperparameters import DTYPES, from_json, to_json
from graphgate.io.files import Schema, check_fields
from graphgate.io.provenance import versions
from graphgate.io.tensors import check_tensors, file_kind, read_tensors, write_tensors
from graphgate.nn.autoencoder import Architecture, GATEModel, parameter_shapes
from graphgate.preprocessing.attribute_encoder import AttributeEncoder

# The estimators by what the header of a model file says that it is.
KINDS = {"model": "GATE", "linear-model": "LinearGATE"}
# What else the header of every model file has.
HEADER: Schema = {
    "params": dict,
    "n_features": int,
    "feature_names": (list, type(None)),
    "encoder": (dict, type(None)),
    "fitted_on": dict,
    "notes": dict,
    "versions": dict,
}
_FITTED_ON: Schema = {"content": str, "directed": bool, "weighted": bool, "has_edges": bool}
_ARCHITECTURE: Schema = {
    "dims": list,
    "activation": str,
    "tied_weights": bool,
    "shared_attention": bool,
    "attention": str,
}
_NUMBER = (float, int)
# Every parameter of GATE that decides the result.
PARAMS: Schema = {
    **_ARCHITECTURE,
    "preset": (str, type(None)),
    "feature_loss": (str, type(None)),
    "feature_weight": _NUMBER,
    "structure_weight": _NUMBER,
    "epochs": (int, type(None)),
    "learning_rate": (*_NUMBER, type(None)),
    "clip_norm": (*_NUMBER, str, type(None)),
    "patience": (int, str, type(None)),
    "tolerance": (*_NUMBER, type(None)),
    "batch_size": (int, str),
    "parts_per_step": (int, type(None)),
    "scale": bool,
    "random_state": int,
    "dtype": str,
}


@dataclass(frozen=True)
class FittedState:
    """What every fitted estimator knows of the graph that it was fitted on.

    n_features : F, after encoding.
    feature_names : (F,) if the features had names.
    fitted_on : the kind of graph.
    encoder : of the graph's attributes, if it had any.
    notes : anything else to save with the model, as plain JSON.
    """

    n_features: int
    feature_names: np.ndarray | None
    fitted_on: GraphKind
    encoder: AttributeEncoder | None
    notes: dict[str, Any]

    @classmethod
    def of(cls, estimator: Any) -> Self:
        names = getattr(estimator, "feature_names_in_", None)
        return cls(
            estimator.n_features_in_,
            names,
            estimator.fitted_on_,
            estimator.encoder_,
            estimator.notes_,
        )

    def restore(self, estimator: Any) -> None:
        estimator.n_features_in_, estimator.fitted_on_ = self.n_features, self.fitted_on
        estimator.encoder_, estimator.notes_ = self.encoder, self.notes
        if self.feature_names is not None:
            estimator.feature_names_in_ = self.feature_names

    def to_header(self) -> dict[str, Any]:
        names = self.feature_names
        return {
            "n_features": self.n_features,
            "feature_names": None if names is None else list(map(str, names)),
            "encoder": None if self.encoder is None else self.encoder.to_dict(),
            "fitted_on": asdict(self.fitted_on),
            "notes": self.notes,
            "versions": versions(),
        }

    @classmethod
    def from_header(cls, header: Mapping[str, Any], what: str) -> Self:
        """Read what `to_header` wrote; `what` begins the message if it did not."""
        check_fields(header["fitted_on"], _FITTED_ON, what, "fitted_on")
        f, names = header["n_features"], header["feature_names"]
        plain = names is None or (len(names) == f and all(isinstance(n, str) for n in names))
        if f < 1 or not plain:
            raise InputError(f"{what}: its feature names do not match its {f} features")
        body = header["encoder"]
        encoder = None if body is None else AttributeEncoder.from_dict(body, what)
        if encoder is not None and encoder.get_feature_names_out().tolist() != names:
            raise InputError(f"{what}: its feature names do not match its encoder")
        kind = GraphKind(**header["fitted_on"])
        content = kind.content
        if content not in get_args(Content) or (encoder is None) != (content == "features"):
            raise InputError(f"{what}: its encoder does not match the content {content!r}")
        array = None if names is None else np.array(names, dtype=object)
        return cls(f, array, kind, encoder, header["notes"])


def read_model(
    path: Path | str, kind: str, schema: Schema
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Header and tensors of a model; one of another estimator is named in the error."""
    seen = file_kind(path)
    if seen in KINDS and seen != kind:
        raise InputError(
            f"{path} holds a {KINDS[seen]} model, not a {KINDS[kind]} model; load it with "
            f"{KINDS[seen]}.load, or any model with load_model"
        )
    return read_tensors(path, kind, schema)


@dataclass(frozen=True)
class SavedGATE:
    """A network and what is needed to use it again.

    params : `PARAMS`, the parameters of GATE with the random seed that was used.
    weight_unit : what edge weights are divided by.
    """

    model: GATEModel
    params: dict[str, Any]
    weight_unit: float
    state: FittedState


def save_gate(path: Path | str, saved: SavedGATE) -> None:
    header = {
        "params": to_json(saved.params),
        "weight_unit": saved.weight_unit,
        **saved.state.to_header(),
    }
    write_tensors(path, "model", header, saved.model.state_dict())


def load_gate(path: Path | str) -> SavedGATE:
    """Read a model; anything that is not exactly one is an `InputError`."""
    header, tensors = read_model(path, "model", {**HEADER, "weight_unit": _NUMBER})
    what = f"{path} is not a graphgate model file"
    check_fields(header["params"], PARAMS, what, "params")
    params = from_json(header["params"])
    if params["dtype"] not in DTYPES:
        raise InputError(f"{what}: unknown dtype {params['dtype']!r}")
    state = FittedState.from_header(header, what)
    try:
        architecture = Architecture(
            state.n_features, **{name: params[name] for name in _ARCHITECTURE}
        )
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    unit = header["weight_unit"]
    if not 0 < unit < float("inf"):
        raise InputError(f"{what}: its unit of edge weights is {unit!r}, not a positive number")
    # Before anything of that size is made: a header can ask for any size.
    shapes = parameter_shapes(architecture)
    dtype = DTYPES[params["dtype"]]
    check_tensors(tensors, {name: (shape, dtype) for name, shape in shapes.items()}, what)
    model = GATEModel(architecture, dtype=dtype)
    model.load_state_dict(tensors)
    return SavedGATE(model, params, unit, state)
