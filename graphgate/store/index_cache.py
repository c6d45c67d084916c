"""Indices of vectors in the user's cache: an index is parsed by native code, so none that came with
a store is ever read.

There is one per store, under the checksum of the vectors that it was built from; an index that is
not used is removed when others need the space.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from graphgate.io.files import cache_folder
from graphgate.store.checksums import checksum

_ENDING = ".usearch"
MOST = 4 << 30  # bytes of all indices, but the newest may be larger


class IndexCache:
    """The cached index of a store.

    identity : the name of the store for caches.
    """

    def __init__(self, identity: str) -> None:
        self.folder = cache_folder("indices") / identity

    def find(self, key: str) -> Path | None:
        """The file of the index with this key, None if there is none without damage."""
        for path in self.folder.glob(f"{key}.*{_ENDING}"):
            with suppress(OSError):
                if path.name == _name(key, path):
                    os.utime(path)
                    return path
        return None

    def keep(self, key: str, save: Callable[[str], Any]) -> None:
        """Store an index in place of older ones; a cache that cannot be written is no error."""
        with suppress(OSError, RuntimeError):  # usearch raises the latter
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            part = self.folder / f".{os.getpid()}.part"
            try:
                save(str(part))
                kept = self.folder / _name(key, part)
                os.replace(part, kept)
            finally:
                part.unlink(missing_ok=True)
            for path in self.folder.iterdir():
                if path != kept:
                    path.unlink(missing_ok=True)
            _make_room(self.folder.parent)

    def clear(self) -> None:
        """Remove what is cached of the store."""
        with suppress(FileNotFoundError):
            for path in self.folder.iterdir():
                path.unlink(missing_ok=True)


def _name(key: str, path: Path) -> str:
    return f"{key}.{checksum(path, again=True)}{_ENDING}"


def _make_room(folder: Path) -> None:
    """Remove the indices that were not used for longest, until the others fit."""
    states = {path: path.stat() for path in folder.glob(f"*/*{_ENDING}")}
    total = 0
    for path in sorted(states, key=lambda path: -states[path].st_mtime_ns):
        total += states[path].st_size
        if total > MOST and total > states[path].st_size:
            path.unlink(missing_ok=True)
