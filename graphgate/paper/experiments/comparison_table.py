"""The comparison of methods on many graphs, as a Markdown table per metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import mean, stdev

from graphgate.datasets.planetoid import NAMES
from graphgate.paper.experiments.results_table import ResultsTable, TableCell

# Metric -> title of its table.
TITLES = {
    "accuracy": "Probe accuracy, random 10/10/80 split",
    "public": "Probe accuracy, public split, strength chosen on validation nodes",
    "public_paper_probe": "Probe accuracy, public split, the paper's probe (one-vs-rest, C = 1)",
    "nmi": "k-means, NMI",
    "ari": "k-means, ARI",
    "auc": "Hidden edges, AUC",
    "ap": "Hidden edges, average precision",
}

# Title of a row -> the methods that LinearGATE is compared with, of which the best counts.
REFERENCES = {
    "LinearGATE − better smoothing": ("smoothing-2", "smoothing-16"),
    "LinearGATE − best of these and raw features": ("raw-svd", "smoothing-2", "smoothing-16"),
}


@dataclass(frozen=True)
class ComparisonTable(ResultsTable):
    """Methods and graphs; values are percent, over all runs.

    Where fewer runs are stored than the comparison has, their number is in parentheses. The last
    rows are the differences between LinearGATE and the better of the two smoothings, and between it
    and the best of these and the raw features: mean and standard error over runs of the same seed.
    """

    def markdown(self) -> str:
        tables = filter(None, map(self._metric, TITLES))
        return ("\n\n".join(tables) or "No runs are stored.") + "\n"

    def values(self, method: str, graph: str, metric: str) -> list[float]:
        """The metric in every run that finished."""
        cell = self._cells.get((method, graph))
        return [] if cell is None or cell.evaluation is None else cell.evaluation.values(metric)

    def text(self, method: str, graph: str, metric: str) -> str:
        """Mean and standard deviation of the metric, or why there is none."""
        cell, n_values = self._cells.get((method, graph)), len(self.values(method, graph, metric))
        if cell is None or cell.evaluation is None:
            return "—"
        few = f" ({n_values})" if 0 < n_values < cell.experiment.n_runs else ""
        return cell.evaluation.text(metric) + few

    @cached_property
    def _cells(self) -> dict[tuple[str, str], TableCell]:
        return {(cell.experiment.method, cell.experiment.dataset): cell for cell in self.cells()}

    def _metric(self, metric: str) -> str:
        """Heading and table, empty if no method has a value."""
        graphs = [
            name for name in self.datasets if not metric.startswith("public") or name in NAMES
        ]
        rows = [
            [row.title, *(self.text(row.name, graph, metric) for graph in graphs)]
            for row, *_ in self.rows
        ]
        shown = [row for row in rows if any(text != "—" for text in row[1:])]
        if not shown:
            return ""
        gains = [
            [title, *(self._gain(graph, metric, others) for graph in graphs)]
            for title, others in REFERENCES.items()
        ]
        rule = ["---"] * (1 + len(graphs))
        lines = [f"| {' | '.join(row)} |" for row in (["method", *graphs], rule, *shown, *gains)]
        return "\n".join([f"### {TITLES[metric]}", "", *lines])

    def _gain(self, graph: str, metric: str, others: Sequence[str]) -> str:
        ours, *values = (self.values(name, graph, metric) for name in ("linear", *others))
        if not ours or not all(values):
            return "—"
        best = max(values, key=mean)
        if len(ours) != len(best):
            return f"{mean(ours) - mean(best):+.1f}"
        gains = [a - b for a, b in zip(ours, best, strict=True)]
        error = f" ± {stdev(gains) / len(gains) ** 0.5:.1f}" if len(gains) > 1 else ""
        return f"{mean(gains):+.1f}{error}"
