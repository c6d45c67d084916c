"""Adjacency and feature matrices in files of NumPy, SciPy and Matrix Market."""

import io
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError, listing, warn_ignored
from graphgate.graph.validation import check_indices, check_real
from graphgate.io.files import StrPath, check_file, file_ending, first_line, read_bytes
from graphgate.io.limits import check_claim
from graphgate.io.matrix_market import parse_mtx
from graphgate.io.numpy_files import parse_npy, parse_npz

_PARSERS: dict[str, Callable[[bytes], Any]] = {".npy": parse_npy, ".mtx": parse_mtx}
MATRIX_ENDINGS = (".npz", *_PARSERS)
Matrix: TypeAlias = np.ndarray | sp.coo_array | sp.csr_array


def read_matrix(path: StrPath) -> Matrix:
    """A two-dimensional matrix, sparse if it is stored as such.

    `.npz`: a sparse array from SciPy's `save_npz`, or a NumPy archive with exactly one array;
    `.npy`: an array; `.mtx`: Matrix Market, in coordinate or array format, with its symmetry
    expanded, optionally compressed (`.mtx.gz`). Pickled objects are refused.
    """
    size, (ending, _) = check_file(path).stat().st_size, file_ending(path)
    if ending not in MATRIX_ENDINGS:
        raise InputError(f"{path} must end in one of {', '.join(MATRIX_ENDINGS)}")
    content = read_bytes(path)
    arrays = parse_npz(io.BytesIO(content), size, str(path)) if ending == ".npz" else {}
    try:
        matrix = _PARSERS[ending](content) if ending in _PARSERS else _only_matrix(arrays)
    except InputError as error:
        raise InputError(f"{path} {error}") from None
    if "format" in arrays:
        warn_ignored(str(path), "array", [name for name in arrays if name not in _STORED])
    if matrix.ndim != 2:
        raise InputError(f"{path} contains an array of shape {matrix.shape}, not a matrix")
    check_claim(str(path), "nodes", max(matrix.shape), size, "rows or columns")
    if not sp.issparse(matrix) or matrix.format in ("csr", "coo"):
        return matrix
    return _of_diagonals(matrix) if matrix.format == "dia" else matrix.tocoo()


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


def _only_matrix(arrays: Mapping[str, np.ndarray]) -> Any:
    """The matrix in an archive of NumPy or SciPy."""
    if "format" in arrays:
        return _sparse(arrays)
    if len(arrays) != 1:
        raise InputError(
            f"contains {len(arrays)} arrays ({listing(list(map(repr, arrays)), 4)}); save one "
            "matrix with numpy.savez or scipy.sparse.save_npz"
        )
    return next(iter(arrays.values()))


def _sparse(arrays: Mapping[str, np.ndarray]) -> Any:
    """What `scipy.sparse.save_npz` wrote, checked: SciPy trusts what it is given."""
    written = arrays["format"]
    form = written.item() if written.ndim == 0 and written.dtype.kind in "SU" else None
    form = form.decode("latin1") if isinstance(form, bytes) else form
    if form not in _INDICES:
        raise InputError(f"has the unknown sparse format {form!r}; save it with tocsr()")
    if form == "coo" and "coords" in arrays and len(arrays["coords"]) == 2:
        arrays = {**arrays, "row": arrays["coords"][0], "col": arrays["coords"][1]}
    if lacking := [name for name in ("shape", "data", *_INDICES[form]) if name not in arrays]:
        raise InputError(f"lacks the array {lacking[0]!r} of a sparse {form} matrix")
    data, shape, *indices = (arrays[name] for name in ("data", "shape", *_INDICES[form]))
    return sparse_array(form, data, indices, tuple(shape.ravel().tolist()))


def _of_diagonals(matrix: sp.dia_array) -> sp.coo_array:
    """The stored entries within the matrix; SciPy would visit every row once per diagonal."""
    diagonal, column = np.nonzero(matrix.data)
    row = column - matrix.offsets[diagonal]
    inside = (row >= 0) & (row < matrix.shape[0]) & (column < matrix.shape[1])
    diagonal, row, column = diagonal[inside], row[inside], column[inside]
    return sp.coo_array((matrix.data[diagonal, column], (row, column)), shape=matrix.shape)


def sparse_array(
    form: str, data: np.ndarray, indices: Sequence[np.ndarray], shape: tuple[int, ...]
) -> Any:
    """A sparse array of SciPy from parts that come from outside; an `InputError` lacks the file."""
    check_real(data.dtype, "holds a sparse matrix whose entries")
    try:
        if any(part.dtype.kind not in "iu" for part in indices):
            raise ValueError("its indices are not integers")
        if form in ("csr", "csc", "bsr") and indices[1][-1:].tolist() != [len(indices[0])]:
            raise ValueError("its index pointer does not end with the number of indices")
        parts = (data, tuple(indices)) if form == "coo" else (data, *indices)
        matrix = getattr(sp, f"{form}_array")(parts, shape=shape)
        check_indices(matrix)
        return matrix
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        reason = first_line(error)
        raise InputError(f"does not hold a valid sparse matrix: {reason}") from None


# The arrays that SciPy writes, besides the entries, by format.
_INDICES = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}
_STORED = {"format", "shape", "data", "coords", "_is_array", *chain(*_INDICES.values())}
