"""The citation datasets by name: where they come from, what is bundled, what is fetched."""

import functools
import hashlib
import http.server
import importlib.util
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from old_pickles import fake_parts

from graphgate.datasets import bundled, download, planetoid
from graphgate.datasets.citation import (
    PAPER_STATISTICS,
    fetch_dataset,
    load_dataset,
    verify_dataset,
)
from graphgate.datasets.splits import random_split
from graphgate.errors import InputError
from graphgate.io.files import cache_folder

NAMES = ("cora", "citeseer", "pubmed")


@pytest.fixture(autouse=True)
def _nothing_but_the_package(monkeypatch, tmp_path):
    """No named folder, an empty cache, no proxy; whatever this machine has."""
    monkeypatch.delenv("GRAPHGATE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")


# --- bundled with the package --------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_bundled_copy_has_the_paper_s_statistics(name):
    dataset = load_dataset(name)
    paper, ours = PAPER_STATISTICS[name], dataset.statistics
    assert dataset.origin == "bundled with the package"
    assert dataset.listed_edges == paper.edges
    assert dataset.self_loops == {"cora": 0, "citeseer": 124, "pubmed": 3}[name]
    assert ours.edges == {"cora": 5278, "citeseer": 4552, "pubmed": 44324}[name]
    for field in ("nodes", "features", "classes", "train", "val", "test"):
        assert getattr(ours, field) == getattr(paper, field)


@pytest.mark.parametrize("name", ["citeseer", "pubmed"])
def test_the_bundled_copy_is_the_original_bit_for_bit(planetoid, name):
    copy, original = load_dataset(name), load_dataset(name, planetoid)
    assert copy.split == original.split == "public"
    assert copy.caveat == ""
    a, b = copy.graph, original.graph
    for x, y in [(a.x, b.x), (a.adjacency, b.adjacency)]:
        for part in ("data", "indices", "indptr"):
            assert getattr(x, part).tobytes() == getattr(y, part).tobytes()
            assert getattr(x, part).dtype == getattr(y, part).dtype
    assert a.fingerprint() == b.fingerprint()
    assert a.classes == b.classes
    np.testing.assert_array_equal(a.labels, b.labels)
    assert list(a.splits) == list(b.splits)
    for split in a.splits:
        np.testing.assert_array_equal(a.splits[split], b.splits[split])
    assert (copy.listed_edges, copy.self_loops) == (original.listed_edges, original.self_loops)


def test_the_bundled_cora_says_that_its_split_is_not_the_public_one():
    cora = load_dataset("cora")
    assert cora.split == "seeded"
    assert "fetch_dataset('cora')" in cora.caveat
    graph = cora.graph
    assert np.bincount(graph.labels[graph.splits["train"]]).tolist() == [20] * 7
    assert graph.classes[0] == "Case_Based"
    assert graph.ids[:3].tolist() == [31336, 1061127, 1106406]
    assert set(graph.x.data.tolist()) == {1.0}
    assert graph.adjacency[graph.rows([35])][:, graph.rows([1033])].nnz == 1


def test_the_bundled_cora_is_the_public_one_renumbered(planetoid):
    ours, public = load_dataset("cora").graph, load_dataset("cora", planetoid).graph
    assert ours.x.nnz == public.x.nnz
    for matrix in ("x", "adjacency"):
        degrees = [np.sort(np.diff(getattr(g, matrix).indptr)) for g in (ours, public)]
        np.testing.assert_array_equal(*degrees)
    assert sorted(np.bincount(ours.labels)) == sorted(np.bincount(public.labels))


def test_a_damaged_package_is_noticed(monkeypatch):
    data = bundled.bundled_bytes("cora")
    monkeypatch.setattr(bundled, "bundled_bytes", lambda name: data[:-1])
    with pytest.raises(InputError, match=r"cora\.npz was altered; reinstall graphgate"):
        load_dataset("cora")
    assert verify_dataset("cora")[-1].status == "altered"

    def missing(name):
        raise FileNotFoundError

    monkeypatch.setattr(bundled, "bundled_bytes", missing)
    with pytest.raises(InputError, match=r"lacks its file cora\.npz"):
        load_dataset("cora")
    assert verify_dataset("cora")[-1].status == "missing"


