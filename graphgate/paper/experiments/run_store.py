"""The specification of a run, and the folder in which runs are stored."""

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from graphgate.datasets.archives import read_archive
from graphgate.datasets.citation import Dataset, load_dataset
from graphgate.datasets.splits import random_split
from graphgate.errors import InputError
from graphgate.io.files import append_json, complete_lines, make_folder, parse_json
from graphgate.io.provenance import versions
from graphgate.paper.experiments.experiment import Experiment
from graphgate.paper.experiments.methods import find_row, source_digest
from graphgate.paper.experiments.protocol import (
    RunResult,
    run_classification,
    run_clustering,
    run_links,
)
from graphgate.paper.experiments.quality import run_quality

RANDOM = "random"  # a different split for every seed
# The split and the probe of settings in which nodes are not classified, or not by one split alone.
_SPLITS = {"clustering": "whole", "links": "held-out"}
_PROBES = {"clustering": "kmeans", "links": "dot-product", "quality": "chosen"}


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
        setting = experiment.setting
        return cls(
            experiment.method,
            experiment.dataset,
            setting,
            _SPLITS.get(setting, split),
            params,
            _PROBES.get(setting, experiment.probe),
            experiment.unseen if setting == "inductive" else (),
            seed,
            source_digest(experiment.method),
        )

    def run(self, dataset: Dataset | None = None) -> RunResult:
        """Train and score once. dataset : used instead of loading it by name."""
        if source_digest(self.method) != self.code:
            raise InputError(f"the source of {self.method} has changed since the runs began")
        row = find_row(self.method)
        dataset = dataset or named_dataset(self.dataset)
        graph = dataset.graph if row.features else dataset.without_features().graph
        if self.setting == "clustering":
            method = row.make(self.params, self.seed)
            return run_clustering(method, graph, algorithm=self.probe, seed=self.seed)
        if self.setting == "links":
            return run_links(row.make(self.params, self.seed), graph, seed=self.seed)
        if self.split == RANDOM:
            assert graph.labels is not None
            graph = graph.with_splits(random_split(graph.labels, self.seed))
        elif self.split != dataset.split:
            raise InputError(
                f"{self.dataset} is available with its {dataset.split} split, not with the "
                f"{self.split} one; fetch_dataset({self.dataset!r}) downloads the public split"
            )
        if self.setting == "quality":
            return run_quality(row, self.params, graph, seed=self.seed)
        method = row.make(self.params, self.seed)
        return run_classification(
            method, graph, self.setting, unseen=self.unseen, probe=self.probe, seed=self.seed
        )

    def fields(self) -> dict[str, Any]:
        """As stored; the methods of this package have no `code`."""
        fields = dataclasses.asdict(self) | {"unseen": list(self.unseen)}
        return fields if self.code else {k: v for k, v in fields.items() if k != "code"}

    @property
    def key(self) -> str:
        """The fields as text, different for different specifications."""
        return json.dumps(self.fields(), sort_keys=True, ensure_ascii=False)

    @property
    def file(self) -> Path:
        """The path of its method and dataset in the results folder."""
        return run_file(self.method, self.dataset)


def run_file(method: str, dataset: str) -> Path:
    """The path of a method and a dataset in the results folder."""
    return Path(dataset, re.sub(r"[^\w.-]+", "-", method) + ".jsonl")


@lru_cache(maxsize=1)
def named_dataset(name: str, archive: Path | None = None) -> Dataset:
    """A citation graph, or the graph in an archive, which has no split."""
    if archive is None:
        return load_dataset(name)
    graph = read_archive(archive)
    return Dataset(name, graph, "whole", str(archive), graph.n_edges, 0)


class RunStore:
    """Runs in a folder: a file per method and dataset, a line of JSON per run.

    Several processes may add to it; of two lines with the same specification, the first counts. A
    file is read once, and again after a run was added to it.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._read: dict[Path, dict[str, tuple[RunSpec, RunResult]]] = {}

    def find(self, spec: RunSpec) -> RunResult | None:
        """The stored result of a run; None if there is none."""
        stored = self._runs(spec.file).get(spec.key)
        return None if stored is None else stored[1]

    def has_split(self, method: str, dataset: str, split: str) -> bool:
        """Whether any run of a method on this split of a dataset is stored."""
        return any(
            spec.split == split for spec, _ in self._runs(run_file(method, dataset)).values()
        )

    def datasets(self) -> list[str]:
        """The datasets with stored runs."""
        return sorted(path.name for path in self.folder.glob("*") if path.is_dir())

    def add(self, spec: RunSpec, result: RunResult) -> None:
        """Store a run; its line is written completely or not at all."""
        make_folder((self.folder / spec.file).parent)
        content = spec.fields() | {"run": result.to_dict(), "versions": versions()}
        append_json(self.folder / spec.file, content)
        self._read.pop(spec.file, None)

    def _runs(self, file: Path) -> dict[str, tuple[RunSpec, RunResult]]:
        """The runs in a file by the keys of their specifications."""
        if file not in self._read:
            runs: dict[str, tuple[RunSpec, RunResult]] = {}
            for number, line in enumerate(complete_lines(self.folder / file), start=1):
                try:
                    spec, result = _stored(line)
                    if spec.file != file or spec.seed != result.seed:
                        raise ValueError
                    runs.setdefault(spec.key, (spec, result))
                except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
                    raise InputError(
                        f"line {number} of {self.folder / file} is not a run of its method and "
                        "dataset; remove it"
                    ) from None
            self._read[file] = runs
        return self._read[file]


def _stored(line: bytes) -> tuple[RunSpec, RunResult]:
    """Specification and result of a stored run; raises an error for anything else."""
    fields = parse_json(line.decode())
    run, _ = fields.pop("run"), fields.pop("versions", None)
    spec = RunSpec(**fields | {"unseen": tuple(fields["unseen"])})
    return spec, RunResult.from_dict(run, spec.setting)
