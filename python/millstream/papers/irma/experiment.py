"""The experiments of the paper, with the learners of this package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.polynomial import legendre

from millstream import basis, linear_model
from millstream.errors import InvalidValue
from millstream.evaluate.progress import Progress
from millstream.papers.irma.published import EXAMPLES, NOISE, ORDERS, REGION, TABLE, WIDER_REGION
from millstream.papers.irma.result import Cell, Curve, Reproduction, Snapshot

__all__ = ["draw", "models", "reproduce", "target"]

#: The points at which the error to the truth is measured.
_TEST = np.linspace(*REGION, 1000)
_LENGTH = max(EXAMPLES)
#: The order of the polynomials of Figure 1.
_ORDER = 6


def target(x: Any) -> Any:
    """The truth, (15)."""
    return x * np.exp(-np.square(x))


def draw(sequences: int, seed: int) -> tuple[Any, Any]:
    """Inputs and targets, with a row per sequence."""
    random = np.random.default_rng(seed)
    x = random.uniform(*REGION, (sequences, _LENGTH))
    return x, target(x) + random.uniform(-NOISE, NOISE, x.shape)


def models(order: int = _ORDER, bounds: tuple[float, float] = REGION) -> dict[str, Any]:
    """The learners of Figure 1, which learn from x, and others that learn from orthonormal polynomials of x."""
    descent = linear_model.LMS(learning_rate=1.0, normalized=True, intercept=False)
    squares = linear_model.RLS(l2=1.0, forgetting=0.9, intercept=False)
    powers = basis.Polynomial(order=order, bounds=REGION)
    return {
        "GD": powers.clone() | descent.clone(),
        "RLS": powers.clone() | squares.clone(),
        "IRMA": basis.Polynomial(order=order, bounds=bounds) | linear_model.IRMA(),
        "GD, orthonormal": descent,
        "RLS, orthonormal": squares,
        "RLS, orthonormal, no forgetting": squares.clone(forgetting=1.0),
    }


def reproduce(
    *,
    sequences: int = 1000,
    runs: int = 500,
    seed: int = 1,
    bounds: tuple[float, float] = REGION,
    progress: bool | None = None,
) -> Reproduction:
    """Reproduce Table I and Figures 1 and 2.

    Parameters
    ----------
    sequences
        How many sequences of 150 examples Table I is the mean of.
    runs
        The same for Figure 1.
    seed
        The seed of all that is drawn.
    bounds
        The region that IRMA integrates over; it holds [0, 3].
    progress
        Whether to show how far it is; None on a terminal only.

    Examples
    --------
    >>> from millstream.papers import irma
    >>> result = irma.reproduce(sequences=200, runs=50, progress=False)
    >>> cell = result.cell(order=6, examples=150, learning="incremental")
    >>> f"{cell.mean:.1e}, in the paper {cell.paper_mean:.1e}"
    '1.0e-04, in the paper 9.4e-05'
    """
    for name, count in (("sequences", sequences), ("runs", runs)):
        if count < 2:
            raise InvalidValue(f"papers.irma: {name} must be at least 2, got {count}")
    low, high = bounds
    if not (low <= REGION[0] and REGION[1] <= high):
        raise InvalidValue(f"papers.irma: bounds must hold the inputs, [0, 3], got [{low}, {high}]")
    x, y = draw(sequences, seed)
    learners = models(bounds=bounds)
    total = 2 * len(ORDERS) * sequences + len(learners) * runs
    with _counted(progress, total) as count:
        errors = {
            region: {order: _incremental(x, y, order, region, count) for order in ORDERS}
            for region in dict.fromkeys((bounds, WIDER_REGION))
        }
        curves = [
            Curve(name, *_cumulative(model, *draw(runs, seed + 1), "orthonormal" in name, count))
            for name, model in learners.items()
        ]
    curves.append(Curve("to say 0", *_summary(np.cumsum(np.square(draw(runs, seed + 1)[1]), axis=1))))
    batch = {order: {n: _squared_errors(_fitted(x, y, order, n)) for n in EXAMPLES} for order in ORDERS}
    table = [
        Cell.of(order, n, learning, found[order][n], TABLE[n, learning, order])
        for n in EXAMPLES
        for learning, found in (("incremental", errors[bounds]), ("batch", batch))
        for order in ORDERS
    ]
    wider = [
        Cell.of(order, n, "incremental", errors[WIDER_REGION][order][n], TABLE[n, "incremental", order])
        for n in EXAMPLES
        for order in ORDERS
    ]
    return Reproduction(
        table=table,
        wider=wider,
        curves=curves,
        snapshots=_snapshots(x[0], y[0], bounds),
        settings={"sequences": sequences, "runs": runs, "seed": seed, "bounds": list(bounds)},
    )


@contextmanager
def _counted(progress: bool | None, total: int) -> Iterator[Any]:
    """Progress display of the learned examples."""
    with Progress(progress, total * _LENGTH, "") as shown:
        yield lambda: shown.tick(_LENGTH, (None, 0, None, 0))


def _incremental(x: Any, y: Any, order: int, bounds: tuple[float, float], count: Any) -> dict[int, Any]:
    """The mean squared error to the truth of each sequence, after a number of examples."""
    fresh: Any = basis.Polynomial(order=order, bounds=bounds) | linear_model.IRMA()
    said = {n: np.empty((len(x), len(_TEST))) for n in EXAMPLES}
    for place in range(len(x)):
        model, start = fresh.copy(), 0
        for n in EXAMPLES:
            model.learn_many(x[place, start:n, None], y[place, start:n])
            said[n][place] = model.predict_many(_TEST[:, None])
            start = n
        count()
    return {n: _squared_errors(rows) for n, rows in said.items()}


def _squared_errors(said: Any) -> Any:
    return np.square(said - target(_TEST)).mean(axis=1)


def _cumulative(fresh: Any, x: Any, y: Any, orthonormal: bool, count: Any) -> tuple[Any, Any, Any]:
    """Mean, standard deviation and median of the cumulative loss after each example."""
    losses = np.empty(x.shape)
    features = _orthonormal(x, _ORDER) if orthonormal else x[:, :, None]
    for place in range(len(x)):
        said = fresh.copy().step_many(features[place], y[place])
        losses[place] = np.cumsum(np.square(said - y[place]))
        count()
    return _summary(losses)


def _summary(losses: Any) -> tuple[Any, Any, Any]:
    return losses.mean(axis=0), losses.std(axis=0, ddof=1), np.median(losses, axis=0)


def _orthonormal(x: Any, order: int) -> Any:
    low, high = REGION
    scales = np.sqrt((2 * np.arange(order + 1) + 1) / (high - low))
    return legendre.legvander((2 * x - low - high) / (high - low), order) * scales


def _fitted(x: Any, y: Any, order: int, n: int) -> Any:
    """Predictions of the least squares fit to the first n examples at the test points, for each sequence.

    By QR of orthonormal polynomials, which the powers of x of the paper's fit are to rounding. Where parameters
    are left free it is the function of least norm.
    """
    phi, y = _orthonormal(x[:, :n], order), y[:, :n, None]
    if n > order:
        q, r = np.linalg.qr(phi)
        weights = np.linalg.solve(r, q.transpose(0, 2, 1) @ y)
    else:
        q, r = np.linalg.qr(phi.transpose(0, 2, 1))
        weights = q @ np.linalg.solve(r.transpose(0, 2, 1), y)
    return (_orthonormal(_TEST, order) @ weights)[:, :, 0]


def _snapshots(x: Any, y: Any, bounds: tuple[float, float]) -> list[Snapshot]:
    """The panels of Figure 2, for one sequence."""
    found = []
    for order in ORDERS:
        model: Any = basis.Polynomial(order=order, bounds=bounds) | linear_model.IRMA()
        start = 0
        for n in EXAMPLES:
            model.learn_many(x[start:n, None], y[start:n])
            said = model.predict_many(_TEST[:, None])
            found.append(Snapshot(order, n, "incremental", _TEST, target(_TEST), said, x[:n], y[:n]))
            start = n
        said = _fitted(x[None], y[None], order, _LENGTH)[0]
        found.append(Snapshot(order, _LENGTH, "batch", _TEST, target(_TEST), said, x, y))
    return found
