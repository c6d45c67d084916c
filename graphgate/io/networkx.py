"""NetworkX graphs <-> `Graph`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from graphgate.errors import InputError, listing, warn_ignored
from graphgate.graph.column_kinds import moments_of
from graphgate.graph.graph import Graph
from graphgate.io.graph_tables import NODE, build_graph
from graphgate.io.reading_options import ReadingOptions
from graphgate.io.tables import Table, checked_labels, is_real, python_column, unfit_kind

# Attributes of a graph that name it, that are used, or that NetworkX's readers add.
_OWN = ("name", "label", "mode", "attribute_kinds", "feature_names", "node_default", "edge_default")


def from_networkx(
    g: Any,
    *,
    attributes: Iterable[str] | str | None = None,
    label: str | None = None,
    weight: str | None = "weight",
    split: str | None = None,
) -> Graph:
    """Make a graph from a NetworkX graph; it is directed if `g` is.

    Parameters
    ----------
    g : Graph, DiGraph, MultiGraph or MultiDiGraph; any NetworkX node is an id.
    attributes : names of node attributes: numbers, booleans, dates, text, lists of words, mappings
        from words to counts, or vectors of numbers. None takes all except label and split; []
        takes none. If the only attribute is a vector, it becomes the features `x`; next to others,
        its entries become attributes `name[0]`, `name[1]`, ….
    label, split : node attributes with the classes, and with "train", "val" or "test".
    weight : the edge attribute with the weights. As in NetworkX, an edge without it has weight 1;
        if no edge has it, or with None, the graph is unweighted.

    An `InputWarning` says what is not used: self-loops and parallel edges, which add their weights
    or become one edge of an unweighted graph; other attributes of edges, those of the graph itself
    except its name, and those of nodes that are nested or of other types.

    >>> import networkx as nx
    >>> from_networkx(nx.karate_club_graph(), attributes=[], label="club").classes
    ('Mr. Hi', 'Officer')
    """
    if not hasattr(g, "is_multigraph") or not hasattr(g, "nodes"):
        raise InputError(f"expected a NetworkX graph, got {type(g).__name__}")
    ids = list(g)
    if not ids:
        raise InputError("the graph has no nodes; a graph needs at least one")
    columns = node_columns(g)
    for name, role in ((label, "label"), (split, "split")):
        if name is not None:
            _require(columns, name, role)
    chosen = _chosen(columns, attributes, {label, split})
    x, names = None, g.graph.get("feature_names")
    if len(chosen) == 1 and _holds_vectors(columns[chosen[0]]):
        matrix = _matrix(chosen.pop(), columns, ids)
        x = sp.csr_array(matrix) if np.count_nonzero(matrix) < 0.2 * matrix.size else matrix
    rows, what = range(len(ids)), "the NetworkX graph"
    return build_graph(
        edge_table(g, rows, weight, what),
        node_table(
            g,
            rows,
            {name: columns[name] for name in chosen},
            what,
            strict=attributes is not None,
        ),
        ReadingOptions(
            id=NODE,
            label=None,
            directed=g.is_directed(),
            kinds=g.graph.get("attribute_kinds") or {},
        ),
        x=x,
        ids=ids,
        labels=None if label is None else checked_labels(columns[label], what, label),
        splits=None if split is None else _masks(columns[split]),
        feature_names=names if x is not None and len(names or ()) == x.shape[1] else None,
    )


def edge_table(g: Any, names: Sequence[Any], weight: str | None, what: str) -> Table:
    """The edges of a NetworkX graph by the names of its nodes, in the order of the nodes."""
    _warn_of_others(g, weight, what)
    row = {node: at for at, node in enumerate(g)}
    found = list(g.edges(data=weight) if weight is not None else g.edges(data=False))
    known = pa.array(names)
    columns = {
        end: known.take(pa.array([row[edge[at]] for edge in found], pa.int64()))
        for at, end in enumerate(("source", "target"))
    }
    if weight is not None and any(edge[2] is not None for edge in found):
        values = python_column([1.0 if edge[2] is None else edge[2] for edge in found])
        if values is None:
            raise InputError(f"{what}: a weight is not a number; weights must be positive numbers")
        columns["weight"] = values
    return Table(
        pa.table(columns), what, place=lambda at: f"edge {found[at][0]!r}–{found[at][1]!r}"
    )


def node_table(
    g: Any,
    names: Sequence[Any],
    columns: Mapping[str, list[Any]],
    what: str,
    *,
    strict: bool = False,
) -> Table:
    """A column of names, and the attributes of the nodes; unfit ones are left out or refused."""
    ids = list(g)
    unfit: dict[str, str | None] = {}
    made: dict[str, pa.Array] = {NODE: pa.array(names)}
    for name, values in columns.items():
        if _holds_vectors(values):
            matrix = _matrix(name, columns, ids)
            made |= {f"{name}[{at}]": _entries(matrix[:, at]) for at in range(matrix.shape[1])}
        elif (column := python_column(values)) is not None:
            made[name] = column
        else:
            unfit[name] = unfit_kind(values)
    if strict and unfit:
        name, kind = next(iter(unfit.items()))
        raise InputError(
            f"{what}: the attribute {name!r} has {kind}, which cannot be used; drop it"
        )
    warn_ignored(what, "node attribute", [f"{name} ({kind})" for name, kind in unfit.items()])
    return Table(pa.table(made), what, place=lambda at: f"node {ids[at]!r}")


def node_columns(g: Any) -> dict[str, list[Any]]:
    """Name -> one value per node, None where a node has none."""
    n = len(g)
    spelled: dict[str, Any] = {}
    columns: dict[str, list[Any]] = {
        name: [None] * n for name in g.graph.get("attribute_kinds") or {}
    }
    for at, (_, data) in enumerate(g.nodes(data=True)):
        for name, value in data.items():
            if (column := columns.get(str(name))) is None:
                column = columns[str(name)] = [None] * n
            if (other := spelled.setdefault(str(name), name)) != name:
                raise InputError(
                    f"the attributes {other!r} and {name!r} are spelled alike; rename one"
                )
            column[at] = value.detach().cpu().numpy() if hasattr(value, "detach") else value
    return columns


def _warn_of_others(g: Any, weight: str | None, what: str) -> None:
    """What edges and the graph itself have besides weights and what `to_networkx` adds."""
    used = {"weight" if weight is None else weight}
    others = dict.fromkeys(str(name) for *_, data in g.edges(data=True) for name in data)
    warn_ignored(what, "edge attribute", [name for name in others if name not in used])
    warn_ignored(what, "graph attribute", [str(name) for name in g.graph if name not in _OWN])


def _require(columns: Mapping[str, Any], name: str, role: str) -> None:
    if name not in columns:
        known = listing(list(map(repr, columns)), 6) or "none"
        raise InputError(f"no node has the {role} {name!r}; the attributes are {known}")


def _chosen(
    columns: Mapping[str, Any], attributes: Iterable[str] | str | None, taken: set[str | None]
) -> list[str]:
    if attributes is None:
        return [name for name in columns if name not in taken]
    chosen = [attributes] if isinstance(attributes, str) else list(attributes)
    for name in chosen:
        _require(columns, name, "attribute")
        if name in taken:
            raise InputError(
                f"{name!r} is listed as an attribute and used as label or split; choose one"
            )
    if len(set(chosen)) != len(chosen):
        raise InputError("an attribute is listed twice; list each once")
    return chosen


def _holds_vectors(values: list[Any]) -> bool:
    given = [value for value in values if value is not None]
    return bool(given) and all(map(_is_vector, given))


def _is_vector(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "buif"
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(map(is_real, value))


def _matrix(name: str, columns: Mapping[str, list[Any]], ids: list[Any]) -> np.ndarray:
    """(N, F) from vectors of equal length, one per node."""
    values = columns[name]
    sizes = [0 if value is None else len(value) for value in values]
    for node, size in zip(ids, sizes, strict=True):
        if size != sizes[0] or not size:
            raise InputError(
                f"the vector {name!r} has {max(sizes)} entries at some nodes, but {size} at node "
                f"{node!r}; give every node a vector of the same length"
            )
    return np.stack([np.asarray(value) for value in values])


def _entries(values: np.ndarray) -> pa.Array | None:
    """A column of vectors; integers of more than 64 bits, objects for NumPy, become floats."""
    return python_column(values.tolist()) if values.dtype == object else pa.array(values)


def _masks(names: list[Any]) -> dict[str, np.ndarray]:
    found = dict.fromkeys(str(name) for name in names if name is not None)
    return {split: np.array([str(name) == split for name in names]) for split in found}


def to_networkx(
    graph: Graph,
    *,
    features: str = "x",
    label: str = "label",
    weight: str = "weight",
    split: str = "split",
) -> Any:
    """Convert to a NetworkX Graph or DiGraph, from which `from_networkx` makes the same graph.

    Numbers become floats, and dates become `datetime` objects, up to rounding. A graph without
    edges does not say whether it is weighted.

    Attributes become node attributes, absent where missing, and `g.graph["attribute_kinds"]` has
    their kinds. Features without attributes become one vector per node under the name `features`,
    and `g.graph["feature_names"]` has their names. Labels, splits and weights get the names given,
    where the graph has them.

    >>> g = to_networkx(Graph.from_edges([[1.0], [2.0]], [("p", "q")], ids=["p", "q"]))
    >>> g.edges
    EdgeView([('p', 'q')])
    """
    try:
        import networkx as nx
    except ImportError:
        raise InputError("to_networkx needs NetworkX: pip install 'graphgate[graph]'") from None

    ids = graph.ids.tolist()
    g = nx.DiGraph() if graph.directed else nx.Graph()
    g.add_nodes_from(ids)
    for name, values in _node_columns(graph, features, label, split).items():
        for node, value in zip(ids, values, strict=True):
            if value is not None:
                g.nodes[node][name] = value
    if graph.attributes is not None:
        g.graph["attribute_kinds"] = dict(graph.attributes.kinds)
    elif graph.feature_names is not None:
        g.graph["feature_names"] = list(graph.feature_names)
    entries = (graph.adjacency if graph.directed else sp.triu(graph.adjacency, 1)).tocoo()
    for u, v, value in zip(entries.row, entries.col, entries.data.tolist(), strict=True):
        g.add_edge(ids[u], ids[v], **({weight: value} if graph.weighted else {}))
    return g


def _node_columns(graph: Graph, features: str, label: str, split: str) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    if graph.x is not None:
        x = graph.x if isinstance(graph.x, np.ndarray) else graph.x.toarray()
        columns[features] = list(x.copy())  # the graph's own rows cannot be changed
    elif graph.attributes is not None:
        table = graph.attributes
        for name in table.names:
            moments = moments_of(table.column(name))
            columns[name] = (table.column(name) if moments is None else moments).tolist()
    more = [(label, graph.label_values())]
    if graph.splits:
        names = np.full(graph.n_nodes, None, dtype=object)
        for name, mask in graph.splits.items():
            names[mask] = name
        more.append((split, names.tolist()))
    for name, values in more:
        if values is not None and columns.setdefault(name, values) is not values:
            raise InputError(
                f"the graph already has an attribute {name!r}; choose another name with label= "
                "or split="
            )
    return columns
