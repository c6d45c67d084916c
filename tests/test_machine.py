"""Memory of the machine, read from the system."""

from pathlib import Path

import pytest

from graphgate.compute import machine
from graphgate.compute.machine import available_bytes


def system(folder: Path, available: int, group: str = "0::/job") -> Path:
    proc = folder / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable: {available} kB\n")
    (proc / "self" / "cgroup").write_text(f"{group}\n")
    (proc / "self" / "status").write_text("VmSize: 5 kB\n")
    return proc


def test_the_available_memory_of_the_system(tmp_path):
    assert available_bytes(system(tmp_path, 1000), tmp_path / "none") == 1_024_000


@pytest.mark.parametrize("limited", ["job", "."])
@pytest.mark.parametrize("version", [1, 2])
def test_the_limit_of_a_container(tmp_path, limited, version):
    line = "0::/job" if version == 2 else "3:cpuset:/other\n4:hugetlb,memory:/job\n0::/"
    most, current = ("max", "current") if version == 2 else ("limit_in_bytes", "usage_in_bytes")
    none, cached = ("max", "inactive_file") if version == 2 else (2**63 - 1, "total_inactive_file")
    proc, groups = system(tmp_path, 1000, line), tmp_path / "cgroup"
    root = groups if version == 2 else groups / "memory"
    (root / "job").mkdir(parents=True)
    for folder in (root, root / "job"):
        (folder / f"memory.{most}").write_text(f"{none}\n")
        (folder / f"memory.{current}").write_text("7000\n")
        (folder / "memory.stat").write_text(f"anon 5\n{cached} 500\n")
    assert available_bytes(proc, groups) == 1_024_000
    (root / limited / f"memory.{most}").write_text("10000\n")
    assert available_bytes(proc, groups) == 3500
    (root / limited / f"memory.{most}").write_text("100\n")
    assert available_bytes(proc, groups) == 0


def test_the_limit_of_the_process(tmp_path, monkeypatch):
    monkeypatch.setattr(machine.resource, "getrlimit", lambda which: (6 * 1024, 6 * 1024))
    assert available_bytes(system(tmp_path, 1000), tmp_path / "none") == 1024


def test_a_system_that_reports_nothing(tmp_path):
    if machine.sys.platform != "darwin":
        assert available_bytes(tmp_path / "none", tmp_path / "none") is None


def test_this_machine_has_some_memory():
    available = available_bytes()
    assert available is None or 0 < available < 2**50
