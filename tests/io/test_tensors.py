"""Tensors with a header in one file: what was written comes back, all else is refused."""

import errno
import json
import os
import pickle
import zipfile
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from graphgate.errors import InputError
from graphgate.io import files
from graphgate.io.files import check_fields
from graphgate.io.tensors import VERSION, check_tensors, read_tensors, write_tensors

SCHEMA = {"size": int, "name": (str, type(None)), "fixed": bool, "rate": (float, int)}
HEADER = {"size": 3, "name": None, "fixed": True, "rate": 0.5}


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "file.safetensors"


def some_tensors() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {
        "a": torch.randn(3, 2, generator=generator),
        "b": torch.randn(4, generator=generator, dtype=torch.float64),
        "step": torch.tensor(7, dtype=torch.int64),
        "empty": torch.zeros(0, 5),
    }


def written(path: Path, text: str, tensors: dict | None = None) -> Path:
    """A safetensors file whose header is this text, whatever it is."""
    save_file(some_tensors() if tensors is None else tensors, path, metadata={"graphgate": text})
    return path


def text_of(**changes) -> str:
    return json.dumps({"kind": "model", "version": VERSION} | HEADER | changes)


def refusal(path: Path, kind: str = "model") -> str:
    """The one line that says why a file is refused."""
    with pytest.raises(InputError) as caught:
        read_tensors(path, kind, SCHEMA)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_what_was_written_comes_back(path):
    tensors = some_tensors()
    write_tensors(path, "model", HEADER, tensors)
    header, found = read_tensors(path, "model", SCHEMA)
    assert header == HEADER
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


def test_tensors_survive_their_file(path):
    """A view of a file that is then cut would end the process."""
    write_tensors(path, "model", {"rate": 0.5}, {"a": torch.ones(5000)})
    _, tensors = read_tensors(path, "model", {"rate": float})
    assert str(path) not in Path("/proc/self/maps").read_text("utf-8")
    path.write_bytes(b"")
    assert tensors["a"].sum() == 5000


def test_views_and_gradients_are_written_as_plain_values(path):
    weight = torch.arange(6.0).reshape(2, 3).requires_grad_()
    write_tensors(path, "model", HEADER, {"turned": weight.T, "same": weight})
    _, found = read_tensors(path, "model", SCHEMA)
    assert found["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert found["same"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not found["same"].requires_grad


def test_the_file_is_plain_safetensors_with_a_json_header(path):
    write_tensors(path, "checkpoint", HEADER, {"a": torch.zeros(1)})
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    metadata = json.loads(raw[8 : 8 + length])["__metadata__"]
    assert json.loads(metadata["graphgate"]) == {"kind": "checkpoint", "version": VERSION} | HEADER


def test_the_same_content_gives_bit_identical_files(tmp_path):
    for name in ("one", "two"):
        write_tensors(tmp_path / name, "model", HEADER, some_tensors())
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


# --- not one of our files ------------------------------------------------------------------------


def test_a_missing_file_and_a_directory(tmp_path):
    assert "does not exist" in refusal(tmp_path / "nothing.safetensors")
    assert "is a folder" in refusal(tmp_path)


def test_a_file_that_may_not_be_read(path, monkeypatch):
    def refuse(*_, **__):  # the suite may run as root
        raise PermissionError(13, "Permission denied")

    path.write_bytes(b"")
    monkeypatch.setattr("graphgate.io.tensors.safe_open", refuse)
    assert refusal(path) == f"{path} cannot be read: Permission denied"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 8,
        b"hello, this is a text file\n",
        b"\x02\0\0\0\0\0\0\0{}",
        b"\xff" * 64,
        # A header of 2**40 bytes is announced: nothing may be allocated for it.
        (2**40).to_bytes(8, "little") + b"{}",
        # A tensor of 2**50 bytes is announced.
        (lambda text: len(text).to_bytes(8, "little") + text)(
            b'{"a":{"dtype":"F32","shape":[281474976710656],"data_offsets":[0,1125899906842624]}}'
        ),
    ],
)
def test_other_content(path, content):
    path.write_bytes(content)
    assert "is not a graphgate model file" in refusal(path)


def test_a_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("weights", "0 1 2")
    assert "is not a graphgate model file" in refusal(path)


