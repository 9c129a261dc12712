"""How good predictions are: functions of weighted sums, plain, rolling or fading."""

from __future__ import annotations

__all__: list[str] = []
