"""Classes of nodes by the probe: how well it does on known labels, and what it says of others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import StratifiedKFold

from graphgate.errors import InputError
from graphgate.tasks.probe import make_probe


class CrossValidated(NamedTuple):
    """Scores of each fold, in percent, on nodes that the probe has not learned from."""

    accuracy: list[float]
    macro_f1: list[float]


class Predicted(NamedTuple):
    """rows : nodes without a label. codes : (M,) their classes. probabilities : (M, C)."""

    rows: np.ndarray
    codes: np.ndarray
    probabilities: np.ndarray


def cross_validate(
    embedding: np.ndarray,
    labels: np.ndarray,
    *,
    folds: int = 5,
    form: str = "one-vs-rest",
    seed: int = 0,
) -> CrossValidated:
    """Learn from all labelled nodes but a fold, score that fold; every node is scored once."""
    rows = np.flatnonzero(labels >= 0)
    truth = labels[rows]
    _check(truth)
    smallest = int(np.bincount(truth).min())
    if not 2 <= folds <= smallest:
        raise InputError(
            f"{folds} folds, but the smallest class has {smallest} labelled node(s); "
            f"ask for {'2' if smallest == 2 else f'2 to {smallest}'} folds"
            if smallest >= 2
            else "a class has a single labelled node, so none is left to score; label another one"
        )
    accuracy, macro_f1 = [], []
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for train, test in splitter.split(rows, truth):
        probe = make_probe(form, seed).fit(embedding[rows[train]], truth[train])
        guessed = probe.predict(embedding[rows[test]])
        accuracy.append(100 * float(accuracy_score(truth[test], guessed)))
        macro_f1.append(
            100 * float(f1_score(truth[test], guessed, average="macro", zero_division=0))
        )
    return CrossValidated(accuracy, macro_f1)


def predict_unlabelled(
    embedding: np.ndarray, labels: np.ndarray, *, form: str = "one-vs-rest", seed: int = 0
) -> Predicted:
    """Learn from all labelled nodes, and tell the others' classes with probabilities."""
    known = labels >= 0
    _check(labels[known])
    rows = np.flatnonzero(~known)
    n_classes = int(labels.max()) + 1
    if not len(rows):
        return Predicted(rows, np.empty(0, dtype=np.int64), np.empty((0, n_classes)))
    probe = make_probe(form, seed).fit(embedding[known], labels[known])
    probabilities = probe.predict_proba(embedding[rows])
    return Predicted(rows, np.asarray(probe.classes_)[probabilities.argmax(axis=1)], probabilities)


def _check(labels: np.ndarray) -> None:
    if len(np.unique(labels)) < 2:
        raise InputError("the labelled nodes have fewer than two classes; a probe needs two")
