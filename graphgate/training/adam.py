"""Adam, in place.

The updates are those of `torch.optim.Adam`. Building torch's optimizer imports its compiler, which
takes as long as importing torch itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass
class Adam:
    """Kingma & Ba 2015, with β = (0.9, 0.999) and ε = 1e-8.

    Parameters
    ----------
    parameters : name -> tensor, updated in place from its gradient.
    steps : number of updates so far; it and `state` are all that the next update depends on.
    state : "mean.parameter" and "square.parameter" -> a tensor of the parameter's shape.
    """

    parameters: Mapping[str, Tensor]
    learning_rate: float
    steps: int = 0
    state: dict[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for moment in ("mean", "square"):
            for name, parameter in self.parameters.items():
                self.state[f"{moment}.{name}"] = torch.zeros_like(parameter, requires_grad=False)

    @torch.no_grad()
    def step(self) -> None:
        self.steps += 1
        for name, parameter in self.parameters.items():
            if parameter.grad is None:
                continue
            mean, square = self.state[f"mean.{name}"], self.state[f"square.{name}"]
            mean.lerp_(parameter.grad, 1 - 0.9)
            square.mul_(0.999).addcmul_(parameter.grad, parameter.grad, value=1 - 0.999)
            root = square.sqrt().div_((1 - 0.999**self.steps) ** 0.5).add_(1e-8)
            parameter.addcdiv_(mean, root, value=-self.learning_rate / (1 - 0.9**self.steps))
