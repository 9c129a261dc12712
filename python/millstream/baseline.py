"""The simplest predictors, which any other must beat."""

from __future__ import annotations

__all__: list[str] = []
