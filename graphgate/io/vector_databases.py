"""Embeddings for vector databases: SQL for pgvector, and batches of points for Qdrant."""

import json
import uuid
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import InputError
from graphgate.io.table_files import row_blocks

PGVECTOR_TABLE = "node_vectors"
MOST_DIMENSIONS = 16_000  # that a vector of pgvector can have
_POINTS = 256  # in one request to Qdrant
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "graphgate")
_SQL_TYPES = {
    pa.int64(): "bigint",
    pa.float64(): "double precision",
    pa.bool_(): "boolean",
    pa.string(): "text",
}


def write_pgvector(
    file: BinaryIO, names: pa.Array, vectors: np.ndarray, labels: pa.Array | None
) -> None:
    """A table of ids, labels and vectors as SQL for psql, in one transaction."""
    d = vectors.shape[1]
    if d > MOST_DIMENSIONS:
        raise InputError(f"pgvector has at most {MOST_DIMENSIONS:,} dimensions, got {d:,}")
    columns = {"id": names} | ({} if labels is None else {"label": labels})
    types = {name: _SQL_TYPES.get(column.type, "text") for name, column in columns.items()}
    types["id"] += " PRIMARY KEY"
    described = "".join(f"  {name} {kind},\n" for name, kind in types.items())
    file.write(
        "SET client_encoding = 'UTF8';\n"
        "BEGIN;\n"
        "CREATE EXTENSION IF NOT EXISTS vector;\n"
        f"CREATE TABLE {PGVECTOR_TABLE} (\n{described}  embedding vector({d}) NOT NULL\n);\n"
        f"COPY {PGVECTOR_TABLE} ({', '.join([*columns, 'embedding'])}) FROM stdin;\n".encode()
    )
    cells = [_copy_cells(name, column) for name, column in columns.items()]
    for rows, texts in _spelled(vectors):
        lines = zip(*(some[rows].to_pylist() for some in cells), texts, strict=True)
        file.write("".join("\t".join(line) + "\n" for line in lines).encode())
    file.write(b"\\.\nCOMMIT;\n")


def write_qdrant(
    file: BinaryIO, names: pa.Array, vectors: np.ndarray, labels: pa.Array | None
) -> None:
    """One line of JSON per request that uploads points; node id and label are in the payload."""
    for rows, texts in _spelled(vectors):
        ids = names[rows].to_pylist()
        classes = [None] * len(ids) if labels is None else labels[rows].to_pylist()
        points = [
            _point(name, label, text) for name, label, text in zip(ids, classes, texts, strict=True)
        ]
        for start in range(0, len(points), _POINTS):
            request = ", ".join(points[start : start + _POINTS])
            file.write(f'{{"points": [{request}]}}\n'.encode())


def point_id(name: int | str) -> int | str:
    """What Qdrant accepts as an id: the same number, or a UUID that is always the same."""
    if isinstance(name, int) and name >= 0:
        return name
    return str(uuid.uuid5(_NAMESPACE, str(name)))


def _point(name: int | str, label: object, vector: str) -> str:
    payload = {"node_id": name} | ({} if label is None else {"label": label})
    texts = json.dumps(point_id(name)), json.dumps(payload, allow_nan=False)
    return f'{{"id": {texts[0]}, "vector": {vector}, "payload": {texts[1]}}}'


def _spelled(vectors: np.ndarray) -> Iterator[tuple[slice, list[str]]]:
    """Some rows at a time as "[1.5,2]", with as few digits as single precision needs."""
    with np.errstate(over="ignore"):
        single = np.asarray(vectors, dtype=np.float32)
    if not np.isfinite(single).all():
        raise InputError("the embedding has values that a vector database cannot hold")
    d = single.shape[1]
    for rows in row_blocks(len(single), 16 * d):
        numbers = pa.array(single[rows].ravel()).cast(pa.string()).to_pylist()
        yield rows, [f"[{','.join(numbers[at : at + d])}]" for at in range(0, len(numbers), d)]


def _copy_cells(name: str, column: pa.Array) -> pa.Array:
    r"""Text as COPY reads it: \N for null, and escapes for what separates cells and rows."""
    text = column.cast(pa.string())
    if pc.any(pc.match_substring(text, "\0")).as_py():
        raise InputError(f"a {name} contains a zero byte, which PostgreSQL cannot store")
    for character, escaped in (("\\", r"\\"), ("\t", r"\t"), ("\n", r"\n"), ("\r", r"\r")):
        text = pc.replace_substring(text, character, escaped)
    return text.fill_null(r"\N")
