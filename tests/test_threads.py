"""One model in many threads: never an exception, never a half-made update, never a deadlock."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import linear_model, preprocessing
from streams import Case, cases, numeric

X, NUMBERS = numeric(400)
Y = NUMBERS > 0


def model() -> Any:
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def together(*workers: Any, seconds: float = 60.0) -> None:
    """Run all at the same time; fail if one fails or hangs."""
    failures: list[BaseException] = []
    start = threading.Barrier(len(workers))

    def run(work: Any) -> None:
        try:
            start.wait()
            work()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if failures:
        raise failures[0]


@pytest.mark.parametrize("case", cases("classifier", "regressor"), ids=repr)
def test_learning_in_several_threads_loses_nothing(case: Case) -> None:
    learner = case.build()
    y = case.targets(NUMBERS)

    def one() -> None:
        for row, x in enumerate(X[:150].tolist()):
            learner.learn_one(dict(enumerate(x)), case.target(float(NUMBERS[row])))

    def many() -> None:
        for start in range(0, 400, 40):
            learner.learn_many(X[start : start + 40], y[start : start + 40])

    def step() -> None:
        learner.step_many(X, y)
        for row, x in enumerate(X[:100].tolist()):
            learner.step_one(dict(enumerate(x)), case.target(float(NUMBERS[row])))

    together(one, many, step, one)
    assert learner.learned == 150 + 400 + 500 + 150
    assert millstream.from_bytes(learner.to_bytes()).to_bytes() == learner.to_bytes()


def test_every_verb_beside_learning() -> None:
    learner = model()
    learner.learn_many(X, Y)
    done = threading.Event()

    def learn() -> None:
        try:
            for number in range(20):
                learner.learn_many(X, Y)
                learner.learn_one({**dict(enumerate(X[0].tolist())), f"new {number}": 1.0}, True)
        finally:
            done.set()

    def reader(verb: Any) -> Any:
        def read() -> None:
            while not done.is_set():
                verb()

        return read

    x = dict(enumerate(X[0].tolist()))
    together(
        learn,
        *map(
            reader,
            [
                lambda: learner.predict_one(x),
                lambda: learner.predict_proba_one(x),
                lambda: learner.score_one(x),
                lambda: millstream.from_bytes(learner.to_bytes()).predict_one(x),
                lambda: learner.copy().learn_one(x, True),
                lambda: (learner.memory, learner.learned, learner.features, learner.classes, repr(learner)),
                lambda: learner.inspect(),
            ],
        ),
    )


def test_a_prediction_is_of_one_moment() -> None:
    """All rows of a batch are predicted by the same model: equal rows get equal answers."""
    learner = model()
    learner.learn_many(X[:50], Y[:50])
    same = np.repeat(X[:1], 3000, axis=0)
    done = threading.Event()

    def learn() -> None:
        try:
            for row in range(2000):
                learner.learn_one(dict(enumerate(X[row % 400].tolist())), bool(Y[row % 400]))
        finally:
            done.set()

    def predict() -> None:
        while not done.is_set():
            assert len(np.unique(learner.predict_proba_many(same)[:, 0])) == 1

    together(learn, predict, predict)


def test_new_classes_while_predicting() -> None:
    learner = millstream.build({"name": "baseline.MajorityClass"})
    done = threading.Event()

    def learn() -> None:
        try:
            for label in range(300):
                learner.learn_many(X[:3], [label] * 3)
        finally:
            done.set()

    def predict() -> None:
        while not done.is_set():
            learner.predict_many(X[:5])
            learner.predict_proba_many(X[:5])
            learner.predict_proba_one({0: 1.0})

    together(learn, predict, predict)


def test_models_in_a_pool() -> None:
    def train(seed: int) -> bytes:
        rows, numbers = numeric(300, seed=seed)
        learner = model()
        learner.step_many(rows, numbers > 0)
        return bytes(learner.to_bytes())

    alone = [train(seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(train, range(8))) == alone


def test_a_value_whose_conversion_uses_the_model() -> None:
    """Python code that runs while an example is read may use the same model."""
    learner = model()
    learner.learn_one({"a": 1.0}, True)

    class Curious:
        def __float__(self) -> float:
            learner.predict_one({"a": 2.0})
            learner.learn_one({"a": 2.0}, False)
            return 3.0

    together(
        lambda: learner.learn_one({"a": Curious()}, True),
        lambda: learner.learn_many([{"a": Curious()}], [True]),
        seconds=20,
    )
    assert learner.learned == 5


def test_a_target_whose_conversion_uses_the_model() -> None:
    learner = model()
    learner.learn_one({"a": 1.0}, True)

    class Curious:
        def item(self) -> bool:
            learner.predict_one({"a": 2.0})
            return True

    together(
        lambda: learner.learn_one({"a": 1.0}, Curious()),
        lambda: learner.step_one({"a": 1.0}, Curious()),
        lambda: learner.learn_many([{"a": 1.0}], [Curious()]),
        seconds=20,
    )
    assert learner.learned == 4
    numbered = model()

    class Asking:
        def item(self) -> bool:
            numbered.predict_one({0: 2.0})
            return True

    together(lambda: numbered.learn_many(np.ones((2, 1)), [Asking(), Asking()]), seconds=20)


def test_two_models_that_use_each_other() -> None:
    first, second = model(), model()
    first.learn_one({"a": 1.0}, True)
    second.learn_one({"a": 1.0}, True)

    def cross(a: Any, b: Any) -> Any:
        class Other:
            def __float__(self) -> float:
                return float(b.score_one({"a": 1.0}))

        def work() -> None:
            for _ in range(200):
                a.learn_one({"a": Other()}, True)
                a._copy_from(a.copy())

        return work

    together(cross(first, second), cross(second, first))
