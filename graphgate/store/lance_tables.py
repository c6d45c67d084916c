"""LanceDB tables: reading their rows, keeping them quick to search, and what LanceDB reports."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from graphgate.errors import InputError

NUMBER, ID = "_number", "_id"
# The tables, and the columns by which their rows are found.
INDEXED = {"nodes": (NUMBER, ID), "edges": ("source", "target"), "vectors": (NUMBER,)}
WIDTHS = b"widths"  # the only metadata of a column that a store has
_AT_ONCE = 20_000  # values in one condition
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


class LanceTables:
    """The LanceDB tables in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        module = lancedb_module()
        with lance_errors(folder):
            self._connection = module.connect(str(folder.resolve()))

    def open(self, name: str, version: int, *, to_write: bool = False) -> "LanceTable":
        """A version of a table.

        to_write : make it the last version of the table, so that it can be changed.
        """
        with lance_errors(self._folder):
            opened = self._connection.open_table(name)
            if not to_write or opened.version != version:
                opened.checkout(version)
                if to_write:
                    opened.restore()
        table = LanceTable(opened, self._folder)
        _check_schema(table.schema, f"{self._folder}: the table of {name}", name)
        return table

    def write(self, name: str, rows: pa.Table) -> "LanceTable":
        """Create a table, or replace all its rows and columns; with its indices."""
        from lancedb.index import BTree

        with lance_errors(self._folder):
            names = self._connection.list_tables().tables
            mode = "overwrite" if name in names else "create"
            table = self._connection.create_table(name, rows, mode=mode)
            for column in INDEXED[name]:
                table.create_index(column, config=BTree(), replace=True)
        return LanceTable(table, self._folder)


class LanceTable:
    """A table of a store; whatever LanceDB raises becomes a `LanceError`."""

    def __init__(self, table: Any, folder: Path) -> None:
        self._table, self._folder = table, folder

    @property
    def version(self) -> int:
        with lance_errors(self._folder):
            return int(self._table.version)

    @property
    def schema(self) -> pa.Schema:
        with lance_errors(self._folder):
            return self._table.schema

    def rows(self, condition: str | None = None, columns: list[str] | None = None) -> pa.Table:
        """The rows for which an SQL condition holds, or all."""
        with lance_errors(self._folder):
            return self._query(condition, columns).to_arrow()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, some at a time."""
        with lance_errors(self._folder):
            yield from self._query(None, None).to_batches()

    def row_ids(self, condition: str, column: str) -> list[int]:
        """What LanceDB calls the rows for which a condition on a column holds."""
        with lance_errors(self._folder):
            query = self._query(condition, [column]).with_row_id(True)
            found: list[int] = query.to_arrow().column("_rowid").to_pylist()
            return found

    def take(self, row_ids: list[int]) -> pa.Table:
        with lance_errors(self._folder):
            return self._table.take_row_ids(row_ids).to_arrow().combine_chunks()

    def append(self, rows: pa.Table) -> None:
        with lance_errors(self._folder):
            self._table.add(rows)

    def delete(self, condition: str) -> None:
        with lance_errors(self._folder):
            self._table.delete(condition)

    def compact(self) -> None:
        """Merge small files and update indices, until there is nothing left to do.

        LanceDB does one of both at a time.
        """
        for _ in range(_ROUNDS):
            before = self.version
            self._optimize()
            if self.version == before:
                return

    def keep_indexed(self, columns: tuple[str, ...]) -> None:
        """Rebuild indices that cover too little; rows without an index are found more slowly."""
        with lance_errors(self._folder):
            for index in self._table.list_indices():
                if index.columns[0] in columns:
                    stats = self._table.index_stats(index.name)
                    total = stats.num_indexed_rows + stats.num_unindexed_rows
                    if stats.num_unindexed_rows > _STALE * total:
                        self._optimize()
                        return

    def _optimize(self) -> None:
        with lance_errors(self._folder):
            self._table.optimize(cleanup_older_than=_FOREVER)

    def _query(self, condition: str | None, columns: list[str] | None) -> Any:
        query = self._table.search()
        if condition is not None:
            query = query.where(condition)
        return query if columns is None else query.select(columns)


class Snapshot:
    """The tables as they are in one version, or as a writer is changing them.

    open_tables : called when the tables are first needed.
    """

    def __init__(self, open_tables: Callable[[], Mapping[str, LanceTable]]) -> None:
        self._open_tables = open_tables

    @cached_property
    def tables(self) -> dict[str, LanceTable]:
        return dict(self._open_tables())

    def read(self, table: str, columns: list[str] | None = None) -> pa.Table:
        """All rows of a table."""
        return self.tables[table].rows(None, columns)

    def where(self, table: str, condition: str, columns: list[str] | None = None) -> pa.Table:
        """The rows for which an SQL condition holds."""
        return self.tables[table].rows(condition, columns)

    def find(
        self, table: str, column: str, values: pa.Array, columns: list[str] | None = None
    ) -> pa.Table:
        """The rows in which an indexed column has one of these values, in any order."""
        parts = [
            self.where(table, condition, columns) for condition in conditions(column, values)
        ] or [self.schema(table).empty_table().select(columns or self.schema(table).names)]
        return pa.concat_tables(parts).combine_chunks()

    def find_long(self, table: str, column: str, values: pa.Array) -> pa.Table:
        """As `find`, of whole rows that are long.

        Rows that no index covers are scanned, and a scan reads all columns that are asked for. So
        the first search asks for none of them.
        """
        found: list[int] = []
        for condition in conditions(column, values):
            found += self.tables[table].row_ids(condition, column)
        return self.tables[table].take(found) if found else self.schema(table).empty_table()

    def schema(self, table: str) -> pa.Schema:
        return self.tables[table].schema


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
        yield f"{column} IN ({_listed(values[at : at + _AT_ONCE])})"


def _listed(values: pa.Array) -> str:
    """Integers or text as a list in SQL."""
    return ", ".join(map(_literal, values.to_pylist()))


def _literal(value: int | str) -> str:
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
