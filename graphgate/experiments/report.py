"""Evaluations as rows of a table and as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graphgate.experiments.protocol import Evaluation
from graphgate.io.files import write_bytes

HEADS = ["method", "dataset", "setting", "split", "runs", "accuracy", "paper", "difference"]


def report_row(evaluation: Evaluation) -> list[str]:
    """One line: ours (mean ± deviation), the paper's, and the difference, in percent."""
    preset, published = evaluation.settings.get("preset"), evaluation.published()
    return [
        f"{evaluation.method} ({preset})" if preset else evaluation.method,
        evaluation.dataset,
        evaluation.setting,
        evaluation.split,
        str(len(evaluation.runs)),
        with_deviation(evaluation.mean(), evaluation.std()),
        "—" if published is None else with_deviation(*published),
        difference(evaluation),
    ]


def difference(evaluation: Evaluation, metric: str | None = None) -> str:
    """Ours less the paper's mean; between different splits it would say nothing of the method."""
    published = evaluation.published(metric)
    if published is None:
        return "—"
    if not is_comparable(evaluation):
        return "other split"
    return f"{evaluation.mean(metric) - published[0]:+z.1f}"


def is_comparable(evaluation: Evaluation) -> bool:
    """Nodes to learn from must be the published ones; edges are drawn at random by everyone."""
    return evaluation.split == "public" or evaluation.setting == "links"


def with_deviation(mean: float, deviation: float | None) -> str:
    return f"{mean:.1f}" if deviation is None else f"{mean:.1f} ± {deviation:.1f}"


def write_json(path: Path | str, content: Any) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_bytes(path, text.encode())
