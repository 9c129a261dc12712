"""Hierarchical temporal memory: what each part promises, bad input, limits, and pipelines of the parts."""

from __future__ import annotations

import math
import pickle
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import anomaly, base, evaluate, htm
from millstream.errors import MillstreamError


def small(**others: Any) -> htm.HTMAnomaly:
    """A detector that learns a short cycle in a few hundred rows."""
    return htm.HTMAnomaly(
        **{
            "n_columns": 256,
            "active_columns": 12,
            "cells_per_column": 6,
            "activation_threshold": 7,
            "min_threshold": 5,
            "new_synapses": 12,
            "max_synapses": 16,
            "grace_period": 100,
            "min_samples": 50,
            "calibration_period": 20,
            **others,
        }
    )


def test_the_parts_make_the_detector() -> None:
    """Encoder, pooler, memory and likelihood as a pipeline detect the same jump as the detector in one."""
    parts = htm.AnomalyLikelihood(
        htm.ScalarEncoder(limits=(0, 10), n_bits=100, n_active=15)
        | htm.SpatialPooler(n_columns=256, active_columns=12)
        | htm.TemporalMemory(256, 6, activation_threshold=7, min_threshold=5, new_synapses=12, max_synapses=16),
        grace_period=100,
        min_samples=50,
    )
    for model in (parts, small(limits=(0, 10))):
        rows = [{"x": float(row * 3 % 10)} for row in range(600)]
        usual = [model.step_one(x) for x in rows]
        # The same values in another order.
        unusual = [model.step_one({"x": float(row * row % 10)}) for row in range(20)]
        assert max(usual[400:]) < 0.2, type(model)
        assert max(unusual) > 0.5, type(model)


@pytest.mark.parametrize("limits", [None, (0, 10), {"x": (0, 10)}])
def test_saved_copied_and_continued(limits: Any) -> None:
    model = small(time="time", limits=limits, max_gap=100.0)
    for row in range(300):
        model.learn_one({"time": 60.0 * row, "x": float(row % 7), "colour": "rg"[row % 2]})
    for copied in (millstream.from_bytes(model.to_bytes()), model.copy(), pickle.loads(pickle.dumps(model))):
        for row in range(300, 320):
            x = {"time": 60.0 * row, "x": float(row % 5), "colour": "b"}
            assert copied.score_one(x) == copied.step_one(x)
        assert copied.learned == 320
    assert model.learned == 300


def test_dates_are_times() -> None:
    start = datetime(2024, 3, 1)
    one, other = small(time="time"), small(time="time")
    for row in range(100):
        moment = start + timedelta(minutes=5 * row)
        one.learn_one({"time": moment, "x": float(row % 7)})
        other.learn_one({"time": (moment - datetime(1970, 1, 1)).total_seconds(), "x": float(row % 7)})
    assert one.to_bytes() == other.to_bytes()


def test_time_that_runs_backwards_is_refused() -> None:
    model = small(time="time")
    model.learn_one({"time": 100.0, "x": 1.0})
    before = model.to_bytes()
    with pytest.raises(
        MillstreamError, match=r"the time must not run backwards \(feature 'time'\), got 99 after 100"
    ):
        model.learn_one({"time": 99.0, "x": 1.0})
    with pytest.raises(MillstreamError, match=r"the time of a row is missing \(feature 'time'\)"):
        model.learn_one({"x": 1.0})
    assert model.to_bytes() == before
    written = small(time="time")
    with pytest.raises(
        MillstreamError, match=r"a number of seconds or a datetime, got a string \(feature 'time'\)"
    ):
        written.learn_one({"time": "2026-11-19 22:00", "x": 1.0})
    assert written.learned == 0
    # A row may be scored, whatever its time; in a batch, such rows can be skipped.
    assert model.score_one({"time": 5.0, "x": 1.0}) == 0.0
    rows = [{"time": time, "x": 1.0} for time in (101.0, 50.0, 102.0)]
    assert model.learn_many(rows, on_error="skip") == 1
    assert model.learned == 3


def test_gaps_and_missing_values_start_anew() -> None:
    model = small(time="time", max_gap=600.0, scale="raw")
    for row in range(400):
        model.learn_one({"time": 60.0 * row, "x": float(row % 5)})
    end = 60.0 * 400
    assert model.score_one({"time": end, "x": 0.0}) < 0.2 < model.score_one({"time": end, "x": 2.0})
    # After a gap, anything may follow: its score is 0, and the rows after it are predicted from there.
    assert model.step_one({"time": end + 10_000.0, "x": 2.0}) == 0.0
    assert model.gaps == 1
    model.learn_one({"time": end + 10_060.0, "x": 3.0})
    assert model.score_one({"time": end + 10_120.0, "x": 4.0}) < 0.5
    # A row without a value.
    assert model.step_one({"time": end + 10_180.0, "x": math.nan}) == 0.0
    assert model.gaps == 2


