"""The benchmarks' own parts: peers that compute the same, graphs, tables. Nothing is timed."""

from __future__ import annotations

import importlib.util
import json
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from graphs import random_graph

from benchmarks import (
    epoch,
    estimate,
    inputs,
    large,
    parts,
    peers,
    processes,
    reading,
    report,
    runner,
    synthetic,
)
from graphgate.errors import InputWarning
from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph
from graphgate.io.embeddings import write_embedding
from graphgate.io.graph_files import read_graph
from graphgate.nn.collapsed_step import CollapsedStep
from graphgate.nn.losses import Loss
from graphgate.paper.experiments.experiment import SETTINGS, find_experiment
from graphgate.paper.experiments.protocol import RunResult
from graphgate.paper.experiments.reproduce import QUALITY
from graphgate.paper.experiments.run_store import RunSpec, RunStore
from graphgate.training.objective import training_objective

DIMS = (8, 4)
SPREAD = {"median": 2.0, "low": 1.5, "high": 2.5}


def losses(name: str, graph: Graph) -> list[float]:
    peer = peers.make_peer(name, graph, DIMS, Loss("frobenius", 1.0, 0.5), torch.float64)
    return [peer.epoch() for _ in range(4)]


@pytest.mark.parametrize("name", ["plain", "pyg"])
def test_peers_compute_the_same_losses_as_ours(name):
    if name == "pyg" and importlib.util.find_spec("torch_geometric") is None:
        pytest.skip("torch_geometric is not installed: pip install torch_geometric")
    graph = random_graph(0, n=60, f=40)
    np.testing.assert_allclose(losses(name, graph), losses("ours", graph), rtol=1e-9)


def test_ours_is_the_fast_form_that_users_get():
    start = peers.start_weights(random_graph(0, n=60, f=40), DIMS, torch.float64)
    ours = peers.Ours(random_graph(0, n=60, f=40), start, Loss())
    assert isinstance(ours.objective, CollapsedStep)


def test_dense_products_have_the_shapes_of_the_model():
    graph = random_graph(0, n=9, f=6)
    products = peers.DenseProducts(graph, (5, 4), torch.float64)
    products.epoch()
    shapes = [tuple(out.shape) for _, _, out in products.products]
    assert shapes == [(6, 4), (4, 4), (9, 4), (4, 4), (6, 4), (6, 5), (5, 4)]
    for left, right, out in products.products:
        torch.testing.assert_close(out, left @ right)


def test_ratios_are_of_turns_in_one_round():
    seconds = {"ours": [1.0, 2.0, 1.0], "plain": [4.0, 8.0, 4.0], "dense": [0.5, 1.0, 0.5]}
    ratios = epoch.ratios(seconds)
    assert list(ratios) == ["plain/ours", "ours/dense"]
    assert ratios["plain/ours"] == {"median": 4.0, "low": 4.0, "high": 4.0}


def test_a_peer_plays_a_turn_when_it_is_asked(monkeypatch):
    played = []
    peer = SimpleNamespace(epoch=lambda: played.append(1) or 7.0)
    monkeypatch.setattr(epoch, "make_peer", lambda *_: peer)
    turns = epoch.turns("cora", "ours")
    assert next(turns) == {"losses": [7.0] * epoch.WARM_UP}
    assert next(turns)["seconds"] >= 0
    # One epoch of a turn warms up and is not timed.
    assert len(played) == epoch.WARM_UP + 1 + epoch.EPOCHS_A_TURN


def counted(limit: int):
    for number in range(limit):
        yield {"number": number}


def failing():
    raise MemoryError


def growing():
    return {"sum": int(np.ones(2**28, dtype=np.uint8).sum())}


