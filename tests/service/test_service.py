"""The service over a real socket: what it answers, and what it says of mistakes."""

import json
import re
import threading

import numpy as np
import pytest
from growing import first, grown_graph, later
from services import Client, running, small_store

from graphgate import Graph, InputError, LinearGATE, Store, similar
from graphgate.service import replies
from graphgate.service.messages import NewNode
from graphgate.service.served import Follower

pytestmark = pytest.mark.filterwarnings("ignore::graphgate.errors.InputWarning")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return small_store(tmp_path_factory.mktemp("service") / "store")


@pytest.fixture(scope="module")
def client(store):
    with running(store.path, max_body=100_000) as client:
        yield client


def row(graph: Graph, at: int) -> dict:
    columns = graph.attributes
    return {name: columns.column(name).tolist()[at] for name in columns}


# --- answers -------------------------------------------------------------------------------------


def test_nodes_by_id(client, store):
    found = client.get("/nodes", id=["n7", "n3"]).json
    assert found["version"] == 1
    assert [node["id"] for node in found["nodes"]] == ["n7", "n3"]
    graph, vectors = store.graph(), store.vectors().vectors
    for node, at in zip(found["nodes"], (7, 3), strict=True):
        np.testing.assert_array_equal(np.float32(node["vector"]), vectors[at])
        assert node["label"] == graph.label_values()[at]
        assert node["attributes"] == row(graph, at)
    bare = client.get("/nodes", id="n7", vectors="false").json["nodes"][0]
    assert "vector" not in bare


def test_similar_by_id_is_that_of_the_store(client, store):
    found = client.get("/similar", id=["n3", "n8"], k=5).json["results"]
    expected = similar(store.vectors(), ["n3", "n8"], n_neighbors=5)
    assert [each["id"] for each in found] == ["n3", "n8"]
    for each, ids, cosines in zip(found, expected.neighbors, expected.cosines, strict=True):
        assert [near["id"] for near in each["neighbors"]] == ids.tolist()
        assert [near["cosine"] for near in each["neighbors"]] == pytest.approx(cosines, abs=2e-6)
    assert client.post("/similar", {"ids": ["n3", "n8"], "k": 5}).json["results"] == found


def test_similar_by_vector_condition_and_attributes(client, store):
    vectors = store.vectors().vectors
    found = client.post("/similar", {"vectors": (1e30 * vectors[[3]]).tolist(), "k": 60}).json
    (result,) = found["results"]
    assert result["id"] == 0
    assert result["neighbors"][0]["id"] == "n3"
    assert len(result["neighbors"]) == 60
    towns = store.graph().attributes.column("town").tolist()
    inside = client.get("/similar", id="n3", k=60, where="town = 'Ulm'").json["results"][0]
    assert {near["id"] for near in inside["neighbors"]} == {
        f"n{at}" for at, town in enumerate(towns) if town == "Ulm" and at != 3
    }
    none = client.get("/similar", id="n3", where="town = 'Nowhere'").json["results"][0]
    assert none["neighbors"] == []
    node = {"id": "new", "attributes": row(store.graph(), 3)}
    edges = [{"source": "new", "target": "n3"}]
    asked = {"nodes": [node], "edges": edges, "k": 3}
    found = client.post("/similar", asked).json["results"]
    table = served_tables(store, node, edges)
    expected = store.similar(vectors=store.embed(*table).vectors, n_neighbors=3)
    assert found[0]["id"] == "new"
    assert [near["id"] for near in found[0]["neighbors"]] == expected.neighbors[0].tolist()


def served_tables(store, node, edges):
    import pyarrow as pa

    attributes = {name: [value] for name, value in node["attributes"].items()}
    attributes["words"] = [[w for w, n in attributes["words"][0].items() for _ in range(int(n))]]
    nodes = pa.table({"id": [node["id"]], **attributes})
    return pa.Table.from_pylist(edges), nodes


def test_suggested_edges_are_none_that_exist(client, store):
    answer = client.get("/links", id=["n3", "n40"], k=60).json
    assert answer["ranked_by"] == "cosine"
    found = answer["results"]
    graph = store.graph()
    nearest = store.similar(["n3", "n40"], n_neighbors=60).neighbors
    for each, at, near in zip(found, (3, 40), nearest, strict=True):
        linked = {f"n{other}" for other in graph.adjacency[[at]].indices}
        assert linked
        expected = [name for name in near if name not in linked]
        assert [other["id"] for other in each["neighbors"]] == expected
    few = client.get("/links", id="n3", k=2).json["results"][0]["neighbors"]
    assert few == found[0]["neighbors"][:2]


