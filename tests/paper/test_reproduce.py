"""`reproduce`, in Python and on the command line: it runs, stores, resumes and reports."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import numpy as np
import pytest
from experiment_runs import (
    a_run,
    files,
    grid_of,
    stored_lines,
)

import graphgate
from graphgate.cli.inputs import parse_params
from graphgate.datasets.citation import load_dataset
from graphgate.errors import InputError
from graphgate.io.files import complete_lines
from graphgate.paper.experiments import run_store
from graphgate.paper.experiments.experiment import SETTINGS, Experiment, find_experiment
from graphgate.paper.experiments.methods import ROWS
from graphgate.paper.experiments.protocol import RunResult
from graphgate.paper.experiments.reproduce import TABLES, table_experiments, table_rows
from graphgate.paper.experiments.results_table import ResultsTable
from graphgate.paper.experiments.run_store import RunSpec, RunStore

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_rows_are_in_the_order_of_the_methods():
    def titles(table: str, methods=None) -> list[str]:
        cells = table_experiments(table, table_rows(table, methods), ["cora", "citeseer"])
        return [title for _, title, _ in ResultsTable(grid_of(*cells), ["cora"]).rows]

    for table in ("transductive", "inductive"):
        expected = [
            row.title
            for row in ROWS.values()
            if row.name in TABLES[table][0] and find_experiment(row.name, "cora", table)
        ]
        assert titles(table) == expected
    mine = "experiment_runs:Drawn"
    assert titles("transductive", [mine, "gcn", "gate"]) == ["GATE", "GCN", mine]
    both = titles("formulations")
    assert [title for title in both if title.startswith("GATE, the paper's text")] == [
        *("GATE, the paper's text, transductive", "GATE, the paper's text, inductive"),
    ]


def test_the_experiments_of_a_table():
    cells = table_experiments("transductive", table_rows("transductive"), ["citeseer", "cora"])
    assert {of.setting for of in cells} == {"transductive"}
    gate = [of.dataset for of in cells if of.method == "gate"]
    assert gate == ["citeseer", "cora"]
    assert "gate-paper" not in {of.method for of in cells}
    mine = table_experiments("inductive", ["a.b:C"], ["pubmed"])
    assert [(of.method, of.setting, of.n_runs) for of in mine] == [("a.b:C", "inductive", 5)]


@pytest.mark.parametrize(
    ("table", "methods", "datasets", "words"),
    [
        ("table 2", None, ["cora"], "unknown table 'table 2'; use one of transductive, ind"),
        ("transductive", ["gcnn"], ["cora"], "unknown method 'gcnn'; use one of linear, "),
        ("transductive", ["gcn", ""], ["cora"], "unknown method ''"),
        ("transductive", ["gcn"], ["ogbn"], "unknown dataset 'ogbn'"),
        ("transductive", ["a:B"], ["ogbn"], "unknown dataset 'ogbn'"),
        ("transductive", None, ["ogbn"], "unknown dataset 'ogbn'"),
        ("inductive", ["gat", "gcn"], ["cora"], "'inductive' has no cells for 'gcn'"),
    ],
)
def test_unknown_tables_methods_and_datasets(table, methods, datasets, words):
    with pytest.raises(InputError, match=words):
        graphgate.reproduce(table, methods=methods, datasets=datasets, run=False)


OWN = '''
import os
import time
import numpy as np


class Sketch:
    """Random directions of the features; sleeps, so that a run takes a while."""

    def __init__(self, size=6, pause=0.0, random_state=0):
        self.size, self.pause, self.random_state = size, pause, random_state

    def fit(self, graph):
        time.sleep(self.pause)
        rng = np.random.default_rng(self.random_state)
        self.embedding_ = graph.x @ rng.normal(size=(graph.n_features, self.size))
        return self

    def transform(self, graph):
        return self.fit(graph).embedding_


class Slow(Sketch):
    def __init__(self, random_state=0):
        super().__init__(pause=float(os.environ["PAUSE"]), random_state=random_state)


class Broken(Sketch):
    def fit(self, graph):
        raise ZeroDivisionError("one over none")
'''


@pytest.fixture
def module(tmp_path, monkeypatch) -> str:
    """The name of a module of one's own, which is on the path."""
    name = f"own_{uuid.uuid4().hex}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def reproduce(method: str, runs: int = 3) -> list[str]:
    return [
        *("reproduce", "transductive", "--methods", method, "--datasets", "citeseer"),
        *("--runs", str(runs), "--results", "."),
    ]


