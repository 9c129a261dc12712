"""Learning without forgetting: discriminants against scikit-learn, buffers, replay, and guided networks."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import (
    base,
    baseline,
    compose,
    continual,
    datasets,
    evaluate,
    linear_model,
    naive_bayes,
    neural_network,
    optim,
    preprocessing,
    stream,
)
from millstream.errors import InvalidType, InvalidValue

pytestmark = pytest.mark.linear_algebra


def blobs(n: int = 400, d: int = 6, classes: int = 4, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    y = random.choice(classes, n, p=np.arange(1, classes + 1) / (classes * (classes + 1) / 2))
    mixing = random.normal(size=(d, d))
    return random.normal(size=(classes, d))[y] * 2 + random.normal(size=(n, d)) @ mixing, y


def network(**changes: Any) -> Any:
    return neural_network.MLPClassifier(**{"hidden_units": 32, "optimizer": optim.SGD(0.05), **changes})


def digits(seed: int = 0) -> Any:
    chunk = next(iter(datasets.Digits().chunks()))
    X = np.column_stack([column.to_numpy() for column in chunk.X.columns]) / 16.0
    return stream.tasks((X, np.asarray(chunk.y)), n_tasks=5, seed=seed)


# Streaming discriminants.


@pytest.mark.parametrize("shrinkage", [0.0, 1e-4, 0.3, 1.0])
@pytest.mark.parametrize("order", ["random", "by class", "reversed"])
def test_streaming_lda_is_batch_lda_in_any_order(shrinkage: float, order: str) -> None:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    X, y = blobs()
    places = {"random": np.arange(len(y)), "by class": np.argsort(y, kind="stable")}
    places["reversed"] = places["by class"][::-1]
    rows = places[order]
    priors = np.bincount(y) / len(y)
    batch = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage, priors=priors).fit(X, y)
    model = continual.StreamingLDA(shrinkage=shrinkage)
    model.learn_many(X[rows], y[rows])
    T = np.random.default_rng(5).normal(size=(200, X.shape[1])) * 3
    ours = model.predict_proba_many(T)[:, np.argsort(model.classes)]
    np.testing.assert_allclose(ours, batch.predict_proba(T), atol=1e-8)
    found = model.inspect()
    by_class = dict(zip(model._labels(), range(len(model._labels())), strict=True))
    for code, label in enumerate(batch.classes_):
        place = by_class[int(label)]
        coefficients = list(found["coefficients"][place].values())
        np.testing.assert_allclose(coefficients, batch.coef_[code], atol=1e-8, rtol=1e-8)
        assert found["intercepts"][place] == pytest.approx(batch.intercept_[code], abs=1e-8)


def test_uniform_priors_differ_by_the_logarithms_of_the_frequencies() -> None:
    X, y = blobs(classes=2)
    empirical, uniform = continual.StreamingLDA(), continual.StreamingLDA(priors="uniform")
    for model in (empirical, uniform):
        model.learn_many(X, y)
    counts = empirical.class_counts
    for x in X[:20]:
        row = dict(enumerate(x))
        odds = [model.predict_proba_one(row) for model in (empirical, uniform)]
        ratio = np.log(odds[0][1] / odds[0][0]) - np.log(odds[1][1] / odds[1][0])
        assert ratio == pytest.approx(np.log(counts[1] / counts[0]), abs=1e-8)


def test_streaming_lda_on_digits_by_class_is_within_half_a_point_of_the_batch() -> None:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    tasks = digits()
    model = continual.StreamingLDA()
    result = evaluate.continual(model, tasks)
    batch = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1e-4).fit(tasks.train.X, tasks.train.y)
    truths = [(tasks[i].test.X, tasks[i].test.y) for i in range(5)]
    accuracy = np.mean([np.mean(batch.predict(X) == y) for X, y in truths])
    assert abs(result.final_accuracy - accuracy) < 0.005
    assert result.final_accuracy > 0.92


def test_without_shrinkage_too_few_rows_are_refused_with_the_reason() -> None:
    X, y = blobs(d=6)
    model = continual.StreamingLDA(shrinkage=0)
    assert model.predict_one({"a": 1.0}) is None
    model.learn_many(X[:5], y[:5])
    with pytest.raises(InvalidValue, match="with shrinkage=0 it must learn at least"):
        model.predict_one(dict(enumerate(X[0])))
    model.learn_many(X[5:40], y[5:40])
    assert model.predict_one(dict(enumerate(X[0]))) in (0, 1, 2, 3)
    constant = continual.StreamingLDA(shrinkage=0)
    constant.learn_many(np.column_stack([X[:50], np.ones(50)]), y[:50])
    with pytest.raises(InvalidValue, match="the covariance has no inverse"):
        constant.predict_many(np.ones((3, 7)))


def test_collinear_and_constant_features_do_no_harm_with_shrinkage() -> None:
    X, y = blobs()
    model = continual.StreamingLDA(shrinkage=1e-10)
    wide = np.column_stack([X, X[:, 0] + X[:, 1], np.full(len(y), 7.0), 10 * X[:, 2]])
    model.learn_many(wide, y)
    probabilities = model.predict_proba_many(wide)
    assert np.isfinite(probabilities).all()
    assert np.mean(model.predict_many(wide) == y) > 0.8


def test_sample_weights_are_repetitions() -> None:
    X, y = blobs(60)
    for make in (continual.StreamingLDA, continual.NearestClassMean):
        weighted, repeated = make(), make()
        weighted.learn_many(X, y, np.where(np.arange(60) % 3 == 0, 3.0, 1.0))
        for place in range(60):
            for _ in range(3 if place % 3 == 0 else 1):
                repeated.learn_one(dict(enumerate(X[place])), int(y[place]))
        ours, theirs = (model.predict_proba_many(X) for model in (weighted, repeated))
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_the_nearest_class_mean_is_that_of_scikit_learn() -> None:
    from sklearn.neighbors import NearestCentroid

    X, y = blobs()
    model = continual.NearestClassMean()
    model.learn_many(X, y)
    assert (model.predict_many(X) == NearestCentroid().fit(X, y).predict(X)).all()


@pytest.mark.parametrize("make", [continual.StreamingLDA, continual.NearestClassMean])
def test_merged_parts_are_the_whole(make: Any) -> None:
    X, y = blobs(300)
    whole, first, second = make(), make(), make()
    whole.learn_many(X, y)
    # The second part has other classes, in another order.
    order = np.argsort(-y[150:], kind="stable") + 150
    first.learn_many(X[:150], y[:150])
    second.learn_many(X[order], y[order])
    first.merge(second)
    for x in X[:50]:
        ours, theirs = first.predict_proba_one(dict(enumerate(x))), whole.predict_proba_one(dict(enumerate(x)))
        assert {label: pytest.approx(p, abs=1e-9) for label, p in theirs.items()} == ours


# Replay and GDumb.


def test_replay_keeps_what_the_network_forgets() -> None:
    alone = evaluate.continual(network(optimizer=optim.SGD(0.05)), digits())
    model = continual.Replay(network(optimizer=optim.SGD(0.02)), continual.ClassBalanced(100), n_replay=10)
    kept = evaluate.continual(model, digits())
    assert alone.final_accuracy < 0.3
    assert kept.final_accuracy > 0.85
    assert kept.forgetting < 0.2 < alone.forgetting
    assert (model.stored, model.skipped, model.learned) == (100, 0, len(digits().train))


def test_impossible_buffers_and_draws_are_refused_with_the_reason() -> None:
    own = MajorityOfMine()
    for model in (naive_bayes.GaussianNB(), own):
        with pytest.raises(
            InvalidValue, match="n_replay must be at most the size of the buffer, 5, got 6: rows are"
        ):
            continual.Replay(model, continual.Reservoir(5), n_replay=6)
        with pytest.raises(InvalidValue, match="n_replay"):
            continual.Replay(model, continual.Reservoir(5), n_replay=0)
        with pytest.raises((InvalidType, InvalidValue), match="buffer"):
            continual.Replay(model, "baseline.Prior")
    with pytest.raises(InvalidValue, match=r"size must be an integer in \[1, 10000000\], got 0"):
        continual.Replay(naive_bayes.GaussianNB(), continual.Reservoir(0))
    with pytest.raises(InvalidValue, match="it has no classes"):
        continual.Replay(linear_model.LinearRegression(), continual.ClassBalanced(5))
    for method in (continual.AGEM, continual.DERPlusPlus):
        with pytest.raises(InvalidValue, match="n_replay must be at most the size of the buffer"):
            method(buffer=continual.Reservoir(5), n_replay=6)


class MajorityOfMine(base.Classifier):
    """A classifier written in Python that refuses negative numbers."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, Any]] = []

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        if x["x"] < 0:
            raise InvalidValue("mine: x must not be negative")
        self.seen.append((dict(x), y))

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        labels = [label for _, label in self.seen]
        return {label: labels.count(label) / len(labels) for label in labels}


