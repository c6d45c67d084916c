"""Conditions on columns: what they select, and what they refuse."""

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphgate import Attributes, Graph, InputError, LinearGATE, Store
from graphgate.store.conditions import parse_condition

WORDS = ("Ulm", "Bern", "it's", "50%", "a_b", "a\\b", "Zürich", "two\nlines", "")
ROWS = [
    {
        "age": None if at % 5 == 0 else at / 2 - 3,
        "size of`it": None if at % 3 == 1 else float(at % 4),
        "town": None if at % 4 == 3 else WORDS[at % len(WORDS)],
        "year": None if at % 6 == 2 else (2019, 2020, 2**62)[at % 3],
        "a.b": None if at % 7 == 0 else at % 2 == 0,
        "or": at % 3 == 0,
        "_id": f"n{at}",
    }
    for at in range(40)
]
NAMES = {"size of`it": "`size of``it`", "a.b": "`a.b`", "or": "`or`"}
Holds = Callable[[dict[str, Any]], bool | None]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0] if name != "_id"}
    columns["tags"] = [["x"]] * 40
    graph = Graph.from_edges(
        None,
        [(f"n{at}", f"n{at + 1}") for at in range(39)],
        ids=[row["_id"] for row in ROWS],
        attributes=Attributes.from_columns(columns, kinds={"year": "category"}),
    )
    gate = LinearGATE(n_components=2, random_state=0, progress=False)
    return Store.create(tmp_path_factory.mktemp("conditions") / "store", graph, gate)


# --- random conditions, as text and as a function of a row ---------------------------------------

NUMBERS = st.sampled_from([-2.5, -1.0, 0.0, 0.5, 1.0, 7.0, 16.5])
VALUES = {
    "age": NUMBERS,
    "size of`it": NUMBERS,
    "town": st.sampled_from(WORDS),
    "year": st.sampled_from([2019, 2020, 2**62, 2**62 + 1]),
    "a.b": st.booleans(),
    "_id": st.sampled_from(["n0", "n7", "n8", "N8"]),
}
SIGNS = ("%", "_", "\\%", "\\_", "\\\\", *"aUlm'r5b\n")
PATTERNS = st.lists(st.sampled_from(SIGNS), max_size=6).map("".join)
PIECES = [*"a'`()=<>,.%$;-+1e \\", "or", "not ", "age", " in ", "is null"]
COMPARISONS = {"=": "eq", "==": "eq", "!=": "ne", "<>": "ne", "<": "lt", "<=": "le", ">": "gt"}
COMPARISONS[">="] = "ge"


def shown(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)


def negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def both(a: bool | None, b: bool | None) -> bool | None:
    return False if a is False or b is False else None if a is None or b is None else True


def either(a: bool | None, b: bool | None) -> bool | None:
    return negated(both(negated(a), negated(b)))


def matches(text: str, pattern: str) -> bool:
    signs = re.findall(r"\\.|.", pattern, re.DOTALL)
    parts = [{"%": ".*", "_": "."}.get(sign) or re.escape(sign[-1]) for sign in signs]
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


@st.composite
def predicates(draw: Any) -> tuple[str, Holds]:
    name = draw(st.sampled_from(list(VALUES)))
    column, values = NAMES.get(name, name), VALUES[name]
    form = draw(st.sampled_from(["compare", "columns", "in", "between", "null", "like", "bare"]))
    no = draw(st.booleans())
    word = " NOT" * no

    def test(found: Callable[[Any], bool]) -> Holds:
        def of(row: dict[str, Any]) -> bool | None:
            return None if row[name] is None else found(row[name]) != no

        return of

    if form == "like":
        pattern = draw(PATTERNS)
        column = name = draw(st.sampled_from(["town", "_id"]))
        return f"{column}{word} LIKE {shown(pattern)}", test(lambda v: matches(v, pattern))
    if form == "null":
        return f"{column} is{word} null", lambda row: (row[name] is None) != no
    if form == "in":
        several = draw(st.lists(values, min_size=1, max_size=3))
        return f"{column}{word} in ({', '.join(map(shown, several))})", test(several.__contains__)
    if form == "between":
        a, b = draw(values), draw(values)
        return f"{column}{word} BETWEEN {shown(a)} AND {shown(b)}", test(lambda v: a <= v <= b)
    no = False
    if form == "bare":
        name = draw(st.sampled_from(["a.b", "or"]))
        return NAMES[name], test(bool)
    sign = draw(st.sampled_from(list(COMPARISONS)))
    compare = getattr(operator, COMPARISONS[sign])
    if form == "columns":
        name, other = draw(st.sampled_from([("age", "size of`it"), ("or", "a.b")]))
        text = f"{NAMES.get(name, name)} {sign} {NAMES[other]}"
        return (
            text,
            lambda row: (
                None if row[name] is None or row[other] is None else compare(row[name], row[other])
            ),
        )
    value = draw(values)
    return f"{column}{sign}{shown(value)}", test(lambda v: compare(v, value))


