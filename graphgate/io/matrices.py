"""Adjacency and feature matrices in files of NumPy, SciPy and Matrix Market."""

import io
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError, listing, warn_ignored
from graphgate.graph.validation import index_type
from graphgate.io.files import StrPath, check_file, file_ending, read_bytes
from graphgate.io.limits import check_claim
from graphgate.io.matrix_market import parse_mtx
from graphgate.io.numpy_files import parse_npy, parse_npz

MATRIX_ENDINGS = (".npz", ".npy", ".mtx")
Matrix: TypeAlias = np.ndarray | sp.coo_array | sp.csr_array


def read_matrix(path: StrPath) -> Matrix:
    """A two-dimensional matrix, sparse if it is stored as such.

    `.npz`: a sparse array from SciPy's `save_npz`, or a NumPy archive with exactly one array;
    `.npy`: an array; `.mtx`: Matrix Market, in coordinate or array format, with its symmetry
    expanded, optionally compressed (`.mtx.gz`). Pickled objects are refused.
    """
    source, (ending, _) = check_file(path), file_ending(path)
    if ending not in MATRIX_ENDINGS:
        raise InputError(f"{path} must end in one of {', '.join(MATRIX_ENDINGS)}")
    content = read_bytes(path)
    size = source.stat().st_size
    try:
        if ending == ".npz":
            matrix = _npz(parse_npz(io.BytesIO(content), size, str(path)), str(path))
        else:
            matrix = (parse_npy if ending == ".npy" else parse_mtx)(content)
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(f"{path} ") else f"{path} {text}") from None
    if matrix.ndim != 2:
        raise InputError(f"{path} contains an array of shape {matrix.shape}, not a matrix")
    check_claim(str(path), "nodes", max(matrix.shape), size, "rows or columns")
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
    if directed is None:
        directed = bool((entries != entries.T).nnz)
    return entries, directed


def _npz(arrays: Mapping[str, np.ndarray], path: str) -> Matrix:
    if "format" in arrays:
        matrix = _sparse(arrays)
        warn_ignored(path, "array", [name for name in arrays if name not in _STORED])
        return matrix
    if len(arrays) != 1:
        raise InputError(
            f"contains {len(arrays)} arrays ({listing(list(map(repr, arrays)), 4)}); save one "
            "matrix with numpy.savez or scipy.sparse.save_npz"
        )
    return next(iter(arrays.values()))


# --- sparse matrices from outside ----------------------------------------------------------------


def _sparse(arrays: Mapping[str, np.ndarray]) -> sp.coo_array | sp.csr_array:
    """What `scipy.sparse.save_npz` wrote, checked before SciPy sees it."""
    written = arrays["format"]
    form = written.item() if written.ndim == 0 and written.dtype.kind in "SU" else None
    form = form.decode("latin1") if isinstance(form, bytes) else form
    if form not in _PARTS:
        raise InputError(f"has the unknown sparse format {form!r}; save it with tocsr()")
    if form == "coo" and "coords" in arrays and len(arrays["coords"]) == 2:
        arrays = {**arrays, "row": arrays["coords"][0], "col": arrays["coords"][1]}
    if lacking := [name for name in ("shape", "data", *_PARTS[form]) if name not in arrays]:
        raise InputError(f"lacks the array {lacking[0]!r} of a sparse {form} matrix")
    parts: Any
    data, parts = arrays["data"], [arrays[name] for name in _PARTS[form]]
    try:
        shape = _checked_shape(arrays["shape"])
        if data.dtype.kind not in "biuf":
            raise ValueError(f"data are {data.dtype}, not real numbers")
        if form == "csc":
            return sp.csr_array(_CHECKED["csr"](data, *parts, shape[::-1]).T)
        return _CHECKED[form](data, *parts, shape)
    except ValueError as error:
        raise InputError(f"does not hold a valid sparse matrix: {error}") from None


def _checked_shape(stored: np.ndarray) -> tuple[int, int]:
    if stored.shape != (2,) or stored.dtype.kind not in "iu" or not (stored < 2**31).all():
        raise ValueError("its shape is not that of a matrix")
    rows, columns = map(int, stored.tolist())
    return rows, columns


def _check_integers(name: str, part: np.ndarray, least: int, most: int) -> None:
    if part.ndim != 1 or part.dtype.kind not in "iu":
        raise ValueError(f"{name} is not a list of integers")
    if len(part) and (part.min() < least or part.max() > most):
        raise ValueError("an index is outside the matrix")


def _checked_coo(
    data: np.ndarray, row: np.ndarray, column: np.ndarray, shape: tuple[int, int]
) -> sp.coo_array:
    _check_integers("row", row, 0, shape[0] - 1)
    _check_integers("col", column, 0, shape[1] - 1)
    if not data.shape == row.shape == column.shape:
        raise ValueError("data does not have one number per index")
    return sp.coo_array((data, (row.astype(np.int32), column.astype(np.int32))), shape=shape)


def _checked_dia(data: np.ndarray, offsets: np.ndarray, shape: tuple[int, int]) -> sp.coo_array:
    """Row k of the data is the diagonal of offset k, entry j in column j."""
    _check_integers("offsets", offsets, -(2**31), 2**31)
    if data.ndim != 2 or len(data) != len(offsets) or len(set(offsets.tolist())) < len(offsets):
        raise ValueError("data does not have one row per diagonal")
    column = np.broadcast_to(np.arange(data.shape[1]), data.shape)
    row = column - offsets.astype(np.int64)[:, None]
    inside = (row >= 0) & (row < shape[0]) & (column < shape[1]) & (data != 0)
    return _checked_coo(data[inside], row[inside], column[inside], shape)


def _checked_bsr(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]
) -> sp.coo_array:
    """Blocks of equal size in a matrix of blocks."""
    if (
        data.ndim != 3
        or 0 in data.shape[1:]
        or shape[0] % data.shape[1]
        or shape[1] % data.shape[2]
    ):
        raise ValueError("its blocks do not fill the matrix")
    blocks = shape[0] // data.shape[1], shape[1] // data.shape[2]
    at = checked_csr(np.arange(len(data)), indices, indptr, blocks).tocoo()
    block, i, j = np.nonzero(data)
    row, column = at.row[block] * data.shape[1] + i, at.col[block] * data.shape[2] + j
    return _checked_coo(data[block, i, j], row, column, shape)


def checked_csr(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, ...]
) -> sp.csr_array:
    """A CSR array from parts that come from outside; a `ValueError` says what is wrong.

    SciPy trusts `indptr`: one that falls or ends elsewhere makes it write beyond its arrays.
    """
    if len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"{shape} is not the shape of a matrix")
    _check_integers("indices", indices, 0, shape[1] - 1)
    _check_integers("indptr", indptr, 0, len(indices))
    if data.shape != indices.shape or data.dtype.kind not in "biuf":
        raise ValueError("data does not have one number per index")
    ends = indptr.astype(np.int64)
    if len(ends) != shape[0] + 1 or ends[0] != 0 or ends[-1] != len(indices):
        raise ValueError("indptr does not fit the number of rows and of indices")
    if (np.diff(ends) < 0).any():
        raise ValueError("indptr falls")
    kind = index_type(max(len(indices), *shape))
    return sp.csr_array((data, indices.astype(kind), ends.astype(kind)), shape)


_PARTS = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}
# What SciPy writes.
_STORED = {"format", "shape", "data", "coords", "_is_array", *chain(*_PARTS.values())}
_CHECKED: dict[str, Callable[..., Any]] = {
    "csr": checked_csr,
    "bsr": _checked_bsr,
    "coo": _checked_coo,
    "dia": _checked_dia,
}
