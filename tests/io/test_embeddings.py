"""Embeddings in files: written, read back, and read by other libraries."""

import os
import sys

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from graphgate import AttributeEncoder, Graph, limits
from graphgate.errors import InputError, InputWarning
from graphgate.io import table_files as tables
from graphgate.io.embeddings import Embedding, as_embedding, read_embedding, write_embedding
from graphgate.io.graph_files import read_graph
from graphgate.io.tables import id_array

Z = np.array([[0.1, 2, -3], [4, 5e-20, 6]])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("ids", [[7, -1], ["a,b", 'q"\n'], np.array([5, 6]), np.array(["x", "y"])])
def test_what_is_written_can_be_read_back(tmp_path, kind, ids):
    z = Z.astype(kind)
    listed = list(ids.tolist()) if isinstance(ids, np.ndarray) else ids

    assert write_embedding(tmp_path / "z.parquet", ids, z) == tmp_path / "z.parquet"
    table = pyarrow.parquet.read_table(tmp_path / "z.parquet")
    assert table.column_names == ["node_id", "embedding"]
    assert table.column("node_id").to_pylist() == listed
    assert table.schema.field("embedding").type.list_size == 3
    flat = table.column("embedding").combine_chunks().flatten().to_numpy()
    assert flat.dtype == kind
    np.testing.assert_array_equal(flat.reshape(2, 3), z)

    write_embedding(tmp_path / "z.csv", ids, z)
    assert (tmp_path / "z.csv").read_bytes().startswith(b"node_id,e0,e1,e2\n")
    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    table = pyarrow.csv.read_csv(tmp_path / "z.csv", parse_options=options)
    assert table.column("node_id").to_pylist() == listed
    back = np.stack([table.column(f"e{i}").to_numpy() for i in range(3)], axis=1)
    np.testing.assert_array_equal(back.astype(kind), z)


def test_labels_are_the_last_column(tmp_path):
    write_embedding(tmp_path / "z.csv", [1, 2], Z, labels=["x", None])
    lines = (tmp_path / "z.csv").read_text().splitlines()
    assert lines == ["node_id,e0,e1,e2,label", '1,0.1,2,-3,"x"', "2,4,5e-20,6,"]
    write_embedding(tmp_path / "z.parquet", [1, 2], Z, labels=np.array([3, 4]))
    table = pyarrow.parquet.read_table(tmp_path / "z.parquet")
    assert table.column("label").to_pylist() == [3, 4]


def test_a_written_embedding_can_be_a_node_table(tmp_path):
    write_embedding(tmp_path / "z.csv", ["a", "b"], Z.astype(np.float32))
    text = (tmp_path / "z.csv").read_text().replace("node_id", "id", 1)
    (tmp_path / "nodes.csv").write_text(text)
    (tmp_path / "edges.csv").write_text("source,target\n")
    table = read_graph(tmp_path / "edges.csv", tmp_path / "nodes.csv").attributes
    x = AttributeEncoder(scale=False).fit(table).transform(table)
    np.testing.assert_array_equal(x, Z.astype(np.float32))


@pytest.mark.parametrize(
    ("ids", "z", "labels", "words"),
    [
        ([1], Z, None, r"shape \(2, 3\), but 1 node ids"),
        ([1, 2], Z[0], None, r"shape \(3,\)"),
        ([1, 2], Z[:, :0], None, r"shape \(2, 0\)"),
        ([1, "1"], Z, None, r"the node ids 1 and '1' are both written as '1'; rename one"),
        ([(1, 2), "(1, 2)"], Z, None, r"\(1, 2\) and '\(1, 2\)' are both written as"),
        ([1, 0.5], Z, None, r"the node id 0\.5 cannot be stored: use only integers"),
        ([True, False], Z, None, r"the node id True cannot be stored"),
        ([1, 2**70], Z, None, r"a node id does not fit in 64 bits"),
        ([1, 2], Z, ["x"], r"1 labels for 2 node ids"),
        ([1, 2], Z, [0.5, "x"], r"the label 0\.5 cannot be stored"),
    ],
)
def test_what_a_file_cannot_store_is_refused(tmp_path, ids, z, labels, words):
    with pytest.raises(InputError, match=words):
        write_embedding(tmp_path / "z.parquet", ids, z, labels)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["z.parquet", "z.csv"])
