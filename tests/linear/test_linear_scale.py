"""LinearGATE in blocks of columns, from files, in several processes, and after interruptions."""

import json

import numpy as np
import pytest
import torch
from linear_graphs import community_graph, word_graph
from processes import run_in_processes

from graphgate import InputError, LinearGATE, MemoryLimitError
from graphgate.compute import columns
from graphgate.compute.counts import GraphCounts
from graphgate.linear import linear_plan
from graphgate.linear.linear_plan import LARGE, LinearPlan, Sizes
from graphgate.linear.propagation import Propagation

GRAPHS = {
    "undirected": community_graph(1, n=300, f=20),
    "directed and weighted": community_graph(2, n=300, f=20, directed=True, weighted=True),
    "many features": community_graph(3, n=310, f=300),
    "words": word_graph(4),
}


def use_blocks(patch) -> None:
    """Some columns at a time, and files."""
    patch.setattr(linear_plan, "_CACHE", 300 * 7)
    patch.setattr(linear_plan, "_NARROWEST", 4)
    patch.setattr(linear_plan, "_IN_MEMORY", 0)


@pytest.fixture
def blocks(monkeypatch):
    use_blocks(monkeypatch)


def fitted(graph, **settings) -> LinearGATE:
    params = {"n_components": 8, "random_state": 0, "dtype": "float64"} | settings
    return LinearGATE(**params).fit(graph)


def results(gate: LinearGATE, graph) -> dict[str, np.ndarray]:
    pairs = graph.ids[np.random.default_rng(0).integers(0, graph.n_nodes, (50, 2))]
    return {
        "embedding": gate.embedding_,
        "transform": gate.transform(graph),
        "scores": gate.score_edges(pairs),
        "reconstruction": gate.reconstruct(graph),
        "auc": np.array([gate.report_.edge_auc]),
        "r2": np.array([gate.report_.r2]),
    }


def check_same(one: dict[str, np.ndarray], other: dict[str, np.ndarray], tolerance: float) -> None:
    for name, values in one.items():
        scale = np.abs(values).max()
        # The weights of the decoder are found by iterations that stop at a gradient of 1e-5, and
        # where float32 tells no better from worse. Pairs that score nearly the same change places.
        least = {"scores": max(1e-5, 100 * tolerance), "auc": 1e-3}.get(name, 0)
        atol = max(tolerance, least)
        np.testing.assert_allclose(other[name], values, atol=atol * scale, err_msg=name)


@pytest.mark.numerical
@pytest.mark.parametrize("kind", GRAPHS)
def test_blocks_and_files_change_nothing(kind, monkeypatch):
    graph = GRAPHS[kind]
    whole = results(fitted(graph), graph)
    monkeypatch.setattr(linear_plan, "_CACHE", graph.n_nodes * 7)
    monkeypatch.setattr(linear_plan, "_NARROWEST", 4)
    in_memory = fitted(graph)
    assert in_memory.prepare(graph).plan.blocks.width in (6, 7)
    check_same(whole, results(in_memory, graph), 1e-9)
    monkeypatch.setattr(linear_plan, "_IN_MEMORY", 0)
    spilled = fitted(graph)
    assert spilled.prepare(graph).plan.blocks.spilled
    check_same(whole, results(spilled, graph), 1e-9)


@pytest.mark.numerical
def test_chunks_of_rows_change_nothing(monkeypatch):
    graph = GRAPHS["undirected"]
    whole = results(fitted(graph), graph)
    monkeypatch.setattr(columns, "CHUNK", 37)
    check_same(whole, results(fitted(graph), graph), 1e-9)


def in_processes(processes, kind, width, dtype):
    if width:
        linear_plan._CACHE, linear_plan._IN_MEMORY = GRAPHS[kind].n_nodes * width, 0
        linear_plan._NARROWEST = width
    gate = fitted(GRAPHS[kind], dtype=dtype)
    assert processes.bytes_sent > 0
    current = results(gate, GRAPHS[kind])
    current["weights"] = gate.model_.projection.numpy()
    return current


@pytest.mark.slow
@pytest.mark.numerical
@pytest.mark.parametrize(
    ("kind", "width", "dtype", "tolerance"),
    [
        ("undirected", 0, "float64", 1e-12),
        ("many features", 7, "float64", 1e-12),
        # A hundred roundings: singular vectors amplify those of the sums over nodes.
        ("many features", 0, "float32", 1e-5),
    ],
)
def test_two_processes_find_what_one_finds(kind, width, dtype, tolerance):
    graph = GRAPHS[kind]
    alone = results(fitted(graph, dtype=dtype), graph)
    first, second = run_in_processes(2, in_processes, kind, width, dtype)
    check_same(alone, first, tolerance)
    # Both have the same, to the last bit.
    assert all(first[name].tobytes() == second[name].tobytes() for name in first)


def without_a_seed(processes):
    """Seeds are drawn by the first process; limits are those of the process with least memory."""
    gate = LinearGATE(4, memory_limit=f"{4 + processes.rank}GiB").fit(GRAPHS["undirected"])
    return gate.seed_, gate.embedding_.tobytes()


