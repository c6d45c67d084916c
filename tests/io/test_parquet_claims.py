"""What a small Parquet file claims, read without Arrow."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphgate import InputError, limits, read_embedding, read_graph
from graphgate.io.parquet_claims import _chunks, _pages, _structure, check_claims
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
    check_pages(path)
    read = dict(ParquetTable(path).columns(TABLE.column_names))
    assert {name: read[name].to_pylist() for name in read} == TABLE.to_pydict()


def check_pages(path) -> None:
    """Compare what we read of a file with what Arrow does."""
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
        if chunk.values:
            first = column.dictionary_page_offset if column.has_dictionary_page else None
            assert chunk.start == (column.data_page_offset if first is None else first)
        assert chunk.values == column.num_values <= sum(values for _, values in pages)
    assert check_claims(path, len(data)) == set()


CELLS = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float32(): st.floats(width=32),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"])),
    pa.list_(pa.string()): st.lists(st.sampled_from(["a", "bb", ""]), max_size=3),
}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_pages_of_any_table(tmp_path, data):
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
    check_pages(tmp_path / "t.parquet")


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
        check_claims(path, len(content))
    except InputError as error:
        message = str(error)
    assert str(path) in message
    assert "\n" not in message


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
    pq.write_table(pa.table({"source": ["a"]}), path)
    content = bytearray(path.read_bytes())
    at = content.index(b"\x15\x00\x15") + 3
    content[at : at + 1] = b"\xfe\xff\xff\xff\x0f"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"claims 2,147,483,\d+ bytes"):
        ParquetTable(path)


def test_a_page_of_negative_size(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"source": ["a"]}), path)
    content = bytearray(path.read_bytes())
    content[content.index(b"\x15\x00\x15") + 3] = 1  # zigzag of -1
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as Parquet: it is damaged or truncated"):
        ParquetTable(path)


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def test_values_of_the_compact_protocol():
    """By the specification of Thrift: the field's type in four bits, its number as a difference."""
    content = (
        b"\x11\x12"  # 1: true, 2: false
        + b"\x13\x07"  # 3: a byte
        + (b"\x15" + varint(5))  # 4: -3
        + (b"\x17" + b"8 bytes." + b"\x18" + varint(2) + b"ab")  # 5: a double, 6: bytes
        + b"\x19\x21\x01\x02"  # 7: a list of two booleans
        + (b"\x1a\xf5" + varint(16) + bytes(16))  # 8: a set of 16 zeros
        + b"\x1c\x15\x02\x00"  # 9: a structure {1: 1}
        + (b"\x05" + varint(200) + varint(4))  # 100: 2, by its number
        + b"\x00"
    )
    fields, end = _structure(content, 0)
    assert end == len(content)
    double, text = b"8 bytes.", b"ab"
    expected = [True, False, 7, -3, double, text, [True, False], [0] * 16, {1: 1}]
    assert fields == dict(enumerate(expected, start=1)) | {100: 2}


@pytest.mark.parametrize(
    "content",
    [
        b"\x1c" * 40,  # structures in structures
        b"\x18\x7f",  # more bytes than there are
        b"\x19\xf5\xff\x01",  # more elements than there are bytes
        b"\x15" + b"\xff" * 12,  # a number of more than 64 bits
        b"\x1d\x00",  # a type that does not exist
    ],
)
def test_impossible_values_of_the_compact_protocol(content):
    with pytest.raises(ValueError):  # noqa: PT011 - it has no text
        _structure(content, 0)


def test_repetitive_text_that_claims_more(tmp_path):
    """Of text by prefixes, each value may be as long as the whole column."""
    path = tmp_path / "t.parquet"
    names = [f"{'x' * 200}{at}" for at in range(300)]
    columns = ("source", "target")
    encodings = dict.fromkeys(columns, "DELTA_BYTE_ARRAY")
    table = pa.table(dict.fromkeys(columns, names))
    pq.write_table(table, path, use_dictionary=False, column_encoding=encodings)
    size = path.stat().st_size
    assert check_claims(path, size) == set(columns)
    stated = pq.ParquetFile(path).metadata.row_group(0)
    longest = sum(300 * stated.column(at).total_uncompressed_size for at in range(2))
    with limits(values=0.04), pytest.raises(InputError, match=f"claims {longest:,} bytes"):
        check_claims(path, size)