def test_replay_over_a_model_written_in_python() -> None:
    model = continual.Replay(MajorityOfMine(), continual.ClassBalanced(4, seed=2), n_replay=2)
    for step in range(30):
        model.learn_one({"x": step}, "late" if step > 25 else "early")
    assert (model.stored, model.learned) == (4, 30)
    # The first example replays nothing, the second one the first.
    assert len(model.model.seen) == 30 + 1 + 2 * 28
    labels = [label for _, label, _ in model._rows.rows]
    assert (labels.count("early"), labels.count("late")) == (2, 2)
    before = len(model.model.seen)
    with pytest.raises(InvalidValue, match="must not be negative"):
        model.learn_one({"x": -1}, "late")
    assert (len(model.model.seen), model.learned) == (before, 30)
    again = pickle.loads(pickle.dumps(model))
    for each in (model, again):
        each.learn_one({"x": 3}, "early")
    assert again.model.seen == model.model.seen
    assert model.clone().learned == 0


def test_replay_of_a_regressor_and_through_a_pipeline() -> None:
    inner = preprocessing.StandardScaler() | linear_model.LinearRegression()
    model = continual.Replay(inner, continual.Reservoir(20), n_replay=5)
    for step in range(100):
        model.learn_one({"x": step / 10}, step / 5 + 1)
    assert model.predict_one({"x": 5.0}) == pytest.approx(11, abs=1.5)
    assert model.role == "regressor"
    assert model.model.learned >= 0


