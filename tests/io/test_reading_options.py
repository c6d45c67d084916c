"""Options of reading a graph, stored and applied again."""

import json

import pytest

from graphgate import InputError, ReadingOptions, read_graph


def test_stored_options_read_the_same_graph(tmp_path):
    (tmp_path / "e.csv").write_text("from,to,w,kind\na,b,2,x\nb,c,3,y\nc,z,1,z\n")
    (tmp_path / "n.csv").write_text(
        "who,zip,text,team,junk\na,01,to be,x,1\nb,2,be,y,2\nc,3,,x,3\n"
    )
    options = ReadingOptions(
        source="from", target="to", weight="w", id="who", label="team", drop="junk",
        words=["text"], categories=["zip"], unknown_nodes="add", directed=True,
    )  # fmt: skip
    stored = json.loads(json.dumps(options.to_dict()))
    assert ReadingOptions.from_dict(stored) == options
    with pytest.warns(match="1 node is added|ignored: kind"):
        graph = read_graph(tmp_path / "e.csv", tmp_path / "n.csv", **stored)
    assert graph.ids.tolist() == ["a", "b", "c", "z"]
    assert graph.attributes.kinds == {"zip": "category", "text": "words"}
    assert (graph.directed, graph.weighted, graph.classes) == (True, True, ("x", "y"))


def test_options_that_do_not_exist_are_refused():
    with pytest.raises(InputError, match="unknown reading option 'speed'; use one of"):
        ReadingOptions.from_dict({"speed": 1})
    with pytest.raises(InputError, match="unknown_nodes must be one of drop, add, refuse, got 'x'"):
        ReadingOptions(unknown_nodes="x")
    with pytest.raises(InputError, match="the column 'id' cannot hold both ids and labels"):
        ReadingOptions(label="id")
    for wrong in (["a", 3], 3):
        with pytest.raises(InputError, match="drop must be names of columns, got"):
            ReadingOptions(drop=wrong)
