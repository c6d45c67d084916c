"""Tables in files: opened by their ending, and written atomically as Parquet or CSV."""

from collections.abc import Sequence
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
from graphgate.io.tables import ParquetTable, Table

PARQUET = (".parquet", ".pq")
TABLE_ENDINGS = (".parquet", ".csv")


def open_table(path: StrPath, *, others: Sequence[str] = ()) -> Table:
    """A table by the ending of its file; `others` are endings of non-tables, for the message."""
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
    target = check_output_path(path, TABLE_ENDINGS)
    with replacing(target) as temporary:
        if target.suffix.lower() == ".parquet":
            pyarrow.parquet.write_table(table, temporary)
        else:
            with temporary.open("wb") as file:
                # Arrow would quote every column name, needed or not.
                file.write((",".join(map(_quoted, table.column_names)) + "\n").encode())
                pyarrow.csv.write_csv(table, file, pyarrow.csv.WriteOptions(include_header=False))
    return target


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"\r\n') else name