def combined(inner: Any) -> Any:
    pairs = st.tuples(inner, inner, st.booleans())
    return st.one_of(
        inner.map(lambda one: (f"not ({one[0]})", lambda row: negated(one[1](row)))),
        pairs.map(
            lambda found: (
                f"({found[0][0]}) {'and' if found[2] else 'OR'}\n({found[1][0]})",
                lambda row: (both if found[2] else either)(found[0][1](row), found[1][1](row)),
            )
        ),
    )


@given(st.recursive(predicates(), combined, max_leaves=6))
@settings(
    max_examples=150,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_a_condition_selects_what_a_plain_evaluator_does(store, condition):
    text, holds = condition
    expected = [at for at, row in enumerate(ROWS) if holds(row) is True]
    assert store.rows_where(text).tolist() == expected, text


def test_and_binds_closer_than_or_and_not_closest(store):
    def selected(text: str) -> list[int]:
        return store.rows_where(text).tolist()

    mixed = "town = 'Ulm' or age > 2 and not `or` or `a·b`"
    assert selected(mixed) == selected("(town = 'Ulm') or ((age > 2) and (not `or`)) or `a.b`")
    assert selected("not not `or`") == selected("`or`") == list(range(0, 40, 3))
    assert selected("town = 'it''s'") == [at for at in range(40) if ROWS[at]["town"] == "it's"]
    assert selected("tags is not null") == list(range(40))
    assert selected(" or ".join(["`or`"] * 1200)) == selected("`or`")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("repeat('a', 1500000000)", "character 1 is 'repeat', which is not a column"),
        ("$1=1", "character 1 is '$'"),
        ("1=1", "character 1 is '1' where a column must be"),
        ("age > 3; drop table nodes", "character 8 is ';'"),
        ("age > 3 -- more", "character 9 is '-'"),
        ("age > 3 limit 1", "character 9 is 'limit' where 'and', 'or' or the end must be"),
        ("age > (select 1)", "character 7 is '(' where a finite number"),
        ("age > 1 + 1", "character 9 is '+'"),
        ("age", "character 4 is the end where a comparison of age must be"),
        ("", "character 1 is the end where a column must be"),
        ("age = null", "character 7 is 'null'"),
        ("age > 1e999", "character 7 is '1e999' where a finite number"),
        ("year = 9223372036854775808", "an integer of 64 bits, as in column 'year'"),
        ("year = 2019.5", "an integer of 64 bits, as in column 'year'"),
        ("town = Ulm", "character 8 is 'Ulm', which is not a column"),
        ('town = "Ulm"', "character 8 is '\"'"),
        ("town = 'Ulm", 'character 8 is "\'" that is not closed'),
        ("town = year", "character 8 is a column of another type than 'town'"),
        (r"town like 'a\b'", "character 11 is a '\\' that is not followed by"),
        ("year like '2%'", "a pattern for 'year', which does not hold text"),
        ("tags = 'x'", "comparison of 'tags', which holds lists"),
        ("_number > 3", "is '_number', which is not a column; the columns are age, "),
        ("(" * 51 + "`or`" + ")" * 51, "character 51 is more than 50 parentheses"),
        ("`or` or " * 2000, "at most 10,000 characters, got 16,000"),
        ("town = '\ud800'", "Unicode text, got '\\ud800'"),
        (3, "a condition is text, got 3"),
    ],
)
def test_all_else_is_refused(store, text, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        store.rows_where(text)


@given(st.lists(st.sampled_from(PIECES)).map("".join))
@settings(max_examples=300, deadline=None, database=None, derandomize=True)
def test_any_text_is_parsed_or_refused(text):
    fields = {"age": pa.field("age", pa.float64()), "a": pa.field("a", pa.bool_())}
    table = pa.table({"age": [1.0, None], "a": [True, None]})
    try:
        condition = parse_condition(text, fields)
    except InputError:
        return
    assert len(table.filter(condition.expression)) <= 2
    assert np.isin(condition.columns, list(fields)).all()
