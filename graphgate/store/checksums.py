"""Checksums of files, by which damage is noticed before anything is read from them."""

import os
import zlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from graphgate.errors import InputError

_PIECE = 1 << 20


def checksum(path: Path, *, again: bool = False) -> str:
    """The size of a file and its CRC-32, as text.

    A file is read once per process, unless it has changed.

    again : read it in any case.
    """
    state = os.stat(path, follow_symlinks=False)
    compute = _computed.__wrapped__ if again else _computed
    return compute(path, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


def synced_checksum(path: Path) -> str:
    """The checksum of a file that was just written, and that from now on survives a crash."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return checksum(path)


def damage(path: Path, expected: str, *, again: bool = False) -> str | None:
    """What is wrong with a file; None if nothing is."""
    try:
        return None if checksum(path, again=again) == expected else "is damaged"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def verify(folder: Path, files: Mapping[str, str]) -> None:
    """Refuse files, given by name, that do not have these checksums."""
    for name, expected in files.items():
        if (seen := damage(folder / name, expected)) is not None:
            raise InputError(
                f"{folder / name} {seen}; return to a version that does not need this file, or "
                "restore a copy of the store"
            )


@lru_cache(maxsize=1 << 16)
def _computed(path: Path, *_: int) -> str:
    code = size = 0
    piece = memoryview(bytearray(_PIECE))
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(piece):
            code, size = zlib.crc32(piece[:count], code), size + count
    return f"{size}-{code:08x}"
