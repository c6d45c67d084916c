"""The tables of a store: versions, writers that are interrupted, and writers that meet."""

import shutil
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from growing import first, grown_graph, later

from graphgate import GATE, InputError, Store
from graphgate.store import database
from graphgate.store.database import Database, Writer
from graphgate.store.layout import entries

GRAPH = grown_graph(40)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    gate = GATE((6, 4), epochs=3, random_state=0, progress=False)
    return Store.create(tmp_path_factory.mktemp("made") / "store", first(GRAPH, 30), gate).path


@pytest.fixture
def path(made, tmp_path) -> Path:
    shutil.copytree(made, tmp_path / "store")
    return tmp_path / "store"


class Interrupted(BaseException):
    """Neither an error nor anything that the library could catch."""


def interrupt(*_, **__):
    raise Interrupted


@pytest.mark.parametrize("table", ["nodes", "edges", "vectors", "commit"])
@pytest.mark.parametrize("action", ["add", "refit"])
def test_an_interrupted_change_leaves_nothing(path, monkeypatch, table, action):
    store = Store.open(path)
    before = store.vectors().vectors
    change = (lambda: store.add(later(GRAPH, 30, 40))) if action == "add" else store.refit

    def stop_at(name):
        def stopped(self, which, *rest):
            original(self, which, *rest)
            if which == table:
                interrupt()

        original = getattr(Writer, name)
        return stopped

    with monkeypatch.context() as patch:
        if table == "commit":
            patch.setattr(database, "write_version", interrupt)
        elif action == "refit" and table != "vectors":
            return  # a refit writes vectors only
        else:
            for name in ("upsert", "append", "replace"):
                patch.setattr(Writer, name, stop_at(name))
        with pytest.raises(Interrupted):
            change()
    for opened in (store, Store.open(path)):
        assert (opened.version, len(opened.history())) == (1, 1)
        assert opened.graph().fingerprint() == first(GRAPH, 30).fingerprint()
        np.testing.assert_array_equal(opened.vectors().vectors, before)
    store.add(later(GRAPH, 30, 40))
    assert Store.open(path).graph().fingerprint() == GRAPH.fingerprint()
    np.testing.assert_allclose(store.vectors().vectors, store.model().transform(GRAPH), atol=1e-5)


def test_two_writers_take_turns(path):
    batch = later(GRAPH, 30, 35)
    other = min(set(GRAPH.ids[:30].tolist()) - set(batch.ids.tolist()))
    stores = [Store.open(path) for _ in range(2)]  # both see version 1
    threads = [threading.Thread(target=stores[0].add, args=[batch])]
    threads.append(threading.Thread(target=stores[1].remove, args=[other]))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    last = Store.open(path)
    assert last.version == 3
    assert set(last.graph().ids) == set(GRAPH.ids[:35]) - {other}
    expected = last.model().transform(last.graph())
    np.testing.assert_allclose(last.vectors().vectors, expected, atol=1e-5)


def test_a_reader_keeps_its_version(path):
    reader, writer = Store.open(path), Store.open(path)
    writer.add(later(GRAPH, 30, 40))
    assert len(reader.vectors().ids) == 30
    assert reader.graph().n_nodes == 30
    assert reader.reload()
    assert len(reader.vectors().ids) == 40


def content(store: Store) -> tuple[str, list, np.ndarray]:
    return store.graph().fingerprint(), store.graph().label_values(), store.vectors().vectors


def same_content(found: Store, expected: tuple[str, list, np.ndarray]) -> bool:
    return all(map(np.array_equal, content(found), expected))


