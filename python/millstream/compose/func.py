"""A Python function as a transformer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from millstream._echo import quoted
from millstream.base import Features, Transformer
from millstream.errors import InvalidType

__all__ = ["Func", "FuncTransformer"]


class Func(Transformer):
    """A Python function of the features, as a step of a pipeline or a component of a union.

    A plain function in `a | b` or `a + b` is converted automatically. A pipeline with a function in it runs in
    Python up to the function and natively after it.

    `save` stores the import path of a function at the top level of a module, and `millstream.load(path,
    trusted=["features.area"])` imports it again. A lambda or an inner function needs pickle.

    Parameters
    ----------
    function
        Function from a dict of features to a dict of features, or to a single value, which is then named after the
        function. It must not modify its argument.

    Examples
    --------
    >>> from millstream import compose, preprocessing
    >>> def area(x):
    ...     return x["width"] * x["height"]
    >>> compose.Func(area).transform_one({"width": 2.0, "height": 3.0})
    {'area': 6.0}
    >>> compose.Func(area) | preprocessing.StandardScaler()
    Func(area) | StandardScaler()
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        if not callable(function):
            raise InvalidType(f"compose.Func: function must be callable, got {quoted(function)}")
        self.function = function

    def transform_one(self, x: Features) -> dict[Any, Any]:
        """Apply the function to the features."""
        made = self.function(x)
        return dict(made) if isinstance(made, Mapping) else {self._called: made}

    @property
    def _called(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def __repr__(self) -> str:
        return f"Func({self._called})"


FuncTransformer = Func
