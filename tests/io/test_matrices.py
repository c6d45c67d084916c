"""Matrices of NumPy, SciPy and Matrix Market in files."""

import gzip
import io
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphgate import InputError, read_graph
from graphgate.io.matrices import read_adjacency, read_matrix

A = np.array([[0, 2.0, 0], [2, 0, 1], [0, 1, 0]])
X = np.array([[1.0, 0], [2, 3], [0, 4]])


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


# --- features ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_arrays_of_scipy(tmp_path, form, kind):
    matrix = getattr(sp, f"{form}_{kind}")(X)
    sp.save_npz(tmp_path / "x.npz", matrix)
    read = read_matrix(tmp_path / "x.npz")
    assert sp.issparse(read)
    assert (dense(read) == X).all()


def test_arrays_of_numpy(tmp_path):
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    assert read_matrix(tmp_path / "x.npy").dtype == np.float32
    np.savez_compressed(tmp_path / "x.npz", X)
    assert (read_matrix(tmp_path / "x.npz") == X).all()


@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz", ".MTX"])
@pytest.mark.parametrize("sparse", [True, False])
def test_matrix_market(tmp_path, ending, sparse):
    written = io.BytesIO()
    scipy.io.mmwrite(written, sp.coo_array(X) if sparse else X)
    raw = written.getvalue()
    (tmp_path / f"x{ending}").write_bytes(gzip.compress(raw) if ending.endswith("gz") else raw)
    read = read_matrix(tmp_path / f"x{ending}")
    assert sp.issparse(read) == sparse
    assert (dense(read) == X).all()


# --- adjacencies ---------------------------------------------------------------------------------

HEAD = "%%MatrixMarket matrix coordinate"


@pytest.mark.parametrize(
    ("text", "expected", "directed"),
    [
        (f"{HEAD} pattern symmetric\n3 3 2\n2 1\n3 2\n", [[0, 1, 0], [1, 0, 1], [0, 1, 0]], False),
        (f"{HEAD} pattern general\n3 3 2\n2 1\n3 2\n", [[0, 0, 0], [1, 0, 0], [0, 1, 0]], True),
        (f"{HEAD} real symmetric\n% by hand\n3 3 2\n2 1 2\n3 2 1\n", A, False),
        (
            f"{HEAD} integer general\n3 3 2\n1 2 5\n2 1 5\n",
            [[0, 5, 0], [5, 0, 0], [0, 0, 0]],
            False,
        ),
        (f"{HEAD} real general\n3 3 2\n1 2 5\n2 1 4\n", [[0, 5, 0], [4, 0, 0], [0, 0, 0]], True),
        ("%%MatrixMarket matrix array real symmetric\n3 3\n0\n2\n0\n0\n1\n0\n", A, False),
        (f"{HEAD} pattern symmetric\n3 3 0\n", np.zeros((3, 3)), False),
    ],
)
def test_direction_follows_symmetry(tmp_path, text, expected, directed):
    (tmp_path / "a.mtx").write_text(text)
    np.save(tmp_path / "x.npy", X)
    graph = read_graph(tmp_path / "a.mtx", tmp_path / "x.npy")
    assert graph.directed == directed
    assert (graph.adjacency.toarray() == expected).all()
    assert graph.weighted == bool((np.array(expected) > 1).any())
    assert (dense(graph.x) == X).all()


def test_direction_as_requested(tmp_path):
    sp.save_npz(tmp_path / "a.npz", sp.csr_array(np.triu(A)))
    np.save(tmp_path / "x.npy", X)
    graph = read_graph(tmp_path / "a.npz", tmp_path / "x.npy", directed=False)
    assert (graph.adjacency.toarray() == A).all()
    assert read_graph(tmp_path / "a.npz", tmp_path / "x.npy").directed
    sp.save_npz(tmp_path / "a.npz", sp.csr_array(A))
    assert read_graph(tmp_path / "a.npz", tmp_path / "x.npy", directed=True).directed


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["real", "pattern", "integer"]))
def test_matrix_market_round_trip(tmp_path, seed, symmetric, field):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, (6, 6)) * (rng.random((6, 6)) < 0.4)
    a = a + a.T if symmetric else a
    a = (a > 0).astype(int) if field == "pattern" else a
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.coo_array(a), field=field)
    entries, directed = read_adjacency(tmp_path / "a.mtx")
    assert (entries.toarray() == a).all()
    assert directed == bool((a != a.T).any())


