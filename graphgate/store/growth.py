"""What a store keeps of every node for each estimator, and how a change of the graph changes it."""

import math
from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.compute.sparse_operator import csr_matrix, symmetrically_normalized
from graphgate.estimators.gate import GATE
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.estimators.loading import Estimator
from graphgate.graph.graph import Graph
from graphgate.linear.state_update import STATES, updated_states
from graphgate.linear.structure import StructureFactors, plain_ids
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.layer_update import Layer, layer_states, updated_layers
from graphgate.nn.pattern import AttentionPattern
from graphgate.store.records import PLACE, VECTOR
from graphgate.store.region import Region, scattered

FACTORS = "factors"
_CPU = torch.device("cpu")
_HUB = 1000  # edges, of which one more changes a vector by less than a thousandth


class Growth(ABC):
    """An estimator, and the columns that a store keeps of every node so that it can be updated.

    hops : how far from a change nodes are updated.
    hub : sum of the weights at a node above which a change of its edges is not followed to its
        neighbors; infinite where it is always followed.
    exact : whether nodes further away do not change.
    needs_near_features : whether `Region.near_features` are used.
    """

    hops: int
    hub: float = math.inf
    exact: bool
    needs_near_features: bool

    @abstractmethod
    def columns(self, graph: Graph) -> dict[str, np.ndarray]:
        """All columns, (N, …) each, `VECTOR` among them, computed from the whole graph."""

    @abstractmethod
    def update(self, region: Region) -> dict[str, np.ndarray]:
        """All columns of the nodes of a region after the change."""


def growth_of(estimator: Estimator) -> Growth:
    return LinearGrowth(estimator) if isinstance(estimator, LinearGATE) else GATEGrowth(estimator)


class LinearGrowth(Growth):
    """The propagation states of every node, its factors, and its row of the singular vectors."""

    hops, exact, needs_near_features = 2, False, False

    def __init__(self, estimator: LinearGATE) -> None:
        self.estimator, self.model = estimator, estimator.model_
        self.hub = _HUB * self.model.unit

    @torch.no_grad()
    def columns(self, graph: Graph) -> dict[str, np.ndarray]:
        encoded = self.estimator.encode(graph)
        structure = self.model.structure
        names = STATES if structure is None else (*STATES, FACTORS)
        columns = {name: encoded.states[name].whole().numpy() for name in names}
        columns[VECTOR] = encoded.embedding
        if structure is not None:
            columns[PLACE] = structure.places(graph).numpy()
        return columns

    @torch.no_grad()
    def update(self, region: Region) -> dict[str, np.ndarray]:
        model, states = self.model, _tensors(region.states)
        own = states["own"].clone()
        if region.features is not None:
            changed = torch.from_numpy(region.changed)
            own[changed] = model.coordinates.transform(region.features)
        before, after = (
            _normalized(attended, sums, loops, model.unit)
            for attended, sums, loops in zip(
                region.attended, region.sums, region.loops(), strict=True
            )
        )
        found = updated_states(states, own, before, after)
        if FACTORS in states:
            before, after = (
                _normalized(attended, sums, None, 1.0)
                for attended, sums in zip(region.attended, region.sums, strict=True)
            )
            change = csr_matrix((after - before).tocsr(), own.dtype) @ states[PLACE]
            found |= {FACTORS: states[FACTORS] + change}
        vectors = model.embed_rows(found)
        if PLACE in states:
            found[PLACE] = states[PLACE]
        return {name: values.numpy() for name, values in {**found, VECTOR: vectors}.items()}


class GATEGrowth(Growth):
    """The output of every layer, and what attention divides by."""

    exact, needs_near_features = True, True

    def __init__(self, estimator: GATE) -> None:
        self.estimator, self.model = estimator, estimator.model_.cpu()
        self.hops = max(2, self.model.n_layers)

    def columns(self, graph: Graph) -> dict[str, np.ndarray]:
        x = self.estimator.features(graph)
        dtype = self.model.encoder_weight[0].dtype
        scaled = graph.with_weights_in(self.estimator.weight_unit_)
        pattern = AttentionPattern(scaled, device=_CPU, dtype=dtype, gradients=False)
        return _layer_columns(layer_states(self.model, self._matrix(x), pattern))

    def update(self, region: Region) -> dict[str, np.ndarray]:
        m, n_layers = len(region), self.model.n_layers
        states = _tensors(region.states)
        names = [*(f"layer_{k}" for k in range(1, n_layers)), VECTOR]
        layers = [Layer(states[name], states["totals"][:, k]) for k, name in enumerate(names)]
        near = np.flatnonzero(region.near & ~region.new)
        assert region.near_features is not None
        before = after = scattered(region.near_features, near, m)
        if region.features is not None:
            keep = sp.diags_array((~region.changed).astype(np.float32), format="csr")
            rows = scattered(region.features, np.flatnonzero(region.changed), m)
            after = (sp.csr_array(keep @ before) + sp.csr_array(rows)).tocsr()
        unit = self.estimator.weight_unit_ if self.estimator.fitted_on_.weighted else 1.0
        old, new = (
            (attended / unit + sp.diags_array(loops)).tocsr()
            for attended, loops in zip(region.attended, region.loops(), strict=True)
        )
        x = (self._matrix(before), self._matrix(after))
        return _layer_columns(updated_layers(self.model, layers, x, (old, new), region.changed))

    def _matrix(self, x: np.ndarray | sp.csr_array) -> FeatureMatrix:
        return FeatureMatrix(x, device=_CPU, dtype=self.model.encoder_weight[0].dtype)


def trimmed(estimator: Estimator) -> Estimator:
    """The estimator without what it knows of single nodes, which the tables hold."""
    if not isinstance(estimator, LinearGATE) or estimator.model_.structure is None:
        return estimator
    structure = estimator.model_.structure
    few = slice(0, structure.rank)  # a model file has at least as many nodes as factors
    return _with_structure(estimator, StructureFactors(structure.ids[few], structure.vectors[few]))


def completed(estimator: Estimator, ids: np.ndarray, place: np.ndarray | None) -> Estimator:
    """The estimator with the singular vectors of these nodes again."""
    if not isinstance(estimator, LinearGATE) or place is None:
        return estimator
    known = place.any(axis=1)
    factors = StructureFactors(plain_ids(ids[known]), torch.from_numpy(place[known]))
    return _with_structure(estimator, factors)


def _with_structure(estimator: LinearGATE, structure: StructureFactors) -> LinearGATE:
    model = estimator.model_
    found = LinearGATE(**estimator.get_params())
    found.__dict__.update(estimator.__dict__)
    found.model_ = replace(model, structure=structure)
    return found


def _tensors(states: dict[str, np.ndarray]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(values) for name, values in states.items()}


def _layer_columns(layers: list[Layer]) -> dict[str, np.ndarray]:
    names = [*(f"layer_{k}" for k in range(1, len(layers))), VECTOR]
    found = {name: layer.h.numpy() for name, layer in zip(names, layers, strict=True)}
    return found | {"totals": torch.stack([layer.z for layer in layers], dim=1).numpy()}


def _normalized(
    attended: sp.csr_array, sums: np.ndarray, loops: np.ndarray | None, unit: float
) -> sp.csr_array:
    """D^-½ A D^-½ by the sums of whole rows and columns, with self-loops where they are given."""
    matrix, left, right = attended / unit, *(sums / unit).T
    if loops is not None:
        matrix = (matrix + sp.diags_array(loops)).tocsr()
        left, right = left + loops, right + loops
    return symmetrically_normalized(matrix, (left, right))
