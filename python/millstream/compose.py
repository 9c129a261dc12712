"""Models made of models: pipelines, unions, selections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from millstream.base import Model, Native
from millstream.errors import InvalidType

__all__ = ["Pipeline"]


class Pipeline(Model):
    """Steps one after the other: transformers, then perhaps a learner. `a | b | c` makes one.

    To learn, each transformer first learns the row and then transforms it for the next step.

    Parameters
    ----------
    steps
        The steps in order; all but the last are transformers.
    """

    name = "compose.Pipeline"

    def __new__(cls, steps: Any = (), *args: Any, **kwargs: Any) -> Any:
        if cls is Pipeline:
            native = all(isinstance(step, (Native, dict, str)) for step in flatten(steps))
            kind = _NativePipeline if native else _PythonPipeline
            return kind.__new__(kind)
        return super().__new__(cls)

    @classmethod
    def _revive(cls, data: bytes) -> Any:
        return _NativePipeline._revive(data)


def flatten(steps: Any) -> list[Any]:
    """The steps of nested pipelines, in a row."""
    if isinstance(steps, (str, Mapping)) or not isinstance(steps, Iterable):
        raise InvalidType(f"compose.Pipeline: steps must be a list of parts, got {steps!r:.60}")
    flat: list[Any] = []
    for step in steps:
        flat.extend(flatten(step.steps) if isinstance(step, Pipeline) else [step])
    return flat


class _NativePipeline(Native, Pipeline):
    def __init__(self, steps: Any) -> None:
        super().__init__(steps=flatten(steps))


class _PythonPipeline(Pipeline):
    def __init__(self, steps: Any) -> None:
        self.steps = flatten(steps)
