"""Embeddings of an AnnData by either method: vectors, values of edges and clusters."""

import re
import warnings
from pathlib import Path

import anndata
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from rounding import assert_equal_to_rounding
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import adjusted_rand_score
from tissues import QUICK, layered_tissue
from torch.utils._python_dispatch import TorchDispatchMode

from graphgate import (
    GATE,
    InputError,
    LinearGATE,
    cluster_anndata,
    embed_anndata,
    from_anndata,
    transform_anndata,
)


@pytest.fixture
def tissue():
    return layered_tissue(side=8, genes=20)


@pytest.fixture(params=list(QUICK))
def quick(request):
    """Parameters of embed_anndata for each method."""
    return QUICK[request.param]


# --- what it is for ------------------------------------------------------------------------------

METHODS = {
    "linear": {},
    "gate": {"dims": (64, 16), "learning_rate": 1e-3, "structure_weight": 0.0, "progress": False},
}


def averaged_components(adata):
    """The simple alternative: principal components, averaged over a cell and its neighbors."""
    adjacency = sp.eye_array(adata.n_obs) + from_anndata(adata).adjacency
    components = TruncatedSVD(30, random_state=0).fit_transform(adata.X)
    return components, (adjacency @ components) / adjacency.sum(axis=1)[:, None]


@pytest.mark.parametrize("method", METHODS)
def test_clusters_that_expression_alone_does_not_show(method):
    adata = layered_tissue(side=20, genes=60, layers=4)
    adata.obsm["alone"], adata.obsm["averaged"] = averaged_components(adata)
    embed_anndata(adata, method=method, random_state=0, **METHODS[method])
    agreement = {}
    for vectors in ("alone", "averaged", "X_gate"):
        cluster_anndata(adata, 4, use_rep=vectors)
        agreement[vectors] = adjusted_rand_score(adata.obs["layer"], adata.obs["gate_cluster"])
    assert agreement["alone"] < 0.2
    assert agreement["X_gate"] > (agreement["averaged"] if method == "linear" else 0.6)
    cluster_anndata(adata, 4, method="gaussian-mixture")
    assert adjusted_rand_score(adata.obs["layer"], adata.obs["gate_cluster"]) > 0.7


@pytest.mark.parametrize("method", METHODS)
def test_a_second_sample_with_the_model_of_the_first(method):
    first, second = layered_tissue(0, side=20), layered_tissue(1, side=20, shift=1000.0)
    gate = embed_anndata(first, method=method, random_state=0, **METHODS[method])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        transform_anndata(gate, second)
    clusters = KMeans(4, n_init=10, random_state=0).fit(first.obsm["X_gate"])
    found = clusters.predict(second.obsm["X_gate"])
    assert adjusted_rand_score(second.obs["layer"], found) > 0.5


FASTER = {"preset": "authors", "learning_rate": 1e-3, "structure_weight": 0.0}


# --- what is written -----------------------------------------------------------------------------


def saved_and_read(adata, path):
    adata.write_h5ad(path)
    return anndata.read_h5ad(path)


def test_everything_is_written_and_can_be_saved(tissue, quick, tmp_path):
    gate = embed_anndata(tissue, denoise=True, radius=1.5, layer=None, **quick)
    assert (tissue.obsm["X_gate"] == gate.embedding_).all()
    assert tissue.obsm["X_gate"].shape == (64, 4)
    assert tissue.layers["gate"].shape == tissue.shape
    cluster_anndata(tissue, 3)
    again = saved_and_read(tissue, tmp_path / "tissue.h5ad")
    assert (again.obsm["X_gate"] == tissue.obsm["X_gate"]).all()
    (key,) = tissue.obsp
    assert (again.obsp[key] != tissue.obsp[key]).nnz == 0
    assert (again.layers["gate"] == tissue.layers["gate"]).all()
    assert again.uns["gate"]["tissue"] == {"radius": 1.5}
    assert again.uns["gate"]["method"] == quick.get("method", "linear")
    assert again.uns["gate"]["params"]["random_state"] == 0
    assert again.uns["gate"]["versions"] == tissue.uns["gate"]["versions"]
    assert again.obs["gate_cluster"].tolist() == tissue.obs["gate_cluster"].tolist()


