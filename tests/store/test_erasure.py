"""`Store.erase`: afterwards nothing in the folder of a store yields anything of some nodes."""

from collections.abc import Iterator
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from safetensors import safe_open
from sklearn.base import clone

from graphgate import GATE, Graph, InputError, LinearGATE, Store
from graphgate.store import database, vector_index
from graphgate.store.database import Writer

SECRET = ("ada-lovelace", "zebra-crossing", "Xanadu", "only-label")
REMOVED = "removed-before"
N_NODES = 24


def graph_with_a_secret(n: int = N_NODES) -> Graph:
    """A graph in which the first node has an id, words, a town and a label of its own."""
    rng = np.random.default_rng(0)
    edges = sorted({(at, int(rng.integers(0, at))) for at in range(1, n) for _ in range(3)})
    ids = [SECRET[0], REMOVED, *(f"n{at}" for at in range(2, n))]
    return Graph.from_edges(
        None,
        [(ids[a], ids[b]) for a, b in edges],
        ids=ids,
        attributes={
            "age": [1234.56789, *rng.normal(size=n - 1).round(3)],
            "town": [SECRET[2], *np.take(["Ulm", "Bern", "Graz"], rng.integers(0, 3, n - 1))],
            "words": [[SECRET[1], "x"], *(["x", "y"][: int(k)] for k in rng.integers(0, 3, n - 1))],
        },
        labels=[SECRET[3], *np.take(["a", "b"], rng.integers(0, 2, n - 1))],
    )


LINEAR = LinearGATE(n_components=2, random_state=0, progress=False)
GATE2 = GATE((4, 2), epochs=2, random_state=0, progress=False)


def store_with_a_history(folder: Path, estimator) -> Store:
    """The secret is in vectors, models and tables of several versions, and in none of the last."""
    graph = graph_with_a_secret()
    store = Store.create(folder / "store", graph.take(np.arange(20)), clone(estimator))
    store.add(graph)
    store.refit()
    store.remove(REMOVED)
    return store


def values(cell) -> Iterator:
    """All numbers and texts in a cell of a table."""
    if isinstance(cell, dict):
        cell = list(cell.values())
    if isinstance(cell, list):
        for part in cell:
            yield from values(part)
    else:
        yield cell


def content(folder: Path) -> tuple[set, str]:
    """All values in every version of every table and in every model; and all text of models."""
    found: set = set()
    texts = []
    connection = lancedb.connect(str(folder))
    for name in connection.list_tables().tables:
        table = connection.open_table(name)
        texts.append(str(table.schema))
        for version in table.list_versions():
            table.checkout(version["version"])
            for row in table.to_arrow().to_pylist():
                found |= set(values(row))
    for file in (folder / "models").iterdir():
        with safe_open(str(file), framework="np") as model:
            texts.append(str(model.metadata()))
            for name in model.keys():  # noqa: SIM118
                tensor = model.get_tensor(name)
                found |= set(tensor.ravel().tolist())
                texts.append(tensor.tobytes().decode("latin-1"))
    return found, "\n".join(texts)


def no_trace(folder: Path) -> bool:
    """Whether no value, name or text is one of the nodes that were erased."""
    found, texts = content(folder)
    return not found & {*SECRET, REMOVED} and not any(text in texts for text in SECRET)


def traces(store: Store) -> set[float]:
    """The numbers that belong to the first node alone: vectors, states and factors of all
    versions, and its age."""
    numbers: set[float] = {1234.56789}
    for version in store.history():
        snapshot = store._database.snapshot(version)
        ids = snapshot.find("nodes", "_id", pa.array([SECRET[0]])).column("_number")
        rows = snapshot.find("vectors", "_number", ids).to_pylist()
        numbers |= {value for row in rows for value in values(row) if isinstance(value, float)}
    return {value for value in numbers if value not in range(-9, 99)}