PROMISED = {"method", "dataset", "setting", "runs", "mean", "std", "paper", "split", "versions"}


def test_reproduce_runs_and_reports(run, module):
    wanted = reproduce(f"{module}:Sketch")
    code, out, err = run(*wanted, "--jobs", "1", "--json", "cells.json")
    assert (code, err) == (0, "")
    assert out == "3 new runs; all runs are in runs\nwrote cells.json\n"
    lines = stored_lines()
    assert len(lines) == 3
    (found,) = json.loads(Path("cells.json").read_text("utf-8"))
    assert set(found) >= PROMISED
    assert (found["method"], found["dataset"]) == (f"{module}:Sketch", "citeseer")
    assert (found["setting"], found["split"], found["paper"]) == ("transductive", "public", None)
    assert [one["seed"] for one in found["runs"]] == [0, 1, 2]
    values = [one["accuracy"] for one in found["runs"]]
    assert len(set(values)) > 1
    assert found["mean"] == pytest.approx(np.mean(values), abs=1e-4)
    assert found["std"] == pytest.approx(np.std(values, ddof=1), abs=1e-4)

    assert run(*wanted, "--jobs", "1")[:2] == (0, "0 new runs; all runs are in runs\n")
    code, out, err = run(*wanted, "--report", "--json", "again.json")
    assert code == 0, err
    assert Path("again.json").read_bytes() == Path("cells.json").read_bytes()
    assert stored_lines() == lines
    assert sorted(os.listdir("tables")) == [f"transductive.{end}" for end in ("json", "md", "tex")]
    shown = Path("tables/transductive.md").read_text("utf-8")
    assert out == f"{shown}wrote again.json\n"
    assert f"{found['mean']:.1f} ± {found['std']:.1f} (3)" in out
    assert r"\begin{tabular}" in Path("tables/transductive.tex").read_text("utf-8")
    assert json.loads(Path("tables/transductive.json").read_text("utf-8")) == [found]


@pytest.mark.parametrize("table", ["clustering", "links"])
def test_clustering_and_links_are_run_stored_and_reported(run, module, table):
    wanted = [
        *("reproduce", table, "--methods", f"{module}:Sketch", "--datasets", "citeseer"),
        *("--runs", "2", "--results", ".", "--jobs", "1", "--json", "cells.json"),
    ]
    for new in (2, 0):
        assert run(*wanted)[1] == f"{new} new runs; all runs are in runs\nwrote cells.json\n"
    (found,) = json.loads(Path("cells.json").read_text("utf-8"))
    names = {"clustering": ["nmi", "ari", "accuracy"], "links": ["auc", "ap"]}[table]
    assert list(found["metrics"]) == names
    experiment = find_experiment(f"{module}:Sketch", "citeseer", table)
    again = RunSpec.of(experiment, "public", {}, 1).run(load_dataset("citeseer"))
    assert {name: found["runs"][1][name] for name in names} == {
        name: again.metrics[name] for name in names
    }
    wanted[wanted.index("--jobs") : wanted.index("--jobs") + 2] = ["--report"]
    code, out, err = run(*wanted)
    assert code == 0, err
    assert f"{found['mean']:.1f} ± {found['std']:.1f} (2)" in out


def test_reproduce_in_python(module):
    given = {"methods": [f"{module}:Sketch"], "datasets": ["citeseer"], "n_runs": 2, "n_jobs": 1}
    table = graphgate.reproduce("transductive", results="kept", progress=False, **given)
    assert table.n_new == 2
    assert graphgate.reproduce("transductive", results="kept", **given).n_new == 0
    (cell,) = table.cells()
    found = graphgate.evaluate(f"{module}:Sketch", "citeseer", n_runs=2, n_jobs=1, progress=False)
    assert cell.evaluation.values() == found.values()
    table.save("kept/tables", "mine")
    assert Path("kept/tables/mine.md").read_text("utf-8") == table.markdown() + "\n"


