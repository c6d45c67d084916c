"""The program that fuzzes: what it counts, and that it notices what it looks for."""

import faulthandler
import json
import os
import signal
from types import SimpleNamespace

import pytest

from fuzz import run, worker
from graphgate import InputError


def _slice(folder, parse, inputs=40):
    target = SimpleNamespace(file="a.txt", parse=parse, wrap=lambda data: b"wrapped " + data)
    return worker.Slice(target, [b"seed"], inputs, 60, 0, folder / "kept", folder / "memory")


def _read(path):
    raise InputError("refused")


def _dies(path):
    if path.read_bytes() != b"wrapped seed":
        faulthandler.disable()  # this crash is meant
        os.kill(os.getpid(), signal.SIGSEGV)


def _dies_once(path):
    mark = path.parent / "mark"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def _spins(path):
    while True:
        pass


def _fails(path):
    raise KeyError("a")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # no thread is needed
@pytest.mark.parametrize(
    ("parse", "code", "accepted", "untyped", "findings"),
    [
        (lambda path: None, 0, 40, 0, 0),
        (_read, 0, 0, 0, 0),
        (_dies, -signal.SIGSEGV, None, 0, 1),
        (_dies_once, 0, None, 0, 0),
        (_spins, -signal.SIGPROF, None, 0, 1),
        (_fails, 0, 0, 40, 1),
    ],
)
def test_a_slice(tmp_path, monkeypatch, parse, code, accepted, untyped, findings):
    monkeypatch.setattr(worker, "SECONDS", 0.2)
    part = _slice(tmp_path, parse)
    assert run.fuzz_slice(part, None, InputError) == code
    found = list((part.folder / "findings").iterdir())
    assert len(found) == findings
    assert all(file.read_bytes().startswith(b"wrapped ") for file in found)
    if accepted is not None:
        counts = json.loads((part.folder / "counts.json").read_text())
        assert (counts["inputs"], counts["accepted"], counts["untyped"]) == (40, accepted, untyped)


def test_counts_add_up():
    counts = {"inputs": 10, "accepted": 3, "untyped": 2, "cpu_seconds": 1.5}
    counts |= {"peak_mb": 7.0, "longest_seconds": 0.5}
    total = run.merged(run.EMPTY, counts, 0)
    total = run.merged(total, counts | {"peak_mb": 5.0}, -signal.SIGPROF)
    total = run.merged(total, {}, -signal.SIGSEGV)
    assert total == {
        "inputs": 20,
        "accepted": 6,
        "cpu_seconds": 3.0,
        "crashes": 1,
        "hangs": 1,
        "untyped": 4,
        "peak_mb": 7.0,
        "longest_seconds": 0.5,
    }
