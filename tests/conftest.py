"""Commands in this process; where the original Planetoid files are, and an imitation of them."""

from __future__ import annotations

import gc
import hashlib
import os
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import settings
from old_pickles import fake_parts
from threadpoolctl import threadpool_limits

from graphgate import __main__ as program
from graphgate.datasets import planetoid as planetoid_files

# A busy machine is slow, not wrong.
settings.register_profile("graphgate", deadline=None)
settings.load_profile("graphgate")

# Tiny products gain nothing from a second thread, which waits for work without sleeping; only
# scripts/emulate_processors.py asks for more. The variables are for libraries that are not loaded
# yet, and for processes that tests start.
THREADS = os.environ.get("GRAPHGATE_TEST_THREADS", "1")
LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
os.environ.update(dict.fromkeys(LIBRARIES, THREADS))
torch.set_num_threads(int(THREADS))
threadpool_limits(int(THREADS))

gc.disable()  # until everything is imported


def pytest_collection_finish() -> None:
    gc.enable()


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs a command in this process: exit code, standard output, standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["graphgate", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            program.main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return run


@pytest.fixture
def empty_folder(tmp_path, monkeypatch) -> Path:
    """An empty working directory, without a data folder and with an empty cache."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GRAPHGATE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@pytest.fixture(scope="session")
def planetoid() -> Path:
    """The folder of the original files; tests that need it are skipped where there is none."""
    named = os.environ.get("GRAPHGATE_DATA")
    beside = Path(__file__).parents[2] / "shared" / "data" / "planetoid"
    folder = Path(named) if named else beside
    if not (folder / "ind.cora.x").exists():
        pytest.skip("no Planetoid files: set GRAPHGATE_DATA to their folder")
    return folder


@pytest.fixture
def fake_cora(tmp_path, monkeypatch) -> Path:
    """A folder with fake files of Cora, whose checksums are those that the package expects."""
    folder = tmp_path / "fake_cora"
    folder.mkdir()
    for part, data in fake_parts().items():
        (folder / f"ind.cora.{part}").write_bytes(data)
        monkeypatch.setitem(
            planetoid_files.CHECKSUMS, f"ind.cora.{part}", hashlib.sha256(data).hexdigest()
        )
    return folder
