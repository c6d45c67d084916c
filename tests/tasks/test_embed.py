"""`embed`, from everything that people hold, and what `fit` says to it."""

import copy
import re

import anndata
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from contract import blocks
from rounding import assert_equal_to_rounding
from sklearn.base import clone
from torch_geometric.data import Batch, Data, HeteroData

import graphgate
from graphgate import GATE, Embedding, Graph, InputError, InputWarning, LinearGATE, embed
from graphgate.io.foreign import recognized
from graphgate.tasks.embed import as_graph

pytestmark = pytest.mark.numerical

EDGES = {"source": ["a", "b", "c", "d", "e"], "target": ["b", "c", "d", "e", "a"]}
NODES = {"id": list("abcde"), "age": [1.0, 2.0, 3.0, 4.0, 9.0], "label": ["x", "x", "y", "y", "y"]}
EDGES_OF = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]])
GRAPH = graphgate.from_tables(pa.table(EDGES), pa.table(NODES))


def networkx() -> nx.Graph:
    g = nx.Graph(zip(EDGES["source"], EDGES["target"], strict=True))
    for node, age, label in zip(*NODES.values(), strict=True):
        g.nodes[node].update(age=age, label=label)
    return g


def data() -> Data:
    both = torch.cat([EDGES_OF, EDGES_OF.flip(0)], dim=1)
    return Data(x=torch.tensor(NODES["age"])[:, None], edge_index=both)


def tissue() -> anndata.AnnData:
    x = np.random.default_rng(0).random((20, 4))
    places = np.stack(np.divmod(np.arange(20.0), 5), axis=1)
    return anndata.AnnData(x, obsm={"spatial": places})


def files(folder) -> tuple:
    pd.DataFrame(EDGES).to_csv(folder / "edges.csv", index=False)
    pd.DataFrame(NODES).to_csv(folder / "nodes.csv", index=False)
    return folder / "edges.csv", folder / "nodes.csv"


def test_the_same_graph_from_everything(tmp_path):
    edges, nodes = files(tmp_path)
    expected = LinearGATE(random_state=0).fit(GRAPH).embedding_
    for given in (
        embed(GRAPH),
        embed(networkx(), label="label"),
        embed(pd.DataFrame(EDGES), pd.DataFrame(NODES)),
        embed(pl.DataFrame(EDGES), pl.DataFrame(NODES)),
        embed(pa.table(EDGES), pa.table(NODES)),
        embed(edges, nodes),
        embed(str(edges), str(nodes)),
    ):
        assert isinstance(given, Embedding)
        assert given.ids.tolist() == list("abcde")
        assert_equal_to_rounding(given.vectors, expected, 10)
        assert given.labels == NODES["label"]


def test_other_objects():
    adjacency = GRAPH.adjacency
    plain = LinearGATE(random_state=0).fit(Graph([[a] for a in NODES["age"]], adjacency))
    np.testing.assert_allclose(embed(data()).vectors, plain.embedding_, atol=1e-5)
    assert len(embed(Batch.from_data_list([data(), data()])).ids) == 10
    assert len(embed([GRAPH, GRAPH]).ids) == 10
    cells = tissue()
    embedding = embed(cells, n_neighbors=3, n_components=4)
    assert embedding.ids.tolist() == list(cells.obs_names)
    graphgate.embed_anndata(cells, n_neighbors=3, n_components=4, random_state=0)
    assert_equal_to_rounding(embedding.vectors, cells.obsm["X_gate"], 10)


def test_options_reach_the_estimator_and_the_reader():
    wanted = LinearGATE(2, random_state=3).fit(GRAPH).embedding_
    found = embed(pd.DataFrame(EDGES), pd.DataFrame(NODES), n_components=2, random_state=3)
    assert_equal_to_rounding(found.vectors, wanted, 10)
    renamed = pd.DataFrame({"from": EDGES["source"], "to": EDGES["target"]})
    assert embed(renamed, source="from", target="to").ids.tolist() == list("abcde")
    gate = GATE((2,), epochs=2, random_state=0, progress=False)
    assert embed(GRAPH, method=gate).vectors is gate.embedding_
    assert embed(GRAPH, method="gate", dims=(2,), epochs=2).vectors.shape == (5, 2)


