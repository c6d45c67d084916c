"""The attribute encoder against scikit-learn and pandas, and what it refuses."""

import json
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from attribute_values import VALUES
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

from graphgate import AttributeEncoder, Attributes, InputError, InputWarning
from graphgate.preprocessing import attribute_encoder
from graphgate.preprocessing.vocabulary_rules import trigrams


def table(**columns) -> Attributes:
    return Attributes.from_columns(columns)


def dense(x) -> np.ndarray:
    return x.toarray() if sp.issparse(x) else x


def encoded(attributes: Attributes, **options) -> pd.DataFrame:
    encoder = AttributeEncoder(**options).fit(attributes)
    x = encoder.transform(attributes)
    assert x.dtype == np.float32
    return pd.DataFrame(dense(x), columns=encoder.get_feature_names_out())


def test_numbers_are_scaled_as_scikit_learn_does():
    x = np.random.default_rng(0).normal(3, 2, (50, 4)) * [1, 1e-200, 1e200, 1e3] + [0, 0, 0, 1e6]
    found = encoded(table(**{f"c{at}": column for at, column in enumerate(x.T)}))
    expected = StandardScaler().fit_transform(x / [1, 1e-200, 1e200, 1])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_column_of_mostly_zeros_keeps_them():
    column = [0, 0, 0, 0, 0, 3, -4]
    found = encoded(table(a=column, b=[0, 0, 0, 0, 1, 1, 1], c=[0, 0, 0, 0, 2, 2, 2]))
    np.testing.assert_allclose(found["a"], np.array(column) / np.sqrt(12.5), rtol=1e-6)
    assert found["b"].tolist() == found["c"].tolist() == [0, 0, 0, 0, 1, 1, 1]
    even = encoded(table(a=[0, 0, 1, 1]))  # half is not more than half
    assert even["a"].tolist() == [-1, -1, 1, 1]


def test_constant_and_empty_columns_are_zeros():
    found = encoded(table(a=[0.1] * 3, b=[0, 0, 0], c=[None] * 3, d=[1, 2, 3]))
    assert found.columns.tolist() == ["a", "b", "c", "c=missing", "d"]
    assert (found[["a", "b", "c"]] == 0).all(axis=None)
    assert found["c=missing"].tolist() == [1, 1, 1]


def test_missing_numbers_become_the_mean_and_are_marked():
    found = encoded(table(a=[1, None, 3], b=[0, 0, None]))
    assert found.columns.tolist() == ["a", "a=missing", "b", "b=missing"]
    assert found["a"].tolist() == [-1, 0, 1]
    assert found["a=missing"].tolist() == [0, 1, 0]
    assert found["b"].tolist() == [0, 0, 0]
    plain = encoded(table(a=[1, None, 4], b=[0, None, 0]), scale=False)
    assert plain.to_numpy().tolist() == [[1, 0, 0, 0], [2.5, 1, 0, 1], [4, 0, 0, 0]]


@pytest.mark.parametrize("scale", [True, False])
def test_a_missing_number_is_zero_where_zeros_are_kept(scale):
    """The mean, 1 here, would make a sparse column dense; a later missing value is zero as well."""
    learned = table(a=[0, 0, 0, 0, 5, None])
    encoder = AttributeEncoder(scale=scale).fit(learned)
    top = 1 if scale else 5
    for values in (learned, table(a=[None, 0, 0, 0, 5, None])):
        x = pd.DataFrame(dense(encoder.transform(values)), columns=encoder.get_feature_names_out())
        expected = [0 if value is None else top * (value > 0) for value in values["a"].tolist()]
        assert x["a"].tolist() == expected
        assert x["a=missing"].tolist() == values["a"].missing.tolist()


def test_categories_are_pandas_dummies():
    values = ["b", "a", None, "b", "ä"]
    found = encoded(table(town=values))
    expected = pd.get_dummies(pd.Series(values), prefix="town", prefix_sep="=", dtype=np.float32)
    pd.testing.assert_frame_equal(found, expected)
    mixed = encoded(Attributes.from_columns({"k": [10, 9, True]}, kinds={"k": "category"}))
    assert mixed.columns.tolist() == ["k=True", "k=9", "k=10"]


