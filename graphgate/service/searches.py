"""Queries that wait for a search are answered together by the next one."""

import asyncio
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np

from graphgate.service.metrics import Metrics
from graphgate.service.served import Served

_AT_ONCE = 256  # vectors in one search


@dataclass(eq=False)
class Search:
    """Vectors for which the nearest nodes of a version are wanted.

    vectors : (Q, D).
    own : (Q,) the row that each vector is, which is not its own neighbor; -1 for none.
    """

    served: Served
    vectors: np.ndarray
    own: np.ndarray
    n_neighbors: int
    answer: asyncio.Future[tuple[np.ndarray, np.ndarray]] = field(init=False)


class Searches:
    """While one search runs, queries wait; the next search answers all of them."""

    def __init__(self, executor: Executor, metrics: Metrics) -> None:
        self._executor, self._metrics = executor, metrics
        self._waiting: list[Search] = []
        self._task: asyncio.Task[None] | None = None

    async def nearest(self, query: Search) -> tuple[np.ndarray, np.ndarray]:
        """(Q, K) rows and cosines; row -1 where there are fewer."""
        query.answer = asyncio.get_running_loop().create_future()
        self._waiting.append(query)
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return await query.answer

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while queries := self._next():
                try:
                    answers = await loop.run_in_executor(self._executor, _search, queries)
                except Exception as error:
                    for query in queries:
                        if not query.answer.done():
                            query.answer.set_exception(error)
                    continue
                self._metrics.searches += 1
                self._metrics.queries += sum(len(query.vectors) for query in queries)
                for query, answer in zip(queries, answers, strict=True):
                    if not query.answer.done():
                        query.answer.set_result(answer)
        finally:
            self._task = None

    def _next(self) -> list[Search]:
        """The first queries, of one version, whose clients still wait."""
        self._waiting = [query for query in self._waiting if not query.answer.done()]
        queries: list[Search] = []
        size = 0
        for query in self._waiting:
            size += len(query.vectors)
            if queries and (size > _AT_ONCE or query.served is not queries[0].served):
                break
            queries.append(query)
        del self._waiting[: len(queries)]
        return queries


def _search(queries: list[Search]) -> list[tuple[np.ndarray, np.ndarray]]:
    rows, cosines = queries[0].served.index.nearest(
        np.concatenate([query.vectors for query in queries]),
        max(query.n_neighbors for query in queries),
        np.concatenate([query.own for query in queries]),
    )
    ends = np.cumsum([len(query.vectors) for query in queries])[:-1]
    parts = zip(queries, np.split(rows, ends), np.split(cosines, ends), strict=True)
    return [(near[:, : q.n_neighbors], values[:, : q.n_neighbors]) for q, near, values in parts]
