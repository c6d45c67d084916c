"""Several LanceDB tables with one history: a version names the state of all of them.

Every write to a Lance table makes a new version of that table. A version of the whole is a file
that names a version of every table and a model file, with the checksums of all files that these
consist of; writing this file is what commits a change. Whatever a writer that was interrupted has
left behind is named by no version: readers never see it, and the next writer starts from the last
version.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from graphgate.errors import InputError
from graphgate.io.files import StrPath, check_new_folder, complete_folder
from graphgate.store.checksums import synced_checksum, verify
from graphgate.store.consistency import problems_of
from graphgate.store.index_cache import IndexCache
from graphgate.store.lance_manifest import files_of_version
from graphgate.store.lance_tables import (
    INDEXED,
    NUMBER,
    LanceTable,
    LanceTables,
    Snapshot,
    conditions,
    lance_errors,
)
from graphgate.store.layout import (
    TABLES,
    Identity,
    check_layout,
    entries,
    read_identity,
    remove_empty_indices,
    write_identity,
)
from graphgate.store.versions import (
    Version,
    read_version,
    version_numbers,
    version_path,
    write_version,
)

ERASE = "erase"  # the action of a version that must become the only one
_PAIRS_AT_ONCE = 500  # in one condition
_WAIT = 60.0  # seconds for another writer to finish


class Writer(Snapshot):
    """A snapshot of the last version that can be changed; `commit` makes all changes visible.

    last : the last version; None where there is none yet.
    completed : whether an interrupted writer had left versions that are to be forgotten.
    """

    def __init__(self, database: "Database", last: Version | None, number: int) -> None:
        super().__init__(lambda: {} if last is None else database.open_to_write(last))
        self._database, self._last, self._number = database, last, number
        unfinished = last is not None and version_numbers(database.folder)[0] < last.first
        self.completed = unfinished and self.forget()

    @property
    def last(self) -> Version:
        assert self._last is not None
        return self._last

    def version(self, number: int) -> Version:
        """The version of this number."""
        return self._database.version(number)

    def upsert(self, table: str, rows: pa.Table) -> None:
        """Replace the rows with the same numbers, and append the others.

        LanceDB's `merge_insert` does so too, but reads the old rows.
        """
        if len(rows):
            self.delete(table, NUMBER, rows.column(NUMBER))
            self.append(table, rows)

    def append(self, table: str, rows: pa.Table) -> None:
        if len(rows):
            self.tables[table].append(rows)

    def delete(self, table: str, column: str, values: pa.Array) -> None:
        for condition in conditions(column, values):
            self.tables[table].delete(condition)

    def delete_pairs(self, pairs: np.ndarray) -> None:
        """Delete the edges of (E, 2) numbers."""
        for start in range(0, len(pairs), _PAIRS_AT_ONCE):
            some = pairs[start : start + _PAIRS_AT_ONCE].tolist()
            self.tables["edges"].delete(
                " OR ".join(f"(source = {source} AND target = {target})" for source, target in some)
            )

    def replace(self, table: str, rows: pa.Table) -> None:
        """Replace all rows, and perhaps the columns."""
        self.tables[table] = self._database.write_table(table, rows)

    def compact(self) -> None:
        """Keep the same rows in few files."""
        for table in self.tables.values():
            table.compact()

    def commit(
        self,
        action: str,
        details: Mapping[str, Any],
        save_model: Callable[[Path], None] | None = None,
        keep: int | None = None,
    ) -> Version:
        """Make the changes the next version.

        save_model : writes a new model, if there is one.
        keep : how many of the last versions to keep, this one among them. All rows are read before
            the others are forgotten, which then happens at once.
        """
        for name, columns in INDEXED.items():
            self.tables[name].keep_indexed(columns)
        versions = {name: table.version for name, table in self.tables.items()}
        model = f"{self._number:06d}.safetensors"
        if save_model is None:
            model = self.last.model
        else:
            save_model(self._database.folder / "models" / model)
        names = [f"models/{model}"]
        for name, version in versions.items():
            names += self._database.files_of(name, version)
        known = {} if self._last is None else self._last.files
        files = {name: known.get(name) or self._database.synced(name) for name in names}
        made = self._made(action, versions, model, details, files)
        if keep is None:
            return self._append(made)
        self._read(made)
        made = self._append(replace(made, first=max(made.first, made.version - keep + 1)))
        self._last = made
        self.forget()
        return made

    def commit_again(self, version: Version, action: str, details: Mapping[str, Any]) -> Version:
        """Make an older version the next one, if it can be read."""
        self._database.model(version)
        _ = self._database.snapshot(version).tables
        tables, files = version.tables, version.files
        return self._append(self._made(action, tables, version.model, details, files))

    def forget(self) -> bool:
        """Delete every file that no version of the history consists of; whether there was any.

        The files of older versions themselves go at the end, because they are what shows that an
        interrupted writer has not finished.
        """
        folder = self._database.folder
        kept = self._database.history()
        needed = {name for version in kept for name in version.files}
        paths = [
            folder / entry.name
            for entry in entries(folder)
            if entry.content and entry.name not in needed
        ]
        paths += [
            version_path(folder, number)
            for number in version_numbers(folder)
            if number < self.last.first
        ]
        if self.last.action == ERASE:
            IndexCache(self._database.identity).clear()
        with lance_errors(folder):
            for path in paths:
                path.unlink()
            remove_empty_indices(folder)
        return bool(paths)

    def _read(self, version: Version) -> None:
        """Read the rows of a version that is not committed yet, as any other process would."""
        folder = self._database.folder
        reopened = Database(folder)
        reopened.model(version)
        if problems := problems_of(reopened.snapshot(version), version.details):
            raise InputError(f"{folder} is damaged, so nothing was changed: {problems[0]}")

    def _made(
        self,
        action: str,
        tables: dict[str, int],
        model: str,
        details: Mapping[str, Any],
        files: dict[str, str],
    ) -> Version:
        """The next version."""
        first = self._number if self._last is None else self._last.first
        now = datetime.now(UTC)
        return Version(self._number, first, now, action, tables, model, dict(details), files)

    def _append(self, made: Version) -> Version:
        """Write the version that makes a change visible."""
        folder = self._database.folder
        if version_path(folder, made.version).exists():
            raise InputError(f"{folder} was changed by another process meanwhile; try again")
        write_version(folder, made)
        write_identity(folder, Identity(self._database.identity, made.version))
        return made


class Database:
    """The tables in a folder; see `layout` for what else it holds.

    identity : the name of the store for caches.
    """

    def __init__(self, folder: StrPath) -> None:
        self.folder = Path(folder)
        self.identity = read_identity(self.folder).id
        check_layout(self.folder)
        self._lance = LanceTables(self.folder)

    @classmethod
    def create(
        cls,
        folder: StrPath,
        tables: Mapping[str, pa.Table],
        details: Mapping[str, Any],
        save_model: Callable[[Path], None],
    ) -> "Database":
        """Write the first version: to a temporary folder, which then gets the name."""
        target = check_new_folder(folder)
        with complete_folder(target) as temporary:
            for name in ("versions", "models"):
                (temporary / name).mkdir(parents=True)
            write_identity(temporary, Identity.new())
            database = cls(temporary)
            writer = Writer(database, None, 1)
            for name, rows in tables.items():
                writer.replace(name, rows)
            writer.commit("create", details, save_model)
        return cls(target)

    def last_number(self) -> int:
        """The number of the last version."""
        return version_numbers(self.folder)[-1]

    def version(self, number: int | None = None) -> Version:
        """The version of this number; the last one for None."""
        lost = read_identity(self.folder).last  # looked up first, as another may be added meanwhile
        numbers = version_numbers(self.folder)
        if number is None:
            if numbers[-1] < lost:
                raise InputError(
                    f"{version_path(self.folder, lost)} is missing; restore a copy of the store, "
                    f"or roll back to version {numbers[-1]}"
                )
            return read_version(self.folder, numbers[-1])
        first, last = read_version(self.folder, numbers[-1]).first, numbers[-1]
        if not first <= number <= last:
            pruned = 1 <= number < first
            seen = f"version {number} was pruned" if pruned else f"there is no version {number}"
            raise InputError(f"{seen}; there are {first} to {last}")
        if number not in numbers:
            path = version_path(self.folder, number)
            raise InputError(f"{path} is missing; restore a copy of the store")
        return read_version(self.folder, number)

    def history(self) -> list[Version]:
        """All versions, the oldest first."""
        return [
            read_version(self.folder, number)
            for number in self._listed()
            if version_path(self.folder, number).exists()  # or it was pruned meanwhile
        ]

    def _listed(self) -> list[int]:
        """The numbers of the versions that are not forgotten."""
        numbers = version_numbers(self.folder)
        first = read_version(self.folder, numbers[-1]).first
        return [number for number in numbers if number >= first]

    def snapshot(self, version: Version) -> Snapshot:
        """The tables of a version; what they consist of is verified before they are opened."""
        return Snapshot(lambda: self._open(version))

    def model(self, version: Version) -> Path:
        """The model file of a version, verified."""
        name = f"models/{version.model}"
        verify(self.folder, {name: version.files.get(name, "")})
        return self.folder / name

    @contextmanager
    def writing(self, *, last_lost: bool = False) -> Iterator["Writer"]:
        """The only writer; what it decides on, it must look up through the `Writer`.

        last_lost : start from an older version if the last one is missing.
        """
        with self._locked():
            existing = version_numbers(self.folder)[-1]
            number = max(existing, read_identity(self.folder).last)
            last = self.version(existing if last_lost else None)
            yield Writer(self, last, number + 1)

    def write_table(self, name: str, rows: pa.Table) -> LanceTable:
        """Create a table, or replace all its rows and columns."""
        return self._lance.write(name, rows)

    def open_to_write(self, version: Version) -> dict[str, LanceTable]:
        """The tables of a version as the last ones; what came after them was not committed."""
        self._verify(version)
        tables = {}
        for name, number in version.tables.items():
            tables[name] = self._lance.open(name)
            if tables[name].version != number:
                tables[name].checkout(number)
                tables[name].restore()
        return tables

    def files_of(self, name: str, version: int) -> list[str]:
        """The files that a version of a table consists of."""
        folder = f"{name}.lance"
        return [f"{folder}/{file}" for file in files_of_version(self.folder / folder, version)]

    def synced(self, name: str) -> str:
        """The checksum of a file that was just written, and survives a crash from now on."""
        return synced_checksum(self.folder / name)

    def _open(self, version: Version) -> dict[str, LanceTable]:
        self._verify(version)
        return {name: self._lance.open(name, number) for name, number in version.tables.items()}

    def _verify(self, version: Version) -> None:
        """Refuse tables of a version that consist of anything but what was committed."""
        verify(self.folder, version.files_of(*(f"{name}.lance" for name in TABLES)))
        for name, number in version.tables.items():
            if missing := sorted(set(self.files_of(name, number)) - version.files.keys()):
                raise InputError(
                    f"{self.folder / missing[0]} has no checksum; restore a copy of the store"
                )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        import fcntl

        path = self.folder / "lock"
        try:
            file = path.open("a")
        except OSError as error:
            raise InputError(f"{self.folder} cannot be written: {error.strerror}") from None
        with file:
            until = time.monotonic() + _WAIT
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise InputError(
                            f"another process has been writing to {self.folder} for "
                            f"{_WAIT:.0f} s; try again later"
                        ) from None
                    time.sleep(0.05)
            yield  # closing the file releases the lock
