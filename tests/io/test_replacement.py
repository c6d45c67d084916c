"""Files and folders that appear complete or not at all, whatever becomes of their writer."""

import os
import resource
import signal
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from forks import hidden_files

from graphgate.errors import InputError
from graphgate.io.files import (
    append_json,
    complete_folder,
    complete_lines,
    replacing,
    write_bytes,
    write_json,
)
from graphgate.io.replacement import PREFIX, SUFFIX


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def killed_while(write) -> None:
    """A process that is killed while it writes."""
    started, ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with write() as temporary:
                if temporary.is_dir():
                    (temporary / "half").write_text("half")
                os.write(ready, b".")
                signal.pause()
        finally:
            os._exit(1)
    os.read(started, 1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(started)
    os.close(ready)


@pytest.mark.parametrize("write", [lambda: replacing("z"), lambda: complete_folder("r")])
def test_the_next_writer_removes_what_a_killed_one_left(write):
    for _ in range(2):
        killed_while(write)
    assert hidden_files()
    write_bytes("other", b"x")
    assert os.listdir() == ["other"]


def test_what_another_writer_is_writing_is_left_alone():
    with replacing("z") as first, complete_folder("r") as folder:
        first.write_text("first")
        (folder / "a").write_text("a")
        write_bytes("z", b"second")
        assert first.exists()
        assert (folder / "a").exists()
    assert Path("z").read_text() == "first"
    assert Path("r/a").read_text() == "a"
    assert sorted(os.listdir()) == ["r", "z"]


def test_only_our_own_leftovers_are_removed():
    Path(".graphgate").touch()
    Path(".x.part").touch()
    os.mkfifo(f"{PREFIX}fifo{SUFFIX}")
    Path("target").write_text("kept")
    Path(f"{PREFIX}link{SUFFIX}").symlink_to("target")
    write_bytes("z", b"x")
    assert Path("target").read_text() == "kept"
    assert {".graphgate", ".x.part"} < set(os.listdir())


def test_many_writers_of_one_name():
    """Each takes the others' new files for leftovers if it sees them before they are locked."""

    def write(letter: str) -> None:
        for _ in range(50):
            write_bytes("z", letter.encode() * 10_000)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(Path("z").read_text())) == 1
    assert os.listdir() == ["z"]


def test_a_writer_whose_file_is_taken_for_a_leftover_makes_another(monkeypatch):
    touch, times = Path.touch, []

    def touch_and_lose(path, **options):
        touch(path, **options)
        times.append(path)
        if len(times) == 1:
            path.unlink()

    monkeypatch.setattr(Path, "touch", touch_and_lose)
    write_bytes("z", b"x")
    assert len(times) == 2
    assert os.listdir() == ["z"]


@pytest.fixture
def calls(monkeypatch):
    """The names of what is synchronized and renamed, in order."""
    seen: list[str] = []
    for name in ("fsync", "replace"):
        function = getattr(os, name)

        def spy(*arguments, real=function, name=name):
            where = arguments[0]
            path = os.readlink(f"/proc/self/fd/{where}") if name == "fsync" else str(where)
            kind = "part" if path.endswith(SUFFIX) else Path(path).name
            seen.append(f"{name} {kind}")
            return real(*arguments)

        monkeypatch.setattr(os, name, spy)
    return seen


def test_content_is_on_the_disk_before_its_name(calls, tmp_path):
    with replacing("z.csv") as temporary:
        temporary.write_text("1")
    assert calls == ["fsync part", "replace part", f"fsync {tmp_path.name}"]
    calls.clear()
    with complete_folder("r") as folder:
        write_json(folder / "run.json", {})
        calls.clear()
    assert calls == ["fsync part", "replace part", f"fsync {tmp_path.name}"]


@pytest.mark.parametrize("write", [lambda: replacing("z"), lambda: complete_folder("r")])
def test_a_failure_leaves_nothing(write):
    def fail() -> None:
        with write() as temporary:
            if temporary.is_dir():
                (temporary / "half").write_text("half")
            raise OSError(28, os.strerror(28))

    with pytest.raises(InputError, match="cannot be written: No space left"):
        fail()
    assert os.listdir() == []


def test_a_line_that_does_not_fit_is_not_written():
    append_json("a.jsonl", {"n": 1})
    before = Path("a.jsonl").read_bytes()
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 5,) * 2)
        with suppress(InputError):
            append_json("a.jsonl", {"n": 2})
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert Path("a.jsonl").read_bytes() == before
    append_json("a.jsonl", {"n": "€"})
    assert complete_lines("a.jsonl") == [b'{"n": 1}', '{"n": "€"}'.encode()]
    assert complete_lines("none.jsonl") == []


def test_a_name_of_255_bytes_can_be_written():
    name = "x" * 251 + ".csv"
    write_bytes(name, b"1")
    assert os.listdir() == [name]


def test_text_that_is_not_unicode_is_json_anyway():
    """As file names from a command line may be."""
    write_json("z.json", {"command": "caf\udce9"})
    assert Path("z.json").read_bytes() == b'{\n "command": "caf\\udce9"\n}\n'
