"""AnnData in, embedding, attention and domains in the same AnnData."""

import re
import sys
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph, radius_neighbors_graph
from torch.utils._python_dispatch import TorchDispatchMode

from graphgate import (
    GATE,
    Graph,
    InputError,
    cluster_domains,
    embed_anndata,
    graph_from_anndata,
    to_anndata,
    transform_anndata,
)
from graphgate.errors import InputWarning
from graphgate.scverse.tissue import Neighborhood, tissue_graph
from tests.graphs import graphs
from tests.tissues import layered_tissue

QUICK = {"dims": (16, 4), "epochs": 5, "random_state": 0, "progress": False}


@pytest.fixture
def tissue():
    return layered_tissue(side=8, genes=20)


def graph_of(adata, neighbors="spatial", radius=None, k=None, slices=None, layer=None):
    return tissue_graph(adata, Neighborhood.checked(neighbors, radius, k, slices, layer))


# --- what it is for ------------------------------------------------------------------------------


def test_domains_that_expression_alone_does_not_show():
    adata = layered_tissue(side=20, genes=60, layers=4)
    components = TruncatedSVD(20, random_state=0).fit_transform(adata.X)
    alone = KMeans(4, n_init=10, random_state=0).fit_predict(components)
    embed_anndata(adata, dims=(64, 16), epochs=200, random_state=0, progress=False, **FASTER)
    for method, least in (("kmeans", 0.6), ("gaussian-mixture", 0.7)):
        cluster_domains(adata, 4, method=method, added=method)
        assert adjusted_rand_score(adata.obs["layer"], adata.obs[method]) > least
    assert adjusted_rand_score(adata.obs["layer"], alone) < 0.2


def test_a_second_slice_by_the_model_of_the_first():
    first, second = layered_tissue(0, side=20), layered_tissue(1, side=20, shift=1000.0)
    gate = embed_anndata(first, dims=(64, 16), random_state=0, progress=False, **FASTER)
    transform_anndata(gate, second)
    clusters = KMeans(4, n_init=10, random_state=0).fit(first.obsm["X_gate"])
    found = clusters.predict(second.obsm["X_gate"])
    assert adjusted_rand_score(second.obs["layer"], found) > 0.5


FASTER = {"learning_rate": 1e-3, "structure_weight": 0.0}


# --- neighbours ----------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_nearest_neighbours_are_those_of_scikit_learn(seed, k):
    adata = layered_tissue(side=4, genes=5)
    adata.obsm["spatial"] = np.random.default_rng(seed).normal(size=(16, 2))
    near = kneighbors_graph(adata.obsm["spatial"], k).toarray()
    assert (graph_of(adata, k=k).adjacency.toarray() == np.maximum(near, near.T)).all()


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.floats(0.5, 5))
def test_neighbours_within_a_radius_are_those_of_scikit_learn(seed, radius):
    adata = layered_tissue(side=4, genes=5)
    adata.obsm["spatial"] = places = np.random.default_rng(seed).normal(size=(16, 3))
    within = radius_neighbors_graph(places, radius).toarray()
    if (within.sum(axis=1) == 0).any():
        with pytest.warns(InputWarning, match=r"of 16 cells have no neighbour within"):
            graph = graph_of(adata, radius=radius)
    else:
        graph = graph_of(adata, radius=radius)
    assert (graph.adjacency.toarray() == within).all()


def test_cells_in_one_place_are_neighbours_and_never_their_own(tissue):
    tissue.obsm["spatial"] = np.zeros((64, 2))
    graph = graph_of(tissue, k=3)
    assert (np.diff(graph.adjacency.indptr) >= 3).all()
    assert graph.adjacency.diagonal().sum() == 0


def test_six_nearest_are_the_default(tissue):
    assert (graph_of(tissue).adjacency != graph_of(tissue, k=6).adjacency).nnz == 0


