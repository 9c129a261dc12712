"""Streams to train exported models on, and rows that try every edge of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.errors import InvalidState
from millstream.export.state import saved, unpack

#: Nominal values of the mixed stream; rows to predict also have others.
COLOURS = ["red", "green", "blue", "dark blue", 'say "\\?"', "grün"]


def numeric(n: int, seed: int = 0, features: int = 5) -> tuple[list[dict[str, Any]], np.ndarray[Any, Any]]:
    """Rows of numbers, of which a few are missing, and a score for their target."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, features)) * np.array([1.0, 2.0, 0.5, 10.0, 1.0, 3.0, 1.0][:features])
    X[:, 2] = np.round(X[:, 2] * 4) / 4
    score = X[:, 0] + 0.4 * X[:, 1] * (X[:, 2] > 0) + 0.05 * X[:, 3] + 0.2 * random.normal(size=n)
    X[random.random(X.shape) < 0.03] = np.nan
    rows = [{f"x{j}": float(v) for j, v in enumerate(row) if not np.isnan(v)} for row in X]
    # Every row has the first feature, so that their order is the same in all streams.
    return [{"x0": 0.5, **row} for row in rows], score


def nominal(n: int, seed: int = 0) -> tuple[list[dict[str, Any]], np.ndarray[Any, Any]]:
    """Rows of strings, and a score for their target."""
    random = np.random.default_rng(seed)
    colours = random.integers(0, len(COLOURS), n)
    sizes = random.integers(0, 3, n)
    rows: list[dict[str, Any]] = [
        {"colour": COLOURS[c], "size": ["s", "m", "l"][s]} for c, s in zip(colours, sizes, strict=True)
    ]
    score = (colours - 2.5) * np.where(sizes == 1, -1.0, 1.0) + 0.5 * random.normal(size=n)
    return rows, score


def mixed(n: int, seed: int = 0) -> tuple[list[dict[str, Any]], np.ndarray[Any, Any]]:
    """Rows of numbers and strings."""
    first, score = numeric(n, seed, 4)
    second, other = nominal(n, seed + 1)
    random = np.random.default_rng(seed)
    rows = []
    for one, two, gone in zip(first, second, random.random(n) < 0.04, strict=True):
        rows.append({**one, **({"size": two["size"]} if gone else two)})
    return rows, score + 0.5 * other


STREAMS = {"numeric": numeric, "nominal": nominal, "mixed": mixed}


def labels(score: np.ndarray[Any, Any], classes: int) -> list[Any]:
    """Classes of about the same size; two are truths, several are strings."""
    if classes == 2:
        return [bool(each) for each in score > np.median(score)]
    edges = np.quantile(score, np.arange(1, classes) / classes)
    return [f"class {each}" for each in np.searchsorted(edges, score)]


def thresholds_of(model: Any) -> list[float]:
    """The thresholds of all trees in a model."""
    found: list[float] = []
    waiting = [saved(model)["state"]]
    while waiting:
        value = waiting.pop()
        if isinstance(value, bytes):
            try:
                value = unpack(value)
            except (IndexError, UnicodeDecodeError, InvalidState):
                continue
        if isinstance(value, dict):
            if isinstance(value.get("threshold"), list):
                found.append(float(value["threshold"][1]))
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return sorted(set(found))


def edges(kind: str, n: int, thresholds: list[float], seed: int = 9) -> list[dict[str, Any]]:
    """Rows with missing, infinite, zero and unseen values, and numbers at thresholds and one unit beside them."""
    random = np.random.default_rng(seed)
    rows, _ = STREAMS[kind](n, seed)
    special = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-300, 1e6, -1e6]
    for threshold in thresholds[:200]:
        special += [threshold, np.nextafter(threshold, np.inf), np.nextafter(threshold, -np.inf)]
    for row in rows:
        for name, value in list(row.items()):
            draw = random.random()
            if isinstance(value, float) and draw < 0.3:
                row[name] = float(special[random.integers(len(special))])
            elif isinstance(value, str) and draw < 0.1:
                row[name] = "never seen"
            elif isinstance(value, str) and draw < 0.2:
                row[name] = None
            elif draw > 0.97:
                del row[name]
    return rows
