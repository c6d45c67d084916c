"""Several runs of one method on one dataset in one setting, and their summary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter, methodcaller
from statistics import mean, stdev
from typing import Any

from graphgate.datasets.citation import Dataset, load_dataset
from graphgate.errors import InputError
from graphgate.estimators.hyperparameters import find_preset
from graphgate.io.progress import progress_bar
from graphgate.io.provenance import versions
from graphgate.paper.experiments.experiment import (
    CLASSIFICATION_SETTINGS,
    METRIC_TITLES,
    SETTINGS,
    Experiment,
    Published,
    find_experiment,
    with_std,
)
from graphgate.paper.experiments.methods import find_row
from graphgate.paper.experiments.parallel import available_cores, faster_n_jobs, run_unordered
from graphgate.paper.experiments.protocol import RunResult, is_classifier
from graphgate.paper.experiments.run_store import RunSpec


@dataclass(frozen=True)
class Evaluation:
    """The runs of a method, and the values that the paper reports.

    spec : the specification of the first run; the others differ in the seed.
    runs : the results, ordered by seed.
    paper : metric -> published mean, and the standard deviation or None.
    """

    spec: RunSpec
    runs: tuple[RunResult, ...]
    paper: Mapping[str, Published]

    @property
    def shown(self) -> tuple[str, ...]:
        """The reported metrics, the main one first."""
        return SETTINGS[self.spec.setting].shown

    @property
    def is_comparable(self) -> bool:
        """Published values are of the public split of nodes; edges are always split at random."""
        return self.spec.split == "public" or self.spec.setting == "links"

    def values(self, metric: str | None = None) -> list[float]:
        """The metric of every run, by default the main one."""
        values = [run.metrics[metric or self.shown[0]] for run in self.runs]
        return [value for value in values if value is not None]

    @property
    def stopped(self) -> str:
        """The limit that runs have reached, such as "> 20 min"; empty if they finished."""
        return next((run.stopped for run in self.runs if run.stopped), "")

    def mean(self, metric: str | None = None) -> float:
        return mean(self.values(metric))

    def std(self, metric: str | None = None) -> float | None:
        """The standard deviation with n − 1; None for a single run."""
        values = self.values(metric)
        return stdev(values) if len(values) > 1 else None

    def text(self, metric: str | None = None) -> str:
        """Mean ± standard deviation, or why there is none."""
        if self.stopped or not self.values(metric):
            return self.stopped or "—"
        return with_std(self.mean(metric), self.std(metric))

    def published(self, metric: str | None = None) -> Published | None:
        return self.paper.get(metric or self.shown[0])

    def difference(self, metric: str | None = None) -> str:
        """Our mean minus the published one; on different splits it would mean nothing."""
        published = self.published(metric)
        if published is None:
            return "—"
        if not self.is_comparable:
            return "other split"
        return f"{self.mean(metric) - published[0]:+z.1f}"

    def heads(self) -> list[str]:
        """The column names of `row`."""
        of_metrics = [[METRIC_TITLES[metric], "paper", "difference"] for metric in self.shown]
        return ["method", "dataset", "setting", "split", "runs", *chain.from_iterable(of_metrics)]

    def row(self) -> list[str]:
        """One line: our mean ± standard deviation, the paper's, and the difference, in percent."""
        spec, preset = self.spec, self.spec.params.get("preset")
        row = [f"{spec.method} ({preset})" if preset else spec.method]
        row += [spec.dataset, spec.setting, spec.split, str(len(self.runs))]
        for metric in self.shown:
            published = self.published(metric)
            row += [
                self.text(metric),
                "—" if published is None else with_std(*published),
                self.difference(metric),
            ]
        return row

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the specification, every run, and mean and standard deviation per metric."""
        spec = self.spec.fields()
        del spec["seed"]
        return {
            **spec,
            "preset": self.spec.params.get("preset"),
            "runs": [run.to_dict() for run in self.runs],
            **self._summary(self.shown[0]),
            "metrics": {metric: self._summary(metric) for metric in self.shown},
            "versions": versions(),
        }

    def _summary(self, metric: str) -> dict[str, Any]:
        std, paper = self.std(metric), self.published(metric)
        return {
            "mean": round(self.mean(metric), 4) if self.values(metric) else None,
            "std": None if std is None else round(std, 4),
            "paper": None if paper is None else {"mean": paper[0], "std": paper[1]},
        }


def evaluate(
    method: str,
    dataset: str | Dataset,
    *,
    setting: str = "transductive",
    n_runs: int = 3,
    random_state: int = 0,
    preset: str | None = None,
    params: Mapping[str, Any] | None = None,
    probe: str | None = None,
    unseen: Sequence[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> Evaluation:
    """Train a method several times, score every run, and compare with the paper.

    Nothing is stored; `reproduce` stores its runs and resumes.

    Parameters
    ----------
    method : "gate", the name of a baseline, or `module:Class` for your own.
    dataset : "cora", "citeseer" or "pubmed", or what `load_dataset` returned.
    setting : "transductive", "inductive", "clustering", "links" or "quality".
    n_runs, random_state : the runs have the seeds random_state, random_state + 1, ….
    preset : formulation of GATE, which also determines `probe` and `unseen`.
    params : parameters of the method that replace those of the experiment. Nothing is swept: a
        parameter that the experiment sweeps has the method's default.
    probe : how embeddings are classified, "one-vs-rest" or "multinomial".
    unseen : splits whose nodes are hidden during inductive training.
    n_jobs : number of single-threaded processes; by default whichever is faster on the
        available cores, several processes or several threads.

    Examples
    --------
    >>> from graphgate import evaluate
    >>> evaluation = evaluate("raw", "citeseer", n_runs=2, progress=False)
    >>> evaluation.runs[0].metrics["accuracy"]
    61.6
    """
    find_row(method)  # an unknown name is refused first
    source = load_dataset(dataset) if isinstance(dataset, str) else dataset
    if not isinstance(source, Dataset):
        raise InputError(
            f"expected the name of a dataset or what load_dataset returned, got a "
            f"{type(source).__name__}; score vectors of your own graph with classify, "
            "NodeClassifier or evaluate_links"
        )
    experiment = find_experiment(method, source.name, setting)
    if experiment is None:
        raise InputError(f"the method {method!r} has no {setting} setting on {source.name}")
    if unseen is not None and setting != "inductive":
        raise InputError(f"the setting {setting!r} hides no nodes; omit unseen")
    if probe is not None and setting not in CLASSIFICATION_SETTINGS:
        raise InputError(f"the setting {setting!r} has no choice of a probe; omit probe")
    experiment = _with_choices(experiment, preset, params or {}, probe, unseen)
    if probe is not None and is_classifier(find_row(method).make(experiment.params, random_state)):
        raise InputError(f"the method {method!r} classifies nodes without a probe; omit probe")
    first = RunSpec.of(experiment, source.split, experiment.params, random_state)
    specs = [replace(first, seed=random_state + run) for run in range(n_runs)]
    n_jobs = n_jobs or faster_n_jobs(n_runs, available_cores())
    evaluation = Evaluation(first, (), experiment.published)
    with progress_bar(setting, n_runs, show=progress) as advance:
        for _, result in run_unordered(methodcaller("run", source), specs, n_jobs=n_jobs):
            runs = sorted((*evaluation.runs, result), key=attrgetter("seed"))
            evaluation = replace(evaluation, runs=tuple(runs))
            advance(note=f"{evaluation.shown[0]} {evaluation.text()}")
    return evaluation


def _with_choices(
    experiment: Experiment,
    preset: str | None,
    params: Mapping[str, Any],
    probe: str | None,
    unseen: Sequence[str] | None,
) -> Experiment:
    """The experiment with the choices of the caller; a preset also implies `probe` and `unseen`."""
    chosen = dict(experiment.params)
    if preset is not None:
        if "preset" not in chosen:
            raise InputError(
                f"the method {experiment.method!r} has no presets, got preset={preset!r}"
            )
        form, chosen["preset"] = find_preset(preset), preset
        probe, unseen = probe or form.probe, unseen or form.unseen
    return replace(
        experiment,
        params=chosen | dict(params),
        probe=probe or experiment.probe,
        unseen=tuple(unseen or experiment.unseen),
    )
