"""What every command has: an example that parses, `--quiet`, exit codes, JSON where it answers."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

from graphgate.__main__ import app
from graphgate.cli.conventions import EXIT_CODES, commands
from graphgate.errors import InputError
from graphgate.io.embeddings import write_embedding

GROUP = get_command(app)
WRITES_ONLY = {  # files or a folder, and nothing that is not in them
    *("transform", "serve", "figures", "explore", "demo", "data fetch", "data export"),
    *("store create", "store add", "store remove", "store rollback", "store prune"),
    *("store refresh", "store export", "store erase", "onnx"),
}


def walk(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from walk(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(walk(GROUP))


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Files with the names that the examples use."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    block = np.arange(60) % 3
    near = np.argwhere(np.triu(rng.random((60, 60)) < np.where(block[:, None] == block, 0.4, 0.02)))
    edges = [f"{u},{v}" for u, v in near.tolist() if u != v]
    Path("edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
    towns = ["Ulm", "Bern", "Graz"]
    rows = [f"{at},{towns[b]},{at % 7},{'xyz'[b]}" for at, b in enumerate(block)]
    Path("nodes.csv").write_text("\n".join(["id,town,age,label", *rows]) + "\n")
    z = 9 * np.eye(3)[block] + rng.normal(size=(60, 3))
    write_embedding("embedding.parquet", range(60), z)
    return tmp_path


def test_every_command_is_seen():
    assert {"embed", "cluster", "outliers", "data list"} <= set(COMMANDS)
    assert len(COMMANDS) == len(list(commands(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_that_parses_and_the_exit_codes(name):
    command = COMMANDS[name]
    example, codes = command.epilog.split("\n\n")
    assert codes == EXIT_CODES
    program, *arguments = shlex.split(re.fullmatch(r"Example: (.*)", example)[1])
    assert program == "graphgate"
    assert " ".join(arguments).startswith(name)
    command.make_context(name, arguments[len(name.split()) :])


@pytest.mark.parametrize("name", COMMANDS)
def test_quiet_everywhere_and_json_wherever_there_is_an_answer(name):
    options = {option for each in COMMANDS[name].params for option in each.opts}
    assert {"--quiet", "-q"} <= options
    assert ("--json" in options) == (name not in WRITES_ONLY)


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_of_one_value_is_refused_twice(name):
    command = COMMANDS[name]
    for option in command.params:
        if option.param_type_name != "option" or option.is_flag or option.multiple:
            continue
        for names in ([option.opts[0]] * 2, [option.opts[-1]] * 3):
            twice = [word for each in names for word in (each, "1")]
            with pytest.raises(InputError, match=rf"given {len(names)} times, but takes one"):
                command.make_context(name, twice)


def test_options_that_may_be_repeated(run):
    drops = ["--drop", "a", "--drop", "b", "--quiet", "--quiet"]
    context = COMMANDS["embed"].make_context("embed", ["edges.csv", "--out", "z.csv", *drops])
    assert context.params["drop"] == ["a", "b"]
    code, _, err = run("embed", "edges.csv", "--nodes", "a.csv", "--nodes", "b.csv", "--out", "z")
    assert code == 2
    assert err == (
        "graphgate: --nodes is given 2 times, but takes one value; put all nodes into one table, "
        "with empty cells where a column does not apply\n"
    )


@pytest.mark.parametrize("command", [[], ["cluster"], ["data"], ["data", "list"]])
def test_the_help_shows_no_type_for_flags(run, command):
    code, out, _ = run(*command, "--help")
    assert code == 0
    assert re.search(r"--help +Show this message", out)
    assert "bool" not in out.lower()
    assert bool(re.search("<int>|INTEGER", out)) == (command == ["cluster"])


def test_the_help_of_the_program_has_the_exit_codes(run):
    assert EXIT_CODES in GROUP.epilog
    code, out, _ = run("--help")
    assert code == 0
    assert "130 interrupted" in " ".join(out.split())


ANSWERS = {
    "embed": (["embed", "edges.csv", "--nodes", "nodes.csv", "--out", "z.csv"], "report"),
    "similar": (["similar", "embedding.parquet", "--node", "3", "--top", "2"], "similar"),
    "cluster": (["cluster", "embedding.parquet", "--describe", "nodes.csv"], "traits"),
    "classify": (["classify", "embedding.parquet", "--nodes", "nodes.csv"], "accuracy"),
    "outliers": (["outliers", "edges.csv", "--nodes", "nodes.csv", "--top", "3"], "outliers"),
    "predict-links": (["predict-links", "edges.csv", "--nodes", "nodes.csv"], "links"),
    "data list": (["data", "list"], "datasets"),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ANSWERS)
def test_json_on_standard_output_and_nothing_else(run, name):
    arguments, key = ANSWERS[name]
    code, out, err = run(*arguments, "--json", "-")
    assert code == 0
    assert json.loads(out)[key]
    assert err
    code, quiet, err = run(*arguments, "--json", "-", "--quiet")
    assert (code, err) == (0, "")
    assert json.loads(quiet)[key]
    assert run(*arguments, "--quiet") == (0, "", "")


@pytest.mark.usefixtures("folder")
def test_quiet_reports_errors(run):
    code, out, err = run("similar", "embedding.parquet", "--node", "nobody", "--quiet")
    assert (code, out) == (2, "")
    assert err.startswith("graphgate: ")
    assert err.count("\n") == 1


# --- answers -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_clusters_are_counted_and_described(run):
    code, out, _ = run(
        "cluster", "embedding.parquet", "--clusters", "auto", "--describe", "nodes.csv"
    )
    assert code == 0
    assert len(re.findall(r"cluster \d: town (Ulm|Bern|Graz) \(100%, elsewhere 0%\)", out)) == 3
    assert "age" not in out
    write_embedding("cloud.csv", range(60), np.random.default_rng(0).normal(size=(60, 3)))
    code, out, _ = run("cluster", "cloud.csv")
    assert code == 0
    assert "no number of clusters is supported" in out
    for wrong in ("many", "0", "-1"):
        code, _, err = run("cluster", "embedding.parquet", "--clusters", wrong)
        assert code == 2
        assert "--clusters takes an integer ≥ 1 or auto" in err


@pytest.mark.usefixtures("folder")
def test_what_similar_nodes_share(run):
    graph = ["--edges", "edges.csv", "--nodes", "nodes.csv"]
    code, out, _ = run("similar", "embedding.parquet", "--node", "3", "--top", "2", *graph)
    assert code == 0
    assert out.count("town Ulm") == 2
    assert "shared" in out
    code, _, err = run("similar", "embedding.parquet", "--node", "3", "--nodes", "nodes.csv")
    assert code == 2
    assert "add --edges FILE" in err


@pytest.mark.usefixtures("folder")
def test_outliers_are_listed_and_written(run):
    code, out, _ = run("outliers", "edges.csv", "--nodes", "nodes.csv", "--out", "all.csv")
    assert code == 0
    assert "features" in out
    assert len(Path("all.csv").read_text().splitlines()) == 61
