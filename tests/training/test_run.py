"""GATE by parts, from the estimator: resumed, in several processes, of many graphs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from graphs import random_graph
from processes import run_in_processes
from rounding import assert_equal_to_rounding

from graphgate.compute.processes import current_processes
from graphgate.errors import InputError, TrainingWarning
from graphgate.estimators.gate import GATE
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.graph.graph import Graph
from graphgate.graph.joining import join_graphs
from graphgate.nn import collapsed

pytestmark = pytest.mark.numerical

SETTINGS = {
    "dims": (6, 4),
    "random_state": 3,
    "progress": False,
    "batch_size": 25,
    "patience": float("inf"),
}


# Adam divides by the size of gradients, which enlarges rounding; in double precision, less is left.
SHARED = SETTINGS | {"parts_per_step": 3, "dtype": "float64"}


def weights(gate: GATE) -> list[list[float]]:
    return [parameter.tolist() for parameter in gate.model_.parameters()]


def test_parts_lower_the_loss_of_the_whole_graph():
    graph = random_graph(0, n=120)
    gate = GATE(**SETTINGS, epochs=20).fit(graph)
    assert len(gate.history_) == 20
    assert gate.history_["loss"][-1] < 0.7 * gate.history_["loss"][0]
    assert_equal_to_rounding(gate.transform(graph), gate.embedding_)
    again = GATE(**SETTINGS, epochs=20).fit(graph)
    assert gate.embedding_.tobytes() == again.embedding_.tobytes()
    other = GATE(**SETTINGS | {"random_state": 4}, epochs=20).fit(graph)
    assert gate.history_["loss"] != other.history_["loss"]


def test_a_resumed_run_is_bit_identical(tmp_path):
    graph = random_graph(0, n=120)
    expected = GATE(**SETTINGS, epochs=9).fit(graph)
    saved = SETTINGS | {"checkpoint": tmp_path / "c"}
    GATE(**saved, epochs=4).fit(graph)
    resumed = GATE(**saved, epochs=9).fit(graph)
    assert resumed.history_["loss"] == expected.history_["loss"]
    assert weights(resumed) == weights(expected)
    with pytest.raises(InputError, match="past the 5 requested"):
        GATE(**saved, epochs=5).fit(graph)
    again = GATE(**saved | {"parts_per_step": 2}, epochs=4).fit(
        graph
    )  # another run: from the start
    assert len(again.history_) == 4


def test_a_batch_size_beyond_the_graph_is_the_full_batch():
    graph = random_graph(0, n=40)
    full = GATE(**SETTINGS | {"batch_size": "full"}, epochs=5).fit(graph)
    for size in (40, "auto"):
        found = GATE(**SETTINGS | {"batch_size": size}, epochs=5).fit(graph)
        assert found.embedding_.tobytes() == full.embedding_.tobytes()


@pytest.mark.parametrize("value", [0, "half", 2.5, True])
def test_refuses_other_batch_sizes(value):
    with pytest.raises(InputError, match=r"batch_size .*must be"):
        GATE(batch_size=value).fit(random_graph(0))


def fit_in_process(processes, path) -> tuple[np.ndarray, list]:
    assert current_processes() is processes
    settings = SHARED | {"checkpoint": path, "checkpoint_every": 2}
    graph = random_graph(0, n=120)
    GATE(**settings, epochs=3).fit(graph)
    gate = GATE(**settings, epochs=6).fit(graph)  # resumed in both
    return gate.embedding_, weights(gate)


def different_in_process(processes) -> tuple[str, list[str]]:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            settings = SETTINGS | {"parts_per_step": 1}
            GATE(**settings, epochs=3).fit(random_graph(processes.rank, n=120))
        except InputError as error:
            return str(error), [str(each.message) for each in warned]
    return "", []


@pytest.mark.parametrize("block", [None, 1, 3], ids=["whole", "4 blocks", "2 uneven blocks"])
def test_two_processes_agree_with_one(block, tmp_path, monkeypatch):
    """Also where they share the blocks of columns in which an embedding is computed."""
    if block is not None:
        monkeypatch.setattr(collapsed, "_LARGEST_BLOCK", 1)
        monkeypatch.setattr(collapsed, "_NARROWEST", block)
    expected = GATE(**SHARED, epochs=6).fit(random_graph(0, n=120))
    first, second = run_in_processes(2, fit_in_process, tmp_path / "c")
    assert first[1] == second[1]  # one model, so that they go on together
    for embedding, _ in (first, second):
        assert_equal_to_rounding(embedding, expected.embedding_, 1000)


def test_processes_with_different_graphs_or_without_work_are_told():
    first, second = run_in_processes(2, different_in_process)
    for message, _ in (first, second):
        assert "different graphs or parameters" in message
    assert [each for each in first[1] if "parts_per_step is 1; raise it" in each]
    assert not second[1]


@pytest.mark.parametrize("dense", [False, True])
def test_an_embedding_by_blocks_of_columns_is_the_same(monkeypatch, dense):
    graph = random_graph(0, n=60, dense=dense, weighted=True)
    gate = GATE(**SETTINGS | {"dtype": "float64", "batch_size": "full"}, epochs=5).fit(graph)
    expected = gate.transform(graph)
    widths = []
    product = collapsed.attention_product
    monkeypatch.setattr(
        collapsed,
        "attention_product",
        lambda pattern, values, m: widths.append(m.shape[1]) or product(pattern, values, m),
    )
    monkeypatch.setattr(collapsed, "_LARGEST_BLOCK", 3 * 60 * 8)
    monkeypatch.setattr(collapsed, "_NARROWEST", 1)
    np.testing.assert_allclose(gate.transform(graph), expected, rtol=1e-12)
    assert widths[-4:] == [3, 3, 1, 1]


@pytest.mark.parametrize(
    ("n_nodes", "n_columns", "itemsize", "width"),
    [
        *[(1000, 512, 4, 512), (4096, 512, 4, 256), (4096, 512, 8, 128)],
        *[(10**6, 512, 4, 16), (10**6, 8, 4, 8)],
    ],
)
def test_blocks_of_an_embedding_are_narrow_but_not_too_narrow(n_nodes, n_columns, itemsize, width):
    assert collapsed.block_width(n_nodes, n_columns, itemsize) == width


def graphs_of_several_sizes() -> list[Graph]:
    return [random_graph(k, n=6 + k % 5) for k in range(12)]


@pytest.mark.filterwarnings("ignore:.*nodes have the same vector")
@pytest.mark.parametrize("batch_size", ["full", 30])
def test_a_list_of_graphs_is_their_union(batch_size):
    graphs = graphs_of_several_sizes()
    settings = SETTINGS | {"batch_size": batch_size}
    gate = GATE(**settings, epochs=5).fit(graphs)
    union = GATE(**settings, epochs=5).fit(join_graphs(graphs))
    assert_equal_to_rounding(gate.embedding_, union.embedding_, 100)
    assert_equal_to_rounding(gate.transform(graphs), gate.embedding_)
    one_by_one = np.concatenate([gate.transform(graph) for graph in graphs])
    np.testing.assert_allclose(one_by_one, gate.embedding_, rtol=1e-5, atol=1e-6)
    assert_equal_to_rounding(gate.transform(graphs, nodes=[(2, 0)])[0], gate.embedding_[13])
    frame = GATE(**settings, epochs=5).set_output(transform="pandas").fit_transform(graphs)
    assert frame.index[6] == (1, 0)


def test_lists_of_attributed_graphs_are_encoded_together():
    towns = [["Ulm", "Bern"], ["Bern", "Rom"], ["Rom", "Ulm"]]
    graphs = [
        Graph.from_edges(None, [(0, 1)], attributes={"town": pair, "age": [k, None]}, ids=[0, 1])
        for k, pair in enumerate(towns)
    ]
    with pytest.warns(TrainingWarning):
        gate = GATE((3,), epochs=1, random_state=0, progress=False).fit(graphs)
    assert sum("town" in name for name in gate.feature_names_in_) == 3
    assert gate.embedding_.shape == (6, 3)
    np.testing.assert_allclose(gate.transform([graphs[1]]), gate.embedding_[2:4], rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.*nodes have the same vector")
def test_the_linear_method_takes_lists_too():
    graphs = graphs_of_several_sizes()
    found = LinearGATE(n_components=4, structure=False, random_state=0).fit(graphs)
    union = LinearGATE(n_components=4, structure=False, random_state=0).fit(join_graphs(graphs))
    assert_equal_to_rounding(found.embedding_, union.embedding_, 10)
    np.testing.assert_allclose(found.transform(graphs), found.embedding_, atol=1e-5)


def test_sparse_features_are_trained_on_by_parts():
    x = sp.random_array((150, 40), density=0.1, format="csr", random_state=0, dtype=np.float32)
    edges = np.random.default_rng(0).integers(0, 150, (400, 2))
    gate = GATE(**SETTINGS, epochs=6).fit(Graph.from_edges(x, edges))
    assert np.isfinite(gate.embedding_).all()


def test_by_parts_it_takes_more_epochs_to_see_that_the_loss_stalls():
    def stops(**settings) -> list[tuple[float, float]]:
        found = [
            GATE(**settings).checked_settings(5, by_parts=by_parts)[2] for by_parts in (False, True)
        ]
        return [(schedule.patience, schedule.tolerance) for schedule in found]

    assert stops() == [(5, 0.02), (10, 0.04)]
    assert stops(patience=3, tolerance=0.5) == [(3, 0.5)] * 2
    assert stops(preset="authors") == [(None, 1e-4)] * 2


def test_only_weights_for_the_whole_graph_are_enlarged(monkeypatch):
    judged = []
    monkeypatch.setattr(
        "graphgate.training.run.start_from_features", lambda m, g, loss, rng: judged.append(loss)
    )
    for size in ("full", 25):
        GATE(**SETTINGS | {"batch_size": size}, epochs=2).fit(random_graph(0, n=60))
    assert [loss is None for loss in judged] == [False, True]
