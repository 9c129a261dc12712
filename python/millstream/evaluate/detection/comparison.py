"""The comparison: each detector processes each stream, and its detections are compared with the known changes."""

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
from millstream.evaluate.detection.known_streams import KnownStream, known_streams
from millstream.evaluate.detection.result import Detection, DriftResult

__all__ = ["drift", "named_detectors"]

#: Minimum measurement time in nanoseconds of a detector on a stream: shorter runs are repeated.
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
    """Evaluate drift detectors on streams with known changes: accuracy and cost.

    A detection is matched to the last change before it, if that is not yet matched; the delay is the number of
    values since the start of the change. Any other detection is a false alarm, unless a gradual change is still in
    progress. A change without a detection before the next change is missed. If a detector estimates the change
    point, `off` is the error of that estimate.

    All detectors process the same streams, once for every seed. Detectors for rows, which need no labels, receive
    the rows of a generator, or your own.

    Parameters
    ----------
    detector
        A drift detector, its class or name, or several as a list or a dict by name; by default all detectors for
        errors. Any object with `update(x)` and `drift_detected` works, such as River's detectors.
    stream
        One or several, as a list or a dict by name, by default all of the first kind:

        - "abrupt", "gradual", "slight" or "stable": errors of a classifier, 5,000 with an error rate of 0.2 and
          then 5,000 with 0.4 (slight: 0.28; stable: always 0.2); an `ErrorStream` for other error rates;
        - a generator, such as a `synth.Drift`, whose positions are the changes: detectors for rows receive its
          rows, and those for errors the errors of a `model` that learns them;
        - `(values, change_points)`: numbers or rows of your own, and their changes: indices counted from 0, or
          pairs (begin, end) of gradual changes;
        - a function of a seed that returns such a pair, or a generator.
    seeds
        Number of seeds, or the seeds.
    within
        Maximum delay of a detection; a later one is a false alarm, and the change is missed. None for no limit
        before the next change.
    model
        Classifier or regressor whose errors on a generator are used; a clone of it learns. Detectors for rows need
        none.
    length
        Number of examples from a generator.

    Returns
    -------
    DriftResult
        A table (printed, or `to_frame()`), all detections, and plots (`plot()`).

    Examples
    --------
    >>> from millstream import drift, evaluate
    >>> result = evaluate.drift([drift.ADWIN(), drift.DDM()], "abrupt")
    >>> for score in result.scores:
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
            raise InvalidValue(f"evaluate.drift: {what} must be an integer >= 1, got {quoted(value)}")
    if not chosen:
        raise InvalidValue("evaluate.drift: seeds must contain at least one seed, got none")
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
    """Detectors by name, from all accepted forms."""
    if given is None:
        given = registry.find(role="drift_detector")
    if isinstance(given, Mapping) and "name" not in given:
        return {str(name): _built(each) for name, each in given.items()}
    several = given if isinstance(given, (list, tuple)) else [given]
    detectors: dict[str, Any] = {}
    for each in several:
        built = _built(each)
        name = type(built).__name__
        # Detectors of the same class are named by their parameters.
        for title in (name, repr(built), *(f"{name} {number}" for number in range(2, len(several) + 2))):
            if title not in detectors:
                detectors[title] = built
                break
    if not detectors:
        raise InvalidValue("evaluate.drift: detector must contain at least one detector, got none")
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
        raise InvalidType(
            f"evaluate.drift: a detector must have update(x) and drift_detected, got {quoted(given)}"
        )
    return given


def _initial(detector: Any) -> Any:
    return detector.clone() if isinstance(getattr(detector, "role", None), str) else copy.deepcopy(detector)


def _detection(
    name: str, detector: Any, stream: str, seed: int, known: KnownStream, within: int | None, measured: int
) -> Detection:
    rows = takes_rows(detector)
    values = known.rows if rows else known.numbers
    if values is None:
        raise InvalidType(
            f"evaluate.drift: {name} needs {'rows' if rows else 'numbers'}, which {stream} does not have"
        )
    if not rows:
        values = np.ascontiguousarray(values, dtype=np.float64)
    try:
        first = _initial(detector)
        start = time.perf_counter_ns()
        places = _detections(first, values, rows)
        spent, rounds = time.perf_counter_ns() - start, 1
        while known.length and spent < measured:
            again = _initial(detector)
            start = time.perf_counter_ns()
            _detections(again, values, rows)
            spent, rounds = spent + time.perf_counter_ns() - start, rounds + 1
        held = held_by(first)
        begins = _begins(_initial(detector), values, places)
    except MillstreamError as error:
        raise error.by(f"evaluate.drift, {stream}") from None
    return Detection(
        name, stream, seed, known.length, known.changes, tuple(places), begins, within, spent // rounds, held
    )


def _detections(detector: Any, values: Any, rows: bool) -> list[int]:
    """The indices at which a detector finds drift."""
    if callable(getattr(detector, "update_many", None)):
        return [int(index) for index in detector.update_many(values)]
    from millstream import _frames

    found = []
    for index, x in enumerate(_frames.dicts(values) if rows else values.tolist()):
        detector.update(x)
        if detector.drift_detected:
            found.append(index)
    return found


def _begins(detector: Any, values: Any, places: list[int]) -> tuple[int | None, ...]:
    """The estimated change point of each detection; None if a detector does not estimate it."""
    native = isinstance(detector, _core.DriftDetector) or getattr(detector, "role", None) is not None
    if not native or not hasattr(type(detector), "change_point"):
        return (None,) * len(places)
    found, before = [], 0
    for place in places:
        detector.update_many(values[before : place + 1])
        found.append(detector.change_point)
        before = place + 1
    return tuple(found)
