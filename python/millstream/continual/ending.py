"""The end of a task."""

from __future__ import annotations

from typing import Any

from millstream import _core
from millstream._part import shown_part
from millstream.errors import InvalidType
from millstream.roles import role_of

__all__ = ["end_task"]


def end_task(model: Any) -> bool:
    """Signal the end of a task to a model; returns whether the model uses the signal.

    `EWC`, `SI` and `LwF` then protect what they have learned so far, and `GDumb` trains its model. The call passes
    through pipelines and `Replay`. A model of your own may define `end_task()`; other models ignore the call.

    Examples
    --------
    >>> from millstream import continual, linear_model, preprocessing
    >>> model = preprocessing.StandardScaler() | continual.EWC()
    >>> for step in range(20):
    ...     model.learn_one({"x": step % 7}, step % 2)
    >>> continual.end_task(model)
    True
    >>> continual.end_task(linear_model.LogisticRegression())
    False
    """
    if isinstance(model, _core.Model):
        ends = model._ends_tasks()
        if ends:
            model._end_task()
        return ends
    if isinstance(model, type) or role_of(model) is None:
        raise InvalidType(f"continual.end_task: model must be a model, got {shown_part(model)}")
    own = getattr(model, "end_task", None)
    if callable(own):
        ended = own()
        return True if ended is None else bool(ended)
    # A pipeline with steps written in Python.
    steps = getattr(model, "steps", None)
    inner = list(steps.values()) if isinstance(steps, dict) else list(steps or ())
    # Every step, not only the first to which it means something.
    ended = [end_task(step) for step in inner if role_of(step) is not None]
    return any(ended)
