"""What we ship, what we need, and that nothing is fetched that nobody asked for."""

import ctypes
import hashlib
import os
import sys
import tomllib
from pathlib import Path

import pytest
from forks import fork
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from graphgate.datasets import bundled, planetoid
from graphgate.visualization.page import page_html

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NEW_NETWORK = 0x40000000  # CLONE_NEWNET
FORBIDDEN = 77


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("text", PROJECT["dependencies"])
def test_the_tested_versions_are_those_that_we_allow(text):
    requirement = Requirement(text)
    version = constraints()[canonicalize_name(requirement.name)]
    assert version in requirement.specifier


def test_the_bundled_files_are_those_that_were_built():
    folder = ROOT / "graphgate/datasets/data"
    files = {path.name for path in folder.iterdir()} - {"NOTICE"}
    assert files == bundled.CHECKSUMS.keys()
    for name, digest in bundled.CHECKSUMS.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def test_every_downloaded_file_has_a_digest():
    for name in ("cora", "citeseer", "pubmed"):
        for file in planetoid.file_names(name):
            assert len(bytes.fromhex(planetoid.CHECKSUMS[file])) == 32
    assert len(bytes.fromhex(page_html.SHA256)) == 32


# --- the network ---------------------------------------------------------------------------------


def without_network() -> None:
    """In a namespace of its own where that is allowed; attempts end the process in any case."""
    ctypes.CDLL(None).unshare(NEW_NETWORK)

    def watch(event: str, arguments: tuple) -> None:
        if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
            os._exit(FORBIDDEN)

    sys.addaudithook(watch)


def test_an_attempt_is_noticed(empty_folder):
    assert fork("data", "fetch", "cora", prepare=without_network).code == FORBIDDEN


@pytest.mark.parametrize(
    "arguments",
    [
        ["embed", "e.csv", "--out", "z.csv", "--model", "m.safetensors", "--page", "p.html"],
        ["embed", "e.csv", "--dims", "2", "--epochs", "2", "--run", "r"],
        ["estimate", "--nodes-count", "10", "--edges-count", "10", "--features", "3"],
        ["data", "list"],
        ["explore", "e.csv", "--out", "page.html"],
    ],
    ids=" ".join,
)
def test_no_command_uses_the_network(arguments, empty_folder):
    Path("e.csv").write_text("source,target\na,b\nb,c\nc,a\nc,d\n")
    done = fork(*arguments, prepare=without_network)
    assert done.code == 0, done.err
