"""Random splits of the same sizes as Planetoid's."""

import numpy as np

from graphgate.errors import InputError


def random_split(
    labels: np.ndarray, seed: int, *, per_class: int = 20, val: int = 500, test: int = 1000
) -> dict[str, np.ndarray]:
    """`per_class` training nodes per class, then `val` and `test` of the remaining nodes.

    labels : (N,) codes; nodes with code -1 belong to no split.
    """
    labeled = np.flatnonzero(labels >= 0)
    shuffled = labeled[np.random.default_rng(seed).permutation(len(labeled))]
    classes = np.unique(labels[labeled])
    parts = [shuffled[labels[shuffled] == label][:per_class] for label in classes]
    train = np.concatenate([shuffled[:0], *parts])
    rest = shuffled[~np.isin(shuffled, train)]
    if len(train) < per_class * len(classes) or len(rest) < val + test:
        raise InputError(
            f"{len(labeled):,} labeled nodes of {len(classes)} classes are too few for a split "
            f"of {per_class} per class, {val:,} and {test:,}; pass your own splits"
        )
    rows = {"train": train, "val": rest[:val], "test": rest[val : val + test]}
    return {name: np.isin(np.arange(len(labels)), part) for name, part in rows.items()}
