"""What `GATE` learns, and what it computes for a graph and for the nodes around a change."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.compute.processes import Processes
from graphgate.errors import DivergenceError, InputError
from graphgate.estimators.fitted import VECTOR, Attention, Fitted, Reach
from graphgate.estimators.reconstruction_errors import angles, mean_per_node
from graphgate.estimators.region import Region, scattered
from graphgate.graph.graph import Graph
from graphgate.graph.validation import Features, Positive
from graphgate.nn import collapsed
from graphgate.nn.autoencoder import (
    Architecture,
    DecoderOutput,
    EncoderOutput,
    GATEModel,
    parameter_shapes,
)
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.layer_update import Layer, layer_states, updated_layers
from graphgate.nn.pattern import AttentionPattern

_CPU = torch.device("cpu")


@dataclass(frozen=True)
class GATEFit(Fitted):
    """A trained network.

    weights : of the network, by the names of its parameters.
    unit : what edge weights are divided by.
    """

    architecture: Architecture
    weights: Mapping[str, Tensor]
    unit: Positive

    def __post_init__(self) -> None:
        wanted = parameter_shapes(self.architecture)
        seen = {name: tuple(weight.shape) for name, weight in self.weights.items()}
        if different := min(seen.items() ^ wanted.items(), default=None):
            name, shape = different[0], seen.get(different[0])
            raise InputError(f"its weight {name!r} is {shape}, not {wanted.get(name)}")

    @classmethod
    def of(cls, model: GATEModel, unit: float) -> Self:
        weights = {name: weight.detach() for name, weight in model.named_parameters()}
        return cls(model.architecture, weights, unit)

    @cached_property
    def model(self) -> GATEModel:
        """The network, with these weights."""
        model = GATEModel(self.architecture)
        model.load_state_dict(self.weights, assign=True)
        return model

    def __getstate__(self) -> dict[str, Any]:
        """What is computed from the fields is not pickled."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def on(self, device: torch.device) -> Self:
        """With weights on a device."""
        return replace(self, weights={name: w.to(device) for name, w in self.weights.items()})

    @torch.no_grad()
    def encode(self, graph: Graph, processes: Processes | None = None) -> "EmbeddedGraph":
        """What the network computes for a graph with features.

        A sparse X stays sparse here: one product does not pay for making it dense.

        processes : those that call this, of which each computes a share of the columns.
        """
        weight = self.model.encoder_weight[0]
        x = FeatureMatrix(graph.x, device=weight.device, dtype=weight.dtype)
        scaled = graph.with_weights_in(self.unit)
        pattern = AttentionPattern(
            scaled, device=weight.device, dtype=weight.dtype, gradients=False
        )
        if isinstance(self._encoder, GATEModel):
            encoded = self._encoder.encode(x, pattern, by_blocks=True)
        else:
            processes = processes or Processes()
            encoded = self._encoder.encode(
                x, pattern, by_blocks=True, by_columns=processes.by_columns, at_once=processes.size
            )
        if not all(bool(rows.isfinite().all()) for rows in encoded.h.split(1 << 14)):
            raise DivergenceError(
                "the embedding has values that are not finite: weights or features are too large; "
                "train with a lower learning_rate, or scale the features"
            )
        return EmbeddedGraph(self.model, encoded, pattern, scaled)

    # --- stores ----------------------------------------------------------------------------------

    @property
    def reach(self) -> Reach:
        return Reach(max(2, self.model.n_layers), np.inf, exact=True, near_features=True)

    def states(self, encoded: "EmbeddedGraph") -> dict[str, np.ndarray]:
        """The output of every layer, and what attention divides by."""
        x = self._matrix(encoded.graph.x)
        pattern = AttentionPattern(encoded.graph, device=_CPU, dtype=x.dtype, gradients=False)
        return _layer_columns(layer_states(self._local, x, pattern))

    def update(self, region: Region) -> dict[str, np.ndarray]:
        """The states of the nodes of a region after a change of the graph."""
        m, n_layers = len(region), self.model.n_layers
        states = {name: torch.from_numpy(values) for name, values in region.states.items()}
        names = [*(f"layer_{k}" for k in range(1, n_layers)), VECTOR]
        layers = [Layer(states[name], states["totals"][:, k]) for k, name in enumerate(names)]
        near = np.flatnonzero(region.near & ~region.new)
        assert region.near_features is not None
        before = after = scattered(region.near_features, near, m)
        if region.features is not None:
            keep = sp.diags_array((~region.changed).astype(np.float32), format="csr")
            rows = scattered(region.features, np.flatnonzero(region.changed), m)
            after = (sp.csr_array(keep @ before) + sp.csr_array(rows)).tocsr()
        old, new = (
            (attended / self.unit + sp.diags_array(loops)).tocsr()
            for attended, loops in zip(region.attended, region.loops(), strict=True)
        )
        x = (self._matrix(before), self._matrix(after))
        return _layer_columns(updated_layers(self._local, layers, x, (old, new), region.changed))

    @torch.no_grad()
    def rotated(self, rotation: np.ndarray) -> Self | None:
        """With vectors multiplied by a rotation; None where the activation is not the identity.

        That is the last layer: its weights, what attention compares with, and what the decoder
        starts with. A tied decoder has the transposed weights, so it undoes the rotation.
        """
        if self.architecture.activation != "identity":
            return None
        last, weights = self.model.n_layers - 1, dict(self.weights)
        turn = torch.from_numpy(rotation).to(weights[f"encoder_weight.{last}"].dtype)
        weights[f"encoder_weight.{last}"] = weights[f"encoder_weight.{last}"] @ turn
        for name in (
            f"encoder_center.{last}",
            f"encoder_neighbor.{last}",
            f"decoder_weight.{last}",
        ):
            if name in weights:
                weights[name] = turn.T @ weights[name]
        return replace(self, weights=weights)

    @cached_property
    @torch.no_grad()
    def _encoder(self) -> GATEModel | collapsed.FoldedEncoder:
        """A linear encoder needs only its weights, folded into one matrix."""
        linear = self.model.architecture.activation == "identity"
        return collapsed.fold(self.model) if linear else self.model

    @property
    def _local(self) -> GATEModel:
        """The network on the CPU, where a store is updated."""
        on_cpu = self.model.encoder_weight[0].device == _CPU
        return self.model if on_cpu else self.on(_CPU).model

    def _matrix(self, x: Features) -> FeatureMatrix:
        return FeatureMatrix(x, device=_CPU, dtype=self.model.encoder_weight[0].dtype)


