"""Damage a file of a store, and see whether that is noticed, or changes nothing.

What a store answers is taken apart into parts. Each part of a damaged store must be refused in one
sentence, or be what it was before; only parts that read text or the list of versions may differ, if
`check` reports it.
"""

import hashlib
import json
import os
import re
import shutil
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.store_model import FEWEST, Node, Operation, Shape, StoreProcess, perform
from graphgate import Graph, InputError, Store
from graphgate.store import vector_index

SHAPES = [
    Shape("linear", "attributes", directed=False, weighted=True, integers=False),
    Shape("gate", "sparse", directed=True, weighted=False, integers=True),
]
KINDS = ("a flipped bit", "truncated", "a page of zeros", "deleted", "swapped", "bytes appended")
OUTCOMES = ("refused", "reported by check", "harmless")
_PAGE = 512  # bytes, of files of a few kilobytes
_INDEXED = 10  # nodes from which the nearest ones are searched by an index
_N_NODES, _N_VERSIONS = 24, 6
_CHECKED = ("graph", "nodes", "tables", "history")  # parts that may be left to `check`

Answer = list[str]  # "answer", "refused" or "traceback", and a digest or text


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


def damaged(folder: Path, kind: str, rng: np.random.Generator) -> list[str]:
    """Damage a file in a folder, or swap two; returns their names."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    path, other = (files[at] for at in rng.choice(len(files), 2, replace=False))
    data = bytearray(path.read_bytes())
    place = int(rng.integers(len(data)))
    start = place // _PAGE * _PAGE
    page = data[start : start + _PAGE]
    contents = {
        "a flipped bit": data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :],
        "truncated": data[:place],
        "a page of zeros": data[:start] + bytes(len(page)) + data[start + len(page) :],
        "deleted": b"",
        "swapped": other.read_bytes(),
        "bytes appended": data + rng.bytes(int(rng.integers(1, 100))),
    }
    path.write_bytes(contents[kind])
    if kind == "deleted":
        path.unlink()
    if kind == "swapped":
        other.write_bytes(data)
    return [path.name, other.name] if kind == "swapped" else [path.name]


def answers(folder: Path, shape: Shape) -> Iterator[dict[str, Answer]]:
    """All that the store in a folder answers, part by part."""
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    vector_index.EXACT_UP_TO = _INDEXED
    given: dict[str, Answer] = {}

    def ask(part: str, question: Callable[[], Any]) -> Any:
        try:
            with warnings.catch_warnings(action="ignore"):
                value = question()
        except InputError as error:
            given[part] = ["refused", str(error)]
        except BaseException:
            given[part] = ["traceback", traceback.format_exc()]
        else:
            given[part] = ["answer", repr(value) if part == "check" else _digest(value)]
            return value

    for version in (None, *range(1, _N_VERSIONS + 1)):
        at = "" if version is None else f" of version {version}"
        store = ask(f"open{at}", partial(Store.open, folder / "store", version))
        for part, question in _questions(store, shape) if store is not None else ():
            ask(f"{part}{at}", question)
    store = ask("open", partial(Store.open, folder / "store"))
    if store is not None:
        ask("history", store.history)
        ask("check", lambda: store.check().problems)
    yield given


def _questions(store: Store, shape: Shape) -> Iterator[tuple[str, Callable[[], Any]]]:
    near, batch = shape.node(2), _small(shape, [999])
    yield "vectors", lambda: store.vectors().vectors
    yield "info", lambda: store.info()
    yield "similar", lambda: store.similar(near, n_neighbors=5)[1:]
    yield "given vectors", lambda: store.similar(vectors=np.ones((2, 2)), n_neighbors=5)
    yield "model", lambda: store.model().transform(_small(shape, range(5)))
    yield "embed", lambda: store.embed(batch).vectors
    yield "neighbors", lambda: sorted(map(str, store.neighbors(near)))
    yield "graph", lambda: store.graph().fingerprint()
    yield "nodes", lambda: store.nodes([near])
    yield "tables", lambda: _tables(store)


def _small(shape: Shape, numbers: Iterable[int]) -> Graph:
    """A graph of these nodes; the first two are joined."""
    rng = np.random.default_rng(1)
    nodes = {shape.node(number): Node(shape.content_of(rng), None) for number in numbers}
    return shape.graph(nodes, {pair: 1.0 for pair in pairwise([*nodes][:2])})


def _tables(store: Store) -> list[str]:
    """Every table, as text."""
    tables = (store._snapshot.read(name) for name in ("nodes", "edges", "vectors"))
    return [f"{rows.schema} {sorted(map(str, rows.to_pylist()))}" for rows in tables]


def _digest(value: Any) -> str:
    """The same text for the same answer; small ones remain readable."""
    if isinstance(value, Store):
        value = (value.version, len(value))
    if isinstance(value, np.ndarray) and value.dtype != object:
        value = (str(value.dtype), value.shape, value.tobytes())
    text = repr(value) if not isinstance(value, tuple) else repr([_digest(v) for v in value])
    return text if len(text) < 200 else hashlib.sha256(text.encode(errors="replace")).hexdigest()


def outcome(
    before: dict[str, Answer], after: dict[str, Answer], files: list[str]
) -> tuple[str, str]:
    """One of `OUTCOMES`, or what is wrong; and what was said.

    files : names of the damaged files; a sentence must name one of them.
    """
    checked = after.get("check", ["refused", ""])
    reported = checked != before["check"]
    for part, (kind, text) in after.items():
        if kind == "traceback":
            return "traceback", text
        if kind == "refused" and ("\n" in text or len(text) > 1000):
            return "more than one sentence", f"{part}: {text}"
        same = kind != "answer" or part == "check" or [kind, text] == before[part]
        if not same and not (reported and part.split()[0] in _CHECKED):
            return "another answer", f"{part}: {text}, not {before[part][1]}"
    refused = [f"{part}: {text}" for part, (kind, text) in after.items() if kind == "refused"]
    said = " ".join([*refused, checked[1]])
    # The file of a version is known by its number.
    names = [re.sub(r"^(\d+)\.json$", r"version \1 ", name) for name in files]
    if (refused or reported) and not any(name in said for name in names + files):
        return "does not name the file", said
    if refused:
        return "refused", refused[0]
    return ("reported by check", checked[1]) if reported else ("harmless", "")


def try_damage(made: Path, scratch: Path, shape: Shape, kind: str, seed: int) -> tuple[str, str]:
    """Damage a copy of a store and its cache; the outcome, and what was said."""
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(made, scratch)
    before = dict(json.loads((made / "answers").read_text()))
    (scratch / "answers").unlink()
    files = damaged(scratch, kind, np.random.default_rng(seed))
    try:
        end, said = outcome(before, answers_of(scratch, shape), files)
    except SystemExit as died:
        end, said = "crashed", str(died)
    return end, f"{kind}, {' and '.join(files)}: {said.replace(str(scratch), '…')}"


def prepare(folder: Path, shape: Shape) -> None:
    """A store with its cache, and what it answers undamaged."""
    folder.mkdir()
    build(folder, shape)
    first, again = (answers_of(folder, shape) for _ in range(2))
    assert first == again, "a store does not answer the same twice"
    assert all(kind == "answer" for kind, _ in first.values()), first
    (folder / "answers").write_text(json.dumps(first))


def answers_of(folder: Path, shape: Shape) -> dict[str, Answer]:
    """The answers, in a process of its own."""
    process = StoreProcess(answers, folder, shape)
    try:
        given = process.next()
    finally:
        process.end()
    del given["status"]
    return given
