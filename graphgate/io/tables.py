"""Tables of named Arrow columns, in memory."""

import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Literal, NoReturn

import numpy as np
import pyarrow as pa

from graphgate.errors import InputError, listing, warn_ignored
from graphgate.graph.attributes import is_missing
from graphgate.graph.column_kinds import as_moments
from graphgate.graph.validation import TEXT, plain
from graphgate.io.files import first_line
from graphgate.io.limits import check_columns

_OBJECTS = 1 << 16  # Python values at the same time, of text that becomes a column
# How a text file is to convert a column: unchanged, or by guessing although numbers are written
# with leading zeros.
Conversion = Literal["text", "number"]


class Table:
    """An Arrow table, a pandas or Polars data frame, or anything with an Arrow stream.

    Parameters
    ----------
    what : names the table in error messages.
    place : describes where a row is, for error messages; by default its number from 0.

    Attributes
    ----------
    names : the columns, distinct and not empty.
    spelled : whether values are known only by their spelling, as in text files; an integer and
        its digits are then the same.
    hint : appended to the error message about a missing column.
    size : bytes of its file, which limit what it may grow to; None for a table in memory.
    metadata : what a Parquet file says about itself.
    """

    spelled = False
    hint = ""
    size: int | None = None
    metadata: Mapping[bytes, bytes] = MappingProxyType({})

    def __init__(
        self,
        frame: Any,
        what: str,
        *,
        place: Callable[[int], str] | None = None,
        spelled: bool = False,
    ) -> None:
        self.what, self.spelled = what, spelled
        self._table, self._place = _arrow_table(frame, what), place
        self.names = check_names(what, self._table.column_names)

    def columns(
        self, names: Sequence[str], conversions: Mapping[str, Conversion] | None = None
    ) -> Iterator[tuple[str, pa.ChunkedArray]]:
        """Columns by name, in this order; an iterator, so that not all are in memory at once."""
        for name in names:
            yield name, self._table.column(name)

    def place(self, row: int) -> str:
        return f"row {row}" if self._place is None else self._place(row)

    def cell(self, row: int, name: str) -> str:
        """The content of a cell, for messages."""
        ((_, column),) = self.columns([name])
        value = column[row].as_py()
        text = "the missing value" if value is None else repr(value)
        return text if len(text) <= 80 else f"{text[:79]}…"

    def refuse_cell(self, row: int, name: str, problem: str) -> NoReturn:
        raise InputError(
            f"{self.what}, {self.place(row)}, column {name!r}: {self.cell(row, name)} {problem}"
        )

    def refuse_first(self, wrong: np.ndarray, name: str, problem: str) -> None:
        """Refuses the first cell of a column for which the mask is true, if there is any."""
        if wrong.any():
            self.refuse_cell(int(np.argmax(wrong)), name, problem)

    def require(self, *names: str) -> None:
        for name in names:
            if name not in self.names:
                known = [repr(known) for known in self.names if known.isprintable()]
                raise InputError(
                    f"{self.what} has no column {name!r}; its columns are "
                    f"{listing(known, 5) or 'none'}{self.hint}"
                )


def release_memory() -> None:
    """Returns to the system what Arrow has freed, but keeps for later."""
    pa.default_memory_pool().release_unused()


def check_names(what: str, names: Sequence[Any]) -> list[str]:
    """Refuses too many columns, columns without a name, and two columns of the same name."""
    check_columns(what, len(names))
    seen: set[str] = set()
    for at, name in enumerate(names, start=1):
        if name is None or name != name or not str(name).strip():
            raise InputError(
                f"column {at} of {what} has no name; name it, or write the table without its index"
            )
        if not isinstance(name, str):
            raise InputError(f"column {at} of {what} is named {name!r}; column names must be text")
        if name in seen:
            raise InputError(f"{what} has two columns named {name!r}; rename or remove one")
        seen.add(name)
    return list(names)


