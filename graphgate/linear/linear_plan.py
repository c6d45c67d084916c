"""How a graph of a given size is solved, and what that takes of memory, disk and time."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import torch

from graphgate.compute.columns import CHUNK, Blocks
from graphgate.compute.counts import GraphCounts
from graphgate.compute.decomposition import EXTRA, PASSES
from graphgate.compute.plan_log import Plan
from graphgate.compute.speed import Work

LARGE = 100_000  # nodes above which fewer columns are used
MOST_HIDDEN = 12_500  # edges that the structure decoder is fitted on, and measured on
MOST_PAIRS = 50_000  # with those without an edge
WEIGHED, COMPARED = 4, 128  # blocks whose coordinates have weights, and how many have
_CACHE = 5 << 19  # numbers in a block of columns that products find in the caches
_WIDTH = 16  # columns in a block where no block fits into the caches
_NARROWEST = 8  # columns in a block
_IN_MEMORY = 1 << 30  # bytes of all states above which they go to a file
_STATES = 5  # matrices of all nodes that are kept until the embedding is computed
_BUFFERS = 8  # blocks of columns that are in memory while the next ones are computed
_EVIDENCE = 192  # columns that describe a matrix of features, half of it, and its neighbors
_PRODUCTS = 2 * (PASSES + 1)  # with a matrix or its transpose in a decomposition
_SPILLED = 32  # numbers read in a product in the time that one takes into a file and back
_ITERATIONS = 200  # of the logistic regressions of the structure decoder
_WORKSPACE = 96 * 2**20  # what threads and libraries of linear algebra keep for themselves


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

    def within(self, counts: GraphCounts, *, structure: bool) -> Self:
        """As many columns as a graph of this size has."""
        r = min(counts.features, self.coordinates)
        factors = min(self.factors, counts.nodes) if structure and counts.pairs else 0
        compared = min(r, self.decoder_coordinates)
        return replace(self, coordinates=r, factors=factors, decoder_coordinates=compared)


def _blocks(sizes: Sizes, column: int, dtype: torch.dtype, room: int | None = None) -> Blocks:
    """Blocks of columns of so many bytes, where states and buffers may take `room` bytes.

    `room` None is enough for everything.
    """
    r = sizes.coordinates
    width = min(r, _CACHE * dtype.itemsize // column)
    width = min(r, _WIDTH) if width < _NARROWEST else width
    spilled = _STATES * r * column > _IN_MEMORY
    # In memory, there are also the views of which the embedding is a projection.
    whole = column * ((_STATES + 5) * r + sizes.factors + _BUFFERS * width)
    if room is not None and (spilled or whole > room):
        spilled, width = True, max(_NARROWEST, min(width, room // (_BUFFERS * column)))
    return Blocks(-(-r // -(-r // width)), spilled)  # of nearly equal width


@dataclass(frozen=True)
class LinearPlan(Plan):
    """How a graph of a given size is solved.

    sizes : of what is computed; no factors where structure is not used or there are no edges.
    blocks : how matrices are divided.
    weighed : whether weights are chosen from the graph.
    """

    counts: GraphCounts
    n_components: int
    structure: bool
    dtype: torch.dtype
    sizes: Sizes
    blocks: Blocks
    weighed: bool = False

    @classmethod
    def of(
        cls,
        counts: GraphCounts,
        n_components: int,
        *,
        structure: bool = True,
        dtype: torch.dtype = torch.float32,
        weighed: bool = False,
        available: int | None = None,
    ) -> Self:
        """The plan for a graph of this size.

        available : bytes that the fit may take in addition to the graph; None where unknown.
        """
        sizes = Sizes.of(counts.nodes).within(counts, structure=structure)
        column = counts.nodes * dtype.itemsize
        blocks = _blocks(sizes, column, dtype)
        plan = cls(counts, n_components, structure, dtype, sizes, blocks, weighed)
        if available is None or plan.bytes <= available:
            return plan
        # All of it but states and blocks of columns stays.
        narrow = replace(plan, blocks=_blocks(sizes, column, dtype, room=0))
        room = available - narrow.bytes + _BUFFERS * narrow.blocks.width * column
        return replace(plan, blocks=_blocks(sizes, column, dtype, room=max(0, room)))

    def sentence(self, processes: int = 1) -> str:
        """The plan in words."""
        most, width = Sizes.of(self.counts.nodes).coordinates, self.blocks.width
        shared = "" if processes == 1 else f", shared by {processes} processes"
        at_once = "" if width >= self.sizes.coordinates else f", {width} at a time"
        where = "in a temporary file" if self.blocks.spilled else "in memory"
        return f"linear, at most {most} coordinates{at_once}, {where}{shared}"

    @property
    def remedy(self) -> str:
        return "use fewer components and structure=False"

    @property
    def disk_bytes(self) -> int:
        """What is written to files."""
        states = _STATES * self.sizes.coordinates * self.blocks.spilled
        return self.counts.nodes * self.dtype.itemsize * states

    @cached_property
    def bytes(self) -> int:
        """What a fit takes at its peak, in addition to the graph."""
        return _WORKSPACE + max(self.stages().values())

    def stages(self) -> dict[str, int]:
        """What each stage of a fit takes, by its name."""
        counts, n, size, width = (
            self.counts,
            self.counts.nodes,
            self.dtype.itemsize,
            self.blocks.width,
        )
        r, k, compared = self.sizes.coordinates, self.sizes.factors, self.sizes.decoder_coordinates
        column, pairs, width = n * size, size * counts.pairs, self.blocks.width
        x, factors, embedding = counts.entries * size, k * column, self.n_components * column
        # X with its transpose, and a few matrices that have a row per feature.
        features = x + counts.entries * (size + 4) * counts.sparse + 4 * counts.features * r * size
        # The adjacency is normalized; orthonormal columns before and after a product.
        columns = 2 * (k + EXTRA + min(width, k + EXTRA)) * column
        structure = max(3 * pairs, pairs + columns) * bool(k)
        # Of all edges and self-loops, while they are normalized and after.
        normalizing, operator = ((4 + numbers * size) * (counts.pairs + n) for numbers in (4, 1))
        states, views = _STATES * r * column, (4 * r + k) * column
        thinned = (_STATES + 1) * compared * column
        if self.blocks.spilled:
            states, thinned, views = 0, 0, 4 * min(n, CHUNK) * (4 * r + k) * size
        evidence = _EVIDENCE * (not self.blocks.spilled) + _BUFFERS * min(width, r)
        weighing = (x + 2 * factors + 5 * pairs + evidence * column) * self.weighed
        thinned += _BUFFERS * min(width, compared) * column
        ends = 3 * min(n, 4 * MOST_HIDDEN) * max(compared, k) * size
        ends += 3 * self._products * size
        model = x + 2 * factors + operator + states
        # Pairs are sorted as numbers of 64 bits, then the graph is there twice.
        kept, twice = factors + embedding, 8 * counts.pairs
        decoding = x + factors + max(normalizing, operator + thinned, operator + ends)
        return {
            "coordinates": features + 2 * min(width, r + EXTRA) * column,
            "structure": x + structure,
            "weighing": weighing,
            "normalizing": x + 2 * factors + normalizing,
            "propagating": model + max(_BUFFERS * min(width, r) * column, views),
            "reducing": model + views + embedding,
            "hiding edges": kept + 24 * counts.pairs,
            "decoding": kept + twice + max(structure, decoding),
        }

    @property
    def _products(self) -> int:
        """How many products of coordinates the structure decoder is fitted on."""
        compared = min(self.sizes.decoder_coordinates, COMPARED)
        return min(MOST_PAIRS, self.counts.pairs) * compared * WEIGHED

    def steps(self) -> int:
        """About how often `Columns` reports that it has advanced."""
        columns = (self.sizes.coordinates, self.sizes.decoder_coordinates)
        blocks = sum(-(-count // self.blocks.width) for count in columns)
        blocks += (1 - (-_EVIDENCE // self.blocks.width)) * self.weighed
        return blocks + 10 + 24 * bool(self.sizes.factors)

    def work(self) -> Work:
        """What a fit computes, as far as it takes time."""
        counts, n, d = self.counts, self.counts.nodes, self.n_components
        r, k, compared = self.sizes.coordinates, self.sizes.factors, self.sizes.decoder_coordinates
        columns, spilled = 4 * r + k, self.blocks.spilled
        # A decomposition, or one pass over all columns.
        described = min(_PRODUCTS * (r + EXTRA), 2 * counts.features) + 2 * r + compared
        evidence = _EVIDENCE * self.weighed
        described += evidence
        places = 2 * (_PRODUCTS * (k + EXTRA) + k) if k else 0
        # 16 steps of all nodes and 10 of a half; sums over the steps read the rows again.
        gathered = (counts.pairs + 3 * n) * (26 * (r + compared) + places)
        gathered += counts.pairs * evidence // 3
        gathered += _SPILLED * n * _STATES * r * spilled
        read = counts.entries * described
        # Half of a Gram matrix, or four passes; then two products with fewer columns.
        reduced = min(columns / 2, _PRODUCTS * (d + EXTRA)) + 2 * d
        dense = n * (3 * r**2 + 2 * compared**2 + columns * reduced)
        dense += n * (evidence + min(k, 64)) ** 2 * self.weighed + _ITERATIONS * self._products
        dense += n * (2 * r**2 * spilled + 2 * 12 * (k + EXTRA) ** 2 * bool(k))
        if counts.sparse:
            return Work(sparse=read, gathered=gathered, dense=dense)
        return Work(gathered=gathered, dense=dense + read)
