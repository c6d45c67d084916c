"""X̂, the features as the decoder gives them back, in files that name nodes and features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from graphgate.errors import InputError
from graphgate.io.embeddings import plain_array
from graphgate.io.files import replacing
from graphgate.io.places import StrPath, check_output_path
from graphgate.io.table_writer import column, write_table

RECONSTRUCTION_ENDINGS = (".parquet", ".csv", ".npz")


def write_reconstruction(
    path: StrPath, ids: Any, x: np.ndarray, feature_names: Sequence[str] | None = None
) -> Path:
    """Writes the (N, F) features that `GATE.reconstruct` gives.

    `.parquet`, `.csv`: node_id and a column a feature, named x0, x1, … where they have no names.
    `.npz`: the arrays ids, reconstruction and feature_names.
    """
    target = check_output_path(path, RECONSTRUCTION_ENDINGS)
    names = column(ids, "node id")
    if x.ndim != 2 or len(names) != len(x):
        raise InputError(f"a reconstruction of shape {x.shape} for {len(names):,} node ids")
    features = [f"x{at}" for at in range(x.shape[1])] if feature_names is None else feature_names
    if len(features) != x.shape[1]:
        raise InputError(f"{len(features):,} feature names for {x.shape[1]:,} features")
    check_feature_names(target, features)
    if target.suffix.lower() != ".npz":
        columns = {name: pa.array(x[:, at]) for at, name in enumerate(features)}
        return write_table(target, pa.table({"node_id": names} | columns))
    arrays: dict[str, Any] = {
        "ids": plain_array(names, "node id"),
        "reconstruction": x,
        "feature_names": plain_array(pa.array(list(features), pa.string()), "feature name"),
    }
    try:
        with replacing(target) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror or error}") from None
    return target


def check_feature_names(path: StrPath, names: Sequence[str] | None) -> None:
    """A table has one column of a name."""
    if names is not None and Path(path).suffix.lower() != ".npz" and "node_id" in names:
        raise InputError("a feature is named 'node_id', as is the column of ids; write .npz")