def test_health_info_and_metrics(client):
    assert client.get("/health").json == {"status": "ok", "version": 1, "nodes": 60}
    info = client.get("/info").json
    assert (info["n_nodes"], info["accuracy"]) == (60, "all vectors are exact")
    assert info["attributes"]["town"] == "category"
    client.get("/nothing-here")
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert any(
        line.startswith('graphgate_requests_total{path="other",method="GET",status="404"}')
        for line in lines
    )
    samples = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert float(samples["graphgate_store_nodes"]) == 60
    health = 'graphgate_request_seconds_bucket{path="/health",le="+Inf"}'
    assert samples[health] == samples['graphgate_request_seconds_count{path="/health"}']
    assert "nothing-here" not in answer.text


def test_the_page_requests_nothing(client):
    answer = client.get("/docs")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert not re.search("<script|<link|<img|src=|https?:|url\\(", answer.text)
    specification = client.get("/openapi.json").json
    links = specification["components"]["schemas"]["LinksAnswer"]
    assert "ranked_by" in links["required"]
    for path in specification["paths"]:
        assert f" {path}</code>" in answer.text


# --- adding --------------------------------------------------------------------------------------


def batch(graph: Graph, start: int, stop: int) -> dict:
    """Nodes and edges of `later`, as a request."""
    part = later(graph, start, stop)
    new = [at for at, name in enumerate(part.ids) if int(name[1:]) >= start]
    pairs = np.argwhere(np.triu(part.adjacency.toarray()))
    nodes = [
        {"id": part.ids[at], "attributes": row(part, at), "label": part.label_values()[at]}
        for at in new
    ]
    edges = [{"source": part.ids[a], "target": part.ids[b]} for a, b in pairs]
    return {"nodes": nodes, "edges": edges}


def test_added_nodes_are_served_and_stored(tmp_path):
    graph = grown_graph(80)
    twin = small_store(tmp_path / "twin")
    store = small_store(tmp_path / "store")
    expected = twin.add(later(graph, 60, 70))
    with running(store.path) as client:
        found = client.post("/add", batch(graph, 60, 70)).json
        assert (found["version"], found["edges"]) == (2, expected.n_edges)
        for name in ("added", "changed"):
            changed = getattr(expected, name)
            assert [each["id"] for each in found[name]] == changed.ids.tolist()
            vectors = [each["vector"] for each in found[name]]
            np.testing.assert_allclose(vectors, changed.vectors, atol=1e-5)
        again = client.post("/add", batch(graph, 60, 70)).json
        assert again == {"version": 2, "added": [], "changed": [], "edges": 0, "updated": 0}
        near = client.get("/similar", id="n65", k=3).json
        assert near["version"] == 2
        ids = [each["id"] for each in near["results"][0]["neighbors"]]
        assert ids == twin.similar("n65", n_neighbors=3).neighbors[0].tolist()
        # Another process adds more; the service notices.
        Store.open(store.path).add(later(graph, 70, 80))
        for _ in range(100):
            if client.get("/health").json["version"] == 3:
                break
            threading.Event().wait(0.1)
        assert client.get("/nodes", id="n79").status == 200
    assert Store.open(store.path).graph().fingerprint() == graph.fingerprint()


def test_adding_while_others_ask(tmp_path):
    graph = grown_graph(80)
    store = small_store(tmp_path / "store")
    with running(store.path) as client:
        done, problems = threading.Event(), []

        def ask() -> None:
            while not done.is_set():
                answer = client.get("/similar", id="n3", k=5)
                found = answer.json
                ids = [int(each["id"][1:]) for each in found["results"][0]["neighbors"]]
                if answer.status != 200 or max(ids) >= 50 + 10 * found["version"]:
                    problems.append(answer.text)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        adding = [
            threading.Thread(target=client.post, args=("/add", batch(graph, start, start + 10)))
            for start in (60, 70)
        ]
        statuses = [client.post("/add", batch(graph, at, at + 10)).status for at in (60, 70)]
        for thread in adding:  # the same again, both at once
            thread.start()
        for thread in adding:
            thread.join(60)
        done.set()
        for thread in threads:
            thread.join(60)
        assert (statuses, problems) == ([200, 200], [])
        assert client.get("/health").json["version"] == 3
    assert Store.open(store.path).graph().fingerprint() == graph.fingerprint()