def test_slices_in_the_same_places_are_not_joined(tissue):
    other = layered_tissue(1, side=8, genes=20)
    both = anndata.concat([tissue, other], label="slice", keys=["a", "b"])
    joined = graph_of(both, slices="slice").adjacency
    apart = [graph_of(part).adjacency for part in (tissue, other)]
    assert (joined != sp.block_diag(apart, format="csr")).nnz == 0
    shuffled = both[np.random.default_rng(0).permutation(128)].copy()
    part_of = (shuffled.obs["slice"] == "a").to_numpy()
    assert graph_of(shuffled, slices="slice").adjacency[part_of][:, ~part_of].nnz == 0


def test_a_symmetric_obsp_is_undirected_and_keeps_its_weights(tissue):
    weights = sp.random_array((64, 64), density=0.1, rng=np.random.default_rng(0))
    tissue.obsp["connectivities"] = sp.csr_matrix(weights + weights.T)
    graph = graph_of(tissue, "connectivities")
    assert not graph.directed
    assert graph.weighted
    expected = tissue.obsp["connectivities"].toarray()
    np.fill_diagonal(expected, 0)
    assert np.allclose(graph.adjacency.toarray(), expected)


def test_in_an_obsp_that_is_not_symmetric_a_cell_attends_over_its_row(tissue):
    rows = kneighbors_graph(tissue.obsm["spatial"], 4)
    tissue.obsp["near"] = rows
    graph = graph_of(tissue, "near")
    assert graph.directed
    assert (graph.attended != sp.csr_array(rows)).nnz == 0
    gate = embed_anndata(tissue, neighbors="near", **QUICK)
    pattern = tissue.obsp["gate_attention"].astype(bool)
    assert (pattern != (rows + sp.eye(64)).astype(bool)).nnz == 0
    assert gate.fitted_on_.directed


def test_edges_of_obsp_between_slices_are_left_out_and_counted(tissue):
    tissue.obs["slice"] = np.where(np.arange(64) < 32, "a", "b")
    between = sp.coo_matrix(([1.0] * 4, ([0, 40, 1, 2], [40, 0, 2, 1])), (64, 64))
    tissue.obsp["near"] = between.tocsr()
    with pytest.warns(InputWarning, match=r"1 edge of obsp\['near'\] between different slices"):
        assert graph_of(tissue, "near", slices="slice").n_edges == 1


# --- what is written -----------------------------------------------------------------------------


def test_everything_is_written_and_can_be_saved(tissue, tmp_path):
    gate = embed_anndata(tissue, denoise=True, radius=1.5, layer=None, **QUICK)
    assert (tissue.obsm["X_gate"] == gate.embedding_).all()
    assert tissue.obsm["X_gate"].shape == (64, 4)
    attention = tissue.obsp["gate_attention"]
    assert sp.issparse(attention)
    assert np.allclose(attention.sum(axis=1), 1, atol=1e-5)
    assert tissue.layers["gate"].shape == tissue.shape
    cluster_domains(tissue, 3)
    tissue.write_h5ad(tmp_path / "tissue.h5ad")
    again = anndata.read_h5ad(tmp_path / "tissue.h5ad")
    assert (again.obsm["X_gate"] == tissue.obsm["X_gate"]).all()
    assert (again.obsp["gate_attention"] != attention).nnz == 0
    assert again.uns["gate"]["tissue"] == {"neighbors": "spatial", "radius": 1.5}
    assert again.uns["gate"]["params"]["epochs"] == 5
    assert again.uns["gate"]["params"]["random_state"] == 0
    assert again.uns["gate"]["loss"].tolist() == gate.history_["loss"]
    assert again.obs["gate_domain"].tolist() == tissue.obs["gate_domain"].tolist()


def test_denoised_values_are_the_reconstruction(tissue):
    gate = embed_anndata(tissue, denoise=True, key="X_other", **QUICK)
    assert "X_gate" not in tissue.obsm
    assert (tissue.layers["gate"] == gate.reconstruct(graph_of(tissue))).all()


def test_a_layer_is_taken_in_place_of_x(tissue):
    tissue.layers["log"] = tissue.X.copy()
    plain = embed_anndata(tissue, **QUICK).embedding_
    tissue.X = sp.csr_matrix(tissue.shape, dtype=np.float32)
    assert (embed_anndata(tissue, layer="log", **QUICK).embedding_ == plain).all()


class NothingOfShape(TorchDispatchMode):
    """Fails if an operation makes a dense tensor of so many elements."""

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


