"""The losses of a run, and what they say about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class History:
    """The loss of every epoch, each computed before the epoch's update.

    series : name -> one value per epoch; "loss" is what is minimized, the others are its parts.
    stopped : why training ended: "epochs", "patience" or "interrupted".

    >>> history = History({"loss": [3.0, 2.0, 1.5]}, "epochs")
    >>> len(history), history["loss"][-1]
    (3, 1.5)
    """

    series: dict[str, list[float]] = field(default_factory=dict)
    stopped: str = "epochs"

    def __getitem__(self, name: str) -> list[float]:
        return self.series[name]

    def __len__(self) -> int:
        return len(self.series.get("loss", ()))

    def append(self, parts: Mapping[str, float]) -> None:
        for name, value in parts.items():
            self.series.setdefault(name, []).append(value)

    @property
    def diverged(self) -> bool:
        """Whether the last loss exceeds the first."""
        return len(self) > 1 and self["loss"][-1] > self["loss"][0]

    @property
    def constant(self) -> bool:
        """Whether the loss is exactly the same in every epoch, so that no weight can have moved."""
        return len(self) > 1 and min(self["loss"]) == max(self["loss"])

    @property
    def far_from_converged(self) -> bool:
        """Whether the second half of the epochs still lowered the loss substantially.

        That is by more than a quarter of its value, or by more than a third of the decrease since
        the first epoch, as on a nearly straight line. With the paper's settings on its datasets,
        these fractions are at most 0.19 and 0.17. A single epoch is always too few.
        """
        if len(self) < 2:
            return True
        first, middle, last = self._milestones()
        return middle - last > min(abs(middle) / 4, abs(first - last) / 3)

    @property
    def halved_late(self) -> bool:
        """Whether the second half of the epochs still lowered the loss to less than a half.

        The measure for weights that are good from the start, which have less to gain. A single
        epoch is always too few.
        """
        if len(self) < 2:
            return True
        _, middle, last = self._milestones()
        return middle - last > abs(middle) / 2

    def _milestones(self) -> tuple[float, float, float]:
        """The first loss, that in the middle, and the last."""
        losses = self["loss"]
        return losses[0], losses[len(losses) // 2 - 1], losses[-1]
