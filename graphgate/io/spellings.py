"""Numbers, dates and booleans in the spellings that people and programs use.

Every function takes the text of one cell and returns a number, NaN if the text says that a value is
missing, or None if it is nothing of the kind.
"""

import math
import re
from collections.abc import Sequence
from datetime import date

MISSING = frozenset(("", "na", "n/a", "nan", "nat", "null", "none", "nil", "-", "--", "?", "."))

_CURRENCY = r"[€$£¥₹₽₩₺₴]|(?:EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|CAD|AUD|BRL|RUB)\b"
_NUMBER = re.compile(
    rf"([-+−–]?)\s*(?:{_CURRENCY})?\s*([-+−–]?)\s*"
    r"(\d[\d.,'’\u00a0\u202f ]*|[.,]\d+)((?:[eE][-+]?\d+)?)\s*"
    rf"({_CURRENCY}|%|‰|°[CF]?|[^\W\d_]{{1,12}}[²³]?)?"
)
# Digits in groups, and what follows the sign of decimals.
_POINT = re.compile(
    r"(?:\d+|\d{1,3}(?:[,'’\u00a0\u202f ]\d{2,3})*[,'’\u00a0\u202f ]\d{3})?(?:\.\d*)?"
)
_COMMA = re.compile(r"(?:\d+|\d{1,3}(?:[.'’\u00a0\u202f ]\d{3})+)?(?:,\d*)?")
_GROUPS = {mark: str.maketrans("", "", f"{mark}'’\u00a0\u202f ") for mark in ".,"}
_THOUSANDS = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_UNITS = {"%": 1e-2, "‰": 1e-3, "k": 1e3, "K": 1e3, "M": 1e6, "Mio": 1e6, "bn": 1e9, "Mrd": 1e9}
_UNITS |= {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "km": 1e3, "mg": 1e-3, "g": 1.0, "kg": 1e3, "t": 1e6}
_UNITS |= {"ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
for _name in ("B", "byte", "bytes", "Hz", "W", "Wh"):
    _UNITS |= {_name: 1.0} | {f"{k}{_name}": 1000.0**e for k, e in _THOUSANDS.items()}
_UNITS |= {f"{k}iB": 1024.0**e for k, e in _THOUSANDS.items()}
_ZEROS = re.compile(r"[-+]?0\d")
_COMMA_ONLY = re.compile(r"(?:^|\D)0,\d|\d,\d{1,2}(?!\d)|\d,\d{4,}|\.\d{3},\d|\d\.\d{3}\.\d{3}")
_POINT_ONLY = re.compile(r"(?:^|\D)0?\.\d|\d\.\d{1,2}(?!\d)|\d\.\d{4,}|,\d{3}\.\d|\d,\d{3},\d{3}")
_ENOUGH = 0.9  # of the given values that a spelling must explain


def number(text: str, *, comma: bool = False) -> float | None:
    """A quantity with currency, unit, percent sign or separators of thousands.

    comma : whether decimals follow a comma.

    >>> number("€ 1,234.50"), number("12 %"), number("3.4 kB"), number("1.234,5", comma=True)
    (1234.5, 0.12, 3400.0, 1234.5)
    """
    text = text.strip()
    try:
        plain = float(text) if not comma else None
    except ValueError:
        plain = None
    if plain is not None and "_" not in text:
        return plain if math.isfinite(plain) else math.nan if plain != plain else None
    if text.lower() in MISSING:
        return math.nan
    parts = _NUMBER.fullmatch(text)
    if parts is None or (parts[1] and parts[2]):
        return None
    digits = parts[3].strip()
    if not (_COMMA if comma else _POINT).fullmatch(digits):
        return None
    digits = digits.translate(_GROUPS["." if comma else ","]).replace(",", ".")
    value = float(digits + parts[4]) * _UNITS.get(parts[5] or "", 1.0)
    return (
        (-value if parts[1] or parts[2] in ("-", "−", "–") else value)
        if math.isfinite(value)
        else None
    )


def unit(text: str) -> str:
    """What follows the digits of a number, "" if nothing does or it is known."""
    parts = _NUMBER.fullmatch(text.strip())
    found = parts[5] or "" if parts else ""
    return "" if found in _UNITS or re.fullmatch(_CURRENCY, found) else found


def number_kind(values: Sequence[str]) -> str | None:
    """ "number" or "comma number" if that is what most values are; no numbers with leading zeros,
    which are codes."""
    if any(_ZEROS.match(value.strip()) for value in values):
        return None
    commas = sum(bool(_COMMA_ONLY.search(value)) for value in values)
    points = sum(bool(_POINT_ONLY.search(value)) for value in values)
    comma = commas > points
    parsed = [number(value, comma=comma) for value in values]
    known = [v for v, n in zip(values, parsed, strict=True) if n is not None and n == n]
    wrong = sum(n is None for n in parsed)
    if not known or len(known) < _ENOUGH * (len(known) + wrong):
        return None
    if len({unit(value) for value in known} - {""}) > 1:
        return None
    return "comma number" if comma else "number"


# --- dates and times -----------------------------------------------------------------------------

_TIME = (
    r"(?:[T\s]+|,\s*)?(?:(\d{1,2}):(\d{2})(?::(\d{2})([.,]\d+)?)?\s*([ap]\.?m\.?)?\s*"
    r"(Z|UTC|GMT|[-+]\d{2}:?\d{2})?)?"
)
_WEEKDAY = r"(?:[^\W\d]{2,10}\.?,\s*)?"
_ISO = re.compile(rf"(\d{{4}})[-/.](\d{{1,2}})(?:[-/.](\d{{1,2}}))?{_TIME}", re.IGNORECASE)
_NUMERIC = re.compile(
    rf"{_WEEKDAY}(\d{{1,2}})([./-])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){_TIME}", re.IGNORECASE
)
_DAY_MONTH = re.compile(
    rf"{_WEEKDAY}(\d{{1,2}})(?:st|nd|rd|th|\.)?[\s-]+(?:de\s+)?([^\W\d]{{3,12}})\.?,?[\s-]+"
    rf"(?:de\s+)?(\d{{4}}){_TIME}", re.IGNORECASE
)  # fmt: skip
_MONTH_DAY = re.compile(
    rf"{_WEEKDAY}([^\W\d]{{3,12}})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}}){_TIME}",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})([.,]\d+)?)?\s*([ap]\.?m\.?)?()", re.IGNORECASE)
