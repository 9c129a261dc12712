"""Test-then-train: predict, score, learn, row by row, with labels that may come late."""

from __future__ import annotations

__all__: list[str] = []
