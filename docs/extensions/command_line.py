"""Writes one page per command, from its help, and lists them on the page `commands`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from sphinx.application import Sphinx

from graphgate.__main__ import app as program


def commands() -> dict[str, Any]:
    """Every command that runs, by its full name: `graphgate store add`."""
    return dict(_commands(typer.main.get_command(program), "graphgate"))


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    for each, sub in getattr(command, "commands", {}).items():
        if getattr(sub, "commands", None):
            yield from _commands(sub, f"{name} {each}")
        else:
            yield f"{name} {each}", sub


def page(name: str, command: Any) -> str:
    """What a command does, an example, and a table of its parameters."""
    example = command.epilog.partition("\n")[0].removeprefix("Example: ")
    lines = [
        f"# {name}\n",
        _paragraphs(command.help or ""),
        f"\n```text\n{example}\n```\n",
        "| parameter | |\n| --- | --- |",
    ]
    for parameter in command.params:
        if parameter.name != "help":
            lines.append(
                f"| {_spelled(parameter)} | {_cell(parameter.help)}{_default(parameter)} |"
            )
    return "\n".join([*lines, ""])


def overview() -> str:
    """The commands by what they are for, each with a link and its first sentence."""
    panels: dict[str, list[str]] = {}
    for name, command in commands().items():
        parent = name.rpartition(" ")[0]
        group = command.rich_help_panel if parent == "graphgate" else parent
        sentence = _cell((command.help or "").split("\n\n")[0])
        panels.setdefault(group, []).append(f"- [{name}](commands/{_file(name)}.md): {sentence}")
    sections = [f"## {title}\n\n" + "\n".join(rows) for title, rows in panels.items()]
    hidden = "\n".join(f"commands/{_file(name)}" for name in commands())
    return "\n\n".join(["", *sections, f"```{{toctree}}\n:hidden:\n\n{hidden}\n```\n"])


def _file(name: str) -> str:
    return name.removeprefix("graphgate ").replace(" ", "-")


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


def _write(app: Sphinx) -> None:
    """The pages, but for those that have not changed, so that they are not built again."""
    folder = Path(app.srcdir) / "commands"
    folder.mkdir(exist_ok=True)
    texts = {f"{_file(name)}.md": page(name, command) for name, command in commands().items()}
    for outdated in {path.name for path in folder.glob("*.md")} - texts.keys():
        (folder / outdated).unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def _append(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == "commands":
        source[0] += overview()


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", _write)
    app.connect("source-read", _append)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
