"""What all detectors of rows share."""

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
    """What a comparison found of each feature, those that moved most first: one dict each, or a frame.

    `statistic` is how far the feature moved, in the detector's own measure; `p_value` the chance of that where
    nothing has moved; `adjusted` the same, corrected for the number of features; `moved` whether it counts.
    What could not be tested, such as a feature that is always missing, has None.
    """

    rows: list[dict[str, Any]]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> dict[str, Any]:
        return self.rows[place]

    def to_frame(self, kind: str | None = None) -> Any:
        """A row for each feature, of pandas, polars or pyarrow."""
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
    """Told a row at a time, without its label, it says whether the rows have changed, and which features moved.

    The first rows are the reference, or those of a table given to `fit`. The newest are compared with it every so
    many rows. After each row, `drift_detected` says whether it brought a change to light; then
    `drifting_features` are the names of the features that moved, `report()` says how far each did, and
    `change_point` is the row with which the change is believed to have begun. `warning_detected` holds from one
    comparison to the next.

    Memory is bounded by the two windows, and a row costs little more than its copy.
    """

    role = "feature_drift_detector"

    def update_many(self, X: Any) -> npt.NDArray[np.int64]:
        """Tell it many rows, exactly as `update` would; gives the places at which it found a change.

        `X` is a NumPy matrix, a pandas, polars or Arrow frame, a SciPy sparse matrix, or an iterable of dicts.
        A row that cannot be read is an error, and the detector is as it was before the call.
        """
        rows = self._rows(X)
        if rows[0] != "dicts":
            return np.array(self._update_many(rows), dtype=np.int64)
        found = [place for place in self._each(rows[1], self.update) if self.drift_detected]
        return np.array(found, dtype=np.int64)

    def learn_many(self, X: Any) -> None:
        """Add rows to the reference, which then is no longer the first rows that it is told.

        Of more than `reference_size` rows an even sample is kept.
        """
        rows = self._rows(X)
        if rows[0] != "dicts":
            self._learn_many(rows)
            return
        for _ in self._each(rows[1], self.learn_one):
            pass

    def fit(self, X: Any, y: Any = None) -> Self:
        """Start again with the rows of a table as the reference; `y` is not looked at."""
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
        """The names of the features that moved at the last change, the most moved first; none before it."""
        return [row[0] for row in self._report(True) if row[4]]

    def report(self, *, drift: bool = False) -> FeatureReport:
        """What the last comparison found of each feature; with `drift`, the last one that found a change."""
        return FeatureReport([dict(zip(_COLUMNS, row, strict=True)) for row in self._report(drift)])

    def _rows(self, X: Any) -> tuple[Any, ...]:
        try:
            return _frames.take_apart(X)
        except MillstreamError as error:
            rows = _frames.object_rows(X)
            if rows is not None:
                return ("dicts", rows)
            raise error.by(str(self.name)) from None

    def _each(self, rows: Any, tell: Any) -> Iterator[int]:
        """Tell it dicts, whole or nothing."""
        before = self.copy()
        try:
            for place, x in enumerate(rows):
                try:
                    tell(x)
                except MillstreamError as error:
                    error.at_row(place)
                    raise
                yield place
        except BaseException:
            self._load(before)
            raise
