"""CSV tables -> `Graph`."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import InputError
from graphgate.graph import Graph
from graphgate.sources.csv_file import CsvFile

StrPath = str | os.PathLike[str]


def read_graph(edges_path: StrPath, nodes_path: StrPath, directed: bool = False) -> Graph:
    """The graph of a table of nodes and a table of edges, both CSV with a header, in UTF-8.

    Nodes: a column `id`, numeric attribute columns, and perhaps `label` (empty: none). Edges:
    `source`, `target` and perhaps `weight`. Ids become whole numbers where every one is written
    as such ("7", not "07"), and stay text otherwise; so do labels. Attributes are float32, the
    precision that the method trains in.
    """
    nodes, edges = CsvFile.open(nodes_path), CsvFile.open(edges_path)
    nodes.require("id")
    edges.require("source", "target")
    names = [name for name in nodes.header if name not in ("id", "label")]
    if not names:
        raise InputError(f"{nodes.path} has no attribute column; add one or more numeric columns")
    if unknown := [name for name in edges.header if name not in ("source", "target", "weight")]:
        raise InputError(
            f"{edges.path} has a column {unknown[0]!r}, but an edge table has only "
            "source, target and weight; remove it"
        )
    table = nodes.read(numeric=names)
    if table.num_rows == 0:
        raise InputError(f"{nodes.path} has a header but no rows; a graph needs at least one node")
    written = table.column("id").to_pylist()
    _check_ids(nodes, written)
    x = _attributes(nodes, table, names)
    pairs, weights = _edges(edges, written)
    ids = numbers_or_text(written)
    try:
        return Graph.from_edges(
            x,
            np.fromiter(ids, dtype=object, count=len(ids))[pairs],
            weights,
            ids=ids,
            labels=_labels(table.column("label").to_pylist()) if "label" in nodes.header else None,
            directed=directed,
            feature_names=names,
        )
    except InputError as error:
        raise InputError(f"{edges.path}: {error}") from None


def _check_ids(file: CsvFile, ids: list[str]) -> None:
    if "" in ids:
        file.refuse_cell(ids.index(""), "id", "names no node; give every node an id")
    first: dict[str, int] = {}
    for row, value in enumerate(ids):
        if first.setdefault(value, row) != row:
            line = file.line(first[value])
            file.refuse_cell(row, "id", f"is on line {line} already; ids must be distinct")


def _attributes(file: CsvFile, table: pa.Table, names: list[str]) -> np.ndarray:
    x = np.empty((table.num_rows, len(names)), dtype=np.float32)
    for column, name in enumerate(names):
        with np.errstate(over="ignore"):  # too large for float32: found and refused just below
            x[:, column] = table.column(name).to_numpy()
        if not (finite := np.isfinite(x[:, column])).all():
            row = int(np.argmin(finite))
            file.refuse_cell(row, name, "is not a finite float32 number; fill or rescale it")
    return x


def _edges(file: CsvFile, ids: list[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """Row numbers of both ends, (E, 2), and the weights if the table has them."""
    table = file.read(numeric=[name for name in file.header if name == "weight"])
    known = pa.array(ids, pa.string())
    pairs = np.empty((table.num_rows, 2), dtype=np.int64)
    for end, name in enumerate(("source", "target")):
        rows = pc.index_in(table.column(name), value_set=known)
        if rows.null_count:
            at = rows.is_null().index(True).as_py()
            file.refuse_cell(at, name, "is not the id of a node; add it to the node table")
        pairs[:, end] = rows.to_numpy()
    if "weight" not in file.header:
        return pairs, None
    weights = table.column("weight").to_numpy()
    if not (fine := np.isfinite(weights) & (weights >= 0)).all():
        file.refuse_cell(
            int(np.argmin(fine)), "weight", "is not a positive finite number; mend the weight"
        )
    return pairs, weights


def _labels(values: list[str]) -> list[Any]:
    given = iter(numbers_or_text([value for value in values if value]))
    return [next(given) if value else None for value in values]


def numbers_or_text(values: list[str]) -> list[Any]:
    """Integers if every value is one as `str` would write it, in 64 bits; else text."""
    if all(re.fullmatch(r"0|-?[1-9][0-9]{0,18}", value) for value in values):
        numbers = [int(value) for value in values]
        if all(-(2**63) < number < 2**63 for number in numbers):
            return numbers
    return values