def test_a_failure_leaves_the_old_file_unchanged(tmp_path, name, monkeypatch):
    (tmp_path / name).write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tables.pyarrow.parquet.ParquetWriter, "write_table", full)
    monkeypatch.setattr(tables.pyarrow.csv, "write_csv", full)
    with pytest.raises(InputError, match=r"cannot be written: No space left on device"):
        write_embedding(tmp_path / name, [1, 2], Z)
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "old"


@pytest.mark.parametrize("ending", [".csv", ".txt"])
def test_text_keeps_double_precision_where_the_digits_need_it(tmp_path, ending):
    vectors = np.array([[0.1, 1 / 3], [0.2, 0.1 + 1e-9]])
    found = read_embedding(write_embedding(tmp_path / f"z{ending}", [1, 2], vectors))
    assert found.vectors.dtype == np.float64
    np.testing.assert_array_equal(found.vectors, vectors)
    single = vectors.astype(np.float32)
    found = read_embedding(write_embedding(tmp_path / f"z{ending}", [1, 2], single))
    assert found.vectors.dtype == np.float32
    np.testing.assert_array_equal(found.vectors, single)


# --- every format --------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=6)
# An id that looks like an integer becomes one when read from a text file.
names = words.filter(lambda word: not word.lstrip("-").isdigit())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.data())
def test_every_format_round_trips(tmp_path, data):
    n = data.draw(st.integers(1, 4))
    whole = data.draw(st.booleans())
    kind = st.integers(-(2**63) + 1, 2**63 - 1) if whole else names
    ids = data.draw(st.lists(kind, min_size=n, max_size=n, unique=True))
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    finite = st.floats(allow_nan=False, allow_infinity=False, width=np.dtype(dtype).itemsize * 8)
    z = data.draw(arrays.arrays(dtype, (n, data.draw(st.integers(1, 3))), elements=finite))
    labels = data.draw(st.lists(st.none() | names, min_size=n, max_size=n))
    for ending in (".parquet", ".csv", ".npz", ".txt"):
        holds = ending in (".parquet", ".csv", ".npz")
        path = write_embedding(tmp_path / f"z{ending}", ids, z, labels if holds else None)
        found = read_embedding(path)
        assert found.ids.tolist() == ids
        assert found.labels == (labels if holds else None)
        with np.errstate(over="ignore"):
            equal = np.array_equal(found.vectors, z)
            # 0.1 as text may have been 0.1 in either precision.
            equal |= np.array_equal(found.vectors, z.astype(np.float32))
        assert equal
        if ending in (".parquet", ".npz"):
            assert found.vectors.tobytes() == z.tobytes()
        if dtype == np.float32:
            assert found.vectors.dtype == dtype


def test_gensim_reads_the_text(tmp_path):
    gensim = pytest.importorskip("gensim.models")
    z = np.random.default_rng(0).normal(size=(5000, 3)).astype(np.float32)
    ids = [f'"{i}"é' if i % 2 else f"n{i}" for i in range(5000)]
    write_embedding(tmp_path / "z.txt", ids, z)
    found = gensim.KeyedVectors.load_word2vec_format(str(tmp_path / "z.txt"))
    assert found.index_to_key == ids
    np.testing.assert_array_equal(found.vectors, z)


def test_numpy_reads_the_arrays_without_pickles(tmp_path):
    write_embedding(tmp_path / "z.npz", ["a", "bc"], Z, labels=[None, 7])
    with np.load(tmp_path / "z.npz", allow_pickle=False) as file:
        assert file["ids"].tolist() == ["a", "bc"]
        assert file["labels"].tolist() == [0, 7]
        assert file["labelled"].tolist() == [False, True]
        np.testing.assert_array_equal(file["embedding"], Z)
    with pytest.warns(InputWarning, match="1 part is ignored: ids; rows are in the order of the"):
        write_embedding(tmp_path / "z.npy", ["a", "bc"], Z)
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy", allow_pickle=False), Z)


