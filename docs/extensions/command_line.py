"""Appends the help of every command to the page `commands`, as Markdown."""

import re
from collections.abc import Iterator
from typing import Any

import typer
from sphinx.application import Sphinx

from graphgate.__main__ import app as program


def reference() -> str:
    """One section per command: what it does, an example, and a table of its parameters."""
    return "\n".join(_sections(typer.main.get_command(program), "graphgate"))


def _sections(command: Any, name: str) -> Iterator[str]:
    for each, sub in getattr(command, "commands", {}).items():
        full = f"{name} {each}"
        if getattr(sub, "commands", None):
            yield from _sections(sub, full)
            continue
        yield f"\n## {full}\n\n{_paragraphs(sub.help or '')}\n"
        example = sub.epilog.partition("\n")[0].removeprefix("Example: ")
        yield f"```text\n{example}\n```\n"
        yield "| parameter | |\n| --- | --- |"
        for parameter in sub.params:
            if parameter.name != "help":
                yield f"| {_spelled(parameter)} | {_cell(parameter.help)}{_default(parameter)} |"


def _paragraphs(text: str) -> str:
    return "\n\n".join(_cell(part) for part in text.split("\n\n"))


def _spelled(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`"
    return ", ".join(f"`{each}`" for each in (*parameter.opts, *parameter.secondary_opts))


def _default(parameter: Any) -> str:
    if parameter.required:
        return " Required."
    default = parameter.default
    if default is None or default is False or default in ((), []) or callable(default):
        return ""
    return f" Default: `{getattr(default, 'value', default)}`."


def _cell(text: str | None) -> str:
    text = " ".join((text or "").split()).replace("|", "\\|")
    return re.sub(r"(?<![\w`])(torchrun .*|--[a-z][\w-]*)", r"`\g<0>`", text)


def _append(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == "commands":
        source[0] += reference()


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _append)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
