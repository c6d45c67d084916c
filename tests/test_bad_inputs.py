"""Every wrong input is refused in one sentence, with exit code 2 and without output."""

import os
from pathlib import Path

import pytest
from bad_inputs import COMMANDS, write_files


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder, before = tmp_path_factory.mktemp("bad"), Path.cwd()
    os.chdir(folder)
    try:
        write_files()
    finally:
        os.chdir(before)
    return folder


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """What is there; writing a file would change its time, even if the content stayed the same."""
    found = {}
    for parent, folders, names in os.walk(folder):
        for name in [*folders, *names]:
            about = os.lstat(os.path.join(parent, name))
            found[os.path.join(parent, name)] = (about.st_mtime_ns, about.st_size)
    return found


@pytest.mark.parametrize(("command", "words"), COMMANDS.items(), ids=[c[:80] for c in COMMANDS])
def test_it_is_refused(files, run, monkeypatch, command, words):
    monkeypatch.chdir(files)
    before = snapshot(files)
    code, out, err = run(*command.split(" "))
    assert (code, out) == (2, ""), err
    *notes, sentence = err.splitlines()
    assert sentence.startswith("graphgate: ")
    assert words in sentence
    assert not [n for n in notes if not n.startswith(("note: ", "Graph(", "--", "Trained"))]
    assert "Traceback" not in err
    assert snapshot(files) == before
