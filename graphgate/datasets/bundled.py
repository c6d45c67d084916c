"""The copies of the citation datasets that are bundled with the package, for offline use.

`scripts/build_bundled_data.py` builds them; none of them contains a pickle. A sparse pattern is
stored as the number of entries in each row (`*_lengths`) and the step from one column to the
next (`*_gaps`), small numbers that compress well. Pubmed's features are tf-idf values: a word
count, divided by the length of the text, times the weight of the word. The three factors are
stored, and their product, in this order of operations, equals every float32 of the original files.
"""

import hashlib
import io
from importlib import resources

import numpy as np
import scipy.sparse as sp

from graphgate.datasets.planetoid import SPLITS, RawDataset
from graphgate.errors import InputError
from graphgate.graph.graph import Graph

# SHA-256 of the files in graphgate/datasets/data.
CHECKSUMS = {
    "cora.npz": "22b0f3b91f2b4d47e9c661b5d30292fe14d8357fad4df3d034ef88f94557670e",
    "citeseer.npz": "05057053ace8e83a5fe978e50529801ce6519f652ae915d986613c6b01eb10d8",
    "pubmed.npz": "5114c381c55df86eff8bcc4422cd54828c98a252f5f7490a45fe239d37916e29",
}


def bundled_bytes(name: str) -> bytes:
    """The installed file of a dataset, not checked."""
    return (resources.files("graphgate.datasets") / "data" / f"{name}.npz").read_bytes()


def read_bundled(name: str) -> RawDataset:
    """The bundled copy of a dataset, after checking its SHA-256."""
    try:
        data = bundled_bytes(name)
    except OSError:
        raise InputError(f"the package lacks its file {name}.npz; reinstall graphgate") from None
    if hashlib.sha256(data).hexdigest() != CHECKSUMS[f"{name}.npz"]:
        raise InputError(f"the package's file {name}.npz was altered; reinstall graphgate")
    return decode(data)


def decode(data: bytes) -> RawDataset:
    """The dataset stored in a bundled file."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        stored = {key: archive[key] for key in archive.files}
    n = len(stored["x_lengths"])
    indptr, indices = expand(stored["x_lengths"], stored["x_gaps"])
    values = np.ones(len(indices), dtype=np.float32)
    if "x_counts" in stored:
        rows = np.repeat(np.arange(n), stored["x_lengths"])
        frequency = stored["x_counts"] / stored["text_lengths"][rows].astype(np.float64)
        values = (frequency * stored["word_weights"][indices]).astype(np.float32)
    classes, codes = stored["classes"].tolist(), stored["labels"].tolist()
    starts, targets = expand(stored["edge_lengths"], stored["edge_gaps"])
    edges = np.stack([np.repeat(np.arange(n), np.diff(starts)), targets], axis=1)
    graph = Graph.from_edges(
        sp.csr_array((values, indices, indptr), shape=(n, int(stored["n_features"]))),
        stored["ids"][edges] if "ids" in stored else edges,
        ids=stored.get("ids"),
        labels=[None if code < 0 else classes[code] for code in codes],
        splits={split: stored["split"] == at for at, split in enumerate(SPLITS)},
    )
    return RawDataset(graph, int(stored["listed_edges"]), int(stored["self_loops"]))


def expand(lengths: np.ndarray, gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row starts and columns of a pattern; the first gap of a row counts from column 0."""
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int32)]).astype(np.int32)
    total = np.concatenate([[0], np.cumsum(gaps, dtype=np.int64)])
    return starts, (total[1:] - np.repeat(total[starts[:-1]], lengths)).astype(np.int32)
