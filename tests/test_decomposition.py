"""The transformers of `decomposition`: beside NumPy and scikit-learn, and their guarantees."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import decomposition, linear_model
from millstream.errors import InvalidValue, NumericOverflow

sklearn = pytest.importorskip("sklearn.decomposition")

pytestmark = pytest.mark.linear_algebra

PRINCIPAL = (decomposition.PCA, decomposition.CCIPCA, decomposition.IncrementalPCA)
UNSIGNED = (*PRINCIPAL, decomposition.IncrementalSVD, decomposition.FrequentDirections)


def blobs(n: int = 600, width: int = 8, seed: int = 0) -> Any:
    """Rows around a few centres, far from 0."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(5, width)) * np.linspace(4, 1, width)
    return centres[random.integers(5, size=n)] + random.normal(size=(n, width)) * 0.3 + 10.0


def matrix(vectors: list[dict[str, float]]) -> Any:
    return np.array([list(vector.values()) for vector in vectors])


def same_up_to_sign(found: Any, expected: Any, tolerance: float) -> None:
    signs = np.sign(np.sum(found * expected, axis=1, keepdims=True))
    np.testing.assert_allclose(found * signs, expected, rtol=0, atol=tolerance)


def leading(X: Any, k: int) -> tuple[Any, Any]:
    values, vectors = np.linalg.eigh(np.cov(X.T))
    return values[::-1][:k], vectors[:, ::-1][:, :k].T


# PCA


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_pca_is_the_eigendecomposition_of_the_covariance(shift: float) -> None:
    X = blobs() + shift
    pca = decomposition.PCA(n_components=4, refresh_interval=1)
    for n in (5, 37, 50, 51, 400, 600):
        pca.learn_many(X[pca.learned : n])
        values, vectors = leading(X[:n], 4)
        tolerance = 1e-10 if shift == 0.0 else 1e-5
        np.testing.assert_allclose(pca.explained_variance, values, rtol=tolerance)
        same_up_to_sign(matrix(pca.components), vectors, tolerance)
        total = np.trace(np.cov(X[:n].T))
        np.testing.assert_allclose(pca.explained_variance_ratio, values / total, rtol=tolerance)
        np.testing.assert_allclose(list(pca.mean.values()), X[:n].mean(axis=0), rtol=1e-12)
        expected = (X - X[:n].mean(axis=0)) @ matrix(pca.components).T
        np.testing.assert_allclose(pca.transform_many(X), expected, atol=1e-8)


def test_pca_with_weights_is_that_of_repeated_rows() -> None:
    X = blobs(200)
    w = np.random.default_rng(3).integers(1, 4, size=200)
    weighted, repeated = (decomposition.PCA(3, refresh_interval=1) for _ in range(2))
    weighted.learn_many(X, w=w.astype(float))
    repeated.learn_many(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.explained_variance, repeated.explained_variance, rtol=1e-10)
    # The refreshes differ, so the first signs may.
    np.testing.assert_allclose(abs(weighted.transform_many(X)), abs(repeated.transform_many(X)), atol=1e-9)


def test_pca_refreshes_when_rows_double_and_then_at_the_interval() -> None:
    X, pca, refreshed = blobs(200), decomposition.PCA(2, refresh_interval=30), []
    for row in range(200):
        before = pca.transform_many(X[:5]) if pca.ready else None
        pca.learn_many(X[row : row + 1])
        at = pca.inspect()["refreshed"]
        if before is not None and at == (refreshed or [0])[-1]:
            np.testing.assert_array_equal(pca.transform_many(X[:5]), before)
        if at and (not refreshed or at != refreshed[-1]):
            refreshed.append(at)
    assert refreshed == [3, 6, 12, 24, 48, 78, 108, 138, 168, 198]


@pytest.mark.parametrize("split", [1, 10, 77, 299])
def test_merged_pca_is_that_of_the_whole_stream(split: int) -> None:
    X = blobs(300)
    first, second, whole = (decomposition.PCA(3, refresh_interval=1) for _ in range(3))
    first.learn_many(X[:split])
    second.learn_many(X[split:])
    whole.learn_many(X)
    first.merge(second)
    assert first.learned == 300
    np.testing.assert_allclose(first.explained_variance, whole.explained_variance, rtol=1e-10)
    same_up_to_sign(matrix(first.components), matrix(whole.components), 1e-10)
    np.testing.assert_allclose(list(first.mean.values()), list(whole.mean.values()), rtol=1e-12)


