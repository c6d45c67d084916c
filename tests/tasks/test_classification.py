"""Classification of nodes by a probe, against scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier

from graphgate import Embedding, InputError, InputWarning, classify, cluster
from graphgate.tasks.classification import encode_labels, read_labels

pytestmark = pytest.mark.numerical


def some_classes() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    z = rng.normal(size=(90, 4)) + 1.2 * np.eye(4)[labels]
    labels[rng.choice(90, 20, replace=False)] = -1
    return z, labels


def values(codes: np.ndarray) -> list[str | None]:
    return [None if code < 0 else "abc"[code] for code in codes]


def reference_probe() -> OneVsRestClassifier:
    return OneVsRestClassifier(LogisticRegression(solver="liblinear", C=1.0, random_state=3))


def test_cross_validation_matches_scikit_learn():
    z, labels = some_classes()
    known = labels >= 0
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    found = classify(z, values(labels), cv=4, random_state=3)
    for name, scoring in (("accuracy", "accuracy"), ("macro_f1", "f1_macro")):
        expected = cross_val_score(
            reference_probe(), z[known], labels[known], cv=folds, scoring=scoring
        )
        np.testing.assert_allclose(getattr(found, name), 100 * expected)
        assert 40 < expected.mean() * 100 < 95  # neither chance nor perfect


@pytest.mark.parametrize("probe", ["one-vs-rest", "multinomial"])
def test_predictions_for_nodes_without_a_label(probe):
    z, labels = some_classes()
    found = classify(z, values(labels), probe=probe, random_state=3)
    known = labels >= 0
    assert np.array_equal(found.ids, np.flatnonzero(~known))
    assert found.classes == ("a", "b", "c")
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1)
    expected = LogisticRegression(max_iter=1000) if probe == "multinomial" else reference_probe()
    expected.fit(z[known], labels[known])
    assert found.predictions == ["abc"[code] for code in expected.predict(z[~known])]
    np.testing.assert_allclose(found.probabilities, expected.predict_proba(z[~known]))


def test_two_classes_and_no_node_without_a_label():
    z, labels = some_classes()
    assert classify(z, values(np.where(labels == 2, 1, labels))).probabilities.shape == (20, 2)
    full = classify(z, values(np.abs(labels)))
    assert full.probabilities.shape == (0, 3)
    assert len(full.ids) == len(full.predictions) == 0


def test_labels_of_the_embedding_or_by_id_or_in_order():
    z, labels = some_classes()
    ids = np.array([f"n{i}" for i in range(90)], dtype=object)
    own = classify(Embedding(ids, z, values(labels)))
    assert own.ids.tolist() == ids[labels < 0].tolist()
    by_id = dict(zip(ids, values(labels), strict=True)) | {"unknown": "z"}
    assert classify(Embedding(ids, z), by_id).accuracy == own.accuracy
    assert classify(Embedding(ids, z, ["other"] * 90), values(labels)).accuracy == own.accuracy
    with pytest.raises(InputError, match="labels contains no id of the embedding"):
        classify(Embedding(ids, z), {0: "a", 1: "b"})
    with pytest.raises(InputError, match="2 labels for 90 nodes"):
        classify(z, ["a", "b"])


def test_labels_that_cannot_be_learned():
    z = np.eye(6)
    with pytest.raises(InputError, match="need labels of at least two classes, got 1"):
        classify(z, [0, 0, 0, None, None, None])
    with pytest.raises(InputError, match="need labels of at least two classes, got 0"):
        classify(z)
    with pytest.raises(InputError, match="smallest class, 1, has 1"):
        classify(z, [0, 0, 0, 0, 0, 1], cv=2)
    with pytest.raises(InputError, match=r"5 folds need 5 labeled nodes .*, 0, has 3; use fewer"):
        classify(z, [0, 0, 0, 1, 1, 1])
    with pytest.raises(InputError, match="at least 2 folds, got 1"):
        classify(z, [0, 0, 0, 1, 1, 1], cv=1)
    with pytest.raises(InputError, match="unknown probe 'svm'"):
        classify(z, [0, 0, 0, 1, 1, 1], cv=2, probe="svm")


def test_codes_are_positions_in_the_sorted_classes():
    z = np.ones((3, 1))
    codes, classes = encode_labels(Embedding(np.arange(3), z, ["b", None, "a"]))
    assert (codes.tolist(), classes) == ([1, -1, 0], ("a", "b"))
    codes, classes = encode_labels(z)
    assert (codes.tolist(), classes) == ([-1, -1, -1], ())


def test_a_label_among_the_columns_of_the_vectors_is_warned_of():
    z, labels = some_classes()
    made = Embedding(np.arange(90), z, values(labels), ("section", "age"))
    classify(made)
    classify(made, pd.Series(values(labels), name="group"))
    for function in (classify, cluster):
        with pytest.warns(InputWarning, match="the column 'section' is one of those that the vec"):
            function(made, labels=pd.Series(values(labels), name="section"))


def test_labels_are_read_from_a_table(tmp_path):
    ids = np.array([1, 2, 3])
    (tmp_path / "n.csv").write_text("label,x,id\n10,0,3\n9,0,1\n,0,2\n8,0,77\n")
    assert read_labels(tmp_path / "n.csv", ids) == [9, None, 10]
    (tmp_path / "n.csv").write_text("who,team\n3,x\n2,y\n1,x\n")
    assert read_labels(tmp_path / "n.csv", ids, id="who", label="team") == ["x", "y", "x"]
    (tmp_path / "n.csv").write_text("id,label\n7,x\n")
    with pytest.raises(InputError, match="contains no id of the embedding"):
        read_labels(tmp_path / "n.csv", ids)
    (tmp_path / "n.csv").write_text("id,label\n1,\n")
    with pytest.warns(InputWarning, match=r"n\.csv lacks 2 of 3 nodes .*, such as '2'"):
        assert read_labels(tmp_path / "n.csv", ids) == [None, None, None]
