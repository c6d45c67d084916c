"""The hand-derived step, at once and in blocks of columns, against autograd."""

import numpy as np
import pytest
import torch
from graphs import graphs, model_for, parts_of, random_graph, value_and_gradients
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import run_in_processes
from test_collapsed import LAYERS, LOSSES, assert_same

from graphgate.compute.columns import Blocks
from graphgate.compute.processes import Processes
from graphgate.errors import InputError
from graphgate.estimators.gate import GATE
from graphgate.nn import collapsed_step
from graphgate.nn.collapsed_step import CollapsedStep
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss
from graphgate.nn.pattern import AttentionPattern
from graphgate.training.objective import loss_parts

pytestmark = pytest.mark.numerical


def evaluated(step, model):
    parts = step()
    return parts, {name: p.grad.numpy().copy() for name, p in model.named_parameters()}


@settings(max_examples=160, deadline=None)
@given(
    graphs(),
    LAYERS,
    LOSSES,
    st.sampled_from(["softmax", "uniform", "ones"]),
    st.none() | st.builds(Blocks, st.integers(1, 6), st.booleans()),
    st.sampled_from([1, 12, 1 << 21]),
)
def test_the_step_equals_autograd(graph, dims, loss, attention, blocks, chunk):
    model, parts = model_for(graph, dims, attention=attention), parts_of(graph)
    expected = value_and_gradients(loss_parts("collapsed", model, *parts, loss), model)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collapsed_step, "_CHUNK", chunk)
        step = CollapsedStep(model, *parts, loss, blocks)
        first = step()
        found = evaluated(step, model)  # the second call must not see the first
    assert found[0] == first
    # A row that is nearly reconstructed divides rounding by its small error.
    assert_same(found, expected, rtol=1e-8)


CASES = [
    {"dims": (5,), "loss": Loss("rows", 1.0, 0.5), "directed": True, "weighted": True},
    {"dims": (6, 5), "loss": Loss("frobenius", 1.7, 1.0)},
    {"dims": (3, 4, 2), "loss": Loss("rows", 1.0, 0.0), "attention": "uniform"},
    {"dims": (6, 3), "loss": Loss("frobenius", 0.0, 2.0)},
]


def made(case, dtype):
    kind = {name: case[name] for name in ("directed", "weighted") if name in case}
    graph = random_graph(4, n=31, f=11, **kind)
    model = model_for(graph, case["dims"], attention=case.get("attention", "softmax")).to(dtype)
    where = {"device": torch.device("cpu"), "dtype": dtype}
    return model, FeatureMatrix(graph.x, **where), AttentionPattern(graph, **where)


def shared_runs(processes, graph, settings):
    """What this process gets, case by case, what it has sent, and a fit."""
    collapsed_step._CHUNK = 10
    found = []
    for case in CASES:
        for dtype in (torch.float32, torch.float64):
            model, x, pattern = made(case, dtype)
            if processes.rank:  # the weights of the first process count
                torch.nn.init.zeros_(model.encoder_weight[0])
            step = CollapsedStep(model, x, pattern, case["loss"], Blocks(2), processes)
            step()
            found.append(evaluated(step, model))
    sent, gate = processes.bytes_sent, GATE(**settings).fit(graph)
    return found, sent, (gate.history_["loss"], gate.embedding_)


@pytest.fixture(scope="module")
def together():
    """A graph, settings, and what each of two processes gets."""
    graph = random_graph(2, n=40, f=30)
    settings = {"dims": (6, 5), "epochs": 12, "random_state": 0, "dtype": "float64"}
    return graph, settings, run_in_processes(2, shared_runs, graph, settings)


def test_processes_that_split_the_columns_get_what_one_gets(together):
    found = [results for results, sent, _ in together[-1] if sent > 0]
    assert len(found) == 2
    cases = [(case, dtype) for case in CASES for dtype in (torch.float32, torch.float64)]
    for at, (case, dtype) in enumerate(cases):
        model, x, pattern = made(case, dtype)
        values, gradients = evaluated(CollapsedStep(model, x, pattern, case["loss"]), model)
        tolerance = 1e-6 if dtype == torch.float32 else 1e-12
        for results in found:
            assert results[at][0] == pytest.approx(values, rel=tolerance)
            # Of the whole gradient: in float32, that of v_s alone is off by 2e-6 in either step.
            together, whole = (
                np.concatenate([each.ravel() for each in each_of.values()])
                for each_of in (results[at][1], gradients)
            )
            error = np.abs(together - whole).max()
            assert error <= tolerance * np.abs(whole).max()
        # Bit-identical in all processes, so that the same decisions follow.
        one, other = (results[at] for results in found)
        assert one[0] == other[0]
        assert all(np.array_equal(one[1][name], other[1][name]) for name in gradients)


def test_more_processes_than_columns_are_refused():
    graph = random_graph(0)
    parts = parts_of(graph)
    with pytest.raises(InputError, match="3 processes cannot split the 2 columns"):
        CollapsedStep(model_for(graph, (4, 2)), *parts, Loss(), processes=Processes(0, 3))


def test_no_matrix_has_all_columns_of_all_nodes(monkeypatch):
    """Neither in memory nor for a moment, but in the file."""
    n, d, width = 50, 12, 5
    graph = random_graph(2, n=n, f=31)
    model, (x, pattern) = model_for(graph, (23, d)), parts_of(graph)
    monkeypatch.setattr(collapsed_step, "_CHUNK", 10 * d)
    seen = set()

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            for item in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(item, torch.Tensor) and item.layout == torch.strided:
                    seen.add(tuple(item.shape))
            return result

    step = CollapsedStep(model, x, pattern, Loss(), Blocks(width, spilled=True))
    with Watch():
        step()
    assert {(n, 4), (10, d)} <= seen  # blocks of nearly equal width
    assert max(shape[1] for shape in seen if len(shape) == 2 and shape[0] == n) == 4 <= width


def test_processes_fit_one_model_together(together):
    graph, settings, found = together
    alone = GATE(**settings).fit(graph)
    for _, _, (losses, embedding) in found:
        np.testing.assert_allclose(losses, alone.history_["loss"], rtol=1e-12)
        np.testing.assert_allclose(embedding, alone.embedding_, rtol=1e-9, atol=1e-12)
    assert np.array_equal(found[0][2][1], found[1][2][1])
