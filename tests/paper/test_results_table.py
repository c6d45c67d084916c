"""Tables of stored runs as Markdown, LaTeX and JSON."""

from __future__ import annotations

import pytest
from experiment_runs import (
    a_run,
    grid_of,
    links_run,
)

from graphgate.paper.experiments.experiment import Experiment
from graphgate.paper.experiments.grid import ExperimentGrid
from graphgate.paper.experiments.results_table import ResultsTable
from graphgate.paper.experiments.run_store import RunSpec, RunStore

pytestmark = pytest.mark.usefixtures("empty_folder")


def stored(experiment: Experiment, *values: float, split: str = "public") -> Experiment:
    grid = grid_of(experiment, split=split)
    for seed, value in enumerate(values):
        settings = dict(experiment.params)
        grid.store.add(RunSpec.of(experiment, split, settings, seed), a_run(value, seed=seed))
    return experiment


def cell(method: str, dataset: str, *values: float, split: str = "public", **changes) -> Experiment:
    fields = {"params": {"k": 1}, "published": {"accuracy": (80.0, 0.5)}} | changes
    return stored(Experiment(method, dataset, "transductive", **fields), *values, split=split)


def table_of(*cells: Experiment, split: str = "public"):
    return ResultsTable(grid_of(*cells, split=split), ["cora", "citeseer"])


def row(markdown: str, title: str) -> list[str]:
    (line,) = [line for line in markdown.splitlines() if f"| {title} |" in line]
    return [part.strip() for part in line.strip("|").split("|")]


def test_markdown():
    table = table_of(
        cell("gcn", "cora", 81.0, 84.0),
        cell("gcn", "citeseer", 78.2, published={"accuracy": (79.0, None)}),
        cell("gat", "cora", 78.4, 78.6),  # 1.5 below is still called reproduced
        cell("monet", "cora"),
        cell("monet", "citeseer", 70.0, published={}),
    )
    text = table.markdown()
    lines = text.splitlines()
    heads = ["ours (runs)", "paper", "difference"]
    assert row(text, "method") == [
        *("sees", "method"),
        *(f"Cora, {heads[0]}", *heads[1:], f"Citeseer, {heads[0]}", *heads[1:]),
    ]
    assert lines[1] == "| --- | --- |" + " ---: |" * 6
    assert row(text, "GCN") == [
        *("X, A, Y", "GCN"),
        *("82.5 ± 2.1 (2)", "80.0 ± 0.5", "+2.5"),
        *("78.2 (1)", "79.0", "-0.8"),
    ]
    assert row(text, "GAT")[2:] == ["78.5 ± 0.1 (2)", "80.0 ± 0.5", "-1.5", "", "", ""]
    assert row(text, "MoNet")[2:] == ["—", "80.0 ± 0.5", "—", "70.0 (1)", "—", "—"]
    assert len(lines) == 5  # no notes


def test_a_low_value_is_marked_and_explained():
    low = {"note": "fewer epochs", "departure": "at most 300 epochs"}
    table = table_of(
        cell("gcn", "cora", 78.4, **low),
        cell("gcn", "citeseer", 90.0, **low),
        cell("gat", "citeseer", 70.0),
        cell("monet", "cora", note="never low", published={}),
    )
    text = table.markdown()
    assert row(text, "GCN")[2:] == [
        *("78.4 (1)", "80.0 ± 0.5", "-1.6\\*", "90.0 (1)", "80.0 ± 0.5", "+10.0"),
    ]
    assert row(text, "GAT")[7] == "-10.0\\*"
    assert text.split("\n\n")[1].splitlines() == [
        "- \\* GCN, Cora: fewer epochs",
        "- \\* GAT, Citeseer: reason unknown",
        "- GCN: at most 300 epochs",
    ]


def test_a_value_on_another_split_is_not_compared():
    table = table_of(cell("gcn", "cora", 50.0, split="seeded"), split="seeded")
    assert row(table.markdown(), "GCN")[2:5] == ["50.0 (1)", "80.0 ± 0.5", "other split"]
    assert table.notes() == []