# --- refusals ------------------------------------------------------------------------------------


def refusal(path, content=None):
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_adjacency(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def test_missing_files_and_files_of_another_format(tmp_path):
    assert "does not exist" in refusal(tmp_path / "no.mtx")
    assert "is a folder" in refusal(tmp_path)
    assert "is empty" in refusal(tmp_path / "a.mtx", b"")
    assert "is empty" in refusal(tmp_path / "b.mtx.gz", gzip.compress(b"\n"))
    assert "must end in one of .npz, .npy, .mtx" in refusal(tmp_path / "a.mat", b"x")
    assert "may be truncated or not a .gz file" in refusal(tmp_path / "a.mtx.gz", b"no gzip")
    assert "not an .npz archive" in refusal(tmp_path / "a.npz", b"no zip")
    assert "does not begin with the banner" in refusal(tmp_path / "a.mtx", b"1 2\n")
    assert "zero bytes" in refusal(tmp_path / "a.mtx", b"%%MatrixMarket matrix\0")


def test_headers_that_declare_too_much(tmp_path):
    many = f"{HEAD} real general\n10 10 99999999999\n1 1 1\n"
    assert "declares 99,999,999,999 entries, but contains 1" in refusal(tmp_path / "a.mtx", many)
    few = f"{HEAD} real general\n2 2 20\n1 1 1\n"
    assert "declares 20 entries, but contains 1" in refusal(tmp_path / "a.mtx", few)
    square = "%%MatrixMarket matrix array real general\n300000 300000\n1\n"
    assert "declares 90,000,000,000 entries, but contains 1" in refusal(tmp_path / "a.mtx", square)
    wide = f"{HEAD} pattern general\n2000000000 2000000000 1\n1 1\n"
    assert "claims 2,000,000,000 rows or columns" in refusal(tmp_path / "a.mtx", wide)
    wider = f"{HEAD} pattern general\n4000000000 4000000000 1\n1 1\n"
    assert "claims 4,000,000,000 rows or columns" in refusal(tmp_path / "a.mtx", wider)


def test_matrices_that_are_not_adjacencies(tmp_path):
    np.save(tmp_path / "x.npy", X)
    assert "of shape (3, 2), but an adjacency matrix is square" in refusal(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", X[0])
    assert "contains an array of shape (2,)" in refusal(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", A.astype(str))
    assert "weights must be real numbers" in refusal(tmp_path / "x.npy")
    np.savez(tmp_path / "x.npz", a=A, b=A)
    assert "contains 2 arrays ('a', 'b'); save one matrix" in refusal(tmp_path / "x.npz")
    skew = f"{HEAD} real skew-symmetric\n3 3 1\n2 1 4\n"
    (tmp_path / "a.mtx").write_text(skew)
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(InputError, match=r"a\.mtx: the weight of .* must be positive"):
        read_graph(tmp_path / "a.mtx", tmp_path / "x.npy")
    sp.save_npz(tmp_path / "a.npz", sp.eye_array(4))
    with pytest.raises(InputError, match=r"has 3 rows, but .* has 4 nodes"):
        read_graph(tmp_path / "a.npz", tmp_path / "x.npy")
    with pytest.raises(InputError, match="neither labels nor named attributes"):
        read_graph(tmp_path / "a.npz", label="y")


def test_nothing_pickled_is_read(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    assert "not contain a plain array" in refusal(tmp_path / "x.npy")
    np.savez(tmp_path / "x.npz", np.array([[{}]], dtype=object))
    assert "not contain a plain array" in refusal(tmp_path / "x.npz")


def test_sparse_arrays_with_indices_out_of_range(tmp_path):
    matrix = sp.csr_array(A)
    matrix.indices[0] = 77
    sp.save_npz(tmp_path / "a.npz", matrix)
    assert "indices must be < 3" in refusal(tmp_path / "a.npz")


def written_files() -> dict[str, bytes]:
    files = {}
    for name, write in {
        "a.npz": lambda file: sp.save_npz(file, sp.csr_array(A)),
        "b.npz": lambda file: np.savez(file, A),
        "a.npy": lambda file: np.save(file, A),
        "a.mtx": lambda file: scipy.io.mmwrite(file, sp.coo_array(A)),
    }.items():
        file = io.BytesIO()
        write(file)
        files[name] = file.getvalue()
    return files | {"a.mtx.gz": gzip.compress(files["a.mtx"])}


FILES = written_files()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(FILES)), st.data())
def test_damaged_files_are_one_sentence(tmp_path, name, data):
    content = bytearray(FILES[name])
    how = data.draw(st.sampled_from(["cut", "bytes", "noise"]))
    if how == "cut":
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    elif how == "noise":
        content = bytearray(data.draw(st.binary(max_size=60)))
    else:
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / name
    path.write_bytes(bytes(content))
    message = None
    try:
        entries, _ = read_adjacency(path)
    except InputError as error:
        message = str(error)
    if message is None:  # a byte may be changed into another that says something, too
        assert how == "bytes" or (how, name) == ("cut", "a.mtx")
        assert entries.shape[0] == entries.shape[1]
    else:
        assert str(path) in message
        assert "\n" not in message


def test_a_zip_that_is_not_a_numpy_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "a.npz" in refusal(tmp_path / "a.npz")


# --- sparse matrices from outside ----------------------------------------------------------------

THREE = np.array([[0, 1, 0, 2], [0, 0, 3, 0], [4, 0, 0, 0], [0, 5, 0, 6.0]])


def parts_of(form: str) -> dict:
    matrix = sp.csr_array(THREE).asformat(form)
    names = {"coo": ("row", "col"), "dia": ("offsets",)}.get(form, ("indices", "indptr"))
    found = {name: getattr(matrix, name) for name in ("data", *names)}
    return found | {"shape": np.array(matrix.shape), "format": np.array(form.encode())}


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "bsr"])
def test_every_sparse_format(tmp_path, form):
    sp.save_npz(tmp_path / "a.npz", sp.csr_array(THREE).asformat(form))
    np.testing.assert_array_equal(read_matrix(tmp_path / "a.npz").toarray(), THREE)
    wide = sp.csr_array(THREE[:2]).asformat(form)
    sp.save_npz(tmp_path / "a.npz", wide)
    np.testing.assert_array_equal(read_matrix(tmp_path / "a.npz").toarray(), THREE[:2])
    blocks = sp.bsr_array(np.kron(THREE, [[1, 2], [3, 4], [0, 5]]), blocksize=(3, 2))
    sp.save_npz(tmp_path / "a.npz", blocks)
    np.testing.assert_array_equal(read_matrix(tmp_path / "a.npz").toarray(), blocks.toarray())


