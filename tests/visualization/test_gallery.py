"""Pictures of an embedded graph, written to a folder."""

import json

import numpy as np
import pytest

from graphgate import GATE, Embedding, Graph, InputError, write_figures
from graphgate.tasks.edge_attention import class_attention, edge_attention
from graphgate.visualization.gallery import draw_losses

pytestmark = pytest.mark.filterwarnings("ignore::graphgate.errors.TrainingWarning")


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(0)
    return Graph(rng.random((20, 3)), np.triu(rng.random((20, 20)) < 0.3, 1), labels=[0, 1] * 10)


@pytest.fixture(scope="module")
def gate(graph):
    return GATE(dims=(4,), epochs=2, random_state=0).fit(graph)


@pytest.mark.slow
def test_the_same_figures_are_the_same_files(tmp_path, graph, gate):
    contents = []
    for folder in ("one", "two"):
        files = write_figures(
            tmp_path / folder,
            graph,
            gate.embedding_,
            gate.attention_,
            name="mine",
            history=gate.history_.series,
            formats=("png", "svg", "pdf"),
        )
        assert all(file.stat().st_size for file in files)
        contents.append({f.name: f.read_bytes() for f in files if f.suffix != ".svg"})
    assert contents[0] == contents[1]
    kinds = [
        f"mine-{kind}.{end}" for kind in ("nodes", "edges", "losses") for end in ("png", "pdf")
    ]
    assert list(contents[0]) == [*kinds, "mine-attention.json"]
    assert not list(tmp_path.rglob("*.part"))
    found = class_attention(edge_attention(gate.attention_.average), graph.labels)
    assert json.loads((tmp_path / "one" / "mine-attention.json").read_text()) == found


def test_attention_and_history_are_optional(tmp_path, graph, gate):
    named = Embedding(graph.ids, gate.embedding_)
    (only,) = write_figures(tmp_path, graph, named, formats=["svg"])
    assert only == tmp_path / "graph-nodes.svg"
    assert "Graph: 20 nodes" in only.read_text()
    plain = write_figures(tmp_path, graph.reveal(), named, gate.attention_, formats=["png"])
    assert [file.name for file in plain] == ["graph-nodes.png", "graph-edges.png"]


def test_figures_that_cannot_be_drawn_or_written(tmp_path, graph, gate):
    z = gate.embedding_
    with pytest.raises(InputError, match="unknown format 'gif'; use png, svg, pdf"):
        write_figures(tmp_path, graph, z, formats=("gif",))
    with pytest.raises(InputError, match="the embedding has 19 vectors for 20 nodes"):
        write_figures(tmp_path, graph, z[:-1])
    with pytest.raises(InputError, match="ids of the embedding must be those of the graph"):
        write_figures(tmp_path, graph, Embedding(graph.ids[::-1], z))
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be created"):
        write_figures(tmp_path / "file", graph, z)


def test_losses_are_one_line_per_series():
    axes = draw_losses({"loss": [3.0, 2.0], "features": [1.0, 0.5]})
    assert [list(line.get_ydata()) for line in axes.lines] == [[3.0, 2.0], [1.0, 0.5]]
    assert axes.get_yscale() == "log"
    assert draw_losses({"loss": [1.0, -1.0]}).get_yscale() == "linear"
