"""The house keeps its order: who imports whom, what starts fast, what is public."""

import ast
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import graphgate

PACKAGE = Path(graphgate.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
HEAVY = ("torch", "scipy", "sklearn", "numpy", "pyarrow", "matplotlib", "safetensors")


def rooms() -> list[str]:
    """The entries of the package's docstring, in their order."""
    listing = [line for line in graphgate.__doc__.splitlines() if line.startswith("    ")]
    return [name for line in listing for name in line.strip().split("  ")[0].split(", ")]


def room_of(file: Path) -> str:
    """The entry that a module belongs to; a sub-package is one entry."""
    first = file.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported_rooms(file: Path) -> set[str]:
    """Entries that a module imports, wherever in it the import stands."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name} has a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        parts = [name.split(".") for name in names]
        found |= {part[1] for part in parts if part[0] == "graphgate" and len(part) > 1}
    return found


# `__init__` names the public things and `__main__` starts the command line; both are no rooms.
DOORS = ("__init__", "__main__")
ROOM_FILES = [file for file in FILES if room_of(file) not in DOORS]


def test_the_listing_and_the_modules_agree():
    listed = rooms()
    assert len(listed) == len(set(listed))
    assert set(listed) == {room_of(file) for file in ROOM_FILES}


@pytest.mark.parametrize("file", ROOM_FILES, ids=lambda f: str(f.relative_to(PACKAGE)))
def test_a_module_imports_only_what_stands_before_it(file):
    order = rooms()
    before = {room_of(file), *order[: order.index(room_of(file))]}
    assert {room for room in imported_rooms(file) if room in order} <= before


def test_the_order_test_sees_imports_within_functions(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        "import graphgate.model\n"
        "from graphgate import intake, sparse\n"
        "def f():\n    from graphgate.sources.tables import read_graph\n"
    )
    assert imported_rooms(file) == {"model", "intake", "sparse", "sources"}


def test_no_module_is_a_drawer_for_everything():
    names = {part.removesuffix(".py") for file in FILES for part in file.parts}
    assert not names & {"util", "utils", "helper", "helpers", "common", "misc"}


def test_every_module_says_what_it_is():
    for file in FILES:
        assert ast.get_docstring(ast.parse(file.read_text("utf-8"))), file


def test_the_library_prints_nothing():
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            assert not (isinstance(called, ast.Name) and called.id == "print"), file


# --- public names --------------------------------------------------------------------------------


def test_public_names_resolve():
    assert sorted(graphgate.__all__) == sorted(graphgate._HOMES)
    for name, home in graphgate._HOMES.items():
        thing = getattr(graphgate, name)
        assert thing is getattr(import_module(f"graphgate.{home}"), name)
        assert thing.__module__ == f"graphgate.{home}"
        assert name in dir(graphgate)


def test_static_readers_see_the_same_names():
    """What stands under TYPE_CHECKING is what `__getattr__` gives."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    told = {
        alias.name: node.module.removeprefix("graphgate.")
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert told == graphgate._HOMES


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'Gate'"):
        _ = graphgate.Gate


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    assert graphgate.__version__ == project["version"]


# --- a fast start --------------------------------------------------------------------------------

START = """
import contextlib, io, sys
{action}
print(sorted(set({heavy!r}) & set(sys.modules)))
"""
COMMAND = """
from graphgate.cli import main
sys.argv = ["graphgate", *{arguments!r}]
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    with contextlib.suppress(SystemExit):
        main()
"""


def heavy_modules_after(action: str) -> str:
    program = START.format(action=action, heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


def test_the_package_imports_nothing_heavy():
    assert heavy_modules_after("import graphgate") == "[]"


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["embed", "--help"], ["embed"], ["evaluate", "--no-such-option"]],
    ids=" ".join,
)
def test_help_and_usage_errors_import_nothing_heavy(arguments):
    assert heavy_modules_after(COMMAND.format(arguments=arguments)) == "[]"


def test_the_start_test_sees_a_heavy_import():
    assert heavy_modules_after("import graphgate.errors, numpy") == "['numpy']"
