"""Default limits of models: feature names, nominal values and labels do not grow for ever."""

from __future__ import annotations

import pandas as pd
import pytest

import millstream
from millstream import baseline, compose, evaluate, linear_model, naive_bayes, preprocessing, tree
from millstream.errors import InvalidValue

#: The limits in crates/millstream-core/src/schema.rs and task/classes.rs.
NAMES = VALUES = 100_000
LABELS = 10_000
MORE = 50


@pytest.mark.slow
def test_feature_names_beyond_the_limit_are_dropped_and_counted():
    model = linear_model.LogisticRegression()
    for n in range(NAMES + MORE):
        model.learn_one({f"k{n}": 1.0, "missing": None}, n % 2 == 0)
    # "missing" is one of the names.
    assert (len(model.features), model.dropped, model.folded) == (NAMES, MORE + 1, 0)
    size = len(model.to_bytes())
    for n in range(MORE):
        model.learn_one({f"x{n}": 1.0, "k1": 1.0}, True)
    assert model.dropped == 2 * MORE + 1
    assert abs(len(model.to_bytes()) - size) < 10
    # A known feature is still learned, and an unknown one without a value is not counted.
    model.learn_one({"y": None}, True)
    assert model.dropped == 2 * MORE + 1
    assert model.predict_proba_one({"k1": 1.0})[True] > 0.5
    again = millstream.from_bytes(model.to_bytes())
    assert (again.dropped, again.to_bytes()) == (0, model.to_bytes())


@pytest.mark.slow
def test_integers_are_columns_and_are_not_dropped():
    model = linear_model.LogisticRegression()
    model.learn_one({7 * n: 1.0 for n in range(NAMES + MORE)}, True)
    assert (len(model.features), model.dropped) == (NAMES + MORE, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [linear_model.LogisticRegression, naive_bayes.GaussianNB, tree.HoeffdingTreeClassifier],
    ids=lambda make: make.__name__,
)
def test_values_beyond_the_limit_are_one_value_in_a_loop_and_in_a_batch(make):
    values = [f"v{n}" for n in range(VALUES)] + ["late", "v3", "later", "late"]
    frame = pd.DataFrame({"session": values, "a": [n % 5 for n in range(len(values))]})
    y = [n % 3 == 0 for n in range(len(values))]
    first = VALUES - MORE
    # Rows before the limit are not of interest, and are learned in one call.
    loop, batch = make(), make()
    for model in (loop, batch):
        model.learn_many(frame[:first], y[:first])
        assert model.folded == 0
    for x, target in zip(frame[first:].to_dict("records"), y[first:], strict=True):
        loop.learn_one(x, target)
    batch.learn_many(frame[first:], y[first:])
    assert loop.folded == batch.folded == 3
    assert loop.to_bytes() == batch.to_bytes()
    # All further strings are the value "other".
    rows = [{"session": value, "a": 1} for value in ("late", "never seen", "other")]
    assert len({str(loop.predict_proba_one(x)) for x in rows}) == 1
    assert loop.folded == 3
    predicted = batch.predict_proba_many(pd.DataFrame(rows))
    assert list(predicted[True]) == [loop.predict_proba_one(x)[True] for x in rows]


@pytest.mark.slow
def test_a_refused_row_does_not_count():
    model = linear_model.LinearRegression()
    model.learn_many(pd.DataFrame({"s": [f"v{n}" for n in range(VALUES)]}), [1.0] * VALUES)
    before = model.to_bytes()
    with pytest.raises(InvalidValue):
        model.learn_one({"s": "new", "a": float("inf")}, 1.0)
    with pytest.raises(InvalidValue):
        model.learn_one({"s": "new"}, float("nan"))
    assert (model.folded, model.to_bytes()) == (0, before)


@pytest.mark.slow
def test_labels_beyond_the_limit_are_refused():
    model = baseline.Prior()
    model.learn_many([{}] * LABELS, [f"c{n}" for n in range(LABELS)])
    before = model.to_bytes()
    with pytest.raises(InvalidValue, match="knows 10000 classes, the limit, so 'new' is refused"):
        model.learn_one({}, "new")
    assert model.to_bytes() == before
    model.learn_one({}, "c7")
    assert model.learned == LABELS + 1


@pytest.mark.parametrize(
    "model", [baseline.Prior(), baseline.MajorityClass(), baseline.NoChange(), baseline.TargetMean()], ids=str
)
def test_a_baseline_stores_no_values(model):
    y = [float(n % 2) for n in range(2_000)] if model.role == "regressor" else [n % 2 for n in range(2_000)]
    model.learn_many(pd.DataFrame({"id": [f"a rather long name {n}" for n in range(2_000)]}), y)
    assert len(model.to_bytes()) < 1_000
    assert model.predict_one({"id": "x"}) is not None


@pytest.mark.slow
def test_a_pipeline_with_a_step_in_python_has_the_counters_of_its_steps():
    def same(x):
        return x

    model = compose.Func(same) | preprocessing.StandardScaler() | linear_model.LogisticRegression()
    model.learn_one({f"k{n}": 1.0 for n in range(NAMES + MORE)}, True)
    assert (model.dropped, model.folded) == (MORE, 0)


@pytest.mark.slow
def test_an_evaluation_warns_of_dropped_features_and_folded_values():
    rows = [({"s": f"v{n}"}, n % 2) for n in range(VALUES + MORE)]
    result = evaluate.prequential(linear_model.LogisticRegression(), rows, metrics=["Accuracy"])
    (warning,) = [each for each in result.warnings if "other" in each]
    assert warning.startswith("50 values were learned as 'other'")
    assert "preprocessing.Guard" in warning
