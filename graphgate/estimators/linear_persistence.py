"""Model files of LinearGATE: tensors and a header that is checked before anything is used."""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphgate.errors import InputError
from graphgate.estimators.hyperparameters import AUTO, DTYPES, LARGEST_SEED
from graphgate.estimators.persistence import HEADER, FittedState, read_model
from graphgate.io.files import Schema, check_fields
from graphgate.io.tensors import check_tensors, write_tensors
from graphgate.linear.coordinates import AS_THEY_ARE, Coordinates, FeatureSource, sources_of_groups
from graphgate.linear.edge_decoder import TERMS, EdgeDecoder
from graphgate.linear.evidence import Evidence, Prediction, SourceEvidence
from graphgate.linear.linear_plan import LARGE, Sizes
from graphgate.linear.model import VIEWS, LinearModel, Reconstruction
from graphgate.linear.structure import StructureFactors

KIND = "linear-model"
SIZES = [Sizes.of(n) for n in (1, LARGE + 1)]
MOST = SIZES[0]
PARAMS: Schema = {
    "n_components": int,
    "structure": bool,
    "weights": (dict, str, type(None)),
    "groups": (list, type(None)),
    "scale": bool,
    "random_state": int,
    "dtype": str,
}
_NUMBER = (float, int)
_MODEL: Schema = {
    "unit": _NUMBER,
    "sources": list,
    "evidence": (dict, type(None)),
    "shortest": _NUMBER,
    "unit_from": _NUMBER,
    "strength": _NUMBER,
    "r2": _NUMBER,
    "n_coordinates": int,
    "projected": bool,
    "n_known": int,
    "ids": (str, type(None)),
    "rank": int,
    "n_components": int,
    "weights": dict,
}
_SOURCE: Schema = {
    "name": str,
    "n_features": int,
    "divisible": bool,
    "unit_rows": bool,
    "scale": _NUMBER,
    "weight": _NUMBER,
}
_EVIDENCE: Schema = {"sources": list, "alignments": list, "structure": list}
_DECODER: Schema = {"bias": _NUMBER, "auc": _NUMBER, "strength": _NUMBER, "n_coordinates": int}
_HEADER: Schema = {**HEADER, "model": dict, "decoder": (dict, type(None))}


@dataclass(frozen=True)
class SavedLinearGATE:
    """What was learned, with the parameters and the random seed that were used."""

    model: LinearModel
    decoder: EdgeDecoder | None
    params: dict[str, Any]
    state: FittedState


def save_linear_gate(path: Path | str, saved: SavedLinearGATE) -> None:
    model, decoder, factors = saved.model, saved.decoder, saved.model.structure
    coordinates, reconstruction = model.coordinates, model.reconstruction
    tensors = {
        "weights": torch.from_numpy(coordinates.weights),
        "center": coordinates.center,
        "reconstruction": reconstruction.weights,
        "projection": model.projection,
    }
    if coordinates.components is not None:
        tensors["components"] = coordinates.components
    if factors is not None:
        tensors["structure"] = factors.vectors
        tensors |= _stored_ids(factors.ids)
    if decoder is not None:
        tensors["decoder"] = torch.from_numpy(decoder.weights)
        tensors["decoder_reconstruction"] = decoder.reconstruction.weights
    header = {
        "params": saved.params,
        **saved.state.to_header(),
        "model": {
            "unit": model.unit,
            "sources": [asdict(source) for source in coordinates.sources],
            "evidence": None if model.evidence is None else asdict(model.evidence),
            "shortest": coordinates.shortest,
            "unit_from": coordinates.unit_from,
            "strength": reconstruction.strength,
            "r2": reconstruction.r2,
            "n_coordinates": len(coordinates.center),
            "projected": coordinates.components is not None,
            "n_known": 0 if factors is None else len(factors.ids),
            "ids": None if factors is None else _id_type(factors.ids),
            "rank": 0 if factors is None else factors.vectors.shape[1],
            "n_components": model.projection.shape[1],
            "weights": dict(model.weights),
        },
        "decoder": None
        if decoder is None
        else {
            "bias": decoder.bias,
            "auc": decoder.auc,
            "strength": decoder.reconstruction.strength,
            "n_coordinates": len(decoder.reconstruction.weights),
        },
    }
    write_tensors(path, KIND, header, tensors)


