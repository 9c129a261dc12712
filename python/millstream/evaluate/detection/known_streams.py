"""Streams with known changes: simulated errors, errors of a model on a generator, and the user's own."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream import registry
from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import REGRESSOR
from millstream.synth.base import Generator

__all__ = ["STREAMS", "Change", "ErrorStream", "KnownStream", "known_streams"]


@dataclass(frozen=True)
class Change:
    """The indices at which a change begins and ends, counted from 0; equal for an abrupt change."""

    begin: int
    end: int


@dataclass(frozen=True)
class KnownStream:
    """The input of detectors, and the changes in it."""

    #: Numbers for the detectors for numbers; None if there are only rows.
    numbers: Any
    #: Rows of features for the detectors for rows; None if there are only numbers.
    rows: Any
    changes: tuple[Change, ...]

    @property
    def length(self) -> int:
        """Number of values or rows."""
        values = self.rows if self.numbers is None else self.numbers
        return int(values.shape[0]) if hasattr(values, "shape") else len(values)


@dataclass(frozen=True)
class ErrorStream:
    """Errors of a classifier, 1 for an error and 0 for none, with known changes of the error rate.

    Parameters
    ----------
    shares
        Error rates of the consecutive concepts; with a single one there is no change.
    length
        Number of values in each concept.
    width
        Number of values that a change takes. The probability of the new concept rises along the sigmoid of
        `synth.Drift`, whose middle is at the end of the old concept; 0 for an abrupt change.

    Examples
    --------
    >>> from millstream import evaluate
    >>> errors, changes = evaluate.ErrorStream(shares=(0.1, 0.5), length=1000)(seed=1)
    >>> float(errors[:1000].mean()), float(errors[1000:].mean()), changes
    (0.092, 0.495, [1000])
    """

    shares: Sequence[float] = (0.2, 0.4)
    length: int = 5000
    width: int = 0

    def __post_init__(self) -> None:
        shares = tuple(float(share) for share in self.shares)
        if not shares or not all(0.0 <= share <= 1.0 for share in shares):
            raise InvalidValue(f"evaluate.ErrorStream: shares must be in [0, 1], got {quoted(self.shares)}")
        if isinstance(self.length, bool) or not isinstance(self.length, int) or self.length < 1:
            raise InvalidValue(f"evaluate.ErrorStream: length must be an integer >= 1, got {quoted(self.length)}")
        if isinstance(self.width, bool) or not isinstance(self.width, int) or not 0 <= self.width <= self.length:
            raise InvalidValue(
                f"evaluate.ErrorStream: width must be an integer in [0, length], got {quoted(self.width)}"
            )
        object.__setattr__(self, "shares", shares)

    def __call__(self, seed: int) -> tuple[Any, list[Any]]:
        """The errors and their change points."""
        random = np.random.default_rng(seed)
        indices = np.arange(self.length * len(self.shares))
        concept = indices // self.length
        if self.width:
            middle = (indices + self.length // 2) // self.length * self.length
            probability = 1.0 / (1.0 + np.exp(-4.0 * (indices - middle) / self.width))
            new = random.random(len(indices)) < probability
            near = np.clip(middle // self.length, 0, len(self.shares) - 1)
            old = np.clip(middle // self.length - 1, 0, None)
            concept = np.where(new, near, old)
        errors = random.random(len(indices)) < np.asarray(self.shares)[concept]
        changes = [concept * self.length for concept in range(1, len(self.shares))]
        half = self.width // 2
        spans = [(middle - half, middle + half) for middle in changes] if self.width else changes
        return errors.astype(np.float64), spans


#: The default streams.
STREAMS: dict[str, ErrorStream] = {
    "abrupt": ErrorStream((0.2, 0.4)),
    "gradual": ErrorStream((0.2, 0.4), width=1000),
    "slight": ErrorStream((0.2, 0.28)),
    "stable": ErrorStream((0.2,), length=10_000),
}

#: Makes the stream of a seed.
Make = Callable[[int], KnownStream]


def known_streams(given: Any, model: Any, length: int, judged: Sequence[str]) -> dict[str, tuple[Make, bool]]:
    """Streams by name, each with whether it depends on the seed; `judged` are the detectors for errors."""
    if given is None:
        given = list(STREAMS)
    if _is_own(given) or isinstance(given, (str, Generator, ErrorStream)) or callable(given):
        given = [given]
    if not isinstance(given, (Mapping, list, tuple)) or not given:
        raise InvalidType(
            "evaluate.drift: stream must be one of "
            f"{', '.join(STREAMS)}, an ErrorStream, a generator, (values, change_points), or a function of a seed "
            f"that returns such a pair, got {quoted(given)}"
        )
    if isinstance(given, Mapping):
        return {str(name): _made(each, model, length, judged) for name, each in given.items()}
    streams: dict[str, tuple[Make, bool]] = {}
    for each in given:
        name, number = _name_of(each), 2
        while name in streams:
            name, number = f"{_name_of(each)} {number}", number + 1
        streams[name] = _made(each, model, length, judged)
    return streams


def _is_own(given: Any) -> bool:
    """Whether the value is `(values, change_points)`, not a list of streams."""
    if not isinstance(given, tuple) or len(given) != 2:
        return False
    values = given[0]
    return not isinstance(values, (str, Generator, ErrorStream)) and not callable(values) and not _is_own(values)


def _name_of(given: Any) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, ErrorStream):
        shares = " → ".join(f"{share:g}" for share in given.shares)
        return f"errors {shares}" + (f", width {given.width:,}" if given.width else "")
    if isinstance(given, Generator):
        return type(given).__name__
    return str(getattr(given, "__name__", "values"))


def _made(given: Any, model: Any, length: int, judged: Sequence[str]) -> tuple[Make, bool]:
    if isinstance(given, str):
        if given not in STREAMS:
            hint = registry.nearest(given, STREAMS)
            raise InvalidValue(f"evaluate.drift: stream must be one of {', '.join(STREAMS)}, got {given!r}{hint}")
        given = STREAMS[given]
    if isinstance(given, Generator):
        spans = change_points_of(given.describe(), length)
        return lambda seed: _drawn(_reseeded(given, seed), spans, model, length, judged), True
    if _is_own(given):
        known = _known(*given)
        return lambda seed: known, False
    if not callable(given):
        raise InvalidType(f"evaluate.drift: stream must have known changes, got {quoted(given)}")
    takes = inspect.signature(given).parameters

    def make(seed: int) -> KnownStream:
        made = given(seed) if takes else given()
        if isinstance(made, Generator):
            return _drawn(made, change_points_of(made.describe(), length), model, length, judged)
        if not _is_own(made):
            raise InvalidType(
                f"evaluate.drift: {_name_of(given)} must return (values, change_points) or a generator, "
                f"got {quoted(made)}"
            )
        return _known(*made)

    return make, bool(takes)


def _known(values: Any, change_points: Iterable[Any]) -> KnownStream:
    length = values.shape[0] if hasattr(values, "shape") else len(values)
    changes = []
    one = isinstance(change_points, (str, bytes)) or getattr(change_points, "ndim", 1) == 0
    if one or not isinstance(change_points, Iterable):
        hint = f": write [{change_points}]" if hasattr(change_points, "__index__") else ""
        raise InvalidType(
            f"evaluate.drift: change points must be a list of indices, got {quoted(change_points)}{hint}"
        )
    for point in change_points:
        begin, end = point if isinstance(point, (tuple, list)) and len(point) == 2 else (point, point)
        numbers = (int, float, np.integer, np.floating)
        if not all(isinstance(index, numbers) and math.isfinite(index) for index in (begin, end)):
            raise InvalidType(
                f"evaluate.drift: a change point must be an index, or (begin, end), got {quoted(point)}"
            )
        if not 0 <= int(begin) <= int(end) or int(begin) >= max(length, 1):
            raise InvalidValue(
                f"evaluate.drift: a change point must be an index in the stream of {length:,} values, "
                f"or (begin, end), got {quoted(point)}"
            )
        changes.append(Change(int(begin), int(end)))
    changes.sort(key=lambda change: change.begin)
    wide = getattr(values, "ndim", 1) == 2 or (length > 0 and not hasattr(values, "ndim") and _is_row(values))
    return KnownStream(None if wide else values, values if wide else None, tuple(changes))


def _is_row(values: Any) -> bool:
    return isinstance(values, (list, tuple)) and isinstance(values[0], (Mapping, list, tuple))


def change_points_of(description: Mapping[str, Any], length: int) -> list[Any]:
    """The changes in the first `length` examples of a generator, by the `synth.Drift`s in it."""
    parameters = description.get("parameters", {})
    if description.get("name") != "synth.Drift":
        inner = parameters.get("stream")
        return change_points_of(inner, length) if isinstance(inner, Mapping) else []
    angle = parameters["angle"]
    width = parameters["width"] if angle is None else int(1.0 / math.tan(math.radians(angle)))
    position, period = parameters["position"], parameters["period"]
    # Changes of the first stream count until the second replaces it.
    found = change_points_of(parameters["stream"], min(length, position))
    for middle in [position] if period is None else range(position, length, period):
        if middle < length:
            found.append((max(middle - width // 2, 0), middle + width // 2) if width else middle)
    return found


def _reseeded(generator: Generator, seed: int) -> Generator:
    """The same generator with other random numbers; seed 0 changes nothing."""

    def reseeded(value: Any) -> Any:
        if not isinstance(value, Mapping) or "name" not in value:
            return value
        parameters = {
            name: each + 1000 * seed if name.startswith("seed") and isinstance(each, int) else reseeded(each)
            for name, each in value["parameters"].items()
        }
        return {"name": value["name"], "parameters": parameters}

    built: Generator = registry.build(reseeded(generator.describe()))
    return built


def _drawn(
    generator: Generator, spans: Sequence[Any], model: Any, length: int, judged: Sequence[str]
) -> KnownStream:
    """The rows of a generator, and the errors of a model on them if a detector needs errors."""
    from millstream.evaluate.prequential import prequential

    if judged and model is None:
        raise InvalidValue(f"evaluate.drift: a generator needs a model, whose errors {judged[0]} receives")
    chunk = next(generator.chunks(length))
    if not judged:
        return _known(chunk.X, spans)
    errors: list[Any] = []

    def keep(columns: Mapping[str, Any]) -> None:
        truth, predicted = np.asarray(columns["truth"]), np.asarray(columns["prediction"])
        if model.role == REGRESSOR:
            error = np.abs(np.nan_to_num(predicted.astype(np.float64)) - truth)
        else:
            error = (predicted != truth).astype(np.float64)
        errors.append(error)

    prequential(model.clone(), (chunk.X, chunk.y), predictions=keep, progress=False)
    known = _known(np.concatenate(errors), spans)
    return KnownStream(known.numbers, chunk.X, known.changes)
