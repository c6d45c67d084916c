"""The methods that can be evaluated, by name, with the paper's settings for each dataset."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from graphgate.embedder import GATE
from graphgate.errors import InputError
from graphgate.evaluation.protocol import Embedder, Evaluation, Layout, Task
from graphgate.evaluation.workers import best_layout, run_all
from graphgate.presets import EXPERIMENTS, find_preset
from graphgate.sources.citation import Dataset


def gate(dataset: str, preset: str, seed: int) -> GATE:
    """GATE as the paper's set-up section has it for this dataset: λ and epochs."""
    settings = EXPERIMENTS[dataset]
    return GATE(
        preset=preset,
        structure_weight=settings.structure_weight,
        epochs=settings.epochs,
        random_state=seed,
        progress=False,
    )


METHODS: dict[str, Callable[[str, str, int], Embedder]] = {"gate": gate}


def evaluate_method(
    method: str,
    dataset: Dataset,
    *,
    setting: str,
    runs: int,
    seed: int = 0,
    preset: str = "authors",
    probe: str | None = None,
    unseen: tuple[str, ...] | None = None,
    layout: Layout | None = None,
    show_progress: bool = True,
) -> Evaluation:
    """Seeds `seed` … `seed + runs - 1`; probe and unseen splits default to the preset's.

    layout : how the runs share the machine; by default the faster of the two that there are.
    """
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; use one of {', '.join(METHODS)}")
    form = find_preset(preset)
    probe, unseen = probe or form.probe, unseen or form.unseen
    task = Task(
        partial(METHODS[method], dataset.name, preset), dataset.graph, setting, unseen, probe
    )
    layout = layout or best_layout(runs)
    found = run_all(task, range(seed, seed + runs), layout, show_progress=show_progress)
    published = EXPERIMENTS[dataset.name].published.get(setting)
    return Evaluation(
        method,
        dataset.name,
        setting,
        dataset.split,
        preset,
        probe,
        unseen,
        found,
        layout,
        published,
    )