@pytest.mark.parametrize("name", ["a b", "", "a\tb", " a", "a\u00a0b"])
def test_word2vec_refuses_an_id_with_white_space(tmp_path, name):
    with pytest.raises(InputError, match="contains white space"):
        write_embedding(tmp_path / "z.txt", ["x", name], Z)
    assert os.listdir(tmp_path) == []


def test_formats_refuse_what_they_cannot_store(tmp_path):
    with pytest.raises(InputError, match="cannot store labels"):
        write_embedding(tmp_path / "z.txt", [1, 2], Z, labels=[1, 2])
    with pytest.raises(InputError, match="ends in a zero byte"):
        write_embedding(tmp_path / "z.npz", ["a", "b\0"], Z)
    with pytest.raises(
        InputError, match=r"must end in \.parquet, \.csv, \.npz, \.txt, \.npy, \.sql or \.jsonl"
    ):
        write_embedding(tmp_path / "z.pkl", [1, 2], Z)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("z.pkl", b"", "must end in one of"),
        ("z.csv", b"a,b\n1,2\n", "has no column 'node_id'"),
        ("z.csv", b"node_id,e0\n1,2\n1,3\n", "contains a node twice"),
        (
            "z.csv",
            b"node_id,e0\n1,nan\n",
            "the vector of node 1 contains a value that is not finite",
        ),
        ("z.csv", b"node_id,e0,e1\n1,2,3\n2,4,inf\n", "the vector of node 2 contains a value that"),
        ("z.csv", b"node_id,e0\n1,x\n", "line 2, column 'e0': 'x' is not a number"),
        ("z.csv", b"node_id,label\n1,x\n", "one row of floats per node"),
        ("z.csv", b"node_id,e0\n", "one row of floats per node"),
        ("z.parquet", b"nothing", "cannot be read as Parquet"),
        ("z.npz", b"nothing", r"damaged or not an \.npz archive"),
        ("z.npz", b"PK\x03\x04", r"damaged or not an \.npz archive"),
        ("z.npy", b"", "must end in one of .parquet, .csv, .npz, .txt"),
        ("z.txt", b"2 2\na 1 2\n", "declares 2 nodes, but contains 1"),
        ("z.txt", b"1 2\na 1 2\nb 1 3\n", "declares 1 nodes, but contains 2"),
        ("z.txt", b"0 1\n", "declares 0 nodes of 1 dimensions, which do not fit"),
        ("z.txt", b"1 0\na\n", "declares 1 nodes of 0 dimensions, which do not fit"),
        ("z.txt", b"3 3\na 1 2 3\n", "which do not fit into its 12 bytes"),
        ("z.txt", b"2 2\na 1 2\nb 1\n", "is not a readable embedding"),
        ("z.txt", b"a 1 2\nb 1 3\n", "must begin with two integers"),
        ("z.txt", b"1 1\na one\n", "is not a readable embedding"),
    ],
)
def test_invalid_embeddings_are_refused_in_one_sentence(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        read_embedding(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_tables_and_arrays_that_are_not_embeddings(tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"node_id": [1]}), tmp_path / "z.parquet")
    with pytest.raises(InputError, match="has no column 'embedding'"):
        read_embedding(tmp_path / "z.parquet")
    for vectors in ([[1.0], [1.0, 2.0]], [[1.0], [1.0, 2.0, 3.0]], [[1.0], None], [1.0, 2.0]):
        table = pyarrow.table({"node_id": [1, 2], "embedding": vectors})
        pyarrow.parquet.write_table(table, tmp_path / "z.parquet")
        with pytest.raises(InputError, match="must contain a list of D numbers per node"):
            read_embedding(tmp_path / "z.parquet")
    np.savez(tmp_path / "z.npz", ids=np.array([1, 2]))
    with pytest.raises(InputError, match="lacks the array"):
        read_embedding(tmp_path / "z.npz")
    for path, words in ((tmp_path / "absent.npz", "does not exist"), (tmp_path, "is a folder")):
        with pytest.raises(InputError, match=words):
            read_embedding(path)


