"""Detectors of change in a stream of numbers."""

from __future__ import annotations

__all__: list[str] = []
