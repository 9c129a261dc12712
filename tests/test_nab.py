"""The Numenta anomaly benchmark: scores worked by hand, files with faults, and the benchmark if it is present."""

from __future__ import annotations

import json
import math
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from millstream import anomaly, compose, evaluate, htm
from millstream.errors import MillstreamError
from millstream.evaluate.numenta.corpus import PROFILES, NABSeries
from millstream.evaluate.numenta.scorer import score_profile

#: A folder with the benchmark.
NAB = os.environ.get("MILLSTREAM_NAB")


def sigma(y: float) -> float:
    return 2 / (1 + math.exp(5 * y)) - 1


def series(rows: int = 20, windows: Any = ((10, 13),), name: str = "a.csv") -> NABSeries:
    return NABSeries(name, 300.0 * np.arange(rows), np.zeros(rows), list(windows))


def scores(rows: int, flagged: dict[int, float]) -> Any:
    return np.array([flagged.get(row, 0.0) for row in range(rows)])


def test_a_window_by_hand() -> None:
    """20 rows, of which floor(0.15 * 20) = 3 are not scored, and one window, rows 10 to 13: its width is 4.

    Row 10 is at -(13 - 10 + 1)/4 = -1: the full value 1. Row 12 is at -2/4. Row 14 is at 1/3 behind the window.
    Perfect is 1, nothing flagged -1: the final score is 100 (raw + 1)/2.
    """
    corpus, standard = [series()], PROFILES["standard"]
    assert corpus[0].probation == 3

    def final(flagged: list[int]) -> float:
        found = score_profile(corpus, {"a.csv": scores(20, dict.fromkeys(flagged, 0.9))}, standard, 0.5)
        return found.score

    assert final([]) == 0.0
    assert final([10]) == pytest.approx(100.0)
    middle = sigma(-0.5) / sigma(-1)
    assert final([12]) == pytest.approx(100 * (middle + 1) / 2)
    # Only the best row of a window counts, and rows in the probation do not.
    assert final([1, 10, 11, 12]) == pytest.approx(100.0)
    assert final([10, 14]) == pytest.approx(100 * (1 + 0.11 * sigma(1 / 3) + 1) / 2)
    # Before the first window, and three widths behind it, a false positive costs all of its weight.
    assert final([5]) == final([5, 2]) == pytest.approx(100 * -0.11 / 2)
    found = score_profile(corpus, {"a.csv": scores(20, {5: 0.9, 12: 0.8, 15: 0.7})}, standard, 0.75)
    assert (found.detected, found.false_positives) == (1, 1)
    assert found.raw == pytest.approx(middle - 0.11)


def test_the_best_threshold_of_the_corpus() -> None:
    """The second series has a window that is found at 0.6 only, at the cost of a false positive at 0.7."""
    corpus = [series(), series(30, [(20, 23), (25, 27)], "b.csv")]
    given = {"a.csv": scores(20, {10: 0.9, 4: 0.7}), "b.csv": scores(30, {20: 0.6, 29: 0.2})}
    found = score_profile(corpus, given, PROFILES["standard"])
    assert (found.threshold, found.detected, found.false_positives) == (0.6, 2, 1)
    # 1 for each window that is found, -1 for the one that is missed, -0.11 for row 4. Perfect is 3.
    assert found.raw == pytest.approx(1 + 1 - 1 - 0.11)
    assert found.score == pytest.approx(100 * (found.raw + 3) / 6)
    # A missed window costs 2 in the profile of few misses.
    found = score_profile(corpus, given, PROFILES["reward_low_FN_rate"])
    assert found.score == pytest.approx(100 * (1 + 1 - 2 - 0.11 + 6) / 9)
    # A detector that finds nothing does best with a threshold above its scores: below, all rows are flagged.
    nothing = score_profile(
        [series(200, [(100, 103)])], {"a.csv": scores(200, {4: 0.7, 50: 0.7})}, PROFILES["standard"]
    )
    assert (nothing.score, nothing.threshold) == (0.0, math.inf)


def test_windows_and_distances() -> None:
    """A window of one row has no width: behind it, as at three widths, a false positive costs its whole weight."""
    corpus = [series(40, [(10, 10), (20, 22)])]
    for row, value in (
        (12, -0.11),
        (22, sigma(-1 / 3) / sigma(-1)),
        (27, 0.11 * sigma(2.5)),
        (28, -0.11),
        (35, -0.11),
    ):
        found = score_profile(corpus, {"a.csv": scores(40, {row: 1.0})}, PROFILES["standard"], 1.0)
        missed = 2 - found.detected
        assert found.raw == pytest.approx(value - missed), row
    with pytest.raises(MillstreamError, match=r"a.csv must have 40 scores, got 3"):
        score_profile(corpus, {"a.csv": np.zeros(3)}, PROFILES["standard"])


