"""The transformers of `preprocessing`: by hand, beside River and scikit-learn, and at the borders."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import millstream
from millstream import linear_model, preprocessing
from millstream.compose import Pipeline
from millstream.errors import InvalidValue, NumericOverflow

pytest.importorskip("river")
from river import preprocessing as river_preprocessing
from river import stats

pytestmark = pytest.mark.linear_algebra


def rows(n: int = 200, seed: int = 1) -> list[dict[str, float]]:
    draw = random.Random(seed)
    return [{"a": draw.gauss(3, 2), "b": draw.expovariate(0.1), "c": float(draw.randint(-4, 2))} for _ in range(n)]


@pytest.mark.parametrize("name", ["StandardScaler", "MinMaxScaler", "MaxAbsScaler"])
def test_scalers_agree_with_river(name: str) -> None:
    ours, theirs = getattr(preprocessing, name)(), getattr(river_preprocessing, name)()
    for x in rows():
        ours.learn_one(x)
        theirs.learn_one(x)
        expected = theirs.transform_one(x)
        got = ours.transform_one(x)
        assert list(got) == list(expected)
        assert list(got.values()) == pytest.approx(list(expected.values()), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["MinMaxScaler", "MaxAbsScaler"])
def test_scalers_of_extremes_are_those_of_scikit_learn_in_the_end(name: str) -> None:
    sklearn = pytest.importorskip("sklearn.preprocessing")
    X = np.array([list(x.values()) for x in rows()])
    scaler = getattr(preprocessing, name)()
    scaler.learn_many(X)
    np.testing.assert_allclose(scaler.transform_many(X), getattr(sklearn, name)().fit(X).transform(X), rtol=1e-12)


def test_min_max_range_and_clip() -> None:
    scaler = preprocessing.MinMaxScaler(low=-1, high=3, clip=True)
    for x in (2.0, 6.0):
        scaler.learn_one({"x": x})
    assert scaler.transform_one({"x": 5.0}) == {"x": 2.0}
    assert scaler.transform_one({"x": 100.0}) == {"x": 3.0}
    assert scaler.transform_one({"x": -100.0}) == {"x": -1.0}
    with pytest.raises(InvalidValue, match="high must be greater than low = 2, got 1"):
        preprocessing.MinMaxScaler(low=2, high=1)


@pytest.mark.parametrize("name", ["MinMaxScaler", "MaxAbsScaler"])
def test_scalers_stay_finite(name: str) -> None:
    scaler = getattr(preprocessing, name)()
    assert scaler.transform_one({"x": 1e308}) == {"x": 0.0}
    scaler.learn_one({"x": 1e-300})
    scaler.learn_one({"x": 2e-300})
    for x in (1e308, -1e308):
        assert math.isfinite(scaler.transform_one({"x": x})["x"])


def test_min_max_refuses_a_range_that_overflows() -> None:
    scaler = preprocessing.MinMaxScaler()
    scaler.learn_one({"x": 1.7e308, "y": 1.0})
    before = scaler.to_bytes()
    with pytest.raises(NumericOverflow):
        scaler.learn_one({"y": 5.0, "z": 1.0, "x": -1.7e308})
    assert scaler.to_bytes() == before


def test_max_abs_keeps_sparse_rows_sparse_and_equal() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.random(60, 40, density=0.1, random_state=3, format="csr")
    dense, thin = preprocessing.MaxAbsScaler(), preprocessing.MaxAbsScaler()
    dense.learn_many(X.toarray())
    thin.learn_many(X)
    np.testing.assert_array_equal(dense.transform_many(X.toarray()), thin.transform_many(X))
    assert dense.to_bytes() == thin.to_bytes()


CARRIERS = ["UA", "DL", "AA", "WN"]


def flights(n: int = 100, seed: int = 2) -> list[dict[str, object]]:
    draw = random.Random(seed)
    return [
        {"carrier": draw.choice(CARRIERS), "origin": draw.choice("xyz"), "distance": draw.random()}
        for _ in range(n)
    ]


def test_one_hot_agrees_with_river_on_nominal_features() -> None:
    ours, theirs = preprocessing.OneHotEncoder(), river_preprocessing.OneHotEncoder()
    for x in flights():
        x = {k: v for k, v in x.items() if k != "distance"}
        ours.learn_one(x)
        theirs.learn_one(x)
        assert ours.transform_one(x) == theirs.transform_one(x)


def test_one_hot_agrees_with_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.preprocessing")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(flights())[["carrier", "origin"]]
    ours = preprocessing.OneHotEncoder()
    ours.learn_many(frame)
    theirs = sklearn.OneHotEncoder(sparse_output=False, handle_unknown="ignore").fit(frame)
    names = list(theirs.get_feature_names_out())
    strange = pandas.DataFrame({"carrier": ["UA", "never"], "origin": ["x", "z"]})
    for given in (frame, strange):
        got = ours.transform_many(given)
        np.testing.assert_array_equal(got[names].to_numpy(), theirs.transform(given))


def test_one_hot_passes_numbers_through_and_keeps_places() -> None:
    encoder = preprocessing.OneHotEncoder()
    encoder.learn_one({"c": "u", "n": 1.0})
    encoder.learn_one({"c": "v", "m": 2.0})
    assert encoder.transform_one({"c": "v", "n": 5.0}) == {"c_u": 0.0, "n": 5.0, "c_v": 1.0}
    assert list(encoder.transform_one({"c": "u", "m": 1.0, "n": 2.0})) == ["c_u", "n", "c_v", "m"]
    assert encoder.transform_one({"c": "never"}) == {"c_u": 0.0, "c_v": 0.0}
    assert encoder.transform_one({"new": 3.0}) == {"c_u": 0.0, "c_v": 0.0, "new": 3.0}
    assert encoder.inspect() == {"output": ["c_u", "n", "c_v", "m"]}


def test_one_hot_drops() -> None:
    encoder = preprocessing.OneHotEncoder(drop_zeros=True, drop_first=True)
    for c in "uvw":
        encoder.learn_one({"c": c})
    assert encoder.transform_one({"c": "u"}) == {}
    assert encoder.transform_one({"c": "w"}) == {"c_w": 1.0}
    assert preprocessing.OneHotEncoder(drop_first=True).transform_one({"c": "w"}) == {}


def test_one_hot_of_many_values_is_sparse_inside_and_the_same_outside() -> None:
    encoder = preprocessing.OneHotEncoder()
    draw = random.Random(5)
    for _ in range(300):
        encoder.learn_one({"c": f"v{draw.randint(0, 80)}", "n": draw.random()})
    z = encoder.transform_one({"c": "v7", "n": 0.5})
    assert len(z) == len(encoder.inspect()["output"])
    assert {name: value for name, value in z.items() if value} == {"c_v7": 1.0, "n": 0.5}


def test_one_hot_names_that_collide_stay_apart() -> None:
    encoder = preprocessing.OneHotEncoder()
    encoder.learn_one({"c_u": 7.0, "c": "u"})
    assert encoder.transform_one({"c_u": 7.0, "c": "u"}) == {"c_u": 7.0, "c_u_2": 1.0}


def test_one_hot_in_front_of_a_linear_model_learns_what_the_model_learns_by_itself() -> None:
    alone = linear_model.LogisticRegression()
    encoded = preprocessing.OneHotEncoder() | linear_model.LogisticRegression()
    for x in flights(300):
        y = x["carrier"] in ("UA", "AA")
        assert alone.predict_proba_one(x) == pytest.approx(encoded.predict_proba_one(x), rel=1e-12)
        alone.learn_one(x, y)
        encoded.learn_one(x, y)


def test_imputer_agrees_with_river() -> None:
    theirs = river_preprocessing.StatImputer(("a", stats.Mean()), ("b", stats.Mode()))
    ours = preprocessing.Imputer()
    draw = random.Random(9)
    for _ in range(200):
        x = {
            "a": None if draw.random() < 0.3 else draw.gauss(0, 1),
            "b": None if draw.random() < 0.3 else draw.choice("pqrs"),
        }
        ours.learn_one(x)
        theirs.learn_one(x)
        expected, got = theirs.transform_one(x), ours.transform_one(x)
        if expected["b"] is not None and ours.inspect()["fill"]["b"] is not None:
            assert got["b"] == expected["b"]
        if "a" in got:
            assert got["a"] == pytest.approx(expected["a"], rel=1e-9)


def test_imputer_strategies() -> None:
    stream = [{"a": 1.0, "b": "u"}, {"a": 5.0, "b": "v"}, {"a": 3.0, "b": "v"}, {"a": 4.0, "b": "u"}]
    expected = {
        ("mean", "most_frequent"): {"a": 3.25, "b": "u"},
        ("previous", "previous"): {"a": 4.0, "b": "u"},
        ("constant", "constant"): {"a": -9.0, "b": "gone"},
        ("none", "none"): {},
    }
    for (strategy, nominal), filled in expected.items():
        imputer = preprocessing.Imputer(strategy, -9.0, nominal, "gone")
        for x in stream:
            imputer.learn_one(x)
        assert imputer.transform_one({}) == filled
        assert imputer.transform_one({"a": math.nan, "b": None}) == filled
        assert imputer.transform_one({"a": 7.0, "b": "v"}) == {"a": 7.0, "b": "v"}


def test_imputer_constant_keeps_the_meaning_of_codes() -> None:
    imputer = preprocessing.Imputer(nominal_strategy="constant", nominal_fill_value="gone")
    seen = []
    for b in ("u", "v", "gone", "w", None, "x", "gone", "u"):
        imputer.learn_one({"b": b})
        seen.append(b)
        for value in seen:
            assert imputer.transform_one({"b": value}) == {"b": value or "gone"}
    again = millstream.from_bytes(imputer.to_bytes())
    for value in seen:
        assert again.transform_one({"b": value}) == {"b": value or "gone"}


def test_imputed_rows_reach_the_next_step_whole() -> None:
    model = preprocessing.Imputer() | preprocessing.StandardScaler() | linear_model.LogisticRegression()
    draw = random.Random(4)
    for _ in range(300):
        y = draw.random() < 0.5
        x = {"a": draw.gauss(2.0 * y, 1.0), "b": draw.choice("pq")}
        if draw.random() < 0.2:
            del x["a"]
        model.learn_one(x, y)
    assert model.predict_proba_one({"a": 3.0})[True] > 0.6 > model.predict_proba_one({"a": -1.0})[True]


def test_a_refused_example_is_taken_back_by_every_step() -> None:
    steps = [
        preprocessing.Imputer(nominal_strategy="constant"),
        preprocessing.OneHotEncoder(),
        preprocessing.MaxAbsScaler(),
        preprocessing.MinMaxScaler(),
        preprocessing.StandardScaler(),
    ]
    model = Pipeline([*steps, linear_model.LogisticRegression()])
    for n in range(20):
        model.learn_one({"a": float(n), "b": "uv"[n % 2]}, n % 2)
    before = model.to_bytes()
    with pytest.raises((ValueError, TypeError)):
        model.learn_one({"a": 3.0, "b": "new", "fresh": math.inf}, 1)
    with pytest.raises((ValueError, TypeError)):
        model.learn_one({"a": 3.0, "b": "new", "fresh": 1.0}, "a third class")
    assert model.to_bytes() == before


@pytest.mark.parametrize("name", millstream.find(role="transformer"))
def test_many_is_one_many_times_with_missing_and_nominal_values(name: str) -> None:
    if not name.startswith("preprocessing"):
        pytest.skip("not of this module")
    if name == "preprocessing.FeatureHasher":
        pytest.skip("transform_many gives a sparse matrix: see tests/test_features.py")
    pandas = pytest.importorskip("pandas")
    draw = random.Random(8)
    data = [
        {"a": draw.choice([None, 1.5, 2.5, -3.0]), "b": draw.choice(["u", "v", None]), "c": draw.random()}
        for _ in range(80)
    ]
    frame = pandas.DataFrame(data)
    one, many = millstream.build({"name": name}), millstream.build({"name": name})
    for x in data:
        one.learn_one(x)
    many.learn_many(frame)
    assert one.to_bytes() == many.to_bytes()
    table = many.transform_many(frame)
    for x, (_, got) in zip(data, table.iterrows(), strict=True):
        z = one.transform_one(x)
        assert {k: v for k, v in got.items() if not (v is None or v != v)} == z


def test_a_huge_weight_on_numbers_close_together_can_still_be_loaded() -> None:
    scaler = preprocessing.StandardScaler()
    for x, w in ((0.0, 1.0), (1e-140, 1.0), (1e-140, 1e300)):
        scaler.learn_one({"a": x}, w=w)
        assert millstream.from_bytes(scaler.to_bytes()).to_bytes() == scaler.to_bytes()
    assert math.isfinite(scaler.transform_one({"a": 1.0})["a"])
