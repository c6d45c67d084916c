"""Matrices in files of NumPy, SciPy and Matrix Market: an adjacency, or the features of nodes."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.io.content import file_ending, read_bytes
from graphgate.io.table import first_line

MATRIX_ENDINGS = (".npz", ".npy", ".mtx")


def is_matrix_file(path: str | os.PathLike[str]) -> bool:
    return file_ending(path)[0] in MATRIX_ENDINGS


def read_matrix(path: str | os.PathLike[str]) -> np.ndarray | sp.coo_array | sp.csr_array:
    """A matrix of two dimensions; sparse where the file holds it so.

    `.npz`: a sparse array of SciPy's `save_npz`, or NumPy's with exactly one array in it; `.npy`:
    an array; `.mtx`: Matrix Market, in coordinates or dense, with its symmetry unfolded. Text may
    be compressed (`.mtx.gz`). Nothing pickled is read.
    """
    ending, _ = file_ending(path)
    content = read_bytes(path)
    readers = {".npz": _npz, ".npy": _npy, ".mtx": _mtx}
    if ending not in readers:
        raise InputError(f"{path} must end in one of {', '.join(readers)}; that names its format")
    try:
        matrix = readers[ending](content)
    except InputError as error:
        raise InputError(f"{path} {error}") from None
    # On damaged files NumPy, SciPy and their decoders raise errors of every kind.
    except Exception as error:
        raise InputError(f"{path} is damaged or no {ending} file: {first_line(error)}") from None
    if matrix.ndim != 2:
        raise InputError(f"{path} holds an array of shape {matrix.shape}; a matrix has two numbers")
    return matrix


def read_adjacency(
    path: str | os.PathLike[str], directed: bool | None = None
) -> tuple[sp.coo_array, bool]:
    """An adjacency, and whether it is directed: as asked for, else by whether it is symmetric."""
    adjacency = read_matrix(path)
    if adjacency.shape[0] != adjacency.shape[1]:
        raise InputError(
            f"{path} holds a matrix of shape {adjacency.shape}, but an adjacency is square; "
            "give it as features, or as an edge table"
        )
    if adjacency.dtype.kind not in "buif":
        raise InputError(f"{path} holds {adjacency.dtype} values; weights are real numbers")
    entries = sp.coo_array(adjacency)
    if adjacency.shape[0] > max(10**7, 100 * entries.nnz):  # a header can ask for any size
        raise InputError(
            f"{path} has {entries.nnz:,} edges between {adjacency.shape[0]:,} nodes; "
            "leave nodes without edges out"
        )
    if directed is None:
        compressed = entries.tocsr()
        directed = bool((compressed != compressed.T).nnz)
    return entries, directed


def _npy(content: bytes) -> np.ndarray:
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


def _npz(content: bytes) -> Any:
    if not content.startswith(b"PK"):
        raise InputError("is no .npz file: it is not a zip archive")
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        names = archive.files
        if "format" in names:
            matrix = sp.load_npz(io.BytesIO(content))
            if hasattr(matrix, "check_format"):  # SciPy does not check indices as it reads
                matrix.check_format(full_check=True)
            return sp.coo_array(matrix) if matrix.format == "coo" else sp.csr_array(matrix)
        if len(names) != 1:
            shown = ", ".join(map(repr, names[:4])) + (", …" * (len(names) > 4))
            raise InputError(
                f"holds {len(names)} arrays ({shown}); save one matrix, by numpy.savez or "
                "scipy.sparse.save_npz"
            )
        matrix = archive[names[0]]
        if not isinstance(matrix, np.ndarray):
            raise InputError(f"holds {names[0]!r}, which is no array")
        return matrix


def _mtx(content: bytes) -> Any:
    rows, columns, entries, form, _, symmetry = scipy.io.mminfo(io.BytesIO(content))
    # Before anything of that size is made: a header can ask for any size.
    least = 4 if form == "coordinate" else 2 if symmetry == "general" else 1  # "1 1\n" or "0\n"
    if least * (entries - rows) > len(content):
        raise InputError(
            f"is cut off: it is to hold {entries:,} entries, but has {len(content):,} bytes"
        )
    if max(rows, columns) >= 2**31:
        raise InputError(f"is to hold a matrix of {rows:,} × {columns:,}, which is too large")
    matrix = scipy.io.mmread(io.BytesIO(content))
    return sp.coo_array(matrix) if sp.issparse(matrix) else np.asarray(matrix)
