"""word2vec's text format: "N D", then one line per node with its id and D numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from graphgate.errors import InputError
from graphgate.io.files import decompressed, first_line
from graphgate.io.limits import check_columns
from graphgate.io.tables import Table

_LINES = 4096  # nodes whose text is in memory at once
_BLOCK = 1 << 26
_LONGEST = 100  # bytes of the first line


def write_word2vec(file: Any, names: pa.Array, values: np.ndarray, labels: None = None) -> None:
    """The format has no place for labels."""
    written = names.cast(pa.string())
    file.write(f"{values.shape[0]} {values.shape[1]}\n".encode())
    for start in range(0, len(values), _LINES):
        block = values[start : start + _LINES]
        numbers = [pa.array(block[:, at]).cast(pa.string()) for at in range(block.shape[1])]
        lines = pc.binary_join_element_wise(written[start : start + _LINES], *numbers, " ")
        file.write(("\n".join(lines.to_pylist()) + "\n").encode())


def open_word2vec(path: Path) -> Table:
    """The table of a file, with the columns node_id, e0, e1, …."""
    with decompressed(path) as file:
        head = file.read(_LONGEST).split(b"\n")[0]
        parts = head.split()
        if len(parts) != 2 or not all(part.isdigit() for part in parts):
            raise InputError(
                f"{path} must begin with two integers, the number of nodes and the number of "
                "dimensions"
            )
        n, d = map(int, parts)
        size = path.stat().st_size
        if min(n, d) < 1 or n * (2 * d + 1) > size:  # an id, and d numbers after a space
            raise InputError(
                f"{path} declares {n:,} nodes of {d:,} dimensions, which do not fit into its "
                f"{size:,} bytes; it is damaged or truncated"
            )
        check_columns(str(path), d)
        file.seek(len(head) + 1)
        names = [f"e{at}" for at in range(d)]
        try:
            table = pyarrow.csv.read_csv(
                file,
                pyarrow.csv.ReadOptions(column_names=["node_id", *names], block_size=_BLOCK),
                pyarrow.csv.ParseOptions(delimiter=" ", quote_char=False),
                pyarrow.csv.ConvertOptions(
                    column_types={"node_id": pa.string()} | dict.fromkeys(names, pa.float64()),
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            raise InputError(f"{path} is not a readable embedding: {first_line(error)}") from None
    if len(table) != n:
        raise InputError(f"{path} declares {n:,} nodes, but contains {len(table):,}")
    return Table(table, str(path), spelled=True)
