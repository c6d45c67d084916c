"""A table of edges and an optional table of nodes -> `Graph`."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import (
    InputError,
    InputWarning,
    UnknownNodesError,
    listing,
    warn_ignored,
)
from graphgate.graph.attributes import Attributes
from graphgate.graph.column_kinds import Column, vector_column
from graphgate.graph.graph import Graph
from graphgate.io.column_plan import ColumnPlan, places, planned
from graphgate.io.columns import attribute_column, decoded, floats, is_text, unfit
from graphgate.io.id_columns import (
    appearing,
    check_distinct,
    id_column,
    id_values,
    rows_of,
    same_type,
    spelled_ids,
)
from graphgate.io.reading_options import ReadingOptions, TablesRead
from graphgate.io.table_roles import with_roles
from graphgate.io.tables import Conversion, Table, checked_labels, release_memory

NODE = "\0node"  # the id column of tables that are not the user's: any attribute may be called "id"


def from_tables(edges: Any, nodes: Any = None, **options: Any) -> Graph:
    """Make a graph from data frames or Arrow tables.

    Parameters
    ----------
    edges, nodes : data frames of pandas or Polars, Arrow tables, or other exporters of an Arrow
        stream. Without nodes, the graph has those of the edges, in order of first appearance.
    options : those of `ReadingOptions`, as in `read_graph`.

    >>> import pyarrow as pa
    >>> from_tables(pa.table({"source": ["a", "b"], "target": ["b", "c"]})).n_edges
    2
    """
    return build_graph(
        Table(edges, "the edge table"),
        None if nodes is None else Table(nodes, "the node table"),
        ReadingOptions(**options),
    )


class GraphTables(NamedTuple):
    """The content of a file with a whole graph; without nodes, edges name them all.

    The edges have the columns source, target and perhaps weight, the nodes have `NODE`.
    """

    edges: Table
    nodes: Table | None = None
    directed: bool = False


class Nodes(NamedTuple):
    """The ids of a node table, int64 or text, and its other columns, which are yet to be read.

    They are read last: while edges are sorted, there should be little else in memory.
    """

    table: Table
    ids: pa.ChunkedArray
    others: Iterator[tuple[str, pa.ChunkedArray]]
    label: str | None
    kinds: Mapping[str, str]

    def read(self) -> "NodeColumns":
        """Attributes, labels, and what the columns were read as."""
        found: dict[str, Column] = {}
        plans: list[ColumnPlan] = []
        labels = None
        for name, column in self.others:
            if name == self.label:
                labels = _labels(self.table, name, column)
                continue
            for plan, values in planned(name, column, self.ids, self.kinds):
                plans.append(plan)
                if plan.attribute is not None:
                    found[plan.name] = attribute_column(self.table, plan.name, values, plan.kind)
                del values
            del column  # before the next one is read
        plans = _with_places(found, plans, self.kinds)
        left_out = [
            f"{plan.name} ({plan.why})"
            for plan in plans
            if plan.kind == "drop" and plan.name not in self.kinds
        ]
        warn_ignored(self.table.what, "node column", left_out, "give their kinds to use them")
        return NodeColumns(Attributes(found) if found else None, labels, tuple(plans))


class NodeColumns(NamedTuple):
    """attributes, labels : None where the table has none. plans : one per column, in order."""

    attributes: Attributes | None
    labels: list[Any] | None
    plans: tuple[ColumnPlan, ...]


def _with_places(
    found: dict[str, Column], plans: list[ColumnPlan], given: Mapping[str, str]
) -> list[ColumnPlan]:
    """Latitudes and longitudes as one attribute each; the plan then says so."""
    changed: dict[str, ColumnPlan] = {}
    for latitude, longitude in places(plans, given):
        pair = [found.pop(name).values.astype(np.float64) for name in (latitude, longitude)]
        name = f"{latitude}, {longitude}"
        found[name] = vector_column(name, np.stack(pair, axis=1))
        why = "coordinates, scaled together"
        changed[latitude] = ColumnPlan(latitude, "latitude", why, name)
        changed[longitude] = ColumnPlan(longitude, "longitude", why, name)
    return [changed.get(plan.name, plan) for plan in plans]


class Edges(NamedTuple):
    """pairs : (E, 2) int32 row numbers. ids : of all nodes, first those of the node table."""

    pairs: np.ndarray
    weights: np.ndarray | None
    ids: pa.ChunkedArray


def build_graph(
    edge_table: Table,
    node_table: Table | None,
    options: ReadingOptions,
    **fixed: Any,
) -> Graph:
    """The graph of two tables; `fixed` replaces fields of the graph, such as x or ids."""
    options = with_roles(edge_table, node_table, options)
    nodes = None if node_table is None else read_nodes(node_table, options)
    if nodes is None:
        unused = options.given("id", "label", "drop", "words", "categories")
        warn_ignored(edge_table.what, "option", unused, "they are about a table of nodes")
    edges = read_edges(edge_table, options, nodes)
    if len(edges.ids) == 0:
        raise InputError(f"{edge_table.what} has no edges, and there is no node table")
    found: dict[str, Any] = {"ids": id_values(edges.ids), "directed": bool(options.directed)}
    what = edge_table.what if node_table is None else node_table.what
    release_memory()
    graph = make_graph(edges.pairs, edges.weights, edge_table.what, what, **found | fixed)
    if nodes is None:
        return graph.with_reading(TablesRead(options))
    del edges
    attributes, labels, plans = nodes.read()
    release_memory()
    added = graph.n_nodes - len(nodes.ids)
    kinds = {plan.name: plan.kind for plan in plans}
    graph = graph.with_reading(TablesRead(replace(options, kinds=kinds), plans, True))
    if attributes is not None:
        graph = graph.with_attributes(attributes.padded(added) if added else attributes)
    return graph if labels is None else graph.with_labels([*labels, *[None] * added])


def make_graph(
    pairs: np.ndarray, weights: np.ndarray | None, edges: str, nodes: str, **fields: Any
) -> Graph:
    """The graph of (E, 2) row numbers; `edges` and `nodes` name what they come from, for errors."""
    try:
        graph = Graph.from_edge_index(fields.pop("x", None), pairs.T, weights, **fields)
    except InputError as error:
        what = nodes if error.about == "nodes" else edges
        raise InputError(f"{what}: {error}", about=error.about) from None
    note_left_out(edges, pairs, weights, graph)
    return graph


def listed_once(
    pairs: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Each edge once, where every edge is listed in both directions."""
    once = pairs[:, 0] <= pairs[:, 1]
    return pairs[once], None if weights is None else weights[once]


