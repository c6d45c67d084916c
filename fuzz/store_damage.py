"""Damage a file of a store, and see whether that is noticed, or changes nothing.

What a store answers is taken apart into parts. Each part of a damaged store must be refused in one
sentence, or be what it was before; only parts that read text or the list of versions may differ, if
`check` reports it.
"""

import hashlib
import json
import multiprocessing
import os
import re
import shutil
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fuzz.store_model import FEWEST, Node, Operation, Shape, perform
from graphgate import InputError, Store
from graphgate.store import vector_index

SHAPES = [
    Shape("linear", "attributes", directed=False, weighted=True, integers=False),
    Shape("gate", "sparse", directed=True, weighted=False, integers=True),
]
KINDS = ("a flipped bit", "truncated", "a page of zeros", "deleted", "swapped", "bytes appended")
OUTCOMES = ("refused", "reported by check", "harmless")
_PAGE = 512  # bytes, of files of a few kilobytes
_INDEXED = 10  # nodes from which the nearest ones are searched by an index
_TIMEOUT = 60  # seconds
_N_NODES, _N_VERSIONS = 24, 6
_CHECKED = ("graph", "nodes", "tables", "history")  # parts that may be left to `check`

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["graphgate.store.store", "lancedb", "fuzz.store_model"])

# What became of a part: its digest, or a sentence, or a traceback.
Part = list[str]


class Damage(NamedTuple):
    """What was done to which file, and what came of it."""

    kind: str
    file: str
    outcome: str
    detail: str


