"""Tables in files: opened by their ending, and written atomically as Parquet or CSV."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from graphgate.errors import InputError
from graphgate.io.csv_reader import SEPARATORS, CsvTable
from graphgate.io.files import (
    COMPRESSIONS,
    StrPath,
    check_file,
    check_output_path,
    file_ending,
    replacing,
)
from graphgate.io.parquet_reader import ParquetTable
from graphgate.io.spreadsheets import guarded, guarded_name
from graphgate.io.sqlite_reader import open_sqlite
from graphgate.io.tables import Table

_IN_DATABASE = re.compile(r"(.+\.(?:sqlite3?|db)):(.+)", re.IGNORECASE | re.DOTALL)
PARQUET = (".parquet", ".pq")
TABLE_ENDINGS = (".parquet", ".csv")
_BLOCK = 1 << 25  # bytes


def open_table(path: StrPath, *, others: Sequence[str] = ()) -> Table:
    """A table by the ending of its file, or by FILE.sqlite:TABLE or FILE.sqlite:QUERY.

    others : endings of files that are no tables, for the message.
    """
    if (source := _IN_DATABASE.fullmatch(str(path))) is not None:
        return open_sqlite(source[1], source[2])
    ending, _ = file_ending(path)
    if ending in PARQUET:
        return ParquetTable(path)
    if ending in SEPARATORS:
        return CsvTable(path)
    check_file(path)
    raise InputError(
        f"{path} does not have the ending of a table: use .csv or .tsv, optionally followed by "
        f"{', '.join(COMPRESSIONS)}, or {' or '.join(PARQUET)}"
        + (f"; or the ending of a graph: {', '.join(others)}" if others else "")
    )


def write_table(path: StrPath, table: pa.Table) -> Path:
    """Write a table as Parquet or CSV, as the ending of `path` says."""
    return write_blocks(path, table.schema, [table])


def write_blocks(path: StrPath, schema: pa.Schema, blocks: Iterable[pa.Table]) -> Path:
    """Write one table that is given in blocks of rows, at least one row group each."""
    target = check_output_path(path, TABLE_ENDINGS)
    with replacing(target) as temporary, temporary.open("wb") as file:
        if target.suffix.lower() == ".parquet":
            # Floats hardly ever repeat, so that a dictionary of them is made for nothing.
            coded = [field.name for field in schema if not _has_floats(field.type)]
            with pyarrow.parquet.ParquetWriter(file, schema, use_dictionary=coded) as writer:
                for block in blocks:
                    writer.write_table(block)
        else:
            # Arrow would quote every column name, needed or not.
            names = [_quoted(guarded_name(name)) for name in schema.names]
            file.write((",".join(names) + "\n").encode())
            options = pyarrow.csv.WriteOptions(include_header=False)
            for block in blocks:
                pyarrow.csv.write_csv(guarded(block), file, options)
    return target


def write_rows(
    path: StrPath,
    block: Callable[[slice], pa.Table],
    n: int,
    bytes_per_row: int,
    metadata: Mapping[bytes, str] | None = None,
) -> Path:
    """Write the N rows of a table of which `block` makes a slice at a time."""
    schema = block(slice(0, 0)).schema.with_metadata(metadata)
    return write_blocks(path, schema, map(block, row_blocks(n, bytes_per_row)))


def row_blocks(n: int, bytes_per_row: int) -> Iterator[slice]:
    """Slices of N rows, at least one, of about 32 MiB each."""
    step = max(1, _BLOCK // max(1, bytes_per_row))
    return (slice(start, min(start + step, n)) for start in range(0, max(n, 1), step))


def _has_floats(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind.value_type if pa.types.is_fixed_size_list(kind) else kind)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"\r\n') else name
