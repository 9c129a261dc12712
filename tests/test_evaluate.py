"""`evaluate`: the native loop, the Python loop, a loop by hand and River agree; late labels; bad rows; results."""

from __future__ import annotations

import copy
import datetime
import heapq
import itertools
import math
import sys

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse

from millstream import (
    base,
    baseline,
    drift,
    evaluate,
    feature_extraction,
    linear_model,
    metrics,
    preprocessing,
    roles,
)
from millstream.errors import InvalidType, InvalidValue


def classes(n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two classes with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = (X @ np.array([1.0, -2.0, 0.5, 0.0]) + 0.5 * rng.normal(size=n) > 0).astype(int)
    return X, y


def model():
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


class Wrapped(base.Classifier):
    """A native model behind Python."""

    def __init__(self, inner) -> None:
        self.inner = inner

    def predict_one(self, x):
        return self.inner.predict_one(x)

    def predict_proba_one(self, x):
        return self.inner.predict_proba_one(x)

    def learn_one(self, x, y=None, w=1.0):
        self.inner.learn_one(x, y, w)

    @property
    def memory(self) -> int:
        return self.inner.memory


class WrappedRegressor(base.Regressor):
    """A native model behind Python."""

    def __init__(self, inner) -> None:
        self.inner = inner

    def predict_one(self, x):
        return self.inner.predict_one(x)

    def learn_one(self, x, y=None, w=1.0):
        self.inner.learn_one(x, y, w)


class MeanRegressor(base.Regressor):
    """The mean of the targets so far."""

    def __init__(self) -> None:
        self.sum = self.count = 0.0

    def predict_one(self, x):
        return self.sum / self.count if self.count else 0.0

    def learn_one(self, x, y=None, w=1.0):
        self.sum, self.count = self.sum + w * y, self.count + w


def same(a: evaluate.Result, b: evaluate.Result) -> None:
    """Two results are equal but for time and memory."""
    assert a.values == b.values
    for key in a.curve:
        if key not in ("seconds", "memory"):
            np.testing.assert_array_equal(a.curve[key], b.curve[key], err_msg=key)
    assert a.drifts == b.drifts
    for key in ("rows", "scored", "learned", "warmup", "unanswered", "skipped"):
        assert getattr(a, key) == getattr(b, key), key
    if a.confusion is not None and b.confusion is not None:
        for truth, predicted in itertools.product(a.confusion.labels, repeat=2):
            assert a.confusion[truth, predicted] == b.confusion[truth, predicted]


ALL = ["Accuracy", "CohenKappa", "LogLoss", "ROCAUC", "KappaTemporal", "MacroF1"]


def slow_reference(make, rows, arrival, warmup=0):
    """Serve, then learn what has come, as plainly as can be: (served, order of learning) by row."""
    learner, served, order = make(), {}, []
    waiting: list = []
    for i, (x, y, now, due) in enumerate(rows):
        while waiting and waiting[0][0] <= now:
            _, j, a, b = heapq.heappop(waiting)
            learner.learn_one(a, b)
            order.append(j)
        served[i] = learner.predict_one(x)
        heapq.heappush(waiting, (due, i, x, y))
    while waiting:
        _, j, a, b = heapq.heappop(waiting)
        learner.learn_one(a, b)
        order.append(j)
    return learner, served, order


# The loops agree.


@pytest.mark.parametrize("delay", [None, 0, 1, 7, 1000])
def test_native_and_python_loop_agree(delay):
    X, y = classes()
    native, wrapped = model(), Wrapped(model())
    options = {"metrics": ALL, "delay": delay, "warmup": 20, "window": 50, "every": 37}
    a = evaluate.prequential(native, (X, y), **options)
    b = evaluate.prequential(wrapped, (X, y), **options)
    same(a, b)
    assert native.to_bytes() == wrapped.inner.to_bytes()


def test_at_once_is_step_many_and_a_metric_by_hand():
    X, y = classes()
    learner, metric = model(), metrics.Accuracy()
    predicted = learner.step_many(X, y)
    for truth, answer in zip(y.tolist(), predicted.tolist(), strict=True):
        if answer is not None:
            metric.update(truth, answer)
    evaluated = model()
    result = evaluate.prequential(evaluated, (X, y), "Accuracy")
    assert result["Accuracy"] == metric.get()
    assert result.unanswered == 1
    assert evaluated.to_bytes() == learner.to_bytes()
    assert result.metric.to_bytes() == metric.to_bytes()


def test_rolling_is_the_metric_of_the_last_rows():
    X, y = classes(300)
    predicted = model().step_many(X, y).tolist()
    for every in (1, 10, 40):
        result = evaluate.prequential(model(), (X, y), ["Accuracy", "CohenKappa"], window=40, every=every)
        for row, accuracy, kappa in zip(
            result.curve["row"], result.curve["rolling_Accuracy"], result.curve["rolling_CohenKappa"], strict=True
        ):
            first, second = metrics.Accuracy(), metrics.CohenKappa()
            for i in range(max(1, row - 40), row):
                first.update(int(y[i]), predicted[i])
                second.update(int(y[i]), predicted[i])
            assert accuracy == pytest.approx(first.get(), abs=1e-12)
            assert kappa == pytest.approx(second.get(), abs=1e-12)


@pytest.mark.parametrize("delay", [None, 3, 50])
def test_agrees_with_river(delay):
    import river.evaluate
    import river.linear_model
    import river.metrics
    import river.optim
    import river.preprocessing

    X, y = classes(400)
    rows = [({f"x{j}": v for j, v in enumerate(x)}, bool(t)) for x, t in zip(X.tolist(), y.tolist(), strict=True)]
    ours = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    theirs = river.preprocessing.StandardScaler() | river.linear_model.LogisticRegression(river.optim.SGD(0.01))
    # Ours has no answer until it has met a class, theirs says False: let both meet both classes first.
    first = next(i for i, (_, t) in enumerate(rows) if t != rows[0][1])
    for i in (0, first):
        ours.learn_one(*rows[i])
        theirs.learn_one(*rows[i])
    for name in ("Accuracy", "LogLoss"):
        mine, his = copy.deepcopy(ours), copy.deepcopy(theirs)
        a = evaluate.progressive_val_score(rows, mine, getattr(metrics, name)(), delay=delay)
        b = river.evaluate.progressive_val_score(rows, his, getattr(river.metrics, name)(), delay=delay)
        assert a.get() == pytest.approx(b.get(), rel=1e-9)


def test_progressive_val_score_prints_as_river_does(capsys):
    X, y = classes(250)
    rows = [({"a": float(x[0]), "b": float(x[1])}, bool(t)) for x, t in zip(X, y, strict=True)]
    metric = metrics.Accuracy()
    returned = evaluate.progressive_val_score(rows, model(), metric, print_every=100, show_memory=True)
    lines = capsys.readouterr().out.splitlines()
    assert returned is metric
    assert [line.partition("]")[0] for line in lines] == ["[100", "[200", "[250"]
    assert "Accuracy: " in lines[0]
    assert "KiB" in lines[0]


def test_regression_in_both_loops():
    X, _ = classes(300)
    y = X @ np.array([1.0, 2.0, 0.0, -1.0])
    result = evaluate.prequential(MeanRegressor(), (X, y), ["MAE", "RMSE", "R2"])
    before = np.concatenate([[0.0], np.cumsum(y)[:-1] / np.arange(1, len(y))])
    assert result["MAE"] == pytest.approx(np.abs(y - before).mean(), rel=1e-12)
    assert result.confusion is None
    native, wrapped = (preprocessing.StandardScaler() | linear_model.LinearRegression() for _ in range(2))
    a = evaluate.prequential(native, (X, y), ["MAE", "R2"], delay=5, every=20)
    b = evaluate.prequential(WrappedRegressor(wrapped), (X, y), ["MAE", "R2"], delay=5, every=20)
    same(a, b)


# The form of the stream does not matter.


def test_all_forms_of_a_stream_agree():
    X, y = classes(500)
    names = ["a", "b", "c", "d"]
    frame = pandas.DataFrame(X, columns=names)
    rows = [(dict(zip(names, x, strict=True)), t) for x, t in zip(X.tolist(), y.tolist(), strict=True)]
    options = {"metrics": ["Accuracy", "LogLoss"], "delay": 4, "every": 50}
    expected = evaluate.prequential(model(), (frame, y), **options)
    streams = [
        (polars.DataFrame(frame), y.tolist()),
        (pyarrow.Table.from_pandas(frame), y),
        (frame.assign(target=y), "target"),
        rows,
        ([x for x, _ in rows], [t for _, t in rows]),
        ((frame[i : i + 77], y[i : i + 77]) for i in range(0, 500, 77)),
        ((frame[i : i + 1], y[i : i + 1]) for i in range(500)),
        itertools.chain(rows[:100], [(frame[100:], y[100:])]),
    ]
    for stream in streams:
        same(evaluate.prequential(model(), stream, **options), expected)
    numbered = evaluate.prequential(model(), (np.asfortranarray(X), y), **options)
    same(numbered, expected)
    sparse = evaluate.prequential(linear_model.LogisticRegression(), (scipy.sparse.csr_matrix(X), y), **options)
    same(sparse, evaluate.prequential(linear_model.LogisticRegression(), (X, y), **options))


def test_a_generator_that_reuses_its_dict_is_fine():
    X, y = classes(300)

    def reusing():
        x = {}
        for values, t in zip(X.tolist(), y.tolist(), strict=True):
            x.update(enumerate(values))
            yield x, t

    same(
        evaluate.prequential(model(), reusing(), "Accuracy", delay=3, every=10),
        evaluate.prequential(model(), (X, y), "Accuracy", delay=3, every=10),
    )


def changing(n: int = 400, seed: int = 3):
    """Features that come and go, and nominal values that are new while their first rows wait."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        x = {"x": float(rng.normal()), "colour": str(rng.choice(["red", "green", "blue"][: 1 + i // 100]))}
        if i % 3:
            x["z"] = float(rng.normal())
        if i > n // 2:
            x[f"new{i % 5}"] = None if i % 4 == 0 else float(i % 7)
        yield x, x["x"] + (x["colour"] == "green") > 0, float(i % 3)


@pytest.mark.parametrize("delay", [None, 1, 25, 150])
def test_features_that_change_while_labels_are_late(delay):
    native, wrapped = linear_model.LogisticRegression(), Wrapped(linear_model.LogisticRegression())
    options = {"metrics": ["Accuracy", "LogLoss"], "delay": delay, "every": 30, "window": 60}
    a = evaluate.prequential(native, changing(), **options)
    b = evaluate.prequential(wrapped, changing(), **options)
    same(a, b)
    assert native.to_bytes() == wrapped.inner.to_bytes()
    frames = [pandas.DataFrame([x]).assign(y=y) for x, y, _ in changing(60)]
    c = evaluate.prequential(
        linear_model.LogisticRegression(), ((f.drop(columns="y"), f["y"]) for f in frames), delay=delay
    )
    assert c.learned == 60


def test_weights_count_in_learning_and_scoring():
    X, y = classes(200)
    w = np.random.default_rng(1).integers(0, 3, size=200).astype(float)
    a = evaluate.prequential(model(), (X, y, w), "Accuracy", every=20)
    b = evaluate.prequential(Wrapped(model()), (X, y, w), "Accuracy", every=20)
    rows = [(dict(enumerate(x)), t, {"w": v}) for x, t, v in zip(X.tolist(), y.tolist(), w.tolist(), strict=True)]
    c = evaluate.prequential(model(), rows, "Accuracy", every=20)
    same(a, b)
    same(a, c)


# Late labels.


def test_delay_by_time_against_a_slow_reference():
    rng = np.random.default_rng(5)
    X, y = classes(300)
    now = np.cumsum(rng.integers(0, 3, size=300)).astype(float)
    due = now + rng.integers(0, 40, size=300)
    rows = [(dict(enumerate(x)), t, a, b) for x, t, a, b in zip(X.tolist(), y.tolist(), now, due, strict=True)]
    learner, served, _ = slow_reference(model, rows, None)
    expected = metrics.Accuracy()
    for i, answer in served.items():
        if answer is not None:
            expected.update(int(y[i]), answer)
    start = np.datetime64("2024-03-01T00:00", "ns")
    dates, late = start + now.astype("timedelta64[m]"), start + due.astype("timedelta64[m]")
    frame = pandas.DataFrame(X).assign(when=dates, known=late)
    frame.columns = [*"abcd", "when", "known"]
    for stream, options in [
        ((X, y), {"time": now, "label_time": due}),
        ((frame[["a", "b", "c", "d"]], y), {"time": dates, "label_time": late}),
        ((frame, y), {"time": "when", "label_time": "known"}),
        ((polars.from_pandas(frame), y), {"time": "when", "label_time": "known"}),
        (((frame[i : i + 31], y[i : i + 31]) for i in range(0, 300, 31)), {"time": "when", "label_time": "known"}),
    ]:
        mine = model()
        result = evaluate.prequential(mine, stream, "Accuracy", **options)
        assert result["Accuracy"] == expected.get()
        assert list(mine.inspect()) == list(learner.inspect()) or mine.learned == learner.learned == 300
    a = evaluate.prequential(model(), (X, y), ALL, time=now, label_time=due, every=25)
    b = evaluate.prequential(Wrapped(model()), (X, y), ALL, time=now, label_time=due, every=25)
    same(a, b)


def test_delay_on_a_time_column_as_number_or_timedelta():
    X, y = classes(200)
    expected = evaluate.prequential(model(), (X, y), "Accuracy", delay=10, every=20)
    now = np.arange(200)
    same(evaluate.prequential(model(), (X, y), "Accuracy", time=now, delay=10, every=20), expected)
    same(
        evaluate.prequential(model(), (X, y), "Accuracy", time=now.astype(float) - 1e3, delay=10.0, every=20),
        expected,
    )
    dates = [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(hours=i) for i in range(200)]
    rows = [({**dict(enumerate(x)), "at": d}, t) for x, t, d in zip(X.tolist(), y.tolist(), dates, strict=True)]
    for stream, time in [(rows, "at"), (rows, lambda x: x.pop("at"))]:
        if callable(time):
            stream = [(dict(enumerate(x)), t) for x, t in zip(X.tolist(), y.tolist(), strict=True)]
            clock = iter(dates)
            result = evaluate.prequential(
                model(),
                stream,
                "Accuracy",
                time=lambda x, clock=clock: next(clock),
                delay=datetime.timedelta(hours=10),
                every=20,
            )
        else:
            result = evaluate.prequential(
                model(), stream, "Accuracy", time=time, delay=datetime.timedelta(hours=10), every=20
            )
        same(result, expected)


def test_a_delay_that_is_a_text_is_told_which_forms_there_are():
    rows = [({"a": float(place), "at": place}, place % 2) for place in range(10)]
    table = pyarrow.table({"a": [0.5, 1.5], "at": [1, 2]}), np.array([0, 1])
    for stream, options in [(rows, {}), (rows, {"time": "at"}), (table, {}), (table, {"time": "at"})]:
        with pytest.raises(
            (InvalidType, InvalidValue), match=r"'2h'.*; delay must be a number of rows \(500\), or with time="
        ):
            evaluate.prequential(linear_model.LogisticRegression(), stream, delay="2h", **options)


def test_river_delays_by_example():
    import river.stream

    X, y = classes(120)
    rows = [
        ({**dict(enumerate(x)), "wait": i % 9}, t)
        for i, (x, t) in enumerate(zip(X.tolist(), y.tolist(), strict=True))
    ]
    order = [
        i for i, _, t in river.stream.simulate_qa(rows, None, lambda x, y: x["wait"], copy=True) if t is not None
    ]
    seen = []

    class Recorder(base.Classifier):
        def predict_one(self, x):
            return 0

        def learn_one(self, x, y=None, w=1.0):
            seen.append(x[0])

    evaluate.prequential(Recorder(), rows, "Accuracy", delay="wait")
    assert seen == [rows[i][0][0] for i in order]
    seen.clear()
    evaluate.prequential(Recorder(), rows, "Accuracy", delay=lambda x, y: x["wait"])
    assert seen == [rows[i][0][0] for i in order]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delay": -1}, "delay must be"),
        ({"delay": 1.5}, "delay must be"),
        ({"delay": datetime.timedelta(1)}, "needs time"),
        ({"label_time": np.arange(20)}, "label_time needs time"),
        ({"time": np.arange(20)}, "time needs"),
        ({"time": np.arange(20), "label_time": np.arange(20), "delay": 1}, "not both"),
        ({"time": np.arange(5), "delay": 1}, "time has 5 values for 20 rows"),
        ({"time": "nothing", "delay": 1}, "no column 'nothing'"),
        ({"time": np.arange(20), "delay": datetime.timedelta(1)}, "delay must be a number"),
        ({"window": 0}, "window must be"),
        ({"every": 0}, "every must be"),
        ({"warmup": -1}, "warmup must be"),
        ({"limit": -1}, "limit must be"),
        ({"threads": 0}, "threads must be"),
        ({"threads": "2"}, "threads must be"),
        ({"on_error": "stop"}, "on_error must be"),
        ({"metrics": "Acuracy"}, "did you mean 'Accuracy'"),
        ({"metrics": []}, "at least one metric"),
        ({"metrics": 3}, "a metric must have"),
        ({"metrics": "MAE"}, "MAE: scores numbers, but the model predicts classes"),
    ],
)
def test_bad_options_say_what_is_wrong(options, words):
    X, y = classes(20)
    learner = model()
    X = pandas.DataFrame(X, columns=list("abcd")) if isinstance(options.get("time"), str) else X
    with pytest.raises((ValueError, TypeError), match=words):
        evaluate.prequential(learner, (X, y), **options)
    assert learner.learned == 0


def test_bad_models_and_streams():
    X, y = classes(20)
    for bad in (preprocessing.StandardScaler(), "model", {}, []):
        with pytest.raises((InvalidType, InvalidValue)):
            evaluate.prequential(bad, (X, y), "Accuracy")
    one = model()
    with pytest.raises(InvalidValue, match="duplicate model"):
        evaluate.prequential([one, one], (X, y))
    with pytest.raises(InvalidType, match="the same role"):
        evaluate.prequential([one, MeanRegressor()], (X, y))
    for bad in (3, "text", {"x": 1}, [1, 2], [None], [({"x": 1},)], (X, y[:5]), (X, None), (X, y, [1.0])):
        with pytest.raises((InvalidType, InvalidValue)):
            evaluate.prequential(model(), bad, "Accuracy")


# Bad rows.


@pytest.mark.parametrize("delay", [None, 6])
@pytest.mark.parametrize("dicts", [False, True])
def test_bad_rows_stop_or_are_skipped(delay, dicts):
    X, y = classes(100)
    X[30, 1] = np.inf
    X[31, 1] = -np.inf
    target = y.astype(float)
    target[50] = np.nan
    target[51] = 0.5
    w = np.ones(100)
    w[70] = -1.0
    good = [i for i in range(100) if i not in (30, 31, 50, 51, 70)]
    rows = [(dict(enumerate(x)), t, v) for x, t, v in zip(X.tolist(), target.tolist(), w.tolist(), strict=True)]
    stream = rows if dicts else (X, target, w)
    learner = model()
    with pytest.raises(InvalidValue, match=r"^row 30: .*rows before it") as caught:
        evaluate.prequential(learner, stream, "Accuracy", delay=delay)
    assert caught.value.row == 30
    assert learner.learned == (30 if delay is None else 25)
    result = evaluate.prequential(model(), stream, "Accuracy", delay=delay, on_error="skip", every=10)
    assert (result.skipped, result.learned, result.rows) == (5, 95, 100)
    assert sorted(row for row, _ in result.refusals) == [30, 31, 50, 51, 70]
    if delay is None:
        expected = evaluate.prequential(model(), (X[good], y[good]), "Accuracy", every=10)
        assert result.values == expected.values
    wrapped = evaluate.prequential(Wrapped(model()), stream, "Accuracy", delay=delay, on_error="skip", every=10)
    same(result, wrapped)
    with pytest.raises(ValueError, match="row 30"):
        evaluate.prequential(Wrapped(model()), stream, "Accuracy", delay=delay)


def test_rows_that_cannot_be_read():
    rows = [({"a": float(i), "b": "x"}, i % 2) for i in range(40)]
    rows[7] = ({"a": [1], "b": "x"}, 1)
    rows[8] = ({"a": 1.0, "b": 2.0}, 1)
    rows[20] = ({"a": "text", "b": "x"}, 0)
    rows[30] = ({"a": 10**400, "b": "x"}, 0)
    result = evaluate.prequential(linear_model.LogisticRegression(), rows, "Accuracy", on_error="skip")
    wrapped = evaluate.prequential(Wrapped(linear_model.LogisticRegression()), rows, "Accuracy", on_error="skip")
    assert [row for row, _ in result.refusals] == [7, 8, 20, 30]
    same(result, wrapped)
    with pytest.raises(TypeError, match="row 7") as caught:
        evaluate.prequential(linear_model.LogisticRegression(), rows, "Accuracy")
    assert caught.value.row == 7
    # One error, not one for each half of the table in which the row was looked for.
    assert caught.value.__context__ is None


def test_a_matrix_alone_is_no_stream():
    with pytest.raises(TypeError, match="ndarray alone has no target"):
        evaluate.prequential(linear_model.LogisticRegression(), np.ones((3, 2)))


def test_a_weight_that_is_no_number_is_a_bad_row():
    rows = [({"a": float(i)}, i % 2, "heavy" if i == 7 else 1.0) for i in range(20)]
    with pytest.raises(ValueError, match="row 7: .*weight"):
        evaluate.prequential(linear_model.LogisticRegression(), rows, "Accuracy")
    result = evaluate.prequential(linear_model.LogisticRegression(), rows, "Accuracy", on_error="skip")
    assert [row for row, _ in result.refusals] == [7]


def test_a_row_that_a_metric_refuses_is_not_counted_as_scored():
    rows = [({"a": 1.0}, 1e200 if i == 7 else float(i)) for i in range(20)]
    for learner in (baseline.TargetMean(), WrappedRegressor(baseline.TargetMean())):
        result = evaluate.prequential(learner, rows, "MSE", on_error="skip")
        assert result.refusals[0][0] == 7
        assert result.scored + result.unanswered + result.skipped == result.rows == 20


def test_a_label_where_a_number_is_due():
    learner = MeanRegressor()
    with pytest.raises((TypeError, ValueError), match="row 1"):
        evaluate.prequential(learner, [({"x": 1.0}, 1.0), ({"x": 1.0}, "a")], "MAE")
    assert learner.count == 1


def test_a_missing_time_is_a_bad_row():
    X, y = classes(10)
    now = np.arange(10.0)
    now[4] = np.nan
    with pytest.raises(InvalidValue, match="row 4: the time"):
        evaluate.prequential(model(), (X, y), "Accuracy", time=now, delay=1)
    for learner in (model(), Wrapped(model())):
        result = evaluate.prequential(learner, (X, y), "Accuracy", time=now, delay=1, on_error="skip")
        assert (result.skipped, result.learned) == (1, 9)


def test_dicts_without_a_time_are_bad_rows():
    zone = datetime.UTC
    rows = [({"x": float(i), "at": datetime.datetime(2024, 1, 1 + i, tzinfo=zone)}, i % 2) for i in range(9)]
    del rows[3][0]["at"]
    rows[5][0]["at"] = None
    for learner in (linear_model.LogisticRegression(), Wrapped(linear_model.LogisticRegression())):
        options = {"time": "at", "delay": datetime.timedelta(days=2)}
        result = evaluate.prequential(learner, rows, "Accuracy", on_error="skip", **options)
        assert [row for row, _ in result.refusals] == [3, 5]
        assert result.learned == 7
        with pytest.raises(InvalidValue, match="row 3: the time"):
            evaluate.prequential(learner, rows, "Accuracy", **options)


def test_a_stream_that_fails_keeps_what_came_before():
    def failing():
        yield {"x": 1.0}, True
        yield {"x": 2.0}, False
        raise RuntimeError("the wire broke")

    learner, metric = linear_model.LogisticRegression(), metrics.Accuracy()
    with pytest.raises(RuntimeError, match="the wire broke"):
        evaluate.prequential(learner, failing(), metric)
    assert learner.learned == 2
    assert metric.updates == 1


def test_interrupt_leaves_a_consistent_model():
    X, y = classes(300)

    def interrupted():
        yield X[:100], y[:100]
        raise KeyboardInterrupt

    learner, expected = model(), model()
    with pytest.raises(KeyboardInterrupt):
        evaluate.prequential(learner, interrupted())
    expected.learn_many(X[:100], y[:100])
    assert learner.to_bytes() == expected.to_bytes()


# Ends of streams.


@pytest.mark.parametrize("stream", [[], (np.empty((0, 3)), np.empty(0)), iter(())])
@pytest.mark.parametrize("delay", [None, 3])
def test_empty_streams(stream, delay, tmp_path):
    result = evaluate.prequential(model(), stream, delay=delay)
    assert (result.rows, result.scored, result.learned) == (0, 0, 0)
    assert len(result.curve["row"]) == 0
    assert result.to_frame().shape[0] == 0
    assert repr(result)
    assert result._repr_html_()
    result.to_html(tmp_path / "page.html")
    result.plot()


def test_endless_streams_with_a_limit():
    taken = itertools.count()

    def endless():
        rng = np.random.default_rng(0)
        while True:
            next(taken)
            x = float(rng.normal())
            yield {"x": x}, x > 0

    result = evaluate.prequential(linear_model.LogisticRegression(), endless(), limit=2500)
    assert (result.rows, next(taken)) == (2500, 2500)
    X, y = classes(100)
    assert evaluate.prequential(model(), (X, y), limit=30).rows == 30
    assert evaluate.prequential(model(), ((X, y) for _ in itertools.count()), limit=250, delay=3).learned == 250
    assert evaluate.prequential(model(), (X, y), limit=0).rows == 0


def test_the_curve_of_an_endless_stream_stays_small():
    X, y = classes(1000)
    result = evaluate.prequential(model(), ((X, y) for _ in range(300)))
    assert result.rows == 300_000
    assert 150 <= len(result.curve["row"]) <= 400
    steps = np.diff(result.curve["row"])
    assert len(set(steps[:-1].tolist())) == 1


def test_default_curve_and_metrics():
    X, y = classes(1000)
    result = evaluate.prequential(model(), (X, y))
    assert len(result.curve["row"]) == 200
    assert list(result.values) == ["Accuracy", "CohenKappa"]
    assert list(evaluate.prequential(MeanRegressor(), (X, y)).values) == ["MAE", "R2"]


def test_warmup_is_learned_and_not_scored():
    X, y = classes(100)
    predicted = model().step_many(X, y).tolist()
    expected = metrics.Accuracy()
    for i in range(40, 100):
        expected.update(int(y[i]), predicted[i])
    result = evaluate.prequential(model(), (X, y), "Accuracy", warmup=40)
    assert (result.warmup, result.scored, result.learned) == (40, 60, 100)
    assert result["Accuracy"] == expected.get()


# Several models.


def test_several_models_in_one_pass():
    X, y = classes(2000)
    make = {
        "scaled": model,
        "bare": linear_model.LogisticRegression,
        "python": lambda: Wrapped(model()),
        "again": model,
    }
    alone = {
        name: evaluate.prequential(build(), (X, y), ["Accuracy", "LogLoss"], delay=2)
        for name, build in make.items()
    }
    for threads in (1, 2, 4):
        models = {name: build() for name, build in make.items()}
        stream = ((X[i : i + 300], y[i : i + 300]) for i in range(0, 2000, 300))
        results = evaluate.prequential(models, stream, ["Accuracy", "LogLoss"], delay=2, every=10, threads=threads)
        assert list(results) == list(make)
        for name, result in results.items():
            assert result.values == alone[name].values
            assert result.model is models[name]
        same(results["scaled"], results["python"])
    assert results.best["Accuracy"] == max(result["Accuracy"] for result in results.values())
    assert "rows/s" in repr(results)
    assert "scaled" in repr(results)
    assert set(results.to_frame()["model"]) == set(make)
    listed = evaluate.prequential([model(), model(), Wrapped(model())], (X, y))
    assert list(listed) == [
        "StandardScaler | LogisticRegression",
        "StandardScaler | LogisticRegression 2",
        "Wrapped",
    ]


def test_metric_instances_go_on_in_place():
    X, y = classes(200)
    metric, learner = metrics.Accuracy(), model()
    evaluate.prequential(learner, (X[:100], y[:100]), metric)
    evaluate.prequential(learner, (X[100:], y[100:]), metric)
    whole = evaluate.prequential(model(), (X, y), metrics.Accuracy)
    assert metric.get() == whole["Accuracy"]
    evaluate.prequential([model(), linear_model.LogisticRegression()], (X, y), metric)
    assert metric.get() == whole["Accuracy"]


class Hits:
    """A metric of the user's own."""

    bigger_is_better = True

    def __init__(self) -> None:
        self.hits = self.count = 0.0

    def update(self, y_true, y_pred, w=1.0):
        self.hits, self.count = self.hits + w * (y_true == y_pred), self.count + w

    def get(self):
        return self.hits / self.count if self.count else 0.0


def test_metrics_written_in_python():
    X, y = classes(300)
    result = evaluate.prequential(model(), (X, y), [Hits(), "Accuracy"], window=30, every=30)
    np.testing.assert_allclose(result.curve["Hits"], result.curve["Accuracy"], rtol=1e-12)
    np.testing.assert_allclose(result.curve["rolling_Hits"], result.curve["rolling_Accuracy"], rtol=1e-12)
    only = evaluate.prequential(model(), (X, y), Hits, window=30, every=30)
    np.testing.assert_array_equal(only.curve["Hits"], result.curve["Hits"])
    regression = evaluate.prequential(MeanRegressor(), (X, y), Hits())
    assert regression.scored == 300


class Jump:
    """A detector of the user's own: every 50th update."""

    def __init__(self) -> None:
        self.n = 0
        self.drift_detected = False

    def update(self, x):
        assert x in (0.0, 1.0)
        self.n += 1
        self.drift_detected = self.n % 50 == 0


def test_detectors_mark_drift():
    X, y = classes(202)
    result = evaluate.prequential(model(), (X, y), "Accuracy", detector=Jump(), delay=1)
    assert result.drifts == [50, 100, 150, 200]
    assert "drift at 50" in repr(result)


def test_native_detectors_agree_in_both_loops():
    X, y = classes(3000)
    y[1500:] = 1 - y[1500:]
    detector = drift.PageHinkley()
    for delay in (None, 10):
        a = evaluate.prequential(model(), (X, y), "Accuracy", detector=detector, delay=delay)
        b = evaluate.prequential(Wrapped(model()), (X, y), "Accuracy", detector=detector, delay=delay)
        same(a, b)
        assert a.drifts
        assert 1500 < a.drifts[0] < 2500


# The result.


def test_confusion_matrix_and_frames():
    rows = [({"x": 1.0}, label) for label in ["a", "b", "a", "a", "b"]]
    result = evaluate.prequential(Wrapped(linear_model.LogisticRegression()), rows, "Accuracy")
    assert result.confusion.labels == ["a", "b"]
    assert result.confusion.matrix.sum() == 4
    assert "truth" in repr(result.confusion)
    assert result.confusion.to_frame("pandas").shape == (2, 3)
    for kind, library in [("pandas", "pandas"), ("polars", "polars"), ("pyarrow", "pyarrow"), (None, "pandas")]:
        assert type(result.to_frame(kind)).__module__.startswith(library)
    assert list(result.to_frame().columns) == [
        "row",
        "Accuracy",
        "rolling_Accuracy",
        "seconds",
        "memory",
        "waiting",
    ]
    with pytest.raises(InvalidValue):
        result.to_frame("excel")


def test_no_confusion_matrix_of_very_many_classes(tmp_path):
    rows = [({"x": 1.0}, f"class {i}") for i in range(1100)]
    for learner in (baseline.NoChange(), Wrapped(baseline.NoChange())):
        result = evaluate.prequential(learner, rows, "Accuracy")
        assert result.confusion is None
        assert result.scored == 1099
        result.to_html(tmp_path / "page.html")
    assert evaluate.prequential(baseline.NoChange(), rows[:900], "Accuracy").confusion.matrix.shape == (900, 900)


def test_throughput_memory_and_text():
    X, y = classes(1000)
    result = evaluate.prequential(model(), (X, y), delay=5)
    assert result.throughput > 0
    assert result.seconds > 0
    assert result.memory == result.model.memory
    assert (np.diff(result.curve["seconds"]) >= 0).all()
    text = repr(result)
    assert "StandardScaler | LogisticRegression" in text
    assert "Accuracy" in text
    assert "last 1,000" in text


def test_page_is_self_contained(tmp_path):
    X, y = classes(1000)
    result = evaluate.prequential(model(), (X, y), ["Accuracy", "LogLoss"])
    page = result.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert page.startswith("<!doctype html>")
    for word in ("<svg", "polyline", "Confusion matrix", "prefers-color-scheme: dark", "viewport", "window=1000"):
        assert word in page
    for foreign in ("http://", "https://", "<script", "<link", "@import"):
        assert foreign not in page
    several = evaluate.prequential({"<b>": model(), "c": linear_model.LogisticRegression()}, (X, y)).to_html()
    assert "&lt;b&gt;" in several
    assert "<b>" not in several


def test_plot_needs_matplotlib(monkeypatch):
    X, y = classes(100)
    result = evaluate.prequential(model(), (X, y), ["Accuracy", "LogLoss"])
    axes = result.plot("LogLoss")
    assert axes.get_ylabel() == "LogLoss"
    late = evaluate.prequential(model(), (X, y), "Accuracy", delay=30, every=10)
    assert min(late.plot().lines[0].get_xdata()) == 40
    with pytest.raises(InvalidValue, match="metric must be one of"):
        result.plot("MAE")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        result.plot()


def test_progress_is_silent_unless_asked_for(capsys):
    X, y = classes(1000)
    evaluate.prequential(model(), (X, y))
    assert capsys.readouterr().err == ""
    evaluate.prequential(model(), (X, y), progress=True)
    evaluate.prequential(Wrapped(model()), (X, y), progress=True)
    evaluate.prequential([model(), Wrapped(model())], iter([(X, y)] * 3), progress=True)


def test_memory_is_that_of_the_rows_in_flight():
    from millstream.evaluate.chunks import chunks
    from millstream.evaluate.interrupts import Interrupts
    from millstream.evaluate.prequential import PrequentialRun, RunSettings
    from millstream.evaluate.progress import Progress
    from millstream.evaluate.times import Times

    X, y = classes(1000)
    held = []
    for rounds in (10, 100):
        settings = RunSettings(100, 0, 1000, True, 500, False, "raise")
        run = PrequentialRun({"a": model()}, roles.CLASSIFIER, {"Accuracy": metrics.Accuracy()}, None, settings)
        stream = chunks(((X, y) for _ in range(rounds)), Times(None, None, 500), None, 1)
        run.run([stream], 1, Progress(False, None, ""), Interrupts(False))
        held.append(run.engines[True].waiting(0)[1])
    assert held[0] == held[1] < 200_000


def test_finite_everywhere():
    X, y = classes(50)
    result = evaluate.prequential(model(), (X * 1e150, y), ALL, on_error="skip", every=5)
    assert all(math.isfinite(value) for value in result.values.values())


def test_the_memory_of_a_model_in_python_is_counted_rarely(monkeypatch):
    from millstream import _display

    counts = []
    count = _display.memory_of
    monkeypatch.setattr(_display, "memory_of", lambda thing: counts.append(thing) or count(thing))
    words = feature_extraction.BagOfWords(on="words") | linear_model.LogisticRegression()
    rows = [({"words": f"w{n} v{n % 7}"}, n % 2 == 0) for n in range(2000)]
    result = evaluate.prequential(words, rows, every=10)
    memory = result.curve["memory"]
    assert len(memory) == 200
    assert len(counts) <= 12
    assert memory[-1] == result.memory == words.memory
    assert memory[0] < memory[63] < memory[127] < memory[-1]
