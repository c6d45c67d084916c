"""The tables by name, and `reproduce`, which runs what is missing from a table."""

from collections.abc import Sequence
from pathlib import Path

from graphgate.datasets.archives import list_archives
from graphgate.datasets.citation import available_split
from graphgate.datasets.planetoid import NAMES
from graphgate.errors import InputError
from graphgate.paper.experiments.comparison_table import ComparisonTable
from graphgate.paper.experiments.experiment import (
    CLASSIFICATION_SETTINGS,
    Experiment,
    find_experiment,
)
from graphgate.paper.experiments.grid import ExperimentGrid, run_missing
from graphgate.paper.experiments.methods import ROWS, find_row
from graphgate.paper.experiments.parallel import available_cores
from graphgate.paper.experiments.results_table import ResultsTable
from graphgate.paper.experiments.run_store import RANDOM, RunStore

QUALITY = (
    *("raw-svd", "smoothing-2", "smoothing-16", "dgi", "gae", "cca-ssg", "graphmae"),
    *("gate", "linear"),
)
_PAPER = (
    *("raw", "deepwalk", "label-propagation", "deepwalk-features", "graphsage-lstm"),
    *("graphsage-pool", "vgae", "graphsage-mean", "graphsage-gcn", "gae", "dgi", "gate"),
    *("planetoid-t", "planetoid-i", "chebyshev", "monet", "gcn", "stogcn", "gat"),
)
_ABLATION = ("gate", "gate-no-features", "gate-no-structure", "gate-uniform", "gate-ones")
_TASKS = ("vgae", "gae", "gate")
# A table is a half of the paper's, other rows in both of its settings, or other tasks.
TABLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "transductive": (_PAPER, ("transductive",)),
    "inductive": (_PAPER, ("inductive",)),
    "formulations": (("gate", "gate-paper"), CLASSIFICATION_SETTINGS),
    "ablation": (_ABLATION, CLASSIFICATION_SETTINGS),
    "edges": (("deepwalk", "gate", "gate-edges"), CLASSIFICATION_SETTINGS),
    "unseen": (("gate", "linear", "linear-no-structure"), CLASSIFICATION_SETTINGS),
    "clustering": (_TASKS, ("clustering",)),
    "links": (_TASKS, ("links",)),
    "quality": (QUALITY, ("quality",)),
}
_SPLITS = (RANDOM, "public", "seeded")


def reproduce(
    table: str,
    *,
    methods: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    graphs: Path | str | None = None,
    n_runs: int | None = None,
    n_jobs: int | None = None,
    split: str | None = None,
    results: Path | str = "results",
    run: bool = True,
    progress: bool = True,
) -> ResultsTable:
    """Run what is missing from a table, and return the table.

    Every run is stored in `results/runs` as soon as it ends and never repeated, so an interrupted
    call resumes where it stopped. The runs of your own method are repeated when its source changes.

    Parameters
    ----------
    table : "transductive", "inductive", "formulations", "ablation", "edges", "unseen",
        "clustering", "links" or "quality" (many graphs, three tasks).
    methods : rows, by name or as `module:Class`; by default all.
    datasets : columns; by default the citation graphs and, of "quality", those in `graphs` or, if
        `run` is False, all with stored runs.
    graphs : folder of further graphs for "quality", .npz archives.
    n_runs : runs per cell; by default those of the experiment.
    n_jobs : number of single-threaded processes; by default one per available core.
    split : "random" for a new split of the same sizes for every seed; by default the split that
        the dataset is available with or, if `run` is False, the public one where it has runs.
    run : False returns the table of the stored runs.

    Examples
    --------
    >>> from graphgate import reproduce
    >>> table = reproduce("edges", datasets=["cora"], results="nowhere", run=False)
    >>> print(table.markdown().splitlines()[-1])
    | A | GATE, edges alone, inductive | — | — | — |
    """
    rows = table_rows(table, methods)
    if graphs is not None and table != "quality":
        raise InputError(f"the table {table!r} is of the citation graphs; omit graphs")
    if split is not None and not set(TABLES[table][1]) <= set(CLASSIFICATION_SETTINGS):
        raise InputError(f"the table {table!r} has no choice of a split; omit split")
    if split is not None and split not in _SPLITS:
        raise InputError(f"unknown split {split!r}; use one of {', '.join(_SPLITS)}")
    store = RunStore(Path(results) / "runs")
    archives = {} if graphs is None else list_archives(graphs)
    archives = {name: path for name, path in archives.items() if name not in NAMES}
    columns = list(NAMES)
    if table == "quality":
        columns = list(dict.fromkeys([*NAMES, *archives, *([] if run else store.datasets())]))
        if unknown := [name for name in datasets or () if name not in columns]:
            raise InputError(
                f"unknown graph {unknown[0]!r}; use {', '.join(columns)}, or pass the folder that "
                "holds it as graphs"
            )
    datasets = columns if datasets is None else datasets
    experiments = table_experiments(table, rows, datasets)
    for row in rows if methods else ():
        if not any(cell.method == row for cell in experiments):
            raise InputError(f"the table {table!r} has no cells for {row!r} on these datasets")
    splits = {
        name: split or (available_split(name) if name in NAMES else "whole") for name in datasets
    }
    if split is None and not run:
        cells = {(experiment.method, experiment.dataset) for experiment in experiments}
        splits |= {name: "public" for row, name in cells if store.has_split(row, name, "public")}
    grid = ExperimentGrid(experiments, store, splits, n_runs, archives)
    n_new = run_missing(grid, n_jobs=n_jobs or available_cores(), progress=progress) if run else 0
    return (ComparisonTable if table == "quality" else ResultsTable)(grid, datasets, n_new)


def table_rows(table: str, methods: Sequence[str] | None = None) -> list[str]:
    """The methods of a table, or only these, in the order of the table."""
    if table not in TABLES:
        raise InputError(f"unknown table {table!r}; use one of {', '.join(TABLES)}")
    order = list(dict.fromkeys((*TABLES[table][0], *ROWS)))
    rows = [find_row(name).name for name in methods or TABLES[table][0]]
    return sorted(rows, key=lambda row: order.index(row) if row in order else len(order))


def table_experiments(
    table: str, methods: Sequence[str], datasets: Sequence[str]
) -> list[Experiment]:
    """The experiments of a table, row by row."""
    return [
        experiment
        for method in methods
        for setting in TABLES[table][1]
        for dataset in datasets
        if (experiment := find_experiment(method, dataset, setting)) is not None
    ]
