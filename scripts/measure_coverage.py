"""Measure the branch coverage of readers, tensor files and runner by their own tests.

    python -m scripts.measure_coverage --json results/coverage.json

needs coverage.py. Branches count that were taken, of those there are; lines likewise.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from graphgate.io.files import write_json
from graphgate.io.provenance import versions

ROOT = Path(__file__).parents[1]
MODULES = (
    "graphgate/io/*",
    "graphgate/datasets/archives.py",
    "graphgate/datasets/unpickler.py",
    "graphgate/estimators/runs.py",
    "graphgate/paper/experiments/grid.py",
    "graphgate/paper/experiments/reproduce.py",
    "graphgate/paper/experiments/run_store.py",
)
TESTS = (
    *("archives", "csv_reader", "embeddings", "escapes", "files", "graph_files", "graph_tables"),
    *("graph_writer", "embed", "grid", "hostile_files", "limits", "matrices", "matrix_market"),
    *("model_outputs", "networkx", "node_columns", "numpy_files", "parquet_reader", "progress"),
    *("pyg", "reading_options", "replacement", "reproduce", "run_store", "runs", "tables"),
    *("tensors", "text_graphs", "unpickler", "vector_databases"),
)


def measure(folder: Path) -> dict[str, Any]:
    """What `coverage json` reports, by file."""
    named = {f"test_{name}.py" for name in TESTS}
    tests = [str(path) for path in sorted(ROOT.glob("tests/**/test_*.py")) if path.name in named]
    environment = os.environ | {"COVERAGE_FILE": str(folder / "data")}
    coverage = [sys.executable, "-m", "coverage"]
    run = ["run", "--branch", f"--include={','.join(MODULES)}", "-m", "pytest", "-q", *tests]
    subprocess.run([*coverage, *run], cwd=ROOT, env=environment, check=True)
    report = ["json", "-q", "-o", str(folder / "report.json")]
    subprocess.run([*coverage, *report], cwd=ROOT, env=environment, check=True)
    files: dict[str, Any] = json.loads((folder / "report.json").read_text())["files"]
    return files


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--json", type=Path, required=True)
    path = given.parse_args().json
    with tempfile.TemporaryDirectory() as folder:
        files = measure(Path(folder))
    modules = {}
    for name, file in sorted(files.items()):
        counts = file["summary"]
        modules[name] = {
            "branches": counts["num_branches"],
            "taken": counts["covered_branches"],
            "lines": counts["num_statements"],
            "run": counts["covered_lines"],
            "lines_not_run": file["missing_lines"],
            "branches_not_taken": file["missing_branches"],
        }
    command = "python -m scripts.measure_coverage --json results/coverage.json"
    write_json(path, {"command": command, "modules": modules, "versions": versions()})


if __name__ == "__main__":
    main()
