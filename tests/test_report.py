"""What an estimator knows about itself, and how it says so."""

import numpy as np
import pytest

from graphgate import Graph, LinearGATE
from graphgate.linear.edge_decoder import TERMS
from graphgate.linear.report import LITTLE, LinearReport

pytestmark = pytest.mark.numerical


def report(r2: float = 0.25, auc: float | None = 0.876) -> LinearReport:
    return LinearReport(10, r2, 0.5623413, auc, {}, 4)


def test_the_report_in_words():
    assert report().sentences() == [
        "The neighborhood of a node predicts 25.0 % of its hidden features "
        "(R², ridge strength 0.562).",
        "Hidden edges are found with an AUC of 87.6 %.",
    ]


def test_too_few_edges_are_said():
    assert report(auc=None).sentences()[1] == (
        "There are too few edges, or too few pairs without one, to hide some edges and see how "
        "well they are found."
    )


@pytest.mark.parametrize(("r2", "little"), [(LITTLE, False), (LITTLE - 1e-9, True), (-3.0, True)])
def test_edges_that_add_little_are_said(r2, little):
    found = report(r2)
    assert found.edges_add_little is little
    assert any("next to nothing about the features" in each for each in found.sentences()) is little
    assert "-" not in found.sentences()[0]  # an R² below zero is no prediction at all


def test_the_report_of_a_fitted_estimator():
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.normal(size=(60, 5)), rng.integers(0, 60, (400, 2)))
    gate = LinearGATE(4, random_state=0).fit(graph)
    found = gate.report_
    assert found.n_coordinates == 5
    assert (found.r2, found.strength) == (
        gate.model_.reconstruction.r2,
        gate.model_.reconstruction.strength,
    )
    assert found.edge_auc == gate.decoder_.auc
    assert found.edge_weights == dict(zip(TERMS, gate.decoder_.weights, strict=True))
    assert found.structure_rank == 60
    alone = LinearGATE(4, random_state=0).fit(Graph(graph.x)).report_
    assert (alone.structure_rank, alone.edge_auc, alone.edge_weights) == (0, None, {})
    assert alone.r2 == 0
    assert alone.edges_add_little
