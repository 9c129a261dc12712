"""`millstream.train` with held-out examples, and streams that are read several times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import linear_model, optim, stream
from millstream.errors import InvalidValue
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk
from millstream.training.sources import Cached, Part

random = np.random.default_rng(3)
X = random.normal(size=(500, 4))
Y = X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * random.normal(size=500)
NOISE = random.normal(size=500)
HELD = np.arange(500) % 10 == 9


def regression(rate: float = 0.01) -> linear_model.LinearRegression:
    return linear_model.LinearRegression(optim.SGD(rate))


class Counted(Stream):
    """Rows in chunks of 64; counts how often it is read."""

    def __init__(self, X: Any, y: Any, as_dicts: bool = False) -> None:
        self.X, self.y, self.passes, self.as_dicts = X, y, 0, as_dicts

    def chunks(self) -> Iterator[Chunk]:
        self.passes += 1
        for start in range(0, len(self.y), 64):
            rows = self.X[start : start + 64]
            held: Any = [dict(enumerate(row)) for row in rows.tolist()] if self.as_dicts else rows
            yield Chunk(held, self.y[start : start + 64])


@pytest.mark.parametrize("kind", ["matrix", "stream"])
def test_one_in_ten_is_not_learned_and_measures_the_risk(kind: str) -> None:
    data: Any = (X, Y) if kind == "matrix" else Counted(X, Y)
    model, plain = regression(), regression()
    result = millstream.train(model, data, passes=1, holdout=0.1)
    plain.learn_many(X[~HELD], Y[~HELD])
    assert model.to_bytes() == plain.to_bytes()
    assert result.risk == pytest.approx(float(np.mean((plain.predict_many(X[HELD]) - Y[HELD]) ** 2)), rel=1e-12)
    assert result.history["examples"] == [450]


@pytest.mark.parametrize("order", ["cyclic", "shuffle"])
def test_training_stops_when_the_held_out_risk_stops_falling(order: str) -> None:
    model = regression()
    result = millstream.train(model, (X, NOISE), passes=50, order=order, seed=1, holdout=0.1, patience=2)
    assert result.stopped == "tolerance"
    assert result.passes < 50
    assert result.kept_best
    # The last passes did not improve on the best one, whose model is kept.
    assert result.best_pass == result.passes - 2
    risk = float(np.mean((model.predict_many(X[HELD]) - NOISE[HELD]) ** 2))
    assert result.risk == pytest.approx(risk, rel=1e-12) == pytest.approx(min(result.risks), rel=1e-12)


def test_the_best_model_need_not_be_kept() -> None:
    result = millstream.train(regression(), (X, NOISE), passes=50, holdout=0.1, keep_best=False)
    assert not result.kept_best
    assert result.risk == result.risks[-1]


@pytest.mark.parametrize("holdout", [0, 0.0, 1, 0.6, -0.1, float("nan"), "0.1", True])
def test_a_holdout_out_of_range_is_refused(holdout: Any) -> None:
    model = regression()
    before = model.to_bytes()
    with pytest.raises(InvalidValue, match=r"train: holdout must be a fraction in \(0, 0\.5\], got"):
        millstream.train(model, (X, Y), holdout=holdout)
    assert model.to_bytes() == before


def test_too_few_examples_to_hold_one_out_are_refused() -> None:
    with pytest.raises(InvalidValue, match="holdout needs at least 10 examples to hold out one, got 9"):
        millstream.train(regression(), (X[:9], Y[:9]), holdout=0.1)
    with pytest.raises(InvalidValue, match="holdout needs at least 10 examples to hold out one, got 9"):
        millstream.train(regression(), Counted(X[:9], Y[:9]), holdout=0.1)
    with pytest.raises(InvalidValue, match="validation or holdout, not both"):
        millstream.train(regression(), (X, Y), holdout=0.1, validation=(X, Y))


def test_a_stream_that_fits_in_memory_is_parsed_once() -> None:
    source = Counted(X, Y)
    model, plain = regression(), regression()
    result = millstream.train(model, source, passes=3)
    assert source.passes == 1
    for _ in range(3):
        plain.learn_many(X, Y)
    assert model.to_bytes() == plain.to_bytes()
    assert result.passes == 3


def test_a_stream_that_does_not_fit_is_read_again() -> None:
    source = Counted(X, Y)
    small = Cached(source, limit=5 * X[:64].nbytes)
    first = np.concatenate([chunk.X for chunk in small.chunks()])
    second = np.concatenate([chunk.X for chunk in small.chunks()])
    assert np.array_equal(first, X)
    assert np.array_equal(second, X)
    assert source.passes == 2
    # The size of dicts is not known.
    source = Counted(X, Y, as_dicts=True)
    millstream.train(regression(), source, passes=2)
    assert source.passes == 4


def test_a_pass_that_was_not_finished_is_not_kept() -> None:
    source = Counted(X, Y)
    cached = Cached(source)
    next(iter(cached.chunks()))
    assert sum(len(chunk) for chunk in cached.chunks()) == 500


def test_the_parts_are_all_examples() -> None:
    source = Counted(X, Y)
    for period in (2, 3, 7, 64, 100):
        learned, held = (Part(source, period, part) for part in (False, True))
        counts = [sum(len(chunk) for chunk in part.chunks()) for part in (learned, held)]
        assert counts == [500 - 500 // period, 500 // period]


def test_text_gives_the_same_as_before(tmp_path: Path) -> None:
    path = tmp_path / "rows.vw"
    labels = np.where(Y > 0, 1, -1)
    lines = [f"{y} |f a:{a} b:{b}" for y, (a, b) in zip(labels, X[:, :2].round(4).tolist(), strict=True)]
    path.write_text("\n".join(lines) + "\n")
    model, plain = (linear_model.LogisticRegression(optimizer="adaptive") for _ in range(2))
    millstream.train(model, stream.read_vw(path, bits=10), passes=2)
    for _ in range(2):
        for chunk in stream.read_vw(path, bits=10).chunks():
            plain.learn_many(chunk.X, chunk.y, chunk.w)
    assert model.to_bytes() == plain.to_bytes()
