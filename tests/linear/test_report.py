"""What an estimator knows about itself, and how it says so."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.planted_graphs import PLANTED, irrelevant_columns
from graphgate import Graph, LinearGATE
from graphgate.linear.edge_decoder import TERMS
from graphgate.linear.report import LITTLE, LinearReport, SourceReport

pytestmark = pytest.mark.numerical


def report(r2: float = 0.25, auc: float | None = 0.876) -> LinearReport:
    return LinearReport(10, r2, 0.5623413, auc, {}, 4, {})


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
    found = report(r2, auc=None)
    assert found.edges_add_little is little
    assert any("next to nothing about the features" in each for each in found.sentences()) is little
    assert "-" not in found.sentences()[0]  # an R² below zero is no prediction at all


def with_sources(counts: dict[str, float], **fields) -> LinearReport:
    sources = {name: SourceReport(weight, 0.1, None, 0.25) for name, weight in counts.items()}
    return replace(report(), sources=sources, **fields)


def test_advice_never_points_away_from_edges_that_predict_edges():
    for given in (report(0.0, 0.9), with_sources({"x": 1.0}, r2=0.0, edge_auc=0.9)):
        sentences = " ".join(given.sentences())
        assert "vectors of the features alone" not in sentences
        assert "describe different things" in sentences


def test_columns_without_support_are_named():
    assert report().sentences() == with_sources({"age": 1.0, "kind": 0.5}).sentences()
    *_, last = with_sources({"age": 0.02, "kind": 1.0}).sentences()
    assert last == (
        "Nothing else in the data supports 'age', so it counts little; weights= brings it back."
    )
    many = {f"c{at}": 0.02 for at in range(8)} | {"kind": 1.0}
    assert "'c4' and 3 more" in with_sources(many).sentences()[-1]


def test_nothing_at_all_supports_anything():
    *_, named, last = with_sources({"age": 0.02}, r2=0.0).sentences()
    assert "supports 'age', so it counts little" in named
    assert last == "Vectors describe the edges."
    *_, named, last = with_sources({"x": 0.02}, r2=0.0, edge_auc=0.52).sentences()
    assert "supports the features, so they count little" in named
    assert last.endswith("so vectors may be of little use.")


def test_edges_between_unlike_nodes_are_said():
    assert "unlike" not in " ".join(with_sources({"x": 1.0}, alignment=0.1).sentences())
    assert "Edges join unlike nodes" in with_sources({"x": 1.0}, alignment=-0.1).sentences()[-1]


def test_the_table_of_sources():
    found = with_sources({"age": 1.0, "<b>": 0.02}, weights={"own": 0.5, "factors": 0.7})
    assert found.table().splitlines() == [
        "source or view  weight  from own  from neighbors  from structure",
        "age               1.00    10.0 %               –          25.0 %",
        "<b>               0.02    10.0 %               –          25.0 %",
        "(own)             0.50",
        "(factors)         0.70         –",
    ]
    many = with_sources({f"c{at}": 1.0 for at in range(33)}).table().splitlines()
    assert (len(many), many[-1]) == (32, "and 3 more")
    html = found._repr_html_()
    assert "<td>&lt;b&gt;</td><td>0.02</td>" in html
    assert "Nothing else in the data supports &#x27;&lt;b&gt;&#x27;" in html


@pytest.mark.parametrize(
    ("planted", "words"),
    [
        (irrelevant_columns(1), "'noise 0', so it counts little; weights= brings it back. Vectors"),
        (irrelevant_columns(2, informative=1), "supports 'noise 0', 'noise 1', so they count"),
        (PLANTED["unlike neighbors"](0), "Edges join unlike nodes"),
    ],
    ids=["one irrelevant column", "beside one that is not", "unlike neighbors"],
)
def test_planted_graphs_in_words(planted, words):
    found = LinearGATE(8, weights="auto", random_state=0, progress=False).fit(planted.graph).report_
    assert words in " ".join(found.sentences())
    assert "features alone" not in " ".join(found.sentences())


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
