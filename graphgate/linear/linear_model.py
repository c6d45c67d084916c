"""The solved auto-encoder: what is learned from one graph, and what it says of any graph."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import torch
from torch import Tensor

from graphgate.graph.graph import Graph
from graphgate.linear.coordinates import Coordinates
from graphgate.linear.decomposition import right_singular_vectors
from graphgate.linear.propagation import Propagation, mean_weight
from graphgate.linear.reconstruction import Reconstruction, smooth_context
from graphgate.linear.structure import StructureFactors

SHALLOW_STEPS, SHALLOW_RESTART = 2, 0.33
DEEP_STEPS, DEEP_OWN = 16, 0.05
# Weights of the blocks of the embedding, whose rows have length 1.
OWN, RECONSTRUCTED, SHALLOW, DEEP, STRUCTURE = 0.5, 1.0, 1.0, 1.0, 0.5
_SHORTEST_FACTORS = 1e-6  # length below which a row of structure factors is due to rounding


@dataclass(frozen=True)
class NodeStates:
    """The nodes of one graph at several depths, from which all else is computed, (N, r) each.

    own : coordinates.
    context : their smoothing by `smooth_context`.
    shallow, deep : the mean over two steps and over sixteen.
    factors : (N, k) structure factors, or None.
    """

    propagation: Propagation
    own: Tensor
    context: Tensor
    factors: Tensor | None
    shortest: float

    @classmethod
    def of(
        cls, propagation: Propagation, own: Tensor, factors: Tensor | None, shortest: float
    ) -> Self:
        return cls(propagation, own, smooth_context(propagation, own), factors, shortest)

    @cached_property
    def shallow(self) -> Tensor:
        return self.propagation.smooth(self.own, SHALLOW_STEPS, SHALLOW_RESTART)

    @cached_property
    def deep(self) -> Tensor:
        return self.propagation.average(self.own, DEEP_STEPS, DEEP_OWN)

    def unit_vectors(self, vectors: Tensor) -> Tensor:
        """Rows of length 1, for coordinates of any depth."""
        return unit_rows(vectors, self.shortest)

    def unit_factors(self, factors: Tensor) -> Tensor:
        """Rows of length 1, for structure factors."""
        return unit_rows(factors, _SHORTEST_FACTORS)

    def blocks(self, reconstruction: Reconstruction) -> Tensor:
        """(N, 4r + k) what the embedding is a projection of."""
        r = self.own.shape[1]
        rank = 0 if self.factors is None else self.factors.shape[1]
        found = self.own.new_empty(len(self.own), n_block_columns(r, rank))
        found[:, :r] = OWN * self.unit_vectors(self.own)
        reconstructed = self.unit_vectors(self.context @ reconstruction.weights)
        found[:, r : 2 * r] = RECONSTRUCTED * reconstructed
        found[:, 2 * r : 3 * r] = SHALLOW * self.unit_vectors(self.shallow)
        found[:, 3 * r : 4 * r] = DEEP * self.unit_vectors(self.deep)
        if self.factors is not None:
            found[:, 4 * r :] = STRUCTURE * self.unit_factors(self.factors)
        return found


@dataclass(frozen=True)
class LinearModel:
    """What is learned from one graph.

    unit : mean weight of its edges.
    structure : its structure factors; None where they are not used or there are no edges.
    projection : (4r + k, D) from blocks to the embedding.
    """

    unit: float
    coordinates: Coordinates
    reconstruction: Reconstruction
    structure: StructureFactors | None
    projection: Tensor

    @classmethod
    def fit(
        cls,
        graph: Graph,
        n_components: int,
        *,
        structure: bool,
        generator: torch.Generator,
        dtype: torch.dtype,
    ) -> tuple[Self, NodeStates, Tensor]:
        """The model of a graph with features, with the states and the embedding of its nodes."""
        unit = mean_weight(graph)
        coordinates, own = Coordinates.fit(graph.x, generator, dtype)
        factors = None
        if structure and graph.n_edges:
            factors = StructureFactors.fit(graph, generator, dtype)
        states = NodeStates.of(
            Propagation(graph, unit, dtype),
            own,
            None if factors is None else factors.of(graph),
            coordinates.shortest,
        )
        found = Reconstruction.fit(states.propagation, own, states.context, generator)
        blocks = states.blocks(found)
        projection = right_singular_vectors(
            lambda m: blocks @ m,
            lambda m: blocks.T @ m,
            blocks.shape,
            n_components,
            generator,
            dtype,
        )
        model = cls(unit, coordinates, found, factors, projection)
        return model, states, blocks @ projection

    def states(self, graph: Graph) -> NodeStates:
        """The states of the nodes of a graph with features."""
        return NodeStates.of(
            Propagation(graph, self.unit, self.projection.dtype),
            self.coordinates.transform(graph.x),
            None if self.structure is None else self.structure.of(graph),
            self.coordinates.shortest,
        )

    def embed(self, states: NodeStates) -> Tensor:
        """(N, D)."""
        return states.blocks(self.reconstruction) @ self.projection


def n_block_columns(n_coordinates: int, rank: int) -> int:
    """The number of columns of `NodeStates.blocks`; `rank` is 0 without structure factors."""
    return 4 * n_coordinates + rank


def unit_rows(vectors: Tensor, shortest: float) -> Tensor:
    """Rows of length 1; rows shorter than `shortest` become zero."""
    lengths = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
    return torch.where(lengths > shortest, vectors / lengths.clamp_min(1e-30), 0.0)
