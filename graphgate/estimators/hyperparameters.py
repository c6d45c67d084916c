"""Hyperparameters: the two formulations of GATE as named presets, checks, and a JSON form."""

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_scalar

from graphgate.errors import InputError, check_choice

DTYPES = {"float32": torch.float32, "float64": torch.float64}
LARGEST_SEED = 2**32 - 1  # of NumPy's RandomState, which scikit-learn uses
_INFINITY = "infinity"  # for which JSON has no number


@dataclass(frozen=True)
class Preset:
    """Where the two formulations of GATE differ.

    The text of the paper and the reference implementation differ; the latter most likely produced
    the published tables.

    feature_loss : form of the feature loss, see `losses.Loss`.
    clip_norm : maximum gradient norm.
    probe : how the logistic regression handles several classes.
    unseen : splits that the inductive setting hides during training.
    """

    feature_loss: str
    clip_norm: float
    probe: str
    unseen: tuple[str, ...]


PRESETS = {
    "authors": Preset("frobenius", 5.0, "one-vs-rest", ("test", "val")),
    "paper": Preset("rows", math.inf, "multinomial", ("test",)),
}


def find_preset(name: str) -> Preset:
    check_choice("preset", name, PRESETS)
    return PRESETS[name]


def number(name: str, value: Any) -> float:
    return float(_scalar(name, value, numbers.Real))


def integer(name: str, value: Any, *, minimum: int = 1, maximum: int | None = None) -> int:
    return int(_scalar(name, value, numbers.Integral, min_val=minimum, max_val=maximum))


def boolean(name: str, value: Any) -> bool:
    return bool(_scalar(name, value, (bool, np.bool_)))


def _scalar(name: str, value: Any, kind: Any, **bounds: Any) -> Any:
    """`check_scalar`, which takes True for 1 and has nothing against NaN."""
    try:
        if isinstance(value, (bool, np.bool_)) and kind in (numbers.Real, numbers.Integral):
            raise TypeError(f"{name} must be a number, got {value}.")
        if value != value:
            raise ValueError(f"{name} must not be NaN.")
        return check_scalar(value, name, kind, **bounds)
    except (TypeError, ValueError) as error:
        raise InputError(str(error).rstrip(".")) from None


def layer_sizes(value: Any) -> tuple[int, ...]:
    if isinstance(value, numbers.Integral):
        value = (value,)
    if isinstance(value, str) or not hasattr(value, "__iter__") or not (sizes := tuple(value)):
        raise InputError(f"dims must be the sizes of the layers, such as (512, 512), got {value!r}")
    return tuple(integer("each of dims", size) for size in sizes)


def seed(random_state: Any) -> int:
    """The seed that a random_state stands for; a RandomState gives its next one."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return integer("random_state", random_state, minimum=0, maximum=LARGEST_SEED)


def dtype(name: Any) -> torch.dtype:
    key = str(name).removeprefix("torch.")
    if key not in DTYPES:
        raise InputError(f"dtype must be one of {', '.join(DTYPES)}, got {name!r}")
    return DTYPES[key]


def device(name: Any) -> torch.device:
    """A device that exists and has the sparse products that GATE needs."""
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


def to_json(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a fitted estimator as plain JSON."""
    given = {**params, "dtype": str(params["dtype"]).removeprefix("torch.")}
    if "dims" in params:
        given["dims"] = list(layer_sizes(params["dims"]))
    plain = {n: v.item() if isinstance(v, np.generic) else v for n, v in given.items()}
    return {name: _INFINITY if value == math.inf else value for name, value in plain.items()}


def from_json(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that `to_json` wrote."""
    found = {name: math.inf if value == _INFINITY else value for name, value in params.items()}
    return found | ({"dims": tuple(params["dims"])} if "dims" in params else {})
