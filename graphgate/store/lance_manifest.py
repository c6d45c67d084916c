"""Which files a version of a Lance table consists of.

A version is described by a manifest, a file of Protocol Buffers whose messages are published with
Lance's table format. Of these, only the names of files are read here. The other files never change:
a change of the table writes further files, and another manifest.
"""

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from graphgate.errors import InputError

_MAGIC = b"LANC"
_DELETION_ENDINGS = (".arrow", ".bin")
# Of the features that a reader must support: deletion files, the second format of files, and
# settings of tables. Rows with stable ids, and files outside the folder, are not written by us.
_SUPPORTED = 1 | 4 | 8 | 32
_NAME = re.compile(r"[0-9A-Za-z_-]+\.(lance|txn)")
# Numbers of the fields of messages.
_FRAGMENTS, _INDICES, _FLAGS, _TRANSACTION, _BASES = 2, 6, 9, 12, 18
_FRAGMENT_ID, _DATA_FILES, _DELETIONS = 1, 2, 3
_DELETION_TYPE, _DELETION_VERSION, _DELETION_ID = 1, 2, 3
_INDEX_ID = 1


def files_of_version(table: Path, version: int) -> list[str]:
    """The files of a version, as paths in the folder of the table, the manifest first."""
    manifest = f"_versions/{2**64 - 1 - version:020d}.manifest"
    try:
        content = (table / manifest).read_bytes()
    except OSError as error:
        raise InputError(f"{table / manifest} cannot be read: {error.strerror}") from None
    try:
        return [manifest, *_named(content, table)]
    except (ValueError, LookupError, TypeError, OSError, struct.error) as error:
        raise InputError(
            f"{table / manifest} is damaged, or of a version of LanceDB that is not supported: "
            f"{error}"
        ) from None


def _named(content: bytes, table: Path) -> Iterator[str]:
    if content[-4:] != _MAGIC:
        raise ValueError("it does not end as a manifest")
    (start,) = struct.unpack("<Q", content[-16:-8])
    for field, value in _fields(_message(content, start)):
        if field == _BASES or (field == _FLAGS and value & ~_SUPPORTED):
            raise ValueError("it uses features that stores do not")
        if field == _FRAGMENTS:
            yield from _fragment_files(value)
        elif field == _INDICES:
            for _, index in _fields(_message(content, value)):
                yield from _index_files(index, table)
        elif field == _TRANSACTION and value:
            yield f"_transactions/{_checked(value)}"


def _fragment_files(message: bytes) -> Iterator[str]:
    fields = list(_fields(message))
    number = dict(fields).get(_FRAGMENT_ID, 0)
    for field, value in fields:
        if field == _DATA_FILES:
            yield f"data/{_checked(dict(_fields(value))[1])}"
        elif field == _DELETIONS:
            parts = dict(_fields(value))
            ending = _DELETION_ENDINGS[parts.get(_DELETION_TYPE, 0)]
            version, name = parts.get(_DELETION_VERSION, 0), parts.get(_DELETION_ID, 0)
            yield f"_deletions/{number}-{version}-{name}{ending}"


def _index_files(message: bytes, table: Path) -> Iterator[str]:
    """All files in the folder of an index; manifests of older versions do not list them."""
    folder = f"_indices/{UUID(bytes=dict(_fields(dict(_fields(message))[_INDEX_ID]))[1])}"
    yield from sorted(f"{folder}/{file.name}" for file in (table / folder).glob("*.lance"))


def _checked(name: bytes) -> str:
    text = name.decode("ascii")
    if not _NAME.fullmatch(text):
        raise ValueError(f"it names {text!r}")
    return text


# --- Protocol Buffers ----------------------------------------------------------------------------


def _message(content: bytes, start: int) -> bytes:
    """A message with its length before it."""
    (length,) = struct.unpack_from("<I", content, start)
    if start + 4 + length > len(content):
        raise ValueError("it is truncated")
    return content[start + 4 : start + 4 + length]


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: numbers, and integers or bytes."""
    at = 0
    while at < len(message):
        key, at = _integer(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _integer(message, at)
            yield key >> 3, value
            continue
        if kind == 2:
            size, at = _integer(message, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError(f"it has a field of type {kind}")
        if at + size > len(message):
            raise ValueError("it is truncated")
        yield key >> 3, message[at : at + size]
        at += size


def _integer(message: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits per byte, and where it ends."""
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
