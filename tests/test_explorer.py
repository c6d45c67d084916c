"""The explorer's page as data and text; what it does in a browser is in test_explorer_browser."""

import base64
import http.client
import json
import re
import threading
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse as sp

from graphgate import Attention, Graph, InputError, InputWarning
from graphgate.tasks.clustering import cluster_vectors
from graphgate.visualization.page import content as contents
from graphgate.visualization.page import html as pages
from graphgate.visualization.page.columns import column
from graphgate.visualization.page.content import from_embedding
from graphgate.visualization.page.html import make_page, to_json, write_page
from graphgate.visualization.page.nearest import attended_pairs, nearest_nodes
from graphgate.visualization.page.server import PageServer, serve_page

EVIL = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>&amp;\u2028{{data}}\"'"


def ring(n=6, **more):
    names = more.get("ids", range(n))
    edges = [(names[i], names[(i + 1) % n]) for i in range(n)]
    return Graph.from_edges(np.eye(n), edges, **more)


def random_attention(graph, seed=0):
    rng = np.random.default_rng(seed)
    alpha = sp.csr_array(graph.attended + sp.eye_array(graph.n_nodes))
    alpha.data = rng.uniform(0.1, 1, alpha.nnz)
    return sp.csr_array(sp.diags_array(1 / alpha.sum(axis=1)) @ alpha)


def small_content(graph=None, **more):
    graph = ring(labels=list("aabbcc")) if graph is None else graph
    rng = np.random.default_rng(0)
    more.setdefault("points", rng.normal(size=(graph.n_nodes, 2)))
    z = rng.normal(size=(graph.n_nodes, 4)).astype(np.float32)
    return from_embedding(graph, z, random_attention(graph), **more)


class Reader(HTMLParser):
    """What a browser would see: elements, data blocks, the policy."""

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


# --- content -------------------------------------------------------------------------------------


def test_an_edge_carries_the_mean_of_its_directions_strongest_first():
    alpha = sp.csr_array([[0.5, 0.2, 0.3], [0.6, 0.4, 0.0], [0.9, 0.0, 0.1]])
    edges, values = attended_pairs(alpha)
    assert edges.tolist() == [[0, 2], [0, 1]]
    np.testing.assert_allclose(values, [[0.3, 0.9], [0.2, 0.6]], rtol=1e-6)


def test_where_a_node_does_not_look_there_is_no_value():
    edges, values = attended_pairs(sp.csr_array([[0.5, 0.5], [0.0, 1.0]]))
    assert edges.tolist() == [[0, 1]]
    assert values[0, 0] == 0.5
    assert np.isnan(values[0, 1])


@pytest.mark.parametrize("block", [7, 1000])
def test_nearest_nodes_are_those_of_brute_force(block, monkeypatch):
    monkeypatch.setattr("graphgate.tasks.neighbors.BLOCK_ENTRIES", block)
    z = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
    z[7] = 0
    unit = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-9)
    all_cosines = unit @ unit.T
    np.fill_diagonal(all_cosines, -np.inf)
    nearest, cosine = nearest_nodes(z, 4)
    np.testing.assert_allclose(cosine, -np.sort(-all_cosines, axis=1)[:, :4], atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(all_cosines, nearest, axis=1), cosine, atol=1e-6)


def test_a_graph_of_one_node():
    graph = Graph([[1.0, 2.0]])
    content = from_embedding(graph, np.ones((1, 3)), sp.csr_array((1, 1)))
    assert content.nearest.shape == (1, 0)
    assert Reader(make_page(content)).about()["nodes"] == 1


def test_layers_are_averaged():
    graph = ring(4)
    first, second = random_attention(graph, 1), random_attention(graph, 2)
    content = from_embedding(
        graph, np.eye(4), Attention((first,), (second,)), points=np.zeros((4, 2))
    )
    u, v = content.edges[0]
    mean = (first + second).toarray() / 2
    np.testing.assert_allclose(content.attention[0], [mean[u, v], mean[v, u]], rtol=1e-6)


def test_columns_of_a_graph():
    graph = ring(
        labels=["a", None, "b", "b", "a", "a"],
        splits={"train": [True] * 2 + [False] * 4},
        feature_names=[f"f{i}" for i in range(6)],
    )
    content = small_content(graph, columns={"year": [1.5, None, 2, 3, 4, 5]})
    found = {each.name: each for each in content.columns}
    assert list(found) == [
        *("class", "cluster", "split", "neighbours"),
        *(f"feature f{i}" for i in range(6)),
        "year",
    ]
    assert found["class"].values.tolist() == [0, -1, 1, 1, 0, 0]
    assert found["split"].values.tolist() == [0, 0, -1, -1, -1, -1]
    assert found["neighbours"].values.tolist() == [2] * 6
    assert len(found["cluster"].names) == 2


