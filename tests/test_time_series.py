"""Forecasters, native and written in Python, and rolling-origin evaluation."""

from __future__ import annotations

import copy
import datetime
import math
import pickle
import statistics
import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import river.datasets
import river.evaluate
import river.linear_model
import river.metrics
import river.preprocessing
import river.time_series

import millstream
from millstream import compose, evaluate, linear_model, metrics, preprocessing, roles, time_series
from millstream.errors import InvalidType, InvalidValue, MillstreamError, NumericOverflow

PASSENGERS = [float(y) for _, y in river.datasets.AirlinePassengers()]


class Drift(time_series.Forecaster):
    """The last value plus the mean change so far, times the steps ahead; a feature `bump` is added."""

    def __init__(self) -> None:
        self.first = self.last = 0.0
        self.n = 0

    def learn_one(self, y: float, x: Mapping[Any, Any] | None = None) -> None:
        if y < 0:
            raise InvalidValue(f"Drift: y must not be negative, got {y}")
        y -= x["bump"] if x else 0.0
        self.first = self.first if self.n else y
        self.last, self.n = y, self.n + 1

    def forecast(self, horizon: int, xs: Sequence[Mapping[Any, Any]] | None = None) -> list[float]:
        slope = (self.last - self.first) / (self.n - 1) if self.n > 1 else 0.0
        bumps = [x["bump"] for x in xs] if xs and xs[0] else [0.0] * horizon
        return [self.last + slope * (ahead + 1) + bumps[ahead] for ahead in range(horizon)]


