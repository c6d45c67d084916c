"""Matrices with one row per node, computed by columns and read by rows.

A product with the adjacency acts on every column by itself, while moments and lengths of rows need
all columns of some rows. A tall matrix takes blocks of columns, in memory or in a file, and gives
either.
"""

import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import IO, Self

import torch
from torch import Tensor

from graphgate.errors import InputError

_LARGEST = 1 << 30  # bytes that are read or written at once


class TallMatrix:
    """(N, C), in blocks of columns.

    Parameters
    ----------
    n : N.
    columns : the columns of each block, one after the other.
    file : holds the numbers, and is closed with the matrix; None keeps them in memory.

    Numbers are read and written rather than mapped: mapped pages would count as memory.
    """

    def __init__(
        self,
        n: int,
        columns: Sequence[slice],
        dtype: torch.dtype = torch.float32,
        file: IO[bytes] | None = None,
    ) -> None:
        self.shape, self.dtype = (n, columns[-1].stop), dtype
        self.columns = list(columns)
        self._blocks = [torch.empty(0)] * len(self.columns) if file is None else None
        if file is not None:
            self._file = file
            weakref.finalize(self, file.close)

    @classmethod
    def of(cls, rows: Tensor) -> Self:
        """A matrix, or a vector, in memory as one block."""
        matrix = cls(len(rows), [slice(0, rows[:1].numel())], rows.dtype)
        matrix.write_block(0, rows)
        return matrix

    def __len__(self) -> int:
        return self.shape[0]

    def write_block(self, number: int, block: Tensor) -> None:
        """Set the columns `self.columns[number]`, (N, c)."""
        if self._blocks is not None:
            self._blocks[number] = block
        else:
            self._write(block.contiguous(), self._offset(number, 0))

    def block(self, number: int) -> Tensor:
        if self._blocks is not None:
            return self._blocks[number]
        columns = self.columns[number]
        return self._read((self.shape[0], columns.stop - columns.start), self._offset(number, 0))

    def rows(self, rows: slice) -> Tensor:
        """(M, C), all columns of some rows; not a view unless there is one block."""
        found = [self._part(number, rows) for number in range(len(self.columns))]
        return found[0] if len(found) == 1 else torch.cat(found, dim=1)

    def whole(self) -> Tensor:
        """(N, C), all rows."""
        return self.rows(slice(0, len(self)))

    def write_rows(self, rows: slice, values: Tensor) -> None:
        """Set all columns of some rows; blocks in memory must have been written."""
        for number, columns in enumerate(self.columns):
            if self._blocks is not None:
                self._blocks[number][rows] = values[:, columns]
            else:
                self._write(values[:, columns].contiguous(), self._offset(number, rows.start))

    def _part(self, number: int, rows: slice) -> Tensor:
        if self._blocks is not None:
            return self._blocks[number][rows]
        columns = self.columns[number]
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        return self._read(shape, self._offset(number, rows.start))

    def _offset(self, number: int, row: int) -> int:
        columns = self.columns[number]
        before = self.shape[0] * columns.start + row * (columns.stop - columns.start)
        return before * self.dtype.itemsize

    def _read(self, shape: tuple[int, int], offset: int) -> Tensor:
        found = torch.empty(shape, dtype=self.dtype)
        for part, at in _pieces(found, offset):
            done = os.preadv(self._file.fileno(), [part], at)
            if done < len(part):
                raise OSError(f"a temporary file ended after {at + done:,} bytes")
        return found

    def _write(self, values: Tensor, offset: int) -> None:
        for part, at in _pieces(values, offset):
            done = 0
            try:
                while done < len(part):
                    done += os.pwrite(self._file.fileno(), part[done:], at + done)
            except OSError as error:
                raise InputError(
                    f"intermediate results cannot be written: {error.strerror}; free disk space, "
                    "or set TMPDIR to another folder"
                ) from None


def temporary_file() -> IO[bytes]:
    """A file without a name: nothing is left of it when the process ends, however it ends."""
    return tempfile.TemporaryFile(buffering=0)


def _pieces(tensor: Tensor, offset: int) -> Iterator[tuple[memoryview, int]]:
    """The memory of a tensor, piece by piece, and where each piece is in the file."""
    if tensor.numel() == 0:
        return
    memory = tensor.numpy().reshape(-1).view("B").data
    for start in range(0, len(memory), _LARGEST):
        yield memory[start : start + _LARGEST], offset + start


def row_chunks(n: int, size: int) -> list[slice]:
    """N rows, or columns, in chunks of at most `size`, of nearly equal size."""
    count = max(1, -(-n // max(size, 1)))
    ends = [n * at // count for at in range(count + 1)]
    return [slice(start, end) for start, end in pairwise(ends)]
