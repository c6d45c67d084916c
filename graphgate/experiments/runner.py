"""Works through a grid of experiments, keeps every run, and goes on where it was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphgate.errors import InputError
from graphgate.experiments.experiment import Experiment
from graphgate.experiments.protocol import Evaluation
from graphgate.experiments.scores import SCORES
from graphgate.experiments.trial import Results, Trial
from graphgate.experiments.workers import Layout, each
from graphgate.io.progress import Advance, progress_bar


@dataclass(frozen=True)
class Grid:
    """Experiments on given splits with a number of runs each.

    splits : dataset -> "random", or the name of its own split.
    runs : instead of what the experiments say.
    """

    experiments: Sequence[Experiment]
    results: Results
    splits: Mapping[str, str]
    runs: int | None = None

    def sweep_trials(self) -> list[Trial]:
        """What must be run before settings can be chosen."""
        return [
            trial
            for experiment in self.experiments
            if experiment.sweep
            for trial in self._deciding(experiment)
        ]

    def table_trials(self) -> list[Trial]:
        """What the table counts, once the sweeps are done."""
        return [trial for experiment in self.experiments for trial in self.trials(experiment)]

    def trials(self, experiment: Experiment) -> list[Trial]:
        settings, split = self.chosen(experiment), self.splits[experiment.dataset]
        if settings is None:
            return []
        runs = self.runs or experiment.runs
        return [Trial.of(experiment, split, settings, seed) for seed in range(runs)]

    def chosen(self, experiment: Experiment) -> dict[str, Any] | None:
        """The settings of best score on validation; None while the sweep is not done."""
        candidates = experiment.candidates()
        if len(candidates) == 1:
            return candidates[0]
        metric = SCORES[experiment.setting].choosing
        assert metric is not None  # `find_experiment` refuses a sweep without one
        scores = []
        for trial in self._deciding(experiment):
            run = self.results.find(trial)
            score = run.metrics[metric] if run else None
            if score is None:
                return None
            scores.append(score)
        return candidates[scores.index(max(scores))]

    def _deciding(self, experiment: Experiment) -> list[Trial]:
        """The runs that a sweep chooses by, one of each candidate."""
        split = self.splits[experiment.dataset]
        return [
            Trial.of(experiment, split, settings, seed=0) for settings in experiment.candidates()
        ]

    def evaluation(self, experiment: Experiment) -> Evaluation | None:
        """The stored runs of a cell; None where there are none."""
        found = [(trial, self.results.find(trial)) for trial in self.trials(experiment)]
        runs = tuple(run for _, run in found if run is not None)
        if not runs:
            return None
        trial = found[0][0]
        return Evaluation(
            experiment.method,
            experiment.dataset,
            experiment.setting,
            trial.split,
            trial.probe,
            trial.unseen,
            runs,
            experiment.published,
            trial.settings,
        )


def run_grid(grid: Grid, layout: Layout, *, show_progress: bool = True) -> int:
    """Runs what is missing; the number of runs that it made.

    A run that fails does not stop the others; what went wrong is said at the end.
    """
    later = sum(
        experiment.seconds * ((grid.runs or experiment.runs) - 1)
        for experiment in grid.experiments
        if grid.chosen(experiment) is None
    )
    seconds = {_cell(experiment): experiment.seconds for experiment in grid.experiments}
    missing = _missing(grid, [*grid.sweep_trials(), *grid.table_trials()])
    total = later + sum(seconds[_cell(trial)] for trial in missing)
    failures: list[str] = []
    made = 0
    with progress_bar("reproduce", total, show=show_progress) as advance:
        for stage in (grid.sweep_trials, grid.table_trials):
            done = _run(grid, _missing(grid, stage()), layout, seconds, failures, advance)
            made += done
    if failures:
        raise InputError(
            f"{len(failures)} of {made + len(failures)} runs failed, the others are kept; "
            f"the first: {failures[0]}"
        )
    return made


def _run(
    grid: Grid,
    trials: list[Trial],
    layout: Layout,
    seconds: dict[tuple[str, str, str], float],
    failures: list[str],
    advance: Advance,
) -> int:
    made = 0
    for trial, problem in each(_Keeper(grid.results), trials, layout):
        advance(seconds[_cell(trial)], note=f"{trial.method}, {trial.dataset}, seed {trial.seed}")
        if problem:
            failures.append(problem)
        else:
            made += 1
    return made


@dataclass(frozen=True)
class _Keeper:
    """In the process of a run: run it and keep it; returns what went wrong, if anything."""

    results: Results

    def __call__(self, trial: Trial) -> str:
        try:
            self.results.keep(trial, trial.run())
        except Exception as error:  # whatever a method does, the other runs go on
            what = f"{type(error).__name__}: {error}"
            if isinstance(error, InputError):
                what = str(error)
            return f"{trial.method} on {trial.dataset}, seed {trial.seed}: {what}"
        return ""


def _missing(grid: Grid, trials: Iterable[Trial]) -> list[Trial]:
    """Those without a stored run, each once."""
    found: dict[Any, Trial] = {}
    for trial in trials:
        if trial.file not in found and grid.results.find(trial) is None:
            found[trial.file] = trial
    return list(found.values())


def _cell(of: Experiment | Trial) -> tuple[str, str, str]:
    return of.method, of.dataset, of.setting