def test_processes_need_no_seed_and_not_the_same_memory():
    first, second = run_in_processes(2, without_a_seed)
    assert first == second


def different(processes):
    with pytest.raises(InputError, match="2 processes of this run have different graphs"):
        fitted(community_graph(processes.rank, n=60))
    return True


def test_processes_with_different_graphs_are_told_so():
    assert all(run_in_processes(2, different))


class Interrupted:
    """Ctrl-C during a walk, of which the times before are counted."""

    def __init__(self, monkeypatch, after: int) -> None:
        self.walks, original = 0, Propagation.walk

        def walk(*args):
            self.walks += 1
            if self.walks > after:
                raise KeyboardInterrupt
            return original(*args)

        monkeypatch.setattr(Propagation, "walk", walk)


@pytest.fixture(scope="module")
def unbroken():
    """A fit in blocks that was not interrupted, and how many walks it took."""
    with pytest.MonkeyPatch.context() as patch:
        use_blocks(patch)
        count = Interrupted(patch, 10**9)
        return fitted(GRAPHS["many features"]), count.walks


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 5, 11, 23, 28])
def test_an_interrupted_fit_resumes_to_the_same_bytes(
    tmp_path, monkeypatch, blocks, unbroken, after
):
    graph, scratch = GRAPHS["many features"], tmp_path / "scratch"
    expected, walks = unbroken
    with monkeypatch.context() as patch:
        Interrupted(patch, after)
        with pytest.raises(KeyboardInterrupt):
            fitted(graph, scratch=scratch)
    assert scratch.exists()
    count = Interrupted(monkeypatch, 10**9)
    found = fitted(graph, scratch=scratch)
    assert found.embedding_.tobytes() == expected.embedding_.tobytes()
    assert found.decoder_.weights.tobytes() == expected.decoder_.weights.tobytes()
    # A block takes two walks, one of which is of the masked nodes.
    assert count.walks == walks - 2 * (after // 2)
    assert not scratch.exists()


def test_files_of_another_run_are_refused(tmp_path, monkeypatch, blocks):
    graph = GRAPHS["undirected"]
    with monkeypatch.context() as patch:
        Interrupted(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            fitted(graph, scratch=tmp_path)
    for other in ({"random_state": 1}, {"n_components": 7}, {"structure": False}):
        with pytest.raises(InputError, match=r"belongs to another run.*; remove it, or use"):
            fitted(graph, scratch=tmp_path, **other)
    with pytest.raises(InputError, match="belongs to another run"):
        fitted(GRAPHS["words"], scratch=tmp_path)
    journal = tmp_path / "process-0" / "progress.json"
    content = json.loads(journal.read_text())
    for damaged in ("", "[]", json.dumps(content | {"rounds": 3}), "{"):
        journal.write_text(damaged)
        with pytest.raises(InputError, match="is damaged; remove the folder"):
            fitted(graph, scratch=tmp_path)


def plan(n: int, **how) -> LinearPlan:
    counts = GraphCounts.planned(n, 10 * n, 1000, 0.02)
    return LinearPlan.of(counts, 128, structure=True, **how)


def test_large_graphs_use_fewer_columns():
    assert Sizes.of(LARGE) == Sizes(512, 128, 0.5, 256)
    assert Sizes.of(LARGE + 1) == Sizes(256, 64, 0.7, 64)
    assert plan(5_000).blocks.width == 512
    assert plan(300_000).blocks.width == 8
    assert not plan(60_000).blocks.spilled
    assert plan(1_000_000).blocks == columns.Blocks(16, True)


def test_a_limit_makes_blocks_narrower_and_uses_files():
    free = plan(110_000)
    needed = free.bytes
    assert plan(110_000, available=needed) == free
    spilled = plan(110_000, available=int(0.8 * needed))
    assert spilled.blocks == columns.Blocks(free.blocks.width, True)
    least = plan(110_000, available=0)
    limited = plan(110_000, available=least.bytes)
    assert limited.blocks.width < free.blocks.width
    assert limited.bytes == least.bytes <= spilled.bytes <= 0.8 * needed
    assert limited.sizes == free.sizes
    assert limited.disk_bytes == 5 * 256 * 110_000 * 4
    # Whether that is a reason to refuse is decided later.
    assert plan(110_000, available=100 * 2**20).blocks.spilled


def test_a_limit_that_is_too_low_is_refused_before_anything_is_computed():
    message = r"^the fit needs.* leaves 0 bytes beside the .* Python.*; use fewer components"
    with pytest.raises(MemoryLimitError, match=message):
        LinearGATE(memory_limit="1MB").fit(GRAPHS["undirected"])


@pytest.mark.numerical
def test_single_precision_in_blocks(blocks):
    graph = GRAPHS["undirected"]
    found = fitted(graph, dtype="float32").embedding_
    assert found.dtype == np.float32
    assert torch.from_numpy(found).isfinite().all()