def test_coordinates_in_one_array(tmp_path):
    coords = np.array(np.nonzero(THREE))
    np.savez(tmp_path / "a.npz", **parts_of("coo") | {"coords": coords, "row": [], "col": []})
    np.testing.assert_array_equal(read_matrix(tmp_path / "a.npz").toarray(), THREE)


# Ends with 0, where SciPy does not look at the others.
FALLING = {name: np.empty(0, int) for name in ("data", "indices")}
FALLING |= {"indptr": np.array([0, 9, 9, 9, 0])}


@pytest.mark.parametrize(
    ("form", "change", "words"),
    [
        ("csr", {"format": np.array(b"lil")}, "unknown sparse format 'lil'"),
        ("csr", {"format": np.array([1])}, "unknown sparse format None"),
        ("csr", {"indptr": None}, "lacks the array 'indptr'"),
        ("csr", {"shape": np.array([4])}, "index pointer size 5 should be 2"),
        ("csr", {"shape": np.array([4.0, 4.0])}, "'float' object cannot be interpreted"),
        ("csr", {"shape": np.array([2**31, 4])}, "index pointer size 5 should be 2147483649"),
        ("csr", {"shape": np.array([4, 2**31])}, "claims 2,147,483,648 rows or columns"),
        ("csr", {"shape": np.array([-4, 4])}, "'shape' elements cannot be negative"),
        ("csr", {"data": np.ones(6, dtype=complex)}, "whose entries must be real numbers"),
        ("csr", {"data": np.ones(5)}, "indices and data should have the same size"),
        ("csr", {"indices": np.ones(6)}, "its indices are not integers"),
        ("csr", {"indices": np.array([1, 3, 2, 0, 1, 4])}, "indices must be < 4"),
        ("csr", {"indices": np.array([1, 3, 2, 0, 1, -1])}, "indices must be >= 0"),
        ("csr", {"indptr": np.array([0, 100, 200, -1])}, "does not end with the number"),
        ("csr", {"indptr": np.array([0, 3, 2, 4, 6])}, "a non-decreasing sequence"),
        ("csr", {"indptr": np.array([1, 2, 3, 4, 6])}, "index pointer should start with 0"),
        ("csr", {"indptr": np.array([0, 2, 3, 4, 5])}, "does not end with the number"),
        ("csr", {"indptr": np.array([0, 2, 3, 6])}, "index pointer size 4 should be 5"),
        ("csr", FALLING, "a non-decreasing sequence"),
        ("csc", {"indices": np.array([2, 0, 3, 1, 0, 4])}, "indices must be < 4"),
        ("coo", {"row": np.array([0, 0, 1, 2, 3, 4])}, "index 4 exceeds"),
        ("coo", {"col": np.array([-1, 3, 2, 0, 1, 3])}, "negative axis 1 index"),
        ("coo", {"col": np.zeros(5, int)}, "must have the same length"),
        ("dia", {"offsets": np.zeros(2, int)}, "does not match the number of offsets"),
        ("dia", {"data": np.ones(4)}, "does not match the number of offsets"),
        ("bsr", {"data": np.ones((6, 3, 1))}, "does not hold a valid sparse matrix"),
        ("bsr", {"data": np.ones((6, 1, 3))}, "does not hold a valid sparse matrix"),
        ("bsr", {"data": np.ones((6, 0, 1))}, "by zero"),
        ("bsr", {"data": np.ones(6)}, "BSR data must be 3-dimensional"),
    ],
)
def test_sparse_parts_that_do_not_fit(tmp_path, form, change, words):
    parts = {name: part for name, part in (parts_of(form) | change).items() if part is not None}
    if form == "bsr":
        parts |= {name: parts_of("csr")[name] for name in ("indices", "indptr")}
    np.savez(tmp_path / "a.npz", **parts)
    assert words in refusal(tmp_path / "a.npz")


