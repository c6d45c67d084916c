"""Labels of an embedding's nodes, as codes: from its own file, or from a table of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphgate import intake
from graphgate.errors import InputError
from graphgate.outputs.embedding import Embedded
from graphgate.sources.csv_file import CsvFile
from graphgate.sources.tables import numbers_or_text


class Labelled(NamedTuple):
    """codes : (N,) positions in `classes`, -1 where a node has no label."""

    codes: np.ndarray
    classes: tuple[Any, ...]


def coded(labels: Sequence[Any]) -> Labelled:
    codes, classes = intake.label_codes(labels, len(labels))
    assert codes is not None
    return Labelled(codes, classes)


def labels_of(embedded: Embedded, nodes: Path | None = None) -> Labelled | None:
    """From a table with the columns id and label, or the embedding's own; None: there are none."""
    if nodes is None:
        if embedded.labels is None or all(label is None for label in embedded.labels):
            return None
        return coded(embedded.labels)
    file = CsvFile.open(nodes)
    file.require("id", "label")
    table = file.read(numeric=[])
    names, labels = (table.column(name).to_pylist() for name in ("id", "label"))
    values = iter(numbers_or_text([label for label in labels if label]))
    named = {
        name: next(values) if label else None for name, label in zip(names, labels, strict=True)
    }
    wanted = [str(node) for node in embedded.ids.tolist()]
    if not any(node in named for node in wanted):
        raise InputError(f"{nodes} has no id of the embedding; give the table of the same nodes")
    found = [named.get(node) for node in wanted]
    if all(label is None for label in found):
        return None
    return coded(found)
