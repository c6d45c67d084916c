"""Run the tests with the lowest versions that pyproject.toml allows, also of the extras.

    python -m scripts.check_floors --json results/floors.json --folder build/floors [--jobs N]

makes an environment with this Python in a folder, and keeps pytest's reports there, so that a check
that was stopped goes on. It takes gigabytes, because the lowest torch is published with CUDA only.
"""

import argparse
import json
import platform
import subprocess
import tomllib
import venv
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
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
GROUP = 12  # files of tests that share a process
# Tests of tools for development, in a browser, of measurements and of whole groups of processes.
LEFT_OUT = (
    *("benchmarks", "fuzzing", "page_browser", "page_exploring", "pages", "site", "wheel"),
    *("estimate", "memory", "parallel", "quality", "torchrun"),
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


def run_tests(python: str, folder: Path, jobs: int) -> list[ET.Element]:
    """The test cases in the reports of pytest; in groups, because a crash ends one of them."""
    left_out = {f"test_{name}.py" for name in LEFT_OUT}
    paths = [path for path in sorted(ROOT.glob("tests/**/test_*.py")) if path.name not in left_out]
    tests = [str(path.relative_to(ROOT)) for path in paths]
    # Newer libraries warn of what older ones still call.
    flags = ["-q", "-rfE", "--tb=short", "-W", "ignore::DeprecationWarning"]
    flags += ["-p", "no:cacheprovider", "-o", "timeout=600"]

    def run(start: int) -> list[ET.Element]:
        report = folder / f"{start}.xml"
        some = [*flags, f"--junitxml={report}", *tests[start : start + GROUP]]
        if not report.exists():
            subprocess.run([python, "-m", "pytest", *some], cwd=ROOT, check=False)
        crash = f'<_><testcase classname="{tests[start]}" name="crash"><error/></testcase></_>'
        return list(ET.parse(report).getroot()[0] if report.exists() else ET.fromstring(crash))

    with ThreadPoolExecutor(jobs) as pool:
        return [case for cases in pool.map(run, range(0, len(tests), GROUP)) for case in cases]


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--json", type=Path, required=True)
    given.add_argument("--folder", type=Path, required=True)
    given.add_argument("--jobs", type=int, default=1)
    options = given.parse_args()
    folder = options.folder.absolute()
    if not folder.exists():
        make_environment(folder)
    (folder / "reports").mkdir(exist_ok=True)
    python = str(folder / "bin" / "python")
    cases = run_tests(python, folder / "reports", options.jobs)
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=json"], check=True, capture_output=True
    )
    installed: dict[str, str] = {
        canonicalize_name(each["name"]): each["version"] for each in json.loads(listed.stdout)
    }
    outcomes = [{part.tag for part in case} for case in cases]
    command = "python -m scripts.check_floors --json results/floors.json --folder build/floors"
    content = {
        "command": command,
        "python": platform.python_version(),
        "left_out": [f"tests/test_{name}.py" for name in LEFT_OUT],
        "versions": {name: installed[name] for name in floors()},
        "tests": len(cases),
        "skipped": sum("skipped" in outcome for outcome in outcomes),
        "failed": [
            f"{case.attrib['classname']}::{case.attrib['name']}"
            for case, outcome in zip(cases, outcomes, strict=True)
            if outcome & {"failure", "error"}
        ],
    }
    write_json(options.json, content)


if __name__ == "__main__":
    main()
