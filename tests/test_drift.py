"""Drift detectors: parity with River, many equals one, bad input, state."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
import river.drift

import millstream
from millstream import drift
from millstream.errors import MillstreamError

RNG = np.random.default_rng(5)
STREAM = np.concatenate([RNG.normal(level, 1.0, 700) for level in (0.0, 3.0, -2.0, -2.0, 1.0)])


@pytest.mark.parametrize("mode", ["both", "up", "down"])
@pytest.mark.parametrize("threshold", [5.0, 50.0])
def test_page_hinkley_equals_river(mode: str, threshold: float) -> None:
    ours = drift.PageHinkley(mode=mode, threshold=threshold)
    theirs = river.drift.PageHinkley(mode=mode, threshold=threshold)
    found = []
    for place, x in enumerate(STREAM.tolist()):
        ours.update(x)
        theirs.update(x)
        assert ours.drift_detected == theirs.drift_detected
        assert ours.estimation == theirs._x_mean.get()
        assert not ours.warning_detected
        if ours.drift_detected:
            found.append(place)
    assert found
    assert ours.clone().update_many(STREAM).tolist() == found


def test_it_finds_the_changes() -> None:
    found = drift.PageHinkley(delta=0.2, threshold=30.0, alpha=1.0).update_many(STREAM)
    assert len(found) == 3
    for place, change in zip(found.tolist(), (700, 1400, 2800), strict=True):
        assert change < place < change + 60


@pytest.mark.parametrize("name", millstream.find(role="drift_detector"))
def test_state_and_bad_input(name: str) -> None:
    detector = millstream.build({"name": name})
    fresh = detector.to_bytes()
    for split in (0, 30, 730, 2000):
        whole, part = detector.clone(), detector.clone()
        part.update_many(STREAM[:split])
        part = pickle.loads(pickle.dumps(millstream.from_bytes(part.to_bytes())))
        part.update_many(STREAM[split:])
        whole.update_many(STREAM)
        assert part.to_bytes() == whole.to_bytes()
    detector.update_many(STREAM[:100])
    before = detector.to_bytes()
    for bad in (math.nan, math.inf, "a", None):
        with pytest.raises(MillstreamError):
            detector.update(bad)
    with pytest.raises(ValueError, match="row 1"):
        detector.update_many([1.0, math.nan])
    with pytest.raises(TypeError):
        detector.update_many(["a"])
    assert detector.to_bytes() == before
    detector.reset()
    assert detector.to_bytes() == fresh
    assert detector.memory < 10_000_000


def test_overflow_is_caught() -> None:
    detector = drift.PageHinkley()
    detector.update(1e308)
    before = detector.to_bytes()
    with pytest.raises(OverflowError):
        detector.update(-1e308)
    assert detector.to_bytes() == before
