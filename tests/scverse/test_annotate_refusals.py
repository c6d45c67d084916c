"""What embed_anndata refuses, in one sentence, leaving the AnnData as it was."""

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from tissues import layered_tissue

from graphgate import InputError, embed_anndata


@pytest.fixture
def tissue():
    return layered_tissue(side=8, genes=20)


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
        (None, {"epoch": 3}, "LinearGATE has no parameter 'epoch'"),
        (None, {"epoch": 3, "method": "gate"}, "^GATE has no parameter 'epoch'"),
        (None, {"epochs": 9}, "^epochs is a parameter of method='gate'; omit it, or use that"),
        (None, {"dims": (4, 2), "method": "linear"}, "^dims is a parameter of method='gate'; omit"),
        (None, {"structure": True, "method": "gate"}, "^structure is .* of method='linear'; omit"),
        (None, {"method": "svd"}, "unknown method 'svd'; use one of linear, gate"),
        (None, {"n_components": 0}, "n_components == 0, must be >= 1"),
        (None, {"epochs": 0, "method": "gate"}, "epochs == 0, must be >= 1"),
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
        embed_anndata(tissue, **arguments)
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
