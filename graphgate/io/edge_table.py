"""A table of edges -> pairs of rows and weights; what is to be done with nodes nobody knows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from graphgate.errors import InputError, InputWarning, listing
from graphgate.graph.graph import Graph
from graphgate.io.columns import floats
from graphgate.io.node_ids import alike, appearing, id_column, rows_of, spelled_ids
from graphgate.io.table import Table

UNKNOWN = ("drop", "add", "refuse")


@dataclass(frozen=True)
class EdgeColumns:
    """Which columns of a table of edges are what; the names of the arguments of `read_graph`."""

    source: str = "source"
    target: str = "target"
    weight: str | None = "weight"


@dataclass(frozen=True)
class Edges:
    """What a table of edges says.

    pairs : (E, 2) row numbers.
    ids : of all nodes; the last `added` of them are not in the table of nodes.
    """

    pairs: np.ndarray
    weights: np.ndarray | None
    ids: pa.ChunkedArray
    added: int = 0


def read_edges(
    table: Table,
    chosen: EdgeColumns,
    ids: pa.ChunkedArray | None = None,
    nodes: Table | None = None,
    unknown: str = "drop",
) -> Edges:
    """Pairs of rows of `ids`, which stand in the table `nodes`; or of the ids that edges name."""
    ends = [chosen.source, chosen.target]
    table.require(*ends)
    weight = chosen.weight
    if weight is not None and weight not in table.names:
        if weight != EdgeColumns.weight:
            table.require(weight)
        weight = None
    if len({*ends, weight}) < 3:
        raise InputError(f"{table.what}: source, target and weight must be different columns")
    wanted = [*ends, *([weight] if weight else [])]
    if others := [name for name in table.names if name not in wanted]:
        _warn(f"{table.what}: {len(others):,} column(s) of edges are ignored: {listing(others)}")
    read = dict(table.columns(wanted, text=ends, numbers=wanted[2:]))
    cells = spelled_ids(table, *(id_column(table, name, read[name]) for name in ends))
    weights = _weights(table, weight, read[weight]) if weight else None
    if ids is None or nodes is None:
        if cells[0].type != cells[1].type:
            raise InputError(
                f"{table.what} names nodes by whole numbers in one of {ends[0]!r} and {ends[1]!r} "
                "and by text in the other; give both in the same kind"
            )
        found, pairs = appearing(cells)
        return Edges(pairs, weights, found)
    pairs = np.stack([rows_of(ids, nodes, cells[e], table, ends[e]) for e in (0, 1)], axis=1)
    edges = Edges(pairs, weights, ids)
    return _known(edges, cells, ends, table, nodes, unknown) if (pairs < 0).any() else edges


def note_left_out(table: Table, edges: Edges, graph: Graph) -> None:
    """One sentence on rows of the table that are no edges of their own in its graph."""
    pairs, weights = edges.pairs, edges.weights
    nothing = np.zeros(len(pairs), dtype=bool) if weights is None else weights == 0
    loops = ~nothing & (pairs[:, 0] == pairs[:, 1])
    counts = {
        "of weight 0 (left out)": int(nothing.sum()),
        "from a node to itself (left out)": int(loops.sum()),
        "between nodes that have one already (merged)": int((~nothing & ~loops).sum())
        - graph.n_edges,
    }
    if told := [f"{count:,} {what}" for what, count in counts.items() if count]:
        _warn(f"{table.what}: among {len(pairs):,} edges are {', '.join(told)}")


def _known(
    edges: Edges,
    cells: list[pa.ChunkedArray],
    ends: list[str],
    table: Table,
    nodes: Table,
    unknown: str,
) -> Edges:
    """What `unknown` says of edges that name a node which the node table lacks."""
    missing = edges.pairs < 0
    rows = np.flatnonzero(missing.any(axis=1))
    end = int(np.argmax(missing[rows[0]]))
    if unknown == "refuse":
        table.refuse_cell(
            int(rows[0]), ends[end], f"is not the id of a node; add it to {nodes.what}"
        )
    first = f"such as {cells[end][int(rows[0])].as_py()!r} ({table.place(int(rows[0]))})"
    name = "names" if len(rows) == 1 else "name"
    told = (
        f"{table.what}: {len(rows):,} of {len(missing):,} edges {name} a node that {nodes.what} "
        "lacks"
    )
    if unknown == "drop":
        hint = "; are ids written alike in both tables?" if len(rows) == len(missing) else ""
        are = "is" if len(rows) == 1 else "are"
        _warn(f"{told}, {first}, and {are} left out{hint}")
        keep = ~missing.any(axis=1)
        weights = None if edges.weights is None else edges.weights[keep]
        return Edges(edges.pairs[keep], weights, edges.ids)
    if cells[0].type != cells[1].type:
        cells = [cell.cast(pa.large_string()) for cell in cells]
    new, places = appearing([cell.take(pa.array(rows)) for cell in cells])
    # Of the ids in these rows, some are known: only the others are added.
    fresh = np.zeros(len(new), dtype=bool)
    fresh[places[missing[rows]]] = True
    number = np.cumsum(fresh) - 1 + len(edges.ids)
    pairs = edges.pairs.copy()
    pairs[rows] = np.where(missing[rows], number[places], pairs[rows])
    ids, added = alike(edges.ids, new.filter(pa.array(fresh)))
    nodes_are = "node is" if len(added) == 1 else "nodes are"
    _warn(f"{told}, {first}; {len(added):,} {nodes_are} added without attributes")
    together = pa.chunked_array([*ids.chunks, *added.chunks])
    return Edges(pairs, edges.weights, together, len(added))


def _weights(table: Table, name: str, column: pa.ChunkedArray) -> np.ndarray:
    if column.null_count:
        row = column.is_null().index(True).as_py()
        table.refuse_cell(row, name, "must hold a number; fill it or drop the line")
    values = floats(table, name, column).astype(np.float64)
    if not (fine := np.isfinite(values) & (values >= 0)).all():
        table.refuse_cell(
            int(np.argmin(fine)), name, "is not a positive finite number; mend the weight"
        )
    return values


def _warn(sentence: str) -> None:
    warnings.warn(sentence, InputWarning, stacklevel=4)