def hits(folder: Path, needles: list[bytes]) -> int:
    """How many of the needles are in the bytes of any file."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    data = b"".join(file.read_bytes() + str(file).encode() for file in files)
    return sum(needle in data for needle in needles)


@pytest.mark.parametrize("estimator", [LINEAR, GATE2], ids=["linear", "gate"])
def test_no_table_model_or_byte_yields_an_erased_node(tmp_path, estimator):
    store = store_with_a_history(tmp_path, estimator)
    numbers, before = traces(store), content(store.path)
    needles = [text.encode() for text in (*SECRET, REMOVED)]
    needles += [np.array(value, kind).tobytes() for value in numbers for kind in ("<f4", "<f8")]
    assert hits(store.path, needles) > len(numbers)
    assert set(SECRET[:1]) | numbers <= before[0]
    assert all(text in before[1] for text in SECRET[1:3])  # the encoder has them
    made = store.erase([SECRET[0], REMOVED])
    assert (made.version, made.action, made.details["erased"]) == (5, "erase", 1)
    assert [each.version for each in Store.open(store.path).history()] == [5]
    assert no_trace(store.path)
    assert not content(store.path)[0] & numbers
    assert not hits(store.path, needles)


@pytest.mark.parametrize("estimator", [LINEAR, GATE2], ids=["linear", "gate"])
def test_what_remains_is_a_new_store_of_the_other_nodes(tmp_path, estimator):
    store = store_with_a_history(tmp_path, estimator)
    store.erase([SECRET[0], REMOVED])
    graph = graph_with_a_secret().without([SECRET[0], REMOVED])
    params = store.model().get_params()
    other = Store.create(tmp_path / "other", graph, type(estimator)(**params))
    for opened in (store, Store.open(store.path)):
        assert opened.graph().fingerprint() == graph.fingerprint()
        np.testing.assert_array_equal(opened.vectors().vectors, other.vectors().vectors)
        assert opened.info().accuracy() == "all vectors are exact"
    names = store.model().feature_names_in_.tolist()
    assert names == other.model().feature_names_in_.tolist()
    with pytest.warns(UserWarning, match="not seen in fit .* 'Xanadu'"):
        store.add(graph_with_a_secret())  # a store like any other
    assert len(store) == N_NODES


def test_a_node_of_an_older_version_is_erased_and_others_are_refused(tmp_path):
    store = store_with_a_history(tmp_path, LINEAR)
    with pytest.raises(InputError, match="no version of the store has a node 'n55'"):
        store.erase([REMOVED, "n55"])
    with pytest.raises(InputError, match="the store would have no nodes"):
        store.erase(store.vectors().ids)
    assert len(Store.open(store.path).history()) == 4
    details = store.erase(REMOVED).details
    assert (details["erased"], details["n_nodes"]) == (0, N_NODES - 1)


class Interrupted(BaseException):
    """Neither an error nor anything that the library could catch."""


@pytest.mark.parametrize(
    "step", ["nodes", "edges", "vectors", "write_version", "forget", "unlink", "last"]
)
def test_an_interrupted_erasure_is_before_or_after_and_can_be_completed(
    tmp_path, monkeypatch, step
):
    store = store_with_a_history(tmp_path, LINEAR)
    graph = store.graph()

    def stop(*_, **__):
        raise Interrupted

    with monkeypatch.context() as patch:
        if step in ("nodes", "edges", "vectors"):
            replace = Writer.replace

            def stopped(self, table, rows):
                replace(self, table, rows)
                if table == step:
                    stop()

            patch.setattr(Writer, "replace", stopped)
        elif step == "write_version":
            patch.setattr(database, step, stop)
        elif step == "forget":
            patch.setattr(Writer, step, stop)
        else:
            unlink, last = Path.unlink, {"unlink": "000003.safetensors", "last": "000004.json"}
            patch.setattr(
                Path, "unlink", lambda p, **k: stop() if p.name == last[step] else unlink(p, **k)
            )
        with pytest.raises(Interrupted):
            store.erase([SECRET[0], REMOVED])
    opened = Store.open(store.path)
    committed = step in ("forget", "unlink", "last")
    assert [each.version for each in opened.history()] == ([5] if committed else [1, 2, 3, 4])
    if committed:
        graph = graph.without([SECRET[0]])
    assert opened.graph().fingerprint() == graph.fingerprint()
    made = opened.erase([SECRET[0], REMOVED])
    assert made == Store.open(store.path).history()[-1]
    assert no_trace(store.path)


def test_the_next_change_completes_an_erasure(tmp_path, monkeypatch):
    store = store_with_a_history(tmp_path, LINEAR)
    with monkeypatch.context() as patch:
        patch.setattr(Writer, "forget", lambda *_: None)
        store.erase([SECRET[0], REMOVED])
    assert not no_trace(store.path)
    store.remove("n7")
    assert no_trace(store.path)
    assert [each.action for each in store.history()] == ["erase", "remove"]


def test_what_an_interrupted_change_has_left_is_erased(tmp_path, monkeypatch):
    graph = graph_with_a_secret()
    others = graph.without([SECRET[0], REMOVED])
    store = Store.create(tmp_path / "store", others, clone(LINEAR))
    with monkeypatch.context() as patch:
        patch.setattr(Writer, "commit", lambda *_: 1 / 0)
        with (
            pytest.raises(ZeroDivisionError),
            pytest.warns(UserWarning, match="not seen in fit"),
        ):
            store.add(graph)
    assert not no_trace(store.path)
    assert store.erase([SECRET[0], REMOVED]).version == 1
    assert no_trace(store.path)
    with pytest.raises(InputError, match="no version of the store has a node 'ada-lovelace'"):
        store.erase([SECRET[0], REMOVED])


def test_cached_indices_of_erased_vectors_are_deleted(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(vector_index, "EXACT_UP_TO", 5)
    store = store_with_a_history(tmp_path, LINEAR)
    store.similar("n3")
    assert list((tmp_path / "cache").rglob("*.usearch"))
    store.erase(SECRET[0])
    assert not list((tmp_path / "cache").rglob("*.usearch"))
