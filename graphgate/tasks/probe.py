"""The probe: logistic regression on frozen embeddings, as the paper and its program use it."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from sklearn.linear_model import LogisticRegression
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


def probe_predictions(
    embedding: np.ndarray,
    labels: np.ndarray,
    train: np.ndarray,
    *,
    form: str = "one-vs-rest",
    seed: int = 0,
) -> np.ndarray:
    """Classes of all nodes, (N,), by a probe trained on `train`.

    embedding : (N, D). labels : (N,), -1 where there is none. train : a mask over the nodes.
    """
    if not train.any():
        raise InputError("the split 'train' has no nodes, so there is nothing to probe")
    if (labels[train] < 0).any():
        raise InputError("a node of the split 'train' has no label")
    if len(np.unique(labels[train])) < 2:
        raise InputError("the training nodes have a single class; a probe needs at least two")
    if embedding.shape[:1] != labels.shape or not np.isfinite(embedding).all():
        raise InputError(
            f"the method gave vectors of shape {embedding.shape} for {len(labels):,} nodes, or some"
            " that are not finite; there is nothing to probe"
        )
    return make_probe(form, seed).fit(embedding[train], labels[train]).predict(embedding)
