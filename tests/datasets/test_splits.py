"""Random splits of the public split's sizes."""

from __future__ import annotations

import numpy as np
import pytest

from graphgate.datasets.splits import random_split
from graphgate.errors import InputError


def test_random_splits_have_the_sizes_of_planetoid():
    labels = np.random.default_rng(0).integers(-1, 4, 2400)
    splits = random_split(labels, 0)
    assert {name: int(mask.sum()) for name, mask in splits.items()} == {
        **{"train": 80, "val": 500, "test": 1000},
    }
    assert all(mask.shape == (2400,) and mask.dtype == bool for mask in splits.values())
    assert np.bincount(labels[splits["train"]]).tolist() == [20] * 4
    together = np.sum(list(splits.values()), axis=0)
    assert together.max() == 1
    assert (labels[together > 0] >= 0).all()


def test_random_splits_are_seeded():
    labels = np.arange(60) % 3
    one, two, three = (
        random_split(labels, seed, per_class=4, val=10, test=20) for seed in (0, 0, 1)
    )
    for name in ("train", "val", "test"):
        assert np.array_equal(one[name], two[name])
        assert not np.array_equal(one[name], three[name])


def test_a_random_split_may_use_all_nodes():
    splits = random_split(np.arange(12) % 2, 3, per_class=2, val=3, test=5)
    assert np.sum(list(splits.values()), axis=0).tolist() == [1] * 12


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(11) % 2,
        np.where(np.arange(12) == 5, -1, np.arange(12) % 2),
        np.array([0] * 30 + [1]),
        np.full(12, -1),
        np.empty(0, dtype=int),
    ],
    ids=["one short", "one without label", "a small class", "no label", "no node"],
)
def test_too_few_nodes_for_a_random_split(labels):
    with pytest.raises(InputError, match="too few for a split of 2 per class, 3 and 5"):
        random_split(labels, 0, per_class=2, val=3, test=5)
