"""The best constant prediction in hindsight, which a useful model must beat, and the base rates of the classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream._echo import plain
from millstream.errors import MillstreamError
from millstream.evaluate.frames import number
from millstream.metrics.positive import LONGEST_LABEL, positive_class

if TYPE_CHECKING:
    from millstream.evaluate.result import Result

__all__ = ["RARE", "base_rates", "constant_scores", "percent", "rare_class", "target_line"]

#: A class with a smaller fraction of the rows is rare: accuracy says little about it.
RARE = 0.1

#: Number of classes of which each is tried as the constant prediction.
_CLASSES_TRIED = 10
#: Number of quantiles of a numeric target that are tried.
_QUANTILES_TRIED = 19
#: Number of classes that are named.
_NAMED = 4

#: Metrics whose value depends on the order of the rows, not only on how often each class occurs.
_ORDERED = ("metrics.Rolling", "metrics.Fading", "metrics.KappaTemporal")


def base_rates(result: Result) -> dict[Any, float]:
    """The fraction of the scored rows by class, most frequent first; empty without a confusion matrix."""
    if result.confusion is None or result.clusters is not None:
        return {}
    counts = np.asarray(result.confusion.matrix).sum(axis=1)
    total = float(counts.sum())
    if not total > 0:
        return {}
    order = np.argsort(-counts, kind="stable").tolist()
    return {result.confusion.labels[place]: float(counts[place]) / total for place in order if counts[place]}


def constant_scores(result: Result) -> dict[str, float]:
    """The score of the best constant prediction by metric name; without metrics for which it is not defined."""
    if result.clusters is not None:
        return {}
    rates = base_rates(result)
    found = {}
    for name, metric in result.metrics.items():
        if getattr(metric, "name", None) in (None, *_ORDERED):
            continue
        try:
            if rates:
                value = _best_class(metric, rates)
            elif result.residuals is not None and len(result.residuals.truth):
                value = _best_number(metric, result.residuals.truth)
            else:
                continue
        except (MillstreamError, AttributeError, TypeError):
            # A metric of the user, or one that is not defined for so many classes.
            continue
        if math.isfinite(value):
            # The mean has an R2 of 0, up to rounding.
            found[name] = value if abs(value) > 1e-12 else 0.0
    return found


def _best_class(metric: Any, rates: dict[Any, float]) -> float:
    labels, shares = list(rates), np.array(list(rates.values()))
    if metric._wants_probabilities():
        fresh = metric.clone()
        fresh.update_many(labels, [rates] * len(labels), shares)
        return float(fresh.get())
    tried: list[Any] = labels[:_CLASSES_TRIED]
    positive = positive_class(metric)
    tried += [label for label in labels[_CLASSES_TRIED:] if label == positive]
    return _best(metric, [(labels, [label] * len(labels), shares) for label in tried])


def _best_number(metric: Any, truths: Any) -> float:
    levels = np.arange(1, _QUANTILES_TRIED + 1) / (_QUANTILES_TRIED + 1)
    with np.errstate(over="ignore"):
        mean = float(truths.mean())
    tried = [mean, *np.quantile(truths, levels).tolist()]
    return _best(metric, [(truths, np.full(len(truths), value), None) for value in tried])


def _best(metric: Any, tried: Sequence[tuple[Any, Any, Any]]) -> float:
    scores = []
    for truths, predicted, weights in tried:
        fresh = metric.clone()
        fresh.update_many(truths, predicted, weights)
        scores.append(float(fresh.get()))
    return max(scores) if metric.bigger_is_better else min(scores)


def rare_class(result: Result) -> tuple[Any, float] | None:
    """The rarer of two classes and its fraction, if that is below 10 %."""
    rates = base_rates(result)
    if len(rates) != 2:
        return None
    label, rate = list(rates.items())[-1]
    return (label, rate) if rate < RARE else None


def target_line(result: Result) -> str:
    """The base rates of the classes, or mean and spread of the numbers, of the scored rows; empty if unknown."""
    rates = base_rates(result)
    if rates:
        shown = [f"{plain(label, LONGEST_LABEL)} {percent(rate)}" for label, rate in list(rates.items())[:_NAMED]]
        more = f", … ({len(rates):,} classes)" if len(rates) > _NAMED else ""
        return f"base rate: {', '.join(shown)}{more}"
    if result.residuals is None or not len(result.residuals.truth):
        return ""
    truths = result.residuals.truth
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = float(truths.mean()), float(truths.std())
    return f"target: mean {number(mean)}, standard deviation {number(deviation)}"


def percent(fraction: float) -> str:
    """A fraction in percent, with two significant digits at the ends."""
    if 0 < fraction < 0.001:
        return "< 0.1 %"
    if 0.999 < fraction < 1:
        return "> 99.9 %"
    return f"{100 * fraction:.1f} %" if min(fraction, 1 - fraction) < 0.1 else f"{100 * fraction:.0f} %"