def test_merged_features_are_found_by_name() -> None:
    X = blobs(100, width=3)
    first, second, whole = (decomposition.PCA(2, refresh_interval=1) for _ in range(3))
    for row, (a, b, c) in enumerate(X.tolist()):
        whole.learn_one({"a": a, "b": b, "c": c})
        if row < 50:
            first.learn_one({"a": a, "b": b, "c": c})
        else:
            second.learn_one({"c": c, "a": a, "b": b})
    first.merge(second)
    assert list(first.components[0]) == ["a", "b", "c"]
    same_up_to_sign(matrix(first.components), matrix(whole.components), 1e-10)
    # A feature that one part lacks was missing there.
    alone = decomposition.PCA(2, refresh_interval=1)
    alone.learn_one({"d": 4.0})
    first.merge(alone)
    assert first.mean["d"] == 4.0
    assert first.components[0]["d"] == 0.0


def test_others_cannot_be_merged() -> None:
    for kind in (decomposition.CCIPCA, decomposition.IncrementalPCA, decomposition.NMF, decomposition.LDA):
        model = kind()
        model.learn_many(blobs(120))
        before = model.to_bytes()
        with pytest.raises(InvalidValue, match=f"decomposition.{kind.__name__}: cannot be merged: "):
            model.merge(model.copy())
        assert model.to_bytes() == before


def test_missing_numbers_count_as_the_mean() -> None:
    X = blobs(400, width=4)
    holes = np.random.default_rng(5).random(X.shape) < 0.1
    pca = decomposition.PCA(2, refresh_interval=1)
    pca.learn_many(np.where(holes, np.nan, X))
    means = np.array([X[~holes[:, j], j].mean() for j in range(4)])
    np.testing.assert_allclose(list(pca.mean.values()), means, rtol=1e-12)
    filled = np.where(holes, means, X)
    # The mean so far differs from the final mean, so this is no equality.
    same_up_to_sign(matrix(pca.components), leading(filled, 2)[1], 0.02)
    assert list(pca.transform_one(dict.fromkeys(range(4), math.nan)).values()) == [0.0, 0.0]


def test_a_late_feature_has_the_mean_of_its_own_rows() -> None:
    pca = decomposition.PCA(1, refresh_interval=1)
    for a in (1.0, 2.0, 3.0):
        pca.learn_one({"a": a})
    for b in (100.0, 104.0):
        pca.learn_one({"a": 2.0, "b": b})
    assert pca.mean == {"a": 2.0, "b": 102.0}
    # About their means: a varies by 2, b by 8.
    assert pca.explained_variance == pytest.approx([8.0 / 4.0])
    assert pca.components[0]["b"] == pytest.approx(1.0)


def test_a_nominal_value_is_a_coordinate_that_was_zero_before() -> None:
    pca, dense = (decomposition.PCA(2, refresh_interval=1) for _ in range(2))
    colours = ["red", "red", "blue", "red", "green", "blue", "red", "green"]
    for row, colour in enumerate(colours):
        pca.learn_one({"a": float(row % 3), "colour": colour})
        dense.learn_one({"a": float(row % 3), **{c: float(c == colour) for c in ("red", "blue", "green")}})
    np.testing.assert_allclose(pca.explained_variance, dense.explained_variance, rtol=1e-12)
    assert pca.mean["colour"] == pytest.approx({"red": 0.5, "blue": 0.25, "green": 0.25})
    # A missing colour is none of them.
    probe = {"a": 1.0, "red": 0.0, "blue": 0.0, "green": 0.0}
    found, expected = pca.transform_one({"a": 1.0}), dense.transform_one(probe)
    np.testing.assert_allclose(list(found.values()), list(expected.values()), atol=1e-12)


def test_whitened_components_have_variance_one() -> None:
    X = blobs()
    for model in (decomposition.PCA(3, 1, whiten=True), decomposition.IncrementalPCA(3, 600, whiten=True)):
        model.learn_many(X)
        np.testing.assert_allclose(np.cov(model.transform_many(X).T), np.eye(3), atol=1e-8)


def test_pca_of_too_many_features_is_refused_and_changes_nothing() -> None:
    pca = decomposition.PCA()
    pca.learn_many(blobs(5))
    before = pca.to_bytes()
    with pytest.raises(InvalidValue, match=r"decomposition.PCA: supports up to 4096 features .* got 5000"):
        pca.learn_many(np.zeros((1, 5000)))
    assert pca.to_bytes() == before
    with pytest.raises(
        NumericOverflow, match=r"decomposition.PCA: numbers must be in \[-1e100, 1e100\], got 1e200"
    ):
        pca.learn_one({0: 1e200})
    assert pca.to_bytes() == before


