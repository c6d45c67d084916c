"""Files that once crashed the interpreter, or took gigabytes or minutes, are refused or read."""

import os
import socket
import warnings
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from mutations import mutations

from fuzz.hostile import outcome
from fuzz.hostile_files import HOSTILE, LARGEST
from fuzz.seeds import compressed
from fuzz.targets import PARSERS, TARGETS
from graphgate import InputError, limits, read_embedding, read_graph
from graphgate.estimators.loading import load_model
from graphgate.io.files import COMPRESSIONS

pytestmark = pytest.mark.filterwarnings("ignore:.*read the same graph with")  # as seeds are made
CORPUS = Path(__file__).parents[1] / "corpus"
READ = {
    ".mtx that ends in a space",
    ".mtx that ends in a CR",
}
# Made and read in a second at most; `python -m fuzz hostile` reads the others too.
QUICK = [
    name
    for name, hostile in HOSTILE.items()
    if "within the limit" not in name
    and not name.startswith(("rows in", "endless", "2·10", "40,000", "zeros", "lists"))
    and not hostile.file.endswith((".zst", ".bz2"))
    and not any(word in name for word in ("LZMA", "by prefixes", "50 vertices"))
]


@pytest.mark.parametrize("name", QUICK)
def test_hostile_files(tmp_path, name):
    path = tmp_path / HOSTILE[name].file
    content = HOSTILE[name].content()
    path.write_bytes(content)
    assert len(content) < LARGEST
    assert outcome(HOSTILE[name], path) == ("read" if name in READ else "refused")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("e.csv", b"source,target\n" + b"1,2\n" * 1000),
        ("e.csv", b"source,target\n1," + b"2" * 4000),
        ("e.csv", b"source," + b"target" * 1000),
        ("e.csv", b'source,target\n1,"' + b"2\n" * 2000),
        ("g.gml", b"graph [\n" + b"node [ id 1 ]\n" * 1000),
        ("g.graphml", b"<graphml>" + b"<node/>" * 1000),
        ("g.gexf", b"<gexf>" + b"<node/>" * 1000),
        ("g.net", b"*Vertices 2\n*Arcs\n" + b"1 2\n" * 1000),
        ("g.edgelist", b"1 2\n" * 1000),
        ("g.adjlist", b"1 2\n" * 1000),
        ("g.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n" + b"1 2 1\n" * 1000),
    ],
)
@pytest.mark.parametrize("ending", COMPRESSIONS)
def test_decompressed_size_is_bounded(tmp_path, file, content, ending):
    """A limit of 0.03 bytes per byte makes a few kilobytes a bomb."""
    path = tmp_path / f"{file}{ending}"
    path.write_bytes(compressed(COMPRESSIONS[ending])(content))
    with (
        limits(values=0.03, text=0.03),
        pytest.raises(
            InputError, match=rf"{file}{ending} .* expands to more than the 3,000 allowed"
        ),
    ):
        read_graph(path)


@pytest.mark.parametrize("ending", COMPRESSIONS)
def test_a_compressed_table_cut_inside_a_character(tmp_path, ending):
    path = tmp_path / f"e.csv{ending}"
    path.write_bytes(compressed(COMPRESSIONS[ending])("source,target\na,é".encode()[:-1]))
    with pytest.raises(InputError, match=r"line 2: byte 0xc3 is not UTF-8"):
        read_graph(path)


# --- what is not a file --------------------------------------------------------------------------


def _pipe(path):
    os.mkfifo(path)


def _self(path):
    path.symlink_to(path)


def _socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def _device(path):
    path.symlink_to("/dev/zero")


READERS = {"e.csv": read_graph, "g.gml": read_graph, "e.parquet": read_graph, "a.npz": read_graph}
READERS |= {"z.npz": read_embedding, "z.txt": read_embedding, "m.safetensors": load_model}


@pytest.mark.parametrize("file", READERS)
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_pipe, "is a named pipe; save its content"),
        (_self, "symbolic links"),
        (_device, "is a device or a socket"),
        (_socket, "is a device or a socket"),
        (Path.mkdir, "is a folder"),
    ],
)
def test_what_is_not_a_file_is_refused(tmp_path, monkeypatch, file, make, words):
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    make(Path(file))
    with pytest.raises(InputError, match=words):
        READERS[file](Path(file))


@pytest.mark.parametrize("file", READERS)
def test_a_path_with_a_zero_byte_is_refused(file):
    with pytest.raises(InputError, match="cannot be read"):
        READERS[file](f"a\0{file}")


@pytest.mark.parametrize("name", TARGETS)
def test_files_whose_names_are_not_utf8(tmp_path, name):
    """What is valid is read, whatever the file is called."""
    target = TARGETS[name]
    folder = tmp_path / os.fsdecode(b"\xff\xfe")
    folder.mkdir()
    path = folder / target.file
    path.write_bytes(target.wrap(target.seeds()[0]))
    lacks_header = pytest.raises(InputError, match="lacks the header")
    with (
        warnings.catch_warnings(action="ignore"),
        lacks_header if name == "tensors" else nullcontext(),
    ):
        target.parse(path)


# --- fuzzing, in short ---------------------------------------------------------------------------


def _fed(target, content: bytes, path: Path) -> None:
    """A result or an `InputError`; anything else fails the test."""
    path.write_bytes(content)
    with warnings.catch_warnings(action="ignore"), suppress(InputError):
        target.parse(path)


@pytest.mark.parametrize("name", TARGETS)
def test_mutated_files_are_read_or_refused(tmp_path, name):
    """The corpus of findings, and a few mutations of valid files; `fuzz parsers` runs millions."""
    target = TARGETS[name]
    path = tmp_path / target.file
    for found in sorted((CORPUS / name).glob("*")):
        _fed(target, found.read_bytes(), path)
    seeds = target.seeds()
    for _, data in zip(range(120), mutations(seeds, seed=7), strict=False):
        _fed(target, target.wrap(data), path)


def test_every_target_belongs_to_one_parser():
    assert sorted(name for names in PARSERS.values() for name in names) == sorted(TARGETS)
