"""Put one-line bugs into a copy of the package, one at a time, and see which test notices.

    python fuzz/mutants.py --json results/mutants.json

Bugs that the file says were noticed are not tried again. They are made by hand, in the runner and
in readers and writers. A bug that no test notices is a missing test, or changes nothing.
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
RUNS, STORE = "estimators/runs.py", "paper/experiments/run_store.py"
GRID, REPRODUCE = "paper/experiments/grid.py", "paper/experiments/reproduce.py"
MATRICES, WORD2VEC = "io/matrices.py", "io/word2vec.py"
TENSORS, NUMPY, MARKET = "io/tensors.py", "io/numpy_files.py", "io/matrix_market.py"
LIMITS, CLAIMS, CSV = "io/limits.py", "io/parquet_claims.py", "io/csv_reader.py"
TEXT, GRAPHS, EMBEDDINGS = "io/text_graphs.py", "io/graph_files.py", "io/embeddings.py"
IDS, COLUMNS, FILES = "io/id_columns.py", "io/columns.py", "io/files.py"
REPLACEMENT, UNPICKLER = "io/replacement.py", "datasets/unpickler.py"
TESTS = {
    RUNS: ("runs",),
    STORE: ("run_store", "grid"),
    GRID: ("grid",),
    REPRODUCE: ("reproduce",),
    MATRICES: ("matrices",),
    WORD2VEC: ("embeddings", "hostile_files"),
    TENSORS: ("tensors",),
    NUMPY: ("numpy_files", "matrices"),
    MARKET: ("matrix_market", "matrices"),
    LIMITS: ("limits",),
    CLAIMS: ("parquet_claims",),
    CSV: ("csv_reader", "graph_tables"),
    TEXT: ("text_graphs", "graph_files"),
    GRAPHS: ("graph_files", "matrices"),
    EMBEDDINGS: ("embeddings",),
    IDS: ("graph_tables", "csv_reader"),
    COLUMNS: ("graph_tables",),
    FILES: ("files", "limits", "graph_files", "hostile_files", "persistence"),
    REPLACEMENT: ("replacement", "faults"),
    UNPICKLER: ("unpickler",),
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
    Bug(STORE, 'experiment.unseen if setting == "inductive" else ()', "()"),
    Bug(STORE, "if source_digest(self.method) != self.code:", "if False:"),
    Bug(STORE, "random_split(graph.labels, self.seed)", "random_split(graph.labels, 0)"),
    Bug(STORE, "elif self.split != dataset.split:", "elif False:"),
    Bug(STORE, "graph = dataset.graph if row.features else", "graph = dataset.graph if True else"),
    Bug(STORE, "sort_keys=True", "sort_keys=False"),
    Bug(STORE, "if file not in self._read:", "if True:"),
    Bug(STORE, "self._read.pop(spec.file, None)", "pass"),
    Bug(STORE, "runs.setdefault(key, (split, result))", "runs[key] = split, result"),
    Bug(STORE, 'or fields["seed"] != result.seed', ""),
    Bug(STORE, 'r"[^\\w.-]+"', 'r"[^\\w./-]+"'),
    Bug(GRID, "scores.index(max(scores))", "scores.index(min(scores))"),
    Bug(GRID, "if len(scores) == len(specs) else None", "if scores else None"),
    Bug(GRID, "range(self.n_runs or experiment.n_runs)", "range(experiment.n_runs)"),
    Bug(GRID, "{spec.key: spec for spec in specs}", "dict(enumerate(specs))"),
    Bug(GRID, "if self.store.find(spec) is None]", "]"),
    Bug(GRID, "grid.store.add(spec, outcome)", "pass"),
    Bug(GRID, "n_new += 1", "n_new += 2"),
    Bug(GRID, "except Exception as error:", "except InputError as error:"),
    Bug(GRID, "(grid.first_specs, grid.table_specs)", "(grid.table_specs, grid.first_specs)"),
    Bug(GRID, "the first error: {failures[0]}", "the first error: {failures[-1]}"),
    Bug(REPRODUCE, "split not in _SPLITS", "False"),
    Bug(REPRODUCE, "if split is None and not run:", "if split is None:"),
    Bug(REPRODUCE, "if table not in TABLES:", "if False:"),
    Bug(REPRODUCE, "else len(order))", "else 0)"),
    Bug(REPRODUCE, "kind(grid, datasets, n_new)", "kind(grid, datasets)"),
    Bug(REPRODUCE, "if not any(", "if False and not any("),
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
    Bug(TENSORS, "file.get_tensor(name).clone()", "file.get_tensor(name)"),
    Bug(TENSORS, "tensor.is_floating_point() and not", "False and not"),
    Bug(TENSORS, 'type(header.get("version")) is not int or ', ""),
    Bug(TENSORS, "if tensors.keys() != expected.keys():", "if expected.keys() - tensors.keys():"),
    Bug(TENSORS, "or tensors[name].dtype != dtype", ""),
    Bug(TENSORS, "check_fields(body, schema, what)", "pass"),
    Bug(NUMPY, "end > min(len(content), start + _LONGEST)", "end > len(content)"),
    Bug(NUMPY, "if size * dtype.itemsize > len(content) - end:", "if size > len(content) - end:"),
    Bug(NUMPY, '"F" if found[2] == "True" else "C"', '"C"'),
    Bug(NUMPY, "(points > 0x10FFFF) | ", ""),
    Bug(NUMPY, "points < 0xE000", "points < 0xD900"),
    Bug(NUMPY, "len(size) <= 18", "True"),
    Bug(NUMPY, "if dtype.itemsize == 0:", "if False:"),
    Bug(NUMPY, "if info.compress_type not in _METHODS:", "if False:"),
    Bug(NUMPY, 'dtype.newbyteorder("=")', "dtype"),
    Bug(MARKET, 'if b"\\0" in content:', "if False:"),
    Bug(MARKET, "header.entries > len(content)", "header.entries > 9 * len(content)"),
    Bug(MARKET, "if len(table) != header.entries:", "if len(table) < header.entries:"),
    Bug(MARKET, "min(row.min(), column.min()) < 0 or ", ""),
    Bug(MARKET, "or column.max() >= columns", ""),
    Bug(MARKET, "beside = row != column", "beside = row == row"),
    Bug(MARKET, "sign = -1 if", "sign = 1 if"),
    Bug(MARKET, "n * (n - 1) // 2 + n * diagonal", "n * (n - 1) // 2"),
    Bug(MARKET, 'not line.startswith(b"%")', "True"),
    Bug(LIMITS, "max(size, _SMALLEST)", "size"),
    Bug(LIMITS, "_CURRENT.reset(unchanged)", "pass"),
    Bug(LIMITS, "if claimed > (most", "if claimed >= (most"),
    Bug(LIMITS, "if n > (most", "if n >= (most"),
    Bug(LIMITS, "or not value > 0", ""),
    Bug(CLAIMS, "_DELTA_BYTE_ARRAY = 7", "_DELTA_BYTE_ARRAY = 6"),
    Bug(CLAIMS, "if 0 < _size(meta.get(11, 0)) < start:", "if False:"),
    Bug(CLAIMS, "header.get(5) or header.get(8)", "header.get(5)"),
    Bug(CLAIMS, "at += _size(header[3])", "at += _size(header[2])"),
    Bug(CLAIMS, "type(value) is not int or value < 0", "type(value) is not int"),
    Bug(CLAIMS, "if depth > _DEEPEST or at < 0:", "if at < 0:"),
    Bug(CLAIMS, "if size > len(data) - at:", "if False:"),
    Bug(CLAIMS, "if at + length > len(data):", "if False:"),
    Bug(CLAIMS, "return (value >> 1) ^ -(value & 1), at", "return value >> 1, at"),
    Bug(CLAIMS, "sum(values for _, values in pages)", "0"),
    Bug(CLAIMS, "if longest > _LONG_TEXT * allowed", "if longest > 1e9 * allowed"),
    Bug(CSV, "if scan.suspicious:", "if False:"),
    Bug(CSV, 'if conversion == "text"]', "]"),
    Bug(
        CSV,
        "if field.name not in conversions",
        "if True",
        "text is made numbers later",
    ),
    Bug(CSV, "if len(cells) != len(self.names):", "if len(cells) > len(self.names):"),
    Bug(CSV, "csv.field_size_limit(limit)", "pass"),
    Bug(TEXT, "if not arc and u != v", "if not arc"),
    Bug(TEXT, "any(arc for *_, arc in self.edges)", "True"),
    Bug(TEXT, "not 1 <= int(field) <= self.n", "not 0 <= int(field) <= self.n"),
    Bug(TEXT, "if row in self.labels:", "if False:"),
    Bug(TEXT, "values if directed else np.triu(values)", "values"),
    Bug(TEXT, 'line.partition("#")[0]', "line"),
    Bug(TEXT, "distinct = None not in labels and", "distinct ="),
    Bug(GRAPHS, 'if attributes["id"] in seen:', "if False:"),
    Bug(GRAPHS, "data.setdefault(name, value)", "data[name] = value"),
    Bug(GRAPHS, "stored = adjacency.data != 0", "stored = adjacency.data == adjacency.data"),
    Bug(GRAPHS, "if x is not None and x.shape[0] != adjacency.shape[0]:", "if False:"),
    Bug(GRAPHS, "pairs, weights = listed_once(pairs, weights)", "pass"),
    Bug(EMBEDDINGS, "if len(set(ids.tolist())) < len(ids):", "if False:"),
    Bug(EMBEDDINGS, "np.isfinite(z).all(axis=1)", "np.isfinite(z).any(axis=1)"),
    Bug(EMBEDDINGS, "if made.tolist() != listed:", "if False:"),
    Bug(EMBEDDINGS, "label if known else None for", "label for"),
    Bug(EMBEDDINGS, "z.astype(np.float32) if narrow else z", "z.astype(np.float32)"),
    Bug(EMBEDDINGS, "and not column.null_count", ""),
    Bug(IDS, "return integers if pc.all(same, min_count=0).as_py() else None", "return integers"),
    Bug(IDS, "chunk.fill_null(-1)", "chunk.fill_null(0)"),
    Bug(IDS, "at += len(chunk)", "at += 0"),
    Bug(IDS, "{table.place(first[value])}; ids", "{table.place(row)}; ids"),
    Bug(IDS, "order = np.argsort(first)", "order = np.arange(len(first))"),
    Bug(COLUMNS, "if value is not None and value == value:", "if value is not None:"),
    Bug(COLUMNS, "codes if used.all() else place[codes]", "codes"),
    Bug(COLUMNS, "np.concatenate(counts) if counts else None", "None"),
    Bug(COLUMNS, "table.refuse_cell(start + int(row), name", "table.refuse_cell(int(row), name"),
    Bug(FILES, "if self._count > self._most:", "if False:"),
    Bug(FILES, "if not stat.S_ISREG(mode):", "if False:"),
    Bug(FILES, "(isinstance(value, bool) and bool not in allowed)", "False"),
    Bug(REPLACEMENT, "os.replace(path, target)", "shutil.copy(path, target)"),
    Bug(REPLACEMENT, "_remove_leftovers(folder)\n    path", "path"),
    Bug(REPLACEMENT, "os.fsync(descriptor)  # otherwise", "pass  # otherwise"),
    Bug(REPLACEMENT, "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_UN"),
    Bug(UNPICKLER, "if opcode.name not in OPCODES:", "if False:"),
    Bug(UNPICKLER, 'opcode.name == "LONG_BINPUT" and', "False and"),
    Bug(UNPICKLER, "any(type(neighbor) is not int for neighbor in neighbors)", "False"),
    Bug(UNPICKLER, "matrix.check_format(full_check=True)", "pass"),
)


def noticed_by(bug: Bug, folder: Path) -> str | None:
    """The first test that fails with a bug in the package in this folder; None if none does."""
    path = folder / "graphgate" / bug.file
    good = path.read_text("utf-8")
    assert bug.text in good, bug
    path.write_text(good.replace(bug.text, bug.bug, 1), "utf-8")
    named = {f"test_{name}.py" for name in TESTS[bug.file]}
    tests = [
        str(path) for path in sorted((folder / "tests").rglob("test_*.py")) if path.name in named
    ]
    options = ["-q", "-x", "-p", "no:cacheprovider", "--tb=no"]
    # A thread ends a process that waits in a library for ever, without naming the test.
    options += ["-o", "timeout=120", "-o", "timeout_method=thread"]
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
    if done.returncode and not failed:
        assert " Timeout " in done.stdout + done.stderr, done.stdout + done.stderr
        return "the time limit"
    return failed[0].removeprefix("tests/") if failed else None


def line_of(bug: Bug) -> int:
    text = (ROOT / "graphgate" / bug.file).read_text("utf-8")
    return text[: text.index(bug.text)].count("\n") + 1


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--json", type=Path, required=True)
    path = given.parse_args().json
    stored = json.loads(path.read_text("utf-8"))["bugs"] if path.exists() else []
    known: dict[tuple[str, ...], dict[str, Any]] = {
        (row["file"], row["text"], row["bug"]): row for row in stored
    }
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("graphgate", "tests", "fuzz", "pyproject.toml"):
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, copy / name)
        for bug in BUGS:
            before = known.get(bug[:3])
            if before is None or before["test"] is None:
                row = {"test": noticed_by(bug, copy), "survived_at_first": before is not None}
                print(f"{bug.file}:{line_of(bug)} {bug.bug!r}: {row['test']}", flush=True)
                known[bug[:3]] = row
                _write(path, known)
    _write(path, known)


def _write(path: Path, known: dict[tuple[str, ...], dict[str, Any]]) -> None:
    """What is known so far, so that a run that was stopped goes on."""
    rows = [
        {**bug._asdict(), "line": line_of(bug)}
        | {name: known[bug[:3]][name] for name in ("test", "survived_at_first")}
        for bug in BUGS
        if bug[:3] in known
    ]
    command = "python fuzz/mutants.py --json results/mutants.json"
    write_json(path, {"command": command, "bugs": rows, "versions": versions()})


if __name__ == "__main__":
    main()
