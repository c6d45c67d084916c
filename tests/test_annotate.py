"""GATE on an AnnData: embedding, attention and clusters in the same AnnData."""

import re
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import adjusted_rand_score
from torch.utils._python_dispatch import TorchDispatchMode

from graphgate import (
    GATE,
    InputError,
    cluster_anndata,
    embed_anndata,
    from_anndata,
    transform_anndata,
)
from tests.tissues import QUICK, layered_tissue


@pytest.fixture
def tissue():
    return layered_tissue(side=8, genes=20)


# --- what it is for ------------------------------------------------------------------------------


def test_clusters_that_expression_alone_does_not_show():
    adata = layered_tissue(side=20, genes=60, layers=4)
    components = TruncatedSVD(20, random_state=0).fit_transform(adata.X)
    alone = KMeans(4, n_init=10, random_state=0).fit_predict(components)
    embed_anndata(adata, dims=(64, 16), epochs=200, random_state=0, progress=False, **FASTER)
    for method, least in (("kmeans", 0.6), ("gaussian-mixture", 0.7)):
        cluster_anndata(adata, 4, method=method, key_added=method)
        assert adjusted_rand_score(adata.obs["layer"], adata.obs[method]) > least
    assert adjusted_rand_score(adata.obs["layer"], alone) < 0.2


def test_a_second_sample_with_the_model_of_the_first():
    first, second = layered_tissue(0, side=20), layered_tissue(1, side=20, shift=1000.0)
    gate = embed_anndata(first, dims=(64, 16), random_state=0, progress=False, **FASTER)
    transform_anndata(gate, second)
    clusters = KMeans(4, n_init=10, random_state=0).fit(first.obsm["X_gate"])
    found = clusters.predict(second.obsm["X_gate"])
    assert adjusted_rand_score(second.obs["layer"], found) > 0.5


FASTER = {"preset": "authors", "learning_rate": 1e-3, "structure_weight": 0.0}


# --- what is written -----------------------------------------------------------------------------


def test_everything_is_written_and_can_be_saved(tissue, tmp_path):
    gate = embed_anndata(tissue, denoise=True, radius=1.5, layer=None, **QUICK)
    assert (tissue.obsm["X_gate"] == gate.embedding_).all()
    assert tissue.obsm["X_gate"].shape == (64, 4)
    attention = tissue.obsp["gate_attention"]
    assert sp.issparse(attention)
    assert np.allclose(attention.sum(axis=1), 1, atol=1e-5)
    assert tissue.layers["gate"].shape == tissue.shape
    cluster_anndata(tissue, 3)
    tissue.write_h5ad(tmp_path / "tissue.h5ad")
    again = anndata.read_h5ad(tmp_path / "tissue.h5ad")
    assert (again.obsm["X_gate"] == tissue.obsm["X_gate"]).all()
    assert (again.obsp["gate_attention"] != attention).nnz == 0
    assert again.uns["gate"]["tissue"] == {"radius": 1.5}
    assert again.uns["gate"]["params"]["epochs"] == 5
    assert again.uns["gate"]["params"]["random_state"] == 0
    assert again.uns["gate"]["loss"].tolist() == gate.history_["loss"]
    assert again.obs["gate_cluster"].tolist() == tissue.obs["gate_cluster"].tolist()


def test_denoised_values_are_the_reconstruction(tissue):
    gate = embed_anndata(tissue, denoise=True, key_added="X_other", **QUICK)
    assert "X_gate" not in tissue.obsm
    assert (tissue.layers["gate"] == gate.reconstruct(from_anndata(tissue))).all()


def test_a_layer_replaces_x(tissue):
    tissue.layers["log"] = tissue.X.copy()
    plain = embed_anndata(tissue, **QUICK).embedding_
    tissue.X = sp.csr_matrix(tissue.shape, dtype=np.float32)
    assert (embed_anndata(tissue, layer="log", **QUICK).embedding_ == plain).all()


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
        gate.reconstruct(from_anndata(spots))


# --- another sample ------------------------------------------------------------------------------


def transformed(gate, adata, **options):
    """The embedding that transform_anndata writes."""
    transform_anndata(gate, adata, **options)
    return adata.obsm["X_gate"]


def test_transforming_the_training_tissue_gives_its_embedding(tissue):
    gate = embed_anndata(tissue, radius=1.5, **QUICK)
    expected = tissue.obsm.pop("X_gate")
    assert np.allclose(transformed(gate, tissue), expected, atol=1e-6)


def test_a_copy_leaves_the_original_unchanged(tissue):
    gate = embed_anndata(tissue.copy(), **QUICK)
    before = list(tissue.obs), list(tissue.obsm), list(tissue.uns)
    copied = transform_anndata(gate, tissue, copy=True)
    assert cluster_anndata(copied, 2, copy=True).obs["gate_cluster"].nunique() == 2
    assert "gate_cluster" not in copied.obs
    assert (list(tissue.obs), list(tissue.obsm), list(tissue.uns)) == before
    assert transform_anndata(gate, tissue) is None
    assert (tissue.obsm["X_gate"] == copied.obsm["X_gate"]).all()