def _layer_columns(layers: list[Layer]) -> dict[str, np.ndarray]:
    names = [*(f"layer_{k}" for k in range(1, len(layers))), VECTOR]
    columns = {name: layer.h.numpy() for name, layer in zip(names, layers, strict=True)}
    totals: Tensor = torch.stack([layer.z for layer in layers], dim=1)
    return columns | {"totals": totals.numpy()}


@dataclass(frozen=True)
class EmbeddedGraph:
    """What the network computes for a graph; the decoder runs only when it is asked for.

    graph : with features, and with weights in the unit of the network.
    """

    model: GATEModel
    encoded: EncoderOutput
    pattern: AttentionPattern
    graph: Graph

    @property
    def embedding(self) -> np.ndarray:
        """(N, D), one vector per node."""
        return self.encoded.h.cpu().numpy()

    @cached_property
    def attention(self) -> Attention:
        encoder = tuple(self.pattern.to_scipy(alpha) for alpha in self.encoded.attention)
        if not self.model.architecture.has_own_decoder_attention:
            return Attention(encoder, encoder)
        decoder = self._decode().attention
        return Attention(encoder, tuple(self.pattern.to_scipy(alpha) for alpha in decoder))

    @property
    def edge_values(self) -> Attention:
        """What to show of edges."""
        return self.attention

    def reconstruction(self) -> np.ndarray:
        """X̂, (N, F), dense."""
        return self._decode().x.cpu().numpy()

    def feature_errors(self) -> np.ndarray:
        """(N,) 1 - cosine of the features of a node and of their reconstruction."""
        return angles(self.graph.x, self.reconstruction())

    def edge_errors(self) -> np.ndarray:
        """(N,) mean of 1 - cosine of centered vectors over the edges of a node; NaN without.

        The inner products of the structure loss are mostly a matter of the lengths of vectors.
        """
        pattern = self.attention.average
        rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
        h = self.embedding - self.embedding.mean(axis=0)
        return mean_per_node(angles(h[rows], h[pattern.indices]), pattern)

    @torch.no_grad()
    def _decode(self) -> DecoderOutput:
        return self.model.decode(self.encoded, self.pattern)