def test_booleans_and_words():
    found = encoded(table(yes=[True, None, False], text=[["b", "a", "b"], [], ["c"]]))
    assert found.columns.tolist() == ["yes", "yes=missing", "text=a", "text=b", "text=c"]
    assert found.to_numpy().tolist() == [[1, 0, 1, 2, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 1]]
    assert encoded(table(yes=[True, False])).columns.tolist() == ["yes"]


@settings(max_examples=80)
@given(st.data())
def test_blocks_and_a_round_trip_give_the_same_features(data):
    """Small blocks, sparse and dense, all rows and one by one: always the same numbers."""
    n = data.draw(st.integers(1, 8))
    kinds = data.draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4))
    lists = {
        f"c{at}": data.draw(st.lists(VALUES[kind], min_size=n, max_size=n))
        for at, kind in enumerate(kinds)
    }
    attributes = Attributes.from_columns(
        lists, kinds={f"c{at}": kind for at, kind in enumerate(kinds)}
    )
    try:
        encoder = AttributeEncoder(scale=data.draw(st.booleans())).fit(attributes)
        x = encoder.transform(attributes)
    except InputError:  # no value at all, names that clash, or too large for float32
        reject()
    again = AttributeEncoder.from_dict(json.loads(json.dumps(encoder.to_dict(), allow_nan=False)))
    assert again.to_dict() == encoder.to_dict()
    assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    np.testing.assert_array_equal(dense(again.transform(attributes)), dense(x))
    assert not sp.issparse(x) or x.nnz / dense(x).size < 0.2
    assert np.isfinite(dense(x)).all()
    rows = [dense(encoder.transform(attributes.take(np.array([row])))) for row in range(n)]
    np.testing.assert_array_equal(np.concatenate(rows), dense(x))


@pytest.mark.parametrize("scale", [True, False])
def test_features_do_not_depend_on_block_sizes(scale, monkeypatch):
    rng = np.random.default_rng(1)
    columns = {f"n{at}": rng.normal(size=100).astype(np.float32) for at in range(5)}
    columns["z"] = np.where(rng.random(100) < 0.9, 0, rng.normal(size=100))
    columns["m"] = np.where(rng.random(100) < 0.3, np.nan, 1 + rng.normal(size=100))
    columns["k"] = rng.choice(["a", "b", None], 100)
    columns["w"] = [[f"w{w}" for w in rng.integers(0, 40, 5)] for _ in range(100)]
    attributes = Attributes.from_columns(columns)
    encoder = AttributeEncoder(scale=scale).fit(attributes)
    whole = encoder.transform(attributes)
    for sizes in (
        {"_ROWS": 7, "_WIDTH": 3, "SPARSE_BELOW": 0},
        {"_ENTRIES": 60, "SPARSE_BELOW": 2},
    ):
        with monkeypatch.context() as patched:
            for name, value in sizes.items():
                patched.setattr(f"graphgate.preprocessing.attribute_encoder.{name}", value)
            found = encoder.transform(attributes)
        assert sp.issparse(found) == ("_ENTRIES" in sizes)
        np.testing.assert_array_equal(dense(found), dense(whole))
        if sp.issparse(found):
            assert found.has_canonical_format
            assert (found.data != 0).all()


def test_sparse_where_few_values_are_not_zero():
    values = [f"v{at % 10}" for at in range(40)]
    assert sp.issparse(AttributeEncoder().fit(table(a=values)).transform(table(a=values)))
    few = [f"v{at % 4}" for at in range(40)]
    assert isinstance(AttributeEncoder().fit(table(a=few)).transform(table(a=few)), np.ndarray)


# --- applied to other nodes ----------------------------------------------------------------------

LEARNED = table(n=[1, 3], b=[True, False], k=["x", "y"], w=[["p"], ["q"]])


def test_other_nodes_get_the_learned_numbers():
    encoder = AttributeEncoder().fit(LEARNED)
    new = table(w=[["q", "r", "q"], []], k=["y", None], n=[5, None], b=[None, True])
    x = dense(encoder.transform(new))
    assert encoder.get_feature_names_out().tolist() == ["n", "b", "k=x", "k=y", "w=p", "w=q"]
    assert x.tolist() == [[3, 0, 0, 1, 0, 2], [0, 1, 0, 0, 0, 0]]


