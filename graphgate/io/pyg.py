"""PyTorch Geometric `Data` <-> `Graph`."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError, warn_ignored
from graphgate.graph.edges import edge_weights, row_pairs
from graphgate.graph.graph import Graph
from graphgate.graph.joining import join_graphs
from graphgate.io.graph_tables import listed_once, make_graph
from graphgate.io.node_types import as_array, to_data
from graphgate.io.tables import FRACTIONS, has_fractions

# Fields of a `Data` that make a graph, besides weights and masks.
_USED = (
    *("x", "edge_index", "adj_t", "y", "classes", "ids", "feature_names", "num_nodes"),
    *("batch", "ptr"),
)


def from_pyg(
    data: Any,
    *,
    weight: str = "edge_weight",
    split: int | None = None,
    directed: bool | None = None,
) -> Graph:
    """Make a graph from a `Data` or a `HeteroData` of PyTorch Geometric, or from a `Batch`.

    Parameters
    ----------
    data : uses `x` (dense or sparse), `edge_index` (or a sparse `adj_t`), `y` as labels (negative:
        none), every mask `train_mask`, `val_mask`, … as a split, and `ids`, `classes` and
        `feature_names`, which `to_pyg` adds. The graphs of a `Batch` are joined as by
        `join_graphs`.
    weight : the attribute with the edge weights.
    split : which column of the masks to use, if they have several.
    directed : False counts edges in both directions, True as they are listed. By default, a graph
        is undirected if every edge is listed in both directions with the same weight, and relations
        between different node types count in both directions.

    An `InputWarning` names all other fields, which are not used, and `y` if it contains fractions
    (a regression target has no classes) or has one value per graph of a `Batch`.

    The node types of a `HeteroData` get features side by side, zero for nodes of other types, and
    one more feature per type that says which nodes are of it. Ids are text such as "paper:0";
    labels too, if several types have them. Edges of all types are edges.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> from_pyg(Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 0]])))
    Graph(3 nodes, 1 undirected edge, 3 dense features)
    """
    if not isinstance(directed, bool | None):
        raise InputError(f"directed must be true, false or None, got {directed!r}")
    if hasattr(data, "node_types"):
        data = to_data(data, weight, one_way=directed is True)
    if not hasattr(data, "edge_index") or not hasattr(data, "num_nodes"):
        raise InputError(
            f"expected a torch_geometric.data.Data, got {type(data).__name__}; from a dataset, "
            "pass an element such as dataset[0]"
        )
    batch = data.to_data_list() if hasattr(data, "to_data_list") else []
    unfit = _unfit_labels(data, len(batch))
    names = sorted(name for name in set(data.keys()) - {*_USED, weight} if data[name] is not None)
    ignored = [name for name in names if not _is_mask(name, data[name], data.num_nodes)]
    ignored += [] if unfit is None else [f"y ({unfit})"]
    weights = next((name for name in ("edge_attr", "edge_weight") if name in ignored), None)
    hint = "" if weights is None else f"pass weight={weights!r} if it contains weights"
    warn_ignored(f"the {'Batch' if batch else 'Data'}", "field", ignored, hint)
    items = batch or [data]
    graphs = [_graph_of(item, weight, split, directed, labeled=unfit is None) for item in items]
    if not batch:
        return graphs[0]
    one_way = any(graph.directed for graph in graphs)
    return join_graphs([graph.to_directed() if one_way else graph for graph in graphs])


def _graph_of(
    data: Any, weight: str, split: int | None, directed: bool | None, *, labeled: bool
) -> Graph:
    n = data.num_nodes
    if not n:
        raise InputError("the Data has no nodes; a graph needs at least one")
    pairs, weights = _edges(data, n, weight)
    symmetric = directed is not True and _is_symmetric(pairs, weights, n)
    if symmetric:
        pairs, weights = listed_once(pairs, weights)
    return make_graph(
        pairs,
        weights,
        "the Data",
        "the Data",
        x=None if data.x is None else as_array(data.x),
        ids=getattr(data, "ids", range(n)),
        labels=_labels(data, n) if labeled else None,
        splits=_splits(data, n, split),
        directed=not symmetric if directed is None else directed,
        feature_names=getattr(data, "feature_names", None),
    )


def to_pyg(graph: Graph, *, sparse: bool = False) -> Any:
    """Convert to a `torch_geometric.data.Data`.

    It has `x` (dense, unless `sparse` is set and the graph's features are sparse), `edge_index`,
    `edge_weight` if the graph is weighted, `y` (-1 where a node has no label) with `classes`, the
    splits as masks, `ids` and `feature_names`. Undirected edges are listed in both directions, as
    PyG expects. Attributes must be encoded first, with `AttributeEncoder` and `graph.with_x`.

    Examples
    --------
    >>> to_pyg(Graph.from_edges([[1.0], [2.0]], [(0, 1)])).edge_index.tolist()
    [[0, 1], [1, 0]]
    """
    import torch

    try:
        from torch_geometric.data import Data
    except ImportError:
        raise InputError("to_pyg needs PyTorch Geometric: pip install torch_geometric") from None

    if graph.attributes is not None:
        raise InputError(
            "a Data contains only numbers; encode the attributes with AttributeEncoder, and pass "
            "graph.with_x(x)",
            about="nodes",
        )
    entries = graph.adjacency.tocoo()
    x = graph.x.toarray() if sp.issparse(graph.x) and not sparse else graph.x
    arrays = {
        "x": None if sp.issparse(x) else x,
        "edge_index": np.stack([entries.row, entries.col]).astype(np.int64),
        "edge_weight": entries.data if graph.weighted else None,
        "y": graph.labels,
        **{f"{name}_mask": mask for name, mask in graph.splits.items()},
    }
    fields: dict[str, Any] = {
        name: torch.from_numpy(np.array(array))  # a copy, because a graph cannot be changed
        for name, array in arrays.items()
        if array is not None
    }
    if sp.issparse(x):
        parts = (x.indptr.astype(np.int64), x.indices.astype(np.int64), x.data.copy())
        indptr, indices, values = map(torch.from_numpy, parts)
        with warnings.catch_warnings():  # torch warns that CSR tensors are in beta
            warnings.simplefilter("ignore", UserWarning)
            fields["x"] = torch.sparse_csr_tensor(indptr, indices, values, size=x.shape)
    elif x is None:
        fields["num_nodes"] = graph.n_nodes
    if graph.labels is not None:
        fields["classes"] = list(graph.classes)
    if graph.feature_names is not None:
        fields["feature_names"] = list(graph.feature_names)
    return Data(ids=graph.ids.tolist(), **fields)


def _edges(data: Any, n: int, weight: str) -> tuple[np.ndarray, np.ndarray | None]:
    """(E, 2) row numbers, and E weights or None."""
    if data.edge_index is None:
        if "adj_t" in data:
            return _transposed_adjacency(data.adj_t)
        return np.empty((0, 2), dtype=np.int64), None
    pairs = row_pairs(as_array(data.edge_index), n)
    if data.get(weight) is None:
        if weight != "edge_weight":
            raise InputError(f"the Data has no edge weights named {weight!r}")
        return pairs, None
    return pairs, edge_weights(as_array(data[weight]).reshape(-1), len(pairs))


def _transposed_adjacency(adj_t: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Row i of adj_t lists the edges to node i; all ones means unweighted."""
    if not hasattr(adj_t, "to_sparse_coo"):
        raise InputError(
            f"adj_t is a {type(adj_t).__name__}; use edge_index, or a sparse torch tensor"
        )
    coo = as_array(adj_t.to_sparse_coo()).tocoo()
    return np.stack([coo.col, coo.row], axis=1), None if (coo.data == 1).all() else coo.data


def _is_symmetric(edges: np.ndarray, weights: np.ndarray | None, n: int) -> bool:
    values = np.ones(len(edges)) if weights is None else weights.astype(np.float64)
    adjacency = sp.csr_array((values, tuple(edges.T)), shape=(n, n))
    if weights is None:  # however often an edge is listed
        adjacency = adjacency.astype(bool)
    return bool((adjacency != adjacency.T).nnz == 0)


def _labels(data: Any, n: int) -> list[Any] | None:
    if data.y is None:
        return None
    y = as_array(data.y)
    if y.size == n and y.shape[:1] == (n,):
        y = y.reshape(-1)
    if y.shape != (n,):
        raise InputError(
            f"y has shape {y.shape} for {n:,} nodes; labels need one value per node, so set "
            "it to None or to one column"
        )
    if y.dtype.kind == "f":
        y = np.where(np.isnan(y), -1, y).astype(np.int64)
    if y.dtype.kind not in "iu":
        return list(y.tolist())
    classes = getattr(data, "classes", range(y.max() + 1))
    if y.max() >= len(classes):
        raise InputError(
            f"y contains the class {y.max()}, but classes has only {len(classes)} entries"
        )
    return [None if code < 0 else classes[code] for code in y.tolist()]


def _unfit_labels(data: Any, n_graphs: int) -> str | None:
    """Why `y` is not used, if it is not."""
    if data.y is None:
        return None
    y = as_array(data.y)
    if n_graphs and y.shape[:1] == (n_graphs,) != (data.num_nodes,):
        return "one value per graph, not per node"
    return FRACTIONS if has_fractions(y.ravel()) else None


def _is_mask(name: str, values: Any, n: int | None) -> bool:
    """Whether it is one boolean per node, or several to choose from."""
    mask = name.endswith("_mask") and getattr(values, "shape", ())[:1] == (n,)
    return mask and "bool" in str(values.dtype)


def _splits(data: Any, n: int, split: int | None) -> dict[str, np.ndarray]:
    splits: dict[str, np.ndarray] = {}
    masks = {name for name in set(data.keys()) if _is_mask(name, data[name], n)}
    usual = [name for name in ("train_mask", "val_mask", "test_mask") if name in masks]
    for name in [*usual, *sorted(masks.difference(usual))]:
        mask = as_array(data[name])
        if mask.ndim == 2:
            if split is None or not 0 <= split < mask.shape[1]:
                raise InputError(
                    f"{name} has {mask.shape[1]} columns; choose one with split= "
                    f"(0 to {mask.shape[1] - 1})"
                )
            mask = mask[:, split]
        splits[name.removesuffix("_mask")] = mask
    return splits
