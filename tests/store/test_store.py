"""`Store`: what is stored, added, removed, and what the vectors are afterwards."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from growing import first, grown_graph, later
from sklearn.linear_model import LogisticRegression

from graphgate import GATE, Graph, InputError, LinearGATE, Store, load_model
from graphgate.store.records import read_vector_rows


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


@pytest.mark.numerical
@pytest.mark.parametrize(
    ("directed", "weighted", "params"),
    [
        (False, False, {"dims": (6, 4)}),
        (True, True, {"dims": (6, 4), "activation": "relu"}),
        (True, False, {"dims": (6,), "attention": "uniform"}),
        (False, True, {"dims": (6, 5, 4), "attention": "ones"}),
        (False, False, {"dims": (6, 5, 4)}),
    ],
)
def test_gate_is_that_of_a_full_transform(tmp_path, directed, weighted, params):
    graph = grown_graph(60, directed=directed, weighted=weighted)
    gate = GATE(**params, epochs=3, random_state=0, progress=False)
    store = Store.create(tmp_path / "store", first(graph, 44), gate)
    for start in range(44, 60, 8):
        found = store.add(later(graph, start, start + 8))
        whole = first(graph, start + 8)
        expected = store.model().transform(whole)
        assert found.added.ids.tolist() == whole.ids[start:].tolist()
        unit = 1e-5 * max(1, np.abs(expected).max())
        np.testing.assert_allclose(store.vectors().vectors, expected, atol=unit)
        np.testing.assert_allclose(found.added.vectors, expected[start:], atol=unit)
    assert store.info().stale_nodes == 0


@pytest.mark.numerical
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore::graphgate.errors.UnknownNodesWarning")
def test_linear_is_near_a_full_transform(tmp_path, directed, weighted):
    graph = grown_graph(300, directed=directed, weighted=weighted)
    gate = LinearGATE(n_components=16, random_state=0, progress=False)
    store = Store.create(tmp_path / "store", first(graph, 250), gate)
    for start in range(250, 300, 10):
        found = store.add(later(graph, start, start + 10))
        expected = store.model().transform(first(graph, start + 10))
        assert cosines(found.added.vectors, expected[start:]).min() > 0.99
    assert np.quantile(cosines(store.vectors().vectors, expected), 0.05) > 0.98
    # Structure factors look one hop far, so they are exact.
    rows = store._snapshot.read("vectors").sort_by("_number")
    _, columns, sums = read_vector_rows(rows, store._snapshot.schema("vectors"))
    factors = store.model().encode(graph).states["factors"].whole()
    np.testing.assert_allclose(columns["factors"], factors, atol=1e-5)
    np.testing.assert_allclose(sums[:, 0], graph.attended.sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(sums[:, 1], graph.attended.sum(axis=0), rtol=1e-6)


def test_the_graph_is_stored_as_it_is(tmp_path):
    graph = grown_graph(30)
    store = Store.create(tmp_path / "store", graph)
    assert store.graph().fingerprint() == graph.fingerprint()
    assert store.graph().label_values() == graph.label_values()
    assert Store.open(tmp_path / "store").info() == store.info()
    assert store.vectors(["n3", "n1"]).ids.tolist() == ["n3", "n1"]
    some = store.vectors(["n3", "n1"]).vectors
    np.testing.assert_array_equal(some, store.vectors().vectors[[3, 1]])
    np.testing.assert_array_equal(store.vectors("n7").vectors[0], store.vectors().vectors[7])


def test_vectors_say_what_they_were_made_from(tmp_path):
    graph = grown_graph(40)
    store = Store.create(tmp_path / "store", first(graph, 30))
    assert graph.columns is not None
    embedded = store.embed(later(graph, 30, 40))
    change = store.add(later(graph, 30, 40))
    for made in (embedded, change.added, change.vectors(), store.vectors(), store.vectors("n3")):
        assert made.columns == graph.columns
    named = Graph.from_edges(np.eye(4), [(0, 1), (1, 2)], feature_names=list("wxyz"))
    store = Store.create(tmp_path / "named", named)
    assert (store.vectors().columns, store.graph().feature_names) == (named.columns, tuple("wxyz"))
    store = Store.create(tmp_path / "features", Graph.from_edges(np.eye(4), [(0, 1), (1, 2)]))
    assert (store.vectors().columns, store.graph().feature_names) == (None, None)


@pytest.mark.parametrize("estimator", [LinearGATE(n_components=4), GATE((4,), epochs=1)])
def test_the_model_of_a_store_says_what_it_is(tmp_path, estimator):
    """Its tables hold what it knows of single nodes."""
    graph = grown_graph(30)
    store = Store.create(tmp_path / "store", graph, estimator.set_params(progress=False))
    with pytest.raises(InputError, match="is the model of a store"):
        load_model(tmp_path / "store" / "models" / "000001.safetensors")
    for opened in (store, Store.open(store.path)):
        opened.model().save(tmp_path / "model.safetensors")
        vectors = load_model(tmp_path / "model.safetensors").transform(graph)
        np.testing.assert_allclose(vectors, store.vectors().vectors, atol=1e-5)


def test_the_same_batch_twice_changes_nothing(tmp_path):
    graph = grown_graph(40)
    store = Store.create(tmp_path / "store", first(graph, 30))
    batch = later(graph, 30, 40)
    assert store.add(batch).version == 2
    again = store.add(batch)
    assert (again.version, len(again.added.ids), len(again.changed.ids)) == (2, 0, 0)
    assert len(store.history()) == 2
    assert store.graph().n_edges == graph.n_edges


def test_changed_attributes_and_weights_are_updates(tmp_path):
    graph = grown_graph(40, weighted=True)
    gate = GATE((6, 4), epochs=3, random_state=0, progress=False)
    store = Store.create(tmp_path / "store", graph, gate)
    nodes = pa.table(
        {"id": ["n3"], "age": [9.5], "town": ["Rom"], "a.b": [True], "words": [["y", "y", "x"]]}
    )
    edges = pa.table({"source": ["n1", "n5"], "target": ["n0", "n0"], "weight": [7.0, 2.5]})
    with pytest.warns(UserWarning, match="Rom"):
        found = store.add(edges, nodes)
    assert (len(found.added.ids), found.n_edges, found.updated) == (0, 2, 1)
    assert "n3" in found.changed.ids.tolist()
    assert store.nodes("n3")[0]["age"] == 9.5
    assert store.nodes("n3")[0]["_label"] == graph.label_values()[3]
    with pytest.warns(UserWarning, match="Rom"):
        expected = store.model().transform(store.graph())
    np.testing.assert_allclose(store.vectors().vectors, expected, atol=1e-5)
    assert store.graph().attributes.column("words").tolist()[3] == {"x": 1.0, "y": 2.0}
    same = store.graph().attributes.column("age").tolist()
    assert [*same[:3], *same[4:]] == pytest.approx(
        [value for at, value in enumerate(graph.attributes.column("age").tolist()) if at != 3]
    )


@pytest.mark.parametrize("directed", [False, True])
def test_removed_nodes_and_edges_are_as_if_never_there(tmp_path, directed):
    graph = grown_graph(40, directed=directed)
    gate = GATE((6, 4), epochs=3, random_state=0, progress=False)
    store = Store.create(tmp_path / "store", graph, gate)
    assert store.remove(["n4", "n17"]).removed == 2
    pair = np.argwhere(graph.adjacency.toarray())[-1]
    ends = [f"n{at}" for at in pair]
    edge = pa.table({"source": [ends[0]], "target": [ends[1]]})
    assert store.remove(edges=edge).n_edges == 1
    expected = graph.without_edges([pair]).without(["n4", "n17"])
    assert store.graph().fingerprint() == expected.fingerprint()
    np.testing.assert_allclose(
        store.vectors().vectors, store.model().transform(expected), atol=1e-5
    )
    with pytest.raises(InputError, match="1 of 1 edges are not stored"):
        store.remove(edges=edge)
    with pytest.raises(InputError, match="no node 'n4'"):
        store.remove("n4")


def test_an_edge_to_a_node_that_is_nowhere_is_refused(tmp_path):
    store = Store.create(tmp_path / "store", grown_graph(20))
    edges = pa.table({"source": ["n1", "nobody", "no one"], "target": ["n0", "n2", "n3"]})
    with pytest.raises(InputError, match=r"2 nodes .* 'nobody', 'no one'"):
        store.add(edges)
    assert (store.version, store.reload()) == (1, False)


def test_similar_nodes(tmp_path):
    graph = grown_graph(60)
    store = Store.create(tmp_path / "store", graph)
    vectors = store.vectors().vectors
    found = store.similar(["n3", "n8"], n_neighbors=5)
    expected = cosines(np.repeat(vectors[[3]], 60, axis=0), vectors)
    expected[3] = -2
    assert found.ids.tolist() == ["n3", "n8"]
    assert found.neighbors[0].tolist() == [f"n{at}" for at in np.argsort(-expected)[:5]]
    assert store.similar(vectors=vectors[3], n_neighbors=1).neighbors.tolist() == [["n3"]]
    towns = graph.attributes.column("town").tolist()
    near = store.similar("n3", where="town = 'Ulm' AND `a·b`", n_neighbors=60).neighbors[0]
    both = zip(towns, graph.attributes.column("a.b").tolist(), strict=True)
    assert set(near) == {f"n{at}" for at, (t, b) in enumerate(both) if t == "Ulm" and b} - {"n3"}
    with pytest.raises(InputError, match=r"cannot be used.*the columns are age, town"):
        store.similar("n3", where="size > 3")
    new = store.embed(
        pa.table({"source": ["new"], "target": ["n3"]}),
        pa.table({"id": ["new"], "age": [1.0], "town": ["Ulm"], "a.b": [True], "words": [["x"]]}),
    )
    assert store.similar(vectors=new.vectors).neighbors.shape == (1, 10)
    assert store.version == 1


@pytest.mark.filterwarnings("ignore::graphgate.errors.UnknownNodesWarning")
def test_refresh_is_exact_again(tmp_path):
    graph = grown_graph(300)
    gate = LinearGATE(n_components=16, random_state=0, progress=False)
    store = Store.create(tmp_path / "store", first(graph, 250), gate)
    store.add(later(graph, 250, 300))
    assert "50 nodes" in store.info().accuracy()
    assert 0 < store.info().stale_shift < 0.5
    expected = store.model().transform(graph)
    assert np.abs(store.vectors().vectors - expected).max() > 1e-4
    store.refresh()
    np.testing.assert_allclose(store.vectors().vectors, expected, atol=1e-6)
    assert store.info().accuracy() == "all vectors are exact"
    assert [each.action for each in store.history()] == ["create", "add", "refresh"]


@pytest.mark.parametrize(
    "estimator",
    [
        LinearGATE(n_components=8, random_state=0, progress=False),
        GATE((12, 8), epochs=10, random_state=0, progress=False),
        GATE((12, 8), epochs=10, tied_weights=False, random_state=0, progress=False),
    ],
)
@pytest.mark.filterwarnings("ignore::graphgate.errors.UnknownNodesWarning")
def test_what_was_learned_from_old_vectors_holds_after_a_refit(tmp_path, estimator):
    graph = grown_graph(300)
    store = Store.create(tmp_path / "store", first(graph, 200), estimator)
    before = store.vectors()
    probe = LogisticRegression().fit(before.vectors, before.labels)
    store.add(later(graph, 200, 300))
    drift = store.refit()
    assert (drift.before, drift.after, drift.refitted) == (2, 3, True)
    after = store.vectors()
    accuracy = probe.score(before.vectors, before.labels)
    assert probe.score(after.vectors[:200], before.labels) > accuracy - 0.02  # of 200 nodes
    assert probe.score(after.vectors[200:], after.labels[200:]) > accuracy - 0.05
    np.testing.assert_allclose(store.model().transform(graph), after.vectors, atol=2e-5)
    np.testing.assert_allclose(
        store.model().reconstruct(graph), refit_reconstruction(store, graph), atol=1e-4
    )
    assert Store.open(store.path, 2).vectors().vectors.shape == (300, 8)


def refit_reconstruction(store: Store, graph: Graph) -> np.ndarray:
    """The decoder's output is that of the model before it was rotated: undo the rotation by one."""
    model = store.model()
    quarter, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))
    model = model.with_fit(model.fit_.rotated(quarter))
    np.testing.assert_allclose(model.transform(graph), store.vectors().vectors @ quarter, atol=1e-4)
    return model.reconstruct(graph)


