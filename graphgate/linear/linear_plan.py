"""How a graph of a given size is solved: how many columns, how many at a time, in which memory."""

from dataclasses import dataclass
from typing import Self

from graphgate.errors import MemoryLimitError
from graphgate.training.memory import shortage
from graphgate.training.plan import GraphCounts
from graphgate.training.speed import Work

LARGE = 100_000  # nodes above which fewer columns are used
_CACHE = 5 << 19  # numbers in a block of columns that products find in the caches
_WIDTH = 16  # columns in a block where no block fits into the caches
_IN_MEMORY = 1 << 30  # bytes of all states above which they go to a file
_NARROWEST = 8  # columns in a block
_LONG_CHUNK = 8192  # rows that are read together, at most
_SHORT_CHUNK = 16  # rows, at least
_CHUNKS = 16  # divides the number of chunks, so that up to 16 processes have nearly equal shares
_STATES = 5  # matrices of all nodes that are kept until the embedding is computed
_BUFFERS = 8  # blocks of columns that are in memory while the next ones are computed
_SPILLED = 32  # numbers read in a product in the time that one takes into a file and back
_WORKSPACE = 96 * 2**20  # what threads and libraries of linear algebra keep for themselves
EXTRA = 16  # columns beyond the rank in a decomposition
MOST_HIDDEN = 12_500  # edges that the structure decoder is fitted on, and measured on


