"""Labels of an embedding's nodes, as codes: from its own file, or from a table of nodes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphgate.errors import InputError, InputWarning
from graphgate.graph import validation as intake
from graphgate.io.embeddings import Embedded
from graphgate.io.graph_tables import open_table
from graphgate.io.node_table import NodeColumns, read_nodes


class Labelled(NamedTuple):
    """codes : (N,) positions in `classes`, -1 where a node has no label."""

    codes: np.ndarray
    classes: tuple[Any, ...]


def coded(labels: Sequence[Any]) -> Labelled:
    codes, classes = intake.label_codes(labels, len(labels))
    assert codes is not None
    return Labelled(codes, classes)


def labels_of(
    embedded: Embedded, nodes: Path | None = None, *, id: str = "id", label: str = "label"
) -> Labelled | None:
    """From the columns `id` and `label` of a table, or the embedding's own; None: there are none.

    A warning counts the nodes of the embedding that the table lacks; they have no label.
    """
    if nodes is None:
        if embedded.labels is None or all(label is None for label in embedded.labels):
            return None
        return coded(embedded.labels)
    table = open_table(nodes)
    table.require(id, label)
    others = [name for name in table.names if name not in (id, label)]
    read = read_nodes(table, NodeColumns(id, label, drop=others))
    assert read.labels is not None
    named = dict(zip(map(str, read.ids.to_pylist()), read.labels, strict=True))
    wanted = [str(node) for node in embedded.ids.tolist()]
    lacking = [node for node in wanted if node not in named]
    if len(lacking) == len(wanted):
        raise InputError(f"{nodes} has no id of the embedding; give the table of the same nodes")
    if lacking:
        warnings.warn(
            f"{nodes} lacks {len(lacking):,} of {len(wanted):,} nodes of the embedding, such as "
            f"{lacking[0]!r}; they count as nodes without a label",
            InputWarning,
            stacklevel=2,
        )
    found = [named.get(node) for node in wanted]
    if all(label is None for label in found):
        return None
    return coded(found)