def _script():
    path = Path(__file__).parents[2] / "scripts" / "build_bundled_data.py"
    spec = importlib.util.spec_from_file_location("build_bundled_data", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_the_script_s_encoding_gives_the_bundled_arrays(name):
    script, copy = _script(), bundled.read_bundled(name)
    arrays = script.encode(copy.graph, copy.listed_edges, copy.self_loops)
    with np.load(Path(bundled.__file__).parent / "data" / f"{name}.npz") as stored:
        assert set(arrays) == set(stored.files) - {"ids"}
        for key, array in arrays.items():
            np.testing.assert_array_equal(array, stored[key])


def test_the_script_writes_no_time_and_the_same_split_each_time(monkeypatch):
    script = _script()
    arrays = {"a": np.arange(1000), "b": np.array(["x", "yz"])}
    first = script.npz_bytes(arrays)
    monkeypatch.setattr(time, "time", lambda: 2e9)
    assert script.npz_bytes(arrays) == first
    cora = load_dataset("cora").graph
    split = random_split(cora.labels, script.CORA_SPLIT_SEED, **script.CORA_SPLIT)
    for name, mask in split.items():
        np.testing.assert_array_equal(mask, cora.splits[name])


@pytest.mark.parametrize("rows", [[[]], [[0]], [[], [0, 3], [], [2], []], [[5, 6, 7], [0, 1, 9]]])
def test_patterns_round_trip(rows):
    import scipy.sparse as sp

    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.array([c for row in rows for c in row], dtype=np.int32)
    pattern = sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(rows), 10))
    starts, columns = bundled.expand(*_script().shorten(pattern))
    np.testing.assert_array_equal(starts, indptr)
    np.testing.assert_array_equal(columns, indices)


def test_the_paper_s_counts_beside_ours():
    found = [load_dataset(name) for name in NAMES]
    assert [PAPER_STATISTICS[name].edges for name in NAMES] == [5429, 4732, 44338]
    assert [dataset.listed_edges for dataset in found] == [5429, 4732, 44338]
    assert [dataset.statistics.edges for dataset in found] == [5278, 4552, 44324]
    assert [dataset.self_loops for dataset in found] == [0, 124, 3]
    assert [dataset.split for dataset in found] == ["seeded", "public", "public"]


# --- which place is taken ------------------------------------------------------------------------


def test_a_named_folder_comes_first_then_the_variable_then_the_cache(fake_cora, monkeypatch):
    assert load_dataset("cora").graph.n_nodes == 2708
    by_argument = load_dataset("cora", fake_cora)
    assert by_argument.graph.n_nodes == 510
    assert (by_argument.split, by_argument.caveat) == ("public", "")
    assert by_argument.origin == f"Planetoid files in {fake_cora}"
    assert load_dataset("cora", str(fake_cora)).origin == by_argument.origin
    monkeypatch.setenv("GRAPHGATE_DATA", str(fake_cora))
    assert load_dataset("cora").origin == by_argument.origin

    cache = cache_folder("planetoid")
    cache.mkdir(parents=True)
    for file in fake_cora.iterdir():
        (cache / file.name).write_bytes(file.read_bytes())
    assert load_dataset("cora").origin == by_argument.origin
    monkeypatch.setenv("GRAPHGATE_DATA", "")
    assert load_dataset("cora").origin == f"Planetoid files in {cache}"


def test_a_folder_without_this_dataset_falls_through(fake_cora, tmp_path):
    assert load_dataset("citeseer", fake_cora).origin == "bundled with the package"
    assert load_dataset("cora", tmp_path).origin == "bundled with the package"


def test_a_folder_with_some_of_the_files_names_the_missing_one(fake_cora):
    (fake_cora / "ind.cora.ally").unlink()
    with pytest.raises(InputError, match=r"ind\.cora\.ally is missing"):
        load_dataset("cora", fake_cora)


