"""Nodes as users give them, turned into checked arrays; each error is one sentence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import inf
from typing import Annotated, Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError, Subject, UnknownNodesError

Features: TypeAlias = np.ndarray | sp.csr_array
Positive = Annotated[float, (5e-324, inf)]
NonNegative = Annotated[float, (0, inf)]
TEXT = np.dtypes.StringDType()  # ids that are text: 16 bytes each, and no Python objects


@contextmanager
def errors_about(subject: Subject) -> Iterator[None]:
    """Errors in the block say which table they are about."""
    try:
        yield
    except InputError as error:
        error.about = error.about or subject
        raise


def listed(values: Any, what: str) -> list[Any]:
    """A list of plain Python values, NumPy scalars converted."""
    items = values.tolist() if hasattr(values, "tolist") else values
    text = isinstance(items, (str, bytes)) and what != "node ids"
    if text or not isinstance(items, Iterable):
        raise InputError(f"{what} must be a list, got {values!r}")
    return [plain(item) for item in items]


def plain(value: Any) -> Any:
    """Python's own type of a NumPy scalar."""
    if isinstance(value, np.datetime64):  # nanoseconds would become a number
        value = value.astype("datetime64[us]")
    return value.item() if isinstance(value, np.generic) else value


def arrays_of(value: Any) -> list[np.ndarray]:
    """The NumPy arrays with the data of an array, a sparse array or a mapping of arrays."""
    if sp.issparse(value):
        return [value.data, value.indices, value.indptr]
    parts = value.values() if isinstance(value, Mapping) else [value]
    return [part for part in parts if isinstance(part, np.ndarray)]


def array_of_numbers(values: Any, what: str) -> np.ndarray:
    """A NumPy array of real numbers, of any shape."""
    try:
        array = np.asarray(values)
        if array.dtype == object:
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be a rectangular array of numbers: {error}") from None
    check_real(array.dtype, what)
    return array


def index_type(largest: int) -> type[np.signedinteger]:
    """Of positions up to this one: 32 bits where they suffice."""
    return np.int32 if largest < 2**31 else np.int64


def check_real(kind: np.dtype, what: str) -> None:
    if kind.kind not in "buif":
        hint = ". Complex data not supported" if kind.kind == "c" else ""
        raise InputError(f"{what} must be real numbers, got dtype {kind}{hint}")


def check_sparse(matrix: Any, what: str) -> None:
    """Refuse a sparse array of other values, or whose indices are not within its shape."""
    check_real(matrix.dtype, what)
    try:
        check_indices(matrix)
    except ValueError as error:
        raise InputError(f"{what} are not a valid sparse array: {error}") from None


def check_indices(matrix: Any) -> None:
    """Raise a `ValueError` if indices are not within the shape; SciPy trusts them elsewhere."""
    if hasattr(matrix, "check_format"):
        if (np.diff(matrix.indptr) < 0).any():  # SciPy does not look if the last one is zero
            raise ValueError("index pointer values must form a non-decreasing sequence")
        matrix.check_format(full_check=True)


@errors_about("nodes")
def features(x: Any, *, copy: bool = True) -> Features:
    """(N, F) of float32 or float64; sparse stays sparse, without stored zeros."""
    if not sp.issparse(x):
        x = array_of_numbers(x, "features")
    if x.ndim != 2:
        raise InputError(
            f"features must have two dimensions (nodes, features), got shape {x.shape}. "
            "Reshape your data"
        )
    kind = np.float64 if x.dtype == np.float64 else np.float32
    with np.errstate(over="ignore"):  # what overflows is reported as infinite below
        if sp.issparse(x):
            check_sparse(x, "features")
            checked = _canonical(sp.csr_array(x, dtype=kind, copy=copy), copied=copy)
        else:
            checked = (np.array if copy else np.asarray)(x, dtype=kind, order="C")
    if checked.shape[1] == 0:
        raise InputError(f"nodes have no features: 0 feature(s) (shape={checked.shape})")
    if not np.isfinite(checked.data if sp.issparse(checked) else checked).all():
        entries = sp.coo_array(checked)
        at = int(np.flatnonzero(~np.isfinite(entries.data))[0])
        # scikit-learn's users search for the words "NaN" and "infinity".
        seen = "NaN" if np.isnan(entries.data[at]) else f"infinity ({entries.data[at]})"
        raise InputError(
            f"features contain {seen} at row {entries.row[at]}, column {entries.col[at]}; "
            "fill or drop missing and infinite values first"
        )
    return checked


