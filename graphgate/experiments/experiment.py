"""An experiment: a cell of a table as data, read from `<method>/<dataset>.toml` beside this file.

source = "Kipf & Welling 2017, section 5.2"    where the settings come from
seconds = 12                                   of a run on one core, about
deviation = "…"                                what differs from the paper's protocol, and why
runs = 10                                      by default 10; on Pubmed 5
probe = "one-vs-rest"                          how embeddings are classified
unseen = ["test"]                              splits hidden while training, inductive
[settings]                                     arguments of the method
[sweep]                                        lists to choose from by validation accuracy
[transductive]                                 a cell: inductive, clustering or links alike
published = [81.5, 0.7]                        mean and perhaps deviation in the paper; for several
                                               metrics {auc = [91.0, 0.1], ap = [92.0]}
note = "…"                                     why ours is lower, where it is
settings, sweep, source, deviation, runs       what differs in this cell
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from graphgate.datasets.citation import check_name
from graphgate.errors import InputError
from graphgate.experiments.scores import SCORES, Published

_RUNS = {"pubmed": 5}
_TOP = {"source", "seconds", "deviation", "runs", "probe", "unseen", "settings", "sweep", *SCORES}
_CELL = {"published", "note", "settings", "sweep", "source", "deviation", "runs"}


@dataclass(frozen=True)
class Experiment:
    """A method on a dataset in a setting.

    settings : arguments of the method that hold for every run.
    sweep : setting -> values; the combination whose run of seed 0 has the best score on validation
        is taken, the first of equals.
    published : metric -> mean and perhaps deviation.
    """

    method: str
    dataset: str
    setting: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    sweep: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    published: Mapping[str, Published] = field(default_factory=dict)
    runs: int = 10
    probe: str = "one-vs-rest"
    unseen: tuple[str, ...] = ("test",)
    seconds: float = 60.0
    source: str = ""
    deviation: str = ""
    note: str = ""

    def candidates(self) -> list[dict[str, Any]]:
        """All settings that the sweep chooses from; one where there is no sweep."""
        combinations = itertools.product(*self.sweep.values())
        return [
            {**self.settings, **dict(zip(self.sweep, values, strict=True))}
            for values in combinations
        ]


def find_experiment(method: str, dataset: str, setting: str) -> Experiment | None:
    """The experiment of a cell, None where the table has no such cell.

    A method that has no files (the user's own) is run as it is, in every cell.
    """
    check_name(dataset)
    if setting not in SCORES:
        raise InputError(f"unknown setting {setting!r}; use one of {', '.join(SCORES)}")
    defaults: dict[str, Any] = {
        "runs": _RUNS.get(dataset, 10),
    }
    if ":" in method:
        return Experiment(method, dataset, setting, **defaults)
    file = resources.files("graphgate.experiments") / method / f"{dataset}.toml"
    if not file.is_file():
        return None
    told = tomllib.loads(file.read_text(encoding="utf-8"))
    _check_keys(f"{method}/{dataset}.toml", told, _TOP)
    if setting not in told:
        return None
    cell = told[setting]
    _check_keys(f"[{setting}] of {method}/{dataset}.toml", cell, _CELL)
    told = {key: value for key, value in told.items() if key not in SCORES} | {
        "settings": told.get("settings", {}) | cell.get("settings", {}),
        "sweep": cell.get("sweep", told.get("sweep", {})),
        "note": cell.get("note", ""),
        "published": _published(cell.get("published", {}), setting),
        **{key: cell[key] for key in ("source", "deviation", "runs") if key in cell},
    }
    if told["sweep"] and SCORES[setting].choosing is None:
        raise InputError(
            f"[{setting}] of {method}/{dataset}.toml has a sweep, but nothing to choose by"
        )
    if "unseen" in told:
        told["unseen"] = tuple(told["unseen"])
    return Experiment(method, dataset, setting, **defaults | told)


def _published(told: Any, setting: str) -> dict[str, Published]:
    """A list is of the metric that counts."""
    named = told if isinstance(told, Mapping) else {SCORES[setting].shown[0]: told}
    return {metric: (value[0], (*value, None)[1]) for metric, value in named.items()}


def _check_keys(where: str, told: Mapping[str, Any], known: set[str]) -> None:
    if unknown := told.keys() - known:
        raise InputError(f"{where} has an unknown key {min(unknown)!r}; known are {sorted(known)}")
