"""The number of clusters, chosen by the vectors: block graphs, random graphs, clouds."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from tissues import layered_tissue

from benchmarks.cluster_number import CONTINUOUS, graph_of
from graphgate import Graph, InputError, cluster, cluster_anndata, embed
from graphgate.tasks.cluster_number import choose_n_clusters


def block_graph(sizes, within, between, seed=20, words=0, *, skewed=False) -> Graph:
    """Edges, and words if there are any, are more frequent within blocks."""
    rng = np.random.default_rng(seed)
    block = np.repeat(np.arange(len(sizes)), sizes)
    activity = rng.pareto(3, len(block)) + 0.5 if skewed else np.ones(len(block))
    chance = np.where(block[:, None] == block, within, between)
    chance = chance * np.outer(activity, activity) / activity.mean() ** 2
    x = None
    if words:
        own = np.arange(words) % len(sizes) == block[:, None]
        x = sp.csr_array((rng.random(own.shape) < np.where(own, 0.08, 0.02)), dtype=np.float32)
    return Graph(x, np.triu(rng.random(chance.shape) < chance, 1), labels=block)


BLOCKS = {
    "three": block_graph([100] * 3, 0.10, 0.01),
    "five, with words": block_graph([80] * 5, 0.15, 0.01, words=200),
    "two, close": block_graph([200] * 2, 0.06, 0.02, words=100),
    "eight": block_graph([60] * 8, 0.2, 0.01),
    "four of different sizes": block_graph([200, 120, 80, 40], 0.12, 0.01, words=120),
    "four, with hubs": block_graph([150] * 4, 0.1, 0.01, skewed=True),
}
RANDOM = {
    "sparse": block_graph([400], 0.03, 0.03),
    "with words": block_graph([800], 0.01, 0.01, words=200),
    "dense": block_graph([300], 0.1, 0.1, words=100),
    "with hubs": block_graph([500], 0.03, 0.03, words=100, skewed=True),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_within_one_of_the_number_of_blocks(name):
    graph = BLOCKS[name]
    found = cluster(embed(graph), "auto")
    assert abs(len(found.sizes) - len(graph.classes)) <= 1
    assert found.agreement["accuracy"] > 80


@pytest.mark.slow
@pytest.mark.parametrize("name", RANDOM)
def test_random_graphs_have_no_clusters(name):
    found = cluster(embed(RANDOM[name]), "auto")
    assert found.sizes.tolist() == [RANDOM[name].n_nodes]


@pytest.mark.parametrize("name", [name for name in CONTINUOUS if "large" not in name])
def test_continuous_graphs_have_no_clusters(name):
    assert len(cluster(embed(graph_of(name, 20)), "auto").sizes) == 1


def geometric(seed: int, n: int, radius: float) -> Graph:
    graph = nx.random_geometric_graph(n, radius, seed=seed)
    return Graph(adjacency=nx.to_scipy_sparse_array(graph))


def test_joined_disks_are_clusters():
    """Random geometric graphs are clusters where there are several, with few edges between."""
    parts = [geometric(seed, 200, 0.15).adjacency for seed in range(4)]
    whole = sp.block_diag(parts, "lil")
    for one in range(3):
        whole[200 * one, 200 * one + 200] = 1
    assert len(cluster(embed(Graph(None, whole.tocsr() + whole.T.tocsr() > 0)), "auto").sizes) == 4


@pytest.mark.parametrize("n_apart", [1, 2, 3])
def test_a_few_nodes_apart_are_no_reason_to_divide_the_others(n_apart):
    """The gap is then that of the few, but the clusters of k-means are parts of all others."""
    z = np.pad(embed(geometric(5, 300, 0.15)).vectors, ((0, 0), (0, n_apart)))
    rng = np.random.default_rng(0)
    for number in range(n_apart):
        few = slice(20 * number, 20 * number + 15)
        z[few] = z[100 * number] + 1e-3 * rng.normal(size=(15, z.shape[1]))
        z[few, -1 - number] += 1
    assert choose_n_clusters(z) == 1


@pytest.mark.parametrize("columns", [1, 2, 30])
def test_a_cloud_is_no_clusters(columns):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, columns)) * np.geomspace(10, 1, columns)  # elongated
    assert choose_n_clusters(z) == 1
    assert choose_n_clusters(rng.random((300, columns))) == 1


@pytest.mark.parametrize("k", [2, 3, 7])
def test_separate_clouds_are_counted(k):
    rng = np.random.default_rng(k)
    centers = 12 * rng.normal(size=(k, 5))
    z = centers[np.arange(600) % k] + rng.normal(size=(600, 5))
    assert choose_n_clusters(z) == k


def test_clusters_have_to_be_found_again_in_the_other_half():
    """Twelve clouds at equal distances: any four groups of them are separate, but arbitrary."""
    z = 12 * np.eye(12)[np.arange(480) % 12] + np.random.default_rng(0).normal(size=(480, 12))
    assert choose_n_clusters(z) == 12
    assert choose_n_clusters(z, most=4) == 1


@pytest.mark.slow
def test_a_sample_of_many_nodes_is_enough():
    z = 12 * np.eye(4)[np.arange(9000) % 4] + np.random.default_rng(0).normal(size=(9000, 4))
    assert choose_n_clusters(z.astype(np.float32), most=6, random_state=1) == 4


def test_few_or_equal_vectors():
    assert choose_n_clusters(np.eye(5)) == 1
    assert choose_n_clusters(np.ones((100, 3))) == 1
    assert choose_n_clusters(np.repeat(np.eye(4), 25, axis=0)) == 4


def test_the_default_of_cluster():
    z = np.repeat(9 * np.eye(4), 25, axis=0)
    assert len(cluster(z).sizes) == 4
    assert len(cluster(z, labels=np.arange(100) % 2).sizes) == 2
    with pytest.raises(InputError, match="n_clusters must be an integer ≥ 1 or 'auto', got 'many'"):
        cluster(z, "many")


@pytest.mark.slow
def test_the_number_of_domains_of_a_tissue():
    adata = layered_tissue(side=40)
    embedding = embed(adata, n_neighbors=6)
    adata.obsm["X_gate"] = embedding.vectors
    cluster_anndata(adata)
    assert 3 <= adata.obs["gate_cluster"].nunique() <= 5