def table_graph(columns, n=4):
    return Graph.from_edges(None, [(i, i + 1) for i in range(n - 1)], attributes=columns)


def test_attributes_are_shown_as_they_were_given():
    graph = table_graph(
        {
            "age": [31, None, 52.5, 24],
            "town": ["Ulm", "Bern", None, "Ulm"],
            "member": [True, None, False, True],
            "likes": [["chess"], [], ["music", "go"], []],
            "cluster": ["x", "x", "y", "y"],
        }
    )
    found = {each.name: each for each in small_content(graph).columns}
    assert list(found) == [
        *("cluster", "neighbours"),
        *("age", "town", "member", "cluster (attribute)"),
    ]
    np.testing.assert_array_equal(found["age"].values, np.float32([31, np.nan, 52.5, 24]))
    assert (found["town"].names, found["town"].values.tolist()) == (("Bern", "Ulm"), [1, 0, -1, 1])
    assert found["member"].names == ("false", "true")
    assert found["member"].values.tolist() == [1, -1, 0, 1]
    assert found["cluster (attribute)"].names == ("x", "y")
    part = {each.name: each for each in small_content(graph.without([1])).columns}
    assert (part["town"].names, part["town"].values.tolist()) == (("Ulm",), [0, -1, 0])


def test_a_column_given_takes_the_place_of_an_attribute():
    content = small_content(table_graph({"age": [1, 2, 3, 4]}), columns={"age": list("abab")})
    (age,) = [each for each in content.columns if each.name == "age"]
    assert age.names == ("a", "b")


def test_of_edges_alone_roles_are_shown_but_no_positions():
    graph = Graph.from_edges(None, [(0, 1), (1, 2), (2, 0), (2, 3)])
    found = {each.name: each for each in small_content(graph).columns}
    assert list(found)[2:] == [
        *("log degree", "mean log degree of neighbors", "clustering", "core number")
    ]
    assert found["core number"].values.tolist() == [2, 2, 2, 1]


def test_of_very_many_columns_the_first_are_shown_and_it_says_so():
    graph = table_graph({f"c{at}": [at, 1, 2, 3.5] for at in range(60)})
    with pytest.warns(InputWarning, match="first 50 of 60 columns"):
        content = small_content(graph)
    assert [each.name for each in content.columns][-1] == "c49"


def test_the_clusters_of_a_page_are_those_of_the_command():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(40, 3)).astype(np.float32)
    graph = ring(40)
    content = from_embedding(graph, z, random_attention(graph), points=np.zeros((40, 2)))
    (shown,) = [each for each in content.columns if each.name == "cluster"]
    np.testing.assert_array_equal(shown.values, cluster_vectors(z, 8))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.linspace(0, 1, 300), "number"),
        (np.arange(300), "number"),
        (np.arange(300) % 3, "category"),
        (np.arange(300) % 2 == 0, "category"),
        ([f"name {i}" for i in range(300)], "text"),
        (["x", None, 3] * 100, "category"),
    ],
)
def test_kinds_of_columns(values, kind):
    assert column("c", values, 300).kind == kind


def test_missing_values_have_no_category():
    made = column("c", np.array(["x", None, float("nan"), ""], dtype=object), 4)
    assert made.values.tolist() == [0, -1, -1, -1]
    assert np.isnan(column("c", [1.0, np.inf, np.nan, 2.5], 4).values).tolist() == [0, 1, 1, 0]


