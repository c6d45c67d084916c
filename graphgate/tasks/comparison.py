"""What two nodes have in common: neighbors, words, categories."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgate.errors import listing
from graphgate.graph.graph import Graph
from graphgate.tasks.description import indicators


@dataclass(frozen=True)
class SharedTraits:
    """What a node shares with another one.

    node : the id of the other one.
    connected : whether there is an edge between them.
    neighbors : ids of the neighbors of both, those of lowest degree first.
    traits : (name, value) of words, categories and the like that both have, the rarest first. A
        feature that both have is (name, True).
    """

    node: Any
    connected: bool
    neighbors: list[Any]
    traits: list[tuple[str, Any]]

    def __str__(self) -> str:
        parts = ["an edge"] if self.connected else []
        if self.neighbors:
            many = "neighbors" if len(self.neighbors) > 1 else "neighbor"
            parts.append(f"{many} {listing([str(node) for node in self.neighbors], 3)}")
        by_name: dict[str, list[str]] = {}
        for name, value in self.traits:
            by_name.setdefault("" if value is True else name, []).append(
                name if value is True else str(value)
            )
        parts += [f"{name} {listing(values, 5)}".strip() for name, values in by_name.items()]
        return "; ".join(parts) or "nothing"


def compare_nodes(graph: Graph, node: Any, others: Sequence[Any]) -> list[SharedTraits]:
    """What a node shares with each of some others, such as its most similar nodes.

    Direction of edges makes no difference. Numbers are not compared, only words, categories,
    booleans, and features that are sparse or only 0 and 1.

    Examples
    --------
    >>> towns = {"town": ["Ulm", "Ulm", "Bern", "Ulm"]}
    >>> graph = Graph.from_edges(None, [(0, 1), (1, 2), (2, 3), (0, 2)], attributes=towns)
    >>> print(*compare_nodes(graph, 0, [1, 3]), sep=" | ")
    an edge; neighbor 2; town Ulm | neighbor 2; town Ulm
    """
    row, rows = int(graph.rows([node])[0]), graph.rows(list(others))
    both = graph.to_undirected().adjacency if graph.directed else graph.adjacency
    degrees = np.diff(both.indptr)
    near = both.indices[both.indptr[row] : both.indptr[row + 1]]
    owned = []
    for names, has in indicators(graph):
        rarity = np.bincount(has.indices, minlength=has.shape[1])
        mine = has.indices[has.indptr[row] : has.indptr[row + 1]]
        owned.append((names, has, rarity, mine))
    found = []
    for other, at in zip(others, rows.tolist(), strict=True):
        its = both.indices[both.indptr[at] : both.indptr[at + 1]]
        common = np.intersect1d(near, its)
        common = common[np.argsort(degrees[common], kind="stable")]
        traits = []
        for names, has, rarity, mine in owned:
            shared = np.intersect1d(mine, has.indices[has.indptr[at] : has.indptr[at + 1]])
            traits += [(int(rarity[column]), names[column]) for column in shared.tolist()]
        traits.sort(key=lambda each: each[0])
        ids = graph.ids[common].tolist()
        found.append(SharedTraits(other, at in near, ids, [name for _, name in traits]))
    return found
