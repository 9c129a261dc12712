"""Models of many features: what an example costs follows what it holds, not what the model knows."""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import (
    compose,
    drift,
    ensemble,
    kernel,
    linear_model,
    multiclass,
    naive_bayes,
    optim,
    preprocessing,
    stream,
)

WIDE = 1 << 22


def rows(height: int, width: int, seed: int = 1, words: int = 8) -> stream.Sparse:
    generator = np.random.default_rng(seed)
    indices = [np.sort(generator.choice(width, words, replace=False)) for _ in range(height)]
    values = generator.normal(size=height * words)
    return stream.Sparse(np.arange(height + 1) * words, np.concatenate(indices), values, width)


def labels(height: int, classes: int = 2) -> np.ndarray:
    return np.arange(height) * 7 % 5 % classes


MODELS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: linear_model.LogisticRegression(),
    "adagrad": lambda: linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.3)),
    "adam": lambda: linear_model.LogisticRegression(optimizer=optim.Adam(0.1)),
    "averaging": lambda: linear_model.LogisticRegression(averaging=True),
    "regression": lambda: linear_model.LinearRegression(optimizer=optim.AdaGrad(0.3)),
    "softmax": lambda: linear_model.SoftmaxRegression(optimizer=optim.AdaGrad(0.3)),
    "pipeline": lambda: compose.Pipeline(preprocessing.MaxAbsScaler(), linear_model.LogisticRegression()),
    "passive-aggressive": lambda: linear_model.PAClassifier(),
    "romma": lambda: linear_model.ROMMA(aggressive=True),
    "pegasos": lambda: linear_model.SVM(method="pegasos", l2=0.1),
    "arow": lambda: linear_model.AROW(),
    "ellipsoid": lambda: linear_model.Ellipsoid(),
    "one against the rest": lambda: multiclass.OneVsRest(linear_model.AROW()),
    "arow regression": lambda: linear_model.AROWRegressor(),
}

#: Those that learn numbers, and those that can learn a third class.
NUMBERS = ("regression", "arow regression")
SEVERAL = ("softmax", "passive-aggressive", "romma", "pegasos", "arow", "ellipsoid", "one against the rest")


def _line() -> Any:
    return linear_model.LogisticRegression()


def _scaled() -> Any:
    return preprocessing.MaxAbsScaler() | linear_model.PAClassifier()


#: Wrappers around wide linear models, whose members record what they overwrite.
WRAPPERS: dict[str, Callable[[], Any]] = {
    "bagging": lambda: ensemble.Bagging(_line(), n_models=3, n_threads=1),
    "adwin bagging": lambda: ensemble.ADWINBagging(_line(), n_models=3, n_threads=1),
    "leveraging bagging": lambda: ensemble.LeveragingBagging(_scaled(), n_models=3, n_threads=1),
    "adaboost": lambda: ensemble.AdaBoost(_line(), n_models=3, n_threads=1),
    "subspaces": lambda: ensemble.SRPClassifier(_line(), n_models=3, n_threads=1),
    "resampling": lambda: ensemble.SRPClassifier(_line(), n_models=3, training_method="resampling", n_threads=1),
    "voting": lambda: ensemble.Voting([_line(), linear_model.PAClassifier()], n_threads=1),
    "weighted majority": lambda: ensemble.WeightedMajority([_line(), linear_model.AROW()], n_threads=1),
    "stacking": lambda: ensemble.Stacking([_line(), linear_model.PAClassifier()], n_threads=1),
    "retrain": lambda: drift.Retrain(_line(), drift.DDM()),
    "retrain with a warning detector": lambda: drift.Retrain(
        _scaled(), drift.ADWIN(), warning_detector=drift.ADWIN(significance=0.5)
    ),
    "bagging of one against the rest": lambda: ensemble.Bagging(
        multiclass.OneVsRest(_line()), n_models=2, n_threads=1
    ),
    "bagging of retrain": lambda: ensemble.Bagging(drift.Retrain(_line(), drift.DDM()), n_models=2, n_threads=1),
    "retrain of bagging": lambda: drift.Retrain(ensemble.Bagging(_line(), n_models=2, n_threads=1), drift.DDM()),
    "two scalers": lambda: (
        preprocessing.MinMaxScaler() | preprocessing.StandardScaler() | linear_model.PAClassifier()
    ),
}

