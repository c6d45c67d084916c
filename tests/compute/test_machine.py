"""Memory of the machine, read from the system."""

from pathlib import Path

import pytest

from graphgate.compute import machine
from graphgate.compute.machine import available_bytes


def system(folder: Path, available: int) -> Path:
    proc = folder / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable: {available} kB\n")
    (proc / "self" / "cgroup").write_text("0::/job\n")
    (proc / "self" / "status").write_text("VmSize: 5 kB\n")
    return proc


def test_the_available_memory_of_the_system(tmp_path):
    assert available_bytes(system(tmp_path, 1000), tmp_path / "none") == 1_024_000


@pytest.mark.parametrize("limited", ["job", "."])
def test_the_limit_of_a_container(tmp_path, limited):
    proc, root = system(tmp_path, 1000), tmp_path / "cgroup"
    (root / "job").mkdir(parents=True)
    for folder in (root, root / "job"):
        (folder / "memory.max").write_text("max\n")
        (folder / "memory.current").write_text("7000\n")
        (folder / "memory.stat").write_text("anon 5\ninactive_file 500\n")
    assert available_bytes(proc, root) == 1_024_000
    (root / limited / "memory.max").write_text("10000\n")
    assert available_bytes(proc, root) == 3500
    (root / limited / "memory.max").write_text("100\n")
    assert available_bytes(proc, root) == 0


def test_the_limit_of_the_process(tmp_path, monkeypatch):
    monkeypatch.setattr(machine.resource, "getrlimit", lambda which: (6 * 1024, 6 * 1024))
    assert available_bytes(system(tmp_path, 1000), tmp_path / "none") == 1024


def test_a_system_that_reports_nothing(tmp_path):
    if machine.sys.platform != "darwin":
        assert available_bytes(tmp_path / "none", tmp_path / "none") is None


def test_this_machine_has_some_memory():
    available = available_bytes()
    assert available is None or 0 < available < 2**50
