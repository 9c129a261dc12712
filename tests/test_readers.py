"""What other threads and forked processes see of a model while a batch is learned."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from millstream import _core, baseline, drift, evaluate, forest, linear_model, metrics, sketch, stats
from millstream.errors import InvalidState, InvalidType

ROWS = 60_000
X = np.random.default_rng(7).normal(size=(ROWS, 4))
Y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)


def watched(work: Callable[[], Any], look: Callable[[], Any]) -> list[Any]:
    """What `look` sees, again and again, while `work` runs in another thread."""
    seen = []
    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        seen.append(look())
    thread.join()
    return seen


def grown_forest() -> forest.ARFClassifier:
    model = forest.ARFClassifier(n_models=10)
    model.learn_many(X[:1000], Y[:1000])
    return model


@pytest.mark.parametrize("how", ["learn_many", "prequential"])
def test_predictions_come_while_a_batch_is_learned(how: str) -> None:
    model = grown_forest()
    work = {
        "learn_many": lambda: model.learn_many(X, Y),
        "prequential": lambda: evaluate.prequential(model, (X, Y), progress=False),
    }[how]
    row = dict(enumerate(X[0].tolist()))

    def look() -> int:
        assert model.predict_one(row) in (0, 1)
        return model.learned

    learned = watched(work, look)
    assert learned == sorted(learned)
    assert len({count for count in learned if 1000 < count < 1000 + ROWS}) >= 10


def test_a_reader_sees_the_state_after_whole_rows() -> None:
    model = baseline.TargetMean()
    targets = np.arange(400_000, dtype=float)
    means = watched(lambda: model.learn_many(np.zeros((len(targets), 1)), targets), lambda: model.predict_one({}))
    # After k targets 0, 1, … the mean is (k - 1) / 2.
    assert all(abs(2 * mean - round(2 * mean)) < 1e-6 for mean in means)


def test_batches_of_two_threads_do_not_mix() -> None:
    model = baseline.NoChange()
    model.learn_one({}, "start")
    batches = [np.array([name] * 50_000) for name in ("a", "b")]
    rows = np.zeros((50_000, 0))
    predicted: dict[str, Any] = {}

    def learn(name: str, labels: Any) -> None:
        predicted[name] = model.step_many(rows, labels)

    threads = [threading.Thread(target=learn, args=(labels[0], labels)) for labels in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Within a batch, all but the first row follow a row of the same batch.
    for name, labels in predicted.items():
        assert set(labels[1:].tolist()) == {name}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_process_forked_while_a_thread_learns_gets_an_error() -> None:
    model = grown_forest()
    row = dict(enumerate(X[0].tolist()))
    codes = []
    thread = threading.Thread(target=lambda: [model.learn_many(X, Y) for _ in range(3)])
    thread.start()
    while thread.is_alive() and len(codes) < 4:
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            try:
                model.predict_one(row)
            except InvalidState:
                os._exit(3)
            os._exit(0)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    thread.join()
    # A fork may also fall between two blocks, when the model is whole.
    assert set(codes) <= {0, 3}
    assert model.predict_one(row) in (0, 1)


#: A component that receives many at a time, and how to ask it how many it has received.
MANY: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "metric": (metrics.MAE, lambda metric: metric.update_many(X[:, 0], X[:, 1])),
    "statistic": (lambda: stats.Quantile(0.5), lambda statistic: statistic.update_many(X[:, 0])),
    "sketch": (sketch.KLL, lambda kll: kll.update_many(X[:, 0])),
    "drift detector": (drift.ADWIN, lambda detector: detector.update_many(X[:, 0])),
    "feature drift detector": (drift.KSTest, lambda detector: detector.update_many(X)),
}


@pytest.mark.parametrize("kind", MANY)
def test_a_reader_sees_all_of_update_many_or_nothing(kind: str) -> None:
    build, update_many = MANY[kind]
    part = build()
    seen = watched(lambda: [update_many(part) for _ in range(20)], lambda: part.updates)
    assert seen == sorted(seen)
    # On a busy machine, the thread may end before it is watched.
    assert {count % ROWS for count in seen} <= {0}
    assert part.updates == 20 * ROWS


@pytest.mark.parametrize("kind", MANY)
def test_changes_of_two_threads_do_not_get_lost(kind: str) -> None:
    """A batch changes a copy: an update that comes meanwhile must wait for it."""
    build, update_many = MANY[kind]
    part = build()
    one = {"metric": (0.0, 1.0), "feature drift detector": ({0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0},)}.get(kind, (1.0,))
    seen = watched(lambda: [update_many(part) for _ in range(5)], lambda: part.update(*one))
    assert part.updates == 5 * ROWS + len(seen)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
@pytest.mark.parametrize("verb", ["get", "update", "update_many"])
def test_a_process_forked_while_a_thread_updates_does_not_wait_forever(verb: str) -> None:
    metric = metrics.MAE()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            metric.update_many(X[:, 0], X[:, 1])

    thread = threading.Thread(target=work)
    thread.start()
    codes = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            arguments = {"get": (), "update": (0.0, 1.0), "update_many": ([0.0], [1.0])}[verb]
            try:
                getattr(metric, verb)(*arguments)
            except InvalidState:
                os._exit(3)
            os._exit(0)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop.set()
    thread.join()
    assert set(codes) <= {0, 3}


def test_a_component_becomes_only_one_of_its_own_kind() -> None:
    metric, model = metrics.MAE(), linear_model.LinearRegression()
    metric.update(1.0, 2.0)
    for source in (model, model.to_bytes()):
        with pytest.raises(InvalidType, match="a regressor is not a metric"):
            metric._load(source)
    assert metric.get() == 1.0
    with pytest.raises(TypeError):
        _core.Part()

    class Both(_core.Metric, _core.Statistic):
        """Python allows this, because all compiled classes have one layout."""

    both: Any = Both()
    both._build('{"name": "metrics.MAE"}')
    assert _core.Metric.get(both) == 0.0
    with pytest.raises(ValueError, match="this statistic was not built"):
        _core.Statistic.get(both)


INTERRUPTED = """
import os, signal, threading, time
import numpy as np
from millstream import forest

X = np.random.default_rng(7).normal(size=(400_000, 4))
Y = (X[:, 0] > 0).astype(int)
model = forest.ARFClassifier(n_models=20)
model.learn_many(X[:5000], Y[:5000])
before = model.to_bytes()

def interrupt():
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    model.learn_many(X, Y)
except KeyboardInterrupt:
    print("interrupted", model.to_bytes() == before)
"""


def test_ctrl_c_breaks_off_a_long_batch_and_reverts_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.split() == ["interrupted", "True"]
