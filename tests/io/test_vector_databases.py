"""Embeddings as SQL for pgvector and as batches for Qdrant; hostile ids stay what they are."""

import json
import re
import uuid

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphgate import InputError, write_embedding

HOSTILE = [
    "plain",
    "",
    "'; DROP TABLE node_vectors; --",
    "\\.",
    "\\N",
    "a\\tb",
    "tab\there",
    "line\nbreak\r",
    'quote " and \u2028 and ☃',
    "\\",
]
VECTORS = np.random.default_rng(0).normal(size=(len(HOSTILE), 3)).astype(np.float32)
VECTORS[0] = [1e-20, -0.0, 1e20]
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}


def copied(line: str) -> list[str | None]:
    """The cells of a line of COPY, by the rules in PostgreSQL's manual."""
    return [
        None if cell == r"\N" else re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), cell)
        for cell in line.split("\t")
    ]


def test_sql_holds_every_id_and_number(tmp_path):
    labels = ["x", None, "\\N", *["y"] * (len(HOSTILE) - 3)]
    write_embedding(tmp_path / "z.sql", HOSTILE, VECTORS, labels)
    text = (tmp_path / "z.sql").read_bytes().decode()
    head, _, rest = text.partition(" FROM stdin;\n")
    assert head.splitlines() == [
        "SET client_encoding = 'UTF8';",
        "BEGIN;",
        "CREATE EXTENSION IF NOT EXISTS vector;",
        "CREATE TABLE node_vectors (",
        "  id text PRIMARY KEY,",
        "  label text,",
        "  embedding vector(3) NOT NULL",
        ");",
        "COPY node_vectors (id, label, embedding)",
    ]
    lines = rest.split("\n")
    assert lines[-3:] == ["\\.", "COMMIT;", ""]
    rows = [copied(line) for line in lines[:-3]]
    assert "\\." not in lines[:-3]
    assert [row[0] for row in rows] == HOSTILE
    assert [row[1] for row in rows] == labels
    found = np.array([json.loads(row[2]) for row in rows], dtype=np.float32)
    np.testing.assert_array_equal(found, VECTORS)


def test_sql_types_and_limits(tmp_path):
    write_embedding(tmp_path / "z.sql", [7, -8], VECTORS[:2].astype(np.float64), [True, None])
    text = (tmp_path / "z.sql").read_text()
    assert "id bigint PRIMARY KEY,\n  label boolean,\n" in text
    assert "\n-8\t\\N\t[" in text
    with pytest.raises(InputError, match="zero byte"):
        write_embedding(tmp_path / "bad.sql", ["a\0"], VECTORS[:1])
    with pytest.raises(InputError, match="at most 16,000 dimensions"):
        write_embedding(tmp_path / "bad.sql", [1], np.ones((1, 16_001)))
    for ending in ("sql", "jsonl"):
        with pytest.raises(InputError, match="cannot hold"):
            write_embedding(tmp_path / f"bad.{ending}", [1], np.array([[1e300]]))
        assert not (tmp_path / f"bad.{ending}").exists()


def test_batches_of_points(tmp_path):
    ids = [*HOSTILE, *map(str, range(600))]
    vectors = np.random.default_rng(0).normal(size=(len(ids), 2)).astype(np.float32)
    labels = [None, *range(len(ids) - 1)]
    write_embedding(tmp_path / "z.jsonl", ids, vectors, labels)
    lines = (tmp_path / "z.jsonl").read_text("utf-8").split("\n")
    batches = [json.loads(line)["points"] for line in lines[:-1]]
    assert [len(batch) for batch in batches] == [256, 256, len(ids) - 512]
    points = [point for batch in batches for point in batch]
    assert [point["payload"]["node_id"] for point in points] == ids
    assert [point["payload"].get("label") for point in points] == labels
    found = np.array([point["vector"] for point in points], dtype=np.float32)
    np.testing.assert_array_equal(found, vectors)
    assert len({uuid.UUID(point["id"]) for point in points}) == len(ids)
    write_embedding(tmp_path / "again.jsonl", ids[3:4], vectors[3:4])
    again = json.loads((tmp_path / "again.jsonl").read_text())["points"][0]
    assert again["id"] == points[3]["id"]  # uploaded again, it replaces the point


def test_integers_are_ids_of_points_where_they_can_be(tmp_path):
    write_embedding(tmp_path / "z.jsonl", [2**63 - 1, 0, -5], VECTORS[:3])
    points = json.loads((tmp_path / "z.jsonl").read_text())["points"]
    assert [point["id"] for point in points[:2]] == [2**63 - 1, 0]
    assert uuid.UUID(points[2]["id"])
    assert points[2]["payload"] == {"node_id": -5}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), unique=True
    ).filter(bool)
)
def test_any_text_is_an_id(tmp_path, ids):
    vectors = np.arange(len(ids), dtype=np.float32)[:, None]
    write_embedding(tmp_path / "z.sql", ids, vectors)
    lines = (tmp_path / "z.sql").read_bytes().decode().partition(" FROM stdin;\n")[2].split("\n")
    assert [copied(line) for line in lines[:-3]] == [[i, f"[{at}]"] for at, i in enumerate(ids)]
    write_embedding(tmp_path / "z.jsonl", ids, vectors)
    points = json.loads((tmp_path / "z.jsonl").read_bytes())["points"]
    assert [point["payload"]["node_id"] for point in points] == ids
