"""Commands in this process; where the original Planetoid files are, and an imitation of them."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import struct
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import settings

from graphgate import cli
from graphgate.datasets import planetoid as planetoid_files

# A busy machine is slow, not wrong.
settings.register_profile("graphgate", deadline=None)
settings.load_profile("graphgate")

# Tiny products gain nothing from a second thread and wait long for it on a busy machine.
torch.set_num_threads(1)

OLD_NAMES = {
    "_reconstruct": ("numpy.core.multiarray", "_reconstruct"),
    "csr_matrix": ("scipy.sparse.csr", "csr_matrix"),
    "list": ("__builtin__", "list"),
}


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs a command in this process: exit code, standard output, standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["graphgate", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
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


class OldPickler(pickle._Pickler):
    """Writes what Python 2, NumPy 1.x and an old SciPy wrote."""

    dispatch = pickle._Pickler.dispatch.copy()

    def save_text(self, value: bytes | str) -> None:
        raw = value if isinstance(value, bytes) else value.encode("latin1")
        short = len(raw) < 256
        self.write(
            b"U" + bytes([len(raw)]) + raw if short else b"T" + struct.pack("<i", len(raw)) + raw
        )

    def save_global(self, obj, name=None) -> None:
        name = name or obj.__name__
        module, name = OLD_NAMES.get(name, (obj.__module__, name))
        self.write(f"c{module}\n{name}\n".encode())

    dispatch[bytes] = dispatch[str] = save_text
    dispatch[type] = save_global
    dispatch[type(len)] = save_global


def old_pickle(value) -> bytes:
    file = io.BytesIO()
    OldPickler(file, protocol=2).dump(value)
    return file.getvalue()


def fake_parts() -> dict[str, bytes]:
    """510 nodes, 3 of them to train; the test nodes are 509, 506, 508, 505, and 507 is missing."""
    rng = np.random.default_rng(0)
    allx = sp.csr_matrix((rng.random((505, 4)) < 0.3).astype(np.float32))
    tx = sp.csr_matrix(np.diag([1, 2, 3, 4]).astype(np.float32))
    ally = np.eye(3, dtype=np.int32)[np.arange(505) % 3]
    ty = np.eye(3, dtype=np.int32)[[2, 1, 0, 2]]
    ring = defaultdict(list, {u: [(u - 1) % 510, (u + 1) % 510] for u in range(510)})
    ring[7] += [7, 7, 8]  # one self-loop and half a duplicate
    ring[8] += [7]
    values = {"x": allx[:3], "y": ally[:3], "tx": tx, "ty": ty, "allx": allx, "ally": ally}
    parts = {part: old_pickle(value) for part, value in (values | {"graph": ring}).items()}
    return parts | {"test.index": b"509\n506\n508\n505\n"}


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