# All kinds


@pytest.mark.parametrize("kind", UNSIGNED)
def test_the_first_sign_and_its_continuity(kind: Any) -> None:
    X = blobs(1000) - 10.0
    model = kind(n_components=3)
    before = None
    for start in range(0, 1000, 10):
        model.learn_many(X[start : start + 10])
        now = model.components
        if not model.ready or len(now) < 3:
            continue
        now = matrix(now)
        if before is None and kind is not decomposition.CCIPCA:
            assert all(vector[np.argmax(np.abs(vector))] > 0 for vector in now)
        if before is not None:
            nearest = np.abs(before @ now.T).argmax(axis=0)
            assert all(before[i] @ now[j] >= 0 for j, i in enumerate(nearest))
        before = now


@pytest.mark.parametrize("kind", UNSIGNED)
def test_zeros_before_there_are_components_reported_once(kind: Any) -> None:
    model = kind(n_components=3)
    assert not model.ready
    with pytest.warns(UserWarning, match=r"decomposition\.\w+: no components after 0 rows"):
        assert model.transform_many(np.ones((2, 4))).tolist() == [[0.0] * 3] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.transform_many(np.ones((2, 4)))
        assert set(model.transform_one({"a": 1.0}).values()) == {0.0}
        model.learn_many(blobs())
        assert model.ready
        assert model.transform_many(blobs(5)).shape == (5, 3)
        kind(n_components=3).transform_one({"a": 1.0})


@pytest.mark.parametrize("kind", UNSIGNED)
def test_fewer_features_than_components(kind: Any) -> None:
    model = kind(n_components=5)
    model.learn_many(blobs(300, width=2))
    out = model.transform_many(blobs(300, width=2))
    assert out.shape == (300, 5)
    assert np.abs(out[:, :2]).max() > 0
    assert not out[:, 2:].any()


@pytest.mark.parametrize("kind", UNSIGNED)
def test_in_front_of_a_learner(kind: Any) -> None:
    X = blobs(2000) - 10.0
    y = X[:, 0] > 0
    model = kind(n_components=4) | linear_model.LogisticRegression()
    said = model.step_many(X, y)
    assert np.mean(said[1000:] == y[1000:]) > 0.9
    again = millstream.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(again.predict_many(X), model.predict_many(X))


# CCIPCA


def test_ccipca_approaches_pca() -> None:
    random = np.random.default_rng(1)
    X = random.normal(size=(20_000, 10)) * np.array([6, 4, 3, 1, 1, 1, 1, 1, 1, 1])
    pca = decomposition.CCIPCA(n_components=3)
    pca.learn_many(X)
    values, vectors = leading(X, 3)
    assert np.all(np.abs(np.sum(matrix(pca.components) * vectors, axis=1)) > 0.999)
    np.testing.assert_allclose(pca.explained_variance, values, rtol=0.05)


# IncrementalPCA


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(("width", "size", "k"), [(8, 50, 3), (8, 10, 8), (20, 7, 4), (5, 1, 1)])
def test_incremental_pca_is_that_of_scikit_learn_after_each_batch(width: int, size: int, k: int) -> None:
    X = blobs(60 * size, width)
    ours, theirs = decomposition.IncrementalPCA(k, size), sklearn.IncrementalPCA(k)
    for start in range(0, 12 * size, size):
        ours.learn_many(X[start : start + size])
        theirs.partial_fit(X[start : start + size])
        if size == 1 and start == 0:
            # One row has no variance: their component is arbitrary.
            assert not ours.components
            theirs.components_ = np.zeros_like(theirs.components_)
            continue
        same_up_to_sign(matrix(ours.components), theirs.components_, 1e-8)
        np.testing.assert_allclose(ours.singular_values, theirs.singular_values_, rtol=1e-8)
        np.testing.assert_allclose(ours.explained_variance, theirs.explained_variance_, rtol=1e-8)
        np.testing.assert_allclose(ours.explained_variance_ratio, theirs.explained_variance_ratio_, rtol=1e-8)
        np.testing.assert_allclose(list(ours.mean.values()), theirs.mean_, rtol=1e-12)
        signs = np.sign(np.sum(matrix(ours.components) * theirs.components_, axis=1))
        np.testing.assert_allclose(ours.transform_many(X) * signs, theirs.transform(X), atol=1e-7)


