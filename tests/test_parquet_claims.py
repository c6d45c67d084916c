"""What a small Parquet file claims, read without Arrow."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphgate import InputError, limits, read_embedding, read_graph
from graphgate.io.parquet_claims import _chunks, _pages, check_claims
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
    }
)


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
def test_pages_have_the_values_and_bytes_that_arrow_states(tmp_path, options):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path, **options)
    data = path.read_bytes()
    stated = pq.ParquetFile(path).metadata
    columns = [
        stated.row_group(group).column(at)
        for group in range(stated.num_row_groups)
        for at in range(stated.num_columns)
    ]
    chunks = list(_chunks(data))
    assert [chunk.path for chunk in chunks] == [column.path_in_schema for column in columns]
    for chunk, column in zip(chunks, columns, strict=True):
        pages = list(_pages(data, chunk))
        sizes = sum(size for size, _ in pages)
        assert sizes <= column.total_uncompressed_size  # which includes the headers
        assert chunk.values == column.num_values <= sum(values for _, values in pages)
    assert check_claims(path, len(data)) == set()
    read = dict(ParquetTable(path).columns(TABLE.column_names))
    assert {name: read[name].to_pylist() for name in read} == TABLE.to_pydict()


def test_files_of_polars(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pl.DataFrame({"a": range(1000), "s": ["x", None] * 500, "l": [["a", "b"]] * 1000})
    frame.write_parquet(path)
    assert check_claims(path, path.stat().st_size) == set()
    read = dict(ParquetTable(path).columns(frame.columns))
    assert {name: read[name].to_pylist() for name in read} == frame.to_dict(as_series=False)


def test_text_by_prefixes(tmp_path):
    path = tmp_path / "t.parquet"
    encodings = {"source": "DELTA_BYTE_ARRAY"}
    table = pa.table({"source": ["aa", "ab"], "target": ["b", "c"]})
    pq.write_table(table, path, use_dictionary=False, column_encoding=encodings)
    assert check_claims(path, path.stat().st_size) == {"source"}
    assert read_graph(path).ids.tolist() == ["aa", "b", "ab", "c"]
    with limits(values=1e-4), pytest.raises(InputError, match=r"claims .* bytes"):
        read_graph(path)


def test_claims_beyond_the_limits(tmp_path):
    path = tmp_path / "t.parquet"
    zeros = pa.array(np.zeros(5000, dtype=np.float32))
    lists = pa.ListArray.from_arrays(pa.array([0, 2500, 5000], pa.int32()), zeros)
    pq.write_table(pa.table({"node_id": [1, 2], "embedding": lists}), path)
    assert read_embedding(path).vectors.shape == (2, 2500)
    with limits(values=0.02), pytest.raises(InputError, match=r"claims 5,0\d\d values"):
        read_embedding(path)
    pq.write_table(pa.table({"source": ["x" * 5000], "target": ["b"]}), path)
    with limits(values=0.02), pytest.raises(InputError, match=r"claims \d+,\d\d\d bytes"):
        read_graph(path)


def test_one_text_shared_by_many_rows(tmp_path):
    path = tmp_path / "t.parquet"
    rows = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1000, np.int32)), ["x" * 100])
    for table in (pa.table({"source": rows, "target": rows}),):
        for store in (True, False):
            pq.write_table(table, path, store_schema=store)
            with (
                limits(values=0.5),
                pytest.raises(InputError, match=r"'source', .* claims 100,000"),
            ):
                read_graph(path)


@pytest.mark.parametrize("cut", [0, 3, 11, 12, -1, -5, -9])
def test_truncated_files(tmp_path, cut):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match="cannot be read as Parquet: it is damaged or truncated"):
        ParquetTable(path)


def test_a_page_that_lies(tmp_path):
    """The size in the header of a page is what Arrow allocates, whatever the footer says."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"source": ["a"], "target": ["b"]}), path)
    content = bytearray(path.read_bytes())
    at = content.index(b"\x15\x00\x15") + 3
    content[at : at + 1] = b"\xfe\xff\xff\xff\x0f"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"claims 2,147,483,\d+ bytes"):
        ParquetTable(path)
