"""What describes clusters: against SciPy's own tests, with planted traits, and by chance."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import false_discovery_control, fisher_exact, mannwhitneyu

from graphgate import Attributes, Graph, InputError, cluster, describe_clusters
from graphgate.tasks.description import Trait


def customers(seed: int = 0, n: int = 300) -> tuple[Attributes, np.ndarray]:
    """Three groups: the first old, the second of Ulm, the third with the word "bike"."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 3
    words = [
        ["bike"] * int(g == 2 and rng.random() < 0.5) + ["the", f"w{rng.integers(30)}"]
        for g in group
    ]
    columns = {
        "age": rng.normal(40, 10, n) + 20 * (group == 0),
        "town": np.where((group == 1) & (rng.random(n) < 0.6), "Ulm", "Bern"),
        "about": words,
        "member": rng.random(n) < np.where(group == 2, 0.9, 0.4),
        "noise": rng.normal(size=n),
        "shoe": rng.choice(["s", "m", "l"], n),
    }
    columns = {
        name: values if name == "about" else list(values) for name, values in columns.items()
    }
    return Attributes.from_columns(columns), group


def test_planted_traits_are_found_and_no_others():
    table, group = customers()
    found = describe_clusters(table, group)
    named = [{(trait.name, trait.value) for trait in traits} for traits in found]
    assert ("age", None) in named[0]
    assert ("town", "Ulm") in named[1]
    assert {("about", "bike"), ("member", True)} <= named[2]
    assert not {"noise", "shoe"} & {name for each in named for name, _ in each}
    assert not {"the"} & {value for each in named for _, value in each}
    assert all(trait.p_value <= 0.01 for traits in found for trait in traits)
    assert str(found[0][0]).startswith("high age (median 5")
    assert "town Ulm (" in " ".join(map(str, found[1]))


@pytest.mark.parametrize("seed", range(5))
def test_a_shuffled_clustering_has_no_traits(seed):
    table, group = customers(seed)
    shuffled = np.random.default_rng(seed + 100).permutation(group)
    assert describe_clusters(table, shuffled) == [[], [], []]


def test_the_rate_of_false_discoveries():
    """A shuffled clustering has a trait in at most a fraction alpha of all cases."""
    table, group = customers()
    rng = np.random.default_rng(1)
    found = [any(describe_clusters(table, rng.permutation(group), alpha=0.2)) for _ in range(60)]
    assert 0 < np.mean(found) < 0.3


def test_against_scipys_tests():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 60)
    numbers = np.round(rng.normal(size=60) + group, 1)  # with ties
    numbers[:3] = np.nan
    flags = rng.random(60) < 0.3 + 0.2 * (group == 1)
    table = Attributes.from_columns({"number": numbers, "flag": flags})
    found = describe_clusters(table, group, alpha=1.0, most=10)
    known, by_hand = ~np.isnan(numbers), {}
    for g in range(3):
        own = group == g
        test = mannwhitneyu(
            numbers[own & known], numbers[~own & known], method="asymptotic", use_continuity=True
        )
        by_hand[g, "number"] = test.pvalue
        for name, has in (("flag", flags), ("not flag", ~flags)):
            counts = [
                [(has & own).sum(), (has & ~own).sum()],
                [(~has & own).sum(), (~has & ~own).sum()],
            ]
            by_hand[g, name] = fisher_exact(counts, alternative="greater").pvalue
    adjusted = dict(zip(by_hand, false_discovery_control(list(by_hand.values())), strict=True))
    for g, traits in enumerate(found):
        assert {trait.name for trait in traits} == {"number", "flag", "not flag"}
        for trait in traits:
            assert trait.p_value == pytest.approx(adjusted[g, trait.name], rel=1e-9)
    (flag,) = [trait for trait in found[1] if trait.name == "flag"]
    assert flag.inside == flags[group == 1].mean()
    assert flag.outside == flags[group != 1].mean()
    (number,) = [trait for trait in found[1] if trait.name == "number"]
    assert number.inside == np.median(numbers[(group == 1) & known])


@pytest.mark.parametrize("sparse", [True, False])
def test_features_of_a_graph(sparse):
    group = np.arange(60) % 2
    x = np.zeros((60, 3), dtype=np.float32)
    x[:, 1] = group
    x[::5, 2] = 1
    graph = Graph(sp.csr_array(x) if sparse else x, feature_names=["a", "b", "c"])
    ((), (trait,)) = describe_clusters(graph, group)
    assert (trait.name, trait.value, trait.inside, trait.outside) == ("b", True, 1, 0)
    assert str(trait) == "b (100%, elsewhere 0%)"
    numbers = Graph(x + np.random.default_rng(0).normal(size=x.shape) / 9)
    low, high = describe_clusters(numbers, group)
    assert [trait.name for trait in (*low, *high)] == ["feature 1"] * 2
    assert str(low[0]).startswith("low feature 1")
    assert describe_clusters(Graph(adjacency=np.eye(60, k=1)), group) == [[], []]


def test_missing_values_and_single_clusters():
    table = Attributes.from_columns({"town": ["Ulm", None] * 10, "age": [None] * 20})
    assert describe_clusters(table, np.zeros(20, int)) == [[]]
    found = describe_clusters(table, np.arange(20) % 2)
    assert [len(each) for each in found] == [1, 0]


def test_labels_are_not_looked_at():
    labels = np.arange(60) % 2
    graph = Graph(np.random.default_rng(0).normal(size=(60, 3)), labels=labels)
    assert describe_clusters(graph, labels) == [[], []]


@pytest.mark.parametrize("clusters", [[0, 1], [0.5] * 18, [-1] * 18])
def test_refusals(clusters):
    table = Attributes.from_columns({"town": ["Ulm"] * 18})
    with pytest.raises(InputError, match="clusters must be 18 integers from 0"):
        describe_clusters(table, clusters)


def test_cluster_describes_what_it_finds():
    table, group = customers()
    z = 9 * np.eye(3)[group] + np.random.default_rng(0).normal(size=(300, 3))
    found = cluster(z, 3, described=table)
    assert found.traits == describe_clusters(table, found.clusters)
    assert all(isinstance(traits[0], Trait) for traits in found.traits)
    assert cluster(z, 3).traits is None