def test_repeated_diagonals_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", **parts_of("dia") | {"data": np.ones((2, 4)), "offsets": [1, 1]})
    assert "duplicate values" in refusal(tmp_path / "a.npz")


def test_diagonals_that_are_longer_than_the_matrix(tmp_path):
    parts = {"data": np.ones((1, 9)), "offsets": np.array([1]), "shape": np.array([4, 4])}
    np.savez(tmp_path / "a.npz", **parts_of("dia") | parts)
    np.testing.assert_array_equal(read_matrix(tmp_path / "a.npz").toarray(), np.eye(4, k=1))


def test_diagonals_below_the_main_one_that_are_longer_than_the_matrix(tmp_path):
    parts = {"data": np.ones((1, 9)), "offsets": np.array([-1]), "shape": np.array([4, 4])}
    np.savez(tmp_path / "a.npz", **parts_of("dia") | parts)
    np.testing.assert_array_equal(read_matrix(tmp_path / "a.npz").toarray(), np.eye(4, k=-1))


def test_zeros_of_a_diagonal_are_no_edges(tmp_path):
    parts = {"data": np.array([[0.0, 0, 3, 1]]), "offsets": np.array([1])}
    np.savez(tmp_path / "a.npz", **parts_of("dia") | parts | {"shape": np.array([4, 4])})
    assert read_matrix(tmp_path / "a.npz").nnz == 2


def test_stored_zeros_are_no_edges(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text(f"{HEAD} real general\n3 3 4\n1 2 0\n2 1 0\n2 3 1\n3 2 1\n")
    graph = read_graph(path)
    assert (graph.n_edges, graph.directed, graph.weighted) == (1, False, False)
