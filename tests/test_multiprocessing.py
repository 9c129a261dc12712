"""Models across processes: fork, spawn, forkserver, joblib."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from millstream import bandit, linear_model, preprocessing
from millstream.bandit.base import lock_of
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


@pytest.mark.slow
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


#: Threads are at any place when a process is forked, so it is done a few times over.
FORKS = """
import gc, os, sys
from millstream import stream
from millstream.errors import Unreadable
from millstream.stream.prefetch import read_ahead

path, how = sys.argv[1:]
for number in range(4):
    source = stream.open(path) if path.endswith((".vw", ".libsvm")) else stream.open(path, target="y")
    chunks = read_ahead(source.chunks()) if how == "ahead" else source.chunks()
    next(chunks)
    if number % 2:
        next(chunks)
    child = os.fork()
    if child == 0:
        if how == "left":
            del chunks
            gc.collect()
            sys.exit(0)
        try:
            list(chunks)
        except Unreadable as error:
            chunks.close()
            whole = sum(len(chunk) for chunk in source.chunks())
            sys.exit(0 if "before the fork" in str(error) and whole > 10_000 else 3)
        sys.exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sum(len(chunk) for chunk in chunks) > 1000
"""

LINES = {
    "vw": "1 |a word another:2 third:0.5 and some more words\n",
    "libsvm": "1 1:0.5 2:0.25 4:1 8:1 16:0.125\n",
    "csv": "1,2.5,some words that make it longer,0\n",
    "jsonl": '{"a": 1, "b": 2.5, "c": "some words that make it longer", "y": 0}\n',
}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("how", ["direct", "ahead", "left"])
@pytest.mark.parametrize("ending", LINES)
def test_a_reading_ends_at_a_fork(tmp_path: Path, ending: str, how: str) -> None:
    path = tmp_path / f"rows.{ending}"
    line = LINES[ending]
    path.write_text(("a,b,c,y\n" if ending == "csv" else "") + line * (4_000_000 // len(line)))
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKS, path, how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_policy_that_a_thread_was_using_works_in_a_forked_process() -> None:
    policy = bandit.BestArm(actions=["a", "b"])
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock_of(policy):
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads and fork
        child = os.fork()
    if child == 0:
        # A child that waits for ever is ended by the alarm.
        signal.alarm(5)
        policy.learn_one(policy.decide_one().id, 1.0)
        os._exit(0 if policy.learned == 1 else 1)
    _, status = os.waitpid(child, 0)
    done.set()
    thread.join()
    assert status == 0
