"""Planetoid's raw files."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from old_pickles import fake_parts, old_pickle

from graphgate.datasets import planetoid as source
from graphgate.datasets.unpickler import load_content
from graphgate.errors import InputError

RAW = {  # listed, self-loops, distinct
    "cora": (5429, 0, 5278),
    "citeseer": (4732, 124, 4552),
    "pubmed": (44338, 3, 44324),
}


@pytest.mark.parametrize("name", source.NAMES)
def test_the_original_files_give_the_published_counts(planetoid, name):
    data = source.read_planetoid(planetoid, name)
    assert (data.listed_edges, data.self_loops, data.graph.n_edges) == RAW[name]
    assert data.graph.x.dtype == np.float32
    assert sp.issparse(data.graph.x)
    assert data.graph.ids.tolist() == list(range(data.graph.n_nodes))
    assert {s: int(m.sum()) for s, m in data.graph.splits.items()} == {
        "train": 20 * len(data.graph.classes),
        "val": 500,
        "test": 1000,
    }
    assert data.graph.classes == tuple(range(len(data.graph.classes)))


def test_nodes_are_numbered_as_in_the_public_readers(planetoid):
    # The recipe of Kipf and Welling's reader, step by step.
    parts = {
        part: load_content((planetoid / f"ind.cora.{part}").read_bytes(), part)
        for part in ("tx", "ty", "allx", "ally")
    }
    reorder = [int(line) for line in (planetoid / "ind.cora.test.index").read_text().split()]
    features = sp.vstack((parts["allx"], parts["tx"])).tolil()
    features[reorder, :] = features[np.sort(reorder), :]
    labels = np.vstack((parts["ally"], parts["ty"]))
    labels[reorder, :] = labels[np.sort(reorder), :]

    graph = source.read_planetoid(planetoid, "cora").graph
    assert (graph.x != features.tocsr()).nnz == 0
    np.testing.assert_array_equal(graph.labels, labels.argmax(axis=1))


def test_fifteen_nodes_of_citeseer_have_no_features_no_label_and_no_split(planetoid):
    graph = source.read_planetoid(planetoid, "citeseer").graph
    bare = graph.labels == -1
    assert bare.sum() == 15
    assert np.flatnonzero(bare).min() >= 2312
    assert graph.x[bare].nnz == 0
    assert not any(mask[bare].any() for mask in graph.splits.values())


def test_a_small_dataset_by_hand(fake_cora):
    data = source.read_planetoid(fake_cora, "cora")
    graph = data.graph
    assert graph.n_nodes == 510
    # tx holds diag(1, 2, 3, 4) for the nodes 509, 506, 508, 505.
    np.testing.assert_array_equal(graph.x[[509, 506, 508, 505]].toarray(), np.diag([1, 2, 3, 4]))
    assert graph.x[[507]].nnz == 0
    assert graph.labels[[509, 506, 508, 505, 507]].tolist() == [2, 1, 0, 2, -1]
    assert graph.labels[:4].tolist() == [0, 1, 2, 0]
    assert np.flatnonzero(graph.splits["train"]).tolist() == [0, 1, 2]
    assert np.flatnonzero(graph.splits["val"]).tolist() == list(range(3, 503))
    assert np.flatnonzero(graph.splits["test"]).tolist() == [505, 506, 508, 509]
    assert (data.listed_edges, data.self_loops, data.graph.n_edges) == (512, 1, 510)


def test_an_altered_file_is_refused_before_anything_is_parsed(fake_cora, monkeypatch):
    path = fake_cora / "ind.cora.graph"
    path.write_bytes(old_pickle({}))  # a fine pickle, only not this one
    monkeypatch.setattr(source, "load_content", lambda *_: pytest.fail("it was parsed"))
    with pytest.raises(InputError, match=r"ind\.cora\.graph was altered or cut short.*SHA-256"):
        source.read_planetoid(fake_cora, "cora")


@pytest.mark.parametrize("part", source.PARTS)
def test_a_truncated_or_missing_file_is_named(fake_cora, part):
    path = fake_cora / f"ind.cora.{part}"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=rf"ind\.cora\.{part} was altered or cut short"):
        source.read_planetoid(fake_cora, "cora")
    path.unlink()
    with pytest.raises(InputError, match=rf"ind\.cora\.{part} is missing"):
        source.read_planetoid(fake_cora, "cora")
    path.mkdir()
    with pytest.raises(InputError, match=rf"ind\.cora\.{part} cannot be read"):
        source.read_planetoid(fake_cora, "cora")


def test_only_files_of_planetoid_have_a_checksum():
    assert len(source.CHECKSUMS) == 24
    with pytest.raises(InputError, match="not one of the Planetoid files"):
        source.read_checked(Path("ind.reddit.x"))


@pytest.mark.parametrize(
    ("part", "data"),
    [
        ("test.index", b"not numbers\n"),
        ("test.index", b""),
        ("test.index", b"2\n1\n"),
        ("ally", old_pickle(np.zeros((2, 3), dtype=np.int32))),
        ("allx", old_pickle({1: [2]})),
        ("graph", old_pickle(np.zeros(3, dtype=np.int32))),
        ("tx", old_pickle(sp.csr_matrix(np.eye(9, dtype=np.float32)))),
    ],
)
def test_files_that_do_not_fit_together_are_one_error(part, data):
    with pytest.raises(InputError, match=r"cora"):
        source.assemble(fake_parts() | {part: data}, "cora")


def test_the_table_of_checksums_is_that_of_the_original_files(planetoid):
    for name in source.NAMES:
        for file in source.file_names(name):
            digest = hashlib.sha256((planetoid / file).read_bytes()).hexdigest()
            assert digest == source.CHECKSUMS[file]