def _canonical(matrix: sp.csr_array, *, copied: bool) -> sp.csr_array:
    """Sorted, without duplicates and zeros; arrays that are not our own are not written to."""
    kind = index_type(max(matrix.nnz, *matrix.shape))
    for name in ("indices", "indptr"):
        setattr(matrix, name, getattr(matrix, name).astype(kind, copy=False))
    if matrix.has_canonical_format and matrix.data.all():
        return matrix
    matrix = matrix if copied else matrix.copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


@errors_about("nodes")
def node_ids(ids: Any, n: int | None = None) -> np.ndarray:
    """(N,) distinct ids: int64 or `TEXT` if every one is an integer of 64 bits or text.

    Otherwise, they are objects.
    """
    if ids is None:
        return np.arange(n or 0, dtype=np.int64)
    if isinstance(ids, np.ndarray) and ids.ndim == 1 and ids.dtype.kind == "i":
        known = ids.astype(np.int64)
        distinct = len(np.unique(known))
    elif isinstance(ids, np.ndarray) and ids.ndim == 1 and ids.dtype == TEXT:
        known = ids.copy()
        distinct = len(set(ids.tolist()))
    else:
        values = listed(ids, "node ids")
        try:
            distinct = len(set(values))
        except TypeError as error:
            raise InputError(f"node ids must be hashable: {error}") from None
        if any(value != value for value in values):
            raise InputError("a node id is NaN; give every node a valid id")
        known = _typed_ids(values)
    if n is not None:
        check_count(known, n)
    if distinct < len(known):
        twice = first_duplicate(known.tolist())
        raise InputError(f"the node id {twice!r} is given more than once; ids must be unique")
    return known


def _typed_ids(values: list[Any]) -> np.ndarray:
    if all(type(value) is int and abs(value) < 2**63 for value in values):
        return np.array(values, dtype=np.int64)
    if all(type(value) is str for value in values):
        with suppress(UnicodeEncodeError):  # half of a surrogate pair is not text
            return np.array(values, dtype=TEXT)
    return np.fromiter(values, dtype=object, count=len(values))


@errors_about("nodes")
def check_count(ids: np.ndarray, n: int) -> None:
    if len(ids) != n:
        raise InputError(f"got {len(ids):,} node ids for {n:,} nodes; pass one per node")


def first_duplicate(values: Iterable[Any]) -> Any:
    """The first value that equals one before it; None if all are distinct."""
    seen: set[Any] = set()
    return next((value for value in values if value in seen or seen.add(value)), None)  # type: ignore[func-returns-value]


class Positions:
    """Row numbers by id, looked up without a pass over all ids; `what` has them, for errors."""

    def __init__(self, ids: np.ndarray, what: str = "the graph") -> None:
        self.n, self._what = len(ids), what
        self._ids = ids
        self._order = np.argsort(ids, kind="stable") if ids.dtype == np.int64 else None
        self._rows = {} if self._order is not None else {v: at for at, v in enumerate(ids.tolist())}

    def rows(self, wanted: list[Any] | np.ndarray) -> np.ndarray:
        """Row numbers of ids; an `UnknownNodesError` names one that does not exist."""
        if isinstance(wanted, np.ndarray) and wanted.dtype.kind != "i":
            wanted = listed(wanted, "node ids")
        if self._order is not None:
            items = () if isinstance(wanted, np.ndarray) else wanted
            if odd := [node for node in items if type(node) is not int or abs(node) >= 2**63]:
                raise self._unknown(odd[0])
            ids = np.asarray(wanted, dtype=np.int64)
            place = np.searchsorted(self._ids, ids, sorter=self._order)
            rows = self._order[np.minimum(place, self.n - 1)]
            if (missing := self._ids[rows] != ids).any():
                raise self._unknown(ids[missing][0].item())
            return rows
        try:
            rows_of_ids = (self._rows[node] for node in wanted)
            return np.fromiter(rows_of_ids, dtype=np.int64, count=len(wanted))
        except KeyError as error:
            raise self._unknown(error.args[0]) from None
        except TypeError as error:
            raise InputError(f"node ids must be hashable: {error}") from None

    def _unknown(self, node: Any) -> UnknownNodesError:
        return UnknownNodesError(
            f"{self._what} has no node with id {node!r}; use the ids that it was created with"
        )


