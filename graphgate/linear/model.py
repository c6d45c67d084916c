"""The linear auto-encoder, line by line as in docs/linear_form.md.

Shapes: N nodes, r coordinates, k structure factors, D components; n nodes of this process. The
column engine hides blocks of columns, files and processes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor

from graphgate.compute.columns import Columns, Rows
from graphgate.compute.decomposition import right_singular_vectors
from graphgate.compute.draws import Draws
from graphgate.compute.tall_matrix import TallMatrix
from graphgate.graph.graph import Graph
from graphgate.graph.validation import NonNegative, Positive
from graphgate.linear.coordinates import Coordinates, FeatureSource, Source
from graphgate.linear.evidence import Evidence
from graphgate.linear.linear_plan import Sizes
from graphgate.linear.matrices import NormalizedAdjacency, StackedViews
from graphgate.linear.propagation import Polynomial, Propagation, averaging, mean_weight, restarting
from graphgate.linear.ridge import Moments, chosen_strength, ridge_weights
from graphgate.linear.structure import StructureFactors, plain_ids
from graphgate.linear.weights import gathered, source_weights, view_weights

MASKED = 0.5  # fraction of the nodes that the others are reconstructed from, and vice versa
HIDDEN = 0.2  # fraction of the nodes whose features are predicted to choose λ
SHORTEST_FACTORS = 1e-6  # length below which a row of structure factors is due to rounding


# --- views ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class View:
    """Rows of length 1 that describe every node: one block of the columns that are reduced.

    name : of its state and of its weight.
    weight : relative to other views.
    polynomial : of the operator Â, by which its source is propagated.
    source : the columns that it starts from: coordinates z or structure factors u.
    predicted : whether the result is mapped by B.
    """

    name: str
    weight: float
    polynomial: Polynomial = (1.0,)
    source: Literal["coordinates", "structure"] = "coordinates"
    predicted: bool = False


CONTEXT, SHALLOW, DEEP = restarting(10, 0.15), restarting(2, 0.33), averaging(16, 0.05)
VIEWS = {
    view.name: view
    for view in (
        View("own", 0.5),
        View("context", 1.0, CONTEXT, predicted=True),
        View("shallow", 1.0, SHALLOW),
        View("deep", 1.0, DEEP),
        View("factors", 0.5, source="structure"),
    )
}
# By what coordinates are propagated, by the name of the state.
POLYNOMIALS = {v.name: v.polynomial for v in VIEWS.values() if v.source == "coordinates"}
STEP = {"step": (0.0, 1.0)}  # for the structure decoder


@dataclass(frozen=True)
class WeightOptions:
    """What weights are chosen from.

    sources : of the features; without any, they are one source.
    places : (F,) the number of the source of each feature; None where those of a source are
        adjacent, in the order of the sources.
    given : weights by the name of a view or source, which are not chosen.
    chosen : whether the others are, rather than those of `VIEWS`; not where features were computed
        from the edges.
    """

    sources: Sequence[FeatureSource] = ()
    places: np.ndarray | None = None
    given: Mapping[str, float] = field(default_factory=dict)
    chosen: bool = False


# --- the solution --------------------------------------------------------------------------------


def solve(
    graph: Graph,
    n_components: int,
    engine: Columns,
    seed: int,
    *,
    structure: bool,
    options: WeightOptions | None = None,
) -> tuple["LinearModel", Tensor]:
    """What is learned from a graph with features, and the embedding of its nodes, (N, D)."""
    options = options or WeightOptions()
    n, sizes, draws = graph.n_nodes, Sizes.of(graph.n_nodes), Draws(seed, graph.id_ranks)
    rank, places = sizes.coordinates, options.places
    coordinates, z = Coordinates.fit(graph.x, engine, rank, draws, options.sources, places)
    unit = mean_weight(graph)
    matrices, known = {}, None
    if structure and graph.n_edges:
        vectors, matrices["factors"] = structure_factors(graph, engine, sizes.factors, draws)
        known = StructureFactors(plain_ids(graph.ids), vectors)
    base = {
        view.name: sizes.structure_weight if view.source == "structure" else view.weight
        for view in VIEWS.values()
        if view.source != "structure" or known is not None
    }
    evidence, weights = None, base
    if options.chosen:
        factors, apart = matrices.get("factors"), Draws(seed, graph.id_ranks)
        evidence = gathered(graph, engine, z, factors, apart)
        of_sources = source_weights(coordinates.sources, evidence, options.given)
        weights = view_weights(base, evidence, of_sources)
        sources = tuple(map(FeatureSource.weighted, coordinates.sources, of_sources))
        if len(sources) > 1:
            coordinates, z = Coordinates.fit(graph.x, engine, rank, apart, sources, places)
        else:
            coordinates = replace(coordinates, sources=sources)
    weights = {name: options.given.get(name, weight) for name, weight in weights.items()}
    engine.release()
    masked, hidden = (draws.uniform_by_node(n) < fraction for fraction in (MASKED, HIDDEN))
    operator = Propagation(graph, unit, engine.dtype)
    matrices |= propagated("nodes", engine, operator, z, POLYNOMIALS, masked)
    reconstruction = ridge(engine, matrices["seen"], matrices["own"], engine.own(hidden))
    views = Views(weights, reconstruction.weights, coordinates)
    blocks = engine.rows(views.stacked, *(matrices[name] for name in weights))
    stacked = StackedViews(engine, blocks, sum(matrices[name].shape[1] for name in weights))
    projection, _ = right_singular_vectors(stacked, n_components, draws.normal)
    model = LinearModel(unit, coordinates, reconstruction, known, weights, projection, evidence)
    return model, engine.collect(lambda rows: rows @ projection, blocks)


def propagated(
    stage: str,
    engine: Columns,
    operator: Propagation,
    z: Source,
    polynomials: Mapping[str, Polynomial],
    masked: Tensor | None = None,
) -> dict[str, TallMatrix]:
    """Polynomials of Â applied to coordinates, (n, r) each, by the name of the polynomial.

    stage : name of the computation, by which it resumes.
    masked : (N,) which nodes are masked. If given, "seen" is what reaches every node from the half
        that it is not in.
    """

    def block(columns: slice) -> dict[str, Tensor]:
        h = z.block(columns)
        states = dict(operator.walk(h, polynomials))
        if masked is not None:
            half = masked[:, None]
            q = operator.apply(h * half, CONTEXT)
            states["seen"] = torch.where(half, states["context"] - q, q)
        return states

    names = [*polynomials, *(["seen"] if masked is not None else [])]
    return engine.map(stage, names, block, z.n_columns)


@dataclass(frozen=True)
class Reconstruction:
    """A linear map from the context of a node to its coordinates.

    weights : B, (r, r).
    strength : λ of the ridge penalty.
    r2 : the largest fraction of the hidden features that their context explains; negative or zero
        where edges say nothing about features, and zero where λ was given.
    """

    weights: Annotated[Tensor, "r r"]
    strength: Positive
    r2: Annotated[float, (-inf, 1)]

    def coordinates(self, context: Tensor) -> Tensor:
        """(N, r), reconstructed from the context of all nodes, of which B has seen half."""
        return MASKED * context @ self.weights


def ridge(
    engine: Columns, seen: Rows, own: Rows, hidden: Rows, strength: float | None = None
) -> Reconstruction:
    """B = argmin ‖z - S' B‖² + λ tr(S'ᵀS')/r · ‖B‖², from moments that are sums over nodes.

    seen, own : S' and z.
    hidden : (n,) which nodes are hidden to choose λ, unless it is given as `strength`.
    """

    def moments(s: Tensor, z: Tensor, hidden: Tensor) -> Tensor:
        return torch.stack([Moments.packed(s[rows], z[rows]) for rows in (hidden, ~hidden)])

    apart, rest = (Moments.unpacked(part) for part in engine.fold(moments, seen, own, hidden))
    r2 = 0.0
    if strength is None:
        strength, r2 = chosen_strength(rest, apart)
    weights = ridge_weights(rest + apart, strength)
    return Reconstruction(weights.to(engine.dtype).contiguous(), strength, r2)


def structure_factors(
    graph: Graph, engine: Columns, rank: int, draws: Draws
) -> tuple[Tensor, TallMatrix]:
    """W, (N, k), the leading right singular vectors of L = D^-½ A D^-½; and u = L W, (n, k)."""
    adjacency = NormalizedAdjacency(graph, engine)
    vectors, _ = right_singular_vectors(adjacency, rank, draws.normal_by_node)
    return vectors, adjacency.times(vectors)


@dataclass(frozen=True)
class Views:
    """How states become the columns that are reduced.

    weights : of views, by name, in the order of their columns.
    b : (r, r), the map from context to coordinates.
    coordinates : of which the views are.
    """

    weights: Mapping[str, float]
    b: Tensor
    coordinates: Coordinates

    def block(self, name: str, state: Tensor) -> Tensor:
        """The columns of one view, (m, ·), of nodes with these states."""
        return self.blocks(name, [state])[0]

    def blocks(self, name: str, parts: Sequence[Tensor]) -> list[Tensor]:
        """The columns of one view, (m, ·), divided like the states of nodes into parts."""
        view, limits = VIEWS[name], (self.coordinates.shortest, self.coordinates.unit_from)
        if view.source == "structure":
            limits = (SHORTEST_FACTORS, 0.0)
        parts = [part @ self.b for part in parts] if view.predicted else parts
        divisors = row_divisors(sum(parts[1:], parts[0]), *limits)
        return [self.weights[name] * (part / divisors) for part in parts]

    def stacked(self, *states: Tensor) -> Tensor:
        """The columns of all views, (m, 4r + k), from states in the order of `weights`."""
        blocks = [self.block(*each) for each in zip(self.weights, states, strict=True)]
        return torch.cat(blocks, dim=1)


def unit_rows(vectors: Tensor, shortest: float, unit_from: float = 0.0) -> Tensor:
    """Rows of length 1, or less below `unit_from`; rows shorter than `shortest` become zero."""
    return vectors / row_divisors(vectors, shortest, unit_from)


def row_divisors(vectors: Tensor, shortest: float, unit_from: float) -> Tensor:
    """(m, 1) what `unit_rows` divides rows by."""
    lengths = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
    return torch.where(lengths > shortest, lengths.clamp_min(max(unit_from, 1e-30)), torch.inf)


# --- what is learned -----------------------------------------------------------------------------


@dataclass(frozen=True)
class LinearModel:
    """What is learned from one graph.

    unit : mean weight of its edges.
    structure : its structure factors; None where they are not used or there are no edges.
    weights : of the views, by name, in the order of their columns.
    projection : (4r + k, D) from the columns of the views to the embedding.
    evidence : what weights were chosen by; None where they were not chosen.
    """

    unit: Positive
    coordinates: Coordinates
    reconstruction: Reconstruction
    structure: StructureFactors | None
    weights: Mapping[str, NonNegative]
    projection: Annotated[Tensor, "c D"]
    evidence: Evidence | None = None

    @property
    def views(self) -> Views:
        return Views(self.weights, self.reconstruction.weights, self.coordinates)

    def states(self, graph: Graph, engine: Columns, *, step: bool = False) -> "States":
        """The states of the nodes of a graph with features; `step` for the structure decoder."""
        operator = Propagation(graph, self.unit, engine.dtype)
        polynomials = POLYNOMIALS | (STEP if step else {})
        matrices = propagated(
            "nodes", engine, operator, self.coordinates.source(graph.x), polynomials
        )
        if self.structure is not None:
            matrices["factors"] = self.structure.of(graph, engine)
        return States(engine, operator, self.coordinates.shortest, matrices)

    def embed(self, states: "States") -> Tensor:
        """(N, D), the embedding of all nodes."""
        views = self.views
        return states.engine.collect(
            lambda *rows: views.stacked(*rows) @ self.projection,
            *(states[name] for name in self.weights),
        )

    def embed_rows(self, states: Mapping[str, Tensor]) -> Tensor:
        """(m, D), the embedding of nodes with these states, (m, ·) each."""
        return self.views.stacked(*(states[name] for name in self.weights)) @ self.projection

    def contributions(self, states: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """(m, D) of every view, which add up to the embedding of nodes with these states.

        Since an inner product is linear, it splits into what each view contributes as well.
        """
        blocks = {name: self.views.block(name, states[name]) for name in self.weights}
        parts = self.projection.split([block.shape[1] for block in blocks.values()])
        return {
            name: block @ part for (name, block), part in zip(blocks.items(), parts, strict=True)
        }


@dataclass(frozen=True)
class States:
    """Coordinates of the nodes of one graph, propagated, and their structure factors.

    shortest : length below which a row of coordinates is due to rounding.
    matrices : by name, (n, ·) each.
    """

    engine: Columns
    operator: Propagation
    shortest: float
    matrices: Mapping[str, TallMatrix]

    def __getitem__(self, name: str) -> TallMatrix:
        return self.matrices[name]

    def __contains__(self, name: str) -> bool:
        return name in self.matrices