def test_an_incomplete_cache_is_ignored(fake_cora):
    cache = cache_folder("planetoid")
    cache.mkdir(parents=True)
    (cache / "ind.cora.x").write_bytes((fake_cora / "ind.cora.x").read_bytes())
    assert load_dataset("cora").origin == "bundled with the package"


def test_a_named_folder_must_exist(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"nowhere does not exist"):
        load_dataset("cora", tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"file is not a folder"):
        load_dataset("cora", tmp_path / "file")
    monkeypatch.setenv("GRAPHGATE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"nowhere \(from \$GRAPHGATE_DATA\) does not exist"):
        load_dataset("cora")


@pytest.mark.parametrize("function", [load_dataset, fetch_dataset, verify_dataset])
@pytest.mark.parametrize("name", ["Cora", "reddit", "", "../cora"])
def test_an_unknown_name_lists_the_known_ones(function, name):
    with pytest.raises(InputError, match=r"use one of cora, citeseer, pubmed"):
        function(name)


def test_the_cache_follows_the_xdg_standard(monkeypatch, tmp_path):
    assert cache_folder("planetoid") == tmp_path / "cache" / "graphgate" / "planetoid"
    monkeypatch.setenv("HOME", str(tmp_path))
    default = tmp_path / ".cache" / "graphgate" / "planetoid"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder("planetoid") == default
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder("planetoid") == default


def test_importing_needs_no_torch_and_no_network():
    code = (
        "import sys, graphgate.datasets.citation as c; c.load_dataset('cora'); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True
    )
    assert "torch" not in done.stdout.split()


# --- fetching ------------------------------------------------------------------------------------


class Server(http.server.BaseHTTPRequestHandler):
    """Serves `files`, and misbehaves as `trouble` says."""

    def __init__(self, files, trouble, asked, *arguments):
        self.files, self.trouble, self.asked = files, trouble, asked
        super().__init__(*arguments)

    def do_GET(self):
        name = self.path.rsplit("/", 1)[-1]
        self.asked.append(name)
        trouble = self.trouble.get(name)
        if trouble == "absent":
            self.send_error(404)
            return
        if trouble == "silent":
            time.sleep(1.0)
            return
        data = self.files[name]
        announced = 100_000 if trouble == "cut" else len(data)
        if trouble == "endless":
            data = b"x" * (download.LIMIT + 1)
        if trouble == "altered":
            data = data[:-1] + b"!"
        self.send_response(200)
        if trouble not in ("unannounced", "endless"):
            self.send_header("Content-Length", str(announced))
        self.end_headers()
        self.wfile.write(b"only this" if trouble == "cut" else data)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(fake_cora):
    """A loopback server with the fake files: its address, its troubles, and what was asked."""
    files = {f"ind.cora.{part}": data for part, data in fake_parts().items()}
    trouble, asked = {}, []
    handler = functools.partial(Server, files, trouble, asked)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/data/", trouble, asked
        running.shutdown()
        thread.join()


def test_fetch_fills_the_cache_and_is_used_from_then_on(server):
    url, trouble, asked = server
    trouble["ind.cora.y"] = "unannounced"
    assert load_dataset("cora").split == "seeded"
    folder = fetch_dataset("cora", base_url=url)
    assert folder == cache_folder("planetoid")
    assert sorted(os.listdir(folder)) == sorted(planetoid.file_names("cora"))
    assert load_dataset("cora").origin == f"Planetoid files in {folder}"
    assert asked == list(planetoid.file_names("cora"))
    usual = 0o666 & ~_umask()
    assert (folder / "ind.cora.x").stat().st_mode & 0o777 == usual


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_fetch_skips_what_is_right_and_replaces_what_is_not(server):
    url, _, asked = server
    folder = fetch_dataset("cora", base_url=url)
    asked.clear()
    fetch_dataset("cora", base_url=url)
    assert asked == []
    (folder / "ind.cora.graph").write_bytes(b"damaged")
    (folder / "ind.cora.tx").unlink()
    fetch_dataset("cora", base_url=url.rstrip("/"))
    assert asked == ["ind.cora.tx", "ind.cora.graph"]
    assert {status.status for status in verify_dataset("cora")} == {"ok"}


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("absent", "the server responded 404"),
        ("altered", "is not the expected file: its SHA-256"),
        ("cut", "received only 9 of 100,000 bytes"),
        ("silent", "no answer within 0.2 seconds"),
        ("endless", "is larger than"),
    ],
)
def test_a_failed_fetch_is_one_sentence_and_leaves_nothing_half_written(
    server, trouble, words, monkeypatch
):
    monkeypatch.setattr(download, "LIMIT", 100_000)
    url, troubles, _ = server
    troubles["ind.cora.allx"] = trouble
    with pytest.raises(InputError, match=rf"ind\.cora\.allx .*{words}") as caught:
        fetch_dataset("cora", base_url=url, timeout=0.2)
    assert "\n" not in str(caught.value)
    assert sorted(os.listdir(cache_folder("planetoid"))) == sorted(planetoid.file_names("cora")[:4])
    troubles.clear()
    fetch_dataset("cora", base_url=url)
    assert load_dataset("cora").split == "public"