class Late:
    """Learns each value one step late, which is what River's evaluation does to a model."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.waiting: list[tuple[float, Any]] = []

    def learn_one(self, y: float, x: Any = None) -> None:
        if self.waiting:
            self.model.learn_one(*self.waiting.pop())
        self.waiting.append((y, x))

    def forecast(self, horizon: int, xs: Any = None) -> list[float]:
        return list(self.model.forecast(horizon, xs))


def by_hand(model: Any, series: list[float], horizon: int, grace: int, step: int) -> Any:
    """Absolute errors by origin and step of the horizon."""
    errors = []
    for origin in range(len(series) + 1):
        if origin >= grace and (origin - grace) % step == 0 and origin + horizon <= len(series):
            truth = series[origin : origin + horizon]
            errors.append([abs(y - f) for y, f in zip(truth, model.forecast(horizon), strict=True)])
        if origin < len(series):
            model.learn_one(series[origin])
    return np.array(errors)


@pytest.mark.parametrize(("horizon", "grace", "step"), [(1, 0, 1), (3, 3, 1), (12, 20, 1), (5, 7, 4), (7, 0, 7)])
def test_errors_are_those_of_a_loop_by_hand(horizon: int, grace: int, step: int) -> None:
    errors = by_hand(Drift(), PASSENGERS, horizon, grace, step)
    result = evaluate.forecast(
        Drift(), PASSENGERS, horizon, metrics=["MAE", "RMSE"], grace_period=grace, step=step
    )
    assert result["MAE"] == pytest.approx(errors.mean(axis=0), rel=1e-12)
    assert result["RMSE"] == pytest.approx(np.sqrt((errors**2).mean(axis=0)), rel=1e-12)
    assert result.origins == len(errors)
    assert result.counts.tolist() == [len(errors)] * horizon
    assert result.learned == len(PASSENGERS)


def test_the_model_has_learned_to_the_end() -> None:
    result, model = evaluate.forecast(Drift(), PASSENGERS), Drift()
    model.learn_many(PASSENGERS)
    assert result.model.forecast(3) == model.forecast(3)


@pytest.mark.parametrize("name", ["MAE", "RMSE", "SMAPE"])
@pytest.mark.parametrize(
    "make",
    [
        Drift,
        lambda: river.time_series.HoltWinters(alpha=0.3),
        lambda: river.time_series.HoltWinters(0.3, 0.1, 0.6, seasonality=12, multiplicative=True),
    ],
)
def test_equals_river_with_a_model_that_learns_one_step_late(name: str, make: Any) -> None:
    # River forecasts before it learns y and compares the first forecast, which is of y, with the value after y.
    theirs = river.evaluate.evaluate(
        ((None, y) for y in PASSENGERS), make(), getattr(river.metrics, name)(), horizon=12
    )
    ours = evaluate.forecast(Late(make()), PASSENGERS, 12, metrics=name, grace_period=13)
    assert ours[name] == pytest.approx(theirs.get(), rel=1e-9)
    aggregated = river.evaluate.evaluate(
        ((None, y) for y in PASSENGERS), make(), getattr(river.metrics, name)(), 12, statistics.mean
    )
    assert ours.mean(name) == pytest.approx(aggregated.get(), rel=1e-9)


def test_river_forecaster_with_features_equals_river() -> None:
    def make() -> Any:
        regressor = river.preprocessing.StandardScaler() | river.linear_model.LinearRegression()
        return river.time_series.SNARIMAX(p=12, d=1, q=0, regressor=regressor)

    def stream() -> Iterator[tuple[dict[str, float], float]]:
        for x, y in river.datasets.AirlinePassengers():
            yield {"month": float(x["month"].month)}, y

    theirs = river.evaluate.evaluate(stream(), make(), river.metrics.MAE(), horizon=6)
    ours = evaluate.forecast(Late(make()), stream(), 6, grace_period=7)
    assert ours["MAE"] == pytest.approx(theirs.get(), rel=1e-9)


def test_a_line_has_no_error_one_step_ahead() -> None:
    # River reports an error of 1 here, because it is one step off.
    result = evaluate.forecast(Drift(), range(20), 3)
    assert result["MAE"].tolist() == [0.0, 0.0, 0.0]
    theirs = river.evaluate.evaluate(((None, y) for y in range(20)), Drift(), river.metrics.MAE(), horizon=3)
    assert theirs.get() == [1.0, 1.0, 1.0]


INDEX = pandas.date_range("1949-01-01", periods=len(PASSENGERS), freq="MS")
SERIES = {
    "tuple": tuple(PASSENGERS),
    "whole numbers": [int(y) for y in PASSENGERS],
    "array": np.array(PASSENGERS),
    "float32": np.array(PASSENGERS, dtype=np.float32),
    "pandas": pandas.Series(PASSENGERS, index=INDEX),
    "pandas whole numbers": pandas.Series(PASSENGERS).astype("Int64"),
    "polars": polars.Series(PASSENGERS),
    "arrow": pyarrow.array(PASSENGERS),
    "arrow chunks": pyarrow.chunked_array([PASSENGERS[:50], PASSENGERS[50:]]),
    "pairs": [({}, y) for y in PASSENGERS],
    "times": list(zip(INDEX, PASSENGERS, strict=True)),
}


@pytest.mark.parametrize("form", SERIES)
def test_all_forms_of_a_series_give_the_same(form: str) -> None:
    expected = evaluate.forecast(Drift(), PASSENGERS, 4)
    result = evaluate.forecast(Drift(), SERIES[form], 4)
    assert result["MAE"].tolist() == expected["MAE"].tolist()
    model = Drift()
    model.learn_many(SERIES[form])
    assert model.forecast(2) == expected.model.forecast(2)


BUMPS = [float(i % 3) for i in range(40)]
BUMPED = [i + bump for i, bump in enumerate(BUMPS)]
FEATURES = {
    "dicts": [{"bump": bump} for bump in BUMPS],
    "generator": lambda: ({"bump": bump} for bump in BUMPS),
    "pandas": pandas.DataFrame({"bump": BUMPS}),
    "polars": polars.DataFrame({"bump": BUMPS}),
    "arrow": pyarrow.table({"bump": BUMPS}),
}


@pytest.mark.parametrize("form", FEATURES)
def test_features_of_the_steps_ahead_reach_the_model(form: str) -> None:
    given = FEATURES[form]
    X = given() if callable(given) else given
    result = evaluate.forecast(Drift(), BUMPED, 5, X=X)
    assert result["MAE"] == pytest.approx([0.0] * 5, abs=1e-12)
    assert evaluate.forecast(Drift(), BUMPED, 5)["MAE"].min() > 0.1


def test_features_in_pairs() -> None:
    pairs = [({"bump": bump}, y) for bump, y in zip(BUMPS, BUMPED, strict=True)]
    assert evaluate.forecast(Drift(), iter(pairs), 5)["MAE"] == pytest.approx([0.0] * 5, abs=1e-12)
    with pytest.raises(InvalidValue, match="features must be in the series or in X, got both"):
        evaluate.forecast(Drift(), pairs, 5, X=FEATURES["dicts"])


@pytest.mark.parametrize(
    ("rows", "words"), [(39, "the series is longer than X"), (41, "X is longer than the series")]
)
def test_features_and_values_must_be_as_many(rows: int, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        evaluate.forecast(Drift(), BUMPED, 5, X=[{"bump": 0.0}] * rows)


def test_forecasts_one_by_one() -> None:
    steps = list(evaluate.iter_forecast(Drift(), SERIES["pandas"], 2, grace_period=5, step=3))
    assert [at.origin for at in steps] == list(range(5, 143, 3))
    assert [at.truth for at in steps] == [PASSENGERS[at.origin : at.origin + 2] for at in steps]
    assert [at.time for at in steps] == [INDEX[at.origin - 1] for at in steps]
    model = Drift()
    model.learn_many(PASSENGERS[:8])
    assert steps[1].forecast == model.forecast(2)
    assert steps[-1].result.origins == len(steps)
    pairs = [(datetime.date(2024, 1, 1 + i), float(i)) for i in range(5)]
    assert next(evaluate.iter_forecast(Drift(), pairs, 2)).time == datetime.date(2024, 1, 2)


def test_several_models_in_one_pass() -> None:
    smooth = river.time_series.HoltWinters(alpha=0.1)
    results = evaluate.forecast({"drift": Drift(), "smooth": smooth}, iter(PASSENGERS), 4, metrics=["MAE", "RMSE"])
    alone = evaluate.forecast(Drift(), PASSENGERS, 4, metrics=["MAE", "RMSE"])
    assert results["drift"]["RMSE"].tolist() == alone["RMSE"].tolist()
    assert results.best.name == min(results, key=lambda name: results[name].mean("MAE"))
    assert repr(results).splitlines()[0] == "137 origins, mean over 4 steps ahead"
    assert repr(results).splitlines()[2].startswith(results.best.name)
    frame = results.to_frame("polars")
    assert frame.columns == ["model", "horizon", "count", "MAE", "RMSE"]
    assert frame["model"].to_list() == ["drift"] * 4 + ["smooth"] * 4
    assert list(evaluate.forecast([Drift(), Drift()], PASSENGERS, 4)) == ["Drift", "Drift 2"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frame_and_table(kind: str) -> None:
    result = evaluate.forecast(Drift(), PASSENGERS, 3, metrics=("MAE", "MAPE"))
    frame = result.to_frame(kind)
    column = frame["MAPE"].to_pylist() if kind == "pyarrow" else list(frame["MAPE"])
    assert column == result["MAPE"].tolist()
    lines = repr(result).splitlines()
    assert lines[0] == "Drift: 139 origins, 3 steps ahead"
    assert lines[1].split() == ["count", "MAE", "MAPE"]
    assert [line.split()[0] for line in lines[2:]] == ["+1", "+2", "+3", "mean"]


def test_plot(tmp_path: Any) -> None:
    results = evaluate.forecast([Drift(), Late(Drift())], PASSENGERS, 5, metrics=("MAE", "RMSE"))
    path = tmp_path / "errors.png"
    results.save_plot(path, "RMSE")
    assert path.read_bytes().startswith(b"\x89PNG")
    from matplotlib.figure import Figure

    axes = results["Drift"].plot(ax=Figure().subplots())
    assert axes.lines[0].get_ydata().tolist() == results["Drift"]["MAE"].tolist()
    with pytest.raises(InvalidValue, match="metric must be one of MAE, RMSE, got 'R2'"):
        results.plot("R2")
    with pytest.raises(InvalidValue, match=r"saved as \.png, \.svg, \.pdf"):
        results.save_plot(tmp_path / "errors.txt")


def test_memory_does_not_grow_with_the_series() -> None:
    def peak(n: int) -> int:
        tracemalloc.start()
        evaluate.forecast(Drift(), (float(i % 7) for i in range(n)), 3, step=50)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(100)
    assert peak(5000) < peak(500) + 20_000


def test_missing_values_are_refused_or_skipped() -> None:
    series: list[Any] = [0.0, 1.0, None, 3.0, math.nan, 5.0, 6.0, 7.0]
    with pytest.raises(InvalidValue, match="value 2 of the series is missing"):
        evaluate.forecast(Drift(), series, 2)
    for model in (Drift(), Late(Drift())):
        result = evaluate.forecast(model, series, 2, missing="skip")
        assert (result.learned, result.missing, result.origins) == (6, 2, 5)
    result = evaluate.forecast(Drift(), series, 2, missing="skip")
    # Origins 2 to 6: one step ahead 2 and 4 are missing, two steps ahead 4 is.
    assert result.counts.tolist() == [3, 4]
    assert result["MAE"].tolist() == [0.0, 0.0]
    assert "2 missing values" in repr(result)
    leading = evaluate.forecast(Drift(), [None, *range(8)], 2, grace_period=3, missing="skip")
    assert leading["MAE"].tolist() == [0.0, 0.0]
    nullable = pandas.Series([1, None, 3, 4, 5, 6], dtype="Int64")
    assert evaluate.forecast(Drift(), nullable, 2, missing="skip").missing == 1


@pytest.mark.parametrize(
    ("bad", "kind", "words"),
    [
        ({"horizon": 0}, ValueError, "horizon must be an integer >= 1, got 0"),
        ({"horizon": 2.5}, TypeError, "horizon must be an integer >= 1, got 2.5"),
        ({"grace_period": -1}, ValueError, "grace_period must be an integer >= 0, got -1"),
        ({"step": 0}, ValueError, "step must be an integer >= 1, got 0"),
        ({"missing": "drop"}, ValueError, "missing must be one of raise, skip, got 'drop'"),
        ({"metrics": "Accuracy"}, TypeError, "a metric must be a regression metric, got Accuracy"),
        ({"metrics": []}, ValueError, "evaluate.forecast: pass at least one metric"),
        ({"model": metrics.MAE()}, TypeError, "a forecaster has learn_one"),
        ({"series": "123"}, TypeError, "a series must be an iterable of numbers, got str"),
        ({"series": [1.0, "2"]}, TypeError, "value 1 of the series must be a number, got '2'"),
        ({"series": [1.0, math.inf]}, ValueError, "value 1 of the series must be finite, got inf"),
        ({"series": [10**400]}, ValueError, "value 0 of the series must fit in a float"),
        ({"series": [(None, 1.0, 2.0)]}, ValueError, r"value 0 of the series must be y or \(x, y\)"),
        ({"series": np.ones((3, 2))}, TypeError, "a series must be one column of numbers"),
        ({"series": pandas.DataFrame({"a": [1.0]})}, TypeError, "a series must be one column of numbers"),
    ],
)
def test_bad_arguments(bad: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        evaluate.forecast(**{"model": Drift(), "series": PASSENGERS, **bad})


def test_bad_forecasts_are_refused() -> None:
    class Bad(Drift):
        def __init__(self, answer: Any = None) -> None:
            super().__init__()
            self.answer = answer

        def forecast(self, horizon: int, xs: Any = None) -> Any:
            return self.answer

    for answer, words in [([1.0], "2 numbers, got 1"), ([1.0, math.nan], "finite"), (None, "a list of numbers")]:
        with pytest.raises((InvalidValue, InvalidType), match=words):
            evaluate.forecast(Bad(answer), PASSENGERS, 2)


def test_an_error_of_the_model_names_the_value() -> None:
    with pytest.raises(InvalidValue, match="must not be negative") as caught:
        evaluate.forecast(Drift(), [1.0, 2.0, -3.0, 4.0, 5.0], 1)
    assert caught.value.__notes__ == ["evaluate.forecast: Drift failed to learn value 2 of the series"]
    with pytest.raises(IndexError) as early:
        evaluate.forecast(river.time_series.HoltWinters(0.5), PASSENGERS, 1, grace_period=0)
    assert early.value.__notes__ == ["evaluate.forecast: HoltWinters failed to forecast after 0 values"]


def test_a_series_that_is_too_short_scores_nothing() -> None:
    result = evaluate.forecast(Drift(), [1.0, 2.0, 3.0], 2)
    assert repr(result).endswith("the first forecast needs 4 values, the series has 3")
    assert np.isnan(result["MAE"]).all()
    assert math.isnan(result.mean())
    assert result.model.n == 3


def test_learn_many_is_atomic_and_refuses_missing_values() -> None:
    model = Drift()
    model.learn_many([1.0, 2.0])
    for bad in ([3.0, -1.0], [3.0, None], [3.0, math.nan]):
        with pytest.raises(InvalidValue, match="row 1: Drift: y must") as caught:
            model.learn_many(bad)
        assert caught.value.row == 1
        assert (model.last, model.n) == (2.0, 2)
    model.skip_one()
    assert (model.last, model.n) == (3.0, 3)


def test_a_forecaster_in_python_is_a_part() -> None:
    model = Drift()
    model.learn_many([1.0, 2.0])
    copied, cloned = model.copy(), model.clone()
    model.learn_one(9.0)
    assert (copied.n, cloned.n, model.n) == (2, 0, 3)
    assert repr(model) == "Drift()"
    assert model.role == "forecaster"
    assert model.memory > 0
    assert millstream.time_series.Forecaster is time_series.Forecaster
    for call in (lambda: time_series.Forecaster().learn_one(1.0), lambda: time_series.Forecaster().forecast(1)):
        with pytest.raises(NotImplementedError, match="Forecaster does not define"):
            call()


#: One of each kind of native forecaster.
NATIVE: dict[str, Any] = {
    "naive": lambda: time_series.SeasonalNaive(),
    "seasonal naive": lambda: time_series.SeasonalNaive(period=12),
    "level": lambda: time_series.HoltWinters(0.3),
    "trend": lambda: time_series.HoltWinters(0.3, 0.1),
    "damped": lambda: time_series.HoltWinters(0.3, 0.1, damping=0.9),
    "additive": lambda: time_series.HoltWinters(0.3, 0.1, 0.6, period=12),
    "multiplicative": lambda: time_series.HoltWinters(0.3, 0.1, 0.6, period=12, multiplicative=True),
}
native = pytest.mark.parametrize("make", list(NATIVE.values()), ids=list(NATIVE))


def taught(model: Any, series: Any) -> Any:
    for y in series:
        model.learn_one(y)
    return model


@pytest.mark.parametrize(
    "arguments",
    [
        {"alpha": 0.3},
        {"alpha": 0.3, "beta": 0.1},
        {"alpha": 0.3, "beta": 0.1, "gamma": 0.6, "seasonality": 12, "multiplicative": True},
        {"alpha": 0.9, "beta": 0.05, "gamma": 0.2, "seasonality": 7, "multiplicative": True},
    ],
)
def test_holt_winters_equals_river_after_every_value(arguments: dict[str, Any]) -> None:
    ours, theirs = time_series.HoltWinters(**arguments), river.time_series.HoltWinters(**arguments)
    for row, y in enumerate(PASSENGERS, 1):
        ours.learn_one(y)
        theirs.learn_one(y)
        if row >= max(2, arguments.get("seasonality", 0)):
            assert ours.forecast(24) == pytest.approx(theirs.forecast(24), rel=1e-12)


def test_names_of_river_and_no_seasons() -> None:
    model = time_series.HoltWinters(alpha=0.5, beta=0.25, gamma=None, seasonality=0)
    assert (model.smoothing_level, model.smoothing_trend, model.smoothing_seasonal) == (0.5, 0.25, None)
    assert model.period is None
    assert repr(model) == "HoltWinters(smoothing_level=0.5, smoothing_trend=0.25)"
    assert model.inspect() == {"first": []}
    model.learn_many([1.0, 3.0, 8.0])
    assert model.inspect() == {"level": 6.0, "trend": 2.5, "seasons": []}
    assert model.clone(smoothing_trend=None).describe()["parameters"]["smoothing_trend"] is None
    with pytest.raises(AttributeError):
        model.period = 3  # type: ignore[misc]


@native
def test_a_native_forecaster_is_a_part(make: Any, tmp_path: Any) -> None:
    model = make()
    assert roles.role_of(model) is roles.FORECASTER
    assert isinstance(model, time_series.Forecaster)
    assert all(callable(getattr(model, verb)) for verb in roles.FORECASTER.verbs)
    taught(model, PASSENGERS[:50])
    assert model.learned == 50
    assert model.memory > 0
    model.save(tmp_path / "model.ms")
    others = [
        millstream.load(tmp_path / "model.ms"),
        millstream.from_bytes(model.to_bytes()),
        pickle.loads(pickle.dumps(model)),
        copy.copy(model),
        copy.deepcopy(model),
        model.copy(),
    ]
    taught(model, PASSENGERS[50:])
    for other in others:
        assert type(other) is type(model)
        assert other.learned == 50
        assert taught(other, PASSENGERS[50:]).to_bytes() == model.to_bytes()
    assert model.clone().to_bytes() == make().to_bytes()
    assert millstream.build(model.describe()).describe() == model.describe()


@native
def test_learn_many_equals_the_loop(make: Any) -> None:
    whole = taught(make(), PASSENGERS).to_bytes()
    array = np.array(PASSENGERS)
    forms = [PASSENGERS, iter(PASSENGERS), array, array.astype(np.int32), np.repeat(array, 2)[::2]]
    forms += [pandas.Series(array), polars.Series(array), pyarrow.chunked_array([array[:9], array[9:]])]
    forms += [[(None, y) for y in PASSENGERS], [({"month": 1}, y) for y in PASSENGERS]]
    for form in forms:
        model = make()
        assert model.learn_many(form) == 0
        assert model.to_bytes() == whole
    model = make()
    model.learn_many(PASSENGERS[:40], X=np.zeros((40, 2)))
    model.learn_many(PASSENGERS[40:])
    assert model.to_bytes() == whole


@native
def test_learn_many_raises_stops_or_skips(make: Any) -> None:
    for bad in (None, math.nan, math.inf, "text", 10**400, [1.0]):
        series = [*PASSENGERS[:20], bad, *PASSENGERS[20:30]]
        before = taught(make(), PASSENGERS[:5])
        model = before.copy()
        with pytest.raises(MillstreamError, match=r"^row 20: time_series\.\w+: y must") as caught:
            model.learn_many(series)
        assert caught.value.row == 20
        assert "\n" not in str(caught.value)
        assert model.to_bytes() == before.to_bytes()
        with pytest.raises(MillstreamError, match="^row 20: "):
            model.learn_many(series, on_error="stop")
        assert model.to_bytes() == taught(before.copy(), PASSENGERS[:20]).to_bytes()
        model = before.copy()
        assert model.learn_many(series, on_error="skip") == 1
        by_hand = taught(before.copy(), PASSENGERS[:20])
        by_hand.skip_one()
        assert model.to_bytes() == taught(by_hand, PASSENGERS[20:30]).to_bytes()
    with pytest.raises(InvalidValue, match="on_error must be one of raise, stop, skip, got 'ignore'"):
        make().learn_many(PASSENGERS, on_error="ignore")


def test_learn_many_of_a_forecaster_in_python_stops_or_skips() -> None:
    series = [1.0, 2.0, "text", 4.0, None, -1.0]
    model = Drift()
    assert model.learn_many(series, on_error="skip") == 3
    assert (model.last, model.n) == (6.0, 6)
    model = Drift()
    with pytest.raises(InvalidType, match="row 2: Drift: value 2 of the series must be a number"):
        model.learn_many(series, on_error="stop")
    assert (model.last, model.n) == (2.0, 2)


@native
@pytest.mark.parametrize("learned", [0, 1, 5, 40])
def test_bad_input_leaves_the_state_as_it_was(make: Any, learned: int) -> None:
    model = taught(make(), PASSENGERS[:learned])
    before = model.to_bytes()
    calls = [lambda y=y: model.learn_one(y) for y in (math.nan, math.inf, None, "1.0", b"1", [1.0], 1j, 10**400)]
    calls += [lambda x=x: model.learn_one(1.0, x) for x in (3, "x", [1.0])]
    calls += [lambda x=x: model.skip_one(x) for x in (3, "x")]
    calls += [lambda h=h: model.forecast(h) for h in (0, -1, 10**9, 10**30, 2.5, "3", None, True)]
    calls += [lambda xs=xs: model.forecast(2, xs) for xs in (3, "xs", {"a": 1}, [{}], [{}, 3], [{}] * 3)]
    calls += [lambda ys=ys: model.learn_many(ys) for ys in (3, "text", {"a": 1}, np.zeros((2, 2)), [1.0, None])]
    calls += [lambda: model.learn_many([1.0, 2.0], X=[{}])]
    for call in calls:
        with pytest.raises((InvalidType, InvalidValue)) as caught:
            call()
        assert type(model).name in str(caught.value)
        assert "\n" not in str(caught.value)
        assert model.to_bytes() == before
    assert np.isfinite(model.forecast(3)).all()


@native
def test_numbers_that_overflow_are_refused_or_learned(make: Any) -> None:
    for learned in (0, 1, 5, 40):
        model = taught(make(), PASSENGERS[:learned])
        for y in (1e308, -1e308, 1e300, 1e308, 5e-324, 1.0):
            before = model.to_bytes()
            try:
                model.learn_one(y)
            except (NumericOverflow, InvalidValue):
                assert model.to_bytes() == before
            assert np.isfinite(model.forecast(30)).all()
            assert millstream.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


@native
def test_a_forecast_is_pure_and_finite_at_any_moment(make: Any) -> None:
    model = make()
    for y in PASSENGERS:
        before = model.to_bytes()
        forecasts = model.forecast(30, [{"month": 1}] * 30)
        assert forecasts.dtype == np.float64
        assert forecasts.shape == (30,)
        assert np.isfinite(forecasts).all()
        assert model.forecast(30).tolist() == forecasts.tolist()
        # A shorter horizon is the beginning of a longer one.
        assert model.forecast(np.int64(7)).tolist() == forecasts[:7].tolist()
        assert model.to_bytes() == before
        model.learn_one(y, {"month": 1})


@native
def test_a_skipped_step_counts_as_its_forecast(make: Any) -> None:
    model = make()
    model.skip_one()
    assert model.to_bytes() == make().to_bytes()
    taught(model, PASSENGERS[:40])
    other = taught(model.copy(), model.forecast(1))
    model.skip_one({"month": 1})
    assert model.learned == 40
    assert model.forecast(24) == pytest.approx(other.forecast(24), rel=1e-12)


@native
def test_native_forecasters_are_evaluated(make: Any) -> None:
    errors = by_hand(make(), PASSENGERS, 6, 20, 1)
    result = evaluate.forecast(make(), PASSENGERS, 6, grace_period=20)
    assert result["MAE"] == pytest.approx(errors.mean(axis=0), rel=1e-12)
    assert result.name == type(make()).__name__
    gaps = [*PASSENGERS[:30], None, *PASSENGERS[31:]]
    assert evaluate.forecast(make(), gaps, 6, missing="skip").missing == 1


def test_seasons_beat_the_baseline() -> None:
    models = {name: make() for name, make in NATIVE.items()}
    results = evaluate.forecast(models, PASSENGERS, grace_period=36)
    assert results.best.name == "multiplicative"
    assert results["seasonal naive"].mean() < results["naive"].mean()


def test_an_evaluation_refuses_a_horizon_that_nobody_reads() -> None:
    with pytest.raises(InvalidValue, match="horizon must be at most 10,000 in an evaluation, got 300,000"):
        evaluate.forecast(time_series.SeasonalNaive(3), range(60), 300_000)


def test_a_forecaster_is_not_a_model_of_features() -> None:
    model = time_series.SeasonalNaive()
    assert roles.FORECASTER not in roles.EVALUATED
    assert roles.FORECASTER.asks == ("forecast",)
    for forecaster in (model, Drift()):
        with pytest.raises(
            InvalidType, match="a model must be a classifier, a regressor, an anomaly detector or a clusterer, got"
        ):
            evaluate.prequential(forecaster, [({"a": 1.0}, 1.0)])
        with pytest.raises(InvalidType):
            compose.Pipeline(preprocessing.StandardScaler(), forecaster)
    with pytest.raises(InvalidType, match="a forecaster has learn_one"):
        evaluate.forecast(linear_model.LinearRegression(), PASSENGERS)
    with pytest.raises(InvalidType, match="a forecaster has learn_one"):
        evaluate.forecast(time_series.SeasonalNaive, PASSENGERS)
    with pytest.raises(MillstreamError, match="joins models, got SeasonalNaive"):
        millstream.parse("StandardScaler | SeasonalNaive")
    assert millstream.parse("HoltWinters(0.5, period=None)").describe()["name"] == "time_series.HoltWinters"
