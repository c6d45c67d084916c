"""Tissues as graphs: neighbors against scikit-learn, features and samples checked."""

import anndata
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import kneighbors_graph, radius_neighbors_graph
from tissues import QUICK, layered_tissue

from graphgate import InputError, InputWarning, embed_anndata, from_anndata

pytestmark = pytest.mark.numerical


@pytest.fixture
def tissue():
    return layered_tissue(side=8, genes=20)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_nearest_neighbors_are_those_of_scikit_learn(seed, k):
    adata = layered_tissue(side=4, genes=5)
    adata.obsm["spatial"] = np.random.default_rng(seed).normal(size=(16, 2))
    near = kneighbors_graph(adata.obsm["spatial"], k).toarray()
    assert (
        from_anndata(adata, n_neighbors=k).adjacency.toarray() == np.maximum(near, near.T)
    ).all()


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.floats(0.5, 5))
def test_neighbors_within_a_radius_are_those_of_scikit_learn(seed, radius):
    adata = layered_tissue(side=4, genes=5)
    adata.obsm["spatial"] = places = np.random.default_rng(seed).normal(size=(16, 3))
    within = radius_neighbors_graph(places, radius).toarray()
    if not within.any():
        with pytest.raises(InputError, match="no two cells are within radius"):
            from_anndata(adata, radius=radius)
        return
    if (within.sum(axis=1) == 0).any():
        with pytest.warns(InputWarning, match=r"of 16 cells have no neighbor within"):
            graph = from_anndata(adata, radius=radius)
    else:
        graph = from_anndata(adata, radius=radius)
    assert (graph.adjacency.toarray() == within).all()


def test_a_radius_without_any_edge_is_refused(tissue):
    """A radius in another unit than the coordinates; the message names a distance that there is."""
    for function in (from_anndata, embed_anndata):
        with pytest.raises(
            InputError, match=r"radius=0\.5 of each other; half .* within 1, so use"
        ):
            function(tissue, radius=0.5)
    assert from_anndata(tissue, radius=1).n_edges > 0
    tissue.obs["slice"] = ["a", "b"] * 32
    with pytest.raises(InputError, match="within 1, so use"):  # columns alternate between slices
        from_anndata(tissue, radius=0.5, batch_key="slice")
    with pytest.warns(InputWarning, match="1 of 1 cells have no neighbor"):
        assert from_anndata(tissue[:1].copy(), radius=0.5).n_edges == 0


def test_cells_in_one_place_are_neighbors_but_not_of_themselves(tissue):
    tissue.obsm["spatial"] = np.zeros((64, 2))
    with pytest.warns(InputWarning, match="64 of 64 cells have the same coordinates"):
        graph = from_anndata(tissue, n_neighbors=3)
    assert (np.diff(graph.adjacency.indptr) >= 3).all()
    assert graph.adjacency.diagonal().sum() == 0


def test_six_nearest_are_the_default(tissue):
    assert (
        from_anndata(tissue).adjacency != from_anndata(tissue, n_neighbors=6).adjacency
    ).nnz == 0


def test_samples_at_the_same_coordinates_are_not_connected(tissue):
    other = layered_tissue(1, side=8, genes=20)
    both = anndata.concat([tissue, other], label="slice", keys=["a", "b"])
    joined = from_anndata(both, batch_key="slice").adjacency
    apart = [from_anndata(part).adjacency for part in (tissue, other)]
    assert (joined != sp.block_diag(apart, format="csr")).nnz == 0
    shuffled = both[np.random.default_rng(0).permutation(128)].copy()
    first = (shuffled.obs["slice"] == "a").to_numpy()
    assert from_anndata(shuffled, batch_key="slice").adjacency[first][:, ~first].nnz == 0


def test_a_symmetric_obsp_is_undirected_and_keeps_its_weights(tissue):
    weights = sp.random_array((64, 64), density=0.1, random_state=np.random.default_rng(0))
    tissue.obsp["connectivities"] = sp.csr_matrix(weights + weights.T)
    with pytest.warns(InputWarning, match=r"ignored \d edges of .* from a cell to itself"):
        graph = from_anndata(tissue, obsp="connectivities")
    assert not graph.directed
    assert graph.weighted
    expected = tissue.obsp["connectivities"].toarray()
    np.fill_diagonal(expected, 0)
    assert np.allclose(graph.adjacency.toarray(), expected)