def note_left_out(what: str, pairs: np.ndarray, weights: np.ndarray | None, graph: Graph) -> None:
    """Warn about rows that did not become an edge of their own."""
    nothing = np.zeros(len(pairs), dtype=bool) if weights is None else weights == 0
    loops = ~nothing & (pairs[:, 0] == pairs[:, 1])
    counts = {
        "of weight 0 (left out)": int(nothing.sum()),
        "from a node to itself (left out)": int(loops.sum()),
        "between nodes that are already joined (merged)": int((~nothing & ~loops).sum())
        - graph.n_edges,
    }
    if found := [f"{count:,} {which}" for which, count in counts.items() if count]:
        _warn(f"{what}: {len(pairs):,} edges include {', '.join(found)}")


def _warn(sentence: str) -> None:
    warnings.warn(sentence, InputWarning, stacklevel=5)


# --- nodes ---------------------------------------------------------------------------------------


def read_nodes(table: Table, options: ReadingOptions) -> Nodes:
    """The ids of a node table, and what is needed to read its other columns."""
    table.require(options.id, *options.drop)
    label = options.label_column(table)
    known = options.kinds_of(table)
    # The spelling of ids, labels and categories matters: "07" is not "7".
    conversions: dict[str, Conversion] = {
        name: "number" if kind in ("number", "boolean", "latitude", "longitude") else "text"
        for name, kind in known.items()
        if kind not in ("date", "drop")
    }
    conversions |= {name: "text" for name in (options.id, label) if name}
    names = [
        name for name in table.names if name == label or name not in (options.id, *options.drop)
    ]
    columns = table.columns([options.id, *names], conversions)
    name, column = next(columns)
    (ids,) = spelled_ids(table, id_column(table, name, column))
    if len(ids) == 0:
        raise InputError(f"{table.what} has no rows; a graph needs at least one node")
    check_distinct(table, name, ids)
    return Nodes(table, ids, columns, label, known)


