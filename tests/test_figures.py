"""The map of nodes: finite, repeatable points, and one colour a class."""

import io

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from graphgate.visualization.node_map import COLORS, UNLABELLED, draw_node_map, project


def embedding(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 12])
@pytest.mark.parametrize("d", [2, 7])
def test_a_point_a_node_however_few(n, d):
    points = project(embedding(n, d))
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_an_embedding_of_one_number_and_few_nodes(n):
    points = project(embedding(n, 1))
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()


@pytest.mark.parametrize("n", [4, 5, 12])
def test_an_embedding_of_one_number(n):
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


def test_one_collection_a_class():
    figure = draw_node_map(POINTS, np.array([0, 1, 0, 1]), ("Neural_Nets", 7), title="A map")
    assert isinstance(figure, Figure)
    (axes,) = figure.axes
    first, second = axes.collections
    assert first.get_offsets().tolist() == [[0, 1], [4, 5]]
    assert second.get_offsets().tolist() == [[2, 3], [6, 7]]
    assert [to_hex(c.get_facecolor()[0]).upper() for c in (first, second)] == list(COLORS[:2])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Neural Nets", "7"]
    assert axes.get_title() == "A map"


def test_nodes_without_a_label():
    figure = draw_node_map(POINTS, np.array([-1, 0, -1, 0]), ("a", "b"))
    (axes,) = figure.axes
    grey, coloured = axes.collections  # nobody is in class b
    assert grey.get_offsets().tolist() == [[0, 1], [4, 5]]
    assert to_hex(grey.get_facecolor()[0]).upper() == UNLABELLED
    assert coloured.get_offsets().tolist() == [[2, 3], [6, 7]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["no label", "a"]


def test_no_labels_at_all():
    (axes,) = draw_node_map(POINTS).axes
    (only,) = axes.collections
    assert only.get_offsets().tolist() == POINTS.tolist()
    assert axes.get_legend() is None


def test_more_classes_than_colours_differ_in_their_marks():
    n = len(COLORS) + 2
    points = np.arange(2.0 * n).reshape(n, 2)
    (axes,) = draw_node_map(points, np.arange(n), range(n)).axes
    looks = {
        (to_hex(c.get_facecolor()[0]), c.get_paths()[0].vertices.tobytes())
        for c in axes.collections
    }
    assert len(axes.collections) == len(looks) == n


@pytest.mark.parametrize("n", [1, 2])
def test_a_map_of_hardly_any_nodes_is_drawn(n):
    figure = draw_node_map(project(embedding(n, 3)), np.zeros(n, dtype=int), ("a",))
    file = io.BytesIO()
    figure.savefig(file, format="png")
    assert file.getvalue().startswith(b"\x89PNG")
