"""Methods compared on many graphs in three tasks: classes, clusters, links.

One run fits a method twice, on the whole graph and without some edges, and measures everything on
what it gives. Test figures never choose anything: the strength and the scaling of the probe are
chosen on validation nodes.
"""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize

from graphgate.datasets.archives import list_archives, read_archive
from graphgate.datasets.citation import load_dataset
from graphgate.datasets.planetoid import NAMES
from graphgate.errors import InputError, TrainingWarning
from graphgate.experiments.experiment import find_experiment
from graphgate.experiments.limited_run import CallFailed, LimitReached, call_within
from graphgate.experiments.measure import measured
from graphgate.experiments.methods import find_method
from graphgate.graph.graph import Graph
from graphgate.graph.link_split import split_links
from graphgate.io.files import make_folder, read_json, write_json
from graphgate.io.progress import progress_bar
from graphgate.io.provenance import versions
from graphgate.tasks.classification import probe_predictions
from graphgate.tasks.clustering import agreement, cluster_vectors
from graphgate.tasks.links import score_split

METHODS = (
    *("raw-svd", "smoothing-2", "smoothing-16", "dgi", "gae", "cca-ssg", "graphmae"),
    *("gate", "linear"),
)
QUICK = {"raw-svd", "smoothing-2", "smoothing-16", "linear"}  # seconds per run
LIMIT = 20 * 60  # seconds on _CORES cores after which a run is stopped
STOPPED = {"stopped", "out_of_memory"}  # what a run that did not finish has instead of figures
STRENGTHS = (1.0, 10.0, 100.0, 1000.0)  # C of the probe on random splits
PUBLIC_STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
MEMORY = 16 << 30  # bytes of address space beyond which a run is stopped
_CORES = 2
_HOPELESS = 1.25  # times the limit; a run whose first epochs project to more is not continued
RUNS = 5  # per method and graph, unless a number is given
_SLOW_RUNS = 2  # of methods that train, on graphs other than the citation graphs


@dataclass(frozen=True)
class QualityRun:
    """A method on a graph with a seed.

    archive : the file of the graph; None for a citation graph.
    """

    method: str
    graph: str
    seed: int
    archive: Path | None = None

    def params(self) -> dict[str, Any]:
        """Those of its experiment on the citation graph, else on Cora, else its defaults."""
        source = self.graph if self.archive is None else "cora"
        if self.archive is not None and self.method in ("gate", "linear"):
            return {"preset": "authors"} if self.method == "gate" else {}
        found = find_experiment(self.method, source, "transductive")
        return {} if found is None else dict(found.candidates()[0])

    def load(self) -> Graph:
        return (
            load_dataset(self.graph).graph if self.archive is None else read_archive(self.archive)
        )

    def projected_cpu_seconds(self) -> float | None:
        """What both fits take, judged by a few epochs; None if the number of epochs is not fixed.

        The first epoch of a fit also pays for what comes before training.
        """
        known, params = find_method(self.method), self.params()
        made = known.make(params, self.seed)
        if getattr(made, "epochs", None) is None or hasattr(made, "patience"):
            return None
        graph, spent = self.load().reveal(), []
        for epochs in (1, 1, 3):  # one warms up
            start = time.process_time()
            known.make(params | {"epochs": epochs}, self.seed).fit(graph)
            spent.append(time.process_time() - start)
        epoch = max(0.0, spent[2] - spent[1]) / 2
        return 2 * (spent[1] + (made.epochs - 1) * epoch)

    def run(self) -> dict[str, float]:
        """All figures, in percent, and the seconds and MiB of the fit on the whole graph."""
        graph, known = self.load(), find_method(self.method)
        assert graph.labels is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrainingWarning)
            with measured() as cost:
                whole = known.make(self.params(), self.seed).fit(graph.reveal())
            z = np.asarray(whole.embedding_, dtype=np.float64)
            split = split_links(graph, random_state=self.seed)
            partial = known.make(self.params(), self.seed).fit(split.graph.reveal())
        clusters = cluster_vectors(normalize(z), len(graph.classes), random_state=self.seed)
        agreed = agreement(graph.labels, clusters)
        figures = random_probe(z, graph.labels, self.seed)
        figures |= {"nmi": agreed["nmi"], "ari": agreed["ari"]}
        links = score_split(partial, split)
        figures |= {name: float(links[name] or 0) for name in ("auc", "ap", "val_auc")}
        if self.archive is None:
            figures |= public_probe(z, graph)
        return figures | {"seconds": cost.seconds, "peak_memory_mb": cost.peak_memory_mb}


