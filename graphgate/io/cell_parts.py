"""The words that a cell of text consists of: items of a list, parts of an address."""

import json
import re
from collections.abc import Sequence
from typing import Any

MARKS = (";", "|", ",")  # between the items of a list
MOST_KEYS = 100  # of the objects in one column

_EMAIL = re.compile(r"[\w.+%'-]+@([\w-]+(?:\.[\w-]+)+)")
_URL = re.compile(
    r"(?:(https?|ftp|git|svn|file)://)?(?:[^/@\s]*@)?([^/:?#\s]*)(?::\d+)?([^?#\s]*)(\S*)"
)
_IS_URL = re.compile(r"(?:(?:https?|ftp|git|svn)://|www\.)\S+\.\S+", re.IGNORECASE)
_PATH = re.compile(r"[^\s/]*(?:/[^\s/]+){2,}/?")
_WORD = re.compile(r"[^\W_]+")


def email_parts(text: str) -> list[str]:
    """Every address, its domain and the domains above, and the words of the names beside them.

    >>> email_parts("Ada B. <ada@lists.example.org>")
    ['ada@lists.example.org', '@lists.example.org', '@example.org', 'ada', 'b']
    """
    parts: list[str] = []
    for found in _EMAIL.finditer(text.lower()):
        parts.append(found[0])
        labels = found[1].split(".")
        parts += [f"@{'.'.join(labels[at:])}" for at in range(len(labels) - 1)]
    names = _EMAIL.sub(" ", text.lower())
    return list(dict.fromkeys([*parts, *_WORD.findall(names)]))


def url_parts(text: str) -> list[str]:
    """The host and the domains above it, and the words of the path; no query.

    >>> url_parts("https://git.example.org/team/the-tool?x=1")
    ['//git.example.org', '//example.org', '/team', '/the', '/tool']
    """
    found = _URL.fullmatch(text.strip().lower())
    if found is None:
        return [f"/{word}" for word in _WORD.findall(text.lower())]
    scheme, host, path, _ = found.groups()
    if scheme is None and not host.startswith("www."):
        host, path = "", f"{host}/{path}"
    labels = host.removeprefix("www.").split(".")
    domains = [f"//{'.'.join(labels[at:])}" for at in range(max(1, len(labels) - 1)) if host]
    return list(dict.fromkeys([*domains, *(f"/{word}" for word in _WORD.findall(path))]))


def items_at(text: str, mark: str) -> list[str]:
    """The items of a list that are separated by a mark.

    >>> items_at("red, blue,", ",")
    ['red', 'blue']
    """
    return [item for part in text.split(mark) if (item := part.strip())]


def json_items(text: str) -> list[str]:
    """The items of a JSON array, or the text itself as the only one; values that are no text are
    written as JSON.

    >>> json_items('["a", 2, null]')
    ['a', '2']
    """
    value = parsed_json(text)
    if not isinstance(value, list):
        return [text.strip()] if value is None else [text_of(value)]
    return [text_of(item) for item in value if item is not None]


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def parsed_json(text: str) -> Any:
    """The value of a JSON array or object, None if it is neither."""
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# --- what a column consists of -------------------------------------------------------------------


def list_kind(values: Sequence[str]) -> str | None:
    """ "list", "list at ," and so on, or "object" or "vector", if that is what the values are."""
    parsed = [parsed_json(value) for value in values]
    if all(value is not None for value in parsed):
        if all(isinstance(value, dict) for value in parsed):
            return "object"
        lists = [value for value in parsed if isinstance(value, list)]
        numeric = all(type(v) in (int, float) for value in lists for v in value)
        one_length = len({len(value) for value in lists}) == 1 and len(lists[0]) > 1
        return "vector" if len(lists) == len(parsed) and numeric and one_length else "list"
    for mark in MARKS:
        several = [value for value in values if mark in value.strip(f"{mark} ")]
        if len(several) < 0.1 * len(values) or len(values) < 3:
            continue
        items = [item for value in values for item in items_at(value, mark)]
        words = sum(len(item.split()) for item in items)
        repeated = len(set(items)) <= 0.5 * len(items)
        if repeated and words <= 2.5 * len(items) and max(map(len, items)) <= 80:
            return f"list at {mark}"
    return None


def address_kind(values: Sequence[str]) -> str | None:
    """ "email" or "url" (also paths) if nearly all values are such."""
    most = 0.95 * len(values)
    if sum(bool(_EMAIL.search(value)) for value in values) >= most:
        return "email"
    addresses = sum(bool(_IS_URL.match(v.strip()) or _PATH.fullmatch(v.strip())) for v in values)
    return "url" if addresses >= most else None
