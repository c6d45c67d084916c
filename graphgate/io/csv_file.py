"""A CSV or TSV file with a header, read fast, and explained line by line where it cannot be."""

from __future__ import annotations

import csv
import io
import lzma
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.csv

from graphgate.errors import InputError
from graphgate.io.table import StrPath, Table, check_file, check_names, first_line

SEPARATORS = {".csv": ",", ".tsv": "\t"}
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".xz": "xz"}
BLOCK = 1 << 24  # bytes; a row must fit into one, and rows of ten thousand columns exist

# What Arrow may guess of a column; another guess ("12:30" is a time) is read as text.
_GUESSED = (
    *(pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string),
    *(pa.types.is_null, pa.types.is_date, pa.types.is_timestamp),
)


class CsvFile(Table):
    """A readable UTF-8 file, perhaps compressed, whose header was found good.

    Arrow reads the rows. Only if it fails is the file walked in Python, to name the line: so a
    good file is read at full speed and a bad one gets a message that helps. An empty cell is a
    missing value.
    """

    spelled = True

    def __init__(self, path: Path, separator: str, compression: str | None) -> None:
        self.path, self.what = path, str(path)
        self.separator, self.compression = separator, compression
        with self._explained():
            header = next((cells for _, cells in self._lines()), None)
        if header is None:
            raise InputError(f"{path} is empty; its first line must name the columns")
        self.names = check_names(self.what, header)

    @classmethod
    def open(cls, path: StrPath) -> CsvFile:
        """By its ending: .csv or .tsv, then perhaps .gz, .bz2, .zst or .xz."""
        found = check_file(path)
        endings = [ending.lower() for ending in found.suffixes]
        compression = COMPRESSIONS.get(endings[-1]) if endings else None
        kind = endings[-2:-1] if compression else endings[-1:]
        return cls(found, SEPARATORS[kind[0]], compression)

    def require(self, *names: str) -> None:
        try:
            super().require(*names)
        except InputError as error:
            parted = "commas" if self.separator == "," else "tabs"
            raise InputError(f"{error} (columns are parted by {parted})") from None

    def columns(
        self, names: Sequence[str], *, text: Iterable[str] = (), numbers: Iterable[str] = ()
    ) -> Iterator[tuple[str, pa.ChunkedArray]]:
        types = dict.fromkeys(text, pa.string()) | dict.fromkeys(numbers, pa.float64())
        table = self._read(names, types)
        odd = [f.name for f in table.schema if not any(fits(f.type) for fits in _GUESSED)]
        again = self._read(odd, dict.fromkeys(odd, pa.string())) if odd else None
        for name in names:
            yield name, (again if again is not None and name in odd else table).column(name)

    def _read(self, names: Sequence[str], types: dict[str, pa.DataType]) -> pa.Table:
        with self._explained(types):
            if next(self._rows(), None) is None:  # Arrow refuses a header without a line end
                return pa.schema(
                    [(name, types.get(name, pa.null())) for name in names]
                ).empty_table()
            with self._bytes() as file:
                table = pyarrow.csv.read_csv(
                    file,
                    pyarrow.csv.ReadOptions(block_size=BLOCK),
                    pyarrow.csv.ParseOptions(delimiter=self.separator, newlines_in_values=True),
                    # Only an empty cell is missing; "NA" is a word like any other.
                    pyarrow.csv.ConvertOptions(
                        column_types=types,
                        include_columns=list(names),
                        null_values=[""],
                        strings_can_be_null=True,
                        true_values=["true", "True", "TRUE"],
                        false_values=["false", "False", "FALSE"],
                    ),
                )
            # A quote that nobody closed makes one cell of all the rest, and no error.
            last = [value for value in table.slice(len(table) - 1).to_pylist()[0].values()]
            if any(isinstance(value, str) and "\n" in value for value in last):
                for _ in self._lines(strict=True):
                    pass
        return table

    def place(self, row: int) -> str:
        return f"line {self._row(row)[0]}"

    def cell(self, row: int, name: str) -> str:
        value = self._row(row)[1][self.names.index(name)]
        return repr(value) if value else "the empty cell"

    def _row(self, row: int) -> tuple[int, list[str]]:
        return next(found for at, found in enumerate(self._rows()) if at == row)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and cells of every row below the header."""
        rows = self._lines()
        next(rows)
        yield from rows

    def _lines(self, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """The same with the header; empty lines are no rows."""
        with self._bytes() as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as lines:
            reader = csv.reader(lines, delimiter=self.separator, strict=strict)
            yield from ((reader.line_num, cells) for cells in reader if cells)

    @contextmanager
    def _bytes(self) -> Iterator[Any]:
        """The content, decompressed."""
        if self.compression == "xz":  # unknown to Arrow
            with lzma.open(self.path) as unpacked:
                yield unpacked
        else:
            stream = pa.input_stream(str(self.path), compression=self.compression)
            with io.BufferedReader(stream) as file:
                yield file

    @contextmanager
    def _explained(self, types: dict[str, pa.DataType] | None = None) -> Iterator[None]:
        """Says what a reader stumbled over, in the words and with the line that its user needs."""
        try:
            yield
        except csv.Error as error:
            raise InputError(f"{self.path} cannot be read as CSV: {error}") from None
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            self._explain(types or {}, first_line(error))
        except (OSError, EOFError, lzma.LZMAError) as error:
            reason = getattr(error, "strerror", None) or first_line(error)
            hint = f"; is it {self.compression}, as it is named" if self.compression else ""
            raise InputError(f"{self.path} cannot be read: {reason}{hint}") from None

    def _explain(self, types: dict[str, pa.DataType], otherwise: str) -> NoReturn:
        self._check_encoding()
        for row, (line, cells) in enumerate(self._rows()):
            if len(cells) != len(self.names):
                raise InputError(
                    f"{self.path}, line {line}: {len(cells)} cell(s), but the header names "
                    f"{len(self.names)} columns; mend the line"
                )
            for name, value in zip(self.names, cells, strict=True):
                if types.get(name) == pa.float64() and value and not is_number(value):
                    self.refuse_cell(row, name, "is not a number; mend the cell or drop the column")
        raise InputError(f"{self.path} cannot be read as CSV: {otherwise}")

    def _check_encoding(self) -> None:
        with self._bytes() as file:
            data = file.read()
        try:
            data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise InputError(
                f"{self.path}, line {line}: byte {data[error.start]:#04x} is not UTF-8; "
                "save the table as UTF-8"
            ) from None


def is_number(value: str) -> bool:
    try:
        pa.scalar(value.strip()).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