#: Transformers that record what they overwrite, and wrappers that narrow rows meet.
TRANSFORMERS: dict[str, Callable[[], Any]] = {
    "standard": preprocessing.StandardScaler,
    "minimum and maximum": preprocessing.MinMaxScaler,
    "maximum": preprocessing.MaxAbsScaler,
    "landmarks": lambda: kernel.Nystroem(n_components=30),
    "numbers": lambda: compose.Select(kind="number"),
    "scalers": lambda: preprocessing.MaxAbsScaler() | preprocessing.StandardScaler(),
    "scaler and landmarks": lambda: preprocessing.StandardScaler() | kernel.Nystroem(n_components=30),
}


def fails_at(model: Any, X: Any, y: Any, row: int, w: Any = None) -> None:
    with pytest.raises(ValueError, match=f"row {row}"):
        model.learn_many(X, y, w)


@pytest.mark.parametrize("width", [12, 3000])
@pytest.mark.parametrize("learned", [0, 1, 30])
@pytest.mark.parametrize("name", WRAPPERS)
def test_a_batch_that_a_wrapper_refuses_leaves_it_as_it_was(name: str, learned: int, width: int) -> None:
    model = WRAPPERS[name]()
    if learned:
        model.learn_many(rows(learned, width), labels(learned))
    before, as_bytes = copy.deepcopy(model), model.to_bytes()
    for height in (2, 40):
        bad, w = rows(height, width + 5, seed=2), np.ones(height)
        w[-1] = -1.0
        fails_at(model, bad, labels(height), height - 1, w)
        assert model.to_bytes() == as_bytes
        # A number that members refuse themselves, after other members have learned it.
        bad.values[-1] = 1e300
        w[-1] = 1e10
        try:
            model.learn_many(bad, labels(height), w)
        except ValueError:
            assert model.to_bytes() == as_bytes
        else:
            model = copy.deepcopy(before)
    good, y = rows(20, width, seed=3), labels(20)
    for each in (model, before):
        each.learn_many(good, y)
    assert model.to_bytes() == before.to_bytes()


DRIFTING = [
    name for name in WRAPPERS if any(word in name for word in ("retrain", "adwin", "lever", "sub", "resam"))
]


