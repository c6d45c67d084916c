"""The settings a method is evaluated in, and an experiment: a cell of a table as data.

It is read from `<method>/<dataset>.toml` beside this file:

source = "Kipf & Welling 2017, section 5.2"    where the parameters come from
seconds = 12                                   approximate duration of a run on one core
departure = "…"                                how the protocol departs from the paper's, and why
n_runs = 10                                    10 by default; 5 on Pubmed
probe = "one-vs-rest"                          how embeddings are classified
unseen = ["test"]                              splits hidden during inductive training
[params]                                       parameters of the method
[sweep]                                        lists of values, chosen by validation accuracy
[transductive]                                 a setting; likewise inductive, clustering, links
published = [81.5, 0.7]                        published mean and perhaps standard deviation; for
                                               several metrics {auc = [91.0, 0.1], ap = [92.0]}
note = "…"                                     why our value is lower, where it is
params, sweep, source, departure, n_runs       what differs in this setting
"""

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from graphgate.datasets.citation import check_name
from graphgate.datasets.planetoid import NAMES
from graphgate.errors import InputError


@dataclass(frozen=True)
class SettingMetrics:
    """The metrics of a setting, all in percent.

    shown : those a table shows, the main one first.
    hidden : those stored beside them.
    selection : the metric by which a sweep chooses; None if there is none that avoids test data.
    """

    shown: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    selection: str | None = None

    @property
    def main(self) -> str:
        return self.shown[0]

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.shown, *self.hidden)


_CLASSIFICATION = SettingMetrics(("accuracy",), ("macro_f1", "val_accuracy"), "val_accuracy")
CLASSIFICATION_SETTINGS = ("transductive", "inductive")
SETTINGS = {
    **dict.fromkeys(CLASSIFICATION_SETTINGS, _CLASSIFICATION),
    "clustering": SettingMetrics(("nmi", "ari", "accuracy")),
    "links": SettingMetrics(("auc", "ap"), ("val_auc", "val_ap"), "val_auc"),
    "quality": SettingMetrics(
        ("accuracy", "public", "public_paper_probe", "nmi", "ari", "auc", "ap"),
        ("val_accuracy", "public_val", "val_auc"),
    ),
}
METRIC_TITLES = {
    "accuracy": "accuracy",
    "public": "public split",
    "public_paper_probe": "the paper's probe",
    "nmi": "NMI",
    "ari": "ARI",
    "auc": "AUC",
    "ap": "AP",
}
QUICK = ("raw-svd", "smoothing-2", "smoothing-16", "linear")  # seconds per run, on any graph
Published = tuple[float, float | None]  # mean, and the standard deviation if there is one


@dataclass(frozen=True)
class Experiment:
    """A method on a dataset in a setting.

    params : parameters of the method, the same in every run.
    sweep : parameter -> values; the combination whose first run scores best on validation data
        is chosen, the first one if there is a tie.
    published : metric -> mean, and the standard deviation or None.
    """

    method: str
    dataset: str
    setting: str
    params: Mapping[str, Any] = field(default_factory=dict)
    sweep: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    published: Mapping[str, Published] = field(default_factory=dict)
    n_runs: int = 10
    probe: str = "one-vs-rest"
    unseen: tuple[str, ...] = ("test",)
    seconds: float = 60.0
    source: str = ""
    departure: str = ""
    note: str = ""

    def candidates(self) -> list[dict[str, Any]]:
        """All parameters that the sweep chooses from; a single entry if there is no sweep."""
        combinations = itertools.product(*self.sweep.values())
        return [
            {**self.params, **dict(zip(self.sweep, values, strict=True))} for values in combinations
        ]


def with_std(mean: float, std: float | None) -> str:
    """A mean and its standard deviation, as tables show them."""
    return f"{mean:.1f}" if std is None else f"{mean:.1f} ± {std:.1f}"


def find_experiment(method: str, dataset: str, setting: str) -> Experiment | None:
    """The experiment of a method on a dataset in a setting; None if there is none.

    A user's own method (`module:Class`) has no files: it runs with its defaults everywhere.
    """
    if setting not in SETTINGS:
        raise InputError(f"unknown setting {setting!r}; use one of {', '.join(SETTINGS)}")
    if setting == "quality":
        return _compared(method, dataset)
    check_name(dataset)
    n_runs = 5 if dataset == "pubmed" else 10
    if ":" in method:
        return Experiment(method, dataset, setting, n_runs=n_runs)
    file = resources.files("graphgate.paper.experiments") / method / f"{dataset}.toml"
    if not file.is_file():
        return None
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    if setting not in content:
        return None
    section = content[setting]
    general = {key: value for key, value in content.items() if key not in SETTINGS}
    fields = {"n_runs": n_runs} | general | section
    fields["params"] = general.get("params", {}) | section.get("params", {})
    fields["published"] = _published(section.get("published", {}), setting)
    fields["unseen"] = tuple(fields.get("unseen", Experiment.unseen))
    return Experiment(method, dataset, setting, **fields)


def _compared(method: str, graph: str) -> Experiment:
    """Parameters are those for classification: on the citation graph, else on Cora.

    On other graphs, GATE has its preset, and a method that trains has two runs instead of five.
    """
    classifying = find_experiment(method, graph if graph in NAMES else "cora", "transductive")
    params = {} if classifying is None else classifying.candidates()[0]
    if method == "gate" and graph not in NAMES:
        params = {"preset": "authors"}
    n_runs = 5 if method in QUICK or graph in NAMES else 2
    return Experiment(method, graph, "quality", params, n_runs=n_runs)


def _published(values: Any, setting: str) -> dict[str, Published]:
    """A plain list belongs to the main metric."""
    named = values if isinstance(values, Mapping) else {SETTINGS[setting].main: values}
    return {metric: (value[0], (*value, None)[1]) for metric, value in named.items()}
