"""`millstream.train`: passes over finite data, in three orders, by example or by mini-batch."""

from __future__ import annotations

import _thread
import math
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import base, compose, linear_model, losses, metrics, optim, preprocessing, stream, synth
from millstream.errors import InvalidType, InvalidValue

pytestmark = pytest.mark.linear_algebra

random = np.random.default_rng(3)
X = random.normal(size=(400, 4)) * [1.0, 0.5, 2.0, 1.0]
Y = X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * random.normal(size=400)
LABELS = X[:, 0] - X[:, 1] + 0.3 * random.normal(size=400) > 0


def least_squares() -> np.ndarray:
    with_constant = np.hstack([X, np.ones((400, 1))])
    return np.linalg.lstsq(with_constant, Y, rcond=None)[0]


def falling(rate: float = 0.05) -> Any:
    """A learning rate whose sum diverges and whose squares' sum does not: c / t^0.6."""
    return optim.InverseScaling(rate, power=0.6)


def regression(**changes: Any) -> linear_model.LinearRegression:
    rate = changes.pop("rate", falling())
    return linear_model.LinearRegression(optim.SGD(rate), intercept_learning_rate=rate, **changes)


def weights(model: Any) -> np.ndarray:
    return np.array([*model.weights.values(), model.bias])


@pytest.mark.parametrize("order", ["cyclic", "shuffle", "random"])
def test_least_squares_by_passes_comes_to_the_closed_form(order: str) -> None:
    model = regression()
    result = millstream.train(model, (X, Y), passes=250, order=order, seed=1)
    assert weights(model) == pytest.approx(least_squares(), abs=0.02)
    # In the sense of regret: what is lost beyond the best fixed decision vanishes.
    best = float(np.mean((np.hstack([X, np.ones((400, 1))]) @ least_squares() - Y) ** 2))
    excess = np.array(result.risks) - best
    assert (excess > -1e-12).all()
    assert excess[-1] < 0.05 * excess[0]
    assert excess[-1] < 1e-3
    assert result.name == "loss"
    assert result.risk == pytest.approx(float(np.mean((model.predict_many(X) - Y) ** 2)), rel=1e-12)


def test_a_constant_rate_stays_near_but_not_at_the_minimum() -> None:
    near, far = regression(rate=0.001), regression(rate=0.02)
    for model in (near, far):
        millstream.train(model, (X, Y), passes=60)
    distance = [float(np.linalg.norm(weights(model) - least_squares())) for model in (near, far)]
    assert 1e-6 < distance[0] < distance[1]


def test_cyclic_is_learn_many_again_and_again() -> None:
    model, again = regression(), regression()
    result = millstream.train(model, (X, Y), passes=3)
    for _ in range(3):
        again.learn_many(X, Y)
    assert model.to_bytes() == again.to_bytes()
    assert result.history["pass"] == [1, 2, 3]
    assert result.history["examples"] == [400, 800, 1200]


@pytest.mark.parametrize("order", ["shuffle", "random"])
def test_a_seed_gives_the_same_result_and_another_seed_another(order: str) -> None:
    found = []
    for seed in (1, 1, 2):
        model = regression()
        millstream.train(model, (X, Y), passes=2, order=order, seed=seed)
        found.append(model.to_bytes())
    assert found[0] == found[1] != found[2]


