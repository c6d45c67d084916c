"""Methods by name, and the method of an estimator."""

import re
from pathlib import Path

import pytest

import graphgate
from graphgate import GATE, InputError, LinearGATE
from graphgate.estimators.registry import EMBEDDERS, find_method, method_of
from graphgate.paper.baselines.untrained import RawFeatures


@pytest.mark.parametrize("kind", [LinearGATE, GATE])
def test_every_estimator_has_its_method(kind):
    method = method_of(kind())
    assert (EMBEDDERS[method.name], method.title) == (method, kind.__name__)
    assert find_method(method.name).maker() is kind
    assert method_of(type("Mine", (kind,), {})()) == method


def test_other_estimators_have_none():
    with pytest.raises(InputError, match="RawFeatures is none of the methods linear, gate"):
        method_of(RawFeatures())


def test_only_estimators_know_methods_apart():
    folder = Path(graphgate.__file__).parent
    asked = [
        str(file)
        for file in folder.rglob("*.py")
        if file.parent.name != "estimators" and re.search(r"isinstance\(.*GATE", file.read_text())
    ]
    assert asked == []
