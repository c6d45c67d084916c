"""LanceDB tables: reading their rows, keeping them quick to search, and what LanceDB reports."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from graphgate.errors import InputError

NUMBER, ID = "_number", "_id"
# The tables, and the columns by which their rows are found.
INDEXED = {"nodes": (NUMBER, ID), "edges": ("source", "target"), "vectors": (NUMBER,)}
WIDTHS = b"widths"  # the only metadata of a column that a store has
_AT_ONCE = 20_000  # values in one condition
_PAIRS_AT_ONCE = 500
_STALE = 0.5  # fraction of rows that no index covers, above which indices are rebuilt
_ROUNDS = 10  # of compaction, of which three are enough today
_FOREVER = timedelta(days=100 * 365)


class LanceError(InputError):
    """What LanceDB reports, as one sentence without its paths."""

    def __init__(self, folder: Path, error: BaseException) -> None:
        super().__init__(
            f"the tables in {folder} cannot be used: {_reason(error)}; nothing was changed, so try "
            "again, and check the store if it persists"
        )


@contextmanager
def lance_errors(folder: Path) -> Iterator[None]:
    """Whatever LanceDB raises as a `LanceError`."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except BaseException as error:
        # A panic in Rust is not an `Exception`.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise LanceError(folder, error) from None
        raise


class Snapshot:
    """The tables as they are in one version, or as a writer is changing them.

    folder : of the tables, as errors name it.
    open_tables : opens LanceDB's tables when they are first needed.
    """

    def __init__(self, folder: Path, open_tables: Callable[[], dict[str, Any]]) -> None:
        self._folder, self._open_tables = folder, open_tables

    @cached_property
    def tables(self) -> dict[str, Any]:
        return self._open_tables()

    def schema(self, table: str) -> pa.Schema:
        with lance_errors(self._folder):
            return self.tables[table].schema

    def read(
        self, table: str, columns: list[str] | None = None, *, where: str | None = None
    ) -> pa.Table:
        """All rows of a table, or those for which an SQL condition holds."""
        with lance_errors(self._folder):
            return self._query(table, columns, where).to_arrow()

    def batches(self, table: str) -> Iterator[pa.RecordBatch]:
        """All rows, some at a time."""
        with lance_errors(self._folder):
            yield from self._query(table, None, None).to_batches()

    def find(
        self, table: str, column: str, values: pa.Array, columns: list[str] | None = None
    ) -> pa.Table:
        """The rows in which an indexed column has one of these values, in any order."""
        parts = [
            self.read(table, columns, where=condition) for condition in conditions(column, values)
        ] or [self.schema(table).empty_table().select(columns or self.schema(table).names)]
        return pa.concat_tables(parts).combine_chunks()

    def find_long(self, table: str, column: str, values: pa.Array) -> pa.Table:
        """As `find`, of whole rows that are long.

        Rows that no index covers are scanned, and a scan reads all columns that are asked for. So
        the first search asks for none of them.
        """
        row_ids: list[int] = []
        with lance_errors(self._folder):
            for condition in conditions(column, values):
                query = self._query(table, [column], condition).with_row_id(True)
                row_ids += query.to_arrow().column("_rowid").to_pylist()
            if not row_ids:
                return self.schema(table).empty_table()
            return self.tables[table].take_row_ids(row_ids).to_arrow().combine_chunks()

    def _query(self, table: str, columns: list[str] | None, where: str | None) -> Any:
        query = self.tables[table].search()
        if where is not None:
            query = query.where(where)
        return query if columns is None else query.select(columns)


