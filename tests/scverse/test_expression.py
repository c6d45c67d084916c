"""Features of cells: what looks like raw counts gives a warning."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from tissues import QUICK, layered_tissue

from graphgate import InputWarning, embed_anndata, from_anndata


@pytest.fixture
def tissue():
    return layered_tissue(side=8, genes=20)


@pytest.mark.parametrize("mean", [0.5, 5.0, 90.0])
@pytest.mark.parametrize("kind", [np.int64, np.uint16, np.float32])
@pytest.mark.parametrize("sparse", [False, True])
def test_raw_counts_give_a_warning(tissue, mean, kind, sparse):
    counts = np.random.default_rng(0).poisson(mean, tissue.shape).astype(kind)
    tissue.layers["counts"] = sp.csr_matrix(counts) if sparse else counts
    expected = rf"layers\['counts'\] looks like raw counts \(integers up to {counts.max():.0f}\)"
    with pytest.warns(InputWarning, match=expected + "; normalize and log1p first"):
        from_anndata(tissue, layer="counts")


def test_training_on_raw_counts_gives_a_warning(tissue):
    tissue.X = np.random.default_rng(0).poisson(1.0, tissue.shape)
    with pytest.warns(InputWarning, match="X looks like raw counts"):
        embed_anndata(tissue, **QUICK["linear"])


def test_other_values_give_no_warning(tissue):
    counts = np.random.default_rng(0).poisson(5.0, tissue.shape)
    per_cell = counts.sum(axis=1, keepdims=True)
    for values in (
        np.log1p(counts),
        counts / per_cell * 1e4,
        counts - counts.mean(axis=0),
        (counts > 4).astype(np.int8),  # binarized
        np.zeros(tissue.shape),
        counts - 3,  # negative integers are no counts
    ):
        tissue.X = values
        with warnings.catch_warnings(record=True) as shown:
            from_anndata(tissue)
        assert not shown
