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
    chosen = _chosen(columns, attributes, label, split)
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
    # What edges and the graph itself have besides weights and what `to_networkx` adds.
    others = dict.fromkeys(str(name) for *_, data in g.edges(data=True) for name in data)
    others.pop("weight" if weight is None else weight, None)
    warn_ignored(what, "edge attribute", list(others))
    warn_ignored(what, "graph attribute", [str(name) for name in g.graph if name not in _OWN])
    row = {node: at for at, node in enumerate(g)}
    edges = list(g.edges(data=weight) if weight is not None else g.edges(data=False))
    ends = pa.array(names)
    columns = {
        end: ends.take(pa.array([row[edge[at]] for edge in edges], pa.int64()))
        for at, end in enumerate(("source", "target"))
    }
    if weight is not None and any(edge[2] is not None for edge in edges):
        values = python_column([1.0 if edge[2] is None else edge[2] for edge in edges])
        if values is None:
            raise InputError(f"{what}: a weight is not a number; weights must be positive numbers")
        columns["weight"] = values
    return Table(
        pa.table(columns), what, place=lambda at: f"edge {edges[at][0]!r}–{edges[at][1]!r}"
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
            # Integers of more than 64 bits, which are objects for NumPy, become floats.
            made |= {
                f"{name}[{at}]": pa.array(entry)
                if entry.dtype != object
                else python_column(entry.tolist())
                for at, entry in enumerate(_matrix(name, columns, ids).T)
            }
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


def _chosen(
    columns: Mapping[str, Any],
    attributes: Iterable[str] | str | None,
    label: str | None,
    split: str | None,
) -> list[str]:
    """The node attributes that become attributes, all of which must exist, as must the others."""
    roles = [
        (name, role) for name, role in ((label, "label"), (split, "split")) if name is not None
    ]
    others = [name for name in columns if name not in (label, split)]
    chosen = [attributes] if isinstance(attributes, str) else list(attributes or ())
    for name, role in (*roles, *((name, "attribute") for name in chosen)):
        if name not in columns:
            known = listing(list(map(repr, columns)), 6) or "none"
            raise InputError(f"no node has the {role} {name!r}; the attributes are {known}")
        if role == "attribute" and name not in others:
            raise InputError(
                f"{name!r} is listed as an attribute and used as label or split; choose one"
            )
    if len(set(chosen)) != len(chosen):
        raise InputError("an attribute is listed twice; list each once")
    return others if attributes is None else chosen


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


def _masks(names: list[Any]) -> dict[str, np.ndarray]:
    splits = dict.fromkeys(str(name) for name in names if name is not None)
    return {split: np.array([str(name) == split for name in names]) for split in splits}


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
        x = graph.x.toarray() if sp.issparse(graph.x) else graph.x
        columns[features] = list(x.copy())  # the graph's own rows cannot be changed
    elif (table := graph.attributes) is not None:
        for name in table:
            moments = moments_of(table[name])
            columns[name] = (table[name] if moments is None else moments).tolist()
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