def test_a_constant_series_has_no_anomalies() -> None:
    model = small()
    assert max(model.step_one({"x": 7.5}) for _ in range(600)) < 0.05
    # And another value after it is one.
    assert max(model.step_one({"x": 9000.0}) for _ in range(3)) > 0.3


def test_numbers_outside_the_range() -> None:
    model = small(limits=(0, 10))
    for row in range(200):
        model.learn_one({"x": float(row % 10)})
    assert model.score_one({"x": 9.4}) < 1.0
    assert model.score_one({"x": 9.6}) == model.score_one({"x": -0.5}) == 1.0
    open_model = small(limits=(0, 10), spatial_tolerance=None)
    for row in range(200):
        open_model.learn_one({"x": float(row % 10)})
    assert open_model.score_one({"x": 1e300}) < 1.0
    for encoder in (htm.ScalarEncoder(limits=(0, 10)), htm.ScalarEncoder(limits={"x": (0, 10)})):
        encoder.learn_one({"x": 11.0})
        assert (encoder.clamped, encoder.transform_one({"x": 11.0})) == (1, encoder.transform_one({"x": 10.0}))
    strict = htm.ScalarEncoder(limits=(0, 10), outside="refuse")
    for verb in (strict.learn_one, strict.transform_one):
        with pytest.raises(MillstreamError, match=r"feature 'x' must be in \[0, 10\], got 11"):
            verb({"x": 11.0})


def test_codes_of_values() -> None:
    encoder = htm.CategoryEncoder(n_bits=200, n_active=10)
    colours = [f"colour {place}" for place in range(50)]
    for colour in colours:
        encoder.learn_one({"colour": colour})
    codes = [set(encoder.transform_one({"colour": colour})) for colour in colours]
    assert {len(code) for code in codes} == {10}
    shared = [len(a & b) for place, a in enumerate(codes) for b in codes[:place]]
    # 10²/200 = 0.5 on average.
    assert 0.3 < np.mean(shared) < 0.7


def test_similar_rows_have_similar_columns() -> None:
    model = htm.ScalarEncoder(limits=(0, 100)) | htm.SpatialPooler()
    random = np.random.default_rng(1)
    for x in random.uniform(0, 100, 300):
        model.learn_one({"x": x})
    columns = {x: set(model.transform_one({"x": float(x)})) for x in (20, 21, 60)}
    assert {len(code) for code in columns.values()} == {40}
    assert len(columns[20] & columns[21]) > 20 > len(columns[20] & columns[60])


@pytest.mark.parametrize(
    "build",
    [
        lambda: htm.ScalarEncoder(limits=(-3, 3), n_bits=12, n_active=4),
        lambda: htm.DateEncoder(0, time_of_day=4, weekend=2),
        lambda: htm.SpatialPooler(n_columns=20, active_columns=4),
        lambda: htm.ScalarEncoder(limits=(-3, 3), n_bits=12, n_active=4) | htm.SpatialPooler(20, 4),
    ],
)
def test_many_rows_of_bits_are_one_by_one(build: Any) -> None:
    """`transform_many` has a column for each bit, `transform_one` lists the active ones."""
    X = np.random.default_rng(5).normal(size=(50, 3)).round(0)
    one, many = build(), build()
    for x in X.tolist():
        one.learn_one(dict(enumerate(x)))
    many.learn_many(X[:20])
    many.learn_many(X[20:])
    assert one.to_bytes() == many.to_bytes()
    bits = many.transform_many(X)
    for row, x in zip(bits, X.tolist(), strict=True):
        assert one.transform_one(dict(enumerate(x))) == {int(bit): 1.0 for bit in np.flatnonzero(row)}


def test_boosting_uses_more_columns() -> None:
    def used(strength: float) -> int:
        pooler = htm.SpatialPooler(n_columns=200, active_columns=5, boost_strength=strength, boost_period=100)
        model = htm.ScalarEncoder(limits=(0, 1), n_bits=60, n_active=9) | pooler
        random = np.random.default_rng(2)
        values = random.uniform(0, 1, 400)
        for x in values:
            model.learn_one({"x": x})
        return len({column for x in values for column in model.transform_one({"x": x})})

    assert used(10.0) > 1.2 * used(0.0)