def test_every_stored_file_is_read_once(module, monkeypatch):
    given = {"methods": [f"{module}:Sketch"], "datasets": ["citeseer"], "results": "."}
    graphgate.reproduce("transductive", n_runs=3, n_jobs=1, **given)
    read = []
    monkeypatch.setattr(
        run_store, "complete_lines", lambda path: read.append(path) or complete_lines(path)
    )
    table = graphgate.reproduce("transductive", n_runs=3, n_jobs=1, **given)
    assert (table.n_new, len(table.to_list()), table.markdown().count("(3)")) == (0, 1, 1)
    assert read == files()


@pytest.mark.parametrize("run", [True, False])
def test_no_dataset_is_loaded_where_nothing_is_missing(module, monkeypatch, run):
    given = {"methods": [f"{module}:Sketch"], "datasets": ["citeseer"], "results": "."}
    graphgate.reproduce("transductive", n_runs=1, n_jobs=1, **given)
    monkeypatch.setattr(run_store, "load_dataset", lambda *_: pytest.fail("loaded"))
    run_store.named_dataset.cache_clear()
    assert graphgate.reproduce("transductive", n_runs=1, run=run, **given).n_new == 0


CHANGED = OWN.replace("(self.random_state)", "(self.random_state + 99)")


def new_runs(run, wanted: list[str]) -> int:
    code, out, err = run(*wanted, "--jobs", "1")
    assert code == 0, err
    return int(out.split()[0])


def forget(module: str) -> None:
    """As in a new process."""
    sys.modules.pop(module, None)


def test_runs_of_changed_code_are_other_runs(run, module, tmp_path):
    wanted, file = reproduce(f"{module}:Sketch"), tmp_path / f"{module}.py"
    assert new_runs(run, wanted) == 3
    first = stored_lines()
    file.write_text(CHANGED)
    assert new_runs(run, wanted) == 0  # the code that was imported is that of the stored runs
    forget(module)
    assert new_runs(run, wanted) == 3
    assert new_runs(run, wanted) == 0
    assert stored_lines()[:3] == first
    values = [
        sorted(json.loads(line)["run"]["accuracy"] for line in stored_lines()[i : i + 3])
        for i in (0, 3)
    ]
    assert values[0] != values[1]
    file.write_text(OWN)
    forget(module)
    assert new_runs(run, wanted) == 0


def test_the_source_is_part_of_the_key_of_user_methods_only(module):
    for method, keyed in ((f"{module}:Sketch", True), ("gcn", False)):
        spec = RunSpec.of(Experiment(method, "cora", "transductive"), "public", {}, 0)
        assert ("code" in spec.fields()) == keyed


def test_code_that_changes_during_the_runs_is_refused(module, tmp_path):
    spec = RunSpec.of(Experiment(f"{module}:Sketch", "cora", "transductive"), "public", {}, 0)
    (tmp_path / f"{module}.py").write_text(CHANGED)
    forget(module)  # as in a process that begins its first run now
    with pytest.raises(InputError, match="has changed since the runs began"):
        spec.run()


def test_a_report_without_runs(run, module):
    code, out, _ = run(*reproduce(f"{module}:Sketch"), "--report", "--json", "none.json")
    assert code == 0
    assert "| — | — | — |" in out
    assert json.loads(Path("none.json").read_text("utf-8")) == []


def test_a_report_runs_nothing(run, monkeypatch):
    monkeypatch.setattr(RunSpec, "run", lambda self: pytest.fail("ran"))
    for table in TABLES:
        code, out, err = run("reproduce", table, "--report", "--results", "new/folder")
        assert code == 0, err
        assert ("No runs are stored." if table == "quality" else "| GATE") in out


@pytest.mark.parametrize("table", ["quality", "edges"])
def test_a_report_writes_json(run, table):
    """To a file, and to standard output, where there is nothing else then."""
    wanted = ["reproduce", table, "--report", "--datasets", "cora", "--results", "kept"]
    spec = RunSpec.of(find_experiment("deepwalk", "cora", "transductive"), "public", {}, 0)
    if table == "quality":
        experiment = find_experiment("linear", "cora", "quality")
        spec = RunSpec.of(experiment, "public", experiment.params, 0)
    metrics = dict.fromkeys(SETTINGS[spec.setting].all, 50.0)
    params = find_experiment(spec.method, "cora", spec.setting).params
    RunStore("kept/runs").add(
        dataclasses.replace(spec, params=params), RunResult(0, metrics, 1.0, 1.0, 1)
    )
    code, out, err = run(*wanted, "--json", "cells.json")
    assert code == 0, err
    (found,) = json.loads(Path("cells.json").read_text("utf-8"))
    assert (found["method"], found["mean"]) == (spec.method, 50.0)
    assert Path("kept/tables", f"{table}.json").exists()
    code, out, err = run(*wanted, "--json", "-")
    assert code == 0, err
    assert json.loads(out) == [found]


