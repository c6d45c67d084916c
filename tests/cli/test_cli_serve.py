"""`graphgate serve`: what it refuses before it listens, and how it stops."""

import os
import signal
import sys

import pytest
from forks import Ended, Fork
from services import Client, small_store
from typer.testing import CliRunner

from graphgate import InputError
from graphgate.__main__ import app


def failure(*arguments: str) -> str:
    error = CliRunner().invoke(app, ["serve", *arguments]).exception
    assert isinstance(error, InputError), error
    return str(error)


def test_what_is_refused_before_it_listens(tmp_path, monkeypatch):
    monkeypatch.delenv("GRAPHGATE_KEY", raising=False)
    store = str(tmp_path / "store")
    assert "a key is needed" in failure(store, "--host", "0.0.0.0")
    assert "ports are 0 to 65535" in failure(store, "--port", "70000")
    assert "does not exist; create one" in failure(store, "--port", "0")
    assert "must be positive" in failure(store, "--timeout", "0")
    assert "No such file" in failure(store, "--key-file", str(tmp_path / "key"))


def test_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "pip install 'graphgate[serve]'" in failure(str(tmp_path / "store"))


@pytest.mark.filterwarnings("ignore::graphgate.errors.InputWarning")
def test_it_serves_until_it_is_terminated(tmp_path):
    small_store(tmp_path / "store", 30)
    read, write = os.pipe()
    process = Fork("serve", tmp_path / "store", "--port", "0", stdout=write)
    os.close(write)
    with open(read) as printed:
        line = printed.readline()
        assert line.startswith("serving "), process.wait().err
        try:
            address = line.split(" at ")[1].split()[0]
            assert Client(address).get("/health").json["nodes"] == 30
        finally:
            process.send(signal.SIGTERM)
        assert process.wait() == Ended(143, "", "terminated\n")
        assert printed.read() == ""
