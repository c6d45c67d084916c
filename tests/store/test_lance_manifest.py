"""The files that a version of a Lance table names, compared with what LanceDB has written."""

import struct
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from lancedb.index import BTree

from graphgate import InputError
from graphgate.store.lance_manifest import files_of_version


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    table = lancedb.connect(str(folder)).create_table("t", pa.table({"a": range(100)}))
    table.create_index("a", config=BTree())
    table.delete("a < 5")
    table.add(pa.table({"a": [1, 2]}))
    table.delete("a = 1")
    return table


@pytest.fixture
def manifest(table) -> Path:
    """That of the last version, which is as it was after the test."""
    path = Path(table.uri) / files_of_version(Path(table.uri), table.version)[0]
    before = path.read_bytes()
    yield path
    path.write_bytes(before)


def test_every_file_is_named(table):
    folder = Path(table.uri)
    names = files_of_version(folder, table.version)
    assert all((folder / name).is_file() for name in names)
    of = {
        kind: [name for name in names if name.startswith(kind)] for kind in ("data", "_del", "_ind")
    }
    assert set(of["data"]) == {f"data/{file.name}" for file in (folder / "data").iterdir()}
    assert len(of["_del"]) == 2
    assert {name.split("/")[-1] for name in of["_ind"]} == {"page_data.lance", "page_lookup.lance"}
    assert len(files_of_version(folder, 1)) == 3  # a manifest, a transaction and a data file


def test_a_table_of_the_files_that_are_named_is_complete(table, tmp_path):
    """A copy without any other file can be read and changed."""
    for name in files_of_version(Path(table.uri), table.version):
        target = tmp_path / "t.lance" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((Path(table.uri) / name).read_bytes())
    copy = lancedb.connect(str(tmp_path)).open_table("t")
    expected = [2, *range(5, 100)]
    assert sorted(copy.to_arrow()["a"].to_pylist()) == expected
    assert copy.search().where("a = 7").to_arrow()["a"].to_pylist() == [7]
    copy.add(pa.table({"a": [0]}))
    copy.optimize()
    assert sorted(copy.to_arrow()["a"].to_pylist()) == [0, *expected]


def with_field(content: bytes, field: bytes) -> bytes:
    """A manifest with another field at the end of its message."""
    (start,) = struct.unpack("<Q", content[-16:-8])
    (length,) = struct.unpack_from("<I", content, start)
    end = start + 4 + length
    message = content[start + 4 : end] + field
    return content[:start] + struct.pack("<I", len(message)) + message + content[end:]


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (b"\x48\x10", "features that stores do not"),  # base paths are to be supported
        (b"\x92\x01\x02\x0a\x00", "features that stores do not"),  # a base path
        (b"\x12\x0e\x12\x0c\x0a\x0a../x.lance", "it names '../x.lance'"),
        (b"\x62\x07../.txn", "it names '../.txn'"),
        (b"\x0b", "a field of type 3"),
        (b"\x12\x7f", "it is truncated"),
    ],
)
def test_a_manifest_that_leads_elsewhere_is_refused(table, manifest, field, words):
    manifest.write_bytes(with_field(manifest.read_bytes(), field))
    with pytest.raises(InputError, match=words):
        files_of_version(Path(table.uri), table.version)


def test_a_damaged_manifest_is_one_sentence(table, manifest):
    rng, content = np.random.default_rng(0), manifest.read_bytes()
    for at in range(400):
        data = bytearray(content[: rng.integers(len(content))] if at % 4 == 0 else content)
        for place in rng.integers(len(data), size=3) if len(data) else []:
            data[place] = rng.integers(256)
        manifest.write_bytes(data)
        try:
            files_of_version(Path(table.uri), table.version)
        except InputError:
            continue
    manifest.unlink()
    with pytest.raises(InputError, match="cannot be read: No such file"):
        files_of_version(Path(table.uri), table.version)
