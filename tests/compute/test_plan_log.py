"""What a fit says about its plan."""

import logging

import pytest

from graphgate.compute import speed
from graphgate.compute.plan_log import Plan, log_plan
from graphgate.compute.processes import Processes
from graphgate.compute.speed import Work


class Planned(Plan):
    bytes = 3 << 20

    def sentence(self, processes: int = 1) -> str:
        return "linear"

    def work(self) -> Work:
        return Work(sparse=30.0, gathered=60.0)


@pytest.mark.parametrize(("size", "time"), [(1, "about 6.2 s"), (2, "about 3.2 s")])
def test_processes_share_the_time_of_a_plan(size, time, monkeypatch, caplog):
    monkeypatch.setattr(speed, "_speeds", lambda: Work(sparse=10.0, gathered=20.0, dense=100.0))
    caplog.set_level(logging.INFO)
    log_plan(Processes(0, size), Planned())
    assert caplog.messages == [f"plan: linear; about 3.0 MiB of memory, {time}"]


def test_only_one_process_speaks(monkeypatch, caplog):
    monkeypatch.setattr(speed, "_speeds", lambda: Work(1.0, 1.0, 1.0))
    caplog.set_level(logging.INFO)
    log_plan(Processes(1, 2), Planned())
    assert caplog.messages == []
