"""What the reductions of costs have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from millstream._echo import quoted, typed
from millstream._part import shown_part
from millstream.base import Label, Model
from millstream.compose.reduction import Reduction
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import REGRESSOR, Role, role_of

__all__ = ["CostSensitive"]


class CostSensitive(Reduction):
    """What the reductions have in common: costs by class, and features that belong to a class."""

    #: The role of a member.
    _member_role: Role
    _who: str

    def _check_model(self, model: Any) -> None:
        if isinstance(model, type) or not isinstance(model, Model) or role_of(model) is not self._member_role:
            word = "a regressor" if self._member_role is REGRESSOR else "a classifier"
            raise InvalidType(f"{self._who}: model must be {word}, got {shown_part(model)}")

    def _costs(self, costs: Any) -> dict[Label, float]:
        if not isinstance(costs, Mapping) or not costs:
            raise InvalidType(f"{self._who}: costs must be a dict of numbers by class, got {typed(costs)}")
        found = {}
        for label, cost in costs.items():
            if isinstance(cost, (bool, str, bytes)) or not hasattr(cost, "__float__"):
                raise InvalidType(f"{self._who}: the cost of {quoted(label)} must be a number, got {typed(cost)}")
            try:
                number = float(cost)
            except OverflowError:
                raise InvalidValue(
                    f"{self._who}: the cost of {quoted(label)} must fit in a float, got {typed(cost)}"
                ) from None
            if not math.isfinite(number):
                raise InvalidValue(f"{self._who}: the cost of {quoted(label)} must be finite, got {number}")
            found[label] = number
        return found

    def _weight(self, w: Any) -> float:
        if isinstance(w, (bool, str, bytes)) or not hasattr(w, "__float__"):
            raise InvalidType(f"{self._who}: the weight must be a number, got {typed(w)}")
        if not 0.0 <= float(w) < math.inf:
            raise InvalidValue(f"{self._who}: the weight must be finite and not negative, got {w}")
        return float(w)
