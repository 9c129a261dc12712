"""Hashing, random projections, products and feature selection, compared with scikit-learn and River."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
import river.feature_extraction
import river.feature_selection
import river.preprocessing
import river.stats

import millstream
from millstream import compose, errors, feature_extraction, feature_selection, linear_model, stats
from millstream.feature_extraction import PolynomialExtender
from millstream.feature_selection import PoissonInclusion, SelectKBest, VarianceThreshold
from millstream.preprocessing import FeatureHasher, GaussianRandomProjector, SparseRandomProjector, StandardScaler

pytestmark = pytest.mark.linear_algebra


def _mixed(count: int, seed: int = 0) -> list[dict[str, Any]]:
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        x: dict[str, Any] = {f"name {name}": float(value) for name, value in enumerate(random.normal(size=5))}
        x["colour"] = random.choice(["red", "grün", ""]).item()
        x["count"] = int(random.integers(0, 3))
        x["flag"] = bool(random.integers(2))
        rows.append({name: x[name] for name in random.permutation(list(x)).tolist()[:6]})
    return rows


class TestFeatureHasher:
    @pytest.mark.parametrize(("n_features", "alternate_sign"), [(2**20, True), (37, True), (8, False), (1, True)])
    def test_equal_to_scikit_learn(self, n_features: int, alternate_sign: bool) -> None:
        from sklearn.feature_extraction import FeatureHasher as Theirs

        rows = _mixed(200)
        ours = FeatureHasher(n_features, alternate_sign=alternate_sign)
        theirs = Theirs(n_features, alternate_sign=alternate_sign).transform(rows)
        theirs.sort_indices()
        found = ours.transform_many(rows)
        assert found.width == n_features
        assert np.array_equal(found.starts, theirs.indptr)
        assert np.array_equal(found.indices, theirs.indices)
        assert np.array_equal(found.values, theirs.data)

    @pytest.mark.parametrize("seed", [0, 1, 42, 2**32 - 1])
    def test_equal_to_river_with_a_seed(self, seed: int) -> None:
        ours, theirs = FeatureHasher(50, seed=seed), river.preprocessing.FeatureHasher(50, seed=seed)
        for x in _mixed(50):
            x.pop("count", None), x.pop("flag", None)
            assert ours.transform_one(x) == pytest.approx(theirs.transform_one(x), abs=1e-15)

    def test_a_pipeline_learns_what_the_hashed_rows_teach(self) -> None:
        rows = _mixed(120)
        y = [x.get("colour") == "red" for x in rows]
        hashed = FeatureHasher(64).transform_many(rows)
        alone = linear_model.LogisticRegression()
        alone.learn_many(hashed, y)
        for learn in ("one", "many"):
            model = FeatureHasher(64) | linear_model.LogisticRegression()
            if learn == "many":
                model.learn_many(rows, y)
            else:
                for x, target in zip(rows, y, strict=True):
                    model.learn_one(x, target)
            got = model.predict_proba_many(rows)
            wanted = alone.predict_proba_many(hashed)
            np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-12)
            revived = millstream.from_bytes(model.to_bytes())
            assert revived.predict_proba_one(rows[0]) == model.predict_proba_one(rows[0])

    def test_one_is_many_and_frames_are_rows(self) -> None:
        import pandas

        frame = pandas.DataFrame({"a": [1.0, math.nan, 3.0], "b": ["x", None, "y"], 3: [0, 1, 2]})
        hasher = FeatureHasher(100)
        many = hasher.transform_many(frame)
        rows = [{"a": 1.0, "b": "x", 3: 0}, {"3": 1}, {"a": 3.0, "b": "y", "3": 2}]
        for row, x in enumerate(rows):
            start, end = many.starts[row], many.starts[row + 1]
            assert hasher.transform_one(x) == dict(
                zip(many.indices[start:end].tolist(), many.values[start:end].tolist(), strict=True)
            )

    @pytest.mark.parametrize(
        "wrap",
        [
            lambda hasher: compose.Pipeline([hasher]),
            lambda hasher: hasher | compose.Select(pattern="*"),
            lambda hasher: compose.Union([hasher]),
        ],
        ids=["Pipeline", "| Select", "Union"],
    )
    def test_rows_stay_sparse_in_wrappers(self, wrap: Any) -> None:
        X = np.random.default_rng(2).normal(size=(20, 3))
        x = dict(enumerate(X[0].tolist()))
        alone, model = FeatureHasher(2**20), wrap(FeatureHasher(2**20))
        model.learn_many(X)
        found, expected = model.transform_many(X), alone.transform_many(X)
        assert found.width == 2**20
        for name in ("starts", "indices", "values"):
            assert np.array_equal(getattr(found, name), getattr(expected, name))
        assert model.transform_one(x) == alone.transform_one(x)

    def test_rows_are_dense_beside_features_with_names(self) -> None:
        X = np.random.default_rng(2).normal(size=(20, 3))
        both = compose.Union([FeatureHasher(8), StandardScaler()])
        both.learn_many(X)
        assert both.transform_many(X).shape == (20, 11)
        assert len(both.transform_one(dict(enumerate(X[0].tolist())))) == 11

    def test_bad_input(self) -> None:
        with pytest.raises(errors.InvalidValue, match=r"^preprocessing.FeatureHasher: n_features must be"):
            FeatureHasher(0)
        hasher = FeatureHasher(10)
        with pytest.raises(ValueError, match="feature 'a' must be finite or missing, got inf"):
            hasher.transform_one({"a": math.inf})
        with pytest.raises(TypeError):
            hasher.transform_one({"a": [1]})
        with pytest.raises(TypeError):
            hasher.transform_one("text")  # type: ignore[arg-type]
        assert hasher.transform_one({}) == {}

    def test_copies(self) -> None:
        hasher = FeatureHasher(10, seed=3, alternate_sign=False)
        x = {"a": 1.0, "b": 2.0}
        for again in (copy.deepcopy(hasher), pickle.loads(pickle.dumps(hasher)), hasher.clone()):
            assert again.transform_one(x) == hasher.transform_one(x)


PROJECTORS = [GaussianRandomProjector, SparseRandomProjector]


class TestRandomProjection:
    @pytest.mark.parametrize("kind", PROJECTORS)
    def test_distances_of_1000_pairs(self, kind: Any) -> None:
        """With k columns, the relative error of a squared distance has variance 2/k (Gaussian)."""
        random = np.random.default_rng(1)
        X = random.normal(size=(2000, 300))
        k = 400
        Y = kind(k, seed=5).transform_many(X)
        assert Y.shape == (2000, k)
        before = np.sum((X[:1000] - X[1000:]) ** 2, axis=1)
        after = np.sum((Y[:1000] - Y[1000:]) ** 2, axis=1)
        ratio = after / before
        # All pairs share one matrix; the bound of the lemma for 1,000 pairs is 1 ± √(8 ln 1000 / k).
        assert np.abs(ratio - 1.0).max() < math.sqrt(8 * math.log(1000) / k)
        assert abs(ratio.mean() - 1.0) < 0.05
        assert 0.7 < ratio.std() / math.sqrt(2 / k) < 1.3

    @pytest.mark.parametrize("kind", PROJECTORS)
    def test_columns_are_functions_of_names(self, kind: Any) -> None:
        x = {"a": 1.5, "b": -2.0, "colour": "red"}
        fresh = kind(4, seed=3).transform_one(x)
        assert list(fresh) == [0, 1, 2, 3]
        other = kind(4, seed=3)
        for row in ({"z": 1.0, "colour": "blue"}, {"b": 2.0}, {"a": 1.0, "colour": "red"}):
            other.learn_one(row)
        assert other.transform_one(dict(reversed(x.items()))) == pytest.approx(fresh, rel=1e-14)
        parts = [kind(4, seed=3).transform_one({name: value}) for name, value in x.items()]
        assert {i: sum(part[i] for part in parts) for i in fresh} == pytest.approx(fresh, rel=1e-12)
        assert kind(4, seed=4).transform_one(x) != fresh
        assert kind(4, seed=3).transform_one({**x, "missing": None}) == fresh
        assert kind(4, seed=3).transform_one({}) == dict.fromkeys(range(4), 0.0)

    def test_density(self) -> None:
        X = np.eye(2000)
        Y = SparseRandomProjector(20, density=0.05, seed=1).transform_many(X)
        assert abs((Y != 0).mean() - 0.05) < 0.005
        assert np.unique(np.abs(Y)) == pytest.approx([0.0, 1.0])
        assert abs(Y.sum()) < 150
        Z = GaussianRandomProjector(20, seed=1).transform_many(X)
        assert abs(Z.std() * math.sqrt(20) - 1.0) < 0.02

    @pytest.mark.parametrize("kind", PROJECTORS)
    def test_rows_beyond_the_cache_are_the_same(self, kind: Any) -> None:
        from scipy import sparse

        width, k = 1000, 2000
        X = sparse.random(20, width, density=0.02, random_state=1, format="csr")
        Y = kind(k, seed=1).transform_many(X)
        # Columns 524 to 999 are drawn again for each row.
        for row in (0, 7):
            entries = {int(i): float(v) for i, v in zip(X[row].indices, X[row].data, strict=True)}
            wanted = kind(k, seed=1).transform_one(entries)
            assert Y[row].tolist() == pytest.approx(list(wanted.values()), rel=1e-12, abs=1e-12)

    def test_in_a_pipeline(self) -> None:
        random = np.random.default_rng(2)
        X = random.normal(size=(400, 30))
        y = X[:, 0] + X[:, 1]
        model = GaussianRandomProjector(20, seed=1) | linear_model.RLS()
        one = model.clone()
        model.learn_many(X, y)
        for row, target in zip(X, y.tolist(), strict=True):
            one.learn_one(dict(enumerate(row.tolist())), target)
        assert one.to_bytes() == model.to_bytes()
        revived = millstream.from_bytes(model.to_bytes())
        assert revived.predict_many(X).tolist() == model.predict_many(X).tolist()


class TestPolynomialExtender:
    @pytest.mark.parametrize("degree", [1, 2, 3])
    @pytest.mark.parametrize("interaction_only", [False, True])
    def test_equal_to_river(self, degree: int, interaction_only: bool) -> None:
        options: dict[str, Any] = {"degree": degree, "interaction_only": interaction_only, "include_bias": True}
        ours, theirs = PolynomialExtender(**options), river.feature_extraction.PolynomialExtender(**options)
        random = np.random.default_rng(0)
        for _ in range(5):
            x = dict(zip("cabd", random.normal(size=4).tolist(), strict=True))
            ours.learn_one(x)
            found = ours.transform_one(x)
            assert found == theirs.transform_one(x)
            assert list(found) == list(theirs.transform_one(x))

    def test_equal_to_scikit_learn(self) -> None:
        from sklearn.preprocessing import PolynomialFeatures

        X = np.random.default_rng(1).normal(size=(50, 4))
        theirs = PolynomialFeatures(3, include_bias=False).fit_transform(X)
        np.testing.assert_allclose(PolynomialExtender(3).transform_many(X), theirs, rtol=1e-13)

    def test_outputs_keep_their_place(self) -> None:
        model = PolynomialExtender() | linear_model.LinearRegression()
        alone = PolynomialExtender()
        alone.learn_one({"a": 1.0, "b": 2.0})
        before = list(alone.transform_one({"a": 1.0, "b": 2.0}))
        alone.learn_one({"c": 3.0, "colour": "red"})
        after = alone.transform_one({"a": 1.0, "b": 2.0, "c": 3.0, "colour": "red"})
        assert list(after)[: len(before)] == before
        assert after["a*c"] == 3.0
        assert after["colour"] == "red"
        assert alone.transform_one({"c": 3.0}) == {"c": 3.0, "c*c": 9.0}
        for x in ({"a": 1.0}, {"a": 2.0, "b": 1.0}, {"b": 1.0}):
            model.learn_one(x, 1.0)
        assert set(model["LinearRegression"].inspect()["weights"]) == {"a", "a*a", "b", "a*b", "b*b"}

    def test_too_many_products(self) -> None:
        model = PolynomialExtender(4)
        wide = dict.fromkeys(range(200), 1.0)
        before = model.to_bytes()
        for call in (model.learn_one, model.transform_one):
            with pytest.raises(
                errors.InvalidValue, match=r"PolynomialExtender: supports up to 1048576 output feat"
            ):
                call(wide)
        assert model.to_bytes() == before

    def test_merge(self) -> None:
        a, b = PolynomialExtender(), PolynomialExtender()
        a.learn_one({"x": 1.0})
        b.learn_one({"y": 1.0})
        a.merge(b)
        assert list(a.transform_one({"x": 2.0, "y": 3.0})) == ["x", "x*x", "y", "x*y", "y*y"]


def _regression(count: int = 300) -> tuple[Any, Any]:
    random = np.random.default_rng(5)
    X = random.normal(size=(count, 6)) * [1, 5, 0.1, 2, 1, 1]
    return X, X @ [1.0, -0.4, 3.0, 0.0, 0.1, 0.0] + random.normal(size=count)


class TestSelectKBest:
    @pytest.mark.parametrize("use_abs", [False, True])
    @pytest.mark.parametrize("similarity", ["PearsonCorr", "Cov"])
    def test_equal_to_river(self, use_abs: bool, similarity: str) -> None:
        X, y = _regression()
        ours = SelectKBest(getattr(stats, similarity)(), k=2, use_abs=use_abs)
        theirs = river.feature_selection.SelectKBest(getattr(river.stats, similarity)(), k=2, use_abs=use_abs)
        for row, (values, target) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
            x = dict(enumerate(values))
            ours.learn_one(x, target)
            theirs.learn_one(x, target)
            # An undefined correlation is 0 in River.
            if row > 1:
                assert ours.transform_one(x) == theirs.transform_one(x)
        assert ours.leaderboard == pytest.approx(theirs.leaderboard, rel=1e-9)

    def test_many_is_one_and_learns_in_a_pipeline(self) -> None:
        X, y = _regression()
        one, many = SelectKBest(k=2), SelectKBest(k=2)
        pipeline = SelectKBest(k=2) | linear_model.RLS()
        for values, target in zip(X.tolist(), y.tolist(), strict=True):
            one.learn_one(dict(enumerate(values)), target)
        for start in range(0, len(X), 70):
            many.learn_many(X[start : start + 70], y[start : start + 70])
        pipeline.learn_many(X, y)
        assert many.to_bytes() == one.to_bytes()
        assert pipeline["SelectKBest"].leaderboard == one.leaderboard
        found = many.transform_many(X[:3])
        kept = [name for name, selected in one.inspect()["features"].items() if selected["selected"]]
        assert [str(column) for column in range(6) if not np.isnan(found[0, column])] == sorted(kept)

    def test_classes(self) -> None:
        X, y = _regression()
        theirs = river.feature_selection.SelectKBest(river.stats.PearsonCorr(), k=2)
        ours, texts, many = SelectKBest(k=2), SelectKBest(k=2), SelectKBest(k=2)
        for values, label in zip(X.tolist(), (y > 0).tolist(), strict=True):
            x = dict(enumerate(values))
            ours.learn_one(x, label)
            theirs.learn_one(x, label)
        assert ours.leaderboard == pytest.approx(theirs.leaderboard, rel=1e-9)
        many.learn_many(X, y > 0)
        assert many.to_bytes() == ours.to_bytes()
        labels = np.where(y < -1, "low", np.where(y > 1, "high", "middle"))
        texts.learn_many(X, labels.tolist())
        wanted = {
            column: max(abs(np.corrcoef(X[:, column], labels == label)[0, 1]) for label in set(labels.tolist()))
            for column in range(6)
        }
        assert texts.leaderboard == pytest.approx(wanted, rel=1e-9)
        model = SelectKBest(k=2) | linear_model.SoftmaxRegression()
        model.learn_many(X, labels)
        assert model["SelectKBest"].leaderboard == pytest.approx(wanted, rel=1e-9)

    def test_a_refused_row_changes_nothing(self) -> None:
        X, y = _regression(20)
        model = SelectKBest(k=2) | linear_model.RLS()
        model.learn_many(X, y)
        selector = SelectKBest(k=2)
        selector.learn_many(X, y)
        for part, call in (
            (model, lambda: model.learn_one({0: 1e200, 1: 1e200}, 1e200)),
            (selector, lambda: selector.learn_one({0: 1.0}, math.nan)),
            (selector, lambda: selector.learn_one({0: 1.0}, "label")),
            (selector, lambda: selector.learn_one({0: 1e200}, 1e300)),
            (selector, lambda: selector.learn_many([{0: 1.0}, {0: 2.0}], [1.0, math.inf])),
        ):
            before = part.to_bytes()
            with pytest.raises((ValueError, TypeError, ArithmeticError)):
                call()
            assert part.to_bytes() == before
        # Without a target there is nothing to learn from.
        before = selector.inspect()
        selector.learn_one({0: 5.0})
        assert selector.inspect() == before

    def test_statistics_of_one_variable_are_refused(self) -> None:
        with pytest.raises(
            errors.InvalidValue, match=r"SelectKBest: similarity must be a statistic of two variab"
        ):
            SelectKBest(stats.Mean())

    def test_merge(self) -> None:
        X, y = _regression(100)
        whole, first, second = SelectKBest(k=2), SelectKBest(k=2), SelectKBest(k=2)
        whole.learn_many(X, y)
        first.learn_many(X[:30], y[:30])
        second.learn_many(X[30:], y[30:])
        first.merge(second)
        assert first.leaderboard == pytest.approx(whole.leaderboard, rel=1e-9)


class TestVarianceThreshold:
    @pytest.mark.parametrize("threshold", [0.0, 0.5, 2.0])
    def test_equal_to_river(self, threshold: float) -> None:
        X, _ = _regression()
        X[:, 4] = 7.0
        ours = VarianceThreshold(threshold)
        theirs = river.feature_selection.VarianceThreshold(threshold)
        for values in X.tolist():
            x = dict(enumerate(values))
            assert ours.transform_one(x) == theirs.transform_one(x)
            ours.learn_one(x)
            theirs.learn_one(x)
        variances = {name: variance.get() for name, variance in theirs.variances.items()}
        assert ours.variances == pytest.approx(variances, rel=1e-9, abs=1e-12)
        many = VarianceThreshold(threshold)
        many.learn_many(X)
        assert many.to_bytes() == ours.to_bytes()
        found = many.transform_many(X)
        assert np.isnan(found).any(axis=0).tolist() == [value <= threshold for value in variances.values()]

    def test_weights_and_merge(self) -> None:
        X, _ = _regression(60)
        weighted, repeated = VarianceThreshold(), VarianceThreshold()
        weighted.learn_many(X, w=np.full(60, 2.0))
        repeated.learn_many(np.repeat(X, 2, axis=0))
        assert weighted.variances == pytest.approx(repeated.variances, rel=1e-12)
        whole, first, second = VarianceThreshold(), VarianceThreshold(), VarianceThreshold()
        whole.learn_many(X)
        first.learn_many(X[:25])
        second.learn_many(X[25:])
        first.merge(second)
        assert first.variances == pytest.approx(whole.variances, rel=1e-12)

    def test_a_large_offset(self) -> None:
        model = VarianceThreshold(0.5)
        for i in range(1000):
            model.learn_one({"x": 1e9 + i % 2})
        assert model.variances["x"] == pytest.approx(0.25025, rel=1e-6)


class TestPoissonInclusion:
    def test_rows_until_inclusion_are_geometric(self) -> None:
        p, count = 0.2, 4000
        selector = PoissonInclusion(p, seed=1)
        X = np.ones((1, count))
        fractions = []
        for _ in range(8):
            selector.learn_many(X)
            fractions.append(float(np.mean(~np.isnan(selector.transform_many(X)))))
        wanted = [1 - (1 - p) ** n for n in range(1, 9)]
        assert fractions == pytest.approx(wanted, abs=0.03)
        assert PoissonInclusion(p, seed=2).included == set()

    def test_transforming_changes_nothing(self) -> None:
        selector = PoissonInclusion(0.5)
        x = {f"feature {i}": 1.0 for i in range(50)}
        assert [selector.transform_one(x) for _ in range(5)] == [{}] * 5
        selector.learn_one(x)
        once = selector.transform_one(x)
        assert 10 < len(once) < 40
        selector.learn_one(x)
        assert set(once) < set(selector.transform_one(x)) == selector.included

    def test_merge_is_the_whole_in_any_order_of_features(self) -> None:
        rows = [{f"f{(i * j) % 17}": 1.0 for j in range(1, 5)} for i in range(60)]
        whole, first, second = (PoissonInclusion(0.3, seed=4) for _ in range(3))
        for x in rows:
            whole.learn_one(x)
        for x in rows[40:]:
            first.learn_one(x)
        for x in rows[:40]:
            second.learn_one(dict(reversed(x.items())))
        first.merge(second)
        assert first.included == whole.included != set()

    def test_all_and_none(self) -> None:
        selector = PoissonInclusion(1.0)
        selector.learn_one({"a": 1.0, "b": 0.0})
        assert selector.transform_one({"a": 2.0, "b": 3.0, "colour": "red"}) == {"a": 2.0, "colour": "red"}
        with pytest.raises(errors.InvalidValue, match="p must be in"):
            PoissonInclusion(0.0)


@pytest.mark.parametrize(
    "build",
    [
        lambda: VarianceThreshold(0.5),
        lambda: SelectKBest(k=2),
        lambda: PoissonInclusion(0.5, seed=3),
    ],
)
def test_a_learner_behind_a_selector(build: Any) -> None:
    """A dropped feature is missing for the learner: dense, sparse, one by one and together agree."""
    from scipy import sparse

    X, y = _regression(120)
    X = np.where(np.abs(X) < 0.05, 0.0, X)
    one, many, thin = (build() | linear_model.LinearRegression() for _ in range(3))
    for values, target in zip(X.tolist(), y.tolist(), strict=True):
        one.learn_one(dict(enumerate(values)), target)
    many.learn_many(X, y)
    thin.learn_many(sparse.csr_matrix(X), y)
    assert many.to_bytes() == one.to_bytes()
    np.testing.assert_allclose(thin.predict_many(sparse.csr_matrix(X)), many.predict_many(X), rtol=1e-9)
    assert millstream.from_bytes(many.to_bytes()).to_bytes() == many.to_bytes()


def test_names_are_where_rivers_users_look() -> None:
    for module, ours in (
        (river.feature_selection, feature_selection),
        (river.feature_extraction, feature_extraction),
    ):
        for name in module.__all__:
            if name not in ("Agg", "TargetAgg", "RBFSampler", "RandomTreesEmbedding"):
                assert hasattr(ours, name), name
