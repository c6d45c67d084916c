"""Tables and queries of SQLite databases, opened read-only."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from graphgate.errors import InputError
from graphgate.io.files import check_file, first_line
from graphgate.io.limits import check_claim
from graphgate.io.tables import Table, python_column

_ROWS = 1 << 16  # fetched at once
_QUERY = re.compile(r"\s*(?:select|with|values)\b", re.IGNORECASE)


def open_sqlite(path: str, query: str) -> Table:
    """The rows of a table, a view, or a query that begins with SELECT, WITH or VALUES."""
    source, what = check_file(path), f"{path}:{query}"
    if not _QUERY.match(query):
        query = 'SELECT * FROM "' + query.replace('"', '""') + '"'
    size = source.stat().st_size
    rows: list[tuple[object, ...]] = []
    try:
        uri = f"{Path(source).resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as database:
            cursor = database.execute(query)
            names = [column[0] for column in cursor.description or ()]
            while some := cursor.fetchmany(_ROWS):
                rows += some
                check_claim(what, "values", len(rows) * len(names), size, "values")
    except sqlite3.Error as error:
        raise InputError(f"{what} cannot be read: {first_line(error)}") from None
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    arrays = [_array(list(values)) for values in columns]
    return Table(pa.table(arrays, names=names), what)


def _array(values: list[object]) -> pa.Array:
    """One column; text where values are of several types, bytes where any of them is."""
    if any(isinstance(value, bytes) for value in values):
        return pa.array([v if isinstance(v, bytes) else None for v in values], pa.binary())
    found = python_column(values)
    return pa.nulls(len(values)) if found is None else found
