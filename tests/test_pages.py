"""README and docs say what the stored results say, and their code runs."""

import json
import re
from pathlib import Path
from textwrap import dedent

import pytest

from graphgate import load_dataset
from graphgate.io.files import complete_lines
from graphgate.paper.experiments.experiment import SETTINGS
from graphgate.paper.experiments.protocol import RunResult, run_classification
from graphgate.paper.experiments.reproduce import TABLES, reproduce
from graphgate.paper.experiments.run_store import RunSpec
from scripts import render_tables as render

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/tutorials").glob("*.md")),
]


@pytest.fixture(scope="module")
def tables():
    return render.tables()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_those_of_the_results(page, tables):
    text = page.read_text(encoding="utf-8")
    assert render.rendered(text, tables) == text, "run `make docs`"
    wanted = set(re.findall(r"<!-- table:(\w+) -->", text))
    assert wanted <= tables.keys()


def test_only_marked_text_is_replaced():
    text = "a\n<!-- table:one -->\nold\n<!-- /table -->\nb\n<!-- table:two -->\n<!-- /table -->\n"
    after = render.rendered(text, {"one": "new"})
    assert after == text.replace("old", "new")
    assert render.rendered(after, {"one": "new"}) == after


@pytest.mark.parametrize(
    "file", sorted((ROOT / "results/benchmarks").glob("*.json")), ids=lambda f: f.stem
)
def test_benchmarks_name_how_they_were_made(file):
    result = json.loads(file.read_text(encoding="utf-8"))
    assert {"command", "versions"} <= result.keys()


STORED = sorted((ROOT / "results/runs").rglob("*.jsonl"))


def test_every_stored_run_counts():
    """In a table, or in the sweep that chose its settings; once, and with what made it."""
    counted = set()
    for table, methods in [*((table, None) for table in TABLES), ("transductive", render.NEWER)]:
        found = reproduce(table, methods=methods, results=ROOT / "results", run=False)
        specs = [*found.grid.first_specs(), *found.grid.table_specs()]
        counted |= {spec.key for spec in specs}
    keys = set()
    for file in STORED:
        for content in map(json.loads, complete_lines(file)):
            run, versions = content.pop("run"), content.pop("versions")
            spec = RunSpec(**content | {"unseen": tuple(content["unseen"])})
            assert ROOT / "results/runs" / spec.file == file
            assert spec.key not in keys
            keys.add(spec.key)
            result = RunResult.from_dict(run, spec.setting)
            assert result.seed == spec.seed
            assert all(value is None or -100 <= value <= 100 for value in result.metrics.values())
            assert result.stopped or result.metrics[SETTINGS[spec.setting].main] > 0
            assert versions["graphgate"]
    assert keys <= counted


def test_results_name_no_place_of_a_machine():
    for file in (ROOT / "results").rglob("*.json*"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"(?<![.\w])/(home|root|work|tmp|Users)/", text), file


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_method_of_the_docs_runs(tmp_path, monkeypatch):
    text = (ROOT / "docs/reproduce.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    found: dict = {}
    exec(code, found)
    dataset = load_dataset("citeseer")
    method = found["TwoHopMean"](random_state=0)
    run = run_classification(
        method, dataset.graph, "inductive", unseen=("test",), probe="one-vs-rest", seed=0
    )
    assert run.metrics["accuracy"] > 60


def test_the_graphs_of_the_docs_are_read(tmp_path, monkeypatch, capsys):
    """The tables, the code and what it prints stand on the page."""
    text = (ROOT / "docs/graphs.md").read_text(encoding="utf-8")
    blocks = [dedent(block) for block in re.findall(r"(?:^    .*\n)+", text, flags=re.MULTILINE)]
    tables = [block for block in blocks if block.startswith(("id,", "source,"))]
    monkeypatch.chdir(tmp_path)
    for name, table in zip(("people.csv", "friends.csv"), tables, strict=True):
        Path(name).write_text(table)
    (printed,) = [block for block in blocks if block.startswith("Attributes(")]
    found: dict = {}
    for code in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(code, found)
    assert capsys.readouterr().out == printed
    assert found["graph"].n_edges == 4


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    found: dict = {}
    exec(code, found)
    assert found["embedding"].vectors.shape == (3327, 128)
    assert found["near"].neighbors.shape == (1, 10)
    assert len(found["groups"].sizes) == 6
    assert len(found["pairs"]) == len(found["probabilities"]) == 10
    assert (tmp_path / "citeseer.safetensors").exists()