@pytest.mark.slow
def test_a_process_computes_when_it_is_asked():
    process = processes.Process(counted, 2)
    assert [process.next(), process.next()] == [
        {"status": "ok", "number": 0},
        {"status": "ok", "number": 1},
    ]
    process.ask()
    process.end()
    assert processes.isolated(failing) == {"status": "out of memory"}
    assert processes.isolated(growing, limit=0.1) == {"status": "out of memory"}
    assert processes.isolated(growing, limit=2)["sum"] == 2**28
    with pytest.raises(SystemExit, match="failed with code 1"):
        processes.isolated(counted, "no number")


def test_works_take_turns():
    order = []
    works = {name: lambda name=name: order.append(name) or len(order) for name in "ab"}
    assert runner.in_turn(works, 2, warm_up=1) == {"a": [3, 5], "b": [4, 6]}
    assert "".join(order) == "ababab"


def test_measurements_are_stored_one_by_one_and_resumed(tmp_path):
    path, seconds, made = tmp_path / "a.json", iter([4.0, 1.0, 3.0, 9.0, 8.0, 7.0]), []

    def work(name):
        if len(made) == 1 and not path.with_suffix(".go").exists():
            raise KeyboardInterrupt
        made.append(name)
        return {"seconds": next(seconds), "kind": "k"}

    def measure():
        for name in "ab":
            yield {"name": name}, partial(work, name)

    with pytest.raises(KeyboardInterrupt):
        runner.run(measure, {"measurements": []}, path)
    stored = json.loads(path.read_text())
    assert stored["measurements"] == [{"name": "a", "seconds": 4.0, "kind": "k"}]
    path.with_suffix(".go").touch()
    runner.run(measure, stored, path)
    assert made == ["a", "b"]
    runner.run(measure, json.loads(path.read_text()), path, rounds=2, renew=True)
    a, b = json.loads(path.read_text())["measurements"]
    assert (a["seconds"], b["seconds"]) == (5.5, 8.0)  # of rounds in turn
    assert [of["seconds"] for of in a["rounds"]] == [3.0, 8.0]


def test_options_are_the_parameters_of_a_benchmark(tmp_path, monkeypatch):
    path = tmp_path / "growth.json"
    given = []
    monkeypatch.setattr("benchmarks.growth.isolated", lambda *of: given.append(of[1:]) or {"a": 1})
    arguments = ["-m", "growth", "--nodes", "30,10", "--epochs", "2", "--json", str(path)]
    monkeypatch.setattr(sys, "argv", arguments)
    runner.main("benchmarks")
    assert given == [(30, 2), (10, 2)]
    stored = json.loads(path.read_text())
    # It names no place on this machine.
    command = "python -m benchmarks growth --nodes 30,10 --epochs 2 --json growth.json"
    assert stored["command"] == command
    assert stored["measurements"] == [{"nodes": 30, "a": 1}, {"nodes": 10, "a": 1}]
    assert {"versions", "threads", "cpu"} <= stored.keys()
    monkeypatch.setattr(sys, "argv", ["-m"])
    with pytest.raises(SystemExit, match="usage: python -m benchmarks NAME"):
        runner.main("benchmarks")


def test_peers_with_other_losses_are_refused():
    epoch.check_same({"ours": [100.0, 90.0], "plain": [100.05, 90.0]})
    with pytest.raises(SystemExit, match="plain compute different losses"):
        epoch.check_same({"ours": [100.0, 90.0], "plain": [100.0, 90.2]})
    with pytest.raises(SystemExit, match="nan"):
        epoch.check_same({"ours": [100.0], "plain": [float("nan")]})


