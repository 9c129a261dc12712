"""Evaluation of clusterers, with and without labels: metrics, reports and the command line."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as peer

from millstream import base, cluster, drift, errors, evaluate, metrics, preprocessing, roles, stream, testing
from millstream.cli import main
from test_cluster import blobs

pytestmark = pytest.mark.linear_algebra

PARTITIONS: dict[str, Any] = {
    "AdjustedRand": peer.adjusted_rand_score,
    "Rand": peer.rand_score,
    "FowlkesMallows": peer.fowlkes_mallows_score,
    "Homogeneity": peer.homogeneity_score,
    "Completeness": peer.completeness_score,
    "VMeasure": peer.v_measure_score,
    "NormalizedMutualInfo": peer.normalized_mutual_info_score,
}


def labellings() -> dict[str, tuple[Any, Any]]:
    random = np.random.default_rng(5)
    truth = random.integers(0, 4, 300)
    return {
        "random": (truth, random.integers(0, 6, 300)),
        "noisy": (truth, np.where(random.random(300) < 0.1, random.integers(0, 4, 300), (truth + 1) % 4)),
        "renamed": (truth, 7 - truth),
        "one cluster": (truth, np.zeros(300, dtype=int)),
        "one class": (np.zeros(300, dtype=int), truth),
        "one of each": (np.zeros(9, dtype=int), np.ones(9, dtype=int)),
        "single rows": (np.arange(30), np.zeros(30, dtype=int)),
        "one row": (np.array([1]), np.array([3])),
    }


@pytest.mark.parametrize("name", PARTITIONS)
@pytest.mark.parametrize("case", labellings())
def test_partition_metrics_are_those_of_scikit_learn(name: str, case: str) -> None:
    truth, clusters = labellings()[case]
    metric = getattr(metrics, name)()
    metric.update_many(truth, clusters)
    assert metric.get() == pytest.approx(PARTITIONS[name](truth, clusters), abs=1e-12)
    strings = getattr(metrics, name)()
    strings.update_many([f"class {label}" for label in truth], clusters.tolist())
    assert strings.get() == pytest.approx(metric.get(), abs=1e-12)


@pytest.mark.parametrize("beta", [0.0, 0.3, 2.0])
def test_v_measure_weighs_as_in_scikit_learn(beta: float) -> None:
    truth, clusters = labellings()["noisy"]
    metric = metrics.VMeasure(beta)
    metric.update_many(truth, clusters)
    assert metric.get() == pytest.approx(peer.v_measure_score(truth, clusters, beta=beta), abs=1e-12)


@pytest.mark.parametrize("name", PARTITIONS)
def test_windows_and_fading_of_partition_metrics(name: str) -> None:
    truth, clusters = labellings()["noisy"]
    rolling = metrics.Rolling(getattr(metrics, name)(), window_size=50)
    rolling.update_many(truth, clusters)
    assert rolling.get() == pytest.approx(PARTITIONS[name](truth[-50:], clusters[-50:]), abs=1e-9)
    # Fading does not depend on the scale of the weights, which changes many times here.
    fading = metrics.Fading(getattr(metrics, name)(), forgetting=0.5)
    fading.update_many(np.tile(truth, 4), np.tile(clusters, 4))
    late = metrics.Fading(getattr(metrics, name)(), forgetting=0.5)
    late.update_many(truth[-60:], clusters[-60:])
    assert fading.get() == pytest.approx(late.get(), abs=1e-9)


def test_the_silhouette_is_that_of_centres() -> None:
    """(b - a) / max(a, b) with distances to fixed centres; the classical one agrees on compact clusters."""
    X, labels = blobs(600, 4, 3)
    centres = np.array([X[labels == label].mean(axis=0) for label in range(3)])
    model = cluster.MiniBatchKMeans(3, batch_size=1 << 20, init=centres.tolist())
    model.learn_many(X[:1])
    result = evaluate.prequential(model, X, metrics="Silhouette")
    distances = np.sort(np.linalg.norm(X[:, None] - centres[None], axis=2), axis=1)
    expected = np.mean((distances[:, 1] - distances[:, 0]) / distances[:, 1])
    assert result["Silhouette"] == pytest.approx(expected, rel=1e-12)
    classical = peer.silhouette_score(X, model.predict_many(X))
    assert 0.0 < classical < result["Silhouette"] < classical + 0.2


@pytest.mark.parametrize("name", ["KMeans", "MiniBatchKMeans"])
def test_all_forms_of_a_stream_give_the_same_result(name: str) -> None:
    X, labels = blobs(1500, 6, 4)
    model = getattr(cluster, name)(4)
    whole = evaluate.prequential(model.clone(), (X, labels))
    rows = [(dict(enumerate(x)), int(y)) for x, y in zip(X.tolist(), labels, strict=True)]
    forms = {
        "dicts": evaluate.prequential(model.clone(), rows),
        "iterator": evaluate.prequential(model.clone(), iter(rows)),
        "chunks": evaluate.prequential(model.clone(), [(X[:700], labels[:700]), (X[700:], labels[700:])]),
        "strings": evaluate.prequential(model.clone(), (X, [f"{label}" for label in labels])),
        "floats": evaluate.prequential(model.clone(), (X, labels.astype(float))),
    }
    assert whole["AdjustedRand"] > 0.9
    assert whole.unanswered == 80
    assert whole.scored == 1420
    for form, result in forms.items():
        assert result.values == pytest.approx(whole.values, rel=1e-12), form
        assert result.clusters.counts == whole.clusters.counts, form
        assert result.clusters.matrix.sum() == 1420


def test_streams_without_labels() -> None:
    X, _ = blobs(900, 3, 4)
    model = preprocessing.StandardScaler() | cluster.KMeans(4)
    whole = evaluate.prequential(model.clone(), X)
    rows = [dict(enumerate(x)) for x in X.tolist()]
    for form in (rows, iter(rows), (X, None), ((x, None) for x in rows)):
        result = evaluate.prequential(model.clone(), form, metrics="Silhouette")
        assert result.values == pytest.approx(whole.values, rel=1e-12)
    assert list(whole.values) == ["Silhouette"]
    assert whole["Silhouette"] > 0.5
    assert whole.clusters.labels == []
    assert sum(whole.clusters.weights.values()) == whole.scored


def test_metrics_of_labels_are_refused_without_labels() -> None:
    X, labels = blobs(300, 3, 4)
    for metric in ("AdjustedRand", metrics.Rolling(metrics.VMeasure(), window_size=50)):
        with pytest.raises(errors.InvalidType, match="but the stream has none; use Silhouette"):
            evaluate.prequential(cluster.KMeans(4), X, metrics=["Silhouette", metric])
        assert evaluate.prequential(cluster.KMeans(4), (X, labels), metrics=metric).scored == 220
    rolling = metrics.Rolling(metrics.Silhouette(), window_size=50)
    assert evaluate.prequential(cluster.KMeans(4), X, metrics=rolling).scored == 220


def test_some_rows_may_have_labels() -> None:
    X, labels = blobs(800, 6, 4)
    some = [int(label) if row % 3 else None for row, label in enumerate(labels)]
    result = evaluate.prequential(cluster.KMeans(4), (X, some))
    known = np.array([label is not None for label in some])
    assert result.scored == 720
    assert result.clusters.matrix.sum() == known[80:].sum()
    assert result["AdjustedRand"] > 0.9


def test_metrics_that_do_not_score_clusters_are_refused() -> None:
    X, labels = blobs(50, 2, 2)
    for name in ("Accuracy", "MAE"):
        with pytest.raises(TypeError, match=f"{name}: scores .*, but the model predicts clusters"):
            evaluate.prequential(cluster.KMeans(2), (X, labels), metrics=name)


def test_delays_predictions_and_detectors() -> None:
    X, labels = blobs(1200, 3, 4)
    X[800:] += 30.0
    columns: list[Any] = []
    result = evaluate.prequential(
        cluster.KMeans(4, learning_rate=0.05),
        (X, labels),
        delay=100,
        warmup=200,
        detector=drift.PageHinkley(threshold=50.0),
        predictions=columns.append,
    )
    assert any(800 <= row < 900 for row in result.drifts)
    assert result.warmup == 200
    said = np.concatenate([each["prediction"] for each in columns])
    assert said.dtype.kind == "i"
    # Row 79, the last of the first 80, is learned just before row 179.
    assert said[:179].tolist() == [-1] * 179
    assert set(said[200:].tolist()) == {0, 1, 2, 3}


class Halves(base.Clusterer):
    """Rows below and above 0, as a clusterer written in Python."""

    def __init__(self) -> None:
        self.rows = 0

    def learn_one(self, x: Any, w: float = 1.0) -> None:
        base.check_example(self, None, w)
        self.rows += 1

    def predict_one(self, x: Any) -> int:
        value = next(iter(x.values()), None)
        return int(value > 0) if isinstance(value, (int, float)) and value == value else -1


def test_clusterers_written_in_python() -> None:
    testing.check_model(Halves())
    model = preprocessing.StandardScaler() | Halves()
    assert model.role is roles.CLUSTERER
    assert model.step_many(np.array([[-1.0], [0.0], [3.0]])).tolist() == [0, 0, 1]
    X = np.random.default_rng(0).normal(size=(300, 1))
    result = evaluate.prequential(Halves(), (X, X[:, 0] > 0))
    assert result["AdjustedRand"] == 1.0
    assert result["Silhouette"] == 0.0, "it has no distances"
    assert result.clusters.counts == {0: int((X <= 0).sum()), 1: int((X > 0).sum())}


def test_models_without_a_role_are_told_apart_by_their_verbs() -> None:
    class Learns:
        def learn_one(self, x: Any) -> None: ...
        def predict_one(self, x: Any) -> int:
            return 0

    class LearnsTargets(Learns):
        def learn_one(self, x: Any, y: Any) -> None:  # type: ignore[override]
            ...

    assert roles.role_of(Learns()) is roles.CLUSTERER
    assert roles.role_of(LearnsTargets()) is roles.REGRESSOR


def test_several_clusterers_are_compared(tmp_path: Any) -> None:
    X, labels = blobs(600, 3, 4)
    results = evaluate.prequential([cluster.KMeans(4), cluster.KMeans(2)], (X, labels))
    assert [result.name for result in results.ranked()] == ["KMeans", "KMeans 2"]
    page = results.to_html(tmp_path / "report.html")
    assert page.count("<h2>Clusters</h2>") == 2


def test_a_report_shows_the_clusters(tmp_path: Any) -> None:
    X, labels = blobs(3000, 5, 3)
    result = evaluate.prequential(cluster.KMeans(3), (X, [f"<{label}>" for label in labels]))
    page = result.to_html(tmp_path / "report.html")
    assert "<h2>Clusters</h2>" in page
    assert "<h2>Labels in clusters</h2>" in page
    assert "first principal component" in page
    assert page.count('class="dots') == 3
    assert "&lt;0&gt;" in page
    assert "<0>" not in page
    plane = result.clusters.plane()
    assert len(plane.x) == len(result.clusters.rows) <= 1000
    unlabelled = evaluate.prequential(cluster.KMeans(3), X[:, :2]).to_html(tmp_path / "two.html")
    assert "Labels in clusters" not in unlabelled
    single = evaluate.prequential(cluster.KMeans(3), X[:, :1])
    assert single.clusters.plane().titles == ("0", "row")
    texts = evaluate.prequential(cluster.KMeans(2, init_size=2), [{"c": "ab"[i % 2]} for i in range(20)])
    assert texts.clusters.plane() is None
    assert "no numbers to plot" in texts.to_html(tmp_path / "text.html")


def test_the_command_line(tmp_path: Any, capsys: Any) -> None:
    X, labels = blobs(900, 5, 3)
    source, saved, out = tmp_path / "rows.csv", tmp_path / "model.ms", tmp_path / "said.csv"
    lines = [",".join([*map(str, x), f"kind {label}"]) for x, label in zip(X.tolist(), labels, strict=True)]
    source.write_text("\n".join(["a,b,c,d,e,kind", *lines]))
    model = "StandardScaler | KMeans(n_clusters=3)"
    assert main(["run", str(source), "-t", "kind", "-m", model, "--json", "--save", str(saved)]) == 0
    scores = json.loads(capsys.readouterr().out)["metrics"]
    assert scores["AdjustedRand"]["whole"] > 0.9
    # Without a target, the column is dropped.
    assert main(["run", str(source), "--drop", "kind", "-m", model, "--predictions", str(out)]) == 0
    assert "Silhouette" in capsys.readouterr().out
    assert len(out.read_text().splitlines()) == 901
    assert main(["predict", str(source), "--drop", "kind", "--load", str(saved)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == '"row","prediction"'
    assert {line.split(",")[1] for line in said[1:]} == {"0", "1", "2"}
    with pytest.raises(errors.InvalidType, match="target"):
        evaluate.prequential(preprocessing.StandardScaler() | _regressor(), stream.read_csv(source))


def _regressor() -> Any:
    from millstream import linear_model

    return linear_model.LinearRegression()
