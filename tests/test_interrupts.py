"""Ctrl-C ends every long call of the compiled module early, and leaves everything as it was before the call.

`learn_many` and `step_many` are in test_readers.py, the evaluation in test_predictions.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from millstream import anomaly, drift, forest, kernel, linear_model, metrics, preprocessing, sketch, stats

ROW = np.random.default_rng(7).normal(size=(2000, 6))
LABELS = ROW[:, 0] > 0

#: CPU time of a call that is not interrupted, the time after which Ctrl-C is pressed, and the CPU time that the
#: interrupted call may take.
WHOLE, PRESSED, MOST = 1.0, 0.1, 0.5


def pressed(call: Callable[[], object]) -> bool:
    """Press Ctrl-C during a call; whether it had not ended before by itself."""
    timer = threading.Timer(PRESSED, os.kill, (os.getpid(), signal.SIGINT))
    ended = False
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        timer.start()
        call()
        ended = True
        timer.join()
        time.sleep(10.0)
    return not ended


def ends_early(prepare: Callable[[int], Callable[[], object]]) -> None:
    """Check that Ctrl-C ends a call, prepared for so many rows, long before the last of them."""
    rows, taken = 512, 0.0
    while taken < 0.02:
        rows *= 2
        call = prepare(rows)
        start = time.process_time()
        call()
        taken = time.process_time() - start
    rows = int(rows * WHOLE / taken)
    call = prepare(rows)
    start = time.process_time()
    while not pressed(call):
        # The first rows took longer than the others.
        rows *= 2
        call = prepare(rows)
        start = time.process_time()
    assert time.process_time() - start < MOST


def table(rows: int) -> Any:
    """So many rows, which take no memory."""
    return np.broadcast_to(ROW[0], (rows, ROW.shape[1]))


def column(rows: int) -> Any:
    """So many numbers, repeated."""
    return np.resize(ROW[:, 0], rows)


def learned(model: Any, y: Any = None) -> Any:
    """A model that has learned some rows."""
    model.learn_many(ROW, y) if y is not None else model.learn_many(ROW)
    return model


ASKED: dict[str, Callable[[], Callable[[Any], object]]] = {
    "predict_many of a forest": lambda: learned(forest.ARFClassifier(n_models=30), LABELS).predict_many,
    "predict_proba_many of a forest": lambda: (
        learned(forest.ARFClassifier(n_models=30), LABELS).predict_proba_many
    ),
    "predict_many of a kernel machine": lambda: learned(kernel.KernelSGD(), LABELS).predict_many,
    "predict_many behind a scaler": lambda: (
        learned(preprocessing.StandardScaler() | forest.ARFClassifier(n_models=30), LABELS).predict_many
    ),
    "predict_interval_many": lambda: (
        learned(linear_model.BayesianLinearRegression(), ROW[:, 1]).predict_interval_many
    ),
    "score_many": lambda: learned(anomaly.HalfSpaceTrees(n_trees=200)).score_many,
    "predict_many of a filter": lambda: (
        learned(anomaly.ThresholdFilter(anomaly.HalfSpaceTrees(n_trees=200), threshold=0.9)).predict_many
    ),
    "transform_many": lambda: learned(preprocessing.StandardScaler()).transform_many,
}


@pytest.mark.parametrize("call", ASKED)
def test_ctrl_c_ends_a_call_that_asks_a_model(call: str) -> None:
    verb = ASKED[call]()
    ends_early(lambda rows: lambda: verb(table(rows)))


def pairs(rows: int) -> tuple[Any, Any]:
    """Truths and probabilities."""
    return np.resize(LABELS, rows), np.resize(np.linspace(0.0, 1.0, 1000), rows)


TOLD: dict[str, tuple[Callable[[], Any], str, Callable[[int], tuple[Any, ...]]]] = {
    "metric": (metrics.ROCAUC, "update_many", pairs),
    "statistic": (lambda: stats.Quantile(0.9), "update_many", lambda rows: (column(rows),)),
    "sketch of numbers": (sketch.Histogram, "update_many", lambda rows: (column(rows),)),
    "sketch of keys": (sketch.SpaceSaving, "update_many", lambda rows: (np.arange(rows) % 5000,)),
    "drift detector": (drift.KSWIN, "update_many", lambda rows: (column(rows),)),
    "feature drift detector": (drift.KSTest, "update_many", lambda rows: (table(rows),)),
}


@pytest.mark.parametrize("kind", TOLD)
def test_ctrl_c_ends_a_call_that_changes_a_component_and_reverts_it(kind: str) -> None:
    build, verb, data = TOLD[kind]
    component, before = build(), b""

    def prepare(rows: int) -> Callable[[], object]:
        nonlocal before
        before, given = component.to_bytes(), data(rows)
        return lambda: getattr(component, verb)(*given)

    ends_early(prepare)
    assert component.to_bytes() == before


HANDLED = """
import os, signal, threading
import numpy as np
from millstream import forest

X = np.random.default_rng(7).normal(size=(10_000, 4))
model = forest.ARFClassifier(n_models=20)
model.learn_many(X[:2000], X[:2000, 0] > 0)
many, ended = np.tile(X, (20, 1)), False

def handle(*_):
    global during
    during = not ended
    model.learn_one(dict(enumerate(X[0].tolist())), True)

signal.signal(signal.SIGINT, handle)
timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
timer.start()
predicted = model.predict_proba_many(many)
ended = True
timer.join()
last = np.tile(model.predict_proba_many(X), (20, 1))
print(model.learned, np.array_equal(predicted, last) or not during)
"""


@pytest.mark.slow
def test_a_handler_of_ctrl_c_may_change_the_model_that_is_asked() -> None:
    # All rows are then predicted by the changed model.
    done = subprocess.run([sys.executable, "-c", HANDLED], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["2001", "True"]
