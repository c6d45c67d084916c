"""Pickles as Python 2 wrote them, and an imitation of Planetoid's files."""

from __future__ import annotations

import io
import pickle
import struct
from collections import defaultdict

import numpy as np
import scipy.sparse as sp

OLD_NAMES = {
    "_reconstruct": ("numpy.core.multiarray", "_reconstruct"),
    "csr_matrix": ("scipy.sparse.csr", "csr_matrix"),
    "list": ("__builtin__", "list"),
}


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