class Counting(base.Regressor):
    """Remembers what it was taught."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        self.seen.append(y)

    def predict_one(self, x: Any) -> float:
        return 0.0


def orders(order: str, passes: int = 2) -> list[list[float]]:
    model = Counting()
    millstream.train(model, (np.zeros((50, 1)), np.arange(50.0)), passes=passes, order=order, seed=5)
    return [model.seen[start : start + 50] for start in range(0, 50 * passes, 50)]


def test_what_the_orders_are() -> None:
    rows = list(np.arange(50.0))
    assert orders("cyclic") == [rows, rows]
    first, second = orders("shuffle")
    assert sorted(first) == sorted(second) == rows
    assert first != second
    first, second = orders("random")
    assert first != second
    # Of 50 draws with replacement about a third of the rows are never drawn.
    assert 20 < len(set(first)) < 45


def test_data_in_all_its_forms_gives_the_same() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    names = list("abcd")
    frame = pandas.DataFrame(X, columns=names)
    dicts = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    forms: list[Any] = [
        (frame, Y),
        (frame.assign(y=Y), "y"),
        (polars.DataFrame(frame.to_dict("list")), Y),
        (dicts, Y.tolist()),
        list(zip(dicts, Y.tolist(), strict=True)),
        iter(list(zip(dicts, Y.tolist(), strict=True))),
        stream.from_pandas(frame.assign(y=Y), target="y"),
    ]
    for order in ("cyclic", "random"):
        found = set()
        for form in forms:
            if order == "random" and not isinstance(form, (tuple, list, stream.Stream)):
                form = list(zip(dicts, Y.tolist(), strict=True))
            model = regression()
            result = millstream.train(model, form, passes=2, order=order, seed=4)
            found.add((model.to_bytes(), result.risk))
        assert len(found) == 1


def test_sparse_rows_and_weights() -> None:
    scipy = pytest.importorskip("scipy.sparse")
    dense, sparse = regression(), regression()
    w = 0.5 + np.arange(400) % 2
    one = millstream.train(dense, (X, Y, w), passes=2, order="shuffle", seed=1)
    two = millstream.train(sparse, (scipy.csr_matrix(X), Y, w), passes=2, order="shuffle", seed=1)
    assert weights(dense) == pytest.approx(weights(sparse), rel=1e-9)
    assert one.risks == pytest.approx(two.risks, rel=1e-9)
    assert one.risk == pytest.approx(float(np.average((dense.predict_many(X) - Y) ** 2, weights=w)))


def test_a_stream_is_shuffled_as_far_as_the_buffer_reaches() -> None:
    source = synth.Hyperplane(seed=1).take(3000)
    found = []
    for _ in range(2):
        model = linear_model.LogisticRegression()
        result = millstream.train(model, source, passes=2, order="shuffle", seed=3, buffer=500)
        found.append(model.to_bytes())
        assert result.history["examples"] == [3000, 6000]
    assert found[0] == found[1]
    with pytest.raises(InvalidValue, match="order='random' keeps all examples"):
        millstream.train(model, source, order="random", buffer=500)
    millstream.train(model, source, order="random", buffer=3000)


def test_early_stopping_and_the_best_state() -> None:
    model = regression(rate=0.01)
    result = millstream.train(model, (X, Y), passes=100, tolerance=1e-4, patience=2)
    assert result.stopped == "tolerance"
    assert 3 <= result.passes < 100
    # A rate that is far too large makes it worse with every pass: the best state is an early one.
    model = linear_model.LinearRegression(optim.SGD(optim.Constant(0.17)), intercept=False)
    result = millstream.train(model, (X[:40], Y[:40]), passes=6, order="shuffle", seed=1, keep_best=True)
    assert result.kept_best
    assert result.risk == min(result.risks)
    assert float(np.mean((model.predict_many(X[:40]) - Y[:40]) ** 2)) == pytest.approx(result.risk, rel=1e-9)


def test_a_validation_set_and_a_metric() -> None:
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    result = millstream.train(
        model, (X[:300], LABELS[:300]), passes=3, validation=(X[300:], LABELS[300:]), metric="Accuracy"
    )
    assert result.name == "Accuracy"
    assert result.risk == pytest.approx(float(np.mean(model.predict_many(X[300:]) == LABELS[300:])))
    assert result.best_pass == 1 + int(np.argmax(result.risks))
    again = millstream.train(model, (X, LABELS), metric=metrics.LogLoss())
    own = millstream.train(model, (X, LABELS))
    assert again.risk == pytest.approx(own.risk, rel=0.1)


def test_the_loss_is_the_models_own() -> None:
    model = linear_model.LinearRegression(loss=losses.Quantile(0.8))
    result = millstream.train(model, (X, Y))
    expected = float(np.mean(losses.Quantile(0.8).value(Y, model.predict_many(X))))
    assert result.risk == pytest.approx(expected, rel=1e-12)
    margins = linear_model.PAClassifier(C=0.01)
    result = millstream.train(margins, (X, LABELS))
    scores = np.array([margins.score_one(dict(enumerate(row))) for row in X.tolist()])
    expected = float(np.mean(np.maximum(0.0, 1.0 - np.where(LABELS, 1, -1) * scores)))
    assert result.risk == pytest.approx(expected, rel=1e-9)
    softmax = linear_model.SoftmaxRegression()
    digits = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    result = millstream.train(softmax, (X, digits), passes=2)
    p = np.asarray(softmax.predict_proba_many(X))
    truth = p[np.arange(400), [softmax.classes.index(label) for label in digits.tolist()]]
    assert result.risk == pytest.approx(float(np.mean(-np.log(truth))), rel=1e-9)
    # One that goes down no loss.
    bayes = millstream.naive_bayes.GaussianNB()
    result = millstream.train(bayes, (X, LABELS))
    assert result.name == "error rate"
    assert result.risk == pytest.approx(float(np.mean(bayes.predict_many(X) != LABELS)))


# Mini-batches.


@pytest.mark.parametrize(
    "optimizer", [optim.SGD(0.05), optim.AdaGrad(0.1), optim.Adam(0.05), optim.Nesterov(0.01)]
)
def test_a_batch_of_one_is_one_example(optimizer: Any) -> None:
    one, batch = linear_model.LinearRegression(optimizer), linear_model.LinearRegression(optimizer)
    millstream.train(one, (X, Y), passes=2, order="shuffle", seed=1)
    millstream.train(batch, (X, Y), passes=2, order="shuffle", seed=1, batch_size=1)
    assert weights(one) == pytest.approx(weights(batch), rel=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_batch_is_a_step_down_the_mean_gradient(sparse: bool) -> None:
    scipy = pytest.importorskip("scipy.sparse")
    model = linear_model.LinearRegression(optim.SGD(0.1), intercept_learning_rate=0.05)
    rows = scipy.csr_matrix(X) if sparse else X
    w = 0.5 + np.arange(400) % 3
    result = millstream.train(model, (rows, Y, w), passes=2, batch_size=64)
    theta, bias = np.zeros(4), 0.0
    for _ in range(2):
        for start in range(0, 400, 64):
            part = slice(start, min(start + 64, 400))
            slopes = 2 * w[part] * (X[part] @ theta + bias - Y[part])
            theta, bias = theta - 0.1 * slopes @ X[part] / len(slopes), bias - 0.05 * slopes.mean()
    assert weights(model) == pytest.approx([*theta, bias], rel=1e-9)
    assert model.learned == 800
    assert result.risk == pytest.approx(float(np.average((X @ theta + bias - Y) ** 2, weights=w)), rel=1e-9)


def test_batches_do_not_depend_on_how_a_stream_is_cut() -> None:
    class Cut(stream.Stream):
        def __init__(self, sizes: list[int]) -> None:
            self.sizes, self.target = sizes, "y"

        def chunks(self) -> Any:
            start = 0
            for size in self.sizes:
                yield stream.Chunk(X[start : start + size], Y[start : start + size])
                start += size

    found = set()
    for sizes in ([400], [1, 7, 100, 292], [200, 200]):
        model = regression()
        millstream.train(model, Cut(sizes), passes=2, batch_size=32)
        found.add(model.to_bytes())
    assert len(found) == 1


def test_batches_in_a_pipeline_and_of_dicts() -> None:
    rows = [{"a": float(a), "t": "uv"[a > 0], **({"b": float(b)} if b > 0 else {})} for a, b, *_ in X.tolist()]
    found = []
    for size in (None, 1, 16):
        model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
        result = millstream.train(model, (rows, LABELS.tolist()), passes=5, batch_size=size)
        found.append(result.risk)
        assert result.risk < math.log(2)
        assert model.learned == 2000
    assert found[0] == pytest.approx(found[1], rel=1e-9)
    assert found[2] != pytest.approx(found[0], rel=1e-3)


def test_a_bad_row_leaves_its_batch_unlearned_and_keeps_those_before() -> None:
    bad = Y.copy()
    bad[130] = np.nan
    model, good = regression(), regression()
    with pytest.raises(ValueError, match="must be finite") as caught:
        millstream.train(model, (X, bad), batch_size=50)
    assert "in pass 1" in caught.value.__notes__[-1]
    good._learn_batches(("matrix", X[:100]), Y[:100], None, 50)
    assert model.to_bytes() == good.to_bytes()
    # Overflow in the step itself.
    before = model.to_bytes()
    with pytest.raises(ValueError, match="overflow|too large|finite"):
        millstream.train(model, (np.full((4, 4), 1e300), np.full(4, 1e300)), batch_size=2)
    assert model.to_bytes() == before


@pytest.mark.parametrize(
    "model", [linear_model.Perceptron(), linear_model.AROW(), millstream.naive_bayes.GaussianNB()]
)
def test_batches_are_refused_by_those_that_follow_no_gradient(model: Any) -> None:
    before = model.to_bytes()
    with pytest.raises(InvalidType, match="learns from one example at a time; mini-batches are for"):
        millstream.train(model, (X, LABELS), batch_size=8)
    assert model.to_bytes() == before
    with pytest.raises(InvalidType, match="learns from one example at a time"):
        millstream.train(Counting(), (X, Y), batch_size=8)


# Interruption, results, bad arguments.


class Interrupting(Counting):
    """Somebody presses Ctrl-C while it learns."""

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        super().learn_one(x, y, w)
        if len(self.seen) == 130:
            _thread.interrupt_main()
            for _ in range(1000):
                pass


def test_an_interruption_keeps_what_was_learned() -> None:
    model = Interrupting()
    result = millstream.train(model, (np.zeros((50, 1)), np.arange(50.0)), passes=10)
    assert result.interrupted
    assert result.passes == 2
    assert 130 <= len(model.seen) < 200
    with pytest.raises(KeyboardInterrupt):
        millstream.train(Interrupting(), (np.zeros((50, 1)), np.arange(50.0)), passes=10, on_interrupt="raise")


def test_what_a_result_shows() -> None:
    result = millstream.train(regression(), (X, Y), passes=15, keep_best=True)
    assert "all passes made; best after pass" in repr(result)
    assert "<table>" in result._repr_html_()
    pandas = pytest.importorskip("pandas")
    frame = result.to_frame("pandas")
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["pass", "loss", "examples", "seconds"]
    pytest.importorskip("matplotlib").use("Agg")
    axes = result.plot()
    assert axes.get_ylabel() == "loss"


def test_progress_says_how_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    from millstream.evaluate import progress

    before, progress._FIRST_LINE = progress._FIRST_LINE, 0.0
    try:
        millstream.train(regression(), (X, Y), passes=3, progress=True)
    finally:
        progress._FIRST_LINE = before
    assert "rows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"passes": 0}, "passes must be an integer >= 1, got 0"),
        ({"passes": 1.5}, "passes must be an integer"),
        ({"order": "sorted"}, "order must be one of cyclic, shuffle, random, got 'sorted'"),
        ({"seed": -1}, "seed must be an integer >= 0"),
        ({"batch_size": 0}, "batch_size must be an integer >= 1"),
        ({"tolerance": -1.0}, "tolerance must be a number, at least 0"),
        ({"tolerance": math.nan}, "tolerance must be a number"),
        ({"patience": 0}, "patience must be an integer"),
        ({"buffer": 0}, "buffer must be an integer"),
        ({"on_interrupt": "stop"}, "on_interrupt must be 'raise' or 'return'"),
    ],
)
def test_arguments_out_of_range_are_refused(given: dict[str, Any], message: str) -> None:
    model = regression()
    before = model.to_bytes()
    with pytest.raises(InvalidValue, match=message):
        millstream.train(model, (X, Y), **given)
    assert model.to_bytes() == before


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (X, "data is"),
        ("rows.csv", "data is"),
        (7, "data is"),
        ([(1, 2)], "an example is"),
        ((X, None), "y must be a column of targets"),
        ((X, Y[:5]), "5 values for 400 rows"),
        ((X[:0], Y[:0]), "there is no example"),
        ([], "there is no example"),
        (synth.Hyperplane(), "data must be finite"),
    ],
)
def test_data_that_is_none_is_refused(data: Any, message: str) -> None:
    with pytest.raises((InvalidType, InvalidValue), match=message):
        millstream.train(regression(), data, passes=2)


def test_models_that_cannot_predict_are_refused() -> None:
    with pytest.raises(InvalidType, match="a model is a classifier or a regressor"):
        millstream.train(preprocessing.StandardScaler(), (X, Y))
    with pytest.raises(InvalidType, match="metric must be one metric"):
        millstream.train(regression(), (X, Y), metric=["MAE", "MSE"])


def test_a_strangers_model_is_trained_too() -> None:
    river = pytest.importorskip("river.linear_model")
    model = river.LinearRegression()
    rows = [(dict(enumerate(row)), y) for row, y in zip(X.tolist(), Y.tolist(), strict=True)]
    result = millstream.train(model, rows, passes=3, keep_best=True)
    assert result.name == "squared error"
    assert result.risk == pytest.approx(float(np.mean([(model.predict_one(x) - y) ** 2 for x, y in rows])))
    assert millstream.train(model, rows, metric="MAE").name == "MAE"


def test_a_pipeline_with_python_in_it_is_trained_too() -> None:
    model = compose.Pipeline(lambda x: {"a": x[0], "b": x[1]}, linear_model.LogisticRegression())
    result = millstream.train(model, (X, LABELS), passes=2)
    assert result.name == "error rate"
    assert result.risk < 0.3
