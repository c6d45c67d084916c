"""Several LanceDB tables with one history: a version names the state of all of them.

Every write to a Lance table makes a new version of that table. A version of the store is a file
that names a version of every table and a model, with the checksums of all files that these consist
of; writing this file commits a change. What an interrupted writer leaves behind belongs to no
version: readers never see it, and the next writer starts from the last version.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from graphgate.errors import InputError
from graphgate.io.files import StrPath, check_new_folder, complete_folder
from graphgate.io.id_columns import rows_of
from graphgate.store.checksums import synced_checksum, verify
from graphgate.store.consistency import problems_of
from graphgate.store.index_cache import IndexCache
from graphgate.store.lance_manifest import files_of_version
from graphgate.store.lance_tables import ID, Draft, LanceTables, Snapshot, lance_errors
from graphgate.store.layout import (
    Identity,
    entries,
    read_identity,
    write_identity,
)
from graphgate.store.versions import (
    NOTHING,
    Version,
    read_version,
    version_numbers,
    version_path,
    write_version,
)

ERASE = "erase"  # the action of a version that replaces the history before it
_WAIT = 60.0  # seconds for another writer to finish


class Writer(Draft):
    """The last version as it is being changed; `commit` makes all changes visible.

    last : the last version.
    number : of the version that `commit` makes.
    completed : whether an interrupted writer had left versions that were to be deleted.
    """

    def __init__(self, database: "Database", last: Version, number: int) -> None:
        super().__init__(database.lance, lambda: database.open_tables(last, to_write=True))
        self.last, self.number = last, number
        self._database, self.completed = database, False

    def commit(
        self,
        action: str,
        details: Mapping[str, Any],
        save_model: Callable[[Path], None] | None = None,
        keep: int | None = None,
    ) -> Version:
        """Make the changes the next version.

        save_model : writes a new model, if there is one.
        keep : number of versions to keep, this one included; all of its rows are read before older
            versions are deleted.
        """
        model = self.last.model
        if save_model is not None:
            model = f"{self.number:06d}.safetensors"
            save_model(self._folder / "models" / model)
        self.keep_indexed()
        tables = self.versions
        names = [f"models/{model}", *self._database.files_of(tables)]
        known = self.last.files
        files = {name: known.get(name) or synced_checksum(self._folder / name) for name in names}
        content = replace(self.last, tables=tables, model=model, files=files)
        if keep is None:
            return self._append(content, action, details)
        reopened = Database(self._folder)  # which reads all of it as any other process would
        reopened.model(content)
        if problems := problems_of(reopened.snapshot(content), details):
            raise InputError(f"{self._folder} is damaged, so nothing was changed: {problems[0]}")
        content = replace(content, first=max(content.first, self.number - keep + 1))
        self.last = self._append(content, action, details)
        self.forget()
        return self.last

    def commit_again(self, version: Version, action: str, details: Mapping[str, Any]) -> Version:
        """Make an older version the next one, if it can be read."""
        self._database.model(version)
        self._database.open_tables(version)
        return self._append(replace(version, first=self.last.first), action, details)

    def forget(self) -> bool:
        """Delete every file that no version of the history consists of; whether there was any.

        The files of older versions themselves go last: they show that an interrupted writer has not
        finished.
        """
        needed = {name for version in self._database.history() for name in version.files}
        unneeded = [
            self._folder / entry.name
            for entry in entries(self._folder)
            if entry.content and entry.name not in needed
        ]
        unneeded += [
            version_path(self._folder, number)
            for number in version_numbers(self._folder)
            if number < self.last.first
        ]
        if self.last.action == ERASE:
            IndexCache(self._database.identity).clear()
        with lance_errors(self._folder):
            for path in unneeded:
                path.unlink()
            for path in self._folder.glob("*.lance/_indices/*"):
                with suppress(OSError):  # it is not empty
                    path.rmdir()
        return bool(unneeded)

    def _append(self, content: Version, action: str, details: Mapping[str, Any]) -> Version:
        """Write the file of the next version, which makes it visible.

        content : a version with its tables, model and files.
        """
        version = replace(
            content,
            version=self.number,
            time=datetime.now(UTC),
            action=action,
            details=dict(details),
        )
        if version_path(self._folder, self.number).exists():
            raise InputError(f"{self._folder} was changed by another process meanwhile; try again")
        write_version(self._folder, version)
        write_identity(self._folder, Identity(self._database.identity, self.number))
        return version


class Database:
    """The tables in a folder; see `layout` for what else the folder holds.

    identity : the name of the store for caches.
    """

    def __init__(self, folder: StrPath) -> None:
        self.folder = Path(folder)
        self.identity = read_identity(self.folder).id
        list(entries(self.folder))  # refuses links, and anything that a store does not have
        self.lance = LanceTables(self.folder)
        self._versions: dict[int, Version] = {}  # that were read, which never change

    @classmethod
    def create(
        cls,
        folder: StrPath,
        tables: Mapping[str, pa.Table],
        details: Mapping[str, Any],
        save_model: Callable[[Path], None],
    ) -> Version:
        """Write the first version: to a temporary folder, which then gets the name."""
        target = check_new_folder(folder)
        with complete_folder(target) as temporary:
            for name in ("versions", "models"):
                (temporary / name).mkdir(parents=True)
            write_identity(temporary, Identity(secrets.token_hex(16), 0))
            writer = Writer(cls(temporary), NOTHING, 1)
            for name, rows in tables.items():
                writer.replace(name, rows)
            return writer.commit("create", details, save_model)

    def version(self, number: int | None = None) -> Version:
        """The version of this number; the last one for None."""
        # Looked up first, as another process may add a version meanwhile.
        written = read_identity(self.folder).last
        numbers, last = self._last()
        if number is None:
            if last.version < written:
                raise InputError(
                    f"{version_path(self.folder, written)} is missing; restore a copy of the "
                    f"store, or roll back to version {last.version}"
                )
            return last
        if not last.first <= number <= last.version:
            pruned = 1 <= number < last.first
            seen = f"version {number} was pruned" if pruned else f"there is no version {number}"
            raise InputError(f"{seen}; there are {last.first} to {last.version}")
        if number not in numbers:
            path = version_path(self.folder, number)
            raise InputError(f"{path} is missing; restore a copy of the store")
        return self._read(number)

    def history(self) -> list[Version]:
        """All versions, the oldest first."""
        numbers, last = self._last()
        return [
            self._read(number)
            for number in numbers
            # It may have been pruned meanwhile.
            if number >= last.first and version_path(self.folder, number).exists()
        ]

    def never_stored(self, ids: pa.ChunkedArray) -> list[Any]:
        """Those of the ids that no version that can be read has."""
        ever = np.zeros(len(ids), dtype=bool)
        for version in self.history():
            with suppress(InputError):
                known = self.snapshot(version).find("nodes", ID, ids, [ID])
                ever |= rows_of(known.column(ID), ids) >= 0
        never: list[Any] = ids.filter(pa.array(~ever)).to_pylist()
        return never

    def snapshot(self, version: Version) -> Snapshot:
        """The tables of a version, which are verified before they are opened."""
        return Snapshot(self.folder, lambda: self.open_tables(version))

    def model(self, version: Version) -> Path:
        """The model file of a version, verified."""
        name = f"models/{version.model}"
        verify(self.folder, {name: version.files.get(name, "")})
        return self.folder / name

    @contextmanager
    def writing(self, *, last_lost: bool = False) -> Iterator["Writer"]:
        """The only writer; what it decides on, it must look up while it is this writer.

        last_lost : start from an older version if the last one is missing.
        """
        with self._locked():
            numbers = version_numbers(self.folder)
            last = self.version(numbers[-1] if last_lost else None)
            number = max(numbers[-1], read_identity(self.folder).last) + 1
            writer = Writer(self, last, number)
            writer.completed = numbers[0] < last.first and writer.forget()
            yield writer

    def open_tables(self, version: Version, *, to_write: bool = False) -> dict[str, Any]:
        """Open the tables of a version, after verifying the files that they consist of.

        to_write : make it the last version of each table; later ones were not committed.
        """
        model = f"models/{version.model}"
        verify(self.folder, {name: code for name, code in version.files.items() if name != model})
        if missing := sorted(set(self.files_of(version.tables)) - version.files.keys()):
            raise InputError(
                f"{self.folder / missing[0]} has no checksum; restore a copy of the store"
            )
        return self.lance.open(version.tables, to_write=to_write)

    def files_of(self, tables: Mapping[str, int]) -> list[str]:
        """The files that versions of tables consist of."""
        return [
            f"{name}.lance/{file}"
            for name, number in tables.items()
            for file in files_of_version(self.folder / f"{name}.lance", number)
        ]

    def _last(self) -> tuple[list[int], Version]:
        """The numbers of the versions, and the last one, which may be pruned before it is read."""
        while True:
            numbers = version_numbers(self.folder)
            try:
                return numbers, self._read(numbers[-1])
            except InputError:
                if version_numbers(self.folder)[-1] == numbers[-1]:
                    raise

    def _read(self, number: int) -> Version:
        if number not in self._versions:
            self._versions[number] = read_version(self.folder, number)
        return self._versions[number]

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
