"""Attention and reconstructions as tables."""

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from graphs import random_graph

from graphgate.errors import InputError
from graphgate.estimators.gate import GATE
from graphgate.io.model_outputs import (
    attention_table,
    write_attention,
    write_edge_scores,
    write_reconstruction,
)


def trained(directed=False, **settings):
    graph = random_graph(3, directed=directed)
    return graph, GATE((4, 3), epochs=3, random_state=0, **settings).fit(graph)


@pytest.mark.parametrize("directed", [False, True])
def test_attention_is_a_table_of_edges(directed, tmp_path):
    graph, gate = trained(directed)
    ids = [f"n{i}" for i in range(graph.n_nodes)]
    table = attention_table(ids, gate.attention_.encoder, gate.attention_.decoder)
    assert table.column_names == ["source", "target", "layer_1", "layer_2", "average"]
    assert len(table) == graph.adjacency.nnz + graph.n_nodes
    adjacency = graph.adjacency.toarray()
    first = gate.attention_.encoder[0].toarray()
    sums = dict.fromkeys(ids, 0.0)
    for row in table.to_pylist():
        source, target = int(row["source"][1:]), int(row["target"][1:])
        assert source == target or adjacency[source, target] == 1  # the edge points to who looks
        assert row["layer_1"] == first[target, source]
        assert row["average"] == pytest.approx((row["layer_1"] + row["layer_2"]) / 2, rel=1e-6)
        sums[row["target"]] += row["average"]
    assert list(sums.values()) == pytest.approx([1.0] * graph.n_nodes, rel=1e-6)
    write_attention(tmp_path / "a.csv", ids, gate.attention_.encoder)
    back = pyarrow.csv.read_csv(tmp_path / "a.csv")
    assert back.column("source").to_pylist() == table.column("source").to_pylist()
    with pytest.raises(InputError, match="but 1 node ids"):
        attention_table(["a"], gate.attention_.encoder)


def test_a_decoder_with_attention_of_its_own_has_columns():
    graph, gate = trained(shared_attention=False)
    table = attention_table(graph.ids, gate.attention_.encoder, gate.attention_.decoder)
    layers = ["layer_1", "layer_2", "decoder_layer_1", "decoder_layer_2"]
    assert table.column_names == ["source", "target", *layers, "average"]
    mean = np.mean([table.column(name).to_numpy() for name in layers], axis=0)
    np.testing.assert_allclose(table.column("average").to_numpy(), mean, rtol=1e-6)


def test_a_reconstruction_names_nodes_and_features(tmp_path):
    graph, gate = trained()
    x = gate.reconstruct(graph)
    names = ["a,b", 'q"', *map(str, range(graph.n_features - 2))]
    write_reconstruction(tmp_path / "x.parquet", graph.ids, x, names)
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.column_names == ["node_id", *names]
    np.testing.assert_array_equal(np.stack([table[name].to_numpy() for name in names], axis=1), x)
    write_reconstruction(tmp_path / "x.csv", graph.ids, x, names)
    assert pyarrow.csv.read_csv(tmp_path / "x.csv").column_names == ["node_id", *names]
    write_reconstruction(tmp_path / "x.npz", graph.ids, x)
    with np.load(tmp_path / "x.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["reconstruction"], x)
        assert file["feature_names"].tolist() == [f"x{i}" for i in range(graph.n_features)]
        assert file["ids"].tolist() == graph.ids.tolist()
    for wrong in (names[:-1], ["node_id", *names[1:]]):
        with pytest.raises(InputError, match="feature"):
            write_reconstruction(tmp_path / "y.csv", graph.ids, x, wrong)
    with pytest.raises(InputError, match=r"of shape \(3, 2\), but 2 node ids"):
        write_reconstruction(tmp_path / "y.csv", ["a", "b"], np.ones((3, 2)))
    assert not (tmp_path / "y.csv").exists()


def test_edge_scores_and_reconstruction_in_blocks(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    scores = sp.random_array((9, 9), density=0.4, format="csr", random_state=rng)
    scores.data[scores.indptr[3] : scores.indptr[4]] = 0
    scores.eliminate_zeros()  # a node without edges
    x = rng.random((9, 2))
    monkeypatch.setattr("graphgate.io.table_files._BLOCK", 200)
    ids = [f"n{at}" for at in range(9)]
    found = pq.read_table(write_edge_scores(tmp_path / "s.parquet", ids, scores)).to_pydict()
    entries = scores.tocoo()
    assert found["source"] == [ids[at] for at in entries.col]
    assert found["target"] == [ids[at] for at in entries.row]
    np.testing.assert_array_equal(found["score"], entries.data)
    back = pq.read_table(write_reconstruction(tmp_path / "x.parquet", ids, x)).to_pydict()
    assert back["node_id"] == ids
    np.testing.assert_array_equal(np.stack([back["x0"], back["x1"]], axis=1), x)
