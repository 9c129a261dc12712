"""The incremental gradient method: passes over finite data, one example at a time."""

from __future__ import annotations

import copy
import math
import time
from typing import Any

import numpy as np

from millstream import _core, _frames
from millstream._echo import quoted
from millstream._python_loop import restore, teach, title_of
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.evaluate.interrupts import Interrupts
from millstream.evaluate.progress import Progress
from millstream.roles import LEARNERS, one_of, role_of
from millstream.stream.chunk import Chunk
from millstream.stream.derived import batches
from millstream.training.data import ORDERS, STRETCH, Data, data_of
from millstream.training.result import Training
from millstream.training.risk import Risk, table_of

__all__ = ["train"]


def train(
    model: Any,
    data: Any,
    passes: int = 1,
    order: str = "cyclic",
    seed: int | None = None,
    *,
    batch_size: int | None = None,
    metric: Any = None,
    validation: Any = None,
    holdout: float | None = None,
    tolerance: float | None = None,
    patience: int = 1,
    keep_best: bool | None = None,
    buffer: int = 100_000,
    progress: bool | None = None,
    on_interrupt: str = "return",
) -> Training:
    """Train a model on finite data in several passes and record its empirical risk.

    This is the incremental gradient method: the model learns one example after the other and repeats the data in
    each pass. With a decreasing learning rate (such as `optim.InverseScaling`) it converges to the minimum of the
    mean loss over the data; with a constant rate it fluctuates around it. For a stream, use `learn_many` or
    `evaluate.prequential` instead: it is learned in one pass, and the unbiased score is that of predictions made
    before learning. The risk on training data is optimistic; pass `validation` or `holdout` for an independent
    estimate.

    Parameters
    ----------
    model
        A classifier or a regressor. It is trained in place and continues from its current state.
    data
        `(X, y)` or `(X, y, w)` with a matrix, a frame or dicts (y may be the name of a column), a `Stream`, or
        an iterable of examples `(x, y)`, which is kept in memory. A stream is read again in each pass, unless its
        parsed rows fit in 128 MiB.
    passes
        Maximum number of passes over the data.
    order
        "cyclic": the order of the data, the same in each pass. "shuffle": a new permutation in each pass; for a
        stream, within `buffer` examples. "random": as many examples as the data has, drawn with replacement.
    seed
        Random seed of the order. The same seed gives a bit-identical result; None draws a new one.
    batch_size
        None: one step per example, as in `learn_one`. A number: one step per batch of that many examples, along
        the mean of their gradients at the weights before the step (the last batch of a pass may be smaller). Steps
        are fewer and less noisy, and with the same learning rate the weights move less in a pass. Only for
        learners that follow a gradient: `LinearRegression`, `LogisticRegression`, `SoftmaxRegression`, `SVM` and
        `LMS` of `linear_model`, and `MLPClassifier` and `MLPRegressor` of `neural_network`, alone or at the end of
        a pipeline, whose transformers still learn example by example. A batch of 1 is the same as None.
    metric
        Metric to compute after each pass instead of the model's own loss (hinge loss for margin-based learners,
        squared error or error rate for learners without a loss).
    validation
        Data on which to measure the risk, instead of `data`.
    holdout
        Fraction of `data`, at most 0.5, that is not learned and on which the risk is measured: of every
        `1 / holdout` examples (rounded) the last one, in the order of the data and the same in each pass. Training
        then stops when the risk has not fallen for `patience` passes.
    tolerance
        Stop when the risk has not improved by more than this for `patience` passes. None is 0 with `holdout`, and
        all passes without.
    patience
        Number of passes without improvement before stopping.
    keep_best
        Whether to restore the model with the best risk; None for whether there is a `holdout`.
    buffer
        Number of examples of a stream kept in memory for shuffling or drawing.
    progress
        Whether to show progress on standard error; None shows it on a terminal.
    on_interrupt
        On Ctrl-C: "return" the result so far, keeping what was learned, or "raise" KeyboardInterrupt.

    Returns
    -------
    Training
        The history of the risk and the reason for stopping.

    Examples
    --------
    >>> import numpy as np
    >>> import millstream
    >>> from millstream import linear_model, optim
    >>> X = np.random.default_rng(1).normal(size=(500, 3))
    >>> y = X @ [1.0, -2.0, 0.5]
    >>> model = linear_model.LinearRegression(optimizer=optim.SGD(0.01))
    >>> result = millstream.train(model, (X, y), passes=20, order="shuffle", seed=1, tolerance=1e-9)
    >>> result.stopped, result.passes, result.risk < 1e-8
    ('tolerance', 3, True)

    With a hold-out, training stops when the model starts to overfit, here on targets that are noise:

    >>> model = linear_model.LinearRegression(optimizer=optim.SGD(0.01))
    >>> noise = np.random.default_rng(2).normal(size=500)
    >>> result = millstream.train(model, (X, noise), passes=20, order="shuffle", seed=1, holdout=0.1, patience=3)
    >>> result.stopped, result.passes < 20, result.kept_best
    ('tolerance', True, True)

    References
    ----------
    Bertsekas, D. P. (2011). Incremental gradient, subgradient, and proximal methods for convex optimization: a
    survey. Optimization for Machine Learning, MIT Press.
    Bottou, L., Curtis, F. E. and Nocedal, J. (2018). Optimization methods for large-scale machine learning. SIAM
    Review 60.
    """
    _check(model, passes, order, seed, batch_size, tolerance, patience, buffer, on_interrupt)
    period = _period(holdout, validation)
    examples = data_of(data, int(passes), order, int(buffer))
    judged = examples if validation is None else data_of(validation, int(passes), "cyclic", int(buffer))
    if period is not None:
        examples, judged = examples.split(period)
        tolerance = 0.0 if tolerance is None else tolerance
    keep_best = holdout is not None if keep_best is None else keep_best
    risk = Risk(model, metric)
    total = None if examples.size is None else examples.size * int(passes)
    with Progress(progress, total, risk.name) as bar, Interrupts(on_interrupt == "return") as interrupts:
        run = Run(model, risk, batch_size, bar, interrupts)
        try:
            stopped = run.go(examples, judged, int(passes), order, seed, tolerance, int(patience), keep_best)
        except KeyboardInterrupt:
            if on_interrupt == "raise":
                raise
            stopped = "interrupted"
    kept = keep_best and run.best is not None
    if kept and run.best_pass < len(run.history["pass"]):
        restore(model, run.best)
    # The name of the risk is known by now.
    history = {risk.name if name == "risk" else name: column for name, column in run.history.items()}
    settings = {"passes": int(passes), "order": order, "seed": seed, "batch_size": batch_size}
    settings |= {"holdout": holdout, "tolerance": tolerance, "patience": patience, "buffer": buffer}
    return Training(model, risk.name, history, stopped, run.best_pass, kept, settings)


