"""A table of stored runs: ours beside the published value and the difference."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from graphgate.io.files import make_folder, write_bytes, write_json
from graphgate.paper.experiments.evaluation import Evaluation
from graphgate.paper.experiments.experiment import (
    METRIC_TITLES,
    SETTINGS,
    Experiment,
    with_std,
)
from graphgate.paper.experiments.grid import ExperimentGrid
from graphgate.paper.experiments.methods import Row, find_row

TOLERANCE = 1.5  # points below the published value that still count as reproduced


@dataclass(frozen=True)
class TableCell:
    """An experiment and its stored runs."""

    experiment: Experiment
    evaluation: Evaluation | None

    def ours(self, metric: str | None = None) -> str:
        ours = self.evaluation
        return "—" if ours is None else f"{ours.text(metric)} ({len(ours.runs)})"

    def published(self, metric: str | None = None) -> str:
        value = self.experiment.published.get(metric or SETTINGS[self.experiment.setting].main)
        return "—" if value is None else with_std(*value)

    def is_low(self, metric: str | None = None) -> bool:
        """Whether ours is further below the published value than counts as reproduced."""
        ours = self.evaluation
        if ours is None or not ours.is_comparable:
            return False
        published = ours.published(metric)
        return published is not None and ours.mean(metric) < published[0] - TOLERANCE


@dataclass(frozen=True)
class ColumnGroup:
    """The columns of a metric on a dataset; two more if it is `compared` with published values."""

    dataset: str
    metric: str
    title: str
    compared: bool

    @property
    def heads(self) -> list[str]:
        return ["ours (runs)", "paper", "difference"] if self.compared else ["ours (runs)"]

    def texts(self, cell: TableCell | None, mark: str) -> list[str]:
        """Our value and, if compared, the published one and the difference, marked if low."""
        if cell is None:
            return [""] * len(self.heads)
        ours, metric = cell.evaluation, self.metric
        difference = "—" if ours is None else ours.difference(metric)
        low = mark if cell.is_low(metric) else ""
        return [cell.ours(metric), cell.published(metric), difference + low][: len(self.heads)]


@dataclass(frozen=True)
class ResultsTable:
    """Rows of cells, one per dataset; rendered as Markdown or LaTeX, or listed for JSON.

    n_new : number of runs made for it, rather than found in the results folder.
    """

    grid: ExperimentGrid
    datasets: Sequence[str]
    n_new: int = 0

    @cached_property
    def rows(self) -> list[tuple[Row, str, dict[str, TableCell]]]:
        """Method, title, and a cell for every dataset with an experiment."""
        experiments = self.grid.experiments
        settings = _distinct(experiment.setting for experiment in experiments)
        cells: dict[tuple[str, str], dict[str, TableCell]] = {}
        for experiment in sorted(experiments, key=lambda each: settings.index(each.setting)):
            row = cells.setdefault((experiment.method, experiment.setting), {})
            row[experiment.dataset] = TableCell(experiment, self.grid.evaluation(experiment))
        several = len(settings) > 1
        return [
            (find_row(name), find_row(name).title + (f", {setting}" if several else ""), row)
            for (name, setting), row in cells.items()
        ]

    def cells(self) -> list[TableCell]:
        return [cell for _, _, cells in self.rows for cell in cells.values()]

    def to_list(self) -> list[dict[str, Any]]:
        """The stored cells, each with the fields of `Evaluation.to_dict`."""
        return [cell.evaluation.to_dict() for cell in self.cells() if cell.evaluation]

    def columns(self) -> list[ColumnGroup]:
        """A single metric is always compared; one of several only if it has been published."""
        experiments = self.grid.experiments
        settings = _distinct(experiment.setting for experiment in experiments)
        metrics = _distinct(metric for setting in settings for metric in SETTINGS[setting].shown)
        published = {metric for experiment in experiments for metric in experiment.published}
        several = len(metrics) > 1
        return [
            ColumnGroup(
                dataset,
                metric,
                dataset.capitalize() + (f" {METRIC_TITLES[metric]}" if several else ""),
                not several or metric in published,
            )
            for dataset in self.datasets
            for metric in metrics
        ]

    def _lines(self, columns: Sequence[ColumnGroup], mark: str) -> list[list[str]]:
        """Every row as texts, the first two being what the method sees and its title."""
        lines = []
        for method, title, cells in self.rows:
            texts = [column.texts(cells.get(column.dataset), mark) for column in columns]
            lines.append([method.sees, title, *chain.from_iterable(texts)])
        return lines

    def markdown(self) -> str:
        """One table, or one per dataset if there are several metrics."""
        columns = self.columns()
        per_dataset = [
            [column for column in columns if column.dataset == name] for name in self.datasets
        ]
        groups = per_dataset if len(columns) > len(self.datasets) else [columns]
        notes = "\n".join(f"- {line}" for line in self.notes())
        return "\n\n".join([*map(self._markdown, groups), *([notes] if notes else [])])

    def _markdown(self, columns: Sequence[ColumnGroup]) -> str:
        heads = ["sees", "method"]
        for column in columns:
            heads += [f"{column.title}, {column.heads[0]}", *column.heads[1:]]
        rule = ["---", "---", *["---:"] * (len(heads) - 2)]
        rows = self._lines(columns, mark="\\*")
        escaped = [[sees, title.replace("|", "\\|"), *texts] for sees, title, *texts in rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in [heads, rule, *escaped])

    def latex(self) -> str:
        columns = self.columns()
        heads = [
            rf"\multicolumn{{{len(column.heads)}}}{{c}}{{{column.title}}}" for column in columns
        ]
        second = [head for column in columns for head in column.heads]
        lines = [
            rf"\begin{{tabular}}{{ll{'r' * len(second)}}}",
            r"\hline",
            rf"Sees & Method & {' & '.join(heads)} \\",
            rf" & & {' & '.join(second)} \\",
            r"\hline",
        ]
        for texts in self._lines(columns, mark="*"):
            lines.append(" & ".join(text.translate(_LATEX) for text in texts) + r" \\")
        lines += [r"\hline", r"\end{tabular}", *(f"% {line}" for line in self.notes())]
        return "\n".join(lines) + "\n"

    def notes(self) -> list[str]:
        """Why a value is low, and how the protocol departs from the paper's."""
        low = [
            cell.experiment
            for cell in self.cells()
            if any(cell.is_low(metric) for metric in SETTINGS[cell.experiment.setting].shown)
        ]
        notes = [
            f"\\* {find_row(experiment.method).title}, {experiment.dataset.capitalize()}: "
            f"{experiment.note or 'reason unknown'}"
            for experiment in low
        ]
        departing: dict[tuple[str, str], list[str]] = defaultdict(list)
        for experiment in self.grid.experiments:
            if experiment.departure:
                key = experiment.method, experiment.departure
                departing[key].append(experiment.dataset.capitalize())
        for (method, departure), datasets in departing.items():
            names = _distinct(datasets)
            names = names if len(names) < len(self.datasets) else []
            notes.append(f"{', '.join([find_row(method).title, *names])}: {departure}")
        return _distinct(notes)

    def save(self, folder: Path | str, name: str) -> None:
        """Write `name`.md, `name`.tex and `name`.json into a folder."""
        folder = make_folder(folder)
        write_bytes(folder / f"{name}.md", (self.markdown() + "\n").encode())
        write_bytes(folder / f"{name}.tex", self.latex().encode())
        write_json(folder / f"{name}.json", self.to_list())


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


_LATEX = str.maketrans(
    {"±": r"$\pm$", "α": r"$\alpha$", "|": r"$|$", "—": "---"}
    | {"_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#"}
)
