"""Parquet files, read a few columns at a time.

A few bytes of Parquet can stand for any number of equal values, so that what a small file claims is
checked before Arrow reads it.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet

from graphgate.errors import InputError
from graphgate.io.files import StrPath, check_file, first_line, utf8_name
from graphgate.io.limits import check_claim
from graphgate.io.parquet_claims import check_claims
from graphgate.io.tables import Conversion, Table, check_names, release_memory

_INDEX = re.compile(r"__index_level_\d+__")
# Columns, and values in them, read at once: enough for two threads, few enough for memory.
_TOGETHER, _VALUES = 8, 1 << 22
_BATCH = 1 << 18  # rows of a column that is read alone
_SMALL = 1 << 20  # bytes of a file whose text is read as codes, in case that it is a bomb


class ParquetTable(Table):
    """A Parquet file, of which only the requested columns are read."""

    def __init__(self, path: StrPath) -> None:
        self.what, self._place = str(path), None
        source = check_file(path)
        self.size: int = source.stat().st_size
        small = self.size < _SMALL
        repetitive = check_claims(source, self.size) if small else set()
        with self._explained(), utf8_name(source) as name:
            file = pyarrow.parquet.ParquetFile(name, pre_buffer=False)
            names = check_names(self.what, file.schema_arrow.names)
            self._file = pyarrow.parquet.ParquetFile(
                name,
                pre_buffer=False,
                metadata=file.metadata,
                read_dictionary=_coded_paths(file, repetitive, all_text=small),
            )
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
        chunks = [
            batch.column(0)
            for group in range(self._file.num_row_groups)  # each has a dictionary of its own
            for batch in self._file.iter_batches(_BATCH, [group], names, use_threads=False)
        ]
        kind = self._arrow_type(names[0])
        return pa.table({names[0]: pa.chunked_array(chunks, kind)})

    def _groups(self, names: Sequence[str]) -> Iterator[list[str]]:
        """Columns to be read at once, in order; one with nested values is read alone."""
        most = max(1, min(_TOGETHER, _VALUES // max(1, self._file.metadata.num_rows)))
        group: list[str] = []
        for name in names:
            nested = pa.types.is_nested(self._arrow_type(name))
            if group and (nested or len(group) == most):
                yield group
                group = []
            group.append(name)
            if nested:
                yield group
                group = []
        if group:
            yield group

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or first_line(error)
            raise InputError(f"{self.what} cannot be read as Parquet: {reason}") from None


def _coded_paths(
    file: pyarrow.parquet.ParquetFile, others: Collection[str], *, all_text: bool
) -> list[str]:
    """The leaves to be read as codes and a dictionary, as most files store them.

    These are words in lists, and all text where a long one may be repeated without end, but not
    `others`, of which Arrow cannot make codes.
    """
    lists = {
        field.name
        for field in file.schema_arrow
        if pa.types.is_list(field.type) and pa.types.is_string(field.type.value_type)
    }
    leaves = [file.schema.column(at) for at in range(len(file.schema.names))]
    return [
        leaf.path
        for leaf in leaves
        if leaf.path not in others
        and (
            leaf.path.partition(".")[0] in lists
            or (all_text and leaf.physical_type == "BYTE_ARRAY")
        )
    ]
