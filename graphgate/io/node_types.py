"""A `HeteroData` of PyTorch Geometric as one `Data`, its node types one after the other."""

import warnings
from itertools import accumulate
from typing import Any

from graphgate.errors import InputError

_MASKS = ("train_mask", "val_mask", "test_mask")


def to_data(hetero: Any, weight: str) -> Any:
    """A `Data` with sparse x, edge_index, y, masks, ids, classes and feature_names.

    x : the features of each type side by side, then one column per type.
    ids : text such as "paper:0".
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
    _add_edges(data, hetero, counts, weight)
    _add_labels(data, hetero, counts)
    for name in _MASKS:
        if any(name in hetero[kind] for kind in counts):
            data[name] = torch.cat(
                [hetero[kind].get(name, torch.zeros(n).bool()) for kind, n in counts.items()]
            )
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


def _add_edges(data: Any, hetero: Any, counts: dict[str, int], weight: str) -> None:
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
    for relation in relations:
        store, (source, _, target) = hetero[relation], relation
        ends = store.edge_index + torch.tensor([[starts[source]], [starts[target]]])
        data.edge_index = torch.cat([data.edge_index, ends], dim=1)
    if any(weighted):
        data[weight] = torch.cat([hetero[relation][weight].reshape(-1) for relation in relations])


def _add_labels(data: Any, hetero: Any, counts: dict[str, int]) -> None:
    """Labels are as given if one type has them, and text such as "paper:3" if several do."""
    import torch

    labeled = [kind for kind in counts if hetero[kind].get("y") is not None]
    codes: list[Any] = []
    classes: list[Any] = []
    for kind, n in counts.items():
        y = hetero[kind].y if kind in labeled else torch.full((n,), -1)
        if y.shape != (n,) or y.is_floating_point():
            raise InputError(
                f"y of the node type {kind!r} has shape {tuple(y.shape)} and type {y.dtype}; "
                "labels need one integer per node, so set it to None or to one column of classes"
            )
        codes.append(torch.where(y < 0, -1, y + len(classes)))
        numbers = range(int(y.max()) + 1 if n else 0)
        classes += [f"{kind}:{number}" if len(labeled) > 1 else number for number in numbers]
    if labeled:
        data.y, data.classes = torch.cat(codes), classes
