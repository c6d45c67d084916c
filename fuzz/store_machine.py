"""Random operations on a store and on a plain model of it, compared after each; hypothesis."""

import shutil
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fuzz.store_model import (
    FEWEST,
    LABELS,
    Content,
    Node,
    Operation,
    PlainStore,
    Shape,
    StoreProcess,
    difference,
    perform,
)
from graphgate import Store

counts: Counter[str] = Counter()
# Everything else is drawn from one seed: a kill at a random moment must not change what is drawn.
_SEEDS = st.integers(0, 2**32 - 1)
# How long operations last, and the fraction of it within which they are killed.
seconds: dict[str, float] = defaultdict(lambda: 0.1)
_AS_LONG = 1.2
_KINDS = st.sampled_from(
    ["add", "remove", "change", "rollback", "refresh", "refit", "prune", "erase"]
)


class StoreMachine(RuleBasedStateMachine):
    """Two objects of one store, and the model."""

    model: PlainStore

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="graphgate-store-"))
        counts["sequences"] += 1

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize(
        seed=_SEEDS,
        method=st.sampled_from(["linear", "gate", "deep"]),
        content=st.sampled_from(["attributes", "dense", "sparse"]),
        directed=st.booleans(),
        weighted=st.booleans(),
        integers=st.booleans(),
    )
    def create(self, seed: int, **kind: Any) -> None:
        shape, rng = Shape(**kind), np.random.default_rng(seed)
        self.model = PlainStore(shape, {})
        nodes = self._new_nodes(rng, int(rng.integers(FEWEST + 1, 14)))
        edges = self._new_edges(rng, list(nodes), int(rng.integers(1, 24)))
        self.model.versions[1] = Content(nodes, edges)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Store.create(self.path, shape.graph(nodes, edges), shape.estimator())
        self.stores = [Store.open(self.path), Store.open(self.path)]
        counts["create"] += 1

    @property
    def path(self) -> Path:
        return self.folder / "store"

    @rule(kind=_KINDS, seed=_SEEDS)
    def do(self, kind: str, seed: int) -> None:
        """One of two objects of the store, which may have to follow the other, does something."""
        rng = np.random.default_rng(seed)
        operation, which = self._operation(kind, rng), int(rng.integers(2))
        if rng.random() < 0.2:
            self.stores[which] = Store.open(self.path)
        begun = time.perf_counter()
        perform(self.stores[which], self.model.shape, operation)
        seconds[kind] += (time.perf_counter() - begun - seconds[kind]) / 8
        self.model = self.model.after(operation)
        counts[kind] += 1

    @rule(kind=_KINDS, seed=_SEEDS)
    def kill(self, kind: str, seed: int) -> None:
        """Kill a process in the middle of an operation; it has happened, or it has not."""
        rng = np.random.default_rng(seed)
        operation, delay = self._operation(kind, rng), rng.uniform(0, _AS_LONG * seconds[kind])
        process = StoreProcess(_work, self.path, self.model.shape, operation)
        process.next()
        process.ask()
        ended = "in time" if process.answers_within(delay) else "killed"
        process.end()
        expected = self.model.after(operation)
        before, after = (
            difference(Store.open(self.path), model, older=0) for model in (self.model, expected)
        )
        assert after is None or (before is None and ended == "killed"), f"{kind}, {ended}: {after}"
        counts[f"{kind}, {ended}: {'before' if after else 'after'}"] += 1
        self.model = self.model if after else expected

    @invariant()
    def holds_what_the_model_says(self) -> None:
        if not hasattr(self, "stores"):
            return
        opened = Store.open(self.path)
        problem = difference(opened, self.model, older=counts["steps"])
        assert problem is None, problem
        if self.model.last.vectors is None:
            object.__setattr__(self.model.last, "vectors", opened.vectors().vectors)
        counts["steps"] += 1

    # --- random operations -----------------------------------------------------------------------

    def _operation(self, kind: str, rng: np.random.Generator) -> Operation:
        model, last = self.model, self.model.last
        ids = list(last.nodes)
        if kind == "add":
            nodes: dict[Any, Any] = self._new_nodes(rng, int(rng.integers(0, 4)))
            if not nodes:
                return Operation("add", edges=self._new_edges(rng, ids, 3) or dict(last.edges))
            for id in _some(rng, ids, 4):
                nodes[id] = last.nodes[id]
            return Operation("add", nodes, self._new_edges(rng, list(nodes), 6))
        if kind == "change":
            nodes = {
                id: Node(
                    model.shape.content_of(rng) if rng.random() < 0.7 else last.nodes[id].content,
                    LABELS[rng.integers(3)],
                )
                for id in _some(rng, ids, 3, least=1)
            }
            return Operation("add", nodes, self._new_edges(rng, list(nodes), 2))
        if kind == "remove":
            gone = _some(rng, ids, min(3, len(ids) - FEWEST))
            left = _some(rng, list(last.edges), 3, least=not gone)
            if not gone and not left:
                return Operation("refresh")
            return Operation("remove", dict.fromkeys(gone), dict.fromkeys(left, 1.0))
        if kind == "erase":
            ever = list(dict.fromkeys(id for c in model.versions.values() for id in c.nodes))
            wanted = _some(rng, ever, 3, least=1)
            kept = [id for id in ids if id not in wanted]
            if len(kept) < FEWEST:
                wanted = [id for id in wanted if id not in ids] or wanted[:1]
            if len(ids) - len(set(ids) & set(wanted)) < FEWEST:
                return Operation("refit")
            return Operation("erase", dict.fromkeys(wanted))
        if kind == "rollback":
            return Operation("rollback", number=int(rng.choice(list(model.versions))))
        return Operation(kind, number=int(rng.integers(1, 5)) if kind == "prune" else 0)

    def _new_nodes(self, rng: np.random.Generator, n: int) -> dict[Any, Node]:
        shape, first = self.model.shape, self.model.used
        self.model.used += n
        return {
            shape.node(first + at): Node(shape.content_of(rng), LABELS[rng.integers(3)])
            for at in range(n)
        }

    def _new_edges(self, rng: np.random.Generator, ids: list[Any], n: int) -> dict[Any, float]:
        edges: dict[Any, float] = {}
        for _ in range(n):
            a, b = (ids[rng.integers(len(ids))] for _ in range(2))
            if a != b:
                weight = float(rng.integers(1, 5)) if self.model.shape.weighted else 1.0
                edges[self.model.shape.pair(a, b)] = weight
        return edges


def _some(rng: np.random.Generator, values: list[Any], most: int, least: int = 0) -> list[Any]:
    """Some of the values, without order."""
    count = min(len(values), int(rng.integers(least, max(most, least) + 1)))
    return [values[at] for at in rng.choice(len(values), count, replace=False)] if count else []


def _work(path: Path, shape: Shape, operation: Operation) -> Iterator[dict[str, Any]]:
    """Opens a store, and carries out an operation when it is asked again."""
    store = Store.open(path)
    yield {}
    perform(store, shape, operation)
    yield {}
