"""How much each source of features and each view counts, chosen from the graph without labels.

A source counts for what the rest of the data corroborates. The rule is smooth, so that rounding
cannot flip a choice, and the same for all graphs; docs/linear_form.md has the figures behind it.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from graphgate.compute.columns import Columns, Rows
from graphgate.compute.draws import Draws
from graphgate.compute.tall_matrix import TallMatrix
from graphgate.graph.graph import Graph
from graphgate.linear.coordinates import FeatureSource, Source
from graphgate.linear.evidence import (
    Evidence,
    Layout,
    Prediction,
    SourceEvidence,
    evidence,
    moments,
)
from graphgate.linear.matrices import neighbor_means, times

MOST_SOURCES = 256  # above which all features are one source
FLOOR = 0.02  # weight of a source that nothing else supports
LOUDEST = 5.6  # by how much own features count more where neighbors do not stand for them
QUIETEST = 0.5  # and averages over many neighbors less
SIGNIFICANT = (4.0, 7.0)  # z of what is noise, and of what is not
ENOUGH = 0.0005  # R² that earns half of the weight
ADDED = (0.0, 0.1)  # of the explained variance, the share that neighbors add to own columns
AVERAGED = (0.0, 0.4)  # of what neighbors predict, the share that their mean predicts as it is
_NORM = 8  # of source weights, between the largest and the sum
MOST_COLUMNS = 256  # that describe all sources
MOST_FACTORS = 64  # structure factors
_MOST = 64  # columns that describe a part of one source, where there are more features
_HALF = 0.5  # of the nodes, to fit on


# --- evidence ------------------------------------------------------------------------------------


def gathered(
    graph: Graph, engine: Columns, z: Source, factors: TallMatrix | None, draws: Draws
) -> Evidence:
    """The evidence about the sources of these coordinates, the same in all processes.

    factors : (n, k) structure factors; None where they are not used.
    """
    n_factors = 0 if factors is None else min(MOST_FACTORS, factors.shape[1])
    described, added, layout = _layout(z, n_factors, graph.n_edges > 0, draws)

    def centered(m: Tensor) -> Tensor:
        t = times(z.matrix, m)
        return t.sub_(t.mean(dim=0))

    def own(columns: slice) -> dict[str, Tensor]:
        return {"t": centered(described[:, columns].contiguous())}

    matrices: list[Rows] = [engine.map("sources", ["t"], own, described.shape[1])["t"]]
    if graph.n_edges:
        means = neighbor_means(graph, engine.dtype)

        def near(columns: slice) -> dict[str, Tensor]:
            return {"n": means.multiply(centered(added[:, columns].contiguous()))}

        matrices.append(engine.map("neighbors", ["n"], near, added.shape[1])["n"])
    if factors is not None:
        matrices.append(engine.rows(lambda u: u[:, :n_factors], factors))
    fit = engine.own(draws.uniform_by_node(graph.n_nodes) < _HALF)
    packed = engine.fold(
        lambda fit, *columns: moments(torch.cat(columns, dim=1), fit), fit, *matrices
    )
    return evidence(packed, layout)


def _layout(z: Source, n_factors: int, edges: bool, draws: Draws) -> tuple[Tensor, Tensor, Layout]:
    """The maps from features to t and to what n is the mean of, (F, ·); and what is where.

    Few features are described one by one, more of them by their leading singular vectors.
    """
    coordinates = z.coordinates
    v, dtype = coordinates.components, coordinates.center.dtype
    n_features = len(coordinates.weights)
    cap = min(_MOST, max(1, MOST_COLUMNS // len(coordinates.sources)))
    described: list[Tensor] = []
    added: list[Tensor] = []
    parts: list[Tensor] = []
    source_of: list[int] = []
    blocks: list[tuple[Tensor, ...]] = []
    neighbors_of: list[Tensor] = []
    width = near = 0

    def mapped(features: Tensor, projected: bool) -> Tensor:
        if projected and v is not None:
            m = torch.zeros_like(v[:, :cap])
            m[features] = v[features, :cap]
            return m
        m = torch.zeros(n_features, len(features), dtype=dtype)
        m[features, torch.arange(len(features))] = 1.0
        return m

    for number, source in enumerate(coordinates.sources):
        features = torch.from_numpy(np.flatnonzero(coordinates.places == number))
        projected = v is not None and source.n_features > cap
        halves: tuple[Tensor, ...] = (features,)
        if source.divisible and len(features) > 1:
            order = draws.normal(len(features), 1)[:, 0].argsort(stable=True)
            halves = features[order].tensor_split(2)
        maps = [mapped(half, projected) for half in halves]
        together = mapped(features, True) if projected else torch.cat(maps, dim=1)
        columns = [len(m.T) for m in maps]
        places = torch.arange(width, width + sum(columns))
        described += maps
        added.append(together)
        parts += places.split(columns)
        source_of += [number] * len(halves)
        blocks.append(places.split(columns) if projected else (places,))
        neighbors_of.append(torch.arange(near, near + together.shape[1]))
        width, near = width + sum(columns), near + together.shape[1]
    none = torch.arange(0)
    after = width + near * edges
    layout = Layout(
        tuple(parts),
        tuple(source_of),
        torch.arange(width, after),
        torch.arange(after, after + n_factors),
        tuple(columns + width if edges else none for columns in neighbors_of),
        tuple(blocks) if edges else ((),) * len(blocks),
    )
    return torch.cat(described, dim=1), torch.cat(added, dim=1), layout


# --- the rule ------------------------------------------------------------------------------------


def source_weights(
    sources: Sequence[FeatureSource], found: Evidence, given: Mapping[str, float]
) -> list[float]:
    """One per source: 1 where anything else predicts it, `FLOOR` where nothing does."""
    return [
        given.get(source.name, supported(evidence))
        for source, evidence in zip(sources, found.sources, strict=True)
    ]


def supported(source: SourceEvidence) -> float:
    """Between `FLOOR` and 1, by the best prediction of a source."""
    best = 0.0
    for r2, z in source:
        r2 = max(r2, 0.0)
        best = max(best, ramp(z, SIGNIFICANT) * r2 / (r2 + ENOUGH))
    return FLOOR + (1 - FLOOR) * best


def view_weights(
    base: Mapping[str, float], found: Evidence, weights: Sequence[float]
) -> dict[str, float]:
    """The weights of views, by name.

    Own features count more where neighbors do not stand for them, and where they predict each
    other; otherwise they are noise, which averages remove.

    base : their weights where features are supported, and neighbors stand for them.
    weights : of the sources.
    """
    features = min(1.0, sum(w**_NORM for w in weights) ** (1 / _NORM))
    if "factors" not in base:  # nothing else to rely on
        features = 1.0
    own = significant([source.own for source in found.sources], weights)
    turned = (1 - averaging(found, weights)) * features * own
    factors = {
        "own": LOUDEST**turned,
        "context": QUIETEST**turned,
        "deep": QUIETEST**turned,
    }
    balanced = {
        name: weight * factors.get(name, 1.0) for name, weight in base.items() if name != "factors"
    }
    # Structure keeps its share of the total variance.
    before, after = (sum(each[name] ** 2 for name in balanced) for each in (base, balanced))
    scale = features * (before / after) ** 0.5
    return {name: scale * balanced[name] if name in balanced else base[name] for name in base}


def averaging(found: Evidence, weights: Sequence[float]) -> float:
    """Between 0 and 1, whether averaging over neighbors stands for the features of a node.

    It does where neighbors add to what a node's own columns predict of hidden ones, and where what
    they predict is what they have themselves rather than its opposite.
    """
    squares = [w * w for w in weights]
    own, near, joint = (
        sum(s * r2 for s, r2 in zip(squares, values, strict=True))
        for values in (
            [max(source.own.r2, 0.0) for source in found.sources],
            [max(source.neighbors.r2, 0.0) for source in found.sources],
            [source.joint_r2 for source in found.sources],
        )
    )
    if near <= 0 or joint <= 0:
        return 0.0
    alignment = found.alignment(weights)
    like = alignment * abs(alignment) * sum(squares) / near
    certain = significant([source.neighbors for source in found.sources], weights)
    return ramp((joint - own) / joint, ADDED) * certain * ramp(like, AVERAGED)


def significant(predictions: Sequence[Prediction], weights: Sequence[float]) -> float:
    """Between 0 and 1, whether the prediction of any source is more than chance.

    weights : of the sources.
    """
    steps = [ramp(each.z, SIGNIFICANT) for each in predictions]
    return max(step * min(1.0, weight) for step, weight in zip(steps, weights, strict=True))


def ramp(value: float, between: tuple[float, float]) -> float:
    """A smooth step from 0 to 1."""
    at = min(1.0, max(0.0, (value - between[0]) / (between[1] - between[0])))
    return at * at * (3 - 2 * at)