def test_genes_are_matched_by_name(tissue):
    gate = embed_anndata(tissue, denoise=True, **QUICK)
    expected = tissue.obsm["X_gate"]
    reversed_ = tissue[:, ::-1].copy()
    assert np.allclose(transformed(gate, reversed_, denoise=True), expected, atol=1e-5)
    assert np.allclose(reversed_.layers["gate"][:, ::-1], tissue.layers["gate"], atol=1e-5)
    unknown = anndata.AnnData(sp.csr_matrix(np.ones((64, 1))), obs=tissue.obs[[]])
    unknown.var_names = ["another"]
    wider = anndata.concat([unknown, tissue], axis=1, merge="first")
    wider.obsm["spatial"] = tissue.obsm["spatial"]
    assert np.allclose(transformed(gate, wider), expected, atol=1e-5)
    with pytest.raises(InputError, match=r"exactly the 20 genes of the model, .* has 21"):
        transform_anndata(gate, wider, denoise=True)
    with pytest.raises(InputError, match=r"lacks 2 of the 20 genes .*: gene3, gene7; add them"):
        transform_anndata(
            gate, tissue[:, [g not in ("gene3", "gene7") for g in tissue.var_names]].copy()
        )


def test_a_saved_model_finds_neighbors_as_in_training(tissue, tmp_path):
    tissue.obs["slice"] = np.where(np.arange(64) < 32, "a", "b")
    gate = embed_anndata(tissue, n_neighbors=4, batch_key="slice", **QUICK)
    gate.save(tmp_path / "model.safetensors")
    loaded = GATE.load(tmp_path / "model.safetensors")
    expected = tissue.obsm["X_gate"].copy()
    assert np.allclose(transformed(loaded, tissue), expected, atol=1e-6)
    assert tissue.uns["gate"]["tissue"] == {"n_neighbors": 4, "batch_key": "slice"}
    tissue.obs["one"] = "a"
    assert not np.allclose(transformed(loaded, tissue, batch_key="one"), expected, atol=1e-6)
    assert tissue.uns["gate"]["tissue"]["batch_key"] == "one"
    tissue.obs["section"] = tissue.obs.pop("slice")
    with pytest.raises(InputError, match=r"obs has no column 'slice'; its columns are 'layer', 'o"):
        transform_anndata(loaded, tissue)
    assert np.allclose(transformed(loaded, tissue, batch_key="section"), expected, atol=1e-6)


def test_other_models_are_refused(tissue):
    gate = GATE(**QUICK).fit(from_anndata(tissue))
    with pytest.raises(InputError, match="not trained by embed_anndata"):
        transform_anndata(gate, tissue)
    gate = embed_anndata(tissue, **QUICK).fit(from_anndata(tissue))
    with pytest.raises(InputError, match="not trained by embed_anndata"):
        transform_anndata(gate, tissue)
    for notes in ({"k": 4}, {"n_neighbors": "x"}, {"layer": 3}, ["x"]):
        gate.notes_ = {"tissue": notes}
        with pytest.raises(InputError):
            transform_anndata(gate, tissue)


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
        (None, {"radius": 1.0, "n_neighbors": 3}, "radius and n_neighbors are mutually exclusive"),
        (None, {"radius": -1.0}, "radius must be positive"),
        (None, {"radius": "wide"}, "radius must be an instance of float"),
        (None, {"n_neighbors": 0}, "n_neighbors == 0, must be >= 1"),
        (None, {"n_neighbors": 64}, "n_neighbors=64, but the sample of cell 's0-0' has only 64"),
        (None, {"obsp": "near"}, "obsp has no 'near'; its keys are none"),
        (None, {"obsp": "near", "n_neighbors": 3}, "radius and n_neighbors apply to coordinates"),
        (None, {"obsp": "near", "radius": 3.0}, "radius and n_neighbors apply to coordinates"),
        (None, {"obsp": 3}, "obsp must be a string or None, got 3"),
        (None, {"layer": "counts"}, "no layer 'counts'; its layers are none"),
        (None, {"batch_key": "batch"}, "obs has no column 'batch'"),
        (None, {"epoch": 3}, "GATE has no parameter 'epoch'"),
        (None, {"epochs": 0}, "epochs == 0, must be >= 1"),
        (nan_in_x, {}, "X contains nan for gene 'gene5' in cell 's0-3'"),
        (nan_in_sparse_x, {}, "X contains inf for gene 'gene.*' in cell 's0-0'"),
        (names_twice, {}, "'g' is in var_names more than once; call adata.var_names_make_unique"),
        (cells_twice, {}, "'c' is in obs_names more than once; call adata.obs_names_make_unique"),
        (nan_place, {}, "coordinates of cell 's0-2' in obsm\\['spatial'\\] are not finite"),
        (no_slice, {"batch_key": "slice"}, "the cell 's0-0' has no value in obs\\['slice'\\]"),
        (four_columns, {}, "must have 1 to 3 columns, got shape \\(64, 4\\)"),
        (distances, {"obsp": "distances"}, "contains distances"),
        (lambda adata: adata.obsm.clear(), {}, "obsm has no 'spatial'"),
        (lambda adata: setattr(adata, "X", None), {}, "has no X; pass the name of a layer"),
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


def test_anndata_that_cannot_be_written_to_is_refused(tissue, tmp_path):
    with pytest.raises(InputError, match="expected an AnnData, got list"):
        embed_anndata([])
    with pytest.raises(InputError, match=r"is a view, .* use adata.copy\(\)"):
        embed_anndata(tissue[:10])
    with pytest.raises(InputError, match="is empty: 0 cells, 20 genes"):
        embed_anndata(tissue[:0].copy())
    tissue.write_h5ad(tmp_path / "tissue.h5ad")
    backed = anndata.read_h5ad(tmp_path / "tissue.h5ad", backed="r")
    with pytest.raises(InputError, match=r"backed by a file; load it with adata.to_memory"):
        embed_anndata(backed)
    backed.file.close()


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
        for seen, shown_number in zip(
            re.findall(number, printed), re.findall(number, shown), strict=True
        ):
            assert float(seen) == pytest.approx(float(shown_number), abs=0.05)
