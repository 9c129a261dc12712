"""Predictions as a run goes, passes over a stream, and interruption in the middle."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from millstream import base, compose, evaluate, linear_model, preprocessing
from millstream.errors import InvalidValue

rng = np.random.default_rng(3)
X = rng.normal(size=(3000, 3))
Y = X[:, 0] + X[:, 1] > 0.2
NUMBERS = X @ [1.0, -2.0, 0.5]


def classifier():
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


class Own(base.Classifier):
    """The same model behind a Python class."""

    def __init__(self):
        self.inner = classifier()

    def learn_one(self, x, y, w=1.0):
        self.inner.learn_one(x, y, w)

    def predict_proba_one(self, x):
        return self.inner.predict_proba_one(x)


def collected(model, stream, **more):
    """All columns that the sink is given, joined, and the result."""
    given = []
    result = evaluate.prequential(model, stream, predictions=given.append, **more)
    joined = {key: [value for columns in given for value in list(columns[key])] for key in given[0]}
    return joined, result


def in_chunks(size=1000):
    return [(X[start : start + size], Y[start : start + size]) for start in range(0, len(X), size)]


def by_hand(delay=0):
    model, answers = classifier(), []
    for row in range(len(X)):
        x = dict(enumerate(X[row].tolist()))
        if delay and row >= delay:
            model.learn_one(dict(enumerate(X[row - delay].tolist())), bool(Y[row - delay]))
        probabilities = model.predict_proba_one(x)
        answers.append((model.predict_one(x), probabilities))
        if not delay:
            model.learn_one(x, bool(Y[row]))
    return answers


@pytest.mark.parametrize("delay", [0, 50])
@pytest.mark.parametrize("make", [classifier, Own])
def test_each_prediction_is_that_of_the_moment(delay, make):
    columns, result = collected(make(), in_chunks(), delay=delay)
    expected = by_hand(delay)
    assert columns["row"] == list(range(len(X)))
    assert columns["truth"] == Y.tolist()
    assert columns["prediction"] == [answer for answer, _ in expected]
    known = [probabilities.get(answer, np.nan) for answer, probabilities in expected]
    np.testing.assert_array_equal(columns["probability"], known)
    plain = evaluate.prequential(make(), in_chunks(), delay=delay)
    assert result.values == plain.values


def test_numbers_and_several_models():
    model = preprocessing.StandardScaler() | linear_model.LinearRegression()
    columns, _ = collected(model, (X, NUMBERS))
    assert sorted(columns) == ["prediction", "row", "truth"]
    assert np.abs(np.array(columns["prediction"])[-100:] - NUMBERS[-100:]).max() < 0.5
    columns, _ = collected({"a": classifier(), "b": Own()}, (X, Y))
    assert set(columns) == {"row", "truth", "prediction a", "probability a", "prediction b", "probability b"}
    assert columns["prediction a"] == columns["prediction b"]


def test_skipped_rows_have_no_prediction():
    dirty = X.copy()
    dirty[[5, 700, 2999], 1] = np.inf
    for make in (classifier, Own):
        columns, result = collected(make(), (dirty, Y), on_error="skip")
        assert result.skipped == 3
        assert len(columns["row"]) == 3000
        assert [columns["prediction"][row] for row in (5, 700, 2999)] == [None] * 3
        assert np.isnan([columns["probability"][row] for row in (5, 700, 2999)]).all()


def test_a_failure_hands_over_what_was_predicted_before_it():
    dirty = X.copy()
    dirty[1500, 1] = np.inf
    for make in (classifier, Own):
        given = []
        with pytest.raises(InvalidValue, match="row 1500"):
            evaluate.prequential(make(), (dirty, Y), predictions=given.append)
        assert sum(len(columns["row"]) for columns in given) == 1500


def test_passes_are_a_longer_stream():
    twice = classifier()
    result = evaluate.prequential(twice, (X, Y), passes=2)
    longer = classifier()
    expected = evaluate.prequential(longer, (np.vstack([X, X]), np.concatenate([Y, Y])))
    assert result.rows == 6000
    assert result.settings["passes"] == 2
    assert result.values == expected.values
    assert twice.to_bytes() == longer.to_bytes()
    late = evaluate.prequential(classifier(), (X, Y), passes=2, delay=100)
    assert late.learned == 6000


def test_passes_need_a_stream_that_can_be_read_again():
    with pytest.raises(InvalidValue, match="read again"):
        evaluate.prequential(classifier(), iter(in_chunks()), passes=2)
    with pytest.raises(InvalidValue, match="passes must be"):
        evaluate.prequential(classifier(), (X, Y), passes=0)


@pytest.mark.parametrize("make", [classifier, Own])
@pytest.mark.parametrize("delay", [0, 100])
def test_an_interruption_keeps_the_result_so_far(make, delay):
    def feed():
        for place, chunk in enumerate(in_chunks(500)):
            if place == 3:
                os.kill(os.getpid(), signal.SIGINT)
            yield chunk

    before = signal.getsignal(signal.SIGINT)
    given = []
    model = make()
    result = evaluate.prequential(model, feed(), delay=delay, on_interrupt="return", predictions=given.append)
    assert signal.getsignal(signal.SIGINT) is before
    assert result.interrupted
    assert result.rows == 1500 == sum(len(columns["row"]) for columns in given)
    assert result.waiting == delay
    assert result.learned == 1500 - delay
    assert result.curve["row"][-1] == 1500 - delay
    whole = evaluate.prequential(make(), (X[:1500], Y[:1500]), delay=delay)
    if not delay:
        assert result.values == whole.values


def test_an_interruption_raises_unless_asked_otherwise():
    def feed():
        yield X[:500], Y[:500]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate.prequential(classifier(), feed())
    with pytest.raises(InvalidValue, match="on_interrupt"):
        evaluate.prequential(classifier(), feed(), on_interrupt="keep")


def test_a_long_table_is_left_between_stretches_of_rows():
    rows = 4_000_000
    wide, y = np.broadcast_to(X[0], (rows, 3)), np.arange(rows) % 2 == 0

    def feed():
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        yield wide, y

    begun = time.perf_counter()
    given = []
    result = evaluate.prequential(classifier(), feed(), on_interrupt="return", predictions=given.append)
    if not result.interrupted:
        pytest.skip(f"the machine did {rows:,} rows in {time.perf_counter() - begun:.2f} s")
    assert 0 < result.rows < rows
    assert result.scored + result.unanswered == result.rows
    assert len(given[0]["row"]) == result.rows


def test_pipelines_with_python_steps_are_recorded_too():
    model = compose.Func(lambda x: x) | classifier()
    columns, _ = collected(model, (X, Y))
    assert columns["prediction"] == [answer for answer, _ in by_hand()]
