"""Models across processes: fork, spawn, forkserver, joblib."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from millstream import linear_model, preprocessing
from millstream.errors import InvalidValue, MillstreamError
from streams import numeric

X, NUMBERS = numeric(200)
Y = NUMBERS > 0


def model() -> Any:
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def learn_more(learner: Any) -> Any:
    learner.learn_many(X[100:], Y[100:])
    return learner


def fail(learner: Any) -> Any:
    learner.learn_one({0: float("inf")}, True)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_model_goes_to_a_process_and_comes_back(method: str) -> None:
    learner = model()
    learner.learn_many(X[:100], Y[:100])
    before = learner.to_bytes()
    whole = model()
    whole.learn_many(X, Y)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        returned = list(pool.map(learn_more, [learner, learner], timeout=120))
        with pytest.raises(InvalidValue, match="must be finite or missing, got inf"):
            pool.submit(fail, learner).result(timeout=120)
    assert [other.to_bytes() for other in returned] == [whole.to_bytes()] * 2
    assert learner.to_bytes() == before


def test_a_forked_process_has_its_own_copy() -> None:
    learner = model()
    learner.learn_many(X[:100], Y[:100])
    before = learner.to_bytes()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe()

    def work() -> None:
        learner.learn_many(X[100:], Y[100:])
        sender.send_bytes(learner.to_bytes())

    process = context.Process(target=work)
    process.start()
    there = receiver.recv_bytes()
    process.join(60)
    assert process.exitcode == 0
    assert learner.to_bytes() == before
    assert learn_more(learner).to_bytes() == there


def test_joblib() -> None:
    joblib = pytest.importorskip("joblib")
    learner = model()
    learner.learn_many(X[:100], Y[:100])
    whole = model()
    whole.learn_many(X, Y)
    for backend in ("threading", "loky"):
        work = (joblib.delayed(learn_more)(learner.copy()) for _ in range(3))
        returned = joblib.Parallel(n_jobs=2, backend=backend)(work)
        assert [other.to_bytes() for other in returned] == [whole.to_bytes()] * 3


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_pickle_protocol(protocol: int) -> None:
    learner = model()
    learner.learn_many(X, Y)
    assert pickle.loads(pickle.dumps(learner, protocol)).to_bytes() == learner.to_bytes()


def test_errors_cross_processes_whole() -> None:
    with pytest.raises(MillstreamError) as failure:
        model().learn_many([{"a": 1.0}, {"a": float("inf")}], [True, False])
    copied = pickle.loads(pickle.dumps(failure.value))
    assert type(copied) is type(failure.value)
    assert str(copied) == str(failure.value)
    assert copied.row == failure.value.row == 1


def test_parts_that_are_no_models_pickle_too() -> None:
    from millstream import losses, optim

    for part in (optim.SGD(0.5), losses.Logistic()):
        assert pickle.loads(pickle.dumps(part)) == part
