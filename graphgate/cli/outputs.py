"""What commands write: results as JSON, tables, and what a model gives besides vectors."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graphgate
from graphgate.cli.console import STDOUT, answer, print_table, say
from graphgate.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from graphgate.compute.neighbors import SimilarNodes
    from graphgate.estimators.fitted import Encoded
    from graphgate.estimators.loading import Estimator

_ID_COLUMNS = ("node_id", "similar_id", "recommended", "source", "target")


@dataclass(frozen=True)
class Outputs:
    """Files and folders to write; None for those that were not requested."""

    embedding: Path | None
    model: Path | None = None
    reconstruction: Path | None = None
    page: Path | None = None
    run: Path | None = None
    store: Path | None = None
    attention: Path | None = None
    scores: Path | None = None

    @property
    def beyond_vectors(self) -> bool:
        """Whether more than vectors is asked of the model."""
        others = (self.reconstruction, self.page, self.run, self.store, self.attention, self.scores)
        return any(others)

    def check_names(self, graph: graphgate.Graph, feature_names: Sequence[str] | None) -> None:
        """Before training: the formats can store these ids, labels and feature names."""
        from graphgate.io.embeddings import LABEL_ENDINGS, stored_names
        from graphgate.io.model_outputs import check_feature_names

        ending = ".parquet" if self.embedding is None else self.embedding.suffix.lower()
        labels = graph.label_values()
        stored_names(ending, graph.ids, labels if ending in LABEL_ENDINGS else None)
        if self.run is not None:
            stored_names(".parquet", graph.ids, labels)
        if self.reconstruction is not None:
            check_feature_names(self.reconstruction, feature_names)

    def write(
        self,
        graph: graphgate.Graph,
        gate: Estimator,
        vectors: np.ndarray,
        encoded: Encoded | None,
    ) -> None:
        """Write the files that were requested; `encoded` if they have more than vectors."""
        from graphgate.io.model_outputs import write_reconstruction

        if self.embedding is not None:
            write_vectors(self.embedding, graphgate.Embedding.of(graph, vectors))
        if self.model is not None:
            gate.save(self.model)
            say(f"wrote the model to {self.model}")
        if encoded is None:
            return
        if (path := self.attention or self.scores) is not None:
            edge_values = encoded.edge_values
            if edge_values is None:
                raise InputError(
                    "there are too few edges to learn how likely one is; omit --scores"
                )
            edge_values.write(path, graph.ids)
            say(f"wrote the {edge_values.name.replace('_', ' ')} to {path}")
        if self.reconstruction is not None:
            names = getattr(gate, "feature_names_in_", None)
            write_reconstruction(self.reconstruction, graph.ids, encoded.reconstruction(), names)
            say(f"wrote the reconstruction to {self.reconstruction}")
        if self.page is not None:
            graphgate.write_page(
                self.page, graph, vectors, encoded.edge_values, title=self.page.stem
            )
            say_page(self.page)


def write_vectors(path: Path, embedding: graphgate.Embedding) -> None:
    embedding.save(path)
    n, size = embedding.vectors.shape
    say(f"wrote {n:,} vectors of size {size} to {path}")


def say_page(path: Path) -> None:
    say(f"wrote {path} ({path.stat().st_size / 2**20:.1f} MiB); open it in a browser")


def write_table(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns by name; node ids and labels are kept as what they are."""
    import pyarrow as pa

    from graphgate.io import table_files
    from graphgate.io.tables import id_array, value_array

    arrays = {
        name: id_array(values)
        if name in _ID_COLUMNS
        else value_array(values, name)
        if name == "label"
        else pa.array(values)
        for name, values in columns.items()
    }
    table_files.write_table(path, pa.table(arrays))


def similar_rows(similar: SimilarNodes) -> list[dict[str, Any]]:
    """One row per query node and node similar to it, of plain values."""
    return [
        {"node": name, "rank": rank, "similar": other, "cosine": value}
        for name, others, values in zip(*(part.tolist() for part in similar), strict=True)
        for rank, (other, value) in enumerate(zip(others, values, strict=True), start=1)
    ]


def print_rows(rows: list[dict[str, Any]]) -> None:
    """A table of rows that have the same columns; fractions have four digits."""
    cells = [
        [f"{value:.4f}" if isinstance(value, float) else str(value) for value in row.values()]
        for row in rows
    ]
    print_table(list(rows[0]), cells)


def print_graph(graph: graphgate.Graph) -> None:
    """Summarize a graph on standard error, including how many nodes have no edges."""
    isolated = int((graph.adjacency.sum(axis=0) + graph.adjacency.sum(axis=1) == 0).sum())
    nodes = "node has" if isolated == 1 else "nodes have"
    say(repr(graph) + (f"; {isolated:,} {nodes} no edges" if isolated else ""), err=True)


def write_result(path: Path | None, *parts: Mapping[str, Any]) -> None:
    """Write the parts of a result as JSON, with the command and the versions that produced it."""
    if path is not None:
        from graphgate.io.provenance import versions

        content: dict[str, Any] = {}
        for part in (*parts, {"command": command_line(), "versions": versions()}):
            if repeated := content.keys() & part.keys():
                raise KeyError(f"two values of the result are named {min(repeated)!r}")
            content |= part
        write_content(path, content)


def write_content(path: Path | None, content: Any) -> None:
    """Write JSON to a file, or to standard output."""
    if path is not None:
        from graphgate.io.files import json_text, write_json

        if path == STDOUT:
            answer(json_text(content))
            return
        write_json(path, content)
        say(f"wrote {path}")


def command_line() -> str:
    """The command as the user gave it."""
    return " ".join(["graphgate", *sys.argv[1:]])
