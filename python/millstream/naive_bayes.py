"""Bayes with features taken as independent given the class."""

from __future__ import annotations

__all__: list[str] = []
