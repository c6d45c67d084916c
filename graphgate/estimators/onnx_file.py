"""The encoder of LinearGATE as an ONNX file, for runtimes that have no Python."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from graphgate.errors import InputError
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.io.files import StrPath, check_output_path, replacing
from graphgate.linear.model import SHORTEST_FACTORS, VIEWS

_OPSET, _IR_VERSION = 17, 8


def export_onnx(estimator: LinearGATE, path: StrPath) -> Path:
    """Write the encoder of a fitted `LinearGATE` as an ONNX file.

    Its inputs are propagated features, (N, ·) each, under the names that
    `estimator.encode(graph).propagated()` gives them; its output "embedding" is (N, D). Everything
    is computed in the precision of the estimator.

    Parameters
    ----------
    estimator : fitted.
    path : a file ending in .onnx; an existing one is replaced.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from graphgate.graph.graph import Graph
    >>> graph = Graph.from_edges(np.eye(4), [(0, 1), (1, 2), (2, 3)])
    >>> gate = LinearGATE(n_components=2, random_state=0).fit(graph)
    >>> with TemporaryDirectory() as folder:
    ...     export_onnx(gate, f"{folder}/encoder.onnx").name
    'encoder.onnx'
    """
    target = check_output_path(path, (".onnx",))
    if not isinstance(estimator, LinearGATE):
        raise InputError(
            f"{type(estimator).__name__} cannot be exported, because its attention needs the edges "
            "of the graph; use LinearGATE"
        )
    check_is_fitted(estimator)
    model = _onnx_model(estimator)
    with replacing(target) as temporary:
        temporary.write_bytes(model.SerializeToString())
    return target


def _onnx_model(estimator: LinearGATE) -> Any:
    try:
        from onnx import checker, helper, numpy_helper
    except ImportError:
        raise InputError("ONNX files need onnx: pip install 'graphgate[onnx]'") from None
    model = estimator.model_
    projection = model.projection.numpy()
    kind = helper.np_dtype_to_tensor_dtype(projection.dtype)
    r = len(model.coordinates.center)
    constants = {
        "projection": projection,
        "weights": model.reconstruction.weights.numpy(),
        "nothing": np.zeros((), dtype=projection.dtype),
    }
    rank = 0 if model.structure is None else model.structure.rank
    sizes = {name: rank if VIEWS[name].source == "structure" else r for name in model.weights}
    nodes = []
    for name in sizes:
        rows, coordinates = name, model.coordinates
        limits = {"shortest": coordinates.shortest, "unit_from": coordinates.unit_from}
        if VIEWS[name].predicted:
            rows = f"{name}_predicted"
            nodes.append(helper.make_node("MatMul", [name, "weights"], [rows]))
        if VIEWS[name].source == "structure":
            limits = {"shortest": SHORTEST_FACTORS, "unit_from": 0.0}
        limits["unit_from"] = max(limits["unit_from"], 1e-30)
        for limit, length in limits.items():
            constants[f"{name}_{limit}"] = np.array(length, dtype=projection.dtype)
        constants[f"{name}_weight"] = np.array(model.weights[name], dtype=projection.dtype)
        steps: list[tuple[str, list[str], str, dict[str, Any]]] = [
            ("ReduceL2", [rows], "length", {"axes": [1], "keepdims": 1}),
            ("Greater", [f"{name}_length", f"{name}_shortest"], "long", {}),
            ("Max", [f"{name}_length", f"{name}_unit_from"], "divisor", {}),
            ("Div", [rows, f"{name}_divisor"], "divided", {}),
            ("Where", [f"{name}_long", f"{name}_divided", "nothing"], "unit", {}),
            ("Mul", [f"{name}_unit", f"{name}_weight"], "block", {}),
        ]
        nodes += [
            helper.make_node(operator, inputs, [f"{name}_{result}"], **options)
            for operator, inputs, result, options in steps
        ]
    nodes.append(helper.make_node("Concat", [f"{name}_block" for name in sizes], ["all"], axis=1))
    nodes.append(helper.make_node("MatMul", ["all", "projection"], ["embedding"]))
    graph = helper.make_graph(
        nodes,
        "LinearGATE",
        [helper.make_tensor_value_info(name, kind, ["N", size]) for name, size in sizes.items()],
        [helper.make_tensor_value_info("embedding", kind, ["N", projection.shape[1]])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", _OPSET)]
    found = helper.make_model(graph, opset_imports=opsets, producer_name="graphgate")
    found.ir_version = _IR_VERSION
    checker.check_model(found)
    return found
