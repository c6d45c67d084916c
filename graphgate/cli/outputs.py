"""What `embed` and `transform` write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graphgate
from graphgate.cli.console import print_table, say
from graphgate.cli.methods import chosen_method
from graphgate.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from graphgate.compute.neighbors import SimilarNodes
    from graphgate.estimators.loading import Estimator
    from graphgate.graph.graph import Graph


@dataclass(frozen=True)
class Outputs:
    """Files to write; None for those that were not requested."""

    embedding: Path | None
    model: Path | None = None
    attention: Path | None = None
    scores: Path | None = None
    reconstruction: Path | None = None
    page: Path | None = None

    def check_method(self, method: str) -> None:
        """Refuse an output that the method of a model does not have."""
        gate = {"attention": self.attention}
        chosen_method(method, gate, {"scores": self.scores})

    def check_names(self, graph: Graph, gate: Estimator, run: Path | None = None) -> None:
        """Before training: the formats can store these ids, labels and feature names."""
        from graphgate.io.embeddings import LABEL_ENDINGS, stored_names
        from graphgate.io.model_outputs import check_feature_names

        ending = ".parquet" if self.embedding is None else self.embedding.suffix.lower()
        labels = graph.label_values()
        stored_names(ending, graph.ids, labels if ending in LABEL_ENDINGS else None)
        if run is not None:
            stored_names(".parquet", graph.ids, labels)
        if self.reconstruction is not None:
            check_feature_names(self.reconstruction, getattr(gate, "feature_names_in_", None))

    def write(
        self, graph: Graph, gate: Estimator, vectors: np.ndarray, encode: Callable[[], Any]
    ) -> None:
        """Write what was requested; `encode` computes what there is besides vectors."""
        from graphgate.io import model_outputs

        if self.embedding is not None:
            graphgate.Embedding.of(graph, vectors).save(self.embedding)
            say(f"wrote {graph.n_nodes:,} vectors of size {vectors.shape[1]} to {self.embedding}")
        if self.model is not None:
            gate.save(self.model)
            say(f"wrote the model to {self.model}")
        if not any((self.attention, self.scores, self.reconstruction, self.page)):
            return
        encoded = encode()
        if self.attention is not None:
            layers = (encoded.attention.encoder, encoded.attention.decoder)
            model_outputs.write_attention(self.attention, graph.ids, *layers)
            say(f"wrote the attention to {self.attention}")
        if self.scores is not None:
            if encoded.edge_values is None:
                raise InputError(
                    "there are too few edges to learn how likely one is; omit --scores"
                )
            model_outputs.write_edge_scores(self.scores, graph.ids, encoded.edge_values.average)
            say(f"wrote the edge scores to {self.scores}")
        if self.reconstruction is not None:
            names = getattr(gate, "feature_names_in_", None)
            features = encoded.reconstruction()
            model_outputs.write_reconstruction(self.reconstruction, graph.ids, features, names)
            say(f"wrote the reconstruction to {self.reconstruction}")
        if self.page is not None:
            title = self.page.stem
            graphgate.write_page(self.page, graph, vectors, encoded.edge_values, title=title)
            size = self.page.stat().st_size / 2**20
            say(f"wrote {self.page} ({size:.1f} MiB); open it in a browser")


def similar_rows(found: SimilarNodes) -> list[dict[str, Any]]:
    """One row per query node and node similar to it, of plain values."""
    return [
        {"node": name, "rank": rank, "similar": other, "cosine": value}
        for name, others, values in zip(*(part.tolist() for part in found), strict=True)
        for rank, (other, value) in enumerate(zip(others, values, strict=True), start=1)
    ]


def print_rows(rows: list[dict[str, Any]]) -> None:
    """A table of rows that have the same columns; fractions have four digits."""
    cells = [
        [f"{value:.4f}" if isinstance(value, float) else str(value) for value in row.values()]
        for row in rows
    ]
    print_table(list(rows[0]), cells)