def node_rows(nodes: Any, positions: Positions) -> np.ndarray:
    """Row numbers of nodes given by id, in the order given, or by a mask over all nodes."""
    if isinstance(nodes, (str, bytes)) or not isinstance(nodes, Iterable):
        raise InputError(f"nodes must be a list of ids or a mask, got {nodes!r}")
    if isinstance(nodes, np.ndarray) and nodes.ndim != 1:
        raise InputError(
            f"nodes must be a list of ids or a mask, got an array of shape {nodes.shape}"
        )
    if isinstance(nodes, np.ndarray) and nodes.dtype.kind == "i":
        return positions.rows(nodes)
    wanted = listed(nodes, "nodes")
    if wanted and all(type(node) is bool for node in wanted):
        if len(wanted) != positions.n:
            raise InputError(
                f"the mask has {len(wanted):,} values for {positions.n:,} nodes; pass one per node"
            )
        return np.flatnonzero(wanted)
    return positions.rows(wanted)


@errors_about("nodes")
def label_codes(labels: Any, n: int) -> tuple[np.ndarray | None, tuple[Any, ...]]:
    """Positions in the sorted classes, -1 where there is no label, and the classes."""
    if labels is None:
        return None, ()
    values = listed(labels, "labels")
    if len(values) != n:
        raise InputError(
            f"got {len(values):,} labels for {n:,} nodes; pass one per node (None if unknown)"
        )
    try:
        known = list({value for value in values if value is not None and bool(value == value)})
    except (TypeError, ValueError) as error:
        raise InputError(f"a label is neither a plain value nor None: {error}") from None
    classes = tuple(known[at] for at in sorted_values(known))
    code = {value: position for position, value in enumerate(classes)}
    return np.array([code.get(value, -1) for value in values], dtype=np.int64), classes


def sorted_values(values: Sequence[Any]) -> list[int]:
    """Positions of values in sorted order; by type and `repr` if they cannot be compared."""
    places = range(len(values))
    try:
        return sorted(places, key=lambda at: values[at])
    except TypeError:
        return sorted(places, key=lambda at: (type(values[at]).__name__, repr(values[at])))


def sorted_ranks(ids: np.ndarray) -> np.ndarray | None:
    """The position of each distinct id among all of them, sorted; None if they are in order."""
    plain = ids.dtype != object
    order = np.argsort(ids, kind="stable") if plain else np.array(sorted_values(ids.tolist()))
    if np.array_equal(order, np.arange(len(ids))):
        return None
    ranks = np.empty(len(ids), dtype=np.int64)
    ranks[order] = np.arange(len(ids))
    return ranks


@errors_about("nodes")
def split_masks(splits: Any, ids: np.ndarray) -> dict[str, np.ndarray]:
    """Boolean masks, no two of which contain the same node."""
    n = len(ids)
    if splits is not None and not isinstance(splits, Mapping):
        raise InputError(f"splits must map names to masks, got {type(splits).__name__}")
    checked: dict[str, np.ndarray] = {}
    taken = np.zeros(n, dtype=bool)
    for name, mask in (splits or {}).items():
        values = np.array(array_of_numbers(mask, f"the split {name!r}"))
        if values.dtype != bool or values.shape != (n,):
            raise InputError(
                f"the split {name!r} must be a boolean mask of length {n:,}, "
                f"got shape {values.shape} of {values.dtype}"
            )
        if (twice := taken & values).any():
            node = ids[twice].tolist()[0]
            raise InputError(f"node {node!r} is in the split {name!r} and in another one")
        taken |= values
        checked[str(name)] = values
    return checked


@errors_about("nodes")
def feature_names(names: Any, f: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    checked = tuple(map(str, listed(names, "feature names")))
    if len(checked) != f:
        raise InputError(
            f"got {len(checked):,} feature names for {f:,} features; pass one per feature"
        )
    if (twice := first_duplicate(checked)) is not None:
        raise InputError(
            f"the feature name {twice!r} is given more than once; names must be unique"
        )
    return checked
