"""Attributed graphs in NumPy archives, for comparisons on graphs that are not bundled.

An archive has `x_data`, `x_indices`, `x_indptr` and `x_shape` (CSR features), `adj_indices` and
`adj_indptr` (CSR, symmetric, without weights) and `labels`, one integer per node.
"""

from pathlib import Path

import numpy as np

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.io.limits import check_claim
from graphgate.io.matrices import sparse_array
from graphgate.io.numpy_files import read_npz

_KEYS = {"x_data", "x_indices", "x_indptr", "x_shape", "adj_indices", "adj_indptr", "labels"}


def list_archives(folder: Path | str) -> dict[str, Path]:
    """The archives in a folder, by name."""
    if not Path(folder).is_dir():
        raise InputError(f"{folder} is not a folder; pass a folder of .npz archives of graphs")
    return {path.stem: path for path in sorted(Path(folder).glob("*.npz"))}


def read_archive(path: Path | str) -> Graph:
    """The graph in an archive; nothing in it can run code."""
    stored = read_npz(path)
    if lacking := sorted(_KEYS - stored.keys()):
        raise InputError(f"{path} lacks {lacking[0]!r}; it is not an archive of a graph")
    labels, shape = stored["labels"], stored["x_shape"]
    if labels.ndim != 1 or not labels.dtype.kind == shape.dtype.kind == "i":
        raise InputError(f"{path} does not hold a graph: it lacks one integer label per node")
    n = len(labels)
    check_claim(str(path), "nodes", int(shape.max(initial=n)), Path(path).stat().st_size, "columns")
    try:
        indices = stored["x_indices"], stored["x_indptr"]
        x = sparse_array("csr", stored["x_data"], indices, tuple(shape.ravel().tolist()))
        indices = stored["adj_indices"], stored["adj_indptr"]
        ones = np.ones(indices[0].shape, dtype=np.float32)
        edges = sparse_array("csr", ones, indices, (n, n))
    except InputError as error:
        raise InputError(f"{path} does not hold a graph: it {error}") from None
    return Graph(x.astype(np.float32), edges, labels=labels.tolist())
