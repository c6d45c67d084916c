"""Random numbers of a method, decided by a seed."""

import numpy as np
import torch
from torch import Tensor


class Draws:
    """Random numbers, the same in either precision.

    Parameters
    ----------
    ranks : (N,) `Graph.id_ranks`: numbers of nodes follow the order of their ids, so that a graph
        with its nodes in another order gets the same masks and starts.
    """

    def __init__(self, seed: int, ranks: np.ndarray | None = None) -> None:
        self._generator = torch.Generator().manual_seed(seed)
        self._ranks = None if ranks is None else torch.from_numpy(ranks)

    def normal(self, rows: int, columns: int) -> Tensor:
        return torch.randn((rows, columns), generator=self._generator, dtype=torch.float32)

    def normal_by_node(self, rows: int, columns: int) -> Tensor:
        return self._by_node(self.normal(rows, columns))

    def uniform_by_node(self, n: int) -> Tensor:
        """(N,), between 0 and 1."""
        return self._by_node(torch.rand(n, generator=self._generator, dtype=torch.float32))

    def _by_node(self, drawn: Tensor) -> Tensor:
        return drawn if self._ranks is None else drawn[self._ranks]
