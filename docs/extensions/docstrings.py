"""Reads the docstrings of the package, whose lists are `name : description`, for autodoc.

Numpydoc takes what follows the colon for a type. Here types come from the signature, and the rest
of the entry is prose; so parameters become fields, other lists definitions, and headings rubrics.
"""

import re
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx

ENTRY = re.compile(r"(?P<names>\*{0,2}[A-Za-z_]\w*(?:, \*{0,2}[A-Za-z_]\w*)*) : (?P<text>.+)")
REFERENCE = re.compile(r":\w+:`([^`<]+?)(?: <[^>]*>)?`")  # of a page that is not here
LITERAL = re.compile(r"(``.+?``|`[^`]+`)")


def fields(lines: list[str]) -> list[str]:
    """The lines of a docstring as reStructuredText.

    >>> fields(["Add.", "", "Parameters", "----------", "a, b : numbers,", "    at most |a|."])
    ['Add.', '', ':param a: numbers, at most \\\\|a\\\\|.', ':param b: see `a`.', '']
    """
    return list(_converted(lines))


def _converted(lines: list[str]) -> Iterator[str]:
    section, at = "Parameters", 0
    while at < len(lines):
        line = lines[at]
        if at + 1 < len(lines) and line and re.fullmatch(r"-{3,}", lines[at + 1]):
            section = line
            if section != "Parameters":
                yield from ("", f".. rubric:: {section}", "")
            at += 2
        elif line.startswith(">>> "):
            yield ""
            while at < len(lines) and lines[at]:
                yield lines[at]
                at += 1
            yield ""
        elif entry := ENTRY.fullmatch(line):
            text, at = [entry["text"]], at + 1
            while at < len(lines) and lines[at].startswith("    "):
                text.append(lines[at].strip())
                at += 1
            said = _escaped(" ".join(text))
            if section == "Attributes":
                yield from ("", f"``{entry['names']}``", f"    {said}")
            else:
                first, *others = entry["names"].split(", ")
                yield f":param {first}: {said}"
                yield from (f":param {name}: see `{first}`." for name in others)
            if at == len(lines) or not ENTRY.fullmatch(lines[at]):
                yield ""
        else:
            yield line if line.startswith("    ") else _escaped(line)
            at += 1


def _escaped(text: str) -> str:
    """Prose in which `*`, `|` and a final `_` stand for themselves."""
    parts = LITERAL.split(text)
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"([*|])", r"\\\1", parts[at])
        parts[at] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", parts[at])
    return "".join(parts)


def _process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if str(getattr(obj, "__module__", "")).startswith("sklearn."):
        summary = REFERENCE.sub(r"\1", " ".join(lines[: lines.index("")]))
        lines[:] = [summary, "", "Inherited from scikit-learn.", ""]
    else:
        lines[:] = fields(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
