"""A table of nodes -> ids, attributes and labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import InputError, InputWarning
from graphgate.graph.attributes import KINDS, Attributes, Column, Kind
from graphgate.io.columns import attribute_column, is_text
from graphgate.io.node_ids import as_whole, check_distinct, id_column, spelled_ids
from graphgate.io.table import Table

_NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"


@dataclass(frozen=True)
class NodeColumns:
    """Which columns of a table of nodes are what; the names of the arguments of `read_graph`."""

    id: str = "id"
    label: str | None = "label"
    drop: Iterable[str] = ()
    words: Iterable[str] = ()
    categories: Iterable[str] = ()
    kinds: Mapping[str, str] | None = None

    def told(self, table: Table) -> dict[str, Kind]:
        """Kinds by column; refuses a column that is not there, or is to be of two kinds."""
        given = [(name, "words") for name in _names(self.words)]
        given += [(name, "category") for name in _names(self.categories)]
        told: dict[str, str] = {k: v for k, v in (self.kinds or {}).items() if k in table.names}
        for name, kind in given:
            table.require(name)
            if told.setdefault(name, kind) != kind:
                raise InputError(f"the column {name!r} cannot be both {told[name]} and {kind}")
        for name, kind in told.items():
            if kind not in KINDS:
                raise InputError(
                    f"the column {name!r} cannot be of kind {kind!r}; use {', '.join(KINDS)}"
                )
        return cast("dict[str, Kind]", told)


def _names(names: Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


@dataclass(frozen=True)
class Nodes:
    """ids : int64 or text. attributes : None where the table has none. labels : None likewise."""

    ids: pa.ChunkedArray
    attributes: Attributes | None
    labels: list[Any] | None


def read_nodes(table: Table, chosen: NodeColumns) -> Nodes:
    table.require(chosen.id)
    label = chosen.label
    if label is not None and label not in table.names:
        if label != NodeColumns.label:
            table.require(label)
        label = None
    drop = _names(chosen.drop)
    table.require(*drop)
    label = None if label in drop else label
    told = chosen.told(table)
    left_out = {chosen.id, label, *drop}
    names = [name for name in table.names if name not in left_out]
    # The spelling of ids and labels counts ("07" is not "7"), and a category is its spelling.
    text = [name for name in (chosen.id, label, *told) if name and told.get(name) != "number"]
    text = [name for name in text if told.get(name) != "boolean"]
    wanted = [chosen.id, *([label] if label else []), *names]
    found: dict[str, Column] = {}
    ids = labels = None
    for name, column in table.columns(wanted, text=text):
        if name == chosen.id:
            (ids,) = spelled_ids(table, id_column(table, name, column))
            if len(ids) == 0:
                raise InputError(
                    f"{table.what} has columns but no rows; a graph needs at least one node"
                )
            check_distinct(table, name, ids)
        elif name == label:
            labels = _labels(table, name, column)
        else:
            found[name] = attribute_column(table, name, column, told.get(name))
            if table.spelled and found[name].kind == "category" and name not in told:
                _warn_of_few_words(table, name, column)
    assert ids is not None
    return Nodes(ids, Attributes(found) if found else None, labels)


def _warn_of_few_words(table: Table, name: str, column: pa.ChunkedArray) -> None:
    """Most cells are numbers: then the others may be mistakes."""
    words = pc.invert(pc.match_substring_regex(column, _NUMBER))
    count = pc.sum(words).as_py() or 0
    if 0 < 2 * count < len(column) - column.null_count:
        row = words.index(True).as_py()
        warnings.warn(
            f"{table.what}, column {name!r} is taken for a category: {count:,} of its cells are no "
            f"numbers, such as {table.cell(row, name)} ({table.place(row)}); if that is a mistake, "
            "mend them, or leave them empty where a number is missing",
            InputWarning,
            stacklevel=4,
        )


def _labels(table: Table, name: str, column: pa.ChunkedArray) -> list[Any]:
    """Plain values; whole numbers also if spelled, or if a missing one made floats of them."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if is_text(column.type):
        whole = as_whole(column.cast(pa.large_string())) if table.spelled else None
        column = column if whole is None else whole
    elif pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
        with suppress(pa.ArrowInvalid):
            column = column.cast(pa.int64())
    elif not (
        pa.types.is_integer(column.type)
        or pa.types.is_boolean(column.type)
        or pa.types.is_null(column.type)
    ):
        raise InputError(
            f"{table.what}, column {name!r}: labels of type {column.type} cannot be used; "
            "give text or numbers"
        )
    values: list[Any] = column.to_pylist()
    return values