@dataclass(frozen=True)
class LinearPlan:
    """How to solve, decided from the size of the graph and, where it is short, the memory.

    coordinates, factors : the largest number of coordinates and of structure factors.
    structure_weight : weight of the structure factors of a node in its embedding. A large graph has
        more communities than its features distinguish, and few of many equally strong factors; with
        the weight that suits small graphs, the projection onto components would drop these.
    decoder_coordinates : how many coordinates the structure decoder compares.
    width : columns that are propagated together.
    spilled : whether the states of nodes are kept in a file.
    chunk : rows that are read together.
    """

    coordinates: int = 512
    factors: int = 128
    structure_weight: float = 0.5
    decoder_coordinates: int = 256
    width: int = 512
    spilled: bool = False
    chunk: int = _LONG_CHUNK

    @classmethod
    def of(cls, n_nodes: int, *, itemsize: int = 4, room: int | None = None) -> Self:
        """The plan for this many nodes.

        room : bytes that states and blocks of columns may take; None where there is enough.
        """
        coordinates, factors, weight, compared = (
            (256, 64, 0.7, 64) if n_nodes > LARGE else (512, 128, 0.5, 256)
        )
        width = min(coordinates, _CACHE // n_nodes)
        width = _WIDTH if width < _NARROWEST else width
        column = n_nodes * itemsize
        spilled = _STATES * coordinates * column > _IN_MEMORY
        # In memory, there are also the blocks of which the embedding is a projection.
        whole = column * ((_STATES + 5) * coordinates + factors + _BUFFERS * width)
        if room is not None and (spilled or whole > room):
            spilled = True
            width = max(_NARROWEST, min(width, room // (_BUFFERS * column)))
        # Blocks of nearly equal width.
        width = -(-coordinates // -(-coordinates // width))
        count = _CHUNKS * -(-n_nodes // (_CHUNKS * _LONG_CHUNK))
        chunk = max(_SHORT_CHUNK, -(-n_nodes // count))
        return cls(coordinates, factors, weight, compared, width, spilled, chunk)

    def sentence(self, processes: int = 1) -> str:
        """The plan in words."""
        shared = "" if processes == 1 else f", shared by {processes} processes"
        some = "" if self.width >= self.coordinates else f", {self.width} at a time"
        where = "in a temporary file" if self.spilled else "in memory"
        return f"linear, at most {self.coordinates} coordinates{some}, {where}{shared}"

    def steps(self, n_features: int, *, structure: bool) -> int:
        """About how often a `Workspace` says that it has advanced."""
        r = min(n_features, self.coordinates)
        blocks = sum(-(-c // self.width) for c in (r, min(r, self.decoder_coordinates)))
        return blocks + 4 + 8 * structure

    def disk_bytes(self, counts: GraphCounts, itemsize: int = 4) -> int:
        """What is written to files."""
        columns = _STATES * min(counts.features, self.coordinates)
        return counts.nodes * itemsize * columns * self.spilled


@dataclass(frozen=True)
class LinearSize:
    """What decides the memory of a fit.

    structure : whether structure factors are used.
    itemsize : bytes of a number.
    """

    counts: GraphCounts
    n_components: int
    structure: bool
    itemsize: int = 4

    def bytes(self, plan: LinearPlan) -> int:
        """What a fit takes at its peak, in addition to the graph: the largest of its stages."""
        counts, n, size = self.counts, self.counts.nodes, self.itemsize
        r, k, column = min(counts.features, plan.coordinates), self._rank(plan), n * self.itemsize
        compared = min(r, plan.decoder_coordinates)
        x = counts.entries * size
        # With its transpose, and a few matrices that have a row per feature.
        coordinates = x + counts.entries * (size + 4) * counts.sparse
        coordinates += 2 * min(plan.width, r + EXTRA) * column + 4 * counts.features * r * size
        # The adjacency is normalized; orthonormal columns before and after a product.
        places = 2 * (k + EXTRA) + 2 * min(plan.width, k + EXTRA)
        structure = max(3 * size * counts.pairs, size * counts.pairs + places * column)
        normalized, operator = ((4 + each * size) * (counts.pairs + n) for each in (4, 1))
        states, kept = 0, plan.chunk * 4 * (4 * r + k) * size
        if not plan.spilled:
            states, kept = _STATES * r * column, (4 * r + k) * column
        buffers = _BUFFERS * min(plan.width, r) * column
        factors, embedding = k * column, self.n_components * column
        thinned = 0 if plan.spilled else (_STATES + 1) * compared * column
        thinned += _BUFFERS * min(plan.width, compared) * column
        ends = 3 * min(n, 4 * MOST_HIDDEN) * max(compared, k) * size
        decoding = x + factors + max(normalized, operator + thinned, operator + ends)
        # Pairs are sorted as numbers of 64 bits, then the graph is there twice.
        splitting, copy = 24 * counts.pairs, 8 * counts.pairs
        return _WORKSPACE + max(
            coordinates,
            x + structure * bool(k),
            x + 2 * factors + max(normalized, operator + states + max(buffers, kept)),
            x + 2 * factors + operator + states + kept + embedding,
            factors + embedding + max(splitting, copy + max(structure * bool(k), decoding)),
        )

    def work(self, plan: LinearPlan) -> Work:
        """What a fit computes, as far as it takes time."""
        counts, n = self.counts, self.counts.nodes
        r, k, d = min(counts.features, plan.coordinates), self._rank(plan), self.n_components
        compared, columns = min(r, plan.decoder_coordinates), 4 * r + k
        # Four passes of a decomposition, two products each, or one pass over all columns.
        described = min(8 * (r + EXTRA), 2 * counts.features) + 2 * r + compared
        places = 2 * (8 * (k + EXTRA) + k) if k else 0
        # 16 steps of all nodes and 10 of a half; sums over the steps read the rows again.
        gathered = (counts.pairs + 3 * n) * (26 * (r + compared) + places)
        gathered += _SPILLED * n * _STATES * r * plan.spilled
        read = counts.entries * described
        # Half of a Gram matrix, or four passes; then two products with fewer columns.
        reduced = min(columns / 2, 8 * (d + EXTRA)) + 2 * d
        dense = n * (3 * r**2 + 2 * compared**2 + columns * reduced)
        dense += n * (2 * r**2 * plan.spilled + 2 * 12 * (k + EXTRA) ** 2 * bool(k))
        if counts.sparse:
            return Work(sparse=read, gathered=gathered, dense=dense)
        return Work(gathered=gathered, dense=dense + read)

    def _rank(self, plan: LinearPlan) -> int:
        used = self.structure and self.counts.pairs
        return min(plan.factors, self.counts.nodes) if used else 0

    def plan(self, available: int | None, *, limit: int | None = None) -> LinearPlan:
        """The plan for this size.

        available : bytes that the fit may take in addition to the graph; None where unknown.
        limit : of the memory of the process, if what is available is what it leaves. It is kept
            within a fifth, or refused.
        """
        n, itemsize = self.counts.nodes, self.itemsize
        plan = LinearPlan.of(n, itemsize=itemsize)
        if available is None or self.bytes(plan) <= available:
            return plan
        # All of it but states and blocks of columns stays.
        narrow = LinearPlan.of(n, itemsize=itemsize, room=0)
        room = available - self.bytes(narrow) + _BUFFERS * narrow.width * n * itemsize
        smaller = LinearPlan.of(n, itemsize=itemsize, room=max(0, room))
        if limit is not None and self.bytes(smaller) > available + limit // 5:
            needed, available = self.bytes(smaller), max(0, available)
            raise MemoryLimitError(
                "even a few columns at a time, the fit "
                f"{shortage(needed, available, limited=True)}, or use fewer components and "
                "structure=False",
                needed=needed,
                available=available,
            )
        return smaller
