"""The loop on a toy problem: it knows nothing about GATE, so neither do these tests."""

import itertools
import math
import os
import signal
import threading

import numpy as np
import pytest
import torch
from toy_objective import square_norm

from graphgate.errors import DivergenceError, InputError, TrainingWarning
from graphgate.training.checkpoint import Checkpoint
from graphgate.training.loop import Schedule, clip_gradients, train

pytestmark = pytest.mark.numerical


@pytest.fixture
def ctrl_c():
    """Python's own handling of Ctrl-C, whatever this process inherited: nohup ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: os.kill(os.getpid(), signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_history_and_weights_follow_torchs_adam():
    parameters, objective = square_norm()
    history = train(parameters, objective, Schedule(30, 0.1))
    reference = torch.tensor([4.0, -3.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([reference], lr=0.1)
    losses = []
    for _ in range(30):
        loss = (reference**2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    np.testing.assert_allclose(history["loss"], losses, rtol=1e-12)
    np.testing.assert_allclose(parameters["p"].detach(), reference.detach(), rtol=1e-12)
    np.testing.assert_allclose(np.add(history["first"], history["second"]), losses)
    assert (len(history), history.stopped) == (30, "epochs")


# --- clipping ------------------------------------------------------------------------------------


def tensors_with_gradients(*values: float, dtype=torch.float64) -> list[torch.Tensor]:
    made = [torch.zeros(1, dtype=dtype, requires_grad=True) for _ in values]
    for tensor, value in zip(made, values, strict=True):
        tensor.grad = torch.full_like(tensor, value)
    return made


@pytest.mark.parametrize(
    ("max_norm", "expected"),
    [(5.0, (3.0, 4.0)), (4.0, (2.4, 3.2)), (2.5, (1.5, 2.0)), (0.5, (0.3, 0.4)), (6.0, (3.0, 4.0))],
)
def test_clipping_is_by_the_norm_over_all_parameters(max_norm, expected):
    tensors = tensors_with_gradients(3.0, 4.0)
    assert clip_gradients(tensors, max_norm) == 5.0
    assert tuple(tensor.grad.item() for tensor in tensors) == pytest.approx(expected)


def test_an_infinite_limit_never_clips():
    tensors = tensors_with_gradients(3e30, 4e30)
    clip_gradients(tensors, math.inf)
    assert tuple(tensor.grad.item() for tensor in tensors) == (3e30, 4e30)


def test_training_clips_at_its_limit():
    parameters, objective = square_norm()  # its gradient is (8, -6)
    train(parameters, objective, Schedule(1, 1e-6, clip_norm=9.0))
    assert parameters["p"].grad.tolist() == pytest.approx([7.2, -5.4])


def test_a_norm_beyond_float32_does_not_erase_the_gradient():
    tensors = tensors_with_gradients(3e30, -4e30, dtype=torch.float32)
    assert clip_gradients(tensors, 5.0) == pytest.approx(5e30)
    assert tuple(t.grad.item() for t in tensors) == pytest.approx((3.0, -4.0))


# --- early stopping ------------------------------------------------------------------------------


def test_patience_stops_when_the_loss_stalls(tmp_path):
    parameters, objective = square_norm()
    schedule = Schedule(10_000, 0.5, patience=10, tolerance=1e-3)
    checkpoint = Checkpoint(tmp_path / "run.safetensors", every=7, run="r")
    history = train(parameters, objective, schedule, checkpoint=checkpoint)
    assert history.stopped == "patience"
    assert 10 < len(history) < 10_000
    before = history["loss"][:-10]
    assert min(history["loss"][-10:]) > min(before) * (1 - 1e-3)
    # A run that has stopped early stays stopped.
    again, objective = square_norm()
    assert train(again, objective, schedule, checkpoint=checkpoint) == history


# --- runs without a usable result ----------------------------------------------------------------


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_overflow_names_the_epoch_and_a_remedy(value):
    parameters, objective = square_norm()
    calls = itertools.count(1)

    def diverging(step):
        return objective() | ({"loss": value} if next(calls) == 4 else {})

    with pytest.raises(DivergenceError, match=r"at epoch 4; lower learning_rate \(now 0\.1\)"):
        train(parameters, diverging, Schedule(9, 0.1))


@pytest.mark.parametrize("clip_norm", [5.0, math.inf])
@pytest.mark.parametrize("slope", [math.nan, math.inf, 1e200])
def test_gradients_that_overflow_at_the_start_are_an_error(slope, clip_norm):
    """The square of 1e200 overflows even in double precision, so Adam would never move again."""
    parameters, objective = square_norm(slope=slope)
    with pytest.raises(DivergenceError, match=r"cannot start.*scale the features"):
        train(parameters, objective, Schedule(1, 0.1, clip_norm))


def losses_of(*values: float):
    """A parameter, and an objective that returns these losses one after the other."""
    parameter = torch.zeros(1, requires_grad=True)
    parameter.grad = torch.ones(1)
    losses = iter(values)
    return {"p": parameter}, lambda step=0: {"loss": next(losses)}


def test_a_completed_run_whose_loss_rose_is_an_error():
    with pytest.raises(DivergenceError, match=r"rose from 9,124 to 1\.7e\+18 in 3 epochs; lower"):
        train(*losses_of(9124.0, 1e3, 1.7e18), Schedule(3, 1000.0))


def test_the_best_weights_are_kept():
    """With a constant slope of 1 the parameters fall by the rate in every epoch."""
    parameters, objective = square_norm((2.0, 1.5), slope=1.0)
    history = train(parameters, objective, Schedule(20, 1.0, keep_best=True))
    assert history.diverged
    assert history["loss"][:3] == pytest.approx([6.25, 1.25, 0.25])
    assert parameters["p"].tolist() == pytest.approx([0, -0.5], abs=1e-6)


def test_initial_weights_that_stay_the_best_warn():
    parameters, objective = square_norm(slope=-1.0)
    parameters["p"].data[:] = 1.0
    with pytest.warns(TrainingWarning, match=r"no epoch lowered the loss of 2, .* lower learning"):
        train(parameters, objective, Schedule(5, 1.0, keep_best=True))
    assert parameters["p"].tolist() == [1, 1]


def test_a_loss_that_rose_across_two_runs_is_an_error(tmp_path):
    """Either part lowers the loss; the whole run does not."""
    checkpoint = Checkpoint(tmp_path / "run.safetensors", every=2, run="r")
    train(*losses_of(5.0, 4.0), Schedule(2), checkpoint=checkpoint)
    with pytest.raises(DivergenceError, match="rose from 5 to 6 in 4 epochs"):
        train(*losses_of(7.0, 6.0), Schedule(4), checkpoint=checkpoint)
    with pytest.raises(DivergenceError, match="rose from 5 to 6 in 4 epochs"):
        train(*losses_of(), Schedule(4), checkpoint=checkpoint)


def test_a_run_in_which_nothing_moved_warns():
    with pytest.warns(TrainingWarning, match=r"changed nothing: the loss is 7 in all 3 epochs"):
        train(*losses_of(7.0, 7.0, 7.0), Schedule(3))


def test_a_run_far_from_convergence_warns():
    with pytest.warns(TrainingWarning, match="still falling after 3 epochs"):
        train(*losses_of(9.0, 8.0, 7.0), Schedule(3))


# --- interruption --------------------------------------------------------------------------------


def test_ctrl_c_ends_the_epoch_and_keeps_what_was_learned(tmp_path, ctrl_c):
    parameters, objective = square_norm()
    calls = itertools.count(1)

    def interrupting(step):
        if next(calls) == 5:
            ctrl_c()
        return objective()

    before = signal.getsignal(signal.SIGINT)
    checkpoint = Checkpoint(tmp_path / "run.safetensors", every=100, run="r")
    with pytest.warns(TrainingWarning, match=r"interrupted after epoch 5 of 50$"):
        history = train(parameters, interrupting, Schedule(50, 0.1), checkpoint=checkpoint)
    assert (history.stopped, len(history)) == ("interrupted", 5)
    assert signal.getsignal(signal.SIGINT) is before
    resumed, objective = square_norm()
    expected, other = square_norm()
    train(expected, other, Schedule(50, 0.1))
    train(resumed, objective, Schedule(50, 0.1), checkpoint=checkpoint)
    assert resumed["p"].tolist() == expected["p"].tolist()


def test_an_interrupted_run_whose_loss_rose_warns(ctrl_c):
    parameters, objective = losses_of(1.0, 2.0, 3.0)

    def interrupting(step):
        parts = objective()
        if parts["loss"] == 2.0:
            ctrl_c()
        return parts

    with pytest.warns(TrainingWarning, match="epoch 2 of 3, when the loss rose from 1 to 2; lower"):
        assert train(parameters, interrupting, Schedule(3)).stopped == "interrupted"


def test_a_second_ctrl_c_interrupts_immediately(ctrl_c):
    parameters, objective = square_norm()

    def interrupting(step):
        ctrl_c()
        ctrl_c()
        return objective()

    with pytest.raises(KeyboardInterrupt):
        train(parameters, interrupting, Schedule(50, 0.1))


def test_an_ignored_ctrl_c_stays_ignored(ctrl_c):
    parameters, objective = square_norm()

    def interrupting(step):
        ctrl_c()
        return objective()

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert train(parameters, interrupting, Schedule(3, 0.1)).stopped == "epochs"
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_training_works_outside_the_main_thread():
    found = []
    parameters, objective = square_norm()
    thread = threading.Thread(
        target=lambda: found.append(train(parameters, objective, Schedule(3)))
    )
    thread.start()
    thread.join()
    assert len(found[0]) == 3


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": math.nan}, "learning_rate"),
        ({"clip_norm": 0.0}, "clip_norm"),
        ({"clip_norm": math.nan}, "clip_norm"),
        ({"tolerance": 1.0}, "tolerance"),
    ],
)
def test_impossible_schedules_are_refused(settings, word):
    with pytest.raises(InputError, match=word):
        Schedule(**settings)
