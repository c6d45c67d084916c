"""Parquet files, read a few columns at a time.

A few bytes of Parquet can stand for any number of equal values. What the footer of a file states is
therefore checked before its columns are read, and small files are read in small steps.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby

import pyarrow as pa
import pyarrow.parquet

from graphgate.errors import InputError
from graphgate.io.files import StrPath, check_file, first_line, utf8_name
from graphgate.io.limits import check_claim
from graphgate.io.tables import Conversion, Table, check_names, release_memory

_INDEX = re.compile(r"__index_level_\d+__")
# Columns, and values in them, read at once: enough for two threads, few enough for memory.
_TOGETHER, _VALUES = 8, 1 << 22
_BATCH = 1 << 18  # rows of a column that is read alone
_SMALL = 1 << 20  # bytes of a file that may be a bomb
_STEP = 1 << 27  # bytes of text in a batch, if every one were as long as the content of the file


class ParquetTable(Table):
    """A Parquet file, of which only the requested columns are read."""

    def __init__(self, path: StrPath) -> None:
        self.what, self._place = str(path), None
        source = check_file(path)
        self.size: int = source.stat().st_size
        # Arrow would otherwise allocate lists of any stated length.
        limits = ("thrift_string_size_limit", "thrift_container_size_limit")
        options = {"pre_buffer": False} | dict.fromkeys(limits, max(1, self.size))
        with self._explained(), utf8_name(source) as name:
            file = pyarrow.parquet.ParquetFile(name, **options)
            coded = _lists_of_words(file) if self.size >= _SMALL else []
            self._file = pyarrow.parquet.ParquetFile(
                name, metadata=file.metadata, read_dictionary=coded, **options
            )
        names = check_names(self.what, file.schema_arrow.names)
        groups = (file.metadata.row_group(at) for at in range(file.metadata.num_row_groups))
        content = sum(group.total_byte_size for group in groups)
        check_claim(self.what, "values", content, self.size, "bytes")
        self._batch = min(_BATCH, max(1, _STEP // max(1, content)))
        self.metadata = file.schema_arrow.metadata or {}
        # A pandas index without a name is a row number, not a column.
        self.names = [name for name in names if not _INDEX.fullmatch(name)]

    def columns(
        self, names: Sequence[str], conversions: Mapping[str, Conversion] | None = None
    ) -> Iterator[tuple[str, pa.ChunkedArray]]:
        cells = self._file.metadata.num_rows * len(names)
        check_claim(self.what, "values", cells, self.size, "values")
        for some in self._groups(names):
            with self._explained():
                table = self._read(some)
                for column in table.columns:  # Parquet's reader does not check that text is UTF-8
                    if not (pa.types.is_primitive(column.type) or pa.types.is_null(column.type)):
                        column.validate(full=True)
            release_memory()
            for name in some:
                yield name, table.column(name)
            del table  # before the next one is read

    def _arrow_type(self, name: str) -> pa.DataType:
        return self._file.schema_arrow.field(name).type

    def _read(self, names: list[str]) -> pa.Table:
        """One column in batches: threads have nothing to share, and keep what they have read."""
        if len(names) > 1:
            return self._file.read(columns=names)
        kind = self._arrow_type(names[0])
        stepwise = self.size < _SMALL and not _is_fixed(kind)
        rows = self._batch if stepwise else _BATCH
        chunks: list[pa.Array] = []
        read = 0
        for group in range(self._file.num_row_groups):  # each has a dictionary of its own
            for batch in self._file.iter_batches(rows, [group], names, use_threads=False):
                chunks.append(batch.column(0))
                read += batch.nbytes
                if stepwise:
                    what = f"{self.what}, column {names[0]!r},"
                    check_claim(what, "values", read, self.size, "bytes")
        return pa.table({names[0]: pa.chunked_array(chunks, kind)})

    def _groups(self, names: Sequence[str]) -> Iterator[list[str]]:
        """Columns to be read at once, in order; one with nested values or text is read alone."""
        most = max(1, min(_TOGETHER, _VALUES // max(1, self._file.metadata.num_rows)))
        for alone, neighbors in groupby(names, self._is_read_alone):
            group, step = list(neighbors), 1 if alone else most
            yield from (group[start : start + step] for start in range(0, len(group), step))

    def _is_read_alone(self, name: str) -> bool:
        kind = self._arrow_type(name)
        return pa.types.is_nested(kind) or (self.size < _SMALL and not _is_fixed(kind))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or first_line(error)
            raise InputError(f"{self.what} cannot be read as Parquet: {reason}") from None


def _is_fixed(kind: pa.DataType) -> bool:
    """Whether values are numbers or codes, not text or lists of any length."""
    fixed = (pa.types.is_dictionary, pa.types.is_primitive, pa.types.is_null)
    coded = pa.types.is_dictionary(getattr(kind, "value_type", kind))
    return coded or any(is_kind(kind) for is_kind in fixed)


def _lists_of_words(file: pyarrow.parquet.ParquetFile) -> list[str]:
    """The leaves to be read as codes and a dictionary, as most files store them."""
    lists = {
        field.name
        for field in file.schema_arrow
        if pa.types.is_list(field.type) and pa.types.is_string(field.type.value_type)
    }
    leaves = (file.schema.column(at).path for at in range(len(file.schema.names)))
    return [path for path in leaves if path.partition(".")[0] in lists]
