"""Matrices with one row per node: computed by columns, read by rows, shared by all processes.

A product with the graph needs all rows but few columns; a sum over nodes needs all columns but few
rows. Blocks of columns, chunks of rows, files and processes are hidden here, so that a method is
the mathematics between them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Protocol

import torch
from torch import Tensor

from graphgate.compute.machine import release_freed_memory
from graphgate.compute.processes import Processes
from graphgate.compute.scratch import Scratch
from graphgate.compute.tall_matrix import TallMatrix, row_chunks, temporary_file

CHUNK = 1 << 11  # rows that are read together

Function = Callable[..., Tensor]


class Rows(Protocol):
    """A matrix with one row per node of this process, of which some rows can be read."""

    def rows(self, rows: slice) -> Tensor: ...


@dataclass(frozen=True)
class Blocks:
    """How matrices are divided, as the memory of the machine requires.

    width : columns that are computed together.
    spilled : whether matrices are kept in files rather than in memory.
    """

    width: int = 512
    spilled: bool = False


@dataclass(frozen=True)
class _Computed:
    """Rows that are computed when they are read."""

    function: Function
    matrices: tuple[Rows, ...]

    def rows(self, rows: slice) -> Tensor:
        return self.function(*(matrix.rows(rows) for matrix in self.matrices))


class Columns:
    """The column engine for the N nodes of a graph.

    Every process computes blocks of columns of all nodes, and keeps all columns of its share of the
    nodes. One process has all nodes.

    Parameters
    ----------
    n : N.
    dtype : of the matrices.
    scratch : files from which an interrupted computation resumes; by default, matrices that do not
        fit into memory are kept in files without a name, so nothing is left of them.
    advance : called after every block of columns, product and fold.

    Attributes
    ----------
    mine : the rows of this process.
    """

    def __init__(
        self,
        n: int,
        dtype: torch.dtype,
        blocks: Blocks | None = None,
        processes: Processes | None = None,
        *,
        scratch: Scratch | None = None,
        advance: Callable[[], None] = lambda: None,
    ) -> None:
        self.n, self.dtype, self.blocks = n, dtype, blocks or Blocks()
        self.processes = processes or Processes()
        self._scratch, self._advance = scratch, advance
        self._shares = self.processes.shares(n)
        self.mine = self._shares[self.processes.rank]
        self._chunks = row_chunks(_length(self.mine), CHUNK)

    # --- columns ---------------------------------------------------------------------------------

    def map(
        self,
        stage: str,
        names: Sequence[str],
        function: Callable[[slice], dict[str, Tensor]],
        n_columns: int,
    ) -> dict[str, TallMatrix]:
        """Matrices of `n_columns` each, computed together, a block of columns at a time.

        Parameters
        ----------
        stage : name of the computation, unique among those that share a scratch folder.
        names : of the matrices.
        function : from some columns to those of every matrix by its name, (N, c) each.
        """
        columns = self._columns(n_columns)
        matrices = {name: self._matrix(f"{stage}-{name}", columns) for name in names}
        for first, number in self._rounds(stage, len(columns)):
            # A process that has no block left still receives rows of those of the others.
            computed = {} if number is None else function(columns[number])
            for name, matrix in matrices.items():
                self._keep(matrix, first, computed.pop(name, None))
        self.release()
        return matrices

    def product(self, function: Callable[[Tensor], Tensor], m: Tensor) -> Tensor:
        """A function that acts on every column by itself, (·, C) -> (R, C), a few at a time.

        `m` and the result are the same in all processes.
        """

        def by_blocks(mine: Tensor) -> Tensor:
            blocks = row_chunks(mine.shape[1], self.blocks.width)
            parts = (function(mine[:, block].contiguous()) for block in blocks)
            return _joined(parts, mine.shape[1], dim=1)

        result = self.processes.by_columns(m, by_blocks)
        self._advance()
        return result

    # --- rows ------------------------------------------------------------------------------------

    def fold(self, function: Function, *matrices: Rows) -> Tensor:
        """The sum of `function(rows, …)` over chunks of rows and over processes, in float64."""
        computed = _Computed(function, matrices)
        total = computed.rows(self._chunks[0]).double()
        for chunk in self._chunks[1:]:
            total += computed.rows(chunk)
        self._advance()
        return self.processes.sum(total)

    def rows(self, function: Function, *matrices: Rows) -> Rows:
        """`function(rows, …)`, which acts on every row by itself.

        Computed once where matrices are kept in memory, else whenever rows are read.
        """
        computed = _Computed(function, matrices)
        return computed if self.blocks.spilled else TallMatrix.of(self._all_mine(computed))

    def collect(self, function: Function, *matrices: Rows) -> Tensor:
        """(N, C), `function(rows, …)` of the rows of all processes, in every process."""
        mine = self._all_mine(_Computed(function, matrices))
        shapes = [(_length(share), mine.shape[1]) for share in self._shares]
        received = self.processes.exchanged([mine] * len(shapes), shapes)
        return mine if len(received) == 1 else torch.cat(received)

    def select(self, matrix: Rows, nodes: Tensor) -> Tensor:
        """(M, C), the rows of some nodes, whose numbers increase, in every process."""
        pieces = []
        for chunk in self._chunks:
            start, stop = chunk.start + self.mine.start, chunk.stop + self.mine.start
            low, high = torch.searchsorted(nodes, torch.tensor([start, stop])).tolist()
            wanted = slice(low, high)
            pieces.append((wanted, matrix.rows(chunk)[nodes[wanted] - start]))
        selected = pieces[0][1].new_zeros(len(nodes), pieces[0][1].shape[1])
        for wanted, rows in pieces:
            selected[wanted] = rows
        return self.processes.sum(selected)

    def own(self, whole: Tensor) -> TallMatrix:
        """The rows of this process of a matrix or vector with one row per node."""
        return TallMatrix.of(whole[self.mine])

    # --- memory and files -------------------------------------------------------------------------

    def release(self) -> None:
        """Return freed memory to the system where it is short."""
        if self.blocks.spilled:
            release_freed_memory()

    # --- blocks ----------------------------------------------------------------------------------

    def _columns(self, count: int) -> list[slice]:
        """Blocks of nearly equal width, equally many for each process where there are enough."""
        size = self.processes.size
        blocks = -(-count // min(self.blocks.width, -(-count // size)))
        return row_chunks(count, -(-count // min(count, -(-blocks // size) * size)))

    def _matrix(self, name: str, columns: Sequence[slice]) -> TallMatrix:
        file: IO[bytes] | None = None
        if self._scratch is not None:
            file = self._scratch.file(name)
        elif self.blocks.spilled:
            file = temporary_file()
        return TallMatrix(_length(self.mine), columns, self.dtype, file)

    def _rounds(self, stage: str, n_blocks: int) -> Iterator[tuple[int, int | None]]:
        """For every round of one block per process, the first block and that of this process.

        Rounds that were finished before the computation was interrupted are skipped.
        """
        size = self.processes.size
        done = 0 if self._scratch is None else self._scratch.rounds.get(stage, 0)
        done = min(int(other) for other in self.processes.gathered(torch.tensor(done)))
        for number, first in enumerate(range(0, n_blocks, size)):
            if number >= done:
                own = first + self.processes.rank
                yield first, own if own < n_blocks else None
                if self._scratch is not None:
                    self._scratch.finish(stage, number + 1)
            self._advance()

    def _keep(self, matrix: TallMatrix, first: int, block: Tensor | None) -> None:
        """Send the rows of a block, (N, c), to their processes, and write those received."""
        numbers = range(first, min(first + self.processes.size, len(matrix.columns)))
        widths = [_length(matrix.columns[number]) for number in numbers]
        shapes = [(len(matrix), width) for width in widths]
        shapes += [(0, 0)] * (self.processes.size - len(widths))
        empty = torch.empty(0, 0, dtype=matrix.dtype)
        parts = [empty if block is None else block[share] for share in self._shares]
        received = self.processes.exchanged(parts, shapes)
        for number, part in zip(numbers, received, strict=False):
            matrix.write_block(number, part)

    def _all_mine(self, matrix: Rows) -> Tensor:
        parts = (matrix.rows(chunk) for chunk in self._chunks)
        return _joined(parts, _length(self.mine), dim=0)


def _joined(parts: Iterable[Tensor], size: int, dim: int) -> Tensor:
    """Like `torch.cat`, without having all parts in memory beside the result."""
    whole, start = torch.empty(0), 0
    for part in parts:
        if part.shape[dim] == size:
            return part
        if start == 0:
            shape = list(part.shape)
            shape[dim] = size
            whole = part.new_empty(shape)
        whole.narrow(dim, start, part.shape[dim]).copy_(part)
        start += part.shape[dim]
    return whole


def _length(part: slice) -> int:
    return int(part.stop - part.start)
