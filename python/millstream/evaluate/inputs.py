"""The models and metrics of an evaluation by name, from all accepted forms."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Mapping
from typing import Any

from millstream import _core
from millstream._echo import quoted
from millstream.drift.monitored import Monitored
from millstream.errors import InvalidType, InvalidValue
from millstream.registry import nearest
from millstream.roles import EVALUATED, Role, one_of, role_named, role_of

__all__ = ["check_without_labels", "chosen_metrics", "common_role", "named_models"]


def named_models(model: Any) -> tuple[dict[str, Any], bool]:
    """The models by name, and whether several were given."""
    model = _converted(model)
    several = isinstance(model, (Mapping, list, tuple))
    if isinstance(model, Mapping):
        models = {str(name): _converted(each) for name, each in model.items()}
    elif several:
        models = {}
        for each in map(_converted, model):
            models[_own_name(name_of(each), models)] = each
    else:
        models = {name_of(model): model}
    if not models:
        raise InvalidValue("there is no model to evaluate")
    if len({id(each) for each in models.values()}) != len(models):
        raise InvalidValue("duplicate model: models learn in place, so pass a clone() of it")
    return models, several


def _converted(model: Any) -> Any:
    """A model of River as one of millstream. Some of them are mappings or lists, but not of models by name.

    Forecasters have the same verbs there, so that they need no conversion.
    """
    if type(model).__module__.partition(".")[0] != "river":
        return model
    # Every pipeline there has the verb; what it forecasts with is its last step.
    steps = list(getattr(model, "steps", {}).values())
    if hasattr(steps[-1] if steps else model, "forecast"):
        return model
    from millstream.compat import from_river

    return from_river(model)


def _own_name(title: str, taken: Container[str]) -> str:
    """A title, with a number appended if it is taken."""
    numbers = itertools.chain([""], (f" {number}" for number in itertools.count(2)))
    return next(title + number for number in numbers if title + number not in taken)


def name_of(model: Any) -> str:
    """A short name of a model: `StandardScaler | LogisticRegression`."""
    if isinstance(model, _core.Model):
        title = model._title()
        return title if " | " in title else title.rpartition(".")[2]
    if isinstance(model, Monitored):
        return f"Monitored({name_of(model.model)})"
    steps = getattr(model, "steps", None)
    if isinstance(steps, (list, tuple)) and steps:
        return " | ".join(name_of(step) for step in steps)
    return type(model).__name__


def common_role(models: Mapping[str, Any]) -> Role:
    """The common role of all models."""
    found = {name: role_of(model) if hasattr(model, "role") else None for name, model in models.items()}
    for name, role in found.items():
        if role not in EVALUATED:
            hint = "; compat.from_river converts a River model" if role is None else f", which is {role.phrase}"
            raise InvalidType(f"evaluate.prequential: a model must be {one_of(EVALUATED)}, got {name}{hint}")
    if len(set(found.values())) > 1:
        raise InvalidType(f"evaluate.prequential: models must have the same role, got {found}")
    return role_named(str(next(iter(found.values()))))


def chosen_metrics(given: Any, role: Role) -> dict[str, Any]:
    """Metrics by name."""
    from millstream import metrics

    if given is None:
        given = role.metrics
    if isinstance(given, Mapping):
        return {str(name): _made(metric, metrics) for name, metric in given.items()}
    # River's collections of metrics are lists too.
    if isinstance(given, (str, type)) or (not isinstance(given, (list, tuple)) and not _is_collection(given)):
        given = [given]
    chosen: dict[str, Any] = {}
    for each in given:
        metric = _made(each, metrics)
        chosen[_own_name(metric_title(metric), chosen)] = metric
    if not chosen:
        raise InvalidValue("evaluate.prequential: pass at least one metric")
    return chosen


def check_without_labels(metrics: Mapping[str, Any], role: Role) -> None:
    """Refuse metrics that compare predictions with labels: the stream has none."""
    for name, metric in metrics.items():
        inner = metric
        while callable(getattr(getattr(inner, "metric", None), "update", None)):
            inner = inner.metric
        if isinstance(inner, _core.Metric) and type(inner).__name__ not in role.metrics_without_labels:
            others = " or ".join(role.metrics_without_labels)
            raise InvalidType(f"{name}: compares predictions with labels, but the stream has none; use {others}")


def _is_collection(given: Any) -> bool:
    return isinstance(given, Iterable) and not hasattr(given, "update")


def _made(metric: Any, module: Any) -> Any:
    if isinstance(metric, str):
        name = metric.removeprefix("metrics.")
        found = getattr(module, name, None) if name in getattr(module, "__all__", ()) else None
        if found is None:
            raise InvalidValue(f"metrics: no metric named {quoted(metric)}{nearest(name, module.__all__)}")
        metric = found
    if isinstance(metric, type):
        metric = metric()
    if not callable(getattr(metric, "update", None)) or not callable(getattr(metric, "get", None)):
        raise InvalidType(f"a metric must have update(y_true, y_pred) and get(), got {quoted(metric)}")
    return metric


def metric_title(metric: Any) -> str:
    """`Accuracy`, or `Rolling(Accuracy)` for a metric that wraps another."""
    inner = getattr(metric, "metric", None)
    name = type(metric).__name__
    return f"{name}({metric_title(inner)})" if callable(getattr(inner, "update", None)) else name
