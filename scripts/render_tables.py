"""Rewrites the generated tables in README.md and docs/ from the files in results/.

    python -m scripts.render_tables [--check]

A table is the text between `<!-- table:NAME -->` and `<!-- /table -->`. With `--check` nothing
changes, and the exit code is 1 if a page differs from the files.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from statistics import mean

import benchmarks.report
import fuzz.report
from benchmarks.report import TITLES, markdown
from graphgate.paper.experiments.comparison_table import ComparisonTable
from graphgate.paper.experiments.experiment import (
    CLASSIFICATION_SETTINGS,
    SETTINGS,
    find_experiment,
    with_std,
)
from graphgate.paper.experiments.methods import find_row
from graphgate.paper.experiments.reproduce import QUALITY, reproduce
from graphgate.paper.experiments.results_table import ResultsTable

ROOT = Path(__file__).parents[1]
DATASETS = ("cora", "citeseer", "pubmed")
ABLATION = ("gate", "gate-no-features", "gate-no-structure", "gate-uniform", "gate-ones")
NEWER = ("cca-ssg", "graphmae")  # methods that are not in the paper
OUTPUTS = ROOT / "results" / "outputs.json"
CHOICES = ROOT / "results" / "linear_choices.json"
ATTENTION = ROOT / "docs" / "images" / "figures" / "cora-attention.json"


def _stored(table: str, methods: list[str] | None = None) -> ResultsTable:
    """A table from results/runs, on the public split."""
    return reproduce(table, methods=methods, results=ROOT / "results", run=False)


def accuracy() -> str:
    """GATE beside the paper, one row per setting and formulation."""
    rows = []
    for setting in CLASSIFICATION_SETTINGS:
        for form, table in (("authors", setting), ("paper", "formulations")):
            method = "gate" if form == "authors" else "gate-paper"
            cells = [
                each
                for each in _stored(table, [method]).cells()
                if each.experiment.setting == setting
            ]
            if any(each.evaluation for each in cells):
                rows.append([setting, f"graphgate, `{form}`", *(each.ours() for each in cells)])
            if form == "paper":
                rows.append([setting, "the paper (100)", *(each.published() for each in cells)])
    heads = ["setting", "accuracy in % (runs)", *(name.capitalize() for name in DATASETS)]
    return markdown(heads, rows)


def summary(compared: ComparisonTable) -> str:
    """Three tasks on two citation graphs, by all methods of the comparison, in percent."""
    metrics = {
        "public": "accuracy, C chosen",
        "public_paper_probe": "accuracy, C = 1",
        "nmi": "NMI",
        "auc": "AUC",
    }
    graphs = DATASETS[:2]
    heads = [f"{graph.capitalize()} {title}" for graph in graphs for title in metrics.values()]
    rows = [
        [
            find_row(method).title,
            *(compared.text(method, graph, metric) for graph in graphs for metric in metrics),
        ]
        for method in QUALITY
    ]
    return markdown(["method", *heads], rows)


def published(compared: ComparisonTable) -> str:
    """The accuracy of methods that are not in the paper, beside the published one.

    Where the comparison stopped a method for its time, the accuracy by the paper's probe is that of
    runs without a limit.
    """
    rows = []
    for method in NEWER:
        unlimited = {
            each.experiment.dataset: each for each in _stored("transductive", [method]).cells()
        }
        for graph in DATASETS:
            experiment = find_experiment(method, graph, "transductive")
            assert experiment is not None
            ours = [compared.text(method, graph, m) for m in ("public", "public_paper_probe")]
            if not compared.values(method, graph, "public") and unlimited[graph].evaluation:
                ours[1] = unlimited[graph].ours()
            reported = with_std(*experiment.published["accuracy"])
            rows.append([find_row(method).title, graph.capitalize(), *ours, reported])
    heads = ["method", "graph", "strength chosen", "the paper's probe", "published"]
    return markdown(heads, rows)


def observations() -> str:
    """The paper's three observations on its ablation, each checked against our runs."""
    evaluations = {
        (each.experiment.setting, each.experiment.dataset, each.experiment.method): each.evaluation
        for each in _stored("ablation").cells()
        if each.evaluation is not None
    }
    rows = []
    for setting in CLASSIFICATION_SETTINGS:
        for dataset in DATASETS:
            here = {m: e for (s, d, m), e in evaluations.items() if (s, d) == (setting, dataset)}
            if len(here) < len(ABLATION):
                continue
            means = {method: evaluation.mean() for method, evaluation in here.items()}
            best, others = means["gate"], [means[m] for m in ABLATION if m != "gate"]
            worst = min(means[m] for m in ("gate-no-features", "gate-no-structure"))
            gap = means["gate-no-features"] - means["gate-no-structure"]
            rows.append(
                [
                    f"{dataset.capitalize()}, {setting}",
                    _verdict(best > max(others), best - max(others)),
                    _verdict(means["gate-uniform"] < worst, worst - means["gate-uniform"]),
                    _verdict(means["gate-ones"] < worst, worst - means["gate-ones"]),
                    _verdict((gap < 0) == (dataset == "citeseer"), abs(gap)),
                ]
            )
    heads = ["", "GATE is the best", "A = 1/\\|N\\| is the worst", "A = 1 is the worst"]
    return markdown([*heads, "F above S (Citeseer: S above F)"], rows)


def _verdict(agrees: bool, points: float) -> str:
    return f"{'yes' if agrees else 'no'} ({abs(points):.1f})"


