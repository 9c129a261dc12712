"""Laws of metrics, statistics, sketches, drift detectors, forecasters, policies and samplers of the registry."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest

import millstream
from measures import MEASURES, Measured
from millstream.errors import MillstreamError

everywhere = pytest.mark.parametrize("measured", MEASURES, ids=repr)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return all(map(same, a, b))
    return bool(a == b) or (isinstance(a, float) and math.isnan(a) and math.isnan(b))


@everywhere
def test_description_goes_round(measured: Measured) -> None:
    measure = measured.build()
    again = millstream.build(measure.describe())
    assert again.describe() == measure.describe()
    assert again.to_bytes() == measure.to_bytes()


@everywhere
@pytest.mark.parametrize("split", [0, 1, 11, 70])
def test_saved_and_continued_is_never_stopped(measured: Measured, split: int) -> None:
    whole = measured.told(measured.build(), range(100))
    part = measured.told(measured.build(), range(split))
    revived = type(part)._revive(part.to_bytes())
    assert revived.to_bytes() == part.to_bytes()
    assert same(measured.value(revived), measured.value(part))
    measured.told(revived, range(split, 100))
    assert revived.to_bytes() == whole.to_bytes()
    assert same(measured.value(revived), measured.value(whole))


@everywhere
def test_a_measure_is_loaded_by_its_name(measured: Measured) -> None:
    measure = measured.told(measured.build(), range(20))
    revived = millstream.from_bytes(measure.to_bytes())
    assert type(revived) is type(measure)
    assert revived.to_bytes() == measure.to_bytes()


@everywhere
def test_copies_are_equal_and_independent(measured: Measured) -> None:
    measure = measured.told(measured.build(), range(20))
    before = measure.to_bytes()
    for other in (copy.copy(measure), copy.deepcopy(measure), pickle.loads(pickle.dumps(measure))):
        assert type(other) is type(measure)
        assert other.to_bytes() == before
        measured.told(other, range(20, 40))
        assert measure.to_bytes() == before
    clone = measure.clone()
    assert clone.to_bytes() == measured.build().to_bytes()


@everywhere
def test_asking_changes_nothing(measured: Measured) -> None:
    measure = measured.build()
    for row in range(30):
        before = measure.to_bytes()
        measured.value(measure)
        repr(measure)
        assert measure.to_bytes() == before
        measured.told(measure, range(row, row + 1))
    value = measured.value(measure)
    if isinstance(value, float):
        assert math.isfinite(value)


POISON: list[Any] = [math.nan, math.inf, -math.inf, "text", None, b"x", [1.0], 1j, 10**400]


@everywhere
def test_poison_leaves_it_as_it_was(measured: Measured) -> None:
    measure = measured.told(measured.build(), range(20))
    before = measure.to_bytes()
    good = measured.news(3)
    classes = measured.role == "metric" and not measured.takes_numbers()
    for poison in POISON:
        for place in range(len(good)):
            bad = (*good[:place], poison, *good[place + 1 :])
            # None is "no answer", and text is a label like any other.
            if classes and (poison is None or poison == "text"):
                continue
            # A missing number, and a value like any other.
            if measured.role == "covariance_estimator" or (measured.takes_values() and poison == "text"):
                continue
            # Strings and infinite numbers are keys like any others.
            if measured.takes_keys() and poison in ("text", math.inf, -math.inf):
                continue
            with pytest.raises((ValueError, TypeError)) as failure:
                measured.tell(measure, *bad)
            assert isinstance(failure.value, MillstreamError), (bad, failure.value)
            assert "\n" not in str(failure.value)
            assert measure.to_bytes() == before, bad
    if measured.role in ("metric", "statistic", "covariance_estimator", "policy_estimator", "sketch", "sampler"):
        signed = measured.name == "sketch.CountSketch"
        for w in (math.nan, math.inf) if signed else (-1.0, math.nan, math.inf):
            with pytest.raises(ValueError):
                measured.tell(measure, *good, w=w)
            assert measure.to_bytes() == before


@everywhere
def test_enormous_numbers_never_make_the_state_overflow(measured: Measured) -> None:
    if measured.role == "metric" and not measured.takes_numbers():
        pytest.skip("takes labels")
    if measured.role == "covariance_estimator":
        pytest.skip("takes rows: enormous ones are in test_covariance.py")
    if measured.role == "sampler":
        pytest.skip("takes rows, and enormous weights in test_sampling.py")
    measure = measured.told(measured.build(), range(5))
    for row in range(30):
        before = measure.to_bytes()
        number = (1.0 if row % 2 else -1.0) * (1e308 if row % 3 else 1e154)
        news = tuple(number * (1 if place == 0 else -1) for place in range(len(measured.news(0))))
        try:
            measured.tell(measure, *news)
        except MillstreamError:
            assert measure.to_bytes() == before
        value = measured.value(measure)
        assert not isinstance(value, float) or not math.isinf(value)
        assert type(measure)._revive(measure.to_bytes()).to_bytes() == measure.to_bytes()


@everywhere
def test_memory_is_flat_on_a_long_stream(measured: Measured) -> None:
    if measured.name == "stats.KolmogorovSmirnov":
        pytest.skip("keeps all pairs, up to a limit")
    measure = measured.build()
    news = [measured.news(row) for row in range(200)]
    for _ in range(15):
        for one in news:
            measured.tell(measure, *one)
    early = len(measure.to_bytes())
    for _ in range(40):
        for one in news:
            measured.tell(measure, *one)
    # A window of adaptive size grows with the logarithm of the stream.
    assert len(measure.to_bytes()) < early * 1.6 + 256


@everywhere
def test_a_changed_byte_is_refused_or_works(measured: Measured) -> None:
    import struct
    import zlib

    data = measured.told(measured.build(), range(12)).to_bytes()
    payload = bytearray(data[20:-4])
    for place in range(0, len(payload), 1 + len(payload) // 200):
        before = payload[place]
        for byte in {0, before ^ 0x81, 0xDD, 0xFF} - {before}:
            payload[place] = byte
            body = data[:12] + struct.pack("<Q", len(payload)) + bytes(payload)
            forged = body + struct.pack("<I", zlib.crc32(body))
            try:
                measure = type(measured.build())._revive(forged)
                measured.told(measure, range(3))
                measured.value(measure)
            except MillstreamError:
                continue
        payload[place] = before
