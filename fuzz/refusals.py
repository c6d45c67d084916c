"""Give every bad input of tests/bad_inputs.py to the command line, and count the refusals.

    python fuzz/refusals.py --json results/refusals.json

A bad input is refused if the answer is one sentence with exit code 2, and nothing was written.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # scripts, not a package
from bad_inputs import COMMANDS, faults_of, snapshot, write_files
from forks import fork

from graphgate.io.files import write_json
from graphgate.io.provenance import versions


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--json", type=Path, required=True)
    path = given.parse_args().json.absolute()
    tried: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    failures: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with warnings.catch_warnings(action="ignore"):
            write_files()
        before = snapshot(Path(folder))
        for command, words in COMMANDS.items():
            faults = faults_of(*fork(*command.split(" ")), words)
            if snapshot(Path(folder)) != before:
                faults.append("left something behind")
                before = snapshot(Path(folder))
            name = command.split(" ")[0]
            tried[name] += 1
            refused[name] += not faults
            if faults:
                failures[command] = faults
        os.chdir("/")
    content = {
        "command": "python fuzz/refusals.py --json results/refusals.json",
        "commands": {name: {"tried": tried[name], "refused": refused[name]} for name in tried},
        "failures": failures,
        "versions": versions(),
    }
    write_json(path, content)
    print(f"{refused.total()} of {tried.total()} refused", *failures.items(), sep="\n")


if __name__ == "__main__":
    main()