def attention() -> str:
    """Attention within and between classes, as `graphgate figures` wrote it."""
    stored = json.loads(ATTENTION.read_text(encoding="utf-8"))
    rows = [
        ["attention, mean", stored["same_raw"], stored["other_raw"], stored["raw_ratio"]],
        [
            "times the number attended over",
            stored["same_corrected"],
            stored["other_corrected"],
            stored["corrected_ratio"],
        ],
    ]
    cells = [[name, *(f"{value:.4f}" for value in values)] for name, *values in rows]
    same, other = (f"{stored[f'{kind}_edges']:,}" for kind in ("same", "other"))
    heads = ["Cora", f"{same} edges within a class", f"{other} edges between classes", "ratio"]
    return markdown(heads, cells)


def choices() -> str:
    """What was tried to choose the constants of the linear auto-encoder, on validation nodes."""
    stored = json.loads(CHOICES.read_text(encoding="utf-8"))
    figures = {tried["setting"]: tried["figures"] for tried in stored["tried"]}
    start = figures[stored["start"]]
    rows = []
    for setting, graphs in figures.items():
        row = [setting, str(len(graphs))]
        for name in ("accuracy", "nmi"):
            mean, before = (
                sum(scores[graph][name] for graph in graphs) / len(graphs)
                for scores in (graphs, start)
            )
            row += [f"{mean:.1f}", "" if graphs is start else f"{mean - before:+.2f}"]
        public = [graphs.get(graph, {}).get("public_accuracy") for graph in DATASETS]
        rows.append(
            [*row, " / ".join("–" if value is None else f"{value:.1f}" for value in public)]
        )
    heads = ["setting", "graphs", "accuracy", "to start", "NMI", "to start"]
    return markdown([*heads, "public: Cora / Citeseer / Pubmed"], rows)


def decoder_terms() -> str:
    """The terms of the structure decoder that were tried, on validation edges."""
    stored = json.loads(CHOICES.read_text(encoding="utf-8"))["decoder_terms"]
    figures = {tried["setting"]: tried["figures"] for tried in stored["tried"]}
    start, rows = figures[stored["start"]], []
    for setting, graphs in figures.items():
        gain = mean(graphs[graph] - start[graph] for graph in graphs)
        rows.append([setting, str(len(graphs)), f"{mean(graphs.values()):.2f}", f"{gain:+.2f}"])
    return markdown(["terms", "graphs", "AUC", "to nine terms"], rows)


def link_terms() -> str:
    """What was added to the structure decoder, on validation edges."""
    tried = json.loads(CHOICES.read_text(encoding="utf-8"))["link_terms"]["tried"]
    rows = [
        [
            TITLES.get(graph, graph.capitalize()),
            *(f"{each['figures'][graph]:.1f}" for each in tried),
        ]
        for graph in tried[0]["figures"]
    ]
    return markdown(["Hits@100", *(each["setting"] for each in tried)], rows)


def link_alternatives() -> str:
    """Other forms of the structure decoder that were tried, on validation edges."""
    stored = json.loads(CHOICES.read_text(encoding="utf-8"))["link_terms"]["also_tried"]
    tried = {name: values for name, values in stored.items() if name != "about"}
    rows = [[name, *(f"{value:.1f}" for value in values)] for name, values in tried.items()]
    return markdown(["Hits@100", "Pubmed", "Cora"], rows)


def outputs() -> dict[str, str]:
    """The captured output of commands (scripts/capture_outputs.py), as code blocks."""
    shown = json.loads(OUTPUTS.read_text(encoding="utf-8"))["shown"]
    made = {}
    for name, commands in shown.items():
        text = "\n".join(f"$ {each['command']}\n{each['prints']}" for each in commands)
        lines = [f"    {line}".rstrip() for line in text.splitlines()]
        made[f"output_{name}"] = "\n".join(lines)
    return made


def tables() -> dict[str, str]:
    """Every table whose results are stored, by name."""
    compared = _stored("quality")
    assert isinstance(compared, ComparisonTable)
    made = {name: _stored(name).markdown() for name in (*SETTINGS, "ablation")}
    made |= {"accuracy": accuracy(), "observations": observations()}
    made |= {name: _stored(name).markdown() for name in ("edges", "unseen")}
    made |= {"summary": summary(compared), "published": published(compared)}
    made |= {"choices": choices(), "decoder_terms": decoder_terms()}
    made |= {"link_terms": link_terms(), "link_alternatives": link_alternatives()}
    if ATTENTION.exists():
        made["attention"] = attention()
    if OUTPUTS.exists():
        made |= outputs()
    return made | benchmarks.report.tables() | fuzz.report.tables()


def rendered(text: str, made: dict[str, str]) -> str:
    """The text of a page with every table rebuilt; a table without results is left unchanged."""

    def table(match: re.Match[str]) -> str:
        return f"{match[1]}{made[match[2]]}\n{match[3]}" if match[2] in made else match[0]

    marked = re.compile(r"(<!-- table:(\w+) -->\n).*?(<!-- /table -->)", re.DOTALL)
    return marked.sub(table, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale, made = [], tables()
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        if (new := rendered(text, made)) != text:
            stale.append(page.name)
            if not check:
                page.write_text(new, encoding="utf-8")
    print("changed:" if not check else "stale:", ", ".join(stale) or "nothing")
    if not check:
        from benchmarks import plots  # matplotlib is only needed here

        for figure in plots.draw(benchmarks.report.read(), ROOT / "docs" / "images"):
            print("drawn:", figure.name)
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
