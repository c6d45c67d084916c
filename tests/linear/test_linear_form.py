"""docs/linear_form.md says what graphgate/linear/model.py does."""

import re
from importlib import import_module
from pathlib import Path

import graphgate
from graphgate.linear.model import VIEWS

PAGE = (Path(__file__).parents[2] / "docs/linear_form.md").read_text("utf-8")
MODULES = [file.stem for file in (Path(graphgate.__file__).parent / "linear").glob("[a-z]*.py")]


def test_every_name_of_the_page_exists():
    names = re.findall(rf"`((?:{'|'.join(MODULES)})\.\w+(?:\.\w+)*)`", PAGE)
    assert {"model.solve", "model.VIEWS", "model.ridge"} <= set(names)
    for name in names:
        module, *parts = name.split(".")
        thing = import_module(f"graphgate.linear.{module}")
        for part in parts:
            thing = getattr(thing, part)


def test_the_table_of_views_is_that_of_the_code():
    (table,) = re.findall(r"<!-- views -->\n(.*?)<!-- /views -->", PAGE, re.DOTALL)
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert [(name, float(weight)) for name, _, weight, _ in rows] == [
        (f"`{view.name}`", view.weight) for view in VIEWS.values()
    ]
