"""Exceptions and warnings; each message is one sentence: what was seen, where, how to fix it."""

import re
import warnings
from collections.abc import Collection, Sequence
from typing import Any, Literal

Subject = Literal["nodes", "edges"]

# Control characters, marks of writing direction, line separators and lone surrogates: what a
# terminal or a log would act on instead of showing it.
_ACTIVE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LONGEST = 2000


def printable(text: str, most: int | None = None) -> str:
    r"""The text in one line, with what a terminal would act on as escape sequences of Python.

    most : shorten it in the middle to about this many characters.

    >>> printable("red \x1b[31m and\na line")
    'red \\x1b[31m and\\na line'
    """
    if most is not None and len(text) > most:
        text = f"{text[: most // 2]} … {text[-(most // 2) :]}"
    return _ACTIVE.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)


class InputError(ValueError):
    """Invalid input; the command line reports it in one line and exits with code 2.

    about : which table the message is about, where the caller can name its file.

    >>> from graphgate import Graph
    >>> try:
    ...     Graph([[1.0], [float("nan")]])
    ... except InputError as error:
    ...     print(error.about)
    nodes
    """

    def __init__(self, message: str = "", *, about: Subject | None = None) -> None:
        super().__init__(printable(message, _LONGEST))
        self.about = about


class MemoryLimitError(InputError):
    """A run needs more memory than is available.

    needed, available : in bytes.
    fitting_dims : layer sizes with which the run would fit, none if no sizes do; None for a method
        without layers.

    >>> error = MemoryLimitError("too large", needed=2**40, available=2**33)
    >>> isinstance(error, InputError), error.needed // error.available
    (True, 128)
    """

    def __init__(
        self,
        message: str = "",
        *,
        needed: int = 0,
        available: int = 0,
        fitting_dims: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__(message)
        self.needed, self.available, self.fitting_dims = needed, available, fitting_dims


class UnknownNodesError(InputError, KeyError):
    """A node is named that is in no table, or not in the graph or embedding that is asked for it.

    >>> from graphgate import Graph
    >>> try:
    ...     Graph([[1.0], [2.0]], ids=["a", "b"]).rows(["zoe"])
    ... except KeyError as error:
    ...     print(error)
    the graph has no node with id 'zoe'; use the ids that it was created with
    """

    __str__ = InputError.__str__  # that of a KeyError is in quotation marks


class UnclearRolesError(InputError):
    """Tables do not say which columns are the ids of nodes and the two ends of edges.

    roles : option -> column, the best guess, with which the tables can be read.

    >>> error = UnclearRolesError("e.csv", None, {"source": "x", "target": "y"})
    >>> error.roles
    {'source': 'x', 'target': 'y'}
    """

    def __init__(self, edges: str = "", nodes: str | None = None, roles: Any = None) -> None:
        self.roles: dict[str, str] = dict(roles or {})
        given = ", ".join(f"{name}={column!r}" for name, column in self.roles.items())
        what = "the two ends of an edge" if nodes is None else "the ends of edges and the ids of"
        where = "" if nodes is None else f" {nodes}"
        super().__init__(
            f"{edges}: it is unclear which columns are {what}{where}; name them, perhaps with "
            f"{given}"
        )


class DivergenceError(InputError):
    """Training diverged; there is no usable result.

    >>> isinstance(DivergenceError("the loss is not finite"), InputError)
    True
    """


class LostProcessError(InputError):
    """Another process of the same run has ended, so that this one cannot go on."""


class InputWarning(UserWarning):
    """Part of the input was ignored or replaced; the message says what and how much.

    >>> import warnings
    >>> from graphgate import LinearGATE
    >>> with warnings.catch_warnings(record=True, action="always") as seen:
    ...     _ = LinearGATE(n_components=1, random_state=0).fit([[1.0], [2.0], [4.0]])
    >>> issubclass(seen[0].category, InputWarning)  # no edges
    True
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message, _LONGEST))


def warn_ignored(where: str, what: str, names: Sequence[str], hint: str = "") -> None:
    """Warn that named parts of the input are not used, if there are any.

    where : the file or object. what : the kind of part, in the singular. hint : the remedy.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as seen:
    ...     warn_ignored("edges.csv", "edge column", ["since", "kind"])
    >>> str(seen[0].message)
    'edges.csv: 2 edge columns are ignored: since, kind'
    """
    if names:
        are = "s are" if len(names) > 1 else " is"
        sentence = f"{where}: {len(names):,} {what}{are} ignored: {listing(names)}"
        warnings.warn(InputWarning(f"{sentence}; {hint}" if hint else sentence), stacklevel=3)


class UnknownNodesWarning(InputWarning):
    """Vectors of new nodes lack what only a node known to the estimator could have given them.

    >>> issubclass(UnknownNodesWarning, InputWarning)
    True
    """


class TrainingWarning(UserWarning):
    """Training ended early, or far from convergence; the result may be poor.

    >>> import warnings
    >>> warnings.simplefilter("ignore", TrainingWarning)  # where few epochs are enough
    """


def check_choice(what: str, value: object, choices: Collection[str]) -> None:
    """Refuse a value that is not one of several names."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"unknown {what} {value!r}; use one of {', '.join(choices)}")


def listing(names: Sequence[str], most: int = 8) -> str:
    """Names in a sentence, the first few of many."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" * (len(names) > most))
