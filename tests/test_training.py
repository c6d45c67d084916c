"""The loop on a toy problem: it knows nothing of GATE, so neither do these tests."""

import itertools
import logging
import math
import os
import signal
import threading

import numpy as np
import pytest
import torch

from graphgate.errors import DivergenceError, InputError
from graphgate.training.loop import Checkpoint, History, Schedule, train
from graphgate.training.optimizers import OPTIMIZERS


def toy(start=(4.0, -3.0), slope=None):
    """‖p‖² and its two halves; `slope` replaces the gradient."""
    parameter = torch.tensor(start, dtype=torch.float64, requires_grad=True)

    def objective():
        value = parameter.detach()
        parameter.grad = 2 * value if slope is None else torch.full_like(value, slope)
        squares = (value**2).tolist()
        return {"loss": sum(squares), "first": squares[0], "second": squares[1]}

    return {"p": parameter}, objective


TORCH = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop, "sgd": torch.optim.SGD}


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_optimizers_and_history_follow_torch(name):
    parameters, objective = toy()
    history = train(parameters, objective, Schedule(30, 0.1, name))
    reference = torch.tensor([4.0, -3.0], dtype=torch.float64, requires_grad=True)
    optimizer = TORCH[name]([reference], lr=0.1)
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


def test_clipping_is_by_the_global_norm():
    first, second = (torch.zeros(1, dtype=torch.float64, requires_grad=True) for _ in range(2))

    def objective():
        first.grad, second.grad = torch.full_like(first, 30.0), torch.full_like(second, 40.0)
        return {"loss": 1.0}

    schedule = Schedule(epochs=1, learning_rate=1.0, optimizer="sgd", clip_norm=5.0)
    train({"a": first, "b": second}, objective, schedule)
    assert (first.item(), second.item()) == pytest.approx((-3.0, -4.0))
    train({"a": first, "b": second}, objective, Schedule(1, 1.0, "sgd", math.inf))
    assert (first.item(), second.item()) == pytest.approx((-33.0, -44.0))


@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
@pytest.mark.parametrize("cut", [1, 7, 20])
def test_a_resumed_run_equals_an_unbroken_one_to_the_bit(tmp_path, optimizer, cut):
    schedule = Schedule(epochs=20, learning_rate=0.05, optimizer=optimizer)
    whole, objective = toy()
    expected = train(whole, objective, schedule)

    checkpoint = Checkpoint(tmp_path / "run.safetensors", every=3, run="r")
    broken, objective = toy()
    train(broken, objective, Schedule(cut, 0.05, optimizer), checkpoint=checkpoint)
    again, objective = toy(start=(0.5, 0.5))  # what is resumed does not matter
    history = train(again, objective, schedule, checkpoint=checkpoint)
    assert history == expected
    assert again["p"].detach().numpy().tobytes() == whole["p"].detach().numpy().tobytes()


def test_a_crash_loses_only_what_came_after_the_last_checkpoint(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.safetensors", every=4, run="r")
    parameters, objective = toy()
    calls = itertools.count(1)

    def crashing():
        if next(calls) == 11:
            raise OSError("power failure")
        return objective()

    schedule = Schedule(epochs=15, learning_rate=0.1)
    with pytest.raises(OSError, match="power"):
        train(parameters, crashing, schedule, checkpoint=checkpoint)
    resumed, objective = toy()
    seen = []
    history = train(resumed, lambda: seen.append(1) or objective(), schedule, checkpoint=checkpoint)
    assert (len(seen), len(history)) == (7, 15)
    expected, objective = toy()
    train(expected, objective, schedule)
    assert resumed["p"].tolist() == expected["p"].tolist()


def test_checkpoints_of_another_run_or_a_later_epoch_are_refused(tmp_path):
    path = tmp_path / "run.safetensors"
    parameters, objective = toy()
    train(parameters, objective, Schedule(10), checkpoint=Checkpoint(path, 5, "one"))
    with pytest.raises(InputError, match="belongs to another run"):
        train(parameters, objective, Schedule(20), checkpoint=Checkpoint(path, 5, "two"))
    with pytest.raises(InputError, match="belongs to another run"):
        train(
            parameters, objective, Schedule(20, 0.1, "sgd"), checkpoint=Checkpoint(path, 5, "one")
        )
    with pytest.raises(InputError, match="at epoch 10, past the 5 asked for"):
        train(parameters, objective, Schedule(5), checkpoint=Checkpoint(path, 5, "one"))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="damaged"):
        train(parameters, objective, Schedule(20), checkpoint=Checkpoint(path, 5, "one"))