@pytest.mark.parametrize("host", ["127.0.0.1:9", "[broken", "a b", ""])
def test_no_connection_is_one_sentence(host):
    with pytest.raises(InputError, match=r"ind\.cora\.x cannot be downloaded: "):
        fetch_dataset("cora", base_url=f"http://{host}/", timeout=2)


def test_no_network_is_one_sentence(monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(
        InputError, match=r"cannot be downloaded: .*Name or service not known; check"
    ):
        fetch_dataset("cora")


@pytest.mark.parametrize("url", ["file:///", "ftp://example.invalid", "data", ""])
def test_only_web_addresses_are_downloaded(url):
    with pytest.raises(InputError, match="begins with https://"):
        fetch_dataset("cora", base_url=url)


def test_a_folder_that_cannot_be_created_or_written(server, tmp_path, monkeypatch):
    (tmp_path / "taken").touch()
    for folder in (tmp_path / "taken", tmp_path / "taken" / "below"):
        with pytest.raises(InputError, match="cannot be created"):
            fetch_dataset("cora", folder=folder)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"ind\.cora\.x cannot be written: No space left"):
        fetch_dataset("cora", folder=tmp_path / "new", base_url=server[0])
    assert os.listdir(tmp_path / "new") == []


def test_an_interrupt_leaves_nothing_half_written(server, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch_dataset("cora", folder=tmp_path / "new", base_url=server[0])
    assert os.listdir(tmp_path / "new") == []


def test_verify_reports_every_copy(fake_cora):
    (fake_cora / "ind.cora.x").write_bytes(b"")
    (fake_cora / "ind.cora.y").unlink()
    (fake_cora / "ind.cora.tx").unlink()
    (fake_cora / "ind.cora.tx").mkdir()
    found = {
        (status.place, status.file): status.status for status in verify_dataset("cora", fake_cora)
    }
    assert found[str(fake_cora), "ind.cora.x"] == "altered"
    assert found[str(fake_cora), "ind.cora.y"] == "missing"
    assert found[str(fake_cora), "ind.cora.tx"] == "unreadable"
    assert found[str(fake_cora), "ind.cora.graph"] == "ok"
    assert found[str(cache_folder("planetoid")), "ind.cora.graph"] == "missing"
    assert found["bundled with the package", "cora.npz"] == "ok"
    assert len(found) == 17


def test_the_bundled_checksums_are_those_of_the_files():
    for file, expected in bundled.CHECKSUMS.items():
        data = bundled.bundled_bytes(file.removesuffix(".npz"))
        assert hashlib.sha256(data).hexdigest() == expected
    total = sum(len(bundled.bundled_bytes(name)) for name in NAMES)
    assert total < 2_000_000
