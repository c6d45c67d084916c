"""Scanpy's habits: its names of options, and domains carried from slice to slice."""

import anndata
import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.metrics import accuracy_score, adjusted_rand_score
from tissues import QUICK, layered_tissue

from graphgate import (
    GATE,
    InputError,
    LinearGATE,
    cluster_anndata,
    embed_anndata,
    from_anndata,
    transfer_anndata,
    transform_anndata,
)

pytestmark = pytest.mark.numerical

QUICKLY = QUICK["linear"]


@pytest.fixture
def tissue():
    return layered_tissue(side=8, genes=20)


def with_neighbors(adata: anndata.AnnData, key: str) -> anndata.AnnData:
    """As squidpy.gr.spatial_neighbors leaves it."""
    adata.obsp[f"{key}_connectivities"] = from_anndata(adata, n_neighbors=4).adjacency
    adata.uns[key] = {"connectivities_key": f"{key}_connectivities", "params": {}}
    return adata


# --- the names of options ------------------------------------------------------------------------


def test_neighbors_of_scanpy(tissue):
    with_neighbors(tissue, "spatial_neighbors")
    embed_anndata(tissue, neighbors_key="spatial_neighbors", **QUICKLY)
    embed_anndata(tissue, n_neighbors=4, key_added="X_same", **QUICKLY)
    np.testing.assert_allclose(tissue.obsm["X_gate"], tissue.obsm["X_same"], atol=1e-4)
    old = tissue.copy()  # an older scanpy did not write the key
    old.uns["neighbors"] = {"params": {}}
    old.obsp["connectivities"] = tissue.obsp["spatial_neighbors_connectivities"]
    embed_anndata(old, neighbors_key="neighbors", key_added="X_old", **QUICKLY)
    np.testing.assert_allclose(old.obsm["X_old"], tissue.obsm["X_gate"], atol=1e-4)
    with pytest.raises(
        InputError, match=r"uns has no neighbors 'neighbors'.*scanpy\.pp\.neighbors"
    ):
        embed_anndata(tissue, neighbors_key="neighbors", **QUICKLY)
    with pytest.raises(InputError, match="obsp and neighbors_key are mutually exclusive"):
        embed_anndata(tissue, neighbors_key="a", obsp="b")
    with pytest.raises(InputError, match="leave them out to use the neighbors of 'a'"):
        embed_anndata(tissue, neighbors_key="a", radius=1.0)


def test_features_in_obsm(tissue):
    tissue.obsm["X_pca"] = PCA(5, random_state=0).fit_transform(tissue.X.toarray())
    gate = embed_anndata(tissue, use_rep="X_pca", **QUICKLY)
    assert gate.n_features_in_ == 5
    np.testing.assert_allclose(from_anndata(tissue, use_rep="X_pca").x, tissue.obsm["X_pca"])
    again = transform_anndata(gate, tissue, key_added="again", copy=True)
    np.testing.assert_allclose(again.obsm["again"], tissue.obsm["X_gate"], atol=1e-5)
    tissue.obsm["X_pca"] = tissue.obsm["X_pca"][:, :4]
    with pytest.raises(InputError, match=r"lacks the feature 'X_pca\[4\]'"):
        transform_anndata(gate, tissue)
    plain = embed_anndata(tissue, use_rep="X", copy=True, **QUICKLY)
    np.testing.assert_allclose(
        plain.obsm["X_gate"],
        embed_anndata(tissue, copy=True, **QUICKLY).obsm["X_gate"],
        atol=1e-4,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use_rep": "X_pca"}, "obsm has no 'X_pca'"),
        ({"use_rep": "X_nan"}, "one finite vector per cell"),
        ({"use_rep": "X_text"}, "must be a matrix of numbers"),
        ({"use_rep": "X_nan", "layer": "counts"}, "layer and use_rep are mutually exclusive"),
        ({"use_rep": "spatial", "denoise": True}, "denoise=True reconstructs genes"),
    ],
)
def test_features_that_are_refused(tissue, options, message):
    tissue.obsm["X_nan"] = np.full((64, 2), np.nan)
    tissue.obsm["X_text"] = pd.DataFrame({"a": ["x"] * 64}, index=tissue.obs_names)
    with pytest.raises(InputError, match=message):
        embed_anndata(tissue, **options, **QUICKLY)
    assert "X_gate" not in tissue.obsm


@pytest.mark.parametrize("method", QUICK)
def test_a_copy_is_annotated_and_returned(tissue, method):
    made = embed_anndata(tissue, copy=True, **QUICK[method])
    assert isinstance(made, anndata.AnnData)
    assert "X_gate" in made.obsm
    assert not {"X_gate"} & set(tissue.obsm)
    assert "gate" not in tissue.uns
    assert isinstance(embed_anndata(tissue, **QUICK[method]), (LinearGATE, GATE))
    np.testing.assert_array_equal(made.obsm["X_gate"], tissue.obsm["X_gate"])


# --- from slice to slice -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def slices():
    first, second = layered_tissue(0), layered_tissue(1)
    gate = embed_anndata(first, random_state=0)
    transform_anndata(gate, second)
    return first, second


def test_domains_are_carried_to_the_next_slice(slices):
    first, second = slices
    first.uns["layer_colors"] = ["#111111", "#222222", "#333333", "#444444"]
    made = transfer_anndata(second, first, "layer", key_added="carried", copy=True)
    assert "carried" not in second.obs
    assert accuracy_score(second.obs["layer"], made.obs["carried"]) > 0.85
    assert list(made.uns["carried_colors"]) == first.uns["layer_colors"]
    votes = made.obs["carried_votes"]
    right = (made.obs["carried"].astype(str) == second.obs["layer"]).to_numpy()
    assert votes[right].mean() > votes[~right].mean()
    assert votes.between(0, 1).all()


def test_clusters_are_carried_too(slices):
    first, second = (each.copy() for each in slices)
    cluster_anndata(first, 4)
    assert transfer_anndata(second, first, "gate_cluster") is None
    assert list(second.obs["gate_cluster"].cat.categories) == list("0123")
    assert adjusted_rand_score(second.obs["layer"], second.obs["gate_cluster"]) > 0.6


def test_only_labeled_cells_vote(slices):
    first, second = (each.copy() for each in slices)
    first.obs["some"] = first.obs["layer"].where(first.obs["layer"] != "L0")
    transfer_anndata(second, first, "some", n_neighbors=1)
    assert set(second.obs["some"]) == {"L1", "L2", "L3"}
    transfer_anndata(first, first, "layer", n_neighbors=1, key_added="own")
    assert (first.obs["own"] == first.obs["layer"]).all()


def test_transfers_that_are_refused(slices):
    first, second = (each.copy() for each in slices)
    with pytest.raises(InputError, match="obs has no column 'domain'"):
        transfer_anndata(second, first, "domain")
    with pytest.raises(InputError, match="obsm has no 'X_pca'"):
        transfer_anndata(second, first, "layer", use_rep="X_pca")
    with pytest.raises(InputError, match="n_neighbors"):
        transfer_anndata(second, first, "layer", n_neighbors=0)
    first.obs["nothing"] = pd.Categorical([None] * first.n_obs)
    with pytest.raises(InputError, match="no cell of the reference has a label"):
        transfer_anndata(second, first, "nothing")
    second.obsm["X_gate"] = second.obsm["X_gate"][:, :3]
    with pytest.raises(InputError, match="embed both with the same model"):
        transfer_anndata(second, first, "layer")
