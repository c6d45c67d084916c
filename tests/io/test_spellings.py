"""Spellings of numbers, dates and booleans, against values written by hand."""

from datetime import UTC, datetime

import numpy as np
import pytest

from graphgate.io.spellings import (
    are_booleans,
    boolean,
    date_kind,
    days,
    hours,
    number,
    number_kind,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234", 1234), ("€ 35.22", 35.22), ("12 %", 0.12), ("3.4 kB", 3400), ("2 KiB", 2048),
        ("-$5.20", -5.2), ("$-5.20", -5.2), ("−7", -7), ("1 234.5", 1234.5), ("1'234", 1234),
        ("1,23,456", 123456), ("5 km", 5000), ("1e-3", 0.001), (".5", 0.5), ("12 EUR", 12),
    ],
)  # fmt: skip
def test_numbers(text, value):
    assert number(text) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("text", ["1.2.3", "x", "1,2,3", "12 34", "1_000", "--5", "inf", "1 2 km"])
def test_what_is_no_number(text):
    assert number(text) is None


@pytest.mark.parametrize("text", ["", "NA", "n/a", "null", "-", "NaN"])
def test_what_is_missing(text):
    assert np.isnan(number(text))
    assert np.isnan(days(text))
    assert np.isnan(boolean(text))


def test_the_decimal_mark_is_that_of_the_column():
    assert number_kind(["1.234", "5.678"]) == "number"
    assert number_kind(["1.234,5", "7"]) == "comma number"
    assert number_kind(["1,5", "7,25"]) == "comma number"
    assert number_kind(["1,234", "7.5"]) == "number"
    assert number("1.234,5 €", comma=True) == 1234.5
    assert number_kind(["007", "123"]) is None
    assert number_kind(["5 apples", "3 pears"]) is None
    assert number_kind(["5 apples", "3 apples"]) == "number"


MOMENT = datetime(2023, 5, 13, tzinfo=UTC).timestamp() / 86_400


@pytest.mark.parametrize(
    "text",
    [
        "2023-05-13", "2023/5/13", "13.05.2023", "13.5.23", "13/05/2023", "05/13/2023",
        "13 May 2023", "May 13, 2023", "13. Mai 2023", "13 mai 2023", "13-May-2023",
        "Sat, 13 May 2023", "13th May 2023",
    ],
)  # fmt: skip
def test_dates(text):
    assert days(text) == MOMENT


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2023-05-13T06:30:00Z", 6.5), ("2023-05-13 06:30", 6.5), ("13.05.2023 06:30", 6.5),
        ("2023-05-13T06:30:00+02:00", 4.5), ("05/13/2023 6:30 PM", 18.5),
        ("Sat, 13 May 2023 06:30:00 GMT", 6.5),
    ],
)  # fmt: skip
def test_dates_with_times(text, hour):
    assert days(text) == pytest.approx(MOMENT + hour / 24, abs=1e-9)


def test_the_order_of_days_and_months():
    assert days("05/03/2023") == days("2023-05-03")
    assert days("05/03/2023", day_first=True) == days("2023-03-05") == days("05.03.2023")
    assert date_kind(["05/03/2023", "25/03/2023"]) == "day-first date"
    assert date_kind(["05/03/2023", "03/25/2023"]) == "date"
    assert date_kind(["10:30", "11:45 pm"]) == "time"
    assert hours("11:45 pm") == 23.75


@pytest.mark.parametrize(
    "text", ["2023-13-01", "2023-02-30", "32.01.2023", "tomorrow", "1.2.3", "7"]
)
def test_what_is_no_date(text):
    assert days(text) is None


def test_booleans():
    assert are_booleans(["yes", "No", "NO"])
    assert not are_booleans(["no", "no"])
    assert not are_booleans(["yes", "no", "perhaps"])
    assert [boolean(text) for text in ("Ja", "falsch", "1", "maybe")] == [1, 0, 1, None]
