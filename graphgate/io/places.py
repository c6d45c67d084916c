"""Places that something can be written to, checked before any work is done."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from graphgate.errors import InputError

StrPath = str | os.PathLike[str]


def check_output_path(path: StrPath, endings: Sequence[str]) -> Path:
    """Refuses a path to which no file of these kinds can be written."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a directory; name a file in it")
    if target.suffix.lower() not in endings:
        *first, last = endings
        named = f"{', '.join(first)} or {last}" if first else last
        raise InputError(f"{target} must end in {named}; that names its format")
    check_parent(target)
    return target


def check_new_folder(path: StrPath) -> Path:
    """Refuses a path at which no new folder can be made."""
    target = Path(path)
    if target.exists() or target.is_symlink():
        raise InputError(f"{target} is there already; name a new folder, or remove it first")
    check_parent(target)
    return target


def check_parent(target: Path) -> None:
    folder = target.parent
    if not folder.is_dir():
        problem = "is not a directory" if folder.exists() else "does not exist"
        raise InputError(f"{target} cannot be written: {folder} {problem}; make it first")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{target} cannot be written: no permission to write into {folder}")