def test_an_embedding_as_a_frame_a_dictionary_and_a_file(tmp_path, monkeypatch):
    made = Embedding(np.array(["a", "b"], dtype=object), Z, ["x", None])
    frame = made.to_frame()
    assert frame.index.tolist() == ["a", "b"]
    assert frame.index.name == "node_id"
    assert frame.columns.tolist() == ["e0", "e1", "e2", "label"]
    np.testing.assert_array_equal(frame[["e0", "e1", "e2"]].to_numpy(), Z)
    assert frame["label"].isna().tolist() == [False, True]
    assert made.to_dict().keys() == {"a", "b"}
    np.testing.assert_array_equal(made.to_dict()["b"], Z[1])
    for ending in (".parquet", ".npz", ".txt"):
        if ending == ".txt":
            with pytest.warns(InputWarning, match="ignored: labels; to keep them, write .parquet,"):
                made.save(tmp_path / "z.txt")
        else:
            made.save(tmp_path / f"z{ending}")
        again = read_embedding(tmp_path / f"z{ending}")
        assert again.ids.tolist() == ["a", "b"]
        np.testing.assert_allclose(again.vectors, Z, rtol=1e-7)
        assert again.labels == (None if ending == ".txt" else ["x", None])
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = Embedding(np.array([4, 5]), Z).to_frame()
    assert table.to_pydict() == {"node_id": [4, 5], "e0": [0.1, 4], "e1": [2, 5e-20], "e2": [-3, 6]}


# --- columns, and nodes by id --------------------------------------------------------------------


def test_files_say_what_the_vectors_were_made_from(tmp_path):
    for columns in (("section", "größe"), (), None):
        made = Embedding(np.array([1, 2]), Z, None, columns)
        for ending in (".parquet", ".npz"):
            assert read_embedding(made.save(tmp_path / f"z{ending}")).columns == columns
        assert read_embedding(made.save(tmp_path / "z.csv")).columns is None
    assert repr(Embedding(np.arange(2), Z, None, ("a", "b"))).endswith(
        "dimensions, made from a, b)"
    )


def test_damaged_columns_are_refused(tmp_path):
    path = Embedding(np.array([1, 2]), Z, None, ("a",)).save(tmp_path / "z.parquet")
    table = pyarrow.parquet.read_table(path)
    for wrong in (b"[1]", b"{}", b'["a"', b"\xff", b"[" * 100_000):
        damaged = table.replace_schema_metadata({b"graphgate.columns": wrong})
        pyarrow.parquet.write_table(damaged, path)
        with pytest.raises(InputError, match="do not list the columns"):
            read_embedding(path)


def test_columns_of_graphs():
    pairs = [(0, 1)]
    named = Graph(np.eye(2), feature_names=["a", "b"])
    assert named.columns == ("a", "b")
    assert Graph(np.eye(2)).columns is None
    assert Graph.from_edges(None, pairs).columns == ()
    town = Graph.from_edges(None, pairs, attributes={"town": ["Ulm", "Bern"]}, labels=[0, 1])
    made = Embedding.of(town, Z)
    assert (made.columns, made.labels, made.ids.tolist()) == (("town",), [0, 1], [0, 1])


