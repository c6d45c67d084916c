"""One method on one dataset in one setting, run here and now; nothing is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphgate.datasets.citation import Dataset
from graphgate.errors import InputError
from graphgate.estimators.presets import find_preset
from graphgate.experiments.experiment import find_experiment
from graphgate.experiments.methods import find_method
from graphgate.experiments.protocol import SETTINGS, Evaluation, Task
from graphgate.experiments.trial import Trial
from graphgate.experiments.workers import Layout, best_layout, run_all


def evaluate_method(
    method: str,
    dataset: Dataset,
    *,
    setting: str,
    runs: int,
    seed: int = 0,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    probe: str | None = None,
    unseen: tuple[str, ...] | None = None,
    layout: Layout | None = None,
    show_progress: bool = True,
) -> Evaluation:
    """Seeds `seed` … `seed + runs - 1`, with the experiment's settings where none are given.

    preset : form of GATE, which also says how it is probed and what is unseen.
    settings : arguments of the method, instead of the experiment's. Nothing is swept here: where
        the experiment has a sweep, the method's own defaults stand.
    layout : how the runs share the machine; by default the faster of the two that there are.
    """
    find_method(method)
    if setting not in SETTINGS:
        raise InputError(f"unknown setting {setting!r}; use one of {', '.join(SETTINGS)}")
    experiment = find_experiment(method, dataset.name, setting)
    if experiment is None:
        raise InputError(f"the method {method!r} has no {setting} setting on {dataset.name}")
    given = dict(experiment.settings)
    default_probe, default_unseen = experiment.probe, experiment.unseen
    if preset is not None:
        if "preset" not in given:
            raise InputError(f"the method {method!r} has no presets; leave --preset out")
        form = find_preset(preset)
        given["preset"] = preset
        default_probe, default_unseen = form.probe, form.unseen
    trial = Trial(
        method,
        dataset.name,
        setting,
        dataset.split,
        given | dict(settings or {}),
        probe or default_probe,
        unseen or default_unseen,
        seed,
    )
    seeds = range(seed, seed + runs)
    layout = layout or best_layout(runs)
    task = trial.task(dataset)
    assert isinstance(task, Task)
    found = run_all(task, seeds, layout, show_progress=show_progress)
    return Evaluation(
        method,
        dataset.name,
        setting,
        dataset.split,
        trial.probe,
        trial.unseen,
        found,
        experiment.published,
        trial.settings,
    )