def _labels(table: Table, name: str, column: pa.ChunkedArray) -> list[Any] | None:
    """Plain values, None if they are fractions; text and floats that are integers become such."""
    if pa.types.is_dictionary(column.type):
        column = decoded(table, name, column)
    kind = column.type
    if is_text(kind):
        (column,) = spelled_ids(table, column)
    elif pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), None, column)
        with suppress(pa.ArrowInvalid):
            column = column.cast(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise unfit(table, name, kind, "text or numbers as labels")
    return checked_labels(column.to_pylist(), table.what, name)


# --- edges ---------------------------------------------------------------------------------------


def read_edges(table: Table, options: ReadingOptions, nodes: Nodes | None = None) -> Edges:
    """Pairs of rows of the nodes or, without nodes, of the ids that the edges name."""
    source, target, *weight = options.edge_columns(table)
    if others := [name for name in table.names if name not in (source, target, *weight)]:
        warn_ignored(table.what, "edge column", others)
    names = {source: "text", target: "text"} | dict.fromkeys(weight, "number")
    weights = None
    cells: list[pa.ChunkedArray] = []
    rows: list[np.ndarray] = []
    for name, column in table.columns(list(names), cast("Mapping[str, Conversion]", names)):
        if name in weight:
            weights = _weights(table, name, column)
        elif nodes is None or table.spelled:  # the type of the ids depends on both columns
            cells.append(id_column(table, name, column))
        else:
            rows.append(rows_of(nodes.ids, id_column(table, name, column)))
        del column  # before the next one is read
    cells = spelled_ids(table, *cells)
    if nodes is None:
        known, pairs = appearing(same_type(*cells))
        return Edges(pairs, weights, known)
    edges = Edges(
        np.stack(rows or [rows_of(nodes.ids, ids) for ids in cells]).T, weights, nodes.ids
    )
    if edges.pairs.min(initial=0) >= 0:
        return edges
    ends = (source, target)
    cells = cells or [id_column(table, name, column) for name, column in table.columns(ends)]
    ids = dict(zip(ends, cells, strict=True))
    return _without_unknown(edges, ids, table, nodes, options.unknown_nodes)


def _without_unknown(
    edges: Edges, cells: dict[str, pa.ChunkedArray], table: Table, nodes: Nodes, unknown: str
) -> Edges:
    """Drops or refuses edges to nodes that are not in the node table, or adds the nodes."""
    missing = edges.pairs < 0
    strange = missing.any(axis=1)
    rows = np.flatnonzero(strange)
    first, what = int(rows[0]), nodes.table.what
    at = int(np.argmax(missing[first]))
    end, ids = list(cells.items())[at]
    if unknown == "refuse":
        unseen = [column.filter(pa.array(missing[:, k])) for k, column in enumerate(cells.values())]
        absent = {repr(one) for some in unseen for one in pc.unique(some).to_pylist()}
        others = sorted(absent - {repr(ids[first].as_py())})
        more = f", nor {'is' if len(others) == 1 else 'are'} {listing(others)}" if others else ""
        raise UnknownNodesError(
            f"{table.what}, {table.place(first)}, column {end!r}: {table.cell(first, end)} is not "
            f"the id of a node{more}; add {'them' if others else 'it'} to {what}",
            about="edges",
        )
    named = (
        f"{table.what}: {len(rows):,} of {len(missing):,} edges "
        f"{'refers' if len(rows) == 1 else 'refer'} to a node that is not in {what}, "
        f"such as {ids[first].as_py()!r} ({table.place(first)})"
    )
    if unknown == "add":
        pairs, known = _with_added(edges, list(cells.values()), missing, rows)
        added = len(known) - len(nodes.ids)
        are = "node is" if added == 1 else "nodes are"
        _warn(f"{named}; {added:,} {are} added without attributes")
        return Edges(pairs, edges.weights, known)
    if strange.all():
        seen = pc.unique(ids.filter(pa.array(missing[:, at]))).slice(0, 2).to_pylist()
        own = nodes.ids.slice(0, 2).to_pylist()
        raise InputError(
            f"{table.what}: none of the {len(missing):,} edges joins two nodes of {what}: the "
            f"edges use ids such as {' and '.join(map(repr, seen))}, but the nodes have ids such "
            f"as {' and '.join(map(repr, own))}; write ids the same way in both tables",
            about="edges",
        )
    _warn(f"{named}, and {'is' if len(rows) == 1 else 'are'} left out")
    weights = None if edges.weights is None else edges.weights[~strange]
    return Edges(edges.pairs[~strange], weights, edges.ids)


def _with_added(
    edges: Edges, cells: list[pa.ChunkedArray], missing: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, pa.ChunkedArray]:
    new, places = appearing(same_type(*(cell.take(pa.array(rows)) for cell in cells)))
    # Some of the ids in these rows are known; only the others are added.
    fresh = np.zeros(len(new), dtype=bool)
    fresh[places[missing[rows]]] = True
    pairs = edges.pairs.copy()
    pairs[missing] = (np.cumsum(fresh) - 1 + len(edges.ids))[places[missing[rows]]]
    added = new.filter(pa.array(fresh))
    if is_text(edges.ids.type):
        added = added.cast(edges.ids.type)
    return pairs, pa.chunked_array(
        [chunk for column in same_type(edges.ids, added) for chunk in column.chunks]
    )


def _weights(table: Table, name: str, column: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_boolean(column.type):
        raise unfit(table, name, column.type, "numbers")
    values = floats(table, name, column).astype(np.float64)
    wrong = ~(np.isfinite(values) & (values >= 0))
    table.refuse_first(wrong, name, "is not a positive finite number; fix it, or remove the row")
    return values
