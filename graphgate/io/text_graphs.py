"""Edge lists, adjacency lists and Pajek's .net files, read without other libraries.

NetworkX has a reader for Pajek too, but it requires a label for every vertex, reads edges that
follow arcs as arcs, and the neighbor lists of `*arcslist` as pairs with a weight.
"""

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import dropwhile
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from graphgate.errors import InputError, InputWarning, warn_ignored
from graphgate.io.files import StrPath, check_file, read_text
from graphgate.io.graph_tables import NODE, GraphTables
from graphgate.io.limits import check_claim
from graphgate.io.tables import Table

_Row = tuple[Any, Any, float | None, int]  # source, target, weight, line

# --- lists ---------------------------------------------------------------------------------------


def read_edge_list(path: StrPath) -> GraphTables:
    """One edge per line: source, target and optionally a weight or {'weight': …}; # comments."""
    rows: list[_Row] = []
    others: dict[str, None] = {}  # what else mappings have
    for number, line in _without_heading(path, list(_lines(path))):
        source, *rest = line.split(None, 2)
        if not rest:
            hint = " (a comma-separated table must end in .csv)" if "," in line else ""
            raise InputError(
                f"{path}, line {number}: {line.strip()[:40]!r} names one node; an edge list has "
                f"source, target and optionally a weight on each line{hint}"
            )
        data = _edge_data(path, number, rest[1]) if len(rest) > 1 else {}
        rows.append((source, rest[0], data.pop("weight", None), number))
        others |= dict.fromkeys(data)
    if not rows:
        raise InputError(f"{path} contains no edges; write one per line: source and target")
    warn_ignored(str(path), "edge attribute", list(others))
    return GraphTables(_edges(path, rows))


def read_adjacency_list(path: StrPath) -> GraphTables:
    """One node per line, followed by its neighbors; # starts a comment."""
    names: dict[str, None] = {}
    rows: list[_Row] = []
    for number, line in _lines(path):
        source, *targets = line.split()
        names |= dict.fromkeys([source, *targets])
        rows += [(source, target, None, number) for target in targets]
    if not names:
        raise InputError(f"{path} contains no nodes; write one per line, followed by its neighbors")
    nodes = Table(pa.table({NODE: pa.array(names, pa.string())}), str(path), spelled=True)
    return GraphTables(_edges(path, rows), nodes)


def _edges(path: StrPath, rows: Sequence[_Row]) -> Table:
    sources, targets, weights, lines = zip(*rows, strict=True) if rows else [()] * 4
    columns = {"source": pa.array(sources), "target": pa.array(targets)}
    if any(weight is not None for weight in weights):
        columns["weight"] = pa.array(weights, pa.float64())
    return Table(pa.table(columns), str(path), spelled=True, place=lambda at: f"line {lines[at]}")


def _lines(path: StrPath) -> Iterator[tuple[int, str]]:
    """Lines with content, and their numbers."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        content = line.partition("#")[0]
        if content and not content.isspace():
            yield number, content


def _without_heading(path: StrPath, lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The lines without a first one of words, such as "source target", above one of numbers."""
    if len(lines) < 2:
        return lines
    first, second = (line.split()[:2] for _, line in lines[:2])
    if any(map(_is_integer, first)) or not all(map(_is_integer, second)):
        return lines
    warnings.warn(
        f"{path}, line {lines[0][0]}: {lines[0][1].strip()!r} is read as a header, not an edge",
        InputWarning,
        stacklevel=4,
    )
    return lines[1:]


def _is_integer(name: str) -> bool:
    return re.fullmatch(r"-?\d+", name) is not None


def _edge_data(path: StrPath, number: int, field: str) -> dict[str, Any]:
    """A mapping in a third field, or its number as the weight."""
    try:
        if not field.lstrip().startswith("{"):
            return {"weight": float(field)}
        data = {str(name): value for name, value in ast.literal_eval(field.strip()).items()}
        return data | ({"weight": float(data["weight"])} if "weight" in data else {})
    except (
        *(ValueError, SyntaxError, TypeError, AttributeError),
        *(OverflowError, MemoryError, RecursionError),
    ):
        raise InputError(
            f"{path}, line {number}: {field.strip()[:40]!r} after source and target is not a "
            "weight; use a number, {'weight': number}, or nothing"
        ) from None


# --- Pajek ---------------------------------------------------------------------------------------

_FIELD = re.compile(r'"([^"]*)"|(\S+)')


def read_pajek(path: StrPath) -> GraphTables:
    """The graph in a .net file, its nodes named by their labels where these are distinct.

    `*arcs` and `*arcslist` make it directed; `*edges` next to them count in both directions. A
    `*matrix` is directed unless it is symmetric. Further pairs of name and value of a vertex are
    attributes; a warning names what else there is, such as coordinates.
    """
    return _PajekReader(path).read()


