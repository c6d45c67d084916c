"""Model files: the weights of a `GATEModel` and what is needed to use them again."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from graphgate.errors import InputError
from graphgate.estimators.base import Content, GraphKind
from graphgate.estimators.hyperparameters import DTYPES, from_json, to_json
from graphgate.io.files import Schema, check_fields
from graphgate.io.provenance import versions
from graphgate.io.tensors import check_tensors, read_tensors, write_tensors
from graphgate.nn.autoencoder import Architecture, GATEModel, parameter_shapes
from graphgate.preprocessing.attribute_encoder import AttributeEncoder

_HEADER: Schema = {
    "params": dict,
    "n_features": int,
    "feature_names": (list, type(None)),
    "encoder": (dict, type(None)),
    "fitted_on": dict,
    "weight_unit": (float, int),
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
    "scale": bool,
    "random_state": int,
    "dtype": str,
}


@dataclass(frozen=True)
class SavedModel:
    """A network and what is needed to use it again.

    params : `PARAMS`, the parameters of GATE with the random seed that was used.
    feature_names : (F,) of the graph it was fitted on, if that had them.
    fitted_on : the kind of that graph.
    encoder : of that graph's attributes, if it had any.
    weight_unit : what edge weights are divided by.
    notes : anything else to save with it, as plain JSON.
    """

    model: GATEModel
    params: dict[str, Any]
    feature_names: np.ndarray | None
    fitted_on: GraphKind
    encoder: AttributeEncoder | None
    weight_unit: float
    notes: dict[str, Any]


def save_model(path: Path | str, saved: SavedModel) -> None:
    names = saved.feature_names
    header = {
        "params": to_json(saved.params),
        "n_features": saved.model.architecture.n_features,
        "feature_names": None if names is None else list(map(str, names)),
        "encoder": None if saved.encoder is None else saved.encoder.to_dict(),
        "fitted_on": asdict(saved.fitted_on),
        "weight_unit": saved.weight_unit,
        "notes": saved.notes,
        "versions": versions(),
    }
    write_tensors(path, "model", header, saved.model.state_dict())


def load_model(path: Path | str) -> SavedModel:
    """Read a model; anything that is not exactly one is an `InputError`."""
    header, tensors = read_tensors(path, "model", _HEADER)
    what = f"{path} is not a graphgate model file"
    check_fields(header["params"], PARAMS, what, "params")
    check_fields(header["fitted_on"], _FITTED_ON, what, "fitted_on")
    params, f, names = from_json(header["params"]), header["n_features"], header["feature_names"]
    if params["dtype"] not in DTYPES:
        raise InputError(f"{what}: unknown dtype {params['dtype']!r}")
    try:
        architecture = Architecture(f, **{name: params[name] for name in _ARCHITECTURE})
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    if f < 1 or (names is not None and [type(name) for name in names] != [str] * f):
        raise InputError(f"{what}: its feature names do not fit its {f} features")
    body = header["encoder"]
    encoder = None if body is None else AttributeEncoder.from_dict(body, what)
    if encoder is not None and encoder.get_feature_names_out().tolist() != names:
        raise InputError(f"{what}: its feature names are not those of its encoder")
    kind = GraphKind(**header["fitted_on"])
    if kind.content not in get_args(Content) or (encoder is None) != (kind.content == "features"):
        raise InputError(f"{what}: its encoder does not fit the content {kind.content!r}")
    unit = header["weight_unit"]
    if not 0 < unit < float("inf"):
        raise InputError(f"{what}: its unit of edge weights is {unit!r}, not a positive number")
    # Before anything of that size is made: a header can ask for any size.
    shapes = parameter_shapes(architecture)
    dtype = DTYPES[params["dtype"]]
    check_tensors(tensors, {name: (shape, dtype) for name, shape in shapes.items()}, what)
    model = GATEModel(architecture, dtype=dtype)
    model.load_state_dict(tensors)
    names = None if names is None else np.array(names, dtype=object)
    return SavedModel(model, params, names, kind, encoder, unit, header["notes"])