def test_many_nodes_are_placed_among_a_sample(monkeypatch):
    monkeypatch.setattr(contents, "MOST_PROJECTED", 60)
    rng = np.random.default_rng(0)
    centers = np.repeat(np.eye(2) * 50, 50, axis=0)
    z = (centers + rng.normal(size=(100, 2))).astype(np.float32)
    points, layout = contents._points(z, 0)
    assert "30 nodes" in layout
    middles = points[:50].mean(axis=0), points[50:].mean(axis=0)
    gap = np.linalg.norm(middles[0] - middles[1])
    assert gap > 2 * points[:50].std()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"embedding": np.ones((5, 2))}, "embedding has the shape"),
        ({"embedding": np.full((6, 2), np.nan)}, "not finite"),
        ({"attention": sp.csr_array((5, 5))}, "attention is"),
        ({"points": np.ones((6, 3))}, "finite pairs"),
        ({"points": np.full((6, 2), np.inf)}, "finite pairs"),
        ({"clusters": [1, 2]}, "clusters must be"),
        ({"columns": {"c": [1, 2]}}, "the column 'c'"),
        ({"columns": {"cluster": [1] * 6}}, "there twice"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(change, message):
    graph = ring()
    given = {"embedding": np.eye(6), "attention": random_attention(graph)} | change
    with pytest.raises(InputError, match=message) as error:
        from_embedding(graph, **{"points": np.zeros((6, 2))} | given)
    assert "\n" not in str(error.value)


# --- page ----------------------------------------------------------------------------------------


def test_the_page_holds_what_the_content_says():
    content = small_content()
    reader = Reader(make_page(content))
    about = reader.about()
    assert about["nodes"] == 6
    assert about["ids"] is None  # 0 … N-1 need not be sent
    assert about["columns"][0] == {"name": "class", "kind": "category", "names": ["a", "b", "c"]}
    assert reader.array("column-0").tolist() == [0, 0, 1, 1, 2, 2]
    assert reader.array("edges").reshape(-1, 2).tolist() == content.edges.tolist()
    sent = reader.array("attention").reshape(-1, 2) / pages.STEPS
    np.testing.assert_allclose(sent, content.attention, atol=1e-5)
    cosine = reader.array("cosine").reshape(6, -1) / pages.STEPS * 2 - 1
    np.testing.assert_allclose(cosine, content.cosine, atol=1e-4)
    placed = reader.array("points").reshape(6, 2) / pages.STEPS
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


def test_json_has_no_sign_that_html_knows():
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


def test_no_script_of_the_page_makes_markup_of_data():
    for name in (*pages.SCRIPTS, "map.js"):
        script = pages._own_file(name)
        for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
            assert word not in script, name


def test_a_page_is_little_more_than_the_library(tmp_path):
    size = write_page(tmp_path / "page.html", small_content())
    assert (tmp_path / "page.html").stat().st_size == size
    assert size < len(pages._library().encode()) + 100_000


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(pages, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'graphgate\[viz\]'"):
        make_page(small_content())


def test_a_page_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        write_page(tmp_path / "no" / "page.html", small_content())


def test_library_text_cannot_end_its_element(monkeypatch, tmp_path):
    folder = tmp_path / "nbextension" / "static"
    folder.mkdir(parents=True)
    (folder / "index.js").write_bytes(b"a='</SCRIPT>';\r\nb='<!--'\n//# sourceMappingURL=x")
    spec = type("Spec", (), {"submodule_search_locations": [str(tmp_path)]})
    monkeypatch.setattr(pages, "find_spec", lambda name: spec)
    assert pages._library() == "a='\\x3C/SCRIPT>';\nb='\\x3C!--'"


# --- server --------------------------------------------------------------------------------------


@pytest.fixture
def server():
    with PageServer(b"<!doctype html>page") as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, path="/", method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request(method, path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_the_server_gives_the_page_on_loopback_only(server):
    assert server.server_address[0] == "127.0.0.1"
    answer, body = ask(server)
    assert (answer.status, body) == (200, b"<!doctype html>page")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"path": "/etc/passwd"}, 404),
        ({"path": "/../page.html"}, 404),
        ({"method": "POST"}, 501),
        ({"host": "evil.example"}, 403),
    ],
)
def test_the_server_gives_nothing_else(server, request_, status):
    answer, body = ask(server, **request_)
    assert answer.status == status
    assert b"page</" not in body
    assert b"doctype html>page" not in body


def test_a_port_that_is_taken(server):
    with pytest.raises(InputError, match="cannot serve on port"):
        PageServer(b"", server.server_port)
    with pytest.raises(InputError, match="0 to 65535"):
        PageServer(b"", 70_000)


def test_serving_ends_with_an_interrupt_and_opens_a_browser_only_if_asked(monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    for wanted in (False, True):
        server = PageServer(b"")
        monkeypatch.setattr(server, "serve_forever", _interrupted)
        serve_page(server, open_browser=wanted)
        assert opened == ([server.url] if wanted else [])


def _interrupted():
    raise KeyboardInterrupt