def test_memory_is_bounded() -> None:
    random = np.random.default_rng(3)
    memory = htm.TemporalMemory(
        100, 4, activation_threshold=4, min_threshold=3, max_segments=300, max_synapses=8, max_segments_per_cell=5
    )
    sizes = []
    for _ in range(1500):
        memory.learn_one({int(column): 1 for column in random.choice(100, 10, replace=False)})
        sizes.append(memory.memory)
    assert memory.n_segments <= 300
    assert memory.n_synapses <= 8 * 300
    assert memory.evictions > 500
    assert sizes[-1] < 1.3 * sizes[700]


def test_wrong_settings_have_one_line() -> None:
    for build, message in (
        (lambda: htm.ScalarEncoder((0, 1), n_bits=10, n_active=10), "n_active must be below n_bits, 10, got 10"),
        (lambda: htm.CategoryEncoder(n_bits=10, n_active=6), "n_active must be at most half of n_bits, 5, got 6"),
        (lambda: htm.DateEncoder("t", time_of_day=0), "one of time_of_day, day_of_week, weekend and season"),
        (lambda: htm.SpatialPooler(10, 11), "active_columns must be at most n_columns, 10, got 11"),
        (
            lambda: htm.TemporalMemory(activation_threshold=3),
            "min_threshold must be at most activation_threshold, 3, got 10",
        ),
        (
            lambda: htm.TemporalMemory(max_synapses=5),
            "activation_threshold must be at most max_synapses, 5, got 13",
        ),
        (lambda: htm.TemporalMemory(2**20, 32), "n_columns must be at most"),
        (lambda: htm.HTMAnomaly(n_columns=10), "active_columns must be at most n_columns, 10, got 40"),
        (lambda: htm.AnomalyLikelihood(anomaly.GaussianScorer(), window_size=50), "min_samples must be at most"),
    ):
        with pytest.raises(MillstreamError, match=message):
            build()
    memory = htm.TemporalMemory(n_columns=4)
    with pytest.raises(MillstreamError, match="active bits must be in the first n_columns, 4, got bit 5"):
        memory.learn_one(dict.fromkeys(range(6), 1.0))
    with pytest.raises(MillstreamError, match="active bits must be in the first n_columns, 4, got bit 5"):
        memory.learn_many(np.ones((2, 6)))


class _Own(base.AnomalyDetector):
    def score_one(self, x: Any) -> float:
        return 0.5


def test_a_likelihood_needs_a_native_detector() -> None:
    with pytest.raises(MillstreamError, match="model must be a native anomaly detector, got"):
        htm.AnomalyLikelihood(_Own())
    with pytest.raises(MillstreamError, match=r"htm\.AnomalyLikelihood: model must be"):
        htm.AnomalyLikelihood(htm.SpatialPooler())


def test_a_likelihood_around_any_detector() -> None:
    model = htm.AnomalyLikelihood(anomaly.HalfSpaceTrees(limits=(0, 1)), grace_period=300, scale="likelihood")
    random = np.random.default_rng(4)
    X = random.uniform(0.2, 0.4, size=(1500, 2))
    X[1400:1450] = 0.9
    scores = model.step_many(X)
    assert scores[:400].max() == 0.0
    assert scores[1405:1450].min() > 0.99 > np.median(scores[400:1400])
    assert type(model.model) is anomaly.HalfSpaceTrees
    onsets = htm.AnomalyLikelihood(anomaly.HalfSpaceTrees(limits=(0, 1)), grace_period=300, onsets_only=True)
    scores = onsets.step_many(X)
    assert (scores[1400:1450] > 0.5).sum() < 3


def test_prequential_and_filters() -> None:
    """A series whose order changes for 30 of 1,500 rows: the area under the ROC curve, and a filter around it."""
    rows = [{"x": float(row * 3 % 10 if not 1200 <= row < 1230 else row * row % 7)} for row in range(1500)]
    y = [1200 <= row < 1240 for row in range(1500)]
    result = evaluate.prequential(small(limits=(0, 10)), list(zip(rows, y, strict=True)), metrics="ROCAUC")
    assert result["ROCAUC"] > 0.9
    decided = anomaly.ThresholdFilter(small(limits=(0, 10)), 0.4, protect_anomaly_detector=False)
    assert any([decided.predict_one(x) or decided.learn_one(x) for x in rows[:1300]][1200:])


def test_a_union_of_encoders() -> None:
    values = htm.ScalarEncoder(limits={"x": (0, 10)}, n_bits=50, n_active=9)
    encoders = values + htm.DateEncoder("time", time_of_day=9)
    model = (
        encoders | htm.SpatialPooler(128, 8) | htm.TemporalMemory(128, 4, activation_threshold=5, min_threshold=3)
    )
    scores = [model.step_one({"time": 3600.0 * row, "x": float(row % 5)}) for row in range(600)]
    assert np.mean(scores[500:]) < 0.2 < np.mean(scores[:50])
