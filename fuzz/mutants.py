"""Put one-line bugs into a copy of the package, one at a time, and see which test notices.

    python fuzz/mutants.py --json results/mutants.json

Bugs that the file says were noticed are not tried again. They are made by hand, in the runner and
in readers whose bugs once went unnoticed. A bug that no test notices is a missing test, or changes
nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from graphgate.io.files import write_json
from graphgate.io.provenance import versions

ROOT = Path(__file__).parents[1]
RUNS, STORE = "estimators/runs.py", "experiments/run_store.py"
GRID, REPRODUCE = "experiments/grid.py", "experiments/reproduce.py"
MATRICES, WORD2VEC = "io/matrices.py", "io/word2vec.py"
TESTS = {
    RUNS: ("runs",),
    STORE: ("run_store", "grid"),
    GRID: ("grid",),
    REPRODUCE: ("reproduce",),
    MATRICES: ("matrices",),
    WORD2VEC: ("embeddings", "hostile_files"),
}


class Bug(NamedTuple):
    """A text of a file, what replaces it, and why that changes nothing, if it does not."""

    file: str
    text: str
    bug: str
    harmless: str = ""


BUGS = (
    Bug(RUNS, 'if history.stopped == "interrupted":', "if False:"),
    Bug(RUNS, "max(1, len(history))", "len(history) + 1"),
    Bug(RUNS, "os.path.relpath(path, target)", "str(path)"),
    Bug(RUNS, 'kept | {"random_state": gate.seed_}', "kept"),
    Bug(RUNS, "torch.get_num_threads() if threads is None else threads", "1"),
    Bug(RUNS, "str(values.dtype).encode() + values.tobytes()", "values.tobytes()"),
    Bug(RUNS, '"gate" if isinstance(gate, GATE) else "linear"', '"gate"'),
    Bug(RUNS, "values[-1] for name, values", "values[0] for name, values"),
    Bug(RUNS, 'not stored["inputs"].keys() <= {"edges", "nodes"}', "False"),
    Bug(RUNS, '1 <= stored["threads"] <= _MOST_THREADS', '0 <= stored["threads"] <= 10**9'),
    Bug(RUNS, 'settings["epochs"] > most', 'settings["epochs"] > 10 * most'),
    Bug(RUNS, "settings.keys() != known or not plain", "settings.keys() != known"),
    Bug(RUNS, "if not path.is_file():", "if not path.exists():"),
    Bug(RUNS, "if not force:", "if True:"),
    Bug(RUNS, "torch.set_num_threads(record.threads)", "pass"),
    Bug(RUNS, "torch.set_num_threads(threads)", "pass"),
    Bug(RUNS, "name not in record.inputs or file_sha256", "file_sha256"),
    Bug(RUNS, "**options.to_dict())", ")"),
    Bug(STORE, 'experiment.unseen if experiment.setting == "inductive" else ()', "()"),
    Bug(STORE, "if known.code() != self.code:", "if False:"),
    Bug(STORE, "random_split(graph.labels, self.seed)", "random_split(graph.labels, 0)"),
    Bug(STORE, "elif self.split != dataset.split:", "elif False:"),
    Bug(
        STORE, "graph = dataset.graph if known.features else", "graph = dataset.graph if True else"
    ),
    Bug(STORE, "sort_keys=True", "sort_keys=False"),
    Bug(STORE, "!= spec.fields():", "== spec.fields():"),
    Bug(STORE, "if path not in self._known:", "if True:"),
    Bug(STORE, "self._known[path] = result", "pass"),
    Bug(STORE, "            except FileNotFoundError:\n                return None\n", ""),
    Bug(STORE, 'r"[^\\w.-]+"', 'r"[^\\w./-]+"'),
    Bug(GRID, "scores.index(max(scores))", "scores.index(min(scores))"),
    Bug(GRID, "if len(scores) == len(specs) else None", "if scores else None"),
    Bug(GRID, "range(self.n_runs or experiment.n_runs)", "range(experiment.n_runs)"),
    Bug(GRID, "{spec.file: spec for spec in specs}", "dict(enumerate(specs))"),
    Bug(GRID, "if self.store.find(spec) is None]", "]"),
    Bug(GRID, "grid.store.add(spec, outcome)", "pass"),
    Bug(GRID, "n_new += 1", "n_new += 2"),
    Bug(GRID, "except Exception as error:", "except InputError as error:"),
    Bug(GRID, "(grid.sweep_specs, grid.table_specs)", "(grid.table_specs, grid.sweep_specs)"),
    Bug(GRID, "the first error: {failures[0]}", "the first error: {failures[-1]}"),
    Bug(REPRODUCE, "split not in _SPLITS", "False"),
    Bug(REPRODUCE, "if split is None and not run:", "if split is None:"),
    Bug(REPRODUCE, "if table not in TABLES:", "if False:"),
    Bug(REPRODUCE, "else len(order))", "else 0)"),
    Bug(REPRODUCE, "ResultsTable(grid, datasets, n_new)", "ResultsTable(grid, datasets)"),
    Bug(REPRODUCE, "if methods and not any(", "if False and not any("),
    Bug(MATRICES, "row = column - offsets", "row = column + offsets"),
    Bug(MATRICES, "(row >= 0) & (row < shape[0])", "(row < shape[0])"),
    Bug(MATRICES, "(row >= 0) & (row < shape[0])", "(row >= 0)"),
    Bug(MATRICES, "& (column < shape[1]) & (data != 0)", "& (data != 0)"),
    Bug(MATRICES, "(column < shape[1]) & (data != 0)", "(column < shape[1])"),
    Bug(MATRICES, "len(set(offsets.tolist())) < len(offsets)", "False"),
    Bug(MATRICES, "data.ndim != 2 or len(data) != len(offsets)", "len(data) != len(offsets)"),
    Bug(MATRICES, "at.row[block] * data.shape[1] + i", "at.row[block] * data.shape[2] + i"),
    Bug(MATRICES, "shape[1] % data.shape[2]", "shape[0] % data.shape[1]"),
    Bug(MATRICES, "or ends[-1] != len(indices)", ""),
    Bug(WORD2VEC, "n * (2 * d + 1) > size", "n * (d + 1) > size"),
    Bug(WORD2VEC, "n * (2 * d + 1) > size", "n * (2 * d + 2) > size"),
    Bug(WORD2VEC, "min(n, d) < 1 or ", ""),
    Bug(WORD2VEC, "check_columns(str(path), d)", "pass"),
    Bug(
        WORD2VEC,
        "file.seek(len(head) + 1)",
        "file.seek(len(head))",
        "Arrow skips the empty line",
    ),
    Bug(WORD2VEC, "if len(table) != n:", "if len(table) < n:"),
    Bug(WORD2VEC, "strings_can_be_null=False", "strings_can_be_null=True"),
    Bug(WORD2VEC, "quote_char=False", "quote_char='\"'"),
    Bug(WORD2VEC, "not all(part.isdigit() for part in parts)", "False"),
)


def noticed_by(bug: Bug, folder: Path) -> str | None:
    """The first test that fails with a bug in the package in this folder; None if none does."""
    path = folder / "graphgate" / bug.file
    good = path.read_text("utf-8")
    assert bug.text in good, bug
    path.write_text(good.replace(bug.text, bug.bug, 1), "utf-8")
    tests = [f"tests/test_{name}.py" for name in TESTS[bug.file]]
    options = ["-q", "-x", "-p", "no:cacheprovider", "--tb=no", "-o", "timeout=120"]
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", *options, *tests],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    path.write_text(good, "utf-8")
    lines = done.stdout.splitlines()
    failed = [line.split(" ")[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    assert done.returncode in (0, 1, 2), done.stdout + done.stderr
    return failed[0].removeprefix("tests/") if failed else None


def line_of(bug: Bug) -> int:
    text = (ROOT / "graphgate" / bug.file).read_text("utf-8")
    return text[: text.index(bug.text)].count("\n") + 1


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--json", type=Path, required=True)
    path = given.parse_args().json
    before = json.loads(path.read_text("utf-8"))["bugs"] if path.exists() else []
    known = {(row["file"], row["text"], row["bug"]): row for row in before}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("graphgate", "tests", "fuzz", "pyproject.toml"):
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, copy / name)
        for bug in BUGS:
            row = known.get(bug[:3], {"test": None, "survived_at_first": False})
            if row["test"] is None:
                survived = bug[:3] in known
                row = {"test": noticed_by(bug, copy), "survived_at_first": survived}
                print(f"{bug.file}:{line_of(bug)} {bug.bug!r}: {row['test']}", flush=True)
            rows.append({**bug._asdict(), "line": line_of(bug)} | _outcome(row))
    command = "python fuzz/mutants.py --json results/mutants.json"
    write_json(path, {"command": command, "bugs": rows, "versions": versions()})


def _outcome(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("test", "survived_at_first")}


if __name__ == "__main__":
    main()
