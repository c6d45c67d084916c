"""A `HeteroData` of PyTorch Geometric as one `Data`, its node types one after the other."""

import warnings
from itertools import accumulate
from typing import Any

from graphgate.errors import InputError, warn_ignored
from graphgate.io.tables import FRACTIONS, has_fractions


def to_data(hetero: Any, weight: str, *, one_way: bool = False) -> Any:
    """A `Data` with sparse x, edge_index, y, masks, ids, classes and feature_names.

    x : the features of each type side by side, then one column per type.
    ids : text such as "paper:0".
    edge_index : edges between different types are listed in both directions, unless `one_way`.

    A warning names the fields that are not used.
    """
    import torch
    from torch_geometric.data import Data

    with warnings.catch_warnings():  # PyG warns where it does not know the number
        warnings.simplefilter("ignore", UserWarning)
        counts = {kind: hetero[kind].num_nodes for kind in hetero.node_types}
    if None in counts.values() or not sum(counts.values()):
        raise InputError(
            "the HeteroData lacks the number of nodes of a type; set its x or num_nodes, or pass "
            "data.to_homogeneous()"
        )
    data = Data(edge_index=torch.empty((2, 0), dtype=torch.long), num_nodes=sum(counts.values()))
    data.x, data.feature_names = _features(hetero, counts)
    data.ids = [f"{kind}:{at}" for kind, n in counts.items() for at in range(n)]
    _add_edges(data, hetero, counts, weight, one_way=one_way)
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


def _features(hetero: Any, counts: dict[str, int]) -> tuple[Any, list[str]]:
    """(N, ΣF + T), sparse, and the names of the columns."""
    import torch

    entries: list[tuple[Any, Any]] = []
    names: list[str] = []
    above = 0
    for kind, n in counts.items():
        x = hetero[kind].get("x")
        if x is not None and n:
            coo = (x.unsqueeze(1) if x.dim() == 1 else x).to_sparse_coo().coalesce()
            entries.append((coo.indices() + torch.tensor([[above], [len(names)]]), coo.values()))
            names += [f"{kind}[{at}]" for at in range(coo.shape[1])]
        above += n
    types = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor([*counts.values()]))
    entries.append((torch.stack([torch.arange(above), types + len(names)]), torch.ones(above)))
    names += [f"type={kind}" for kind in counts]
    places = torch.cat([indices for indices, _ in entries], dim=1)
    values = torch.cat([values.float() for _, values in entries])
    size = (above, len(names))
    return torch.sparse_coo_tensor(places, values, size, check_invariants=False), names


def _add_edges(
    data: Any, hetero: Any, counts: dict[str, int], weight: str, *, one_way: bool
) -> None:
    import torch

    starts = dict(zip(counts, accumulate(counts.values(), initial=0), strict=False))
    relations = [relation for relation in hetero.edge_types if "edge_index" in hetero[relation]]
    if missing := [relation for relation in hetero.edge_types if relation not in relations]:
        raise InputError(
            f"the relation {missing[0]!r} of the HeteroData has no edge_index; add it, or pass "
            "data.to_homogeneous()"
        )
    weighted = [weight in hetero[relation] for relation in relations]
    if any(weighted) and not all(weighted):
        raise InputError(
            f"only some relations of the HeteroData have {weight}; add it to all, or remove it"
        )
    parts = []
    for relation in relations:
        source, _, target = relation
        starts_of = torch.tensor([[starts[source]], [starts[target]]])
        parts.append(hetero[relation].edge_index + starts_of)
    ends = torch.cat([data.edge_index, *parts], dim=1)
    keep = torch.arange(ends.shape[1])
    if not one_way:
        types = torch.repeat_interleave(torch.tensor([*counts.values()]))
        keys, backward = (u * data.num_nodes + v for u, v in (ends, ends.flip(0)))
        added = (types[ends[0]] != types[ends[1]]) & ~torch.isin(backward, keys)
        ends, keep = (
            torch.cat([ends, ends[:, added].flip(0)], dim=1),
            torch.cat([keep, keep[added]]),
        )
    data.edge_index = ends
    if any(weighted):
        weights = torch.cat([hetero[relation][weight].reshape(-1) for relation in relations])
        data[weight] = weights[keep]


def _add_labels(data: Any, hetero: Any, counts: dict[str, int]) -> list[str]:
    """Adds labels, and returns the fields that contain none.

    They are as given if one type has them, and text such as "paper:3" if several do.
    """
    import torch

    given = {kind: hetero[kind].y for kind in counts if hetero[kind].get("y") is not None}
    fractions = [
        kind for kind, y in given.items() if has_fractions(y.detach().cpu().numpy().ravel())
    ]
    labeled = [kind for kind in given if kind not in fractions]
    codes: list[Any] = []
    classes: list[Any] = []
    for kind, n in counts.items():
        y = given[kind] if kind in labeled else torch.full((n,), -1)
        if y.shape != (n,):
            raise InputError(
                f"y of the node type {kind!r} has shape {tuple(y.shape)}; labels need one value "
                "per node, so set it to None or to one column of classes"
            )
        y = torch.where(y.isnan(), -1, y).long()
        codes.append(torch.where(y < 0, -1, y + len(classes)))
        numbers = range(int(y.max()) + 1 if n else 0)
        classes += [f"{kind}:{number}" if len(labeled) > 1 else number for number in numbers]
    if labeled:
        data.y, data.classes = torch.cat(codes), classes
    return [f"{kind}.y ({FRACTIONS})" for kind in fractions]


def _add_masks(data: Any, hetero: Any, counts: dict[str, int]) -> list[str]:
    """Adds masks of nodes, false at types without them, and returns other fields of such names."""
    import torch

    ignored: list[str] = []
    stored = dict.fromkeys(name for kind in counts for name in [*hetero[kind].keys()])
    for name in [name for name in stored if name.endswith("_mask")]:
        given = {kind: hetero[kind][name] for kind in counts if name in hetero[kind]}
        fit = all(m.dtype == torch.bool and len(m) == counts[kind] for kind, m in given.items())
        shapes = {mask.shape[1:] for mask in given.values()}
        if not fit or len(shapes) > 1:
            ignored += [f"{kind}.{name}" for kind in given]
            continue
        shape = shapes.pop()
        parts = [given.get(kind, torch.zeros(n, *shape).bool()) for kind, n in counts.items()]
        data[name] = torch.cat(parts)
    return ignored
