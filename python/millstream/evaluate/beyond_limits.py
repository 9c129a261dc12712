"""Warnings about features and values beyond the limits of a model."""

from __future__ import annotations

from typing import Any

__all__ = ["beyond_limits"]


def beyond_limits(model: Any) -> list[str]:
    """A line for dropped features, and one for values that were learned as "other"."""
    lines = []
    for count, what, why in (
        (getattr(model, "dropped", 0), "values were dropped", "the model has too many feature names"),
        (
            getattr(model, "folded", 0),
            "values were learned as 'other'",
            "a feature has too many different strings",
        ),
    ):
        if isinstance(count, int) and count:
            lines.append(f"{count:,} {what}, because {why}: see preprocessing.Guard")
    return lines
