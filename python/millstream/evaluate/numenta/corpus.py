"""Reads a folder of the Numenta anomaly benchmark: series, windows of anomalies, profiles and stored scores."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from millstream._echo import quoted
from millstream.errors import InvalidValue

__all__ = ["PROFILES", "NABSeries", "profiles_of", "read_corpus", "stored_scores"]

WHO = "evaluate.nab"
#: Rows that are not scored: this fraction of the length of a series, which counts up to a limit.
PROBATION, LONGEST = 0.15, 5000
#: Weights of a detected window, of a false positive and of a missed window (Lavin and Ahmad, 2015, table 1).
PROFILES = {
    "standard": (1.0, 0.11, 1.0),
    "reward_low_FP_rate": (1.0, 0.22, 1.0),
    "reward_low_FN_rate": (1.0, 0.11, 2.0),
}


@dataclass(frozen=True)
class NABSeries:
    """A series of the benchmark.

    `times` are seconds since 1970, and `windows` pairs of the first and the last row of an anomaly.
    """

    name: str
    times: Any
    values: Any
    windows: list[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def probation(self) -> int:
        """Number of initial rows that are learned but not scored."""
        return math.ceil(min(math.floor(PROBATION * len(self)), PROBATION * LONGEST))

    @property
    def limits(self) -> tuple[float, float]:
        """The minimum and maximum of the whole series, which the benchmark provides to detectors in advance.

        For a constant series, the limits differ by 1.
        """
        low, high = float(np.min(self.values)), float(np.max(self.values))
        return (low, high) if low < high else (low - 0.5, high + 0.5)


def _time(text: str, where: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidValue(
            f"{WHO}: {where}: a timestamp must be like 2014-04-01 00:05:00, got {quoted(text)}"
        ) from None


def _number(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidValue(f"{WHO}: {where}: a value must be a finite number, got {quoted(text)}")
    return number


def _rows(path: Path, columns: Iterable[str]) -> list[list[str]]:
    """These columns of a CSV file, by row."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        missing = [name for name in columns if name not in (reader.fieldnames or ())]
        if missing:
            raise InvalidValue(f"{WHO}: {path.name} must have a column {missing[0]}, got {reader.fieldnames}")
        rows = [[row[name] or "" for name in columns] for row in reader]
    if not rows:
        raise InvalidValue(f"{WHO}: {path.name} has no rows")
    return rows


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidValue(f"{WHO}: {path.name} is not valid JSON: {error}") from None


def read_corpus(folder: str | PathLike[str]) -> list[NABSeries]:
    """The series that have an entry in labels/combined_windows.json, in its order."""
    base = Path(folder)
    labels = base / "labels" / "combined_windows.json"
    if not labels.is_file() or not (base / "data").is_dir():
        raise InvalidValue(
            f"{WHO}: folder must contain data and labels/combined_windows.json, got {quoted(str(folder))}"
        )
    windows = _json(labels)
    return [_series(base / "data" / name, name, pairs) for name, pairs in windows.items()]


def _series(path: Path, name: str, pairs: list[list[str]]) -> NABSeries:
    if not path.is_file():
        raise InvalidValue(f"{WHO}: folder has windows for {name}, but not the file data/{name}")
    rows = _rows(path, ("timestamp", "value"))
    where = [f"{name}, line {line}" for line in range(2, len(rows) + 2)]
    times = [_time(row[0], place) for row, place in zip(rows, where, strict=True)]
    # The first row of a time, as in NAB: some series repeat an hour.
    first: dict[datetime, int] = {}
    for row, time in enumerate(times):
        first.setdefault(time, row)
    windows = []
    for pair in pairs:
        ends = [_time(text, "combined_windows.json") for text in pair]
        unknown = [text for text, end in zip(pair, ends, strict=True) if end not in first]
        if unknown or len(ends) != 2:
            raise InvalidValue(f"{WHO}: a window of {name} must begin and end at rows of it, got {pair}")
        windows.append((first[ends[0]], first[ends[1]]))
    return NABSeries(
        name,
        np.array([time.replace(tzinfo=UTC).timestamp() for time in times]),
        np.array([_number(row[1], place) for row, place in zip(rows, where, strict=True)]),
        windows,
    )


def profiles_of(folder: str | PathLike[str]) -> dict[str, tuple[float, float, float]]:
    """The weights of each profile: those of config/profiles.json, or the published ones without such a file."""
    path = Path(folder) / "config" / "profiles.json"
    if not path.is_file():
        return dict(PROFILES)
    names = ("tpWeight", "fpWeight", "fnWeight")
    try:
        costs = {name: profile["CostMatrix"] for name, profile in _json(path).items()}
        return {name: (float(c[names[0]]), float(c[names[1]]), float(c[names[2]])) for name, c in costs.items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InvalidValue(
            f"{WHO}: profiles.json must have a CostMatrix with {', '.join(names)} per profile"
        ) from None


def stored_scores(folder: str | PathLike[str], series: list[NABSeries]) -> dict[str, Any]:
    """Scores by row that a detector has stored as NAB does: category/detector_file.csv, with anomaly_score."""
    base = Path(folder)
    scores = {}
    for one in series:
        category, _, file = one.name.rpartition("/")
        found = sorted((base / category).glob(f"*_{file}"), key=lambda path: len(path.name))
        if not found:
            raise InvalidValue(f"{WHO}: detector must be a folder with scores of each series, {one.name} has none")
        rows = _rows(found[0], ("anomaly_score",))
        scores[one.name] = np.array([_number(row[0], found[0].name) for row in rows])
    return scores
