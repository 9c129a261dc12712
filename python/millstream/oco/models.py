"""Linear models of the package as learners of a game: their weights are the decisions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from millstream import _core
from millstream.errors import InvalidType, InvalidValue
from millstream.oco.learner import Engine, Learner
from millstream.oco.losses import Loss, MarginLoss
from millstream.oco.sets import Set
from millstream.oco.vectors import Array

__all__ = ["Model", "as_learner"]


class Model(Learner):
    """Wraps a linear model, such as `linear_model.LogisticRegression`, as a learner of a game.

    Its weights are the decision. A loss must be one of a prediction ⟨w, x⟩ (`Squared`, `Absolute`, `Hinge`,
    `Logistic`): the model learns its x and y with a loss of its own. `oco.play` accepts the model itself. No
    theorem gives a bound; the regret against the best weights in hindsight is exact as for other learners.

    Parameters
    ----------
    model
        the model, which learns in place; it must have no intercept, because the best fixed weights have none
    decisions
        the set of the best decision in hindsight; an integer stands for the whole space of that dimension. The
        model itself is not kept inside it.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import linear_model, oco
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> losses = oco.Logistic.many(X, np.where(X[:, 0] > X[:, 1], 1.0, -1.0))
    >>> report = oco.play(linear_model.LogisticRegression(intercept=False), losses, comparator=oco.Ball(3.0))
    >>> print(round(report.loss, 1), round(report.best.loss, 1))
    242.0 98.1
    """

    def __init__(self, model: Any, decisions: Set | int | None = None) -> None:
        if not _is_model(model) or not hasattr(type(model), "weights"):
            words = "model must be a linear model such as linear_model.LogisticRegression(intercept=False)"
            raise InvalidType(f"oco.Model: {words}, got {model!r:.80}")
        if getattr(model, "parameters", {}).get("intercept", False):
            raise InvalidValue(
                f"oco.Model: model must have no intercept, as the best decision has none: pass "
                f"{type(model).__name__}(intercept=False)"
            )
        from millstream.oco.sets import WholeSpace

        self.model: Any = model
        #: A model without experience, for `reset`.
        self._fresh: Any = self.model.clone()
        super().__init__(WholeSpace() if decisions is None else decisions)

    def reset(self) -> None:
        """Forget everything learned."""
        if getattr(self, "_engine", None) is not None:
            self.model = self._fresh.clone()
        super().reset()

    def clone(self, **changes: Any) -> Self:
        """A learner with a model that has learned nothing."""
        return type(self)(**{"model": self._fresh.clone(), "decisions": self.decisions, **changes})

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by name."""
        return {"model": self.model, "decisions": self.decisions}

    def _make(self, decisions: Set) -> Engine:
        return _ModelEngine(self.model, decisions.known)

    def __repr__(self) -> str:
        return repr(self.model)


class _ModelEngine(Engine):
    def __init__(self, model: Any, dimension: int) -> None:
        self.model = model
        self.names = list(range(dimension))
        self.classes = model.role == "classifier"

    def decision(self) -> Array:
        weights = self.model.weights
        if weights and all(isinstance(each, dict) for each in weights.values()):
            raise InvalidType(f"oco.Model: {type(self.model).__name__} has weights for each class, not one vector")
        return np.array([float(weights.get(str(name), 0.0)) for name in self.names])

    def learn(self, gradient: Array, w: Array, loss: Loss | None) -> None:
        if not isinstance(loss, MarginLoss):
            raise InvalidType(
                "oco.Model: a model learns losses of predictions: oco.Squared, Absolute, Hinge or Logistic, "
                f"got {'a linear loss' if loss is None else type(loss).__name__}"
            )
        x = dict(zip(self.names, loss.x.tolist(), strict=True))
        self.model.learn_one(x, bool(loss.y > 0.0) if self.classes else float(loss.y))


def as_learner(learner: Any) -> Any:
    """A learner: itself, or a model of the package as one."""
    return Model(learner) if _is_model(learner) else learner


def _is_model(model: Any) -> bool:
    return isinstance(model, _core.Model)
