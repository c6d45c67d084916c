"""What a small Parquet file states about itself, read without Arrow.

Arrow believes the sizes in a file's footer and page headers, and its accessors of damaged metadata
end the process. Both are Thrift structures in the compact protocol.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from graphgate.errors import InputError
from graphgate.io.limits import allowed, check_claim

_MAGIC = b"PAR1"
_DELTA_BYTE_ARRAY = 7  # each value repeats the beginning of the one before
_DEEPEST = 32
_LONG_TEXT = 40  # how much more than other values such text may claim


class _Chunk(NamedTuple):
    """A column of a row group: the numbers of its fields are those of the format."""

    path: str
    encodings: list[int]
    values: int
    size: int
    start: int


def check_claims(path: Path, size: int) -> set[str]:
    """Refuses a file of `size` bytes whose pages claim too much; the paths of repetitive text.

    The bytes and the values are those of the page headers, which decide what Arrow allocates.
    """
    what = str(path)
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            chunks = list(_chunks(data))
            pages = [page for chunk in chunks for page in _pages(data, chunk)]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        raise InputError(f"{path} cannot be read as Parquet: it is damaged or truncated") from None
    check_claim(what, "values", sum(size for size, _ in pages), size, "bytes")
    check_claim(what, "values", sum(values for _, values in pages), size, "values")
    repetitive = [chunk for chunk in chunks if _DELTA_BYTE_ARRAY in chunk.encodings]
    longest = sum(chunk.values * chunk.size for chunk in repetitive)
    if longest > _LONG_TEXT * allowed("values", size):
        check_claim(what, "values", longest, size, "bytes")
    return {chunk.path for chunk in repetitive}


def _chunks(data: Any) -> Iterator[_Chunk]:
    if data[:4] != _MAGIC or data[-4:] != _MAGIC or len(data) < 12:
        raise ValueError
    length = int.from_bytes(data[-8:-4], "little")
    footer, _ = _structure(data, len(data) - 8 - length)
    for group in footer[4]:
        for column in group[1]:
            meta = column[3]
            values, size, start = (_size(meta[at]) for at in (5, 6, 9))
            if 0 < _size(meta.get(11, 0)) < start:  # the dictionary comes first
                start = meta[11]
            path = ".".join(name.decode() for name in meta[3])
            yield _Chunk(path, list(meta[2]), values, size, start)


def _pages(data: Any, chunk: _Chunk) -> Iterator[tuple[int, int]]:
    """Uncompressed bytes and number of values of each page, as Arrow walks them."""
    at, seen = chunk.start, 0
    while seen < chunk.values:
        header, at = _structure(data, at)
        body = header.get(5) or header.get(8) or {}
        values = _size(body.get(1, 0))
        yield _size(header[2]), values + _size(header.get(7, {}).get(1, 0))
        seen += values
        at += _size(header[3])


def _size(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError
    return value


# --- Thrift's compact protocol -------------------------------------------------------------------


def _structure(data: Any, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """Fields by number, and the position after them."""
    if depth > _DEEPEST or at < 0:
        raise ValueError
    fields: dict[int, Any] = {}
    number = 0
    while True:
        first = data[at]
        at += 1
        if first == 0:
            return fields, at
        if first >> 4:
            number += first >> 4
        else:
            number, at = _zigzag(data, at)
        fields[number], at = _value(data, at, first & 15, depth)


def _value(data: Any, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (1, 2):  # a boolean is its type
        return kind == 1, at
    if kind == 3:
        return data[at], at + 1
    if kind in (4, 5, 6):
        return _zigzag(data, at)
    if kind == 7:
        return data[at : at + 8], at + 8
    if kind == 8:
        length, at = _varint(data, at)
        if at + length > len(data):
            raise ValueError
        return data[at : at + length], at + length
    if kind in (9, 10):
        return _list(data, at, depth)
    if kind == 12:
        return _structure(data, at, depth + 1)
    raise ValueError


def _list(data: Any, at: int, depth: int) -> tuple[list[Any], int]:
    size, kind = data[at] >> 4, data[at] & 15
    at += 1
    if size == 15:
        size, at = _varint(data, at)
    if size > len(data) - at:  # every element takes at least a byte
        raise ValueError
    found = []
    for _ in range(size):
        if kind in (1, 2):
            value, at = data[at] == 1, at + 1
        else:
            value, at = _value(data, at, kind, depth + 1)
        found.append(value)
    return found, at


def _varint(data: Any, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError


def _zigzag(data: Any, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at