class Draft(Snapshot):
    """The tables as a writer is changing them; nothing is visible before it commits."""

    def __init__(self, lance: "LanceTables", open_tables: Callable[[], dict[str, Any]]) -> None:
        super().__init__(lance.folder, open_tables)
        self._lance = lance

    @property
    def versions(self) -> dict[str, int]:
        """The version of each table."""
        with lance_errors(self._folder):
            return {name: int(table.version) for name, table in self.tables.items()}

    def upsert(self, table: str, rows: pa.Table) -> None:
        """Replace the rows with the same numbers, and append the others.

        LanceDB's `merge_insert` does the same, but reads the old rows.
        """
        self.delete(table, NUMBER, rows.column(NUMBER))
        self.append(table, rows)

    def append(self, table: str, rows: pa.Table) -> None:
        if len(rows):
            with lance_errors(self._folder):
                self.tables[table].add(rows)

    def delete(self, table: str, column: str, values: pa.Array) -> None:
        self._delete(table, conditions(column, values))

    def delete_pairs(self, pairs: np.ndarray) -> None:
        """Delete the edges of (E, 2) numbers."""
        ends = [f"(source = {source} AND target = {target})" for source, target in pairs.tolist()]
        starts = range(0, len(ends), _PAIRS_AT_ONCE)
        self._delete("edges", (" OR ".join(ends[at : at + _PAIRS_AT_ONCE]) for at in starts))

    def _delete(self, table: str, wheres: Iterable[str]) -> None:
        with lance_errors(self._folder):
            for where in wheres:
                self.tables[table].delete(where)

    def replace(self, table: str, rows: pa.Table) -> None:
        """Replace all rows, which may have other columns."""
        self.tables[table] = self._lance.write(table, rows)

    def compact(self) -> None:
        """Rewrite the same rows in few files, and update indices.

        LanceDB does one of both at a time, until there is nothing left to do.
        """
        for table in self.tables.values():
            for _ in range(_ROUNDS):
                before = table.version
                self._optimize(table)
                if table.version == before:
                    break

    def keep_indexed(self) -> None:
        """Rebuild indices that cover too little; rows without an index are found more slowly."""
        with lance_errors(self._folder):
            for table in self.tables.values():
                stats = [table.index_stats(index.name) for index in table.list_indices()]
                rows = [(of.num_indexed_rows, of.num_unindexed_rows) for of in stats]
                if any(without > _STALE * (within + without) for within, without in rows):
                    self._optimize(table)

    def _optimize(self, table: Any) -> None:
        with lance_errors(self._folder):
            table.optimize(cleanup_older_than=_FOREVER)


class LanceTables:
    """The LanceDB tables in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        module = lancedb_module()
        with lance_errors(folder):
            self._connection = module.connect(str(folder.resolve()))

    def open(self, versions: Mapping[str, int], *, to_write: bool = False) -> dict[str, Any]:
        """Versions of tables.

        to_write : make each the last version of its table, so that it can be changed.
        """
        tables = {}
        with lance_errors(self.folder):
            for name, version in versions.items():
                tables[name] = table = self._connection.open_table(name)
                if not to_write or table.version != version:
                    table.checkout(version)
                    if to_write:
                        table.restore()
                _check_schema(table.schema, f"{self.folder}: the table of {name}", name)
        return tables

    def write(self, name: str, rows: pa.Table) -> Any:
        """Create a table, or replace all its rows and columns; with its indices."""
        from lancedb.index import BTree

        with lance_errors(self.folder):
            names = self._connection.list_tables().tables
            mode = "overwrite" if name in names else "create"
            table = self._connection.create_table(name, rows, mode=mode)
            for column in INDEXED[name]:
                table.create_index(column, config=BTree(), replace=True)
        return table


def _reason(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    if code := re.search(r"\(os error (\d+)\)", text):
        return os.strerror(int(code[1]))
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if "not found" in text.lower():
        return "a file is missing, perhaps of a version that was pruned meanwhile"
    return re.sub(r"\S*/\S*", "…", text.splitlines()[0].partition(", /")[0])[:200]


def lancedb_module() -> Any:
    try:
        import lancedb
    except ImportError:
        raise InputError("a store needs LanceDB: pip install 'graphgate[store]'") from None
    return lancedb


def conditions(column: str, values: pa.Array) -> Iterator[str]:
    """Conditions in SQL which together say that a column has one of these values."""
    for at in range(0, len(values), _AT_ONCE):
        some = values[at : at + _AT_ONCE].to_pylist()
        yield f"{column} IN ({', '.join(map(_literal, some))})"


def _literal(value: int | str) -> str:
    """An integer or a text in SQL."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    # The parser reads the digits before the sign, and the smallest integer has none above it.
    return f"({value + 1} - 1)" if value < 0 else str(value)


def _check_schema(schema: pa.Schema, what: str, name: str) -> None:
    """Refuse a table with metadata that LanceDB acts on, or without the columns of a store.

    LanceDB calls what metadata name, such as a model that embeds a column.
    """
    lacking = [column for column in INDEXED[name] if column not in schema.names]
    if schema.metadata or lacking or any(map(_odd, schema)):
        raise InputError(f"{what} has columns that no store has; it was written by something else")


def _odd(field: pa.Field) -> bool:
    """Whether a column, or a part of it, is not of a plain type, or has metadata."""
    return (
        isinstance(field.type, pa.BaseExtensionType)
        or bool(set(field.metadata or ()) - {WIDTHS})
        or any(_odd(field.type.field(at)) for at in range(field.type.num_fields))
    )
