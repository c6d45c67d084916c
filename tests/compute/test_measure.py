"""Time and peak memory of a block."""

from __future__ import annotations

import time

import numpy as np
import pytest

from graphgate.compute import machine, measure
from graphgate.compute.measure import measured, resident
from graphgate.errors import InputError

MANY = 96 * 2**20  # bytes


def test_an_allocation_raises_the_peak():
    before = resident()
    with measured() as cost:
        block = np.ones(MANY // 8)
        assert block[-1] == 1
        del block
    assert cost.peak_memory_mb >= before + 90


def test_an_earlier_peak_is_reset():
    with measured() as large:
        np.ones(MANY // 8)
    with measured() as small:
        np.ones(8)
    if small.peak_memory_mb == large.peak_memory_mb:
        pytest.skip("this system keeps the peak of the whole process")
    assert small.peak_memory_mb < large.peak_memory_mb - 80


def test_seconds_of_the_block():
    start = time.perf_counter()
    with measured() as cost:
        time.sleep(0.05)
    assert 0.05 <= cost.seconds <= time.perf_counter() - start


def test_the_cost_is_filled_in_when_the_block_fails():
    with pytest.raises(InputError), measured() as cost:
        raise InputError("no")
    assert cost.seconds > 0


def test_a_system_without_proc(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_field", lambda path, name: None)
    monkeypatch.setattr(measure, "_CLEAR", tmp_path / "no" / "clear_refs")
    with measured() as cost:
        pass
    assert cost.peak_memory_mb > 10  # of the whole process
    assert resident() == 0
