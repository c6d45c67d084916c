"""Classes from vectors: a probe scored by cross-validation, and predictions for other nodes."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.multiclass import OneVsRestClassifier

from graphgate.errors import InputError, InputWarning
from graphgate.estimators.hyperparameters import seed
from graphgate.graph.validation import label_codes
from graphgate.io.embeddings import as_embedding
from graphgate.io.graph_tables import read_nodes
from graphgate.io.reading_options import ReadingOptions
from graphgate.io.table_files import open_table

Probe = Literal["one-vs-rest", "multinomial"]
PROBES: tuple[str, ...] = get_args(Probe)


@dataclass(frozen=True)
class Classification:
    """Scores of a probe, and the labels that it predicts.

    classes : the C label values, sorted.
    accuracy, macro_f1 : one score per fold, in percent, on nodes the probe was not trained on.
    ids : the M nodes without a label.
    predictions : their M predicted labels.
    probabilities : (M, C), columns as in `classes`.
    """

    classes: tuple[Any, ...]
    accuracy: list[float]
    macro_f1: list[float]
    ids: np.ndarray
    predictions: list[Any]
    probabilities: np.ndarray


def classify(
    embedding: Any,
    labels: Mapping[Any, Any] | Sequence[Any] | np.ndarray | None = None,
    *,
    probe: str = "one-vs-rest",
    cv: int = 5,
    random_state: int | None = 0,
) -> Classification:
    """Cross-validate a probe on the labeled nodes, and predict the labels of the others.

    Parameters
    ----------
    embedding : an `Embedding`, or an (N, D) array.
    labels : N labels, None where a node has none, or a mapping of ids to labels; the default is
        the labels of the embedding.
    probe : "one-vs-rest" or "multinomial" logistic regression, see `make_probe`.
    cv : number of stratified folds.
    random_state : seed of the folds and of the probe.

    Examples
    --------
    >>> z = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    >>> classify(z, ["a", "a", "b", "b", None], cv=2).predictions
    ['b']
    """
    given = as_embedding(embedding)
    ids, vectors = given.ids, given.vectors
    codes, classes = encode_labels(given, labels)
    labeled = codes >= 0
    _check_folds(cv, codes[labeled], classes)
    random_state = None if random_state is None else seed(random_state)
    model = make_probe(probe, random_state)
    scores = cross_validate(
        model,
        vectors[labeled],
        codes[labeled],
        cv=StratifiedKFold(cv, shuffle=True, random_state=random_state),
        scoring={
            "accuracy": "accuracy",
            "macro_f1": make_scorer(f1_score, average="macro", zero_division=0),
        },
        error_score="raise",
    )
    probabilities = np.empty((0, len(classes)))
    if not labeled.all():
        model.fit(vectors[labeled], codes[labeled])
        probabilities = model.predict_proba(vectors[~labeled])
    return Classification(
        classes,
        (100 * scores["test_accuracy"]).tolist(),
        (100 * scores["test_macro_f1"]).tolist(),
        ids[~labeled],
        [classes[code] for code in probabilities.argmax(axis=1)],
        probabilities,
    )


def _check_folds(cv: int, codes: np.ndarray, classes: tuple[Any, ...]) -> None:
    """Require two classes, and a labeled node of each for every fold."""
    if len(classes) < 2:
        raise InputError(f"need labels of at least two classes, got {len(classes)}")
    sizes = np.bincount(codes)
    if cv < 2:
        raise InputError(f"cross-validation needs at least 2 folds, got {cv}")
    if cv > sizes.min():
        raise InputError(
            f"{cv} folds need {cv} labeled nodes of every class, but the smallest class, "
            f"{classes[int(np.argmin(sizes))]!r}, has {sizes.min()}; use fewer folds or label more"
        )


def encode_labels(embedding: Any, labels: Any = None) -> tuple[np.ndarray, tuple[Any, ...]]:
    """(N,) positions in the sorted classes, -1 where a node has no label, and these classes.

    Takes labels as `classify` does; without any, all nodes are at -1. Warns if the name of a pandas
    Series of labels is that of a column that the vectors were made from.
    """
    given = as_embedding(embedding)
    ids = given.ids
    warn_of_label(given.columns, getattr(labels, "name", None))
    if isinstance(labels, Mapping):
        labels = [labels.get(node) for node in ids.tolist()]
        if all(label is None for label in labels):
            raise InputError(
                "labels contains no id of the embedding; pass labels of the same nodes"
            )
    codes, classes = label_codes(given.labels if labels is None else labels, len(ids))
    return (np.full(len(ids), -1) if codes is None else codes), classes


def warn_of_label(columns: Sequence[str] | None, label: Any) -> None:
    """Warn if a label is one of the columns that vectors were made from."""
    if label in (columns or ()):
        warnings.warn(
            f"the column {label!r} is one of those that the vectors were made from, so that they "
            "contain the labels, and scores are too high; embed again with it as label, or drop it",
            InputWarning,
            stacklevel=4,
        )


def make_probe(probe: str, random_state: int | None = 0) -> Any:
    """Logistic regression on frozen embeddings, unfitted.

    "one-vs-rest" (liblinear) is scikit-learn's default of 2019, which the paper used;
    "multinomial" is today's.
    """
    if probe == "one-vs-rest":
        return OneVsRestClassifier(
            LogisticRegression(solver="liblinear", C=1.0, random_state=random_state)
        )
    if probe == "multinomial":
        return LogisticRegression(C=1.0, max_iter=1000)
    raise InputError(f"unknown probe {probe!r}; use one of {', '.join(PROBES)}")


def probe_predictions(
    vectors: np.ndarray,
    codes: np.ndarray,
    train: np.ndarray,
    *,
    probe: str = "one-vs-rest",
    random_state: int | None = 0,
) -> np.ndarray:
    """(N,) classes of all nodes, predicted by a probe that is trained on some of them.

    vectors : (N, D). codes : (N,), -1 where a node has no label. train : (N,) boolean mask.
    """
    if not train.any():
        raise InputError("the split 'train' has no nodes; a probe needs labeled training nodes")
    if (codes[train] < 0).any():
        raise InputError("a node of the split 'train' has no label")
    if len(np.unique(codes[train])) < 2:
        raise InputError("the training nodes have a single class; a probe needs at least two")
    if vectors.shape[:1] != codes.shape or not np.isfinite(vectors).all():
        raise InputError(
            f"expected one finite vector for each of {len(codes):,} nodes, but the method returned "
            f"shape {vectors.shape} or values that are not finite"
        )
    return make_probe(probe, random_state).fit(vectors[train], codes[train]).predict(vectors)


def read_labels(
    path: Path | str, ids: np.ndarray, *, id: str = "id", label: str = "label"
) -> list[Any]:
    """Labels of these nodes from two columns of a node table, None where it has none.

    A warning counts the nodes that the table lacks.
    """
    table = open_table(Path(path))
    table.require(id, label)
    others = [name for name in table.names if name not in (id, label)]
    nodes = read_nodes(table, ReadingOptions(id=id, label=label, drop=others))
    values = nodes.read().labels
    assert values is not None
    labels = dict(zip(map(str, nodes.ids.to_pylist()), values, strict=True))
    names = [str(node) for node in ids.tolist()]
    missing = [node for node in names if node not in labels]
    if len(missing) == len(names):
        raise InputError(f"{path} contains no id of the embedding; pass a table of the same nodes")
    if missing:
        warnings.warn(
            f"{path} lacks {len(missing):,} of {len(names):,} nodes of the embedding, such as "
            f"{missing[0]!r}; they have no label",
            InputWarning,
            stacklevel=2,
        )
    return [labels.get(node) for node in names]
