"""When the tests have been run as if on other processors."""

import re

import pytest

from scripts import emulate_processors as emulation

PASSED = {"changed": ["torch sum"], "passed": True}
FAILED = {"changed": ["torch sum"], "passed": False}
IDLE = {"changed": []}


@pytest.mark.parametrize(
    ("outcomes", "code", "words"),
    [
        ({"a": PASSED, "b": PASSED, "c": PASSED, "d": IDLE}, 0, "changed a bit; not run: d; the n"),
        ({"a": PASSED, "b": PASSED, "c": IDLE}, 1, "2 of 3 settings .*; not run: c, fewer than 3"),
        ({"a": PASSED, "b": PASSED, "c": PASSED, "d": FAILED}, 1, "tests fail with: d"),
        ({"a": PASSED}, 0, "the numerical tests pass"),
        ({"a": IDLE}, 1, "fewer than 1"),
    ],
)
def test_the_verdict(outcomes, code, words):
    found = emulation.verdict(outcomes)
    assert found[0] == code
    assert re.search(words, found[1])


def test_a_setting_replaces_those_of_this_process(monkeypatch):
    monkeypatch.setenv("MKL_CBWR", "AVX2")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    plain = emulation.environment({})
    assert "MKL_CBWR" not in plain
    assert plain["OMP_NUM_THREADS"] == plain["GRAPHGATE_TEST_THREADS"] == "1"
    chosen = emulation.environment(emulation.settings()["two threads"])
    assert chosen["OMP_NUM_THREADS"] == chosen["GRAPHGATE_TEST_THREADS"] == "2"
    assert emulation.environment(emulation.settings()["oldest"])["MKL_CBWR"] == "COMPATIBLE"


def test_a_setting_that_changes_nothing_runs_no_test(monkeypatch):
    run = []
    monkeypatch.setattr(emulation, "computed", lambda setting: {"sum": setting.get("MKL_CBWR", "")})
    monkeypatch.setattr(
        emulation, "tests_pass", lambda setting, _: bool(run.append(setting)) or True
    )
    idle, changed = (emulation.run(n, {"sum": ""}, []) for n in ("torch avx2", "MKL compatible"))
    assert run == [{"MKL_CBWR": "COMPATIBLE"}]
    assert (idle["changed"], changed["changed"], changed["passed"]) == ([], ["sum"], True)
