"""Columns that nodes are colored by."""

from datetime import date

import numpy as np
import pandas as pd
import pytest
from page_graphs import ring, small_content

from graphgate import Graph, InputWarning, from_tables
from graphgate.visualization.maps import COLORS, colored_codes


def test_columns_of_a_graph():
    graph = ring(
        labels=["a", None, "b", "b", "a", "a"],
        splits={"train": [True] * 2 + [False] * 4},
        feature_names=[f"f{i}" for i in range(6)],
    )
    content = small_content(graph, columns={"year": [1.5, None, 2, 3, 4, 5]})
    found = {each.name: each for each in content.columns}
    assert list(found) == [
        *("class", "cluster", "split", "neighbors"),
        *(f"feature f{i}" for i in range(6)),
        "year",
    ]
    assert found["class"].values.tolist() == [0, -1, 1, 1, 0, 0]
    assert found["split"].values.tolist() == [0, 0, -1, -1, -1, -1]
    assert found["neighbors"].values.tolist() == [2] * 6
    assert len(found["cluster"].names) == 2


def table_graph(columns, n=4):
    return Graph.from_edges(None, [(i, i + 1) for i in range(n - 1)], attributes=columns)


def test_attributes_are_shown_as_they_were_given():
    graph = table_graph(
        {
            "age": [31, None, 52.5, 24],
            "town": ["Ulm", "Bern", None, "Ulm"],
            "member": [True, None, False, True],
            "likes": [["chess"], [], ["music", "go"], []],
            "cluster": ["x", "x", "y", "y"],
        }
    )
    found = {each.name: each for each in small_content(graph).columns}
    assert list(found) == [
        *("cluster", "neighbors"),
        *("age", "town", "member", "cluster (attribute)"),
    ]
    np.testing.assert_array_equal(found["age"].values, np.float32([31, np.nan, 52.5, 24]))
    assert (found["town"].names, found["town"].values.tolist()) == (("Bern", "Ulm"), [1, 0, -1, 1])
    assert found["member"].names == ("false", "true")
    assert found["member"].values.tolist() == [1, -1, 0, 1]
    assert found["cluster (attribute)"].names == ("x", "y")
    part = {each.name: each for each in small_content(graph.without([1])).columns}
    assert (part["town"].names, part["town"].values.tolist()) == (("Ulm",), [0, -1, 0])


def test_a_given_column_replaces_an_attribute():
    content = small_content(table_graph({"age": [1, 2, 3, 4]}), columns={"age": list("abab")})
    (age,) = [each for each in content.columns if each.name == "age"]
    assert age.names == ("a", "b")


def test_of_structural_attributes_only_roles_are_shown():
    graph = Graph.from_edges(None, [(0, 1), (1, 2), (2, 0), (2, 3)])
    found = {each.name: each for each in small_content(graph).columns}
    assert list(found)[2:] == [
        *("log degree", "mean log degree of neighbors", "clustering", "core number")
    ]
    assert found["core number"].values.tolist() == [2, 2, 2, 1]


def test_of_very_many_columns_the_first_are_shown_with_a_warning():
    graph = table_graph({f"c{at}": [at, 1, 2, 3.5] for at in range(60)})
    with pytest.warns(InputWarning, match="first 50 of 60 node columns; reorder columns"):
        content = small_content(graph)
    assert [each.name for each in content.columns][-1] == "c49"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.linspace(0, 1, 300), "number"),
        (np.arange(300) % 3, "number"),
        (np.arange(300) % 2 == 0, "category"),
        ([f"name {i % 9}" for i in range(300)], "category"),
        ([f"name {i}" for i in range(300)], "text"),
        (["x", None, 3] * 100, "category"),
    ],
)
def test_kinds_of_given_columns(values, kind):
    made = small_content(ring(300), columns={"c": values}).columns[-1]
    assert (made.name, made.kind) == ("c", kind)


def test_missing_values_have_no_category():
    made = small_content(columns={"c": ["x", None, float("nan"), "x", None, "a"]}).columns[-1]
    assert made.values.tolist() == [1, -1, -1, 1, -1, 0]
    numbers = small_content(columns={"c": [1.0, None, np.nan, 2.5, 3, 4]}).columns[-1].values
    assert np.isnan(numbers).tolist() == [0, 1, 1, 0, 0, 0]


def test_dates_are_days_shown_as_dates():
    joined = [date(1970, 1, 3), None, date(2024, 5, 17), date(2000, 2, 29)]
    frame = pd.DataFrame({"id": range(4), "joined": pd.to_datetime(joined)})
    from_frame = from_tables(pd.DataFrame({"source": [0, 1], "target": [1, 3]}), frame)
    for graph in (from_frame, table_graph({"joined": joined}), from_frame.without([])):
        (shown,) = [each for each in small_content(graph).columns if each.name == "joined"]
        assert shown.kind == "date"
        np.testing.assert_array_equal(shown.values, [2, np.nan, 19860, 11016])
    moments = np.array(joined, dtype="datetime64[h]") + np.timedelta64(6, "h")
    shown = small_content(table_graph({"age": [1, 2, 3, 4]}), columns={"at": moments}).columns[-1]
    np.testing.assert_array_equal(shown.values, [2.25, np.nan, 19860.25, 11016.25])


def test_a_column_of_300_categories_has_colors():
    levels = [f"town {i % 300}" for i in range(700)]
    made = small_content(ring(700), columns={"town": levels}).columns[-1]
    assert (made.kind, len(made.names)) == ("category", 300)
    colored = colored_codes(made.values, 300)
    assert len(colored) == len(COLORS)
    assert {made.names[code] for code in colored} <= {f"town {i}" for i in range(100)}
