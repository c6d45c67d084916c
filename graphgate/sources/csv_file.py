"""A CSV file with a header, read fast, and explained line by line where it cannot be."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pyarrow.csv

from graphgate.errors import InputError

BLOCK = 1 << 24  # bytes; a row must fit into one, and rows of ten thousand columns exist


class CsvFile:
    """A readable UTF-8 file whose header was found good; `header` are its column names.

    Arrow reads the rows. Only if it fails is the file walked in Python, to name the line: so a
    good file is read at full speed and a bad one gets a message that helps.
    """

    def __init__(self, path: Path, header: list[str]) -> None:
        self.path = path
        self.header = header

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> CsvFile:
        path = Path(path)
        if path.is_dir():
            raise InputError(f"{path} is a directory; name the CSV file in it")
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                header = next((row for row in csv.reader(file) if row), None)
        except FileNotFoundError:
            raise InputError(f"{path} does not exist; check the path") from None
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            _check_encoding(path)
            raise
        except csv.Error as error:
            raise InputError(f"{path} has a header that is not CSV: {error}") from None
        if header is None:
            raise InputError(f"{path} is empty; its first line must name the columns")
        for at, name in enumerate(header, start=1):
            if not name.strip():
                raise InputError(
                    f"column {at} of {path} has no name; name it, or write the table without "
                    "its index"
                )
            if header.index(name) != at - 1:
                raise InputError(f"{path} has two columns named {name!r}; rename or remove one")
        return cls(path, header)

    def require(self, *names: str) -> None:
        for name in names:
            if name not in self.header:
                shown = ", ".join(map(repr, self.header[:5])) + (", …" * (len(self.header) > 5))
                raise InputError(
                    f"{self.path} has no column {name!r}; its columns are {shown} "
                    "(columns are parted by commas)"
                )

    def read(self, numeric: list[str]) -> pa.Table:
        """All rows; the numeric columns as float64, the others as text, nothing missing."""
        types = {name: pa.float64() if name in numeric else pa.string() for name in self.header}
        try:
            if next(self._rows(), None) is None:  # Arrow refuses a header without a line end
                return pa.schema(types.items()).empty_table()
            with self.path.open("rb") as file:
                table = pyarrow.csv.read_csv(
                    file,
                    pyarrow.csv.ReadOptions(block_size=BLOCK),
                    pyarrow.csv.ParseOptions(newlines_in_values=True),
                    # Only an empty cell is missing; "NA" in a numeric column is a wrong value.
                    pyarrow.csv.ConvertOptions(
                        column_types=types, null_values=[""], strings_can_be_null=False
                    ),
                )
        except csv.Error as error:
            raise InputError(f"{self.path} cannot be read as CSV: {error}") from None
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            self._explain(numeric, str(error))
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}") from None
        for name in numeric:
            column = table.column(name)
            if column.null_count:
                row = column.is_null().index(True).as_py()
                self.refuse_cell(row, name, "must hold a number; fill it or drop the line")
        return table

    def line(self, row: int) -> int:
        """The line of the file on which row 0, 1, … stands; empty lines are no rows."""
        return next(line for at, (line, _) in enumerate(self._rows()) if at == row)

    def refuse_cell(self, row: int, name: str, problem: str) -> NoReturn:
        line, cells = next(found for at, found in enumerate(self._rows()) if at == row)
        value = cells[self.header.index(name)]
        seen = repr(value) if value else "the empty cell"
        raise InputError(f"{self.path}, line {line}, column {name!r}: {seen} {problem}")

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and cells of every row below the header."""
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            rows = ((reader.line_num, cells) for cells in reader if cells)
            next(rows)
            yield from rows

    def _explain(self, numeric: list[str], otherwise: str) -> NoReturn:
        """Says what Arrow stumbled over, in the words and with the line that its user needs."""
        _check_encoding(self.path)
        for row, (line, cells) in enumerate(self._rows()):
            if len(cells) != len(self.header):
                raise InputError(
                    f"{self.path}, line {line}: {len(cells)} cell(s), but the header names "
                    f"{len(self.header)} columns; mend the line"
                )
            for name, value in zip(self.header, cells, strict=True):
                if name in numeric and value and not _is_number(value):
                    self.refuse_cell(row, name, "is not a number; mend the cell or drop the column")
        raise InputError(f"{self.path} cannot be read as CSV: {otherwise.splitlines()[0]}")


def _is_number(value: str) -> bool:
    try:
        pa.scalar(value.strip()).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _check_encoding(path: Path) -> None:
    data = path.read_bytes()
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: byte {data[error.start]:#04x} is not UTF-8; "
            "save the table as UTF-8"
        ) from None
