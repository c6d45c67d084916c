"""Nodes that an embedding does not distinguish."""

import warnings

import numpy as np
import pytest
import torch
from torch_geometric.data import HeteroData

from graphgate import GATE, Graph, InputWarning, LinearGATE, from_pyg
from graphgate.estimators import equal_vectors
from graphgate.estimators.equal_vectors import equal_groups, warn_of_equal_vectors
from graphgate.io.graph_writer import write_graph

USERS, MOVIES = 60, 20


def ratings() -> HeteroData:
    """Users without features, each of whom rates three movies."""
    rng = np.random.default_rng(0)
    data = HeteroData()
    data["user"].num_nodes = USERS
    data["movie"].x = torch.from_numpy(rng.normal(size=(MOVIES, 8)).astype(np.float32))
    rated = [rng.choice(MOVIES, 3, replace=False) for _ in range(USERS)]
    pairs = np.stack([np.repeat(np.arange(USERS), 3), np.concatenate(rated)])
    data["user", "rates", "movie"].edge_index = torch.from_numpy(pairs)
    return data


ESTIMATORS = [
    LinearGATE(n_components=8, random_state=0, progress=False),
    GATE(dims=(8, 4), epochs=3, random_state=0, progress=False),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=["linear", "gate"])
@pytest.mark.filterwarnings("ignore::graphgate.errors.TrainingWarning")
def test_users_that_no_edge_reaches(estimator):
    data = ratings()
    one_way = from_pyg(data, directed=True)
    sentence = (
        "60 of 80 nodes have the same vector as at least 9 others, such as 'user:.*both directions"
    )
    with pytest.warns(InputWarning, match=sentence):
        z = estimator.fit(one_way).embedding_
    assert np.ptp(z[:USERS], axis=0).max() < 1e-5
    with pytest.warns(InputWarning, match=sentence):
        estimator.transform(one_way)
    both = from_pyg(data)
    with warnings.catch_warnings(action="error", category=InputWarning):
        z = estimator.fit(both).embedding_
        estimator.transform(both)
    assert equal_groups(z[:USERS]).max() > USERS - 5  # some may have rated the same movies


def test_the_command_line_says_it_too(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = from_pyg(ratings(), directed=True)
    with pytest.warns(InputWarning, match="read the same graph with directed=True"):
        write_graph(".", graph)
    files = ["edges.csv", "--nodes", "nodes.csv", "--out", "z.csv", "--components", "4"]
    code, _, err = run("embed", *files, "--directed")
    assert (code, err.count("\nnote: 60 of 80 nodes have the same vector")) == (0, 1)
    code, _, err = run("embed", *files)
    assert (code, "the same vector" in err) == (0, False)


@pytest.mark.parametrize("rows", [16, 199, 1 << 14])
def test_equal_rows_are_those_of_all_pairs(monkeypatch, rows):
    monkeypatch.setattr(equal_vectors, "_ROWS", rows)
    rng = np.random.default_rng(0)
    z = rng.normal(size=(40, 5)).astype(np.float32)[rng.integers(0, 40, 200)]
    z[:7] = 0
    equal = (np.abs(z[:, None] - z) < 1e-6).all(axis=2)
    noise = 1 + 1e-7 * rng.normal(size=z.shape).astype(np.float32)
    for vectors in (z, z * noise):
        groups = equal_groups(vectors)
        assert (equal == (groups[:, None] == groups)).all()
        assert np.unique(groups).tolist() == [*range(groups.max() + 1)]


def test_few_equal_vectors_are_not_worth_a_warning():
    z = np.random.default_rng(0).normal(size=(300, 3))
    z[:14] = 1
    z[20:200] = np.repeat(z[20:200:9], 9, axis=0)  # small groups
    graph = Graph(adjacency=np.zeros((300, 300)))
    warn_of_equal_vectors(z, graph)
    assert equal_groups(z[:1]).tolist() == [0]
    z[14] = 1
    with pytest.warns(InputWarning, match="15 of 300 nodes .*distinguish them; add features"):
        warn_of_equal_vectors(z, graph)
