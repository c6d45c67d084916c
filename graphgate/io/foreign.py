"""Objects of other libraries: what they are, and which function makes a `Graph` of them.

They are recognized by the modules of their classes, so that no library is imported.
"""

import os
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from graphgate.errors import InputError


class Foreign(NamedTuple):
    """kind : a key of `_KINDS`. title : for messages. converter : the function to call."""

    kind: str
    title: str
    converter: str


_LIBRARIES = {
    "networkx": "networkx",
    "torch_geometric": "pyg",
    "anndata": "anndata",
    "pandas": "tables",
    "polars": "tables",
    "pyarrow": "tables",
    "duckdb": "tables",
    "igraph": "igraph",
    "dgl": "dgl",
}
_KINDS = {
    "networkx": ("a NetworkX {}", "from_networkx(g)"),
    "pyg": ("a {} of PyTorch Geometric", "from_pyg(data)"),
    "anndata": ("an {}", "from_anndata(adata)"),
    "tables": ("a {} {}", "from_tables(edges, nodes)"),
    "files": ("the path of a file", "read_graph(edges, nodes)"),
    "igraph": ("an igraph {}", "from_networkx(g.to_networkx())"),
    "dgl": ("a {} of DGL", "from_networkx(dgl.to_networkx(g, node_attrs=[*g.ndata]))"),
}


def recognized(data: Any) -> Foreign | None:
    """What an object of another library, or a path, is; None for anything else."""
    if isinstance(data, (str, os.PathLike)):
        return _described("files")
    for base in type(data).__mro__:
        library = base.__module__.partition(".")[0]
        kind = _LIBRARIES.get(library)
        if kind == "tables":
            # A Series or an array is no table.
            if not (hasattr(data, "columns") or hasattr(data, "read_next_batch")):
                return None
            return _described(kind, library if library != "pyarrow" else "Arrow", base.__name__)
        if kind is not None:
            return _described(kind, type(data).__name__)
    return None


def _described(kind: str, *names: str) -> Foreign:
    title, converter = _KINDS[kind]
    return Foreign(kind, title.format(*names), f"graphgate.{converter}")


def refuse_foreign(X: Any) -> None:
    """Refuse an object that a converter makes a `Graph` of; a table of numbers is features."""
    several = isinstance(X, (list, tuple)) and len(X) > 0
    foreign = recognized(X[0] if several else X)
    if foreign is None or (foreign.kind == "files" and several):
        return
    if foreign.kind == "tables" and not several and is_features(X):
        return
    raise InputError(
        f"expected a Graph, got {'a list with ' * several}{foreign.title}; convert "
        f"{'each of them' if several else 'it'} with {foreign.converter}, or call graphgate.embed"
    )


def is_features(table: Any) -> bool:
    """Whether all columns of a data frame or an Arrow table are numbers, and none is an edge's."""
    names = getattr(table, "column_names", None) or table.columns
    first = np.asarray(table[:1]).ravel().tolist()
    numeric = all(value is None or isinstance(value, Real) for value in first)
    return numeric and not {"source", "target"} <= set(names)
