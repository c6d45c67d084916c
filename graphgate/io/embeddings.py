"""An embedding with its ids and optional labels, written to and read from files.

.parquet    node_id, embedding (a list of D numbers), optional label; columns in the metadata
.csv        node_id, e0, e1, …, optional label
.npz        arrays ids and embedding, optional columns and labels (and labelled, where some lack)
.txt        word2vec's text format: "N D", then one line per node with its id and D numbers
.npy        the bare matrix, rows in the order of the graph; written only, because it has no ids
.sql        a table of ids, vectors and optional labels, for PostgreSQL with pgvector; written only
.jsonl      one request per line that uploads points to Qdrant; written only
"""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import InputError, listing, warn_ignored
from graphgate.graph.graph import Graph
from graphgate.graph.notebook import MOST_COLUMNS, MOST_ROWS, html_table
from graphgate.graph.validation import Positions, node_rows, plain
from graphgate.io.columns import decoded, floats, is_list, is_number, one_piece
from graphgate.io.files import (
    StrPath,
    check_file,
    check_output_path,
    first_line,
    parse_json,
    replacing,
)
from graphgate.io.id_columns import id_column, id_values, spelled_ids
from graphgate.io.numpy_files import read_npz
from graphgate.io.reading_options import ReadingOptions, reading_of
from graphgate.io.table_files import open_table, write_rows
from graphgate.io.tables import Conversion, Table, id_array, value_array, without_tuples
from graphgate.io.vector_databases import write_pgvector, write_qdrant
from graphgate.io.word2vec import open_word2vec, write_word2vec

_WRITERS: dict[str, Callable[..., None]] = {
    ".txt": write_word2vec,
    ".sql": write_pgvector,
    ".jsonl": write_qdrant,
}
READABLE_ENDINGS = (".parquet", ".csv", ".npz", ".txt")
EMBEDDING_ENDINGS = (*READABLE_ENDINGS, ".npy", ".sql", ".jsonl")
_COLUMNS, _READING = b"graphgate.columns", b"graphgate.reading"  # in the metadata of Parquet files
_ARRAYS = ("ids", "embedding", "labels", "labelled", "columns", "reading")  # in .npz
LABEL_ENDINGS = (".parquet", ".csv", ".npz", ".sql", ".jsonl")  # formats that can store labels