def test_a_first_batch_smaller_than_the_number_of_components() -> None:
    X = blobs(40, 6)
    with pytest.raises(ValueError, match="n_components=5 must be less or equal"):
        sklearn.IncrementalPCA(5).partial_fit(X[:3])
    pca = decomposition.IncrementalPCA(5, batch_size=3)
    pca.learn_many(X[:3])
    assert len(pca.components) == 2
    assert not pca.transform_many(X)[:, 2:].any()
    pca.learn_many(X[3:])
    assert len(pca.components) == 5


def test_rows_that_wait_for_their_batch_are_saved() -> None:
    X = blobs(95, 4)
    whole = decomposition.IncrementalPCA(2, batch_size=10)
    whole.learn_many(X)
    for split in (1, 9, 10, 11, 94):
        part = decomposition.IncrementalPCA(2, batch_size=10)
        part.learn_many(X[:split])
        part = millstream.from_bytes(part.to_bytes())
        part.learn_many(X[split:])
        assert part.to_bytes() == whole.to_bytes()


# IncrementalSVD


def test_incremental_svd_is_exact_within_its_rank() -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(200, 3)) @ random.normal(size=(3, 12))
    svd = decomposition.IncrementalSVD(3, batch_size=20)
    for n in range(20, 201, 20):
        svd.learn_many(X[n - 20 : n])
        _, values, vectors = np.linalg.svd(X[:n], full_matrices=False)
        np.testing.assert_allclose(svd.singular_values, values[:3], rtol=1e-10)
        same_up_to_sign(matrix(svd.components), vectors[:3], 1e-9)


def test_forgetting_follows_a_change() -> None:
    X = np.zeros((400, 2))
    X[:300, 0], X[300:, 1] = 1.0, 1.0
    kept, forgotten = (decomposition.IncrementalSVD(1, 10, forgetting) for forgetting in (1.0, 0.7))
    for svd in (kept, forgotten):
        svd.learn_many(X)
    assert kept.components[0] == pytest.approx({"0": 1.0, "1": 0.0})
    assert forgotten.components[0] == pytest.approx({"0": 0.0, "1": 1.0}, abs=1e-6)


# FrequentDirections


@pytest.mark.parametrize("order", ["as they come", "sorted", "reversed", "repeated"])
@pytest.mark.parametrize("size", [1, 3, 8])
def test_the_bound_holds_after_every_row(order: str, size: int) -> None:
    X = blobs(150, 10) - 10.0
    if order != "as they come":
        X = X[np.argsort(np.linalg.norm(X, axis=1))]
    X = {"reversed": X[::-1], "repeated": np.repeat(X[:30], 5, axis=0)}.get(order, X)
    sketch = decomposition.FrequentDirections(1, size)
    for n in range(1, len(X) + 1):
        sketch.learn_many(X[n - 1 : n])
        B = matrix(sketch.sketch)
        assert len(B) <= 2 * size
        gap = np.linalg.eigvalsh(X[:n].T @ X[:n] - B.T @ B)
        squares = np.sum(X[:n] ** 2)
        rounding = 1e-10 * squares
        assert sketch.squared_norm == pytest.approx(squares)
        assert gap[0] >= -rounding
        assert gap[-1] <= sketch.error_bound + rounding
        assert sketch.error_bound <= squares / (size + 1) + rounding


def test_merged_sketches_keep_the_bound() -> None:
    X = blobs(640, 12) - 10.0
    parts = []
    for start in range(0, 640, 10):
        part = decomposition.FrequentDirections(2, 6)
        part.learn_many(X[start : start + 10])
        parts.append(part)
    while len(parts) > 1:
        for left, right in zip(parts[::2], parts[1::2], strict=True):
            left.merge(right)
        parts = parts[::2]
    B = matrix(parts[0].sketch)
    gap = np.linalg.eigvalsh(X.T @ X - B.T @ B)
    assert parts[0].learned == 640
    assert gap[0] >= -1e-8
    assert gap[-1] <= parts[0].error_bound + 1e-8
    assert parts[0].error_bound <= np.sum(X**2) / 7


def test_a_sketch_smaller_than_the_number_of_components_is_refused() -> None:
    with pytest.raises(InvalidValue, match="sketch_size must be at least n_components = 3, got 2"):
        decomposition.FrequentDirections(3, 2)


# DictionaryLearning


