"""A Parquet file, read a few columns at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from graphgate.errors import InputError
from graphgate.io.table import StrPath, Table, check_file, check_names, first_line

ENDINGS = (".parquet", ".pq")
_INDEX = re.compile(r"__index_level_\d+__")
_TOGETHER = 8  # columns that are read at once: two threads are busy, and little memory is taken


class ParquetFile(Table):
    """A readable Parquet file; places in it are row numbers from 0."""

    def __init__(self, path: Path) -> None:
        self.path, self.what = path, str(path)
        with self._explained():
            self._file = pyarrow.parquet.ParquetFile(path, pre_buffer=False)
            names = check_names(self.what, self._file.schema_arrow.names)
        # An index of pandas that has no name is a row number, not a column.
        self.names = [name for name in names if not _INDEX.fullmatch(name)]

    @classmethod
    def open(cls, path: StrPath) -> ParquetFile:
        return cls(check_file(path))

    def columns(
        self, names: Sequence[str], *, text: Iterable[str] = (), numbers: Iterable[str] = ()
    ) -> Iterator[tuple[str, pa.ChunkedArray]]:
        for start in range(0, len(names), _TOGETHER):
            some = list(names[start : start + _TOGETHER])
            with self._explained():
                table = self._file.read(columns=some)
                _check_text(table)
            for name in some:
                yield name, table.column(name)

    def place(self, row: int) -> str:
        return f"row {row}"

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or first_line(error)
            raise InputError(f"{self.path} cannot be read as Parquet: {reason}") from None


def _check_text(table: pa.Table) -> None:
    """Nobody else looks whether text is UTF-8 before it is needed."""
    for column in table.columns:
        kind = column.type
        if not (pa.types.is_primitive(kind) or pa.types.is_null(kind)):
            column.validate(full=True)