def test_drift_names_what_has_changed(tmp_path):
    graph = grown_graph(60)
    store = Store.create(tmp_path / "store", graph)
    same = store.drift(1)
    assert (same.n_shared, same.needed) == (60, False)
    assert same.moved.max() < 1e-6
    assert same.sentences()[-1].startswith("a refit is not needed")
    nodes = pa.table(
        {
            "id": [f"n{at}" for at in range(20)],
            "age": [50.0] * 20,
            "town": ["Rom"] * 20,
            "a.b": [True] * 20,
            "words": [["x"]] * 20,
        }
    )
    with pytest.warns(UserWarning, match="Rom"):
        store.add(nodes=nodes)
    found = store.drift()
    assert (found.before, found.after, found.refitted, found.needed) == (1, 2, False, True)
    shifts = {each.name: each for each in found.attributes}
    assert shifts["town"].unknown == pytest.approx(20 / 60)
    ages = [graph.attributes.column("age").values, store.graph().attributes.column("age").values]
    assert shifts["age"].shift == pytest.approx(
        (ages[1].mean() - ages[0].mean()) / ages[0].std(), rel=1e-5
    )
    assert found.most_moved[0][1] == pytest.approx(found.moved[-1])
    assert "33.3% of the values of 'town' are unknown" in found.sentences()[-1]


