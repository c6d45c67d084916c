"""The nodes of one graph at several depths, from which all else is computed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from graphgate.linear.propagation import Propagation, averaging, restarting
from graphgate.linear.workspace import Workspace
from graphgate.training.tall_matrix import TallMatrix

CONTEXT_STEPS, CONTEXT_RESTART = 10, 0.15
SHALLOW_STEPS, SHALLOW_RESTART = 2, 0.33
# The coefficients of powers of the operator.
STEP = [0.0, 1.0]
DEPTHS = {
    "shallow": restarting(SHALLOW_STEPS, SHALLOW_RESTART),
    "context": restarting(CONTEXT_STEPS, CONTEXT_RESTART),
    "deep": averaging(16, 0.05),
}
SHORTEST_FACTORS = 1e-6  # length below which a row of structure factors is due to rounding


@dataclass(frozen=True)
class NodeStates:
    """The rows of this process, (n, r) each but for the factors.

    own : coordinates.
    step : the same after one step; None unless it was asked for.
    shallow, deep : the mean over two steps, and over sixteen.
    context : smoothed over ten steps with restarts; what a node is reconstructed from.
    seen : the part of the context that comes from other nodes; None unless it was asked for.
    factors : (n, k) structure factors, or None.
    shortest : length below which a row is due to rounding.
    """

    workspace: Workspace
    propagation: Propagation
    own: TallMatrix
    shallow: TallMatrix
    context: TallMatrix
    deep: TallMatrix
    step: TallMatrix | None
    seen: TallMatrix | None
    factors: Tensor | None
    shortest: float

    @classmethod
    def of(
        cls,
        stage: str,
        workspace: Workspace,
        propagation: Propagation,
        own: Callable[[slice], Tensor],
        n_coordinates: int,
        factors: Tensor | None,
        shortest: float,
        masked: Tensor | None = None,
        *,
        step: bool = False,
    ) -> Self:
        """Compute all states.

        stage : a name for what is computed, by which it resumes.
        own : from some columns to the coordinates of all nodes, (N, c).
        masked : (N, 1), 1 for the nodes of one half and 0 for those of the other, for `seen`: a
            node sees the half that it does not belong to.
        step : whether `step` is wanted.
        """
        blocks = workspace.blocks(n_coordinates)
        depths = ({"step": STEP} if step else {}) | DEPTHS
        names = ["own", *depths] + ["seen"] * (masked is not None)
        found = {
            name: workspace.matrix(f"{stage}-{name}", blocks, propagation.dtype) for name in names
        }

        for first, number in workspace.rounds(stage, blocks):
            if number is None:  # only to receive what others have computed
                for name in found:
                    workspace.keep_rows(found[name], first, None)
                continue
            h = own(blocks[number])
            for name, block in _computed(propagation, h, depths, masked):
                workspace.keep_rows(found[name], first, block)
        return cls(
            workspace,
            propagation,
            **{name: found[name] for name in ("own", *DEPTHS)},
            step=found.get("step"),
            seen=found.get("seen"),
            factors=factors,
            shortest=shortest,
        )

    def seen_by_others(self, halves: int) -> Tensor:
        """(n, r), like `seen`, averaged over random halves; the states must be those of all nodes.

        A node is never in the half that it sees.
        """
        own, context = (each.rows(slice(0, len(self.own))) for each in (self.own, self.context))
        generator = torch.Generator().manual_seed(0)
        total = torch.zeros_like(own)
        for _ in range(halves):
            masked = (torch.rand(len(own), 1, generator=generator) < 0.5).to(own.dtype)
            half = self.propagation.smooth(own * masked, CONTEXT_STEPS, CONTEXT_RESTART)
            total += torch.where(masked > 0, context - half, half)
        return total / halves

    def unit_vectors(self, vectors: Tensor) -> Tensor:
        """Rows of length 1, for coordinates of any depth."""
        return unit_rows(vectors, self.shortest)

    def unit_factors(self, factors: Tensor) -> Tensor:
        """Rows of length 1, for structure factors."""
        return unit_rows(factors, SHORTEST_FACTORS)


def _computed(
    propagation: Propagation,
    own: Tensor,
    depths: Mapping[str, Sequence[float]],
    masked: Tensor | None,
) -> Iterator[tuple[str, Tensor]]:
    """Blocks of columns by name, in the order of the names."""
    yield "own", own
    other = None
    if masked is not None:
        other = propagation.smooth(own * masked, CONTEXT_STEPS, CONTEXT_RESTART)
    for name, block in propagation.walk(own, depths):
        if name == "context" and masked is not None and other is not None:
            # Propagation is linear, so what comes from the other half is the rest.
            other.mul_(1 - 2 * masked).addcmul_(masked, block)
        yield name, block
    if other is not None:
        yield "seen", other


def unit_rows(vectors: Tensor, shortest: float) -> Tensor:
    """Rows of length 1; rows shorter than `shortest` become zero."""
    lengths = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
    return torch.where(lengths > shortest, vectors / lengths.clamp_min(1e-30), 0.0)
