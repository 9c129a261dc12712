"""Anomaly detectors in evaluation, on the command line and under the public laws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import millstream
from millstream import anomaly, base, evaluate, linear_model, metrics, preprocessing, stream, testing
from millstream.cli import main
from millstream.errors import InvalidType, InvalidValue
from millstream.evaluate import python_loop

DETECTORS: dict[str, Any] = {
    "HalfSpaceTrees": lambda: anomaly.HalfSpaceTrees(window_size=50, seed=3),
    "GaussianScorer": lambda: anomaly.GaussianScorer(grace_period=50),
    "StandardScaler | GaussianScorer": lambda: preprocessing.StandardScaler() | anomaly.GaussianScorer(),
    "QuantileFilter": lambda: anomaly.QuantileFilter(anomaly.GaussianScorer(grace_period=20), q=0.95),
    "ThresholdFilter": lambda: anomaly.ThresholdFilter(anomaly.HalfSpaceTrees(seed=1), threshold=0.9),
}


def planted(rows: int = 1500, seed: int = 5) -> tuple[Any, Any]:
    """Rows around 0.5, of which one in fifty is far away."""
    random = np.random.default_rng(seed)
    X = random.normal(0.5, 0.05, size=(rows, 3))
    y = random.random(rows) < 0.02
    X[y] = random.uniform(0.0, 1.0, size=(int(y.sum()), 3))
    return X, y


@pytest.mark.parametrize("name", DETECTORS)
def test_an_evaluation_scores_before_it_learns(name: str) -> None:
    X, y = planted()
    result = evaluate.prequential(DETECTORS[name](), (X, y), metrics=["ROCAUC", "PRAUC"], progress=False)
    model = DETECTORS[name]()
    scores = []
    for x in X.tolist():
        row = dict(enumerate(x))
        scores.append(model.score_one(row))
        model.learn_one(row)
    assert result["ROCAUC"] == pytest.approx(roc_auc_score(y, scores), abs=2e-3)
    assert result["PRAUC"] == pytest.approx(average_precision_score(y, scores), abs=0.05)
    assert result.model.to_bytes() == model.to_bytes()
    assert result.rows == result.scored == len(y)


@pytest.mark.parametrize("name", ["HalfSpaceTrees", "GaussianScorer", "StandardScaler | GaussianScorer"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [bool, int])
def test_a_chunk_in_one_call_is_scored_as_row_by_row(
    name: str, weighted: bool, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = planted()
    w = np.linspace(0.5, 2.0, len(X)) if weighted else None
    data = stream.from_numpy(X, y.astype(dtype), w)
    names = ["ROCAUC", "PRAUC", "Accuracy", "LogLoss"]
    together, apart = DETECTORS[name](), DETECTORS[name]()
    found = evaluate.prequential(together, data, metrics=names, every=100)
    monkeypatch.setattr(python_loop.AnomalyRun, "_feed_at_once", lambda self, chunk: False)
    expected = evaluate.prequential(apart, data, metrics=names, every=100)
    assert together.to_bytes() == apart.to_bytes()
    for metric in names:
        assert found[metric] == expected[metric]
        assert found.to_frame()[f"rolling_{metric}"].equals(expected.to_frame()[f"rolling_{metric}"])


def test_a_table_is_processed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    at_once = python_loop.AnomalyRun._feed_at_once
    monkeypatch.setattr(
        python_loop.AnomalyRun,
        "_feed_at_once",
        lambda self, block: sizes.append(block.size) or at_once(self, block),
    )
    evaluate.prequential(anomaly.GaussianScorer(), planted(2500))
    # Ctrl-C is answered between blocks, and the curve has the seconds and the memory of each.
    assert sizes == [1024, 1024, 452]


def test_a_bad_row_of_a_chunk_is_skipped_alone() -> None:
    X, y = planted(300)
    X[120, 1] = np.inf
    model = anomaly.GaussianScorer()
    result = evaluate.prequential(model, (X, y), on_error="skip")
    assert result.skipped == 1
    assert model.learned == 299


def test_the_default_metrics_are_the_areas() -> None:
    result = evaluate.prequential(DETECTORS["GaussianScorer"](), planted(), progress=False)
    assert list(result.values) == ["ROCAUC", "PRAUC"]
    assert result["ROCAUC"] > 0.95


def test_a_filter_is_scored_by_what_it_decides() -> None:
    X, y = planted()
    result = evaluate.prequential(
        DETECTORS["ThresholdFilter"](), (X, y), metrics=[metrics.Recall(pos_val=True)], progress=False
    )
    model = DETECTORS["ThresholdFilter"]()
    found = 0
    for x, truth in zip(X.tolist(), y, strict=True):
        row = dict(enumerate(x))
        found += bool(truth) and model.predict_one(row)
        model.learn_one(row)
    assert result["Recall"] == pytest.approx(found / y.sum())


def test_labels_may_come_late() -> None:
    X, y = planted()
    result = evaluate.prequential(DETECTORS["GaussianScorer"](), (X, y), delay=100, progress=False)
    assert result.rows == len(y)
    assert result["ROCAUC"] > 0.9


def test_reports_show_an_anomaly_detector(tmp_path: Path) -> None:
    result = evaluate.prequential(DETECTORS["HalfSpaceTrees"](), planted(), progress=False)
    result.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "ROCAUC" in page
    assert "HalfSpaceTrees" in page


class Unbounded(base.AnomalyDetector):
    """Scores beyond 1."""

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        pass

    def score_one(self, x: Any) -> float:
        return 7.0


def test_scores_beyond_one_are_refused_in_one_line() -> None:
    with pytest.raises(InvalidValue, match=r"score_one must return a number in \[0, 1\], got float 7.0"):
        evaluate.prequential(Unbounded(), planted(20), progress=False)


class Plain(base.AnomalyDetector):
    """Takes no target, and may be wrong about scores."""

    def __init__(self, score: Any = 0.5) -> None:
        self.score, self.learned = score, 0

    def learn_one(self, x: Any) -> None:  # type: ignore[override]
        self.learned += 1

    def score_one(self, x: Any) -> Any:
        return self.score


def test_a_detector_whose_learn_one_takes_no_target_is_evaluated() -> None:
    assert evaluate.prequential(Plain(), planted(30), progress=False).model.learned == 30


@pytest.mark.parametrize("labels", [["a", "b"], [1, 2], [0.5, 1.0], [True, None]])
def test_labels_other_than_true_and_false_are_refused(labels: list[Any]) -> None:
    model = Plain()
    rows = [({"a": 1.0}, label) for label in labels]
    with pytest.raises((InvalidValue, InvalidType), match="must be True and False, or 1 and 0"):
        evaluate.prequential(model, rows, metrics="Accuracy", progress=False)
    assert model.learned == sum(label in (0, 1) for label in labels[:1])


@pytest.mark.parametrize("score", [float("nan"), "x", None, 10**400])
def test_a_filter_refuses_scores_that_are_no_numbers_before_learning(score: Any) -> None:
    detector = Plain(score)
    words = "QuantileFilter: score_one of its model must return a finite number"
    with pytest.raises((InvalidType, InvalidValue), match=words):
        anomaly.QuantileFilter(detector, q=0.9).learn_one({"a": 1.0})
    assert detector.learned == 0


def test_the_command_line_names_labels_that_cannot_be_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "rows.csv"
    data.write_text("a,odd\n" + "".join(f"{row},{'odd' if row % 5 else 'ok'}\n" for row in range(60)))
    assert main(["run", str(data), "--target", "odd", "--model", "HalfSpaceTrees", "-q"]) == 1
    assert "must be True and False, or 1 and 0" in capsys.readouterr().err


def test_a_detector_and_a_classifier_are_not_compared() -> None:
    models = {"a": DETECTORS["GaussianScorer"](), "b": linear_model.LogisticRegression()}
    with pytest.raises(InvalidType, match="models must have the same role"):
        evaluate.prequential(models, planted(20), progress=False)


def test_the_command_line_runs_saves_and_predicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = planted(400)
    lines = ["a,b,c,odd", *(f"{a},{b},{c},{bool(odd)}" for (a, b, c), odd in zip(X.tolist(), y, strict=True))]
    data, saved = tmp_path / "rows.csv", tmp_path / "detector.ms"
    data.write_text("\n".join(lines) + "\n")
    run = ["run", str(data), "--target", "odd", "--model", "HalfSpaceTrees(window_size=50)", "--json"]
    assert main([*run, "--save", str(saved)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["metrics"]) == {"ROCAUC", "PRAUC"}
    assert millstream.load(saved).learned == 400
    assert main(["predict", str(data), "--load", str(saved), "--out", str(tmp_path / "out.csv")]) == 0
    first, *rows = (tmp_path / "out.csv").read_text().splitlines()
    assert "score" in first.replace('"', "").split(",")
    assert len(rows) == 400


@pytest.mark.parametrize("name", DETECTORS)
def test_detectors_obey_the_public_laws(name: str) -> None:
    testing.check_model(DETECTORS[name]())