def test_rollback_is_a_new_version(tmp_path):
    graph = grown_graph(40)
    store = Store.create(tmp_path / "store", first(graph, 30))
    old = store.vectors()
    store.add(later(graph, 30, 35))
    store.refit()
    store.rollback(1)
    assert (store.version, len(store)) == (4, 30)
    np.testing.assert_array_equal(store.vectors().vectors, old.vectors)
    store.add(later(graph, 30, 40))
    assert store.graph().fingerprint() == graph.fingerprint()
    assert len(Store.open(store.path, 2)) == 35
    with pytest.raises(InputError, match="no version 9; there are 1 to 5"):
        store.rollback(9)


def test_pruned_versions_are_gone(tmp_path):
    graph = grown_graph(40)
    store = Store.create(tmp_path / "store", first(graph, 30))
    store.add(later(graph, 30, 35))
    store.refit()
    store.add(later(graph, 35, 40))
    before = store.vectors().vectors
    made = store.prune(keep=3)
    assert (made.version, made.action) == (5, "prune")
    assert [each.version for each in store.history()] == [3, 4, 5]
    assert [file.name for file in (store.path / "models").iterdir()] == ["000003.safetensors"]
    assert len(Store.open(store.path, 3)) == 35
    for version in (1, 2):
        with pytest.raises(InputError, match=f"version {version} was pruned; there are 3 to 5"):
            store.rollback(version)
    assert store.drift().before == 3
    store.prune()
    reopened = Store.open(store.path)
    assert [each.version for each in reopened.history()] == [6]
    for name in ("nodes", "edges", "vectors"):  # nothing of older versions is left
        data = list((store.path / f"{name}.lance" / "data").iterdir())
        assert len(data) == 1, name
    np.testing.assert_array_equal(reopened.vectors().vectors, before)
    assert reopened.graph().fingerprint() == graph.fingerprint()
    assert not len(reopened.add(later(graph, 35, 40)).vectors().ids)
    reopened.remove(graph.ids[39])
    assert reopened.version == 7
    with pytest.raises(InputError, match="at least one version must be kept, got keep=0"):
        store.prune(0)


