"""Graphs as AnnData and back."""

import sys

import anndata
import numpy as np
import pytest
import scipy.sparse as sp
from graphs import graphs
from hypothesis import given, settings
from tissues import layered_tissue

from graphgate import AttributeEncoder, Graph, InputError, from_anndata, to_anndata


@settings(max_examples=40)
@given(graphs())
def test_round_trip_through_anndata(graph):
    adata = to_anndata(graph)
    back = from_anndata(adata, obsp="connectivities")
    assert (graph.adjacency != back.adjacency).nnz == 0
    assert (back.x != graph.x).sum() == 0
    assert back.x.dtype == graph.x.dtype
    assert sp.issparse(back.x) == sp.issparse(graph.x)
    assert back.directed is ((graph.adjacency != graph.adjacency.T).nnz > 0)
    assert back.ids.tolist() == [str(node) for node in graph.ids]
    assert adata.obs["id"].tolist() == graph.ids.tolist()


def test_labels_splits_and_names_are_kept(tmp_path):
    graph = Graph.from_edges(
        [[1.5, 0], [2, 3], [4, 5]],
        [("a", "b"), ("b", "c")],
        [0.5, 2.0],
        ids=["a", "b", "c"],
        labels=["x", None, "y"],
        splits={"train": [True, False, False], "test": [False, False, True]},
        feature_names=["one", "two"],
    )
    to_anndata(graph).write_h5ad(tmp_path / "graph.h5ad")
    adata = anndata.read_h5ad(tmp_path / "graph.h5ad")
    back = from_anndata(adata, obsp="connectivities", labels_key="label", split_key="split")
    assert back.fingerprint() == graph.fingerprint()
    assert back.classes == graph.classes
    assert back.labels.tolist() == graph.labels.tolist()
    assert {k: v.tolist() for k, v in back.splits.items()} == {
        k: v.tolist() for k, v in graph.splits.items()
    }
    assert back.feature_names == graph.feature_names


def test_graphs_that_an_anndata_cannot_store(monkeypatch):
    tissue = layered_tissue(side=3, genes=2)
    with pytest.raises(InputError, match="two node ids are equal as text"):
        to_anndata(Graph(np.eye(2), ids=["1", 1]))
    with pytest.raises(InputError, match="obs has no column 'class'; its columns are 'layer'"):
        from_anndata(tissue, labels_key="class")
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(InputError, match="needs anndata: pip install"):
        to_anndata(Graph(np.eye(2)))


def test_attributes_are_encoded_and_edges_alone_have_no_features():
    columns = {"age": [31.0, 52.0, 25.0], "town": ["Ulm", "Bern", "Ulm"]}
    graph = Graph.from_edges(None, [(0, 1), (1, 2)], attributes=columns)
    adata = to_anndata(graph)
    encoder = AttributeEncoder().fit(graph.attributes)
    expected = encoder.transform(graph.attributes)
    assert (sp.csr_array(adata.X) != sp.csr_array(expected)).nnz == 0
    assert adata.var_names.tolist() == list(encoder.get_feature_names_out())
    bare = to_anndata(Graph.from_edges(None, [(0, 1), (1, 2)]))
    assert bare.X is None
    assert bare.obsp["connectivities"].nnz == 4
