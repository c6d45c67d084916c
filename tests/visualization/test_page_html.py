"""The page as text; its behavior in a browser is in test_page_browser."""

import base64
import json
import re
import tomllib
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from page_graphs import random_attention, ring, small_content

from graphgate import Graph, InputError, write_page
from graphgate.visualization.page import page_html
from graphgate.visualization.page.page_content import build_content
from graphgate.visualization.page.page_html import deckgl_script, make_page, to_json

ROOT = Path(__file__).parents[2]
EVIL = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>&amp;\u2028{{data}}\"'"


class Reader(HTMLParser):
    """What a browser sees: elements, data blocks, the policy."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.blocks, self.policy, self.texts = [], {}, "", []
        self._open = None
        self.feed(page.decode())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append((tag, given))
        self._open = given.get("id") if tag == "script" else None
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]

    def handle_data(self, text):
        if self._open:
            self.blocks[self._open] = self.blocks.get(self._open, "") + text
        self.texts.append(text)

    def array(self, name):
        (kind,) = [tag["data-kind"] for _, tag in self.tags if tag.get("id") == f"block-{name}"]
        return np.frombuffer(base64.b64decode(self.blocks[f"block-{name}"]), dtype=f"<{kind}")

    def about(self):
        return json.loads(self.blocks["about"])


def test_the_page_contains_the_content():
    content = small_content()
    reader = Reader(make_page(content))
    about = reader.about()
    assert about["nodes"] == 6
    assert about["ids"] is None  # 0 … N-1 is the default
    assert about["columns"][0] == {
        **{"name": "class", "kind": "category"},
        **{"names": ["a", "b", "c"], "colored": [0, 1, 2]},
    }
    assert reader.array("column-0").tolist() == [0, 0, 1, 1, 2, 2]
    assert reader.array("edges").reshape(-1, 2).tolist() == content.edges.tolist()
    sent = reader.array("edge-values").reshape(-1, 2) / page_html.STEPS
    np.testing.assert_allclose(sent, content.edge_values, atol=1e-5)
    cosine = reader.array("cosine").reshape(6, -1) / page_html.STEPS * 2 - 1
    np.testing.assert_allclose(cosine, content.cosines, atol=1e-4)
    placed = reader.array("points").reshape(6, 2) / page_html.STEPS
    scale = np.ptp(content.points, axis=0).max()
    np.testing.assert_allclose(
        placed - placed[0], (content.points - content.points[0]) / scale, atol=1e-4
    )


def test_data_is_never_markup():
    graph = ring(ids=[f"{EVIL} {i}" for i in range(6)], labels=[EVIL, "b"] * 3)
    plain = Reader(make_page(small_content(columns={"more": list("xyxyxy")})))
    title = f"{EVIL}\ud800"
    evil_page = make_page(small_content(graph, title=title, columns={EVIL: [EVIL, "y"] * 3}))
    evil = Reader(evil_page)
    assert [tag for tag, _ in evil.tags] == [tag for tag, _ in plain.tags]
    assert evil.about()["ids"][0] == f"{EVIL} 0"
    assert evil.about()["title"] == title
    assert b"<script>alert" not in evil_page
    assert "\u2028" not in evil.blocks["about"]


def test_json_has_no_character_that_is_special_in_html():
    text = to_json([EVIL, "\u2029", "\ud800"])
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == [EVIL, "\u2029", "\ud800"]


def test_the_policy_forbids_every_request():
    policy = Reader(make_page(small_content())).policy
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy
    assert "http" not in policy
    assert rules["img-src"] == "data:"
    assert all(source.startswith("'sha256-") for source in rules["script-src"].split())


def test_no_script_of_the_page_turns_data_into_markup():
    for name in (*page_html.SCRIPTS, "node_map.js"):
        script = page_html._own_file(name)
        for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
            assert word not in script, name


def test_write_page_writes_the_page_of_the_content(tmp_path):
    graph = ring(labels=list("aabbcc"))
    z, alpha = np.eye(6), random_attention(graph)
    options = {
        "title": "Six",
        "points": np.random.default_rng(0).normal(size=(6, 2)),
        "clusters": list("xyxyxy"),
        "columns": {"year": np.arange(6) + 0.5},
        "random_state": 3,
    }
    path = write_page(tmp_path / "page.html", graph, z, alpha, **options)
    assert path == tmp_path / "page.html"
    assert path.read_bytes() == make_page(build_content(graph, z, alpha, **options))
    assert path.stat().st_size < len(deckgl_script().encode()) + 100_000
    about = Reader(path.read_bytes()).about()
    assert (about["title"], about["edgeTitle"]) == ("Six", "attention")
    assert Reader(make_page(build_content(graph, z))).about()["edgeTitle"] is None


def test_a_page_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        write_page(tmp_path / "no" / "page.html", ring(), np.eye(6))


def test_tiny_attention_is_not_taken_for_none():
    graph = Graph.from_edges(np.eye(2), [(0, 1)], directed=True)
    alpha = sp.csr_array([[1.0, 0.0], [1e-9, 1.0]])
    reader = Reader(make_page(build_content(graph, np.eye(2), alpha)))
    assert reader.array("edge-values").tolist() == [0, 1]


# --- the script of deck.gl ------------------------------------------------------------------------


def test_the_installed_script_is_the_pinned_one():
    assert version("pydeck") == page_html.PYDECK
    script = deckgl_script()
    assert "OrthographicView" in script
    assert "</script" not in script.lower()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"pydeck=={page_html.PYDECK}" in extras["optional-dependencies"]["viz"]


@pytest.mark.parametrize("content", [None, b"another release"])
def test_any_other_script_is_refused(monkeypatch, tmp_path, content):
    folder = tmp_path / "nbextension" / "static"
    folder.mkdir(parents=True)
    if content is not None:
        (folder / "index.js").write_bytes(content)
    spec = type("Spec", (), {"submodule_search_locations": [str(tmp_path)]})
    monkeypatch.setattr(page_html, "find_spec", lambda name: spec)
    with pytest.raises(
        InputError, match=r"deck\.gl from pydeck .*: pip install 'graphgate\[viz\]'"
    ):
        deckgl_script()


def test_without_pydeck_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(page_html, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'graphgate\[viz\]'"):
        deckgl_script()


def test_a_script_cannot_end_its_element():
    script = "a='</SCRIPT>';\r\nb='<!--'\n//# sourceMappingURL=x"
    assert page_html.embeddable(script) == "a='\\x3C/SCRIPT>';\nb='\\x3C!--'"