def test_gdumb_trains_when_asked_and_never_when_it_predicts() -> None:
    model = continual.GDumb(network(), continual.ClassBalanced(60), passes=40)
    tasks = digits()
    model.learn_many(tasks.train.X, tasks.train.y)
    before = model.to_bytes()
    assert model.predict_one(dict(enumerate(tasks[0].test.X[0]))) is None
    assert model.to_bytes() == before
    model.retrain()
    assert (model.trained, model.stored) == (1, 60)
    accuracy = np.mean(model.predict_many(tasks[0].test.X) == tasks[0].test.y)
    assert accuracy > 0.8
    again = millstream.from_bytes(model.to_bytes())
    for each in (model, again):
        each.retrain()
    assert again.to_bytes() == model.to_bytes()


# Guided networks.

GUIDED = [
    lambda: continual.EWC(network(), period=100),
    lambda: continual.SI(network(), period=100),
    lambda: continual.LwF(network(), period=100),
    lambda: continual.AGEM(network(), continual.Reservoir(30), 5),
    lambda: continual.DERPlusPlus(network(), continual.ClassBalanced(30), 5),
]


@pytest.mark.parametrize("make", GUIDED)
def test_a_guided_network_continues_exactly_after_it_was_saved(make: Any) -> None:
    X, y = blobs(500)
    order = np.argsort(y, kind="stable")
    model = make()
    model.learn_many(X[order[:300]], y[order[:300]])
    again = millstream.from_bytes(model.to_bytes())
    for each in (model, again):
        each.learn_many(X[order[300:]], y[order[300:]])
    assert model.to_bytes() == again.to_bytes()


