"""Tables for notebooks: HTML in which everything of the user's is escaped."""

from collections.abc import Sequence
from html import escape
from typing import Any

MOST_ROWS, MOST_COLUMNS = 5, 8
_LONGEST = 40


def html_table(caption: str, columns: Sequence[tuple[str, Sequence[Any]]]) -> str:
    """Named columns, None where a value is missing."""
    heads = "".join(f"<th>{_spelled(name)}</th>" for name, _ in columns)
    lines = [
        "<tr>" + "".join(f"<td>{_spelled(value)}</td>" for value in row) + "</tr>"
        for row in zip(*(values for _, values in columns), strict=True)
    ]
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )


def _spelled(value: Any) -> str:
    """Short, and escaped."""
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")
