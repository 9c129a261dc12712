"""Write the dump of keyed models that later versions must read: `python tests/golden/make_keyed.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from millstream import compose, linear_model, preprocessing

FOLDER = Path(__file__).parent / "keyed"


def rows(number: int) -> tuple[Any, Any, list[str]]:
    """A batch: the first has all keys, and the others a few."""
    height = 4 if number else 40
    # Multiples of a quarter are the same on every processor.
    X = ((np.arange(3 * height) * 37 + number * 11) % 23 / 4).reshape(height, 3)
    return X, X[:, 0] - X[:, 1], [f"key {(number + row) % 40}" for row in range(height)]


def models() -> Any:
    """Models that have learned nothing."""
    template = preprocessing.StandardScaler() | linear_model.LinearRegression()
    return compose.Keyed(template, key="k", max_keys=39, n_threads=1)


def learned(numbers: Any) -> Any:
    """Models that have learned some batches."""
    keyed = models()
    for number in numbers:
        X, y, keys = rows(number)
        keyed.step_many(X, y, keys=keys)
    return keyed


if __name__ == "__main__":
    keyed = models()
    for number in range(3):
        X, y, keys = rows(number)
        keyed.step_many(X, y, keys=keys)
        keyed.dump(FOLDER, position=number + 1)