def load_linear_gate(path: Path | str) -> SavedLinearGATE:
    """Read a model of LinearGATE; anything that is not exactly one is an `InputError`."""
    header, tensors = read_model(path, KIND, _HEADER)
    what = f"{path} is not a graphgate {KIND} file"
    params, sizes, body = header["params"], header["model"], header["decoder"]
    check_fields(params, PARAMS, what, "params")
    check_fields(sizes, _MODEL, what, "model")
    if body is not None:
        check_fields(body, _DECODER, what, "decoder")
    for source in sizes["sources"]:
        check_fields(source, _SOURCE, what, "source")
    if sizes["evidence"] is not None:
        check_fields(sizes["evidence"], _EVIDENCE, what, "evidence")
    if params["dtype"] not in DTYPES:
        raise InputError(f"{what}: unknown dtype {params['dtype']!r}")
    state = FittedState.from_header(header, what)
    _check_header(params, sizes, body, state, what)
    expected = _expected(state.n_features, sizes, body, DTYPES[params["dtype"]])
    ids = None
    if sizes["ids"] is not None:
        ids = _read_ids(tensors, sizes["ids"], sizes["n_known"], what)
    check_tensors(tensors, expected, what)
    sources = tuple(
        FeatureSource(**source | {k: float(source[k]) for k in ("scale", "weight")})
        for source in sizes["sources"]
    )
    places = np.repeat(np.arange(len(sources)), [source.n_features for source in sources])
    if params["groups"] is not None:
        _, places = sources_of_groups(params["groups"])
    coordinates = Coordinates(
        tensors["weights"].numpy(),
        sources,
        places,
        tensors.get("components"),
        tensors["center"],
        float(sizes["shortest"]),
        float(sizes["unit_from"]),
    )
    model = LinearModel(
        float(sizes["unit"]),
        coordinates,
        Reconstruction(tensors["reconstruction"], float(sizes["strength"]), float(sizes["r2"])),
        None if ids is None else StructureFactors(ids, tensors["structure"]),
        {name: float(weight) for name, weight in sizes["weights"].items()},
        tensors["projection"],
        _read_evidence(sizes["evidence"]),
    )
    decoder = None
    if body is not None:
        b = Reconstruction(tensors["decoder_reconstruction"], float(body["strength"]), 0.0)
        weights = tensors["decoder"].numpy()
        decoder = EdgeDecoder(b, weights, float(body["bias"]), float(body["auc"]))
    return SavedLinearGATE(model, decoder, params, state)


def _check_header(
    params: dict[str, Any],
    sizes: dict[str, Any],
    decoder: dict[str, Any] | None,
    state: FittedState,
    what: str,
) -> None:
    """Refuse numbers that are not those of a model, as far as it can be known without tensors."""
    # JSON has integers that are too large for a float, and a float such as 1e999 is infinite.
    largest, r, weights = sys.float_info.max, sizes["n_coordinates"], sizes["weights"]
    projected, placed = sizes["projected"], sizes["ids"] is not None
    views = [name for name, view in VIEWS.items() if placed or view.source != "structure"]
    holds = {
        "random_state": 0 <= params["random_state"] <= LARGEST_SEED,
        "n_components": 1 <= sizes["n_components"] <= params["n_components"],
        "unit": 0 < sizes["unit"] <= largest,
        "sources": sum(source["n_features"] for source in sizes["sources"]) == state.n_features
        and all(
            source["n_features"] > 0
            and 0 < source["scale"] <= largest
            and 0 < source["weight"] <= largest
            for source in sizes["sources"]
        ),
        "groups": params["groups"] is None
        or (
            state.fitted_on.content == "features"
            and params["weights"] is not None
            and all(isinstance(name, str) for name in params["groups"])
            and [(s.name, s.n_features) for s in sources_of_groups(params["groups"])[0]]
            == [(s["name"], s["n_features"]) for s in sizes["sources"]]
        ),
        "evidence": (sizes["evidence"] is None)
        == (params["weights"] is None or state.fitted_on.content == "edges")
        and _has_shape_of_evidence(sizes["evidence"], len(sizes["sources"])),
        "the weights of params": params["weights"] in (None, AUTO)
        or bool(
            isinstance(params["weights"], dict)
            and params["weights"]
            and all(
                type(number) in _NUMBER and 0 < number <= largest
                for number in params["weights"].values()
            )
        ),
        "shortest": 0 <= sizes["shortest"] <= largest,
        "unit_from": 0 <= sizes["unit_from"] <= largest,
        "strength": 0 < sizes["strength"] <= largest,
        "r2": -largest <= sizes["r2"] <= 1,
        "n_coordinates": 1 <= r <= min(state.n_features, MOST.coordinates)
        if projected
        else r == state.n_features <= AS_THEY_ARE,
        "ids": placed == (params["structure"] and state.fitted_on.has_edges),
        "n_known": (sizes["n_known"] > 0) == placed,
        "rank": placed <= sizes["rank"] <= min(MOST.factors, sizes["n_known"]),
        "weights": list(weights) == views
        and all(type(number) in _NUMBER and 0 <= number <= largest for number in weights.values()),
    }
    if decoder is not None:
        compared = {min(r, plan.decoder_coordinates) for plan in SIZES}
        holds |= {
            "bias": abs(decoder["bias"]) <= largest,
            "auc": 0 <= decoder["auc"] <= 1,
            "strength of the decoder": 0 < decoder["strength"] <= largest,
            "decoder": state.fitted_on.has_edges and decoder["n_coordinates"] in compared,
        }
    for name, good in holds.items():
        if not good:
            raise InputError(f"{what}: {name} in its header is out of range or contradictory")