def test_unknown_categories_are_counted():
    new = table(n=[1] * 4, b=[True] * 4, k=["z", "x", "z", "a"], w=[[]] * 4)
    with pytest.warns(InputWarning, match=r"3 node\(s\) have values in the column 'k'.*'a', 'z'"):
        x = dense(AttributeEncoder().fit(LEARNED).transform(new))
    assert x[:, 2:4].tolist() == [[0, 0], [1, 0], [0, 0], [0, 0]]


def test_additional_columns_are_ignored_with_a_warning():
    new = table(n=[1], b=[True], k=["x"], w=[["p"]], more=[1], most=["a"])
    with pytest.warns(InputWarning, match=r"2 unknown columns are ignored: more, most"):
        x = AttributeEncoder().fit(LEARNED).transform(new)
    assert x.shape == (1, 6)


def test_a_column_without_values_matches_any_kind():
    new = table(n=[None], b=[None], k=[None], w=[None])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dense(AttributeEncoder().fit(LEARNED).transform(new)).tolist() == [
            [0, 0, 0, 0, 0, 0]
        ]
    others = {"n": "category", "b": "number", "k": "boolean"}
    new = Attributes.from_columns({name: [None] for name in "nbkw"}, kinds=others)
    assert (dense(AttributeEncoder().fit(LEARNED).transform(new)) == 0).all()


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"n": [1], "b": [True], "k": ["x"]},
            r"lack the column 'w' \(words\).*columns are n, b, k",
        ),
        ({"n": ["x"], "b": [True], "k": ["x"], "w": [[]]}, "'n' was of kind number in fit, but is"),
        ({"n": [1], "b": [True], "k": [1], "w": [[]]}, "'k' was of kind category in fit, but"),
        (
            {"n": [1e300], "b": [True], "k": ["x"], "w": [[]]},
            "'n' has the value 1e[+]300 in row 0, which",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused(columns, words):
    with pytest.raises(InputError, match=words):
        AttributeEncoder().fit(LEARNED).transform(Attributes.from_columns(columns))


def test_many_categories_share_the_trigrams_of_their_spellings():
    stems = [f"{a}{b}" for a in "abcdefghijkl" for b in ("berg", "dorf", "hausen", "moor")]
    names = [f"{stem}{end}" for stem in stems for end in ("", "ost", "west")]
    encoder = AttributeEncoder().fit(table(town=names))
    x = dense(encoder.transform(table(town=["aberg", "abergnord", "lmoor", None])))
    assert not any("=" in name for name in encoder.get_feature_names_out())  # each occurs once
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), [0.5**0.5] * 3 + [0], rtol=1e-6)
    similarity = 2 * x @ x.T
    assert similarity[0, 1] > 0.4 > 0.1 > similarity[0, 2]


def test_trigrams_are_those_of_a_loop():
    """Equal trigrams fall into equal buckets, and different ones hardly ever into the same."""
    values = ["Ulm", "ulm", "Ulmen", "", "a", "日本", "xulmx"]
    found = [set(row.indices.tolist()) for row in trigrams(values)]
    expected = [
        {padded[at : at + 3] for at in range(len(padded) - 2)}
        for padded in (f" {value.lower()} " for value in values)
    ]
    assert [len(row) for row in found] == [len(row) for row in expected]
    for i in range(len(values)):
        for j in range(len(values)):
            assert len(found[i] & found[j]) == len(expected[i] & expected[j])


def test_rare_categories_that_are_numbers_are_pooled():
    values = [*range(101), *range(50)]
    encoder = AttributeEncoder().fit(
        Attributes.from_columns({"k": values}, kinds={"k": "category"})
    )
    assert encoder.get_feature_names_out().tolist() == [*(f"k={k}" for k in range(50)), "k: other"]
    new = Attributes.from_columns({"k": [3, 70, 999, None]}, kinds={"k": "category"})
    x = dense(encoder.transform(new))
    assert x[0, 3] == x[1, 50] == x[2, 50] == 1
    assert x.sum(axis=1).tolist() == [1, 1, 1, 0]