def test_a_sparse_tissue_stays_sparse(monkeypatch):
    adata = layered_tissue(side=20, genes=30)
    wide = sp.random_array((400, 3000), density=0.02, rng=np.random.default_rng(0), format="csr")
    spots = anndata.AnnData(sp.csr_matrix(wide), obsm={"spatial": adata.obsm["spatial"]})
    before = spots.X.copy()

    def refuse(*_, **__):
        raise AssertionError("made dense")

    for kind in (sp.csr_array, sp.csr_matrix, sp.coo_array):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    with NothingOfShape(400 * 3000 // 4) as watch:
        gate = embed_anndata(spots, **QUICK)
        transform_anndata(gate, spots)
    assert watch.seen >= 3000 * 16  # it saw the weights
    assert sp.issparse(spots.X)
    assert (before != spots.X).nnz == 0
    with pytest.raises(AssertionError), NothingOfShape(400 * 3000 // 4):
        gate.reconstruct(graph_of(spots))


# --- another slice -------------------------------------------------------------------------------


def test_the_tissue_of_the_fit_gives_its_embedding_again(tissue):
    gate = embed_anndata(tissue, radius=1.5, **QUICK)
    expected = tissue.obsm.pop("X_gate")
    assert np.allclose(transform_anndata(gate, tissue), expected, atol=1e-6)
    assert (tissue.obsm["X_gate"] == transform_anndata(gate, tissue)).all()


def test_genes_are_matched_by_name(tissue):
    gate = embed_anndata(tissue, denoise=True, **QUICK)
    expected = tissue.obsm["X_gate"]
    turned = tissue[:, ::-1].copy()
    assert np.allclose(transform_anndata(gate, turned, denoise=True), expected, atol=1e-5)
    assert np.allclose(turned.layers["gate"][:, ::-1], tissue.layers["gate"], atol=1e-5)
    unknown = anndata.AnnData(sp.csr_matrix(np.ones((64, 1))), obs=tissue.obs[[]])
    unknown.var_names = ["another"]
    wider = anndata.concat([unknown, tissue], axis=1, merge="first")
    wider.obsm["spatial"] = tissue.obsm["spatial"]
    assert np.allclose(transform_anndata(gate, wider), expected, atol=1e-5)
    with pytest.raises(InputError, match=r"of the model's 20 genes, but the AnnData has 21"):
        transform_anndata(gate, wider, denoise=True)
    with pytest.raises(InputError, match=r"no gene 'gene3' and 1 more, of 20 that the model"):
        transform_anndata(
            gate, tissue[:, [g not in ("gene3", "gene7") for g in tissue.var_names]].copy()
        )


def test_a_model_in_a_file_knows_its_neighbours(tissue, tmp_path):
    tissue.obs["slice"] = np.where(np.arange(64) < 32, "a", "b")
    gate = embed_anndata(tissue, k=4, slices="slice", **QUICK)
    gate.save(tmp_path / "model.safetensors")
    loaded = GATE.load(tmp_path / "model.safetensors")
    expected = tissue.obsm["X_gate"]
    assert np.allclose(transform_anndata(loaded, tissue), expected, atol=1e-6)
    assert tissue.uns["gate"]["tissue"] == {"neighbors": "spatial", "k": 4, "slices": "slice"}
    whole = transform_anndata(loaded, tissue, slices=None)
    assert not np.allclose(whole, expected, atol=1e-6)
    tissue.obs["section"] = tissue.obs.pop("slice")
    with pytest.raises(
        InputError, match=r"obs has no column 'slice' .* its columns are 'layer', 's"
    ):
        transform_anndata(loaded, tissue)
    assert np.allclose(transform_anndata(loaded, tissue, slices="section"), expected, atol=1e-6)


def test_a_model_of_another_graph_is_refused(tissue):
    gate = GATE(**QUICK).fit(graph_of(tissue))
    with pytest.raises(InputError, match="not trained by embed_anndata"):
        transform_anndata(gate, tissue)
    gate = embed_anndata(tissue, **QUICK).fit(graph_of(tissue))
    with pytest.raises(InputError, match="not trained by embed_anndata"):
        transform_anndata(gate, tissue)


# --- domains -------------------------------------------------------------------------------------


def test_domains_are_numbered_by_size(tissue):
    tissue.obsm["X_gate"] = np.repeat([[0.0], [5.0], [9.0]], [10, 34, 20], axis=0)
    for method in ("kmeans", "gaussian-mixture"):
        cluster_domains(tissue, 3, method=method)
        assert tissue.obs["gate_domain"].tolist() == ["2"] * 10 + ["0"] * 34 + ["1"] * 20
        assert tissue.obs["gate_domain"].cat.categories.tolist() == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k must be a whole number of at least 1"),
        ({"k": 65}, "65 domains of 64 cells"),
        ({"k": 2, "method": "louvain"}, "method must be one of kmeans, gaussian-mixture"),
        ({"k": 2, "key": "X_none"}, "obsm has no 'X_none'; make it with embed_anndata"),
    ],
)
def test_domains_that_cannot_be(tissue, arguments, message):
    tissue.obsm["X_gate"] = np.ones((64, 2))
    with pytest.raises(InputError, match=message):
        cluster_domains(tissue, **arguments)
    assert "gate_domain" not in tissue.obs