def _expected(
    n_features: int, sizes: dict[str, Any], decoder: dict[str, Any] | None, dtype: torch.dtype
) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
    """Shape and type of every tensor but those of the ids, from the header."""
    r, rank = sizes["n_coordinates"], sizes["rank"]
    columns = sum(rank if VIEWS[name].source == "structure" else r for name in sizes["weights"])
    shapes: dict[str, tuple[tuple[int, ...], torch.dtype]] = {
        "weights": ((n_features,), torch.float64),
        "center": ((r,), dtype),
        "reconstruction": ((r, r), dtype),
        "projection": ((columns, sizes["n_components"]), dtype),
    }
    if sizes["projected"]:
        shapes["components"] = ((n_features, r), dtype)
    if sizes["ids"] is not None:
        shapes["structure"] = ((sizes["n_known"], rank), dtype)
    if decoder is not None:
        k = decoder["n_coordinates"]
        shapes["decoder"] = ((len(TERMS),), torch.float64)
        shapes["decoder_reconstruction"] = ((k, k), dtype)
    return shapes


def _read_evidence(body: dict[str, Any] | None) -> Evidence | None:
    if body is None:
        return None
    sources, moments = body["sources"], body["alignments"]
    return Evidence(
        tuple(SourceEvidence(*(Prediction(*pair) for pair in source)) for source in sources),
        tuple((between, own, mean) for between, own, mean in moments),
        Prediction(*body["structure"]),
    )


def _has_shape_of_evidence(body: dict[str, Any] | None, n_sources: int) -> bool:
    """Whether it has all its finite numbers."""

    def numbers(values: Any, count: int) -> bool:
        return (
            isinstance(values, list)
            and [type(value) in _NUMBER and abs(value) <= sys.float_info.max for value in values]
            == [True] * count
        )

    return body is None or (
        len(body["sources"]) == len(body["alignments"]) == n_sources
        and all(
            isinstance(source, list)
            and len(source) == len(SourceEvidence._fields)
            and all(numbers(pair, 2) for pair in source)
            for source in body["sources"]
        )
        and all(numbers(moments, 3) for moments in body["alignments"])
        and numbers(body["structure"], 2)
    )


# --- ids -----------------------------------------------------------------------------------------

_TEXT, _INTEGER, _OTHER = range(3)


def _id_type(ids: np.ndarray) -> str:
    return "integer" if ids.dtype == np.int64 else "text"


def _stored_ids(ids: np.ndarray) -> dict[str, Tensor]:
    """Integers as they are; others as UTF-8, one after the other, with the end and kind of each."""
    if _id_type(ids) == "integer":
        return {"ids": torch.from_numpy(ids.copy())}
    written = [_written(node) for node in ids.tolist()]
    encoded = [text.encode("utf-8", "surrogatepass") for _, text in written]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    joined = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    kinds = np.array([kind for kind, _ in written], dtype=np.uint8)
    return {
        "ids": torch.from_numpy(joined.copy()),
        "id_ends": torch.from_numpy(ends),
        "id_kinds": torch.from_numpy(kinds),
    }


def _written(node: Any) -> tuple[int, str]:
    """The kind of one of `plain_ids` and its text."""
    if isinstance(node, str):
        return _TEXT, node
    return (_OTHER, node[0]) if isinstance(node, tuple) else (_INTEGER, str(int(node)))


def _read_ids(tensors: dict[str, Tensor], kind: str, n: int, what: str) -> np.ndarray:
    """Take the ids out of the tensors."""
    names = {"integer": ("ids",), "text": ("ids", "id_ends", "id_kinds")}.get(kind)
    if names is None or not tensors.keys() >= set(names):
        raise InputError(f"{what}: its node ids are missing")
    found = [tensors.pop(name).numpy() for name in names]
    if kind == "integer":
        good = found[0].dtype == np.int64 and found[0].shape == (n,)
        ids = found[0]
    else:
        joined, ends, kinds = found
        good = (
            [each.dtype for each in found] == [np.uint8, np.int64, np.uint8]
            and joined.ndim == 1
            and ends.shape == kinds.shape == (n,)
            and bool((kinds <= _OTHER).all())
            and bool((np.diff(ends, prepend=0) >= 0).all())
            and int(ends[-1] if n else 0) == len(joined)
        )
        ids = _split_text(joined.tobytes(), ends, kinds, what) if good else joined
    if not good or n < 1 or len(set(ids.tolist())) != n:
        raise InputError(f"{what}: its node ids are damaged")
    return ids


def _split_text(joined: bytes, ends: np.ndarray, kinds: np.ndarray, what: str) -> np.ndarray:
    starts = [0, *ends[:-1].tolist()]
    ids = np.empty(len(ends), dtype=object)
    try:
        for at, (start, end) in enumerate(zip(starts, ends.tolist(), strict=True)):
            text = joined[start:end].decode("utf-8", "surrogatepass")
            other = (text,) if kinds[at] == _OTHER else text
            ids[at] = int(text) if kinds[at] == _INTEGER else other
    except ValueError:
        raise InputError(f"{what}: its node ids are damaged") from None
    return ids
