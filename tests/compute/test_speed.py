"""How fast the machine multiplies."""

from graphgate.compute import speed
from graphgate.compute.speed import Work


def test_time_is_that_of_each_kind_of_product(monkeypatch):
    monkeypatch.setattr(speed, "_speeds", lambda: Work(sparse=10.0, gathered=20.0, dense=100.0))
    work = Work(sparse=30.0, gathered=40.0, dense=100.0)
    assert work.seconds() == 3 + 2 + 1
    assert (work * 0.5).seconds() == 3


def test_speeds_are_measured_once():
    found = speed._speeds()
    assert min(found.sparse, found.gathered, found.dense) > 0
    assert speed._speeds() is found
