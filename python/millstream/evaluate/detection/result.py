"""The result of a comparison of drift detectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from millstream._echo import quoted
from millstream.errors import InvalidValue
from millstream.evaluate.detection.known_streams import Change
from millstream.evaluate.frames import amount, frame, table

__all__ = ["Detection", "DriftResult", "Score"]


@dataclass(frozen=True)
class Detection:
    """The detections of one detector in one stream, with one seed."""

    detector: str
    stream: str
    seed: int
    #: Number of values or rows of the stream.
    length: int
    changes: tuple[Change, ...]
    #: Indices of the detections.
    places: tuple[int, ...]
    #: Estimated change point of each detection; None if the detector does not estimate it.
    begins: tuple[int | None, ...]
    within: int | None
    nanoseconds: int
    #: Memory of the detector at the end, in bytes.
    memory: int

    @cached_property
    def answers(self) -> tuple[int | None, ...]:
        """The index in `places` of the detection of each change; None if it was missed."""
        return self._judged[0]

    @cached_property
    def false_alarms(self) -> tuple[int, ...]:
        """Indices of the false alarms."""
        return self._judged[1]

    @cached_property
    def _judged(self) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
        answers: list[int | None] = [None] * len(self.changes)
        alarms = []
        begins = [change.begin for change in self.changes]
        for number, place in enumerate(self.places):
            last = int(np.searchsorted(begins, place, side="right")) - 1
            change = self.changes[last] if last >= 0 else None
            if change is not None and answers[last] is None:
                if self.within is None or place <= max(change.end, change.begin + self.within):
                    answers[last] = number
                    continue
            elif change is not None and place <= change.end:
                continue
            alarms.append(place)
        return tuple(answers), tuple(alarms)

    @property
    def delays(self) -> list[int]:
        """Delay of each detected change: the number of values since its start."""
        return [
            self.places[answer] - change.begin
            for answer, change in zip(self.answers, self.changes, strict=True)
            if answer is not None
        ]

    @property
    def distances(self) -> list[int]:
        """Absolute error of the estimated change point of each detected change."""
        found = []
        for answer, change in zip(self.answers, self.changes, strict=True):
            begin = None if answer is None else self.begins[answer]
            if begin is not None:
                found.append(abs(begin - change.begin))
        return found


@dataclass(frozen=True)
class Score:
    """One detector on one stream, over all seeds. Undefined values, such as the delay of no change, are NaN."""

    stream: str
    detector: str
    #: Number of changes.
    changes: int
    missed: int
    #: Mean delay of the detected changes, in values.
    delay: float
    #: Standard deviation of the delays.
    delay_std: float
    #: False alarms in 10,000 values.
    false_alarms: float
    #: Median absolute error of the estimated change points.
    off: float
    #: Nanoseconds per value, with `update_many` if the detector has it.
    nanoseconds: float
    #: Maximum memory of the detector, in bytes.
    memory: int

    @classmethod
    def of(cls, runs: Sequence[Detection]) -> Score:
        """The score of the runs of one detector on one stream."""
        delays = [delay for run in runs for delay in run.delays]
        distances = [distance for run in runs for distance in run.distances]
        numbers = sum(run.length for run in runs)
        changes = sum(len(run.changes) for run in runs)
        return cls(
            runs[0].stream,
            runs[0].detector,
            changes,
            changes - len(delays),
            float(np.mean(delays)) if delays else math.nan,
            float(np.std(delays)) if delays else math.nan,
            1e4 * sum(len(run.false_alarms) for run in runs) / numbers if numbers else math.nan,
            float(np.median(distances)) if distances else math.nan,
            # The median ignores the first run, which warms the caches.
            float(np.median([run.nanoseconds / run.length for run in runs if run.length]))
            if numbers
            else math.nan,
            max(run.memory for run in runs),
        )


@dataclass
class DriftResult:
    """A comparison of drift detectors on streams with known changes. Its repr is the table."""

    detections: list[Detection]

    @cached_property
    def scores(self) -> list[Score]:
        """A score for each stream and detector."""
        groups: dict[tuple[str, str], list[Detection]] = {}
        for run in self.detections:
            groups.setdefault((run.stream, run.detector), []).append(run)
        return [Score.of(runs) for runs in groups.values()]

    @property
    def streams(self) -> list[str]:
        """The names of the streams."""
        return list(dict.fromkeys(run.stream for run in self.detections))

    @property
    def detectors(self) -> list[str]:
        """The names of the detectors."""
        return list(dict.fromkeys(run.detector for run in self.detections))

    def __getitem__(self, pair: tuple[str, str]) -> Score:
        """The score of a stream and a detector: `result["abrupt", "ADWIN"]`."""
        for score in self.scores:
            if (score.stream, score.detector) == tuple(pair):
                return score
        raise InvalidValue(
            f"no stream and detector {quoted(pair)}; streams are {', '.join(self.streams)}, "
            f"detectors {', '.join(self.detectors)}"
        )

    def to_frame(self, kind: str | None = None) -> Any:
        """A row for each stream and detector, as a frame of "pandas", "polars" or "pyarrow"."""
        rows = [asdict(score) for score in self.scores]
        return frame({name: [row[name] for row in rows] for name in rows[0]}, kind)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        detections = [
            {**asdict(run), "delays": run.delays, "false_alarms": list(run.false_alarms)}
            for run in self.detections
        ]
        return {"scores": [asdict(score) for score in self.scores], "detections": detections}

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """A table for each stream: title, header and rows; best first."""
        found = []
        head = ["", "missed", "delay", "±", "false alarms / 10,000", "off", "ns / update", "memory"]
        for stream in self.streams:
            scores = [score for score in self.scores if score.stream == stream]
            runs = sum(run.stream == stream for run in self.detections) // len(scores)
            rows = [
                [
                    score.detector,
                    f"{score.missed} of {score.changes}",
                    _whole(score.delay),
                    _whole(score.delay_std),
                    f"{score.false_alarms:.2f}",
                    _whole(score.off),
                    f"{score.nanoseconds:,.0f}",
                    amount(score.memory),
                ]
                for score in sorted(scores, key=_rank)
            ]
            found.append((f"{stream}, {runs:,} times" if runs > 1 else self._once(stream), head, rows))
        return found

    def _once(self, stream: str) -> str:
        run = next(run for run in self.detections if run.stream == stream)
        changes = len(run.changes)
        return f"{stream}: {run.length:,} numbers, {changes:,} change{'s' * (changes != 1)}"

    def plot(self, kind: str = "trade-off", ax: Any = None, *, stream: str | None = None) -> Any:
        """Plot with matplotlib; returns the axes, or an array of axes for several streams.

        `kind` is "trade-off" (delay against false alarms, a point for each detector) or "timeline" (the detections
        and the changes), for one stream or, by default, for all side by side. On given axes (`ax`) one stream is
        drawn, by default the first.
        """
        from millstream.evaluate.detection.plots import plot

        return plot(self, kind, ax, stream)

    def save_plot(self, path: str | PathLike[str], kind: str = "trade-off", *, stream: str | None = None) -> None:
        """Save the plot to a file: .png, .svg or .pdf."""
        from millstream.evaluate.detection.plots import save

        save(self, path, kind, stream)

    def __repr__(self) -> str:
        return "\n\n".join(f"{title}\n{table(head, rows)}" for title, head, rows in self.tables())

    def _repr_html_(self) -> str:
        from millstream.evaluate.detection.plots import fragment

        return fragment(self)


def _rank(score: Score) -> tuple[float, float]:
    """Misses and false alarms first, then delay: constant alarms would give no delay."""
    missed = score.missed / score.changes if score.changes else 0.0
    return 10.0 * missed + score.false_alarms, score.delay if score.delay == score.delay else math.inf


def _whole(value: float) -> str:
    return "–" if value != value else f"{value:,.0f}"
