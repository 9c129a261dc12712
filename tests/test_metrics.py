"""Metrics: parity with scikit-learn and River, windows and fading against recomputation, bad input, state."""

from __future__ import annotations

import copy
import math
import pickle
import struct
import zlib
from typing import Any

import numpy as np
import pandas as pd
import pytest
import river.metrics
import sklearn.metrics as peer

import millstream
from millstream import linear_model, metrics
from millstream.errors import InvalidState, MillstreamError
from streams import ARGUMENTS

pytestmark = pytest.mark.linear_algebra

RNG = np.random.default_rng(7)
N = 400
TRUTH = RNG.integers(0, 4, N)
GUESS = np.where(RNG.random(N) < 0.6, TRUTH, RNG.integers(0, 5, N))
BINARY = RNG.random(N) < 0.3
P = np.clip(0.35 * BINARY + 0.65 * RNG.random(N), 0, 1)
Y = RNG.normal(3.0, 2.0, N)
Z = Y + RNG.normal(0.0, 1.0, N)
W = RNG.uniform(0.1, 3.0, N)


def fbeta(average: str, beta: float = 1.0) -> Any:
    return lambda t, p, w: peer.fbeta_score(t, p, beta=beta, average=average, sample_weight=w, zero_division=0)


def averaged(score: Any, average: str) -> Any:
    return lambda t, p, w: score(t, p, average=average, sample_weight=w, zero_division=0)


BINARIES = {"Precision": peer.precision_score, "Recall": peer.recall_score, "F1": peer.f1_score}
MULTICLASS = {
    "Accuracy": lambda t, p, w: peer.accuracy_score(t, p, sample_weight=w),
    "BalancedAccuracy": lambda t, p, w: peer.balanced_accuracy_score(t, p, sample_weight=w),
    "CohenKappa": lambda t, p, w: peer.cohen_kappa_score(t, p, sample_weight=w),
    **{
        f"{average}{name}": averaged(score, average.lower())
        for average in ("Micro", "Macro", "Weighted")
        for name, score in BINARIES.items()
    },
    **{f"{average}FBeta": fbeta(average.lower(), 2.0) for average in ("Micro", "Macro", "Weighted")},
}
NUMBERS = {
    "MAE": peer.mean_absolute_error,
    "MSE": peer.mean_squared_error,
    "RMSE": peer.root_mean_squared_error,
    "R2": peer.r2_score,
    "MAPE": lambda *pair, **weights: 100 * peer.mean_absolute_percentage_error(*pair, **weights),
}


def make(name: str) -> Any:
    return getattr(metrics, name)(**ARGUMENTS.get(f"metrics.{name}", {}))


def outcomes(metric: Any) -> tuple[Any, Any]:
    """What a metric can be told."""
    if metric._takes_numbers():
        # Distances are not negative.
        return (abs(Y), abs(Z)) if metric.name == "metrics.Silhouette" else (Y, Z)
    return (BINARY, P) if metric._wants_probabilities() else (TRUTH, GUESS)


@pytest.mark.parametrize("name", MULTICLASS)
def test_metrics_of_labels_equal_scikit_learn(name: str) -> None:
    metric = make(name)
    metric.update_many(TRUTH, GUESS, W)
    assert metric.get() == pytest.approx(MULTICLASS[name](TRUTH, GUESS, W), rel=1e-12)


@pytest.mark.parametrize("name", BINARIES)
def test_metrics_of_a_positive_class_equal_scikit_learn(name: str) -> None:
    guess = P > 0.5
    named = [np.where(flags, "a", "b") for flags in (BINARY, guess)]
    for truth, predicted, positive in [(BINARY, guess, True), (*named, "a")]:
        metric = getattr(metrics, name)() if positive is True else getattr(metrics, name)(pos_val=positive)
        metric.update_many(truth, predicted, W)
        wanted = BINARIES[name](truth, predicted, sample_weight=W, pos_label=positive)
        assert metric.get() == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("name", NUMBERS)
def test_metrics_of_numbers_equal_scikit_learn(name: str) -> None:
    metric = make(name)
    metric.update_many(Y, Z, W)
    assert metric.get() == pytest.approx(NUMBERS[name](Y, Z, sample_weight=W), rel=1e-11)


