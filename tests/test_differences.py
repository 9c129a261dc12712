"""Differences between models: intervals that make "best" more than noise."""

import numpy as np
import pytest

from millstream import baseline, evaluate, linear_model, naive_bayes
from millstream.errors import InvalidValue
from millstream.evaluate.differences import _margins, _student


def test_the_interval_of_two_models_is_that_of_paired_blocks():
    # The curve has 20 points, so that each block has one: the interval is that of Student's t for the differences.
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 2))
    y = (X[:, 0] + random.normal(size=2000) > 0).astype(int)
    models = {"linear": linear_model.LogisticRegression(), "bayes": naive_bayes.GaussianNB()}
    said = []
    results = evaluate.prequential(models, (X, y), ["Accuracy"], every=100, predictions=said.append)
    columns = {name: np.concatenate([np.asarray(each[name]) for each in said]) for name in said[0]}
    right = {name: (columns[f"prediction {name}"] == columns["truth"]).astype(float) for name in models}
    # The first row has no prediction and is not scored.
    gaps = (right["linear"] - right["bayes"])[1:]
    found = results.differences()
    best = found.best
    worse = next(iter(found))
    assert found[worse].value == pytest.approx(abs(gaps.mean()))
    sizes = np.array([99] + [100] * 19)
    sums = np.add.reduceat(gaps, np.cumsum(sizes) - sizes)
    parts = (sums - gaps.mean() * sizes) * 20 / 1999
    assert found[worse].margin == pytest.approx(2.0930 * parts.std(ddof=1) / 20**0.5, rel=0.01)
    assert results[best]["Accuracy"] > results[worse]["Accuracy"]
    assert found.unclear == ([] if found[worse].is_clear else [worse])
    assert found.to_frame("pandas").shape == (1, 5)
    assert str(found[worse]) in repr(found)


def test_equal_models_cannot_be_distinguished():
    X = np.random.default_rng(1).normal(size=(1000, 2))
    y = (X[:, 0] > 0).astype(int)
    models = {"a": linear_model.LogisticRegression(), "b": linear_model.LogisticRegression()}
    results = evaluate.prequential(models, (X, y), ["LogLoss"])
    assert results.differences()["b"].value == 0.0
    assert results.differences().unclear == ["b"]
    assert "not distinguishable from a: b (95 % intervals of paired blocks of rows)" in repr(results)


def test_a_model_that_learns_is_clearly_better_than_a_constant():
    X = np.random.default_rng(1).normal(size=(3000, 2))
    models = {"line": linear_model.LinearRegression(), "mean": baseline.TargetMean()}
    results = evaluate.prequential(models, (X, X[:, 0] * 3), ["RMSE"])
    found = results.differences()
    assert found.best == "line"
    assert found["mean"].is_clear
    assert found["mean"].value == pytest.approx(results["mean"]["RMSE"] - results["line"]["RMSE"])
    assert "line is clearly ahead of all others" in repr(results)


@pytest.mark.parametrize("metrics", [["F1"], ["ROCAUC"]])
def test_metrics_that_are_no_means_have_no_interval(metrics):
    X = np.random.default_rng(1).normal(size=(500, 2))
    results = evaluate.prequential([baseline.Prior(), baseline.NoChange()], (X, X[:, 0] > 0), metrics)
    assert results.differences() is None
    assert "clearly" not in repr(results)


def test_weights_and_short_streams_have_no_interval():
    X = np.random.default_rng(1).normal(size=(500, 2))
    both = [baseline.Prior(), baseline.NoChange()]
    y = X[:, 0] > 0
    assert evaluate.prequential(both, (X, y, np.ones(500)), ["Accuracy"]).differences() is None
    assert evaluate.prequential(both, (X[:15], y[:15]), ["Accuracy"]).differences() is None
    assert evaluate.prequential(both, (X, y), ["Accuracy"]).differences() is not None
    assert evaluate.prequential(both[:1], (X, y), ["Accuracy"]).differences() is None
    with pytest.raises(InvalidValue, match="level must be between 0 and 1, got 95"):
        evaluate.prequential(both, (X, y), ["Accuracy"]).differences(level=95)


def test_rows_that_are_not_scored_do_not_narrow_the_intervals():
    """A warmup and a stream that begins after it have the same intervals, up to the grid of the curve."""
    random = np.random.default_rng(3)
    X = random.normal(size=(8000, 2))
    y = X[:, 0] - X[:, 1] + random.normal(size=8000)
    models = {"mean": baseline.TargetMean(), "linear": linear_model.LinearRegression("adaptive")}
    for metric in ("MAE", "RMSE"):
        late = evaluate.prequential(models, (X, y), [metric], warmup=6000).differences()
        alone = evaluate.prequential(models, (X[6000:], y[6000:]), [metric]).differences()
        (one,), (other,) = late.values(), alone.values()
        assert one.margin == pytest.approx(other.margin, rel=0.5)
        assert one.value == pytest.approx(other.value, rel=0.02)


def test_quantiles_of_student():
    # Tables of Student's t with 19 degrees of freedom.
    for p, quantile in ((0.95, 1.729), (0.975, 2.093), (0.995, 2.861), (0.9995, 3.883)):
        assert _student(p, 19) == pytest.approx(quantile, abs=0.001)


def test_one_of_four_equal_models_is_rarely_ahead():
    random = np.random.default_rng(5)
    wrong = 0
    for _ in range(300):
        losses = random.normal(size=(200, 4))
        losses = losses[:, np.argsort(losses.mean(axis=0))]
        margins = _margins(losses * 10, np.full(200, 10), False, 0.95)
        means = losses.mean(axis=0)
        wrong += bool((means - means[0] > margins)[1:].any())
    # At least one of the three intervals excludes 0 in about 5 % of the streams.
    assert 3 <= wrong <= 27
