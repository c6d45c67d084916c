"""Matrix Market files (.mtx), parsed by Arrow's CSV reader behind our own checks.

SciPy's reader can crash on a damaged file, and ignores text after a number.
"""

import io
import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.io.files import first_line

_BANNER = re.compile(
    rb"%%MatrixMarket\s+matrix\s+(coordinate|array)\s+(real|double|integer|unsigned-integer|pattern)"
    rb"\s+(general|symmetric|skew-symmetric)",
    re.IGNORECASE,
)
_BLOCK = 1 << 24


class _Header(NamedTuple):
    sparse: bool
    field: str
    symmetry: str
    sizes: tuple[int, ...]  # rows, columns and, in coordinate format, entries
    end: int  # where the entries begin

    @property
    def entries(self) -> int:
        """The number of lines that follow."""
        n, m = self.sizes[:2]
        if self.sparse or self.symmetry == "general":
            return self.sizes[2] if self.sparse else n * m
        return n * (n - 1) // 2 + (n if self.symmetry == "symmetric" else 0)


def parse_mtx(content: bytes) -> np.ndarray | sp.coo_array:
    """A real matrix, sparse if it is in coordinate format; an `InputError` lacks the file."""
    if b"\0" in content:
        raise InputError("contains zero bytes, so it is not a Matrix Market file")
    header = _header(content)
    shape = rows, columns = header.sizes[:2]
    if header.symmetry != "general" and rows != columns:
        raise InputError(f"declares a {header.symmetry} matrix of {rows:,} × {columns:,}")
    table = _table(content[header.end :], header)
    if len(table) != header.entries:
        raise InputError(f"declares {header.entries:,} entries, but contains {len(table):,}")
    values = table["value"].to_numpy() if "value" in table.column_names else np.ones(len(table))
    if header.sparse:
        row, column = (table[name].to_numpy() - 1 for name in ("row", "column"))
    elif header.symmetry == "general":
        return values.reshape(shape, order="F")
    else:  # column by column, those below the diagonal
        column, row = np.triu_indices(rows, header.symmetry == "skew-symmetric")
    if any(
        len(at) and not 0 <= at.min() <= at.max() < n for at, n in ((row, rows), (column, columns))
    ):
        raise InputError(f"has an entry outside of its {rows:,} × {columns:,} matrix")
    if header.symmetry != "general":
        beside = row != column
        sign = -1 if header.symmetry == "skew-symmetric" else 1
        row, column, values = (
            np.concatenate([row, column[beside]]),
            np.concatenate([column, row[beside]]),
            np.concatenate([values, sign * values[beside]]),
        )
    matrix = sp.coo_array((values, (row, column)), shape=shape)
    return matrix if header.sparse else matrix.toarray()


def _header(content: bytes) -> _Header:
    """The banner, and the line of sizes after the comments."""
    lines = re.finditer(rb"[^\n]*\n?", content)
    banner = _BANNER.fullmatch(next(lines)[0].strip())
    if banner is None:
        raise InputError(
            "does not begin with the banner of a real Matrix Market matrix, as in "
            "%%MatrixMarket matrix coordinate real general"
        )
    form, field, symmetry = (part.decode().lower() for part in banner.groups())
    sizes: list[bytes] = []
    end = len(content)
    for line in lines:
        text = line[0].strip()
        if text and not text.startswith(b"%"):
            sizes, end = text.split(), line.end()
            break
    sparse = form == "coordinate"
    if len(sizes) != 2 + sparse or not all(s.isdigit() and len(s) <= 18 for s in sizes):
        raise InputError(f"lacks the line with the {2 + sparse} sizes of the matrix")
    if field == "pattern" and (not sparse or symmetry == "skew-symmetric"):
        raise InputError(f"is a {symmetry} pattern in {form} format, which does not exist")
    return _Header(sparse, field, symmetry, tuple(map(int, sizes)), end)


def _table(body: bytes, header: _Header) -> pa.Table:
    kinds = {"row": pa.int64(), "column": pa.int64()} if header.sparse else {}
    if header.field != "pattern":
        kinds["value"] = pa.float64()
    try:
        return _read(body, kinds)
    except pa.ArrowInvalid:
        # Not one space between numbers, and none elsewhere, as most programs write.
        lines = (b" ".join(line.split()) for line in body.split(b"\n"))
        body = b"\n".join(line for line in lines if line and not line.startswith(b"%"))
    try:
        return _read(body, kinds)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"has an entry that is not {' '.join(kinds)}: {first_line(error)}"
        ) from None


def _read(body: bytes, kinds: dict[str, pa.DataType]) -> pa.Table:
    if not body.strip():
        return pa.table({name: pa.array([], kind) for name, kind in kinds.items()})
    return pyarrow.csv.read_csv(
        io.BytesIO(body),
        pyarrow.csv.ReadOptions(column_names=list(kinds), block_size=_BLOCK),
        pyarrow.csv.ParseOptions(delimiter=" ", quote_char=False),
        pyarrow.csv.ConvertOptions(column_types=kinds, null_values=[], strings_can_be_null=False),
    )
