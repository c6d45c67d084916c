"""Runs the experiments of a grid, stores every run, and resumes where it stopped."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from graphgate.errors import InputError
from graphgate.io.progress import progress_bar
from graphgate.paper.experiments.evaluation import Evaluation
from graphgate.paper.experiments.experiment import SETTINGS, Experiment
from graphgate.paper.experiments.parallel import run_unordered
from graphgate.paper.experiments.protocol import RunResult
from graphgate.paper.experiments.run_store import RunSpec, RunStore, named_dataset


@dataclass(frozen=True)
class ExperimentGrid:
    """Experiments on given splits, with their stored runs.

    splits : dataset -> "random", or the name of its split.
    n_runs : replaces the number of runs of the experiments.
    archives : dataset -> file, for those that are not citation graphs.
    """

    experiments: Sequence[Experiment]
    store: RunStore
    splits: Mapping[str, str]
    n_runs: int | None = None
    archives: Mapping[str, Path] = field(default_factory=dict)

    def first_specs(self) -> list[RunSpec]:
        """The runs that decide on others: on parameters, or whether any finishes in time."""
        return [
            spec
            for experiment in self.experiments
            if experiment.sweep or experiment.setting == "quality"
            for spec in self._candidates(experiment)
        ]

    def table_specs(self) -> list[RunSpec]:
        """The runs that count, as far as the first ones are complete."""
        return [spec for experiment in self.experiments for spec in self.specs(experiment)]

    def specs(self, experiment: Experiment) -> list[RunSpec]:
        """The runs of an experiment; none before its parameters are chosen.

        Where the first was stopped, it stands for all.
        """
        params, split = self.chosen_params(experiment), self.splits[experiment.dataset]
        if params is None:
            return []
        seeds = range(self.n_runs or experiment.n_runs)
        first, *others = [RunSpec.of(experiment, split, params, seed) for seed in seeds]
        result = self.store.find(first)
        return [first] if result is not None and result.stopped else [first, *others]

    def chosen_params(self, experiment: Experiment) -> Mapping[str, Any] | None:
        """The parameters with the best validation score; None while the sweep is incomplete."""
        specs = self._candidates(experiment)
        if len(specs) == 1:
            return specs[0].params
        metric = SETTINGS[experiment.setting].selection
        assert metric is not None, f"{experiment.setting} has no metric to choose by"
        results = [self.store.find(spec) for spec in specs]
        measured = [result.metrics[metric] for result in results if result is not None]
        scores = [score for score in measured if score is not None]
        return specs[scores.index(max(scores))].params if len(scores) == len(specs) else None

    def _candidates(self, experiment: Experiment) -> list[RunSpec]:
        """One run for each of the parameters that a sweep chooses from."""
        split = self.splits[experiment.dataset]
        return [RunSpec.of(experiment, split, params, 0) for params in experiment.candidates()]

    def evaluation(self, experiment: Experiment) -> Evaluation | None:
        """The stored runs of an experiment; None if there are none."""
        specs = self.specs(experiment)
        runs = tuple(result for spec in specs if (result := self.store.find(spec)) is not None)
        return Evaluation(specs[0], runs, experiment.published) if runs else None

    def missing(self, specs: Iterable[RunSpec]) -> list[RunSpec]:
        """Those without a stored run, each once."""
        distinct = {spec.key: spec for spec in specs}
        return [spec for spec in distinct.values() if self.store.find(spec) is None]


def run_missing(grid: ExperimentGrid, *, n_jobs: int, progress: bool = True) -> int:
    """Run what is not stored yet; returns the number of new runs.

    A run that fails does not stop the others; the failure is reported at the end.
    """
    seconds = {_cell(experiment): experiment.seconds for experiment in grid.experiments}
    later = sum(
        experiment.seconds * ((grid.n_runs or experiment.n_runs) - 1)
        for experiment in grid.experiments
        if grid.chosen_params(experiment) is None
    )
    missing = grid.missing([*grid.first_specs(), *grid.table_specs()])
    total = later + sum(seconds[_cell(spec)] for spec in missing)
    failures: list[str] = []
    n_new = 0
    with progress_bar("reproduce", total, show=progress) as advance:
        for stage in (grid.first_specs, grid.table_specs):
            specs = grid.missing(stage())
            attempt = partial(_attempt, grid.archives)
            for spec, outcome in run_unordered(attempt, specs, n_jobs=n_jobs):
                if isinstance(outcome, RunResult):
                    grid.store.add(spec, outcome)
                    n_new += 1
                else:
                    failures.append(outcome)
                advance(
                    seconds[_cell(spec)], note=f"{spec.method}, {spec.dataset}, seed {spec.seed}"
                )
    if failures:
        raise InputError(
            f"{len(failures)} of {n_new + len(failures)} runs failed (the others are stored); "
            f"the first error: {failures[0]}"
        )
    return n_new


def _attempt(archives: Mapping[str, Path], spec: RunSpec) -> RunResult | str:
    """The result of a run, or what went wrong."""
    try:
        return spec.run(named_dataset(spec.dataset, archives.get(spec.dataset)))
    except Exception as error:  # whatever a method does, the other runs go on
        what = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        return f"{spec.method} on {spec.dataset}, seed {spec.seed}: {what}"


def _cell(run: Experiment | RunSpec) -> tuple[str, str, str]:
    return run.method, run.dataset, run.setting
