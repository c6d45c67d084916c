"""Model files: the weights of a `GATEModel` and what is needed to use them again."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

from graphgate.errors import InputError
from graphgate.estimators.base import Content, GraphKind
from graphgate.estimators.hyperparameters import DTYPES
from graphgate.io.provenance import versions
from graphgate.io.schema import Schema, check_fields
from graphgate.io.tensors import check_tensors, read_tensors, write_tensors
from graphgate.nn.autoencoder import Architecture, GATEModel, parameter_shapes
from graphgate.preprocessing.attribute_encoder import AttributeEncoder

_HEADER: Schema = {
    "architecture": dict,
    "dtype": str,
    "feature_names": (list, type(None)),
    "encoder": (dict, type(None)),
    "fitted_on": dict,
    "training": dict,
    "notes": dict,
    "versions": dict,
}
_FITTED_ON: Schema = {"content": str, "directed": bool, "weighted": bool, "has_edges": bool}
_ARCHITECTURE: Schema = {
    "n_features": int,
    "dims": list,
    "activation": str,
    "tied_weights": bool,
    "shared_attention": bool,
    "attention": str,
}
TRAINING_FIELDS: Schema = {
    "preset": str,
    "feature_loss": (str, type(None)),
    "feature_weight": (float, int),
    "structure_weight": (float, int),
    "epochs": int,
    "learning_rate": (float, int),
    "random_state": int,
}


@dataclass(frozen=True)
class SavedModel:
    """A network and what is needed to use it again.

    feature_names : of the graph it was fitted on, if that had them.
    fitted_on : the kind of that graph.
    training : how it was trained, `TRAINING_FIELDS`; for the record, `transform` needs none of it.
    encoder : of that graph's attributes, if it had any.
    notes : anything else to save with it, as plain JSON.
    """

    model: GATEModel
    feature_names: tuple[str, ...] | None
    fitted_on: GraphKind
    training: dict[str, Any]
    encoder: AttributeEncoder | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def dtype(self) -> str:
        return str(self.model.encoder_weight[0].dtype).removeprefix("torch.")


def save_model(path: Path | str, saved: SavedModel) -> None:
    header = {
        "architecture": asdict(saved.model.architecture),
        "dtype": saved.dtype,
        "feature_names": None if saved.feature_names is None else list(saved.feature_names),
        "encoder": None if saved.encoder is None else saved.encoder.to_dict(),
        "fitted_on": asdict(saved.fitted_on),
        "training": saved.training,
        "notes": saved.notes,
        "versions": versions(),
    }
    write_tensors(path, "model", header, saved.model.state_dict())


def load_model(path: Path | str) -> SavedModel:
    """Read a model; anything that is not exactly one is an `InputError`."""
    header, tensors = read_tensors(path, "model", _HEADER)
    what = f"{path} is not a graphgate model file"
    check_fields(header["architecture"], _ARCHITECTURE, what, "architecture")
    check_fields(header["training"], TRAINING_FIELDS, what, "training")
    if header["dtype"] not in DTYPES:
        raise InputError(f"{what}: unknown dtype {header['dtype']!r}")
    fields = header["architecture"]
    try:
        architecture = Architecture(**fields | {"dims": tuple(fields["dims"])})
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    if architecture.n_features < 1:
        raise InputError(f"{what}: it is for {architecture.n_features} features")
    names = header["feature_names"]
    if names is not None and (
        len(names) != architecture.n_features or not all(isinstance(name, str) for name in names)
    ):
        raise InputError(
            f"{what}: its feature names do not fit its {architecture.n_features} features"
        )
    content = header["encoder"]
    encoder = None if content is None else AttributeEncoder.from_dict(content, what)
    if encoder is not None and encoder.get_feature_names_out().tolist() != names:
        raise InputError(f"{what}: its feature names are not those of its encoder")
    check_fields(header["fitted_on"], _FITTED_ON, what, "fitted_on")
    fitted_on = GraphKind(**header["fitted_on"])
    if fitted_on.content not in get_args(Content) or (fitted_on.content == "features") == bool(
        encoder
    ):
        raise InputError(
            f"{what}: it has {'an' if encoder else 'no'} encoder for {fitted_on.content!r}"
        )
    dtype = DTYPES[header["dtype"]]
    # Before anything of that size is made: a header can ask for any size.
    shapes = parameter_shapes(architecture)
    check_tensors(tensors, {name: (shape, dtype) for name, shape in shapes.items()}, what)
    model = GATEModel(architecture, dtype=dtype)
    model.load_state_dict(tensors)
    return SavedModel(
        model,
        None if names is None else tuple(names),
        fitted_on,
        header["training"],
        encoder,
        header["notes"],
    )
