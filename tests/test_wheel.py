"""The wheel: it carries the data, and works where there is no checkout."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import graphgate

ROOT = Path(graphgate.__file__).parents[1]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (ROOT / "pyproject.toml").exists(), reason="no checkout to build a wheel from"
    ),
    pytest.mark.skipif(
        find_spec("pip") is None or find_spec("setuptools") is None,
        reason="building a wheel needs pip and setuptools in this environment",
    ),
]
DATA = ("cora.npz", "citeseer.npz", "pubmed.npz", "NOTICE")


def pip(*arguments, cwd: Path) -> None:
    command = [sys.executable, "-m", "pip", *map(str, arguments), "--no-deps", "--no-index", "-q"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy, so that the checkout gets no build folder."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, source)
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "graphgate", source / "graphgate", ignore=leave)
    pip("wheel", "--no-build-isolation", "--wheel-dir", folder, source, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    pip("install", "--target", target, wheel, cwd=target)
    return target


@pytest.fixture
def run(installed, tmp_path):
    """Runs Python away from the checkout, with nothing but the installed package."""
    cache = tmp_path / "cache"
    cache.mkdir()
    clean = {k: v for k, v in os.environ.items() if k not in ("GRAPHGATE_DATA", "PYTHONHOME")}
    environment = clean | {"PYTHONPATH": str(installed), "XDG_CACHE_HOME": str(cache)}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_what_is_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"graphgate/datasets/data/{name}" for name in DATA} | {"graphgate/py.typed"} <= names
    modules = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "graphgate").rglob("*.py")
        if "__pycache__" not in file.parts
    }
    assert {name for name in names if name.endswith(".py")} == modules
    about = wheel.name.split("-py3")[0] + ".dist-info"
    assert {name.split("/")[0] for name in names} == {"graphgate", about}


def test_the_wheel_has_its_licences_and_its_description(wheel):
    about = wheel.name.split("-py3")[0] + ".dist-info"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        description = archive.read(f"{about}/METADATA").decode().split("\n\n", 1)[1]
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("NOTICE") and name.startswith(about) for name in names)
    assert description.strip() == (ROOT / "README.md").read_text("utf-8").strip()


def test_the_source_distribution_can_be_tested_and_documented(tmp_path):
    kept = [name for name in ROOT.glob("[!.]*") if name.name not in ("build", "demo", "dist")]
    source = tmp_path / "source"
    source.mkdir()
    for each in kept:
        if each.is_dir():
            leave = shutil.ignore_patterns("__pycache__", "*.egg-info", "api", "tables")
            shutil.copytree(each, source / each.name, ignore=leave)
        else:
            shutil.copy(each, source)
    shutil.copytree(ROOT / ".ci", source / ".ci")
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", tmp_path]
    done = subprocess.run(build, cwd=source, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as content:
        names = {name.split("/", 1)[1] for name in content.getnames() if "/" in name}
    wanted = [each for each in source.rglob("*") if each.suffix in (".py", ".md", ".toml", ".json")]
    assert {str(each.relative_to(source)) for each in wanted} <= names
    assert {"Makefile", ".ci/run", "docs/images/explorer.png", "joss/paper.bib"} <= names


LOAD = """
import graphgate, sys
from pathlib import Path
assert Path(sys.argv[1]) in Path(graphgate.__file__).parents, graphgate.__file__
for name in ("cora", "citeseer", "pubmed"):
    dataset = graphgate.load_dataset(name)
    print(name, dataset.graph.n_nodes, dataset.origin)
"""


def test_the_installed_package_has_its_datasets(run, installed):
    assert run("-c", LOAD, str(installed)).splitlines() == [
        "cora 2708 bundled with the package",
        "citeseer 3327 bundled with the package",
        "pubmed 19717 bundled with the package",
    ]


def test_the_installed_package_runs_as_a_module(run):
    text = run("-m", "graphgate", "--help")
    assert "Usage" in text
    assert "embed" in text
