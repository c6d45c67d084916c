"""Matrices written by columns and read by rows, in memory and in a file."""

import pytest
import torch

from graphgate.compute import tall_matrix
from graphgate.compute.tall_matrix import TallMatrix, row_chunks, temporary_file

pytestmark = pytest.mark.numerical


@pytest.fixture(params=["memory", "file"])
def file(request):
    return None if request.param == "memory" else temporary_file()


@pytest.mark.parametrize("width", [1, 3, 7, 100])
@pytest.mark.parametrize("piece", [1 << 30, 16])
def test_what_is_written_by_columns_is_read_by_rows(file, width, piece, monkeypatch):
    monkeypatch.setattr(tall_matrix, "_LARGEST", piece)
    values = torch.randn(11, 7, dtype=torch.float64)
    matrix = TallMatrix(11, row_chunks(7, width), torch.float64, file)
    for number, columns in enumerate(matrix.columns):
        matrix.write_block(number, values[:, columns])
    assert len(matrix) == 11
    for rows in (slice(0, 11), slice(2, 5), slice(10, 11), slice(4, 4)):
        assert torch.equal(matrix.rows(rows), values[rows])
    for number, columns in enumerate(matrix.columns):
        assert torch.equal(matrix.block(number), values[:, columns])


def test_rows_can_be_replaced(file):
    values = torch.randn(9, 5)
    matrix = TallMatrix(9, row_chunks(5, 2), file=file)
    for number, columns in enumerate(matrix.columns):
        matrix.write_block(number, values[:, columns].clone())
    matrix.write_rows(slice(3, 6), torch.ones(3, 5))
    values[3:6] = 1
    assert torch.equal(matrix.rows(slice(0, 9)), values)


def test_a_block_that_was_never_written_is_an_error():
    empty = temporary_file()
    with pytest.raises(OSError, match="ended after 0 bytes"):
        TallMatrix(4, [slice(0, 2)], file=empty).rows(slice(0, 4))
    assert empty.closed


@pytest.mark.parametrize(("n", "size"), [(0, 3), (1, 3), (9, 3), (10, 3), (10, 100)])
def test_chunks_cover_all_rows_once(n, size):
    chunks = row_chunks(n, size)
    assert [row for chunk in chunks for row in range(n)[chunk]] == list(range(n))
    assert all(0 <= chunk.stop - chunk.start <= size for chunk in chunks)
