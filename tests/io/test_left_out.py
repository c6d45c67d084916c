"""Every reader and converter: what it does not use, and the sentence that says so.

A row of `LEFT_OUT` is a reader, an input with something that it cannot use, and all its warnings.
What is left out without a warning is in `DOCUMENTED`, with the words of the docstring.
"""

import inspect
import re
import warnings
from datetime import timedelta
from pathlib import Path

import anndata
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Batch, Data, HeteroData

import graphgate
from graphgate import Embedding, Graph, InputWarning
from graphgate.datasets.citation import Dataset
from graphgate.io.embeddings import EMBEDDING_ENDINGS
from graphgate.io.graph_files import GRAPH_ENDINGS
from graphgate.io.matrices import MATRIX_ENDINGS
from graphgate.tasks.embed import CONVERTERS

PAIRS = pa.table({"source": [0, 1], "target": [1, 2]})
NODES = pa.table({"id": [0, 1, 2], "size": [1.0, 3.0, 2.0]})
INDEX = torch.tensor([[0, 1], [1, 0]])


def text(name: str, content: str, **options):
    """Reads a file of this name and content."""

    def read(folder: Path):
        (folder / name).write_text(content)
        return graphgate.read_graph(folder / name, **options)

    return read


def tables(frame, **columns):
    """Reads edges with further columns from a table that `frame` makes of one of pandas."""
    return lambda _: graphgate.from_tables(frame(PAIRS.to_pandas().assign(**columns)))


def networkx_graph():
    g = nx.Graph(name="named", crs="EPSG:4326")
    g.add_edge(0, 1, weight=2.0, since=1999)
    g.add_nodes_from([0, 1], took=timedelta(1), size=1.0, color={"r": {"g": 1}})
    return g


def batch_for_a_store(folder: Path):
    """Adds tables with columns and edges that a store has no use for."""
    estimator = graphgate.LinearGATE(n_components=1, progress=False)
    store = graphgate.Store.create(folder / "store", graphgate.from_tables(PAIRS, NODES), estimator)
    ends = pa.table({"source": [5, 5, 0, 6], "target": [5, 0, 5, 1], "since": [1, 2, 3, 4]})
    described = {"id": [5, 6], "size": [1.0, 2.0], "color": ["r", "g"], "label": ["a", "b"]}
    store.add(ends, pa.table(described))


def hetero() -> HeteroData:
    data = HeteroData(title="movies")
    data["user"].num_nodes, data["movie"].x = 2, torch.eye(2)
    data["movie"].year, data["movie"].y = torch.ones(2), torch.tensor([0.5, 1.0])
    data["user"].odd_mask = torch.ones(2)
    rates = data["user", "rates", "movie"]
    rates.edge_index, rates.time = INDEX, torch.ones(2)
    return data


def batch() -> Batch:
    items = [Data(x=torch.eye(2), edge_index=INDEX, y=torch.tensor([at])) for at in range(3)]
    return Batch.from_data_list(items)


