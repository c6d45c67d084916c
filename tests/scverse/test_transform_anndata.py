"""Another sample with a fitted or loaded model: genes, neighbors and what cannot be matched."""

import anndata
import numpy as np
import pytest
import scipy.sparse as sp
from tissues import QUICK, layered_tissue

from graphgate import (
    InputError,
    InputWarning,
    UnknownNodesWarning,
    cluster_anndata,
    embed_anndata,
    from_anndata,
    load_model,
    transform_anndata,
)


@pytest.fixture
def tissue():
    return layered_tissue(side=8, genes=20)


@pytest.fixture(params=list(QUICK))
def quick(request):
    """Parameters of embed_anndata for each method."""
    return QUICK[request.param]


def transformed(gate, adata, **options):
    """The embedding that transform_anndata writes."""
    transform_anndata(gate, adata, **options)
    return adata.obsm["X_gate"]


def test_transforming_the_training_tissue_gives_its_embedding(tissue, quick):
    gate = embed_anndata(tissue, radius=1.5, **quick)
    expected = tissue.obsm.pop("X_gate")
    assert np.allclose(transformed(gate, tissue), expected, atol=1e-6)


def test_a_copy_leaves_the_original_unchanged(tissue, quick):
    gate = embed_anndata(tissue.copy(), **quick)
    before = list(tissue.obs), list(tissue.obsm), list(tissue.uns)
    copied = transform_anndata(gate, tissue, copy=True)
    assert cluster_anndata(copied, 2, copy=True).obs["gate_cluster"].nunique() == 2
    assert "gate_cluster" not in copied.obs
    assert (list(tissue.obs), list(tissue.obsm), list(tissue.uns)) == before
    assert transform_anndata(gate, tissue) is None
    assert (tissue.obsm["X_gate"] == copied.obsm["X_gate"]).all()


def test_genes_are_matched_by_name(tissue, quick):
    gate = embed_anndata(tissue, denoise=True, **quick)
    expected = tissue.obsm["X_gate"]
    reversed_ = tissue[:, ::-1].copy()
    assert np.allclose(transformed(gate, reversed_, denoise=True), expected, atol=1e-5)
    assert np.allclose(reversed_.layers["gate"][:, ::-1], tissue.layers["gate"], atol=1e-5)
    unknown = anndata.AnnData(sp.csr_matrix(np.ones((64, 1))), obs=tissue.obs[[]])
    unknown.var_names = ["another"]
    wider = anndata.concat([unknown, tissue], axis=1, merge="first")
    wider.obsm["spatial"] = tissue.obsm["spatial"]
    with pytest.warns(InputWarning, match="the AnnData: 1 gene is ignored: another"):
        assert np.allclose(transformed(gate, wider), expected, atol=1e-5)
    with pytest.raises(InputError, match=r"exactly the 20 genes of the model, .* has 21"):
        transform_anndata(gate, wider, denoise=True)
    with pytest.raises(InputError, match=r"lacks 2 of the 20 genes .*: gene3, gene7; add them"):
        transform_anndata(
            gate, tissue[:, [g not in ("gene3", "gene7") for g in tissue.var_names]].copy()
        )


def test_a_saved_model_finds_neighbors_as_in_training(tissue, quick, tmp_path):
    tissue.obs["slice"] = np.where(np.arange(64) < 32, "a", "b")
    gate = embed_anndata(tissue, n_neighbors=4, batch_key="slice", **quick)
    gate.save(tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    assert type(loaded) is type(gate)
    expected = tissue.obsm["X_gate"].copy()
    assert np.allclose(transformed(loaded, tissue), expected, atol=1e-6)
    assert tissue.uns["gate"]["tissue"] == {"n_neighbors": 4, "batch_key": "slice"}
    tissue.obs["one"] = "a"
    assert not np.allclose(transformed(loaded, tissue, batch_key="one"), expected, atol=1e-6)
    assert tissue.uns["gate"]["tissue"]["batch_key"] == "one"
    tissue.obs["section"] = tissue.obs.pop("slice")
    refused = r"no column 'slice', .* columns are 'layer', 'o.* set adata.obs\['slice'\] to"
    with pytest.raises(InputError, match=refused):
        transform_anndata(loaded, tissue)
    assert np.allclose(transformed(loaded, tissue, batch_key="section"), expected, atol=1e-6)


def test_other_models_are_refused(tissue, quick):
    gate = embed_anndata(tissue, **quick).fit(from_anndata(tissue))
    with pytest.raises(InputError, match="not trained by embed_anndata"):
        transform_anndata(gate, tissue)
    for notes in ({"k": 4}, {"n_neighbors": "x"}, {"layer": 3}, ["x"]):
        gate.notes_ = {"tissue": notes}
        with pytest.raises(InputError):
            transform_anndata(gate, tissue)


def test_structure_is_of_one_tissue_and_on_request():
    first, second = layered_tissue(0, side=8), layered_tissue(1, side=8)
    gate = embed_anndata(first, structure=True, random_state=0)
    assert first.uns["gate"]["params"]["structure"]
    assert first.uns["gate"]["report"]["structure_rank"] > 0
    with pytest.warns(UnknownNodesWarning, match="64 of 64 nodes have no neighbor that the model"):
        transform_anndata(gate, second)
