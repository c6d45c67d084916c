"""Recommendations of LinearGATE, against the scores of all pairs."""

import numpy as np
import pytest

from graphgate import Graph, InputError, LinearGATE

pytestmark = pytest.mark.numerical

PEOPLE, THINGS = 60, 40


def shop() -> Graph:
    """Customers and products of two tastes, with text ids."""
    rng = np.random.default_rng(0)
    taste = np.arange(PEOPLE + THINGS) % 2
    people, things = np.arange(PEOPLE), np.arange(PEOPLE, PEOPLE + THINGS)
    edges = [
        (buyer, thing)
        for buyer in people
        for thing in things
        if rng.random() < (0.25 if taste[buyer] == taste[thing] else 0.04)
    ]
    ids = [f"c{at}" for at in people] + [f"p{at}" for at in range(THINGS)]
    return Graph.from_edges(
        None,
        [(ids[u], ids[v]) for u, v in edges],
        ids=ids,
        attributes={
            "kind": ["customer"] * PEOPLE + ["product"] * THINGS,
            "taste": [f"t{each}" if at % 3 else None for at, each in enumerate(taste)],
        },
    )


@pytest.fixture(scope="module")
def graph() -> Graph:
    return shop()


@pytest.fixture(scope="module")
def gate(graph) -> LinearGATE:
    return LinearGATE(random_state=0, progress=False).fit(graph)


def products(graph: Graph) -> list[str]:
    return [name for name in graph.ids.tolist() if name.startswith("p")]


def best_by_hand(gate, graph, node, names, n):
    row = graph.rows([node])[0]
    joined = graph.adjacency.toarray()[row] > 0
    new = [name for name in names if name != node and not joined[graph.rows([name])[0]]]
    scores = gate.score_edges([(node, other) for other in new])
    order = np.argsort(-scores, kind="stable")[:n]
    return [new[at] for at in order], scores[order]


def test_recommended_are_the_likeliest_of_the_candidates(gate, graph):
    for among in ({"kind": "product"}, products(graph), graph.ids >= "p"):
        found = gate.recommend(["c3", "c10"], among, n=4)
        assert found.nodes.tolist() == ["c3"] * 4 + ["c10"] * 4
        for start, node in ((0, "c3"), (4, "c10")):
            expected, scores = best_by_hand(gate, graph, node, products(graph), 4)
            assert found.neighbors[start : start + 4].tolist() == expected
            np.testing.assert_allclose(found.probabilities[start : start + 4], scores, rtol=1e-4)
        assert found.reasons is None
    everyone = gate.recommend("p5", n=5)
    assert everyone.neighbors.tolist() == best_by_hand(gate, graph, "p5", graph.ids.tolist(), 5)[0]


def test_fewer_candidates_than_wanted(gate, graph):
    own = graph.ids[graph.adjacency.toarray()[3] > 0].tolist()
    found = gate.recommend("c3", [*own, "c3", "p0", "p1", "p2"], n=9)
    assert set(found.neighbors.tolist()) == {"p0", "p1", "p2"} - set(own)
    assert len(gate.recommend("c3", own)) == 0


def test_reasons_add_up_to_the_score(gate, graph):
    found = gate.recommend("c3", {"kind": "product"}, n=3, why=True)
    adjacency, rows = graph.adjacency.toarray() > 0, graph.rows(found.neighbors.tolist())
    for row, probability, reason in zip(rows, found.probabilities, found.reasons, strict=True):
        logit = sum(reason.terms.values())
        assert 1 / (1 + np.exp(-logit)) == pytest.approx(probability, rel=1e-4)
        common = graph.ids[adjacency[3] & adjacency[row]].tolist()
        assert set(reason.common_neighbors) <= set(common)
        assert len(reason.common_neighbors) == min(5, len(common))
        assert set(reason.shared_traits) <= {"taste=t0", "taste=t1"}


def test_what_is_no_recommendation(gate, graph):
    for wrong, words in (
        ({"among": {"kind": "shop"}}, "no node has the category 'shop' in a column 'kind'"),
        ({"among": {"colour": "red"}}, "the features are kind=customer"),
        ({"among": []}, "among names no node"),
        ({"n": 0}, "n == 0"),
    ):
        with pytest.raises(InputError, match=words):
            gate.recommend("c3", **wrong)
    with pytest.raises(InputError, match="no node with id 'nobody'"):
        gate.recommend("nobody")
    path = LinearGATE(random_state=0, progress=False).fit(graph.subgraph(graph.ids[:5].tolist()))
    with pytest.raises(InputError, match="too few edges"):
        path.recommend("c1")


def test_a_loaded_model_needs_the_graph(gate, graph, tmp_path):
    gate.save(tmp_path / "m.safetensors")
    loaded = LinearGATE.load(tmp_path / "m.safetensors")
    with pytest.raises(InputError, match="a loaded model holds no graph"):
        loaded.recommend("c3")
    found = loaded.recommend("c3", {"kind": "product"}, graph=graph)
    expected = gate.recommend("c3", {"kind": "product"})
    assert found.neighbors.tolist() == expected.neighbors.tolist()
