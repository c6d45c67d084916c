"""The authors' own program on Cora, from fixed weights: its losses, embedding and attention."""

import json
from pathlib import Path

import numpy as np
import pytest

from graphgate import GATE
from graphgate.datasets.planetoid import read_planetoid

pytestmark = pytest.mark.numerical

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "authors_program_cora.json").read_text()
)


def test_the_authors_preset_follows_the_reference_implementation(planetoid):
    """Seed 7 draws the golden weights: the model's order of drawing is the golden file's."""
    expected = GOLDEN["cora"]
    graph = read_planetoid(planetoid, "cora").graph
    gate = GATE(
        preset="authors",
        structure_weight=expected["structure_weight"],
        epochs=len(expected["losses"]),
        random_state=7,
    ).fit(graph)
    np.testing.assert_allclose(gate.history_["loss"], expected["losses"], rtol=2e-4)
    np.testing.assert_allclose(gate.embedding_[0, :4], expected["h_row0"], rtol=1e-3, atol=1e-5)
    assert np.linalg.norm(gate.embedding_) == pytest.approx(expected["h_norm"], rel=1e-4)
    for i, j, alpha in expected["att_end_layer1_node0"]:
        assert gate.attention_.encoder[1][i, j] == pytest.approx(alpha, rel=1e-4)


def test_seed_7_starts_from_the_golden_weights(planetoid):
    expected = GOLDEN["cora"]
    graph = read_planetoid(planetoid, "cora").graph
    # A step too small to change anything in float32 leaves the starting weights.
    gate = GATE(preset="authors", epochs=1, learning_rate=1e-30, random_state=7).fit(graph)
    np.testing.assert_allclose(gate.embedding_[0, :4], expected["h0_row0"], rtol=1e-4, atol=1e-6)
    assert np.linalg.norm(gate.embedding_) == pytest.approx(expected["h0_norm"], rel=1e-5)
    for i, j, alpha in expected["att0_layer0_node0"]:
        assert gate.attention_.encoder[0][i, j] == pytest.approx(alpha, rel=1e-5)
