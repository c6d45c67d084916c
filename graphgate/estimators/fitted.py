"""What every method has: what `fit` learns, what it computes for a graph, what it reports.

Whoever uses an estimator asks these, and never which method it is of.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import scipy.sparse as sp

from graphgate.estimators.region import Region
from graphgate.io.model_outputs import write_attention, write_edge_scores
from graphgate.linear.report import LinearReport
from graphgate.training.history import History

# States of a node that have a name of their own: its vector, and what only the nodes given to
# `fit` have (LinearGATE: their row of the singular vectors).
VECTOR, PLACE = "vector", "place"


class EdgeValues(Protocol):
    """A number for every edge of a graph.

    name : of the file of a run that holds them, without its ending.
    title : what they are, for a legend.
    average : N×N CSR array; row i holds the value of each node that i attends to.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    @property
    def average(self) -> sp.csr_array: ...

    def write(self, path: Path, ids: np.ndarray) -> None:
        """Write a table with one row per edge: .parquet or .csv."""


@dataclass(frozen=True)
class Attention:
    """Attention coefficients as N×N CSR arrays; row i holds α_ij over what node i attends to.

    encoder, decoder : one array per layer, layer 1 first.

    >>> from graphgate import GATE, Graph
    >>> graph = Graph.from_edges(np.eye(3), [(0, 1), (1, 2)])
    >>> gate = GATE(dims=(2,), epochs=3, random_state=0, progress=False).fit(graph)
    >>> gate.attention_.average.sum(axis=1).round(3).tolist()
    [1.0, 1.0, 1.0]
    """

    name: ClassVar[str] = "attention"
    title: ClassVar[str] = "attention"
    encoder: tuple[sp.csr_array, ...]
    decoder: tuple[sp.csr_array, ...]

    @property
    def average(self) -> sp.csr_array:
        """Σ_k (α(k) + α̂(k)) / 2L, as in the paper's figures."""
        layers = (*self.encoder, *self.decoder)
        mean = layers[0].copy()
        mean.data = np.mean([layer.data for layer in layers], axis=0)
        return mean

    def write(self, path: Path, ids: np.ndarray) -> None:
        write_attention(path, ids, self.encoder, self.decoder)


@dataclass(frozen=True)
class EdgeScores:
    """How likely each edge of a graph is, by the structure decoder of `LinearGATE`.

    average : N×N CSR array; row i holds the probability of the edge to each node that i attends
        to. It is the same in both directions.
    """

    name: ClassVar[str] = "edge_scores"
    title: ClassVar[str] = "edge score"
    average: sp.csr_array

    def write(self, path: Path, ids: np.ndarray) -> None:
        write_edge_scores(path, ids, self.average)


def titled_values(edge_values: EdgeValues | sp.sparray) -> tuple[str, Any]:
    """What values of edges are, and the values, (N, N); an array is attention."""
    if sp.issparse(edge_values):
        return Attention.title, edge_values
    return edge_values.title, edge_values.average


class Encoded(Protocol):
    """What an estimator computes for one graph; all but the embedding only when it is asked for.

    embedding : (N, D), one vector per node.
    edge_values : what to show of edges; None where there is nothing.
    """

    @property
    def embedding(self) -> np.ndarray: ...

    @property
    def edge_values(self) -> EdgeValues | None: ...

    def reconstruction(self) -> np.ndarray:
        """X̂, (N, F), dense."""

    def feature_errors(self) -> np.ndarray:
        """(N,) how badly the features of each node are reconstructed."""

    def edge_errors(self) -> np.ndarray:
        """(N,) how badly the edges of each node are; NaN where it has none."""


@dataclass(frozen=True)
class Summary:
    """What a fit reports about itself.

    report : label-free diagnostics; None where the method has none.
    history : the losses of training; None where nothing was trained, or the model was loaded.
    """

    report: LinearReport | None = None
    history: History | None = None

    @property
    def interrupted(self) -> bool:
        """Whether training ended by Ctrl-C."""
        return self.history is not None and self.history.stopped == "interrupted"

    def sentences(self) -> list[str]:
        """The report in words."""
        return [] if self.report is None else self.report.sentences()

    def table(self) -> str:
        """Sources and views with their weights; empty where none were chosen."""
        return "" if self.report is None or not self.report.sources else self.report.table()

    def to_dict(self) -> dict[str, Any] | None:
        """The report as plain values; None where there is none."""
        return None if self.report is None else asdict(self.report)

    def metrics(self) -> dict[str, Any]:
        """Epochs, why training stopped, and the last value of each loss; nothing untrained."""
        if self.history is None:
            return {}
        losses = {name: values[-1] for name, values in self.history.series.items()}
        return {"epochs": len(self.history), "stopped": self.history.stopped, "losses": losses}

    def files(self) -> dict[str, dict[str, Any]]:
        """The content of the JSON files that a run has of it, by their names."""
        contents = {}
        if self.history is not None:
            contents["history.json"] = {"stopped": self.history.stopped} | self.history.series
        if (report := self.to_dict()) is not None:
            contents["report.json"] = report
        return contents


@dataclass(frozen=True)
class Reach:
    """How far a change of the graph is followed when a store updates vectors.

    hops : how far from a change nodes are updated.
    hub : weighted degree above which a change at a node is not propagated to its neighbors.
    exact : whether nodes further away do not change.
    near_features : whether `Region.near_features` are used.
    """

    hops: int
    hub: float
    exact: bool
    near_features: bool


class Fitted:
    """What an estimator has learned, a frozen dataclass; see `codec` for what its fields may be."""

    @property
    def reach(self) -> Reach:
        """How far a change of the graph is followed."""
        raise NotImplementedError

    def states(self, encoded: Any) -> dict[str, np.ndarray]:
        """What a store keeps of every node, (N, …) each, `VECTOR` among them.

        encoded : of the whole graph, by the same estimator.
        """
        raise NotImplementedError

    def update(self, region: Region) -> dict[str, np.ndarray]:
        """The states of the nodes of a region after a change of the graph."""
        raise NotImplementedError

    def without_nodes(self) -> Self:
        """Without what it knows of single nodes: the states of a store hold that."""
        return self

    def with_nodes(self, ids: np.ndarray, place: np.ndarray | None) -> Self:
        """With what it knows of single nodes again; place : (N, k) their `PLACE`, if any."""
        return self

    def rotated(self, rotation: np.ndarray) -> Self | None:
        """With vectors multiplied by a rotation, (D, D'); None where no weights do that."""
        return None