def test_a_change_at_a_hub_does_not_reach_all_its_neighbors(tmp_path):
    rng = np.random.default_rng(0)
    n = 1500
    edges = [(0, at) for at in range(1, n)] + [(at, at + 1) for at in range(1, n - 1)]
    graph = Graph.from_edges(rng.normal(size=(n + 1, 6)), [*edges, (n, 0), (n, 5)])
    gate = LinearGATE(n_components=6, random_state=0, progress=False)
    store = Store.create(tmp_path / "store", first(graph, n), gate)
    found = store.add(later(graph, n, n + 1))
    expected = store.model().transform(graph)
    assert len(found.changed.ids) < 10
    assert cosines(found.added.vectors, expected[n:]).min() > 0.99
    assert cosines(store.vectors().vectors, expected).min() > 0.99


def test_the_code_of_the_docs_runs(tmp_path, monkeypatch):
    text = (Path(__file__).parents[2] / "docs/store.md").read_text("utf-8")
    code = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[0]
    monkeypatch.chdir(tmp_path)
    found: dict = {}
    exec(code, found)
    assert found["change"].added.vectors.shape == (27, 128)
    assert 27 < len(found["change"].vectors().ids) < 400


def test_ids_with_quotes_and_other_types(tmp_path):
    ids = ["it's", 'say "hi"', "ünï", "a;b", ""]
    graph = Graph.from_edges(np.eye(5), [(ids[0], ids[1]), (ids[2], ids[3])], ids=ids)
    store = Store.create(tmp_path / "store", graph)
    assert store.vectors(ids[::-1]).ids.tolist() == ids[::-1]
    assert store.similar("it's", n_neighbors=2).neighbors.shape == (1, 2)
    numbers = Graph.from_edges(np.eye(5), [(10, 11), (12, 13)], ids=[10, 11, 12, 13, 14])
    store = Store.create(tmp_path / "numbers", numbers)
    assert store.vectors(["12", "10"]).ids.tolist() == [12, 10]
    with pytest.raises(InputError, match="the ids of the store are integers, but 'x' is not"):
        store.vectors(["12", "x"])
    ids = [-(2**63), -1, 0, 2**63 - 1]
    limits = Store.create(tmp_path / "limits", Graph.from_edges(np.eye(4), [ids[:2]], ids=ids))
    assert limits.vectors(ids).ids.tolist() == ids
    assert limits.remove(ids[::3]).removed == 2
    assert limits.vectors().ids.tolist() == [-1, 0]


