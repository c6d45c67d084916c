"""The tables of a store: versions, writers that are interrupted, and writers that meet."""

import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from test_store import first, grown_graph, later

from graphgate import GATE, InputError, Store
from graphgate.store import database
from graphgate.store.database import Database, Writer

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
            patch.setattr(Database, "append_version", interrupt)
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


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
from test_store import grown_graph, later
from graphgate import Store
from graphgate.store.database import Writer
Writer.commit = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
Store.open(sys.argv[1]).add(later(grown_graph(40), 30, 40))
"""


def test_a_killed_writer_leaves_the_version_before(path):
    tests = str(Path(__file__).parent)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), tests], timeout=120)
    assert done.returncode == -signal.SIGKILL
    store = Store.open(path)
    assert store.graph().fingerprint() == first(GRAPH, 30).fingerprint()
    store.add(later(GRAPH, 30, 40))
    assert store.graph().fingerprint() == GRAPH.fingerprint()


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