class Run:
    """The state of one training run."""

    def __init__(
        self, model: Any, risk: Risk, batch_size: int | None, bar: Progress, interrupts: Interrupts
    ) -> None:
        self.model, self.risk, self.batch_size = model, risk, batch_size
        self.bar, self.interrupts = bar, interrupts
        self.history: dict[str, list[Any]] = {"pass": [], "risk": [], "examples": [], "seconds": []}
        self.learned, self.begun = 0, time.perf_counter()
        self.best: Any = None
        self.best_pass, self.least = 0, risk.worst

    def go(
        self,
        data: Data,
        judged: Data,
        passes: int,
        order: str,
        seed: int | None,
        tolerance: float | None,
        patience: int,
        keep_best: bool,
    ) -> str:
        """Run the passes and return the reason for stopping."""
        random = np.random.default_rng(seed)
        last, waited = self.risk.worst, 0
        for number in range(1, passes + 1):
            self._pass(data, order, random)
            value = self.risk.of(self.model, judged, self._look)
            self.history["pass"].append(number)
            self.history["risk"].append(value)
            self.history["examples"].append(self.learned)
            self.history["seconds"].append(time.perf_counter() - self.begun)
            if self.risk.better(value, self.least):
                self.least, self.best_pass = value, number
                self.best = copy.deepcopy(self.model) if keep_best else None
            if tolerance is None:
                continue
            # Compared with the best earlier pass, so that many small improvements still count.
            improved = self.risk.better(value, last, tolerance)
            waited = 0 if improved else waited + 1
            last = value if improved else last
            if waited >= patience:
                return "tolerance"
        return "passes"

    def _pass(self, data: Data, order: str, random: np.random.Generator) -> None:
        chunks = data.chunks(order, random)
        if self.batch_size is not None:
            # How the data is cut into chunks must not cut a batch.
            chunks = batches(chunks, self.batch_size * max(1, STRETCH // self.batch_size))
        before = self.learned
        for chunk in self.interrupts.reading(chunks):
            with self.interrupts.allowed():
                try:
                    self._learn(chunk)
                except MillstreamError as error:
                    if error.row is not None:
                        error.add_note(
                            f"in pass {len(self.history['pass']) + 1}, after {self.learned - before:,} rows"
                        )
                    raise
            self.learned += len(chunk)
            latest = self.history["risk"][-1] if self.history["risk"] else None
            self.bar.tick(len(chunk), (latest, 0, None, 0))

    def _learn(self, chunk: Chunk) -> None:
        model = self.model
        if self.batch_size is not None:
            columns = _frames.targets(chunk.y), _frames.weights(chunk.w)
            model._learn_batches(table_of(chunk.X), *columns, self.batch_size)
        elif isinstance(model, _core.Model):
            many: Any = model
            many.learn_many(chunk.X, chunk.y, chunk.w, on_error="stop")
        else:
            ws = [1.0] * len(chunk) if chunk.w is None else np.asarray(chunk.w).tolist()
            for (x, y), w in zip(chunk.examples(), ws, strict=True):
                teach(model, x, y, w)

    def _look(self) -> None:
        with self.interrupts.allowed():
            pass


def _period(holdout: Any, validation: Any) -> int | None:
    """One in how many examples is held out; None for no hold-out."""
    if holdout is None:
        return None
    if validation is not None:
        raise InvalidValue("train: give validation or holdout, not both")
    number = isinstance(holdout, (int, float, np.number)) and not isinstance(holdout, bool)
    if not (number and 0 < holdout <= 0.5):
        raise InvalidValue(f"train: holdout must be a fraction in (0, 0.5], got {quoted(holdout)}")
    return round(1.0 / float(holdout))


def _check(
    model: Any,
    passes: Any,
    order: Any,
    seed: Any,
    batch_size: Any,
    tolerance: Any,
    patience: Any,
    buffer: Any,
    on_interrupt: Any,
) -> None:
    if role_of(model) not in LEARNERS:
        raise InvalidType(f"train: a model is {one_of(LEARNERS)}, got {type(model).__name__}")
    for what, value, least in (
        ("passes", passes, 1),
        ("batch_size", batch_size, 1),
        ("patience", patience, 1),
        ("buffer", buffer, 1),
        ("seed", seed, 0),
    ):
        missing = value is None and what in ("batch_size", "seed")
        if not missing and (
            isinstance(value, bool) or not isinstance(value, (int, np.integer)) or int(value) < least
        ):
            raise InvalidValue(f"train: {what} must be an integer >= {least}, got {quoted(value)}")
    if order not in ORDERS:
        raise InvalidValue(f"train: order must be one of {', '.join(ORDERS)}, got {quoted(order)}")
    if on_interrupt not in ("raise", "return"):
        raise InvalidValue(f"train: on_interrupt must be 'raise' or 'return', got {quoted(on_interrupt)}")
    if tolerance is not None and not (
        isinstance(tolerance, (int, float, np.number)) and math.isfinite(tolerance) and tolerance >= 0
    ):
        raise InvalidValue(f"train: tolerance must be a number, at least 0, got {quoted(tolerance)}")
    if batch_size is not None and not isinstance(model, _core.Model):
        raise InvalidType(
            f"train: {title_of(model)} learns from one example at a time; mini-batches are for native "
            "learners that follow a gradient, such as linear_model.LogisticRegression or "
            "neural_network.MLPClassifier, also at the end of a pipeline"
        )
