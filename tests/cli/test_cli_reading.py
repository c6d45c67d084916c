"""From the files that people have to an embedding, and back to the same vectors."""

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from rounding import assert_equal_to_rounding

from graphgate import GATE, read_embedding, read_graph
from graphgate.paper.experiments.protocol import embed_nodes

PEOPLE = pd.DataFrame(
    {
        "who": [f"p{at}" for at in range(12)],
        "age": [20.0, None, *range(30, 40)],
        "town": ["Ulm", "Bern", "Ulm", None] * 3,
        "vip": [True, False] * 6,
        "about": ["reads books", "writes", "reads letters", ""] * 3,
        "passport": [f"X{at}" for at in range(12)],
        "team": ["a", "b", "c"] * 4,
    }
)
TIES = pd.DataFrame(
    {
        "from": [f"p{at}" for at in range(12)] + ["p1", "stranger"],
        "to": [f"p{(at + 1) % 12}" for at in range(12)] + ["p7", "p3"],
        "since": range(14),
    }
)
COLUMNS = ["--source", "from", "--target", "to", "--id", "who", "--label", "team"]
CHOSEN = [*COLUMNS, "--words", "about", "--drop", "passport"]
SETTINGS = ["--dims", "6,3", "--epochs", "20", "--learning-rate", "0.01", "--seed", "1"]
NAMES = {"source": "from", "target": "to", "id": "who", "label": "team"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    TIES.to_csv("ties.csv.gz", index=False)
    PEOPLE.to_parquet("people.parquet")
    TIES.to_parquet("ties.parquet")
    return tmp_path


def vectors(path: str) -> np.ndarray:
    return read_embedding(path).vectors


@pytest.mark.parametrize(
    ("edges", "nodes"), [("ties.csv.gz", "people.csv"), ("ties.parquet", "people.parquet")]
)
def test_one_command_turns_tables_into_vectors_and_a_page(run, edges, nodes):
    code, out, err = run(
        *("embed", edges, "--nodes", nodes, *CHOSEN, *SETTINGS),
        *("--out", "z.parquet", "--page", "page.html"),
    )
    assert code == 0, err
    assert "note: " in err
    assert "stranger" in err  # an edge to a node that the table lacks is reported
    assert "ignored: since" in err  # and so is a column that nobody asked for
    found = read_embedding("z.parquet")
    assert found.ids.tolist() == PEOPLE.who.tolist()
    assert found.labels == PEOPLE.team.tolist()
    assert found.vectors.shape == (12, 3)
    assert Path("page.html").read_text("utf-8").startswith("<!doctype html>")
    assert "page.html" in out


def test_a_column_that_only_identifies_is_left_out(run):
    PEOPLE.loc[PEOPLE.index.repeat(3)].assign(
        who=[*PEOPLE.who, *(f"q{at}" for at in range(24))], passport=[f"Y{at}" for at in range(36)]
    ).to_csv("many.csv", index=False)
    code, _, err = run("embed", "ties.csv.gz", "--nodes", "many.csv", *COLUMNS, "--out", "y.csv")
    assert code == 0, err
    assert "passport (codes, each of which occurs once)" in err


@pytest.mark.parametrize("rule", ["add", "refuse"])
def test_what_happens_to_unknown_nodes_is_reported(run, rule):
    code, _, err = run(
        *("embed", "ties.csv.gz", "--nodes", "people.csv", *CHOSEN, *SETTINGS),
        *("--unknown-nodes", rule, "--out", "z.parquet"),
    )
    assert "stranger" in err
    assert code == (0 if rule == "add" else 2)
    if rule == "add":
        assert read_embedding("z.parquet").ids.tolist() == [*PEOPLE.who, "stranger"]


@pytest.mark.numerical
def test_a_saved_model_gives_the_same_vectors_whatever_the_order_of_columns(run):
    code, _, err = run(
        *("embed", "ties.csv.gz", "--nodes", "people.csv", *CHOSEN, *SETTINGS),
        *("--out", "z.npy", "--model", "m.safetensors"),
    )
    assert code == 0, err
    PEOPLE[PEOPLE.columns[::-1]].to_csv("turned.csv", index=False)
    for nodes in ("people.csv", "turned.csv", "people.parquet"):
        code, _, err = run(
            *("transform", "m.safetensors", "ties.csv.gz", "--nodes", nodes),
            *("--out", "again.npy", "--unknown-nodes", "drop"),
        )
        assert code == 0, err
        assert "passport" not in err  # dropped, as in training
        assert_equal_to_rounding(np.load("again.npy"), np.load("z.npy"))
    PEOPLE.drop(columns="age").to_csv("less.csv", index=False)
    code, _, err = run(
        *("transform", "m.safetensors", "ties.csv.gz", "--nodes", "less.csv", *COLUMNS),
        *("--out", "less.npy", "--unknown-nodes", "drop"),
    )
    assert code == 2
    assert "'age'" in err.splitlines()[-1]


@pytest.mark.numerical
def test_unseen_nodes_are_embedded_as_the_inductive_evaluation_does(run):
    """Trained on a part, applied to the whole, through files and through the protocol."""
    TIES.drop(columns="since").iloc[:-1].to_parquet("ties.parquet")
    whole = read_graph(
        *("ties.parquet", "people.parquet"), **NAMES, drop=["passport"], words=["about"]
    )
    unseen = np.isin(whole.ids, ["p2", "p5", "p9"])
    whole = whole.with_splits({"test": unseen})
    settings = {"dims": (6, 3), "epochs": 20, "learning_rate": 0.01, "random_state": 1}
    expected = embed_nodes(GATE(**settings), whole, "inductive", ("test",))
    PEOPLE[~unseen].to_parquet("seen.parquet")
    seen = TIES[TIES["from"].isin(PEOPLE.who[~unseen]) & TIES["to"].isin(PEOPLE.who[~unseen])]
    seen.to_parquet("seen_ties.parquet")  # both with the index that pandas keeps of a part
    run(
        *("embed", "seen_ties.parquet", "--nodes", "seen.parquet", *CHOSEN, *SETTINGS),
        *("--out", "seen.npy", "--model", "m.safetensors"),
    )
    code, _, err = run(
        *("transform", "m.safetensors", "ties.parquet", "--nodes", "people.parquet", *CHOSEN),
        *("--out", "all.npy"),
    )
    assert code == 0, err
    assert_equal_to_rounding(np.load("all.npy"), expected, 100)


def test_errors_of_the_encoder_name_the_file(run):
    Path("edges.csv").write_text("source,target\n0,1\n")
    lines = [f"{at},{'xy'[at % 2]},{at % 7}\n" for at in range(30)]
    Path("nodes.csv").write_text("id,town,town=x\n" + "".join(lines))
    code, _, err = run("embed", "edges.csv", "--nodes", "nodes.csv", *SETTINGS, "--out", "z.csv")
    assert code == 2
    assert "nodes.csv: two features would be named 'town=x'" in err


def test_edges_alone_are_enough(run):
    graph = nx.karate_club_graph()
    nx.write_graphml(graph, "karate.graphml")
    pd.DataFrame(graph.edges, columns=["source", "target"]).to_csv("edges.csv", index=False)
    code, _, err = run(
        "embed", "edges.csv", *SETTINGS, "--out", "z.csv", "--model", "m.safetensors"
    )
    assert code == 0, err
    assert "no features" in err
    code, _, err = run("transform", "m.safetensors", "edges.csv", "--out", "again.csv")
    assert code == 0, err
    again, z = (read_embedding(name) for name in ("again.csv", "z.csv"))
    assert again.ids.tolist() == z.ids.tolist()
    np.testing.assert_allclose(again.vectors, z.vectors, rtol=1e-4, atol=1e-6)
    code, _, err = run(
        "embed", "karate.graphml", *SETTINGS, "--label", "club", "--out", "k.parquet"
    )
    assert code == 0, err
    assert set(read_embedding("k.parquet").labels) == {"Mr. Hi", "Officer"}


@pytest.mark.numerical
def test_a_repeated_run_reads_its_files_as_it_did(run):
    code, _, err = run(
        *("embed", "ties.csv.gz", "--nodes", "people.csv", *CHOSEN, *SETTINGS, "--run", "kept")
    )
    assert code == 0, err
    record = json.loads(Path("kept/run.json").read_text("utf-8"))["reading"]
    assert record["words"] == ["about"]
    assert record["id"] == "who"
    code, out, err = run("embed", "--repeat", "kept", "--out", "z.npy")
    assert code == 0, err
    assert "embedding: bit-identical to that of the run" in out
    assert vectors("kept/embedding.parquet").tobytes() == np.load("z.npy").tobytes()
    record = json.loads(Path("kept/run.json").read_text("utf-8"))
    Path("kept/run.json").write_text(json.dumps(record | {"reading": {"speed": 1}}))
    code, _, err = run("embed", "--repeat", "kept", "--out", "y.npy")
    assert code == 2
    assert "unknown reading option" in err


@pytest.mark.parametrize("command", ["links", "estimate", "explore", "figures"])
def test_every_command_that_reads_a_graph_takes_the_same_options(run, command):
    more = {"explore": ["--out", "p.html"]}.get(command, [])
    given = ("ties.csv.gz", "--nodes", "people.csv", *COLUMNS, "--drop", "wrong")
    code, _, err = run(command, *given, *more)
    assert code == 2
    assert "no column 'wrong'" in err


MORE = PEOPLE.assign(town=["Ulm", "Rome", "Oslo", "Ulm"] * 3, about="reads")


def test_a_reconstruction_of_other_nodes_is_named_by_the_features_of_the_model(run):
    common = ("--source", "from", "--target", "to", "--id", "who", "--label", "team")
    code, _, err = run(
        *("embed", "ties.parquet", "--nodes", "people.parquet", *CHOSEN, *SETTINGS),
        *("--out", "z.npy", "--model", "m.safetensors"),
    )
    assert code == 0, err
    MORE.to_parquet("more.parquet")
    code, _, err = run(
        *("transform", "m.safetensors", "ties.parquet", "--nodes", "more.parquet", *common),
        *(
            "--unknown-nodes",
            "drop",
            "--out",
            "more.npy",
            "--attention",
            "a.csv",
            "--reconstruction",
            "r.csv",
        ),
    )
    assert code == 0, err
    gate = GATE.load("m.safetensors")
    assert pd.read_csv("r.csv").columns.tolist() == ["node_id", *gate.feature_names_in_]
    assert err.count("were not seen in fit") == 1  # once, however much is written


def test_what_no_file_can_store_is_refused_before_training(run, monkeypatch):
    monkeypatch.setattr(GATE, "fit", lambda *_: pytest.fail("trained in vain"))
    PEOPLE.assign(who=[*PEOPLE.who[:-1], "p 11"], node_id=1.0).to_csv("spaced.csv", index=False)
    for out, words in [
        (["--out", "z.txt"], "white space"),
        (["--out", "z.csv", "--reconstruction", "r.csv"], "a feature is named 'node_id'"),
    ]:
        code, _, err = run("embed", "ties.csv.gz", "--nodes", "spaced.csv", *CHOSEN, *out)
        assert code == 2
        assert words in err.splitlines()[-1]


@pytest.mark.parametrize("ending", ["csv", "npz", "parquet"])
@pytest.mark.parametrize("labels", [[True, False, None], [0.5, 1.5, None]])
def test_labels_may_be_booleans_and_numbers(run, labels, ending):
    PEOPLE.assign(team=pd.array(labels * 4)).to_parquet("people.parquet")
    code, _, err = run(
        *("embed", "ties.parquet", "--nodes", "people.parquet", *CHOSEN, *SETTINGS),
        *("--out", f"z.{ending}"),
    )
    assert code == 0, err
    spelled = [None if label is None else str(label).lower() for label in labels]
    expected = spelled if ending == "csv" else labels
    assert read_embedding(f"z.{ending}").labels == expected * 4
    assert run("classify", f"z.{ending}", "--folds", "2", "--out", "predicted.csv")[0] == 0


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--directed", "trained on undirected edges; omit --directed"),
        ("--no-scale", "the model scales numbers as in training; omit --no-scale"),
    ],
)
def test_options_that_contradict_the_model_are_refused(run, option, words):
    embed_ = ("embed", "ties.parquet", "--nodes", "people.parquet", *CHOSEN, *SETTINGS)
    run(*embed_, "--out", "z.npy", "--model", "m.safetensors")
    code, _, err = run(
        *("transform", "m.safetensors", "ties.parquet", "--nodes", "people.parquet", *CHOSEN),
        *("--out", "again.npy", option),
    )
    assert code == 2
    assert words in err
