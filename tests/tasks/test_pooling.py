"""One vector per graph."""

import numpy as np
import pytest
from graphs import random_graph

from graphgate.errors import InputError
from graphgate.tasks.pooling import pool


@pytest.mark.parametrize("how", ["mean", "sum", "max"])
def test_pools_by_graph_in_any_order(how):
    rng = np.random.default_rng(0)
    z, index = rng.normal(size=(30, 4)), rng.permutation(np.repeat(np.arange(6), 5))
    expected = [getattr(np, how)(z[index == graph], axis=0) for graph in range(6)]
    np.testing.assert_allclose(pool(z, index, how), expected)
    assert pool(z.astype(np.float32), index, how).dtype == np.float32


def test_takes_the_list_of_graphs():
    graphs = [random_graph(0, n=4), random_graph(1, n=7)]
    z = np.arange(22.0).reshape(11, 2)
    np.testing.assert_array_equal(pool(z, graphs, "max"), [z[3], z[10]])


@pytest.mark.parametrize(
    ("index", "how", "words"),
    [
        ([0, 1], "mean", "one graph number per vector"),
        ([0.0, 0.0, 1.0], "mean", "of float64"),
        ([0, 0, 2], "mean", "every graph 0 … 2"),
        ([0, 0, 1], "median", "unknown how"),
    ],
)
def test_refuses_what_it_cannot_pool(index, how, words):
    with pytest.raises(InputError, match=words):
        pool(np.ones((3, 2)), index, how)