def _same_dictionary(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(matrix(ours.components), theirs.components_, atol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("k", "alpha", "size"), [(5, 0.5, 40), (12, 0.1, 25)])
def test_dictionary_learning_is_that_of_scikit_learn_after_each_batch(k: int, alpha: float, size: int) -> None:
    X = blobs(16 * size, 8) - 10.0
    ours = decomposition.DictionaryLearning(k, l1=alpha, batch_size=size)
    # Their first dictionary is a randomised decomposition; ours is exact.
    _, values, vectors = np.linalg.svd(X[:size], full_matrices=False)
    largest = np.take_along_axis(vectors, abs(vectors).argmax(axis=1)[:, None], axis=1)
    start = values[:, None] * vectors * np.sign(largest)
    start = np.vstack([start[:k], np.zeros((max(0, k - len(start)), 8))])
    theirs = sklearn.MiniBatchDictionaryLearning(
        k, alpha=alpha, fit_algorithm="cd", dict_init=start.copy(), transform_algorithm="lasso_cd"
    )
    first = 0
    for batch in range(16):
        rows = X[batch * size : (batch + 1) * size]
        ours.learn_many(rows)
        theirs.partial_fit(rows)
        if k > 8 and batch < 10:
            # Unused atoms are replaced at random: continue from ours, until all are used.
            first = batch + 1
            theirs.components_[:] = matrix(ours.components)
            theirs._A[:], theirs._B[:] = _sums(ours, k, 8)
            continue
        _same_dictionary(ours, theirs)
    assert first in (0, 10)
    np.testing.assert_allclose(ours.transform_many(X[:50]), theirs.transform(X[:50]), atol=1e-5)


def _sums(model: Any, k: int, width: int) -> tuple[Any, Any]:
    shown = model.inspect()
    return np.array(shown["squares"]).reshape(k, k), matrix(shown["products"]).reshape(k, width).T


def test_there_may_be_more_atoms_than_rows_and_features() -> None:
    X = blobs(100, 3)
    model = decomposition.DictionaryLearning(20, l1=0.1, batch_size=5)
    model.learn_many(X)
    atoms = matrix(model.components)
    assert atoms.shape == (20, 3)
    assert np.all(np.linalg.norm(atoms, axis=1) <= 1 + 1e-12)
    codes = model.transform_many(X)
    assert np.mean(codes == 0) > 0.6
    assert np.abs(codes @ atoms - X).max() < 0.5


# NMF


@pytest.mark.parametrize(("k", "size"), [(3, 50), (6, 20)])
def test_nmf_is_that_of_scikit_learn_after_each_batch(k: int, size: int) -> None:
    random = np.random.default_rng(4)
    X = random.gamma(1.0, size=(12 * size, 4)) @ random.gamma(0.5, size=(4, 10))
    ours, theirs = decomposition.NMF(k, batch_size=size), sklearn.MiniBatchNMF(k, batch_size=size)
    # The same start: ours after the first batch.
    ours.learn_many(X[:size])
    theirs.partial_fit(X[:size])
    shown = ours.inspect()
    theirs.components_[:] = matrix(shown["components"])
    theirs._components_numerator[:] = matrix(shown["numerators"])
    theirs._components_denominator[:] = matrix(shown["denominators"])
    for start in range(size, len(X), size):
        ours.learn_many(X[start : start + size])
        theirs.partial_fit(X[start : start + size])
        np.testing.assert_allclose(matrix(ours.components), theirs.components_, atol=1e-6, rtol=1e-6)
    for x in X[:20]:
        expected = theirs.transform(x[None, :])[0]
        np.testing.assert_allclose(list(ours.transform_one(dict(enumerate(x))).values()), expected, rtol=1e-6)


# LDA


class _SameGuess(sklearn.LatentDirichletAllocation):
    """Starts each document with the same guess, as in `transform`, not with a random one."""

    def _e_step(self, X: Any, cal_sstats: bool, random_init: bool, parallel: Any = None) -> Any:
        return super()._e_step(X, cal_sstats, False, parallel)


def documents(n: int, width: int = 40, seed: int = 6) -> Any:
    random = np.random.default_rng(seed)
    topics = random.dirichlet(np.full(width, 0.1), size=4)
    mixtures = random.dirichlet(np.full(4, 0.3), size=n)
    return np.array([random.multinomial(30, mixture @ topics) for mixture in mixtures]).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("total", [1e6, 500.0])
def test_lda_is_that_of_scikit_learn_after_each_batch(total: float) -> None:
    X, size, k = documents(240), 24, 5
    ours = decomposition.LDA(k, batch_size=size, total_samples=total)
    theirs = _SameGuess(k, batch_size=size, total_samples=total, random_state=1)
    # The same start: ours after the first batch.
    ours.learn_many(X[:size])
    theirs.partial_fit(X[:size])
    theirs.components_[:] = matrix(ours.components)
    theirs.exp_dirichlet_component_ = np.exp(_expected_log(theirs.components_))
    for start in range(size, len(X), size):
        ours.learn_many(X[start : start + size])
        theirs.partial_fit(X[start : start + size])
        np.testing.assert_allclose(matrix(ours.components), theirs.components_, rtol=1e-5)
    np.testing.assert_allclose(ours.transform_many(X), theirs.transform(X), atol=1e-5)


def _expected_log(topics: Any) -> Any:
    from scipy.special import psi

    return psi(topics) - psi(topics.sum(axis=1, keepdims=True))


def test_lda_finds_the_topics() -> None:
    X = documents(3000)
    lda = decomposition.LDA(4, batch_size=50)
    lda.learn_many(X)
    found = matrix(lda.components)
    found /= found.sum(axis=1, keepdims=True)
    random = np.random.default_rng(6)
    truth = random.dirichlet(np.full(40, 0.1), size=4)
    near = [min(np.abs(topic - other).sum() for other in found) for topic in truth]
    assert max(near) < 0.3


def test_the_vocabulary_grows() -> None:
    lda = decomposition.LDA(2, batch_size=2, max_words=6)
    for words in (["a", "b"], ["b", "c"], ["d"], ["a", "e"], ["f"]):
        lda.learn_one(dict.fromkeys(words, 1.0))
    assert lda.features == ["a", "b", "c", "d", "e", "f"]
    # f waits for its batch.
    assert set(lda.components[0]) == {"a", "b", "c", "d", "e"}
    before = lda.to_bytes()
    with pytest.raises(InvalidValue, match=r"decomposition.LDA: supports up to 6 features .* got 7"):
        lda.learn_one({"g": 1.0})
    assert lda.to_bytes() == before
    assert sum(lda.transform_one({"a": 2.0, "never seen": 1.0}).values()) == pytest.approx(1.0)
    revived = millstream.from_bytes(lda.to_bytes())
    for model in (lda, revived):
        model.learn_one({"a": 1.0})
    assert revived.to_bytes() == lda.to_bytes()
    assert set(lda.components[0]) == {"a", "b", "c", "d", "e", "f"}


def test_topics_of_nominal_values() -> None:
    lda = decomposition.LDA(2, batch_size=4)
    lda.learn_many([{"colour": "red", "size": 1.0}, {"colour": "blue"}] * 4)
    assert {word for words in lda.top_words() for word in words} == {"colour=red", "colour=blue", "size"}


# Counts


@pytest.mark.parametrize("kind", [decomposition.NMF, decomposition.LDA])
def test_negative_numbers_are_refused_and_change_nothing(kind: Any) -> None:
    model = kind(n_components=2, batch_size=3)
    model.learn_many(documents(7, 5))
    before = model.to_bytes()
    for work in (lambda: model.learn_one({0: 1.0, 1: -2.0}), lambda: model.transform_one({0: -2.0})):
        with pytest.raises(InvalidValue, match=rf"decomposition.{kind.__name__}: numbers must be >= 0, got -2"):
            work()
    with pytest.raises(InvalidValue, match="row 1: .* numbers must be >= 0, got -1"):
        model.learn_many(np.array([[1.0], [-1.0]]))
    assert model.to_bytes() == before
    assert model.learn_many(np.array([[1.0], [-1.0], [2.0]]), on_error="skip") == 1
    assert model.learned == 9


@pytest.mark.parametrize("kind", [decomposition.NMF, decomposition.LDA, decomposition.DictionaryLearning])
def test_batches_are_numbers_of_rows(kind: Any) -> None:
    X = documents(64, 6)
    whole = kind(n_components=3, batch_size=10)
    whole.learn_many(X)
    one = kind(n_components=3, batch_size=10)
    for x in X.tolist():
        one.learn_one(dict(enumerate(x)))
    assert one.to_bytes() == whole.to_bytes()
    for split in (1, 9, 10, 33):
        part = kind(n_components=3, batch_size=10)
        part.learn_many(X[:split])
        part = millstream.from_bytes(part.to_bytes())
        part.learn_many(X[split:])
        assert part.to_bytes() == whole.to_bytes()
        np.testing.assert_array_equal(part.transform_many(X), whole.transform_many(X))
