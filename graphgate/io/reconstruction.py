"""X̂, the features that the decoder reconstructs, in files that name nodes and features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from graphgate.errors import InputError
from graphgate.io.embeddings import plain_array
from graphgate.io.files import StrPath, check_output_path, replacing
from graphgate.io.table_files import write_table
from graphgate.io.tables import id_array

RECONSTRUCTION_ENDINGS = (".parquet", ".csv", ".npz")


def write_reconstruction(
    path: StrPath, ids: Any, x: np.ndarray, feature_names: Sequence[str] | None = None
) -> Path:
    """Write N ids and their (N, F) reconstructed features.

    `.parquet`, `.csv`: node_id and one column per feature, named x0, x1, … by default.
    `.npz`: the arrays ids, reconstruction and feature_names.
    """
    target = check_output_path(path, RECONSTRUCTION_ENDINGS)
    names = id_array(ids)
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
    with replacing(target) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)
    return target


def check_feature_names(path: StrPath, names: Sequence[str] | None) -> None:
    """Refuses a feature with the name of the id column, which a table cannot store."""
    if names is not None and Path(path).suffix.lower() != ".npz" and "node_id" in names:
        raise InputError("a feature is named 'node_id', like the column of ids; write .npz")
