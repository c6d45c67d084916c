"""What a model gives besides vectors, in files: values of edges and reconstructed features.

`.parquet` and `.csv` are tables; reconstructed features can also be written as `.npz`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.io.embeddings import plain_array
from graphgate.io.files import StrPath, check_output_path, replacing
from graphgate.io.table_files import write_rows, write_table
from graphgate.io.tables import id_array

_EDGE = 64  # bytes of a row of edge scores, about
RECONSTRUCTION_ENDINGS = (".parquet", ".csv", ".npz")


def attention_table(
    ids: Any, encoder: Sequence[sp.csr_array], decoder: Sequence[sp.csr_array] | None = None
) -> pa.Table:
    """One row for each node and each node that it attends over, itself included.

    Parameters
    ----------
    ids : N node ids.
    encoder, decoder : (N, N) arrays with the same pattern, one per layer. The decoder shares the
        encoder's attention if it is None or the same sequence.

    Returns
    -------
    source, target : the edge; `target` attends over `source`. An undirected edge has two rows.
    layer_1 … layer_L : α of the encoder; decoder_layer_1 … if the decoder has its own.
    average : over all layers of encoder and decoder, as in the paper's figures.
    """
    own = None if decoder is encoder else decoder
    pattern = encoder[0]
    names = id_array(ids)
    if len(names) != pattern.shape[0]:
        raise InputError(
            f"got attention of {pattern.shape[0]:,} nodes, but {len(names):,} node ids"
        )
    targets = np.repeat(np.arange(len(names)), np.diff(pattern.indptr))
    columns = {
        "source": names.take(pa.array(pattern.indices)),
        "target": names.take(pa.array(targets)),
    }
    for side, layers in (("layer", encoder), ("decoder_layer", own or ())):
        columns |= {f"{side}_{k}": pa.array(layer.data) for k, layer in enumerate(layers, start=1)}
    both = [layer.data for layer in (*encoder, *(own or encoder))]
    return pa.table(columns | {"average": pa.array(np.mean(both, axis=0))})


def write_attention(
    path: StrPath,
    ids: Any,
    encoder: Sequence[sp.csr_array],
    decoder: Sequence[sp.csr_array] | None = None,
) -> Path:
    """Write `attention_table` to a .parquet or .csv file."""
    return write_table(path, attention_table(ids, encoder, decoder))


def write_edge_scores(path: StrPath, ids: Any, scores: sp.csr_array) -> Path:
    """Write source, target and score of every edge to a .parquet or .csv file.

    scores : (N, N), row i for the edges to node i; an undirected edge has two rows.
    """
    names = id_array(ids)

    def block(entries: slice) -> pa.Table:
        places = np.arange(*entries.indices(scores.nnz))
        targets = np.searchsorted(scores.indptr, places, side="right") - 1
        return pa.table(
            {
                "source": names.take(pa.array(scores.indices[entries])),
                "target": names.take(pa.array(targets)),
                "score": pa.array(scores.data[entries]),
            }
        )

    return write_rows(path, block, scores.nnz, _EDGE)


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
        raise InputError(f"got a reconstruction of shape {x.shape}, but {len(names):,} node ids")
    features = [f"x{at}" for at in range(x.shape[1])] if feature_names is None else feature_names
    if len(features) != x.shape[1]:
        raise InputError(f"got {len(features):,} feature names for {x.shape[1]:,} features")
    check_feature_names(target, features)
    if target.suffix.lower() != ".npz":

        def block(rows: slice) -> pa.Table:
            columns = {name: pa.array(x[rows, at]) for at, name in enumerate(features)}
            return pa.table({"node_id": names[rows]} | columns)

        return write_rows(target, block, len(x), x.shape[1] * x.itemsize)
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
