"""Edge lists and adjacency lists: lines of names parted by white space, as NetworkX writes them."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from graphgate.errors import InputError, InputWarning
from graphgate.io.content import read_text
from graphgate.io.network import Network, numbers_or_text


def read_edge_list(path: str | os.PathLike[str], directed: bool = False) -> Network:
    """One edge a line: source, target, perhaps a weight or {'weight': …}; # starts a comment."""
    rows: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    weights: list[float] = []
    unweighted = 0  # the line of an edge without a weight, if there is one
    for number, line in _without_heading(path, list(_lines(path))):
        fields = line.split(None, 2)
        if len(fields) < 2:
            hint = " (a table parted by commas ends in .csv)" if "," in line else ""
            raise InputError(
                f"{path}, line {number}: {line.strip()[:40]!r} names one node; an edge list has "
                f"source, target and perhaps a weight on each line{hint}"
            )
        pairs.append((rows.setdefault(fields[0], len(rows)), rows.setdefault(fields[1], len(rows))))
        weight = _weight(Path(path), number, fields[2]) if len(fields) == 3 else None
        if weight is None:
            unweighted = unweighted or number
        else:
            weights.append(weight)
    if weights and unweighted:
        raise InputError(
            f"{path}, line {unweighted}: the edge has no weight, but others have; give all or none"
        )
    if not rows:
        raise InputError(f"{path} holds no edge; give one a line, source and target")
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Network(numbers_or_text(list(rows)), edges, weights or None, directed)


def read_adjacency_list(path: str | os.PathLike[str], directed: bool = False) -> Network:
    """One node a line, followed by its neighbours; # starts a comment."""
    rows: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    for _, line in _lines(path):
        source, *targets = (rows.setdefault(name, len(rows)) for name in line.split())
        pairs += [(source, target) for target in targets]
    if not rows:
        raise InputError(f"{path} holds no node; give one a line, followed by its neighbours")
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Network(numbers_or_text(list(rows)), edges, None, directed)


def _lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Lines that hold something, with their numbers."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if "#" in line:
            line = line[: line.index("#")]
        if line and not line.isspace():
            yield number, line


def _without_heading(
    path: str | os.PathLike[str], lines: list[tuple[int, str]]
) -> list[tuple[int, str]]:
    """The lines without a first one of words, such as "source target", above one of numbers."""
    if len(lines) < 2:
        return lines
    first, second = (line.split()[:2] for _, line in lines[:2])
    if any(map(_is_whole, first)) or not all(map(_is_whole, second)):
        return lines
    warnings.warn(
        f"{path}, line {lines[0][0]}: {lines[0][1].strip()!r} is taken for a heading, not an edge",
        InputWarning,
        stacklevel=4,
    )
    return lines[1:]


def _is_whole(name: str) -> bool:
    return re.fullmatch(r"-?\d+", name) is not None


def _weight(path: Path, number: int, field: str) -> float | None:
    """The number of a third field; of a mapping its 'weight', if it has one."""
    try:
        if not field.lstrip().startswith("{"):
            return float(field)
        data = ast.literal_eval(field.strip())
        return float(data["weight"]) if "weight" in data else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise InputError(
            f"{path}, line {number}: {field.strip()[:40]!r} after source and target is no weight; "
            "give a number, or {'weight': number}, or nothing"
        ) from None
