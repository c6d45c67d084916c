"""The architecture: who imports whom, what starts fast, what is public."""

import ast
import inspect
import subprocess
import sys
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import graphgate

PACKAGE = Path(graphgate.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
HEAVY = ("torch", "scipy", "sklearn", "numpy", "pyarrow", "matplotlib", "safetensors")


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def listed(package: Path) -> list[str]:
    """What a package's docstring lists, in import order."""
    doc = ast.get_docstring(tree(package / "__init__.py")) or ""
    lines = [line for line in doc.splitlines() if line.startswith("    ")]
    return [name for line in lines for name in line.strip().split("  ")[0].rstrip(",").split(", ")]


def entries(package: Path) -> set[str]:
    """The modules and sub-packages in a folder."""
    modules = {file.stem for file in package.glob("*.py")} - {"__init__", "__main__"}
    return modules | {file.parent.name for file in package.glob("*/__init__.py")}


@cache
def imported(file: Path) -> set[str]:
    """Dotted names within the package that a module imports, wherever the import stands."""
    found = set()
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name} has a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {name.partition(".")[2] for name in names if name.startswith("graphgate.")}
    return found


def late_imports(package: Path, file: Path) -> set[str]:
    """Entries of `package` that a module below it imports although they are listed after it."""
    order = listed(package)
    own = file.relative_to(package).parts[0].removesuffix(".py")
    prefix = ".".join(package.relative_to(PACKAGE).parts)
    inside = {
        name.removeprefix(prefix).lstrip(".")
        for name in imported(file)
        if not prefix or name.startswith(prefix + ".")
    }
    later = order[order.index(own) + 1 :]
    return {name.partition(".")[0] for name in inside} & set(later)


PACKAGES = [file.parent for file in FILES if file.name == "__init__.py"]
MODULES = [
    (package, file)
    for package in PACKAGES
    for file in sorted(package.rglob("*.py"))
    if file.parent != package or not file.stem.startswith("__")
]


def test_at_most_seventeen_entries():
    assert len(entries(PACKAGE)) <= 17
    assert {each.name for each in PACKAGE.iterdir()} - {"__pycache__"} == {
        *("__init__.py", "__init__.pyi", "__main__.py", "py.typed", "errors.py"),
        *(entries(PACKAGE) - {"errors"}),
    }


def test_the_listing_and_the_modules_agree():
    for package in PACKAGES:
        assert len(listed(package)) == len(set(listed(package))), package
        assert set(listed(package)) == entries(package), package


def test_a_module_imports_only_what_is_listed_before_it():
    assert len(MODULES) > 400
    for package, file in MODULES:
        assert late_imports(package, file) == set(), (package, file)


def test_the_order_test_sees_imports_within_functions(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        "import graphgate.nn.pattern\n"
        "from graphgate import errors, tasks\n"
        "def f():\n    from graphgate.io.graph_files import read_graph\n"
    )
    assert imported(file) == {"nn.pattern", "errors", "tasks", "io.graph_files.read_graph"}


def test_no_module_is_a_drawer_for_everything():
    names = {part.removesuffix(".py") for file in FILES for part in file.parts}
    assert not names & {"util", "utils", "helper", "helpers", "common", "misc"}


def test_every_module_says_what_it_is():
    for file in FILES:
        assert ast.get_docstring(tree(file)), file


def test_the_library_prints_nothing():
    for file in FILES:
        for node in ast.walk(tree(file)):
            called = node.func if isinstance(node, ast.Call) else None
            assert not (isinstance(called, ast.Name) and called.id == "print"), file


# --- public names --------------------------------------------------------------------------------


def test_public_names_resolve():
    assert len(graphgate.__all__) > 50
    for name in graphgate.__all__:
        thing = getattr(graphgate, name)
        home = graphgate._HOMES[name]
        assert thing is getattr(import_module(home), name)
        assert thing.__module__ == home
        assert name in dir(graphgate)


def test_type_checkers_read_the_same_names():
    """The stub is Python, and each of its imports makes a name public."""
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    public = {alias.asname: node.module for node in imports for alias in node.names}
    assert all(alias.name == alias.asname for node in imports for alias in node.names)
    assert public == graphgate._HOMES


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
from graphgate.__main__ import main
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


def test_help_and_usage_errors_import_nothing_heavy():
    """Nor does the package itself; the modules that a command imports stay imported."""
    usages = (["--help"], ["embed", "--help"], ["embed"], ["evaluate", "--no-such-option"])
    actions = "".join(COMMAND.format(arguments=arguments) for arguments in usages)
    assert heavy_modules_after(f"import graphgate\n{actions}") == "[]"


def test_the_start_test_sees_a_heavy_import():
    assert heavy_modules_after("import graphgate.errors, numpy") == "['numpy']"


def test_public_names_have_an_example_that_runs():
    """pytest runs the doctests of all modules; none of these may be skipped."""
    for name in graphgate.__all__:
        doc = inspect.getdoc(getattr(graphgate, name)) or ""
        assert ">>> " in doc, name
        assert "+SKIP" not in doc, name
