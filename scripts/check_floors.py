"""Run the tests with the lowest versions that pyproject.toml allows, also of the extras.

    python scripts/check_floors.py --json results/floors.json [--environment FOLDER]

makes an environment with this Python, or uses the one in a folder. It takes gigabytes, because the
lowest torch is published with CUDA only.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import tempfile
import tomllib
import venv
import xml.etree.ElementTree as ET
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from graphgate.io.files import write_json

ROOT = Path(__file__).parents[1]
EXTRAS = ("viz", "baselines", "graph", "scverse", "store", "serve", "onnx")
# click of the time of typer's lowest version, and what the tests import besides.
TOOLS = (
    *("click<8.2", "httpx", "hypothesis>=6.100", "packaging", "pandas==2.2.2", "polars>=1.0"),
    *("pytest>=8", "pytest-timeout>=2.3"),
)
# Tests of tools for development, in a browser, of measurements and of whole groups of processes.
LEFT_OUT = (
    *("benchmarks", "fuzzing", "page_browser", "page_exploring", "pages", "site", "wheel"),
    *("linear_estimate", "memory", "parallel", "quality", "torchrun"),
)


def floors() -> dict[str, str]:
    """Package -> the lowest version that is allowed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    texts = [*project["dependencies"]]
    for extra in EXTRAS:
        texts += project["optional-dependencies"][extra]
    needed = [Requirement(text) for text in texts]
    return {
        canonicalize_name(each.name): str(min(Version(part.version) for part in each.specifier))
        for each in needed
        if each.name != "graphgate"
    }


def make_environment(folder: Path) -> None:
    venv.create(folder, with_pip=True)
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q"]
    wanted = [f"{name}=={lowest}" for name, lowest in floors().items()]
    subprocess.run([*install, *wanted, *TOOLS], check=True)
    subprocess.run([*install, "--no-deps", "-e", str(ROOT)], check=True)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--json", type=Path, required=True)
    given.add_argument("--environment", type=Path)
    options = given.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.environment or Path(temporary) / "environment").absolute()
        if not folder.exists():
            make_environment(folder)
        python, report = str(folder / "bin" / "python"), Path(temporary) / "report.xml"
        flags = [
            "-q",
            "-rfE",
            "--tb=short",
            "-p",
            "no:cacheprovider",
            "-o",
            "timeout=600",
            f"--junitxml={report}",
        ]
        # Old libraries are told by new ones what is deprecated.
        flags += ["-W", "ignore::DeprecationWarning"]
        flags += [f"--ignore=tests/test_{name}.py" for name in LEFT_OUT]
        subprocess.run([python, "-m", "pytest", *flags, "tests"], cwd=ROOT, check=False)
        suite = ET.parse(report).getroot()[0]
        listed = subprocess.run(
            [python, "-m", "pip", "list", "--format=json"], check=True, capture_output=True
        )
    installed = {
        canonicalize_name(each["name"]): each["version"] for each in json.loads(listed.stdout)
    }
    counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    content = {
        "command": "python scripts/check_floors.py --json results/floors.json",
        "python": platform.python_version(),
        "left_out": [f"tests/test_{name}.py" for name in LEFT_OUT],
        "versions": {name: installed[name] for name in floors()},
        "failed": [
            f"{case.attrib['classname']}::{case.attrib['name']}"
            for case in suite
            if any(part.tag in ("failure", "error") for part in case)
        ],
    }
    write_json(options.json, content | counts)


if __name__ == "__main__":
    main()