@pytest.mark.parametrize("make", GUIDED)
def test_a_refused_example_leaves_a_guided_network_as_it_was(make: Any) -> None:
    X, y = blobs(250)
    model = make()
    model.learn_many(X, y)
    before = model.to_bytes()
    with pytest.raises(millstream.errors.MillstreamError):
        model.learn_one({**dict(enumerate(X[0] * 1e300)), "new": 1e308}, 77, 1e300)
    assert model.to_bytes() == before


@pytest.mark.parametrize("make", [continual.EWC, continual.SI, continual.LwF])
def test_without_an_ended_task_a_regulariser_is_the_network_alone(make: Any) -> None:
    X, y = blobs()
    model, alone = make(network()), network()
    for each in (model, alone):
        each.learn_many(X, y)
    np.testing.assert_allclose(model.predict_proba_many(X), alone.predict_proba_many(X), atol=1e-12)


@pytest.mark.parametrize("strength", [1e-2, 1.0, 1e2, 1e4, 1e6, 1e12])
def test_ewc_is_finite_for_any_strength(strength: float) -> None:
    X, y = blobs(600, classes=3)
    model = continual.EWC(network(optimizer=optim.SGD(0.1)), strength=strength, period=100)
    order = np.argsort(y, kind="stable")
    model.learn_many(X[order], y[order])
    importance = model.inspect()["method"]["largest_importance"]
    # The plain gradient of the penalty diverges where this product exceeds 2.
    assert strength < 1e4 or strength * 0.1 * importance > 100
    assert np.isfinite(model.predict_proba_many(X)).all()


@pytest.mark.parametrize("make", [continual.EWC, continual.SI])
def test_very_strong_penalties_keep_the_function_of_the_first_task(make: Any) -> None:
    X, y = blobs(400, classes=2)
    model = make(network(), strength=1e12)
    model.learn_many(X, y)
    before = model.predict_proba_many(X)
    model.end_task()
    model.learn_many(X, 1 - y)
    after = model.predict_proba_many(X)
    free = make(network(), strength=0.0)
    free.learn_many(X, y)
    free.end_task()
    free.learn_many(X, 1 - y)
    assert np.abs(after - before).mean() < 0.1 < np.abs(free.predict_proba_many(X) - before).mean()


def test_ending_a_task_reaches_through_pipelines_and_wrappers() -> None:
    model = preprocessing.StandardScaler() | continual.EWC(network())
    assert continual.end_task(model)
    assert not continual.end_task(linear_model.LogisticRegression())
    for step in range(30):
        model.learn_one({"x": step % 5}, step % 2)
    continual.end_task(model)
    assert model[-1].tasks == 1
    inside = continual.Replay(continual.LwF(network()), n_replay=2)
    inside.learn_one({"x": 1}, 1)
    assert continual.end_task(inside)
    python = compose.Func(lambda x: x) | continual.GDumb(naive_bayes.GaussianNB())
    assert continual.end_task(python)
    with pytest.raises(InvalidType, match="must be a model"):
        continual.end_task(3)


def test_a_network_around_something_else_is_refused() -> None:
    for method in (continual.EWC, continual.SI, continual.LwF, continual.AGEM, continual.DERPlusPlus):
        with pytest.raises(InvalidValue, match="model must be neural_network.MLPClassifier"):
            method(naive_bayes.GaussianNB())


@pytest.mark.parametrize("make", [*GUIDED, lambda: continual.Replay(network(), continual.Reservoir(10), 3)])
def test_many_is_one_by_one(make: Any) -> None:
    X, y = blobs(150)
    many, one = make(), make()
    many.learn_many(X, y)
    for x, label in zip(X, y.tolist(), strict=True):
        one.learn_one(dict(enumerate(x)), label)
    assert many.to_bytes() == one.to_bytes()
    assert copy.deepcopy(many).to_bytes() == many.to_bytes()


def test_replay_of_a_baseline_counts_repetitions() -> None:
    model = continual.Replay(baseline.TargetMean(), continual.Reservoir(1), n_replay=1)
    for target in (8.0, 2.0):
        model.learn_one({}, target)
    assert model.predict_one({}) == 6.0
