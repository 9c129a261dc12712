"""Series with planted anomalies, in the form of the Numenta anomaly benchmark."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from millstream import htm
from millstream.evaluate import NABSeries

__all__ = ["detector", "write"]

ROWS, STEP = 4000, 300
#: The first rows of the two anomalies of a series, up to 300 rows later.
STARTS = (1500, 2900)


def write(folder: Path, seed: int) -> None:
    """Twelve series: daily waves and squares, spikes every five hours, and noise, with three kinds of anomaly."""
    random = np.random.default_rng(seed)
    (folder / "data").mkdir()
    (folder / "labels").mkdir()
    seconds = STEP * np.arange(ROWS)
    times = [datetime.fromtimestamp(second, UTC).replace(tzinfo=None) for second in seconds.tolist()]
    windows = {}
    for place in range(12):
        phase = random.uniform(0.0, 2 * np.pi)
        day = 2 * np.pi * seconds / 86_400
        shape = place % 4
        if shape == 0:
            values = 50 + 30 * np.sin(day + phase) + random.normal(scale=2.0, size=ROWS)
        elif shape == 1:
            starts = random.uniform(0.3, 0.6)
            values = 20 + 60.0 * (seconds % 86_400 / 86_400 > starts) + random.normal(scale=2.0, size=ROWS)
        elif shape == 2:
            values = 30 + 50.0 * (np.arange(ROWS) % 60 < 6) + random.normal(scale=3.0, size=ROWS)
        else:
            values = 20 * np.exp(random.normal(scale=0.4, size=ROWS)) + 10 * np.sin(day)
        name = f"series{place}.csv"
        windows[name] = []
        for earliest in STARTS:
            start = earliest + int(random.integers(300))
            part = slice(start, start + 40)
            if place < 4:
                broken = np.median(values) + random.normal(size=40)
                values[part] = values[part][::-1] if shape == 2 else broken
            elif place < 8:
                values[start : start + 12] += 0.8 * np.ptp(values)
            else:
                values[part] += random.normal(scale=1.2 * values.std(), size=40)
            windows[name].append([str(times[start - 60]), str(times[start + 139])])
        lines = [f"{time},{value!r}" for time, value in zip(times, values.tolist(), strict=True)]
        (folder / "data" / name).write_text("\n".join(["timestamp,value", *lines]))
    (folder / "labels" / "combined_windows.json").write_text(json.dumps(windows))


def detector(series: NABSeries, seed: int = 1) -> htm.HTMAnomaly:
    """The detector with what the benchmark tells of a series: its limits, and the rows that are not scored."""
    half = series.probation // 2
    return htm.HTMAnomaly(
        "timestamp",
        limits={"value": series.limits},
        grace_period=half,
        min_samples=max(2, series.probation - half),
        onsets_only=True,
        seed=seed,
    )
