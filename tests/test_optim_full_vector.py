"""Optimisers that see the whole example: VW's predictions, the papers' recursions, freedom of scale, regret."""

from __future__ import annotations

import math
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import millstream
from millstream import linear_model, losses, multiclass, optim, preprocessing, synth
from millstream.errors import InvalidState, InvalidValue, NumericOverflow

pytestmark = pytest.mark.linear_algebra

WHOLE = [optim.Adaptive(), optim.CoinBetting(), optim.OnlineNewtonStep(), optim.AdaGrad(full=True)]
IDS = ["Adaptive", "CoinBetting", "OnlineNewtonStep", "full AdaGrad"]
every = pytest.mark.parametrize("optimizer", WHOLE, ids=IDS)


def problem(rows: int, width: int = 5, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Two classes; features of several scales that go together, about half of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width)) @ rng.normal(size=(width, width))
    X *= (rng.random((rows, width)) < 0.6) * 10.0 ** np.arange(width)
    odds = X @ (rng.normal(size=width) / 10.0 ** np.arange(width)) + rng.logistic(scale=0.3, size=rows)
    return X, (odds > 0).astype(int)


def proba(model: Any, X: np.ndarray, y: np.ndarray, w: np.ndarray | None = None) -> np.ndarray:
    """Probabilities of class 1, each before its row is learned."""
    answers = []
    for place, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(enumerate(row))
        answers.append(model.predict_proba_one(x).get(1, 0.5))
        model.learn_one(x, label, 1.0 if w is None else float(w[place]))
    return np.array(answers)


# ------------------------------------------------------------------------------------------- Adaptive


def vw_predictions(X: np.ndarray, y: np.ndarray, w: np.ndarray, settings: str) -> np.ndarray:
    vowpal = pytest.importorskip("vowpalwabbit")
    workspace = vowpal.Workspace(f"--quiet {settings}")
    found = []
    for row, label, weight in zip(X.tolist(), y.tolist(), w.tolist(), strict=True):
        text = " ".join(f"f{j}:{value!r}" for j, value in enumerate(row) if value != 0)
        example = workspace.example(f"{label} {weight!r} | {text}")
        workspace.learn(example)
        found.append(example.get_simplelabel_prediction())
        workspace.finish_example(example)
    workspace.finish()
    return np.array(found)


def test_adaptive_predicts_what_vowpal_wabbit_predicts() -> None:
    """VW's default learner, constant and sample weights included, to the precision of its 32 bits."""
    X, y = problem(600)
    w = np.random.default_rng(2).choice([0.25, 1.0, 3.0], size=len(y))
    theirs = vw_predictions(X, 2 * y - 1, w, "--loss_function logistic")
    model = linear_model.LogisticRegression(optimizer="adaptive")
    ours = []
    for row, label, weight in zip(X.tolist(), y.tolist(), w.tolist(), strict=True):
        x = {f"f{j}": value for j, value in enumerate(row)}
        ours.append(model.score_one(x))
        model.learn_one(x, label, weight)
    np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-4)


