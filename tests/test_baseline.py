"""Baselines beside River's dummies."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import pytest
import river.dummy
import river.stats

import millstream
from millstream import baseline
from millstream.errors import InvalidState

LABELS = ["a", "b", "b", "c", "a", "a", "c", "b", "a"]


def test_no_change_is_rivers() -> None:
    ours, theirs = baseline.NoChange(), river.dummy.NoChangeClassifier()
    for y in LABELS:
        assert ours.predict_one({}) == theirs.predict_one({})
        assert ours.predict_proba_one({}) == theirs.predict_proba_one({})
        ours.learn_one({}, y)
        theirs.learn_one({}, y)


def test_prior_is_rivers() -> None:
    ours, theirs = baseline.Prior(), river.dummy.PriorClassifier()
    for y in LABELS:
        assert ours.predict_one({}) == theirs.predict_one({})
        assert ours.predict_proba_one({}) == theirs.predict_proba_one({})
        ours.learn_one({}, y)
        theirs.learn_one({}, y)


def test_majority_class_says_what_prior_says_and_is_sure() -> None:
    majority, prior = baseline.MajorityClass(), baseline.Prior()
    assert majority.predict_one({}) is None
    for y in LABELS:
        majority.learn_one({}, y)
        prior.learn_one({}, y)
        said = majority.predict_one({})
        assert said == prior.predict_one({})
        assert majority.predict_proba_one({}) == {label: float(label == said) for label in majority.classes}


def test_target_mean_is_rivers() -> None:
    ours, theirs = baseline.TargetMean(), river.dummy.StatisticRegressor(river.stats.Mean())
    assert ours.predict_one({}) == 0.0
    for y in np.random.default_rng(0).normal(5.0, 2.0, size=50).tolist():
        ours.learn_one({"x": 1.0}, y)
        theirs.learn_one({"x": 1.0}, y)
        assert ours.predict_one({}) == pytest.approx(theirs.predict_one({}), rel=1e-12)


def test_weights() -> None:
    mean = baseline.TargetMean()
    mean.learn_one({}, 4.0)
    mean.learn_one({}, 10.0, 3.0)
    assert mean.predict_one({}) == 8.5
    prior = baseline.Prior()
    prior.learn_one({}, "a", 1.0)
    prior.learn_one({}, "b", 3.0)
    assert prior.predict_proba_one({}) == {"a": 0.25, "b": 0.75}
    assert prior.inspect() == {"classes": [{"count": 1.0}, {"count": 3.0}]}


@pytest.mark.parametrize("part", [baseline.NoChange, baseline.MajorityClass, baseline.Prior])
def test_positive_first_has_one_class(part: Any) -> None:
    model = part()
    model.learn_one({}, True)
    assert model.predict_one({}) is True
    assert model.predict_proba_one({}) == {False: 0.0, True: 1.0}
    model = part()
    model.learn_one({}, 1)
    assert model.predict_proba_one({}) == {1: 1.0}


def test_step_many_is_what_was_known_before() -> None:
    X = np.zeros((4, 2))
    assert baseline.NoChange().step_many(X, ["a", "b", "b", "a"]).tolist() == [None, "a", "b", "b"]
    np.testing.assert_allclose(baseline.TargetMean().step_many(X, [3.0, 5.0, 1.0, 0.0]), [0.0, 3.0, 4.0, 3.0])


def test_target_mean_refuses_to_overflow() -> None:
    model = baseline.TargetMean()
    model.learn_one({}, 1.7e308)
    before = model.to_bytes()
    with pytest.raises(OverflowError, match=r"baseline\.TargetMean"):
        model.learn_one({}, -1.7e308)
    assert model.to_bytes() == before


@pytest.mark.parametrize(("count", "total"), [(1e308, 1e308), (5e-324, 5e-324), (0.25, 5e-324), (0.25, 1e308)])
def test_forged_counts_that_do_not_add_up_are_refused(count: float, total: float) -> None:
    model = baseline.Prior()
    for y, w in (("a", 0.25), ("b", 0.75)):
        model.learn_one({}, y, w)
    body = model.to_bytes()[:-4]
    for old, new in ((0.25, count), (0.75, count), (1.0, total)):
        body = body.replace(struct.pack(">d", old), struct.pack(">d", new))
    with pytest.raises(InvalidState, match="do not add up"):
        millstream.from_bytes(body + struct.pack("<I", zlib.crc32(body)))