class _PajekReader:
    def __init__(self, path: StrPath) -> None:
        self.path, self.line, self.n = path, 0, 0
        self.size = check_file(path).stat().st_size
        self.labels: dict[int, str] = {}
        self.columns: dict[str, dict[int, str]] = {}
        self.edges: list[tuple[int, int, float, int, bool]] = []  # ends, weight, line, is an arc
        self.in_arcs = False
        self.drawn: dict[str, set[tuple[str, ...]]] = {"coordinates": set(), "shapes": set()}
        self.more: dict[str, None] = {}  # what else edges have than a weight
        self.matrix: list[list[float]] = []

    def read(self) -> GraphTables:
        read: Callable[[list[str]], None] = self._no_section
        sections = {
            "*network": self._no_section,
            "*vertices": self._vertex,
            "*arcs": self._edge,
            "*edges": self._edge,
            "*arcslist": self._neighbors,
            "*edgeslist": self._neighbors,
            "*matrix": lambda fields: self.matrix.append(list(map(self._number, fields))),
        }
        lines = read_text(self.path).split("\n")
        for self.line, line in enumerate(lines, start=1):
            fields = [quoted or bare for quoted, bare in _FIELD.findall(line)]
            name = fields[0].lower() if fields else "%"
            if name.startswith("*"):
                if name not in sections:
                    self._refuse(f"the section {fields[0]!r} is not one of {', '.join(sections)}")
                if name == "*vertices":
                    self._count(fields)
                elif name != "*network" and not self.n:
                    self._refuse(f"{fields[0]} comes before *Vertices")
                elif name != "*network" and len(fields) > 1:
                    self.more["names of relations"] = None
                read = sections[name]
                self.in_arcs = name.startswith("*arcs")
            elif not name.startswith("%"):
                read(fields)
        if not self.n:
            raise InputError(f"{self.path} is not a Pajek network: it has no *Vertices")
        return self._tables()

    def _tables(self) -> GraphTables:
        directed = any(arc for *_, arc in self.edges)
        if self.matrix:
            if {self.n} != {len(self.matrix), *map(len, self.matrix)}:
                self._refuse(f"the *Matrix is not {self.n} × {self.n}; the file is truncated")
            values = np.array(self.matrix)
            directed = bool((values != values.T).any())
            self.edges += [
                (u, v, self.matrix[u][v], self.line, directed)
                for u, v in np.argwhere(values if directed else np.triu(values)).tolist()
            ]
        if directed:  # edges next to arcs count in both directions
            self.edges += [
                (v, u, weight, line, arc)
                for u, v, weight, line, arc in self.edges
                if not arc and u != v
            ]
        cells = self.n * len(self.columns)
        check_claim(str(self.path), "text", cells, self.size, "values of attributes")
        labels = [self.labels.get(row) for row in range(self.n)]
        distinct = None not in labels and len(set(labels)) == self.n
        names: list[Any] = labels if distinct else list(range(1, self.n + 1))
        # What is the same everywhere, such as the defaults that NetworkX writes, says nothing.
        ignored = [what for what, values in self.drawn.items() if len(values) > 1]
        ignored += ["labels (repeated or missing)"] * (not distinct and bool(self.labels))
        warn_ignored(str(self.path), "part", [*ignored, *self.more])
        columns = {NODE: pa.array(names)} | {
            name: _typed([values.get(row) for row in range(self.n)])
            for name, values in self.columns.items()
        }
        weighted = any(weight != 1 for _, _, weight, *_ in self.edges)
        edges = _edges(
            self.path,
            [
                (names[u], names[v], weight if weighted else None, line)
                for u, v, weight, line, _ in self.edges
            ],
        )
        nodes = Table(pa.table(columns), str(self.path), spelled=True)
        return GraphTables(edges, nodes, directed)

    def _count(self, fields: list[str]) -> None:
        if self.n:
            self._refuse("there is a second *Vertices; use one file per network")
        count = fields[1] if len(fields) > 1 else ""
        if not count.isdecimal() or len(count) > 12 or int(count) == 0:
            self._refuse("*Vertices must be followed by their number, as in *Vertices 34")
        check_claim(str(self.path), "nodes", int(count), self.size, "vertices")
        if fields[2:3] not in ([], ["0"]):
            self._refuse("two-mode networks are not supported; use a one-mode network")
        self.n = int(count)

    def _vertex(self, fields: list[str]) -> None:
        row = self._row(fields[0])
        if row in self.labels:
            self._refuse(f"the vertex {fields[0]} is listed twice")
        if len(fields) > 1:
            self.labels[row] = fields[1]
        rest = list(dropwhile(_is_number, fields[2:]))  # after two or three coordinates
        self.drawn["coordinates"].add(tuple(fields[2 : len(fields) - len(rest)]))
        self.drawn["shapes"].add(tuple(rest[: len(rest) % 2]))
        rest = rest[len(rest) % 2 :]  # a shape, then pairs
        for name, value in zip(rest[::2], rest[1::2], strict=True):
            self.columns.setdefault(name, {})[row] = value

    def _edge(self, fields: list[str]) -> None:
        if len(fields) < 2:
            self._refuse("an edge needs two vertices")
        weight = self._number(fields[2]) if len(fields) > 2 else 1.0
        if len(fields) > 3:
            self.more["attributes of edges"] = None
        u, v = map(self._row, fields[:2])
        self.edges.append((u, v, weight, self.line, self.in_arcs))

    def _neighbors(self, fields: list[str]) -> None:
        for target in fields[1:]:
            self._edge([fields[0], target])

    def _no_section(self, fields: list[str]) -> None:
        self._refuse(f"{' '.join(fields)[:40]!r} is not in a section such as *Vertices")

    def _row(self, field: str) -> int:
        if not field.isdecimal() or len(field) > 10 or not 1 <= int(field) <= self.n:
            self._refuse(f"{field!r} is not a vertex number (1 to {self.n})")
        return int(field) - 1

    def _number(self, field: str) -> float:
        if not _is_number(field):
            self._refuse(f"{field!r} is not a number")
        return float(field)

    def _refuse(self, what: str) -> NoReturn:
        raise InputError(f"{self.path}, line {self.line}: {what}")


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _typed(values: list[str | None]) -> pa.Array:
    """Numbers where every value is one; Pajek does not declare types."""
    texts = pa.array(values, pa.string())
    with suppress(pa.ArrowInvalid):
        return texts.cast(pa.float64())
    return texts
