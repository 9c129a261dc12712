"""Which models can be the template of keyed models."""

from __future__ import annotations

from typing import Any

from millstream import _core
from millstream._part import shown_part
from millstream.errors import InvalidType
from millstream.roles import Answer, role_of

__all__ = ["check_template", "is_native"]

_POSSIBLE = (
    "a classifier, regressor, anomaly detector or clusterer, alone or at the end of a pipeline, a forecaster or "
    "a drift detector"
)


def check_template(who: str, template: Any) -> None:
    """Refuse an object that cannot be a template, with the reason and what can."""
    if isinstance(template, type):
        raise InvalidType(
            f"{who}: template must be a model, got the class {template.__name__}: write {template.__name__}()"
        )
    if hasattr(template, "_models") and hasattr(template, "most_surprising"):
        raise InvalidType(
            f"{who}: keyed models cannot be keyed again: make one key of both, such as 'shop/sensor'"
        )
    if is_native(template) and isinstance(template, (_core.Forecaster, _core.DriftDetector)):
        return
    role = role_of(template)
    predicts = role is not None and role.answer in (Answer.CLASS, Answer.NUMBER, Answer.SCORE, Answer.CLUSTER)
    if predicts and hasattr(template, "learn_one"):
        return
    shown = shown_part(template)
    if role is not None and role.answer is Answer.FEATURES:
        raise InvalidType(
            f"{who}: a template must predict or score, got {shown}: put a transformer in a pipeline before a model"
        )
    if role is not None and role.answer is Answer.ROWS:
        raise InvalidType(
            f"{who}: a template must predict or score, got {shown}, which keeps rows: use {_POSSIBLE}"
        )
    if role is not None and role.answer is Answer.FORECAST:
        raise InvalidType(
            f"{who}: a forecaster written in Python cannot be keyed, got {shown}: use a dict of forecasters"
        )
    if getattr(template, "role", None) == "feature_drift_detector":
        raise InvalidType(
            f"{who}: a drift detector for rows cannot be keyed, got {shown}: use a dict of detectors, or "
            f"drift.Retrain around a model"
        )
    if getattr(template, "role", None) == "drift_detector":
        raise InvalidType(f"{who}: a drift detector written in Python cannot be keyed, got {shown}: use a dict")
    raise InvalidType(f"{who}: template must be a model, got {shown}: use {_POSSIBLE}")


def is_native(template: Any) -> bool:
    """True for a model whose state is in the core, and not in a Python subclass of it."""
    kinds = (_core.Model, _core.Forecaster, _core.DriftDetector)
    return isinstance(template, kinds) and type(template).__module__.startswith("millstream.")
