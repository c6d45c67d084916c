"""Adjacency and feature matrices in files of NumPy, SciPy and Matrix Market."""

import io
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from graphgate.errors import InputError, listing
from graphgate.io.files import StrPath, file_ending, first_line, read_bytes

MATRIX_ENDINGS = (".npz", ".npy", ".mtx")


def read_matrix(path: StrPath) -> np.ndarray | sp.coo_array | sp.csr_array:
    """A two-dimensional matrix, sparse if it is stored as such.

    `.npz`: a sparse array from SciPy's `save_npz`, or a NumPy archive with exactly one array;
    `.npy`: an array; `.mtx`: Matrix Market, in coordinate or array format, with its symmetry
    expanded, optionally compressed (`.mtx.gz`). Pickled objects are refused.
    """
    ending, _ = file_ending(path)
    content = read_bytes(path)
    readers = {".npz": _npz, ".npy": _npy, ".mtx": _mtx}
    if ending not in readers:
        raise InputError(f"{path} must end in one of {', '.join(readers)}, the supported formats")
    try:
        matrix = readers[ending](content)
    except InputError as error:
        raise InputError(f"{path} {error}") from None
    # NumPy, SciPy and their decoders raise errors of every kind on damaged files.
    except Exception as error:
        raise InputError(f"{path} is damaged or not a {ending} file: {first_line(error)}") from None
    if matrix.ndim != 2:
        raise InputError(f"{path} contains an array of shape {matrix.shape}, not a matrix")
    return matrix


def read_adjacency(path: StrPath, directed: bool | None = None) -> tuple[sp.coo_array, bool]:
    """An adjacency matrix, and whether it is directed: as given, or unless it is symmetric."""
    adjacency = read_matrix(path)
    if adjacency.shape[0] != adjacency.shape[1]:
        raise InputError(
            f"{path} contains a matrix of shape {adjacency.shape}, but an adjacency matrix is "
            "square; pass it as features, or use an edge table"
        )
    if adjacency.dtype.kind not in "buif":
        raise InputError(f"{path} contains {adjacency.dtype} values; weights must be real numbers")
    entries = sp.coo_array(adjacency)
    if adjacency.shape[0] > max(10**7, 100 * entries.nnz):  # a header may claim any size
        raise InputError(
            f"{path} has {entries.nnz:,} edges between {adjacency.shape[0]:,} nodes; "
            "leave out nodes without edges"
        )
    if directed is None:
        directed = bool((entries != entries.T).nnz)
    return entries, directed


def _npy(content: bytes) -> np.ndarray:
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


def _npz(content: bytes) -> Any:
    if not content.startswith(b"PK"):
        raise InputError("is not a .npz file: it is not a zip archive")
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        names = archive.files
        if "format" in names:
            matrix = sp.load_npz(io.BytesIO(content))
            if hasattr(matrix, "check_format"):  # SciPy does not check indices
                matrix.check_format(full_check=True)
            return sp.coo_array(matrix) if matrix.format == "coo" else sp.csr_array(matrix)
        if len(names) != 1:
            raise InputError(
                f"contains {len(names)} arrays ({listing(list(map(repr, names)), 4)}); save one "
                "matrix with numpy.savez or scipy.sparse.save_npz"
            )
        matrix = archive[names[0]]
        if not isinstance(matrix, np.ndarray):
            raise InputError(f"contains {names[0]!r}, which is not an array")
        return matrix


def _mtx(content: bytes) -> Any:
    if b"\0" in content:
        raise InputError("contains zero bytes, so it is not a Matrix Market file")
    content += b"\n"  # SciPy's reader can crash on a last line without a line ending
    rows, columns, entries, form, _, symmetry = scipy.io.mminfo(io.BytesIO(content))
    # Checked before allocating anything of that size, because a header may claim any size.
    least = 4 if form == "coordinate" else 2 if symmetry == "general" else 1  # "1 1\n" or "0\n"
    if least * (entries - rows) > len(content):
        raise InputError(
            f"is truncated: it declares {entries:,} entries, but has {len(content):,} bytes"
        )
    if max(rows, columns) >= 2**31:
        raise InputError(f"declares a matrix of {rows:,} × {columns:,}, which is too large")
    matrix = scipy.io.mmread(io.BytesIO(content))
    return sp.coo_array(matrix) if sp.issparse(matrix) else np.asarray(matrix)


def checked_csr(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, ...]
) -> sp.csr_array:
    """A CSR array from parts that come from outside; a `ValueError` says what is wrong.

    SciPy trusts `indptr`: one that falls or ends elsewhere makes it write beyond its arrays.
    """
    if len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"{shape} is not the shape of a matrix")
    for name, part in (("indices", indices), ("indptr", indptr)):
        if part.ndim != 1 or part.dtype.kind not in "iu":
            raise ValueError(f"{name} is not a list of integers")
    if data.shape != indices.shape or data.dtype.kind not in "biuf":
        raise ValueError("data does not have one number per index")
    ends = indptr.astype(np.int64)
    if len(ends) != shape[0] + 1 or ends[0] != 0 or ends[-1] != len(indices):
        raise ValueError("indptr does not fit the number of rows and of indices")
    if (np.diff(ends) < 0).any():
        raise ValueError("indptr falls")
    if len(indices) and (indices.min() < 0 or indices.max() >= shape[1]):
        raise ValueError("an index is outside the matrix")
    return sp.csr_array((data, indices, ends), shape)
