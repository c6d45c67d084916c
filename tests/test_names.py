"""The modules, classes, functions, options and files that the documentation names exist."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
import typer

from graphgate.__main__ import app

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "commands"),
]
SPAN = re.compile(r"(?<![`\w])`([^`\n]+)`(?!`)")
NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
SCRIPT = re.compile(r"python -m (benchmarks|scripts|fuzz)[ .](\w+)(.*)")
FILE = re.compile(r"[\w*-]+(?:/[\w.*-]+)*\.(?:py|js|cff|toml|txt|md)")
# Of torchrun, and of every command.
OTHER_OPTIONS = {"--help", "--max-restarts"}
# Variables of the examples, as in `gate.embedding_`.
INSTANCES = {"embedding", "gate", "graph", "report", "store"}
# Of other libraries and programs, and a file of the reader.
OTHERS = {"AXE_CORE", "DataLoader", "PyTorchJob", "TruncatedSVD", "mine.py", "print"}
# What the names of other libraries, their objects and example files begin with.
LIBRARIES = {"adata", "adata_ref", "data", "pytest", "sc", "scanpy", "torch"}
LIBRARIES |= {"friends", "people", "test"}


class Package:
    """What the source defines: names of modules, and members of modules and of classes."""

    def __init__(self) -> None:
        self.modules: dict[str, set[str]] = defaultdict(set)
        self.classes: dict[str, set[str]] = defaultdict(set)
        self.words: set[str] = set()
        bases: dict[str, list[str]] = {}
        for path in (ROOT / "graphgate").rglob("*.py"):
            text = path.read_text("utf-8")
            self.words |= set(re.findall(r"\w+", text))
            tree = ast.parse(text)
            name = path.parent.name if path.stem == "__init__" else path.stem
            self.modules[name] |= defined(tree)
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    self.classes[node.name] |= defined(node)
                    bases[node.name] = [ast.unparse(base).split(".")[-1] for base in node.bases]
        for name in list(bases):
            for base in lineage(name, bases):
                self.classes[name] |= self.classes.get(base, set())
        self.members = set.union(*self.modules.values(), *self.classes.values())

    def has(self, name: str) -> bool:
        first, *rest = name.removeprefix("graphgate.").split(".")
        if not rest:
            return first in self.members or first in self.modules
        if first in self.classes and rest[0] in self.classes[first]:
            return True
        if first in self.modules and rest[0] in self.modules[first] | self.modules.keys():
            return self.has(".".join(rest))
        return first in INSTANCES and set(rest) <= self.members


def defined(scope: ast.Module | ast.ClassDef) -> set[str]:
    """Names of functions, classes and variables, and attributes that methods set."""
    names = set()
    for node in ast.walk(scope):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
    return names


def lineage(name: str, bases: dict[str, list[str]]) -> list[str]:
    return [each for base in bases.get(name, []) for each in (base, *lineage(base, bases))]


@cache
def package() -> Package:
    return Package()


@cache
def options() -> frozenset[str]:
    def of(command) -> set[str]:
        own = {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
        return own.union(*map(of, getattr(command, "commands", {}).values()))

    return frozenset(of(typer.main.get_command(app)))


def is_file(name: str) -> bool:
    return any(ROOT.glob(name)) or any((ROOT / "graphgate").rglob(name))


def exists(span: str) -> bool:
    """Whether that which a span of code names is defined somewhere."""
    if script := SCRIPT.fullmatch(span):
        path, runner = (ROOT / script[1] / f"{script[2]}.py"), ROOT / "benchmarks" / "runner.py"
        words = set(re.findall(r"[\w-]+", path.read_text("utf-8") if path.exists() else ""))
        words |= set(OPTION.findall(runner.read_text("utf-8")))
        # The parameters of `measure` are options of a benchmark.
        options_ = set(OPTION.findall(script[3]))
        return path.exists() and all({of, of[2:].replace("-", "_")} & words for of in options_)
    if not set(OPTION.findall(span)) <= options() | OTHER_OPTIONS:
        return False
    if FILE.fullmatch(span):
        return span in OTHERS or is_file(span)
    match = re.fullmatch(rf"({NAME.pattern})(\(.*\))?", span)
    if match is None or match[1] in OTHERS or match[1].split(".")[0] in LIBRARIES:
        return True
    name, called = match.groups()
    if called or "." in name:
        return package().has(name)
    # Parameters, columns and files are words of the source; plain words may be values.
    return not re.search(r"[a-z][A-Z]|_", name) or name in package().words


def unresolved(text: str) -> list[str]:
    """What a page names in backquotes and nothing defines."""
    spans = SPAN.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return [span for span in spans if not exists(span)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page):
    assert unresolved(page.read_text("utf-8")) == []


def test_what_does_not_exist_is_noticed():
    text = "`GATE.fit`, `pattern.segment_softmax`, `--dims`, `similar(z)`, `tests/rounding.py`"
    assert unresolved(text) == []
    wrong = ["GATE.fits", "sparse.segment_softmax", "--dim", "similars(z)", "tests/round.py"]
    assert unresolved(" ".join(f"`{each}`" for each in wrong)) == wrong