def test_the_report_on_weights_can_be_saved(tissue, tmp_path):
    gate = embed_anndata(tissue, random_state=3, weights="auto")
    record = saved_and_read(tissue, tmp_path / "tissue.h5ad").uns["gate"]
    assert record["params"]["weights"] == "auto"
    assert record["report"]["sources"].keys() == gate.report_.sources.keys() == {"x"}


def test_linear_by_default_with_edge_scores_and_the_report(tissue, tmp_path):
    gate = embed_anndata(tissue, random_state=3)
    assert type(gate) is LinearGATE
    assert tissue.obsm["X_gate"].shape == (64, 30)
    scores = tissue.obsp["gate_edge_scores"]
    assert sp.issparse(scores)
    graph = from_anndata(tissue)
    assert (scores.astype(bool) != graph.adjacency.astype(bool)).nnz == 0
    rows, columns = scores.nonzero()
    pairs = np.stack([graph.ids[rows], graph.ids[columns]], axis=1)
    assert np.allclose(scores[rows, columns], gate.score_edges(pairs))
    record = saved_and_read(tissue, tmp_path / "tissue.h5ad").uns["gate"]
    assert record["params"] | {"dtype": ""} == {
        "n_components": 30,
        "structure": False,
        "weights": "auto",
        "scale": True,
        "random_state": 3,
        "dtype": "",
    }
    report = gate.report_
    assert record["report"]["r2"] == report.r2
    assert record["report"]["edge_auc"] == report.edge_auc
    assert record["report"]["edge_weights"] == report.edge_weights
    assert "loss" not in record


def test_too_few_edges_for_edge_scores(tmp_path):
    tissue = layered_tissue(side=4, genes=20)
    gate = embed_anndata(tissue, n_neighbors=1, **QUICK["linear"])
    assert gate.decoder_ is None
    assert not tissue.obsp
    report = saved_and_read(tissue, tmp_path / "tissue.h5ad").uns["gate"]["report"]
    assert "edge_auc" not in report
    assert report["r2"] == gate.report_.r2


def test_gate_gives_attention_and_losses(tissue, tmp_path):
    gate = embed_anndata(tissue, **QUICK["gate"])
    assert type(gate) is GATE
    attention = tissue.obsp["gate_attention"]
    assert sp.issparse(attention)
    assert np.allclose(attention.sum(axis=1), 1, atol=1e-5)
    record = saved_and_read(tissue, tmp_path / "tissue.h5ad").uns["gate"]
    assert record["params"]["dims"].tolist() == [16, 4]
    assert record["params"]["epochs"] == 5
    assert record["loss"].tolist() == gate.history_["loss"]
    assert "report" not in record
    embed_anndata(tissue, method="gate", epochs=5, progress=False)
    assert tissue.uns["gate"]["params"]["dims"] == [512, 30]


def test_values_of_edges_are_those_of_the_last_model(tissue):
    for method, key in (
        ("linear", "edge_scores"),
        ("gate", "attention"),
        ("linear", "edge_scores"),
    ):
        embed_anndata(tissue, **QUICK[method])
        assert list(tissue.obsp) == [f"gate_{key}"]


def test_denoised_values_are_the_reconstruction(tissue, quick):
    gate = embed_anndata(tissue, denoise=True, key_added="X_other", **quick)
    assert "X_gate" not in tissue.obsm
    assert_equal_to_rounding(tissue.layers["gate"], gate.reconstruct(from_anndata(tissue)), 10)


