"""Checkpoints: what resumes, what is replaced, what is refused."""

import itertools
import logging

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toy_objective import square_norm

from graphgate.errors import InputError
from graphgate.io.tensors import read_tensors, write_tensors
from graphgate.training.checkpoint import Checkpoint
from graphgate.training.history import History
from graphgate.training.loop import Schedule, train

FIELDS = {"run": str, "history": dict, "finished": bool}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.safetensors"


@pytest.fixture(autouse=True)
def logged(caplog):
    caplog.set_level(logging.INFO, "graphgate")
    return caplog


def run(path, epochs: int, name: str = "r", every: int = 3, start=(4.0, -3.0)) -> tuple:
    """Parameters as a list, and the history."""
    parameters, objective = square_norm(start)
    checkpoint = Checkpoint(path, every, name) if path else None
    history = train(parameters, objective, Schedule(epochs, 0.05), checkpoint=checkpoint)
    return parameters["p"].tolist(), history


@pytest.mark.numerical
@pytest.mark.parametrize("cut", [1, 7, 20])
def test_a_resumed_run_is_bit_identical_to_an_unbroken_one(path, cut, logged):
    expected = run(None, 20)
    run(path, cut)
    assert not logged.messages
    assert run(path, 20, start=(0.5, 0.5)) == expected  # its own start is replaced
    assert logged.messages == [f"resuming the checkpoint {path} after epoch {cut} of 20"]


@pytest.mark.parametrize("cut", [2, 4, 6])
def test_the_best_weights_outlive_an_interruption(path, cut):
    """Steps of 3 pass the minimum after the second epoch, whose weights are the best."""

    def trained(epochs, checkpoint=None, start=(4.0, 4.5)):
        parameters, objective = square_norm(start, slope=1.0)
        schedule = Schedule(epochs, 3.0, keep_best=True)
        history = train(parameters, objective, schedule, checkpoint=checkpoint)
        return parameters["p"].tolist(), history

    expected = trained(6)
    assert sum(value**2 for value in expected[0]) == min(expected[1]["loss"])
    trained(cut, Checkpoint(path, 3, "r"))
    assert trained(6, Checkpoint(path, 3, "r"), start=(9.0, 9.0)) == expected


def test_a_finished_run_is_not_trained_again(path, logged):
    expected = run(path, 10)
    parameters, _ = square_norm()
    untouched = path.read_bytes()
    history = train(
        parameters,
        lambda step: pytest.fail("trained again"),
        Schedule(10, 0.05),
        checkpoint=Checkpoint(path, 3, "r"),
    )
    assert (parameters["p"].tolist(), history) == expected
    assert path.read_bytes() == untouched
    assert "after epoch 10 of 10" in logged.text


def interrupted_run(path, at: int, every: int) -> None:
    parameters, objective = square_norm()
    calls = itertools.count(1)

    def crashing(step):
        if next(calls) == at:
            raise OSError("power failure")
        return objective()

    with pytest.raises(OSError, match="power"):
        train(parameters, crashing, Schedule(15, 0.05), checkpoint=Checkpoint(path, every, "r"))


def test_a_crash_loses_only_what_came_after_the_last_checkpoint(path):
    interrupted_run(path, at=11, every=4)
    parameters, objective = square_norm()
    seen = []
    history = train(
        parameters,
        lambda step: seen.append(1) or objective(),
        Schedule(15, 0.05),
        checkpoint=Checkpoint(path, 4, "r"),
    )
    assert (len(seen), len(history)) == (7, 15)
    assert parameters["p"].tolist() == run(None, 15)[0]


def test_a_finished_run_makes_room_for_another(path, logged):
    run(path, 10, "one")
    assert run(path, 6, "two") == run(None, 6)
    assert logged.messages == [
        f"replacing the checkpoint {path}, which belongs to another run that has finished"
    ]
    assert read_tensors(path, "checkpoint", FIELDS)[0]["run"] == "two"


def test_an_unfinished_run_is_never_overwritten(path):
    interrupted_run(path, at=9, every=4)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"belongs to another run .* that has not finished"):
        run(path, 20, "two")
    assert path.read_bytes() == before


def test_a_checkpoint_past_the_epochs_requested_is_refused(path):
    run(path, 10)
    with pytest.raises(InputError, match="at epoch 10, past the 5 requested"):
        run(path, 5)


def test_a_damaged_checkpoint_is_refused(path):
    run(path, 10)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="damaged"):
        run(path, 20)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_damage_is_noticed_or_harmless(path, data):
    if not path.exists():
        run(path, 4)
        path.with_suffix(".good").write_bytes(path.read_bytes())
    content = bytearray(path.with_suffix(".good").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    message = str(path)
    try:
        assert len(run(path, 4)[1].series["loss"]) == 4
    except InputError as error:
        message = str(error)
    assert str(path) in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "series",
    [{}, {"first": [1.0]}, {"loss": 1.0}, {"loss": ["a"]}, {"loss": [1.0], "first": []}],
)
def test_a_checkpoint_without_a_valid_history_is_refused(path, series):
    run(path, 2)
    header, tensors = read_tensors(path, "checkpoint", FIELDS)
    write_tensors(path, "checkpoint", header | {"history": series}, tensors)
    with pytest.raises(InputError, match="no valid loss history"):
        run(path, 20)


def test_history_and_moments_come_back(path):
    run(path, 4)
    header, tensors = read_tensors(path, "checkpoint", FIELDS)
    assert header["finished"]
    assert History(header["history"]) == run(None, 4)[1]
    assert tensors.keys() == {"parameter.p", "optimizer.mean.p", "optimizer.square.p"}
