"""Evaluations as rows of a table and as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graphgate.evaluation.protocol import Evaluation
from graphgate.files import write_bytes

HEADS = ["method", "dataset", "setting", "split", "runs", "accuracy", "paper", "difference"]


def report_row(evaluation: Evaluation) -> list[str]:
    """One line: ours (mean ± deviation), the paper's, and the difference, in percent."""
    published, difference = evaluation.paper, "—"
    if published is not None:  # a difference between splits would say nothing of the method
        public = evaluation.split == "public"
        difference = f"{evaluation.mean - published[0]:+.1f}" if public else "other split"
    return [
        f"{evaluation.method} ({evaluation.preset})",
        evaluation.dataset,
        evaluation.setting,
        evaluation.split,
        str(len(evaluation.runs)),
        with_deviation(evaluation.mean, evaluation.std),
        "—" if published is None else with_deviation(*published),
        difference,
    ]


def with_deviation(mean: float, deviation: float | None) -> str:
    return f"{mean:.1f}" if deviation is None else f"{mean:.1f} ± {deviation:.1f}"


def write_json(path: Path | str, content: Any) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_bytes(path, text.encode())
