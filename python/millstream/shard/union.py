"""The shards of a keyed model as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["united", "united_totals"]


def united(parts: Sequence[Any]) -> Any:
    """One `compose.Keyed` with copies of the models of all parts, which have no key in common."""
    whole = parts[0].clone()
    for part in parts:
        for key in part:
            whole[key] = part[key]
    return whole


def united_totals(parts: Sequence[Any]) -> dict[str, Any]:
    """`compose.Keyed.totals` of all parts, in the order of keys."""
    tables = [part.totals() for part in parts if len(part)] or [parts[0].totals()]
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    order = np.argsort(columns["key"], kind="stable")
    return {name: column[order] for name, column in columns.items()}