def test_text_is_what_scikit_learn_makes_of_it():
    rng = np.random.default_rng(0)
    words = [f"w{at}" for at in range(30)]
    texts = [" ".join(rng.choice(words, 12, p=np.arange(1, 31) / 465)) for _ in range(60)]
    attributes = Attributes.from_columns(
        {"t": [t.upper() + "!" for t in texts]}, kinds={"t": "text"}
    )
    found = encoded(attributes)
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, norm=None)
    counted = vectorizer.fit_transform(texts).toarray()
    plain = counted / vectorizer.idf_ * (vectorizer.idf_ - 1 + 1 / 61)
    expected = plain / np.linalg.norm(plain, axis=1, keepdims=True)
    names = [f"t={word}" for word in vectorizer.get_feature_names_out()]
    np.testing.assert_allclose(found[names], expected, atol=1e-6)
    assert set(names) == set(found.columns)


def test_a_vector_is_one_column():
    values = [[1.0, 10.0], [3.0, 30.0], None]
    found = encoded(table(v=values))
    assert found.columns.tolist() == ["v[0]", "v[1]", "v=missing"]
    expected = np.array([[-1, -10], [1, 10], [0, 0]]) / np.sqrt(50.5)
    np.testing.assert_allclose(found[["v[0]", "v[1]"]], expected, rtol=1e-6)
    with pytest.raises(InputError, match="have 3 numbers, but had 2 in fit"):
        AttributeEncoder().fit(table(v=values)).transform(table(v=[[1.0, 2.0, 3.0]]))


def test_feature_names_must_be_distinct():
    with pytest.raises(InputError, match="two features would be named 'a=b'"):
        AttributeEncoder().fit(Attributes.from_columns({"a": ["b"], "a=b": [1]}))
    with pytest.raises(InputError, match="two features would be named 'a=1'"):
        AttributeEncoder().fit(table(a=[1, "1"]))
    with pytest.raises(InputError, match="no column has a value"):
        AttributeEncoder().fit(Attributes.from_columns({"a": [None]}, kinds={"a": "category"}))


# --- from a file ---------------------------------------------------------------------------------


def changed(column: int, **fields) -> dict:
    content = json.loads(json.dumps(AttributeEncoder().fit(LEARNED).to_dict()))
    content["columns"][column] |= fields
    return content


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "not a JSON object"),
        ({"scale": True}, "lacks 'columns'"),
        ({"scale": 1, "weights": [], "columns": []}, "'scale' in its encoder has the wrong type"),
        ({"scale": True, "weights": [], "columns": []}, "yield no features"),
        ({"scale": True, "weights": [], "columns": [3]}, "a column of kind None"),
        (
            {"scale": True, "weights": [], "columns": [{"kind": ["number"]}]},
            r"a column of kind \['number'\]",
        ),
        (changed(0, kind="date"), "a column of kind 'date'"),
        (changed(0, kind="words"), "lacks 'vocabulary'"),
        (changed(0, name=3), "'name' in its encoder has the wrong type"),
        (changed(0, name="k"), "has the same column twice"),
        (changed(0, center="0"), "'center' in its encoder has the wrong type"),
        (changed(0, divisor=0), "divisor of 'n' must be finite"),
        (changed(0, divisor=-1.0), "divisor of 'n' must be finite"),
        (changed(0, fill=10**400), "int too large"),
        (changed(0, missing=0), "'missing' in its encoder has the wrong type"),
        (changed(0, power=2), "unknown field 'power'"),
        (changed(2, vocabulary=["x", "x"]), "vocabulary of 'k' \\(category\\) must be distinct"),
        (changed(2, vocabulary=["x", ["y"]]), "vocabulary of 'k' \\(category\\) must be distinct"),
        (changed(2, vocabulary=["x", None]), "vocabulary of 'k' \\(category\\) must be distinct"),
        (changed(3, vocabulary=["x", 1]), "vocabulary of 'w' \\(words\\) must be distinct"),
        (changed(3, vocabulary=["x", "x"]), "vocabulary of 'w' \\(words\\) must be distinct"),
    ],
    ids=str,
)
def test_an_invalid_encoder_is_refused(content, words):
    with pytest.raises(InputError, match=f"^m is no model: .*{words}") as caught:
        AttributeEncoder.from_dict(content, "m is no model")
    assert "\n" not in str(caught.value)


