"""What a file may claim, and how the user raises it."""

import math

import pytest

from graphgate import InputError, limits
from graphgate.io.limits import VARIABLE, allowed, check_claim, check_columns, current_limits


def test_small_files_count_as_100_kb_and_larger_ones_in_proportion():
    assert allowed("nodes", 0) == allowed("nodes", 100_000) == 100_000
    assert allowed("values", 200_000) == 250 * 200_000
    check_claim("f", "nodes", 100_000, 9, "nodes")
    with pytest.raises(
        InputError, match=r"^f has 9 bytes but claims 100,001 nodes.*raise the limit"
    ):
        check_claim("f", "nodes", 100_001, 9, "nodes")
    check_columns("f", 40_000)
    with pytest.raises(InputError, match=r"40,001 columns.*'columns' with GRAPHGATE_LIMITS"):
        check_columns("f", 40_001)


def test_limits_of_a_block():
    with limits(nodes=2, columns=math.inf):
        assert allowed("nodes", 1) == 200_000
        with limits(text=1):
            assert (current_limits().nodes, current_limits().text) == (2, 1)
        check_columns("f", 10**9)
    assert current_limits().nodes == 1
    for wrong in ({"nodes": 0}, {"nodes": -1}, {"text": "9"}, {"text": True}, {"text": math.nan}):
        with pytest.raises(InputError, match="must be a positive number"), limits(**wrong):
            pass
    with (
        pytest.raises(InputError, match="there is no limit 'rows'; use one of text"),
        limits(rows=1),
    ):
        pass


@pytest.mark.parametrize("text", ["values=2000 columns=7", "columns=7,values=2e3"])
def test_limits_of_a_process(monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    assert (current_limits().values, current_limits().columns) == (2000, 7)
    with limits(columns=8):
        assert (current_limits().values, current_limits().columns) == (2000, 8)


def test_no_limits(monkeypatch):
    monkeypatch.setenv(VARIABLE, " None ")
    check_claim("f", "nodes", 10**30, 1, "nodes")
    check_columns("f", 10**30)


@pytest.mark.parametrize("text", ["values", "values=", "values=x", "=3", "rows=3", "values=-1"])
def test_a_variable_that_makes_no_sense(monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(InputError, match=VARIABLE):
        current_limits()