def random_probe(z: np.ndarray, labels: np.ndarray, seed: int) -> dict[str, float]:
    """Test accuracy on a random 10/10/80 split of the labeled nodes, in percent.

    Rows of length 1 or standardized columns, and the strength, are chosen on validation nodes.
    """
    order = np.random.default_rng(seed).permutation(np.flatnonzero(labels >= 0))
    train, val, test = np.split(order, [len(order) // 10, len(order) // 5])
    scaled = (normalize(z), StandardScaler().fit_transform(z))
    best = _best(scaled, STRENGTHS, labels, train, val, test)
    return {"val_accuracy": best[0], "accuracy": best[1]}


def public_probe(z: np.ndarray, graph: Graph) -> dict[str, float]:
    """Test accuracy on the graph's own split, by a chosen strength and by the paper's probe."""
    assert graph.labels is not None
    train, val, test = (np.flatnonzero(graph.splits[name]) for name in ("train", "val", "test"))
    found = _best((normalize(z),), PUBLIC_STRENGTHS, graph.labels, train, val, test)
    predicted = probe_predictions(z, graph.labels, graph.splits["train"], probe="one-vs-rest")
    paper = 100 * float((predicted[test] == graph.labels[test]).mean())
    return {"public_val": found[0], "public": found[1], "public_paper_probe": paper}


def _best(
    scaled: Sequence[np.ndarray],
    strengths: Sequence[float],
    labels: np.ndarray,
    train: np.ndarray,
    val: np.ndarray,
    test: np.ndarray,
) -> tuple[float, float]:
    """Validation and test accuracy of the probe with the best validation accuracy, in percent."""
    found: list[tuple[float, float]] = []
    for vectors in scaled:
        for strength in strengths:
            probe = LogisticRegression(C=strength, max_iter=300, tol=1e-3)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a strength that does not converge is not chosen
                probe.fit(vectors[train], labels[train])
            right = [probe.predict(vectors[rows]) == labels[rows] for rows in (val, test)]
            found.append((100 * float(right[0].mean()), 100 * float(right[1].mean())))
    return max(found, key=lambda pair: pair[0])


class QualityStore:
    """Runs as files, `<folder>/<graph>/<method>.json`: figures by seed, and what made them."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def runs(self, method: str, graph: str) -> dict[int, dict[str, Any]]:
        path = self._path(method, graph)
        if not path.exists():
            return {}
        what = f"{path} does not contain the runs of a method"
        stored = read_json(path, what)
        runs = stored.get("runs") if isinstance(stored, dict) else None
        if not isinstance(runs, dict) or not all(
            seed.isdecimal()
            and len(seed) < 12
            and isinstance(run, dict)
            and all(isinstance(value, (int, float)) for value in run.values())
            for seed, run in runs.items()
        ):
            raise InputError(f"{what}; remove it")
        return {int(seed): run for seed, run in runs.items()}

    def add(self, run: QualityRun, figures: Mapping[str, Any]) -> None:
        known = self.runs(run.method, run.graph) | {run.seed: dict(figures)}
        content = {
            "method": run.method,
            "graph": run.graph,
            "params": run.params(),
            "command": "graphgate reproduce quality",
            "versions": versions(),
            "runs": {str(seed): known[seed] for seed in sorted(known)},
        }
        make_folder(self.folder / run.graph)
        write_json(self._path(run.method, run.graph), content)

    def graphs(self) -> list[str]:
        """The graphs with stored runs, the citation graphs first."""
        found = sorted(path.name for path in self.folder.glob("*") if path.is_dir())
        return [*(name for name in NAMES if name in found), *(n for n in found if n not in NAMES)]

    def _path(self, method: str, graph: str) -> Path:
        return self.folder / graph / f"{method}.json"


def planned_runs(
    methods: Sequence[str], graphs: Sequence[str] | None, folder: Path | str | None, n_runs: int
) -> list[QualityRun]:
    """Every run of the comparison; `folder` holds the graphs that are not citation graphs."""
    archives = {} if folder is None else list_archives(folder)
    names = [*NAMES, *archives] if graphs is None else list(graphs)
    if unknown := [name for name in names if name not in (*NAMES, *archives)]:
        raise InputError(
            f"unknown graph {unknown[0]!r}; use {', '.join([*NAMES, *archives])}, or pass the "
            "folder that holds it"
        )
    return [
        QualityRun(method, name, seed, None if name in NAMES else archives[name])
        for name in names
        for method in methods
        for seed in range(runs_of(method, name, n_runs))
    ]


def runs_of(method: str, graph: str, n_runs: int = RUNS) -> int:
    """How many runs of a method on a graph the comparison has."""
    slow = method not in QUICK and graph not in NAMES
    return min(n_runs, _SLOW_RUNS) if slow else n_runs


def run_quality(
    store: QualityStore, runs: Sequence[QualityRun], *, limit: float = LIMIT, progress: bool = True
) -> int:
    """Run what the store lacks; the number of new runs.

    Methods that train run in a process of their own. One that uses more processor time than
    `limit` seconds of two cores have, or clearly would by its first epochs, or more memory than
    16 GiB, is stopped and stored as such, and so are its runs with other seeds.
    """
    missing = [run for run in runs if run.seed not in store.runs(run.method, run.graph)]
    with progress_bar("quality", len(missing), show=progress) as advance:
        for run in missing:
            stored = store.runs(run.method, run.graph).values()
            stopped = next((each for each in stored if STOPPED & each.keys()), None)
            store.add(run, _limited(run, limit) if stopped is None else stopped)
            advance()
    return len(missing)


def _limited(run: QualityRun, limit: float) -> dict[str, Any]:
    if run.method in QUICK:
        return _rounded(run)
    try:
        found = call_within(
            partial(_within, run, _CORES * limit), cpu_seconds=_CORES * limit, memory=MEMORY
        )
    except LimitReached as reached:
        return {"stopped": limit} if reached.what == "time" else {"out_of_memory": MEMORY}
    except CallFailed as error:
        message = f"{run.method} on {run.graph} with seed {run.seed} failed: {error}"
        raise InputError(message) from None
    return dict(found)


def _within(run: QualityRun, cpu_seconds: float) -> dict[str, float]:
    needed = run.projected_cpu_seconds()
    if needed is not None and needed > _HOPELESS * cpu_seconds:
        raise LimitReached("time")
    return _rounded(run)


def _rounded(run: QualityRun) -> dict[str, float]:
    return {name: round(value, 4) for name, value in run.run().items()}
