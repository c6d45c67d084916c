"""How a graph of a given size is solved, and what that takes of memory, disk and time."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from graphgate.compute.columns import Blocks
from graphgate.compute.counts import GraphCounts
from graphgate.compute.decomposition import EXTRA, PASSES
from graphgate.compute.machine import format_bytes
from graphgate.compute.speed import Work
from graphgate.errors import MemoryLimitError

LARGE = 100_000  # nodes above which fewer columns are used
MOST_HIDDEN = 12_500  # edges that the structure decoder is fitted on, and measured on
_CACHE = 5 << 19  # numbers in a block of columns that products find in the caches
_WIDTH = 16  # columns in a block where no block fits into the caches
_NARROWEST = 8  # columns in a block
_IN_MEMORY = 1 << 30  # bytes of all states above which they go to a file
_STATES = 5  # matrices of all nodes that are kept until the embedding is computed
_BUFFERS = 8  # blocks of columns that are in memory while the next ones are computed
_PRODUCTS = 2 * (PASSES + 1)  # with a matrix or its transpose in a decomposition
_SPILLED = 32  # numbers read in a product in the time that one takes into a file and back
_WORKSPACE = 96 * 2**20  # what threads and libraries of linear algebra keep for themselves
_READ = 2048 * 4  # rows of the views in memory while the next ones are computed


@dataclass(frozen=True)
class Sizes:
    """How many columns describe the nodes of a graph.

    coordinates, factors : the largest number of coordinates and of structure factors.
    structure_weight : weight of the structure factors of a node in its embedding. A large graph has
        more communities than its features distinguish, and few of many equally strong factors; with
        the weight that suits small graphs, the projection onto components would drop these.
    decoder_coordinates : how many coordinates the structure decoder compares.
    """

    coordinates: int = 512
    factors: int = 128
    structure_weight: float = 0.5
    decoder_coordinates: int = 256

    @classmethod
    def of(cls, n_nodes: int) -> Self:
        return cls(256, 64, 0.7, 64) if n_nodes > LARGE else cls()


@dataclass(frozen=True)
class LinearPlan:
    """A fit, as far as its memory and time are concerned.

    structure : whether structure factors are used.
    itemsize : bytes of a number.
    blocks : how matrices are divided.
    """

    counts: GraphCounts
    n_components: int
    structure: bool
    itemsize: int
    blocks: Blocks = field(default_factory=Blocks)

    @classmethod
    def of(
        cls,
        counts: GraphCounts,
        n_components: int,
        *,
        structure: bool,
        itemsize: int = 4,
        available: int | None = None,
        limit: int | None = None,
    ) -> Self:
        """The plan for a graph of this size.

        available : bytes that the fit may take in addition to the graph; None where unknown.
        limit : of the memory of the process, if what is available is what it leaves. It is kept
            within a fifth, or refused.
        """
        plan = cls(counts, n_components, structure, itemsize)._in_blocks(None)
        if available is None or plan.bytes <= available:
            return plan
        narrow = plan._in_blocks(0)
        # All of it but states and blocks of columns stays.
        room = available - narrow.bytes + _BUFFERS * narrow.blocks.width * narrow._column
        smaller = plan._in_blocks(max(0, room))
        if limit is not None and smaller.bytes > available + limit // 5:
            raise MemoryLimitError(
                f"the fit needs about {format_bytes(smaller.bytes)} of memory beside the graph, "
                f"even a few columns at a time, but memory_limit leaves "
                f"{format_bytes(max(0, available))}; raise it, or use fewer components and "
                "structure=False",
                needed=smaller.bytes,
                available=available,
            )
        return smaller

    def _in_blocks(self, room: int | None) -> Self:
        """The plan with blocks for which states and buffers take `room` bytes; None is enough."""
        sizes, n, column = self.sizes, self.counts.nodes, self._column
        width = min(sizes.coordinates, _CACHE // n)
        width = _WIDTH if width < _NARROWEST else width
        spilled = _STATES * sizes.coordinates * column > _IN_MEMORY
        # In memory, there are also the views of which the embedding is a projection.
        whole = column * ((_STATES + 5) * sizes.coordinates + sizes.factors + _BUFFERS * width)
        if room is not None and (spilled or whole > room):
            spilled = True
            width = max(_NARROWEST, min(width, room // (_BUFFERS * column)))
        # Blocks of nearly equal width.
        width = -(-sizes.coordinates // -(-sizes.coordinates // width))
        return replace(self, blocks=Blocks(width, spilled))

    def sentence(self, processes: int = 1) -> str:
        """The plan in words."""
        most, width = self.sizes.coordinates, self.blocks.width
        shared = "" if processes == 1 else f", shared by {processes} processes"
        at_once = "" if width >= most else f", {width} at a time"
        where = "in a temporary file" if self.blocks.spilled else "in memory"
        return f"linear, at most {most} coordinates{at_once}, {where}{shared}"

    @cached_property
    def sizes(self) -> Sizes:
        return Sizes.of(self.counts.nodes)

    @property
    def _column(self) -> int:
        """Bytes of a number per node."""
        return self.counts.nodes * self.itemsize

    @property
    def _coordinates(self) -> int:
        return min(self.counts.features, self.sizes.coordinates)

    @property
    def _compared(self) -> int:
        """Coordinates of the structure decoder."""
        return min(self._coordinates, self.sizes.decoder_coordinates)

    @property
    def _factors(self) -> int:
        used = self.structure and self.counts.pairs
        return min(self.sizes.factors, self.counts.nodes) if used else 0

    # --- disk and memory -------------------------------------------------------------------------

    @property
    def disk_bytes(self) -> int:
        """What is written to files."""
        return self._column * _STATES * self._coordinates * self.blocks.spilled

    @cached_property
    def bytes(self) -> int:
        """What a fit takes at its peak, in addition to the graph."""
        return _WORKSPACE + max(self.stages().values())

    def stages(self) -> dict[str, int]:
        """What each stage of a fit takes."""
        r, k, column = self._coordinates, self._factors, self._column
        x, factors = self.counts.entries * self.itemsize, k * column
        embedding, operator = self.n_components * column, self._operator(1)
        states, views = _STATES * r * column, (4 * r + k) * column
        if self.blocks.spilled:
            states, views = 0, _READ * (4 * r + k) * self.itemsize
        model = x + 2 * factors
        # Pairs are sorted as numbers of 64 bits, then the graph is there twice.
        splitting, thinned = 24 * self.counts.pairs, 8 * self.counts.pairs
        return {
            "coordinates": self._describing(),
            "structure": x + self._placing(),
            "normalizing": model + self._operator(4),
            "propagating": model + operator + states + max(self._buffers(r), views),
            "reducing": model + operator + states + views + embedding,
            "hiding edges": factors + embedding + splitting,
            "structure again": factors + embedding + thinned + self._placing(),
            "decoding": factors + embedding + thinned + x + factors + self._decoding(),
        }

    def _describing(self) -> int:
        """X with its transpose, and a few matrices that have a row per feature."""
        counts, r, size = self.counts, self._coordinates, self.itemsize
        x = counts.entries * (size + (size + 4) * counts.sparse)
        columns = 2 * min(self.blocks.width, r + EXTRA) * self._column
        return x + columns + 4 * counts.features * r * size

    def _placing(self) -> int:
        """The adjacency is normalized; orthonormal columns before and after a product."""
        if not self._factors:
            return 0
        pairs, columns = self.itemsize * self.counts.pairs, self._factors + EXTRA
        return max(
            3 * pairs, pairs + 2 * (columns + min(self.blocks.width, columns)) * self._column
        )

    def _operator(self, numbers: int) -> int:
        """A matrix with a self-loop for every node, and so many numbers for each entry."""
        return (4 + numbers * self.itemsize) * (self.counts.pairs + self.counts.nodes)

    def _buffers(self, columns: int) -> int:
        return _BUFFERS * min(self.blocks.width, columns) * self._column

    def _decoding(self) -> int:
        """States without the hidden edges, then the two ends of every pair."""
        compared, widest = self._compared, max(self._compared, self._factors)
        states = 0 if self.blocks.spilled else (_STATES + 1) * compared * self._column
        ends = 3 * min(self.counts.nodes, 4 * MOST_HIDDEN) * widest * self.itemsize
        working = max(states + self._buffers(compared), ends)
        return max(self._operator(4), self._operator(1) + working)

    # --- time ------------------------------------------------------------------------------------

    def steps(self) -> int:
        """About how often `Columns` reports that it has advanced."""
        blocks = (-(-c // self.blocks.width) for c in (self._coordinates, self._compared))
        return sum(blocks) + 10 + 24 * bool(self._factors)

    def work(self) -> Work:
        """What a fit computes, as far as it takes time."""
        counts, n, d = self.counts, self.counts.nodes, self.n_components
        r, k, compared = self._coordinates, self._factors, self._compared
        columns = 4 * r + k
        # A decomposition, or one pass over all columns.
        described = min(_PRODUCTS * (r + EXTRA), 2 * counts.features) + 2 * r + compared
        places = 2 * (_PRODUCTS * (k + EXTRA) + k) if k else 0
        # 16 steps of all nodes and 10 of a half; sums over the steps read the rows again.
        gathered = (counts.pairs + 3 * n) * (26 * (r + compared) + places)
        gathered += _SPILLED * n * _STATES * r * self.blocks.spilled
        read = counts.entries * described
        # Half of a Gram matrix, or four passes; then two products with fewer columns.
        reduced = min(columns / 2, _PRODUCTS * (d + EXTRA)) + 2 * d
        dense = n * (3 * r**2 + 2 * compared**2 + columns * reduced)
        dense += n * (2 * r**2 * self.blocks.spilled + 2 * 12 * (k + EXTRA) ** 2 * bool(k))
        if counts.sparse:
            return Work(sparse=read, gathered=gathered, dense=dense)
        return Work(gathered=gathered, dense=dense + read)