def test_probation_ends_at_750_rows() -> None:
    assert [series(rows).probation for rows in (7, 100, 4999, 5000, 20_000)] == [1, 15, 749, 750, 750]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A benchmark of two series, one of them with a jump at its window."""
    (tmp_path / "data" / "real").mkdir(parents=True)
    (tmp_path / "labels").mkdir()
    times = [datetime(2024, 1, 1) + timedelta(minutes=5 * row) for row in range(400)]
    for name, jump in (("jump", 60.0), ("quiet", 0.0)):
        rows = [f"{time},{row * 37 % 10 + jump * (300 <= row < 320)}" for row, time in enumerate(times)]
        (tmp_path / "data" / "real" / f"{name}.csv").write_text("\n".join(["timestamp,value", *rows]))
    windows = {"real/jump.csv": [[f"{times[300]}.000000", f"{times[339]}.000000"]], "real/quiet.csv": []}
    (tmp_path / "labels" / "combined_windows.json").write_text(json.dumps(windows))
    return tmp_path


def test_a_detector_finds_a_jump(folder: Path) -> None:
    result = evaluate.nab(compose.Select("value") | anomaly.GaussianScorer(), folder)
    assert result.scores == {name: pytest.approx(100.0) for name in PROFILES}
    assert result.profiles["standard"].detected == 1
    assert result.row_scores["real/jump.csv"].shape == (400,)
    assert "2 series, 800 rows, 1 windows" in repr(result)
    assert list(result.to_frame().columns) == [
        "profile",
        "score",
        "raw",
        "threshold",
        "detected",
        "false_positives",
    ]
    # The same by a function of the series, and with its thresholds.
    seen = []

    def build(one: NABSeries) -> Any:
        seen.append((one.name, one.limits, one.probation, len(one)))
        return compose.Select("value") | anomaly.GaussianScorer()

    again = evaluate.nab(build, folder, thresholds=result.thresholds)
    assert again.scores == result.scores
    assert seen == [("real/jump.csv", (0.0, 69.0), 60, 400), ("real/quiet.csv", (0.0, 9.0), 60, 400)]


def test_htm_finds_a_jump(folder: Path) -> None:
    result = evaluate.nab(
        lambda one: htm.HTMAnomaly(
            "timestamp",
            limits={"value": one.limits},
            grace_period=30,
            min_samples=30,
            n_columns=512,
            active_columns=20,
        ),
        folder,
    )
    assert result.scores["standard"] > 80


def test_stored_scores(folder: Path) -> None:
    results = folder / "results" / "mine" / "real"
    results.mkdir(parents=True)
    for name, flagged in (("jump", 300), ("quiet", 1)):
        rows = [f"2024,0,{float(row == flagged)},0" for row in range(400)]
        (results / f"mine_{name}.csv").write_text("\n".join(["timestamp,value,anomaly_score,label", *rows]))
    result = evaluate.nab(folder / "results" / "mine", folder)
    assert result.name == "mine"
    assert result.scores == {name: pytest.approx(100.0) for name in PROFILES}
    (results / "mine_quiet.csv").unlink()
    with pytest.raises(MillstreamError, match=r"real/quiet\.csv has none"):
        evaluate.nab(folder / "results" / "mine", folder)


def test_faults_have_one_line(folder: Path, tmp_path: Path) -> None:
    detector = compose.Select("value") | anomaly.GaussianScorer()
    with pytest.raises(MillstreamError, match=r"folder must contain data and labels/combined_windows\.json"):
        evaluate.nab(detector, tmp_path / "nowhere")
    with pytest.raises(MillstreamError, match="detector must be an anomaly detector, a function"):
        evaluate.nab(3, folder)
    with pytest.raises(MillstreamError, match="detector must return an anomaly detector"):
        evaluate.nab(lambda one: 3, folder)
    with pytest.raises(MillstreamError, match="thresholds must have one for each of standard"):
        evaluate.nab(detector, folder, thresholds={"standard": 0.5})
    quiet = folder / "data" / "real" / "quiet.csv"
    text = quiet.read_text()
    for bad, message in (
        ("2024-01-01 00:05:00,x", r"quiet\.csv, line 3: a value must be a finite number, got 'x'"),
        ("yesterday,1", r"quiet\.csv, line 3: a timestamp must be like"),
    ):
        lines = text.split("\n")
        lines[2] = bad
        quiet.write_text("\n".join(lines))
        with pytest.raises(MillstreamError, match=message):
            evaluate.nab(detector, folder)
    quiet.write_text("when,value\n1,2")
    with pytest.raises(MillstreamError, match=r"quiet\.csv must have a column timestamp"):
        evaluate.nab(detector, folder)
    quiet.unlink()
    with pytest.raises(MillstreamError, match="not the file data/real/quiet.csv"):
        evaluate.nab(detector, folder)


@pytest.mark.skipif(not NAB, reason="MILLSTREAM_NAB does not name a copy of the Numenta anomaly benchmark")
@pytest.mark.slow
@pytest.mark.parametrize("detector", ["numenta", "numentaTM", "windowedGaussian", "random", "null"])
def test_published_scores_are_reproduced(detector: str) -> None:
    folder = Path(str(NAB))
    published = json.loads((folder / "results" / "final_results.json").read_text())[detector]
    stored = json.loads((folder / "config" / "thresholds.json").read_text())[detector]
    thresholds = {name: stored[name]["threshold"] for name in PROFILES}
    result = evaluate.nab(folder / "results" / detector, folder, thresholds=thresholds)
    for name, score in result.scores.items():
        expected = {key.lower(): value for key, value in published.items()}[name.lower()]
        assert score == pytest.approx(expected, abs=1e-9), name
