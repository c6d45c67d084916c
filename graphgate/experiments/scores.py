"""What is scored in each setting, and which of it is shown and chosen by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scores:
    """shown : metrics of a table's cell, the first being what counts. other : kept beside them.
    choosing : the metric by which a sweep chooses; None where nothing honest is there to choose by.
    """

    shown: tuple[str, ...]
    other: tuple[str, ...] = ()
    choosing: str | None = None

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.shown, *self.other)


_CLASSES = Scores(("accuracy",), ("macro_f1", "val_accuracy"), "val_accuracy")
SCORES = {
    "transductive": _CLASSES,
    "inductive": _CLASSES,
    "clustering": Scores(("nmi", "ari", "accuracy")),
    "links": Scores(("auc", "ap"), ("val_auc", "val_ap"), "val_auc"),
}
TITLES = {"accuracy": "accuracy", "nmi": "NMI", "ari": "ARI", "auc": "AUC", "ap": "AP"}
Published = tuple[float, float | None]  # mean and perhaps deviation
