"""Losses: values and slopes beside River's and scikit-learn's, and as derivatives of each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from river import optim as river
from sklearn.linear_model import SGDClassifier

import millstream
from millstream import losses
from millstream.errors import InvalidValue

pytestmark = pytest.mark.linear_algebra

SCORES = np.array([-30.0, -19.0, -2.0, -1.0, -0.3, 0.0, 0.05, 0.4, 1.0, 1.7, 18.5, 25.0])

NUMBERS = [
    (losses.Squared(), river.losses.Squared()),
    (losses.Absolute(), river.losses.Absolute()),
    (losses.Huber(), river.losses.Huber()),
    (losses.Huber(0.7), river.losses.Huber(0.7)),
    (losses.Poisson(), river.losses.Poisson()),
]
CLASSES = [
    (losses.Logistic(), river.losses.Log()),
    (losses.Hinge(), river.losses.Hinge()),
    (losses.Hinge(margin=0), river.losses.Hinge(threshold=0)),
    (losses.FocalStar(), river.losses.BinaryFocalLoss()),
    (losses.FocalStar(3.0, 0.5), river.losses.BinaryFocalLoss(3.0, 0.5)),
]
ALL = [millstream.build({"name": name}) for name in millstream.find(role="loss")]


@pytest.mark.parametrize(("ours", "theirs"), NUMBERS, ids=repr)
def test_numbers_as_in_river(ours: Any, theirs: Any) -> None:
    for y in (-1.5, 0.0, 1.0, 2.0):
        for z in SCORES:
            assert ours.value(y, z) == pytest.approx(theirs(y, z), rel=1e-12)
            assert ours.slope(y, z) == pytest.approx(theirs.gradient(y, z), rel=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), CLASSES, ids=repr)
def test_classes_as_in_river(ours: Any, theirs: Any) -> None:
    for y in (True, False):
        for z in SCORES:
            if abs(z) > 3 and ours.name == "losses.FocalStar":
                continue  # River takes the log of 0 there
            assert ours.value(y, z) == pytest.approx(theirs(y, z), rel=1e-7, abs=1e-12)
            assert ours.slope(y, z) == pytest.approx(theirs.gradient(y, z), rel=1e-7, abs=1e-12)


def test_quantile_has_rivers_slope_and_the_value_that_belongs_to_it() -> None:
    # River's value is that of the quantile 1 - alpha, its slope that of alpha.
    for alpha in (0.1, 0.5, 0.9):
        ours, theirs = losses.Quantile(alpha), river.losses.Quantile(alpha)
        other = river.losses.Quantile(1.0 - alpha)
        for z in SCORES:
            assert ours.slope(0.4, z) == theirs.gradient(0.4, z)
            assert ours.value(0.4, z) == pytest.approx(other(0.4, z), rel=1e-12)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.8])
def test_the_quantile_loss_is_least_at_the_quantile(alpha: float) -> None:
    y = np.random.default_rng(1).exponential(size=2001)
    grid = np.linspace(0.0, 4.0, 801)
    best = grid[np.argmin([losses.Quantile(alpha).value(y, z).sum() for z in grid])]
    assert best == pytest.approx(np.quantile(y, alpha), abs=0.01)


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_slopes_are_derivatives(loss: Any) -> None:
    z = np.linspace(-3.0, 3.0, 60) + 0.0123  # off the kinks
    h = 1e-6
    for y in (1.0, -1.0) if loss.name not in {"losses.Poisson"} else (0.0, 2.0):
        numeric = (loss.value(y, z + h) - loss.value(y, z - h)) / (2 * h)
        np.testing.assert_allclose(loss.slope(y, z), numeric, atol=1e-7)


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_no_score_is_too_large(loss: Any) -> None:
    z = np.array([-1.7e308, -1e308, -710.0, 710.0, 1e308, 1.7e308])
    for y in (0.0, 1.0, 1e308):
        assert not np.isnan(loss.value(y, z)).any()
        assert not np.isnan(loss.slope(y, z)).any()


def test_the_forms_of_a_class() -> None:
    loss = losses.Logistic()
    assert loss.slope(False, 0.3) == loss.slope(0, 0.3) == loss.slope(-1, 0.3)
    assert loss.slope(True, 0.3) == loss.slope(1, 0.3)
    assert isinstance(loss.value(True, 0.3), float)
    assert loss.value([[True], [False]], [0.1, 0.2, 0.3]).shape == (2, 3)


def test_focal_without_focus_is_logistic() -> None:
    np.testing.assert_allclose(
        losses.Focal(0.0).slope(True, SCORES), losses.Logistic().slope(True, SCORES), rtol=1e-12
    )


@pytest.mark.parametrize("name", ["losses.ModifiedHuber", "losses.SquaredHinge"])
def test_probability_of_the_squared_hinges(name: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    model = millstream.build({"name": "linear_model.LogisticRegression", "parameters": {"loss": name}})
    model.learn_many(X, y)
    scores = np.array([model.score_one(dict(enumerate(x))) for x in X])
    np.testing.assert_allclose(model.predict_proba_many(X)[:, 1], (np.clip(scores, -1, 1) + 1) / 2)
    if name == "losses.ModifiedHuber":
        peer = SGDClassifier(loss="modified_huber").fit(X, y)
        peer.coef_, peer.intercept_ = np.array([list(model.weights.values())]), np.array([model.bias])
        np.testing.assert_allclose(model.predict_proba_many(X), peer.predict_proba(X), atol=1e-12)


def test_losses_know_what_they_are_for() -> None:
    with pytest.raises(InvalidValue, match=r"loss must be a classification loss, got losses\.Squared"):
        millstream.build({"name": "linear_model.LogisticRegression", "parameters": {"loss": "losses.Squared"}})
    with pytest.raises(InvalidValue, match=r"loss must be a regression loss, got losses\.Hinge"):
        millstream.build({"name": "linear_model.LinearRegression", "parameters": {"loss": "losses.Hinge"}})
    with pytest.raises(InvalidValue, match=r"losses\.Quantile: q must be in \(0, 1\), got 1"):
        losses.Quantile(1)