def test_memory_errors_are_told_from_other_errors():
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)
    assert processes.is_memory_error(caught.value)
    assert processes.is_memory_error(MemoryError())
    assert not processes.is_memory_error(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


def test_block_graph_is_sparse_heavy_tailed_and_repeatable():
    graph = synthetic.block_graph(5000, seed=3)
    assert graph.n_edges == 50_000
    degrees = np.diff(graph.adjacency.indptr)
    assert degrees.max() > 8 * np.median(degrees)
    assert (np.diff(graph.x.indptr) == 20).all()
    assert graph.x.shape == (5000, 1000)
    assert graph.fingerprint() == synthetic.block_graph(5000, seed=3).fingerprint()
    assert graph.fingerprint() != synthetic.block_graph(5000, seed=4).fingerprint()


def test_edges_and_features_follow_the_blocks():
    graph = synthetic.block_graph(5000)
    pairs = graph.adjacency.tocoo()
    within = (graph.labels[pairs.row] == graph.labels[pairs.col]).mean()
    assert 0.7 < within < 0.9
    means = np.stack([graph.x[graph.labels == b].mean(axis=0) for b in range(len(graph.classes))])
    assert means.max() > 4 * graph.x.mean()


def test_a_graph_that_is_not_sparse_is_refused():
    with pytest.raises(ValueError, match="not sparse"):
        synthetic.block_graph(50)


def test_wordnet_file(tmp_path, monkeypatch):
    x = sp.csr_array(np.eye(4, 3, dtype=np.float32))
    file = tmp_path / "wordnet.npz"
    parts = {"x_indices": x.indices, "x_indptr": x.indptr, "x_shape": np.array(x.shape)}
    np.savez(file, **parts, labels=np.array([0, 1, 0, 1]), edges=np.array([[0, 1], [1, 3]]))
    monkeypatch.setenv(inputs.WORDNET, str(file))
    graph = inputs.load("wordnet")
    assert (graph.n_nodes, graph.n_edges, graph.n_features) == (4, 2, 3)
    np.testing.assert_array_equal(graph.x.toarray(), np.eye(4, 3))
    assert inputs.has_wordnet()
    monkeypatch.setenv(inputs.WORDNET, str(tmp_path / "absent.npz"))
    assert not inputs.has_wordnet()


def test_reading_reads_what_was_written(tmp_path):
    reading.write_tables(tmp_path, 50, 200, 7)
    with pytest.warns(InputWarning, match="200 edges include"):  # random ones meet
        graph = reading.read(tmp_path)
    with pytest.warns(InputWarning, match="200 edges include"):
        timed = reading.time_reading(tmp_path)
    assert timed["graph"] == repr(graph)
    assert (graph.n_nodes, graph.n_features) == (50, 7)
    result = {"nodes": 50, "edges": 200, "columns": 7, "seconds": 2.0, "peak_memory_mb": 30.0}
    table = report.reading([result | {"data_mb": 10.0, "epoch_seconds": SPREAD}])
    assert "| seconds | 2 | 1.00 epochs |" in table
    assert "| peak memory, MiB | 30 | 3.00 times the data |" in table


def test_exponents_of_known_growth():
    sizes = [
        {
            "status": "ok",
            "nodes": n,
            "epoch_seconds": {"median": 3e-6 * n**1.5},
            "peak_memory_mb": n,
        }
        for n in (10, 100, 1000)
    ]
    late = {"status": "out of memory", "nodes": 10_000}
    assert report.exponents([*sizes, late]) == pytest.approx({"seconds": 1.5, "memory": 1.0})
    assert report.exponents(sizes[:1]) == {}


def test_an_estimate_stands_beside_what_was_measured(monkeypatch):
    monkeypatch.setitem(estimate.CASES, "small", {"dims": (4, 2)})
    found = estimate.compare(2000, "small", epochs=1)
    assert found["edges"] == 20_000
    for what in ("added_mb", "peak_memory_mb", "seconds"):
        assert found[what]["estimated"] > 0
    assert found["peak_memory_mb"]["measured"] > found["added_mb"]["measured"]


def test_rounds_of_an_estimate_are_summed_up():
    def round_of(told, seen):
        measured = {what: {"estimated": told, "measured": seen} for what in estimate.QUANTITIES}
        return {"status": "ok", "edges": 7} | measured

    found = estimate.summary([round_of(3, 4), round_of(9, 4), round_of(4, 5)])
    assert (found["edges"], found["repeats"]) == (7, 3)
    ratio = {"median": 0.8, "low": 0.775, "high": 1.525}
    assert found["seconds"] == {"estimated": 4, "measured": 4, "ratio": ratio}
    failed = estimate.summary([round_of(3, 4), {"status": "out of memory"}])
    assert failed == {"status": "out of memory"}
    table = report.estimate([{"nodes": 9, "case": "a", "epochs": 10} | found])
    assert "| 9 | a | 4 | 4 | -20% (-22% to +52%) |" in table


@pytest.fixture
def results(tmp_path) -> Path:
    """Made-up results: plain PyTorch fits into memory on Cora only."""
    top = {
        "command": "python -m benchmarks x",
        "cpu": "a cpu",
        "threads": 2,
        "versions": {"a": "1"},
    }
    cora = {
        "epoch_seconds": {"ours": SPREAD, "plain": {"median": 4.0}, "dense": {"median": 1.0}},
        "ratios": {"plain/ours": {"median": 2.0, "low": 1.9, "high": 2.1}, "ours/dense": SPREAD},
        "peak_memory_mb": {"ours": 10.0, "plain": 1234.5},
        "status": {"ours": "ok", "plain": "ok"},
    }
    wordnet = {
        "epoch_seconds": {"ours": SPREAD},
        "ratios": {},
        "peak_memory_mb": {"ours": 10.0, "plain": None},
        "status": {"ours": "ok", "plain": "out of memory"},
    }
    size = {"status": "ok", "edges": 10, "epoch_seconds": SPREAD, "peak_memory_mb": 7.0}
    sizes = [size | {"nodes": 1000}, size | {"nodes": 2000, "peak_memory_mb": 14.0}]
    sizes[1]["epoch_seconds"] = {"median": 8.0}
    datasets = [{"dataset": "cora"} | cora, {"dataset": "wordnet"} | wordnet]
    made = {
        name: top | {"measurements": of} for name, of in (("epoch", datasets), ("growth", sizes))
    }
    for name, content in made.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    return tmp_path


def test_tables_come_from_the_results(results):
    tables = report.tables(results)
    assert set(tables) == {"epoch", "memory", "growth", "machine"}
    assert "| plain PyTorch | 4 (2×, 1.9–2.1) | out of memory |" in tables["epoch"]
    assert "| plain PyTorch | 1,234 | out of memory |" in tables["memory"]
    assert "to the power 2.00, memory as nodes to the power 1.00" in tables["growth"]
    assert tables["machine"].splitlines() == 2 * [
        "- `python -m benchmarks x` on a cpu, 2 threads; a 1."
    ]


FIT = {"status": "ok", "projected": False, "peak_memory_mb": 1024}
FITS = [
    {"graph": "one", "method": "linear", "seconds": 2.0} | FIT,
    {"graph": "one", "method": "gae", "seconds": 20.0} | FIT | {"projected": True},
    {"graph": "one", "method": "graphmae", "status": "out of memory"},
    {"graph": "two", "method": "linear", "seconds": 1.0} | FIT,
    {"graph": "two", "method": "gae", "seconds": 40.0} | FIT | {"peak_memory_mb": 2048},
]


def test_methods_stand_beside_ours_on_the_graphs_they_finished(tmp_path):
    pytest.importorskip("matplotlib")
    from benchmarks import plots

    store = RunStore(tmp_path / "runs")
    for graph, method, nmi in [
        *(("one", "linear", 50.0), ("one", "gae", 40.0), ("one", "graphmae", None)),
        *(("two", "linear", 50.0), ("two", "gae", 70.0), ("three", "gae", 0.0)),
    ]:
        experiment = find_experiment(method, graph, "quality")
        result = RunResult(0, dict.fromkeys(SETTINGS["quality"].all) | {"nmi": nmi})
        store.add(RunSpec.of(experiment, "whole", experiment.params, 0), result)
    compared = plots.compared(tmp_path)
    found = plots.standings(FITS, compared, "nmi")
    assert found == {"gae": (5.0, 25.0, 2), "linear": (0.0, 1.0, 2)}
    table = report.fits(FITS)
    assert "| GAE | ≈ 20 (1.0) | 40 (2.0) |" in table
    assert "| GraphMAE | out of memory | — |" in table
    figure = plots.quality_figure(FITS, compared)
    assert [len(axes.lines) for axes in figure.axes] == [1, 3, 1]  # with that of zero
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.texts] == ["GAE (2)", "LinearGATE (2)"]
    assert tuple(plots.METHOD_STYLES) == QUALITY


