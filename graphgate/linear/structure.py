"""Structure factors: where a node is in the graph, whatever its features.

They are the rows of L W, where L = D^-½ A D^-½ and W holds its leading right singular vectors.
Row i depends on the rows of W of the neighbors of i only, so a new node has factors as soon as one
of its neighbors was there when the estimator was fitted.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from graphgate.compute.columns import Columns
from graphgate.compute.tall_matrix import TallMatrix
from graphgate.graph.graph import Graph
from graphgate.graph.validation import TEXT
from graphgate.linear.matrices import NormalizedAdjacency


@dataclass(frozen=True)
class StructureFactors:
    """The leading singular vectors of a graph, by the ids of its nodes.

    ids : (N,) `plain_ids`.
    vectors : (N, k) W.
    """

    ids: Annotated[np.ndarray, "N", object]
    vectors: Annotated[Tensor, "N k"]

    def of(self, graph: Graph, engine: Columns) -> TallMatrix:
        """(n, k), the factors of the nodes of any graph; zero without a known neighbor."""
        return NormalizedAdjacency(graph, engine).times(self.places(graph))

    def places(self, graph: Graph) -> Tensor:
        """(N, k), the rows of W of the nodes of any graph; zero for nodes that are not known."""
        rows = torch.from_numpy(self._rows(graph))
        places = self.vectors[rows.clamp_min(0)]
        places[rows < 0] = 0.0
        return places

    @property
    def rank(self) -> int:
        return int(self.vectors.shape[1])

    def without_place(self, graph: Graph) -> np.ndarray:
        """(N,) whether a node has neighbors, but none that is known."""
        known = (self._rows(graph) >= 0).astype(np.int64)
        attended = graph.attended
        running = np.concatenate([[0], np.cumsum(known[attended.indices])])
        n_known = np.diff(running[attended.indptr])
        placeless: np.ndarray = (n_known == 0) & (np.diff(attended.indptr) > 0)
        return placeless

    def _rows(self, graph: Graph) -> np.ndarray:
        return find_rows(self.ids, plain_ids(graph.ids))


def plain_ids(ids: np.ndarray) -> np.ndarray:
    """Ids as they can be stored: int64, text, or objects that are text or integers.

    Any other id becomes a tuple that holds its `repr`, which equals no id that is text.
    """
    if ids.dtype in (np.int64, TEXT):
        return ids
    plain = np.empty(len(ids), dtype=object)
    plain[:] = [node if isinstance(node, (str, int)) else (repr(node),) for node in ids.tolist()]
    return plain


def find_rows(ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The position of each wanted id among `ids`, -1 where it is not one of them."""
    if ids.dtype == wanted.dtype == np.int64:
        order = np.argsort(ids, kind="stable")
        rows = order[np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)]
        return np.where(ids[rows] == wanted, rows, -1)
    places = {node: at for at, node in enumerate(ids.tolist())}
    positions = (places.get(node, -1) for node in wanted.tolist())
    return np.fromiter(positions, dtype=np.int64, count=len(wanted))
