"""Our models for River and scikit-learn, and theirs for us."""

from __future__ import annotations

__all__: list[str] = []