NEW_AGE = pa.table({"id": ["n3"], "age": [9.5], "town": ["Ulm"], "a.b": [True], "words": [["x"]]})
FIRST_EDGE = np.argwhere(first(GRAPH, 30).adjacency.toarray())[0].tolist()
EDGE = pa.table({"source": [f"n{FIRST_EDGE[0]}"], "target": [f"n{FIRST_EDGE[1]}"]})
CHANGES = {
    "add": lambda store: store.add(later(GRAPH, 30, 40)),
    "remove nodes": lambda store: store.remove(["n4", "n17"]),
    "remove an edge": lambda store: store.remove(edges=EDGE),
    "change an attribute": lambda store: store.add(nodes=NEW_AGE),
    "refresh": lambda store: store.refresh(),
    "refit": lambda store: store.refit(),
    "rollback": lambda store: store.rollback(1),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_pruned_after_a_change_can_be_read_and_changed(path, name):
    store = Store.open(path)
    CHANGES[name](store)
    before = content(store)
    store.prune()
    assert same_content(store, before)
    assert same_content(Store.open(path), before)
    assert [version.action for version in Store.open(path).history()] == ["prune"]
    CHANGES["change an attribute"](Store.open(path))
    store.prune()
    assert Store.open(path).nodes("n3")[0]["age"] == 9.5


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_versions_that_are_kept_can_be_read(path, keep):
    store = Store.open(path)
    contents = [content(store)]
    for name in ("add", "remove nodes", "refit"):
        CHANGES[name](store)
        contents.append(content(store))
    contents.append(contents[-1])  # what `prune` makes
    for _ in range(2):
        store.prune(keep)
        kept = store.history()
        for version, expected in zip(kept, contents[-keep:], strict=True):
            assert same_content(Store.open(path, version.version), expected)
        contents.append(contents[-1])
    needed = {name for version in kept for name in version.files}
    assert {entry.name for entry in entries(path) if entry.content} == needed


def test_nothing_is_deleted_if_what_would_be_kept_cannot_be_read(path, monkeypatch):
    store = Store.open(path)
    CHANGES["add"](store)
    before = content(store)
    with monkeypatch.context() as patch:
        patch.setattr(database, "problems_of", lambda *_: ["an edge is stored twice"])
        with pytest.raises(InputError, match=r"nothing was changed: an edge is stored twice"):
            store.prune()
    assert [version.version for version in Store.open(path).history()] == [1, 2]
    assert same_content(Store.open(path), before)


@pytest.mark.parametrize("name", [*CHANGES, "prune"])
def test_a_writer_decides_on_what_there_is_when_it_gets_the_lock(path, monkeypatch, name):
    """Another process finishes between the call of a writer and the time when it has the lock."""
    store = Store.open(path)
    locked = Database._locked

    def late(self):
        with monkeypatch.context() as patch:
            patch.setattr(Database, "_locked", locked)
            other = Store.open(path)
            other.add(later(GRAPH, 30, 35))
            other.prune()
        return locked(self)

    with monkeypatch.context() as patch:
        patch.setattr(Database, "_locked", late)
        if name == "rollback":
            with pytest.raises(InputError, match="version 1 was pruned"):
                store.rollback(1)
        else:
            {**CHANGES, "prune": lambda store: store.prune()}[name](store)
    found = Store.open(path)
    assert len(found) == {"add": 40, "remove nodes": 33}.get(name, 35)
    np.testing.assert_allclose(
        found.vectors().vectors, found.model().transform(found.graph()), atol=1e-5
    )


@pytest.mark.parametrize("name", [*CHANGES, "prune", "erase", "drift"])
def test_the_history_is_read_once(path, monkeypatch, name):
    for batch in (later(GRAPH, 30, 35), later(GRAPH, 35, 40)):
        Store.open(path).add(batch)
    read, reads = database.read_version, []

    def noted(folder, number):
        reads.append(number)
        return read(folder, number)

    monkeypatch.setattr(database, "read_version", noted)
    store = Store.open(path)
    more = {
        "prune": lambda store: store.prune(2),
        "erase": lambda store: store.erase("n4"),
        "drift": lambda store: store.drift(),
    }
    {**CHANGES, **more}[name](store)
    store.history()
    assert sorted(reads) == sorted(set(reads))


def test_a_number_is_not_given_to_a_second_node(path):
    store = Store.open(path)
    store.add(later(GRAPH, 30, 35))
    store.rollback(1)
    store.add(GRAPH.take(np.r_[0:30, 35:40]))
    assert store.drift(2).n_shared == 30


def test_waiting_for_another_writer_ends(path, monkeypatch):
    monkeypatch.setattr(database, "_WAIT", 0.1)
    with (
        Store.open(path)._database.writing(),
        pytest.raises(InputError, match="another process has been writing"),
    ):
        Store.open(path).refresh()


def test_a_store_without_the_package_is_explained(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(InputError, match=r"pip install 'graphgate\[store\]'"):
        Store.open(path)


@pytest.mark.parametrize("damage", [b"", b"{", b'{"checksum": "0", "content": {}}', b"[]"])
def test_a_damaged_version_can_be_removed_and_rolled_back(path, damage):
    store = Store.open(path)
    store.remove("n4")
    store.remove("n17")
    version = path / "versions" / "000003.json"
    version.write_bytes(damage)
    for attempt in (lambda: Store.open(path), lambda: Store.open(path, 2), store.refresh):
        with pytest.raises(InputError, match=r"is damaged.*; .*remove this file and roll back"):
            attempt()
    version.unlink()
    with pytest.raises(InputError, match=r"is missing.*roll back to version 2"):
        Store.open(path)
    assert Store.open(path, 2).rollback(2).version == 4
    assert Store.open(path).check().problems == ["version 3 is missing"]
    Store.open(path).prune()
    assert (len(Store.open(path)), Store.open(path).check().problems) == (29, [])


def test_the_last_version_may_be_pruned_before_it_is_read(path, monkeypatch):
    read = database.read_version

    def late(folder, number):
        monkeypatch.setattr(database, "read_version", read)
        Store.open(path).prune()
        return read(folder, number)

    for version in (2, 3):
        monkeypatch.setattr(database, "read_version", late)
        assert Store.open(path).version == version