def _arrow_table(frame: Any, what: str) -> pa.Table:
    """A named pandas index becomes a column; one without a name is a row number."""
    try:
        if type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "columns"):
            named = any(name is not None for name in frame.index.names)
            if not named and frame.index.dtype.kind not in "iu":
                warn_ignored(what, "index", ["it has no name"], "name it to make it a column")
            frame = frame.reset_index() if named else frame
            check_names(what, list(frame.columns))  # Arrow would convert any name to text
            return _of_pandas(frame)
        if type(frame).__name__ == "LazyFrame":
            frame = frame.collect()
        if hasattr(frame, "to_arrow"):  # the stream of Polars has types that Arrow cannot convert
            frame = frame.to_arrow()
        if isinstance(frame, pa.Table):
            return frame
        if hasattr(frame, "__arrow_c_stream__"):
            return pa.table(frame)
    except InputError:
        raise
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"{what} cannot be read as a table: {_reason(error)}") from None
    raise InputError(
        f"{what} must be a pandas or Polars data frame or an Arrow table, "
        f"got {type(frame).__name__}"
    )


def _of_pandas(frame: Any) -> pa.Table:
    """A column of values of several types becomes text."""
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError):
        arrays = []
        for name in frame.columns:
            try:
                arrays.append(pa.Array.from_pandas(frame[name]))
            except (pa.ArrowException, TypeError, ValueError):
                texts = [None if is_missing(v) else str(plain(v)) for v in frame[name].tolist()]
                arrays.append(pa.array(texts, pa.large_string()))
        return pa.table(arrays, names=list(frame.columns))


def _reason(error: Exception) -> str:
    parts = [str(part).strip() for part in error.args if str(part).strip()]
    return "; ".join(part.splitlines()[0] for part in parts) or first_line(error)


# --- Python values -------------------------------------------------------------------------------

_SEQUENCES = (list, tuple, Set)
_TYPES = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


def id_array(ids: Any) -> pa.Array:
    """Node ids as one Arrow column of integers or text.

    Tuples become text (`without_tuples`). Where integers and text are mixed, all ids become text.
    """
    if isinstance(ids, np.ndarray) and ids.ndim == 1 and ids.dtype == np.int64:
        return pa.array(ids)
    if isinstance(ids, np.ndarray) and ids.ndim == 1 and ids.dtype == TEXT and len(ids):
        starts = range(0, len(ids), _OBJECTS)
        parts = [pa.array(ids[at : at + _OBJECTS].tolist(), pa.string()) for at in starts]
        return pa.concat_arrays(parts)
    given = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    items = without_tuples(given)
    if {type(item) for item in items} == {int, str}:
        items = [str(item) for item in items]
    if items != given:
        _check_distinct(given, items)
    return _typed_array(items, "node id", (int, str), otherwise=pa.int64())


def without_tuples(ids: list[Any]) -> list[Any]:
    """Tuples, such as the nodes of NetworkX's grids, as Python writes them: "(0, 1)"."""
    return [repr(_plain_tuple(i)) if isinstance(i, tuple) else plain(i) for i in ids]


def _check_distinct(ids: list[Any], texts: list[Any]) -> None:
    """Refuse two ids that are written as the same text."""
    first: dict[str, Any] = {}
    for node, text in zip(ids, texts, strict=True):
        if (other := first.setdefault(text, node)) != node:
            raise InputError(
                f"the node ids {other!r} and {node!r} are both written as {text!r}; rename one"
            )


def _plain_tuple(node: tuple[Any, ...]) -> tuple[Any, ...]:
    """With Python's own numbers and text, whose spelling identifies them."""
    parts = [_plain_tuple(part) if isinstance(part, tuple) else plain(part) for part in node]
    for part in parts:
        if not isinstance(part, (int, float, str, tuple, type(None))):
            raise InputError(
                f"the node id {node!r} cannot be stored: only tuples of numbers and text are "
                "written as text; use integers or text"
            )
    return tuple(parts)


def value_array(values: Any, what: str) -> pa.Array:
    """Labels or categories, None where missing, as one Arrow column of a single type."""
    return _typed_array(values, what, tuple(_TYPES), otherwise=pa.string())


