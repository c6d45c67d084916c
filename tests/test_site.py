"""The documentation site: its pages are complete, and their commands and code can be run.

`make site` builds it, runs the tutorials, and follows every internal link.
"""

import doctest
import importlib.util
import json
import re
import shlex
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from linear_graphs import word_graph

import graphgate
from graphgate.__main__ import app as program

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("tutorials/*.md"))]
# Pages whose snippets run as they are; those of others are run in test_pages.py or by `make site`.
WITH_CODE = (
    *("attributes", "unseen", "clustering", "links", "linear", "similar"),
    *("gate", "smoothing", "baselines"),
)


def _extension(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / "extensions" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _text(page):
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def _commands(command, name="graphgate"):
    for each, sub in getattr(command, "commands", {}).items():
        yield from _commands(sub, f"{name} {each}")
    yield name, command


COMMANDS = dict(_commands(typer.main.get_command(program)))


def test_the_reference_lists_every_public_name():
    listed = re.findall(r"^   (\w+)$", _text("api"), flags=re.MULTILINE)
    assert sorted(listed) == sorted(graphgate.__all__), "add it to docs/api.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_on_pages_exist_with_their_options(page):
    text = re.sub(r" \\\n\s+", " ", page.read_text(encoding="utf-8"))
    found = re.findall(r"^ {4}(?:\$ )?(?:torchrun .*-m )?(graphgate .*)$", text, flags=re.MULTILINE)
    found += re.findall(r"`(graphgate [^`]+)`", text)
    for line in found:
        words = shlex.split(re.sub(r"\s+", " ", line), comments=True)
        name = max((n for n in COMMANDS if words[: n.count(" ") + 1] == n.split()), key=len)
        known = {o for p in COMMANDS[name].params for o in (*p.opts, *p.secondary_opts)} | {
            "--help"
        }
        assert {word for word in words if word.startswith("--")} <= known, line
        if hasattr(COMMANDS[name], "commands"):
            rest = words[len(name.split()) :]
            assert not rest or rest[0] == "COMMAND" or rest[0].startswith("--"), line


@pytest.mark.parametrize("page", WITH_CODE)
def test_code_on_pages_runs(page, tmp_path, monkeypatch):
    """On a smaller graph than the one that they load, to be quick."""
    small = SimpleNamespace(graph=word_graph(n=700, degree=6))
    monkeypatch.setattr(graphgate, "load_dataset", lambda name: small, raising=False)
    monkeypatch.chdir(tmp_path)
    found: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", _text(page), flags=re.DOTALL)
    assert blocks
    for code in blocks:
        exec(code, found)


def test_every_command_has_a_page_with_an_example():
    module = _extension("command_line")
    pages, overview = module.commands(), module.overview()
    assert pages.keys() == {n for n, each in COMMANDS.items() if not hasattr(each, "commands")}
    for name, command in pages.items():
        assert command.epilog.startswith("Example: graphgate"), name
        assert module.page(name, command).startswith(f"# {name}\n")
        assert overview.count(f"- [{name}](commands/") == 1
    assert "| `--clusters` |" in module.page("graphgate cluster", pages["graphgate cluster"])
    assert not re.search(r"None|<typer", overview)


def test_docstrings_become_fields():
    module = _extension("docstrings")
    assert doctest.testmod(module).failed == 0
    lines = ["A.", "", "Attributes", "----------", "z_ : the *z*", "", "More about `a_b` and b_."]
    assert module.fields(lines) == [
        *("A.", "", "", ".. rubric:: Attributes", "", "", "``z_``", "    the \\*z\\*", "", ""),
        "More about `a_b` and b\\_.",
    ]


def test_the_build_says_how_long_tutorials_ran(capsys):
    module = _extension("tutorial_times")
    assert doctest.testmod(module).failed == 0
    connected = {}
    module.setup(SimpleNamespace(connect=connected.__setitem__))
    pages = {
        "index": {"exec_data": {"runtime": 2.0}},  # it has code, but is no tutorial
        "tutorials/1-a": {"exec_data": {"runtime": 12.25}},
        "tutorials/2-b": {"exec_data": {"runtime": None}},  # it has failed
    }
    built = SimpleNamespace(env=SimpleNamespace(nb_metadata=pages))
    connected["build-finished"](built, RuntimeError())
    assert not capsys.readouterr().out
    connected["build-finished"](built, None)
    assert capsys.readouterr().out == "tutorials/1-a: 12.2 s\nall 1 tutorials: 12.2 s\n"


def test_every_part_of_the_script_inside_pages_has_a_license():
    pydeck = pytest.importorskip("pydeck")
    static = Path(pydeck.__file__).parent / "nbextension" / "static"
    sources = json.loads((static / "index.js.map").read_text(encoding="utf-8"))["sources"]
    inside = {
        found[-1]
        for source in sources
        if (found := re.findall(r"node_modules/(@[^/]+/[^/]+|[^/]+)/", source))
    }
    (table,) = re.findall(r"(?<=\| --- \| --- \|\n\| MIT \| ).*?\n\n", _text("support"), re.DOTALL)
    listed = set(re.findall(r"@?[\w.-]+(?:/[\w.-]+)?", table))
    assert {part for part in inside if not {part, part.split("/")[0]} & listed} == set()


def test_contributing_names_what_ci_runs():
    named = re.findall(r"^    make ([\w-]+)", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    run = re.findall(r"^timed make ([\w-]+)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert named == run


def test_every_extra_is_on_the_page_of_installation():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = re.findall(r"^\| `(\w+)` \|", _text("install"), flags=re.MULTILINE)
    assert sorted(listed) == sorted(project["optional-dependencies"])


def test_versions_agree():
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert f"\nversion: {version[1]}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"version = {{{version[1]}}}" in _text("support")
    assert f"graphgate-{version[1]}-py3-none-any.whl" in _text("install")