@pytest.mark.parametrize(
    ("ids", "one", "several"),
    [
        (np.array([7, -1, 0]), -1, [0, -1]),
        (np.array(["a", "b", "c"]), "b", ["c", "b"]),
        (np.array(["a", "b", "c"], dtype=np.dtypes.StringDType()), "b", ["c", "b"]),
        (np.fromiter([(0, 0), (0, 1), 5], dtype=object), (0, 1), [5, (0, 1)]),
    ],
)
def test_vectors_are_looked_up_by_id(ids, one, several):
    vectors = np.arange(6.0).reshape(3, 2)
    made = Embedding(ids, vectors, ["x", None, "z"], ("town",))
    np.testing.assert_array_equal(made[one], vectors[1])
    np.testing.assert_array_equal(made[several], vectors[[2, 1]])
    np.testing.assert_array_equal(made[np.array([True, False, True])], vectors[[0, 2]])
    np.testing.assert_array_equal(np.asarray(made), vectors)
    assert (len(made), list(made)) == (3, ids.tolist())
    assert one in made
    assert "nobody" not in made
    assert several not in made
    some = made.select(several)
    assert (some.ids.tolist(), some.labels, some.columns) == (several, ["z", None], ("town",))
    for unknown in ("nobody", ["nobody"], 99, [several[0], 1.5], slice(0, 2), True, [[several[0]]]):
        with pytest.raises(InputError, match=r"has no node|hashable"):
            made[unknown]
    with pytest.raises(KeyError, match=r"^the embedding has no node with id 'nobody'; use the ids"):
        made["nobody"]


def test_rows_are_no_ids():
    """Where ids are other integers, numbers of rows are refused, or are ids of other nodes."""
    made = Embedding(np.array([20, 10, 1]), np.eye(3))
    np.testing.assert_array_equal(made[1], [0, 0, 1])
    with pytest.raises(InputError, match="no node with id 0"):
        made[[0, 1]]
    with pytest.raises(InputError, match="the mask has 2 values for 3 nodes"):
        made[np.array([True, False])]


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_large_embeddings_are_written_in_blocks_of_rows(tmp_path, monkeypatch, ending, order):
    monkeypatch.setattr(tables, "_BLOCK", 50)
    z = np.random.default_rng(0).random((11, 4), dtype=np.float32)
    ids = np.array([f"é{at}" for at in range(11)], dtype=np.dtypes.StringDType())
    labels = [None, "x", *("abcdefghi")]
    path = write_embedding(tmp_path / f"z{ending}", ids, np.asarray(z, order=order), labels)
    found = read_embedding(path)
    np.testing.assert_array_equal(found.vectors, z)
    assert found.ids.dtype == np.dtypes.StringDType()
    assert (found.ids.tolist(), found.labels) == (ids.tolist(), labels)
    if ending == ".parquet":
        groups = pyarrow.parquet.ParquetFile(path).metadata
        assert [groups.row_group(at).num_rows for at in range(groups.num_row_groups)] == [
            3,
            3,
            3,
            2,
        ]


def test_text_ids_become_arrow_text_in_parts(monkeypatch):
    monkeypatch.setattr("graphgate.io.tables._OBJECTS", 2)
    ids = np.array(list("abcde"), dtype=np.dtypes.StringDType())
    assert id_array(ids).to_pylist() == list("abcde")
    assert len(id_array(ids[:0])) == 0


# --- tuples as ids -------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".npz"])
def test_tuples_are_written_as_python_writes_them(tmp_path, ending):
    ids = np.fromiter([(0, 1), ("a", (np.int64(2), None))], dtype=object, count=2)
    embedding = Embedding(ids, np.eye(2))
    assert read_embedding(embedding.save(tmp_path / f"z{ending}")).ids.tolist() == [
        "(0, 1)",
        "('a', (2, None))",
    ]
    assert list(embedding.to_dict()) == [(0, 1), ("a", (2, None))]
    assert embedding.to_frame().index.tolist() == ["(0, 1)", "('a', (2, None))"]


@pytest.mark.parametrize("odd", [(0, object()), (frozenset([1]),)])
def test_tuples_of_other_objects_are_refused(tmp_path, odd):
    ids = np.fromiter([(0, 1), odd], dtype=object, count=2)
    with pytest.raises(InputError, match="only tuples of numbers and text"):
        Embedding(ids, np.eye(2)).save(tmp_path / "z.csv")