def test_in_an_obsp_that_is_not_symmetric_a_cell_attends_over_its_row(tissue):
    rows = kneighbors_graph(tissue.obsm["spatial"], 8)
    tissue.obsp["near"] = rows
    graph = from_anndata(tissue, obsp="near")
    assert graph.directed
    assert (graph.attended != sp.csr_array(rows)).nnz == 0
    gate = embed_anndata(tissue, obsp="near", **QUICK["gate"])
    pattern = tissue.obsp["gate_attention"].astype(bool)
    assert (pattern != (rows + sp.eye(64)).astype(bool)).nnz == 0
    assert gate.fitted_on_.directed
    embed_anndata(tissue, obsp="near", **QUICK["linear"])
    assert (tissue.obsp["gate_edge_scores"].astype(bool) != rows.astype(bool)).nnz == 0


def test_edges_of_obsp_between_samples_are_ignored_with_a_warning(tissue):
    tissue.obs["slice"] = np.where(np.arange(64) < 32, "a", "b")
    between = sp.coo_matrix(([1.0] * 4, ([0, 40, 1, 2], [40, 0, 2, 1])), (64, 64))
    tissue.obsp["near"] = between.tocsr()
    with pytest.warns(InputWarning, match=r"1 edge of obsp\['near'\] between different samples"):
        assert from_anndata(tissue, obsp="near", batch_key="slice").n_edges == 1


# --- samples that overlap ------------------------------------------------------------------------


def two_samples(shift=(0.0, 0.0), label="slice"):
    first, second = layered_tissue(0, side=12, genes=5), layered_tissue(1, side=12, genes=5)
    second.obsm["spatial"] = second.obsm["spatial"] + shift
    return anndata.concat([first, second], label=label, keys=["a", "b"])


@pytest.mark.parametrize("options", [{}, {"n_neighbors": 4}, {"radius": 1.5}])
def test_samples_at_the_same_coordinates_give_a_warning(options):
    both = two_samples()
    del both.obs["slice"]  # nothing but the coordinates shows it
    with pytest.warns(InputWarning, match="288 of 288 cells have the same .* as batch_key"):
        from_anndata(both, **options)


@pytest.mark.parametrize("kind", [str, "category"])
def test_samples_that_lie_between_each_other_give_a_warning(kind):
    both = two_samples(shift=(0.3, 0.4))
    both.obs["slice"] = both.obs["slice"].astype(kind)
    with pytest.warns(InputWarning, match=r"differ in obs\['slice'\] lie closer .* as batch_key"):
        embed_anndata(both, **QUICK["linear"])
    from_anndata(both, batch_key="slice")
    both.obsp["near"] = kneighbors_graph(both.obsm["spatial"], 3)
    from_anndata(both, obsp="near")  # neighbors that were chosen elsewhere


def test_cells_of_irregular_samples_give_a_warning():
    rng = np.random.default_rng(0)
    jittered = [
        np.stack(np.meshgrid(np.arange(12), np.arange(12)), -1).reshape(-1, 2)
        + rng.uniform(-0.25, 0.25, (144, 2))
        for _ in range(3)
    ]
    cells = anndata.AnnData(rng.random((432, 4)), obs={"sample": np.repeat(["x", "y", "z"], 144)})
    cells.obsm["spatial"] = np.concatenate(jittered)
    with pytest.warns(InputWarning, match=r"obs\['sample'\]"):
        from_anndata(cells)


def test_one_sample_or_samples_side_by_side_give_no_warning(recwarn):
    from_anndata(two_samples(shift=(20.0, 0.0)))
    rng = np.random.default_rng(0)
    adata = layered_tissue(side=20, genes=5)
    adata.obs["type"] = rng.choice(list("abcdefgh"), 400)
    adata.obs["rare"] = np.where(rng.random(400) < 0.03, "rare", "other")
    adata.obs["barcode"] = [f"b{i}" for i in range(400)]
    from_anndata(adata)
    adata.obsm["spatial"] = adata.obsm["spatial"] + rng.uniform(-0.3, 0.3, (400, 2))
    from_anndata(adata)
    adata.obsm["spatial"] = rng.random((400, 2))
    from_anndata(adata)
    assert [warning for warning in recwarn if warning.category is InputWarning] == []
