"""Several waiting queries are answered by one search."""

import asyncio
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np

from graphgate.service.metrics import Metrics
from graphgate.service.served import Served

_AT_ONCE = 256  # queries in one search


@dataclass(eq=False)
class Query:
    """vectors : (Q, D). own : (Q,) the row that each is, or -1."""

    served: Served
    vectors: np.ndarray
    own: np.ndarray
    n_neighbors: int
    answer: asyncio.Future[tuple[np.ndarray, np.ndarray]] = field(init=False)


class Batches:
    """While one search runs, queries wait; the next search answers all of them."""

    def __init__(self, executor: Executor, metrics: Metrics) -> None:
        self._executor, self._metrics = executor, metrics
        self._waiting: list[Query] = []
        self._task: asyncio.Task[None] | None = None

    async def nearest(self, query: Query) -> tuple[np.ndarray, np.ndarray]:
        """(Q, K) rows and cosines; row -1 where there are fewer."""
        query.answer = asyncio.get_running_loop().create_future()
        self._waiting.append(query)
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return await query.answer

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while batch := self._take():
                try:
                    found = await loop.run_in_executor(self._executor, _search, batch)
                except Exception as error:
                    for query in batch:
                        if not query.answer.done():
                            query.answer.set_exception(error)
                    continue
                self._metrics.searches += 1
                for query, answer in zip(batch, found, strict=True):
                    self._metrics.queries += len(query.vectors)
                    if not query.answer.done():
                        query.answer.set_result(answer)
        finally:
            self._task = None

    def _take(self) -> list[Query]:
        """The first queries, of one version, that nobody has given up on."""
        self._waiting = [query for query in self._waiting if not query.answer.done()]
        batch: list[Query] = []
        size = 0
        for query in self._waiting:
            size += len(query.vectors)
            if batch and (size > _AT_ONCE or query.served is not batch[0].served):
                break
            batch.append(query)
        del self._waiting[: len(batch)]
        return batch


def _search(batch: list[Query]) -> list[tuple[np.ndarray, np.ndarray]]:
    rows, cosines = batch[0].served.index.nearest(
        np.concatenate([query.vectors for query in batch]),
        max(query.n_neighbors for query in batch),
        np.concatenate([query.own for query in batch]),
    )
    ends = np.cumsum([len(query.vectors) for query in batch])[:-1]
    parts = zip(batch, np.split(rows, ends), np.split(cosines, ends), strict=True)
    return [(some[:, : q.n_neighbors], values[:, : q.n_neighbors]) for q, some, values in parts]
