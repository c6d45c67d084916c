"""README and docs say what the stored results say, and their code runs."""

import importlib.util
import json
import re
from pathlib import Path
from textwrap import dedent

import pytest

from graphgate import load_dataset
from graphgate.experiments.protocol import Run, Task
from graphgate.experiments.runner import Grid
from graphgate.experiments.scores import SCORES
from graphgate.experiments.table import TABLES, experiments_of
from graphgate.experiments.trial import Results, Trial

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def render():
    spec = importlib.util.spec_from_file_location("render", ROOT / "scripts/render_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tables(render):
    return render.tables()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_those_of_the_results(page, render, tables):
    text = page.read_text(encoding="utf-8")
    assert render.rendered(text, tables) == text, "run `make docs`"
    wanted = set(re.findall(r"<!-- table:(\w+) -->", text))
    assert wanted <= tables.keys()


def test_only_marked_text_is_replaced(render):
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


def test_stored_runs_are_where_their_content_says():
    files = sorted((ROOT / "results/runs").rglob("*.json"))
    for file in files:
        content = json.loads(file.read_text(encoding="utf-8"))
        run, versions = content.pop("run"), content.pop("versions")
        trial = Trial(**content | {"unseen": tuple(content["unseen"])})
        assert ROOT / "results/runs" / trial.file == file
        assert run["seed"] == trial.seed
        scores = Run.from_dict(run, trial.setting).metrics
        assert all(value is None or -100 <= value <= 100 for value in scores.values())
        assert scores[SCORES[trial.setting].shown[0]] > 0
        assert versions["graphgate"]


def test_every_stored_run_counts(render):
    """In a table, or in the sweep that chose its settings."""
    runs = Results(ROOT / "results/runs")
    counted = set()
    for table in TABLES:
        cells = experiments_of(table, None, render.DATASETS)
        grid = Grid(cells, runs, dict.fromkeys(render.DATASETS, "public"))
        trials = [*grid.sweep_trials(), *grid.table_trials()]
        counted |= {runs.folder / trial.file for trial in trials}
    assert set(runs.folder.rglob("*.json")) <= counted


def test_results_name_no_place_of_a_machine():
    for file in (ROOT / "results").rglob("*.json"):
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
    task = Task(found["TwoHopMean"], dataset.graph, "inductive", ("test",), "one-vs-rest")
    assert task.run(0).metrics["accuracy"] > 60


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
    assert "epochs=100" in code
    monkeypatch.chdir(tmp_path)
    exec(code.replace("epochs=100", "epochs=1"), {})
    assert (tmp_path / "citeseer.safetensors").exists()
