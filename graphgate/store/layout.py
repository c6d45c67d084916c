"""The folder of a store: which files it may have, and what format they are of.

    store.json                    the format, a name of the store for caches, and its last version
    lock                          locked by the process that writes
    versions/000001.json          what a version consists of; see `records`
    models/000001.safetensors
    nodes.lance/, edges.lance/, vectors.lance/

Nothing but this is accepted in the folder of a store, and no links, so that a store from a stranger
cannot lead to files elsewhere.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from graphgate.errors import InputError
from graphgate.io.files import Schema, check_fields, read_json, write_json
from graphgate.io.replacement import PREFIX, SUFFIX

TABLES = ("nodes", "edges", "vectors")
_FORMAT, _KIND, _VERSION = "store.json", "graphgate store", 1
_MODEL, _RECORD = r"models/[0-9]{6,}\.safetensors", r"versions/[0-9]{6,}\.json"
_UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_TABLE = "|".join(TABLES)
# Names that LanceDB gives to complete files, and those of files that it is still writing.
_COMPLETE = (
    r"data/[0-9a-zA-Z_-]+\.lance",
    r"_versions/[0-9]+\.manifest",
    r"_deletions/[0-9-]+\.(arrow|bin)",
    r"_transactions/[0-9a-f-]+\.txn",
    rf"_indices/{_UUID}/[0-9a-zA-Z_-]+\.lance",
)
_WRITTEN = (
    r"(data|_versions|_deletions|_transactions|_indices|_indices/UUID)/(\.tmp\w+|[\w.-]+#\d+)"
)
_HINT = r"_versions/latest_version_hint\.json"
_PART = f"{re.escape(PREFIX)}[0-9a-f]+{re.escape(SUFFIX)}"
_CONTENT = re.compile(
    rf"{_MODEL}|({_TABLE})\.lance/({'|'.join(_COMPLETE)}|{_WRITTEN.replace('UUID', _UUID)})"
)
_OTHER = re.compile(
    rf"{re.escape(_FORMAT)}|lock|{_RECORD}|({_TABLE})\.lance/{_HINT}|((models|versions)/)?{_PART}"
)
_FOLDERS = re.compile(
    rf"models|versions|({_TABLE})\.lance(/(data|_versions|_deletions|_transactions|"
    rf"_indices(/{_UUID})?))?"
)


class Entry(NamedTuple):
    """A file of a store: its path in the folder, and whether it holds content of versions."""

    name: str
    content: bool


class Identity(NamedTuple):
    """What a store says of itself.

    id : its name for caches.
    last : the last version, or the one before it if a writer was interrupted: if a later one is
        missing, it was lost.
    """

    id: str
    last: int


def write_identity(folder: Path, identity: Identity) -> None:
    content = {"kind": _KIND, "version": _VERSION, **identity._asdict()}
    write_json(folder / _FORMAT, content)


def read_identity(folder: Path) -> Identity:
    """Refuses what is not a store of this format."""
    path = folder / _FORMAT
    if not path.is_file():
        if (folder / "nodes.lance").is_dir():
            raise InputError(
                f"{path} is missing, so the store may be of any format; restore a copy of this "
                "file, or create the store again from its graph"
            )
        seen = "is not a store" if folder.exists() else "does not exist"
        raise InputError(f"{folder} {seen}; create one from a graph first")
    what = f"{path} is damaged"
    content = read_json(path, what)
    if not isinstance(content, dict) or content.get("kind") != _KIND:
        raise InputError(f"{what}: it does not describe a store")
    if content.get("version") != _VERSION:
        raise InputError(
            f"{folder} is a store of format version {content.get('version')!r}, and only "
            f"{_VERSION} is supported; create it again from its graph"
        )
    fields: Schema = {"kind": str, "version": int, "id": str, "last": int}
    check_fields(content, fields, what, "content")
    if not re.fullmatch("[0-9a-f]{32}", content["id"]) or not 0 <= content["last"] < 2**53:
        raise InputError(f"{what}: its id or its last version is not one")
    return Identity(content["id"], content["last"])


def entries(folder: Path) -> Iterator[Entry]:
    """All files of a store; refuses links, and names that a store does not have."""
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        try:
            with os.scandir(folder / inside) as scanned:
                listed = sorted(scanned, key=lambda entry: entry.name)
        except FileNotFoundError:  # pruned meanwhile
            continue
        except OSError as error:
            raise InputError(f"{folder / inside} cannot be read: {error.strerror}") from None
        for entry in listed:
            name = f"{inside}{entry.name}"
            if entry.is_dir(follow_symlinks=False) and _FOLDERS.fullmatch(name):
                waiting.append(f"{name}/")
                continue
            content = is_content(name)
            # It may also be gone since it was listed.
            regular = entry.is_file(follow_symlinks=False) or not os.path.lexists(entry.path)
            if not regular or not (content or _OTHER.fullmatch(name)):
                kind = "a link" if entry.is_symlink() else "not part of a store"
                raise InputError(
                    f"{folder / name} is {kind}; remove it if you know what it is, and do not use "
                    "a store that was changed by others"
                )
            yield Entry(name, content)


def is_content(name: str) -> bool:
    """Whether a path can be that of a file of a version."""
    return _CONTENT.fullmatch(name) is not None
