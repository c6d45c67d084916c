"""Every wrong input is refused in one sentence, with exit code 2 and without output."""

import os
from pathlib import Path

import pytest
from bad_inputs import COMMANDS, faults_of, snapshot, write_files


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder, before = tmp_path_factory.mktemp("bad"), Path.cwd()
    os.chdir(folder)
    try:
        write_files()
    finally:
        os.chdir(before)
    return folder


@pytest.mark.parametrize(("command", "words"), COMMANDS.items(), ids=[c[:80] for c in COMMANDS])
def test_it_is_refused(files, run, monkeypatch, command, words):
    monkeypatch.chdir(files)
    before = snapshot(files)
    code, out, err = run(*command.split(" "))
    assert faults_of(code, out, err, words) == [], err
    assert snapshot(files) == before


@pytest.mark.parametrize(
    ("answer", "faults"),
    [
        ((2, "", "note: small\ngraphgate: e.csv is empty"), []),
        ((1, "", "graphgate: e.csv is empty"), ["exit code 1"]),
        ((2, "a", "graphgate: e.csv is empty"), ["printed something"]),
        ((2, "", "e.csv is empty"), ["another sentence"]),
        ((2, "", "graphgate: e.csv is full"), ["another sentence"]),
        ((2, "", "because\ngraphgate: e.csv is empty"), ["more than a sentence"]),
        ((2, "", ""), ["another sentence"]),
    ],
)
def test_what_is_no_refusal_is_noticed(answer, faults):
    assert faults_of(*answer, "is empty") == faults
