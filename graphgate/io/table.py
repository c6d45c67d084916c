"""A table of named columns, wherever it comes from: what the readers of nodes and edges ask for."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from graphgate.errors import InputError, listing

StrPath = str | os.PathLike[str]


class Table(ABC):
    """Columns of Arrow arrays, and words for the place of a cell.

    what : names the table in a sentence.
    names : of its columns, distinct and not empty.
    spelled : whether values are known by their spelling alone, as in text files; a whole number
        and its digits are then the same.
    """

    what: str
    names: list[str]
    spelled = False

    @abstractmethod
    def columns(
        self, names: Sequence[str], *, text: Iterable[str] = (), numbers: Iterable[str] = ()
    ) -> Iterator[tuple[str, pa.ChunkedArray]]:
        """Columns by name, in this order; where there is only spelling, some told to be of a kind.

        An iterator, so that not all need be in memory at once.
        """

    @abstractmethod
    def place(self, row: int) -> str:
        """Where row 0, 1, … stands: "line 7"."""

    def cell(self, row: int, name: str) -> str:
        """What a cell holds, as its user sees it."""
        ((_, column),) = self.columns([name])
        value = column[row].as_py()
        return "the missing value" if value is None else repr(value)

    def refuse_cell(self, row: int, name: str, problem: str) -> NoReturn:
        raise InputError(
            f"{self.what}, {self.place(row)}, column {name!r}: {self.cell(row, name)} {problem}"
        )

    def require(self, *names: str) -> None:
        for name in names:
            if name not in self.names:
                shown = listing([repr(known) for known in self.names], 5)
                raise InputError(f"{self.what} has no column {name!r}; its columns are {shown}")


def check_names(what: str, names: Sequence[Any]) -> list[str]:
    """Refuses columns without a name, or two of one name."""
    seen: set[str] = set()
    for at, name in enumerate(names, start=1):
        if name is None or name != name or not str(name).strip():
            raise InputError(
                f"column {at} of {what} has no name; name it, or write the table without its index"
            )
        if not isinstance(name, str):
            raise InputError(f"column {at} of {what} is named {name!r}; name it by text")
        if name in seen:
            raise InputError(f"{what} has two columns named {name!r}; rename or remove one")
        seen.add(name)
    return list(names)


def check_file(path: StrPath) -> Path:
    found = Path(path)
    if found.is_dir():
        raise InputError(f"{found} is a directory; name the file in it")
    if not found.exists() and not _behind_a_file(found):
        raise InputError(f"{found} does not exist; check the path")
    return found


def _behind_a_file(path: Path) -> bool:
    return any(parent.is_file() for parent in path.parents)


def first_line(error: Exception) -> str:
    """Libraries explain themselves in many lines."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
