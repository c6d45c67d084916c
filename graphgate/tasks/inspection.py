"""What tables are read as, before anything is learned from them."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from graphgate.errors import printable
from graphgate.graph.graph import Graph
from graphgate.io.reading_options import TablesRead
from graphgate.preprocessing.attribute_encoder import AttributeEncoder
from graphgate.tasks.embed import as_graph

_SHOWN = 60  # columns that are printed


@dataclass(frozen=True)
class InspectedColumn:
    """One column: its role or kind, why, and the number of features that it becomes."""

    name: str
    kind: str
    why: str
    n_features: int


@dataclass(frozen=True)
class InspectedTables:
    """The columns of edges and nodes; its text is a table.

    >>> import pyarrow as pa
    >>> found = inspect_tables(pa.table({"src": ["a", "b"], "dst": ["b", "c"]}))
    >>> [column.kind for column in found.columns]
    ['source', 'target']
    """

    columns: tuple[InspectedColumn, ...]

    @classmethod
    def of(cls, graph: Graph, encoder: AttributeEncoder | None) -> "InspectedTables":
        """What a graph was read as, and what an encoder makes of its attributes."""
        read = graph.reading if isinstance(graph.reading, TablesRead) else None
        widths: dict[str, int] = {}
        if encoder is not None and graph.attributes is not None:
            widths = {rule.name: len(rule.feature_names) for rule in encoder.rules_}
        if read is None:
            kinds = {} if graph.attributes is None else graph.attributes.kinds
            return cls(
                tuple(
                    InspectedColumn(name, kind, "an attribute", widths.get(name, 0))
                    for name, kind in kinds.items()
                )
            )
        return cls((*_roles(graph, read), *_columns(read, widths)))

    def to_dict(self) -> list[dict[str, Any]]:
        """One mapping per column, for JSON."""
        return [asdict(column) for column in self.columns]

    def __str__(self) -> str:
        heads = ("column", "read as", "because", "features")
        rows = [
            (
                printable(c.name),
                "left out" if c.kind == "drop" else c.kind,
                printable(c.why),
                f"{c.n_features:,}",
            )
            for c in self.columns
        ]
        shown = [heads, *rows[:_SHOWN]]
        widths = [min(40, max(len(row[at]) for row in shown)) for at in range(3)]
        lines = [
            "  ".join(cell[:40].ljust(width) for cell, width in zip(row[:3], widths, strict=True))
            + f"  {row[3]}"
            for row in shown
        ]
        hidden = len(rows) - _SHOWN
        return "\n".join([*lines, *([f"… and {hidden:,} more columns"] if hidden > 0 else [])])


def inspect_tables(data: Any, nodes: Any = None, **options: Any) -> InspectedTables:
    """What every column of the tables of a graph is read as, and why; nothing is learned.

    Parameters
    ----------
    data, nodes, options : as in `embed`, without parameters of an estimator.

    Examples
    --------
    >>> import pyarrow as pa
    >>> edges = pa.table({"from": ["a", "b"], "to": ["b", "c"]})
    >>> nodes = pa.table({"name": ["a", "b", "c"], "price": ["€ 5", "€ 7.50", None]})
    >>> print(inspect_tables(edges, nodes))
    column  read as  because          features
    from    source   of edges         0
    to      target   of edges         0
    name    id       of nodes         0
    price   number   spelled numbers  2
    """
    graph = as_graph(data, nodes, **options)
    encoder = None
    if graph.attributes is not None:
        encoder = AttributeEncoder().fit(graph.attributes)
    return InspectedTables.of(graph, encoder)


def _roles(graph: Graph, read: TablesRead) -> Iterator[InspectedColumn]:
    options = read.options
    roles = [("source", options.source, "of edges"), ("target", options.target, "of edges")]
    if graph.weighted and options.weight is not None:
        roles.append(("weight", options.weight, "of edges"))
    if read.has_nodes:
        roles.append(("id", options.id, "of nodes"))
        if graph.labels is not None and options.label is not None:
            roles.append(("label", options.label, "of nodes; never used for vectors"))
    for role, name, why in roles:
        yield InspectedColumn(name, role, why, 0)


def _columns(read: TablesRead, widths: dict[str, int]) -> Iterator[InspectedColumn]:
    counted: set[str] = set()
    for plan in read.columns:
        name = plan.attribute
        n = widths.get(name, 0) if name is not None and name not in counted else 0
        counted.add(name or "")
        yield InspectedColumn(plan.name, plan.kind, plan.why, n)
