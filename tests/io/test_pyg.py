"""PyTorch Geometric's Data in and out."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from graphs import graphs
from hypothesis import given, settings
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.utils import to_undirected

from graphgate import AttributeEncoder, Attributes, Graph, InputError, from_pyg, to_pyg
from graphgate.errors import InputWarning

# torch calls its CSR tensors a beta, and PyG makes some as it looks at its fields.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def dense(x):
    return x if isinstance(x, np.ndarray) else x.toarray()


def same(a: Graph, b: Graph) -> None:
    assert (dense(a.x) == dense(b.x)).all()
    assert a.x.dtype == b.x.dtype
    assert (a.adjacency != b.adjacency).nnz == 0
    assert a.ids.tolist() == b.ids.tolist()
    assert a.classes == b.classes
    assert (a.labels is None) == (b.labels is None)
    assert a.labels is None or (a.labels == b.labels).all()
    assert {k: v.tolist() for k, v in a.splits.items()} == {
        k: v.tolist() for k, v in b.splits.items()
    }
    assert a.feature_names == b.feature_names
    assert a.weighted == b.weighted


@settings(max_examples=60)
@given(graphs())
def test_round_trip(graph):
    for sparse in (False, True):
        back = from_pyg(to_pyg(graph, sparse=sparse))
        same(back, graph)
        symmetric = (graph.adjacency != graph.adjacency.T).nnz == 0
        assert back.directed is (not symmetric)
        assert isinstance(back.x, np.ndarray) == (not sparse or isinstance(graph.x, np.ndarray))


def test_every_field_of_a_graph_is_kept():
    graph = Graph.from_edges(
        [[1.0, 0], [2, 3], [4, 5], [0, 1]],
        [("a", 7), (7, ("c", 1))],
        [0.5, 2.0],
        ids=["a", 7, ("c", 1), "alone"],
        labels=["x", None, "y", "x"],
        splits={"train": [True, False, False, False], "test": [False, False, True, True]},
        feature_names=["one", "two"],
    )
    data = to_pyg(graph)
    assert data.is_undirected()
    assert data.num_nodes == 4
    assert data.y.tolist() == [0, -1, 1, 0]
    assert data.train_mask.tolist() == [True, False, False, False]
    assert data.validate()
    same(from_pyg(data), graph)
    data.x[0, 0] = 9  # a copy: the graph cannot be changed
    assert graph.x[0, 0] == 1


def test_typical_data():
    data = Data(
        x=torch.eye(3),
        edge_index=PATH,
        y=torch.tensor([[0], [1], [-1]]),
        train_mask=torch.tensor([True, False, False]),
        val_mask=torch.tensor([False, True, False]),
    )
    graph = from_pyg(data)
    assert repr(graph) == (
        "Graph(3 nodes, 2 undirected edges, 3 dense features, 2 classes, train 1, val 1)"
    )
    assert graph.labels.tolist() == [0, 1, -1]
    assert graph.ids.dtype == np.int64


def test_direction_is_detected_as_in_pyg():
    one_way = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))
    graph = from_pyg(one_way)
    assert graph.directed
    assert graph.attended[[1]].indices.tolist() == [0]  # a message goes from source to target
    both = Data(x=torch.eye(3), edge_index=to_undirected(one_way.edge_index))
    assert not from_pyg(both).directed
    weighted = Data(x=torch.eye(3), edge_index=PATH, edge_weight=torch.tensor([1.0, 2, 3, 3]))
    assert from_pyg(weighted).directed
    weighted.edge_weight = torch.tensor([2.0, 2, 3, 3])
    assert not from_pyg(weighted).directed
    assert weighted.is_undirected()


def test_a_graph_without_features_has_only_edges():
    graph = from_pyg(Data(edge_index=PATH, num_nodes=5))
    assert graph.x is None
    assert graph.n_nodes == 5
    back = to_pyg(graph)
    assert back.x is None
    assert back.num_nodes == 5
    assert from_pyg(back).fingerprint() == graph.fingerprint()


def test_attributes_must_be_encoded_first():
    table = Attributes.from_columns({"size": [1, 2, 3], "town": ["a", None, "b"]})
    graph = Graph(attributes=table)
    with pytest.raises(InputError, match=r"encode the attributes with AttributeEncoder"):
        to_pyg(graph)
    encoder = AttributeEncoder().fit(table)
    data = to_pyg(graph.with_x(encoder.transform(table), encoder.get_feature_names_out()))
    assert data.feature_names == ["size", "town=a", "town=b"]


def test_a_sparse_adjacency_is_read_as_pyg_writes_it():
    edges = torch.tensor([[0, 2], [1, 1]])
    adj_t = torch.sparse_coo_tensor(edges.flip(0), torch.ones(2), (3, 3))
    graph = from_pyg(Data(x=torch.eye(3), adj_t=adj_t))
    assert graph.directed
    assert not graph.weighted
    assert graph.adjacency.toarray().tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    with pytest.raises(InputError, match="adj_t is a list; use edge_index, or a sparse torch"):
        from_pyg(Data(x=torch.eye(3), adj_t=[[0, 1]]))


def test_data_without_edges():
    graph = from_pyg(Data(x=torch.eye(3)))
    assert (graph.n_nodes, graph.n_edges) == (3, 0)


def test_labels_that_are_no_class_numbers():
    graph = from_pyg(Data(x=torch.eye(3), edge_index=PATH, y=torch.tensor([True, False, True])))
    assert graph.label_values() == [True, False, True]


def test_masks_of_edges_are_no_splits():
    """One value per edge, or numbers: not a mask of nodes."""
    masks = {"edge_mask": torch.ones(4, dtype=torch.bool), "size_mask": torch.ones(3)}
    with pytest.warns(InputWarning, match="Data: 2 fields are ignored: edge_mask, size_mask"):
        assert from_pyg(Data(x=torch.eye(3), edge_index=PATH, **masks)).splits == {}


def test_weights_under_another_name():
    data = Data(x=torch.eye(3), edge_index=PATH, edge_attr=torch.tensor([[2.0], [2], [3], [3]]))
    with pytest.warns(
        InputWarning, match="1 field is ignored: edge_attr; pass weight='edge_attr' if it contains"
    ):
        assert not from_pyg(data).weighted
    assert from_pyg(data, weight="edge_attr").adjacency[0, 1] == 2
    with pytest.raises(InputError, match="no edge weights named 'strength'"):
        from_pyg(Data(x=torch.eye(3), edge_index=PATH), weight="strength")


def test_parallel_edges_are_merged_with_a_warning():
    index = torch.tensor([[0, 0, 1, 1], [1, 1, 0, 0]])
    with pytest.warns(
        InputWarning, match="2 edges include 1 between nodes that are already joined"
    ):
        graph = from_pyg(Data(x=torch.eye(2), edge_index=index))
    assert graph.n_edges == 1
    assert not graph.directed
    weights = torch.tensor([1.0, 2, 3, 0])
    with pytest.warns(InputWarning, match="2 edges include 1 between"):
        graph = from_pyg(Data(x=torch.eye(2), edge_index=index, edge_weight=weights))
    assert graph.adjacency.toarray().tolist() == [[0, 3], [3, 0]]


def test_repeated_edges_do_not_make_a_graph_directed():
    index = torch.tensor([[0, 0, 1], [1, 1, 0]])
    with pytest.warns(InputWarning, match="already joined"):
        graph = from_pyg(Data(edge_index=index, num_nodes=2))
    assert (graph.directed, graph.n_edges) == (False, 1)


def test_self_loops_are_dropped_and_counted():
    index = torch.tensor([[0, 1, 0], [1, 0, 0]])
    with pytest.warns(InputWarning, match=r"2 edges include 1 from a node to itself \(left out\)"):
        assert from_pyg(Data(x=torch.eye(2), edge_index=index)).n_edges == 1


def test_masks_of_several_splits():
    masks = torch.tensor([[True, False], [False, True], [False, False]])
    data = Data(x=torch.eye(3), edge_index=PATH, train_mask=masks, test_mask=~masks.any(1))
    with pytest.raises(
        InputError, match=r"train_mask has 2 columns; choose one with split= .*\(0 to 1\)"
    ):
        from_pyg(data)
    assert from_pyg(data, split=1).splits["train"].tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"edge_index": torch.tensor([[0, 3], [1, 1]])}, r"edge 1 is \(3, 1\), out of range"),
        ({"edge_index": torch.tensor([[0, -1], [1, 1]])}, r"edge 1 is \(-1, 1\)"),
        ({"edge_index": PATH.T}, r"shape \(2, E\), got \(4, 2\)"),
        ({"edge_index": PATH.float()}, "must be integers"),
        ({"edge_weight": torch.ones(3)}, r"edge weights have shape \(3,\) for 4 edges"),
        ({"edge_weight": -torch.ones(4)}, "weights must be positive and finite"),
        ({"y": torch.ones(3, 2)}, r"y has shape \(3, 2\) for 3 nodes"),
        (
            {"y": torch.tensor([0, 1, 2]), "classes": ["a", "b"]},
            "y contains the class 2, but classes",
        ),
        ({"x": torch.tensor([[1.0], [float("nan")], [0]])}, "NaN at row 1"),
        ({"ids": ["a", "b"]}, "2 node ids for 3 nodes"),
        ({"ids": ["a", "b", "a"]}, "'a' is given more than once"),
        (
            {
                "train_mask": torch.tensor([True, True, False]),
                "val_mask": torch.tensor([False, True, False]),
            },
            "node 1 is in the split 'val' and in another one",
        ),
    ],
)
def test_refusals(fields, message):
    data = Data(**{"x": torch.eye(3), "edge_index": PATH} | fields)
    with pytest.raises(InputError, match=message):
        from_pyg(data)


def test_without_pyg(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(InputError, match="needs PyTorch Geometric: pip install"):
        to_pyg(Graph([[1.0]]))


def test_what_is_not_a_data_object():
    with pytest.raises(
        InputError, match=r"expected a .*, got list; from a dataset, pass an element"
    ):
        from_pyg([])
    with pytest.raises(InputError, match="no nodes"):
        from_pyg(Data(x=torch.empty(0, 3), edge_index=torch.empty(2, 0, dtype=torch.long)))


def test_the_examples_of_the_docs_print_what_they_show(capsys):
    page = Path(__file__).parents[2] / "docs" / "libraries.md"
    blocks = re.findall(r"```(python|text)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "text"] * 4
    names: dict = {}
    for (_, code), (_, shown) in zip(blocks[::2], blocks[1::2], strict=True):
        exec(code, names)
        assert capsys.readouterr().out == shown


def test_a_batch_is_the_union_of_its_graphs():
    items = [
        Data(x=torch.tensor([[1.0], [2.0], [3.0]]), edge_index=PATH, y=torch.tensor([1])),
        Data(x=torch.tensor([[4.0], [5.0]]), edge_index=PATH[:, :2], y=torch.tensor([0])),
    ]
    with pytest.warns(
        InputWarning,
        match=r"the Batch: 1 field is ignored: y \(one value per graph, not per node\)",
    ):
        graph = from_pyg(Batch.from_data_list(items))
    assert graph.graph_index.tolist() == [0, 0, 0, 1, 1]
    assert graph.ids.tolist() == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    assert graph.labels is None  # they are those of the graphs
    assert not graph.directed
    assert graph.adjacency.nnz == 6
    assert graph.x.ravel().tolist() == [1, 2, 3, 4, 5]
    del items[0].y, items[1].y
    items[1].edge_index = PATH[:, :1]
    assert from_pyg(Batch.from_data_list(items)).directed
    assert not from_pyg(Batch.from_data_list(items), directed=False).directed


def test_nodes_of_a_batch_keep_their_names_and_labels():
    item = to_pyg(Graph(np.eye(2), ids=["a", "b"], labels=["p", "q"], feature_names=["f", "g"]))
    graph = from_pyg(Batch.from_data_list([item, item]))
    assert graph.ids.tolist() == [(0, "a"), (0, "b"), (1, "a"), (1, "b")]
    assert graph.label_values() == ["p", "q", "p", "q"]
    assert graph.feature_names == ("f", "g")


# --- several node types --------------------------------------------------------------------------


def hetero() -> HeteroData:
    data = HeteroData()
    data["paper"].x = torch.tensor([[1.0, 2.0], [3.0, 0.0]])
    data["author"].x = torch.tensor([5.0])
    data["venue"].num_nodes = 1
    data["author", "writes", "paper"].edge_index = torch.tensor([[0], [1]])
    data["paper", "by", "author"].edge_index = torch.tensor([[1], [0]])
    return data


def test_node_types_side_by_side():
    data = hetero()
    data["paper"].y = torch.tensor([1, -1])
    data["paper"].train_mask = torch.tensor([True, False])
    graph = from_pyg(data)
    assert graph.ids.tolist() == ["paper:0", "paper:1", "author:0", "venue:0"]
    assert graph.feature_names == (
        *("paper[0]", "paper[1]", "author[0]"),
        *("type=paper", "type=author", "type=venue"),
    )
    assert graph.x.toarray().tolist() == [
        [1, 2, 0, 1, 0, 0],
        [3, 0, 0, 1, 0, 0],
        [0, 0, 5, 0, 1, 0],
        [0, 0, 0, 0, 0, 1],
    ]
    assert not graph.directed
    assert np.argwhere(graph.adjacency.toarray()).tolist() == [[1, 2], [2, 1]]
    assert graph.label_values() == [1, None, None, None]
    assert graph.splits["train"].tolist() == [True, False, False, False]


def test_labels_of_several_node_types():
    data = hetero()
    data["paper"].y, data["author"].y = torch.tensor([0, 1]), torch.tensor([1])
    assert from_pyg(data).label_values() == ["paper:0", "paper:1", "author:1", None]
    data["author"].y = torch.tensor([[1]])
    with pytest.raises(InputError, match="y of the node type 'author'"):
        from_pyg(data)
    data["author"].y = torch.tensor([0.5])
    with pytest.warns(InputWarning, match=r"1 field is ignored: author\.y \(fractions, which are"):
        assert from_pyg(data).label_values() == [0, 1, None, None]


def test_a_regression_target_is_not_a_label():
    data = Data(x=torch.eye(3), edge_index=PATH, y=torch.tensor([0.25, 1.0, float("nan")]))
    with pytest.warns(
        InputWarning, match=r"1 field is ignored: y \(fractions, which are not class"
    ):
        assert from_pyg(data).labels is None
    data.y = torch.tensor([[0.0], [1.0], [float("nan")]])  # classes for a binary loss
    assert from_pyg(data).label_values() == [0, 1, None]


def test_direction_is_as_asked_for():
    one_way = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
    assert not from_pyg(one_way, directed=False).directed
    assert from_pyg(one_way, directed=False).n_edges == 2
    both = Data(edge_index=PATH, num_nodes=3)
    assert (from_pyg(both, directed=True).directed, from_pyg(both).directed) == (True, False)
    with pytest.raises(InputError, match="directed must be true, false or None, got 'no'"):
        from_pyg(both, directed="no")


def test_weights_of_several_relations():
    data = hetero()
    for relation in data.edge_types:
        data[relation].edge_weight = torch.tensor([2.5])
    assert from_pyg(data).adjacency.data.tolist() == [2.5, 2.5]
    del data["paper", "by", "author"].edge_weight
    with pytest.raises(InputError, match="only some relations"):
        from_pyg(data)
    del data["paper", "by", "author"].edge_index
    with pytest.raises(InputError, match=r"has no edge_index.*to_homogeneous"):
        from_pyg(data)


def test_relations_between_types_count_in_both_directions():
    data = HeteroData()
    data["user"].num_nodes, data["movie"].x = 2, torch.tensor([[1.0], [2.0]])
    rates = data["user", "rates", "movie"]
    rates.edge_index, rates.edge_weight = torch.tensor([[0, 1], [0, 0]]), torch.tensor([2.0, 3.0])
    graph = from_pyg(data)
    assert not graph.directed
    movie = [[0, 0, 2, 0], [0, 0, 3, 0], [2, 3, 0, 0], [0] * 4]
    assert graph.adjacency.toarray().tolist() == movie
    one_way = from_pyg(data, directed=True)
    assert one_way.directed
    assert one_way.adjacency.toarray().tolist() == [movie[0], movie[1], [0] * 4, [0] * 4]
    # A relation that is listed in both directions is not counted twice.
    back = data["movie", "rated by", "user"]
    back.edge_index, back.edge_weight = rates.edge_index.flip(0), rates.edge_weight
    assert from_pyg(data).adjacency.toarray().tolist() == movie
    # Within a type, direction is kept unless asked otherwise.
    follows = data["user", "follows", "user"]
    follows.edge_index, follows.edge_weight = torch.tensor([[0], [1]]), torch.tensor([1.0])
    assert from_pyg(data).adjacency.toarray()[:2].tolist() == [[0, 1, 2, 0], [0, 0, 3, 0]]
    assert from_pyg(data).directed
    with pytest.warns(InputWarning, match="5 edges include 2 between nodes that are already"):
        assert from_pyg(data, directed=False).adjacency[1, 0] == 1


def test_masks_of_node_types():
    data = hetero()
    data["author"].train_mask = torch.tensor([[True, False]])
    data["paper"].odd_mask = torch.tensor([1, 0])
    with (
        pytest.warns(InputWarning, match=r"1 field is ignored: paper\.odd_mask"),
        pytest.raises(InputError, match="train_mask has 2 columns; choose one with split="),
    ):
        from_pyg(data)
    del data["paper"].odd_mask
    assert from_pyg(data, split=0).splits["train"].tolist() == [False, False, True, False]


def test_a_node_type_of_unknown_size():
    data = HeteroData()
    data["paper"].y = None
    with pytest.raises(InputError, match=r"number of nodes.*data\.to_homogeneous\(\)"):
        from_pyg(data)
