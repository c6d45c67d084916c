"""The encoder as an ONNX file, run by onnxruntime."""

import numpy as np
import pytest
from growing import first, grown_graph
from typer.testing import CliRunner

from graphgate import GATE, Graph, InputError, LinearGATE, export_onnx
from graphgate.__main__ import app

onnxruntime = pytest.importorskip("onnxruntime")

pytestmark = [
    pytest.mark.numerical,
    pytest.mark.filterwarnings("ignore::graphgate.errors.InputWarning"),
]


@pytest.mark.parametrize("structure", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_onnxruntime_gives_the_embedding(tmp_path, structure, dtype):
    graph = grown_graph(80)
    gate = LinearGATE(
        n_components=8, structure=structure, dtype=dtype, random_state=0, progress=False
    ).fit(first(graph, 60))
    gate.save(tmp_path / "model.safetensors")
    arguments = ["onnx", str(tmp_path / "model.safetensors"), "--out", str(tmp_path / "e.onnx")]
    assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
    session = onnxruntime.InferenceSession(tmp_path / "e.onnx", providers=["CPUExecutionProvider"])
    inputs = gate.encode(graph).propagated()  # with 20 nodes that are new
    assert {each.name for each in session.get_inputs()} == set(inputs)
    assert ("factors" in inputs) == structure
    (found,) = session.run(["embedding"], inputs)
    np.testing.assert_allclose(
        found, gate.transform(graph), atol=1e-5 if dtype == "float32" else 1e-12
    )


def test_rows_of_zeros_stay_zero(tmp_path):
    graph = Graph.from_edges(np.eye(6), [(0, 1), (1, 2), (2, 3), (3, 4)])
    gate = LinearGATE(n_components=3, random_state=0, progress=False).fit(graph)
    session = onnxruntime.InferenceSession(
        export_onnx(gate, tmp_path / "e.onnx"), providers=["CPUExecutionProvider"]
    )
    shapes = gate.encode(graph).propagated()
    inputs = {name: np.zeros_like(values[:2]) for name, values in shapes.items()}
    np.testing.assert_array_equal(session.run(None, inputs)[0], np.zeros((2, 3)))


def test_what_cannot_be_exported(tmp_path):
    graph = grown_graph(30)
    with pytest.raises(InputError, match=r"GATE cannot be exported.*use LinearGATE"):
        export_onnx(GATE((4,), epochs=1, progress=False).fit(graph), tmp_path / "e.onnx")
    with pytest.raises(InputError, match=r"must end in \.onnx"):
        export_onnx(LinearGATE().fit(graph), tmp_path / "e.pb")
