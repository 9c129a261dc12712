"""A model with a monitor beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream._display import held_by
from millstream._python_loop import restore
from millstream.base import Features, Wrapper

if TYPE_CHECKING:
    from millstream.drift.monitor import Monitor

__all__ = ["Monitored", "monitor_of"]


class Monitored(Wrapper):
    """A model with a monitor, which receives each example before it is learned."""

    def __init__(self, model: Any, monitor: Monitor) -> None:
        self.model, self.monitor = model, monitor
        self._wrap(model)

    @property
    def memory(self) -> int:
        """Memory of the model and the monitor, in bytes."""
        return held_by(self.model) + self.monitor.memory

    def _predict_one(self, x: Features) -> Any:
        """Predict one example."""
        return self.model.predict_one(x)

    def _predict_proba_one(self, x: Features) -> Any:
        """The probability of each class for one example."""
        return self.model.predict_proba_one(x)

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example, after the monitor has received it."""
        self.monitor.step_one(self.model, x, y, w)

    def _return_to(self, before: Monitored) -> None:
        # In place: the caller holds references to both.
        restore(self.model, before.model)
        self.monitor.__dict__.update(before.monitor.__dict__)

    def __repr__(self) -> str:
        return f"{self.monitor._code()}.beside({self.model!r})"


def monitor_of(model: Any) -> Monitor | None:
    """The monitor beside a model, or beside the last step of a pipeline; None if there is none."""
    if isinstance(model, Monitored):
        return model.monitor
    steps = getattr(model, "steps", None)
    return monitor_of(steps[-1]) if isinstance(steps, (list, tuple)) and steps else None
