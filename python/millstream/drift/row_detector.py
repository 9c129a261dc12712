"""The base class of drift detectors for rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from millstream import _core, _frames
from millstream._measures import Measure
from millstream.errors import MillstreamError

__all__ = ["FeatureDriftDetector", "FeatureReport"]


@dataclass(frozen=True)
class FeatureReport:
    """The findings of a comparison by feature, most drifted first: one dict each, or a frame.

    `statistic` is the effect size, in the detector's own measure; `p_value` is the p-value of the feature alone;
    `adjusted` is the p-value corrected for the number of features; `moved` says whether the feature has drifted. A
    feature that could not be tested, such as one that is always missing, has None.
    """

    rows: list[dict[str, Any]]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.rows[index]

    def to_frame(self, kind: str | None = None) -> Any:
        """A frame of pandas, polars or pyarrow with a row for each feature."""
        from millstream.evaluate.frames import frame

        return frame({name: [row[name] for row in self.rows] for name in _COLUMNS}, kind)

    def __repr__(self) -> str:
        from millstream.evaluate.frames import number, table

        shown = [[_cell(row[name], number) for name in _COLUMNS] for row in self.rows[:20]]
        rest = f"\n… and {len(self.rows) - 20:,} more" if len(self.rows) > 20 else ""
        return table(list(_COLUMNS), shown) + rest


_COLUMNS = ("feature", "statistic", "p_value", "adjusted", "moved")


def _cell(value: Any, number: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return number(value) if isinstance(value, float) else "–" if value is None else str(value)


class FeatureDriftDetector(_core.FeatureDriftDetector, Measure):
    """Receives one row at a time, without its label, and detects drift and the drifted features.

    The reference is the first rows, or a table passed to `fit`. The newest rows are compared with it every
    `check_interval` rows. After each update, `drift_detected` holds the result. At drift, `drifting_features` are
    the names of the drifted features, `report()` has the effect size of each feature, and `change_point` is the
    index of the first row after the estimated change. `warning_detected` lasts from one comparison to the next.

    Memory is bounded by the two windows, and a row costs little more than its copy.
    """

    role = "feature_drift_detector"

    def update_many(self, X: Any) -> npt.NDArray[np.int64]:
        """Process many rows, exactly as `update` would; returns the indices at which drift was detected.

        `X` is a NumPy matrix, a pandas, polars or Arrow frame, a SciPy sparse matrix, or an iterable of dicts.
        The call is atomic: if a row cannot be read, the detector is unchanged.
        """
        rows = self._rows(X)
        if rows[0] != "dicts":
            return np.array(self._update_many(rows), dtype=np.int64)
        found = [row for row in self._each(rows[1], self.update) if self.drift_detected]
        return np.array(found, dtype=np.int64)

    def learn_many(self, X: Any) -> None:
        """Add rows to the reference, which then replaces the first rows of the stream as the reference.

        Of more than `reference_size` rows a uniform sample is kept.
        """
        rows = self._rows(X)
        if rows[0] != "dicts":
            self._learn_many(rows)
            return
        for _ in self._each(rows[1], self.learn_one):
            pass

    def fit(self, X: Any, y: Any = None) -> Self:
        """Restart with the rows of a table as the reference; `y` is ignored."""
        before = self.copy()
        self.reset()
        try:
            self.learn_many(X)
        except BaseException:
            self._load(before)
            raise
        return self

    @property
    def drifting_features(self) -> list[str | int]:
        """The names of the features that drifted at the last drift, most drifted first; empty before it."""
        return [row[0] for row in self._report(True) if row[4]]

    def report(self, *, drift: bool = False) -> FeatureReport:
        """The findings of the last comparison by feature; with `drift`, of the last one that found drift."""
        return FeatureReport([dict(zip(_COLUMNS, row, strict=True)) for row in self._report(drift)])

    def _rows(self, X: Any) -> tuple[Any, ...]:
        try:
            return _frames.take_apart(X)
        except MillstreamError as error:
            rows = _frames.object_rows(X)
            if rows is not None:
                return ("dicts", rows)
            raise error.by(str(self.name)) from None

    def _each(self, rows: Any, process: Any) -> Iterator[int]:
        """Process dicts, atomically."""
        before = self.copy()
        try:
            for index, x in enumerate(rows):
                try:
                    process(x)
                except MillstreamError as error:
                    error.at_row(index)
                    raise
                yield index
        except BaseException:
            self._load(before)
            raise
