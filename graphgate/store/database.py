"""Several LanceDB tables with one history: a version names the state of all of them.

Every write to a Lance table makes a new version of that table. The table `versions` has one row
per version of the whole, which names a version of every other table and a model file; appending
that row is what commits a change. Whatever a writer that was interrupted has left behind is named
by no row: readers never see it, and the next writer starts from the last version that is named.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import InputError
from graphgate.io.columns import one_piece
from graphgate.io.files import StrPath, check_new_folder, complete_folder
from graphgate.store.lance_tables import (
    AT_ONCE,
    ID,
    INDEXED,
    NUMBER,
    Snapshot,
    compact,
    keep_indexed,
    lancedb_module,
    listed,
)

_VERSIONS = "versions"
_SCHEMA = pa.schema(
    [
        ("version", pa.int64()),
        ("time", pa.timestamp("us", "UTC")),
        ("action", pa.string()),
        *((name, pa.int64()) for name in INDEXED),
        ("model", pa.string()),
        ("details", pa.string()),
    ]
)
_ERASING = "erasing"  # among the details while files of older versions are still to be deleted
_NO_TIME = timedelta(milliseconds=1)
_MARGIN = timedelta(minutes=10)  # by which versions must be older than those kept, to be removed
_WAIT = 60.0  # seconds for another writer to finish


@dataclass(frozen=True)
class Version:
    """One version of a store.

    version : numbered from 1.
    action : what made it: create, add, remove, refresh, refit, rollback, prune or erase.
    tables : the version of each table.
    model : the name of the model file.
    details : counts, as plain JSON.
    """

    version: int
    time: datetime
    action: str
    tables: dict[str, int]
    model: str
    details: dict[str, Any]


class Writer(Snapshot):
    """A snapshot of the last version that can be changed; `commit` makes all changes visible.

    resumed : whether an interrupted erasure had to be completed first.
    """

    def __init__(
        self, database: "Database", last: Version, tables: Mapping[str, Any], *, resumed: bool
    ) -> None:
        super().__init__(tables)
        self.last, self.resumed, self._database = last, resumed, database

    def upsert(self, table: str, rows: pa.Table) -> None:
        """Replace the rows with the same numbers, and append the others.

        LanceDB's `merge_insert` does so too, but reads the old rows.
        """
        if len(rows):
            self.delete(table, NUMBER, rows.column(NUMBER))
            self.append(table, rows)

    def append(self, table: str, rows: pa.Table) -> None:
        if len(rows):
            self.tables[table].add(rows)

    def delete(self, table: str, column: str, values: pa.Array) -> None:
        for at in range(0, len(values), AT_ONCE):
            self.tables[table].delete(f"{column} IN ({listed(values[at : at + AT_ONCE])})")

    def delete_pairs(self, pairs: np.ndarray) -> None:
        """Delete the edges of (E, 2) numbers."""
        for start in range(0, len(pairs), 500):
            some = pairs[start : start + 500].tolist()
            self.tables["edges"].delete(
                " OR ".join(f"(source = {source} AND target = {target})" for source, target in some)
            )

    def replace(self, table: str, rows: pa.Table) -> None:
        """Replace all rows, and perhaps the columns."""
        self.tables[table] = self._database.write_table(table, rows)

    def commit(
        self,
        action: str,
        details: Mapping[str, Any],
        save_model: Callable[[Path], None] | None = None,
    ) -> Version:
        """Make the changes the next version; `save_model` writes a new model, if there is one."""
        for name, columns in INDEXED.items():
            keep_indexed(self.tables[name], columns)
        tables = self._versions()
        return self._database.append_version(self.last, action, tables, details, save_model)

    def commit_alone(
        self, action: str, details: Mapping[str, Any], save_model: Callable[[Path], None]
    ) -> Version:
        """Make the changes the only version, and delete every file that belongs to another one.

        All tables must have been replaced.
        """
        tables, model = self._versions(), self._database.save_model(self.last, save_model)
        made = Version(
            self.last.version + 1, datetime.now(UTC), action, tables, model, dict(details)
        )
        self._database.write_history([replace(made, details=made.details | {_ERASING: True})])
        return self._database.end_history(self.tables)

    def _versions(self) -> dict[str, int]:
        return {name: int(table.version) for name, table in self.tables.items()}


class Database:
    """The tables in a folder."""

    def __init__(self, folder: StrPath) -> None:
        self.folder = Path(folder)
        if not (self.folder / f"{_VERSIONS}.lance").is_dir():
            seen = "is not a store" if self.folder.exists() else "does not exist"
            raise InputError(f"{folder} {seen}; create one from a graph first")
        self._connection = lancedb_module().connect(str(self.folder.resolve()))

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
            (temporary / "models").mkdir(parents=True, exist_ok=True)
            connection = lancedb_module().connect(str(temporary.resolve()))
            connection.create_table(_VERSIONS, schema=_SCHEMA)
            database = cls(temporary)
            found = {name: database.write_table(name, rows) for name, rows in tables.items()}
            versions = {name: int(table.version) for name, table in found.items()}
            database.append_version(None, "create", versions, details, save_model)
        return cls(target)

    def history(self) -> list[Version]:
        """All versions, the oldest first."""
        rows = self._connection.open_table(_VERSIONS).search().to_arrow().to_pylist()
        found = [
            Version(
                row["version"],
                row["time"],
                row["action"],
                {name: row[name] for name in INDEXED},
                row["model"],
                json.loads(row["details"]),
            )
            for row in rows
        ]
        return sorted(found, key=lambda each: each.version)

    def snapshot(self, version: Version) -> Snapshot:
        tables = {}
        for name, number in version.tables.items():
            tables[name] = self._connection.open_table(name)
            tables[name].checkout(number)
        return Snapshot(tables)

    def model_path(self, version: Version) -> Path:
        return self.folder / "models" / version.model

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """The only writer; what an interrupted one has left is undone first."""
        with self._locked():
            last, tables = self.history()[-1], {}
            for name, number in last.tables.items():
                tables[name] = self._connection.open_table(name)
                if tables[name].version != number:
                    tables[name].checkout(number)
                    tables[name].restore()
            if resumed := _ERASING in last.details:
                last = self.end_history(tables)
            yield Writer(self, last, tables, resumed=resumed)

    def write_table(self, name: str, rows: pa.Table) -> Any:
        """Create a table, or replace all its rows and columns; with its indices."""
        from lancedb.index import BTree

        names = self._connection.list_tables().tables
        mode = "overwrite" if name in names else "create"
        table = self._connection.create_table(name, rows, mode=mode)
        for column in INDEXED[name]:
            table.create_index(column, config=BTree(), replace=True)
        return table

    def append_version(
        self,
        last: Version | None,
        action: str,
        tables: Mapping[str, int],
        details: Mapping[str, Any],
        save_model: Callable[[Path], None] | None = None,
        model: str | None = None,
    ) -> Version:
        """Append the row that makes a change visible."""
        history = self.history()
        if last is not None and history[-1].version != last.version:
            raise InputError(f"{self.folder} was changed by another process meanwhile; try again")
        number = 1 if last is None else last.version + 1
        name = model or ("" if last is None else last.model)
        if save_model is not None:
            name = self.save_model(last, save_model)
        made = Version(number, datetime.now(UTC), action, dict(tables), name, dict(details))
        self._connection.open_table(_VERSIONS).add(_rows([made]))
        return made

    def save_model(self, last: Version | None, save: Callable[[Path], None]) -> str:
        """Write the model of the version after the last one; returns its name."""
        name = f"{1 if last is None else last.version + 1:06d}.safetensors"
        save(self.folder / "models" / name)
        return name

    def write_history(self, versions: list[Version]) -> None:
        """Replace all rows at once."""
        self._connection.create_table(_VERSIONS, _rows(versions), mode="overwrite")

    def end_history(self, tables: Mapping[str, Any]) -> Version:
        """Delete all files but those of the last version, which is the only one listed."""
        last = self.history()[-1]
        for table in tables.values():
            compact(table, _NO_TIME)
        self._keep_models({last.model})
        details = {name: value for name, value in last.details.items() if name != _ERASING}
        last = replace(last, details=details)
        self.write_history([last])
        compact(self._connection.open_table(_VERSIONS), _NO_TIME)
        return last

    def ever_stored(self, ids: pa.Array) -> np.ndarray:
        """(M,) whether a node with an id is in any version of the table, committed or not."""
        table, found = self._connection.open_table("nodes"), np.zeros(len(ids), dtype=bool)
        for version in table.list_versions():
            table.checkout(version["version"])
            rows = Snapshot({"nodes": table}).find("nodes", ID, ids, [ID])
            found |= pc.is_in(ids, one_piece(rows.column(ID))).to_numpy(zero_copy_only=False)
        return found

    def prune(self, keep: int) -> Version:
        """Make a version with the same content in few files, and forget all but the last `keep`.

        The rows of the versions that go are deleted first. So whenever this is interrupted, every
        version that is still listed can be read.
        """
        if keep < 1:
            raise InputError(f"at least one version must be kept, got keep={keep}")
        with self.writing() as writer:
            for table in writer.tables.values():
                compact(table)
            writer.commit("prune", writer.last.details)
            kept = self.history()[-keep:]
            versions = self._connection.open_table(_VERSIONS)
            versions.delete(f"version < {kept[0].version}")
            for name, table in writer.tables.items():
                first = min(version.tables[name] for version in kept)
                compact(table, _age(table, first) if keep > 1 else _NO_TIME)
            compact(versions, _NO_TIME)
            self._keep_models({version.model for version in kept})
        return kept[-1]

    def _keep_models(self, names: set[str]) -> None:
        for file in (self.folder / "models").iterdir():
            if file.name not in names:
                file.unlink()

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


def _rows(versions: list[Version]) -> pa.Table:
    """Rows of the table of versions."""
    rows = [
        {
            "version": each.version,
            "time": each.time,
            "action": each.action,
            "model": each.model,
            **each.tables,
            "details": json.dumps(each.details, allow_nan=False),
        }
        for each in versions
    ]
    return pa.Table.from_pylist(rows, _SCHEMA)


def find_version(history: list[Version], number: int | None) -> Version:
    """The version of this number; the last one for None."""
    if number is None:
        return history[-1]
    for version in history:
        if version.version == number:
            return version
    first, last = history[0].version, history[-1].version
    seen = (
        f"version {number} was pruned" if 1 <= number < first else f"there is no version {number}"
    )
    raise InputError(f"{seen}; there are {first} to {last}")


def _age(table: Any, version: int) -> timedelta:
    """How old a version of a table is, and some more: LanceDB looks at the clock later."""
    made = next(each["timestamp"] for each in table.list_versions() if each["version"] == version)
    found: timedelta = datetime.now(made.tzinfo) - made
    return found + _MARGIN