def test_pictures_are_drawn(results, tmp_path):
    pytest.importorskip("matplotlib")
    from benchmarks import plots

    files = plots.draw(report.read(results), tmp_path / "images")
    assert [file.name for file in files] == ["benchmark-epoch.png", "benchmark-growth.png"]
    assert all(file.stat().st_size > 1000 for file in files)


def test_large_tables_are_those_of_the_graph(tmp_path):
    sizes = large.write_tables(tmp_path, 3000)
    assert sizes == {"nodes": 3000, "edges": 30_000, "features": 1000}
    graph = read_graph(tmp_path / "edges.parquet", tmp_path / "nodes.parquet")
    vectors = (
        np.random.default_rng(0).normal(size=(3000, 5)) + 9 * np.eye(5)[graph.ids.argsort() % 5]
    )
    write_embedding(tmp_path / "out.parquet", graph.ids, vectors)
    agreement = large.clusters_and_blocks(tmp_path)
    assert (agreement["blocks"], agreement["columns"]) == (2, 5)
    block = synthetic.block_graph(3000)
    np.testing.assert_array_equal(graph.adjacency.indices, block.adjacency.indices)
    np.testing.assert_array_equal(graph.attributes["words"].values.sum(axis=1), block.x.sum(axis=1))


def test_a_run_by_two_processes_stands_beside_the_same_one_by_one():
    cost = {"edges": 10, "peak_memory_mb": 1024, "nmi": 0.5, "memory_limit": None, "nodes": 5}
    exact, linear = large.EXACT | cost, large.LINEAR | cost
    runs = [
        exact | {"seconds": 10.0, "processes": 1},
        exact | {"seconds": 12.0, "processes": 2, "communicating_seconds": 1.25},
        linear | {"seconds": 4.0, "processes": 2},  # without one to compare it with
        linear | {"seconds": 4.0, "processes": 1, "memory_limit": "1GiB"},
    ]
    row = "| 5 | gate, whole graph | 10 s | 12 s | 1.20 | 1.2 s |"
    assert report.processes(runs).splitlines()[2:] == [row]
    assert "| 5 | 10 | linear | 1GiB | 1 | 4 | 1.00 GiB | 50.0 |" in report.large(runs)


