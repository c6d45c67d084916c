"""Tables in memory, and Python values as Arrow columns."""

import numpy as np
import pyarrow as pa
import pytest

from graphgate import InputError
from graphgate.io.tables import Table, id_array, python_column, value_array


class Stream:
    """Offers its columns as an Arrow stream, as data frames of other libraries do."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Broken(Stream):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise ValueError("the stream is gone\nfor ever")


def test_anything_with_an_arrow_stream_is_a_table():
    table = Table(Stream(pa.table({"a": [1, 2], "b": ["x", None]})), "it")
    assert table.names == ["a", "b"]
    assert dict(table.columns(["b"]))["b"].to_pylist() == ["x", None]
    with pytest.raises(InputError, match=r"^it cannot be read as a table: the stream is gone$"):
        Table(Broken(pa.table({})), "it")
    with pytest.raises(InputError, match=r"must be a pandas or Polars data frame .*, got list"):
        Table([1], "it")


def test_cells_in_messages_are_short():
    table = Table(pa.table({"a": ["x" * 500, None]}), "it", place=lambda row: f"line {row + 2}")
    assert table.cell(0, "a") == "'" + "x" * 78 + "…"
    with pytest.raises(InputError, match=r"^it, line 3, column 'a': the missing value is odd$"):
        table.refuse_cell(1, "a", "is odd")


@pytest.mark.parametrize(
    ("values", "stored"),
    [
        ([1, 2.5, None], [1.0, 2.5, None]),
        ([np.int8(1), None], [1, None]),
        ([True, None], [True, None]),
        ([None, None], [None, None]),
        (np.array(["a", "b"]), ["a", "b"]),
    ],
)
def test_labels_and_categories(values, stored):
    assert value_array(values, "label").to_pylist() == stored


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([None, 1, "a"], "the label 1 cannot be stored: use only integers or only text"),
        (["a", b"b"], "the label b'b' cannot be stored"),
        ([2**64], "a label does not fit in 64 bits; use text"),
    ],
)
def test_labels_that_cannot_be_stored(values, words):
    with pytest.raises(InputError, match=words):
        value_array(values, "label")


def test_ids_of_numbers_and_text():
    assert id_array([1, "a"]).to_pylist() == ["1", "a"]
    assert id_array([(1, "x")]).to_pylist() == ["(1, 'x')"]
    with pytest.raises(InputError, match="the node ids 1 and '1' are both written as '1'"):
        id_array([1, "1"])


@pytest.mark.parametrize(
    ("values", "stored"),
    [
        ([{"a": 1, "b": 2.5}, None], [[("a", 1.0), ("b", 2.5)], None]),
        ([["a", "b"], None, ("c",)], [["a", "b"], None, ["c"]]),
        ([1, None, 2.5], [1.0, None, 2.5]),
        ([2**70, None], [float(2**70), None]),
        (["a", None, 1], ["a", None, "1"]),
        ([np.float32(0.5), float("nan")], [0.5, None]),
    ],
)
def test_python_values(values, stored):
    assert python_column(values).to_pylist() == stored


@pytest.mark.parametrize(
    "values", [[{"a": "b"}], [{1: 2}], [["a", 1]], [{"a": 1}, ["a"]], [object()], [["a"], "a"]]
)
def test_nested_values_are_no_column(values):
    assert python_column(values) is None


def test_integers_that_no_float_can_hold():
    with pytest.raises(InputError, match="10000000000000000000… is too large for a number"):
        python_column([10**400])