# --- refusals ------------------------------------------------------------------------------------


def nan_in_x(adata):
    adata.X = adata.X.toarray()
    adata.X[3, 5] = np.nan


def nan_in_sparse_x(adata):
    adata.X.data[0] = np.inf


def names_twice(adata):
    adata.var_names = ["g", "g", *adata.var_names[2:]]


def cells_twice(adata):
    adata.obs_names = ["c", "c", *adata.obs_names[2:]]


def nan_place(adata):
    adata.obsm["spatial"][2, 0] = np.nan


def no_slice(adata):
    adata.obs["slice"] = pd.Categorical([None] + ["a"] * 63)


def four_columns(adata):
    adata.obsm["spatial"] = np.ones((64, 4))


def distances(adata):
    adata.obsp["distances"] = sp.eye(64, format="csr")


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (None, {"radius": 1.0, "k": 3}, "radius and k are two ways"),
        (None, {"radius": -1.0}, "radius must be positive"),
        (None, {"radius": "wide"}, "radius must be a number"),
        (None, {"k": 0}, "k must be a whole number of at least 1"),
        (None, {"k": 64}, "k=64 nearest neighbours are asked for, but .* 64 cells"),
        (None, {"neighbors": "near"}, "obsp has no 'near'; its keys are none"),
        (None, {"neighbors": "near", "k": 3}, "radius and k are for neighbors='spatial'"),
        (None, {"neighbors": None}, "neighbors must be 'spatial' or a key of obsp"),
        (None, {"layer": "counts"}, "no layer 'counts'; its layers are none"),
        (None, {"slices": "batch"}, "obs has no column 'batch'"),
        (None, {"epoch": 3}, "a setting is none of GATE's: .*'epoch'"),
        (None, {"epochs": 0}, "epochs must be a whole number"),
        (nan_in_x, {}, "X has the value nan for gene 'gene5' in cell 's0-3'"),
        (nan_in_sparse_x, {}, "X has the value inf for gene 'gene.*' in cell 's0-0'"),
        (names_twice, {}, "'g' is in var_names more than once; call adata.var_names_make_unique"),
        (cells_twice, {}, "'c' is in obs_names more than once; call adata.obs_names_make_unique"),
        (nan_place, {}, "the place of cell 's0-2' in obsm\\['spatial'\\] is not finite"),
        (no_slice, {"slices": "slice"}, "the cell 's0-0' has no value in obs\\['slice'\\]"),
        (four_columns, {}, "must have 1 to 3 columns, got shape \\(64, 4\\)"),
        (distances, {"neighbors": "distances"}, "holds distances"),
        (lambda adata: adata.obsm.clear(), {}, "obsm has no 'spatial'"),
        (lambda adata: setattr(adata, "X", None), {}, "has no X; name a layer"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*names are not unique:UserWarning")
def test_refusals_are_one_sentence_and_write_nothing(tissue, change, arguments, message):
    if change is not None:
        change(tissue)
    before = {
        part: list(getattr(tissue, part).keys()) for part in ("obsm", "obsp", "layers", "uns")
    }
    with pytest.raises(InputError, match=message) as caught:
        embed_anndata(tissue, **QUICK | arguments)
    assert "\n" not in str(caught.value)
    assert before == {part: list(getattr(tissue, part).keys()) for part in before}


def test_what_cannot_be_written_to_is_refused(tissue, tmp_path):
    with pytest.raises(InputError, match="an AnnData is needed, got list"):
        embed_anndata([])
    with pytest.raises(InputError, match=r"is a view, .* use adata.copy\(\)"):
        embed_anndata(tissue[:10])
    with pytest.raises(InputError, match="is empty: 0 cells of 20 genes"):
        embed_anndata(tissue[:0].copy())
    tissue.write_h5ad(tmp_path / "tissue.h5ad")
    backed = anndata.read_h5ad(tmp_path / "tissue.h5ad", backed="r")
    with pytest.raises(InputError, match=r"backed by a file; load it with adata.to_memory"):
        embed_anndata(backed)
    backed.file.close()


def test_raw_counts_are_told(tissue):
    tissue.X = sp.csr_matrix(np.random.default_rng(0).poisson(90.0, tissue.shape))
    with pytest.warns(InputWarning, match="seems to hold raw counts"):
        graph_of(tissue)


# --- graphs --------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(graphs())
def test_graphs_there_and_back(graph):
    adata = to_anndata(graph)
    back = graph_from_anndata(adata, neighbors="connectivities")
    assert (graph.adjacency != back.adjacency).nnz == 0
    assert (back.x != graph.x).sum() == 0
    assert back.x.dtype == graph.x.dtype
    assert sp.issparse(back.x) == sp.issparse(graph.x)
    assert back.directed is ((graph.adjacency != graph.adjacency.T).nnz > 0)
    assert back.ids.tolist() == [str(node) for node in graph.ids]
    assert adata.obs["id"].tolist() == graph.ids.tolist()


def test_labels_splits_and_names_go_along(tmp_path):
    graph = Graph.from_edges(
        [[1.0, 0], [2, 3], [4, 5]],
        [("a", "b"), ("b", "c")],
        [0.5, 2.0],
        ids=["a", "b", "c"],
        labels=["x", None, "y"],
        splits={"train": [True, False, False], "test": [False, False, True]},
        feature_names=["one", "two"],
    )
    to_anndata(graph).write_h5ad(tmp_path / "graph.h5ad")
    adata = anndata.read_h5ad(tmp_path / "graph.h5ad")
    back = graph_from_anndata(adata, neighbors="connectivities", label="label", split="split")
    assert back.fingerprint() == graph.fingerprint()
    assert back.classes == graph.classes
    assert back.labels.tolist() == graph.labels.tolist()
    assert {k: v.tolist() for k, v in back.splits.items()} == {
        k: v.tolist() for k, v in graph.splits.items()
    }
    assert back.feature_names == graph.feature_names


def test_graphs_that_an_anndata_cannot_hold(tissue, monkeypatch):
    with pytest.raises(InputError, match="two ids are the same as text"):
        to_anndata(Graph(np.eye(2), ids=["1", 1]))
    with pytest.raises(InputError, match="obs has no column 'class'; its columns are 'layer'"):
        graph_from_anndata(tissue, label="class")
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(InputError, match="needs AnnData: pip install"):
        to_anndata(Graph(np.eye(2)))


# --- the page ------------------------------------------------------------------------------------


def test_the_example_of_the_docs_gives_what_they_show(tmp_path, monkeypatch, capsys):
    page = Path(__file__).parents[1] / "docs" / "anndata.md"
    blocks = re.findall(r"```(python|text)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "text"] * 2
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for (_, code), (_, shown) in zip(blocks[::2], blocks[1::2], strict=True):
        exec(code, names)
        printed = capsys.readouterr().out
        number = r"\d\.\d\d"
        assert re.sub(number, "", printed) == re.sub(number, "", shown)
        for seen, told in zip(re.findall(number, printed), re.findall(number, shown), strict=True):
            assert float(seen) == pytest.approx(float(told), abs=0.05)
