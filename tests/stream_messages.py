"""Messages for the tests of streams: numbered batches of sensor readings."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as arrow

from millstream import anomaly, compose

SENSORS = 40
ROWS = 50


def readings(number: int, rows: int = ROWS, sensors: int = SENSORS) -> arrow.Table:
    """The readings of batch `number`, always the same."""
    random = np.random.default_rng(number)
    keys = random.integers(0, sensors, rows)
    return arrow.table({"sensor": keys, "value": keys + random.normal(size=rows)})


def keyed() -> Any:
    """A model that has learned nothing."""
    return compose.Keyed(anomaly.GaussianScorer(grace_period=5), key="sensor", n_threads=1)


def learned(numbers: Any, model: Any = None) -> tuple[Any, dict[int, list[float]]]:
    """The model and the scores of an uninterrupted run."""
    model = keyed() if model is None else model
    scores = {number: model.step_many(readings(number)).tolist() for number in numbers}
    return model, scores


def state(model: Any) -> Any:
    """All that a keyed model has learned: bytes by key, totals and counters."""
    totals = {name: column.tolist() for name, column in model.totals().items()}
    return {key: model[key].to_bytes() for key in model}, json.dumps(totals), model.counters
