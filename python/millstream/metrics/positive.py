"""The positive class of a metric in titles and messages."""

from __future__ import annotations

from typing import Any

from millstream._echo import plain, quoted

__all__ = ["LONGEST_LABEL", "missing_positive", "positive_class", "with_positive"]

#: Maximum length of a label in titles and tables; the middle of longer ones is left out.
LONGEST_LABEL = 40


def positive_class(metric: Any) -> Any:
    """The positive class of a metric; None if it has none. River's metrics have it as `pos_val`."""
    return getattr(metric, "positive_class", getattr(metric, "pos_val", None))


def with_positive(title: str, positive: Any, seen: bool = True) -> str:
    """The title of a metric with its positive class: `F1 (positive=True)`."""
    if positive is None:
        return title
    return f"{title} (positive={plain(positive, LONGEST_LABEL)}{'' if seen else ', never seen'})"


def missing_positive(title: str, metric: Any) -> str | None:
    """The message that `pos_val` never occurred; None if it did."""
    lacks = getattr(metric, "_lacks_positive", None)
    return (
        f"{title}: pos_val {quoted(metric.positive_class)} never occurred"
        if lacks is not None and lacks()
        else None
    )
