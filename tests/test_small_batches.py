"""Small batches of dicts: checked first, learned without a copy of the model, or refused as a whole."""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np
import pytest

from millstream import (
    _python_loop,
    anomaly,
    ensemble,
    forest,
    linear_model,
    multiclass,
    naive_bayes,
    neighbors,
    preprocessing,
    tree,
)
from millstream.errors import MillstreamError
from millstream.roles import ANOMALY_DETECTOR, REGRESSOR

MODELS = {
    "tree": lambda: tree.HoeffdingTreeClassifier(grace_period=10),
    "regression tree": lambda: tree.HoeffdingTreeRegressor(grace_period=10),
    "forest": lambda: forest.ARFClassifier(n_models=3, grace_period=10, seed=1),
    "bagging": lambda: ensemble.Bagging(tree.HoeffdingTreeClassifier(grace_period=10), n_models=3, seed=1),
    "one-vs-rest": lambda: multiclass.OneVsRest(naive_bayes.GaussianNB()),
    "scaled tree": lambda: preprocessing.StandardScaler() | tree.HoeffdingTreeClassifier(grace_period=10),
    "half-space trees": lambda: anomaly.HalfSpaceTrees(seed=1),
    "neighbours": lambda: neighbors.KNNClassifier(window_size=50),
    "neighbours, graph": lambda: neighbors.KNNRegressor(window_size=50, engine=neighbors.HNSW(m=4)),
    "self-adjusting neighbours": lambda: neighbors.SAMKNNClassifier(window_size=60, min_stm_size=10),
    "logistic": lambda: linear_model.LogisticRegression(),
}


def examples(model: Any, n: int) -> tuple[list[dict[Any, Any]], list[Any]]:
    """Rows of numbers, strings and missing values; names, values and labels appear on the way."""
    rng = np.random.default_rng(7)
    rows: list[dict[Any, Any]] = []
    targets: list[Any] = []
    for row, (a, b, c) in enumerate(rng.normal(size=(n, 3)).tolist()):
        x: dict[Any, Any] = {"a": a, "b": b if row % 5 else None, "colour": "red" if c > 0 else "green"}
        if row > n // 2:
            x |= {"late": c, "colour": f"shade {row}"}
        rows.append({"a": a, "b": b} if model.role == ANOMALY_DETECTOR else x)
        targets.append(a + c if model.role == REGRESSOR else bool(a > 0) if row < n - 4 else f"class {row % 2}")
    if model.role == ANOMALY_DETECTOR:
        return rows, [None] * n
    return rows, targets if model.role == REGRESSOR else [str(target) for target in targets]


def binary(model: Any, targets: list[Any]) -> list[Any]:
    return (
        [target != "True" for target in targets] if isinstance(model, linear_model.LogisticRegression) else targets
    )


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_of_dicts_equals_the_loop(name: str) -> None:
    for step in (False, True):
        one, many = MODELS[name](), MODELS[name]()
        rows, targets = examples(one, 120)
        targets = binary(one, targets)
        for start in range(0, 120, 12):
            X, y = rows[start : start + 12], targets[start : start + 12]
            if step:
                answers = [one.step_one(x, target) for x, target in zip(X, y, strict=True)]
                assert list(many.step_many(X, y)) == answers
            else:
                for x, target in zip(X, y, strict=True):
                    one.learn_one(x, target)
                many.learn_many(X, y)
            assert many.to_bytes() == one.to_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_with_a_bad_dict_leaves_no_trace(name: str) -> None:
    model = MODELS[name]()
    rows, targets = examples(model, 40)
    targets = binary(model, targets)
    model.learn_many(rows[:20], targets[:20])
    before = model.to_bytes()
    for bad in ({"a": float("inf")}, {"a": "text"}, {"a": 1.0, 2.5: 1.0}, {"a": 10**400}):
        for place in (0, 7, 19):
            X = rows[20:]
            X[place] = bad
            with pytest.raises((MillstreamError, TypeError)) as error:
                model.learn_many(X, targets[20:])
            assert f"row {place}" in str(error.value) + str(getattr(error.value, "__notes__", ""))
            assert model.to_bytes() == before
    if model.role != ANOMALY_DETECTOR:
        with pytest.raises(MillstreamError, match="row 3"):
            model.learn_many(rows[20:], [*targets[20:23], None, *targets[24:]])
    with pytest.raises(MillstreamError, match="row 1"):
        model.learn_many(rows[20:22], targets[20:22], w=[1.0, -1.0])
    assert model.to_bytes() == before


@pytest.mark.parametrize("name", [name for name in MODELS if name != "logistic"])
def test_a_sound_batch_of_dicts_copies_no_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoCopies:
        deepcopy = staticmethod(lambda model: pytest.fail("the model was copied"))

    model = MODELS[name]()
    rows, targets = examples(model, 40)
    monkeypatch.setattr(_python_loop, "copy", NoCopies)
    model.learn_many(rows[:30], targets[:30])
    model.step_many(rows[30:], targets[30:])
    assert model.learned == 40


def test_a_subclass_that_overrides_learn_one_learns_by_it() -> None:
    class Doubled(tree.HoeffdingTreeClassifier):
        def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
            super().learn_one(x, y, 2 * w)

    rows, targets = examples(tree.HoeffdingTreeClassifier(), 10)
    doubled, plain = Doubled(), tree.HoeffdingTreeClassifier()
    doubled.learn_many(rows, targets)
    plain.learn_many(rows, targets, w=[2.0] * 10)
    assert doubled.inspect() == plain.inspect()


def test_threads_may_learn_batches_of_dicts_together() -> None:
    model = naive_bayes.GaussianNB()
    rows, targets = examples(model, 50)
    model.learn_many(rows, targets)
    threads = [threading.Thread(target=model.learn_many, args=(rows, targets)) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        copy.copy(model).predict_one(rows[0])
    assert model.learned == 250
