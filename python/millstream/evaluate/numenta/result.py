"""The result of the Numenta anomaly benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millstream.evaluate.frames import frame, number, table
from millstream.evaluate.numenta.corpus import NABSeries
from millstream.evaluate.numenta.scorer import ProfileScore

__all__ = ["NABResult"]


class NABResult:
    """Scores of a detector on the Numenta anomaly benchmark, by profile."""

    def __init__(
        self,
        name: str,
        profiles: Mapping[str, ProfileScore],
        corpus: Sequence[NABSeries],
        row_scores: Mapping[str, Any],
        seconds: float,
    ) -> None:
        #: Name of the detector.
        self.name = name
        #: Score, threshold, detected windows and false positives by profile.
        self.profiles = dict(profiles)
        #: Scores of the detector by series, one per row.
        self.row_scores = dict(row_scores)
        #: Run time of the detector in seconds.
        self.seconds = seconds
        self._n_windows = sum(len(series.windows) for series in corpus)
        self._n_rows = sum(len(series) for series in corpus)
        self._n_series = len(corpus)

    @property
    def scores(self) -> dict[str, float]:
        """The final score of each profile: 0 for no flagged row, 100 for a perfect detector."""
        return {name: profile.score for name, profile in self.profiles.items()}

    @property
    def thresholds(self) -> dict[str, float]:
        """The threshold of each profile."""
        return {name: profile.threshold for name, profile in self.profiles.items()}

    def to_frame(self, kind: str | None = None) -> Any:
        """A row for each profile, as a frame of pandas, polars or pyarrow."""
        return frame(
            {
                "profile": list(self.profiles),
                **{
                    what: [getattr(profile, what) for profile in self.profiles.values()]
                    for what in ("score", "raw", "threshold", "detected", "false_positives")
                },
            },
            kind,
        )

    def __repr__(self) -> str:
        head = f"{self.name}: {self._n_series} series, {self._n_rows:,} rows, {self._n_windows} windows"
        rows = [
            [name, f"{one.score:.2f}", number(one.threshold), f"{one.detected:,}", f"{one.false_positives:,}"]
            for name, one in self.profiles.items()
        ]
        return head + "\n" + table(["profile", "score", "threshold", "detected", "false positives"], rows)