def test_a_version_that_is_pruned_while_it_is_served(tmp_path, monkeypatch):
    monkeypatch.setattr(replies, "_POLL", 600.0)
    followers, made = [], Follower.__init__

    def noted(self, path):
        made(self, path)
        followers.append(self)

    monkeypatch.setattr(Follower, "__init__", noted)
    graph = grown_graph(80)
    store = small_store(tmp_path / "store")
    new = {"id": "new", "attributes": row(graph, 3)}
    requests = [
        ("GET", "/nodes?id=n3", None),
        ("GET", "/similar?id=n3&where=age%3E0", None),
        ("GET", "/links?id=n3", None),
        ("POST", "/similar", {"nodes": [new], "edges": [{"source": "new", "target": "n3"}]}),
        ("POST", "/add", {"nodes": [new | {"id": "n3"}]}),
    ]
    with running(store.path) as client:
        store.add(later(graph, 60, 61))
        store.prune(keep=2)
        last, pruned = store.prune().version, followers[0].served
        for request in requests:
            followers[0].served = pruned
            answer = client.ask(*request)
            assert (answer.status, answer.json["version"]) == (200, last), answer.text
        # What is wrong with a request does not depend on the version.
        followed = []
        monkeypatch.setattr(Follower, "follow", followed.append)
        assert client.get("/nodes", id="nobody").status == 404
        assert client.get("/similar", id="n3", where="no = 1").status == 422
        assert client.post("/add", {}).status == 422
        assert not followed


def test_a_service_that_only_reads(tmp_path):
    store = small_store(tmp_path / "store")
    with running(store.path, read_only=True) as client:
        answer = client.post("/add", {"edges": [{"source": "n1", "target": "n30"}]})
        assert (answer.status, answer.json["error"]) == (403, "this service is read-only")
    assert Store.open(store.path).version == 1


def test_integer_ids_and_features(tmp_path):
    rng = np.random.default_rng(0)
    edges = [(100 + at, 100 + int(rng.integers(at))) for at in range(1, 30)]
    graph = Graph.from_edges(rng.normal(size=(30, 6)), edges, ids=list(range(100, 130)))
    gate = LinearGATE(n_components=4, random_state=0, progress=False)
    store = Store.create(tmp_path / "store", graph, gate)
    with running(store.path) as client:
        one = client.get("/similar", id="103", k=2).json["results"]
        assert one[0]["id"] == 103
        assert client.post("/similar", {"ids": [103], "k": 2}).json["results"] == one
        assert client.get("/nodes", id="103").json["nodes"][0]["attributes"] == {}
        assert client.get("/similar", id="x").status == 404
        assert client.get("/similar", id=str(10**30)).status == 404
        refused = client.post("/add", {"nodes": [{"id": 7}]})
        assert refused.status == 422
        assert "features without names" in refused.json["error"]
        linked = client.post("/add", {"edges": [{"source": 103, "target": 129}]})
        assert (linked.status, linked.json["edges"]) == (200, 1)


def test_a_label_that_the_store_cannot_keep_is_refused(tmp_path):
    graph = first(grown_graph(40), 30).reveal()
    assert graph.label_values() is None
    follower = Follower(Store.create(tmp_path / "store", graph).path)
    with pytest.raises(InputError, match="the nodes of this store have no labels"):
        follower.add([NewNode(**NODE, label="a")], [])
    assert follower.add([NewNode(**NODE)], []).added.ids.tolist() == ["x"]


# --- mistakes ------------------------------------------------------------------------------------

REPEATED = "repeat('a', 1500000000) = 'a'"
PRICE, COUNT = "nodes.0.attributes.list_price", "nodes.0.attributes.int"
NODE = {"id": "x", "attributes": {"age": 1.0, "town": "Ulm", "a.b": True, "words": ["x"]}}


