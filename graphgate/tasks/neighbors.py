"""The nodes nearest to a node: exact, by cosine, in blocks of bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from graphgate.errors import InputError

BLOCK_ENTRIES = 8_000_000  # similarities held at once, 32 MB


def nearest(
    embedding: np.ndarray, rows: np.ndarray, top: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Block by block: rows (B,), their nearest (B, K) and the cosines (B, K), nearest first.

    Of equal cosines the first row comes first. A node is not its own neighbour; K is `top`, or
    all others where they are fewer. A vector of length 0 has cosine 0 with all.
    """
    n = len(embedding)
    if top < 1:
        raise InputError(f"top must be a whole number of at least 1, got {top}")
    if n < 2:
        raise InputError("the embedding has a single node, which nothing is near to")
    k = min(top, n - 1)
    unit = normalized(embedding)
    step = max(1, BLOCK_ENTRIES // n)
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        cosine = unit[block] @ unit.T  # (B, N)
        cosine[np.arange(len(block)), block] = -np.inf
        found = _largest(cosine, k)
        values = np.take_along_axis(cosine, found, axis=1)
        yield block, found, np.clip(values, -1.0, 1.0)


def normalized(embedding: np.ndarray) -> np.ndarray:
    """Rows of length 1, or 0; scaled first, so that no square overflows."""
    largest = np.abs(embedding).max(axis=1, keepdims=True)
    scaled = embedding / np.where(largest > 0, largest, 1)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled / np.where(lengths > 0, lengths, 1)


def _largest(values: np.ndarray, k: int) -> np.ndarray:
    """Columns of the k largest values of each row, largest first, the first column of equals."""
    if 4 * k >= values.shape[1]:
        return np.argsort(-values, axis=1, kind="stable")[:, :k]
    least = np.partition(values, -k, axis=1)[:, -k]  # the k-th largest
    found = np.empty((len(values), k), dtype=np.int64)
    for row, (line, bound) in enumerate(zip(values, least, strict=True)):
        columns = np.flatnonzero(line >= bound)
        found[row] = columns[np.argsort(-line[columns], kind="stable")[:k]]
    return found
