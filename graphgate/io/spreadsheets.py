"""CSV for spreadsheets, which take a cell that begins with = + - or @ for a formula."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_FORMULA = r"^[=+\-@\t\r]"
SAFE = ContextVar("spreadsheet_safe", default=False)


@contextmanager
def spreadsheet_safe() -> Iterator[None]:
    """Within the block, text in CSV output that a spreadsheet would run begins with an apostrophe.

    Such a file does not contain the ids as they are; read it with a spreadsheet only.

    >>> with spreadsheet_safe():
    ...     guarded_name("=1+1")
    "'=1+1"
    """
    before = SAFE.set(True)
    try:
        yield
    finally:
        SAFE.reset(before)


def guarded_name(name: str) -> str:
    return f"'{name}" if SAFE.get() and name[:1] in tuple("=+-@\t\r") else name


def guarded(table: Any) -> Any:
    """An Arrow table with an apostrophe before formulas, if that is asked for."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not SAFE.get():
        return table
    for at, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            text = table.column(at)
            quote = pa.scalar("'", field.type)
            marked = pc.binary_join_element_wise(quote, text, pa.scalar("", field.type))
            formulas = pc.match_substring_regex(text, _FORMULA)
            table = table.set_column(at, field, pc.if_else(formulas, marked, text))
    return table
