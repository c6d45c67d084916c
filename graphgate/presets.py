"""The two formulations of GATE as named presets, and the settings of the paper's experiments.

The text of the paper and its authors' program differ; the program most likely made the tables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from graphgate.errors import InputError


@dataclass(frozen=True)
class Preset:
    """What the two formulations do differently.

    feature_loss : form of the feature loss, see `losses.Loss`.
    clip_norm : longest gradient.
    probe : how the logistic regression treats several classes.
    unseen : splits that the inductive setting hides while training.
    """

    feature_loss: str
    clip_norm: float
    probe: str
    unseen: tuple[str, ...]


PRESETS = {
    "authors": Preset("frobenius", 5.0, "one-vs-rest", ("test", "val")),
    "paper": Preset("rows", math.inf, "multinomial", ("test",)),
}


@dataclass(frozen=True)
class Experiment:
    """The settings that the paper's set-up section gives for a dataset, and what it reports.

    published : setting -> (mean, deviation) of the accuracy in percent, over 100 runs.
    """

    structure_weight: float
    epochs: int
    published: dict[str, tuple[float, float]]


EXPERIMENTS = {
    "cora": Experiment(0.5, 100, {"transductive": (83.2, 0.6), "inductive": (82.5, 0.5)}),
    "citeseer": Experiment(20.0, 100, {"transductive": (71.8, 0.8), "inductive": (71.5, 0.7)}),
    "pubmed": Experiment(0.5, 500, {"transductive": (80.9, 0.3), "inductive": (80.8, 0.3)}),
}


def find_preset(name: str) -> Preset:
    if name not in PRESETS:
        raise InputError(f"unknown preset {name!r}; use one of {', '.join(PRESETS)}")
    return PRESETS[name]
