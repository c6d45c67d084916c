"""Pajek's .net files.

NetworkX has a reader for them, but it wants a label at every vertex, takes edges that follow arcs
for arcs, and the lists of neighbours of `*arcslist` for pairs with a weight.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from graphgate.errors import InputError
from graphgate.io.content import read_text
from graphgate.io.network import Network, numbers_or_text

_SECTIONS = ("*network", "*vertices", "*arcs", "*edges", "*arcslist", "*edgeslist", "*matrix")
_FIELD = re.compile(r'"([^"]*)"|(\S+)')


def read_pajek(path: str | os.PathLike[str], directed: bool | None = None) -> Network:
    """The network of a .net file, its nodes named by their labels where these are distinct.

    `*arcs`, `*arcslist` make it directed; `*edges` beside them count both ways. A `*matrix` is
    directed unless it is symmetric. Coordinates and shapes of vertices are how they are drawn, not
    what they are, and left out; further pairs of name and value are attributes.
    """
    return _Reader(Path(path)).read(directed)


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 0
        self.n = self.most = 0
        self.labels: dict[int, str] = {}
        self.columns: dict[str, dict[int, str]] = {}
        self.pairs: list[tuple[int, int]] = []
        self.weights: list[float] = []
        self.one_way: list[bool] = []
        self.matrix: list[list[float]] = []

    def read(self, directed: bool | None) -> Network:
        section = ""
        text = read_text(self.path)
        self.most = max(10**6, 10 * len(text))  # a header can ask for any number of nodes
        for self.line, line in enumerate(text.split("\n"), start=1):
            if not line.strip() or line.lstrip().startswith("%"):
                continue
            if line.lstrip().startswith("*"):
                section = self._section(line.split())
            elif section == "*vertices":
                self._vertex(line)
            elif section in ("*arcs", "*edges"):
                self._edge(line.split(), one_way=section == "*arcs")
            elif section in ("*arcslist", "*edgeslist"):
                self._neighbours(line.split(), one_way=section == "*arcslist")
            elif section == "*matrix":
                self.matrix.append([self._number(field) for field in line.split()])
            else:
                self._refuse(f"{line.strip()[:40]!r} stands in no section such as *Vertices")
        if not self.n:
            raise InputError(f"{self.path} is no Pajek network: it has no *Vertices")
        return self._network(directed)

    def _network(self, directed: bool | None) -> Network:
        pairs, weights = self.pairs, self.weights
        mixed = any(self.one_way)
        if self.matrix:
            values = self._square()
            mixed = bool((values != values.T).any())
            upper = values if mixed else np.triu(values)
            sources, targets = np.nonzero(upper)
            pairs = list(zip(sources.tolist(), targets.tolist(), strict=True))
            weights = upper[sources, targets].tolist()
        elif mixed:
            both = [
                at
                for at, arc in enumerate(self.one_way)
                if not arc and pairs[at][0] != pairs[at][1]
            ]
            pairs = pairs + [pairs[at][::-1] for at in both]
            weights = weights + [weights[at] for at in both]
        names = [self.labels.get(row) for row in range(self.n)]
        distinct = None not in names and len(set(names)) == self.n
        ids: Any = numbers_or_text(names) if distinct else list(range(1, self.n + 1))
        columns = {
            name: _typed([values.get(row) for row in range(self.n)])
            for name, values in self.columns.items()
        }
        return Network(
            ids,
            np.array(pairs, dtype=np.int64).reshape(-1, 2),
            None if all(weight == 1 for weight in weights) else weights,
            mixed if directed is None else directed,
            columns,
        )

    def _section(self, fields: list[str]) -> str:
        name = fields[0].lower()
        if name not in _SECTIONS:
            self._refuse(f"the section {fields[0]!r} is not one of {', '.join(_SECTIONS)}")
        if name == "*vertices":
            if self.n:
                self._refuse("a second *Vertices; give one network a file")
            count = fields[1] if len(fields) > 1 else ""
            if not count.isdecimal() or len(count) > 12 or int(count) == 0:
                self._refuse("*Vertices must name how many there are, such as *Vertices 34")
            if int(count) > self.most:
                self._refuse(f"the file is far too short for {int(count):,} vertices")
            self.n = int(count)
        elif name != "*network" and not self.n:
            self._refuse(f"{fields[0]} stands before *Vertices")
        if len(fields) > 2 and name == "*vertices" and fields[2] != "0":
            self._refuse("a network of two modes is not read; give one of one mode")
        return name

    def _vertex(self, line: str) -> None:
        fields = [quoted or bare for quoted, bare in _FIELD.findall(line)]
        row = self._row(fields[0])
        if row in self.labels:
            self._refuse(f"the vertex {fields[0]} is given twice")
        if len(fields) < 2:
            return
        self.labels[row] = fields[1]
        rest = fields[2:]
        while rest and _is_number(rest[0]):  # coordinates, two or three
            rest = rest[1:]
        if len(rest) % 2:  # a shape, then pairs
            rest = rest[1:]
        for name, value in zip(rest[::2], rest[1::2], strict=True):
            self.columns.setdefault(name, {})[row] = value

    def _edge(self, fields: list[str], *, one_way: bool) -> None:
        if len(fields) < 2:
            self._refuse("an edge needs two vertices")
        self.pairs.append((self._row(fields[0]), self._row(fields[1])))
        self.weights.append(self._number(fields[2]) if len(fields) > 2 else 1.0)
        self.one_way.append(one_way)

    def _neighbours(self, fields: list[str], *, one_way: bool) -> None:
        source, *targets = map(self._row, fields)
        self.pairs += [(source, target) for target in targets]
        self.weights += [1.0] * len(targets)
        self.one_way += [one_way] * len(targets)

    def _square(self) -> np.ndarray:
        if len(self.matrix) != self.n or any(len(row) != self.n for row in self.matrix):
            self._refuse(f"the *Matrix is not {self.n} × {self.n}; the file is cut off")
        return np.array(self.matrix)

    def _row(self, field: str) -> int:
        if not field.isdecimal() or len(field) > 10 or not 1 <= int(field) <= self.n:
            self._refuse(f"{field!r} is not the number of a vertex, 1 to {self.n}")
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


def _typed(values: list[str | None]) -> list[Any]:
    """Numbers where every value is one; Pajek does not say."""
    if all(value is None or _is_number(value) for value in values):
        return [None if value is None else float(value) for value in values]
    return list(values)
