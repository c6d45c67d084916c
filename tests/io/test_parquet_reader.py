"""Parquet files: what Arrow wrote is read, and what claims or takes too much is refused."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphgate import InputError, limits, read_embedding, read_graph
from graphgate.io.parquet_reader import ParquetTable

TABLE = pa.table(
    {
        "a": np.arange(1000),
        "s": [f"x{at % 7}" for at in range(1000)],
        "l": [["a", "b"]] * 1000,
        "m": pa.array([[("a", 1.0)]] * 1000, pa.map_(pa.string(), pa.float64())),
        "n": pa.nulls(1000),
        "f": pa.array([[1.0, 2.0]] * 1000, pa.list_(pa.float32(), 2)),
        "b": [True, None] * 500,
        "d": pa.array(["u", "v"] * 500).dictionary_encode(),
    }
)


def read(path) -> dict:
    table = ParquetTable(path)
    return {name: column.to_pylist() for name, column in table.columns(table.names)}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "zstd", "data_page_version": "2.0"},
        {"use_dictionary": False, "compression": "none"},
        {"row_group_size": 300},
        {"write_page_index": True, "data_page_size": 100},
        {"version": "1.0", "write_statistics": False},
    ],
)
@pytest.mark.parametrize("small", [1 << 20, 0])
def test_what_arrow_wrote_is_read(tmp_path, monkeypatch, options, small):
    """In one step or in many, and text as such or as codes."""
    monkeypatch.setattr("graphgate.io.parquet_reader._SMALL", small)
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path, **options)
    assert read(path) == TABLE.to_pydict()
    monkeypatch.setattr("graphgate.io.parquet_reader._STEP", 1)
    monkeypatch.setattr("graphgate.io.parquet_reader._BATCH", 7)
    assert read(path) == TABLE.to_pydict()


CELLS = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"])),
    pa.list_(pa.string()): st.lists(st.sampled_from(["a", "bb", ""]), max_size=3),
}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_table(tmp_path, data):
    n = data.draw(st.integers(0, 20))
    kinds = data.draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4))
    columns = {
        f"c{at}": pa.array(
            data.draw(st.lists(CELLS[kind] | st.none(), min_size=n, max_size=n)), kind
        )
        for at, kind in enumerate(kinds)
    }
    pq.write_table(
        pa.table(columns),
        tmp_path / "t.parquet",
        compression=data.draw(st.sampled_from(["none", "snappy", "gzip", "zstd"])),
        use_dictionary=data.draw(st.booleans()),
        data_page_version=data.draw(st.sampled_from(["1.0", "2.0"])),
        row_group_size=data.draw(st.integers(1, 25)),
    )
    assert read(tmp_path / "t.parquet") == pa.table(columns).to_pydict()


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_metadata_is_read_or_refused(tmp_path, data):
    """Bytes of the footer and of page headers: every field of the protocol."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, 2], "s": ["x", "y"]}), path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 9))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    message = str(path)
    try:
        read(path)
    except InputError as error:
        message = str(error)
    assert str(path) in message
    assert "\n" not in message


def test_files_of_polars(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pl.DataFrame({"a": range(1000), "s": ["x", None] * 500, "l": [["a", "b"]] * 1000})
    frame.write_parquet(path)
    assert read(path) == frame.to_dict(as_series=False)


def test_text_by_prefixes(tmp_path):
    """Each value repeats the one before; what has been read counts, batch by batch."""
    path = tmp_path / "t.parquet"
    encodings = {"source": "DELTA_BYTE_ARRAY"}
    table = pa.table(
        {"source": ["x" * 10_000] * 99 + ["a"], "target": [f"b{at}" for at in range(100)]}
    )
    pq.write_table(table, path, use_dictionary=False, column_encoding=encodings)
    assert len(read_graph(path).ids) == 102
    with (
        limits(values=5),
        pytest.raises(InputError, match=r"'source', has .* but claims \d\d\d,\d\d\d bytes"),
    ):
        read_graph(path)


def test_claims_beyond_the_limits(tmp_path):
    path = tmp_path / "t.parquet"
    zeros = pa.array(np.zeros(5000, dtype=np.float32))
    lists = pa.ListArray.from_arrays(pa.array([0, 2500, 5000], pa.int32()), zeros)
    pq.write_table(pa.table({"node_id": [1, 2], "embedding": lists}), path)
    assert read_embedding(path).vectors.shape == (2, 2500)
    with (
        limits(values=0.02),
        pytest.raises(InputError, match=r"'embedding', has .* but claims 20,\d\d\d bytes"),
    ):
        read_embedding(path)
    pq.write_table(pa.table({"source": ["x" * 5000], "target": ["b"]}), path)
    with limits(values=0.02), pytest.raises(InputError, match=r"claims \d+,\d\d\d bytes"):
        read_graph(path)


@pytest.mark.parametrize("stored", [True, False])
def test_one_text_shared_by_many_rows(tmp_path, stored):
    path = tmp_path / "t.parquet"
    rows = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1000, np.int32)), ["x" * 100])
    pq.write_table(pa.table({"source": rows, "target": rows}), path, store_schema=stored)
    with limits(values=0.5), pytest.raises(InputError, match=r"'source', .* claims 10\d,\d\d\d"):
        read_graph(path)


@pytest.mark.parametrize("cut", [0, 3, 11, 12, -1, -5, -9])
def test_truncated_files(tmp_path, cut):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match="cannot be read as Parquet: "):
        ParquetTable(path)


@pytest.mark.parametrize("size", [b"\xfe\xff\xff\xff\x0f", b"\x01"])  # 2 GB, and -1
def test_a_page_that_lies(tmp_path, size):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"source": ["a"]}), path)
    content = bytearray(path.read_bytes())
    at = content.index(b"\x15\x00\x15") + 3
    content[at : at + 1] = size
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as Parquet: "):
        read(path)


def test_a_footer_that_states_an_endless_list(tmp_path):
    """Such as 2³¹ columns, for which Arrow would otherwise allocate memory."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"source": ["a"]}), path, store_schema=False)
    content = bytearray(path.read_bytes())
    at = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    assert content[at : at + 4] == b"\x15\x04\x19\x2c"  # version 2, then a list of two structures
    content[at + 3 : at + 4] = b"\xfc\x80\xb5\x18"  # 400,000 of them
    content[-8:-4] = (int.from_bytes(content[-8:-4], "little") + 3).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"cannot be read as Parquet: .*size limit"):
        ParquetTable(path)
