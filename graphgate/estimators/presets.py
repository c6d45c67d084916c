"""The two formulations of GATE as named presets.

The text of the paper and the reference implementation differ; the latter most likely produced the
published tables.
"""

import math
from dataclasses import dataclass

from graphgate.errors import InputError


@dataclass(frozen=True)
class Preset:
    """Where the two formulations differ.

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
    if name not in PRESETS:
        raise InputError(f"unknown preset {name!r}; use one of {', '.join(PRESETS)}")
    return PRESETS[name]