def test_labels_do_not_reach_the_method():
    class Recorder:
        def fit(self, graph):
            self.graph, self.embedding_ = graph, np.ones((graph.n_nodes, 1))

    recorder = Recorder()
    assert embed(GRAPH, method=recorder).labels == NODES["label"]
    assert recorder.graph.labels is None


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((GRAPH,), {"no_such": 1}, "omit no_such"),
        ((GRAPH, GRAPH), {}, "nodes describe a table or a file"),
        ((pd.DataFrame(EDGES),), {"nodse": 1}, "unknown option 'nodse'.*from_tables.*source"),
        ((networkx(),), {"radius": 1}, "unknown option 'radius'.*from_networkx.*attributes"),
        ((GRAPH,), {"dims": (2,)}, "dims is a parameter of method='gate'"),
        ((GRAPH,), {"method": "gtae"}, "unknown method 'gtae'"),
        ((GRAPH,), {"method": LinearGATE(), "n_components": 2}, "pass it to LinearGATE"),
        ((np.eye(3),), {}, "expected a Graph, a NetworkX graph, .* got ndarray"),
        (("missing.csv",), {}, "missing.csv"),
    ],
)
def test_refusals(arguments, options, message):
    with pytest.raises(InputError, match=message):
        embed(*arguments, **options)


# --- fit, given one of them ----------------------------------------------------------------------


class FakeOfAnotherLibrary:
    pass


FakeOfAnotherLibrary.__module__ = "igraph"
HETERO = HeteroData()


@pytest.mark.parametrize(
    ("given", "converter"),
    [
        (networkx(), "from_networkx(g)"),
        (nx.MultiDiGraph(), "from_networkx(g)"),
        (data(), "from_pyg(data)"),
        (HETERO, "from_pyg(data)"),
        (tissue(), "from_anndata(adata)"),
        (pd.DataFrame(EDGES), "from_tables(edges, nodes)"),
        (pl.DataFrame(NODES), "from_tables(edges, nodes)"),
        (pa.table(EDGES), "from_tables(edges, nodes)"),
        (pd.DataFrame({"source": [0, 1], "target": [1, 2]}), "from_tables(edges, nodes)"),
        ("edges.csv", "read_graph(edges, nodes)"),
        ([networkx(), networkx()], "convert each of them with graphgate.from_networkx(g)"),
        (FakeOfAnotherLibrary(), "from_networkx(g.to_networkx())"),
    ],
)
@pytest.mark.parametrize("estimator", [LinearGATE(), GATE()], ids=lambda e: type(e).__name__)
def test_fit_and_transform_name_the_converter(estimator, given, converter):
    with pytest.raises(InputError, match=re.escape(converter)):
        estimator.fit(given)
    fitted = clone(estimator).set_params(random_state=0).fit(GRAPH)
    with pytest.raises(InputError, match=re.escape(converter)):
        fitted.transform(given)


def test_tables_of_numbers_are_features():
    x = np.random.default_rng(0).random((5, 3))
    expected = LinearGATE(2, random_state=0).fit(x, adjacency=GRAPH.adjacency).embedding_
    for frame in (pd.DataFrame(x, columns=list("abc")), pl.DataFrame(x, schema=list("abc"))):
        found = LinearGATE(2, random_state=0).fit(frame, adjacency=GRAPH.adjacency)
        np.testing.assert_allclose(found.embedding_, expected, atol=1e-5)


def test_edges_are_not_left_out_silently():
    x = np.random.default_rng(0).random((5, 3))
    with pytest.warns(InputWarning, match="fitted without edges"):
        LinearGATE(2).fit(x)
    LinearGATE(2).fit(x, adjacency=np.zeros((5, 5)))
    LinearGATE(2).fit(Graph(x))


def test_a_graph_is_not_copied():
    graph = blocks()
    assert copy.deepcopy(graph) is graph
    assert clone(graph, safe=False) is graph


def test_as_graph_passes_graphs_on():
    assert as_graph(GRAPH) is GRAPH


def test_a_series_is_no_table():
    """Nor is an Arrow array: neither has columns, so an estimator takes them for features."""
    assert recognized(pd.Series([1.0])) is None
    assert recognized(pa.array([1.0])) is None
    assert recognized(pd.DataFrame({"a": [1.0]})).kind == "tables"
