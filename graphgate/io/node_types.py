"""A `HeteroData` of PyTorch Geometric as one `Data`, its node types one after the other."""

import warnings
from itertools import accumulate
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError, warn_ignored
from graphgate.io.tables import FRACTIONS, has_fractions


def to_data(hetero: Any, weight: str, *, one_way: bool = False) -> Any:
    """A `Data` with arrays: sparse x, edge_index, y, masks, ids and feature_names.

    x : the features of each type side by side, then one column per type.
    ids : text such as "paper:0".
    edge_index : edges between different types are listed in both directions, unless `one_way`.

    A warning names the fields that are not used.
    """
    from torch_geometric.data import Data

    with warnings.catch_warnings():  # PyG warns where it does not know the number
        warnings.simplefilter("ignore", UserWarning)
        counts = {kind: hetero[kind].num_nodes for kind in hetero.node_types}
    if None in counts.values() or not sum(counts.values()):
        raise InputError(
            "the HeteroData lacks the number of nodes of a type; set its x or num_nodes, or pass "
            "data.to_homogeneous()"
        )
    data = Data(num_nodes=sum(counts.values()))
    data.x, data.feature_names = _features(hetero, counts)
    data.ids = [f"{kind}:{at}" for kind, n in counts.items() for at in range(n)]
    data.edge_index, data[weight] = _edges(hetero, counts, weight, one_way=one_way)
    ignored = [*_add_labels(data, hetero, counts), *_add_masks(data, hetero, counts)]
    used = {"x", "num_nodes", "y", "edge_index", weight}
    stored = {kind: [*hetero[kind].keys()] for kind in (*hetero.node_types, *hetero.edge_types)}
    for kind, names in stored.items():
        path = kind if kind in counts else "-".join(kind)
        others = [name for name in names if name not in used]
        ignored += [f"{path}.{n}" for n in others if not (kind in counts and n.endswith("_mask"))]
    ignored += sorted(set(hetero.keys()).difference(*stored.values()))
    warn_ignored("the HeteroData", "field", ignored)
    return data


def _features(hetero: Any, counts: dict[str, int]) -> tuple[sp.csr_array, list[str]]:
    """(N, ΣF + T), sparse, and the names of the columns."""
    parts: list[Any] = []
    names: list[str] = []
    for kind, n in counts.items():
        x = hetero[kind].get("x") if n else None
        part = as_array(x) if x is not None else np.empty((n, 0))
        parts.append(sp.csr_array(part.reshape(n, -1) if part.ndim == 1 else part))
        names += [f"{kind}[{at}]" for at in range(parts[-1].shape[1])]
    types = [np.ones((n, 1)) for n in counts.values()]
    x = sp.hstack([sp.block_diag(parts), sp.block_diag(types)], format="csr", dtype=np.float32)
    return x, [*names, *(f"type={kind}" for kind in counts)]


def _edges(
    hetero: Any, counts: dict[str, int], weight: str, *, one_way: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """(2, E), and E weights or None."""
    starts = dict(zip(counts, accumulate(counts.values(), initial=0), strict=False))
    relations = list(hetero.edge_types)
    if missing := [relation for relation in relations if "edge_index" not in hetero[relation]]:
        raise InputError(
            f"the relation {missing[0]!r} of the HeteroData has no edge_index; add it, or pass "
            "data.to_homogeneous()"
        )
    weighted = [weight in hetero[relation] for relation in relations]
    if any(weighted) and not all(weighted):
        raise InputError(
            f"only some relations of the HeteroData have {weight}; add it to all, or remove it"
        )
    parts = [np.empty((2, 0), dtype=np.int64)]
    for relation in relations:
        first = [[starts[relation[0]]], [starts[relation[2]]]]  # rows of its two types
        parts.append(np.add(as_array(hetero[relation].edge_index), first))
    ends = np.concatenate(parts, axis=1)
    rows = np.arange(ends.shape[1])
    if not one_way:
        types = np.repeat(np.arange(len(counts)), [*counts.values()])
        forward, backward = (u * len(types) + v for u, v in (ends, ends[::-1]))
        added = (types[ends[0]] != types[ends[1]]) & ~np.isin(backward, forward)
        ends = np.concatenate([ends, ends[::-1, added]], axis=1)
        rows = np.concatenate([rows, rows[added]])
    if not any(weighted):
        return ends, None
    weights = [as_array(hetero[relation][weight]).reshape(-1) for relation in relations]
    return ends, np.concatenate(weights)[rows]


def _add_labels(data: Any, hetero: Any, counts: dict[str, int]) -> list[str]:
    """Adds labels, and returns the fields that contain none.

    They are as given if one type has them, and text such as "paper:3" if several do.
    """
    given = {kind: as_array(hetero[kind].y) for kind in counts if hetero[kind].get("y") is not None}
    fractions = [kind for kind, y in given.items() if has_fractions(y.ravel())]
    several = len(given) - len(fractions) > 1
    labels: list[Any] = []
    for kind, n in counts.items():
        y = given[kind] if kind in given and kind not in fractions else np.full(n, -1)
        if y.shape != (n,):
            raise InputError(
                f"y of the node type {kind!r} has shape {y.shape}; labels need one value "
                "per node, so set it to None or to one column of classes"
            )
        codes = np.where(np.isnan(y), -1, y).astype(np.int64).tolist()
        labels += [None if at < 0 else f"{kind}:{at}" if several else at for at in codes]
    if len(given) > len(fractions):
        data.y = np.array(labels, dtype=object)
    return [f"{kind}.y ({FRACTIONS})" for kind in fractions]


def _add_masks(data: Any, hetero: Any, counts: dict[str, int]) -> list[str]:
    """Adds masks of nodes, false at types without them, and returns other fields of such names."""
    ignored: list[str] = []
    stored = dict.fromkeys(name for kind in counts for name in [*hetero[kind].keys()])
    for name in [name for name in stored if name.endswith("_mask")]:
        masks = {kind: as_array(hetero[kind][name]) for kind in counts if name in hetero[kind]}
        fit = all(m.dtype == bool and len(m) == counts[kind] for kind, m in masks.items())
        shape, *others = {mask.shape[1:] for mask in masks.values()}
        if not fit or others:
            ignored += [f"{kind}.{name}" for kind in masks]
            continue
        parts = [masks.get(kind, np.zeros((n, *shape), bool)) for kind, n in counts.items()]
        data[name] = np.concatenate(parts)
    return ignored


def as_array(tensor: Any) -> Any:
    """The values of a tensor, in a sparse array of SciPy where they are sparse."""
    if str(getattr(tensor, "layout", "")).startswith("torch.sparse"):
        coo = tensor.to_sparse_coo().coalesce()
        entries = as_array(coo.values()), tuple(as_array(coo.indices()))
        return sp.csr_array(entries, tuple(tensor.shape))
    values = tensor.detach().cpu() if hasattr(tensor, "detach") else tensor
    return values if sp.issparse(values) else np.asarray(values)
