"""Attention of edges in numbers and as a picture, against sums written out."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.colors import to_hex

from graphgate import GATE, Graph
from graphgate.errors import InputError
from graphgate.experiments.experiment import find_experiment
from graphgate.experiments.protocol import RunResult
from graphgate.experiments.run_store import RunSpec, RunStore
from graphgate.tasks.edge_attention import class_attention, edge_attention
from graphgate.visualization.bars import Bars, draw_bars
from graphgate.visualization.edge_map import draw_edge_map
from graphgate.visualization.gallery import ablation_figures, graph_figures, write_figures
from graphgate.visualization.loss_curve import draw_losses
from graphgate.visualization.node_map import COLORS

# 0-1, 1-2, 2-0 and 3 alone; rows add up to 1.
ATTENTION = sp.csr_array(
    np.array([[0.5, 0.3, 0.2, 0], [0.1, 0.6, 0.3, 0], [0.25, 0.25, 0.5, 0], [0, 0, 0, 1.0]])
)


def test_an_edge_has_the_mean_of_its_two_directions():
    found = edge_attention(ATTENTION)
    assert found.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert found.raw == pytest.approx([0.2, 0.225, 0.275])
    assert found.corrected == pytest.approx([0.6, 0.675, 0.825])  # three neighbours each


def test_attention_that_treats_all_alike_is_one_once_degrees_are_out():
    rng = np.random.default_rng(0)
    graph = Graph(np.ones((30, 2)), np.triu(rng.random((30, 30)) < 0.2, 1))
    gate = GATE(dims=(4,), epochs=1, attention="uniform", random_state=0).fit(graph)
    found = edge_attention(gate.attention_.average)
    assert len(found.edges) == graph.n_edges
    assert found.corrected == pytest.approx(np.ones(graph.n_edges), rel=1e-6)
    assert np.ptp(found.raw) > 0.05  # degrees alone


def test_classes_by_hand():
    told = class_attention(edge_attention(ATTENTION), np.array([0, 0, 1, 1]))
    assert (told.same_edges, told.other_edges) == (1, 2)
    assert told.raw_ratio == pytest.approx(0.2 / 0.25)
    assert told.corrected_ratio == pytest.approx(0.6 / 0.75)
    assert told.to_dict()["bound"] == pytest.approx(math.e)


def test_edges_with_an_unlabelled_end_do_not_count():
    told = class_attention(edge_attention(ATTENTION), np.array([0, 0, -1, 1]))
    assert told is None  # no edge between classes is left


def test_the_ratio_stays_below_its_bound():
    rng = np.random.default_rng(1)
    graph = Graph(10 * rng.normal(size=(60, 5)), np.triu(rng.random((60, 60)) < 0.1, 1))
    gate = GATE(dims=(4, 4), epochs=30, learning_rate=0.1, random_state=0).fit(graph)
    for layer in gate.attention_.encoder:
        for row in range(60):
            values = layer.data[layer.indptr[row] : layer.indptr[row + 1]]
            assert values.max() <= math.e * values.min() * (1 + 1e-6)


def test_edges_are_coloured_where_both_ends_agree_and_thick_by_attention():
    points = np.array([[0, 0], [1, 0], [0, 1], [1, 1.0]])
    figure = draw_edge_map(points, edge_attention(ATTENTION), np.array([0, 0, 1, 1]), ["a", "b"])
    (lines,) = figure.axes[0].collections
    drawn = {
        tuple(map(tuple, segment)): (to_hex(color), width)
        for segment, color, width in zip(
            lines.get_segments(), lines.get_colors(), lines.get_linewidths(), strict=True
        )
    }
    assert drawn[(0, 0), (1, 0)][0] == COLORS[0].lower()
    assert drawn[(0, 0), (0, 1)][0] == drawn[(1, 0), (0, 1)][0] == "#000000"
    widths = [drawn[key][1] for key in [((0, 0), (1, 0)), ((0, 0), (0, 1)), ((1, 0), (0, 1))]]
    assert widths == sorted(widths)
    assert widths[0] < widths[2]
    assert "#000000" not in COLORS  # black is for edges between classes


def test_a_graph_without_edges_or_labels_is_drawn():
    figure = draw_edge_map(np.zeros((2, 2)), edge_attention(sp.csr_array(np.eye(2))))
    assert len(figure.axes) == 1


def test_bars_have_their_heights_and_the_published_marks():
    bars = Bars("GATE", [(83.0, 0.5), None], [(83.2, 0.6), (80.9, None)])
    figure = draw_bars(["Cora", "Pubmed"], [bars])
    axes = figure.axes[0]
    assert [round(bar.get_height(), 1) for bar in axes.patches] == [83.0]
    marks = axes.lines[-1] if axes.lines else None
    assert marks is not None
    heights = [y for line in axes.lines for y in np.atleast_1d(line.get_ydata())]
    assert {83.2, 80.9} <= {round(float(y), 1) for y in heights}


def test_losses_one_line_a_series():
    figure = draw_losses({"loss": [3.0, 2.0], "features": [1.0, 0.5]})
    axes = figure.axes[0]
    assert [list(line.get_ydata()) for line in axes.lines] == [[3.0, 2.0], [1.0, 0.5]]
    assert axes.get_yscale() == "log"
    assert draw_losses({"loss": [1.0, -1.0]}).axes[0].get_yscale() == "linear"


def test_ablation_charts_come_from_stored_runs(tmp_path):
    store = RunStore(tmp_path / "runs")
    assert ablation_figures(tmp_path) == {}
    experiment = find_experiment("gate-uniform", "cora", "transductive")
    for seed, accuracy in enumerate((80.0, 84.0)):
        metrics = {"accuracy": accuracy, "macro_f1": 80.0, "val_accuracy": None}
        spec = RunSpec.of(experiment, "public", experiment.params, seed)
        store.add(spec, RunResult(seed, metrics, 1.0, 1.0, 1))
    made = ablation_figures(tmp_path)
    assert list(made) == ["ablation-transductive"]
    heights = [bar.get_height() for bar in made["ablation-transductive"].axes[0].patches]
    assert heights == [82.0]


def test_figures_are_files_that_do_not_change(tmp_path):
    rng = np.random.default_rng(0)
    graph = Graph(rng.random((20, 3)), np.triu(rng.random((20, 20)) < 0.3, 1), labels=[0, 1] * 10)
    gate = GATE(dims=(4,), epochs=2, random_state=0).fit(graph)
    contents = []
    for name in ("one", "two"):
        made = graph_figures("mine", graph, gate.embedding_, gate.attention_.average)
        files = list(write_figures(made, tmp_path / name, ("png", "svg", "pdf")))
        assert len(files) == 6
        contents.append([file.read_bytes() for file in files if file.suffix != ".svg"])
    assert contents[0] == contents[1]
    assert not list(tmp_path.rglob("*.part"))
    with pytest.raises(InputError, match="unknown format 'gif'"):
        list(write_figures({}, tmp_path, ("gif",)))