@pytest.mark.parametrize("name", [*MULTICLASS, *BINARIES, "FBeta", "LogLoss", *NUMBERS, "SMAPE"])
def test_every_step_equals_river(name: str) -> None:
    theirs = getattr(river.metrics, name)(**ARGUMENTS.get(f"metrics.{name}", {}))
    # River's default; ours takes the rarest of more than two classes.
    ours = make(name).clone(pos_val=True) if name in (*BINARIES, "FBeta") else make(name)
    truth, predicted = outcomes(ours)
    for t, p, w in zip(truth.tolist(), predicted.tolist(), W.tolist(), strict=True):
        ours.update(t, p, w)
        theirs.update(t, p, w)
        # With less than the weight of two outcomes, River says that R2 is undefined; ours looks at variance.
        if name != "R2" or theirs._y_var.mean.n > 4:
            assert ours.get() == pytest.approx(theirs.get(), rel=1e-9, abs=1e-12)


def test_metrics_of_probabilities_equal_scikit_learn() -> None:
    both = np.column_stack([1 - P, P])
    three = RNG.dirichlet([1, 1, 1], N)
    truth = RNG.integers(0, 3, N)
    for classes, matrix, labels in [([False, True], both, BINARY), ([0, 1, 2], three, truth)]:
        loss, brier = metrics.LogLoss(), metrics.Brier()
        for metric in (loss, brier):
            metric.update_many(labels, matrix, W, classes=classes)
        assert loss.get() == pytest.approx(peer.log_loss(labels, matrix, sample_weight=W), rel=1e-12)
        wanted = peer.brier_score_loss(labels, matrix, sample_weight=W, labels=classes, scale_by_half=True)
        assert brier.get() == pytest.approx(wanted, rel=1e-12)


def test_the_ways_to_give_probabilities_agree() -> None:
    frame = pd.DataFrame({False: 1 - P, True: P})
    told = {"matrix": (frame.to_numpy(), [False, True]), "frame": (frame, None), "floats": (P, None)}
    told["dicts"] = ([{False: 1 - p, True: p} for p in P.tolist()], None)
    for name in ("LogLoss", "Brier", "ROCAUC", "PRAUC", "Accuracy"):
        values = []
        for predictions, classes in told.values():
            if name == "Accuracy" and predictions is P:
                continue
            metric = make(name)
            metric.update_many(BINARY, predictions, W, classes=classes)
            values.append(metric.get())
        assert values == pytest.approx([values[0]] * len(values), rel=1e-12)


@pytest.mark.parametrize("shape", ["even", "crowded", "certain", "few"])
def test_areas_are_within_their_error(shape: str) -> None:
    n = 20_000
    truth = RNG.random(n) < 0.2
    score = {
        "even": np.clip(0.3 * truth + 0.7 * RNG.random(n), 0, 1),
        "crowded": 0.5 + 0.01 * (0.5 * truth + RNG.random(n)),
        "certain": 1 / (1 + np.exp(-(12 * truth - 6 + RNG.normal(0, 6, n)))),
        "few": np.round(0.4 * truth + 0.6 * RNG.random(n), 1),
    }[shape]
    weights = RNG.uniform(0.5, 2.0, n)
    roc, pr = metrics.ROCAUC(), metrics.PRAUC()
    for metric in (roc, pr):
        metric.update_many(truth, score, weights)
    exact_roc = peer.roc_auc_score(truth, score, sample_weight=weights)
    exact_pr = peer.average_precision_score(truth, score, sample_weight=weights)
    assert abs(roc.get() - exact_roc) <= roc.error + 1e-12
    assert abs(pr.get() - exact_pr) <= pr.error + 1e-12
    assert abs(roc.get() - exact_roc) < 1e-3
    if shape != "few":
        assert roc.error < (0.03 if shape == "crowded" else 2e-3)
        assert pr.error < (0.2 if shape == "crowded" else 0.02)
    assert roc.memory < 60_000


