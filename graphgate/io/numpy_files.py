"""NumPy's .npy and .npz files: plain arrays of booleans, numbers and text of a fixed width.

NumPy reads the headers. It allocates what they state, so the content is not read by NumPy.
"""

import io
import math
import zipfile
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy

from graphgate.errors import InputError
from graphgate.io.files import StrPath, check_file, first_line, reading
from graphgate.io.limits import check_claim

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_DIMENSIONS = 8
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def parse_npy(content: bytes) -> np.ndarray:
    """The array in an .npy file, a read-only view of its bytes; an `InputError` lacks the file."""
    file = io.BytesIO(content)
    try:
        major, minor = npy.read_magic(file)
        if (major, minor) not in _HEADERS:
            raise ValueError(f"version {major}.{minor} is unknown")
        shape, fortran, dtype = _HEADERS[major, minor](file)
    except Exception as error:  # of any kind, because NumPy evaluates the header
        raise InputError(f"is not a .npy file, or it is damaged: {first_line(error)}") from None
    if dtype.kind not in "biufcUS" or dtype.itemsize == 0:
        raise InputError("does not contain a plain array of numbers or text; save one of these")
    size, start = math.prod(shape), file.tell()
    if len(shape) > _DIMENSIONS or not all(0 <= length < 2**63 for length in shape):
        raise InputError(f"has the impossible shape {str(shape)[:40]}")
    if size * dtype.itemsize > len(content) - start:
        raise InputError(
            f"is truncated: an array of shape {shape} of {dtype} needs "
            f"{size * dtype.itemsize:,} bytes, but {len(content) - start:,} are there"
        )
    values = np.frombuffer(content, dtype, size, start) if size else np.empty(0, dtype)
    if dtype.kind == "U":
        _check_text(values)
    values = values.reshape(shape, order="F" if fortran else "C")
    return values.astype(dtype.newbyteorder("="), copy=False)


def _check_text(values: np.ndarray) -> None:
    points = np.frombuffer(values.tobytes(), f"{values.dtype.byteorder}u4")
    if ((points > 0x10FFFF) | ((points >= 0xD800) & (points < 0xE000))).any():
        raise InputError("contains text that is not Unicode")


def parse_npz(file: BinaryIO, size: int, what: str) -> dict[str, np.ndarray]:
    """The arrays in an .npz archive of `size` bytes by name; `what` begins messages."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            check_claim(what, "values", sum(info.file_size for info in members), size, "bytes")
            for info in members:
                if info.compress_type not in _METHODS:
                    raise InputError(f"{what} is compressed in an unknown way; save it with NumPy")
            contents = {info.filename.removesuffix(".npy"): archive.read(info) for info in members}
    except InputError:
        raise
    except Exception as error:  # damaged archives raise errors of every kind
        raise InputError(f"{what} is damaged or not an .npz archive: {first_line(error)}") from None
    try:
        return {name: parse_npy(content) for name, content in contents.items()}
    except InputError as error:
        raise InputError(f"{what} {error}") from None


def read_npz(path: StrPath) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name."""
    source = check_file(path)
    with reading(path), source.open("rb") as file:
        return parse_npz(file, source.stat().st_size, str(path))
