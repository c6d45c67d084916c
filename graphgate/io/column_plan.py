"""What each column of a node table is read as, decided by its values.

The library that read a file knows types; what a column means is in its values: text may spell
numbers, dates or lists, and numbers may only count the rows. So text, and text only, is looked at,
in a sample of rows at equal distances.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.io.cell_parts import MOST_KEYS, address_kind, list_kind, parsed_json, text_of
from graphgate.io.columns import is_list, is_number, is_text, one_piece
from graphgate.io.spellings import MISSING, are_booleans, date_kind, number_kind
from graphgate.io.tables import python_column

FEWEST = 20  # rows from which columns may be left out
_SAMPLE = 5000  # values that are looked at
_DEEPEST = 4  # objects within objects
_PADDED = r"^\s*[-+]?0[0-9]"
_HASH = re.compile(
    r"(?:[0-9a-fA-F]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|"
    r"(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])[\w+/=-]{20,})"
)
_CODE = re.compile(r"[^\W\d]{0,8}[-_#:/. ]?\d+")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_LATITUDE = re.compile(r"(^|[_. ])(lat|latitude)$", re.IGNORECASE)
_LONGITUDES = {"lat": ("lon", "lng", "long"), "latitude": ("longitude",)}


@dataclass(frozen=True)
class ColumnPlan:
    """What a column is read as, and why.

    kind : one of `READINGS`; "drop" if it is left out.
    attribute : the attribute that it becomes, or becomes a part of; None if it is left out.
    """

    name: str
    kind: str
    why: str
    attribute: str | None = None


class Planned(NamedTuple):
    """A decision with the values that it is about, which differ from those of the table where these
    are objects, or lists of anything but text."""

    plan: ColumnPlan
    values: pa.ChunkedArray


def planned(
    name: str, column: pa.ChunkedArray, ids: pa.ChunkedArray | None, kinds: Mapping[str, str]
) -> Iterator[Planned]:
    """What to make of a column; several columns of objects.

    ids : of the nodes, in the same order. kinds : what is given, by name.
    """
    yield from _planned(name, column, ids, kinds, _DEEPEST)


def _planned(
    name: str,
    column: pa.ChunkedArray,
    ids: pa.ChunkedArray | None,
    kinds: Mapping[str, str],
    depth: int,
) -> Iterator[Planned]:
    column = _flat(column)
    kind, why = kinds.get(name), "as given"
    if kind is None:
        column = _without_blanks(column) if is_text(column.type) else column
        kind, why = _decided(column, ids)
    if kind == "object" and depth:
        yield Planned(ColumnPlan(name, kind, why), column)
        for key, values in _members(column).items():
            yield from _planned(f"{name}.{key}", values, ids, kinds, depth - 1)
        return
    if kind == "object":
        kind = "list"
    attribute = None if kind == "drop" else name
    yield Planned(ColumnPlan(name, kind, why, attribute), column)


def _flat(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Lists of anything as lists of text, and maps to anything but numbers as lists."""
    kind = column.type
    if pa.types.is_map(kind):
        if is_number(kind.item_type) and is_text(kind.key_type):
            return column
        pairs = [
            None if v is None else [f"{k}={text_of(x)}" for k, x in v] for v in column.to_pylist()
        ]
        return pa.chunked_array([pa.array(pairs, pa.list_(pa.string()))])
    if not is_list(kind) or is_number(kind.value_type) or is_text(kind.value_type):
        return column
    inner = kind.value_type
    counts = pa.types.is_struct(inner) and inner.num_fields == 2 and is_number(inner[1].type)
    if pa.types.is_dictionary(inner) or pa.types.is_null(inner) or counts:
        return column
    lists = [
        None if items is None else [text_of(item) for item in items if item is not None]
        for items in column.to_pylist()
    ]
    return pa.chunked_array([pa.array(lists, pa.list_(pa.string()))])


