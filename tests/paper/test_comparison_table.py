"""The comparison as a table, and which runs it has."""

import pytest

from graphgate import InputError, reproduce
from graphgate.paper.experiments.experiment import SETTINGS, find_experiment
from graphgate.paper.experiments.protocol import RunResult
from graphgate.paper.experiments.run_store import RunSpec, RunStore


def store_run(folder, method: str, graph: str, seed: int = 0, stopped: str = "", **metrics) -> None:
    experiment = find_experiment(method, graph, "quality")
    split = "public" if graph == "cora" else "whole"
    spec = RunSpec.of(experiment, split, experiment.params, seed)
    values = dict.fromkeys(SETTINGS["quality"].all) | metrics
    RunStore(folder / "runs").add(spec, RunResult(seed, values, stopped=stopped))


def test_the_runs_of_the_comparison(tmp_path):
    for name in ("towns", "cora"):  # of which one is a citation graph
        (tmp_path / f"{name}.npz").touch()
    table = reproduce(
        "quality", methods=["linear", "dgi"], graphs=tmp_path, results=tmp_path, run=False
    )
    specs = table.grid.table_specs()
    counts = {
        cell: sum((spec.method, spec.dataset) == cell for spec in specs)
        for cell in {(spec.method, spec.dataset) for spec in specs}
    }
    assert counts["linear", "towns"] == counts["linear", "cora"] == counts["dgi", "cora"] == 5
    assert counts["dgi", "towns"] == 2
    assert table.grid.archives == {"towns": tmp_path / "towns.npz"}
    assert table.datasets == ["cora", "citeseer", "pubmed", "towns"]
    given = {"results": tmp_path, "run": False}
    with pytest.raises(InputError, match="unknown graph 'villages'; use cora, citeseer, pubm"):
        reproduce("quality", datasets=["villages"], **given)
    with pytest.raises(InputError, match="is not a folder"):
        reproduce("quality", graphs=tmp_path / "none", **given)
    with pytest.raises(InputError, match="'links' is of the citation graphs; omit graphs"):
        reproduce("links", graphs=tmp_path, **given)


def test_values_stops_and_gains(tmp_path):
    for seed in range(2):
        store_run(tmp_path, "smoothing-2", "towns", seed, accuracy=50.0 + seed, nmi=1.0)
    store_run(tmp_path, "smoothing-16", "towns", accuracy=40.0, nmi=2.0)
    for seed in range(5):
        store_run(tmp_path, "linear", "towns", seed, accuracy=60.0, nmi=1.5)
    store_run(tmp_path, "graphmae", "towns", stopped="> 20 min")
    store_run(tmp_path, "linear", "cora", public=80.0)
    table = reproduce("quality", results=tmp_path, run=False)
    accuracy, public, nmi, *_ = table.markdown().split("\n\n### ")
    assert "| method | cora | citeseer | pubmed | towns |" in accuracy
    assert "| S²GC, K = 2 | — | — | — | 50.5 ± 0.7 (2) |" in accuracy
    assert "| LinearGATE | — | — | — | 60.0 ± 0.0 |" in accuracy
    assert "| GraphMAE | — | — | — | > 20 min |" in accuracy
    assert "GATE" not in accuracy.replace("LinearGATE", "")
    assert "| LinearGATE − better smoothing | — | — | — | +9.5 |" in accuracy
    assert "| method | cora | citeseer | pubmed |" in public  # towns has no split of its own
    assert "| LinearGATE | 80.0 (1) | — | — |" in public
    assert "| LinearGATE − better smoothing | — | — | — | -0.5 |" in nmi
    assert "and raw features | — | — | — | — |" in accuracy  # there are no runs of them
    for seed in range(5):
        store_run(tmp_path, "raw-svd", "towns", seed, accuracy=57.0 + seed, nmi=0.5)
    table = reproduce("quality", results=tmp_path, run=False)
    accuracy, *_ = table.markdown().split("\n\n### ")
    # Of the same seed: 3, 2, 1, 0 and -1 more.
    assert "and raw features | — | — | — | +1.0 ± 0.7 |" in accuracy
    assert table.values("graphmae", "towns", "nmi") == table.values("gae", "towns", "nmi") == []