def test_patience_stops_when_the_loss_stalls(tmp_path):
    parameters, objective = toy()
    schedule = Schedule(10_000, 0.5, patience=10, tolerance=1e-3)
    checkpoint = Checkpoint(tmp_path / "run.safetensors", every=7, run="r")
    history = train(parameters, objective, schedule, checkpoint=checkpoint)
    assert history.stopped == "patience"
    assert 10 < len(history) < 10_000
    before = history["loss"][:-10]
    assert min(history["loss"][-10:]) > min(before) * (1 - 1e-3)
    # A run that had ended stays ended.
    again, objective = toy()
    assert train(again, objective, schedule, checkpoint=checkpoint) == history


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_divergence_names_the_epoch_and_a_remedy(value):
    parameters, objective = toy()
    calls = itertools.count(1)

    def diverging():
        return objective() | ({"loss": value} if next(calls) == 4 else {})

    with pytest.raises(DivergenceError, match=r"at epoch 4; lower learning_rate \(now 0\.1\)"):
        train(parameters, diverging, Schedule(9, 0.1))


def test_weights_that_end_as_nan_are_a_divergence_too():
    parameters, objective = toy(slope=math.nan)
    with pytest.raises(DivergenceError, match="epoch 1"):
        train(parameters, objective, Schedule(1, 0.1))


def test_ctrl_c_ends_the_epoch_and_keeps_what_was_learned(tmp_path, caplog):
    parameters, objective = toy()
    calls = itertools.count(1)

    def interrupting():
        if next(calls) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return objective()

    before = signal.getsignal(signal.SIGINT)
    checkpoint = Checkpoint(tmp_path / "run.safetensors", every=100, run="r")
    with caplog.at_level(logging.WARNING):
        history = train(parameters, interrupting, Schedule(50, 0.1), checkpoint=checkpoint)
    assert (history.stopped, len(history)) == ("interrupted", 5)
    assert "interrupted after epoch 5 of 50" in caplog.text
    assert signal.getsignal(signal.SIGINT) is before
    resumed, objective = toy()
    expected, other = toy()
    train(expected, other, Schedule(50, 0.1))
    train(resumed, objective, Schedule(50, 0.1), checkpoint=checkpoint)
    assert resumed["p"].tolist() == expected["p"].tolist()


def test_a_second_ctrl_c_interrupts_at_once():
    parameters, objective = toy()

    def interrupting():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        return objective()

    with pytest.raises(KeyboardInterrupt):
        train(parameters, interrupting, Schedule(50, 0.1))


def test_training_works_outside_the_main_thread():
    found = []
    parameters, objective = toy()
    thread = threading.Thread(
        target=lambda: found.append(train(parameters, objective, Schedule(3)))
    )
    thread.start()
    thread.join()
    assert len(found[0]) == 3


def test_still_falling():
    assert History({"loss": [100.0 * 0.99**i for i in range(100)]}).still_falling()
    assert not History({"loss": [1.0 + 100.0 * 0.5**i for i in range(100)]}).still_falling()
    assert not History({"loss": [3.0]}).still_falling()


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"epochs": 0}, "epochs"),
        ({"epochs": 1.5}, "epochs"),
        ({"epochs": True}, "epochs"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": math.nan}, "learning_rate"),
        ({"clip_norm": 0.0}, "clip_norm"),
        ({"clip_norm": math.nan}, "clip_norm"),
        ({"patience": 0}, "patience"),
        ({"tolerance": 1.0}, "tolerance"),
        ({"optimizer": "lbfgs"}, "optimizer"),
    ],
)
def test_impossible_schedules_are_refused(settings, word):
    with pytest.raises(InputError, match=word):
        Schedule(**settings)
