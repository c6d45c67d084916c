"""Columns as Arrow tables, and tables as Parquet or CSV files that appear whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from graphgate.errors import InputError
from graphgate.graph.validation import plain
from graphgate.io.files import replacing
from graphgate.io.places import StrPath, check_output_path

TABLE_ENDINGS = (".parquet", ".csv")


def column(values: Any, what: str) -> pa.Array:
    """Whole numbers or text, missing where None; a file has no column for other kinds."""
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    items = [item.item() if isinstance(item, np.generic) else item for item in items]
    given = [item for item in items if item is not None]
    if all(type(item) is int for item in given) and (given or what == "node id"):
        kind = pa.int64()
    elif all(isinstance(item, str) for item in given):
        kind = pa.string()
    else:
        odd = next((i for i in given if type(i) is not int and not isinstance(i, str)), given[0])
        raise InputError(
            f"the {what} {odd!r} cannot be written: use only whole numbers or only text"
        )
    try:
        return pa.array(items, kind)
    except (pa.ArrowInvalid, OverflowError):
        raise InputError(f"a {what} does not fit into 64 bits; use text") from None


def label_column(labels: Any) -> pa.Array:
    """As `column`, but also of truth values or of any numbers."""
    items = [plain(item) for item in labels]
    given = {type(item) for item in items if item is not None}
    if given == {bool}:
        return pa.array(items, pa.bool_())
    if float in given and given <= {int, float}:
        return pa.array(items, pa.float64())
    return column(items, "label")


def write_table(path: StrPath, table: pa.Table) -> Path:
    """A table as Parquet or CSV, as the ending of `path` says."""
    target = check_output_path(path, TABLE_ENDINGS)
    try:
        with replacing(target) as temporary:
            if target.suffix.lower() == ".parquet":
                pyarrow.parquet.write_table(table, temporary)
            else:
                _write_csv(table, temporary)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror or error}") from None
    return target


def _write_csv(table: pa.Table, path: Path) -> None:
    # Arrow would put every name of a column into quotes, needed or not.
    plain = pyarrow.csv.WriteOptions(include_header=False)
    with path.open("wb") as file:
        file.write((",".join(map(_quoted, table.column_names)) + "\n").encode())
        pyarrow.csv.write_csv(table, file, plain)


def _quoted(name: str) -> str:
    special = any(sign in name for sign in ',"\r\n')
    return '"' + name.replace('"', '""') + '"' if special else name
