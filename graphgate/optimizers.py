"""Gradient descent in place, with scratch memory that is made once.

The same formulas as torch's own; but building one of torch's imports its
compiler, which takes longer than many a training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass
class Optimizer:
    """Updates parameters from their gradients. `state` and `steps` are all that a run carries on.

    state : "moment.parameter" -> a tensor of the parameter's shape.
    """

    parameters: Mapping[str, Tensor]
    learning_rate: float
    steps: int = 0
    state: dict[str, Tensor] = field(default_factory=dict)
    moments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for moment in self.moments:
            for name, parameter in self.parameters.items():
                self.state[f"{moment}.{name}"] = torch.zeros_like(parameter, requires_grad=False)
        self._scratch = {n: torch.empty_like(p) for n, p in self.parameters.items()}

    @torch.no_grad()
    def step(self) -> None:
        self.steps += 1
        for name, parameter in self.parameters.items():
            if parameter.grad is not None:
                self.update(name, parameter.detach(), parameter.grad)

    def update(self, name: str, value: Tensor, gradient: Tensor) -> None:
        """Plain gradient descent."""
        value.add_(gradient, alpha=-self.learning_rate)


@dataclass
class Adam(Optimizer):
    """Kingma & Ba 2015, with β = (0.9, 0.999) and ε = 1e-8."""

    moments: tuple[str, ...] = ("mean", "square")

    def update(self, name: str, value: Tensor, gradient: Tensor) -> None:
        mean, square = self.state[f"mean.{name}"], self.state[f"square.{name}"]
        mean.lerp_(gradient, 0.1)
        square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        # Both corrections of the bias go into the step, which saves a pass over the parameters.
        bias = math.sqrt(1 - 0.999**self.steps)
        root = torch.sqrt(square, out=self._scratch[name]).add_(1e-8 * bias)
        value.addcdiv_(mean, root, value=-self.learning_rate * bias / (1 - 0.9**self.steps))


@dataclass
class RMSprop(Optimizer):
    """Tieleman & Hinton 2012, with a decay of 0.99 and ε = 1e-8."""

    moments: tuple[str, ...] = ("square",)

    def update(self, name: str, value: Tensor, gradient: Tensor) -> None:
        square = self.state[f"square.{name}"]
        square.mul_(0.99).addcmul_(gradient, gradient, value=0.01)
        root = torch.sqrt(square, out=self._scratch[name]).add_(1e-8)
        value.addcdiv_(gradient, root, value=-self.learning_rate)


OPTIMIZERS: dict[str, type[Optimizer]] = {"adam": Adam, "rmsprop": RMSprop, "sgd": Optimizer}
