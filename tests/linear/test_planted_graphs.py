"""Planted graphs say what they are planted with."""

import numpy as np
import pytest

from benchmarks.planted_graphs import N_GROUPS, PLANTED, irrelevant_columns


def within(planted) -> float:
    rows, columns = planted.graph.adjacency.nonzero()
    return float((planted.groups[rows] == planted.groups[columns]).mean())


@pytest.mark.parametrize(
    ("edges", "informative", "kind"), [(True, 0, "number"), (False, 3, "category")]
)
def test_irrelevant_columns_are_the_only_ones_that_know_nothing(edges, informative, kind):
    planted = irrelevant_columns(2, kind, edges=edges, informative=informative)
    assert (within(planted) > 0.7) is edges
    if not edges:
        assert within(planted) == pytest.approx(1 / N_GROUPS, abs=0.05)
    columns = planted.graph.attributes
    assert [columns[name].kind for name in columns] == ["category"] * informative + [kind] * 2
    assert (
        irrelevant_columns(2, kind).graph.fingerprint()
        == irrelevant_columns(2, kind).graph.fingerprint()
    )


def test_no_columns_at_all():
    assert irrelevant_columns(0).graph.attributes is None


@pytest.mark.parametrize("name", PLANTED)
def test_planted_graphs_are_repeatable(name):
    planted = PLANTED[name](1)
    assert planted.graph.fingerprint() == PLANTED[name](1).graph.fingerprint()
    assert (np.bincount(planted.groups) > 0).all()
    if name == "unlike neighbors":
        rows, columns = planted.graph.adjacency.nonzero()
        assert (planted.groups[rows] == planted.groups[columns] ^ 1).mean() > 0.7