# --- integers and text as ids --------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".npz", ".txt"])
def test_mixed_ids_are_written_as_text(tmp_path, ending):
    embedding = Embedding(np.array([7, "a", np.int64(-1)], dtype=object), np.eye(3))
    assert read_embedding(embedding.save(tmp_path / f"z{ending}")).ids.tolist() == ["7", "a", "-1"]


def test_data_frames_keep_mixed_ids():
    ids = np.fromiter([1, "1", (0, 1)], dtype=object, count=3)
    frame = Embedding(ids, np.eye(3), ["x", None, "y"]).to_frame()
    assert frame.index.tolist() == [1, "1", "(0, 1)"]
    assert frame.index.name == "node_id"
    assert list(frame.columns) == ["e0", "e1", "e2", "label"]
    assert frame.loc["1", "e1"] == 1


def test_repeated_mixed_ids_are_not_confused():
    assert id_array([1, "a", 1]).to_pylist() == ["1", "a", "1"]


# --- in notebooks --------------------------------------------------------------------------------


def test_notebooks_show_the_first_nodes_escaped():
    ids = [f"<b>{at}" for at in range(20)]
    shown = Embedding(np.array(ids, dtype=object), np.ones((20, 30)), ["<i>", *[None] * 19])
    html = shown._repr_html_()
    assert "&lt;b&gt;0" in html
    assert "&lt;i&gt;" in html
    assert "<b>" not in html
    assert "<i>" not in html
    assert html.count("<tr>") == 6
    assert html.count("<th>") == 10
    assert repr(shown) == "Embedding(20 nodes, 30 dimensions, 1 classes)"


def test_ids_of_word2vec_are_plain_text(tmp_path):
    """No quotes, and no words for missing values."""
    path = tmp_path / "z.txt"
    path.write_text('3 1\n"a 1\nNA 2\nb" 3\n')
    assert read_embedding(path).ids.tolist() == ['"a', "NA", 'b"']


def test_the_number_of_dimensions_is_limited(tmp_path, monkeypatch):
    """Before Arrow names a column for each of them."""
    path = tmp_path / "z.txt"
    path.write_text("1 4\na 1 2 3 4\n")
    monkeypatch.setattr("pyarrow.csv.read_csv", None)
    with limits(columns=3), pytest.raises(InputError, match="has 4 columns, more than the 3 allow"):
        read_embedding(path)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"ids": np.arange(2)}, "lacks the array 'embedding'"),
        ({"ids": np.eye(2), "embedding": Z}, "must have one dimension each"),
        (
            {"ids": np.arange(2), "embedding": Z, "labels": np.arange(2), "labelled": np.ones(2)},
            "labelled must say of each label whether it is given",
        ),
        ({"ids": np.arange(2), "embedding": Z, "labels": np.arange(3)}, "has 3 labels for 2 nodes"),
    ],
)
def test_archives_that_are_not_embeddings(tmp_path, arrays, words):
    np.savez(tmp_path / "z.npz", **arrays)
    with pytest.raises(InputError, match=words):
        read_embedding(tmp_path / "z.npz")


def test_integers_are_written_as_single_precision(tmp_path):
    write_embedding(tmp_path / "z.npy", [0, 1], np.array([[1, 2], [3, 4]]))
    assert np.load(tmp_path / "z.npy").dtype == np.float32


def test_an_embedding_without_labels_shows_none():
    shown = as_embedding(np.eye(2))
    assert repr(shown) == "Embedding(2 nodes, 2 dimensions)"
    assert "label" not in shown._repr_html_()
    assert as_embedding(shown) is shown
    assert as_embedding([[1, 2]]).vectors.dtype == np.float64
    assert as_embedding(np.eye(2, dtype=np.int8)).vectors.dtype == np.float32
    for wrong in (np.eye(2) > 0, np.ones(3), np.ones((0, 2)), np.array([["a"]])):
        with pytest.raises(InputError, match=r"must be an \(N, D\) array of numbers"):
            as_embedding(wrong)
