"""New files and folders that appear complete or not at all, also if the machine crashes.

What is being written has a hidden name beside its target, and its writer holds a lock on it. The
lock ends with the process, however that ends, so the next writer to the same folder recognizes what
a killed one has left, and removes it.
"""

import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

PREFIX, SUFFIX = ".graphgate.", ".part"


def new_file(target: Path) -> AbstractContextManager[Path]:
    """The path of an empty file that replaces `target` if the block succeeds, else is removed.

    The caller opens it, so that it has the permissions of any other new file.
    """
    return _complete(target, lambda path: path.touch(exist_ok=False))


def new_folder(target: Path) -> AbstractContextManager[Path]:
    """An empty folder that is renamed to `target` if the block succeeds, else is removed."""
    return _complete(target, Path.mkdir)


def append(path: Path, line: bytes) -> None:
    """Append a line that ends a file completely or not at all; other processes may do the same.

    What a killed process has left of its line is removed.
    """
    with path.open("ab+", buffering=0) as file:
        with suppress(OSError):  # without locks, there must be one process
            fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        complete = file.read().rfind(b"\n") + 1
        file.truncate(complete)
        if file.write(line) < len(line):  # a full disk
            file.truncate(complete)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file.fileno())
    _sync(path.parent)


@contextmanager
def _complete(target: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """A hidden path beside the target, locked, that gets its name if the block succeeds."""
    _remove_leftovers(target.parent)
    path, descriptor = _locked(target.parent, make)
    try:
        yield path
        os.fsync(descriptor)  # otherwise a crash may leave the name without the content
        os.replace(path, target)
    finally:
        _remove(path)
        os.close(descriptor)
    _sync(target.parent)


def _locked(folder: Path, make: Callable[[Path], None]) -> tuple[Path, int]:
    while True:
        path = folder / f"{PREFIX}{secrets.token_hex(4)}{SUFFIX}"
        make(path)
        with suppress(FileNotFoundError):  # another writer took it for a leftover
            descriptor = os.open(path, os.O_RDONLY)
            with suppress(OSError):  # without locks, nobody removes it either
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if path.exists():
                return path, descriptor
            os.close(descriptor)


def _remove_leftovers(folder: Path) -> None:
    for entry in os.scandir(folder):
        if not (entry.name.startswith(PREFIX) and entry.name.endswith(SUFFIX)):
            continue
        with suppress(OSError):
            descriptor = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(Path(entry.path))
            finally:
                os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """Let a new name in the folder survive a crash; some file systems cannot do this."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
