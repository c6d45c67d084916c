"""Gives every bad input of tests/bad_inputs.py to the command line, and counts the refusals.

    python -m fuzz refusals --json results/refusals.json

A bad input is refused if the answer is one sentence with exit code 2, and nothing was written.
"""

import tempfile
import warnings
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.runner import Measurements
from tests.bad_inputs import COMMANDS, faults_of, snapshot, write_files
from tests.forks import fork


def measure() -> Measurements:
    with tempfile.TemporaryDirectory() as folder:
        with chdir(folder), warnings.catch_warnings(action="ignore"):
            write_files()
        for name in dict.fromkeys(command.split(" ")[0] for command in COMMANDS):
            inputs = [command for command in COMMANDS if command.split(" ")[0] == name]
            yield {"command": name}, partial(give, inputs, folder)


def give(inputs: list[str], folder: str) -> dict[str, Any]:
    failures: dict[str, list[str]] = {}
    with chdir(folder):
        before = snapshot(Path(folder))
        for command in inputs:
            faults = faults_of(*fork(*command.split(" ")), COMMANDS[command])
            if snapshot(Path(folder)) != before:
                faults.append("left something behind")
                before = snapshot(Path(folder))
            if faults:
                failures[command] = faults
    return {"tried": len(inputs), "refused": len(inputs) - len(failures), "failures": failures}
