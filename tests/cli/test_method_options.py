"""The options of methods stand for the parameters of the estimators, and are refused elsewhere."""

import ast
import inspect
import re
from pathlib import Path

import pytest

from graphgate import GATE, LinearGATE, cli
from graphgate.cli.inputs import choose_method
from graphgate.cli.method_options import METHOD_OPTIONS
from graphgate.errors import InputError

ESTIMATORS = {"linear": LinearGATE, "gate": GATE}
# Parameters with an option of every method, and those that only Python has.
COMMON = {"scale", "random_state", "dtype", "memory_limit", "progress"}
WITHOUT_OPTION = {
    "linear": {"weights", "groups"},
    "gate": {
        *("tied_weights", "shared_attention", "attention", "feature_loss", "feature_weight"),
        *("clip_norm", "tolerance", "warm_start", "checkpoint_every"),
    },
}
# The types of an option, by the type of its parameter.
KINDS = {
    "int": "int",
    "bool": "bool",
    "float": "float",
    "str": "str",
    "str | None": "str",
    "int | None": "int",
    "float | None": "float",
    "int | str": "str",
    "tuple[int, ...]": "str",
    "str | Path | None": "Path",
}


def options_of(method: str) -> dict:
    """Options by their parameter."""
    options = [each for each in METHOD_OPTIONS.values() if each.method == method]
    return {each.parameter: each for each in options if each.parameter is not None}


@pytest.mark.parametrize("method", ESTIMATORS)
def test_the_options_are_those_of_the_signature(method):
    parameters = inspect.signature(ESTIMATORS[method]).parameters
    options = options_of(method)
    assert options.keys() | COMMON | WITHOUT_OPTION[method] == parameters.keys()
    assert not options.keys() & (COMMON | WITHOUT_OPTION[method])
    for name, option in options.items():
        annotation = inspect.formatannotation(parameters[name].annotation).replace("pathlib.", "")
        expected = "int" if name == "patience" else KINDS[annotation]
        assert option.kind.__name__ == expected, name
        if default := re.search(r"default: (\w+)[,.]", option.help):
            assert default[1] in ("that", "one", "our", str(parameters[name].default))


def test_a_flag_switches_its_parameter_off():
    assert choose_method(None, {"no_structure": True}) == ("linear", {"structure": False})


def test_values_are_parsed():
    given = {"dims": "9,8", "batch_size": "40", "epochs": 3, "preset": None}
    assert choose_method("gate", given) == ("gate", {"dims": (9, 8), "batch_size": 40, "epochs": 3})
    for size in ("auto", "full"):
        assert choose_method("gate", {"batch_size": size})[1] == {"batch_size": size}
    for wrong, words in [
        ({"dims": "a"}, "--dims takes integers"),
        ({"batch_size": "a"}, "auto or"),
    ]:
        with pytest.raises(InputError, match=words):
            choose_method("gate", wrong)


def test_an_output_of_a_method_is_no_parameter(capsys):
    assert choose_method(None, {"attention": Path("a.csv"), "dims": None}) == ("gate", {})
    assert capsys.readouterr().err == "--attention selects --method gate\n"
    assert choose_method(None, {"scores": Path("s.csv")}) == ("linear", {})
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", METHOD_OPTIONS)
def test_an_option_is_refused_with_the_other_method(name):
    option = METHOD_OPTIONS[name]
    other = "gate" if option.method == "linear" else "linear"
    with pytest.raises(InputError, match=f"{option.flag} is an option of --method {option.method}"):
        choose_method(other, {name: "1"})


def test_no_function_of_the_command_line_is_longer_than_60_lines():
    lengths = {}
    for file in Path(cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                lengths[f"{file.stem}.{node.name}"] = node.end_lineno - first + 1
    assert "embed.embed" in lengths
    assert {name: length for name, length in lengths.items() if length > 60} == {}
