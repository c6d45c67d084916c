"""The graph: what it accepts, what it makes of it, and that it cannot be changed."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.utils import to_scipy_sparse_matrix

from graphgate.errors import InputError
from graphgate.graph import edges
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph

TWO, THREE = np.eye(2), np.eye(3)
PATH = [(0, 1), (1, 2)]


# --- a dense reference ------------------------------------------------------------------------


def reference(n, edges, weights=None, directed=False):
    """The adjacency by the rules, one pair after the other."""
    dense = np.zeros((n, n))
    for k, (u, v) in enumerate(edges):
        if u == v:
            continue
        if weights is None:
            dense[u, v] = 1
            if not directed:
                dense[v, u] = 1
        else:
            dense[u, v] += weights[k]
    if weights is not None and not directed:
        dense = np.maximum(dense, dense.T)
    return dense


EITHER = st.booleans()


@st.composite
def graphs(draw, directed=EITHER, weighted=EITHER):
    """A random graph as (n, x, edges, weights, directed), duplicates and self-loops included."""
    n = draw(st.integers(1, 7))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=20))
    is_directed, weights = draw(directed), None
    if draw(weighted):
        if not is_directed:  # one way only, because two ways must agree
            edges = [(min(edge), max(edge)) for edge in edges]
        weight = st.integers(0, 8).map(lambda eighths: eighths / 8)
        weights = draw(st.lists(weight, min_size=len(edges), max_size=len(edges)))
    dense = draw(
        st.lists(
            st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.5]), min_size=3, max_size=3),
            min_size=n,
            max_size=n,
        )
    )
    x = np.array(dense, dtype=np.float32)
    return n, sp.csr_array(x) if draw(st.booleans()) else x, edges, weights, is_directed


def dense(array):
    return array.toarray() if sp.issparse(array) else array


@given(graphs())
def test_edges_become_the_reference_adjacency(drawn):
    n, x, edges, weights, directed = drawn
    graph = Graph.from_edges(x, edges, weights, directed=directed)
    expected = reference(n, edges, weights, directed)
    np.testing.assert_array_equal(graph.adjacency.toarray(), expected)
    np.testing.assert_array_equal(dense(graph.x), dense(x))
    assert graph.adjacency.has_canonical_format
    assert (graph.adjacency.data > 0).all()
    assert not graph.adjacency.diagonal().any()
    assert graph.n_edges == np.count_nonzero(expected if directed else np.triu(expected))
    assert graph.weighted is (weights is not None)
    if not directed:
        np.testing.assert_array_equal(expected, expected.T)


@given(graphs(weighted=st.just(False)), st.randoms(use_true_random=False))
def test_order_duplicates_and_direction_of_unweighted_edges_do_not_matter(drawn, random):
    _, x, edges, _, directed = drawn
    graph = Graph.from_edges(x, edges, directed=directed)
    more = edges + edges[:3]
    if not directed:
        more += [(v, u) for u, v in edges[:2]]
    random.shuffle(more)
    for same in (more, np.array(more, dtype=int).reshape(-1, 2), iter(more)):
        other = Graph.from_edges(x, same, directed=directed)
        assert other.fingerprint() == graph.fingerprint()


@given(graphs())
def test_an_adjacency_gives_the_same_graph_as_its_edges(drawn):
    n, x, edges, weights, directed = drawn
    graph = Graph.from_edges(x, edges, weights, directed=directed)
    expected = reference(n, edges, weights, directed)
    for adjacency in (expected, expected.tolist(), sp.coo_array(expected), sp.csc_matrix(expected)):
        again = Graph(x, adjacency, directed=directed)
        np.testing.assert_array_equal(again.adjacency.toarray(), expected)
        assert again.weighted is bool(((expected != 0) & (expected != 1)).any())
    np.testing.assert_array_equal(
        Graph(x, graph.adjacency, directed=directed).adjacency.toarray(), expected
    )


@given(graphs(), st.data())
def test_a_subgraph_is_the_rows_and_columns_in_the_order_asked(drawn, data):
    n, x, edges, weights, directed = drawn
    ids = [f"n{i}" for i in range(n)]
    train = np.arange(n) % 2 == 0
    graph = Graph.from_edges(
        x,
        [(ids[u], ids[v]) for u, v in edges],
        weights,
        ids=ids,
        labels=[i % 3 for i in range(n)],
        splits={"train": train, "test": ~train},
        directed=directed,
        feature_names=list("abc"),
    )
    rows = data.draw(st.permutations(range(n)))[: data.draw(st.integers(1, n))]
    expected = reference(n, edges, weights, directed)[np.ix_(rows, rows)]
    part = graph.subgraph([ids[row] for row in rows])
    np.testing.assert_array_equal(part.adjacency.toarray(), expected)
    np.testing.assert_array_equal(dense(part.x), dense(x)[rows])
    assert part.ids.tolist() == [ids[row] for row in rows]
    assert [part.classes[code] for code in part.labels] == [row % 3 for row in rows]
    assert part.splits["train"].tolist() == train[rows].tolist()
    assert part.feature_names == ("a", "b", "c")
    assert (part.directed, part.weighted) == (graph.directed, graph.weighted)
    assert part.adjacency.has_sorted_indices

    mask = np.zeros(n, dtype=bool)
    mask[rows] = True
    by_mask = graph.subgraph(mask)
    assert by_mask.fingerprint() == graph.subgraph([ids[row] for row in sorted(rows)]).fingerprint()
    if len(rows) < n:
        assert graph.without(~mask).fingerprint() == by_mask.fingerprint()
        gone = [name for name, kept in zip(ids, mask, strict=True) if not kept]
        assert graph.without(gone + gone).fingerprint() == by_mask.fingerprint()
    # To take everything, or nothing away, changes nothing.
    assert graph.subgraph(ids).fingerprint() == graph.fingerprint()
    assert graph.without([]).fingerprint() == graph.fingerprint()


@given(graphs(), st.integers(0, 4), st.data())
def test_a_neighborhood_is_all_that_can_be_attended_over(drawn, hops, data):
    n, x, edges, weights, directed = drawn
    graph = Graph.from_edges(x, edges, weights, directed=directed)
    node = data.draw(st.integers(0, n - 1))
    # A node attends over the nodes that point to it.
    step = (reference(n, edges, weights, directed) != 0) | np.eye(n, dtype=bool)
    reached = np.linalg.matrix_power(step.astype(int), hops)[:, node] > 0
    assert graph.neighborhood([node], hops).ids.tolist() == np.flatnonzero(reached).tolist()


def test_conversions_against_the_dense_adjacency():
    a = np.array([[0, 2, 0], [3, 0, 0], [0.5, 0, 0]])
    graph = Graph(np.eye(3), a, directed=True)
    both = graph.to_undirected()
    assert (both.directed, both.weighted) == (False, True)
    assert both.adjacency.toarray().tolist() == np.maximum(a, a.T).tolist()
    assert both.adjacency.has_sorted_indices
    one = graph.to_unweighted()
    assert (one.directed, one.weighted) == (True, False)
    assert one.adjacency.toarray().tolist() == (a > 0).astype(float).tolist()
    again = one.to_weighted()
    assert again.weighted
    assert (again.adjacency != one.adjacency).nnz == 0
    assert again.fingerprint() != one.fingerprint()
    turned = both.to_directed()
    assert turned.directed
    assert turned.n_edges == 2 * both.n_edges
    assert turned.attended.toarray().tolist() == both.adjacency.toarray().tolist()
    assert graph.adjacency.toarray().tolist() == a.tolist()


def test_the_two_directions_of_a_pair_agree_to_rounding():
    """Weights that were computed twice may differ in their last bits, and no more."""
    pairs = [(0, 1), (1, 0)]
    assert Graph.from_edges(TWO, pairs, [1.0, 1 + 1e-7]).n_edges == 1
    assert Graph.from_edges(TWO, pairs, [1e-9, 1e-9 * (1 + 1e-7)]).n_edges == 1
    for weights in ([1.0, 1.00001], [1.0, 1.05], [1e-9, 1.1e-9], [1e9, 1e9 + 1e4]):
        with pytest.raises(
            InputError, match="undirected edge between 0 and 1 has weight"
        ) as caught:
            Graph.from_edges(TWO, pairs, weights)
        assert caught.value.about == "edges"
        with pytest.raises(InputError, match="undirected edge between 0 and 1 has weight"):
            Graph(TWO, [[0, weights[0]], [weights[1], 0]])


@pytest.mark.parametrize("transposed", [True, False])
def test_an_edge_index_is_read_as_pyg_does(transposed):
    index = np.array([[0, 1, 3], [1, 2, 0]], order="F" if transposed else "C")
    graph = Graph.from_edge_index(
        np.eye(4), index, [1, 2, 0.5], ids=list("wxyz"), directed=True, labels=[0, 1, 0, 1]
    )
    expected = to_scipy_sparse_matrix(torch.tensor(index), torch.tensor([1, 2, 0.5]), 4)
    assert graph.adjacency.toarray().tolist() == expected.toarray().tolist()
    assert graph.ids.tolist() == ["w", "x", "y", "z"]
    by_id = [("w", "x"), ("x", "y"), ("z", "w")]
    same = Graph.from_edges(np.eye(4), by_id, [1, 2, 0.5], ids=list("wxyz"), directed=True)
    assert same.fingerprint() == graph.fingerprint()
    torch_index = torch.tensor(index)
    assert Graph.from_edge_index(None, torch_index, num_nodes=6).n_nodes == 6
    assert Graph.from_edge_index(None, torch_index).n_nodes == 4


@given(graphs())
def test_reverse_turns_every_directed_edge(drawn):
    _, x, edges, weights, directed = drawn
    graph = Graph.from_edges(x, edges, weights, directed=directed)
    turned = graph.reverse()
    np.testing.assert_array_equal(turned.adjacency.toarray(), graph.adjacency.toarray().T)
    assert turned.adjacency.has_sorted_indices
    assert turned.reverse().fingerprint() == graph.fingerprint()


@given(graphs())
def test_a_pickled_graph_is_the_same_and_as_immutable(drawn):
    _, x, edges, weights, directed = drawn
    graph = Graph.from_edges(x, edges, weights, directed=directed)
    for again in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph), copy.copy(graph)):
        assert again.fingerprint() == graph.fingerprint()
        assert not again.adjacency.data.flags.writeable
        with pytest.raises(AttributeError, match="cannot assign"):
            again.x = None


# --- weights and direction, by hand -----------------------------------------------------------


def test_unweighted_duplicates_are_one_edge_and_weighted_ones_are_added():
    pairs = [(0, 1), (0, 1), (1, 0), (2, 2)]
    assert Graph.from_edges(THREE, pairs).adjacency.toarray().tolist() == [
        [0, 1, 0],
        [1, 0, 0],
        [0, 0, 0],
    ]
    weighted = Graph.from_edges(THREE, pairs, [0.25, 0.5, 0.75, 9])
    assert weighted.adjacency.toarray().tolist() == [[0, 0.75, 0], [0.75, 0, 0], [0, 0, 0]]
    directed = Graph.from_edges(THREE, pairs, [0.25, 0.5, 3, 9], directed=True)
    assert directed.adjacency.toarray().tolist() == [[0, 0.75, 0], [3, 0, 0], [0, 0, 0]]
    assert (weighted.n_edges, directed.n_edges) == (1, 2)


def test_a_sparse_adjacency_with_duplicates_stays_unweighted():
    twice = sp.coo_array((np.ones(2), ([0, 0], [1, 1])), shape=(2, 2))
    graph = Graph(TWO, twice)
    assert not graph.weighted
    assert graph.adjacency.toarray().tolist() == [[0, 1], [1, 0]]


def test_explicit_zeros_are_no_edges():
    zeros = sp.csr_array((np.zeros(2), ([0, 1], [1, 0])), shape=(2, 2))
    assert Graph(TWO, zeros).adjacency.nnz == 0
    assert Graph.from_edges(TWO, [(0, 1)], [0.0]).adjacency.nnz == 0


def test_two_weights_that_differ_by_rounding_are_one():
    third = 1 / 3
    graph = Graph.from_edges(TWO, [(0, 1), (1, 0)], [third, np.nextafter(third, 1)])
    adjacency = graph.adjacency.toarray()
    assert adjacency[0, 1] == adjacency[1, 0]


def test_weights_are_float64_and_ones_float32():
    assert Graph.from_edges(TWO, [(0, 1)], [2]).adjacency.dtype == np.float64
    assert Graph.from_edges(TWO, [(0, 1)]).adjacency.dtype == np.float32


@pytest.mark.parametrize("edges", [[], np.empty((0, 2), dtype=int), iter(())])
def test_a_graph_may_have_no_edges(edges):
    assert Graph.from_edges(TWO, edges).n_edges == 0
    assert Graph.from_edges(TWO, [], ids=["a", "b"]).n_edges == 0
    assert Graph(TWO).n_edges == 0


# --- features, ids, labels, splits ------------------------------------------------------------


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint64, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("make", [np.array, sp.csr_matrix, sp.coo_array, sp.csc_array])
def test_features_of_every_kind(kind, make):
    given = make(np.eye(3, 4).astype(np.float32 if kind is np.float16 else kind))
    if kind is np.float16:
        given = given.astype(kind) if make is np.array else given
    x = Graph(given).x
    assert x.dtype == (np.float64 if kind is np.float64 else np.float32)
    assert isinstance(x, sp.csr_array if sp.issparse(given) else np.ndarray)
    np.testing.assert_array_equal(dense(x), np.eye(3, 4))


def test_sparse_features_are_put_in_order():
    given = sp.coo_array(([1.0, 2, 3, 0], ([0, 0, 0, 1], [2, 0, 2, 1])), shape=(2, 3))
    x = Graph(given).x
    assert x.has_canonical_format
    assert x.nnz == 2
    assert x.toarray().tolist() == [[2, 0, 4], [0, 0, 0]]


def test_lists_and_object_arrays_of_numbers_are_features():
    assert Graph([[1, 2], [3, 4]]).x.dtype == np.float32
    assert Graph(np.array([[1, 2.5]], dtype=object)).x.tolist() == [[1, 2.5]]
    assert Graph(np.asfortranarray(THREE)).x.flags.c_contiguous


@pytest.mark.parametrize(
    "ids",
    [
        ["a", "b", "c"],
        [(0, 1), (1, 0), (1, 2, 3)],
        [(0, 1), (1, 0), (1, 1)],
        [frozenset({1}), None, "x"],
        [1, "1", 1.5],
        [2**70, -1, 0],
        [b"a", "a", Ellipsis],
        (30, 10, 20),
        np.array(["a", "b", "c"]),
        np.array([30, 10, 20]),
        np.array([3, 1, 2], dtype=np.uint8),
        {"a": 1, "b": 2, "c": 3}.keys(),
        range(5, 8),
    ],
)
def test_ids_of_any_hashable_kind(ids):
    names = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    graph = Graph.from_edges(THREE, [(names[0], names[2])], ids=ids, directed=True)
    assert graph.ids.tolist() == names
    assert graph.ids.shape == (3,)
    assert graph.adjacency.nonzero()[0].tolist() == [0]
    assert graph.adjacency.nonzero()[1].tolist() == [2]
    assert graph.rows([names[2], names[0], names[2]]).tolist() == [2, 0, 2]
    assert graph.subgraph([names[2], names[1]]).ids.tolist() == [names[2], names[1]]
    assert graph.without([names[0]]).ids.tolist() == names[1:]
    with pytest.raises(InputError, match="has no node with id 'nobody'"):
        graph.rows([names[0], "nobody"])
    again = pickle.loads(pickle.dumps(graph))
    assert again.ids.tolist() == names


def test_ids_are_row_numbers_unless_given():
    graph = Graph(THREE)
    assert graph.ids.tolist() == [0, 1, 2]
    assert graph.ids.dtype == np.int64
    part = graph.without([0])
    assert part.ids.tolist() == [1, 2]
    assert part.rows([2]).tolist() == [1]
    assert part.rows(np.array([2, 1])).tolist() == [1, 0]


def test_integer_ids_may_be_large_and_unsorted():
    graph = Graph.from_edges(THREE, [(10**15, -7)], ids=[5, 10**15, -7])
    assert graph.adjacency.toarray()[1, 2] == 1
    assert graph.rows(np.array([-7, 5])).tolist() == [2, 0]


def test_nodes_by_generator_set_and_object_array():
    graph = Graph(THREE, ids=["a", "b", "c"])
    assert graph.rows(name for name in "ca").tolist() == [2, 0]
    assert graph.rows({"b"}).tolist() == [1]
    assert graph.rows(np.array(["c", "a"])).tolist() == [2, 0]
    assert graph.rows(np.array(["c", "a"], dtype=object)).tolist() == [2, 0]
    assert graph.rows([]).tolist() == []


@pytest.mark.parametrize(
    ("labels", "codes", "classes"),
    [
        (["b", "a", None], [1, 0, -1], ("a", "b")),
        ([3, None, 1], [1, -1, 0], (1, 3)),
        (np.array([2.0, np.nan, 1.0]), [1, -1, 0], (1.0, 2.0)),
        (np.array([7, 7, 7]), [0, 0, 0], (7,)),
        ([None, None, None], [-1, -1, -1], ()),
        (["1", 1, None], [1, 0, -1], (1, "1")),
        ([float("nan"), "x", (1, 2)], [-1, 0, 1], ("x", (1, 2))),
    ],
)
def test_labels_are_positions_in_classes(labels, codes, classes):
    graph = Graph(THREE, labels=labels)
    assert graph.labels.tolist() == codes
    assert graph.labels.dtype == np.int64
    assert graph.classes == classes


def test_a_subgraph_keeps_all_classes():
    graph = Graph(THREE, labels=["a", "b", "c"]).without([0])
    assert graph.classes == ("a", "b", "c")
    assert graph.labels.tolist() == [1, 2]


def test_splits_can_be_replaced():
    graph = Graph(THREE, splits={"train": [True, False, False]})
    other = graph.with_splits({"test": np.array([False, True, True])})
    assert list(graph.splits) == ["train"]
    assert {name: mask.tolist() for name, mask in other.splits.items()} == {
        "test": [False, True, True]
    }
    assert other.fingerprint() == graph.fingerprint()


def test_the_repr_of_a_graph():
    graph = Graph.from_edges(
        sp.csr_array(np.eye(1200)),
        [(0, 1)],
        [2.0],
        labels=[0] * 1200,
        splits={"train": np.arange(1200) < 5},
        directed=True,
    )
    assert repr(graph) == (
        "Graph(1,200 nodes, 1 weighted directed edge, 1,200 sparse features, 1 class, train 5)"
    )


def test_different_graphs_have_different_fingerprints():
    prints = {
        graph.fingerprint()
        for graph in (
            Graph(THREE),
            Graph(THREE.astype(np.float32)),
            Graph(sp.csr_array(THREE)),
            Graph(THREE[::-1]),
            Graph(THREE, ids=["0", "1", "2"]),
            Graph(THREE, ids=[2, 1, 0]),
            Graph.from_edges(THREE, PATH),
            Graph.from_edges(THREE, PATH, directed=True),
            Graph.from_edges(THREE, PATH, [1, 1]),
            Graph.from_edges(THREE, PATH, [1, 2]),
        )
    }
    assert len(prints) == 10


# --- immutability -----------------------------------------------------------------------------


@pytest.fixture(params=["dense", "sparse"])
def whole(request):
    x = THREE if request.param == "dense" else sp.csr_array(THREE)
    return Graph.from_edges(
        x,
        [("a", "b"), ("b", "c")],
        [1.5, 2],
        ids=["a", "b", "c"],
        labels=["x", "y", None],
        splits={"train": [True, False, False]},
        feature_names=["f", "g", "h"],
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda graph: graph,
        lambda graph: graph.subgraph(["c", "a"]),
        lambda graph: graph.without(["b"]),
        lambda graph: graph.reverse(),
        lambda graph: graph.neighborhood(["a"], 1),
        lambda graph: graph.with_splits({"train": [True, False, False]}),
        lambda graph: pickle.loads(pickle.dumps(graph)),
    ],
)
def test_nothing_in_a_graph_can_be_written(whole, make):
    graph = make(whole)
    arrays = [graph.ids, graph.labels, *graph.splits.values()]
    for matrix in (graph.x, graph.adjacency):
        is_sparse = sp.issparse(matrix)
        arrays += [matrix.data, matrix.indices, matrix.indptr] if is_sparse else [matrix]
    for array in arrays:
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array
    for name in ("x", "adjacency", "labels", "splits", "directed", "new"):
        with pytest.raises(AttributeError, match=f"cannot assign to field {name!r}"):
            setattr(graph, name, None)
    with pytest.raises(AttributeError, match="cannot delete field"):
        del graph.x


def test_inputs_are_neither_changed_nor_shared():
    x, adjacency = THREE.copy(), sp.csr_array(np.array([[5.0, 1, 0], [1, 0, 0], [0, 0, 0]]))
    ids, mask = np.array([4, 5, 6]), np.array([True, False, False])
    labels, edges = np.array([0, 1, 1]), np.array([[4, 5], [5, 6]])
    weights = np.array([1.0, 2.0])
    inputs = [x, adjacency.data, adjacency.indices, adjacency.indptr, ids, mask, labels, edges]
    inputs.append(weights)
    before = [array.copy() for array in inputs]
    graphs = [
        Graph(x, adjacency, ids=ids, labels=labels, splits={"train": mask}),
        Graph.from_edges(x, edges, weights, ids=ids, labels=labels, splits={"train": mask}),
        Graph.from_edges(x, edges - 4, weights, directed=True),
        Graph(adjacency),
    ]
    for array, old in zip(inputs, before, strict=True):
        assert array.flags.writeable
        np.testing.assert_array_equal(array, old)
    prints = [graph.fingerprint() for graph in graphs]
    codes = graphs[0].labels.copy()
    for array in inputs:
        array[...] = 1
    assert [graph.fingerprint() for graph in graphs] == prints
    np.testing.assert_array_equal(graphs[0].labels, codes)
    assert graphs[0].splits["train"].tolist() == [True, False, False]


# --- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        # features
        (lambda: Graph(np.ones(3)), r"two dimensions .*got shape \(3,\)"),
        (lambda: Graph(np.ones((2, 2, 2))), r"two dimensions .*got shape \(2, 2, 2\)"),
        (lambda: Graph(sp.coo_array(np.ones(3))), r"two dimensions"),
        (lambda: Graph([[1], [1, 2]]), r"features must be a rectangular array"),
        (lambda: Graph(np.empty((0, 3))), r"the graph is empty"),
        (lambda: Graph(np.empty((3, 0))), r"0 feature\(s\)"),
        (lambda: Graph(sp.csr_array((0, 3))), r"graph is empty"),
        (lambda: Graph([["a"]]), r"real numbers, got dtype <U1"),
        (lambda: Graph(np.array([["a"]], dtype=object)), r"features must be .* numbers: .*'a'"),
        (lambda: Graph(np.array([[1j]])), r"Complex data not supported"),
        (lambda: Graph(sp.csr_array(np.array([[1j]]))), r"Complex data not supported"),
        (lambda: Graph(np.array([["2020"]], dtype="M8[Y]")), r"real numbers, got dtype datetime"),
        (lambda: Graph([[1, 2], [3, np.nan]]), r"contain NaN at row 1, column 1"),
        (lambda: Graph([[1, -np.inf]]), r"contain infinity \(-inf\) at row 0, column 1"),
        (lambda: Graph([[1, None]]), r"contain NaN at row 0, column 1"),
        (lambda: Graph(np.array([[np.longdouble("1e300")]])), r"infinity"),
        (
            lambda: Graph(sp.csr_array(np.array([[0, 0], [0, 0], [0, np.nan]]))),
            r"NaN at row 2, column 1",
        ),
        # ids
        (lambda: Graph(THREE, ids=["a", "b"]), r"2 node ids for 3 nodes"),
        (lambda: Graph(THREE, ids=[1, 2, 1]), r"node id 1 is given more than once"),
        (lambda: Graph(THREE, ids=np.array([1, 2, 2])), r"id .*2.* is given more than once"),
        (lambda: Graph(THREE, ids=["a", "b", "a"]), r"id 'a' is given more than once"),
        (lambda: Graph(TWO, ids=[1, True]), r"id True is given more than once"),
        (lambda: Graph(TWO, ids=[[1], [2]]), r"node ids must be hashable"),
        (lambda: Graph(TWO, ids=np.array([[1], [2]])), r"node ids must be hashable"),
        (lambda: Graph(TWO, ids=[float("nan"), 1]), r"a node id is NaN"),
        # adjacency
        (lambda: Graph(THREE, TWO), r"adjacency has shape \(2, 2\), but there are 3 nodes"),
        (lambda: Graph(TWO, np.ones(2)), r"adjacency has shape \(2,\)"),
        (lambda: Graph(TWO, [[1], [1, 2]]), r"adjacency must be a rectangular"),
        (lambda: Graph(TWO, [["a", "b"], ["c", "d"]]), r"adjacency must be real numbers"),
        (lambda: Graph(TWO, np.array([[0, None], [0, 0]])), r"adjacency entry 0 is nan"),
        (lambda: Graph(TWO, [[0, -1], [0, 0]]), r"is -1\.0; weights must be positive"),
        (lambda: Graph(TWO, [[0, np.nan], [0, 0]]), r"is nan; weights must be positive"),
        (lambda: Graph(TWO, [[0, np.inf], [0, 0]]), r"is inf; weights must be positive"),
        (
            lambda: Graph(TWO, [[0, 2], [3, 0]]),
            r"weight 2\.0 in one direction and 3\.0 in the other",
        ),
        # edges
        (lambda: Graph.from_edges(TWO, [(0, 1, 2)]), r"must be pairs"),
        (lambda: Graph.from_edges(TWO, [0, 1]), r"must be pairs"),
        (lambda: Graph.from_edges(THREE, np.zeros((2, 3), int)), r"shape \(E, 2\), got \(2, 3\)"),
        (lambda: Graph.from_edges(TWO, np.zeros(4, int)), r"shape \(E, 2\), got \(4,\)"),
        (lambda: Graph.from_edges(TWO, [(0, 2)]), r"edge 0 is \(0, 2\), out of range for 2 nodes"),
        (lambda: Graph.from_edges(TWO, [(0, 1), (-1, 0)]), r"edge 1 is \(-1, 0\), out of range"),
        (
            lambda: Graph.from_edges(TWO, [(0.0, 1.0)]),
            r"row numbers must be integers, got dtype float64",
        ),
        (lambda: Graph.from_edges(TWO, [("a", "b")]), r"row numbers must be integers"),
        (lambda: Graph.from_edges(TWO, [(0, 1)], ids="ab"), r"has no node with id 0"),
        (lambda: Graph.from_edges(TWO, [("a", "c")], ids="ab"), r"has no node with id 'c'"),
        (lambda: Graph.from_edges(TWO, [(5, 7)], ids=[5, 6]), r"has no node with id 7"),
        (lambda: Graph.from_edges(TWO, [(5, "x")], ids=[5, 6]), r"has no node with id '?.*'"),
        (lambda: Graph.from_edges(TWO, [(5, [6])], ids=["a", 6]), r"has no node|hashable"),
        (lambda: Graph.from_edges(TWO, [(0, 1)], [1, 2]), r"shape \(2,\) for 1 edges"),
        (lambda: Graph.from_edges(TWO, [(0, 1)], ["x"]), r"weights must be real numbers"),
        (lambda: Graph.from_edges(TWO, [(0, 1)], [-1]), r"weight of edge 0 is -1\.0"),
        (lambda: Graph.from_edges(TWO, [(0, 1)], [np.nan]), r"weight of edge 0 is nan"),
        (
            lambda: Graph.from_edges(TWO, [("a", "b"), ("b", "a")], [1, 2], ids="ab"),
            r"between 'a' and 'b' has weight 1\.0 in one direction and 2\.0 in the other",
        ),
        # labels, splits, names
        (lambda: Graph(TWO, labels=[1]), r"1 labels for 2 nodes"),
        (lambda: Graph(TWO, labels=[[1], [2]]), r"neither a plain value nor None"),
        (lambda: Graph(TWO, labels=np.eye(2)), r"neither a plain value nor None"),
        (lambda: Graph(TWO, splits={"train": [0, 1]}), r"split 'train' must be a boolean mask"),
        (lambda: Graph(TWO, splits={"train": [True]}), r"of length 2, got shape \(1,\) of bool"),
        (
            lambda: Graph(
                TWO, ids="ab", splits={"train": [True, False], "test": np.ones(2, dtype=bool)}
            ),
            r"node 'a' is in the split 'test' and in another one",
        ),
        (lambda: Graph(TWO).with_splits({"train": [1, 0]}), r"must be a boolean mask"),
        (lambda: Graph(TWO, feature_names=["a"]), r"1 feature names for 2 features"),
        (lambda: Graph(TWO, feature_names=["a", "a"]), r"feature name 'a' is given more than once"),
        # nodes of a graph
        (lambda: Graph(TWO).rows("01"), r"must be a list of ids or a mask, got '01'"),
        (lambda: Graph(TWO).rows(1), r"must be a list of ids or a mask, got 1"),
        (lambda: Graph(TWO).rows([2]), r"no node with id 2"),
        (lambda: Graph(TWO).rows([2**70]), r"no node with id 1180591620717411303424"),
        (lambda: Graph(TWO).rows(["a"]), r"no node with id 'a'"),
        (lambda: Graph(TWO, ids="ab").rows([["a"]]), r"node ids must be hashable"),
        (lambda: Graph(TWO).rows(np.ones(3, dtype=bool)), r"the mask has 3 values for 2 nodes"),
        (lambda: Graph(TWO).subgraph([0, 0]), r"is given more than once"),
        (lambda: Graph(TWO).subgraph([]), r"would have no nodes"),
        (lambda: Graph(TWO).subgraph(np.zeros(2, dtype=bool)), r"would have no nodes"),
        (lambda: Graph(TWO).without([0, 1]), r"would have no nodes"),
        (lambda: Graph(TWO).neighborhood([], 2), r"would have no nodes"),
    ],
)
def test_invalid_input_is_refused_in_one_sentence(make, words):
    with pytest.raises(InputError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Graph(THREE, ids=np.array([1, 2, 2])), r"node id 2 is"),
        (lambda: Graph(TWO, splits={"a": [True, False], "b": [True, False]}), r"node 0 is"),
        (lambda: Graph.from_edges(TWO, [(0, 1), (1, 0)], [1, 2]), r"between 0 and 1 has"),
        (lambda: Graph.from_edges(TWO, [(0, 1)] * 2, [1e308] * 2), r"infin|too large"),
        (lambda: Graph(TWO).rows([(0, 1)]), r"no node with id \(0, 1\)"),
        (lambda: Graph(TWO).rows(np.array([[0, 1]])), r"."),
        (lambda: Graph(TWO, sp.csr_array(np.array([[0, 1j], [0, 0]]))), r"real numbers"),
        (lambda: Graph.from_edges(TWO, [(0, 1)], np.array([1j])), r"numbers"),
        (lambda: Graph(TWO, ids=5), r"ids"),
        (lambda: Graph.from_edges(TWO, None), r"edges"),
        (lambda: Graph.from_edges(TWO, [((0, 1), 1)]), r"edges"),
        (lambda: Graph(TWO, labels=5), r"label"),
        (lambda: Graph(TWO, labels=[np.ones(2), np.ones(2)]), r"label"),
        (lambda: Graph(TWO, splits=[1]), r"split"),
        (lambda: Graph(TWO, splits={"a": [[1], [1, 2]]}), r"split"),
        (lambda: Graph(TWO, feature_names=5), r"feature names"),
        (lambda: Graph(_out_of_bounds()), r"."),
        (lambda: Graph(TWO, _out_of_bounds()), r"."),
        (lambda: Graph(sp.csr_array(np.array([[np.longdouble("1e300")]]))), r"infinity"),
        (lambda: Graph(TWO).neighborhood([0], -1), r"hops"),
    ],
)
def test_more_invalid_input_is_refused_in_one_sentence(make, words):
    with pytest.raises(InputError, match=words):
        make()


def _out_of_bounds():
    """A matrix whose column numbers are wrong: reading it may touch memory that is not ours."""
    matrix = sp.csr_matrix(TWO)
    matrix.indices[1] = 7
    return matrix


def test_unsigned_ids_do_not_wrap_around():
    ids = np.array([2**63 + 1, 5], dtype=np.uint64)
    assert Graph(TWO, ids=ids).ids.tolist() == [2**63 + 1, 5]


def test_lookup_of_unsigned_ids_is_exact():
    ids = [2**60, 2**60 + 1]
    assert Graph(TWO, ids=ids).rows(np.array(ids, dtype=np.uint64)).tolist() == [0, 1]


@pytest.mark.parametrize("ids", [np.array([4, 5]), np.array(["a", "b"])])
def test_a_list_of_numpy_scalars_is_a_list_of_ids(ids):
    listed = Graph(TWO, ids=list(ids))
    assert listed.ids.dtype == Graph(TWO, ids=ids).ids.dtype
    assert listed.fingerprint() == Graph(TWO, ids=ids).fingerprint()


def test_the_fingerprint_does_not_depend_on_the_width_of_indices():
    narrow, wide = sp.csr_array(TWO), sp.csr_array(TWO)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert Graph(narrow).fingerprint() == Graph(wide).fingerprint()


def test_splits_cannot_be_changed():
    graph = Graph(TWO, splits={"train": [True, False]})
    with pytest.raises(TypeError):
        graph.splits["train"] = None


def test_an_empty_array_of_edges_may_have_any_type():
    assert Graph.from_edges(TWO, np.empty((0, 2))).n_edges == 0


def test_a_list_of_booleans_is_a_mask():
    assert Graph(THREE).rows([True, False, True]).tolist() == [0, 2]
    with pytest.raises(InputError, match="the mask has 2 values for 3 nodes"):
        Graph(THREE).rows([True, False])


@pytest.mark.parametrize("directed", [False, True])
def test_by_locality_renumbers_and_changes_nothing_else(directed):
    rng = np.random.default_rng(0)
    n, size = 2000, 250
    block = rng.permutation(np.arange(n) // size)  # eight communities, numbered at random
    members = [np.flatnonzero(block == b) for b in range(n // size)]
    within = np.concatenate([rng.choice(nodes, (10 * size, 2)) for nodes in members])
    edges = np.concatenate([within, rng.integers(0, n, (n, 2))])
    graph = Graph.from_edges(rng.random((n, 2)), edges, labels=block, directed=directed)
    near = graph.by_locality()
    back = near.subgraph(graph.ids)
    assert back.fingerprint() == graph.fingerprint()
    assert (back.labels == graph.labels).all()
    assert near.fingerprint() == graph.by_locality().fingerprint()

    def mean_distance(of):
        source, target = of.adjacency.nonzero()
        return np.abs(source - target).mean()

    assert mean_distance(near) < 0.5 * mean_distance(graph)


def test_by_locality_of_graphs_with_no_edges():
    for n in (1, 3, 700):
        assert sorted(Graph(np.ones((n, 1))).by_locality().ids) == list(range(n))


@pytest.mark.parametrize("n", [1, 2, 5, 16, 33])
@pytest.mark.parametrize("directed", [False, True])
def test_edges_sorted_in_blocks_of_rows(n, directed, monkeypatch):
    monkeypatch.setattr(edges, "_SMALL", 0)
    pairs = np.random.default_rng(n).integers(0, n, (4 * n, 2), dtype=np.int32)
    graph = Graph.from_edge_index(None, pairs.T, num_nodes=n, directed=directed)
    wanted = np.zeros((n, n))
    wanted[pairs[:, 0], pairs[:, 1]] = 1
    wanted = wanted if directed else np.maximum(wanted, wanted.T)
    np.fill_diagonal(wanted, 0)
    np.testing.assert_array_equal(graph.adjacency.toarray(), wanted)
    assert graph.adjacency.nnz == wanted.sum()
    graph.adjacency.check_format(full_check=True)
    assert sp.csr_array(graph.adjacency.copy()).has_canonical_format


@pytest.mark.parametrize("weights", [None, [2.0]])
def test_indices_take_32_bits(weights):
    n = 100_000  # whose square does not fit into 32 bits
    pair = np.array([[n - 1], [n - 2]], dtype=np.int32)
    x = sp.csr_array((n, 3), dtype=np.float32)
    x.indices, x.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)
    graph = Graph.from_edge_index(x, pair, weights)
    assert graph.adjacency[n - 2, n - 1] == (1 if weights is None else 2)
    for matrix in (graph.adjacency, graph.attended, graph.x, graph.subgraph([0, n - 1]).adjacency):
        assert matrix.indices.dtype == matrix.indptr.dtype == np.int32


def test_text_ids_are_text_and_others_objects():
    adjacency = np.ones((2, 2))
    for ids in (["a", "é\0"], np.array(["a", "é"]), np.array(["a", "b"], dtype=object)):
        graph = Graph(adjacency=adjacency, ids=ids)
        assert graph.ids.dtype == np.dtypes.StringDType()
        assert graph.ids.tolist() == list(ids)
        assert type(graph.ids[0]) is str
        assert graph.rows(ids[::-1]).tolist() == [1, 0]
        assert Graph(adjacency=adjacency, ids=graph.ids).fingerprint() == graph.fingerprint()
    assert Graph(adjacency=adjacency, ids=["a", 1]).ids.dtype == object
    assert Graph(adjacency=adjacency, ids=["a", "\ud800"]).ids.dtype == object
    twice = np.array(["a", "a"], dtype=np.dtypes.StringDType())
    with pytest.raises(InputError, match="'a' is given more than once"):
        Graph(adjacency=adjacency, ids=twice)


def test_features_that_are_not_copied_are_not_written_to():
    x = sp.csr_array(np.array([[1.0, 0], [2, 3]]))
    x.data[1] = 0
    for array in (x.data, x.indices, x.indptr):
        array.flags.writeable = False
    graph = Graph(adjacency=np.ones((2, 2))).with_x(x, copy=False)
    assert graph.x.nnz == 2
    np.testing.assert_array_equal(x.data, [1, 0, 3])
    assert np.shares_memory(graph.with_x(graph.x, copy=False).x.data, graph.x.data)


def test_labels_and_attributes_can_be_replaced():
    graph = Graph(np.eye(2), np.ones((2, 2)), labels=["x", "y"], feature_names=["p", "q"])
    other = graph.with_labels([None, 3]).with_attributes(Attributes.from_columns({"a": [1, 2]}))
    assert other.label_values() == [None, 3]
    assert (other.x, other.feature_names, other.attributes.names) == (None, None, ("a",))
    with pytest.raises(InputError, match="1 rows for 2 nodes"):
        graph.with_attributes(Attributes.from_columns({"a": [1]}))


# --- in notebooks --------------------------------------------------------------------------------


@pytest.mark.parametrize("described", ["x", "attributes", "edges"])
def test_notebooks_show_the_first_nodes_escaped(described):
    given = {
        "x": {"x": np.eye(9), "feature_names": ["<u>", *"bcdefghi"]},
        "attributes": {"attributes": {"<u>": ["<s>", None] * 4 + ["t"]}},
        "edges": {},
    }[described]
    graph = Graph(
        adjacency=np.eye(9, k=1),
        ids=[f"<b>{at}" for at in range(9)],
        labels=["<i>", None, "</table>"] * 3,
        **given,
    )
    html = graph._repr_html_()
    assert html.count("<tr>") == 6
    assert "&lt;b&gt;0" in html
    assert not any(tag in html for tag in ("<b>", "<i>", "<u>", "<s>"))
    assert html.count("</table>") == 1
    assert ("&lt;u&gt;" in html) == (described != "edges")
    assert "Graph(9 nodes" in html