def test_kappa_temporal_and_kappa_m() -> None:
    """Against the definitions, on a stream with runs."""
    truth = np.repeat(RNG.integers(0, 3, 50), 4)
    guess = np.where(RNG.random(200) < 0.9, truth, 0)
    accuracy = np.mean(truth == guess)
    persistence = np.mean(np.r_[False, truth[1:] == truth[:-1]])
    majority = np.bincount(truth).max() / 200
    for name, rival in {"KappaTemporal": persistence, "KappaM": majority}.items():
        metric = make(name)
        metric.update_many(truth, guess)
        assert metric.get() == pytest.approx((accuracy - rival) / (1 - rival), rel=1e-12)
    assert metrics.Kappa is metrics.CohenKappa


PLAIN = [name for name in millstream.find(role="metric") if name not in ("metrics.Rolling", "metrics.Fading")]


@pytest.mark.parametrize("name", PLAIN)
def test_rolling_equals_recomputation(name: str) -> None:
    metric = make(name.partition(".")[2])
    if "pos_val" in metric.parameters:
        metric = metric.clone(pos_val=1)
    truth, predicted = outcomes(metric)
    for size in (1, 7, 64):
        rolling = metrics.Rolling(metric, window_size=size)
        for end in range(N):
            rolling.update(truth[end], predicted[end], W[end])
            if end % 13:
                continue
            start = max(0, end + 1 - size)
            window = slice(start, end + 1)
            plain = metric.clone()
            plain.update_many(truth[window], predicted[window], W[window])
            value = plain.get()
            if name == "metrics.KappaTemporal":
                # Persistence looks one label back, beyond the window's edge.
                last = np.r_[-1, truth[:-1]][window]
                accuracy = np.average(truth[window] == predicted[window], weights=W[window])
                rival = np.average(truth[window] == last, weights=W[window])
                value = (accuracy - rival) / (1 - rival) if rival < 1 - 1e-12 else 0.0
            assert rolling.get() == pytest.approx(value, rel=1e-7, abs=1e-9), (size, end)


@pytest.mark.parametrize("name", PLAIN)
def test_fading_equals_the_weighted_sum(name: str) -> None:
    metric = make(name.partition(".")[2])
    if "pos_val" in metric.parameters:
        metric = metric.clone(pos_val=1)
    truth, predicted = outcomes(metric)
    for forgetting in (0.5, 0.99, 1.0):
        fading = metrics.Fading(metric, forgetting=forgetting)
        fading.update_many(truth, predicted, W)
        plain = metric.clone()
        plain.update_many(truth, predicted, np.maximum(W * forgetting ** np.arange(N - 1, -1, -1), 1e-280))
        assert fading.get() == pytest.approx(plain.get(), rel=1e-9)


def test_fading_goes_on_for_ever() -> None:
    fading = metrics.Fading(metrics.Rolling(metrics.MAE(), 50), alpha=0.9)
    errors = RNG.random(20_000)
    fading.update_many(np.zeros(20_000), errors)
    weights = 0.9 ** np.arange(49, -1, -1)
    assert fading.get() == pytest.approx(np.average(errors[-50:], weights=weights), rel=1e-9)


def test_windows_of_windows_are_refused() -> None:
    for inner in (metrics.Rolling(metrics.MAE(), 5), metrics.Fading(metrics.MAE())):
        with pytest.raises(ValueError, match="rolling or fading itself"):
            metrics.Rolling(inner, 10)


def test_sums_do_not_drift_in_a_long_window() -> None:
    """A thousand million of noise passes through a window of small errors."""
    rolling = metrics.Rolling(metrics.MSE(), 100)
    errors = np.where(np.arange(50_000) % 1000 < 500, 1e6, 1e-3) * RNG.random(50_000)
    rolling.update_many(np.zeros(50_000), errors)
    assert rolling.get() == pytest.approx(np.mean(errors[-100:] ** 2), rel=1e-9)


@pytest.mark.parametrize("name", millstream.find(role="metric"))
def test_state(name: str) -> None:
    metric = make(name.partition(".")[2])
    truth, predicted = outcomes(metric)
    metric.update_many(truth[:150], predicted[:150], W[:150])
    twins = [
        pickle.loads(pickle.dumps(metric)),
        copy.deepcopy(metric),
        millstream.from_bytes(metric.to_bytes()),
        metric.copy(),
    ]
    metric.update_many(truth[150:], predicted[150:], W[150:])
    for twin in twins:
        assert type(twin) is type(metric)
        assert twin.get() != metric.get() or twin.updates != metric.updates
        for row in range(150, N):
            twin.update(truth[row], predicted[row], W[row])
        assert twin.to_bytes() == metric.to_bytes()
    clone = metric.clone()
    metric.reset()
    assert metric.to_bytes() == clone.to_bytes()
    assert millstream.build(metric.describe()).describe() == metric.describe()


