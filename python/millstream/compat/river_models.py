"""River estimators as millstream models. Imported by `compat.from_river` only."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from river import base as river
from river import compose as river_compose

from millstream.base import Classifier, Label, Model, Regressor, Transformer, check_example
from millstream.errors import InvalidType, InvalidValue

__all__ = ["RiverClassifier", "RiverRegressor", "RiverTransformer", "wrap"]

Self = TypeVar("Self", bound="_Wrapper")


def wrap(estimator: Any) -> Model:
    """The model for a River estimator or pipeline."""
    if isinstance(estimator, (river.MultiLabelClassifier, river.MultiTargetRegressor)):
        raise InvalidType(f"compat.from_river: model must have one target, got {type(estimator).__name__}")
    if isinstance(estimator, river.Classifier):
        return RiverClassifier(estimator)
    if isinstance(estimator, river.Regressor):
        return RiverRegressor(estimator)
    if isinstance(estimator, (river.Transformer, river.SupervisedTransformer, river_compose.TransformerUnion)):
        return RiverTransformer(estimator)
    raise InvalidType(
        f"compat.from_river: model must be a River classifier, regressor or transformer, "
        f"got {type(estimator).__name__}"
    )


class _Wrapper(Model):
    """The base class of the wrappers."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def clone(self: Self, **changes: Any) -> Self:
        """A new model with the same parameters, but for `changes` to those of the River estimator."""
        estimator = changes.pop("estimator", self.estimator)
        return type(self)(estimator.clone(changes))

    def copy(self: Self) -> Self:
        """An independent copy with the same state."""
        import copy

        return copy.deepcopy(self)

    @property
    def memory(self) -> int:
        return int(self.estimator._raw_memory_usage)

    def learn_one(self, x: Mapping[Any, Any], y: Any = None, w: float = 1.0) -> None:
        check_example(self, y, w)
        if w == 0.0:
            return
        arguments = (dict(x), y) if self.estimator._supervised else (dict(x),)
        if w == 1.0:
            self.estimator.learn_one(*arguments)
        elif _takes_weights(self.estimator):
            self.estimator.learn_one(*arguments, w=w)
        else:
            raise InvalidValue(f"{self}: this River model takes no sample weights, got {w}")

    def __repr__(self) -> str:
        return f"from_river({' '.join(repr(self.estimator).split())})"


def _takes_weights(estimator: Any) -> bool:
    last = estimator._last_step if isinstance(estimator, river_compose.Pipeline) else estimator
    parameters = inspect.signature(last.learn_one).parameters.values()
    return any(p.name == "w" or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


class RiverClassifier(_Wrapper, Classifier):
    """A classifier of River."""

    def predict_one(self, x: Mapping[Any, Any]) -> Label | None:
        return self.estimator.predict_one(dict(x))  # type: ignore[no-any-return]

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Label, float]:
        return self.estimator.predict_proba_one(dict(x))  # type: ignore[no-any-return]


class RiverRegressor(_Wrapper, Regressor):
    """A regressor of River."""

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        return float(self.estimator.predict_one(dict(x)))


class RiverTransformer(_Wrapper, Transformer):
    """A transformer of River."""

    def transform_one(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        return dict(self.estimator.transform_one(dict(x)))
