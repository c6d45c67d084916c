"""Damage in the files of a store: noticed before the first answer, and reported by a check."""

import os
import resource
import shutil
from pathlib import Path

import numpy as np
import pytest
from growing import later
from test_database import GRAPH, content, made, same_content  # noqa: F401

from graphgate import InputError, Store
from graphgate.store import lance_tables
from graphgate.store.lance_tables import LanceError, lance_errors

ANSWERS = {
    "vectors": lambda store: store.vectors(),
    "similar": lambda store: store.similar("n3"),
    "graph": lambda store: store.graph(),
    "info": lambda store: store.info(),
    "add": lambda store: store.add(later(GRAPH, 30, 40)),
}


@pytest.fixture
def path(made, tmp_path) -> Path:  # noqa: F811
    shutil.copytree(made, tmp_path / "store")
    Store.open(tmp_path / "store").remove("n4")
    return tmp_path / "store"


def flip(file: Path, place: float, bit: int = 3) -> None:
    data = bytearray(file.read_bytes())
    data[int(place * (len(data) - 1))] ^= 1 << bit
    file.write_bytes(data)


def needed(path: Path) -> list[str]:
    return sorted(Store.open(path).history()[-1].files)


def test_a_flipped_bit_anywhere_is_noticed(path):
    """A bit of every file that the last version consists of, and of what names these."""
    rng = np.random.default_rng(0)
    for name in [*needed(path), "versions/000002.json", "store.json"]:
        before = (path / name).read_bytes()
        flip(path / name, rng.random(), int(rng.integers(8)))
        with pytest.raises(InputError, match=r"damaged|format version|not a store"):
            Store.open(path).info()
        (path / name).write_bytes(before)
    assert Store.open(path).check().problems == []


@pytest.mark.parametrize("answer", ANSWERS)
def test_there_is_no_answer_from_damaged_vectors(path, answer):
    (file,) = [name for name in needed(path) if name.startswith("vectors.lance/data")][:1]
    flip(path / file, 0.5)
    for _ in range(2):
        with pytest.raises(InputError, match=rf"{file} is damaged; return to a version"):
            ANSWERS[answer](Store.open(path))
    assert len(Store.open(path).history()) == 2
    problems = Store.open(path).check().problems
    assert len(problems) == 1
    assert problems[0].startswith(f"{file} is damaged; versions that need it:")


def test_a_damaged_model_is_noticed_and_a_version_without_it_can_be_returned_to(path):
    store = Store.open(path)
    store.refit()
    flip(path / "models/000003.safetensors", 0.9)
    for use in (lambda store: store.model(), lambda store: store.refresh()):
        with pytest.raises(InputError, match=r"000003\.safetensors is damaged"):
            use(Store.open(path))
    Store.open(path).rollback(2)
    assert Store.open(path).model().transform(GRAPH).shape == (40, 4)
    assert "versions that need it: 3" in Store.open(path).check().problems[0]


def test_a_missing_file_is_noticed(path):
    name = next(name for name in needed(path) if "_deletions" in name)
    (path / name).unlink()
    with pytest.raises(InputError, match=f"{name} is missing"):
        Store.open(path).vectors()


@pytest.mark.parametrize("lost", [1, 2])
def test_a_missing_version_is_noticed(path, lost):
    count = len(Store.open(path).history()) + 1
    Store.open(path).refresh()
    (path / "versions" / f"{lost:06d}.json").unlink()
    assert Store.open(path).check().problems == [f"version {lost} is missing"]
    assert len(Store.open(path).history()) == count - 1


def test_a_missing_last_version_is_noticed_and_can_be_left_behind(path):
    last = Store.open(path).version
    before = content(Store.open(path, last - 1))
    (path / "versions" / f"{last:06d}.json").unlink()
    with pytest.raises(InputError, match=rf"{last:06d}.json is missing; .* to version {last - 1}"):
        Store.open(path)
    older = Store.open(path, last - 1)
    assert older.check().problems == [f"version {last} is missing"]
    with pytest.raises(InputError, match="is missing"):
        older.refresh()
    assert older.rollback(last - 1).version == last + 1
    assert same_content(Store.open(path), before)
    Store.open(path).prune()
    assert Store.open(path).check().problems == []


def test_a_check_compares_tables(path):
    store = Store.open(path)
    with store._database.writing() as writer:
        writer.append("edges", writer.read("edges").slice(0, 1))
        writer.delete("vectors", "_number", writer.read("vectors")["_number"][:1])
        writer.commit("add", writer.last.details)
    assert Store.open(path).check().problems == [
        f"the table of edges has {first_count(path, 1):,} rows, not {first_count(path, 0):,}",
        "the table of vectors has 28 rows, not 29",
        "nodes and vectors are not of the same nodes",
        "an edge is stored twice",
    ]
    with pytest.raises(InputError, match="so nothing was changed"):
        Store.open(path).prune()


def first_count(path: Path, more: int) -> int:
    return Store.open(path, 2).info().n_edges + more


def test_a_full_disk_is_one_sentence_and_loses_nothing(path):
    """A limit on the size of files stops LanceDB as a full disk does."""
    store = Store.open(path)
    before = content(store)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, limits[1]))
    try:
        with pytest.raises(LanceError, match=r"cannot be used: File too large; nothing was"):
            store.add(later(GRAPH, 30, 40))
        with pytest.raises(InputError, match="File too large"):
            store.prune()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert same_content(Store.open(path), before)
    store.add(later(GRAPH, 30, 40))
    assert Store.open(path).check().problems == []


class PanicException(BaseException):
    """As pyo3 raises it."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("lance error: Dataset at path tmp/x was not found: Not found"), "a file is"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (
            RuntimeError("LanceError(IO): x, No space (os error 28), /root/.cargo/a.rs:1"),
            "No space",
        ),
        (PanicException("index out of bounds"), "index out of bounds"),
        (ValueError("bad\nat /root/x"), "bad"),
    ],
)
def test_what_lancedb_raises_is_one_sentence_without_its_paths(error, reason):
    with pytest.raises(LanceError, match=reason) as caught, lance_errors(Path("s")):
        raise error
    assert "/root" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, InputError("a sentence")])
def test_other_exceptions_pass(error):
    with (
        pytest.raises(error if isinstance(error, type) else InputError) as caught,
        lance_errors(Path("s")),
    ):
        raise error
    assert not isinstance(caught.value, LanceError)


def test_only_one_module_calls_lancedb():
    package = Path(lance_tables.__file__).parents[1]
    users = [file.name for file in package.rglob("*.py") if "import lancedb" in file.read_text()]
    assert users == ["lance_tables.py"]


def test_files_are_read_once_per_process_and_again_when_they_change(path, monkeypatch):
    from graphgate.store import checksums

    Store.open(path).graph()
    before = checksums._computed.cache_info()
    Store.open(path).graph()
    after = checksums._computed.cache_info()
    assert (after.misses, after.hits > before.hits) == (before.misses, True)
    file = path / next(name for name in needed(path) if "/data/" in name)
    os.utime(file)
    Store.open(path).graph()
    assert checksums._computed.cache_info().misses == after.misses + 1
