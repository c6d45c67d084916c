"""The program that fuzzes: what it counts, and that it notices what it looks for."""

import json
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from fuzz import guided, parsers
from graphgate import InputError


def _read(path):
    raise InputError("refused")


def _fails(path):
    raise KeyError("a")


def _spins(path):
    while True:
        pass


def reader(parse, folder, monkeypatch) -> guided.Reader:
    monkeypatch.chdir(folder)
    target = SimpleNamespace(file="a.txt", parse=parse, wrap=lambda data: b"wrapped " + data)
    (folder / "kept").mkdir()
    return guided.Reader(target, folder / "kept")


@pytest.mark.parametrize(
    ("parse", "accepted", "untyped"), [(Path.read_bytes, 3, 0), (_read, 0, 0), (_fails, 0, 3)]
)
def test_inputs_are_counted(tmp_path, monkeypatch, parse, accepted, untyped):
    fuzzed = reader(parse, tmp_path, monkeypatch)
    for data in (b"a", b"b", b"a"):
        fuzzed.read(data)
    assert fuzzed.save() >= 0
    counts = json.loads(Path("counts.json").read_text())
    assert (counts["inputs"], counts["accepted"], counts["untyped"]) == (3, accepted, untyped)
    kept = sorted(path.read_bytes() for path in (tmp_path / "kept").iterdir())
    assert kept == ([b"wrapped a", b"wrapped b"] if untyped else [])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # no thread is needed
def test_an_input_that_takes_too_long_ends_the_process(tmp_path, monkeypatch):
    monkeypatch.setattr(guided, "SECONDS", 0.2)
    fuzzed = reader(_spins, tmp_path, monkeypatch)
    start, child = time.process_time(), os.fork()
    if child == 0:
        fuzzed.read(b"a")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGPROF
    assert time.process_time() - start < 10
    assert Path("a.txt").read_bytes() == b"wrapped a"


@pytest.mark.parametrize(
    ("code", "crashes", "hangs"), [(0, 0, 0), (-signal.SIGPROF, 0, 1), (-signal.SIGSEGV, 1, 0)]
)
def test_a_target_whose_process_dies(tmp_path, monkeypatch, code, crashes, hangs):
    def ended(command, cwd, **_):
        assert command[2:6] == ["fuzz.guided", "csv-edges", "10", "5.0"]
        Path(cwd, "counts.json").write_text('{"inputs": 7}')
        Path(cwd, "e.csv").write_bytes(b"the last")
        return SimpleNamespace(returncode=code, stderr="said")

    monkeypatch.setattr(parsers, "ROOT", tmp_path)
    monkeypatch.setattr(parsers.subprocess, "run", ended)
    counts = parsers.fuzz("csv-edges", 10, 5.0)
    assert counts == {"inputs": 7, "crashes": crashes, "hangs": hangs}
    kept = [path.read_bytes() for path in (tmp_path / "build/fuzz/csv-edges").iterdir()]
    assert kept == ([b"the last"] if code else [])


def test_the_targets_of_a_parser_share_its_inputs(monkeypatch):
    monkeypatch.setattr(parsers, "fuzz", lambda *of: of)
    work = {subject["target"]: work for subject, work in parsers.measure(inputs=100, seconds=4)}
    assert work["mtx"]() == ("mtx", 100, 4)
    assert work["header-gate"]() == ("header-gate", 50, 2)
    assert [of["target"] for of, _ in parsers.measure(targets=("mtx",))] == ["mtx"]
