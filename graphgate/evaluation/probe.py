"""The probe: logistic regression on frozen embeddings, as the paper and its program use it."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.multiclass import OneVsRestClassifier

from graphgate.errors import InputError

ProbeForm = Literal["one-vs-rest", "multinomial"]
PROBE_FORMS: tuple[str, ...] = get_args(ProbeForm)


def make_probe(form: str, seed: int = 0) -> Any:
    """ "one-vs-rest" (liblinear, scikit-learn's default in 2019) or "multinomial" (today's)."""
    if form == "one-vs-rest":
        binary = LogisticRegression(solver="liblinear", C=1.0, random_state=seed)
        return OneVsRestClassifier(binary)
    if form == "multinomial":
        return LogisticRegression(C=1.0, max_iter=1000)
    raise InputError(f"unknown probe {form!r}; use one of {', '.join(PROBE_FORMS)}")


def probe_scores(
    embedding: np.ndarray,
    labels: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    *,
    form: str = "one-vs-rest",
    seed: int = 0,
) -> tuple[float, float]:
    """Accuracy and macro F1 in percent on `test`, of a probe trained on `train`.

    embedding : (N, D). labels : (N,), -1 where there is none. train, test : masks over the nodes.
    """
    for name, mask in (("train", train), ("test", test)):
        if not mask.any():
            raise InputError(f"the split {name!r} has no nodes, so there is nothing to probe")
        if (labels[mask] < 0).any():
            raise InputError(f"a node of the split {name!r} has no label")
    if len(np.unique(labels[train])) < 2:
        raise InputError("the training nodes have a single class; a probe needs at least two")
    predicted = make_probe(form, seed).fit(embedding[train], labels[train]).predict(embedding[test])
    accuracy = accuracy_score(labels[test], predicted)
    macro_f1 = f1_score(labels[test], predicted, average="macro", zero_division=0)
    return round(100 * float(accuracy), 4), round(100 * float(macro_f1), 4)
