"""Nothing is computed twice, whatever a command writes."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from linear_graphs import community_graph

from graphgate.linear import model
from graphgate.preprocessing import attribute_encoder

OUTPUTS = {
    "scores": "s.parquet",
    "page": "page.html",
    "store": "people",
    "run": "r",
    "model": "m.safetensors",
    "reconstruction": "x.parquet",
}


@pytest.fixture
def counted(monkeypatch, empty_folder):
    """A graph with attributes in files; how often these were encoded, and it was propagated.

    Not counted is the graph without some edges, from which a fit learns how likely one is.
    """
    pairs = np.stack(community_graph(1).adjacency.nonzero(), axis=1)
    edges = dict(zip(("source", "target"), pairs[pairs[:, 0] < pairs[:, 1]].T, strict=True))
    pyarrow.csv.write_csv(pa.table(edges), "edges.csv")
    nodes = {
        "id": np.arange(80),
        "age": np.arange(80) % 7 * 1.5,
        "kind": ["ab"[i % 2] for i in range(80)],
    }
    pyarrow.csv.write_csv(pa.table(nodes), "nodes.csv")
    counts: Counter = Counter()

    class Counted(model.Propagation):
        def __init__(self, graph, *args):
            super().__init__(graph, *args)
            counts[graph.n_edges] += 1

    transform = attribute_encoder.AttributeEncoder.transform

    def encode(self, attributes):
        counts["encoded"] += 1
        return transform(self, attributes)

    monkeypatch.setattr(model, "Propagation", Counted)
    monkeypatch.setattr(attribute_encoder.AttributeEncoder, "transform", encode)
    return counts


def test_all_outputs_of_embed_share_one_encoding_and_one_more_pass(run, counted):
    options = [part for name, file in OUTPUTS.items() for part in (f"--{name}", file)]
    code, _, _ = run("embed", "edges.csv", "--nodes", "nodes.csv", "--out", "o.csv", *options)
    assert code == 0
    assert counted.pop("encoded") == 1
    assert list(counted.values()) == [2]


def test_vectors_take_one_pass(run, counted):
    run("embed", "edges.csv", "--nodes", "nodes.csv", "--out", "o.csv", "--model", "m.safetensors")
    assert counted.pop("encoded") == 1
    assert list(counted.values()) == [1]
