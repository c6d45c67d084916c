"""The tables by name, and `reproduce`, which runs what is missing from a table."""

from collections.abc import Sequence
from pathlib import Path

from graphgate.datasets.citation import available_split
from graphgate.datasets.planetoid import NAMES
from graphgate.errors import InputError
from graphgate.experiments.experiment import (
    CLASSIFICATION_SETTINGS,
    Experiment,
    find_experiment,
)
from graphgate.experiments.grid import ExperimentGrid, run_missing
from graphgate.experiments.methods import METHODS, find_method
from graphgate.experiments.parallel import available_cores
from graphgate.experiments.results_table import ResultsTable
from graphgate.experiments.run_store import RANDOM, RunStore

# A table is a half of the paper's, other rows in both of its settings, or another task.
TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "transductive": ("paper", ("transductive",)),
    "inductive": ("paper", ("inductive",)),
    "formulations": ("formulations", CLASSIFICATION_SETTINGS),
    "ablation": ("ablation", CLASSIFICATION_SETTINGS),
    "edges": ("edges", CLASSIFICATION_SETTINGS),
    "unseen": ("unseen", CLASSIFICATION_SETTINGS),
    "clustering": ("answers", ("clustering",)),
    "links": ("answers", ("links",)),
}
_SPLITS = (RANDOM, "public", "seeded")


def reproduce(
    table: str,
    *,
    methods: Sequence[str] | None = None,
    datasets: Sequence[str] = NAMES,
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
    table : "transductive", "inductive", "formulations", "ablation", "edges", "unseen", "clustering"
        or "links".
    methods : rows, by name or as `module:Class`; by default all.
    datasets : columns.
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
    if split is not None and split not in _SPLITS:
        raise InputError(f"unknown split {split!r}; use one of {', '.join(_SPLITS)}")
    experiments = table_experiments(table, methods, datasets)
    store = RunStore(Path(results) / "runs")
    splits = {name: split or available_split(name) for name in datasets}
    if split is None and not run:
        cells = {(of.method, of.dataset) for of in experiments}
        splits |= {name: "public" for row, name in cells if store.has_split(row, name, "public")}
    grid = ExperimentGrid(experiments, store, splits, n_runs)
    if not run:
        return ResultsTable(grid, datasets)
    n_new = run_missing(grid, n_jobs=n_jobs or available_cores(), progress=progress)
    return ResultsTable(grid, datasets, n_new)


def table_experiments(
    table: str, methods: Sequence[str] | None, datasets: Sequence[str]
) -> list[Experiment]:
    """The experiments of a table, row by row; only these methods and datasets."""
    if table not in TABLES:
        raise InputError(f"unknown table {table!r}; use one of {', '.join(TABLES)}")
    family, settings = TABLES[table]
    family_rows = [method.name for method in METHODS.values() if family in method.tables]
    rows = [find_method(name) for name in methods or family_rows]
    order = list(METHODS)
    rows.sort(key=lambda row: order.index(row.name) if row.name in METHODS else len(order))
    cells = [
        found
        for row in rows
        for setting in settings
        for dataset in datasets
        if (found := find_experiment(row.name, dataset, setting)) is not None
    ]
    for row in rows:
        if methods and not any(cell.method == row.name for cell in cells):
            raise InputError(f"the table {table!r} has no cells for {row.name!r} on these datasets")
    return cells
