"""Replay: stored rows are learned again with each new one."""

from __future__ import annotations

import random
from typing import Any

from millstream._answers import number_of, probabilities_of
from millstream._echo import quoted
from millstream._examples import check_example
from millstream._native import Native, NativeWrapper
from millstream._part import shown_part, unlearned_copy
from millstream._python_loop import teach
from millstream.base import Features, Label, Wrapper
from millstream.compose.members import compiles, refuse_learned
from millstream.continual.buffers import Buffer
from millstream.continual.ending import end_task
from millstream.continual.stored import StoredRows, buffer_of
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.roles import LEARNERS, REGRESSOR, one_of, role_of

__all__ = ["Replay"]


class Replay(Wrapper):
    """A model that learns stored rows again with each new one, so that it does not forget them.

    Choose it to protect a gradient-based learner from forgetting, if some rows may be stored. After each example
    the model learns `n_replay` rows drawn from the buffer, and the buffer may store the example. Learning costs
    `n_replay` + 1 times as much; the cost of prediction does not change. Learners that keep sums (naive Bayes,
    `StreamingLDA`, trees, `RLS`) do not forget and need no replay, which would count rows twice.

    Put scalers before it (`StandardScaler() | Replay(...)`): inside, they would learn stored rows again.

    A stored row that the model refuses is skipped and counted in `skipped`.

    Parameters
    ----------
    model
        Classifier or regressor: any native model or pipeline, or a Python model of your own, which is cloned.
    buffer
        Which rows are stored, and how many: `Reservoir`, or `ClassBalanced` for a classifier.
    n_replay
        Number of stored rows that are drawn for each example, without replacement; at most the size of the buffer.

    Examples
    --------
    >>> from millstream import continual, datasets, neural_network, optim
    >>> rows = sorted(datasets.Digits().take(1500), key=lambda example: example[1] // 2)
    >>> test = list(datasets.Digits())[1500:]
    >>> network = neural_network.MLPClassifier(optimizer=optim.SGD(0.001))
    >>> for model in (network.clone(), continual.Replay(network, continual.ClassBalanced(100))):
    ...     for x, y in rows:
    ...         model.learn_one(x, y)
    ...     print(round(sum(model.predict_one(x) == y for x, y in test) / len(test), 1))
    0.2
    0.9

    References
    ----------
    Ratcliff, R. (1990). Connectionist models of recognition memory. Psychological Review 97.
    Chaudhry, A. and others (2019). On tiny episodic memories in continual learning.
    """

    name = "continual.Replay"

    def __new__(cls, model: Any = None, buffer: Any = "continual.Reservoir", *others: Any, **named: Any) -> Any:
        if cls is Replay and compiles(model):
            return _NativeReplay.__new__(_NativeReplay)
        return super().__new__(cls)

    def __init__(self, model: Any, buffer: Buffer | str = "continual.Reservoir", n_replay: int = 10) -> None:
        if isinstance(model, type) or role_of(model) not in LEARNERS:
            raise InvalidType(f"{self.name}: model must be {one_of(LEARNERS)}, got {shown_part(model)}")
        refuse_learned(self.name, [model])
        self._settings = buffer_of(self.name, buffer, balanced=role_of(model) is not REGRESSOR)
        size = self._settings.size
        if isinstance(n_replay, bool) or not isinstance(n_replay, int) or n_replay < 1:
            raise InvalidValue(f"{self.name}: n_replay must be an integer >= 1, got {quoted(n_replay)}")
        if n_replay > size:
            raise InvalidValue(
                f"{self.name}: n_replay must be at most the size of the buffer, {size}, got {n_replay}: rows are "
                "drawn without replacement"
            )
        self._wrap(model)
        self.n_replay = n_replay
        self._given = {"model": model, "buffer": self._settings, "n_replay": n_replay}
        self._now = unlearned_copy(model)
        self._rows = StoredRows(self._settings, random.Random(self._settings.seed))
        self._skipped = self._learned = 0

    @classmethod
    def _revive(cls, source: Any) -> Any:
        return _NativeReplay._revive(source)

    @property
    def parameters(self) -> dict[str, Any]:
        """The given parameters."""
        return dict(self._given)

    @property
    def model(self) -> Any:
        """The model; a native one as a copy in its current state."""
        return self._now

    @property
    def buffer(self) -> Any:
        """The settings of the buffer."""
        return self._settings

    @property
    def stored(self) -> int:
        """Number of stored rows."""
        return len(self._rows.rows)

    @property
    def skipped(self) -> int:
        """Number of stored rows that the model has refused."""
        return self._skipped

    @property
    def learned(self) -> int:
        """Number of learned examples; those learned again are not counted."""
        return self._learned

    @property
    def classes(self) -> list[Label]:
        """The classes that the model has learned."""
        return list(getattr(self._now, "classes", ()))

    def end_task(self) -> bool:
        """Tell the model that a task has ended."""
        return end_task(self._now)

    def _predict_one(self, x: Features) -> Any:
        """Predict one example."""
        try:
            return number_of(self._now, x) if self.role is REGRESSOR else self._now.predict_one(x)
        except MillstreamError as error:
            raise error.by(self.name) from None

    def _predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example."""
        try:
            return probabilities_of(self._now, x)
        except MillstreamError as error:
            raise error.by(self.name) from None

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example, and some stored ones again."""
        check_example(self.name, self.role, y, w)
        if w == 0.0:
            return
        teach(self._now, x, y, w)
        self._learned += 1
        for stored, target, weight in self._rows.draw(self.n_replay):
            try:
                teach(self._now, stored, target, weight)
            except MillstreamError:
                self._skipped += 1
        self._rows.offer(dict(x), y, w)

    def inspect(self) -> Any:
        """The buffer and the model, as plain data."""
        inner = self._now.inspect() if callable(getattr(self._now, "inspect", None)) else None
        buffer = {"stored": self.stored, "seen": self._rows.seen}
        return {"buffer": buffer, "skipped": self._skipped, "model": inner}


class _NativeReplay(NativeWrapper, Replay):
    def __init__(self, model: Any, buffer: Buffer | str = "continual.Reservoir", n_replay: int = 10) -> None:
        refuse_learned("continual.Replay", [model])
        NativeWrapper.__init__(self, model=model, buffer=buffer, n_replay=n_replay)

    @classmethod
    def _revive(cls, source: Any) -> Any:
        model = cls.__new__(cls)
        model._load(source)
        model._publish()
        return model

    @property
    def model(self) -> Any:
        return self._member(0)

    @property
    def buffer(self) -> Any:
        return self.parameters["buffer"]

    @property
    def stored(self) -> int:
        return int(self._numbers()["buffer"]["stored"])

    @property
    def skipped(self) -> int:
        return int(self._numbers()["skipped"])

    def end_task(self) -> bool:
        return end_task(self)

    def inspect(self) -> Any:
        return Native.inspect(self)


_NativeReplay.__name__ = "Replay"