def build(folder: Path, shape: Shape) -> None:
    """A store with several versions, and a cache with the index of its vectors."""
    rng = np.random.default_rng(0)
    ids = [shape.node(at) for at in range(_N_NODES)]
    nodes = {id: Node(shape.content_of(rng), "ab"[rng.integers(2)]) for id in ids}
    edges = {
        shape.pair(ids[at], ids[int(rng.integers(at))]): float(rng.integers(1, 4))
        for at in range(1, _N_NODES)
        for _ in range(3)
    }
    edges = edges if shape.weighted else dict.fromkeys(edges, 1.0)
    first = dict(list(nodes.items())[:20])
    inside = {pair: weight for pair, weight in edges.items() if first.keys() >= set(pair)}
    other = {ids[3]: Node(shape.content_of(rng), "a")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = Store.create(folder / "store", shape.graph(first, inside), shape.estimator())
        for operation in (
            Operation("add", dict(nodes), edges),
            Operation("remove", {}, dict([*edges.items()][-1:])),
            Operation("add", dict(other)),
            Operation("refit"),
            Operation("remove", {ids[5]: None}),
        ):
            perform(store, shape, operation)
    assert store.version == _N_VERSIONS > FEWEST


def damaged(folder: Path, kind: str, rng: np.random.Generator) -> str:
    """Damage a file in a folder; returns its name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    path, other = (files[at] for at in rng.choice(len(files), 2, replace=False))
    data = bytearray(path.read_bytes())
    place = int(rng.integers(len(data)))
    if kind == "swapped":
        content = other.read_bytes()
        other.write_bytes(data)
        path.write_bytes(content)
        return f"{path.relative_to(folder)} and {other.relative_to(folder)}"
    if kind == "deleted":
        path.unlink()
        return str(path.relative_to(folder))
    if kind == "a flipped bit":
        data[place] ^= 1 << int(rng.integers(8))
    elif kind == "truncated":
        del data[place:]
    elif kind == "a page of zeros":
        start = place // _PAGE * _PAGE
        size = len(data[start : start + _PAGE])
        data[start : start + size] = bytes(size)
    else:
        data += rng.bytes(int(rng.integers(1, 100)))
    path.write_bytes(data)
    return str(path.relative_to(folder))


def parts(path: Path, shape: Shape) -> dict[str, Part]:
    """All that a store answers."""
    found: dict[str, Part] = {}

    def part(name: str, answer: Callable[[], Any]) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = answer()
        except InputError as error:
            found[name] = ["refused", str(error)]
            return None
        except BaseException:
            found[name] = ["traceback", traceback.format_exc()]
            return None
        found[name] = ["answer", repr(value) if name == "check" else _digest(value)]
        return value

    for version in (None, *range(1, _N_VERSIONS + 1)):
        at = "" if version is None else f" of version {version}"
        store = part(f"open{at}", partial(Store.open, path, version))
        for name, answer in _answers(store, shape) if store is not None else ():
            part(f"{name}{at}", answer)
    store = part("open", partial(Store.open, path))
    if store is not None:
        part("history", store.history)
        part("check", lambda: store.check().problems)
    return found


def _answers(store: Store, shape: Shape) -> Iterator[tuple[str, Callable[[], Any]]]:
    rng = np.random.default_rng(1)
    node = shape.node(999)
    near = shape.node(2)
    batch: dict[Any, Any] = {node: Node(shape.content_of(rng), None)}
    yield "vectors", lambda: store.vectors().vectors
    yield "info", lambda: store.info()
    yield "similar", lambda: store.similar(near, n_neighbors=5)[1:]
    yield "given vectors", lambda: store.similar(vectors=np.ones((2, 2)), n_neighbors=5)
    yield "model", lambda: store.model().transform(_small(shape))
    yield "embed", lambda: store.embed(shape.graph(batch, {})).vectors
    yield "neighbors", lambda: sorted(map(str, store.neighbors(near)))
    yield "graph", lambda: store.graph().fingerprint()
    yield "nodes", lambda: store.nodes([near])
    yield "tables", lambda: _tables(store)


def _small(shape: Shape) -> Any:
    rng = np.random.default_rng(2)
    nodes = {shape.node(at): Node(shape.content_of(rng), None) for at in range(5)}
    return shape.graph(nodes, {shape.pair(shape.node(0), shape.node(1)): 1.0})


def _tables(store: Store) -> list[str]:
    """Every column of every table, as text."""
    tables = []
    for name in ("nodes", "edges", "vectors"):
        rows = store._snapshot.read(name)
        tables += sorted(map(str, rows.to_pylist()))
        tables.append(str(rows.schema))
    return tables


def _digest(value: Any) -> str:
    """The same text for the same answer; small ones remain readable."""
    if isinstance(value, Store):
        value = (value.version, len(value))
    if isinstance(value, np.ndarray) and value.dtype != object:
        value = (str(value.dtype), value.shape, value.tobytes())
    text = repr(value) if not isinstance(value, tuple) else repr([_digest(v) for v in value])
    return text if len(text) < 200 else hashlib.sha256(text.encode(errors="replace")).hexdigest()


def outcome(before: dict[str, Part], after: dict[str, Part], files: str) -> tuple[str, str]:
    """One of `OUTCOMES`, or what is wrong; and what was said.

    files : the damaged ones, of which some sentence must name one.
    """
    if broken := [text for kind, text in after.values() if kind == "traceback"]:
        return "traceback", broken[0]
    checked = after.get("check", ["refused", ""])
    reported = checked != before["check"]
    for name, (kind, text) in after.items():
        if kind == "refused" and ("\n" in text or len(text) > 1000):
            return "more than one sentence", f"{name}: {text}"
        same = kind != "answer" or name == "check" or [kind, text] == before[name]
        if not same and not (reported and name.split()[0] in _CHECKED):
            return "another answer", f"{name}: {text}, not {before[name][1]}"
    refused = [f"{name}: {text}" for name, (kind, text) in after.items() if kind == "refused"]
    said = " ".join([*refused, checked[1]])
    if (refused or reported) and not any(name in said for name in _names(files)):
        return "does not name the file", said
    if refused:
        return "refused", refused[0]
    return ("reported by check", checked[1]) if reported else ("harmless", "")


def _names(files: str) -> list[str]:
    """How a sentence may name files; the file of a version is known by its number."""
    names = [Path(file).name for file in files.split(" and ")]
    return names + [f"version {int(name[:-5])} " for name in names if re.match(r"\d+\.json", name)]


def try_damage(made: Path, scratch: Path, shape: Shape, kind: str, seed: int) -> Damage:
    """Damage a copy of a store and its cache."""
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(made, scratch)
    before = dict(json.loads((made / "parts").read_text()))
    (scratch / "parts").unlink()
    file = damaged(scratch, kind, np.random.default_rng(seed))
    after = in_child(scratch, shape)
    result = (
        ("crashed or hung", str(after)) if isinstance(after, int) else outcome(before, after, file)
    )
    return Damage(kind, file, *(text.replace(str(scratch), "…") for text in result))


def prepare(folder: Path, shape: Shape) -> None:
    """A store with its cache, and what it answers undamaged."""
    folder.mkdir()
    build(folder, shape)
    first, again = (in_child(folder, shape) for _ in range(2))
    assert first == again, "a store does not answer the same twice"
    assert not isinstance(first, int), "a store without damage cannot be read"
    assert all(kind == "answer" for kind, _ in first.values()), first
    (folder / "parts").write_text(json.dumps(first))


def in_child(folder: Path, shape: Shape) -> dict[str, Part] | int:
    """The parts, computed in a process of its own; or how it ended."""
    receiving, sending = _context.Pipe(duplex=False)
    process = _context.Process(target=_answer, args=(folder, shape, sending), daemon=True)
    process.start()
    sending.close()
    answer: dict[str, Part] | None = None
    try:
        if receiving.poll(_TIMEOUT):
            answer = receiving.recv()
    except EOFError:
        pass
    process.join(_TIMEOUT if answer is not None else 1)
    process.kill()
    process.join()
    code = process.exitcode
    return int(code or -1) if answer is None else answer


def _answer(folder: Path, shape: Shape, sending: Connection) -> None:
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    vector_index.EXACT_UP_TO = _INDEXED
    sending.send(parts(folder / "store", shape))
