"""Random operations on stores, kills among them, against a plain model; and damaged files."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from fuzz import store_damage
from fuzz.store_machine import StoreMachine

SEQUENCES = settings(
    max_examples=8,
    stateful_step_count=5,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_a_store_holds_what_a_plain_model_says(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run_state_machine_as_test(StoreMachine, settings=SEQUENCES)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "linear"
    store_damage.prepare(folder, store_damage.SHAPES[0])
    return folder


@pytest.mark.parametrize("kind", store_damage.KINDS)
def test_a_damaged_file_is_noticed_or_changes_nothing(made, tmp_path, kind):
    shape = store_damage.SHAPES[0]
    outcome, said = store_damage.try_damage(made, tmp_path / "store", shape, kind, 0)
    assert outcome in store_damage.OUTCOMES, said