def test_adaptive_regression_predicts_what_vowpal_wabbit_predicts() -> None:
    """The targets lie far outside the predictions, which VW would otherwise clip to their range."""
    X, _ = problem(400)
    y = X @ (0.5 / 10.0 ** np.arange(X.shape[1]))
    settings = "--loss_function squared --min_prediction -1000 --max_prediction 1000"
    theirs = vw_predictions(X, y, np.ones(len(y)), settings)
    model = linear_model.LinearRegression(optimizer="adaptive")
    np.testing.assert_allclose(model.step_many(X, y), theirs, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("optimizer", [optim.Adaptive(), optim.CoinBetting()], ids=repr)
@pytest.mark.parametrize("unit", [1e6, 1e-6, 2.0**400, 2.0**-400])
def test_the_unit_of_a_feature_does_not_matter(optimizer: Any, unit: float) -> None:
    X, y = problem(300)
    expected = proba(linear_model.LogisticRegression(optimizer=optimizer), X, y)
    for place in range(X.shape[1]):
        rescaled = X.copy()
        rescaled[:, place] *= unit
        found = proba(linear_model.LogisticRegression(optimizer=optimizer), rescaled, y)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    # The units of a power of 2 change no digit at all, even of all features at once.
    found = proba(linear_model.LogisticRegression(optimizer=optimizer), X * 2.0**40, y)
    np.testing.assert_array_equal(found, expected)


def test_weights_are_importance() -> None:
    """A weight of 2 is twice a weight of 1, but for what one example changes in the rates: ever less of them."""
    X, y = problem(4050, seed=4)
    model = linear_model.LogisticRegression(optimizer="adaptive")
    found = []
    for start in (0, 50, 400, 4000):
        model.learn_many(X[int(model.learned) : start], y[int(model.learned) : start])
        apart = []
        for row, label in zip(X[start : start + 30].tolist(), y[start : start + 30].tolist(), strict=True):
            x = dict(enumerate(row))
            twice, once = model.copy(), model.copy()
            for _ in range(2):
                twice.learn_one(x, label)
            once.learn_one(x, label, 2.0)
            before = model.score_one(x) if model.learned else 0.0
            apart.append(abs(twice.score_one(x) - once.score_one(x)) / abs(once.score_one(x) - before))
        found.append(float(np.mean(apart)))
    assert found[3] < 1e-3 < found[0]
    assert found == sorted(found, reverse=True)


def test_no_weight_overshoots() -> None:
    model = linear_model.LinearRegression(optimizer="adaptive")
    x = {"a": 3.0, "b": -1e-4, "c": 1e7}
    for target, weight in ((5.0, 1e6), (-2.0, 1e9), (0.5, 1e12)):
        before = model.predict_one(x)
        model.learn_one(x, target, weight)
        after = model.predict_one(x)
        assert min(before, target) - 1e-9 <= after <= max(before, target) + 1e-9
        assert after == pytest.approx(target, abs=1e-6)
    # A gradient step of this weight would have landed a million million away.
    plain = linear_model.LinearRegression(optim.SGD(0.5))
    plain.learn_one({"a": 3.0}, 5.0, 1e12)
    assert abs(plain.predict_one({"a": 3.0})) > 1e12


@pytest.mark.parametrize("loss", millstream.find(role="loss"))
def test_adaptive_follows_every_loss(loss: str) -> None:
    made = millstream.build({"name": loss})
    X, labels = problem(800)
    score = X @ (np.array([1.0, -1.0, 1.0, 1.0, -1.0]) / 10.0 ** np.arange(5))
    try:
        model: Any = linear_model.LogisticRegression(optimizer="adaptive", loss=made)
        assert np.mean(model.step_many(X, labels)[200:] == labels[200:]) > 0.85
    except InvalidValue:
        model = linear_model.LinearRegression(optimizer="adaptive", loss=made)
        y = np.random.default_rng(1).poisson(np.exp(0.3 * score)) if loss == "losses.Poisson" else score
        predicted = model.step_many(X, y)
        assert np.mean(np.abs(predicted - y)[400:]) < 0.8 * np.mean(np.abs(y - np.median(y))[400:])


def test_adaptive_needs_no_scaler() -> None:
    """Agrawal has salaries beside ages. Untuned SGD on it is no better than a coin, VW and this are."""
    rows = list(synth.Agrawal(classification_function=2, seed=3).take(4000))
    right = {"adaptive": 0, "sgd": 0}
    for name in right:
        model = linear_model.LogisticRegression(optimizer=name)
        for x, y in rows:
            right[name] += model.step_one(x, y) == y
    assert right["adaptive"] / 4000 > 0.6 > right["sgd"] / 4000


# --------------------------------------------------------------------------- Newton step, full AdaGrad


def newton(X: np.ndarray, y: np.ndarray, rate: float, epsilon: float) -> np.ndarray:
    """The recursion of the paper with the matrix itself, for the logistic loss."""
    X = np.hstack([np.ones((len(X), 1)), X])
    A, w, found = epsilon * np.eye(X.shape[1]), np.zeros(X.shape[1]), []
    for x, label in zip(X, 2 * y - 1, strict=True):
        found.append(w @ x)
        g = -label / (1 + math.exp(min(label * (w @ x), 700))) * x
        A += np.outer(g, g)
        w -= rate * np.linalg.solve(A, g)
    return np.array(found)


def full_adagrad(X: np.ndarray, y: np.ndarray, rate: float, epsilon: float) -> np.ndarray:
    """The same with the inverse root, from scratch at every step."""
    X = np.hstack([np.ones((len(X), 1)), X])
    A, w, found = epsilon * np.eye(X.shape[1]), np.zeros(X.shape[1]), []
    for x, label in zip(X, 2 * y - 1, strict=True):
        found.append(w @ x)
        g = -label / (1 + math.exp(min(label * (w @ x), 700))) * x
        A += np.outer(g, g)
        values, vectors = np.linalg.eigh(A)
        w -= rate * vectors @ ((vectors.T @ g) / np.sqrt(values))
    return np.array(found)


@pytest.mark.parametrize(
    ("reference", "make", "epsilon"),
    [(newton, optim.OnlineNewtonStep, 1.0), (full_adagrad, lambda r, e: optim.AdaGrad(r, e, full=True), 0.01)],
    ids=["OnlineNewtonStep", "full AdaGrad"],
)
@pytest.mark.parametrize("width", [1, 4, 9])
def test_matrices_are_those_of_the_papers(reference: Any, make: Any, epsilon: float, width: int) -> None:
    X, y = problem(400, width=width)
    X /= 10.0 ** np.arange(width)
    model = linear_model.LogisticRegression(optimizer=make(0.5, epsilon))
    found = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        found.append(model.score_one(dict(enumerate(row))) if model.learned else 0.0)
        model.learn_one(dict(enumerate(row)), label)
    np.testing.assert_allclose(found, reference(X, y, 0.5, epsilon), rtol=1e-7, atol=1e-8)


@pytest.mark.slow
def test_full_adagrad_for_long() -> None:
    """Eigenvectors that were turned fifty thousand times still are those of the sum of the gradients' products."""
    X, y = problem(50_000, width=4)
    X = (X / 10.0 ** np.arange(4))[:, :4]
    model = linear_model.LogisticRegression(optim.AdaGrad(0.5, 0.01, full=True))
    model.learn_many(X, y)
    scores = full_adagrad(X, y, 0.5, 0.01)
    assert model.score_one(dict(enumerate(X[-1].tolist()))) == pytest.approx(scores[-1], rel=1e-2, abs=1e-2)


def test_the_newton_step_has_logarithmic_regret() -> None:
    """On logistic losses of bounded features: four times the rows add the same regret again, as log T does."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, size=(16_000, 4))
    y = (X @ [1.0, -0.5, 0.3, 0.0] + rng.logistic(scale=1.0, size=len(X)) > 0).astype(int)
    model = linear_model.LogisticRegression(optim.OnlineNewtonStep(4.0), intercept=False)
    scores = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        scores.append(model.score_one(dict(enumerate(row))) if model.learned else 0.0)
        model.learn_one(dict(enumerate(row)), label)
    signs = 2 * y - 1

    def best(n: int) -> float:
        w = np.zeros(4)
        for _ in range(30):
            p = 1 / (1 + np.exp(-signs[:n] * (X[:n] @ w)))
            gradient = -(signs[:n] * (1 - p)) @ X[:n]
            w -= np.linalg.solve((X[:n].T * (p * (1 - p))) @ X[:n] + 1e-9 * np.eye(4), gradient)
        return float(np.log1p(np.exp(-signs[:n] * (X[:n] @ w))).sum())

    paid = np.cumsum(np.log1p(np.exp(-signs * np.array(scores))))
    regret = [paid[n - 1] - best(n) for n in (1000, 4000, 16_000)]
    # Far below the theorem's 5 (1/α + G D) n ln T, with n = 4, G = 2 and D = 4, even for α = 1.
    assert all(0 < r < 5 * 4 * 4 * math.log(n) for r, n in zip(regret, (1000, 4000, 16_000), strict=True))
    # A regret of order √T would double from one to the next.
    assert regret[2] - regret[1] < 0.7 * regret[1]


@pytest.mark.parametrize("optimizer", WHOLE[2:], ids=IDS[2:])
def test_a_matrix_is_not_for_very_many_features(optimizer: Any) -> None:
    model = linear_model.LogisticRegression(optimizer=optimizer)
    model.learn_one({"a": 1.0}, True)
    before = model.to_bytes()
    with pytest.raises(InvalidValue, match=r"supports up to \d+ features and nominal values, got 5001"):
        model.learn_one({f"f{j}": 1.0 for j in range(5000)}, False)
    assert model.to_bytes() == before


# ---------------------------------------------------------------------------------------- coin betting


@pytest.mark.parametrize("comparator", [0.0, 0.3, -5.0, 200.0])
def test_coin_betting_keeps_its_regret_bound(comparator: float) -> None:
    """Against any u: |u| √(T ln(1 + 24 T² u²)) + 1 for slopes in [-1, 1] (Orabona and Pál, 2016, corollary 5)."""
    rng = np.random.default_rng(11)
    model = linear_model.LinearRegression(optim.CoinBetting(), loss=losses.Absolute(), intercept=False)
    regret, rounds = 0.0, 4000
    for _ in range(rounds):
        # The slope of |w x − y| x is ±1, towards u more often than not.
        target = comparator + rng.normal()
        guess = model.predict_one({"x": 1.0})
        slope = 1.0 if guess > target else -1.0
        regret += slope * (guess - comparator)
        model.learn_one({"x": 1.0}, target)
    u = abs(comparator)
    assert regret <= u * math.sqrt(rounds * math.log(1 + 24 * rounds**2 * u**2)) + 1.0


def test_coin_betting_finds_what_no_rate_was_set_for() -> None:
    """Weights of a thousandth and of a thousand, alike."""
    for size in (1e-3, 1.0, 1e3):
        model = linear_model.LinearRegression(optim.CoinBetting(), loss=losses.Absolute(), intercept=False)
        rng = np.random.default_rng(3)
        X = rng.uniform(0.5, 1.5, size=(6000, 1))
        model.learn_many(X, size * X[:, 0])
        assert model.weights["0"] == pytest.approx(size, rel=0.1)


# ------------------------------------------------------------------------------------- all four of them


@every
def test_all_row_forms(optimizer: Any) -> None:
    X, y = problem(150, seed=5)
    X /= 10.0 ** np.arange(X.shape[1])
    dense, by_dict, in_csr, absent, grown = (
        linear_model.LogisticRegression(optimizer=optimizer) for _ in range(5)
    )
    dense.learn_many(X, y)
    in_csr.learn_many(sparse.csr_matrix(X), y)
    for place, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        by_dict.learn_one(dict(enumerate(row)), label)
        absent.learn_one({j: value for j, value in enumerate(row) if value != 0}, label)
        # Rows as matrices and as sparse rows in turn.
        grown.learn_many(X[place : place + 1] if place % 2 else sparse.csr_matrix(X[place : place + 1]), [label])
    assert by_dict.to_bytes() == dense.to_bytes()
    expected = [dense.weights[str(j)] for j in range(5)]
    for model in (in_csr, absent, grown):
        assert [model.weights[str(j)] for j in range(5)] == pytest.approx(expected, rel=1e-7, abs=1e-9)
        assert model.bias == pytest.approx(dense.bias, rel=1e-7)


@every
def test_nominal_values_and_gaps(optimizer: Any) -> None:
    model = linear_model.LogisticRegression(optimizer=optimizer)
    rng = np.random.default_rng(1)
    right = 0
    for _ in range(600):
        x = {"n": float(rng.normal()), "c": str(rng.choice(["red", "green", "blue"])), "m": float("nan")}
        y = x["c"] == "red" or x["n"] > 1
        right += model.step_one(x, y) == y
    assert right > 500
    assert set(model.weights["c"]) == {"red", "green", "blue"}


@every
def test_saved_and_continued(optimizer: Any) -> None:
    X, y = problem(80)
    X /= 10.0 ** np.arange(X.shape[1])
    whole = linear_model.LogisticRegression(optimizer=optimizer)
    whole.learn_many(X, y)
    for split in (0, 1, 17, 79):
        part = linear_model.LogisticRegression(optimizer=optimizer)
        part.learn_many(X[:split], y[:split])
        part = millstream.from_bytes(part.to_bytes())
        part.learn_many(X[split:], y[split:])
        assert part.to_bytes() == whole.to_bytes()


@every
@pytest.mark.parametrize("make", [linear_model.LogisticRegression, linear_model.LinearRegression])
def test_huge_values_leave_no_trace(optimizer: Any, make: Any) -> None:
    X, y = problem(50, width=4)
    model = make(optimizer=optimizer)
    model.learn_many(X, y)
    before, refused = model.to_bytes(), 0
    for x in ([1e308] * 6, [1e308, -1e308, 1e300, 1.0], [1e200, 1e-300, 1e180, 5e-324], [-1e-320] * 5):
        for w in (1.0, 1e300):
            try:
                model.learn_one(dict(enumerate(x)), 1, w)
            except NumericOverflow:
                refused += 1
                assert model.to_bytes() == before
            else:
                assert np.isfinite(list(model.weights.values())).all()
                model = millstream.from_bytes(before)
            x_again = dict(enumerate(x))
            answer = (
                model.predict_one(x_again) if make is linear_model.LinearRegression else model.score_one(x_again)
            )
            assert math.isfinite(answer)
    # To these, numbers that cannot be stepped with are few or none.
    assert refused or optimizer in (optim.Adaptive(), optim.CoinBetting())


@every
def test_a_batch_with_a_bad_row_is_undone(optimizer: Any) -> None:
    X, y = problem(60)
    model = linear_model.LogisticRegression(optimizer=optimizer)
    model.learn_many(sparse.csr_matrix(X[:30]), y[:30])
    before = model.to_bytes()
    wide = sparse.csr_matrix(np.hstack([X, X]))
    wide.data[-1] = np.inf
    with pytest.raises(InvalidValue):
        model.learn_many(wide, y)
    assert model.to_bytes() == before


@every
def test_what_is_refused(optimizer: Any) -> None:
    for make in (linear_model.LogisticRegression, linear_model.LinearRegression):
        if optimizer != optim.Adaptive():
            with pytest.raises(InvalidValue, match=r"l1 and l2 must be 0 with optim\..*, got 0 and 0.1"):
                make(optimizer=optimizer, l2=0.1)
        with pytest.raises(InvalidValue, match=r"averaging must be False with optim\."):
            make(optimizer=optimizer, averaging=True)
        with pytest.raises(
            InvalidValue, match=r"intercept_learning_rate must be left at its default with optim\."
        ):
            make(optimizer=optimizer, intercept_learning_rate=0.5)
    if optimizer != optim.Adaptive():
        with pytest.raises(InvalidValue, match=r"multiclass\.OneVsRest for several classes"):
            linear_model.SoftmaxRegression(optimizer=optimizer)


@every
def test_several_classes_by_one_vs_rest(optimizer: Any) -> None:
    model = preprocessing.StandardScaler() | multiclass.OneVsRest(
        linear_model.LogisticRegression(optimizer=optimizer)
    )
    right = sum(model.step_one(x, y) == y for x, y in synth.Waveform(seed=1).take(1500))
    assert right > 1050


@every
def test_the_constant_term(optimizer: Any) -> None:
    without = linear_model.LinearRegression(optimizer=optimizer, intercept=False)
    without.learn_many(np.ones((20, 1)), np.full(20, 3.0))
    assert without.bias == 0.0
    begun = linear_model.LinearRegression(optimizer=optimizer, intercept_init=7.0)
    assert begun.predict_one({"x": 1.0}) == 7.0
    begun.learn_one({"x": 0.0}, 9.0)
    assert 7.0 < begun.bias < 9.5
    assert begun.predict_one({"x": 0.0}) == begun.bias


@every
def test_a_changed_file_is_refused_or_sound(optimizer: Any) -> None:
    """Numbers that no learning gives, put in the place of those in a file."""
    model = linear_model.LogisticRegression(optimizer=optimizer)
    X, y = problem(30)
    model.learn_many(X, y)
    seen = model.to_bytes()
    refused = 0
    for place in range(20, len(seen) - 12):
        if seen[place] != 0xCB:  # how MessagePack marks a double
            continue
        for bad in (float("nan"), float("inf"), -1e300):
            changed = bytearray(seen[:-4])
            changed[place + 1 : place + 9] = struct.pack(">d", bad)
            changed += struct.pack("<I", zlib.crc32(bytes(changed)))
            try:
                loaded = millstream.from_bytes(bytes(changed))
            except (InvalidState, ValueError):
                refused += 1
            else:
                assert math.isfinite(loaded.score_one({0: 1.0, 1: 2.0}))
    assert refused > 20


def test_words_stand_for_optimisers() -> None:
    assert linear_model.LogisticRegression(optimizer="adaptive").parameters["optimizer"] == optim.Adaptive()
    assert linear_model.LinearRegression(optimizer="coinbetting").parameters["optimizer"] == optim.CoinBetting()
    assert linear_model.LogisticRegression(loss="hinge").parameters["loss"] == losses.Hinge()
    with pytest.raises(KeyError, match=r"no component named 'adaptve', did you mean 'optim\.Adaptive'"):
        linear_model.LogisticRegression(optimizer="adaptve")
    with pytest.raises(ValueError, match="optimizer must be an optimizer"):
        linear_model.LogisticRegression(optimizer="losses.Hinge")
