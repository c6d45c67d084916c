"""CSV and TSV files with a header: read fast by Arrow, with errors that name the line.

Arrow reads an unclosed quote without complaint as one long cell, and `01000` as a number. Both
leave traces in the bytes, which are scanned on their way to Arrow, so that good files are read at
full speed and only suspicious ones are read again.
"""

import csv
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from graphgate.errors import InputError
from graphgate.io.files import StrPath, check_file, decompressed, file_ending, first_line
from graphgate.io.tables import Conversion, Table, check_names

SEPARATORS = {".csv": ",", ".tsv": "\t"}
_BLOCK = 1 << 24  # bytes; a row must fit into one, and rows of ten thousand columns exist
_PADDED = r"^\s*[-+]?0[0-9xX]"  # text although it looks like a number: 01000, -01, 007.5, 0x1F

# Types that Arrow may guess; a column of another type ("12:30" is a time) is read as text.
_GUESSED = (
    *(pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string),
    *(pa.types.is_null, pa.types.is_date, pa.types.is_timestamp),
)


class CsvTable(Table):
    """A UTF-8 file, possibly compressed, whose first line names the columns.

    An empty cell is a missing value. A column in which any number is written with leading zeros is
    text, as ids are.
    """

    spelled = True

    def __init__(self, path: StrPath) -> None:
        self.path, self.what = check_file(path), str(path)
        self.separator = SEPARATORS[file_ending(path)[0]]
        self.hint = (
            f" (columns must be separated by {'commas' if self.separator == ',' else 'tabs'})"
        )
        self.names: list[str] = []
        with self._explained():
            header = next((cells for _, cells in self._records()), None)
            if header is None:
                raise InputError(f"{path} is empty; its first line must name the columns")
            if any("\n" in name for name in header):
                self._check_quotes(header)
        self.names = check_names(self.what, header)

    def columns(
        self, names: Sequence[str], conversions: Mapping[str, Conversion] | None = None
    ) -> Iterator[tuple[str, pa.ChunkedArray]]:
        conversions = conversions or {}
        fixed = [name for name, conversion in conversions.items() if conversion == "text"]
        table, padded = self._read(names, fixed)
        as_text = [f.name for f in table.schema if not any(fits(f.type) for fits in _GUESSED)]
        if padded:
            as_text += self._padded(
                [
                    field.name
                    for field in table.schema
                    if field.name not in conversions
                    and (pa.types.is_integer(field.type) or pa.types.is_floating(field.type))
                ]
            )
        again, _ = self._read(as_text, as_text) if as_text else (table, False)
        for name in names:
            yield name, (again if name in as_text else table).column(name)

    def place(self, row: int) -> str:
        return f"line {self._row(row)[0]}"

    def cell(self, row: int, name: str) -> str:
        value = self._row(row)[1][self.names.index(name)]
        return repr(value) if value else "the empty cell"

    # --- Arrow -----------------------------------------------------------------------------------

    def _read(self, names: Sequence[str], text: Sequence[str]) -> tuple[pa.Table, bool]:
        """Columns, some of them as text, and whether a number may have leading zeros."""
        with self._explained(), decompressed(self.path) as stream:
            scan = _Scan(stream, self.separator)
            table = pyarrow.csv.read_csv(scan, *self._options(names, text))
            if scan.suspicious:
                self._check_quotes(self.names)
        return table, scan.padded

    def _padded(self, names: Sequence[str]) -> set[str]:
        """Those of these columns in which a number has leading zeros, found block by block."""
        padded: set[str] = set()
        with decompressed(self.path) as stream:
            scan = _Scan(stream, self.separator)
            for batch in pyarrow.csv.open_csv(scan, *self._options(names, names)):
                padded |= {
                    name
                    for name in names
                    if name not in padded
                    and pc.any(pc.match_substring_regex(batch.column(name), _PADDED)).as_py()
                }
        return padded

    def _options(self, names: Sequence[str], text: Sequence[str]) -> tuple[Any, ...]:
        return (
            pyarrow.csv.ReadOptions(block_size=_BLOCK),
            pyarrow.csv.ParseOptions(delimiter=self.separator, newlines_in_values=True),
            # Only an empty cell is missing; "NA" is text like any other.
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(text, pa.string()),
                include_columns=list(names),
                null_values=[""],
                strings_can_be_null=True,
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
            ),
        )

    # --- Python, for places and errors -----------------------------------------------------------

    def _row(self, row: int) -> tuple[int, list[str]]:
        # Bytes that are no text may be in a column that is not read.
        records = self._records(errors="replace")
        return next(record for at, record in enumerate(records, start=-1) if at == row)

    def _records(self, errors: str = "strict") -> Iterator[tuple[int, list[str]]]:
        """Last line number and cells of every row, the header first; empty lines are no rows."""
        with self._lines(errors) as lines:
            reader = csv.reader(lines, delimiter=self.separator)
            yield from ((reader.line_num, cells) for cells in reader if cells)

    @contextmanager
    def _lines(self, errors: str = "strict") -> Iterator[Iterator[str]]:
        limit = csv.field_size_limit(sys.maxsize)
        try:
            with (
                decompressed(self.path) as stream,
                io.BufferedReader(stream) as file,
                io.TextIOWrapper(file, "utf-8-sig", errors, newline="") as text,
            ):
                yield text
        finally:
            csv.field_size_limit(limit)

    def _check_quotes(self, names: Sequence[str]) -> None:
        """Refuses a cell whose quote is not closed in its row, or is closed in a later one.

        A quote elsewhere in a cell is text, as for Arrow.
        """
        record: list[str] = []  # the lines of the current row
        ended = False

        def lines(text: Iterator[str]) -> Iterator[str]:
            nonlocal ended
            for line in text:
                record.append(line)
                yield line
            ended = True

        with self._lines() as text:
            reader = csv.reader(lines(text), delimiter=self.separator, strict=True)
            while not ended:
                record.clear()
                try:
                    next(reader, None)
                except csv.Error:
                    if ended or len(record) > 1:
                        self._refuse_quote(names, record, reader.line_num, open_to_end=ended)

    def _refuse_quote(
        self, names: Sequence[str], record: list[str], last: int, *, open_to_end: bool
    ) -> NoReturn:
        lines = [line.rstrip("\r\n") + "\n" for line in record]
        cells = next(csv.reader(lines, delimiter=self.separator))
        ends = np.cumsum([cell.count("\n") for cell in cells])
        at = len(cells) - 1 if open_to_end else int(np.argmax(ends >= len(record) - 1))
        line = last - len(record) + 1 + (int(ends[at - 1]) if at else 0)
        name = names[at].splitlines() if at < len(names) else []  # an empty name has no line
        column = f", column {name[0]!r}" if name else ""
        raise InputError(
            f"{self.path}, line {line}{column}: the quote that opens a cell is not closed; "
            "close it, or double a quote that is part of the text"
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turns errors of Arrow and of Python's reader into a sentence that names the line."""
        try:
            yield
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            self._check_encoding()
            self._check_quotes(self.names)
            for line, cells in self._records():
                if len(cells) != len(self.names):
                    raise InputError(
                        f"{self.path}, line {line}: {len(cells)} cell(s), but the header names "
                        f"{len(self.names)} columns; fix the line"
                    ) from None
            raise InputError(f"{self.path} cannot be read as CSV: {first_line(error)}") from None

    def _check_encoding(self) -> None:
        with decompressed(self.path) as stream:
            data: bytes = stream.read()
        try:
            data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise InputError(
                f"{self.path}, line {line}: byte {data[error.start]:#04x} is not UTF-8; "
                "save the table as UTF-8"
            ) from None


class _Scan:
    """A stream of bytes for Arrow that notes two traces of misread cells.

    suspicious : quotes do not alternate between the start and the end of a cell. In a file without
        this trace, every quoted cell is closed.
    padded : a number may be written with leading zeros.
    """

    _REACH = 16  # bytes before a piece that are kept, to look back
    _PIECE = 1 << 18  # bytes looked at together; they and what is computed of them fit in a cache

    def __init__(self, stream: Any, separator: str) -> None:
        self._stream = io.BufferedReader(stream)
        self._edges = np.frombuffer(f'{separator}\r\n"'.encode(), np.uint8)
        self._blanks = [ord(sign) for sign in " \t" if sign != separator]
        self._tail = b"\n" * self._REACH
        self._quotes = 0
        self._misplaced = self._ended = self.padded = self.closed = False

    @property
    def suspicious(self) -> bool:
        return self._misplaced or self._quotes % 2 == 1

    def read(self, size: int) -> bytes:
        block = self._stream.read(size)
        if len(block) < size and not self._ended:
            self._ended = True
            block += b"\n"  # Arrow refuses a header without a line ending
        for start in range(0, len(block), self._PIECE):
            self._look(block[start : start + self._PIECE])
        return block

    def _look(self, piece: bytes) -> None:
        """Looks at the piece, and at the last byte of the one before it, now with its successor."""
        if not self._tail.strip():
            piece = piece.removeprefix(b"\xef\xbb\xbf")
        data = np.frombuffer(self._tail + piece, np.uint8)
        self._tail = data[-self._REACH :].tobytes()
        start = self._REACH - 1
        if b'"' in piece or data[start] == ord('"'):
            self._count_quotes(data, np.flatnonzero(data[start:-1] == ord('"')) + start)
        if not self.padded:
            self._find_zeros(data, start)

    def _count_quotes(self, data: np.ndarray, at: np.ndarray) -> None:
        # Of a doubled quote, the first seems to close the cell and the second to open it again.
        opens = (np.arange(len(at)) + self._quotes) % 2 == 0
        beside = np.where(opens, data[at - 1], data[at + 1])
        self._misplaced |= not np.isin(beside, self._edges).all()
        self._quotes += len(at)

    def _find_zeros(self, data: np.ndarray, start: int) -> None:
        previous, following = data[start - 1 : -2], data[start + 1 :]
        # Few zeros pass: not those within a number, and not a single zero.
        zeros = (data[start:-1] == ord("0")) & (following >= ord("0"))
        zeros &= (previous < ord("0")) & (previous != ord("."))
        at = np.flatnonzero(zeros) + start
        after = data[at + 1]
        at = at[(after <= ord("9")) | (after | 32 == ord("x"))]
        before = at - 1
        before -= np.isin(data[before], (ord("+"), ord("-")))
        while (blank := np.isin(data[before], self._blanks) & (before > 0)).any():
            before = before - blank
        self.padded = bool(np.isin(data[before], self._edges).any())
