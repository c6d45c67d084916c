"""Stores from strangers and of other formats: refused in one sentence, without any effect."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from test_database import made  # noqa: F401

from graphgate import InputError, Store
from graphgate.store.checksums import synced_checksum
from graphgate.store.lance_tables import lancedb_module
from graphgate.store.layout import entries
from graphgate.store.versions import read_version, write_version


@pytest.fixture
def path(made, tmp_path) -> Path:  # noqa: F811
    shutil.copytree(made, tmp_path / "store")
    return tmp_path / "store"


def moved_outside(path: Path, name: str) -> Path:
    """Replace a file or folder of a store by a link to where it is now."""
    outside = path.parent / "outside"
    shutil.move(path / name, outside)
    (path / name).symlink_to(outside)
    return outside


@pytest.mark.parametrize(
    "name", ["models", "versions", "nodes.lance/data", "vectors.lance", "lock", "store.json"]
)
def test_a_link_is_refused_and_nothing_behind_it_changes(path, name):
    (path / "lock").touch()
    outside = moved_outside(path, name)
    if outside.is_dir():
        (outside / "thesis.txt").write_text("years of work")
    before = sorted(os.walk(outside))
    for use in (Store.open, lambda path: Store.open(path).prune()):
        with pytest.raises(InputError, match="is a link"):
            use(path)
    assert sorted(os.walk(outside)) == before


@pytest.mark.parametrize("name", ["index/1.usearch", "models/x.pkl", "nodes.lance/_refs/a", "a.sh"])
def test_a_name_that_is_not_ours_is_refused(path, name):
    (path / name).parent.mkdir(exist_ok=True)
    (path / name).touch()
    with pytest.raises(InputError, match="is not part of a store"):
        Store.open(path)


def test_what_an_interrupted_writer_leaves_is_pruned(path):
    left = [
        *("nodes.lance/data/.tmpX3fQ1z", "edges.lance/_versions/18446744073709551000.manifest#1"),
        *("nodes.lance/data/0101.lance", "models/000007.safetensors"),
        *("versions/.graphgate.0123abcd.part", "edges.lance/_deletions/0-9-17.arrow"),
    ]
    for name in left:
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_bytes(b"half")
    store = Store.open(path)
    assert store.check().n_unneeded >= 6
    store.prune()
    assert store.check().n_unneeded == 0
    assert not any((path / name).exists() for name in left)


@pytest.mark.parametrize("change", ["model", "files", "details", "huge", "tables", "number"])
def test_a_version_that_leads_elsewhere_is_refused(path, change):
    """Its checksum is right: it was written so."""
    version = read_version(path, 1)
    if change == "model":
        object.__setattr__(version, "model", "../../outside")
    elif change == "number":
        object.__setattr__(version, "version", 2)
        shutil.move(path / "versions/000001.json", path / "versions/000003.json")
    elif change == "files":
        version.files["nodes.lance/data/../../../outside"] = "0-00000000"
    elif change == "details":
        del version.details["n_nodes"]
    elif change == "huge":
        version.details["n_nodes"] = 10**30
    else:
        version.tables["nodes"] = -1
    write_version(path, version)
    with pytest.raises(InputError, match="is damaged"):
        Store.open(path)


@pytest.mark.parametrize("where", ["table", "column"])
def test_what_lancedb_would_act_on_is_refused(path, where):
    """LanceDB calls the embedding functions that a schema names."""
    store = Store.open(path)
    rows, named = store._snapshot.read("nodes"), {"embedding_functions": "[]"}
    if where == "table":
        rows = rows.replace_schema_metadata(named)
    else:
        first = rows.schema.field(0).with_metadata(named)
        rows = rows.cast(rows.schema.set(0, first))
    table = lancedb_module().connect(str(path)).create_table("nodes", rows, mode="overwrite")
    version = read_version(path, 1)
    version.tables["nodes"] = table.version
    version.files.clear()
    for entry in entries(path):
        if entry.content:
            version.files[entry.name] = synced_checksum(path / entry.name)
    write_version(path, version)
    with pytest.raises(InputError, match="has columns that no store has"):
        Store.open(path).graph()


FORMAT = {"kind": "graphgate store", "version": 1, "id": "0" * 32, "last": 1}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "store.json is missing, .* create the store again"),
        ({"kind": "graphgate store", "version": 2, "id": "0" * 32}, "of format version 2"),
        ({"kind": "graphgate store", "id": "0" * 32}, "of format version None"),
        ({"kind": "model"}, "does not describe a store"),
        (FORMAT | {"id": "../../x"}, "its id or its last version is not one"),
        (FORMAT | {"last": -1}, "its id or its last version is not one"),
        (FORMAT | {"last": 10**400}, "its id or its last version is not one"),
        (FORMAT | {"last": "x"}, "'last' in its content has the wrong type"),
        ([], "does not describe a store"),
    ],
)
def test_another_format_is_refused(path, content, words):
    if content is None:
        (path / "store.json").unlink()
    else:
        (path / "store.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=words):
        Store.open(path)


def test_old_folders_are_not_stores(tmp_path):
    for folder, words in ((tmp_path, "is not a store"), (tmp_path / "none", "does not exist")):
        with pytest.raises(InputError, match=words):
            Store.open(folder)


def test_a_store_may_be_reached_by_a_link(path, tmp_path):
    (tmp_path / "link").symlink_to(path)
    store = Store.open(tmp_path / "link")
    store.add(
        nodes=pa.table(
            {"id": ["new"], "age": [1.0], "town": ["Ulm"], "a.b": [True], "words": [["x"]]}
        )
    )
    store.prune()
    assert len(Store.open(path)) == 31
    assert np.isfinite(store.vectors().vectors).all()
