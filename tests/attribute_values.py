"""Strategies for the values of attributes of every kind, missing ones among them."""

from hypothesis import strategies as st

VALUES = {
    "number": st.none() | st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.none() | st.booleans(),
    "category": st.none() | st.text(max_size=3) | st.integers(-9, 9),
    "words": st.dictionaries(st.text(max_size=2), st.integers(1, 9), max_size=3),
    "text": st.dictionaries(st.text(max_size=2), st.integers(1, 9), max_size=3),
    "vector": st.lists(st.integers(-99, 99).map(float), min_size=2, max_size=2),
}
