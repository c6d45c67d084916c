"""The specification of a run, and the folder in which every run is stored as a file."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from graphgate.datasets.citation import Dataset, load_dataset
from graphgate.datasets.splits import random_split
from graphgate.errors import InputError
from graphgate.experiments.experiment import Experiment
from graphgate.experiments.methods import find_method
from graphgate.experiments.protocol import (
    RunResult,
    run_classification,
    run_clustering,
    run_links,
)
from graphgate.io.files import make_folder, read_json, write_json
from graphgate.io.provenance import versions

RANDOM = "random"  # a different split for every seed
# The split and the probe of settings in which nodes are not classified.
_UNCLASSIFIED = {"clustering": ("whole", "kmeans"), "links": ("held-out", "dot-product")}


@dataclass(frozen=True)
class RunSpec:
    """Everything that determines the result of a run.

    code : a digest of the source of a user's own method; None for the methods of this package.
    """

    method: str
    dataset: str
    setting: str
    split: str
    params: Mapping[str, Any]
    probe: str
    unseen: tuple[str, ...]
    seed: int
    code: str | None = None

    @classmethod
    def of(cls, experiment: Experiment, split: str, params: Mapping[str, Any], seed: int) -> Self:
        """`split` is that of the nodes; clusters need none, and edges are split by the seed."""
        split, probe = _UNCLASSIFIED.get(experiment.setting, (split, experiment.probe))
        return cls(
            experiment.method,
            experiment.dataset,
            experiment.setting,
            split,
            params,
            probe,
            experiment.unseen if experiment.setting == "inductive" else (),
            seed,
            find_method(experiment.method).code(),
        )

    def run(self, dataset: Dataset | None = None) -> RunResult:
        """Train and score once. dataset : used instead of loading it by name."""
        known = find_method(self.method)
        if known.code() != self.code:
            raise InputError(f"the source of {self.method} has changed since the runs began")
        dataset = dataset or _dataset(self.dataset)
        graph = dataset.graph if known.features else dataset.without_features().graph
        method = known.make(self.params, self.seed)
        if self.setting == "clustering":
            return run_clustering(method, graph, algorithm=self.probe, seed=self.seed)
        if self.setting == "links":
            return run_links(method, graph, seed=self.seed)
        if self.split == RANDOM:
            assert graph.labels is not None
            graph = graph.with_splits(random_split(graph.labels, self.seed))
        elif self.split != dataset.split:
            raise InputError(
                f"{self.dataset} is available with its {dataset.split} split, not with the "
                f"{self.split} one; fetch_dataset({self.dataset!r}) downloads the public split"
            )
        return run_classification(
            method, graph, self.setting, unseen=self.unseen, probe=self.probe, seed=self.seed
        )

    def fields(self) -> dict[str, Any]:
        """As stored; the methods of this package have no `code`."""
        fields = dataclasses.asdict(self) | {"unseen": list(self.unseen)}
        return fields if self.code else {k: v for k, v in fields.items() if k != "code"}

    @property
    def file(self) -> Path:
        """Its path in the results folder, unique to this specification."""
        content = json.dumps(self.fields(), sort_keys=True, ensure_ascii=False)
        digest = hashlib.sha256(content.encode()).hexdigest()[:10]
        name = f"{self.split}-{self.seed:03}-{digest}.json"
        return Path(self.setting, self.dataset, _folder_name(self.method), name)


def _folder_name(method: str) -> str:
    return re.sub(r"[^\w.-]+", "-", method)


@lru_cache(maxsize=1)
def _dataset(name: str) -> Dataset:
    return load_dataset(name)


class RunStore:
    """Runs in a folder, one small JSON file each; every file is read at most once."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._known: dict[Path, RunResult] = {}

    def find(self, spec: RunSpec) -> RunResult | None:
        """The stored result of a run; None if there is none."""
        path = self.folder / spec.file
        if path not in self._known:
            try:
                path.stat()
                content = read_json(path, str(path))
                if {key: content[key] for key in spec.fields()} != spec.fields():
                    raise ValueError
                self._known[path] = RunResult.from_dict(content["run"], spec.setting)
            except FileNotFoundError:
                return None
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                raise InputError(
                    f"{path} does not contain the run that its name indicates; remove it"
                ) from None
        return self._known[path]

    def has_split(self, method: str, dataset: str, split: str) -> bool:
        """Whether any run of a method on this split of a dataset is stored."""
        return any(self.folder.glob(f"*/{dataset}/{_folder_name(method)}/{split}-*.json"))

    def add(self, spec: RunSpec, result: RunResult) -> None:
        """Store a run; the file is written completely or not at all."""
        path = self.folder / spec.file
        make_folder(path.parent)
        write_json(path, spec.fields() | {"run": result.to_dict(), "versions": versions()})
        self._known[path] = result