def test_weights_that_are_chosen_stand_beside_fixed_and_simple_ones():
    def of(kind: str, accuracy: list[float], nmi: list[float], **more) -> dict:
        return {"graph": "cora", "vectors": kind, "accuracy": accuracy, "nmi": nmi} | more

    measurements = [
        of("fixed", [80.0, 82.0], [50.0], auc=[90.0], weights={"own": 0.5}),
        of("chosen", [81.0, 85.0], [52.0, 53.0], auc=[90.5], weights={"own": 1.25}),
        of("raw", [70.0, 72.0], [51.0]),
        of("smoothing-2", [84.0, 80.0], [40.0]),
        {"planted": "bipartite", "vectors": "fixed", "nmi": [4.0, 6.0]},
        {"planted": "one", "kind": "number", "edges": False, "vectors": "chosen", "nmi": [7.0]},
    ]
    *_, row, means = report.source_weights(measurements).splitlines()
    cells = ["Cora", "1.25", "83.0", "+2.00 ± 1.00", "82.0", "52.5", "+2.5", "51.0", "+0.5"]
    assert row == f"| {' | '.join(cells)} |"
    assert means.startswith("| mean |  |  | +2.00 |")
    lines = report.planted_weights(measurements).splitlines()[2:]
    assert lines == ["| bipartite |  |  |  | 5.0 | – |", "| one | number | random |  | – | 7.0 |"]


