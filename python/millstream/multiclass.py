"""Learners of many classes made of learners of two."""

from __future__ import annotations

__all__: list[str] = []