_MONTHS = {
    name: month
    for month, names in enumerate(
        (
            *("jan ene", "feb fev fév", "mar mär mrz", "apr avr abr", "may mai", "jun juin"),
            *("jul juil", "aug aou aoû ago", "sep set", "oct okt out", "nov", "dec dez déc dic"),
        ),
        start=1,
    )
    for name in names.split()
}
_EPOCH = date(1970, 1, 1).toordinal()


def days(text: str, *, day_first: bool = False) -> float | None:
    """Days since 1970 of a date, with or without a time, in UTC where it has a zone.

    day_first : whether 05/03/2023 is in March; 13/05/2023 and 05.03.2023 are read in one way.

    >>> days("1970-01-02T12:00Z"), days("03.01.1970"), days("Jan 2, 1970")
    (1.5, 2.0, 1.0)
    """
    text = text.strip()
    if text.lower() in MISSING:
        return math.nan
    if found := _ISO.fullmatch(text):
        year, month, day = int(found[1]), int(found[2]), int(found[3] or 1)
        clock = found.groups()[3:]
    elif found := _NUMERIC.fullmatch(text):
        first, second, year = int(found[1]), int(found[3]), int(found[4])
        year += 0 if len(found[4]) == 4 else 1900 if year >= 70 else 2000
        swapped = (found[2] != "." and not day_first and first <= 12) or second > 12
        month, day = (first, second) if swapped else (second, first)
        clock = found.groups()[4:]
    elif found := _DAY_MONTH.fullmatch(text):
        month, day, year, clock = _month(found[2]), int(found[1]), int(found[3]), found.groups()[3:]
    elif found := _MONTH_DAY.fullmatch(text):
        month, day, year, clock = _month(found[1]), int(found[2]), int(found[3]), found.groups()[3:]
    else:
        return None
    seconds = _seconds(clock)
    try:
        return (
            None
            if seconds is None
            else date(year, month, day).toordinal() - _EPOCH + seconds / 86_400
        )
    except ValueError:
        return None


def _month(name: str) -> int:
    return _MONTHS.get(name[:4].lower()) or _MONTHS.get(name[:3].lower(), 0)


def _seconds(clock: Sequence[str | None]) -> float | None:
    """Seconds since midnight, in UTC where there is a zone; None if there is no such time."""
    hours, minutes, seconds, fraction, half, zone = clock
    if hours is None:
        return 0.0
    hour, minute, second = int(hours), int(minutes or 0), int(seconds or 0)
    if half is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * half.lower().startswith("p")
    if hour > 24 or minute > 59 or second > 60:
        return None
    total = 3600 * hour + 60 * minute + second + float((fraction or ".0").replace(",", "."))
    if zone and zone[0] in "+-":
        shift = 3600 * int(zone[1:3]) + 60 * int(zone[-2:])
        total += -shift if zone[0] == "+" else shift
    return total


def hours(text: str) -> float | None:
    """Hours since midnight of a time.

    >>> hours("12:30"), hours("1:15 pm")
    (12.5, 13.25)
    """
    text = text.strip()
    if text.lower() in MISSING:
        return math.nan
    found = _CLOCK.fullmatch(text)
    seconds = _seconds(found.groups()) if found else None
    return None if seconds is None else seconds / 3600


def date_kind(values: Sequence[str]) -> str | None:
    """ "date", "day-first date" or "time" if that is what most values are."""
    for kind, parse in (("date", days), ("time", hours)):
        parsed = [parse(value) for value in values]
        known = sum(v is not None and v == v for v in parsed)
        if known and known >= _ENOUGH * (known + sum(v is None for v in parsed)):
            return _order(values) if kind == "date" else kind
    return None


def _order(values: Sequence[str]) -> str:
    found = [
        m for m in (_NUMERIC.fullmatch(value.strip()) for value in values) if m and m[2] != "."
    ]
    first, second = (sum(int(m[at]) > 12 for m in found) for at in (1, 3))
    return "day-first date" if first > second else "date"


# --- booleans ------------------------------------------------------------------------------------

_TRUE = frozenset(["true", "t", "yes", "y", "on", "ja", "oui", "si", "sí", "vrai", "wahr"])
_FALSE = frozenset(["false", "f", "no", "n", "off", "nein", "non", "faux", "falsch"])


def boolean(text: str) -> float | None:
    """1 or 0.

    >>> boolean("Yes"), boolean("nein"), boolean("0")
    (1.0, 0.0, 0.0)
    """
    plain = text.strip().lower()
    if plain in _TRUE or plain in ("1", "1.0"):
        return 1.0
    if plain in _FALSE or plain in ("0", "0.0"):
        return 0.0
    return math.nan if plain in MISSING else None


def are_booleans(values: Sequence[str]) -> bool:
    """Whether all values spell booleans, and both occur; "no" alone may be many things."""
    plain = {value.strip().lower() for value in values} - MISSING
    return bool(plain & _TRUE and plain & _FALSE and plain <= _TRUE | _FALSE)
