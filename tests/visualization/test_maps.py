"""Maps: finite, reproducible points, one color per class, edges by attention."""

import io

import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from graphgate import Embedding, plot_embedding
from graphgate.tasks.edge_attention import edge_attention
from graphgate.visualization.maps import (
    BETWEEN_CLASSES,
    COLORS,
    RAMP,
    UNLABELLED,
    draw_edges,
    draw_nodes,
    project,
)


def embedding(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 12])
@pytest.mark.parametrize("d", [2, 7])
def test_one_point_per_node_however_few(n, d):
    points = project(embedding(n, d))
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_one_dimension_and_few_nodes(n):
    points = project(embedding(n, 1))
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()


@pytest.mark.parametrize("n", [4, 5, 12])
def test_one_dimension(n):
    points = project(embedding(n, 1))
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()


def test_more_dimensions_than_principal_components():
    points = project(embedding(60, 70))
    assert points.shape == (60, 2)
    assert np.isfinite(points).all()


def test_equal_vectors_have_finite_points():
    assert np.isfinite(project(np.ones((6, 4)))).all()


def test_the_same_seed_gives_the_same_points():
    vectors = embedding(12, 4)
    kept = vectors.copy()
    assert np.array_equal(project(vectors), project(vectors))
    assert np.array_equal(vectors, kept)


def test_two_clusters_stay_apart():
    vectors = embedding(40, 5)
    vectors[20:] += 50
    points = project(vectors)
    gap = np.linalg.norm(points[:20].mean(axis=0) - points[20:].mean(axis=0))
    spread = max(points[:20].std(axis=0).max(), points[20:].std(axis=0).max())
    assert gap > 3 * spread


POINTS = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]])


def test_one_collection_per_class():
    axes = draw_nodes(POINTS, np.array([0, 1, 0, 1]), ("Neural_Nets", 7), title="A map")
    assert isinstance(axes, Axes)
    first, second = axes.collections
    assert first.get_offsets().tolist() == [[0, 1], [4, 5]]
    assert second.get_offsets().tolist() == [[2, 3], [6, 7]]
    assert [to_hex(c.get_facecolor()[0]).upper() for c in (first, second)] == list(COLORS[:2])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Neural Nets", "7"]
    assert axes.get_title() == "A map"


def test_nodes_without_a_label():
    axes = draw_nodes(POINTS, np.array([-1, 0, -1, 0]), ("a", "b"))
    grey, colored = axes.collections  # nobody is in class b
    assert grey.get_offsets().tolist() == [[0, 1], [4, 5]]
    assert to_hex(grey.get_facecolor()[0]).upper() == UNLABELLED
    assert colored.get_offsets().tolist() == [[2, 3], [6, 7]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["no label", "a"]


def test_no_labels_at_all():
    axes = draw_nodes(POINTS)
    (only,) = axes.collections
    assert only.get_offsets().tolist() == POINTS.tolist()
    assert axes.get_legend() is None


def test_of_more_classes_than_colors_the_rare_ones_are_gray():
    n = len(COLORS) + 2
    codes = np.concatenate([np.arange(n), np.arange(2, n)])  # 0 and 1 are the rarest
    axes = draw_nodes(np.arange(2.0 * len(codes)).reshape(-1, 2), codes, range(n))
    rare, *others = axes.collections
    assert rare.get_label() == "other"
    assert len(rare.get_offsets()) == 2
    assert to_hex(rare.get_facecolor()[0]).upper() == UNLABELLED
    assert [each.get_label() for each in others] == [str(code) for code in range(2, n)]
    assert [to_hex(each.get_facecolor()[0]).upper() for each in others] == list(COLORS)


def luminance(color):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return np.dot(linear, [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("paper", ["#FBFBFA", "#14171B"])  # of the page, light and dark
def test_colors_are_visible_on_light_and_dark_backgrounds(paper):
    for color in (*COLORS, *RAMP, UNLABELLED):
        low, high = sorted([luminance(color), luminance(paper)])
        assert (high + 0.05) / (low + 0.05) > 1.8, color


# Machado et al. (2009): what readers with protanopia and deuteranopia see, of linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.28, 0.673, 0.047], [-0.012, 0.043, 0.969]],
}


@pytest.mark.parametrize("seen_by", VISION)
def test_the_first_ten_colors_differ_for_all_readers(seen_by):
    linear = np.array([to_rgb(color) for color in COLORS[:10]]) ** 2.2
    seen = np.clip(linear @ np.transpose(VISION[seen_by]), 0, 1) ** (1 / 2.2)
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=2)[np.triu_indices(10, 1)]
    assert apart.min() > (0.15 if seen_by == "normal" else 0.1)


@pytest.mark.parametrize("n", [1, 2])
def test_a_map_of_one_or_two_nodes(n):
    figure = draw_nodes(project(embedding(n, 3)), np.zeros(n, dtype=int), ("a",)).figure
    file = io.BytesIO()
    figure.savefig(file, format="png")
    assert file.getvalue().startswith(b"\x89PNG")


# A triangle of 0, 1, 2, and an isolated node 3; rows sum to 1.
ATTENTION = sp.csr_array(
    np.array([[0.5, 0.3, 0.2, 0], [0.1, 0.6, 0.3, 0], [0.25, 0.25, 0.5, 0], [0, 0, 0, 1.0]])
)


def test_edges_are_colored_by_shared_class_and_as_wide_as_their_attention():
    points = np.array([[0, 0], [1, 0], [0, 1], [1, 1.0]])
    axes = draw_edges(points, edge_attention(ATTENTION), np.array([0, 0, 1, 1]), ["a", "b"])
    (lines,) = axes.collections
    drawn = {
        tuple(map(tuple, segment)): (to_hex(color), width)
        for segment, color, width in zip(
            lines.get_segments(), lines.get_colors(), lines.get_linewidths(), strict=True
        )
    }
    assert drawn[(0, 0), (1, 0)][0] == COLORS[0].lower()
    assert drawn[(0, 0), (0, 1)][0] == drawn[(1, 0), (0, 1)][0] == BETWEEN_CLASSES.lower()
    widths = [drawn[key][1] for key in [((0, 0), (1, 0)), ((0, 0), (0, 1)), ((1, 0), (0, 1))]]
    assert widths == sorted(widths)
    assert widths[0] < widths[2]
    colors = [to_hex(color) for color in lines.get_colors()]  # in drawing order
    assert colors == [BETWEEN_CLASSES.lower()] * 2 + [COLORS[0].lower()]
    order = [drawn[tuple(map(tuple, segment))][1] for segment in lines.get_segments()]
    assert order[0] < order[1]  # thin before thick
    assert BETWEEN_CLASSES not in COLORS


def test_a_graph_without_edges_or_labels_is_drawn():
    axes = draw_edges(np.zeros((2, 2)), edge_attention(sp.csr_array(np.eye(2))))
    assert axes.get_legend() is None


def test_plot_embedding_projects_and_colors_by_label():
    vectors = embedding(12, 4)
    axes = plot_embedding(vectors, ["a", "b"] * 6, title="mine")
    first, second = axes.collections
    points = project(vectors)
    assert np.array_equal(first.get_offsets(), points[::2])
    assert np.array_equal(second.get_offsets(), points[1::2])
    assert axes.get_title() == "mine"
    own = Embedding(np.arange(12), vectors, ["a"] * 11 + [None])
    assert [len(c.get_offsets()) for c in plot_embedding(own).collections] == [1, 11]
    given = Figure().subplots()
    assert plot_embedding(vectors, ax=given) is given
    assert len(given.collections) == 1
