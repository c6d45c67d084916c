"""What a version of a store holds, and how far its vectors may be off."""

from typing import NamedTuple


class StoreInfo(NamedTuple):
    """A summary of one version of a store.

    stale_nodes, stale_edges : nodes added, changed or removed, and edges changed, since the
        vectors were exact; both 0 if they are.
    stale_shift : the largest cosine distance by which such a change has moved the vector of a node
        two hops away, summed over changes; nodes further away were not updated, and would have
        moved less.
    exact_since : the version in which the vectors were exact for the last time.
    """

    version: int
    method: str
    n_nodes: int
    n_edges: int
    n_components: int
    directed: bool
    weighted: bool
    exact_since: int
    stale_nodes: int
    stale_edges: int
    stale_shift: float

    def accuracy(self) -> str:
        """How far the vectors may be off, as a sentence."""
        if not (self.stale_nodes or self.stale_edges):
            return "all vectors are exact"
        return (
            f"{self.stale_nodes:,} nodes and {self.stale_edges:,} edges have changed since all "
            f"vectors were exact (version {self.exact_since}); nodes more than two hops away from "
            f"them may be off by a cosine distance of up to about {self.stale_shift:.2g}"
        )
