"""Runs an anomaly detector on the Numenta anomaly benchmark."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from millstream._echo import quoted
from millstream._part import shown_part, unlearned_copy
from millstream._python_loop import title_of
from millstream.errors import InvalidType, InvalidValue
from millstream.evaluate.numenta.corpus import NABSeries, profiles_of, read_corpus, stored_scores
from millstream.evaluate.numenta.result import NABResult
from millstream.evaluate.numenta.scorer import score_profile
from millstream.roles import ANOMALY_DETECTOR, role_of

__all__ = ["nab"]


def nab(
    detector: Any,
    folder: str | PathLike[str],
    *,
    thresholds: Mapping[str, float] | None = None,
) -> NABResult:
    """Score an anomaly detector on the Numenta anomaly benchmark.

    The detector starts untrained on each series, and scores each row before it learns it. The rows have the
    features `timestamp`, in seconds since 1970, and `value`. The first 15 % of a series, at most 750 rows, are
    learned but not scored.

    The benchmark is not part of millstream: `folder` is a copy of https://github.com/numenta/NAB, with `data` and
    `labels/combined_windows.json`, or a folder with other series in this layout. Profiles are read from
    `config/profiles.json`; without this file, the published profiles are used.

    Parameters
    ----------
    detector
        Anomaly detector, copied untrained for each series; a function that returns a detector for an
        `evaluate.NABSeries`, with the `limits` and the `probation` that the benchmark provides; or a folder with
        stored scores in NAB's format, such as `NAB/results/numenta`.
    folder
        Folder of the benchmark.
    thresholds
        Threshold of each profile; by default the threshold with the best score on this corpus, as in NAB.
        Published scores are therefore in-sample.

    Returns
    -------
    NABResult
        Final scores, thresholds and detected windows by profile, and the score of each row.

    Examples
    --------
    A benchmark of one series, with one window at rows 600 to 699. The detector finds it at its first row:

    >>> import json, tempfile
    >>> from datetime import datetime, timedelta
    >>> from pathlib import Path
    >>> from millstream import anomaly, evaluate
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "data").mkdir(), (folder / "labels").mkdir()
    (None, None)
    >>> times = [datetime(2024, 1, 1) + timedelta(minutes=5 * row) for row in range(1000)]
    >>> rows = [f"{time},{row * 37 % 10 + 50 * (600 <= row < 700)}" for row, time in enumerate(times)]
    >>> text = "\\n".join(["timestamp,value", *rows])
    >>> _ = (folder / "data" / "series.csv").write_text(text)
    >>> windows = {"series.csv": [[str(times[600]), str(times[699])]]}
    >>> _ = (folder / "labels" / "combined_windows.json").write_text(json.dumps(windows))
    >>> from millstream import compose
    >>> evaluate.nab(compose.Select("value") | anomaly.GaussianScorer(), folder)
    Select | GaussianScorer: 1 series, 1,000 rows, 1 windows
    profile              score  threshold  detected  false positives
    standard            100.00     1.0000         1                0
    reward_low_FP_rate  100.00     1.0000         1                0
    reward_low_FN_rate  100.00     1.0000         1                0

    References
    ----------
    Lavin, A. and Ahmad, S. (2015). Evaluating real-time anomaly detection algorithms: the Numenta anomaly
    benchmark. ICMLA. arXiv:1510.03336.
    """
    corpus = read_corpus(folder)
    profiles = profiles_of(folder)
    if thresholds is not None and (unknown := set(profiles) ^ set(thresholds)):
        got = quoted(sorted(unknown)[0])
        raise InvalidValue(f"evaluate.nab: thresholds must have one for each of {', '.join(profiles)}, got {got}")
    started = time.perf_counter()
    if isinstance(detector, (str, PathLike)):
        name, scores = Path(detector).name, stored_scores(detector, corpus)
    else:
        build = _builder(detector)
        name, scores = "", {}
        for series in corpus:
            model = build(series)
            name = name or title_of(model).rpartition(".")[2]
            scores[series.name] = _scores(model, series)
    seconds = time.perf_counter() - started
    results = {
        profile: score_profile(corpus, scores, costs, None if thresholds is None else thresholds[profile])
        for profile, costs in profiles.items()
    }
    return NABResult(name, results, corpus, scores, seconds)


def _builder(detector: Any) -> Callable[[NABSeries], Any]:
    if not isinstance(detector, type) and role_of(detector) is ANOMALY_DETECTOR:
        return lambda _: unlearned_copy(detector)
    if not callable(detector) or isinstance(detector, type):
        raise InvalidType(
            "evaluate.nab: detector must be an anomaly detector, a function that returns one, or a folder, "
            f"got {shown_part(detector)}"
        )

    def build(series: NABSeries) -> Any:
        model = detector(series)
        if isinstance(model, type) or role_of(model) is not ANOMALY_DETECTOR:
            raise InvalidType(f"evaluate.nab: detector must return an anomaly detector, got {shown_part(model)}")
        return model

    return build


def _scores(model: Any, series: NABSeries) -> Any:
    rows = ({"timestamp": time, "value": value} for time, value in zip(series.times, series.values, strict=True))
    return np.array(
        [model.step_one({name: float(x) for name, x in row.items()}) for row in rows], dtype=np.float64
    )
