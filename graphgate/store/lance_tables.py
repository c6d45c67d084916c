"""LanceDB tables: reading their rows, and keeping them quick to search."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pyarrow as pa

from graphgate.errors import InputError

NUMBER, ID = "_number", "_id"
# The tables, and the columns by which their rows are found.
INDEXED = {"nodes": (NUMBER, ID), "edges": ("source", "target"), "vectors": (NUMBER,)}
AT_ONCE = 20_000  # values in one condition
_STALE = 0.5  # fraction of rows that no index covers, above which indices are rebuilt
_FOREVER = timedelta(days=100 * 365)


class Snapshot:
    """The tables as they are in one version, or as a writer is changing them."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self.tables = dict(tables)

    def read(self, table: str, columns: list[str] | None = None) -> pa.Table:
        """All rows of a table."""
        query = self.tables[table].search()
        return (query if columns is None else query.select(columns)).to_arrow()

    def where(self, table: str, condition: str, columns: list[str] | None = None) -> pa.Table:
        """The rows for which an SQL condition holds."""
        query = self.tables[table].search().where(condition)
        return (query if columns is None else query.select(columns)).to_arrow()

    def find(
        self, table: str, column: str, values: pa.Array, columns: list[str] | None = None
    ) -> pa.Table:
        """The rows in which an indexed column has one of these values, in any order."""
        parts = [
            self.where(table, f"{column} IN ({listed(values[at : at + AT_ONCE])})", columns)
            for at in range(0, max(len(values), 1), AT_ONCE)
        ]
        return pa.concat_tables(parts).combine_chunks()

    def find_long(self, table: str, column: str, values: pa.Array) -> pa.Table:
        """As `find`, of whole rows that are long.

        Rows that no index covers are scanned, and a scan reads all columns that are asked for. So
        the first search asks for none of them.
        """
        found: list[int] = []
        for at in range(0, len(values), AT_ONCE):
            condition = f"{column} IN ({listed(values[at : at + AT_ONCE])})"
            query = self.tables[table].search().where(condition).select([column])
            found += query.with_row_id(True).to_arrow().column("_rowid").to_pylist()
        if not found:
            return self.schema(table).empty_table()
        return self.tables[table].take_row_ids(found).to_arrow().combine_chunks()

    def schema(self, table: str) -> pa.Schema:
        return self.tables[table].schema


def lancedb_module() -> Any:
    try:
        import lancedb
    except ImportError:
        raise InputError("a store needs LanceDB: pip install 'graphgate[store]'") from None
    return lancedb


def listed(values: pa.Array) -> str:
    """Integers or text as a list in SQL; nothing equals NULL."""
    return (
        ", ".join(
            str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
            for value in values.to_pylist()
        )
        or "NULL"
    )


def compact(table: Any, older_than: timedelta = _FOREVER) -> None:
    """Merge small files and update indices; remove versions of the table that are older."""
    table.optimize(cleanup_older_than=older_than, delete_unverified=older_than < _FOREVER)


def keep_indexed(table: Any, columns: tuple[str, ...]) -> None:
    """Rebuild indices that cover too little; rows without an index are found more slowly."""
    for index in table.list_indices():
        if index.columns[0] in columns:
            stats = table.index_stats(index.name)
            total = stats.num_indexed_rows + stats.num_unindexed_rows
            if stats.num_unindexed_rows > _STALE * total:
                compact(table)
                return
