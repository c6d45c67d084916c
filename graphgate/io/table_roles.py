"""Which columns of two tables are the ids of nodes and the two ends of edges.

The options name them, or the tables use usual names; otherwise the columns are those whose values
match.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import InputError, UnclearRolesError
from graphgate.io.columns import is_text, one_piece
from graphgate.io.id_columns import id_column, rows_of, spelled_ids
from graphgate.io.reading_options import ReadingOptions
from graphgate.io.tables import Table

_ENDS = (
    *(("source", "target"), ("from", "to"), ("src", "dst"), ("src", "dest"), ("head", "tail")),
    *(("source", "destination"), ("origin", "destination"), ("start", "end"), ("u", "v")),
    *(("sender", "receiver"), ("sender", "recipient"), ("parent", "child"), ("citing", "cited")),
    *(("payer", "payee"), ("follower", "followee"), ("subject", "object"), ("node1", "node2")),
    *(("id1", "id2"), ("a", "b"), ("i", "j")),
)
_IDS = ("id", "nodeid", "node", "key", "name", "identifier", "uid", "code")
_SAMPLE = 10_000  # values of a column that are compared
_MATCHES = 0.5  # of the values of an end that must be ids
_SHARED = 0.02  # of the values of two ends, where there is no node table


def with_roles(edges: Table, nodes: Table | None, options: ReadingOptions) -> ReadingOptions:
    """The options with the columns of source, target and id that the tables have."""
    defaults = ReadingOptions()
    ends_given = options.source != defaults.source or options.target != defaults.target
    has_ends = ends_given or {options.source, options.target} <= set(edges.names)
    has_id = nodes is None or options.id != defaults.id or options.id in nodes.names
    if has_ends and has_id:
        return options
    if nodes is not None and len(nodes.names) == 1 and re.search(r"[;,|\t]", nodes.names[0]):
        nodes.require(options.id)  # its columns are separated by something else
    ends = (options.source, options.target) if has_ends else _usual_ends(edges)
    if ends is None and len(edges.names) == 2:
        ends = (edges.names[0], edges.names[1])
    if nodes is None:
        source, target = ends or _overlapping(edges)
        return replace(options, source=source, target=target)
    name = options.id if has_id else None
    source, target, id = _matching(edges, nodes, ends, name, options)
    label = None if options.label == id else options.label
    return replace(options, source=source, target=target, id=id, label=label)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.lower())


def _usual_ends(edges: Table) -> tuple[str, str] | None:
    """By name: from and to, src_id and dst_id, …"""
    names = {_plain(name): name for name in reversed(edges.names)}
    for source, target in _ENDS:
        for suffix in ("", "id", "node", "nodeid", "name", "key"):
            if source + suffix in names and target + suffix in names:
                return names[source + suffix], names[target + suffix]
    return None


def _id_columns(table: Table) -> dict[str, pa.ChunkedArray]:
    """Columns that may hold ids, integers or text without gaps, by name."""
    found = {}
    for name, column in table.columns(table.names, dict.fromkeys(table.names, "text")):
        kind = column.type
        coded = pa.types.is_dictionary(kind) and is_text(kind.value_type)
        if not (is_text(kind) or coded or pa.types.is_integer(kind)) or column.null_count:
            continue
        try:
            (found[name],) = spelled_ids(table, id_column(table, name, column))
        except InputError:
            continue
    return found


def _sample(column: pa.ChunkedArray) -> pa.ChunkedArray:
    rows = np.linspace(0, len(column) - 1, min(len(column), _SAMPLE)).astype(np.int64)
    return pa.chunked_array([one_piece(column.take(pa.array(rows)))])


def _matching(
    edges: Table,
    nodes: Table,
    ends: tuple[str, str] | None,
    name: str | None,
    options: ReadingOptions,
) -> tuple[str, str, str]:
    """Source, target and id: the columns whose values match best."""
    all_ids = _id_columns(nodes)
    ids = {
        each: column
        for each, column in all_ids.items()
        if name in (None, each) and pc.count_distinct(column).as_py() == len(column)
    }
    cells = {n: _sample(c) for n, c in _id_columns(edges).items() if ends is None or n in ends}
    shares = {
        id: {
            end: float((rows_of(column, cell) >= 0).mean())
            for end, cell in cells.items()
            if len(cell)
        }
        for id, column in ids.items()
    }
    order = _by_name(list(ids), edges.names if ends is None else ends)
    found = []
    for id in order:
        likely = [end for end in cells if shares[id].get(end, 0) >= _MATCHES]
        if ends is not None:
            likely = list(ends) if max(shares[id].values(), default=0) > 0 else []
        if len(likely) == 2:
            found.append((min(shares[id][end] for end in likely if end in shares[id]), id, likely))
    if found:
        best = max(share for share, _, _ in found)
        _, id, likely = next(each for each in found if each[0] >= 0.9 * best)
        return likely[0], likely[1], id
    if ends is not None and order and (len(order) == 1 or _plain(order[0]) in _IDS):
        return *ends, order[0]  # reading explains that no value matches
    raise _unclear(edges, nodes, ends, order[0] if order else None, shares, name)


def _by_name(names: Sequence[str], ends: Sequence[str]) -> list[str]:
    """Columns in the order in which their names suggest that they hold ids."""
    known = [_plain(end) for end in ends]

    def rank(name: str) -> int:
        plain = _plain(name)
        if plain in _IDS:
            return _IDS.index(plain)
        if any(plain in (end, f"{end}id", end.removesuffix("id")) for end in known):
            return len(_IDS)
        return len(_IDS) + (1 if plain.endswith("id") else 2)

    return sorted(names, key=rank)


def _overlapping(edges: Table) -> tuple[str, str]:
    """The only two columns that share values."""
    cells = {
        name: pc.unique(_sample(column).cast(pa.large_string()))
        for name, column in _id_columns(edges).items()
    }
    shared = {}
    for one, other in combinations(cells, 2):
        common = pc.sum(pc.is_in(cells[one], value_set=cells[other])).as_py() or 0
        if common > _SHARED * min(len(cells[one]), len(cells[other])):
            shared[one, other] = common
    if len(shared) == 1:
        return next(iter(shared))
    likely = max(shared, key=lambda pair: shared[pair]) if shared else None
    raise _unclear(edges, None, likely, None, {}, None)


def _unclear(
    edges: Table,
    nodes: Table | None,
    ends: tuple[str, str] | None,
    id: str | None,
    shares: Mapping[str, Mapping[str, float]],
    given: str | None,
) -> InputError:
    """An error with the columns that are the best guess."""
    if len(edges.names) < 2 or (nodes is not None and not nodes.names):
        return InputError(
            f"{edges.what} has no two columns for the two ends of an edge{edges.hint}",
            about="edges",
        )
    named = shares.get(id or "", {})
    likely = sorted(edges.names, key=lambda name: -named.get(name, 0))[:2]
    source, target = ends or sorted(likely, key=edges.names.index)
    roles = {"source": source, "target": target}
    if nodes is not None:
        roles["id"] = given or id or nodes.names[0]
    return UnclearRolesError(edges.what, None if nodes is None else nodes.what, roles)
