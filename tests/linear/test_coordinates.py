"""Coordinates of features, against scikit-learn's TF-IDF and LAPACK."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.feature_extraction.text import TfidfTransformer

from graphgate import AttributeEncoder, Attributes
from graphgate.compute.columns import Columns
from graphgate.compute.draws import Draws
from graphgate.linear.coordinates import Coordinates, sources_of_groups, sources_of_rules

pytestmark = pytest.mark.numerical


def fit(x, dtype=torch.float64):
    coordinates, z = Coordinates.fit(x, Columns(x.shape[0], dtype), 512, Draws(0))
    return coordinates, z.block(slice(0, z.n_columns))


def counts(n: int = 30, f: int = 12, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = (rng.random((n, f)) < 0.25) * rng.integers(1, 5, (n, f)).astype(np.float64)
    x[3], x[:, 5] = 0, 0  # a node without words, a word that does not occur
    return x


def tfidf(train: np.ndarray, x: np.ndarray) -> np.ndarray:
    return TfidfTransformer(smooth_idf=True, norm="l2").fit(train).transform(x).toarray()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_counts_are_weighted_as_text(form):
    x, new = counts(), counts(seed=1)
    coordinates, z = fit(form(x))
    assert coordinates.sources[0].unit_rows
    expected = tfidf(x, x)
    np.testing.assert_allclose(z, expected - expected.mean(axis=0), atol=1e-12)
    found = coordinates.transform(form(new))
    np.testing.assert_allclose(found, tfidf(x, new) - expected.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(coordinates.transform(form(x)), z, atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_other_features_keep_their_proportions(form):
    x = np.random.default_rng(0).normal(size=(20, 6)) * [1, 10, 0, 1, 1, 5]
    coordinates, z = fit(form(x))
    assert not coordinates.sources[0].unit_rows
    scale = np.abs(x).max()
    np.testing.assert_allclose(z, (x - x.mean(axis=0)) / scale, atol=1e-12)
    new = 3 * x[:4] + 1
    found = coordinates.transform(form(new))
    np.testing.assert_allclose(found, (new - x.mean(axis=0)) / scale, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda x: x, True),
        (lambda x: (x > 0).astype(np.float32), True),
        (lambda x: x / 2, False),
        (lambda x: x - 2 * (x == 4), True),
        (lambda x: -x, False),
        (lambda x: np.where(x > 0, x, 1), False),  # few zeros
        (lambda x: 0 * x, False),
        (lambda x: x * 2.0**60, False),  # where every number is an integer
    ],
)
def test_what_counts_as_counts(change, text):
    for x in (change(counts()), sp.csr_array(change(counts()))):
        assert fit(x)[0].sources[0].unit_rows is text


def test_half_of_the_entries_may_be_nonzero():
    half = np.array([[1.0, 0.0], [0.0, 2.0]])
    assert fit(half)[0].sources[0].unit_rows
    assert not fit(np.array([[1.0, 0.0], [1.0, 2.0]]))[0].sources[0].unit_rows


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_many_features_are_projected_onto_singular_vectors(form):
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(560, 20)), rng.normal(size=(20, 530))
    x = left @ right
    coordinates, z = fit(form(x))
    assert z.shape == (560, 512)
    assert coordinates.components.shape == (530, 512)
    leading = np.linalg.svd(x).Vh[:20].T
    kept = coordinates.components[:, :20].numpy()
    np.testing.assert_allclose(kept @ kept.T, leading @ leading.T, atol=1e-8)
    # All of x is in those directions, so distances are those of the features.
    x = (x - x.mean(axis=0)) / np.abs(x).max()
    np.testing.assert_allclose(z @ z.T, x @ x.T, atol=1e-8)


def test_fewer_nodes_than_coordinates():
    x = np.random.default_rng(0).normal(size=(7, 600))
    coordinates, z = fit(x)
    assert z.shape == (7, 7)
    back = coordinates.inverse_transform(z, x)
    np.testing.assert_allclose(back, x, atol=1e-10)


@pytest.mark.parametrize("f", [9, 520])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_inverse_gives_features_in_their_units(f, form):
    rng = np.random.default_rng(0)
    dense = 1e3 * rng.normal(size=(15, f))
    for x in (dense, counts(15, f)):
        coordinates, z = fit(form(x))
        np.testing.assert_allclose(coordinates.inverse_transform(z, form(x)), x, atol=1e-8)


def test_the_inverse_of_a_truncated_projection_is_the_best_of_its_rank():
    rng = np.random.default_rng(0)
    values = np.concatenate([np.linspace(5, 4, 512), np.full(28, 1e-3)])
    u, v = (np.linalg.qr(rng.normal(size=(540, 540))).Q for _ in range(2))
    x = u * values @ v.T
    coordinates, z = fit(x)
    back = coordinates.inverse_transform(z, x)
    assert np.linalg.norm(back - x) == pytest.approx(1e-3 * np.sqrt(28), rel=1e-3)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", [1e30, 1e-30, 1e250, 1e-250, 1e-305])
def test_any_unit_gives_the_same_coordinates(scale, form):
    x = np.random.default_rng(0).normal(size=(20, 5))
    x[np.abs(x) < 0.5] = 0
    _, plain = fit(x, torch.float32)
    coordinates, z = fit(form(x * scale), torch.float32)
    np.testing.assert_allclose(z, plain, rtol=1e-5, atol=1e-6)
    back = coordinates.inverse_transform(z, form(x * scale))
    np.testing.assert_allclose(back / scale, x, rtol=1e-4, atol=1e-5)


def test_numbers_whose_inverse_would_be_infinite():
    x = np.array([[1e-310, 0.0], [0.0, 2e-310], [1e-310, 1e-310]])
    assert torch.isfinite(fit(x)[1]).all()


@pytest.mark.parametrize("f", [4, 600, 3000])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("value", [0.0, 3.3])
def test_constant_features_are_due_to_rounding(f, form, value):
    coordinates, z = fit(form(np.full((50, f), value)), torch.float32)
    assert torch.isfinite(z).all()
    lengths = np.linalg.norm(z.numpy(), axis=1)
    assert (lengths <= coordinates.shortest).all()


def test_the_shortest_length_is_relative_to_the_rows():
    x = np.random.default_rng(0).normal(size=(20, 5))
    scaled = x / np.abs(x).max()
    rms = np.sqrt(np.square(scaled).sum(axis=1).mean())
    assert fit(x)[0].shortest == pytest.approx(1e-6 * rms)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_have_length_one_from_their_typical_length_by_the_features_that_matter(form):
    x = np.random.default_rng(0).normal(size=(200, 4)) + 5
    variances = np.var(x / np.abs(x).max(), axis=0)
    ratio = variances.sum() ** 2 / np.square(variances).sum()
    assert 3 < ratio < 4
    expected = np.sqrt(variances.sum()) / ratio
    assert fit(form(x))[0].unit_from == pytest.approx(expected, rel=1e-6)
    alone = x[:, :1] / np.abs(x[:, 0]).max()
    assert fit(form(x[:, :1]))[0].unit_from == pytest.approx(alone.std(), rel=1e-6)


def test_the_features_are_not_changed():
    for x in (counts(), sp.csr_array(counts())):
        before = (x if isinstance(x, np.ndarray) else x.data).tobytes()
        coordinates, z = fit(x)
        coordinates.inverse_transform(coordinates.transform(x), x)
        z += 1
        assert (x if isinstance(x, np.ndarray) else x.data).tobytes() == before


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_features_of_a_source_need_not_be_adjacent(form):
    x = np.concatenate([counts(), np.random.default_rng(1).normal(size=(30, 3))], axis=1)
    order = np.random.default_rng(2).permutation(15)
    groups = np.array(["words"] * 12 + ["numbers"] * 3)
    engine = Columns(30, torch.float64)
    adjacent, z = Coordinates.fit(form(x), engine, 512, Draws(0), *sources_of_groups(groups))
    sources, places = sources_of_groups(groups[order])
    apart, shuffled = Coordinates.fit(form(x[:, order]), engine, 512, Draws(0), sources, places)
    assert sorted(s.name for s in apart.sources) == sorted(s.name for s in adjacent.sources)
    np.testing.assert_allclose(shuffled.block(slice(15)), z.block(slice(15))[:, order], atol=1e-12)
    words = next(s for s in apart.sources if s.name == "words")
    assert words.unit_rows
    back = apart.inverse_transform(shuffled.block(slice(15)), form(x[:, order]))
    occurs = x.any(axis=0)[order]
    np.testing.assert_allclose(back[:, occurs], x[:, order][:, occurs], atol=1e-9)


def test_words_of_a_text_may_say_something_about_each_other():
    columns = {"town": ["Ulm", "Bern"], "words": [["a"], ["b"]], "about": ["to be", "or not to be"]}
    table = Attributes.from_columns(columns, kinds={"about": "text"})
    sources = sources_of_rules(AttributeEncoder().fit(table).rules_)
    assert {source.name: source.divisible for source in sources} == {
        "town": False,
        "words": True,
        "about": True,
    }