def tissue(**parts) -> anndata.AnnData:
    near = sp.csr_matrix(np.array([[1.0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    obs = pd.DataFrame({"slice": ["a", "a", "b"]}, index=["c0", "c1", "c2"])
    return anndata.AnnData(np.eye(3), obs=obs, obsp={"near": near}, **parts)


def matrix(name: str, **options):
    def read(folder: Path):
        near = sp.csr_array([[1.0, 2], [2, 0]])
        if name == "g.npz":
            sp.save_npz(folder / name, near)
            with np.load(folder / name) as file:
                np.savez(folder / name, **file, names=np.array(["a", "b"]))
        else:
            lines = [f"{u + 1} {v + 1} {near[u, v]}" for u, v in np.argwhere(near.toarray())]
            head = ["%%MatrixMarket matrix coordinate real general", "2 2 3"]
            (folder / name).write_text("\n".join([*head, *lines]) + "\n")
        return graphgate.read_graph(folder / name, **options)

    return read


def features(folder: Path):
    """A matrix of features beside a file with attributes of its own."""
    np.save(folder / "x.npy", np.eye(2))
    (folder / "g.gml").write_text(GML.format(edge="", node="size 1.5"))
    return graphgate.read_graph(folder / "g.gml", folder / "x.npy")


GML = (
    'graph [ node [ id 0 label "0" {node} ] node [ id 1 label "1" ]'
    " edge [ source 0 target 1 {edge} ] ]"
)
GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="k" for="edge" attr.name="since" attr.type="int"/>
<key id="g" for="graph" attr.name="crs" attr.type="string"/>
<graph edgedefault="undirected"><data key="g">EPSG</data><node id="a"><port name="p"/></node>
<node id="b"/><edge id="e" source="a" target="b"><data key="k">3</data></edge></graph></graphml>"""
GEXF = """<gexf xmlns="http://www.gexf.net/1.2draft" xmlns:viz="http://www.gexf.net/1.2draft/viz"
 version="1.2"><graph defaultedgetype="undirected"><nodes>
<node id="a" label="Ann"><viz:color r="1" g="2" b="3"/></node><node id="b" label="Bob"/></nodes>
<edges><edge id="0" source="a" target="b" label="likes"/></edges></graph></gexf>"""
PAJEK = """*Vertices 3
1 "same" 0.1 0.2 box
2 "same" 0.3 0.4
3 "other" 0.3 0.4
*Arcs :1 "likes"
1 2 2.0 c Blue
"""
FEW = [0.5, *range(1, 50)]  # a regression target
NO_COLUMNS = "; the file has no such columns"

SLOPE = pa.table({"id": range(50), "size": [7, *range(49)], "label": pa.array(FEW, pa.float64())})


def saved(ending: str, embedding: Embedding):
    return lambda folder: embedding.save(folder / f"z{ending}")


def embeddings(ending: str):
    """Reads a file of vectors with something more in it."""

    def read(folder: Path):
        path = folder / f"z{ending}"
        if ending == ".npz":
            np.savez(path, ids=[0, 1], embedding=np.eye(2), model="linear")
        else:
            parts = {"node_id": [0, 1], "embedding": [[1.0, 0.0], [0.0, 1.0]], "model": ["a", "b"]}
            pa.parquet.write_table(pa.table(parts), path)
        return graphgate.read_embedding(path)

    return read


LABELED = Embedding(np.array([0, 1]), np.eye(2), ["x", "y"])
NAMED = Embedding(np.array(["a", "b"]), np.eye(2))
DIRECTED = Graph.from_edges(
    np.eye(2), [(0, 1)], directed=True, splits={"train": [True, False]}, labels=["x", "y"]
)

# Reader, what it reads, and the beginning of each warning after the name of the file or object.
LEFT_OUT = [
    ("tables", tables(lambda t: t, since=1, kind="x"), ["2 edge columns are ignored: since, kind"]),
    ("tables", tables(pl.from_pandas, since=1), ["1 edge column is ignored: since"]),
    ("tables", tables(pa.Table.from_pandas, since=1), ["1 edge column is ignored: since"]),
    (
        "tables",
        lambda _: graphgate.from_tables(PAIRS.to_pandas().set_axis(["x", "y"])),
        ["1 index is ignored: it has no name; name it to make it a column"],
    ),
    (
        "tables",
        lambda _: graphgate.from_tables(PAIRS, label="club", drop="age"),
        ["2 options are ignored: label, drop; they are about a table of nodes"],
    ),
    (
        "tables",
        lambda _: graphgate.from_tables(PAIRS, SLOPE),
        ["1 label is ignored: label (fractions, which are not classes)"],
    ),
    (
        "tables",
        lambda _: graphgate.from_tables(
            pa.table({"source": [0, 0, 0, 1, 7], "target": [1, 1, 0, 2, 1]}), NODES
        ),
        [
            "1 of 5 edges refers to a node that is not in the node table, such as 7",
            "4 edges include 1 from a node to itself (left out), 1 between nodes that are already",
        ],
    ),
    (".csv", text("g.csv", "source,target,since\n0,1,3\n"), ["1 edge column is ignored: since"]),
    (".tsv", text("g.tsv", "source\ttarget\tat\n0\t1\t3\n"), ["1 edge column is ignored: at"]),
    (
        ".graphml",
        text("g.graphml", GRAPHML, source="from"),
        [
            "GraphML port tag not supported.",
            "1 edge attribute is ignored: since",
            "1 graph attribute is ignored: crs",
            "1 option is ignored: source" + NO_COLUMNS,
        ],
    ),
    (
        ".gml",
        text("g.gml", GML.format(edge='kind "x"', node="graphics [ x 1 ]")),
        ["1 node attribute is ignored: graphics", "1 edge attribute is ignored: kind"],
    ),
    (
        ".gml",
        text("g.gml", GML.replace('"1"', '"0"').format(edge="", node="")),
        ["1 node attribute is ignored: label"],
    ),
    (
        ".gexf",
        text("g.gexf", GEXF),
        ["2 node attributes are ignored: viz, label", "1 edge attribute is ignored: label"],
    ),
    (
        ".net",
        text("g.net", PAJEK),
        [
            "5 parts are ignored: coordinates, shapes, labels (repeated or missing), names of "
            "relations, attributes of edges"
        ],
    ),
    (".pajek", text("g.pajek", PAJEK.replace("0.1 0.2", "0.3 0.4")), ["4 parts are ignored"]),
    *(
        (
            f".{ending}",
            text(f"g.{ending}", "a b {'weight': 2, 'color': 'red'}\n", weight="color"),
            [
                "1 edge attribute is ignored: color",
                "1 option is ignored: weight" + NO_COLUMNS,
            ],
        )
        for ending in ("edgelist", "edges", "txt")
    ),
    (".txt", text("g.txt", "from to\n1 2\n"), ["'from to' is read as a header, not an edge"]),
    (
        ".adjlist",
        text("g.adjlist", "a b\nb a\n", target="to"),
        [
            "1 option is ignored: target; the file has no such columns",
            "2 edges include 1 between nodes that are already joined (merged)",
        ],
    ),
    (
        ".npz",
        matrix("g.npz", weight="w"),
        [
            "1 option is ignored: weight; a matrix has no such columns",
            "1 array is ignored: names",
            "2 edges include 1 from a node to itself (left out)",
        ],
    ),
    (".mtx", matrix("g.mtx"), ["2 edges include 1 from a node to itself (left out)"]),
    (".npy", features, ["1 node attribute is ignored: size; those in"]),
    (
        "networkx",
        lambda _: graphgate.from_networkx(networkx_graph()),
        [
            "1 edge attribute is ignored: since",
            "1 graph attribute is ignored: crs",
            "2 node attributes are ignored: took (values of type timedelta), color (nested values)",
        ],
    ),
    (
        "networkx",
        lambda _: graphgate.from_networkx(nx.MultiGraph([(0, 1), (0, 1), (1, 1)])),
        ["3 edges include 1 from a node to itself (left out), 1 between nodes that are already"],
    ),
    (
        "pyg",
        lambda _: graphgate.from_pyg(
            Data(x=torch.eye(2), edge_index=INDEX, pos=torch.eye(2), edge_attr=torch.ones(2, 3))
        ),
        ["2 fields are ignored: edge_attr, pos; pass weight='edge_attr' if it contains weights"],
    ),
    (
        "pyg",
        lambda _: graphgate.from_pyg(
            Data(edge_index=INDEX, y=torch.tensor([0.5, 2]), odd_mask=torch.ones(2), num_nodes=2)
        ),
        ["2 fields are ignored: odd_mask, y (fractions, which are not classes)"],
    ),
    (
        "pyg",
        lambda _: graphgate.from_pyg(batch()),
        ["1 field is ignored: y (one value per graph, not per node)"],
    ),
    (
        "pyg",
        lambda _: graphgate.from_pyg(hetero()),
        [
            "5 fields are ignored: movie.y (fractions, which are not classes), user.odd_mask, "
            "movie.year, user-rates-movie.time, title"
        ],
    ),
    (
        "anndata",
        lambda _: graphgate.from_anndata(tissue(), obsp="near", batch_key="slice"),
        [
            "ignored 1 edge of obsp['near'] from a cell to itself",
            "ignored 1 edge of obsp['near'] between different samples",
        ],
    ),
    (
        "store",
        batch_for_a_store,
        [
            "1 edge column is ignored: since",
            "4 edges include 1 from a node to itself (left out), 1 between nodes that are already",
            "1 unknown column is ignored: color",
            "2 labels are ignored: a, b; a store that is created with labels keeps them",
        ],
    ),
    (".parquet", embeddings(".parquet"), ["1 column is ignored: model"]),
    (".npz", embeddings(".npz"), ["1 array is ignored: model"]),
    (".txt", saved(".txt", LABELED), ["1 part is ignored: labels; to keep them, write .parquet"]),
    (
        ".npy",
        saved(".npy", NAMED),
        ["1 part is ignored: ids; rows are in the order of the nodes"],
    ),
    *(
        (
            name,
            write,
            [
                "1 split is ignored: train; tables have no place for splits",
                "read the same graph with directed=True",
            ],
        )
        for name, write in (
            ("to_tables", lambda _: graphgate.to_tables(DIRECTED)),
            ("write_graph", lambda folder: graphgate.write_graph(folder, DIRECTED)),
        )
    ),
]


@pytest.mark.parametrize(
    ("reader", "read", "sentences"),
    LEFT_OUT,
    ids=[f"{at}{row[0]}" for at, row in enumerate(LEFT_OUT)],
)
def test_what_is_not_used_is_named(reader, read, sentences, tmp_path):
    with warnings.catch_warnings(record=True, action="always") as seen:
        read(tmp_path)
    said = [re.sub(r"^([^:]*: |.*line \d+: )", "", str(each.message)) for each in seen]
    assert all(issubclass(each.category, InputWarning) for each in seen)
    assert len(said) == len(sentences), said
    for sentence, beginning in zip(sorted(said), sorted(sentences), strict=True):
        assert sentence.startswith(beginning)


# --- what is left out by definition --------------------------------------------------------------

DOCUMENTED = {
    # Only what parameters name is read.
    "from_anndata": "Only what the parameters name is read; other columns of obs, layers and so on",
    # Node names are in the file; the rest of the row is what the other readers have.
    "to_anndata": "An AnnData names nodes by text; integer ids are kept",
    "to_networkx": "A graph without edges does not say whether it is weighted",
    "to_pyg": "Attributes must be encoded first",  # and are refused otherwise
    "read_graph": "kinds : .* Columns that the table lacks are ignored",
    "Store": "Splits of a graph are not stored",
    "load_dataset": "listed_edges, self_loops",  # counts beside the graph
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_what_is_left_out_by_definition_is_documented(name):
    docs = [inspect.getdoc(getattr(graphgate, name))]
    docs += [inspect.getdoc(Dataset)] * (name == "load_dataset")
    assert re.search(DOCUMENTED[name], " ".join(" ".join(docs).split()))


def test_every_reader_and_converter_has_a_row():
    listed = {reader for reader, *_ in LEFT_OUT} | set(DOCUMENTED)
    assert set(CONVERTERS) - {"files"} <= listed
    assert {*GRAPH_ENDINGS, *MATRIX_ENDINGS, ".csv", ".tsv", ".parquet"} <= listed
    converters = {name for name in graphgate.__all__ if name.startswith("to_")}
    assert {*converters, "write_graph"} <= listed
    # Formats of vectors: .csv has nothing but vectors, and the databases hold everything.
    assert set(EMBEDDING_ENDINGS) - {".sql", ".jsonl"} <= listed