@pytest.mark.parametrize("name", ["*", "_*", "Age", "a`.b", "count(*)", "\" or ''"])
def test_an_attribute_may_have_any_name(tmp_path, name):
    values = [1.0, 2.0, 3.0, 4.0]
    graph = Graph.from_edges(
        None,
        [("a", "b"), ("c", "d")],
        ids=list("abcd"),
        attributes={name: values, "age": values[::-1]},
    )
    store = Store.create(tmp_path / "store", graph)
    where = f"`{name.replace('`', '``')}` > 2"
    assert set(store.similar("d", where=where).neighbors[0]) == {"c"}
    store.add(nodes=pa.table({"id": ["e", "a"], name: [5.0, 1.0], "age": [0.0, 4.0]}))
    store.prune()
    assert set(store.similar("d", where=where).neighbors[0]) == {"c", "e"}
    assert store.graph().attributes.column(name).tolist() == [*values, 5.0]


@pytest.mark.parametrize("sparse", [False, True])
def test_features_are_stored_dense_or_sparse_as_the_first_ones(tmp_path, sparse):
    x = np.eye(6, 4, dtype=np.float64) + np.eye(6, 4, -2)
    edges = [(at, at + 1) for at in range(5)]
    first_x = sp.csr_array(x[:4]) if sparse else x[:4]
    store = Store.create(tmp_path / "store", Graph.from_edges(first_x, edges[:3]))
    more = x[[3, 4, 5]] if sparse else sp.csr_array(x[[3, 4, 5]])
    change = store.add(Graph.from_edges(more, [(3, 4), (4, 5)], ids=[3, 4, 5]))
    assert change.added.ids.tolist() == [4, 5]
    found = store.graph().x
    assert sp.issparse(found) == sparse
    np.testing.assert_array_equal(found.toarray() if sparse else found, x)
    with pytest.raises(InputError, match="the graph has 3 features, but"):
        store.add(Graph.from_edges(x[:1, :3], [], ids=[9]))
    with pytest.raises(InputError, match="fitted on features, but"):
        store.add(Graph(attributes={"a": [1.0]}, ids=[9]))
    with pytest.raises(InputError, match="the store has features without names"):
        store.add(nodes=pa.table({"id": [9], "a": [1.0]}))


def test_a_refit_with_another_estimator_keeps_the_size(tmp_path):
    store = Store.create(tmp_path / "store", grown_graph(40), LinearGATE(4, random_state=0))
    with pytest.raises(InputError, match="let dims end with 4"):
        store.refit(GATE((8, 6), epochs=2, progress=False))
    store.refit(GATE((8, 4), epochs=2, random_state=0, progress=False))
    assert (store.info().method, store.info().n_components, store.version) == ("GATE", 4, 2)
