"""Parameters given as text or numbers, and what is refused."""

import math

import numpy as np
import pytest

from graphgate.errors import InputError
from graphgate.estimators.hyperparameters import memory_limit


@pytest.mark.parametrize(
    ("given", "n_bytes"),
    [
        (None, None),
        (1, 1),
        (2.5e9, 2_500_000_000),
        (np.int64(7), 7),
        ("1234", 1234),
        ("500MB", 500_000_000),
        ("1GiB", 2**30),
        (" 1.5 gib ", 3 * 2**29),
        ("8kB", 8000),
        ("8KiB", 8192),
        ("2TB", 2 * 10**12),
        ("3 b", 3),
    ],
)
def test_a_memory_limit_is_a_number_of_bytes(given, n_bytes):
    assert memory_limit(given) == n_bytes


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("much", "such as '500MB' or '4GiB', got 'much'"),
        ("1 GiBs", "one of the units B, kB, MB"),
        ("-1GB", "got '-1GB'"),
        ("", "got ''"),
        ("0GB", "at least 1 byte, got '0GB'"),
        (0, "at least 1 byte, got 0"),
        (-5, "at least 1 byte, got -5"),
        (math.inf, "must be finite"),
        (math.nan, "must not be NaN"),
        (True, "must be a number, got True"),
        ([1], "memory_limit must be an instance of"),
    ],
)
def test_a_memory_limit_that_is_none(given, words):
    with pytest.raises(InputError, match=words):
        memory_limit(given)
