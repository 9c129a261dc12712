"""Weights or importances of the features of a model, as one list of numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream.drift.monitored import Monitored
from millstream.evaluate.frames import frame, number, table

__all__ = ["Weights", "weights_of"]

#: Larger models, in bytes, are not inspected: their weights as JSON would take many times the memory.
_LARGEST = 100_000_000


@dataclass(frozen=True)
class Weights:
    """Numbers by feature, largest absolute value first; each nominal value is a feature, such as `carrier=UA`.

    Examples
    --------
    >>> from millstream import evaluate, linear_model
    >>> rows = [({"x": float(i % 10), "kind": "ab"[i % 2]}, i % 10 > 4) for i in range(1000)]
    >>> result = evaluate.prequential(linear_model.LogisticRegression(), rows)
    >>> result.weights.names
    ['kind=a', 'x', 'kind=b']
    """

    names: list[str]
    values: Any
    #: Whether the sign has a meaning: towards the positive class, or towards larger numbers.
    signed: bool
    #: Description of the numbers.
    about: str

    def to_frame(self, kind: str | None = None) -> Any:
        """A frame with a row per feature."""
        return frame({"feature": self.names, "value": self.values}, kind)

    def __repr__(self) -> str:
        rows = [[name, number(float(value))] for name, value in zip(self.names[:20], self.values, strict=False)]
        rest = f"\n… and {len(self.names) - 20:,} more" if len(self.names) > 20 else ""
        return f"{self.about}\n{table(['feature', 'value'], rows)}{rest}"


def weights_of(model: Any) -> Weights | None:
    """The weights or importances of a model, or of the last step of a pipeline; None if it has none."""
    if isinstance(model, Monitored):
        return weights_of(model.model)
    try:
        if int(model.memory) > _LARGEST:
            return None
        learned, scaled = _last(model)
        found = _found(learned, scaled, getattr(model, "classes", None))
    except Exception:  # A custom model may raise any error, and a report must not fail because of it.
        return None
    if found is None or not found[0]:
        return None
    values, signed, about = found
    numbers = np.array(list(values.values()), dtype=np.float64)
    order = np.argsort(-np.abs(np.nan_to_num(numbers)), kind="stable")
    names = list(values)
    return Weights([names[place] for place in order.tolist()], numbers[order], signed, about)


def _last(model: Any) -> tuple[Any, bool]:
    """The inspected state of the learner of a model, and whether a scaler comes before it."""
    if isinstance(model, Monitored):
        return _last(model.model)
    inspect = getattr(model, "inspect", None)
    if callable(inspect):
        learned = inspect()
        scaled = "Scaler" in json.dumps(model.describe(), default=repr) if hasattr(model, "describe") else False
        if isinstance(learned, Mapping) and isinstance(learned.get("steps"), list):
            learned = learned["steps"][-1]
        return learned, scaled
    steps = getattr(model, "steps", None)
    if isinstance(steps, (list, tuple)) and steps:
        learned, scaled = _last(steps[-1])
        return learned, scaled or any("Scaler" in type(step).__name__ for step in steps)
    return getattr(model, "weights", None) and {"weights": dict(model.weights)}, False


def _found(learned: Any, scaled: bool, classes: Any) -> tuple[dict[str, float], bool, str] | None:
    if not isinstance(learned, Mapping):
        return None
    per = "(numbers: per standard deviation)" if scaled else "(numbers: per unit)"
    towards = f", towards {classes[1]}" if classes is not None and len(classes) == 2 else ""
    if isinstance(learned.get("importances"), Mapping):
        return dict(_flat(learned["importances"])), False, "importance of each feature"
    if (trees := _trees(learned)) is not None:
        return _of_trees(trees), False, "importance of each feature: merit times weight of its splits (sum 1)"
    if isinstance(learned.get("weights"), Mapping):
        return dict(_flat(learned["weights"])), True, f"weight of each feature{towards} {per}"
    members = learned.get("classes") or learned.get("members")
    if not isinstance(members, list) or not members or not all(isinstance(each, Mapping) for each in members):
        return None
    if all("weights" in each for each in members):
        return _of_classes([dict(_flat(each["weights"])) for each in members], per, towards)
    if all("features" in each for each in members):
        return _association(members), False, "fraction of each feature's variance explained by the classes"
    return None


def _trees(learned: Mapping[str, Any]) -> list[Any] | None:
    """The trees of a model: itself, or its members."""
    if isinstance(learned.get("nodes"), list):
        return [learned]
    members = learned.get("members")
    if not isinstance(members, list) or not members:
        return None
    trees = [each.get("model", each) if isinstance(each, Mapping) else None for each in members]
    every = all(isinstance(each, Mapping) and isinstance(each.get("nodes"), list) for each in trees)
    return trees if every else None


def _of_trees(trees: list[Any]) -> dict[str, float]:
    from millstream.tree.tables import importances_of_report

    sums: dict[str, float] = {}
    for each in trees:
        for name, share in importances_of_report(each).items():
            sums[name] = sums.get(name, 0.0) + share / len(trees)
    return sums


def _flat(weights: Mapping[Any, Any]) -> Iterator[tuple[str, float]]:
    for name, value in weights.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}={nominal}", float(weight)) for nominal, weight in value.items())
        else:
            yield str(name), float(value)


def _of_classes(members: list[dict[str, float]], per: str, towards: str) -> tuple[dict[str, float], bool, str]:
    names = dict.fromkeys(name for member in members for name in member)
    if len(members) == 2:
        first, second = members
        values = {name: second.get(name, 0.0) - first.get(name, 0.0) for name in names}
        return values, True, f"weight of each feature{towards} {per}"
    sizes = {name: float(np.mean([abs(member.get(name, 0.0)) for member in members])) for name in names}
    return sizes, False, f"mean size of each feature's weights over {len(members)} classes {per}"


def _association(members: list[Mapping[str, Any]]) -> dict[str, float]:
    """The correlation ratio of numbers with the class, and Cramér's V squared of nominal features."""
    names = dict.fromkeys(name for member in members for name in member["features"])
    return {str(name): _explained([member["features"].get(name) for member in members]) for name in names}


def _explained(moments: list[Any]) -> float:
    known = [each for each in moments if each]
    if known and all("mean" in each for each in known):
        counts, means, variances = (
            np.array([each[key] for each in known], dtype=np.float64) for key in ("count", "mean", "variance")
        )
        between = float(counts @ (means - counts @ means / counts.sum()) ** 2)
        total = between + float(counts @ variances)
        return between / total if total > 0 else 0.0
    values = dict.fromkeys(value for each in known for value in each.get("counts", {}))
    seen = np.array([[each["counts"].get(value, 0.0) for value in values] for each in known], dtype=np.float64)
    least = min(seen.shape) - 1
    if least < 1 or seen.sum() == 0:
        return 0.0
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / seen.sum()
    return float((((seen - expected) ** 2) / np.where(expected > 0, expected, 1.0)).sum() / seen.sum() / least)