def test_what_parts_reach_stands_beside_the_whole():
    fit = {"status": "ok", "nodes": 7, "cpu_seconds": 3.2, "peak_memory_mb": 512}
    fit |= {"feature_square_per_node": 0.123456, "structure_per_pair": 0.5}
    fits = [
        {"graph": "synthetic", "form": "parts"} | fit,
        {"graph": "pubmed", "form": "whole", "accuracy": {"val": 80, "test": 81}} | fit,
        {"graph": "pubmed", "form": "whole", "accuracy": {"val": 81, "test": 82}} | fit,
        {"graph": "wordnet", "form": "whole", "status": "out of memory"},
    ]
    lines = report.parts(fits).splitlines()
    assert lines[2] == "| synthetic | 7 | parts | 1 | 3 | 0.50 GiB | 0.1235 | 0.5 | — | — |"
    assert lines[3].startswith("| pubmed | 7 | the whole | 2 |")
    assert lines[3].endswith("| 80.5 / 81.5 |")
    failed = "out of memory"
    assert lines[4].startswith(f"| wordnet | {failed} | the whole | 1 | {failed} | {failed} |")


def test_the_loss_by_parts_of_a_larger_graph_is_scaled_to_that_of_the_whole():
    common = {"graph": "synthetic", "status": "ok", "cpu_seconds": 1, "peak_memory_mb": 1}
    whole = {"form": "whole", "nodes": 4, "feature_square_per_node": 9, "structure_per_pair": 0.5}
    parts = {"form": "parts", "nodes": 40, "feature_square_per_node": 4, "structure_per_pair": 0.6}
    fits = [common | whole | {"loss": 6 + 12 * 0.5}, common | parts | {"loss": 100}]
    lines = report.parts(fits).splitlines()
    # Of 4 nodes and 12 pairs: (4 + 12 · 0.6) / (6 + 12 · 0.5).
    assert lines[3].endswith("| 4 | 0.6 | 0.933 | — |")


def test_seconds_of_communication_are_read_from_the_notes():
    note = "note: each of 2 processes has sent about 1 GiB, and this one has communicated for {}"
    assert large.communicating(note.format("2.5 min")) == 150
    assert large.communicating(note.format("310 ms")) == pytest.approx(0.31)


def test_large_runs_are_distinct_and_have_their_options(monkeypatch):
    monkeypatch.setattr(large, "isolated", lambda *_: {"edges": 1})
    subjects = [subject for subject, _ in large.measure()]
    assert len({json.dumps(subject) for subject in subjects}) == len(subjects) == 13
    assert [of["mode"] for of, _ in large.measure(nodes=100_000, modes=("exact",))] == ["exact"] * 2


def test_losses_of_the_whole_graph_by_blocks_are_the_exact_ones():
    graph = random_graph(0, n=60, f=40)
    gate = GATE(DIMS, epochs=5, random_state=0, progress=False, batch_size=20).fit(graph)
    expected = training_objective(gate.model_, graph, Loss())(0)
    found = parts.losses(gate, graph)
    assert found["loss"] == pytest.approx(expected["loss"], rel=1e-5)
    assert found["feature_square_per_node"] == pytest.approx(expected["feature"] ** 2 / 60, 1e-4)


def test_the_load_on_a_service_becomes_a_table():
    found = {"requests_per_second": 420.58, "latency_ms": {"p99": 1200.0}}
    load = {"nodes": 100_000, "components": 128, "top": 10, "connections": 32, "seconds": 10}
    odd = {"requests": 1000, "statuses": {"422": 998, "500": 2}, "growth": 0.0123}
    table = report.service([load | found, odd])
    assert "| 421 requests per second, 99 % of them within 1200 ms |" in table
    assert "| 2 server errors; memory +1.2 % after the first tenth |" in table
