"""Attributes: columns of four kinds, inferred or given, and immutable."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from attribute_values import VALUES
from hypothesis import given, settings
from hypothesis import strategies as st

from graphgate import Attributes, InputError


def table(**columns) -> Attributes:
    return Attributes.from_columns(columns)


@pytest.mark.parametrize(
    ("values", "kind", "back"),
    [
        ([1, 2.5, None], "number", [1.0, 2.5, None]),
        ([True, 2, None], "number", [1.0, 2.0, None]),
        ([None, None, float("nan")], "number", [None, None, None]),
        (np.array([1, 2, 3], np.int8), "number", [1.0, 2.0, 3.0]),
        (pd.Series([1, None, 3], dtype="Int64"), "number", [1.0, None, 3.0]),
        ([True, None, False], "boolean", [True, None, False]),
        (np.array([True, False, True]), "boolean", [True, False, True]),
        (pd.Series([True, None, False], dtype="boolean"), "boolean", [True, None, False]),
        (["b", None, "a"], "category", ["b", None, "a"]),
        (np.array(["b", "", "a"]), "category", ["b", "", "a"]),
        (pd.Series(["b", None, "a"]), "category", ["b", None, "a"]),
        (pa.array(["b", None, "a"]), "category", ["b", None, "a"]),
        ([1, "a", None], "category", [1, "a", None]),
        ([["b", "a", "b"], [], None], "words", [{"a": 1.0, "b": 2.0}, {}, {}]),
        ([{"b": 2}, {"a": 0, "c": 0.5}, None], "words", [{"b": 2.0}, {"c": 0.5}, {}]),
        ([("b", "b"), {"a"}, {}], "words", [{"b": 2.0}, {"a": 1.0}, {}]),
    ],
)
def test_kinds_are_guessed_and_values_kept(values, kind, back):
    column = table(a=values).column("a")
    assert column.kind == kind
    assert column.tolist() == back
    if kind != "words":
        assert column.missing.tolist() == [value is None for value in back]


@pytest.mark.parametrize(
    ("values", "kind", "back"),
    [
        ([1, 0, None], "boolean", [True, False, None]),
        ([1, 10, 2], "category", [1, 10, 2]),
        (np.array([2, 1, 2]), "category", [2, 1, 2]),
        (["1", " 2.5", None], "number", [1.0, 2.5, None]),
        (["to be  or", "\tnot to\nto be ", None], "words",
         [{"be": 1, "or": 1, "to": 1}, {"be": 1, "not": 1, "to": 2}, {}]),
    ],
)  # fmt: skip
def test_a_kind_can_be_given(values, kind, back):
    column = Attributes.from_columns({"a": values}, kinds={"a": kind}).column("a")
    assert (column.kind, column.tolist()) == (kind, back)


def test_numbers_keep_their_precision():
    columns = {name: np.array([1, 2], name) for name in ("int16", "float32", "int32", "float64")}
    found = Attributes.from_columns(columns)
    kept = [str(found.column(name).values.dtype) for name in found.names]
    assert kept == ["float32", "float32", "float64", "float64"]


def test_the_content_of_the_table():
    found = table(b=[1, 2], a=["x", "y"])
    assert (found.names, len(found), list(found)) == (("b", "a"), 2, ["b", "a"])
    assert found.kinds == {"b": "number", "a": "category"}
    assert "a" in found
    assert repr(found) == "Attributes(2 rows: b number, a category)"
    with pytest.raises(InputError, match="no column 'c'; the columns are b, a"):
        found.column("c")


def test_a_table_is_immutable():
    given = np.array([1.0, 2.0])
    found = table(a=given, b=["x", "y"], c=[["w"], []])
    given[0] = 7
    assert found["a"].tolist() == [1.0, 2.0]
    for copy in (found, pickle.loads(pickle.dumps(found)), found.take(np.array([0]))):
        with pytest.raises(ValueError, match="read-only"):
            copy["a"].values[0] = 3
        with pytest.raises(ValueError, match="read-only"):
            copy["c"].values.data[:] = 3
    assert pickle.loads(pickle.dumps(found))["b"].tolist() == ["x", "y"]


@settings(max_examples=60)
@given(st.data())
def test_taking_rows_takes_their_values(data):
    n = data.draw(st.integers(1, 6))
    kinds = data.draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4))
    lists = {
        f"{at}": data.draw(st.lists(VALUES[kind], min_size=n, max_size=n))
        for at, kind in enumerate(kinds)
    }
    chosen = {f"{at}": kind for at, kind in enumerate(kinds)}
    found = Attributes.from_columns(lists, kinds=chosen)
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=8)))
    part = found.take(rows)
    assert (len(part), part.kinds) == (len(rows), chosen)
    for name, values in lists.items():
        assert found[name].tolist() == values
        assert part[name].tolist() == [values[row] for row in rows]


@pytest.mark.parametrize(
    ("columns", "kinds", "words"),
    [
        ({}, None, "at least one column"),
        ([1, 2], None, "must map names to values, got list"),
        ({"a": [1, 2], "b": [1]}, None, "'b' has 1 rows, but 'a' has 2"),
        ({1: [1]}, None, "column names must be text, got 1"),
        ({"a": [1], " \n": [1]}, None, r"the name of a column is ' \\n'; give it one"),
        ({"a": "text"}, None, "must be a list of values, got 'text'"),
        ({"a": 5}, None, "must be a list of values, got 5"),
        ({"a": np.eye(2)}, None, r"one dimension, got shape \(2, 2\)"),
        ({"a": [1, np.inf]}, None, "'a' is inf in row 1; fill or drop"),
        ({"a": np.array([1, -np.inf])}, None, "'a' is -inf in row 1"),
        ({"a": [10**400]}, None, "has the value 1000"),
        ({"a": ["1", "x"]}, {"a": "number"}, "number column 'a' has the value 'x' in row 1"),
        ({"a": [1, 2]}, {"a": "boolean"}, "boolean column 'a' has the value 2 in row 1"),
        ({"a": ["x", b"y"]}, None, "category column 'a' has the value b'y' in row 1"),
        ({"a": [["x"], [1]]}, None, "has the word 1 in row 1; use text"),
        ({"a": [["x"], 1]}, {"a": "words"}, "words column 'a' has the value 1 in row 1"),
        ({"a": [{"x": np.inf}]}, None, "the count inf of 'x' in row 0"),
        ({"a": [{"x": "two"}]}, None, "the count 'two' of 'x' in row 0"),
        ({"a": [1]}, {"a": "date"}, "cannot be of kind 'date'; use one of number, boolean"),
        ({"a": [1]}, {"b": "number"}, "kinds names the column 'b', which does not exist"),
    ],
)
def test_an_invalid_table_is_refused(columns, kinds, words):
    with pytest.raises(InputError, match=words) as caught:
        Attributes.from_columns(columns, kinds=kinds)
    assert "\n" not in str(caught.value)
