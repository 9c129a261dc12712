"""Naive Bayes for counts, words and categories beside scikit-learn and River, and what it does where they fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import river.naive_bayes
import scipy.sparse
import sklearn.naive_bayes

import millstream
from millstream import compose, linear_model, naive_bayes

pytestmark = pytest.mark.linear_algebra

WORDS = 300
CLASSES = ["sports", "arts", "science", "politics"]
NAMES = ("MultinomialNB", "BernoulliNB", "ComplementNB", "CategoricalNB")
OF_WORDS = NAMES[:3]


def documents(height: int, seed: int = 1, width: int = WORDS, words: int = 12) -> tuple[Any, Any]:
    """A sparse matrix of counts, some of them fractions; each class prefers some words."""
    random = np.random.default_rng(seed)
    y = random.integers(len(CLASSES), size=height)
    X = scipy.sparse.lil_matrix((height, width))
    for row, code in enumerate(y):
        # Squares of uniform numbers: a few words are frequent, most are rare.
        columns = (random.random(words) ** 2 * width).astype(int)
        own = (columns + 40 * code) % width
        X[row, np.unique(own)] = random.integers(1, 4, size=len(np.unique(own)))
    matrix = X.tocsr()
    matrix.data[::17] += 0.5
    return matrix, np.array(CLASSES)[y]


def categories(height: int, seed: int = 1) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    y = random.integers(len(CLASSES), size=height)
    X = (random.integers(8, size=(height, 6)) + y[:, None] * random.integers(2, size=(height, 6))) % 8
    # scikit-learn takes the number of categories from each batch, so each batch has the largest one.
    X[::10] = 7
    return X, np.array(CLASSES)[y]


def stream_for(name: str, height: int) -> tuple[Any, Any]:
    X, y = categories(height) if name == "CategoricalNB" else documents(height)
    y[: len(CLASSES)] = CLASSES
    return X, y


def dicts(X: Any) -> list[dict[str, float]]:
    X = scipy.sparse.csr_matrix(X)
    return [{f"w{column}": float(count) for column, count in zip(row.indices, row.data, strict=True)} for row in X]


PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "MultinomialNB": [{}, {"fit_prior": False}, {"class_prior": [0.1, 0.2, 0.3, 0.4]}],
    "BernoulliNB": [{}, {"binarize": 1.0}, {"fit_prior": False}],
    "ComplementNB": [{}, {"norm": True}],
    "CategoricalNB": [{}, {"fit_prior": False}, {"min_categories": 11}],
}


@pytest.mark.parametrize("alpha", [0.01, 1.0])
@pytest.mark.parametrize(("name", "parameters"), [(name, each) for name in NAMES for each in PARAMETERS[name]])
def test_after_each_of_fifty_batches_it_is_scikit_learn(
    name: str, parameters: dict[str, Any], alpha: float
) -> None:
    X, y = stream_for(name, 1000)
    ours = getattr(naive_bayes, name)(alpha=alpha, **parameters)
    if "class_prior" in parameters:
        # Ours is in the order of `classes`, theirs in that of sorted labels.
        order = np.argsort(np.argsort(CLASSES))
        parameters = {"class_prior": list(np.array(parameters["class_prior"])[np.argsort(order)])}
        assert sorted(CLASSES) == list(np.array(CLASSES)[np.argsort(order)])
    theirs = getattr(sklearn.naive_bayes, name)(alpha=alpha, **parameters)
    for start in range(0, 1000, 20):
        part = slice(start, start + 20)
        ours.learn_many(X[part], y[part])
        theirs.partial_fit(X[part], y[part], classes=sorted(CLASSES))
        columns = [ours.classes.index(label) for label in theirs.classes_]
        probabilities = ours.predict_proba_many(X[:100])[:, columns]
        expected = theirs.predict_log_proba(X[:100])
        assert expected.min() > -600.0
        np.testing.assert_allclose(np.log(probabilities), expected, rtol=1e-10, atol=1e-10)
    assert ours.class_counts == {label: float((y == label).sum()) for label in ours.classes}


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB"])
def test_weights_are_those_of_scikit_learn(name: str) -> None:
    X, y = documents(200)
    w = np.random.default_rng(3).uniform(0.1, 3.0, size=200)
    ours, theirs = getattr(naive_bayes, name)(), getattr(sklearn.naive_bayes, name)()
    ours.learn_many(X, y, w)
    theirs.fit(X, y, sample_weight=w)
    columns = [ours.classes.index(label) for label in theirs.classes_]
    np.testing.assert_allclose(
        np.log(ours.predict_proba_many(X)[:, columns]), theirs.predict_log_proba(X), rtol=1e-10, atol=1e-10
    )
    found = ours.feature_log_prob
    for code, label in enumerate(theirs.classes_):
        np.testing.assert_allclose(list(found[label].values()), theirs.feature_log_prob_[code], rtol=1e-10)


@pytest.mark.parametrize("name", OF_WORDS)
def test_dicts_of_known_words_are_those_of_river(name: str) -> None:
    X, y = documents(120, width=60)
    ours, theirs = getattr(naive_bayes, name)(alpha=1.0), getattr(river.naive_bayes, name)(alpha=1)
    for x, label in zip(dicts(X), y.tolist(), strict=True):
        ours.learn_one(x, label)
        theirs.learn_one(x, label)
    # River's Bernoulli adds 1e-9 to each of 60 probabilities.
    tolerance = 1e-5 if name == "BernoulliNB" else 1e-10
    for x in dicts(X)[:30]:
        assert ours.predict_proba_one(x) == pytest.approx(theirs.predict_proba_one(x), rel=tolerance)
        assert ours.joint_log_likelihood(x) == pytest.approx(theirs.joint_log_likelihood(x), rel=1e-6)
        joint = ours.joint_log_likelihood(x)
        most = max(joint.values())
        total = sum(math.exp(value - most) for value in joint.values())
        expected = {label: math.exp(value - most) / total for label, value in joint.items()}
        assert ours.predict_proba_one(x) == pytest.approx(expected, rel=1e-10)
    assert ours.class_counts == dict(theirs.class_counts)
    assert ours.p_class("arts") == pytest.approx(theirs.p_class("arts"))
    if name != "ComplementNB":
        for word in ("w3", "never seen"):
            expected = theirs.p_feature_given_class(word, "arts")
            assert ours.p_feature_given_class(word, "arts") == pytest.approx(expected, rel=1e-12)
    assert ours.feature_counts["w3"] == {label: theirs.feature_counts["w3"][label] for label in ours.classes}


@pytest.mark.parametrize("name", OF_WORDS)
def test_sparse_rows_dense_rows_and_dicts_are_the_same(name: str) -> None:
    X, y = documents(90)
    build: Callable[[], Any] = getattr(naive_bayes, name)
    thin, dense, rows = build(), build(), build()
    for start in range(0, 90, 30):
        part = slice(start, start + 30)
        said = thin.step_many(X[part], y[part])
        assert list(said) == list(dense.step_many(X[part].toarray(), y[part]))
        for x, label, answer in zip(X[part].toarray(), y[part].tolist(), said, strict=True):
            assert rows.step_one(dict(enumerate(x.tolist())), label) == answer
        assert thin.to_bytes() == dense.to_bytes() == rows.to_bytes()
    loaded = millstream.from_bytes(thin.to_bytes())
    assert np.array_equal(loaded.predict_proba_many(X), thin.predict_proba_many(X.toarray()))


@pytest.mark.parametrize("name", NAMES)
def test_negative_counts_are_refused_and_leave_the_model(name: str) -> None:
    X, y = stream_for(name, 40)
    model = getattr(naive_bayes, name)()
    model.learn_many(X[:20], y[:20])
    before = model.to_bytes()
    bad = X[20:].copy()
    if name in OF_WORDS:
        bad = bad.tolil()
    bad[7, 3] = -1.0
    if name in OF_WORDS:
        bad = bad.tocsr()
    if name == "BernoulliNB":
        # Below the threshold: absent, as in scikit-learn.
        model.learn_many(bad, y[20:])
        return
    for rows in (bad, scipy.sparse.csr_matrix(bad).toarray()):
        with pytest.raises(ValueError, match="row 7") as refused:
            model.learn_many(rows, y[20:])
        assert f"naive_bayes.{name}: " in str(refused.value)
        assert "must be >= 0, got -1" in str(refused.value)
        assert model.to_bytes() == before
    with pytest.raises(ValueError, match="must be >= 0, got -2"):
        model.learn_one({0: 1.0, 9: -2.0}, "a new class")
    assert model.to_bytes() == before
    assert model.learn_many(bad, y[20:], on_error="skip") == 1
    assert model.learned == 39


@pytest.mark.parametrize("name", NAMES)
def test_a_small_batch_that_is_refused_restores_everything(name: str) -> None:
    width = 30 if name == "CategoricalNB" else 20_000
    random = np.random.default_rng(5)
    X = scipy.sparse.random(60, width, density=20 / width, random_state=5, format="csr")
    X.data = np.floor(X.data * 5.0) + 1.0
    y = random.integers(3, size=60).astype(str)
    model, other = getattr(naive_bayes, name)(), getattr(naive_bayes, name)()
    for one in (model, other):
        one.learn_many(X[:50], y[:50])
    before = model.to_bytes()
    labels = np.array(["0", "new", "1", "newer", "2", "0"])
    # A weight that is refused after some rows with new words and classes.
    with pytest.raises(ValueError, match="row 5"):
        model.learn_many(X[50:56], labels, [1.0, 1.0, 2.0, 1.0, 1.0, -1.0])
    assert model.to_bytes() == before
    for one in (model, other):
        one.learn_many(X[50:], y[50:])
    assert model.to_bytes() == other.to_bytes()
    assert np.array_equal(model.predict_proba_many(X), other.predict_proba_many(X))


@pytest.mark.parametrize("name", NAMES)
def test_parts_of_a_stream_merge_exactly(name: str) -> None:
    X, y = stream_for(name, 120)
    rows = dicts(X) if name in OF_WORDS else [{f"c{i}": int(v) for i, v in enumerate(x)} for x in X]
    # Whole counts, so that sums do not round.
    rows = [{word: float(math.floor(count)) for word, count in x.items()} for x in rows]
    for row, x in enumerate(rows):
        x["colour"] = ["red", "green", "blue", "violet"][row * row % 4]  # type: ignore[assignment]
    build: Callable[[], Any] = getattr(naive_bayes, name)
    parts, whole = [build(), build(), build()], build()
    # The second part meets classes, words and values in another order.
    whole.learn_many(rows, y)
    for part, start in zip(parts, (0, 40, 80), strict=True):
        order = range(start + 39, start - 1, -1) if start else range(40)
        part.learn_many([rows[row] for row in order], [y[row] for row in order])
    merged = parts[0]
    merged.merge(parts[1])
    merged.merge(parts[2])
    assert merged.learned == 120
    assert merged.class_counts == whole.class_counts
    for x in rows[:40]:
        assert merged.predict_proba_one(x) == pytest.approx(whole.predict_proba_one(x), rel=1e-12)
    if name == "CategoricalNB":
        assert merged.category_counts == whole.category_counts
    else:
        assert merged.feature_counts == whole.feature_counts
    with pytest.raises(ValueError, match="got alpha 1.0 and 0.5"):
        merged.merge(getattr(naive_bayes, name)(alpha=0.5))


def test_a_pipeline_of_naive_bayes_merges() -> None:
    parts = [compose.Select(kind="number") | naive_bayes.BernoulliNB() for _ in range(2)]
    for part, labels in zip(parts, (["a", "b", "a"], ["c", "b", "a"]), strict=True):
        for row, label in enumerate(labels):
            part.learn_one({"x": float(row), "y": 1.0, "z": label}, label)
    parts[0].merge(parts[1])
    assert parts[0].classes == ["a", "b", "c"]
    # Classes a, b and c: priors 3/6, 2/6, 1/6; x is in 2 of 3, 2 of 2, 0 of 1, and y in all rows.
    likelihoods = np.array([3 * 3 / 5 * 4 / 5, 2 * 3 / 4 * 3 / 4, 1 / 3 * 2 / 3])
    expected = dict(zip("abc", likelihoods / likelihoods.sum(), strict=True))
    assert parts[0].predict_proba_one({"x": 1.0, "y": 1.0}) == pytest.approx(expected)


def test_a_learner_that_cannot_be_merged_says_so() -> None:
    model = linear_model.Ellipsoid()
    with pytest.raises(ValueError, match="cannot be merged: ellipsoids"):
        model.merge(linear_model.Ellipsoid())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("alpha", [0.0, 1e-300])
def test_without_smoothing_probabilities_stay_finite(name: str, alpha: float) -> None:
    X, y = stream_for(name, 200)
    ours = getattr(naive_bayes, name)(alpha=alpha)
    theirs = getattr(sklearn.naive_bayes, name)(alpha=1e-10)
    ours.learn_many(X[:100], y[:100])
    theirs.fit(X[:100], y[:100])
    columns = [ours.classes.index(label) for label in theirs.classes_]
    found = ours.predict_proba_many(X[:50])[:, columns]
    assert np.isfinite(ours.predict_proba_many(X)).all()
    # 1 - p cancels in scikit-learn.
    np.testing.assert_allclose(found, theirs.predict_proba(X[:50]), atol=1e-5 if name == "BernoulliNB" else 1e-10)


def test_a_category_that_was_never_learned_has_the_smoothed_probability() -> None:
    codes, y = categories(60)
    ours = naive_bayes.CategoricalNB(alpha=0.5)
    ours.learn_many(codes, y)
    theirs = sklearn.naive_bayes.CategoricalNB(alpha=0.5).fit(codes, y)
    unseen = codes[:1].copy()
    unseen[0, 2] = 11
    with pytest.raises(IndexError):
        theirs.predict(unseen)
    rest = dict.fromkeys(CLASSES, 0.0)
    for code, label in enumerate(theirs.classes_):
        logs = theirs.feature_log_prob_
        n = theirs.class_count_[code]
        rest[label] = theirs.class_log_prior_[code] + math.log(0.5 / (n + 0.5 * 8))
        rest[label] += sum(logs[column][code, codes[0, column]] for column in range(6) if column != 2)
    most = max(rest.values())
    total = sum(math.exp(value - most) for value in rest.values())
    expected = {label: math.exp(value - most) / total for label, value in rest.items()}
    found = dict(zip(ours.classes, ours.predict_proba_many(unseen.astype(float))[0], strict=True))
    assert found == pytest.approx(expected, rel=1e-10)


def test_strings_are_categories_and_words() -> None:
    codes, y = categories(80)
    texts = [{f"c{i}": f"v{v}" for i, v in enumerate(x)} for x in codes]
    by_text, by_number = naive_bayes.CategoricalNB(), naive_bayes.CategoricalNB()
    by_text.learn_many(texts, y)
    by_number.learn_many(codes, y)
    for x, row in zip(texts, codes, strict=True):
        found = by_text.predict_proba_one(x)
        expected = dict(zip(by_number.classes, by_number.predict_proba_many(row[None, :])[0], strict=True))
        assert found == pytest.approx(expected, rel=1e-12)
    words = naive_bayes.BernoulliNB()
    words.learn_many(texts, y)
    one_hot = sklearn.naive_bayes.BernoulliNB()
    present = np.array([[code == value for code in row for value in range(8)] for row in codes], dtype=float)
    known = present.any(axis=0)
    one_hot.fit(present[:, known], y)
    columns = [words.classes.index(label) for label in one_hot.classes_]
    found = np.array([[words.predict_proba_one(x)[label] for label in words.classes] for x in texts])
    np.testing.assert_allclose(found[:, columns], one_hot.predict_proba(present[:, known]), rtol=1e-10)
    assert words.joint_log_likelihood(texts[0]).keys() == set(CLASSES)


def test_new_words_and_classes_at_any_time() -> None:
    model = naive_bayes.MultinomialNB()
    model.learn_one({"ball": 2}, "sports")
    assert model.predict_proba_one({"ball": 1}) == {"sports": 1.0}
    model.learn_one({"paint": 1, "ball": 1}, "arts")
    model.learn_one({"atom": 3}, "science")
    assert model.n_terms == 3
    assert model.predict_one({"atom": 1}) == "science"
    assert model.predict_proba_one({"unheard": 5}) == pytest.approx(model.predict_proba_one({}))
    assert model.class_totals == {"sports": 2.0, "arts": 2.0, "science": 3.0}


def test_one_class_is_certain() -> None:
    for name in NAMES:
        model = getattr(naive_bayes, name)()
        assert model.predict_one({"a": 1.0}) is None
        model.learn_one({"a": 1.0}, True)
        assert model.predict_proba_one({"a": 1.0}) == {False: 0.0, True: 1.0}
        assert model.class_counts == {True: 1.0}


def test_a_class_without_a_prior_is_refused() -> None:
    model = naive_bayes.MultinomialNB(class_prior=[0.5, 0.5])
    model.learn_many([{"a": 1}, {"b": 1}], ["x", "y"])
    before = model.to_bytes()
    with pytest.raises(
        ValueError, match="naive_bayes.MultinomialNB: class_prior must have a number for each class"
    ):
        model.learn_one({"a": 1}, "z")
    assert model.to_bytes() == before


def test_too_many_categories_are_refused() -> None:
    model = naive_bayes.CategoricalNB(max_categories=3)
    model.learn_many([{"n": 2, "s": "a"}, {"n": 0, "s": "b"}, {"n": 1, "s": "c"}], ["x", "y", "x"])
    before = model.to_bytes()
    with pytest.raises(ValueError, match="categories must be below max_categories = 3, got 3"):
        model.learn_one({"n": 3, "s": "a"}, "x")
    with pytest.raises(ValueError, match="must be at most max_categories = 3"):
        model.learn_one({"n": 0, "s": "d"}, "x")
    assert model.to_bytes() == before


def test_a_table_of_a_million_columns_stores_the_words_that_occur() -> None:
    X, y = documents(50)
    wide = scipy.sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(50, 1_000_000))
    for name in OF_WORDS:
        narrow, model = getattr(naive_bayes, name)(), getattr(naive_bayes, name)()
        narrow.learn_many(X, y)
        model.learn_many(wide, y)
        # The schema has a byte for each column.
        assert model.memory - 1_000_000 < narrow.memory + 10_000
        assert model.n_terms == 1_000_000
        model.learn_many(wide[:2], y[:2])
        assert millstream.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()
