"""The repeated game: in each round a learner decides, and then observes the loss.

Play round by round with `Game.step`, or a whole game with `play`. A matrix of linear losses passes through the
learner in blocks, with bit-identical results. The losses are stored, because regret compares with the best
decision for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import numpy as np

from millstream.errors import InvalidType, InvalidValue, MillstreamError, NumericOverflow
from millstream.evaluate.progress import Progress
from millstream.oco.learner import Learner, Terms
from millstream.oco.losses import Linear, Loss, Losses, as_loss, as_losses
from millstream.oco.models import as_learner
from millstream.oco.report import Report, Reports, make_report
from millstream.oco.sets import Set
from millstream.oco.vectors import Array, shown

__all__ = ["Game", "play"]

#: Rows per block; larger blocks take more memory without being faster.
_BLOCK = 16_384
#: Up to this round, the curves have a point for every round; later points are about 3 % apart.
_EVERY = 64


class Game:
    """A game of a learner against a sequence of losses, for any number of rounds.

    Choose it to play round by round, or to read reports during a game; `play` is shorter for a whole game.

    Parameters
    ----------
    learner
        the learner
    losses
        a matrix of linear losses, losses created by `many`, any iterable of losses, or an adversary: a function
        (round, decision) that returns the loss; None if each is passed to `step`
    comparator
        the set of the best decision in hindsight; by default that of the learner
    keep_decisions
        store the decisions of all rounds, for `Report.decisions`

    Examples
    --------
    >>> from millstream import oco
    >>> game = oco.Game(oco.OnlineGradientDescent(oco.Ball(1.0, dimension=1)))
    >>> [round(game.step(oco.SquaredDistance([x])), 3) for x in (0.5, 0.5, 0.4)]
    [0.25, 0.25, 0.16]
    >>> game.rounds, round(game.report().regret, 3)
    (3, 0.653)
    """

    def __init__(
        self,
        learner: Learner,
        losses: Any = None,
        *,
        comparator: Set | None = None,
        keep_decisions: bool = False,
    ) -> None:
        learner = as_learner(learner)
        if not isinstance(learner, Learner):
            raise InvalidType(f"oco.Game: learner must be a learner such as oco.Hedge(), got {shown(learner)}")
        if comparator is not None and not isinstance(comparator, Set):
            raise InvalidType(f"oco.Game: comparator must be a decision set, got {shown(comparator)}")
        self.learner, self.comparator, self.keep_decisions = learner, comparator, bool(keep_decisions)
        self._batch = as_losses(losses)
        self._adversary: Callable[[int, Array], Any] | None = None
        self._source: Iterator[Any] | None = None
        if self._batch is None and losses is not None:
            if callable(losses):
                self._adversary = losses
            else:
                self._source = iter(losses)
        if self._batch is not None:
            learner.prepare(self._batch.dimension)
        self._position = 0
        self._history: list[Losses | Loss] = []
        self._costs: list[Array] = []
        self._decisions: list[Array] = []
        self._marks: list[tuple[int, Terms]] = []
        self._rounds, self._next = 0, 1

    @property
    def rounds(self) -> int:
        """The number of rounds played."""
        return self._rounds

    @property
    def loss(self) -> float:
        """The total loss of the learner so far."""
        return float(sum(float(costs.sum()) for costs in self._costs))

    def step(self, loss: Any = None) -> float:
        """Play one round with the given loss, or the next loss of the game; returns the loss of the decision."""
        if loss is None:
            if self._batch is None and self._source is None and self._adversary is None:
                raise InvalidValue("oco.Game: the game has no losses: pass one to step(…)")
            before = self._rounds
            self.play(1)
            if self._rounds == before:
                raise InvalidValue(f"oco.Game: there are no more losses after {before:,} rounds")
            return float(self._costs[-1][-1])
        self._one(as_loss(loss))
        return float(self._costs[-1][-1])

    def play(self, rounds: int | None = None, progress: bool | None = False) -> Self:
        """Play a number of further rounds, or all remaining ones.

        `progress` shows a progress bar; None shows it on a terminal and in a notebook.
        """
        if self._adversary is not None and rounds is None:
            raise InvalidValue("oco.Game: an adversary has no last round: pass a number of rounds")
        if rounds is not None and (isinstance(rounds, bool) or int(rounds) != rounds or rounds < 0):
            raise InvalidValue(f"oco.Game: rounds must be an integer >= 0, got {rounds!r}")
        last = None if rounds is None else self._rounds + int(rounds)
        total = None if rounds is None else int(rounds)
        if total is None and self._batch is not None:
            total = len(self._batch) - self._position
        with Progress(progress, total, "loss per round", unit="rounds") as bar:
            self._until(last, bar)
        return self

    def _until(self, last: int | None, bar: Progress) -> None:
        begun, paid = self._rounds, 0.0

        def status(_: int) -> tuple[float | None, int, int | None, int]:
            return paid / max(self._rounds - begun, 1), 0, None, 0

        while last is None or self._rounds < last:
            if self._batch is not None and self._batch.kind is Linear:
                most = len(self._batch) - self._position
                most = min(most, _BLOCK, self._next - self._rounds, most if last is None else last - self._rounds)
                if most <= 0:
                    break
                self._block(self._batch[self._position : self._position + most])
                paid += float(self._costs[-1].sum())
                bar.count(most, status)
                continue
            loss = self._following()
            if loss is None:
                break
            self._one(loss)
            paid += float(self._costs[-1][-1])
            bar.count(1, status)

    def _following(self) -> Loss | None:
        if self._batch is not None:
            return self._batch[self._position] if self._position < len(self._batch) else None
        if self._adversary is not None:
            return as_loss(self._adversary(self._rounds + 1, self.learner.decide()))
        assert self._source is not None
        found = next(self._source, None)
        return None if found is None else as_loss(found)

    def _one(self, loss: Loss) -> None:
        if self.keep_decisions and loss.dimension is not None:
            self.learner.prepare(loss.dimension)
        w = self.learner.decide() if self.keep_decisions else None
        try:
            cost = self.learner.observe(loss)
        except MillstreamError as error:
            raise _at_round(error, self._rounds + 1) from None
        if w is not None:
            self._decisions.append(w[None])
        self._told(loss, np.array([cost]))

    def _block(self, losses: Losses) -> None:
        before = self.learner.rounds
        try:
            costs, taken = self.learner._rows(losses.rows, self.keep_decisions)
        except MillstreamError as error:
            done = self.learner.rounds - before
            raise _at_round(error, self._rounds + done + 1) from None
        if self.keep_decisions and taken is not None:
            self._decisions.append(taken)
        self._told(losses, costs)

    def _told(self, losses: Losses | Loss, costs: Array) -> None:
        self._history.append(losses)
        self._costs.append(costs)
        self._position += len(costs)
        self._rounds += len(costs)
        if self._rounds >= self._next:
            self._marks.append((self._rounds, self.learner._ready().terms()))
            self._next = self._rounds + (1 if self._rounds < _EVERY else max(1, self._rounds // 30))

    def report(self, switches: int | None = None, tolerance: float = 1e-8) -> Report:
        """Regret so far against the best fixed decision in hindsight, with the bound of the theorem.

        With `switches`, for linear losses on the simplex, the comparator is the best sequence of experts with at
        most that many switches. The default is that of `FixedShare`, and 0 for other learners.
        """
        return self._report(switches, tolerance, {})

    def _report(self, switches: int | None, tolerance: float, shared: dict[str, Any]) -> Report:
        if self._rounds == 0:
            raise InvalidValue("oco.Game: no round has been played yet")
        marks = list(self._marks)
        if not marks or marks[-1][0] != self._rounds:
            marks.append((self._rounds, self.learner._ready().terms()))
        if switches is None:
            switches = int(getattr(self.learner, "switches", 0))
        costs = np.concatenate(self._costs)
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(np.cumsum(costs)).all():
                raise NumericOverflow("oco.Game: the sum of the losses overflows")
        decisions = np.concatenate(self._decisions) if self._decisions else None
        comparator = self.comparator or self.learner._set
        comparator = comparator.of_dimension(self.learner._set.known)
        return make_report(
            self.learner, self._history, costs, decisions, marks, comparator, switches, tolerance, shared
        )

    def __repr__(self) -> str:
        return f"<game of {self.learner!r}: {self._rounds:,} rounds, loss {self.loss:.6g}>"


def _at_round(error: MillstreamError, number: int) -> MillstreamError:
    error.args = (f"round {number}: {error}", *error.args[1:])
    return error


def play(
    learner: Learner | Mapping[str, Learner],
    losses: Any,
    rounds: int | None = None,
    *,
    comparator: Set | None = None,
    switches: int | None = None,
    keep_decisions: bool = False,
    tolerance: float = 1e-8,
    progress: bool | None = None,
) -> Any:
    """Play a whole game and report its regret.

    A learner continues from its state. The bound applies only to a learner that starts with the game: call `reset`
    or `clone` first.

    Parameters
    ----------
    learner
        the learner, or several by name, each of which plays the same losses; a linear model of the package without
        intercept, such as `linear_model.LogisticRegression(intercept=False)`, is one too: see `Model`
    losses
        a matrix of linear losses, losses created by `many`, any iterable of losses, or an adversary: a function
        (round, decision) that returns the loss
    rounds
        the number of rounds; by default all
    comparator
        the set of the best decision in hindsight; by default that of the learner
    switches
        compare with the best sequence of experts with at most that many switches; by default that of `FixedShare`,
        and 0 for other learners
    keep_decisions
        store the decisions of all rounds
    tolerance
        largest relative distance of the best decision's loss from the minimum, if there is no closed form
    progress
        whether to show a progress bar; by default on a terminal and in a notebook

    Returns
    -------
    a `Report`, or `Reports` by name

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import oco
    >>> prices = np.array([[1.0, 2.0], [1.0, 0.5]] * 50)
    >>> report = oco.play(oco.OnlineNewtonStep(oco.Simplex(2)), oco.Log.many(prices))
    >>> report.best.decision.round(3).tolist(), round(report.best.loss, 3)
    ([0.5, 0.5], -5.889)
    >>> print(round(report.regret, 2), "of at most", round(report.bound.value, 2))
    1.33 of at most 5.44
    """
    options: dict[str, Any] = {"comparator": comparator, "keep_decisions": keep_decisions}
    if isinstance(learner, Mapping):
        if not learner:
            raise InvalidValue("oco.play: learner must not be empty, got {}")
        if not callable(losses) and as_losses(losses) is None and not isinstance(losses, (list, tuple)):
            losses = list(losses)
        shared: dict[str, Any] = {}
        reports = {}
        for name, each in learner.items():
            game = Game(each, losses, **options).play(rounds, progress)
            reports[name] = game._report(switches, tolerance, {} if callable(losses) else shared)
            reports[name].name = name
        return Reports(reports)
    return Game(learner, losses, **options).play(rounds, progress).report(switches, tolerance)
