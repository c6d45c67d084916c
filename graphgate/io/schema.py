"""JSON objects from files, checked field by field before they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphgate.errors import InputError

Schema = Mapping[str, type | tuple[type, ...]]


def check_fields(body: Any, schema: Schema, what: str, where: str = "header") -> None:
    """Refuse a JSON object with a missing field, an unknown one, or one of the wrong type."""
    if not isinstance(body, dict):
        raise InputError(f"{what}: its {where} is not a JSON object")
    if missing := sorted(schema.keys() - body.keys()):
        raise InputError(f"{what}: its {where} lacks {missing[0]!r}")
    if extra := sorted(body.keys() - schema.keys()):
        raise InputError(f"{what}: its {where} has an unknown field {extra[0]!r}")
    for name, kinds in schema.items():
        value = body[name]
        allowed = kinds if isinstance(kinds, tuple) else (kinds,)
        # bool is an int in Python, but not in a header.
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise InputError(f"{what}: {name!r} in its {where} has the wrong type")
