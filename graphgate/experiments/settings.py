"""The settings a method is evaluated in, and the metrics of each."""

from __future__ import annotations

from dataclasses import dataclass

from graphgate.errors import InputError


@dataclass(frozen=True)
class SettingMetrics:
    """The metrics of a setting, all in percent.

    shown : those a table shows, the main one first.
    hidden : those stored beside them.
    selection : the metric by which a sweep chooses; None if there is none that avoids test data.
    """

    shown: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    selection: str | None = None

    @property
    def main(self) -> str:
        return self.shown[0]

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.shown, *self.hidden)


_CLASSIFICATION = SettingMetrics(("accuracy",), ("macro_f1", "val_accuracy"), "val_accuracy")
CLASSIFICATION_SETTINGS = ("transductive", "inductive")
SETTINGS = {
    **dict.fromkeys(CLASSIFICATION_SETTINGS, _CLASSIFICATION),
    "clustering": SettingMetrics(("nmi", "ari", "accuracy")),
    "links": SettingMetrics(("auc", "ap"), ("val_auc", "val_ap"), "val_auc"),
}
METRIC_TITLES = {"accuracy": "accuracy", "nmi": "NMI", "ari": "ARI", "auc": "AUC", "ap": "AP"}
Published = tuple[float, float | None]  # mean, and the standard deviation if there is one


def check_setting(name: str) -> None:
    if name not in SETTINGS:
        raise InputError(f"unknown setting {name!r}; use one of {', '.join(SETTINGS)}")


def with_std(mean: float, std: float | None) -> str:
    """A mean and its standard deviation, as tables show them."""
    return f"{mean:.1f}" if std is None else f"{mean:.1f} ± {std:.1f}"
