"""The same tables from every source give the same graph and the same features."""

import sqlite3
from contextlib import closing
from datetime import date, datetime, timedelta

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from messy_tables import WORDS

from graphgate import AttributeEncoder, InputError, from_networkx, from_tables, read_graph
from graphgate.io.table_files import write_table

N = 60
RNG = np.random.default_rng(0)
IDS = [f"n{at}" for at in range(N)]
PAIRS = sorted({(int(a), int(b)) for a, b in RNG.integers(0, N, (150, 2)) if a < b})
DAYS = [date(2020, 1, 1) + timedelta(int(day)) for day in RNG.integers(0, 900, N)]


def with_gaps(values):
    return [None if at % 7 == 3 else value for at, value in enumerate(values)]


NODES = {
    "id": IDS,
    "age": with_gaps(RNG.integers(18, 90, N).tolist()),
    "height": with_gaps(RNG.normal(170, 9, N).round(1).tolist()),
    "born": with_gaps(DAYS),
    "seen": with_gaps([datetime(d.year, d.month, d.day, 7, 30) for d in DAYS]),
    "told": [d.strftime("%d.%m.%Y") for d in DAYS],
    "member": with_gaps(["yes" if at % 3 else "no" for at in range(N)]),
    "town": with_gaps(RNG.choice(["Ulm", "Bern", "Łódź"], N).tolist()),
    "about": [" ".join(RNG.choice(WORDS["de"].split(), 7)) for _ in range(N)],
    "price": [f"€ {p:,.2f}" for p in RNG.lognormal(6, 1, N)],
    "tags": [", ".join(sorted(set(RNG.choice(list("abcd"), 3)))) for _ in range(N)],
}
EDGES = {
    "from": [IDS[a] for a, _ in PAIRS],
    "to": [IDS[b] for _, b in PAIRS],
}
TABLES = (pa.table(EDGES), pa.table(NODES))


def of_files(folder, ending):
    paths = [folder / f"{name}{ending}" for name in ("edges", "nodes")]
    for path, table in zip(paths, TABLES, strict=True):
        write_table(path, table)
    return read_graph(*paths)


def of_pandas(_):
    frames = [pd.DataFrame(columns) for columns in (EDGES, NODES)]
    frames[1]["seen"] = pd.to_datetime(frames[1]["seen"])
    return from_tables(*frames)


def of_networkx(_):
    g = nx.Graph()
    columns = {name: values for name, values in NODES.items() if name != "id"}
    for at, node in enumerate(IDS):
        present = {name: values[at] for name, values in columns.items() if values[at] is not None}
        g.add_node(node, **present)
    g.add_edges_from(zip(*EDGES.values(), strict=True))
    return from_networkx(g)


def of_sqlite(folder):
    path = folder / "shop.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        for name, columns in (("edges", EDGES), ("people", NODES)):
            marks = ", ".join("?" * len(columns))
            named = ", ".join(f'"{column}"' for column in columns)
            database.execute(f"CREATE TABLE {name} ({named})")
            rows = [
                [value.isoformat() if isinstance(value, date) else value for value in row]
                for row in zip(*columns.values(), strict=True)
            ]
            database.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    return read_graph(f"{path}:edges", f"{path}:SELECT * FROM people")


def of_duckdb(_):
    duckdb = pytest.importorskip("duckdb")
    edges, nodes = TABLES
    return from_tables(duckdb.from_arrow(edges), duckdb.from_arrow(nodes))


SOURCES = {
    "pandas": of_pandas,
    "polars": lambda _: from_tables(pl.DataFrame(EDGES), pl.DataFrame(NODES)),
    "lazy": lambda _: from_tables(pl.LazyFrame(EDGES), pl.LazyFrame(NODES)),
    "csv": lambda folder: of_files(folder, ".csv"),
    "parquet": lambda folder: of_files(folder, ".parquet"),
    "readers": lambda _: from_tables(*(table.to_reader() for table in TABLES)),
    "networkx": of_networkx,
    "sqlite": of_sqlite,
    "duckdb": of_duckdb,
}


def features(graph) -> pd.DataFrame:
    encoder = AttributeEncoder().fit(graph.attributes)
    x = encoder.transform(graph.attributes)
    dense = x if isinstance(x, np.ndarray) else x.toarray()
    names = encoder.get_feature_names_out()
    return pd.DataFrame(dense, index=graph.ids.tolist(), columns=names).sort_index(axis=1)


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_graph(source, tmp_path):
    expected = from_tables(*TABLES)
    graph = SOURCES[source](tmp_path)
    assert sorted(graph.ids.tolist()) == sorted(IDS)
    rows, wanted = graph.rows(IDS), expected.rows(IDS)
    assert (graph.adjacency[rows][:, rows] != expected.adjacency[wanted][:, wanted]).nnz == 0
    assert {c.name: c.kind for c in graph.reading.columns} == {
        c.name: c.kind for c in expected.reading.columns
    }
    pd.testing.assert_frame_equal(features(graph).loc[IDS], features(expected).loc[IDS], atol=1e-5)


def test_a_column_of_several_types_is_text():
    frame = pd.DataFrame({"id": [1, 2, 3], "odd": [1, "two", None]})
    graph = from_tables(pd.DataFrame({"source": [1], "target": [2]}), frame)
    assert graph.attributes["odd"].tolist() == ["1", "two", None]


def test_a_database_is_not_changed_and_errors_say_what_it_is(tmp_path):
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE edges (source, target)")
        database.execute("INSERT INTO edges VALUES (1, 2), (2, 3)")
    before = path.read_bytes()
    assert read_graph(f"{path}:edges").n_edges == 2
    for query, words in (("people", "no such table: people"), ("SELECT (", "incomplete input")):
        with pytest.raises(InputError, match=f"cannot be read: {words}"):
            read_graph(f"{path}:{query}")
    with pytest.raises(InputError, match="does not have the ending of a table"):
        read_graph(f"{path}")
    endless = "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a FROM n) SELECT * FROM n"
    with pytest.raises(InputError, match=r"more than the .* allowed"):
        read_graph(f"{path}:{endless}")
    assert path.read_bytes() == before