@pytest.mark.parametrize("name", PLAIN)
def test_before_anything_it_is_finite_and_weight_0_changes_nothing(name: str) -> None:
    metric = make(name.partition(".")[2])
    assert math.isfinite(metric.get())
    truth, predicted = outcomes(metric)
    before = metric.to_bytes()
    metric.update(truth[0], predicted[0], 0.0)
    assert metric.to_bytes() == before
    metric.update(truth[0], predicted[0])
    assert math.isfinite(metric.get())


@pytest.mark.parametrize("name", millstream.find(role="metric"))
def test_bad_input_changes_nothing(name: str) -> None:
    metric = make(name.partition(".")[2])
    truth, predicted = outcomes(metric)
    metric.update_many(truth[:20], predicted[:20])
    before = metric.to_bytes()
    t, p = truth[0], predicted[0]
    bad: list[tuple[Any, ...]] = [(t, p, -1.0), (t, p, math.nan), (t, p, math.inf), (t, p, 1e308), (None, p)]
    bad += [(object(), p), (t, object()), (math.nan, p)]
    if metric._takes_numbers():
        bad += [("a", 1.0), (1.0, "a"), (math.inf, 0.0), (0.0, math.nan), (0.0, None)]
    elif metric._wants_probabilities():
        bad += [(True, 1.5), (True, math.nan), (True, {True: 2.0}), (True, {True: "x"}), ("new", 0.3), (7, 0.3)]
    else:
        bad += [("new", 0.5), ("new", {"new": -1.0}), (0.5, 1), ("new", 1, 1e308)]
    for outcome in bad:
        with pytest.raises(MillstreamError) as failure:
            metric.update(*outcome)
        assert isinstance(failure.value, (ValueError, TypeError))
        assert metric.to_bytes() == before, outcome
    with pytest.raises(MillstreamError, match="row 2"):
        metric.update_many(truth[:3], predicted[:3], [1.0, 1.0, -1.0])
    with pytest.raises(ValueError, match="2 values for 3 rows"):
        metric.update_many(truth[:3], predicted[:2])
    assert metric.to_bytes() == before


def test_no_prediction() -> None:
    """It is wrong for labels, and the toss of a coin for probabilities (River: probability 0 of the truth)."""
    expected = {"Accuracy": 0.5, "LogLoss": (math.log(2) - math.log(0.8)) / 2, "Brier": (0.25 + 0.04) / 2}
    for name, value in expected.items():
        for nothing in (None, {}):
            metric = make(name)
            metric.update(True, nothing)
            metric.update(True, {True: 0.8, False: 0.2})
            assert metric.get() == pytest.approx(value)
    both = metrics.Accuracy()
    both.update_many(["a", "b"], ["a", None])
    assert both.get() == 0.5


def test_the_positive_class() -> None:
    """True or 1 by whichever order; else what was asked for; else the rarer label."""
    for order in ([1, 0], [0, 1]):
        metric = metrics.Recall()
        metric.update_many(order, [1, 1])
        assert metric.get() == 1.0
    rarer = metrics.Recall()
    rarer.update_many(["no", "no", "yes", "no", "yes"], ["no", "no", "yes", "yes", "no"])
    assert rarer.get() == 0.5
    late = metrics.Recall(pos_val="yes")
    late.update_many(["no", "maybe", "yes", "yes"], ["no", "yes", "yes", "no"])
    assert late.get() == 0.5
    with pytest.raises(ValueError, match="pass pos_val"):
        metrics.ROCAUC().update("yes", 0.3)
    roc = metrics.ROCAUC(pos_val="yes")
    roc.update_many(["no", "yes"], [0.1, 0.9])
    assert roc.get() == 1.0


