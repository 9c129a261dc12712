"""What an evaluation tells of probabilities, of residuals, and of labels that are waited for."""

from __future__ import annotations

import numpy as np
import pytest

from millstream import baseline, evaluate, linear_model, multiclass
from millstream.base import Classifier, Regressor
from millstream.errors import InvalidValue

pytestmark = pytest.mark.linear_algebra


class Told(Classifier):
    """Says what the example tells it to."""

    def __init__(self) -> None:
        self.seen = 0

    def learn_one(self, x, y=None, w=1.0):
        self.seen += 1

    def predict_proba_one(self, x):
        return {label: p for label, p in x.items() if label != "truth"}


class ToldNumber(Regressor):
    def learn_one(self, x, y=None, w=1.0):
        pass

    def predict_one(self, x):
        return x["say"]


class Wrapped(Classifier):
    """A native model that takes the Python loop."""

    def __init__(self, model) -> None:
        self.model = model

    def learn_one(self, x, y=None, w=1.0):
        self.model.learn_one(x, y, w)

    def predict_one(self, x):
        return self.model.predict_one(x)

    def predict_proba_one(self, x):
        return self.model.predict_proba_one(x)


def test_two_classes_by_hand():
    # Bin 0.2 to 0.3: 0.22 of weight 1 came false, 0.26 of weight 3 true: mean (0.22 + 0.78) / 4 = 0.25, 3 of 4.
    # Bin 0.9 to 1: 0.95 and 1 came true: mean 0.975, all. ECE = (4 * |0.25 - 0.75| + 2 * |0.975 - 1|) / 6.
    rows = [(0.22, False, 1.0), (0.26, True, 3.0), (0.95, True, 1.0), (1.0, True, 1.0)]
    stream = [({False: 1 - p, True: p}, y, w) for p, y, w in rows]
    found = evaluate.prequential(Told(), stream, "LogLoss").calibration
    assert found.positive is True
    assert not found.of_predicted
    assert found.counts.tolist() == [0, 0, 2, 0, 0, 0, 0, 0, 0, 2]
    assert found.weights[2] == 4.0
    np.testing.assert_allclose(found.predicted[[2, 9]], [0.25, 0.975], rtol=1e-12)
    np.testing.assert_allclose(found.observed[[2, 9]], [0.75, 1.0], rtol=1e-12)
    assert np.isnan(found.predicted[0])
    assert found.ece == pytest.approx((4 * 0.5 + 2 * 0.025) / 6, rel=1e-12)
    assert found.with_bins(20).counts[[4, 5, 19]].tolist() == [1, 1, 2]
    assert found.to_frame("pandas").shape == (10, 5)
    assert "expected calibration error 0.3417" in repr(found)
    assert found.about == f"probability of {found.positive!r}, the positive class"
    for bad in (0, 3, 7.0, 1000):
        with pytest.raises(InvalidValue, match="divides 100"):
            found.with_bins(bad)


def test_more_classes_by_hand():
    # The top label has 0.5 (hit), 0.55 (missed) and 0.8 (hit).
    stream = [
        ({"a": 0.5, "b": 0.3, "c": 0.2}, "a"),
        ({"a": 0.55, "b": 0.3, "c": 0.15}, "c"),
        ({"a": 0.1, "b": 0.1, "c": 0.8}, "c"),
    ]
    found = evaluate.prequential(Told(), stream, ["Accuracy", "LogLoss"]).calibration
    assert found.of_predicted
    assert found.positive is None
    assert found.counts.tolist() == [0, 0, 0, 0, 0, 2, 0, 0, 1, 0]
    assert found.predicted[5] == pytest.approx(0.525)
    assert found.observed[5] == 0.5
    assert found.ece == pytest.approx((2 * 0.025 + 0.2) / 3, rel=1e-12)


@pytest.mark.slow
def test_the_loop_in_python_finds_the_same():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    score = X @ np.array([1.0, -2.0, 0.5]) + rng.normal(size=1500)
    w = rng.choice([0.0, 0.5, 1.0, 2.0], size=1500)
    text = np.where(score > 0, "yes", "no").tolist()
    for make, y in [
        (linear_model.LogisticRegression, (score > 0).tolist()),
        (linear_model.LogisticRegression, text),
        (linear_model.SoftmaxRegression, np.digitize(score, [-1.0, 1.0]).tolist()),
        (lambda: multiclass.OneVsRest(linear_model.LogisticRegression()), np.digitize(score, [0.0, 1.0]).tolist()),
    ]:
        stream = [(dict(enumerate(row.tolist())), *rest) for row, *rest in zip(X, y, w.tolist(), strict=True)]
        for delay in (0, 20):
            native = evaluate.prequential(make(), stream, ["LogLoss"], delay=delay)
            other = evaluate.prequential(Wrapped(make()), stream, ["LogLoss"], delay=delay)
            assert native.calibration.counts.sum() == (w[native.unanswered :] > 0).sum()
            np.testing.assert_array_equal(native.calibration._sums, other.calibration._sums)
            assert native.calibration.positive == other.calibration.positive
            np.testing.assert_array_equal(native.curve["waiting"], other.curve["waiting"])


def test_only_where_probabilities_are_asked_for():
    rows = [({"x": float(i % 5)}, i % 5 > 2) for i in range(100)]
    assert evaluate.prequential(linear_model.LogisticRegression(), rows, "Accuracy").calibration is None
    assert evaluate.prequential(baseline.NoChange(), rows[:1], "LogLoss").calibration is None
    numbers = [({"x": 1.0}, 2.0)] * 10
    assert evaluate.prequential(linear_model.LinearRegression(), numbers).calibration is None


def test_residuals_by_hand():
    rows = [({"say": 1.0}, 2.0), ({"say": 5.0}, 2.0), ({"say": 2.0}, 2.0)]
    found = evaluate.prequential(ToldNumber(), rows).residuals
    assert found.row.tolist() == [0, 1, 2]
    assert found.error.tolist() == [-1.0, 3.0, 0.0]
    assert found.quantile(0.5) == 0.0
    assert found.to_frame("pandas").shape == (3, 3)
    assert "sample of 3 rows" in repr(found)
    assert evaluate.prequential(Told(), [({True: 1.0, False: 0.0}, True)]).residuals is None


def test_residuals_of_a_long_stream_stay_few():
    X = np.arange(20_000.0)[:, None] % 7
    found = evaluate.prequential(linear_model.LinearRegression(), (X, X[:, 0])).residuals
    assert 1000 <= len(found.row) < 2000
    assert len(set(np.diff(found.row).tolist())) == 1
    np.testing.assert_array_equal(found.truth, found.row % 7)


def test_labels_that_are_waited_for():
    rows = [({"x": 1.0}, i % 2 == 0) for i in range(100)]
    result = evaluate.prequential(linear_model.LogisticRegression(), rows, delay=30, every=10)
    # A label is scored before its row's successor is predicted: 29 others wait. At the end they all come.
    assert result.curve["waiting"].tolist() == [29] * 7 + [20, 10, 0]
    assert evaluate.prequential(linear_model.LogisticRegression(), rows).curve["waiting"].max() == 0
