"""The comparison of methods on many graphs, as a Markdown table per metric."""

from dataclasses import dataclass
from functools import cached_property
from statistics import mean

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


@dataclass(frozen=True)
class ComparisonTable(ResultsTable):
    """Methods and graphs; values are percent, over all runs.

    Where fewer runs are stored than the comparison has, their number is in parentheses. The last
    row is the difference between LinearGATE and the better of the two smoothings.
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
        gains = ["LinearGATE − better smoothing", *(self._gain(graph, metric) for graph in graphs)]
        rule = ["---"] * (1 + len(graphs))
        lines = [f"| {' | '.join(row)} |" for row in (["method", *graphs], rule, *shown, gains)]
        return "\n".join([f"### {TITLES[metric]}", "", *lines])

    def _gain(self, graph: str, metric: str) -> str:
        ours, *others = (
            self.values(name, graph, metric) for name in ("linear", "smoothing-2", "smoothing-16")
        )
        return f"{mean(ours) - max(map(mean, others)):+.1f}" if ours and all(others) else "—"
