"""The versions of a store: one JSON file each, which appears complete or not at all."""

import json
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from graphgate.errors import InputError
from graphgate.io.files import Schema, check_fields, read_json, write_json
from graphgate.store.layout import TABLES, is_content

_MOST = 2**53  # nodes, edges and versions
_NUMBER = re.compile(r"([0-9]{6,})\.json")
_FIELDS: Schema = {
    **{"version": int, "first": int, "time": str, "action": str, "tables": dict, "model": str},
    **{"details": dict, "files": dict},
}
_DETAILS: Schema = {
    **dict.fromkeys(("n_nodes", "n_edges", "next_number", "exact_since"), int),
    **{"stale_nodes": int, "stale_edges": int, "stale_shift": (int, float)},
}


@dataclass(frozen=True)
class Version:
    """One version of a store.

    version : numbered from 1.
    first : the oldest version of the history that ends with this one.
    action : what made it: create, add, remove, refresh, refit, rollback, prune or erase.
    tables : the version of each table.
    model : the name of the model file.
    details : counts, as plain JSON.
    files : every file that this version consists of, and its checksum.
    """

    version: int
    first: int
    time: datetime
    action: str
    tables: dict[str, int]
    model: str
    details: dict[str, Any]
    files: dict[str, str] = field(repr=False)


NOTHING = Version(0, 1, datetime.min.replace(tzinfo=UTC), "", {}, "", {}, {})  # before the first


def version_numbers(folder: Path) -> list[int]:
    """The numbers of the versions in a store, sorted."""
    try:
        names = os.listdir(folder / "versions")
    except OSError as error:
        raise InputError(f"{folder / 'versions'} cannot be read: {error.strerror}") from None
    numbers = [int(match[1]) for name in names if (match := _NUMBER.fullmatch(name))]
    if not numbers:
        raise InputError(f"{folder} has no versions; restore a copy of the store")
    return sorted(numbers)


def version_path(folder: Path, number: int) -> Path:
    return folder / "versions" / f"{number:06d}.json"


def write_version(folder: Path, version: Version) -> None:
    content = asdict(version) | {"time": version.time.isoformat()}
    path = version_path(folder, version.version)
    write_json(path, {"checksum": _checksum(content), "content": content})


def read_version(folder: Path, number: int) -> Version:
    """The version of this number, which must exist."""
    try:
        return _read(version_path(folder, number), number)
    except InputError as error:
        remedy = "restore a copy of the store, or remove this file and roll back"
        raise InputError(f"{error}; {remedy}") from None


def _read(path: Path, number: int) -> Version:
    what = f"{path} is damaged"
    outer = read_json(path, what)
    check_fields(outer, {"checksum": str, "content": dict}, what, "content")
    content = outer["content"]
    if _checksum(content) != outer["checksum"]:
        raise InputError(what)
    check_fields(content, _FIELDS, what, "content")
    details = {name: content["details"].get(name) for name in _DETAILS}
    check_fields(details, _DETAILS, what, "details")
    check_fields(content["tables"], dict.fromkeys(TABLES, int), what, "tables")
    if not (
        1 <= content["first"] <= content["version"] == number
        and all(0 <= value < _MOST for value in details.values())
        and f"models/{content['model']}" in content["files"]
        and all(0 < table < 2**63 for table in content["tables"].values())
        and all(is_content(name) for name in content["files"])
        and all(isinstance(code, str) for code in content["files"].values())
    ):
        raise InputError(f"{what}: it does not describe a version of a store")
    try:
        time = datetime.fromisoformat(content["time"])
    except ValueError:
        raise InputError(f"{what}: its time is not one") from None
    return Version(**content | {"time": time})


def _checksum(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return f"{zlib.crc32(text.encode()):08x}"
