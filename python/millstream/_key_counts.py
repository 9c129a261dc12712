"""What components with a bounded table of keys have in common."""

from __future__ import annotations

from typing import Any

__all__ = ["KeyCounts", "shown_key"]


def shown_key(key: Any) -> Any:
    """A key as users know it: whole numbers are ints."""
    return int(key) if isinstance(key, float) and key.is_integer() else key


class KeyCounts:
    """Counts of keys. `_numbers` and `inspect` are those of a native model."""

    @property
    def n_keys(self) -> int:
        """Number of keys with a state of their own, over all features."""
        return int(self._numbers()["keys"])  # type: ignore[attr-defined]

    @property
    def n_folded(self) -> int:
        """Number of learned rows whose key came after `max_keys` others and shares a state, over all features."""
        return int(self._numbers()["folded"])  # type: ignore[attr-defined]

    @property
    def n_evicted(self) -> int:
        """Number of keys that were replaced by others, over all features."""
        return int(self._numbers()["evicted"])  # type: ignore[attr-defined]

    def _by_feature(self) -> dict[str | int, dict[Any, Any]]:
        """What each key is encoded as, by feature. Keys whose text is not kept begin with `#`."""
        features = self.inspect()["features"]  # type: ignore[attr-defined]
        return {
            feature["feature"]: {shown_key(key): value for key, value in feature["values"]} for feature in features
        }
