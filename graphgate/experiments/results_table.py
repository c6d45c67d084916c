"""A table of stored runs: ours beside the published value and the difference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from graphgate.experiments.evaluation import Evaluation
from graphgate.experiments.experiment import Experiment
from graphgate.experiments.grid import ExperimentGrid
from graphgate.experiments.methods import Method, find_method
from graphgate.experiments.settings import METRIC_TITLES, SETTINGS, Published, with_std
from graphgate.io.files import make_folder, write_bytes, write_json

TOLERANCE = 1.5  # points below the published value that still count as reproduced


@dataclass(frozen=True)
class TableCell:
    """An experiment and its stored runs."""

    experiment: Experiment
    evaluation: Evaluation | None

    def ours(self, metric: str | None = None) -> str:
        if self.evaluation is None:
            return "—"
        found = self.evaluation
        return f"{with_std(found.mean(metric), found.std(metric))} ({len(found.runs)})"

    def published(self, metric: str | None = None) -> str:
        value = self._published(metric)
        return "—" if value is None else with_std(*value)

    def _published(self, metric: str | None) -> Published | None:
        of = self.experiment
        return of.published.get(metric or SETTINGS[of.setting].main)

    def is_low(self, metric: str | None = None) -> bool:
        """Whether ours is further below the published value than counts as reproduced."""
        value, found = self._published(metric), self.evaluation
        if value is None or found is None or not found.is_comparable:
            return False
        return found.mean(metric) < value[0] - TOLERANCE

    def texts(self, metric: str, *, compared: bool, mark: str) -> list[str]:
        """Our value and, if compared, the published one and the difference, marked if low."""
        if not compared:
            return [self.ours(metric)]
        difference = "—" if self.evaluation is None else self.evaluation.difference(metric)
        low = mark if self.is_low(metric) else ""
        return [self.ours(metric), self.published(metric), difference + low]


@dataclass(frozen=True)
class ColumnGroup:
    """The columns of a metric on a dataset; compared : with published values, in two more."""

    dataset: str
    metric: str
    title: str
    compared: bool

    @property
    def heads(self) -> list[str]:
        return ["ours (runs)", "paper", "difference"] if self.compared else ["ours (runs)"]


@dataclass(frozen=True)
class ResultsTable:
    """Rows of cells, one per dataset; rendered as Markdown or LaTeX, or listed for JSON.

    n_new : the runs that were made for it, rather than found in the folder of results.
    """

    grid: ExperimentGrid
    datasets: Sequence[str]
    n_new: int = 0

    @cached_property
    def rows(self) -> list[tuple[Method, str, list[TableCell | None]]]:
        """Method, title, and one cell per dataset; None where there is no experiment."""
        cells = {(of.method, of.setting, of.dataset): of for of in self.grid.experiments}
        settings = _distinct(of.setting for of in self.grid.experiments)
        rows = []
        for setting in settings:
            for name in _distinct(of.method for of in self.grid.experiments):
                found = [cells.get((name, setting, dataset)) for dataset in self.datasets]
                if any(found):
                    method = find_method(name)
                    title = method.title if len(settings) == 1 else f"{method.title}, {setting}"
                    row = [TableCell(of, self.grid.evaluation(of)) if of else None for of in found]
                    rows.append((method, title, row))
        return rows

    def cells(self) -> list[TableCell]:
        return [cell for _, _, cells in self.rows for cell in cells if cell is not None]

    def to_list(self) -> list[dict[str, Any]]:
        """The stored cells, each with the fields of `Evaluation.to_dict`."""
        found = [cell.evaluation for cell in self.cells()]
        return [evaluation.to_dict() for evaluation in found if evaluation is not None]

    def columns(self) -> list[ColumnGroup]:
        """A single metric is always compared; one of several if anyone has published it."""
        experiments = self.grid.experiments
        metrics = _distinct(metric for of in experiments for metric in SETTINGS[of.setting].shown)
        published = {metric for of in experiments for metric in of.published}
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
            line, of = [method.sees, title], dict(zip(self.datasets, cells, strict=True))
            for column in columns:
                cell = of[column.dataset]
                line += (
                    cell.texts(column.metric, compared=column.compared, mark=mark)
                    if cell
                    else [""] * len(column.heads)
                )
            lines.append(line)
        return lines

    def markdown(self) -> str:
        """One table, or one per dataset if there are several metrics."""
        columns = self.columns()
        groups = [columns]
        if len(columns) > len(self.datasets):
            groups = [[of for of in columns if of.dataset == name] for name in self.datasets]
        parts = [self._markdown(group) for group in groups]
        if notes := [f"- {line}" for line in self.notes()]:
            parts.append("\n".join(notes))
        return "\n\n".join(parts)

    def _markdown(self, columns: Sequence[ColumnGroup]) -> str:
        heads = ["sees", "method"]
        for column in columns:
            first, *others = column.heads
            heads += [f"{column.title}, {first}", *others]
        lines = [heads, ["---", "---", *["---:"] * (len(heads) - 2)]]
        for sees, title, *texts in self._lines(columns, mark="\\*"):
            lines.append([sees, title.replace("|", "\\|"), *texts])
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def latex(self) -> str:
        columns = self.columns()
        heads = [rf"\multicolumn{{{len(of.heads)}}}{{c}}{{{of.title}}}" for of in columns]
        second = [head for column in columns for head in column.heads]
        lines = [
            rf"\begin{{tabular}}{{ll{'r' * len(second)}}}",
            r"\hline",
            rf"Sees & Method & {' & '.join(heads)} \\",
            rf" & & {' & '.join(second)} \\",
            r"\hline",
        ]
        for texts in self._lines(columns, mark="*"):
            lines.append(" & ".join(map(_latex, texts)) + r" \\")
        lines += [r"\hline", r"\end{tabular}", *(f"% {line}" for line in self.notes())]
        return "\n".join(lines) + "\n"

    def notes(self) -> list[str]:
        """Why a value is low, and how the protocol departs from the paper's."""
        found: dict[str, None] = {}
        for cell in self.cells():
            of = cell.experiment
            where = f"{find_method(of.method).title}, {of.dataset.capitalize()}"
            if any(cell.is_low(metric) for metric in SETTINGS[of.setting].shown):
                found[f"\\* {where}: {of.note or 'reason unknown'}"] = None
        departures: dict[tuple[str, str], dict[str, None]] = {}
        for of in self.grid.experiments:
            if of.departure:
                departures.setdefault((of.method, of.departure), {})[of.dataset] = None
        for (method, departure), datasets in departures.items():
            names = [name.capitalize() for name in datasets if len(datasets) < len(self.datasets)]
            found[f"{', '.join([find_method(method).title, *names])}: {departure}"] = None
        return list(found)

    def save(self, folder: Path | str, name: str) -> None:
        """Write `name`.md, `name`.tex and `name`.json into a folder."""
        folder = make_folder(folder)
        write_bytes(folder / f"{name}.md", (self.markdown() + "\n").encode())
        write_bytes(folder / f"{name}.tex", self.latex().encode())
        write_json(folder / f"{name}.json", self.to_list())


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


_LATEX = {"±": r"$\pm$", "α": r"$\alpha$", "|": r"$|$", "—": "---"}
_LATEX |= {"_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#"}


def _latex(text: str) -> str:
    for sign, command in _LATEX.items():
        text = text.replace(sign, command)
    return text
