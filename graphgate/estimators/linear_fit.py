"""What `LinearGATE` learns, and what it computes for a graph and for the nodes around a change."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp
import torch

from graphgate.compute.draws import Draws
from graphgate.compute.sparse_operator import csr_matrix, symmetrically_normalized
from graphgate.estimators.fitted import PLACE, VECTOR, EdgeScores, Fitted, Reach
from graphgate.estimators.reconstruction_errors import angles, mean_per_node
from graphgate.estimators.region import Region
from graphgate.graph.graph import Graph
from graphgate.linear.edge_decoder import EdgeDecoder
from graphgate.linear.model import CONTEXT, MASKED, LinearModel, States
from graphgate.linear.state_update import STATES, updated_states
from graphgate.linear.structure import StructureFactors, plain_ids

_FACTORS = "factors"
_HUB = 1000  # edges, of which one more changes a vector by less than a thousandth
_HALVES = 4  # random halves of the nodes, over which what a node sees of others is averaged


@dataclass(frozen=True)
class LinearFit(Fitted):
    """A solved model, and the decoder of edges; None where there were too few to learn from."""

    model: LinearModel
    decoder: EdgeDecoder | None

    # --- stores ----------------------------------------------------------------------------------

    @property
    def reach(self) -> Reach:
        return Reach(2, _HUB * self.model.unit, exact=False, near_features=False)

    @torch.no_grad()
    def states(self, encoded: "ScoredGraph") -> dict[str, np.ndarray]:
        """The propagated coordinates, the factors, and the row of the singular vectors."""
        structure = self.model.structure
        names = STATES if structure is None else (*STATES, _FACTORS)
        columns = {name: encoded.states[name].whole().numpy() for name in names}
        columns[VECTOR] = encoded.embedding
        if structure is not None:
            columns[PLACE] = structure.places(encoded.graph).numpy()
        return columns

    @torch.no_grad()
    def update(self, region: Region) -> dict[str, np.ndarray]:
        """The states of the nodes of a region after a change of the graph."""
        model = self.model
        states = {name: torch.from_numpy(values) for name, values in region.states.items()}
        own = states["own"].clone()
        if region.features is not None:
            own[torch.from_numpy(region.changed)] = model.coordinates.transform(region.features)
        before, after = (
            _normalized(attended, sums, loops, model.unit)
            for attended, sums, loops in zip(
                region.attended, region.sums, region.loops(), strict=True
            )
        )
        updated = updated_states(states, own, before, after)
        if _FACTORS in states:
            before, after = (
                _normalized(attended, sums, None, 1.0)
                for attended, sums in zip(region.attended, region.sums, strict=True)
            )
            change = csr_matrix((after - before).tocsr(), own.dtype) @ states[PLACE]
            updated |= {_FACTORS: states[_FACTORS] + change}
        vectors = model.embed_rows(updated)
        if PLACE in states:
            updated[PLACE] = states[PLACE]
        return {name: values.numpy() for name, values in {**updated, VECTOR: vectors}.items()}

    def rotated(self, rotation: np.ndarray) -> Self:
        """With vectors multiplied by a rotation, (D, D')."""
        projection = self.model.projection
        turned = (projection.double() @ torch.from_numpy(rotation)).to(projection.dtype)
        return replace(self, model=replace(self.model, projection=turned.contiguous()))

    def without_nodes(self) -> Self:
        """Without the singular vectors of the nodes, but for as many as a model file has."""
        if (structure := self.model.structure) is None:
            return self
        few = slice(0, structure.rank)
        return self._placing(StructureFactors(structure.ids[few], structure.vectors[few]))

    def with_nodes(self, ids: np.ndarray, place: np.ndarray | None) -> Self:
        """With the singular vectors of these nodes, (N, k)."""
        if place is None:
            return self
        known = place.any(axis=1)
        vectors = torch.from_numpy(place[known])
        return self._placing(StructureFactors(plain_ids(ids[known]), vectors))

    def _placing(self, structure: StructureFactors) -> Self:
        return replace(self, model=replace(self.model, structure=structure))


def _normalized(
    attended: sp.csr_array, sums: np.ndarray, loops: np.ndarray | None, unit: float
) -> sp.csr_array:
    """D^-½ A D^-½ by the sums of whole rows and columns, with self-loops where they are given."""
    matrix, left, right = attended / unit, *(sums / unit).T
    if loops is not None:
        matrix = (matrix + sp.diags_array(loops)).tocsr()
        left, right = left + loops, right + loops
    return symmetrically_normalized(matrix, (left, right))


@dataclass(frozen=True)
class ScoredGraph:
    """What a solved model computes for a graph; all but the embedding only when it is asked for."""

    model: LinearModel
    decoder: EdgeDecoder | None
    states: States
    graph: Graph

    @cached_property
    def embedding(self) -> np.ndarray:
        """(N, D), one vector per node."""
        return self.model.embed(self.states).numpy()

    def propagated(self) -> dict[str, np.ndarray]:
        """What the embedding is computed from, (N, ·) each: the inputs of `export_onnx`."""
        return {name: self.states[name].whole().numpy() for name in self.model.weights}

    @cached_property
    def edge_values(self) -> EdgeScores | None:
        """What to show of edges; None where there were too few to learn from."""
        if self.decoder is None:
            return None
        attended = self.graph.attended
        rows = np.repeat(np.arange(self.graph.n_nodes), np.diff(attended.indptr))
        pairs = np.stack([rows, attended.indices.astype(np.int64)], axis=1)
        values = self.decoder.probabilities(self.states, pairs)
        parts = (values, attended.indices, attended.indptr)
        return EdgeScores(sp.csr_array(parts, attended.shape))

    def reconstruction(self) -> np.ndarray:
        """X̂, (N, F), dense."""
        z = self.model.reconstruction.coordinates(self.states["context"].whole())
        return self.model.coordinates.inverse_transform(z, self.graph.x)

    @torch.no_grad()
    def feature_errors(self) -> np.ndarray:
        """(N,) 1 - cosine of the coordinates of a node and of what other nodes suggest."""
        own, context = self.states["own"].whole(), self.states["context"].whole()
        seen, draws = torch.zeros_like(own), Draws(0, self.graph.id_ranks)
        for _ in range(_HALVES):
            half = draws.uniform_by_node(len(own))[:, None] < MASKED
            q = self.states.operator.apply(own * half, CONTEXT)
            seen += torch.where(half, context - q, q) / _HALVES
        return angles(own.numpy(), (seen @ self.model.reconstruction.weights).numpy())

    def edge_errors(self) -> np.ndarray:
        """(N,) mean of -log p over the edges of a node; NaN where it has none, or no decoder."""
        if self.edge_values is None:
            return np.full(self.graph.n_nodes, np.nan)
        scores = self.edge_values.average
        return mean_per_node(-np.log(np.maximum(scores.data, 1e-12)), scores)
