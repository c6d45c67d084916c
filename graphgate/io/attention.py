"""Attention as a table of edges: which node attends over which, and how much, per layer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.io.files import StrPath
from graphgate.io.table_files import write_table
from graphgate.io.tables import id_array


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
        raise InputError(f"attention of {pattern.shape[0]:,} nodes for {len(names):,} node ids")
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