@pytest.mark.parametrize(
    ("path", "body", "status", "sentence", "field"),
    [
        ("/similar", b"{", 400, "not JSON", None),
        ("/similar", b"[" * 100_001, 413, "more than 100,000 bytes", None),
        ("/similar", b"[" * 50_000, 400, "JSON", None),
        ("/similar", b"\xff\xfe", 400, "JSON", None),
        ("/similar", {}, 422, "exactly one of ids, vectors and nodes", "ids"),
        ("/similar", {"ids": ["n1"], "vectors": [[1.0]]}, 422, "exactly one of", "ids"),
        ("/similar", {"ids": []}, 422, "at least 1 item", "ids"),
        ("/similar", {"ids": ["n1"] * 1001}, 422, "at most 1000 items", "ids"),
        ("/similar", {"ids": ["nobody"]}, 404, "nobody", "ids"),
        ("/similar", {"ids": [True]}, 422, "integer, or input should be a valid string", "ids.0"),
        ("/similar", {"ids": ["n1"], "k": 0}, 422, "greater than or equal to 1", "k"),
        ("/similar", {"ids": ["n1"], "k": 1001}, 422, "less than or equal to 1000", "k"),
        ("/similar", {"ids": ["n1"], "top": 3}, 422, "extra inputs are not permitted", "top"),
        ("/similar", {"ids": ["n1"], "where": "size >"}, 422, "cannot be used", "where"),
        ("/similar", {"ids": ["n1"], "where": "$1=1"}, 422, "character 1 is '$'", "where"),
        ("/similar", {"ids": ["n1"], "where": REPEATED}, 422, "'repeat', which is not", "where"),
        ("/similar", {"ids": ["n1"], "interest": 1}, 422, "not permitted", "interest"),
        ("/similar", {"ids": ["n1"], "where": "x" * 1001}, 422, "at most 1000 char", "where"),
        ("/similar", {"vectors": [[1.0, 2.0]]}, 422, "has 8 numbers, got 2", "vectors.0"),
        ("/similar", b'{"vectors": [[NaN]]}', 422, "finite", "vectors.0.0"),
        ("/similar", {"nodes": [{"id": "x"}]}, 422, "lacks the attribute 'age'", "nodes"),
        ("/similar", {"nodes": [NODE | {"id": "n1"}]}, 422, "stored already", "nodes"),
        ("/add", {}, 422, "nothing to add", "nodes"),
        ("/add", {"edges": [{"source": "n1", "target": "no"}]}, 422, "'no'", "edges"),
        ("/add", {"edges": [{"source": "n1"}]}, 422, "field required", "edges.0.target"),
        ("/add", {"edges": [{"source": "n1", "target": "n1"}]}, 422, "'n1' to itself", "edges"),
        (
            "/add",
            {"edges": [{"source": "n1", "target": "n9", "weight": 2.0}]},
            422,
            "weights",
            "edges",
        ),
        (
            "/add",
            {"nodes": [{"id": "x", "attributes": NODE["attributes"] | {"size": 1}}]},
            422,
            "unknown attribute 'size'; the attributes are age, town",
            "nodes",
        ),
        (
            "/add",
            {"nodes": [{"id": "x", "attributes": NODE["attributes"] | {"age": "old"}}]},
            422,
            "'old' is not a number",
            "nodes",
        ),
        ("/add", {"nodes": [NODE | {"attributes": {"list_price": [1]}}]}, 422, "list_price", PRICE),
        ("/add", {"nodes": [NODE | {"attributes": {"int": {"str": []}}}]}, 422, "int", COUNT),
        ("/add", {"nodes": [NODE, NODE]}, 422, "ids must be unique", "nodes"),
        ("/add", b'{"nodes": [{"id": "\\ud800"}]}', 422, "id", "nodes.0.id"),
    ],
)
def test_a_mistake_is_one_sentence(client, path, body, status, sentence, field):
    answer = client.post(path, body)
    assert (answer.status, answer.json["field"]) == (status, field), answer.text
    assert sentence in answer.json["error"]
    assert "Traceback" not in answer.text
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/nothing", {}, 404),
        ("DELETE", "/nodes", {}, 405),
        ("GET", "/nodes", {}, 422),
        ("GET", "/nodes?id=n1&n=3", {}, 422),
        ("GET", "/similar?id=n1&k=many", {}, 422),
        ("GET", "/similar?id=%ff", {}, 404),
        ("GET", "/similar?id=" + "x" * 5000, {}, 422),
        ("POST", "/add", {"Content-Type": "text/plain"}, 415),
        ("GET", "/health", {"Host": "evil.example"}, 421),
        ("GET", "/health", {"Host": "localhost.evil.example:80"}, 421),
        ("GET", "/health", {"Host": "localhost:1"}, 200),
        ("GET", "/health", {"Host": "[::1]:8000"}, 200),
    ],
)
def test_requests_that_are_refused(client, method, path, headers, status):
    body = b"{}" if method == "POST" else None
    answer = client.ask(method, path, body, headers)
    assert answer.status == status
    if status != 200:
        assert set(answer.json) == {"error", "field"}


def test_what_is_wrong_changes_nothing(client, store):
    assert json.loads(client.get("/health").text)["version"] == 1
    assert Store.open(store.path).version == 1
    assert isinstance(client, Client)
