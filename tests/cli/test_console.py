"""What commands print, to streams that are closed, full, narrow or read by somebody's terminal."""

import json
import os
import re
import sys
from pathlib import Path

import pytest
from forks import fork

from graphgate.cli.outputs import write_result
from graphgate.errors import InputError, InputWarning, printable

EDGES = "source,target\na,b\nb,c\nc,d\nd,a\ne,a\n"
NODES = "id,p,q,r,label\na,1,0,2,x\nb,0,1,0,y\nc,3,1,0,\nd,0,0,1,x\ne,1,1,1,y\n"
EMBED = ["embed", "edges.csv", "--nodes", "nodes.csv", "--components", "2"]
EVIL = "\x1b[31mred\x1b]0;title\x07\x9b2J \u202etxt.exe\u2028line\nnext\r"
ACTIVE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "nodes.csv").write_text(NODES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- streams -------------------------------------------------------------------------------------


def test_a_closed_pipe_stops_no_output():
    """The reader has gone before the first line is printed."""
    end, stdout = os.pipe()
    os.close(end)
    outputs = ["--out", "z.csv", "--model", "m.safetensors", "--page", "p.html"]
    done = fork(*EMBED, *outputs, stdout=stdout)
    os.close(stdout)
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    assert {"z.csv", "m.safetensors", "p.html"} <= set(os.listdir())


@pytest.mark.parametrize(
    ("streams", "code"),
    [({1: "/dev/full"}, 2), ({2: "/dev/full"}, 0), ({1: None}, 0), ({1: None, 2: None}, 0)],
    ids=str,
)
def test_a_stream_that_cannot_be_written_stops_no_output(streams, code):
    opened = {n: -1 if path is None else os.open(path, os.O_WRONLY) for n, path in streams.items()}
    given = {"stdout": opened.get(1), "stderr": opened.get(2)}
    done = fork(*EMBED, "--out", "z.csv", "--model", "m.safetensors", **given)
    assert done.code == code, done.err
    assert "Traceback" not in done.err
    if code:
        assert done.err.splitlines()[-1] == (
            "graphgate: standard output cannot be written: No space left on device; "
            "redirect it elsewhere"
        )
    # A file that took the number of a closed stream would hold what is printed.
    assert Path("z.csv").read_text().startswith('node_id,e0,e1,label\n"a",')
    assert sorted(os.listdir()) == ["edges.csv", "m.safetensors", "nodes.csv", "z.csv"]


def test_help_for_a_full_disk():
    done = fork("--help", stdout=os.open("/dev/full", os.O_WRONLY))
    assert done.code == 2
    assert done.err.count("\n") == 1


def test_an_ascii_terminal():
    Path("z.csv").write_text("node_id,e0,e1\né,1,0\nü→,0,1\n", encoding="utf-8")

    def ascii_only():
        sys.stdout.reconfigure(encoding="ascii", errors="strict")

    done = fork("similar", "z.csv", "--node", "é", prepare=ascii_only)
    assert done.code == 0, done.err
    assert r"\xfc\u2192" in done.out


# --- terminals -----------------------------------------------------------------------------------


def test_what_a_terminal_acts_on_is_escaped():
    assert not ACTIVE.search(printable(EVIL))
    assert printable(EVIL).startswith(
        r"\x1b[31mred\x1b]0;title\x07\x9b2J \u202etxt.exe\u2028line\n"
    )
    assert printable("naïve 漢字 🙂‍🔧 עברית") == "naïve 漢字 🙂‍🔧 עברית"
    assert printable("\udce9") == r"\udce9"
    assert len(printable("x" * 10**6 + "; fix it", 100)) < 110
    assert printable("x" * 10**6 + "; fix it", 100).endswith("x; fix it")


@pytest.mark.parametrize("kind", [InputError, InputWarning])
def test_messages_are_one_line(kind):
    message = str(kind(f"the column {EVIL} is odd"))
    assert not ACTIVE.search(message)
    assert "\n" not in message
    assert len(str(kind("x" * 10**6))) < 2100


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def test_names_from_files_cannot_control_the_terminal(run):
    """In a column that is ignored, an id, a label, and the name of a file."""
    name = quoted(EVIL)
    rows = "".join(f"{name + '1' if at == 'a' else at},{at * 50},{name},1\n" for at in "abcdefgh")
    rows = rows.replace(f"{name}1", quoted(EVIL + "1"))
    Path("n.csv").write_text(f"id,{name},label,p\n{rows}", encoding="utf-8")
    Path("e.csv").write_text("source,target\nb,c\nc,d\nd,e\n", encoding="utf-8")
    printed = []
    for arguments in [
        ["embed", "e.csv", "--nodes", "n.csv", "--out", "z.csv", "--components", "2"],
        ["similar", "z.csv", "--node", EVIL + "1"],
        ["similar", "z.csv", "--node", "b"],
        ["similar", "z.csv", "--node", EVIL],
        ["cluster", "z.csv", "--clusters", "2"],
        ["classify", "z.csv"],
        ["embed", "e.csv", "--nodes", EVIL, "--out", "y.csv"],
        ["embed", "e.csv", "--nodes", "n.csv", "--out", "y.csv", "--drop", EVIL],
        ["embed", "e.csv", EVIL],
    ]:
        _, out, err = run(*arguments)
        printed += [out, err]
        assert not ACTIVE.search(out + err), arguments
        assert "next" not in {line.strip()[:4] for line in (out + err).splitlines()}
    assert r"\x1b[31mred" in "".join(printed)
    assert Path("z.csv").read_text(encoding="utf-8").count("\x1b[31m") == 9  # files keep the ids


def test_a_long_id_does_not_flood_the_terminal(run):
    Path("z.csv").write_text(f"node_id,e0,e1\n{'x' * 100_000},1,0\nb,0,1\n")
    code, out, _ = run("similar", "z.csv", "--node", "b")
    assert code == 0
    assert len(out) < 3000


def test_no_part_of_a_result_takes_the_place_of_another(tmp_path):
    path = tmp_path / "result.json"
    write_result(path, {"nodes": 1}, {"edges": 2})
    assert {"nodes", "edges", "command", "versions"} == json.loads(path.read_text()).keys()
    for parts in ([{"versions": []}], [{"command": ""}], [{"nodes": 1}, {"nodes": 2}]):
        with pytest.raises(KeyError, match="two values of the result are named"):
            write_result(path, *parts)