def test_latex():
    table = table_of(
        cell("gcn", "cora", 81.0, 84.0),
        cell("gcn", "citeseer", 70.0, note="100 % less"),
        cell("experiment_runs:Drawn", "cora", published={}),
    )
    text = table.latex()
    assert r"\begin{tabular}{llrrrrrr}" in text
    assert r"Sees & Method & \multicolumn{3}{c}{Cora} & \multicolumn{3}{c}{Citeseer} \\" in text
    assert (
        r"X, A, Y & GCN & 82.5 $\pm$ 2.1 (2) & 80.0 $\pm$ 0.5 & +2.5 & "
        r"70.0 (1) & 80.0 $\pm$ 0.5 & -10.0* \\"
    ) in text.splitlines()
    assert r"? & experiment\_runs:Drawn & --- & --- & --- &  &  &  \\" in text.splitlines()
    after = text.split(r"\end{tabular}")[1].strip().splitlines()
    assert len(after) == 1
    assert after[0].startswith("%")
    assert "GCN, Citeseer: 100 % less" in after[0]
    for line in text.splitlines():
        assert line.startswith(("\\", "%", "Sees")) or line.count("&") == 7


def test_json_content():
    table = table_of(cell("gcn", "cora", 81.0, 84.0), cell("gat", "cora"), cell("gat", "citeseer"))
    (found,) = table.to_list()
    assert (found["method"], found["dataset"]) == ("gcn", "cora")
    assert (found["mean"], found["std"]) == (82.5, 2.1213)
    assert found["paper"] == {"mean": 80.0, "std": 0.5}
    assert found["params"] == {"k": 1}
    assert [one["accuracy"] for one in found["runs"]] == [81.0, 84.0]


def test_a_table_of_several_metrics():
    published = {"auc": (91.0, 0.02)}
    cells = [
        Experiment("gae", "cora", "links", published=published, note="too few epochs"),
        Experiment("gate", "cora", "links"),
    ]
    results = RunStore("runs")
    for seed, (auc, ap) in enumerate([(80.0, 70.0), (84.0, 72.0)]):
        results.add(RunSpec.of(cells[0], "public", {}, seed), links_run(auc, ap, seed=seed))
    table = ResultsTable(ExperimentGrid(cells, results, {"cora": "seeded"}), ["cora"])
    text = table.markdown()
    heads = ["Cora AUC, ours (runs)", "paper", "difference", "Cora AP, ours (runs)"]
    assert row(text, "method") == ["sees", "method", *heads]
    assert row(text, "GAE")[2:] == ["82.0 ± 2.8 (2)", "91.0 ± 0.0", "-9.0\\*", "71.0 ± 1.4 (2)"]
    assert row(text, "GATE")[2:] == ["—", "—", "—", "—"]
    assert "- \\* GAE, Cora: too few epochs" in text
    latex = table.latex()
    assert r"\multicolumn{3}{c}{Cora AUC} & \multicolumn{1}{c}{Cora AP}" in latex
    assert r"\begin{tabular}{llrrrr}" in latex
    (found,) = table.to_list()
    assert found["mean"] == 82.0
    assert found["metrics"]["ap"] == {"mean": 71.0, "std": 1.4142, "paper": None}
    assert (found["split"], found["probe"]) == ("held-out", "dot-product")


def test_several_metrics_give_one_table_per_dataset():
    cells = [Experiment("gae", name, "links", departure="less") for name in ("cora", "pubmed")]
    results = RunStore("runs")
    for seed, cell in enumerate(cells):
        results.add(RunSpec.of(cell, "public", {}, 0), links_run(80.0 + seed, 70.0))
    grid = ExperimentGrid(cells, results, {"cora": "public", "pubmed": "public"})
    first, second, notes = ResultsTable(grid, ["cora", "pubmed"]).markdown().split("\n\n")
    assert row(first, "method")[2:] == ["Cora AUC, ours (runs)", "Cora AP, ours (runs)"]
    assert row(second, "GAE")[2:] == ["81.0 (1)", "70.0 (1)"]
    assert notes == "- GAE: less"


def test_a_difference_of_zero_has_no_minus():
    cell = Experiment("gae", "cora", "links", published={"auc": (80.04, None)})
    RunStore("runs").add(RunSpec.of(cell, "public", {}, 0), links_run(80.0, 70.0))
    table = ResultsTable(ExperimentGrid([cell], RunStore("runs"), {"cora": "public"}), ["cora"])
    assert row(table.markdown(), "GAE")[4] == "+0.0"
