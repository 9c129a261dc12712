"""Requests and data folders for the benchmark of serving."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from millstream import linear_model, preprocessing
from millstream.base import Model
from millstream.serve.engine import Engine
from millstream.serve.records import Draft, Kind
from millstream.serve.store import EventStore

__all__ = ["FEATURES", "POLICY", "Learner", "arrow_body", "examples", "fill", "native_model", "ndjson_body"]

FEATURES = tuple(f"f{index}" for index in range(10))

#: More events than any run makes, so that none is evicted.
POLICY = {"window": "7d", "max_pending": 50_000_000}

_GROUP = 4000


class Learner:
    """A logistic regression written in plain Python, for all servers that run a learner written in Python."""

    def __init__(self) -> None:
        self.weights = {name: 0.1 * index for index, name in enumerate(FEATURES)}

    def predict_one(self, x: dict[str, float]) -> bool:
        """The class of one example."""
        weights = self.weights
        return sum([weights[name] * value for name, value in x.items()]) > 0

    def predict_proba_one(self, x: dict[str, float]) -> dict[bool, float]:
        """Certain probabilities: no metric of the benchmark uses them."""
        return {self.predict_one(x): 1.0}

    def learn_one(self, x: dict[str, float], y: bool) -> None:
        """One step of the perceptron."""
        step = 0.01 * (y - self.predict_one(x))
        for name, value in x.items():
            self.weights[name] += step * value


def examples(count: int, *, digits: int | None = 3) -> Iterator[dict[str, float]]:
    """Random examples of 10 features, rounded to `digits` decimals, or in full precision."""
    draw = random.Random(7)
    for _ in range(count):
        values = [draw.gauss(0, 1) for _ in FEATURES]
        yield dict(zip(FEATURES, values if digits is None else [round(v, digits) for v in values], strict=True))


def native_model() -> Model:
    """A scaler and a logistic regression that have learned 1,000 examples."""
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    for x in examples(1000):
        model.learn_one(x, x["f0"] > 0)
    return model


def ndjson_body(rows: int = 1000) -> bytes:
    """A batch of examples as NDJSON."""
    return b"".join(json.dumps({"x": x}, separators=(",", ":")).encode() + b"\n" for x in examples(rows))


def arrow_body(rows: int = 1000) -> bytes:
    """A batch of examples as Arrow IPC."""
    table = pa.Table.from_pylist(list(examples(rows)))
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def fill(folder: Path, events: int, *, labels: bool = False, delay: int = 1000) -> None:
    """Make a data folder with events `e0`, `e1`, … written as the server writes them.

    With `labels`, each event is labelled `delay` events later. The folder has no snapshot.
    """
    engine = Engine(folder, {"model": native_model()}, policy=POLICY)
    engine.start()
    start = engine.clock.now()
    engine.stop()
    for snapshot in engine.folder.snapshots.iterdir():
        snapshot.unlink()
    bodies = [json.dumps({"x": x, "y": x["f0"] > 0}, separators=(",", ":")) for x in examples(min(events, 10_000))]
    store = EventStore(folder / "events.db")
    drafts: list[Draft] = []
    try:
        for number in range(events + delay if labels else events):
            time = start + number // 10
            if number < events:
                drafts.append(Draft(Kind.EVENT, time, 1, f"e{number}", bodies[number % len(bodies)]))
            if labels and number >= delay:
                # True for three quarters of the events whatever their features, so that the model keeps learning.
                y = '{"y":true}' if number % 4 else '{"y":false}'
                drafts.append(Draft(Kind.LABEL, time, 1, f"e{number - delay}", y))
            if len(drafts) >= _GROUP:
                store.append(drafts)
                drafts.clear()
        store.append(drafts)
    finally:
        store.close()