class Malicious:
    """Makes a directory when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


@pytest.mark.parametrize("how", ["pickle", "torch"])
def test_a_pickle_is_refused_and_never_run(path, tmp_path, how):
    trace = tmp_path / "it-ran"
    bait = pickle.dumps(Malicious(trace))
    pickle.loads(bait)
    assert trace.exists()  # the bait works where somebody bites
    trace.rmdir()
    if how == "pickle":
        path.write_bytes(bait)
    else:
        torch.save({"a": torch.zeros(2), "b": Malicious(trace)}, path)
    assert "is not a graphgate model file" in refusal(path)
    assert not trace.exists()


def test_safetensors_of_another_program(path):
    save_file(some_tensors(), path)
    assert "lacks the header" in refusal(path)
    save_file(some_tensors(), path, metadata={"format": "pt"})
    assert "lacks the header" in refusal(path)


def test_truncated_at_every_length(path):
    write_tensors(path, "model", HEADER, some_tensors())
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refusal(path)
    path.write_bytes(whole + b"\0")
    refusal(path)


@settings(max_examples=60)
@given(st.binary(max_size=200))
def test_random_bytes(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("random", numbered=True) / "file.safetensors"
    path.write_bytes(content)
    refusal(path)


def test_the_wrong_kind(path):
    write_tensors(path, "checkpoint", HEADER, some_tensors())
    assert "its header says 'checkpoint'" in refusal(path, "model")
    assert read_tensors(path, "checkpoint", SCHEMA)[0] == HEADER


# --- headers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("{'kind': 'model'}", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "not JSON"),
        ("9" * 5000, "not JSON"),
        ("null", "None"),
        ("[]", "None"),
        ('"model"', "None"),
        ("{}", "None"),
        (text_of(kind=None), "None"),
        (text_of(kind=["model"]), r"\['model'\]"),
        (text_of(version=1), f"version is 1, not {VERSION}"),
        (text_of(version=0), f"version is 0, not {VERSION}"),
        (text_of(version=-1), f"version is -1, not {VERSION}"),
        (text_of(version=None), "version is None"),
        (text_of(version="1"), "version is '1'"),
        (text_of(extra=0), "unknown field 'extra'"),
        (json.dumps({"kind": "model", "version": VERSION}), "lacks 'fixed'"),
        (text_of(size="3"), "'size' in its header has the wrong type"),
        (text_of(size=3.0), "'size' in its header has the wrong type"),
        (text_of(size=True), "'size' in its header has the wrong type"),
        (text_of(size=None), "'size' in its header has the wrong type"),
        (text_of(name=0), "'name' in its header has the wrong type"),
        (text_of(fixed=1), "'fixed' in its header has the wrong type"),
        (text_of(rate=False), "'rate' in its header has the wrong type"),
        (text_of(rate=[0.5]), "'rate' in its header has the wrong type"),
    ],
)
def test_bad_headers(path, text, words):
    with pytest.raises(InputError, match=words) as caught:
        read_tensors(written(path, text), "model", SCHEMA)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_are_not_json(path, number):
    assert "not JSON" in refusal(written(path, text_of().replace("0.5", number)))


@pytest.mark.parametrize("version", [True, float(VERSION)])
def test_the_version_is_an_integer(path, version):
    assert "version" in refusal(written(path, text_of(version=version)))


def test_an_integer_is_accepted_as_a_rate(path):
    header, _ = read_tensors(written(path, text_of(rate=2)), "model", SCHEMA)
    assert header["rate"] == 2


def test_check_fields_names_the_place():
    with pytest.raises(InputError, match="it: its training is not a JSON object"):
        check_fields([1], {"size": int}, "it", "training")
    with pytest.raises(InputError, match="it: its training lacks 'size'"):
        check_fields({}, {"size": int}, "it", "training")
    check_fields({"size": 1}, {"size": int}, "it", "training")


# --- tensors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_that_are_not_finite(path, value, dtype):
    tensors = {"fine": torch.ones(2), "bad": torch.tensor([0.0, value, 1.0], dtype=dtype)}
    assert "its tensor 'bad' contains values that are not finite" in refusal(
        written(path, text_of(), tensors)
    )


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({}, r"do not match its header \('a'\)"),
        ({"a": torch.zeros(2, 3), "b": torch.zeros(1)}, r"do not match its header \('b'\)"),
        ({"b": torch.zeros(2, 3)}, r"do not match its header \('a'\)"),
        ({"a": torch.zeros(3, 2)}, r"'a' is \(3, 2\) of torch.float32, not \(2, 3\)"),
        ({"a": torch.zeros(6)}, r"'a' is \(6,\)"),
        ({"a": torch.zeros(2, 3, dtype=torch.float64)}, "torch.float64, not .* torch.float32"),
        ({"a": torch.zeros(2, 3, dtype=torch.int32)}, "of torch.int32, not"),
    ],
)
def test_tensors_that_do_not_fit(tensors, words):
    with pytest.raises(InputError, match=words):
        check_tensors(tensors, {"a": ((2, 3), torch.float32)}, "it")


def test_tensors_that_fit():
    check_tensors({"a": torch.zeros(2, 3)}, {"a": ((2, 3), torch.float32)}, "it")


# --- writing -------------------------------------------------------------------------------------


def fail_at(monkeypatch, step: str, error: BaseException) -> None:
    def failing(*arguments):
        raise error

    monkeypatch.setattr(files.os, step, failing)


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("before", [None, b"the old file"])
def test_a_failing_write_changes_nothing(path, tmp_path, monkeypatch, step, before):
    if before is not None:
        path.write_bytes(before)
    fail_at(monkeypatch, step, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        write_tensors(path, "model", HEADER, some_tensors())
    assert [file.name for file in tmp_path.iterdir()] == ([] if before is None else [path.name])
    assert before is None or path.read_bytes() == before


def test_an_interrupted_write_leaves_nothing_behind(path, tmp_path, monkeypatch):
    fail_at(monkeypatch, "fsync", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        write_tensors(path, "model", HEADER, some_tensors())
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_and_a_directory(tmp_path):
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        write_tensors(tmp_path / "no" / "file.safetensors", "model", HEADER, some_tensors())
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(InputError, match="cannot be written: Is a directory"):
        write_tensors(folder, "model", HEADER, some_tensors())
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_tensors(link, "model", HEADER, some_tensors())
    assert link.is_symlink()
    assert read_tensors(target, "model", SCHEMA)[0] == HEADER


def test_a_header_that_is_not_json_is_not_written(path, tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        write_tensors(path, "model", HEADER | {"rate": float("nan")}, some_tensors())
    assert list(tmp_path.iterdir()) == []
