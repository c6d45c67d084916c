"""A trial: one run of one experiment, fully named; and the folder where each is kept as a file."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from graphgate.datasets.citation import Dataset, load_dataset
from graphgate.datasets.splits import random_split
from graphgate.errors import InputError
from graphgate.experiments.experiment import Experiment
from graphgate.experiments.methods import find_method
from graphgate.experiments.protocol import Run, Task
from graphgate.experiments.report import write_json
from graphgate.experiments.tasks import ClusteringTask, LinksTask
from graphgate.io.provenance import versions

RANDOM = "random"  # a split of its own for every seed
# What stands for the split of nodes, and for the probe, where nodes are not classified.
_OTHERWISE = {"clustering": ("whole", "kmeans"), "links": ("held-out", "dot-product")}


@dataclass(frozen=True)
class Trial:
    """All that decides the result of a run."""

    method: str
    dataset: str
    setting: str
    split: str
    settings: Mapping[str, Any]
    probe: str
    unseen: tuple[str, ...]
    seed: int

    @classmethod
    def of(
        cls, experiment: Experiment, split: str, settings: Mapping[str, Any], seed: int
    ) -> Trial:
        """`split` is that of the nodes; clusters need none, and edges are split by the seed."""
        setting = experiment.setting
        split, probe = _OTHERWISE.get(setting, (split, experiment.probe))
        unseen = experiment.unseen if setting == "inductive" else ()
        return cls(
            experiment.method,
            experiment.dataset,
            setting,
            split,
            settings,
            probe,
            unseen,
            seed,
        )

    def run(self) -> Run:
        return self.task(_dataset(self.dataset)).run(self.seed)

    def task(self, dataset: Dataset) -> Task | ClusteringTask | LinksTask:
        graph = dataset.graph
        make = partial(find_method(self.method).make, self.settings)
        if self.setting == "clustering":
            return ClusteringTask(make, graph, self.probe)
        if self.setting == "links":
            return LinksTask(make, graph)
        if self.split == RANDOM:
            assert graph.labels is not None
            graph = graph.with_splits(random_split(graph.labels, self.seed))
        elif self.split != dataset.split:
            raise InputError(
                f"{self.dataset} is here with its {dataset.split} split, not the {self.split} one; "
                f"`graphgate data fetch {self.dataset}` gets the public one"
            )
        return Task(make, graph, self.setting, self.unseen, self.probe)

    def fields(self) -> dict[str, Any]:
        return dataclasses.asdict(self) | {"unseen": list(self.unseen)}

    @property
    def file(self) -> Path:
        """Its place in the folder of results: the same for the same trial, and for no other."""
        content = json.dumps(self.fields(), sort_keys=True, ensure_ascii=False)
        digest = hashlib.sha256(content.encode()).hexdigest()[:10]
        name = f"{self.split}-{self.seed:03}-{digest}.json"
        return Path(self.setting, self.dataset, _folder_name(self.method), name)


def _folder_name(method: str) -> str:
    return re.sub(r"[^\w.-]+", "-", method)


@lru_cache(maxsize=1)
def _dataset(name: str) -> Dataset:
    return load_dataset(name)


class Results:
    """Runs in a folder, one small JSON each, written whole the moment a run ends."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def find(self, trial: Trial) -> Run | None:
        path = self.folder / trial.file
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if {key: content[key] for key in trial.fields()} != trial.fields():
                raise ValueError
            return Run.from_dict(content["run"], trial.setting)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise InputError(f"{path} is not the stored run it is named for; remove it") from None

    def has_split(self, method: str, dataset: str, split: str) -> bool:
        """Whether any run of a method on this split of a dataset is kept."""
        return any(self.folder.glob(f"*/{dataset}/{_folder_name(method)}/{split}-*.json"))

    def keep(self, trial: Trial, run: Run) -> None:
        path = self.folder / trial.file
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path.parent} cannot be made: {error.strerror}") from None
        content = trial.fields() | {"run": run.to_dict(), "versions": versions()}
        write_json(path, content)
