"""Plain arguments of estimators, checked: numbers, sizes, seeds, devices, precisions."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import torch

from graphgate.errors import InputError

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or value != value:
        raise InputError(f"{name} must be a number, got {value!r}")
    return float(value)


def whole(name: str, value: Any, *, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


def layer_sizes(value: Any) -> tuple[int, ...]:
    if isinstance(value, numbers.Integral):
        value = (value,)
    if isinstance(value, str) or not hasattr(value, "__iter__") or not (sizes := tuple(value)):
        raise InputError(f"dims must be the size of each layer, such as (512, 512), got {value!r}")
    return tuple(whole("each of dims", size) for size in sizes)


def seed(random_state: Any) -> int:
    """The seed that a random_state stands for; a RandomState gives its next one."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return whole("random_state", random_state, least=0)


def dtype(name: Any) -> torch.dtype:
    key = str(name).removeprefix("torch.")
    if key not in DTYPES:
        raise InputError(f"dtype must be one of {', '.join(DTYPES)}, got {name!r}")
    return DTYPES[key]


def device(name: Any) -> torch.device:
    """A device that is there and has the sparse products that GATE needs."""
    try:
        found = torch.device(name)
        eye = torch.eye(2, device=found)
        csr = eye.to_sparse_csr()
        torch.sparse.sampled_addmm(csr, eye, eye)
        (csr @ eye).sum().item()
    except (RuntimeError, TypeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"the device {str(name)!r} cannot be used: {reason}; use device='cpu'"
        ) from None
    return found