@dataclass(frozen=True, eq=False, repr=False)
class Embedding:
    """One vector per node, looked up by the id of the node.

    ids : (N,) int64, text or objects.
    vectors : (N, D) float32 or float64.
    labels : N values, None where a node has none; or None.
    columns : names of the attributes or features that the vectors were made from, () if from edges
        only; None where this is unknown.
    reading : how the tables of the graph were read, so that they can be read alike; None where
        there were none.

    `embedding[id]` is the vector of a node, (D,), and `embedding[[id, …]]` or, with a mask over
    all nodes, `embedding[mask]` are those of several, (M, D). `len`, `in` and iteration are about
    ids, and NumPy takes an embedding for its vectors.

    >>> embedding = Embedding(np.array(["a", "b"]), np.eye(2), ["x", None])
    >>> embedding["b"].tolist(), embedding[["b", "a"]].shape
    ([0.0, 1.0], (2, 2))
    """

    ids: np.ndarray
    vectors: np.ndarray
    labels: list[Any] | None = None
    columns: tuple[str, ...] | None = None
    reading: ReadingOptions | None = None

    @classmethod
    def of(cls, graph: Graph, vectors: np.ndarray) -> Self:
        """The vectors of the nodes of a graph, with their labels."""
        return cls(graph.ids, vectors, graph.label_values(), graph.columns, reading_of(graph))

    def __getitem__(self, nodes: Any) -> np.ndarray:
        rows = self.rows(nodes)
        return self.vectors[rows if _are_several(nodes) else rows[0]]

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.ids.tolist())

    def __contains__(self, node: object) -> bool:
        with suppress(InputError):
            return not _are_several(node) and len(self.rows(node)) == 1
        return False

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.vectors, dtype=dtype, copy=copy)

    def rows(self, nodes: Any) -> np.ndarray:
        """(M,) row numbers of one id, of a list of ids, or of a boolean mask over all nodes."""
        if _are_several(nodes):
            return node_rows(nodes, self._positions)
        return self._positions.rows([plain(nodes)])

    def select(self, nodes: Any) -> Self:
        """The embedding of some nodes, given as in `rows`, in that order."""
        rows = self.rows(nodes)
        labels = None if self.labels is None else [self.labels[row] for row in rows.tolist()]
        return type(self)(self.ids[rows], self.vectors[rows], labels, self.columns, self.reading)

    @cached_property
    def _positions(self) -> Positions:
        return Positions(np.asarray(self.ids), "the embedding")

    def to_dict(self) -> dict[Any, np.ndarray]:
        """Node id -> vector of D numbers."""
        return dict(zip(self.ids.tolist(), self.vectors, strict=True))

    def __repr__(self) -> str:
        n, d = self.vectors.shape
        parts = [f"{n:,} nodes", f"{d:,} dimensions"]
        if self.labels is not None:
            parts.append(f"{len(set(self.labels) - {None}):,} classes")
        if self.columns:
            parts.append(f"made from {listing(self.columns, 4)}")
        return f"Embedding({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """In notebooks: the first nodes with their labels and the first dimensions."""
        rows, columns = min(len(self.ids), MOST_ROWS), min(self.vectors.shape[1], MOST_COLUMNS)
        cells: list[tuple[str, list[Any]]] = [("node", self.ids[:rows].tolist())]
        if self.labels is not None:
            cells.append(("label", self.labels[:rows]))
        cells += [(f"e{at}", self.vectors[:rows, at].tolist()) for at in range(columns)]
        return html_table(repr(self), cells)

    def to_frame(self) -> Any:
        """One row per node: columns e0, e1, … and, where there are labels, label.

        A pandas data frame indexed by node id or, where pandas is not installed, an Arrow table
        with the ids in the column node_id. Ids that are tuples become text, as in files; integers
        mixed with text stay what they are in a data frame, and become text in an Arrow table.
        """
        try:
            import pandas
        except ImportError:
            return _table(*stored_names(".csv", self.ids, self.labels), self.vectors, wide=True)
        rows = stored_names(".csv", np.arange(len(self.ids)), self.labels)
        frame = _table(*rows, self.vectors, wide=True).to_pandas().drop(columns="node_id")
        ids = self.ids if self.ids.dtype == np.int64 else without_tuples(self.ids.tolist())
        return frame.set_index(pandas.Index(ids, name="node_id"))

    def save(self, path: StrPath) -> Path:
        """Write the embedding as `write_embedding` does; warns of labels that a format lacks."""
        holds = Path(path).suffix.lower() in LABEL_ENDINGS
        lost = ["labels"] * (self.labels is not None and not holds)
        warn_ignored(str(path), "part", lost, f"to keep them, write {', '.join(LABEL_ENDINGS)}")
        labels = self.labels if holds else None
        return _write(path, self.ids, self.vectors, labels, self.columns, self.reading)


def _are_several(nodes: Any) -> bool:
    """Whether these are a list of ids, or a mask; a tuple is one id."""
    return isinstance(nodes, list) or getattr(nodes, "ndim", 0) > 0


def as_embedding(embedding: Any) -> Embedding:
    """An `Embedding` unchanged, or an (N, D) array with row numbers as ids and no labels."""
    if isinstance(embedding, Embedding):
        return embedding
    vectors = np.asarray(embedding)
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu" or vectors.size == 0:
        raise InputError(
            f"an embedding must be an (N, D) array of numbers, got {vectors.dtype} of shape "
            f"{vectors.shape}"
        )
    return Embedding(np.arange(len(vectors)), vectors.astype(np.result_type(vectors, np.float32)))


def write_embedding(
    path: StrPath,
    ids: Iterable[Hashable],
    embedding: Any,
    labels: Sequence[Any] | None = None,
    *,
    columns: Sequence[str] | None = None,
) -> Path:
    """Write N ids and their (N, D) embedding in the format given by the ending of `path`.

    Parameters
    ----------
    path : a file ending in .parquet, .csv, .npz, .txt (word2vec's text format), .npy (the bare
        matrix, without ids), .sql (for PostgreSQL with pgvector) or .jsonl (requests that upload
        points to Qdrant). An existing file is replaced atomically.
    ids : integers or text; tuples are written as text, as Python writes them, such as "(0, 1)",
        and so are integers that are mixed with text.
    labels : one value per node, None where a node has none; .txt and .npy cannot store them.
    columns : names of what the vectors were made from, which .parquet and .npz store.

    A warning says that .npy has no ids, unless they are 0 … N-1.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     print(write_embedding(f"{folder}/vectors.csv", ["a", "b"], np.eye(2)).read_text())
    node_id,e0,e1
    "a",1,0
    "b",0,1
    <BLANKLINE>
    """
    return _write(path, ids, embedding, labels, columns, None)


def _write(
    path: StrPath,
    ids: Iterable[Hashable],
    embedding: Any,
    labels: Sequence[Any] | None,
    columns: Sequence[str] | None,
    reading: ReadingOptions | None,
) -> Path:
    target = check_output_path(path, EMBEDDING_ENDINGS)
    ending = target.suffix.lower()
    values = np.asarray(embedding)
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float32)
    names, classes = stored_names(ending, ids, labels)
    if values.ndim != 2 or values.shape[1] == 0 or len(names) != len(values):
        raise InputError(f"got an embedding of shape {values.shape}, but {len(names):,} node ids")
    made_from: dict[str, Any] = {} if columns is None else {"columns": list(columns)}
    if reading is not None:
        made_from["reading"] = reading.to_dict()
    if ending in (".parquet", ".csv"):
        return _write_table(target, names, values, classes, made_from)
    if ending == ".npy" and names.to_pylist() != [*range(len(names))]:
        warn_ignored(str(path), "part", ["ids"], "rows are in the order of the nodes")
    with replacing(target) as temporary, temporary.open("wb") as file:
        if ending == ".npy":
            np.save(file, np.ascontiguousarray(values), allow_pickle=False)
        elif ending == ".npz":
            np.savez(file, **_arrays(names, values, classes, made_from))
        else:
            _WRITERS[ending](file, names, values, classes)
    return target


def _write_table(
    target: Path,
    names: pa.Array,
    values: np.ndarray,
    labels: pa.Array | None,
    made_from: Mapping[str, Any],
) -> Path:
    def block(rows: slice) -> pa.Table:
        classes = None if labels is None else labels[rows]
        return _table(names[rows], classes, values[rows], wide=target.suffix.lower() == ".csv")

    about = {
        f"graphgate.{name}".encode(): json.dumps(value) for name, value in made_from.items()
    } or None
    return write_rows(target, block, len(values), values.shape[1] * values.itemsize, about)


def stored_names(
    ending: str, ids: Iterable[Hashable], labels: Sequence[Any] | None = None
) -> tuple[pa.Array, pa.Array | None]:
    """Ids and labels as a file of this format stores them; raises `InputError` if it cannot."""
    names = id_array(ids)
    if ending == ".txt":
        for name in names.cast(pa.string()).to_pylist():
            if not name or name.split() != [name]:
                raise InputError(
                    f"the node id {name!r} is empty or contains white space, which word2vec's text "
                    "format cannot store; write .parquet, .csv or .npz"
                )
    if labels is None:
        return names, None
    if ending not in LABEL_ENDINGS:
        raise InputError(f"{ending} cannot store labels; write {' or '.join(LABEL_ENDINGS)}")
    classes = value_array(labels, "label")
    if len(classes) != len(names):
        raise InputError(f"got {len(classes):,} labels for {len(names):,} node ids")
    return names, classes


def _table(names: pa.Array, labels: pa.Array | None, values: np.ndarray, *, wide: bool) -> pa.Table:
    columns: dict[str, Any] = {"node_id": names}
    if wide:
        columns |= {f"e{at}": pa.array(values[:, at]) for at in range(values.shape[1])}
    else:
        columns["embedding"] = pa.FixedSizeListArray.from_arrays(
            pa.array(values.ravel()), values.shape[1]
        )
    if labels is not None:
        columns["label"] = labels
    return pa.table(columns)


def _arrays(
    names: pa.Array, values: np.ndarray, labels: pa.Array | None, made_from: Mapping[str, Any]
) -> dict[str, Any]:
    """Arrays without pickled objects: text has a fixed width, missing labels are masked."""
    arrays: dict[str, Any] = {"ids": plain_array(names, "node id"), "embedding": values}
    if labels is not None:
        blank: Any = "" if labels.type == pa.string() else labels.type.to_pandas_dtype()(0)
        arrays["labels"] = plain_array(labels.fill_null(blank), "label")
        if labels.null_count:
            arrays["labelled"] = np.asarray(labels.is_valid())
    if (columns := made_from.get("columns")) is not None:
        arrays["columns"] = plain_array(pa.array(columns, pa.string()), "column name")
    if "reading" in made_from:
        arrays["reading"] = np.array(json.dumps(made_from["reading"]))
    return arrays


def plain_array(items: pa.Array, what: str) -> np.ndarray:
    listed = items.to_pylist()
    made = np.array(listed, dtype=np.str_ if pa.types.is_string(items.type) else None)
    made = made.astype(np.int64) if items.type == pa.int64() else made  # even if it is empty
    if made.tolist() != listed:  # NumPy strips trailing zero bytes
        raise InputError(f"a {what} ends in a zero byte, which .npz cannot store; write .parquet")
    return made


def read_embedding(path: StrPath) -> Embedding:
    """Read an embedding from a .parquet, .csv, .npz or word2vec .txt file.

    Vectors from text files are float32 if their digits are those of float32 numbers, and float64
    otherwise.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = write_embedding(f"{folder}/vectors.csv", ["a", "b"], np.eye(2))
    ...     read_embedding(path)
    Embedding(2 nodes, 2 dimensions)
    """
    ending = Path(path).suffix.lower()
    if ending not in READABLE_ENDINGS and not Path(path).is_dir():
        raise InputError(f"{path} must end in one of {', '.join(READABLE_ENDINGS)}")
    source = check_file(path)
    embedding = _read_npz(source) if ending == ".npz" else _read_table(source)
    ids, z, labels = embedding.ids, embedding.vectors, embedding.labels
    if z.ndim != 2 or z.dtype.kind != "f" or z.size == 0 or len(ids) != len(z):
        raise InputError(
            f"{source} contains an embedding of dtype {z.dtype} and shape {z.shape} for "
            f"{len(ids):,} ids; it needs one row of floats per node"
        )
    if labels is not None and len(labels) != len(z):
        raise InputError(f"{source} has {len(labels):,} labels for {len(z):,} nodes")
    if not (finite := np.isfinite(z).all(axis=1)).all():
        raise InputError(
            f"{source}: the vector of node {plain(ids[np.argmin(finite)])!r} contains a value that "
            "is not finite"
        )
    if len(set(ids.tolist())) < len(ids):
        raise InputError(f"{source} contains a node twice; it needs one vector per node")
    return embedding


def _read_table(path: Path) -> Embedding:
    """Vectors are columns of numbers in text, and lists in one column elsewhere."""
    table = open_word2vec(path) if path.suffix.lower() == ".txt" else open_table(path)
    others = [name for name in table.names if name not in ("node_id", "label")]
    vectors = others if table.spelled else ["embedding"]
    table.require("node_id", *vectors)
    conversions: dict[str, Conversion] = {"node_id": "text", "label": "text"}
    conversions |= dict.fromkeys(vectors, "number")
    columns = dict(table.columns([n for n in table.names if n in conversions], conversions))
    warn_ignored(str(path), "column", [n for n in table.names if n not in conversions])
    (ids,) = spelled_ids(table, id_column(table, "node_id", columns["node_id"]))
    labels = None
    if (classes := columns.get("label")) is not None:
        coded = pa.types.is_dictionary(classes.type)
        (classes,) = spelled_ids(table, decoded(table, "label", classes) if coded else classes)
        labels = classes.to_pylist()
    if not table.spelled:
        z = _listed(table, columns["embedding"])
        reading = _reading(table.metadata.get(_READING), table.what)
        return Embedding(id_values(ids), z, labels, _made_from(table), reading)
    wide = [floats(table, name, columns[name]) for name in vectors]
    z = np.column_stack([np.empty((len(ids), 0)), *wide])
    narrow = all(map(_written_as_float32, z.T))
    return Embedding(id_values(ids), z.astype(np.float32) if narrow else z, labels)


def _listed(table: Table, column: pa.ChunkedArray) -> np.ndarray:
    """(N, D) from N lists of D numbers."""
    lists = is_list(column.type) and is_number(column.type.value_type) and not column.null_count
    if not lists or pc.count_distinct(pc.list_value_length(column)).as_py() > 1:
        raise InputError(
            f"{table.what}: the column 'embedding' must contain a list of D numbers per node"
        )
    flat = one_piece(column).flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(len(column), -1 if len(column) else 0)


def _reading(stored: bytes | str | None, what: str) -> ReadingOptions | None:
    """The stored options of reading tables."""
    if stored is None:
        return None
    try:
        options = parse_json(stored.decode() if isinstance(stored, bytes) else stored)
        return ReadingOptions.from_dict(options)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{what}: what it says of reading tables is damaged: {first_line(error)}"
        ) from None


def _made_from(table: Table) -> tuple[str, ...] | None:
    if _COLUMNS not in table.metadata:
        return None
    names = None
    with suppress(ValueError, RecursionError):
        names = parse_json(table.metadata[_COLUMNS].decode())
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"{table.what}: its metadata do not list the columns that the vectors were made from; "
            "write it again"
        )
    return tuple(names)


def _written_as_float32(values: np.ndarray) -> bool:
    """Whether the digits of the nearest float32 give the same number in double precision."""
    with np.errstate(over="ignore"):
        rounded = pa.array(values.astype(np.float32))
    return np.array_equal(rounded.cast(pa.string()).cast(pa.float64()).to_numpy(), values)


def _read_npz(path: Path) -> Embedding:
    arrays = read_npz(path)
    if lacking := [name for name in ("ids", "embedding") if name not in arrays]:
        raise InputError(f"{path} lacks the array {lacking[0]!r}")
    ids, labels, given = arrays["ids"], arrays.get("labels"), arrays.get("labelled")
    columns = arrays.get("columns")
    warn_ignored(str(path), "array", [name for name in arrays if name not in _ARRAYS])
    read = arrays.get("reading")
    if read is not None and (read.dtype.kind != "U" or read.ndim):
        raise InputError(f"{path}: its reading must be one text")
    reading = None if read is None else _reading(str(read), str(path))
    if any(part is not None and part.ndim != 1 for part in (ids, labels, given, columns)):
        raise InputError(f"{path}: ids, labels, labelled and columns must have one dimension each")
    listed = None if labels is None else labels.tolist()
    if listed is not None and given is not None:
        if given.dtype != bool or len(given) != len(listed):
            raise InputError(f"{path}: labelled must say of each label whether it is given")
        listed = [
            label if is_given else None for label, is_given in zip(listed, given, strict=True)
        ]
    kind = np.int64 if ids.dtype.kind in "iu" else object
    names = None if columns is None else tuple(map(str, columns.tolist()))
    return Embedding(ids.astype(kind), arrays["embedding"], listed, names, reading)
