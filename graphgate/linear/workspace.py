"""Where large matrices are computed: by blocks of columns and chunks of rows, on all processes."""

from collections.abc import Callable, Iterator, Sequence
from typing import IO

import torch
from torch import Tensor

from graphgate.linear.linear_plan import LinearPlan
from graphgate.linear.scratch import Scratch
from graphgate.training.distributed import Processes
from graphgate.training.memory import release_freed_memory
from graphgate.training.tall_matrix import TallMatrix, row_chunks, temporary_file

Columns = Callable[[Tensor], Tensor]


class Workspace:
    """What a computation on a graph of N nodes needs to know of this machine, and of the others.

    Every process computes blocks of columns of all nodes, then works on all columns of its share
    of the nodes. With one process, that share is all of them.

    Parameters
    ----------
    n : N.
    scratch : files from which the computation resumes if it is interrupted; without them, files
        for what does not fit into memory have no name, so that nothing is left of them.
    advance : called after every block of columns.

    Attributes
    ----------
    mine : the rows of this process.
    chunks : these rows, a few at a time, counted from the first of them.
    """

    def __init__(
        self,
        plan: LinearPlan,
        n: int,
        processes: Processes | None = None,
        *,
        scratch: Scratch | None = None,
        advance: Callable[[], None] = lambda: None,
    ) -> None:
        self.plan, self.processes = plan, processes or Processes()
        self.n, self.advance, self._scratch = n, advance, scratch
        # A process has whole chunks; sums over chunks are in double precision.
        chunks = row_chunks(n, plan.chunk)
        ends = [0, *(chunk.stop for chunk in chunks)]
        shares = self.processes.shares(len(chunks))
        self._shares = [slice(ends[share.start], ends[share.stop]) for share in shares]
        self.mine = self._shares[self.processes.rank]
        own = chunks[shares[self.processes.rank]]
        self.chunks = [slice(c.start - self.mine.start, c.stop - self.mine.start) for c in own]

    def matrix(self, name: str, blocks: Sequence[slice], dtype: torch.dtype) -> TallMatrix:
        """For the rows of this process."""
        file: IO[bytes] | None = None
        if self._scratch is not None:
            file = self._scratch.file(name)
        elif self.plan.spilled:
            file = temporary_file()
        return TallMatrix(self.mine.stop - self.mine.start, blocks, dtype, file)

    def blocks(self, columns: int) -> list[slice]:
        """Blocks of nearly equal width, as many for each process where there are enough columns."""
        size = self.processes.size
        count = -(-columns // min(self.plan.width, -(-columns // size)))
        count = min(columns, -(-count // size) * size)
        return row_chunks(columns, -(-columns // count)) if columns else []

    def rounds(self, stage: str, blocks: Sequence[slice]) -> Iterator[tuple[int, int | None]]:
        """The number of each block that comes first in a round, and of the one to compute.

        Rounds that were finished before the computation was interrupted are left out.
        """
        size = self.processes.size
        done = 0 if self._scratch is None else self._scratch.rounds.get(stage, 0)
        done = min(int(other) for other in self.processes.gathered(torch.tensor(done)))
        for number, first in enumerate(range(0, len(blocks), size)):
            if number >= done:
                own = first + self.processes.rank
                yield first, own if own < len(blocks) else None
                if self._scratch is not None:
                    self._scratch.finish(stage, number + 1)
            self.advance()
        self.release()

    def release(self) -> None:
        """Give memory that is no longer used back to the system, where it is short."""
        if self.plan.spilled:
            release_freed_memory()

    def clear(self) -> None:
        """Remove what is there to resume from."""
        if self._scratch is not None:
            self._scratch.clear()

    def keep_rows(self, into: TallMatrix, first: int, block: Tensor | None) -> None:
        """Send the rows of a block, (N, c), where they are needed, and keep those received."""
        size, n_mine = self.processes.size, self.mine.stop - self.mine.start
        if size == 1:
            assert block is not None
            into.write_block(first, block)
            return
        numbers = range(first, min(first + size, len(into.columns)))
        widths = [_width(into.columns[number]) for number in numbers]
        shapes = [(n_mine, width) for width in widths] + [(0, 0)] * (size - len(widths))
        empty = torch.empty(0, 0, dtype=into.dtype)
        parts = [empty if block is None else block[share] for share in self._shares]
        received = self.processes.exchanged(parts, shapes)
        for number, part in zip(numbers, received, strict=False):
            into.write_block(number, part)

    def by_columns(self, m: Tensor, function: Columns) -> Tensor:
        """A function of columns that acts on each of them, (·, C) -> (R, C), a few at a time."""

        def by_blocks(mine: Tensor) -> Tensor:
            blocks = row_chunks(mine.shape[1], self.plan.width)
            if len(blocks) == 1:
                return function(mine)
            found = torch.empty(0, dtype=m.dtype)
            for block in blocks:
                some = function(mine[:, block].contiguous())
                if not found.numel():
                    found = some.new_empty(len(some), mine.shape[1])
                found[:, block] = some
            return found

        return self.processes.by_columns(m, by_blocks)

    def sum(self, tensor: Tensor) -> Tensor:
        """Over all processes, in place."""
        return self.processes.sum(tensor)

    def all_rows(self, mine: Tensor) -> Tensor:
        """(N, C), from the rows of every process."""
        shapes = [(_width(share), mine.shape[1]) for share in self._shares]
        received = self.processes.exchanged([mine] * self.processes.size, shapes)
        return received[0] if len(received) == 1 else torch.cat(received)

    def selected(self, matrix: TallMatrix, nodes: Tensor) -> Tensor:
        """(M, C), rows of a matrix by the numbers of nodes, increasing, of all processes."""
        found = torch.zeros(len(nodes), matrix.shape[1], dtype=matrix.dtype)
        for chunk in self.chunks:
            start, stop = chunk.start + self.mine.start, chunk.stop + self.mine.start
            low, high = torch.searchsorted(nodes, torch.tensor([start, stop])).tolist()
            if low < high:
                found[low:high] = matrix.rows(chunk)[nodes[low:high] - start]
        return self.sum(found)


def _width(columns: slice) -> int:
    return columns.stop - columns.start