def _typed_array(
    values: Any, what: str, allowed: tuple[type, ...], otherwise: pa.DataType
) -> pa.Array:
    """A column of the only allowed type in these values, or of another if all are missing."""
    items = [
        plain(item) for item in (values.tolist() if isinstance(values, np.ndarray) else values)
    ]
    given = {
        next((kind for kind in _TYPES if isinstance(item, kind)), type(item)): item
        for item in reversed(items)
        if item is not None
    }
    if given.keys() == {int, float} and float in allowed:
        del given[int]
    odd = [item for kind, item in given.items() if kind not in allowed]
    if odd or len(given) > 1:
        shown = odd[0] if odd else next(item for item in items if item is not None)
        raise InputError(f"the {what} {shown!r} cannot be stored: use only integers or only text")
    try:
        return pa.array(items, _TYPES[next(iter(given))] if given else otherwise)
    except (pa.ArrowInvalid, OverflowError):
        raise InputError(f"a {what} does not fit in 64 bits; use text") from None


FRACTIONS = "fractions, which are not classes"
_MOST = 20  # classes that may be fractions, such as half stars


def has_fractions(values: Iterable[Any]) -> bool:
    """Whether floats are among the values that are not integers."""
    given = np.array([value for value in values if isinstance(value, (float, np.floating))])
    given = given[~np.isnan(given)]
    return bool((np.isinf(given) | (given != np.floor(given))).any())


def checked_labels(values: list[Any] | None, where: str, name: str) -> list[Any] | None:
    """Labels of nodes, or None, with a warning, if they are the values of a regression target."""
    given = [value for value in values or () if not is_missing(value)]
    classes = len(set(given)) if has_fractions(given) else 0
    if classes <= max(_MOST, len(given) / 2):
        return values
    warn_ignored(where, "label", [f"{name} ({FRACTIONS})"], "pass classes as integers or text")
    return None


def is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) or (
        isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "buif"
    )


def python_column(values: list[Any]) -> pa.Array | None:
    """Python values, None where missing, as an Arrow array; None if `unfit_kind` names a reason.

    Decimals become floats. Sequences of text become lists, mappings from text to numbers become
    maps, and values of several types become text.
    """
    items = [None if is_missing(value) else plain(value) for value in values]
    given = [item for item in items if item is not None]
    if unfit_kind(given) is not None:
        return None
    if given and isinstance(given[0], Mapping):
        pairs = [None if i is None else [(k, float(v)) for k, v in i.items()] for i in items]
        return pa.array(pairs, pa.map_(pa.string(), pa.float64()))
    if given and isinstance(given[0], _SEQUENCES):
        return pa.array([None if i is None else list(i) for i in items], pa.list_(pa.string()))
    if given and all(isinstance(item, date) for item in given):
        return pa.array(as_moments(items))
    numeric = all(isinstance(item, (numbers.Real, Decimal)) for item in given)
    try:
        return pa.array(items, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        if numeric:
            return pa.array([None if i is None else _as_float(i) for i in items], pa.float64())
        return pa.array([None if i is None else str(i) for i in items], pa.string())


def unfit_kind(values: Iterable[Any]) -> str | None:
    """What values of attributes are that cannot be used, in the plural; None if they can be."""
    given = [plain(value) for value in values if not is_missing(value)]
    if given and all(isinstance(item, Mapping) for item in given):
        flat = all(isinstance(k, str) and is_real(v) for item in given for k, v in item.items())
    elif given and all(isinstance(item, _SEQUENCES) for item in given):
        flat = all(isinstance(word, str) for item in given for word in item)
    else:
        for item in given:
            if not isinstance(item, (str, numbers.Real, Decimal, date)):
                nested = isinstance(item, (Mapping, np.ndarray, *_SEQUENCES))
                return "nested values" if nested else f"values of type {type(item).__name__}"
        flat = True
    return None if flat else "nested values"


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        raise InputError(
            f"{str(value)[:20]}… is too large for a number; store it as text"
        ) from None
