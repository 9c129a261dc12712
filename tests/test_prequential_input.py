"""Bad input in evaluation: a bad row stops the run or is set aside and counted, and the model stays whole."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas
import pytest

import millstream
from millstream import evaluate
from millstream.errors import MillstreamError
from streams import Case, cases, numeric

BAD = 13
everywhere = pytest.mark.parametrize("case", cases("classifier", "regressor"), ids=repr)


def _poisoned(case: Case, poison: str) -> tuple[Any, list[Any], Any]:
    X, numbers = numeric(30)
    y, w = case.targets(numbers).tolist(), np.ones(30)
    if poison == "feature":
        X[BAD, 1] = math.inf
    elif poison == "target":
        y[BAD] = math.nan
    elif poison == "no target":
        y[BAD] = None
    elif poison == "wrong target":
        y[BAD] = [1]
    else:
        w[BAD] = {"negative weight": -1.0, "infinite weight": math.inf, "NaN weight": math.nan}[poison]
    return X, y, w


POISONS = ["feature", "target", "no target", "wrong target", "negative weight", "infinite weight", "NaN weight"]


@everywhere
@pytest.mark.parametrize("poison", POISONS)
@pytest.mark.parametrize("make", ["matrix", "frame", "dicts"])
def test_a_bad_row_stops_or_is_skipped(case: Case, poison: str, make: str) -> None:
    X, y, w = _poisoned(case, poison)
    columns = [f"c{place}" for place in range(X.shape[1])]
    dicts = [dict(zip(columns, row, strict=True)) for row in X.tolist()]

    def stream() -> Any:
        if make == "dicts":
            return list(zip(dicts, y, w.tolist(), strict=True))
        return (X if make == "matrix" else pandas.DataFrame(X, columns=columns)), y, w

    def rows(chosen: list[int]) -> Any:
        return X[chosen] if make == "matrix" else [dicts[row] for row in chosen]

    model = case.build()
    with pytest.raises((ValueError, TypeError)) as failure:
        evaluate.prequential(model, stream(), progress=False)
    assert isinstance(failure.value, MillstreamError)
    assert f"row {BAD}" in str(failure.value)
    assert "\n" not in str(failure.value)
    before = case.build()
    before.learn_many(rows(list(range(BAD))), y[:BAD])
    assert model.to_bytes() == before.to_bytes()

    others = [row for row in range(30) if row != BAD]
    model, clean = case.build(), case.build()
    result = evaluate.prequential(model, stream(), on_error="skip", progress=False)
    clean.learn_many(rows(others), [y[row] for row in others])
    assert result.skipped == 1
    assert model.to_bytes() == clean.to_bytes()
    assert all(math.isfinite(value) for value in result.values.values())


@everywhere
def test_enormous_numbers_leave_model_and_metrics_finite(case: Case) -> None:
    X, numbers = numeric(60)
    X[::3] = np.clip(X[::3], -1, 1) * 1.7e308
    y = case.targets(np.where(np.arange(60) % 6 == 0, np.sign(numbers) * 1e308, numbers))
    model = case.build()
    result = evaluate.prequential(model, (X, y), on_error="skip", progress=False)
    assert not any(math.isinf(value) for value in result.values.values())
    assert millstream.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


@everywhere
def test_evaluation_learns_as_the_loop_does(case: Case) -> None:
    X, numbers = numeric(200)
    y = case.targets(numbers)
    model, loop = case.build(), case.build()
    evaluate.prequential(model, (X, y), progress=False)
    loop.learn_many(X, y)
    assert model.to_bytes() == loop.to_bytes()


@everywhere
def test_what_is_no_stream_is_refused(case: Case) -> None:
    model = case.build()
    before = model.to_bytes()
    X, numbers = numeric(5)
    y = case.targets(numbers)
    for stream in (None, 3, "text", (X, y[:-1]), (X, y, np.ones(2)), (np.zeros(5), y), [1, 2], {"a": 1.0}):
        with pytest.raises((TypeError, ValueError)) as failure:
            evaluate.prequential(model, stream, progress=False)
        assert isinstance(failure.value, MillstreamError), (stream, failure.value)
        assert model.to_bytes() == before
