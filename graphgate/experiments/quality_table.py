"""The stored comparison of methods as Markdown tables, one per task."""

from collections.abc import Sequence
from statistics import mean, stdev

from graphgate.datasets.planetoid import NAMES
from graphgate.experiments.methods import find_method
from graphgate.experiments.quality import QualityStore, runs_of

SMOOTHINGS = ("smoothing-2", "smoothing-16")
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


def quality_markdown(store: QualityStore, methods: Sequence[str], graphs: Sequence[str]) -> str:
    """Every table that has a value; mean and standard deviation over the runs, in percent.

    Where fewer runs are stored than the comparison has, their number is in parentheses. The last
    row is the difference between LinearGATE and the better of the two smoothings.
    """
    parts = []
    for metric, title in TITLES.items():
        shown = [name for name in graphs if not metric.startswith("public") or name in NAMES]
        rows = [[cell(store, method, name, metric) for name in shown] for method in methods]
        if not any(each != "—" for row in rows for each in row):
            continue
        lines = [
            f"### {title}",
            "",
            f"| method | {' | '.join(shown)} |",
            "| --- |" + " --- |" * len(shown),
        ]
        lines += [
            f"| {find_method(method).title} | {' | '.join(row)} |"
            for method, row in zip(methods, rows, strict=True)
            if any(each != "—" for each in row)
        ]
        gains = [_gain(store, name, metric) for name in shown]
        cells = ["—" if gain is None else f"{gain:+.1f}" for gain in gains]
        lines.append(f"| LinearGATE − better smoothing | {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def values(store: QualityStore, method: str, graph: str, metric: str) -> list[float]:
    """The metric in every run that finished."""
    runs = store.runs(method, graph).values()
    return [run[metric] for run in runs if metric in run]


def cell(store: QualityStore, method: str, graph: str, metric: str) -> str:
    """Mean and standard deviation of the metric, or why there is none."""
    runs = store.runs(method, graph)
    for run in runs.values():
        if "stopped" in run:
            return f"> {run['stopped'] / 60:.0f} min"
        if "out_of_memory" in run:
            return f"> {run['out_of_memory'] / 2**30:.0f} GiB"
    found = values(store, method, graph, metric)
    if not found:
        return "—"
    spread = f" ± {stdev(found):.1f}" if len(found) > 1 else ""
    few = f" ({len(found)})" if len(found) < runs_of(method, graph) else ""
    return f"{mean(found):.1f}{spread}{few}"


def _gain(store: QualityStore, graph: str, metric: str) -> float | None:
    ours = values(store, "linear", graph, metric)
    others = [values(store, method, graph, metric) for method in SMOOTHINGS]
    if not ours or not all(others):
        return None
    return mean(ours) - max(map(mean, others))
