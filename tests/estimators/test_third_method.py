"""A method that is registered by one line passes through everything that takes a method."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from linear_graphs import community_graph
from smoothing_method import METHOD, Smoothing

from graphgate import Graph, InputError, Store, embed, estimate, load_model
from graphgate.estimators import registry

TABLES = ["edges.csv", "--nodes", "nodes.csv"]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for name in ("EMBEDDERS", "METHODS"):
        monkeypatch.setattr(registry, name, getattr(registry, name))
        monkeypatch.setitem(getattr(registry, name), METHOD.name, METHOD)


@pytest.fixture
def graph() -> Graph:
    return community_graph(1)


@pytest.fixture
def tables(empty_folder, graph):
    """The graph as tables in the working directory."""
    pairs = np.stack(graph.adjacency.nonzero(), axis=1)
    edges = dict(zip(("source", "target"), pairs[pairs[:, 0] < pairs[:, 1]].T, strict=True))
    pyarrow.csv.write_csv(pa.table(edges), "edges.csv")
    numbers = np.arange(graph.n_nodes)
    nodes = {"id": numbers, "age": numbers % 7 * 1.5, "kind": [f"k{n % 3}" for n in numbers]}
    pyarrow.csv.write_csv(pa.table(nodes | {"label": [f"l{n % 2}" for n in numbers]}), "nodes.csv")


def test_register_makes_it_an_embedder(monkeypatch):
    monkeypatch.delitem(registry.EMBEDDERS, METHOD.name)
    registry.register([METHOD])
    assert METHOD.name not in registry.EMBEDDERS
    registry.register([METHOD], embedders=True)
    assert registry.method_of(Smoothing()) is registry.EMBEDDERS[METHOD.name] is METHOD


def test_it_is_saved_and_loaded(graph, tmp_path):
    model = Smoothing(3, random_state=0).fit(graph)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.get_params() == Smoothing(3, random_state=0).get_params()
    assert np.array_equal(loaded.encode(graph).embedding, model.embedding_)
    assert model.embedding_.shape == (80, 3)
    with pytest.raises(InputError, match="has no device"):
        load_model(tmp_path / "model", device="cpu")


def test_it_is_embedded_and_estimated(graph):
    assert embed(graph, method="smooth", n_components=5).vectors.shape == (80, 5)
    found = estimate(graph, method="smooth", n_components=5)
    assert (found.training_bytes, found.fits, found.epochs) == (8 * 80 * 5, True, None)
    with pytest.raises(InputError, match="is a parameter of method='gate'"):
        embed(graph, method="smooth", dims=(3,))


def test_it_grows_in_a_store(graph, tmp_path):
    old = graph.subgraph(graph.ids[:60])
    store = Store.create(tmp_path / "store", old, Smoothing(3, random_state=0))
    store.add(graph)
    store.remove(nodes=graph.ids[3:5])
    exact = Smoothing(3, random_state=0).fit(old).encode(store.graph()).embedding
    np.testing.assert_allclose(store.vectors().vectors, exact, atol=1e-5)
    store.refit()
    assert store.drift().n_shared == 78


def test_every_command_takes_it(run, tables):
    written = {"out": "z.parquet", "model": "m.safetensors", "run": "r", "store": "s"}
    written |= {"page": "p.html", "reconstruction": "x.parquet"}
    outputs = [part for name, file in written.items() for part in (f"--{name}", file)]
    commands = [
        ["estimate", *TABLES, "--method", "smooth", "--json", "e.json"],
        ["embed", *TABLES, "--method", "smooth", *outputs],
        ["embed", "--repeat", "r", "--out", "again.parquet"],
        ["transform", "m.safetensors", *TABLES, "--out", "t.parquet"],
        ["explore", *TABLES, "--method", "smooth", "--out", "e.html"],
        ["explore", *TABLES, "--model", "m.safetensors", "--out", "f.html"],
        ["outliers", *TABLES, "--model", "m.safetensors"],
        ["links", *TABLES, "--method", "smooth"],
        ["similar", "z.parquet", "--node", "3"],
        ["cluster", "z.parquet", "--nodes", "nodes.csv"],
        ["classify", "z.parquet", "--nodes", "nodes.csv", "--out", "c.csv"],
        ["store", "create", "other", *TABLES, "--method", "smooth"],
        ["store", "refresh", "s"],
        ["store", "refit", "s"],
        ["store", "export", "s", "--out", "v.parquet"],
    ]
    for command in commands:
        code, _, err = run(*command)
        assert code == 0, (command, err)
    assert all(Path(file).exists() for file in written.values())
    assert json.loads(Path("e.json").read_text())["method"] == "smooth"
    assert json.loads(Path("r/run.json").read_text())["method"] == "smooth"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["predict-links", *TABLES, "--model", "m.safetensors", "--out", "p.csv"], "Smoothing"),
        (["onnx", "m.safetensors", "--out", "e.onnx"], "Smoothing cannot be exported"),
        (
            ["embed", *TABLES, "--method", "smooth", "--out", "z.csv", "--dims", "3"],
            "--method gate",
        ),
    ],
)
def test_what_it_does_not_have_is_refused(run, tables, graph, command, words):
    Smoothing(random_state=0).fit(graph).save("m.safetensors")
    code, _, err = run(*command)
    assert code == 2
    assert words in err