def test_a_layer_replaces_x(tissue, quick):
    tissue.layers["log"] = tissue.X.copy()
    plain = embed_anndata(tissue, **quick).embedding_
    tissue.X = sp.csr_matrix(tissue.shape, dtype=np.float32)
    assert_equal_to_rounding(embed_anndata(tissue, layer="log", **quick).embedding_, plain, 100)


class NothingOfShape(TorchDispatchMode):
    """Fails if an operation makes a dense tensor of at least this many elements."""

    def __init__(self, size):
        super().__init__()
        self.size, self.seen = size, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided:
                self.seen = max(self.seen, tensor.numel())
                assert tensor.numel() < self.size, func
        return result


def refusing(make_dense, shape):
    """The method of a sparse array, which fails for one of this shape."""

    def checked(self, *args, **kwargs):
        assert self.shape != shape, "made dense"
        return make_dense(self, *args, **kwargs)

    return checked


@pytest.mark.parametrize(("method", "fraction"), [("linear", 1), ("gate", 4)])
def test_a_sparse_tissue_stays_sparse(method, fraction, monkeypatch):
    adata = layered_tissue(side=40, genes=30)
    wide = sp.random_array(
        (1600, 3000), density=0.02, random_state=np.random.default_rng(0), format="csr"
    )
    spots = anndata.AnnData(sp.csr_matrix(wide), obsm={"spatial": adata.obsm["spatial"]})
    before = spots.X.copy()

    for kind in (sp.csr_array, sp.csr_matrix, sp.coo_array):
        for name in ("toarray", "todense"):
            monkeypatch.setattr(kind, name, refusing(getattr(kind, name), spots.shape))
    with NothingOfShape(1600 * 3000 // fraction) as watch:
        gate = embed_anndata(spots, **QUICK[method])
        transform_anndata(gate, spots)
    assert watch.seen >= 3000 * 16  # it saw the weights
    assert sp.issparse(spots.X)
    assert (before != spots.X).nnz == 0
    with pytest.raises(AssertionError), NothingOfShape(1600 * 3000 // fraction):
        gate.reconstruct(from_anndata(spots))


# --- clusters ------------------------------------------------------------------------------------


def test_clusters_are_numbered_by_size(tissue):
    tissue.obsm["X_gate"] = np.repeat([[0.0], [5.0], [9.0]], [10, 34, 20], axis=0)
    for method in ("kmeans", "gaussian-mixture"):
        cluster_anndata(tissue, 3, method=method)
        assert tissue.obs["gate_cluster"].tolist() == ["2"] * 10 + ["0"] * 34 + ["1"] * 20
        assert tissue.obs["gate_cluster"].cat.categories.tolist() == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer ≥ 1"),
        ({"n_clusters": 65}, "n_clusters=65, but the 64 nodes have only 1 distinct"),
        ({"n_clusters": 1, "method": "louvain"}, "use one of kmeans, gaussian-mixture"),
        ({"n_clusters": 2, "use_rep": "X_no"}, "obsm has no 'X_no'; .* keys: 'spatial', 'X_gate'"),
    ],
)
def test_impossible_clusterings(tissue, arguments, message):
    tissue.obsm["X_gate"] = np.ones((64, 2))
    with pytest.raises(InputError, match=message):
        cluster_anndata(tissue, **arguments)
    assert "gate_cluster" not in tissue.obs


# --- the page ------------------------------------------------------------------------------------


def test_the_example_of_the_docs_gives_what_they_show(tmp_path, monkeypatch, capsys):
    page = Path(__file__).parents[2] / "docs" / "anndata.md"
    blocks = re.findall(r"```(python|text)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "text"] * 2
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for (_, code), (_, shown) in zip(blocks[::2], blocks[1::2], strict=True):
        exec(code, names)
        printed = capsys.readouterr().out
        number = r"\d\.\d\d"
        assert re.sub(number, "", printed) == re.sub(number, "", shown)
        for seen, shown_number in zip(
            re.findall(number, printed), re.findall(number, shown), strict=True
        ):
            assert float(seen) == pytest.approx(float(shown_number), abs=0.05)
