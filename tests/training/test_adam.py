"""Adam against torch's own."""

import pytest
import torch
from rounding import assert_equal_to_rounding

from graphgate.training.adam import Adam

pytestmark = pytest.mark.numerical


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_updates_are_those_of_torch(dtype):
    torch.manual_seed(0)
    start = {name: torch.randn(shape, dtype=dtype) for name, shape in (("w", (7, 5)), ("v", (5,)))}
    ours, theirs = ({n: t.clone().requires_grad_() for n, t in start.items()} for _ in range(2))
    still = torch.ones(3, dtype=dtype, requires_grad=True)  # without a gradient
    optimizer = Adam(ours | {"still": still}, 0.01)
    reference = torch.optim.Adam(theirs.values(), lr=0.01, fused=True)
    for _ in range(25):
        for name, parameter in theirs.items():
            parameter.grad = torch.randn_like(parameter)
            ours[name].grad = parameter.grad.clone()
        optimizer.step()
        reference.step()
    for name, parameter in theirs.items():
        assert_equal_to_rounding(ours[name].detach(), parameter.detach())
    assert still.tolist() == [1, 1, 1]
