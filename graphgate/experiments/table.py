"""The paper's table from stored runs: ours beside the published value and the difference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphgate.errors import InputError
from graphgate.experiments.experiment import Experiment, find_experiment
from graphgate.experiments.methods import METHODS, Method, find_method
from graphgate.experiments.protocol import SETTINGS, Evaluation
from graphgate.experiments.report import difference, is_comparable, with_deviation, write_json
from graphgate.experiments.runner import Grid
from graphgate.experiments.scores import SCORES, TITLES, Published
from graphgate.io.files import write_bytes

# A table is a half of the paper's, other rows in both settings, or another task.
TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "transductive": ("paper", ("transductive",)),
    "inductive": ("paper", ("inductive",)),
    "formulations": ("formulations", SETTINGS),
    "ablation": ("ablation", SETTINGS),
    "edges": ("edges", SETTINGS),
    "clustering": ("answers", ("clustering",)),
    "links": ("answers", ("links",)),
}
CLOSE = 1.5  # points below the published value that are still called reproduced


def experiments_of(
    table: str, methods: Sequence[str] | None, datasets: Sequence[str]
) -> list[Experiment]:
    """The cells of a table, row by row; only these methods and datasets."""
    if table not in TABLES:
        raise InputError(f"there is no table {table!r}; use one of {', '.join(TABLES)}")
    family, settings = TABLES[table]
    rows = [find_method(name) for name in methods or _family(family)]
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
            raise InputError(f"the table {table!r} has no cell of {row.name!r} on these datasets")
    return cells


def _family(family: str) -> list[str]:
    return [method.name for method in METHODS.values() if family in method.tables]


@dataclass(frozen=True)
class Cell:
    """A cell and what is stored of it."""

    experiment: Experiment
    evaluation: Evaluation | None

    def ours(self, metric: str | None = None) -> str:
        if self.evaluation is None:
            return "—"
        found = self.evaluation
        return f"{with_deviation(found.mean(metric), found.std(metric))} ({len(found.runs)})"

    def published(self, metric: str | None = None) -> str:
        value = self._published(metric)
        return "—" if value is None else with_deviation(*value)

    def _published(self, metric: str | None) -> Published | None:
        of = self.experiment
        return of.published.get(metric or SCORES[of.setting].shown[0])

    def difference(self, metric: str | None = None) -> str:
        return "—" if self.evaluation is None else difference(self.evaluation, metric)

    def is_low(self, metric: str | None = None) -> bool:
        """Whether ours is further below the published value than counts as reproduced."""
        value, found = self._published(metric), self.evaluation
        if value is None or found is None or not is_comparable(found):
            return False
        return found.mean(metric) < value[0] - CLOSE


@dataclass(frozen=True)
class Column:
    """A dataset and a metric; compared : with what was published, in two more columns."""

    dataset: str
    metric: str
    title: str
    compared: bool

    def heads(self) -> list[str]:
        return ["ours (runs)", "paper", "difference"] if self.compared else ["ours (runs)"]

    def texts(self, cell: Cell | None, mark: str) -> list[str]:
        if cell is None:
            return [""] * len(self.heads())
        if not self.compared:
            return [cell.ours(self.metric)]
        low = mark if cell.is_low(self.metric) else ""
        return [
            cell.ours(self.metric),
            cell.published(self.metric),
            cell.difference(self.metric) + low,
        ]


@dataclass(frozen=True)
class Table:
    """Rows of cells, one a dataset; rendered as Markdown or LaTeX, or listed for JSON."""

    datasets: Sequence[str]
    rows: Sequence[tuple[Method, str, Sequence[Cell | None]]]

    def cells(self) -> list[Cell]:
        return [cell for _, _, cells in self.rows for cell in cells if cell is not None]

    def to_list(self) -> list[dict[str, Any]]:
        """What is stored of each cell, with the fields that `graphgate evaluate` writes."""
        found = [cell.evaluation for cell in self.cells()]
        return [evaluation.to_dict() for evaluation in found if evaluation is not None]

    def columns(self) -> list[Column]:
        """A single metric is always compared; one of several where anyone has published it."""
        settings = _distinct(cell.experiment.setting for cell in self.cells())
        metrics = _distinct(metric for name in settings for metric in SCORES[name].shown)
        told = {metric for cell in self.cells() for metric in cell.experiment.published}
        return [
            Column(dataset, metric, title, len(metrics) == 1 or metric in told)
            for dataset in self.datasets
            for metric in metrics
            for title in [dataset.capitalize() + (f" {TITLES[metric]}" if len(metrics) > 1 else "")]
        ]

    def _texts(
        self, columns: Sequence[Column], cells: Sequence[Cell | None], mark: str
    ) -> list[str]:
        of = dict(zip(self.datasets, cells, strict=True))
        return [text for column in columns for text in column.texts(of[column.dataset], mark)]

    def markdown(self) -> str:
        """One table, or where there are several metrics one a dataset: it would be too wide."""
        columns = self.columns()
        groups = [columns]
        if len(columns) > len(self.datasets):
            groups = [[each for each in columns if each.dataset == name] for name in self.datasets]
        parts = [self._markdown(group) for group in groups]
        if notes := [f"- {line}" for line in self.notes()]:
            parts.append("\n".join(notes))
        return "\n\n".join(parts)

    def _markdown(self, columns: Sequence[Column]) -> str:
        heads = ["sees", "method"]
        for column in columns:
            first, *others = column.heads()
            heads += [f"{column.title}, {first}", *others]
        lines = [heads, ["---", "---", *["---:"] * (len(heads) - 2)]]
        for method, title, cells in self.rows:
            escaped = title.replace("|", "\\|")
            lines.append([method.sees, escaped, *self._texts(columns, cells, mark="\\*")])
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def latex(self) -> str:
        columns = self.columns()
        widths = [len(column.heads()) for column in columns]
        heads = " & ".join(
            rf"\multicolumn{{{width}}}{{c}}{{{column.title}}}"
            for column, width in zip(columns, widths, strict=True)
        )
        second = " & ".join(head for column in columns for head in column.heads())
        lines = [
            rf"\begin{{tabular}}{{ll{'r' * sum(widths)}}}",
            r"\hline",
            rf"Sees & Method & {heads} \\",
            rf" & & {second} \\",
            r"\hline",
        ]
        for method, title, cells in self.rows:
            texts = [method.sees, title, *self._texts(columns, cells, mark="*")]
            lines.append(" & ".join(map(_latex, texts)) + r" \\")
        lines += [r"\hline", r"\end{tabular}"]
        return "\n".join(lines) + "\n" + "".join(f"% {line}\n" for line in self.notes())

    def notes(self) -> list[str]:
        """Why a cell is low, and what was done otherwise than the paper says."""
        found: dict[str, None] = {}
        for cell in self.cells():
            of = cell.experiment
            where = f"{find_method(of.method).title}, {of.dataset.capitalize()}"
            if any(cell.is_low(metric) for metric in SCORES[of.setting].shown):
                found[f"\\* {where}: {of.note or 'no reason is known yet'}"] = None
        others: dict[tuple[str, str], dict[str, None]] = {}
        for cell in self.cells():
            of = cell.experiment
            if of.deviation:
                others.setdefault((of.method, of.deviation), {})[of.dataset] = None
        for (method, deviation), datasets in others.items():
            names = [name.capitalize() for name in datasets if len(datasets) < len(self.datasets)]
            found[f"{', '.join([find_method(method).title, *names])}: {deviation}"] = None
        return list(found)


def make_table(grid: Grid, datasets: Sequence[str]) -> Table:
    """The table of a grid, as far as its runs are stored."""
    cells = {
        (of.method, of.setting, of.dataset): Cell(of, grid.evaluation(of))
        for of in grid.experiments
    }
    settings = _distinct(of.setting for of in grid.experiments)
    rows = []
    for setting in settings:
        for name in _distinct(of.method for of in grid.experiments):
            method = find_method(name)
            row = [cells.get((name, setting, dataset)) for dataset in datasets]
            if any(row):
                title = method.title if len(settings) == 1 else f"{method.title}, {setting}"
                rows.append((method, title, row))
    return Table(datasets, rows)


def write_table(table: Table, folder: Path, name: str) -> None:
    """`name`.md, .tex and .json in a folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made: {error.strerror}") from None
    write_bytes(folder / f"{name}.md", (table.markdown() + "\n").encode())
    write_bytes(folder / f"{name}.tex", table.latex().encode())
    write_json(folder / f"{name}.json", table.to_list())


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _latex(text: str) -> str:
    signs = {
        "±": r"$\pm$",
        "α": r"$\alpha$",
        "|": r"$|$",
        "—": "---",
        "_": r"\_",
        "&": r"\&",
        "%": r"\%",
        "#": r"\#",
    }
    for sign, command in signs.items():
        text = text.replace(sign, command)
    return text
