"""The column engine, in one process and two, in memory and in files."""

import pytest
import torch
from processes import run_in_processes

from graphgate.compute import columns as column_engine
from graphgate.compute.columns import Blocks, Columns
from graphgate.compute.processes import Processes
from graphgate.compute.scratch import Scratch

N, C = 11, 7


def values() -> torch.Tensor:
    return torch.randn(N, C, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def engine(blocks: Blocks | None = None, **settings) -> Columns:
    return Columns(N, torch.float64, blocks or Blocks(3), **settings)


def computed(engine: Columns) -> dict[str, torch.Tensor]:
    """The same by every method: a matrix and its double, by columns and then by rows."""
    x = values()
    both = engine.map("stage", ["one", "two"], lambda c: {"one": x[:, c], "two": 2 * x[:, c]}, C)
    squares = engine.rows(lambda a, b: a * b, both["one"], both["two"])
    nodes = torch.tensor([0, 4, 5, 10])
    return {
        "whole": engine.collect(lambda rows: rows, both["two"]),
        "squares": engine.collect(lambda rows: rows, squares),
        "sum": engine.fold(lambda rows: rows.T @ rows, both["one"]),
        "product": engine.product(lambda m: x[:5] @ m, x.T @ x),
        "selected": engine.select(both["one"], nodes),
        "none": engine.select(both["one"], nodes[:0]),
    }


def expected() -> dict[str, torch.Tensor]:
    x = values()
    return {
        "whole": 2 * x,
        "squares": 2 * x**2,
        "sum": x.T @ x,
        "product": x[:5] @ (x.T @ x),
        "selected": x[[0, 4, 5, 10]],
        "none": x[:0],
    }


def check(results: dict[str, torch.Tensor]) -> None:
    for name, wanted in expected().items():
        torch.testing.assert_close(results[name], wanted, msg=name)


@pytest.mark.parametrize("chunk", [1, 4, 100])
@pytest.mark.parametrize("spilled", [False, True])
@pytest.mark.parametrize("width", [1, 3, 7, 100])
def test_blocks_chunks_and_files_change_nothing(width, spilled, chunk, monkeypatch):
    monkeypatch.setattr(column_engine, "CHUNK", chunk)
    check(computed(engine(Blocks(width, spilled))))


def in_processes(processes, width: int):
    return computed(engine(Blocks(width), processes=processes))


@pytest.mark.parametrize(("size", "width"), [(2, 2), (3, 100)])
def test_processes_change_nothing(size, width):
    for results in run_in_processes(size, in_processes, width):
        check(results)


@pytest.mark.parametrize("n", [1, 2, 5, 4096])
def test_every_row_belongs_to_one_process(n):
    for size in (1, 2, 3):
        shares = [
            Columns(n, torch.float32, None, Processes(rank, size)).mine for rank in range(size)
        ]
        assert [row for share in shares for row in range(n)[share]] == list(range(n))


def test_a_sum_over_nodes_is_in_double_precision():
    single = Columns(1 << 13, torch.float32)
    ones = single.own(torch.full((1 << 13, 1), 0.1))
    total = single.fold(lambda rows: rows.sum(dim=0), ones)
    assert total.dtype == torch.float64


def test_finished_rounds_are_not_computed_again(tmp_path):
    done: list[slice] = []

    def function(columns: slice) -> dict[str, torch.Tensor]:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(columns)
        return {"x": values()[:, columns]}

    first = engine(scratch=Scratch(tmp_path / "s", "run"))
    with pytest.raises(KeyboardInterrupt):
        first.map("stage", ["x"], function, C)
    assert len(done) == 2
    del first
    done.clear()
    second = engine(scratch=Scratch(tmp_path / "s", "run"))
    x = second.map("stage", ["x"], function, C)["x"]
    assert len(done) == 1
    assert torch.equal(x.whole(), values())


def test_progress_is_reported_for_every_block_product_and_fold():
    seen: list[bool] = []
    computed(engine(advance=lambda: seen.append(True)))
    assert len(seen) == 3 + 1 + 1