def test_confusion_matrix() -> None:
    matrix = metrics.ConfusionMatrix()
    matrix.update_many(TRUTH, GUESS, W)
    order = matrix.classes
    wanted = peer.confusion_matrix(TRUTH, GUESS, labels=order, sample_weight=W)
    np.testing.assert_allclose(matrix.to_numpy(), wanted, rtol=1e-12)
    label = order[0]
    assert matrix.true_positives(label) + matrix.false_negatives(label) == pytest.approx(matrix.support(label))
    assert matrix.true_negatives(label) == pytest.approx(wanted.sum() - wanted[0].sum() - wanted[1:, 0].sum())
    assert matrix[label][label] == pytest.approx(wanted[0, 0])
    empty = metrics.ConfusionMatrix()
    assert repr(empty) == "ConfusionMatrix: empty"
    empty.update(True, None)
    assert empty[True] == {True: 0.0, None: 1.0}


@pytest.mark.parametrize("name", ["Accuracy", "MacroF1", "CohenKappa", "ConfusionMatrix", "MAE", "R2", "ROCAUC"])
def test_merging_parts_gives_the_whole(name: str) -> None:
    whole, first, second = make(name), make(name), make(name)
    truth, predicted = outcomes(whole)
    whole.update_many(truth, predicted, W)
    first.update_many(truth[:200], predicted[:200], W[:200])
    # Labels in the order in which the first part met them.
    second.update_many(truth[:200], predicted[:200], np.full(200, 1e-300))
    second.update_many(truth[200:], predicted[200:], W[200:])
    first.merge(second)
    assert first.get() == pytest.approx(whole.get(), rel=1e-12)


def test_merging_what_does_not_fit_is_refused() -> None:
    a, b = metrics.Accuracy(), metrics.Accuracy()
    a.update("x", "y")
    b.update("y", "x")
    before = a.to_bytes()
    with pytest.raises(TypeError):
        a.merge(metrics.MAE())
    with pytest.raises(ValueError, match="cannot be merged: it depends on the order of rows"):
        metrics.KappaTemporal().merge(metrics.KappaTemporal())
    assert a.to_bytes() == before
    # Labels are matched by name.
    b.update("y", "y")
    a.merge(b)
    assert a.get() == pytest.approx(1 / 3)


def test_better_and_shown() -> None:
    good, bad = metrics.MAE(), metrics.MAE()
    good.update(1.0, 1.0)
    bad.update(1.0, 2.0)
    assert good.is_better_than(bad)
    assert good > bad
    assert not good.bigger_is_better
    assert repr(metrics.Rolling(metrics.Accuracy)) == "Rolling(Accuracy): 0.00%"
    assert repr(bad) == "MAE: 1"


def test_a_metric_follows_a_model() -> None:
    model, metric = linear_model.LogisticRegression(), metrics.LogLoss()
    for i in range(200):
        x, y = {"a": float(i % 7), "b": float(i % 3)}, i % 7 > 3
        metric.update(y, model.predict_proba_one(x))
        model.learn_one(x, y)
    assert 0.3 < metric.get() < 0.8


def test_parameters_are_attributes() -> None:
    metric = metrics.Rolling(metrics.FBeta(2.0, pos_val="a"), window_size=5)
    assert metric.window_size == 5
    assert metric.metric.beta == 2.0
    assert metric.metric.pos_val == "a"
    with pytest.raises(AttributeError):
        metric.nothing  # noqa: B018


@pytest.mark.parametrize("name", ["ROCAUC", "PRAUC"])
def test_a_forged_histogram_that_would_overflow_is_refused(name: str) -> None:
    metric = getattr(metrics, name)()
    for truth in (True, False):
        metric.update(truth, {True: 0.9, False: 0.1}, 3.0)
        metric.update(truth, {True: 0.2, False: 0.8}, 5.0)
    data = metric.to_bytes()
    payload = data[20:-4]
    for weight in (3.0, 5.0):
        assert payload.count(struct.pack(">Bd", 0xCB, weight)) == 2
        payload = payload.replace(struct.pack(">Bd", 0xCB, weight), struct.pack(">Bd", 0xCB, 1.7e308))
    body = data[:20] + payload
    with pytest.raises(InvalidState, match=f"metrics.{name}: .*a sum is not valid"):
        millstream.from_bytes(body + struct.pack("<I", zlib.crc32(body)))
