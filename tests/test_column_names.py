"""Names of hashed columns: in transformers, pipelines, weights and explanations."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest

from millstream import compose, evaluate, feature_extraction, linear_model, preprocessing, stream
from millstream._feature_names import column_name
from millstream.errors import InvalidType, InvalidValue

ROWS: list[tuple[dict[str, Any], bool]] = [
    ({"user": "ann", "item": "red", "price": 2.0}, True),
    ({"user": "ann", "item": "blue", "price": 1.0}, False),
    ({"user": "bob", "item": "red", "price": 0.0}, False),
]


def taught(first: Any) -> Any:
    model = first | linear_model.LogisticRegression("adaptive")
    for x, y in ROWS * 10:
        model.learn_one(x, y)
    return model


def test_products_have_names() -> None:
    model = taught(compose.Interact([("user", "item")], names=True))
    step = model["Interact"]
    found = step.transform_one(ROWS[0][0])
    assert {step.feature_names[column]: value for column, value in found.items()} == {
        "user=ann": 1.0,
        "item=red": 1.0,
        "price": 2.0,
        "user=ann × item=red": 1.0,
    }
    weights = model["LogisticRegression"].weights
    assert {"user=ann × item=red", "user=bob × item=red", "price"} <= set(weights)
    assert weights["user=ann × item=red"] > 0.0 > weights["user=bob × item=red"]
    assert step.feature_names.collisions == {}


def test_explanations_have_names() -> None:
    model = taught(compose.Interact([("user", "item")], names=True))
    why = model.explain_one(ROWS[0][0])
    assert set(why.contributions) == {"user=ann", "item=red", "price", "user=ann × item=red"}
    assert why.values["price"] == 2.0
    assert why.method == "additive"
    plain = taught(compose.Interact([("user", "item")]))
    assert why.prediction == pytest.approx(plain.explain_one(ROWS[0][0]).prediction, abs=5.0)
    assert set(plain.explain_one(ROWS[0][0]).contributions) == {"user", "item", "price"}
    told = model.explain_one(ROWS[0][0], False, background=[x for x, _ in ROWS])
    assert "user=ann × item=red" in told.contributions


@pytest.mark.parametrize(
    "make", [preprocessing.FeatureHasher, lambda **given: compose.Interact([("user", "item")], **given)]
)
def test_collisions_are_reported_and_bytes_limited(make: Any) -> None:
    hasher = preprocessing.FeatureHasher(n_features=2, names=True)
    hasher.transform_many([x for x, _ in ROWS])
    assert sum(len(names) for names in hasher.feature_names.collisions.values()) == 5
    narrow = make(names=150)
    rows = narrow.transform_many([x for x, _ in ROWS])
    assert len(rows.feature_names) == 2
    assert rows.feature_names.unnamed > 0
    assert make().feature_names is None
    assert not hasattr(make().transform_many([ROWS[0][0]]), "feature_names")
    for wrong in (-1, "yes", 1.5):
        with pytest.raises(InvalidValue, match="names must be True, False or a number of bytes"):
            make(names=wrong)


def test_a_hasher_with_names_hashes_alike() -> None:
    plain, named = preprocessing.FeatureHasher(64), preprocessing.FeatureHasher(64, names=True)
    for x, _ in ROWS:
        assert plain.transform_one(x) == named.transform_one(x)
    assert set(named.feature_names.values()) == {"user=ann", "user=bob", "item=red", "item=blue", "price"}
    model = taught(preprocessing.FeatureHasher(64, names=True))
    assert {"user=ann", "price"} <= set(model["LogisticRegression"].weights)
    assert "user=bob" in model.explain_one(ROWS[2][0]).contributions
    many = linear_model.LogisticRegression("adaptive")
    many.learn_many(named.transform_many([x for x, _ in ROWS]), [y for _, y in ROWS])
    assert {"user=ann", "price"} <= set(many.weights)


def test_words_have_names_in_a_pipeline() -> None:
    model = feature_extraction.HashingVectorizer(names=True) | linear_model.LogisticRegression("adaptive")
    for _ in range(20):
        model.learn_one("good film", True)
        model.learn_one("bad film", False)
    assert set(model["LogisticRegression"].weights) == {"good", "film", "bad"}
    why = model.explain_one("good film")
    assert set(why.contributions) == {"good", "film"}
    assert why.contributions["good"] > abs(why.contributions["film"])
    with pytest.raises(InvalidType, match="a text must be a str"):
        model.explain_one(3)


def test_rows_of_a_reader_are_explained_by_name() -> None:
    text = "1 |user ann |item red\n-1 |user bob |item red\n" * 20
    reader = stream.read_vw(io.StringIO(text), interactions=["ui"], names=True)
    model = linear_model.LogisticRegression("adaptive", intercept=False)
    for chunk in reader.chunks():
        model.learn_many(chunk.X, chunk.y)
    row = dict(zip(chunk.X.indices[:4].tolist(), chunk.X.values[:4].tolist(), strict=True))
    wanted = {"user^ann", "item^red", "user^ann × item^red", "constant"}
    assert set(model.explain_one(row).contributions) == wanted
    assert set(model.explain_one({str(column): value for column, value in row.items()}).contributions) == wanted
    assert set(pickle.loads(pickle.dumps(model)).explain_one(row).contributions) == wanted


def test_names_change_no_prediction_and_no_saved_state() -> None:
    plain, named = (taught(compose.Interact([("user", "item")], names=names)) for names in (False, True))
    for x, _ in ROWS:
        assert plain.predict_proba_one(x) == named.predict_proba_one(x)
    before = named.to_bytes()
    named.predict_one({"user": "new", "item": "red"})
    assert named.to_bytes() == before
    for again in (copy.deepcopy(named), pickle.loads(pickle.dumps(named))):
        assert again.predict_proba_one(ROWS[0][0]) == named.predict_proba_one(ROWS[0][0])
        for x, y in ROWS:
            again.learn_one(x, y)
        assert "user=ann × item=red" in again["LogisticRegression"].weights
    X = {"user": ["ann", "bob"], "item": ["red", "red"]}
    pandas = pytest.importorskip("pandas")
    model = compose.Interact([("user", "item")], names=True) | linear_model.LogisticRegression("adaptive")
    model.learn_many(pandas.DataFrame(X), np.array([True, False]))
    assert "user=bob × item=red" in model["LogisticRegression"].weights


def test_states_results_and_reports_have_names() -> None:
    model = taught(compose.Interact([("user", "item")], names=True))
    assert "user=ann × item=red" in model.inspect()["steps"][-1]["weights"]
    result = evaluate.prequential(model.clone(), ROWS * 10)
    assert "user=ann × item=red" in result.weights.names
    assert "user=ann × item=red" in result.report()._repr_html_()
    text = ["good film", "bad film"] * 20
    words = feature_extraction.HashingVectorizer(names=True) | linear_model.LogisticRegression("adaptive")
    words.learn_many(text, [True, False] * 20)
    assert set(words["LogisticRegression"].weights) == {"good", "film", "bad"}


def test_digits_that_are_no_number_are_names() -> None:
    assert column_name({2: "a=b"}, "2") == "a=b"
    assert column_name({2: "a=b"}, "\u00b2") == "\u00b2"