@pytest.mark.parametrize("name", DRIFTING)
def test_a_batch_in_which_models_are_replaced_can_be_taken_back(name: str) -> None:
    """Warnings and changes come before the savepoint, within the batch that fails, and after it."""
    generator = np.random.default_rng(4)
    X = generator.normal(size=(2400, 6))
    y = (X[:, 0] > 0) ^ (np.arange(2400) // 600 % 2 == 1)
    model = WRAPPERS[name]()
    replaced = []
    for start in range(0, 2400, 150):
        part = slice(start, start + 150)
        before, as_bytes = copy.deepcopy(model), model.to_bytes()
        for end in (start + 2, start + 70, start + 150):
            bad = X[start:end].copy()
            bad[-1, 2] = np.inf
            fails_at(model, bad, y[start:end], end - start - 1)
            assert model.to_bytes() == as_bytes
        for each in (model, before):
            each.learn_many(X[part], y[part])
        assert model.to_bytes() == before.to_bytes()
        found = str(model.inspect())
        replaced.append(found.count("'replaced': 0") + found.count("'drifts': 0"))
    # Each had something replaced.
    assert replaced[-1] < replaced[0]


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_batch_that_a_transformer_refuses_leaves_it_as_it_was(name: str) -> None:
    model, generator = TRANSFORMERS[name](), np.random.default_rng(2)
    before = copy.deepcopy(model)
    for width, height in [(3, 4), (3, 9), (5, 2), (5, 30), (4, 20)]:
        X = generator.normal(size=(height, width)) * 3.0
        if height > 10:
            X[height // 2, 1] = np.nan
        bad, as_bytes = X.copy(), model.to_bytes()
        bad[-1, 0] = np.inf
        for count in (2, height):
            fails_at(model, np.vstack([bad[: count - 1], bad[-1:]]), None, count - 1)
            assert model.to_bytes() == as_bytes
        for each in (model, before):
            each.learn_many(X)
        assert model.to_bytes() == before.to_bytes()
        x = dict(enumerate(X[0].tolist()))
        assert model.transform_one(x) == before.transform_one(x)


@pytest.mark.parametrize("width", [12, 3000, 1 << 15])
@pytest.mark.parametrize("learned", [0, 1, 30])
@pytest.mark.parametrize("name", MODELS)
def test_a_batch_that_raises_leaves_the_model_as_it_was(name: str, learned: int, width: int) -> None:
    model = MODELS[name]()
    many = 3 if name in SEVERAL else 2
    if learned:
        model.learn_many(rows(learned, width), labels(learned).astype(float if name in NUMBERS else int))
    before, as_bytes = copy.deepcopy(model), model.to_bytes()
    bad = rows(40, width + 5, seed=2)
    y: Any = labels(40, many)
    w = np.ones(40)
    w[-1] = -1.0
    for _ in range(2):
        with pytest.raises(ValueError, match="row 39"):
            model.learn_many(bad, y.astype(float) if name in NUMBERS else y, w)
        assert model.to_bytes() == as_bytes
    # It goes on as if nothing had been.
    good = rows(20, width, seed=3)
    y = labels(20).astype(float if name in NUMBERS else int)
    for each in (model, before):
        each.learn_many(good, y)
    assert model.to_bytes() == before.to_bytes()


@pytest.mark.parametrize("name", ["adagrad", "adam", "averaging", "arow", "romma", "ellipsoid"])
def test_a_batch_that_raises_after_dense_and_sparse_batches(name: str) -> None:
    model = MODELS[name]()
    dense = np.random.default_rng(5).normal(size=(6, 30))
    model.learn_many(rows(9, 30), labels(9))
    model.learn_many(dense, labels(6))
    before = model.to_bytes()
    dense[-1, 3] = np.inf
    with pytest.raises(ValueError, match="row 5"):
        model.learn_many(dense, labels(6))
    assert model.to_bytes() == before


@pytest.mark.parametrize("width", [50, 1 << 15])
@pytest.mark.parametrize("name", MODELS)
def test_rows_at_once_are_as_one_by_one(name: str, width: int) -> None:
    """Among them rows of weight 0, rows that are refused and a label that comes late, which go a longer way."""
    height = 600 if width < 100 else 300
    X = rows(height, width, words=8 if width < 100 else 11)
    X.values[X.starts[height // 2]] = np.inf
    X.values[X.starts[height // 3] + 1] = 0.0
    X.values[X.starts[2 * height // 3]] = 1e200
    y: Any = labels(height).astype(float) if name in NUMBERS else labels(height)
    late = 2 * height // 3
    y[late::7] = 2 if name in SEVERAL else y[late::7]
    w = np.random.default_rng(2).integers(0, 3, height).astype(float)
    w[77] = np.nan
    if name in NUMBERS:
        y[5 * height // 6] = np.nan
    for weights in (None, w):
        apart, whole = MODELS[name](), MODELS[name]()
        answers = []
        for row in range(height):
            one = slice(row, row + 1)
            weight = None if weights is None else weights[one]
            answers += apart.step_many(X.cut(row, row + 1), y[one], w=weight, on_error="skip").tolist()
        # As text, in which NaN is NaN.
        assert str(answers) == str(whole.step_many(X, y, w=weights, on_error="skip").tolist())
        assert whole.to_bytes() == apart.to_bytes()


def test_new_names_of_a_batch_that_raises_are_forgotten() -> None:
    model = linear_model.LogisticRegression()
    model.learn_many([{"a": 1.0, "t": "x"}, {"a": 2.0, "t": "y"}], ["no", "yes"])
    before = model.to_bytes()
    with pytest.raises((ValueError, TypeError)):
        model.learn_many([{"b": 1.0, "t": "z"}, {"c": 2.0, "a": 3.0}, {"b": 2.0}], ["no", "yes", "perhaps"])
    assert model.to_bytes() == before
    assert model.features == ["a", "t"]
    model.learn_one({"c": 1.0, "t": "w"}, "yes")
    assert model.features == ["a", "t", "c"]


def quickest(work: Callable[[], object], times: int = 7) -> float:
    taken = []
    for _ in range(times):
        # CPU time: the machine may be busy.
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


@pytest.mark.parametrize(
    "name", ["adagrad", "sgd", "passive-aggressive", "arow", "arow regression", "one against the rest"]
)
def test_a_small_batch_costs_the_same_in_a_wide_model(name: str) -> None:
    taken = []
    for width in (1 << 10, WIDE):
        model = MODELS[name]()
        X, y = rows(10, width), labels(10).astype(float if name in NUMBERS else int)
        model.learn_many(X, y)
        taken.append(quickest(lambda model=model, X=X, y=y: model.learn_many(X, y)))  # type: ignore[misc]
    # A copy of the wide model takes a thousand times as long as the batch.
    assert taken[1] < 50 * taken[0]


#: Not those whose steps go through every column.
LEAN = [name for name in WRAPPERS if name not in ("subspaces", "two scalers")]


@pytest.mark.parametrize("name", ["pipeline", *LEAN])
def test_a_wrapped_wide_model_is_not_copied_for_a_small_batch(name: str) -> None:
    model = {**MODELS, **WRAPPERS}[name]()
    width = 1 << 18
    model.learn_many(rows(20, width), labels(20))
    X, y = rows(2, width, seed=2), labels(2)
    raises = quickest(lambda: model.learn_many(X, y), 15)
    stops = quickest(lambda: model.learn_many(X, y, on_error="stop"), 15)
    # A copy takes a hundred times as long; the rest is room for a busy machine.
    assert raises < 5 * stops


@pytest.mark.parametrize("name", ["adagrad", "regression", "softmax", "arow", "arow regression"])
def test_a_dict_costs_the_same_in_a_wide_model(name: str) -> None:
    taken: dict[str, list[float]] = {"predict": [], "learn": []}
    for width in (100, WIDE):
        model = MODELS[name]()
        model.learn_many(rows(3, width), labels(3).astype(float if name in NUMBERS else int))
        x = {7: 1.0, width - 2: 2.0}
        y: Any = 1.0 if name in NUMBERS else 1
        taken["predict"].append(quickest(lambda model=model, x=x: model.predict_one(x), 20))  # type: ignore[misc]
        taken["learn"].append(quickest(lambda model=model, x=x, y=y: model.learn_one(x, y), 20))  # type: ignore[misc]
    # A row of the whole width takes ten thousand times as long.
    assert all(wide < 100 * narrow for narrow, wide in taken.values())


@pytest.mark.parametrize("name", ["sgd", "adagrad", "adam", "averaging", "softmax", "arow", "ellipsoid", *NUMBERS])
def test_dicts_of_a_wide_model_are_as_frames_with_gaps(name: str) -> None:
    """A dict becomes a sparse row in a wide model; a frame of the same rows does not."""
    pandas = pytest.importorskip("pandas")
    choose = random.Random(3)
    features = [f"f{number}" for number in range(1500)]
    dicts: list[dict[str, float]] = [dict.fromkeys(features, 0.5)]
    for size in [3, 40, 1500, 7, 700, 1]:
        chosen = choose.sample(features, size)
        dicts.append({feature: choose.uniform(-1.0, 1.0) for feature in chosen})
    dicts[2]["f3"] = 0.0
    y: Any = [float(place % 3) if name in NUMBERS else place % 2 for place in range(len(dicts))]
    one, many = MODELS[name](), MODELS[name]()
    predicted = []
    for x, target in zip(dicts, y, strict=True):
        predicted.append(one.predict_one(x))
        assert one.step_one(x, target) == predicted[-1]
    frame = pandas.DataFrame(dicts, columns=features)
    assert list(many.step_many(frame, y)) == predicted
    assert one.to_bytes() == many.to_bytes()
    # What comes new in a dict, and what is refused.
    before = one.to_bytes()
    with pytest.raises(ValueError, match="f4"):
        one.learn_one({"f9": 1.0, "f4": float("inf"), "new": 1.0}, y[0])
    assert one.to_bytes() == before
    news: list[dict[str, Any]] = [{"f9": 1.0, "g": 2.0, "f1": None, "h": 1}, {"g": 1.0, "t": "text", "f2": 3.0}]
    for new in [*news, {"u": None, "f7": 1.0}]:
        one.learn_one(new, y[0])
        many.learn_many([new], y[:1])
    assert one.features == [*features, "g", "h", "t", "u"]
    assert one.to_bytes() == many.to_bytes()


def written_out(X: stream.Sparse) -> np.ndarray:
    dense = np.zeros((len(X), X.width))
    for row in range(len(X)):
        part = slice(X.starts[row], X.starts[row + 1])
        dense[row, X.indices[part]] = X.values[part]
    return dense


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("width", [512, 513, 1024, 1025, 1537, 4000])
def test_naive_bayes_of_wide_sparse_rows_is_that_of_dense_rows(width: int, ddof: int) -> None:
    thin, dense = naive_bayes.GaussianNB(ddof=ddof), naive_bayes.GaussianNB(ddof=ddof)
    X, y = rows(120, width, words=30), labels(120, 3)
    # Many rows share some columns, so that there are variances; the last column is one of them.
    X.indices[::30] = 3
    X.indices[29::30] = width - 1
    for row in range(120):
        part = slice(30 * row, 30 * row + 30)
        X.indices[part] = np.unique(np.concatenate([X.indices[part], np.arange(4, 40)]))[[*range(29), -1]]
    X.values[5::60] = 0.0
    w = 0.5 + np.arange(120) % 3
    full = written_out(X)
    for start in range(0, 120, 40):
        part = slice(start, start + 40)
        got = thin.step_many(X.cut(start, start + 40), y[part], w[part])
        assert list(got) == list(dense.step_many(full[part], y[part], w[part]))
        assert thin.to_bytes() == dense.to_bytes()
        for rows_of in (X, full):
            assert np.array_equal(thin.predict_proba_many(rows_of), dense.predict_proba_many(full))
        loaded = millstream.from_bytes(thin.to_bytes())
        assert np.array_equal(loaded.predict_proba_many(X), dense.predict_proba_many(full))
        # A dense row in between, and one with a gap.
        thin.learn_many(full[start : start + 2], y[start : start + 2])
        dense.learn_many(full[start : start + 2], y[start : start + 2])
    gap = full[:3].copy()
    gap[1, 7] = np.nan
    for model in (thin, dense):
        model.learn_many(gap, y[:3])
    assert thin.step_many(X, y).tolist() == dense.step_many(full, y).tolist()
    assert thin.to_bytes() == dense.to_bytes()


def test_naive_bayes_refuses_what_overflows_in_wide_sparse_rows() -> None:
    model = naive_bayes.GaussianNB()
    X, y = rows(20, 5000), labels(20)
    model.learn_many(X, y)
    before = model.to_bytes()
    X.values[-1] = 1e308
    with pytest.raises(ValueError, match="row 19"):
        model.learn_many(X, y)
    assert model.to_bytes() == before
    assert np.isfinite(model.predict_proba_many(X)).all()


def test_naive_bayes_of_hashed_words_costs_what_was_shown() -> None:
    taken, memory = [], []
    for width in (1 << 12, WIDE):
        model = naive_bayes.GaussianNB()
        X, y = rows(30, 1 << 12), labels(30)
        X = stream.Sparse(X.starts, X.indices, X.values, width)
        model.learn_many(X, y)
        taken.append(quickest(lambda model=model, X=X, y=y: model.step_many(X, y), 3))  # type: ignore[misc]
        # The schema has a byte for each column.
        memory.append(model.memory - width)
    # All columns are a thousand times as many.
    assert taken[1] < 50 * taken[0]
    assert memory[1] < 4 * memory[0]
