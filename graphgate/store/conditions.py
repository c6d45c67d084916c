"""Conditions on columns, in a small part of SQL that is parsed here and evaluated by Arrow.

No part of a condition reaches a query engine as text, so a condition can neither call a function
nor change anything::

    condition   = conjunction {"or" conjunction}
    conjunction = negation {"and" negation}
    negation    = {"not"} ("(" condition ")" | predicate)
    predicate   = column                                   (a column of booleans)
                | column ("=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=") (value | column)
                | column ["not"] "in" "(" value {"," value} ")"
                | column ["not"] "like" text
                | column ["not"] "between" value "and" value
                | column "is" ["not"] "null"
    column      = name | "`" any characters "`"
    value       = number | text in single quotes | "true" | "false"

As in SQL, comparing a missing value is neither true nor false, and `not` of that is neither.
"""

import operator
import re
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from graphgate.errors import InputError, listing, printable

_LONGEST = 10_000  # characters
_DEEPEST = 50  # parentheses within each other
_ALLOWED = "use = != < <= > >= in like between 'is null' and or not on columns"
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
    | (?P<text>'(?:[^']|'')*')
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<word>[^\W\d][\w·]*)
    | (?P<sign><=|>=|!=|<>|==|[=<>(),])
    | (?P<open>['`])
    | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = frozenset(["and", "or", "not", "in", "like", "between", "is", "null", "true", "false"])
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_VALUES = {
    "text": "text in single quotes",
    "number": "a finite number",
    "integer": "an integer of 64 bits",
    "boolean": "true or false",
}
_ESCAPES = re.compile(r"(?:[^\\]|\\[\\%_])*")


class ConditionError(InputError):
    """A condition that cannot be used."""


class Condition(NamedTuple):
    """columns : names of the columns that `expression` reads."""

    expression: pc.Expression
    columns: list[str]


def parse_condition(text: str, columns: Mapping[str, pa.Field]) -> Condition:
    """Parse a condition.

    columns : the column that each name stands for.

    >>> fields = {"age": pa.field("age", pa.float64()), "town": pa.field("town", pa.string())}
    >>> table = pa.table({"age": [31.0, 40.0, None], "town": ["Ulm", "Bern", "Ulm"]})
    >>> condition = parse_condition("town like 'U%' and not age > 35", fields)
    >>> table.filter(condition.expression).to_pylist()
    [{'age': 31.0, 'town': 'Ulm'}]
    """
    if not isinstance(text, str):
        raise ConditionError(f"a condition is text, got {text!r}")
    if len(text) > _LONGEST:
        raise ConditionError(f"a condition has at most {_LONGEST:,} characters, got {len(text):,}")
    if lone := re.search("[\ud800-\udfff]", text):
        raise ConditionError(f"a condition is Unicode text, got {lone[0]!r}")
    return _Parser(text, columns).parsed()


class _Token(NamedTuple):
    """kind : a group of `_TOKEN`, "keyword" or "end". at : position, counted from 1."""

    kind: str
    text: str
    at: int


class _Parser:
    """Recursive descent over the tokens of one condition."""

    def __init__(self, text: str, columns: Mapping[str, pa.Field]) -> None:
        self._text, self._columns = text, columns
        self._tokens, self._next, self._depth = self._split(), 0, 0
        self._read: set[str] = set()

    def parsed(self) -> Condition:
        expression = self._condition()
        if self._token.kind != "end":
            self._expect_instead("'and', 'or' or the end")
        return Condition(expression, sorted(self._read))

    # --- grammar ---------------------------------------------------------------------------------

    def _condition(self) -> pc.Expression:
        return self._series("or", operator.or_, self._conjunction)

    def _conjunction(self) -> pc.Expression:
        return self._series("and", operator.and_, self._negation)

    def _series(
        self, word: str, join: Callable[[Any, Any], Any], part: Callable[[], pc.Expression]
    ) -> pc.Expression:
        """Parts joined as a balanced tree, as Arrow goes through expressions recursively."""
        parts = [part()]
        while self._accept(word):
            parts.append(part())
        while len(parts) > 1:
            parts = [reduce(join, parts[at : at + 2]) for at in range(0, len(parts), 2)]
        return parts[0]

    def _negation(self) -> pc.Expression:
        negated = False
        while self._accept("not"):
            negated = not negated
        opening = self._token
        if self._accept("("):
            self._depth += 1
            if self._depth > _DEEPEST:
                self._refuse(f"more than {_DEEPEST} parentheses within each other", opening)
            expression = self._condition()
            self._expect(")")
            self._depth -= 1
        else:
            expression = self._predicate()
        return ~expression if negated else expression

    def _predicate(self) -> pc.Expression:
        start = self._token
        field = self._column()
        values, token = pc.field(field.name), self._token
        if token.kind == "sign" and token.text in _COMPARISONS:
            self._next += 1
            return _COMPARISONS[token.text](values, self._operand(field))
        if self._accept("is"):
            negated = self._accept("not")
            self._expect("null")
            return values.is_valid() if negated else values.is_null()
        negated = self._accept("not")
        if self._accept("in"):
            inside = values.isin(pa.array(self._list(field), field.type))
            # Arrow's own says false of a missing value.
            expression = pc.if_else(values.is_valid(), inside, pa.scalar(None, pa.bool_()))
        elif self._accept("between"):
            low = self._value(field)
            self._expect("and")
            expression = (values >= low) & (values <= self._value(field))
        elif self._accept("like"):
            expression = pc.match_like(values, self._pattern(field))
        elif negated:
            self._expect_instead("'in', 'like' or 'between'")
        elif _kind(field.type) == "boolean":
            expression = values
        else:
            self._expect_instead(f"a comparison of {start.text}")
        return ~expression if negated else expression

    def _column(self) -> pa.Field:
        token = self._token
        if token.kind not in ("word", "quoted"):
            self._expect_instead("a column")
        name = token.text[1:-1].replace("``", "`") if token.kind == "quoted" else token.text
        if name not in self._columns:
            names = listing([*self._columns]) or "none"
            self._fail(f"is {name!r}, which is not a column; the columns are {names}", token)
        self._next += 1
        field = self._columns[name]
        self._read.add(field.name)
        return field

    def _operand(self, field: pa.Field) -> pc.Expression | pa.Scalar:
        """What a column is compared with: a value, or another column of the same type."""
        token = self._token
        if token.kind not in ("word", "quoted"):
            return self._value(field)
        other = self._column()
        if _kind(other.type) != _kind(field.type) or _kind(field.type) == "list":
            self._refuse(f"a column of another type than {field.name!r}", token)
        return pc.field(other.name)

    def _list(self, field: pa.Field) -> list[Any]:
        self._expect("(")
        values = [self._value(field)]
        while self._accept(","):
            values.append(self._value(field))
        self._expect(")")
        return values

    def _value(self, field: pa.Field) -> Any:
        """A value of the type of a column."""
        token, kind = self._token, _kind(field.type)
        if kind == "list":
            self._refuse(f"a comparison of {field.name!r}, which holds lists", token)
        value: Any = None
        if token.kind == "text" and kind == "text":
            value = token.text[1:-1].replace("''", "'")
        elif token.text.lower() in ("true", "false") and kind == "boolean":
            value = token.text.lower() == "true"
        elif token.kind == "number" and kind == "number" and abs(float(token.text)) < float("inf"):
            value = float(token.text)
        elif token.kind == "number" and kind == "integer" and _is_int64(token.text):
            value = int(token.text)
        if value is None:
            self._expect_instead(f"{_VALUES[kind]}, as in column {field.name!r},")
        self._next += 1
        return value

    def _pattern(self, field: pa.Field) -> str:
        token = self._token
        if _kind(field.type) != "text":
            self._refuse(f"a pattern for {field.name!r}, which does not hold text", token)
        pattern: str = self._value(field)
        if not _ESCAPES.fullmatch(pattern):
            self._refuse(r"a '\' that is not followed by '%', '_' or another '\'", token)
        return pattern

    # --- tokens ----------------------------------------------------------------------------------

    def _split(self) -> list[_Token]:
        tokens = []
        for match in _TOKEN.finditer(self._text):
            is_keyword = match.lastgroup == "word" and match[0].lower() in _KEYWORDS
            kind = "keyword" if is_keyword else match.lastgroup or ""
            token = _Token(kind, match[0], match.start() + 1)
            if kind in ("open", "other"):
                self._expect_instead("a column, a value or a comparison", token)
            if kind != "space":
                tokens.append(token)
        return [*tokens, _Token("end", "", len(self._text) + 1)]

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _accept(self, text: str) -> bool:
        token = self._token
        if token.kind in ("keyword", "sign") and token.text.lower() == text:
            self._next += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            self._expect_instead(repr(text))

    def _expect_instead(self, wanted: str, token: _Token | None = None) -> NoReturn:
        token = token or self._token
        seen = {"end": "the end", "open": f"{token.text!r} that is not closed"}
        self._refuse(f"{seen.get(token.kind, repr(token.text))} where {wanted} must be", token)

    def _refuse(self, seen: str, token: _Token) -> NoReturn:
        self._fail(f"is {seen}; {_ALLOWED}", token)

    def _fail(self, reason: str, token: _Token) -> NoReturn:
        shown = printable(repr(self._text), 200)
        raise ConditionError(
            f"the condition {shown} cannot be used: at character {token.at} {reason}"
        )


def _kind(data_type: pa.DataType) -> str:
    if pt.is_string(data_type) or pt.is_large_string(data_type):
        return "text"
    if pt.is_boolean(data_type):
        return "boolean"
    if pt.is_integer(data_type):
        return "integer"
    return "number" if pt.is_floating(data_type) else "list"


def _is_int64(text: str) -> bool:
    short = len(text) <= 20 and text.lstrip("+-").isdigit()
    return short and -(2**63) <= int(text) < 2**63
