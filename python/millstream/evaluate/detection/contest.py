"""The comparison itself: each detector goes through each stream, and is held against what is known."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from millstream import _core, registry
from millstream._display import held_by
from millstream._echo import quoted
from millstream.drift.base import takes_rows
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.evaluate.detection.result import Detection, DriftResult
from millstream.evaluate.detection.streams import Known, known_streams

__all__ = ["drift", "named_detectors"]

#: Nanoseconds that the cost of a detector on a stream is measured over, at least: shorter ones are told again.
_MEASURED = 5_000_000


def drift(
    detector: Any = None,
    stream: Any = None,
    *,
    seeds: int | Iterable[int] = 10,
    within: int | None = None,
    model: Any = None,
    length: int = 10_000,
) -> DriftResult:
    """How good drift detectors are on streams whose changes are known, and what they cost.

    A detection answers the last change before it, if that has no answer yet; how many numbers after its beginning
    it comes is the delay. Any other detection is a false alarm, unless a gradual change is still under way. A
    change without an answer before the next one is missed. Where a detector says with which number the change
    began, `off` is how far that is from where it did.

    Each detector is told each stream anew for every seed, all the same numbers. Detectors of rows, which need no
    labels, are told the rows of a generator, or the user's own.

    Parameters
    ----------
    detector
        A drift detector, its class or name, or several as a list or a dict by name; by default all that millstream
        has for errors. Also any object with `update(x)` and `drift_detected`, such as River's.
    stream
        One or several, as a list or a dict by name, by default all of the first kind:

        - "abrupt", "gradual", "slight" or "stable": errors of a classifier, 5,000 with a share of 0.2 and then
          5,000 with 0.4 (slight: 0.28; stable: 0.2 for ever); an `ErrorStream` for other shares;
        - a generator, such as a `synth.Drift`, whose positions are the changes: detectors of rows are told its
          rows, and those of errors what a `model` gets wrong as it learns them;
        - `(values, change_points)`: numbers or rows of your own, and where they change: places counted from 0, or
          pairs (begin, end) of gradual changes;
        - a function of a seed that gives such a pair, or a generator.
    seeds
        How many seeds, or which.
    within
        After how many numbers, at most, a detection is an answer to a change; later it is a false alarm and the
        change is missed. None for any time before the next change.
    model
        The classifier or regressor whose errors on a generator are told; a clone of it learns. Detectors of rows
        need none.
    length
        How many examples are drawn from a generator.

    Returns
    -------
    DriftResult
        A table (`to_frame()`, printed), all detections, and drawings (`plot()`).

    Examples
    --------
    >>> from millstream import drift, evaluate
    >>> found = evaluate.drift([drift.ADWIN(), drift.DDM()], "abrupt")
    >>> for score in found.scores:
    ...     print(score.detector, score.missed, score.delay, score.false_alarms)
    ADWIN 0 173.4 0.0
    DDM 0 1323.3 0.5

    References
    ----------
    Gama, J., Žliobaitė, I., Bifet, A., Pechenizkiy, M. and Bouchachia, A. (2014). A survey on concept drift
    adaptation. Section 5.4.
    """
    detectors = named_detectors(detector)
    if isinstance(seeds, (int, np.integer)):
        if seeds < 1:
            raise InvalidValue(f"evaluate.drift: seeds must be at least 1, got {seeds}")
        seeds = range(int(seeds))
    chosen = [int(seed) for seed in seeds]
    for what, value in (("within", within), ("length", length)):
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1
        ):
            raise InvalidValue(f"evaluate.drift: {what} must be a whole number, at least 1, got {quoted(value)}")
    if not chosen:
        raise InvalidValue("evaluate.drift: there must be at least one seed")
    found = []
    judged = [name for name, each in detectors.items() if not takes_rows(each)]
    for stream_name, (make, differs) in known_streams(stream, model, int(length), judged).items():
        runs = chosen if differs else chosen[:1]
        for seed in runs:
            known = make(seed)
            found += [
                _detection(name, each, stream_name, seed, known, within, _MEASURED // len(runs))
                for name, each in detectors.items()
            ]
    return DriftResult(found)


def named_detectors(given: Any) -> dict[str, Any]:
    """Detectors by name, in all the forms that they may be given in."""
    if given is None:
        given = registry.find(role="drift_detector")
    if isinstance(given, Mapping) and "name" not in given:
        return {str(name): _built(each) for name, each in given.items()}
    several = given if isinstance(given, (list, tuple)) else [given]
    detectors: dict[str, Any] = {}
    for each in several:
        built = _built(each)
        name = type(built).__name__
        # Two of one kind are told apart by their parameters.
        for title in (name, repr(built), *(f"{name} {number}" for number in range(2, len(several) + 2))):
            if title not in detectors:
                detectors[title] = built
                break
    if not detectors:
        raise InvalidValue("evaluate.drift: there is no detector")
    return detectors


def _built(given: Any) -> Any:
    if isinstance(given, str):
        name = given if "." in given else f"drift.{given}"
        given = {"name": name}
    if isinstance(given, Mapping):
        given = registry.build(dict(given))
    if isinstance(given, type):
        given = given()
    if not callable(getattr(given, "update", None)) or not hasattr(given, "drift_detected"):
        raise InvalidType(f"evaluate.drift: a detector has update(x) and drift_detected, got {quoted(given)}")
    return given


def _fresh(detector: Any) -> Any:
    return detector.clone() if isinstance(getattr(detector, "role", None), str) else copy.deepcopy(detector)


def _detection(
    name: str, detector: Any, stream: str, seed: int, known: Known, within: int | None, measured: int
) -> Detection:
    rows = takes_rows(detector)
    told = known.rows if rows else known.numbers
    if told is None:
        raise InvalidType(
            f"evaluate.drift: {name} is told {'rows' if rows else 'numbers'}, which {stream} has not"
        )
    if not rows:
        told = np.ascontiguousarray(told, dtype=np.float64)
    try:
        watch = _fresh(detector)
        begun = time.perf_counter_ns()
        places = _told(watch, told, rows)
        spent, rounds = time.perf_counter_ns() - begun, 1
        while known.length and spent < measured:
            again = _fresh(detector)
            begun = time.perf_counter_ns()
            _told(again, told, rows)
            spent, rounds = spent + time.perf_counter_ns() - begun, rounds + 1
        held = held_by(watch)
        begins = _begins(_fresh(detector), told, places)
    except MillstreamError as error:
        raise error.by(f"evaluate.drift, {stream}") from None
    return Detection(
        name, stream, seed, known.length, known.changes, tuple(places), begins, within, spent // rounds, held
    )


def _told(detector: Any, values: Any, rows: bool) -> list[int]:
    """Where it finds a change."""
    if callable(getattr(detector, "update_many", None)):
        return [int(place) for place in detector.update_many(values)]
    from millstream import _frames

    found = []
    for place, x in enumerate(_frames.dicts(values) if rows else values.tolist()):
        detector.update(x)
        if detector.drift_detected:
            found.append(place)
    return found


def _begins(detector: Any, values: Any, places: list[int]) -> tuple[int | None, ...]:
    """With which number each change is believed to have begun; None where a detector does not say."""
    native = isinstance(detector, _core.DriftDetector) or getattr(detector, "role", None) is not None
    if not native or not hasattr(type(detector), "change_point"):
        return (None,) * len(places)
    found, before = [], 0
    for place in places:
        detector.update_many(values[before : place + 1])
        found.append(detector.change_point)
        before = place + 1
    return tuple(found)
