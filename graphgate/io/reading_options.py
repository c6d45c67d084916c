"""How the tables of a graph are read, in a form that can be stored and applied again."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self, cast

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.io.column_plan import ColumnPlan
from graphgate.io.columns import READINGS
from graphgate.io.tables import Table

UNKNOWN_NODES = ("drop", "add", "refuse")


@dataclass(frozen=True)
class ReadingOptions:
    """The keyword arguments of `read_graph` and `from_tables` that select and interpret columns.

    Each field is described there. `to_dict` returns JSON values, which a model can store, and
    `read_graph(edges, nodes, **options.to_dict())` applies them again.

    >>> ReadingOptions.from_dict(ReadingOptions(drop="name").to_dict()).drop
    ('name',)
    """

    source: str = "source"
    target: str = "target"
    weight: str | None = "weight"
    id: str = "id"
    label: str | None = "label"
    drop: Iterable[str] = ()
    words: Iterable[str] = ()
    categories: Iterable[str] = ()
    unknown_nodes: str = "drop"
    directed: bool | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.unknown_nodes not in UNKNOWN_NODES:
            raise InputError(
                f"unknown_nodes must be one of {', '.join(UNKNOWN_NODES)}, "
                f"got {self.unknown_nodes!r}"
            )
        for name in ("source", "target", "id", "weight", "label"):
            value = getattr(self, name)
            optional = name in ("weight", "label") and value is None
            if not optional and not isinstance(value, str):
                raise InputError(f"{name} must be the name of a column, got {value!r}")
        if not isinstance(self.directed, bool | None):
            raise InputError(f"directed must be true, false or None, got {self.directed!r}")
        for name in ("drop", "words", "categories"):
            value = getattr(self, name)
            names = [value] if isinstance(value, str) or not isinstance(value, Iterable) else value
            object.__setattr__(self, name, tuple(names))
            if not all(isinstance(each, str) for each in getattr(self, name)):
                raise InputError(f"{name} must be names of columns, got {value!r}")
        if not isinstance(self.kinds or {}, Mapping):
            raise InputError(f"kinds must map columns to kinds, got {self.kinds!r}")
        object.__setattr__(self, "kinds", dict(self.kinds or {}))
        for name, kind in self.kinds.items():
            if kind not in READINGS:
                raise InputError(
                    f"the column {name!r} cannot be read as {kind!r}; use one of "
                    f"{', '.join(READINGS)}"
                )
        if self.label == self.id:
            raise InputError(f"the column {self.id!r} cannot hold both ids and labels")

    def to_dict(self) -> dict[str, Any]:
        """A mapping for JSON."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }

    def given(self, *names: str) -> list[str]:
        """Those of these fields that name a column other than the default."""
        return [
            name
            for name in names
            if getattr(self, name) not in (None, (), getattr(ReadingOptions, name))
        ]

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        known = [each.name for each in fields(cls)]
        if odd := [name for name in stored if name not in known]:
            raise InputError(f"unknown reading option {odd[0]!r}; use one of {', '.join(known)}")
        return cls(**stored)

    def for_batch(self, table: Table) -> Self:
        """The options for a table of further nodes, without a label and what is dropped if it
        lacks them."""
        return replace(
            self,
            label=self.label if self.label in table.names else None,
            drop=[name for name in self.drop if name in table.names],
        )

    def edge_columns(self, table: Table) -> list[str]:
        """Source, target and, where the table has it, weight."""
        table.require(self.source, self.target)
        if self.weight not in (None, *table.names) and self.weight != ReadingOptions.weight:
            table.require(cast("str", self.weight))
        if len({self.source, self.target, self.weight}) < 3:
            raise InputError(f"{table.what}: source, target and weight must be different columns")
        return [self.source, self.target, *(name for name in table.names if name == self.weight)]

    def label_column(self, table: Table) -> str | None:
        """The column of the labels, if there is one that is not dropped."""
        if self.label not in (None, *table.names) and self.label != ReadingOptions.label:
            table.require(cast("str", self.label))
        return self.label if self.label in table.names and self.label not in self.drop else None

    def kinds_of(self, table: Table) -> dict[str, str]:
        """Kinds that are given, by column, where they are about columns to be read.

        A column of `words` or `categories` must exist, and be of one kind.
        """
        known = {name: kind for name, kind in self.kinds.items() if name not in self.drop}
        for names, kind in ((self.words, "words"), (self.categories, "category")):
            for name in names:
                table.require(name)
                if known.setdefault(name, kind) not in (kind, "drop"):
                    raise InputError(f"the column {name!r} cannot be both {known[name]} and {kind}")
        return known


@dataclass(frozen=True)
class TablesRead:
    """How the tables of a graph were read: options that read such tables alike, and why.

    options : with a kind for every column, so that nothing is decided again.
    columns : what was decided of each column of the node table.
    has_nodes : whether there is a node table.
    """

    options: ReadingOptions
    columns: tuple[ColumnPlan, ...] = ()
    has_nodes: bool = False


def reading_of(graph: Graph) -> ReadingOptions | None:
    """How the tables of a graph were read; None if it was not made from tables."""
    read = graph.reading
    named = isinstance(read, TablesRead) and "\0" not in read.options.id
    return read.options if named else None