def test_a_seeded_split_is_mentioned(run, module):
    arguments = reproduce(f"{module}:Sketch", runs=1)
    arguments[arguments.index("citeseer")] = "cora"
    code, _, err = run(*arguments, "--jobs", "1")
    assert code == 0
    assert "cora: a seeded split of the same sizes, not the public split" in err


def test_reproduce_on_random_splits(run, module):
    wanted = [*reproduce(f"{module}:Sketch", runs=2), "--split", "random", "--json", "r.json"]
    assert run(*wanted, "--jobs", "1")[0] == 0
    (found,) = json.loads(Path("r.json").read_text("utf-8"))
    assert found["split"] == "random"
    assert run(*reproduce(f"{module}:Sketch", runs=2), "--jobs", "1")[1].startswith("2 new runs")


def test_a_failing_user_method(run, module):
    wanted = reproduce(f"{module}:Broken,{module}:Sketch", runs=2)
    code, out, err = run(*wanted, "--jobs", "1")
    assert (code, out) == (2, "")
    assert err.startswith(
        "graphgate: 2 of 4 runs failed (the others are stored); the first error: "
    )
    assert "ZeroDivisionError: one over none" in err
    assert err.count("\n") == 1
    assert len(stored_lines()) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tables"], "unknown table 'tables'"),
        (["transductive", "--methods", "gcnn"], "unknown method 'gcnn'"),
        (["transductive", "--methods", "gcn,"], "unknown method ''"),
        (["transductive", "--datasets", "ogbn"], "unknown dataset 'ogbn'"),
        (["transductive", "--datasets", ""], "unknown dataset ''"),
        (
            ["transductive", "--split", "mine"],
            "unknown split 'mine'; use one of random, public, seeded",
        ),
        (["inductive", "--methods", "gcn"], "has no cells for 'gcn'"),
        (
            ["transductive", "--graphs", ".."],
            "is of the citation graphs; omit graphs",
        ),
        (["links", "--split", "random"], "the table 'links' has no choice of a split; omit split"),
        (["quality", "--split", "public"], "'quality' has no choice of a split; omit split"),
        (["transductive", "--report"], "--report runs nothing; omit --jobs"),
        (["transductive", "--json", "no/out.json"], "no does not exist"),
        (["transductive", "--json", "out.txt"], "must end in .json"),
        (["transductive", "--methods", "no_such_module:Class"], "No module named 'no_such_module'"),
        (["transductive", "--methods", "json:NoSuchClass"], "there is no 'NoSuchClass' in the mod"),
        (["transductive", "--methods", "json:loads"], "'json:loads' cannot be created"),
        (["transductive", "--methods", ":"], "unknown method ':'"),
        (["transductive", "--methods", ":Class"], "unknown method ':Class'"),
        (["transductive", "--methods", "json:"], "unknown method 'json:'"),
        (["transductive", "--methods", ".json:Class"], "unknown method '.json:Class'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_arguments_of_reproduce(run, arguments, words):
    quick = ["--runs", "1", "--jobs", "1", "--results", "."]
    if "--datasets" not in arguments:
        quick += ["--datasets", "citeseer"]
    code, out, err = run("reproduce", *arguments, *quick)
    assert (code, out) == (2, ""), err
    assert err.startswith("graphgate: ")
    assert err.count("\n") == 1
    assert words in err
    assert files() == []


def test_a_report_prefers_runs_on_the_public_split(run, module):
    """Cora is here with its seeded split; the runs on the public one were made elsewhere."""
    mine = Experiment(f"{module}:Sketch", "cora", "transductive")
    grid = grid_of(mine)
    wanted = ["reproduce", "transductive", "--methods", mine.method, "--datasets", "cora"]
    wanted += ["--results", ".", "--report", "--json", "out.json"]
    for split, value in (("seeded", 60.0), ("public", 70.0)):
        grid.store.add(RunSpec.of(mine, split, {}, 0), a_run(value, seed=0))
        code, _, err = run(*wanted)
        assert code == 0, err
        (found,) = json.loads(Path("out.json").read_text("utf-8"))
        assert (found["split"], found["mean"]) == (split, value)
        assert ("not the public split" in err) == (split == "seeded")
    run(*wanted, "--split", "seeded")
    (found,) = json.loads(Path("out.json").read_text("utf-8"))
    assert (found["split"], found["mean"]) == ("seeded", 60.0)


def test_what_is_run_has_the_split_that_is_available(module):
    """Only a report prefers the public split, which cannot be run here."""
    mine = Experiment(f"{module}:Sketch", "cora", "transductive")
    grid_of(mine).store.add(RunSpec.of(mine, "public", {}, 0), a_run(70.0, seed=0))
    options = {"methods": [mine.method], "datasets": ["cora"], "results": ".", "progress": False}
    made = graphgate.reproduce("transductive", n_runs=1, n_jobs=1, **options)
    (cell,) = made.cells()
    assert cell.evaluation.spec.split == "seeded"


@pytest.mark.parametrize("name", ["", "runs", "tables"])
def test_a_file_where_the_folder_should_be(run, module, name):
    Path("kept").mkdir()
    if not name:
        Path("kept").rmdir()
    Path("kept", name).write_text("a file")
    arguments = reproduce(f"{module}:Sketch", runs=1)
    arguments[-1] = "kept"
    for more in (["--jobs", "1"], ["--report"]):
        code, _, err = run(*arguments, *more)
        if name == "tables" and "--report" not in more:
            assert code == 0
            continue
        assert code == 2
        assert err.startswith("graphgate: ")
        assert "kept" in err
        assert err.count("\n") == 1


def test_a_damaged_run_is_reported_in_one_line(run, module):
    run(*reproduce(f"{module}:Sketch", runs=2), "--jobs", "1")
    (file,) = files()
    file.write_bytes(file.read_bytes() + b"{\n")
    for more in ([], ["--report"]):
        code, _, err = run(*reproduce(f"{module}:Sketch", runs=2), *more)
        assert (code, err) == (
            2,
            f"graphgate: line 3 of {file} is not a run of its method and dataset; remove it\n",
        )


@pytest.mark.parametrize("more", [["--runs", "0"], ["--jobs", "0"], ["--speed", "3"]], ids=" ".join)
def test_usage_errors_of_reproduce(run, more):
    code, out, err = run("reproduce", "transductive", *more)
    assert (code, out) == (2, "")
    assert err.startswith("graphgate: ")
    assert err.endswith(" --help`\n")
    assert err.count("\n") == 1


def evaluated(run, module: str, *more: str) -> dict:
    code, _, err = run(
        *("evaluate", "--dataset", "citeseer", "--method", f"{module}:Sketch", "--runs", "2"),
        *("--jobs", "1", "--json", "out.json", *more),
    )
    assert code == 0, err
    return json.loads(Path("out.json").read_text("utf-8"))


def test_parameters_on_the_command_line(run, module):
    plain = evaluated(run, module)
    assert plain["params"] == {}
    found = evaluated(run, module, "--set", "size=1", "--set", "pause=0.0")
    assert found["params"] == {"size": 1, "pause": 0.0}
    assert isinstance(found["params"]["size"], int)
    assert found["mean"] < plain["mean"]
    assert evaluated(run, module, "--set", "size=6")["mean"] == plain["mean"]
    run(*reproduce(f"{module}:Sketch", runs=2), "--jobs", "1", "--json", "r.json")
    (same,) = json.loads(Path("r.json").read_text("utf-8"))
    assert same["mean"] == plain["mean"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("1e-3", 1e-3),
        ("true", True),
        ("[25, 10]", [25, 10]),
        ('"mean"', "mean"),
        ("mean", "mean"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_values_of_set(text, value):
    found = parse_params([f"name={text}"])
    assert found == {"name": value}
    assert type(found["name"]) is type(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("size", "--set takes NAME=VALUE, got 'size'"),
        ("=3", "--set takes NAME=VALUE, got '=3'"),
        ("speed=3", "unexpected keyword argument 'speed'"),
        ("random_state=3", "cannot be created"),
    ],
)
def test_wrong_values_of_set(run, module, text, words):
    code, _, err = run(
        *("evaluate", "--dataset", "citeseer", "--method", f"{module}:Sketch", "--set", text),
        *("--jobs", "1"),
    )
    assert code == 2
    assert err.count("\n") == 1
    assert words in err


MARK = "GRAPHGATE_TEST_MARK"


RUNS = 10
# How often `reproduce` is killed; every time takes seconds.
KILLS = int(os.environ.get("GRAPHGATE_TEST_KILLS", "1"))


def marked(mark: str) -> list[int]:
    """Processes that were started with this mark, directly or by one another."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def wait_for(condition, process: subprocess.Popen | None = None) -> None:
    deadline = time.monotonic() + 200
    while not condition() and (process is None or process.poll() is None):
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")
def test_killed_it_ends_with_the_same_table(run, module, tmp_path, monkeypatch):
    wanted = [*reproduce(f"{module}:Slow", runs=RUNS), "--jobs", "2"]
    mark = uuid.uuid4().hex
    environment = os.environ | {MARK: mark, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment["PAUSE"] = "0.3"
    moments: list[float] = []

    def start() -> subprocess.Popen:
        program = [sys.executable, "-m", "graphgate", *wanted]
        with (tmp_path / "log").open("a") as log:
            return subprocess.Popen(program, env=environment, stdout=log, stderr=log)

    def kill(process: subprocess.Popen, latest: float) -> None:
        moments.append(random.uniform(0, latest))
        moment = time.monotonic() + moments[-1]
        wait_for(lambda: time.monotonic() > moment, process)
        process.kill()  # it alone: its children have to notice
        assert process.wait() == -signal.SIGKILL, log_of(tmp_path)

    try:
        # The last one after half of the runs, the first of several at any moment of the start.
        for enough in np.linspace(RUNS // 2, 0, KILLS)[::-1]:
            process = start()
            wait_for(lambda: len(stored_lines()) >= enough, process)  # noqa: B023
            kill(process, 0.3 if enough else 3.0)
        wait_for(lambda: not marked(mark))  # what its children began they may finish
        before = stored_lines()
        assert len(before) >= RUNS // 2, moments
        process = start()
        assert process.wait(timeout=120) == 0, log_of(tmp_path)
        wait_for(lambda: not marked(mark))
    finally:
        for number in marked(mark):
            os.kill(number, signal.SIGKILL)
    assert f"{RUNS - len(before)} new runs; all runs are in runs\n" in log_of(tmp_path), moments
    assert len(stored_lines()) == RUNS
    assert stored_lines()[: len(before)] == before  # not one was made again

    def table(results: str) -> tuple[list, str]:
        code, out, err = run(*wanted[:-3], results, "--report", "--json", "table.json")
        assert code == 0, err
        (found,) = json.loads(Path("table.json").read_text("utf-8"))
        return [(one["seed"], one["accuracy"], one["macro_f1"]) for one in found["runs"]], out

    monkeypatch.setenv("PAUSE", "0")
    assert run(*wanted[:-3], "undisturbed", "--jobs", "1")[0] == 0
    runs, text = table(".")
    assert (runs, text) == table("undisturbed")
    assert [seed for seed, *_ in runs] == list(range(RUNS))
    assert len({accuracy for _, accuracy, _ in runs}) > 1


INTERRUPTIBLE = """
import signal, sys
from graphgate.__main__ import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests run
sys.argv[0] = "graphgate"
main()
"""


@pytest.mark.slow
def test_ctrl_c_ends_all_processes_and_prints_nothing_more(module):
    wanted = [*reproduce(f"{module}:Slow", runs=RUNS), "--jobs", "2"]
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *wanted],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PAUSE": "0.3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        wait_for(lambda: stored_lines() or process.poll() is not None)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of them
        printed, _ = process.communicate(timeout=60)  # until the last of them has ended
    finally:
        process.kill()
    assert (process.returncode, printed) == (130, "interrupted\n")
    assert 1 <= len(stored_lines()) < RUNS


def log_of(folder: Path) -> str:
    return (folder / "log").read_text("utf-8")