def test_words_alone_are_features_without_a_copy():
    rows = [["b", "a", "b"], [], ["c"], ["a"], [], ["b"]] * 2
    table = Attributes.from_columns({"w": [*rows, *("defghijklmn")]}, kinds={"w": "words"})
    x = AttributeEncoder().fit(table).transform(table)
    assert sp.issparse(x)
    assert np.shares_memory(x.data, table["w"].values.data)
    assert np.shares_memory(x.indices, table["w"].values.indices)
    assert (x.dtype, x.indices.dtype) == (np.float32, np.int32)
    np.testing.assert_array_equal(x.toarray(), table["w"].values.toarray())


def test_a_sparse_block_after_the_other(monkeypatch):
    n = 40
    rng = np.random.default_rng(0)
    columns = {
        "few": np.where(rng.random(n) < 0.1, rng.random(n), 0.0),
        "w": [[f"w{at}" for at in rng.integers(0, 30, k)] for k in rng.integers(0, 4, n)],
        "town": [f"t{at}" for at in rng.integers(0, 20, n)],
    }
    table = Attributes.from_columns(columns)
    encoder = AttributeEncoder().fit(table)
    whole = encoder.transform(table)
    monkeypatch.setattr(attribute_encoder, "_ENTRIES", 7)
    blocks = encoder.transform(table)
    monkeypatch.setattr(attribute_encoder, "SPARSE_BELOW", 0.0)
    dense = encoder.transform(table)
    assert isinstance(dense, np.ndarray)
    for x in (whole, blocks):
        x.check_format(full_check=True)
        assert x.has_canonical_format
        assert x.indices.dtype == np.int32
        np.testing.assert_array_equal(x.toarray(), dense)
        assert x.nnz == np.count_nonzero(dense)


@pytest.mark.parametrize(
    "cells",
    [
        *([0.0, 1.5, None], [True, False, None], ["a", "b", None]),
        *([["a"], ["b", "c"], []], [[0.5, 1.0], None, [2.0, 1.0]]),
    ],
    ids=["number", "boolean", "category", "words", "vector"],
)
def test_encoding_is_linear_in_the_number_of_columns(cells):
    """Four times the columns call four times as many functions, of Python or of C."""
    counts = []
    for n in (100, 400):
        columns = table(**{f"c{at}": cells for at in range(n)})
        encoder = AttributeEncoder().fit(columns)
        encoder.transform(columns)  # what is computed once
        counts.append(calls(lambda: encoder.transform(columns)))  # noqa: B023
    assert counts[0] > 100
    assert counts[1] < 4.2 * counts[0]


def calls(function) -> int:
    """How many functions a function calls, directly or not."""
    count = 0

    def note(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("wide", [False, True])
def test_columns_have_weights(wide):
    names = [f"t{at % 40}" if wide else "Ulm" for at in range(80)]  # sparse where there are many
    table = Attributes.from_columns({"age": [float(at % 7) for at in range(80)], "town": names})
    encoder = AttributeEncoder().fit(table)
    plain, weighted = encoder.transform(table), encoder.weighted([0.5, 3.0]).transform(table)
    assert sp.issparse(plain) is sp.issparse(weighted) is wide
    factors = np.array([0.5] + [3.0] * (plain.shape[1] - 1))
    dense = [m.toarray() if wide else m for m in (plain, weighted)]
    np.testing.assert_allclose(dense[1], dense[0] * factors)
    assert weighted.dtype == np.float32
    stored = encoder.weighted([0.5, 3.0]).to_dict()
    again = AttributeEncoder.from_dict(stored)
    assert again.to_dict() == stored
    for wrong in ([1.0], [1.0, 0.0], [1.0, "1"], [1.0, float("nan")], [True, 1.0]):
        with pytest.raises(InputError, match="a positive one per column"):
            AttributeEncoder.from_dict(stored | {"weights": wrong})
