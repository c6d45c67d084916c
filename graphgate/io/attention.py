"""Attention as a table of edges: who attends over whom, and how much, layer by layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from graphgate.errors import InputError
from graphgate.estimators.gate import Attention
from graphgate.io.places import StrPath
from graphgate.io.table_writer import column, write_table


def attention_table(ids: Any, attention: Attention) -> pa.Table:
    """One row for every node and each node that it attends over, itself included.

    source, target : the edge; `target` attends over `source`. An undirected edge has two rows.
    layer_1 … layer_L : α of the encoder; decoder_layer_1 … where the decoder has its own.
    average : over all layers of encoder and decoder, what the paper draws.
    """
    average = attention.average
    n = average.shape[0]
    names = column(ids, "node id")
    if len(names) != n:
        raise InputError(f"attention of {n:,} nodes for {len(names):,} node ids")
    targets = np.repeat(np.arange(n), np.diff(average.indptr))
    columns = {
        "source": names.take(pa.array(average.indices)),
        "target": names.take(pa.array(targets)),
    }
    sides = {"layer": attention.encoder}
    if attention.decoder is not attention.encoder:
        sides["decoder_layer"] = attention.decoder
    for side, layers in sides.items():
        columns |= {f"{side}_{k}": pa.array(layer.data) for k, layer in enumerate(layers, start=1)}
    return pa.table(columns | {"average": pa.array(average.data)})


def write_attention(path: StrPath, ids: Any, attention: Attention) -> Any:
    """`attention_table` as a .parquet or .csv file."""
    return write_table(path, attention_table(ids, attention))
