"""A table in memory: pandas, Polars, Arrow, or whatever speaks Arrow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from graphgate.errors import InputError
from graphgate.io.table import Table, check_names, first_line


class Frame(Table):
    """An Arrow table; places in it are row numbers from 0."""

    def __init__(self, frame: Any, what: str) -> None:
        self.what = what
        self._table = _arrow_table(frame, what)
        self.names = check_names(what, self._table.column_names)

    def columns(
        self, names: Sequence[str], *, text: Iterable[str] = (), numbers: Iterable[str] = ()
    ) -> Iterator[tuple[str, pa.ChunkedArray]]:
        for name in names:
            yield name, self._table.column(name)

    def place(self, row: int) -> str:
        return f"row {row}"


def _arrow_table(frame: Any, what: str) -> pa.Table:
    """An index of pandas that has a name is a column; one that has none is a row number."""
    try:
        if isinstance(frame, pa.Table):
            return frame
        if type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "columns"):
            named = any(name is not None for name in frame.index.names)
            frame = frame.reset_index() if named else frame
            check_names(what, list(frame.columns))  # Arrow would spell out any name
            return pa.Table.from_pandas(frame, preserve_index=False)
        if hasattr(frame, "to_arrow"):
            found = frame.to_arrow()
            return found if isinstance(found, pa.Table) else pa.table(found)
        if hasattr(frame, "__arrow_c_stream__"):
            return pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{what} cannot be read as a table: {_told(error)}") from None
    raise InputError(
        f"{what} must be a data frame of pandas or Polars or an Arrow table, "
        f"got {type(frame).__name__}"
    )


def _told(error: Exception) -> str:
    """pandas' columns are named in the second part of Arrow's answer."""
    found = re.search(r"failed for column (.+) with type object", str(error))
    if found:
        return f"column {found[1]!r} holds values of several kinds; make all numbers, or all text"
    parts = [str(part).strip() for part in error.args if str(part).strip()]
    return "; ".join(part.splitlines()[0] for part in parts) or first_line(error)