def _without_blanks(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text of white space only is missing, as it is in a text file."""
    blank = pc.equal(pc.utf8_trim_whitespace(column), "")
    return pc.if_else(blank, None, column) if pc.any(blank).as_py() else column


def _members(column: pa.ChunkedArray) -> dict[str, pa.ChunkedArray]:
    """The members of structs or JSON objects, as columns; of many, the most frequent ones."""
    if pa.types.is_struct(column.type):
        struct = one_piece(column)
        names = [field.name for field in column.type][:MOST_KEYS]
        return {key: pa.chunked_array([pc.struct_field(struct, key)]) for key in names}
    values = [None if text is None else parsed_json(text) for text in column.to_pylist()]
    objects = [value if isinstance(value, dict) else {} for value in values]
    counts: dict[str, int] = {}
    for value in objects:
        for key in value:
            counts[key] = counts.get(key, 0) + 1
    keys = sorted(counts, key=lambda key: -counts[key])[:MOST_KEYS]
    return {key: _member([value.get(key) for value in objects]) for key in keys}


def _member(values: list[Any]) -> pa.ChunkedArray:
    column = python_column(values)
    if column is None:  # nested
        column = pa.array([None if v is None else text_of(v) for v in values], pa.string())
    return pa.chunked_array([column])


# --- decisions -----------------------------------------------------------------------------------


def _decided(column: pa.ChunkedArray, ids: pa.ChunkedArray | None) -> tuple[str, str]:
    """Kind and reason."""
    kind, n = column.type, len(column)
    if n >= FEWEST and column.null_count == n:
        return "drop", "has no values"
    if pa.types.is_null(kind):
        return "number", "has no values"
    if pa.types.is_dictionary(kind):
        dated = pa.types.is_temporal(kind.value_type)
        return ("date", "dates") if dated else ("category", "a categorical type")
    if pa.types.is_struct(kind):
        return "object", "has members"
    if pa.types.is_map(kind):
        return "words", "maps words to counts"
    if is_list(kind):
        return _of_lists(column)
    if is_text(kind):
        return _of_text(column.cast(pa.large_string()), ids)
    if n >= FEWEST and column.null_count == 0 and (reason := _says_nothing(column, ids)):
        return "drop", reason
    if pa.types.is_boolean(kind):
        return "boolean", "true or false"
    if pa.types.is_time(kind):
        return "time", "times of day"
    if pa.types.is_temporal(kind):
        return "date", "dates" if not pa.types.is_duration(kind) else "durations"
    if is_number(kind):
        return "number", "numbers"
    return "drop", f"values of type {kind}"


def _of_lists(column: pa.ChunkedArray) -> tuple[str, str]:
    lengths = pc.list_value_length(column)
    if not is_number(column.type.value_type):
        return "words", "lists"
    ends = pc.min_max(lengths).as_py()
    if ends["min"] == ends["max"] and ends["min"] is not None and ends["min"] > 1:
        return "vector", f"{ends['min']} numbers each"
    return "list", "lists of different length"


def _says_nothing(column: pa.ChunkedArray, ids: pa.ChunkedArray | None) -> str | None:
    """Why a column without missing values says nothing about the nodes; None if it may."""
    ends = pc.min_max(column).as_py()
    low, high = ends["min"], ends["max"]
    if low == high and low is not None:
        return f"is {low} everywhere"
    if not pa.types.is_integer(column.type):
        return None
    if high - low == len(column) - 1:
        steps = np.diff(column.to_numpy())
        if (steps == 1).all() or (steps == -1).all():
            return "numbers the rows"
    return "a copy of the id" if _is_copy(column, ids) else None


def _is_copy(column: pa.ChunkedArray, ids: pa.ChunkedArray | None) -> bool:
    if ids is None or len(ids) != len(column):
        return False
    rows = _sample_rows(len(column))
    return [str(v) for v in column.take(rows).to_pylist()] == [
        str(v) for v in ids.take(rows).to_pylist()
    ]


def _sample_rows(n: int) -> pa.Array:
    return pa.array(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64))


def _of_text(column: pa.ChunkedArray, ids: pa.ChunkedArray | None) -> tuple[str, str]:
    given = column.drop_null()
    if not len(given):
        return "category", "has no values"
    sample: list[str] = given.take(_sample_rows(len(given))).to_pylist()
    told = [value for value in sample if value.strip().lower() not in MISSING] or sample
    whole, complete = len(column) >= FEWEST, column.null_count == 0
    if whole and complete and len(set(sample)) == 1 and pc.count_distinct(given).as_py() == 1:
        return "drop", f"is {sample[0][:30]!r} everywhere"
    if whole and complete and _is_copy(column, ids):
        return "drop", "a copy of the id"
    if are_booleans(sample):
        return "boolean", "yes or no"
    if (kind := number_kind(told)) and not _has_padding(given):
        return _of_spelled(kind, column, ids)
    if kind := date_kind(told):
        return kind, "times of day" if kind == "time" else "dates"
    if whole and _all_match(_HASH, told, 0.95) and _are_distinct(given):
        return "drop", "hashes, which only identify"
    if whole and _all_match(_CODE, told, 0.98) and _are_distinct(given):
        return "drop", "codes, each of which occurs once"
    if kind := address_kind(told):
        return kind, "e-mail addresses" if kind == "email" else "addresses or paths"
    if kind := list_kind(told):
        return kind, {"object": "JSON objects", "vector": "lists of numbers"}.get(kind, "lists")
    return _language_or_names(given, told)


def _of_spelled(kind: str, column: pa.ChunkedArray, ids: pa.ChunkedArray | None) -> tuple[str, str]:
    if len(column) >= FEWEST and column.null_count == 0 and kind == "number":
        try:
            integers = pc.utf8_trim_whitespace(column).cast(pa.int64())
        except pa.ArrowInvalid:
            return kind, "spelled numbers"
        if reason := _says_nothing(integers, ids):
            return "drop", reason
    return kind, "numbers with a decimal comma" if kind == "comma number" else "spelled numbers"


def _has_padding(given: pa.ChunkedArray) -> bool:
    return bool(pc.any(pc.match_substring_regex(given, _PADDED)).as_py())


def _all_match(pattern: re.Pattern[str], values: Sequence[str], share: float) -> bool:
    return sum(bool(pattern.fullmatch(v.strip())) for v in values) >= share * len(values)


def _are_distinct(given: pa.ChunkedArray) -> bool:
    return bool(pc.count_distinct(given).as_py() >= 0.98 * len(given))


def _language_or_names(given: pa.ChunkedArray, sample: Sequence[str]) -> tuple[str, str]:
    """Free text has several words, which are seldom the same; else values are names."""
    lengths = [len(value.split()) + len(_UNSPACED.findall(value)) // 2 for value in sample]
    words = sum(lengths) / len(lengths)
    distinct = pc.count_distinct(given).as_py()
    if len(given) < FEWEST:
        is_text = words >= 4
    else:
        is_text = words >= 8 or (words >= 2.8 and distinct > 0.3 * len(given))
    if is_text and distinct > 2:
        return "text", f"{words:.0f} words on average"
    return "category", f"{distinct:,} value{'s' * (distinct != 1)}"


# --- two columns that belong together ------------------------------------------------------------


def places(plans: Sequence[ColumnPlan], given: Mapping[str, str]) -> list[tuple[str, str]]:
    """Latitudes and longitudes that belong together, by the names of their columns."""
    numeric = {
        plan.name: plan.kind for plan in plans if plan.kind in ("number", "latitude", "longitude")
    }
    pairs: list[tuple[str, str]] = []
    for name in numeric:
        if numeric[name] == "latitude":
            partners = [other for other in numeric if numeric[other] == "longitude"]
        elif name not in given and (found := _LATITUDE.search(name)):
            stem, latitude = name[: found.start(2)], found[2].lower()
            named = {f"{stem}{end}".lower() for end in _LONGITUDES[latitude]}
            partners = [o for o in numeric if o.lower() in named and o not in given]
        else:
            continue
        taken = {longitude for _, longitude in pairs}
        if partner := next((other for other in partners if other not in taken), None):
            pairs.append((name, partner))
    return pairs
