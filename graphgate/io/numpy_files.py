"""NumPy's .npy and .npz files, parsed without NumPy's own readers.

Those evaluate the header as Python source, believe the size that it states, and raise errors of
many kinds. Here only plain arrays are read: booleans, numbers and text of a fixed width.
"""

import math
import re
import zipfile
from typing import BinaryIO

import numpy as np

from graphgate.errors import InputError
from graphgate.io.files import StrPath, check_file, first_line
from graphgate.io.limits import check_claim

_MAGIC = b"\x93NUMPY"
# The size of the length of the header, by version of the format.
_LENGTH = {1: 2, 2: 4, 3: 4}
_LONGEST = 1 << 16  # bytes of a header
_HEADER = re.compile(
    r"""\{\s*['"]descr['"]\s*:\s*['"]([<>|=]?[?biufcUS]\d{0,9})['"]\s*,"""
    r"""\s*['"]fortran_order['"]\s*:\s*(True|False)\s*,"""
    r"""\s*['"]shape['"]\s*:\s*\(([\d\s,L]*)\)\s*,?\s*\}\s*"""
)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def parse_npy(content: bytes) -> np.ndarray:
    """The array in an .npy file, a read-only view of its bytes; an `InputError` lacks the file."""
    if not content.startswith(_MAGIC) or len(content) < 12:
        raise InputError("is not a .npy file: it does not begin like one")
    width = _LENGTH.get(content[6])
    if width is None:
        raise InputError(f"is a .npy file of version {content[6]}, which is unknown")
    start = 8 + width
    end = start + int.from_bytes(content[8:start], "little")
    if end > min(len(content), start + _LONGEST):
        raise InputError("is a damaged .npy file: its header is truncated or too long")
    found = _HEADER.fullmatch(content[start:end].decode("latin1"))
    if found is None:
        raise InputError("does not contain a plain array of numbers or text; save one of these")
    dtype, shape = _dtype(found[1]), _shape(found[3])
    size = math.prod(shape)
    if size * dtype.itemsize > len(content) - end:
        raise InputError(
            f"is truncated: an array of shape {shape} of {dtype} needs "
            f"{size * dtype.itemsize:,} bytes, but {len(content) - end:,} are there"
        )
    values = np.frombuffer(content, dtype, size, end) if size else np.empty(0, dtype)
    if dtype.kind == "U":
        _check_text(values)
    values = values.reshape(shape, order="F" if found[2] == "True" else "C")
    return values.astype(dtype.newbyteorder("="), copy=False)


def _dtype(code: str) -> np.dtype:
    try:
        dtype = np.dtype(code)
    except (TypeError, ValueError):
        raise InputError(f"contains values of type {code!r}, which is unknown") from None
    if dtype.itemsize == 0:
        raise InputError(f"contains text of width 0 ({code!r})")
    return dtype


def _shape(text: str) -> tuple[int, ...]:
    parts = text.replace("L", "").split(",")  # Python 2 wrote 10L
    sizes = [part.strip() for part in parts if part.strip()]
    if not all(size.isdecimal() and len(size) <= 18 for size in sizes) or len(sizes) > 8:
        raise InputError(f"has the impossible shape ({text[:40]})")
    return tuple(map(int, sizes))


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
    # Damaged archives raise errors of every kind.
    except Exception as error:
        raise InputError(f"{what} is damaged or not an .npz archive: {first_line(error)}") from None
    try:
        return {name: parse_npy(content) for name, content in contents.items()}
    except InputError as error:
        raise InputError(f"{what} {error}") from None


def read_npz(path: StrPath) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name."""
    source = check_file(path)
    try:
        with source.open("rb") as file:
            return parse_npz(file, source.stat().st_size, str(path))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
