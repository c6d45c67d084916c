"""Matrix Market files: the same matrices as SciPy's reader, without its crashes."""

import io

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphgate import InputError
from graphgate.io.matrix_market import parse_mtx


def dense(matrix) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else matrix


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 6), st.booleans(), st.booleans())
def test_what_scipy_writes(seed, n, m, is_sparse, is_integer):
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 3, (n, m)) if is_integer else rng.normal(size=(n, m))
    values = values * (rng.random((n, m)) < 0.5)
    file = io.BytesIO()
    scipy.io.mmwrite(file, sp.coo_array(values) if is_sparse else values, precision=17)
    read = parse_mtx(file.getvalue())
    assert sp.issparse(read) == is_sparse
    np.testing.assert_array_equal(dense(read), values)


@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from(["symmetric", "skew-symmetric"]))
def test_symmetries_are_expanded(seed, n, symmetry):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, n)).round(3)
    values = values + values.T if symmetry == "symmetric" else values - values.T
    for made in (values, sp.coo_array(values)):
        file = io.BytesIO()
        scipy.io.mmwrite(file, made, symmetry=symmetry, precision=17)
        np.testing.assert_allclose(dense(parse_mtx(file.getvalue())), values, rtol=1e-15)


@pytest.mark.parametrize(
    "content",
    [
        b"%%matrixmarket MATRIX Coordinate Real General\n%a\n\n% b\n 2\t2  2 \n1 1 1.5\n2  1\t-2",
        b"%%MatrixMarket matrix coordinate real general\r\n2 2 2\r\n1 1 1.5\r\n2 1 -2\r\n",
        b"%%MatrixMarket matrix coordinate double general\n2 2 2\n1 1 1.5\n\n% note\n2 1 -2 \n\n",
        b"%%MatrixMarket matrix array real general\n2 2\n1.5\n-2e0\n0\n +0 \n",
    ],
)
def test_spaces_comments_and_line_endings(content):
    np.testing.assert_array_equal(dense(parse_mtx(content)), [[1.5, 0], [-2, 0]])


def test_patterns_and_large_integers():
    head = b"%%MatrixMarket matrix coordinate "
    pattern = parse_mtx(head + b"pattern symmetric\n3 3 2\n2 1\n3 3\n")
    np.testing.assert_array_equal(pattern.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    large = parse_mtx(head + b"unsigned-integer general\n1 1 1\n1 1 18446744073709551615\n")
    assert large.toarray()[0, 0] == 2.0**64
    assert parse_mtx(head + b"real general\n0 3 0\n").shape == (0, 3)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"1 2\n", "does not begin with the banner"),
        (b"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n", "the banner"),
        (b"%%MatrixMarket matrix coordinate real general\n%\n", "lacks the line with the 3 sizes"),
        (b"%%MatrixMarket matrix coordinate real general\n2 2\n", "lacks the line with the 3"),
        (b"%%MatrixMarket matrix array real general\n2 -2\n", "lacks the line with the 2 sizes"),
        (b"%%MatrixMarket matrix array pattern general\n1 1\n1\n", "pattern in array format"),
        (b"%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", "does not exist"),
        (b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1\0\n", "contains zero bytes"),
        (b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1.0x", "an entry that is not"),
        (b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2\n", "that is not row column"),
        (
            b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1 9\n",
            "an entry that is not",
        ),
        (
            b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1.5 2 1\n",
            "an entry that is not",
        ),
        (
            b"%%MatrixMarket matrix coordinate real general\n2 2 1\n0 2 1\n",
            "an entry outside of its",
        ),
        (
            b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n",
            "an entry outside of its",
        ),
        (
            b"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n",
            "an entry outside of its",
        ),
        (b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1000000\n", "contains 1"),
        (b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n1 2 1\n", "contains 2"),
        (
            b"%%MatrixMarket matrix coordinate real general\n9 9 9\n1 1 1\n",
            "declares 9 entries, but contains 1",
        ),
        (
            b"%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n",
            "a symmetric matrix of 2 × 3",
        ),
        (
            b"%%MatrixMarket matrix coordinate real general\n9999999999999999999 1 0\n",
            "the 3 sizes",
        ),
    ],
)
def test_refusals(content, words):
    with pytest.raises(InputError, match=words):
        parse_mtx(content)
