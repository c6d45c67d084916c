"""The solved auto-encoder: what is learned from one graph, and what it says of any graph."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from graphgate.graph.graph import Graph
from graphgate.linear.coordinates import Coordinates
from graphgate.linear.decomposition import add_gram, right_singular_vectors
from graphgate.linear.node_states import SHORTEST_FACTORS, NodeStates, unit_rows
from graphgate.linear.propagation import Propagation, mean_weight
from graphgate.linear.reconstruction import Reconstruction, random_half, random_hidden
from graphgate.linear.structure import StructureFactors
from graphgate.linear.workspace import Workspace

# Weights of the blocks of the embedding, whose rows have length 1.
# That of structure factors is part of the plan, and then of the projection.
OWN, RECONSTRUCTED, SHALLOW, DEEP = 0.5, 1.0, 1.0, 1.0
BLOCKS = {"own": OWN, "context": RECONSTRUCTED, "shallow": SHALLOW, "deep": DEEP}

Rows = Callable[[slice], Tensor]


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
        workspace: Workspace,
        generator: torch.Generator,
        dtype: torch.dtype,
    ) -> tuple[Self, Tensor]:
        """The model of a graph with features, and the embedding of all its nodes, (N, D)."""
        unit, n = mean_weight(graph), graph.n_nodes
        coordinates, x = Coordinates.fit(graph.x, workspace, generator, dtype)
        known, factors = None, None
        if structure and graph.n_edges:
            known, factors = StructureFactors.fit(graph, workspace, generator, dtype)
        workspace.release()
        masked, hidden = random_half(graph, generator, dtype), random_hidden(graph, generator)
        states = NodeStates.of(
            "nodes",
            workspace,
            Propagation(graph, unit, dtype),
            lambda columns: coordinates.block(x, columns),
            len(coordinates.center),
            factors,
            coordinates.shortest,
            masked,
        )
        reconstruction = Reconstruction.fit(states, hidden[workspace.mine])
        workspace.release()
        blocks = block_rows(states, reconstruction)
        shape = (n, n_block_columns(len(coordinates.center), 0 if known is None else known.rank))
        weights = torch.ones(shape[1], 1, dtype=dtype)
        weights[4 * len(coordinates.center) :] = workspace.plan.structure_weight

        def squares(m: Tensor) -> Tensor:
            found = torch.zeros_like(m, dtype=torch.float64)
            weighted = weights * m
            for chunk in workspace.chunks:
                rows = blocks(chunk)
                found += rows.T @ (rows @ weighted)
            workspace.advance()
            return weights * workspace.sum(found).to(m.dtype)

        def gram() -> Tensor:
            found = torch.zeros(shape[1], shape[1], dtype=torch.float64)
            for chunk in workspace.chunks:
                add_gram(found, blocks(chunk))
            workspace.advance()
            found = workspace.sum(found)
            found.tril_().add_(found.tril(-1).T.clone())
            return weights * found * weights.T

        def moments(m: Tensor) -> Tensor:
            found = torch.zeros(m.shape[1], m.shape[1], dtype=torch.float64)
            weighted = weights * m
            for chunk in workspace.chunks:
                some = (blocks(chunk) @ weighted).double()
                found.addmm_(some.T, some)
            workspace.advance()
            return workspace.sum(found)

        vectors, _ = right_singular_vectors(
            squares, shape, n_components, generator, dtype, moments=moments, gram=gram
        )
        projection = weights * vectors
        model = cls(unit, coordinates, reconstruction, known, projection)
        return model, workspace.all_rows(_projected(workspace, blocks, projection))

    def states(self, graph: Graph, workspace: Workspace, *, step: bool = False) -> NodeStates:
        """The states of the nodes of a graph with features; `step` as in `NodeStates.of`."""
        x = self.coordinates.weighted(graph.x)
        return NodeStates.of(
            "nodes",
            workspace,
            Propagation(graph, self.unit, self.projection.dtype),
            lambda columns: self.coordinates.block(x, columns),
            len(self.coordinates.center),
            None if self.structure is None else self.structure.of(graph, workspace),
            self.coordinates.shortest,
            step=step,
        )

    def embed_rows(self, states: Mapping[str, Tensor]) -> Tensor:
        """(m, D), the embedding of nodes whose states are given by name, "factors" among them."""
        shortest = self.coordinates.shortest
        blocks = _weighted_blocks(states, self.reconstruction, shortest)
        return torch.cat([block for _, block in blocks], dim=1) @ self.projection

    def embed(self, states: NodeStates) -> Tensor:
        """(N, D)."""
        mine = _projected(
            states.workspace, block_rows(states, self.reconstruction), self.projection
        )
        return states.workspace.all_rows(mine)


def block_rows(states: NodeStates, reconstruction: Reconstruction) -> Rows:
    """Some rows of what the embedding is a projection of, (m, 4r + k).

    They are all computed once where they fit into memory, else whenever they are asked for.
    """
    r, factors = states.own.shape[1], states.factors
    columns = n_block_columns(r, 0 if factors is None else factors.shape[1])

    def compute(rows: slice) -> Tensor:
        found = torch.empty(rows.stop - rows.start, columns, dtype=states.own.dtype)
        read = {name: getattr(states, name).rows(rows) for name in BLOCKS}
        if factors is not None:
            read["factors"] = factors[rows]
        for at, block in _weighted_blocks(read, reconstruction, states.shortest):
            found[:, at] = block
        return found

    if states.workspace.plan.spilled:
        return compute
    kept = torch.empty(len(states.own), columns, dtype=states.own.dtype)
    for chunk in states.workspace.chunks:
        kept[chunk] = compute(chunk)
    return lambda rows: kept[rows]


def _weighted_blocks(
    states: Mapping[str, Tensor], reconstruction: Reconstruction, shortest: float
) -> Iterator[tuple[slice, Tensor]]:
    """Blocks of the columns of `block_rows`, and where they are."""
    r = states["own"].shape[1]
    for at, (name, weight) in enumerate(BLOCKS.items()):
        rows = states[name]
        rows = rows @ reconstruction.weights if name == "context" else rows
        yield slice(at * r, (at + 1) * r), weight * unit_rows(rows, shortest)
    if "factors" in states:
        yield slice(4 * r, None), unit_rows(states["factors"], SHORTEST_FACTORS)


def _projected(workspace: Workspace, blocks: Rows, projection: Tensor) -> Tensor:
    """The rows of this process, (n, D)."""
    size = workspace.mine.stop - workspace.mine.start
    found = torch.empty(size, projection.shape[1], dtype=projection.dtype)
    for chunk in workspace.chunks:
        found[chunk] = blocks(chunk) @ projection
    return found


def n_block_columns(n_coordinates: int, rank: int) -> int:
    """The number of columns of `block_rows`; `rank` is 0 without structure factors."""
    return 4 * n_coordinates + rank
