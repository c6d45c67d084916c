"""Masked reconstruction of features, solved exactly.

Every node is seen through the others only: a random half of the nodes is masked, and the context
of a node is what reaches it from the other half. Because propagation is linear, the context of
both halves takes two propagations in all. The weights that reconstruct coordinates from contexts
with the least squared error, plus a ridge penalty, are the solution of one linear system.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from graphgate.graph.graph import Graph
from graphgate.linear.node_states import NodeStates

STRENGTHS = 10.0 ** np.arange(-2, 3.01, 0.25)  # of the ridge penalty, to choose from
MASKED = 0.5  # fraction of the nodes that the others are reconstructed from, and vice versa
_HIDDEN = 0.2  # fraction of the nodes whose features are predicted to choose the strength
_GOOD_ENOUGH = 0.9  # of the best R²


@dataclass(frozen=True)
class Reconstruction:
    """A linear map from the context of a node to its coordinates.

    weights : (r, r).
    strength : of the ridge penalty: the largest whose R² is at least 90 % of the best, which is
        safer than the best one, in the spirit of the one-standard-error rule.
    r2 : the largest fraction of the hidden features that their context explains; negative or zero
        where edges say nothing about features.
    """

    weights: Tensor
    strength: float
    r2: float

    @classmethod
    def fit(cls, states: NodeStates, hidden: Tensor, strength: float | None = None) -> Self:
        """Learn to reconstruct coordinates from what their nodes have seen.

        hidden : (n,) which of the rows are hidden to choose the strength.
        strength : the strength to use; by default it is chosen.
        """
        assert states.seen is not None
        r = states.own.shape[1]
        moments = torch.zeros(2, r, 2 * r, dtype=torch.float64)  # of hidden rows, and of others
        total = torch.zeros(1, dtype=torch.float64)
        for chunk in states.workspace.chunks:
            seen, own = states.seen.rows(chunk), states.own.rows(chunk)
            for at, rows in enumerate((hidden[chunk], ~hidden[chunk])):
                some, targets = seen[rows], own[rows]
                moments[at, :, :r] += (some.T @ some).double()
                moments[at, :, r:] += (some.T @ targets).double()
            total += own[hidden[chunk]].double().square().sum()
        (gram, moment), (rest, rest_moment) = (
            part.split(r, dim=1) for part in states.workspace.sum(moments)
        )
        r2 = 0.0
        if strength is None:
            square = float(states.workspace.sum(total))
            scores = _hidden_r2(rest, rest_moment, gram, moment, square)
            r2 = float(scores.max())
            enough = scores >= (_GOOD_ENOUGH * r2 if r2 > 0 else r2)
            strength = float(STRENGTHS[enough].max())
        gram, moment = gram + rest, moment + rest_moment
        penalty = strength * max(float(gram.trace()) / r, 1e-30)
        weights = torch.linalg.solve(gram + penalty * torch.eye(r, dtype=gram.dtype), moment)
        return cls(weights.to(states.own.dtype).contiguous(), strength, r2)

    def coordinates(self, context: Tensor) -> Tensor:
        """(N, r), reconstructed from the context of all nodes, of which half was seen in `fit`."""
        return MASKED * context @ self.weights


def random_half(graph: Graph, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
    """(N, 1), 1 for the nodes of a random half and 0 for the others."""
    return (_uniform(graph, generator)[:, None] < MASKED).to(dtype)


def random_hidden(graph: Graph, generator: torch.Generator) -> Tensor:
    """(N,), which nodes are hidden to choose the strength."""
    return _uniform(graph, generator) < _HIDDEN


def _uniform(graph: Graph, generator: torch.Generator) -> Tensor:
    """The same numbers in either precision, by node whatever their order."""
    drawn = torch.rand(graph.n_nodes, generator=generator, dtype=torch.float32)
    return drawn if graph.id_ranks is None else drawn[torch.from_numpy(graph.id_ranks)]


def _hidden_r2(
    gram: Tensor, moment: Tensor, hidden_gram: Tensor, hidden_moment: Tensor, total: float
) -> np.ndarray:
    """R² on hidden nodes, for each of `STRENGTHS`, of weights that the others determine.

    All strengths share one eigendecomposition; on hidden nodes, the squared error needs only the
    moments: ‖z - s B‖² = ‖z‖² - 2 ⟨sᵀz, B⟩ + ⟨B, sᵀs B⟩.
    """
    r = len(gram)
    values, vectors = torch.linalg.eigh(gram)
    values = values.clamp_min(0)
    rotated = vectors.T @ moment
    hidden_gram = vectors.T @ hidden_gram @ vectors
    hidden_moment = vectors.T @ hidden_moment
    cross = (rotated * hidden_moment).sum(dim=1)
    inner = hidden_gram * (rotated @ rotated.T)
    scale = float(values.sum()) / r
    if total <= 0 or scale <= 0:
        return np.zeros(len(STRENGTHS))
    shrunk = 1 / (values + scale * torch.from_numpy(STRENGTHS)[:, None])
    explained = 2 * (shrunk @ cross) - ((shrunk @ inner) * shrunk).sum(dim=1)
    return (explained / total).numpy()
