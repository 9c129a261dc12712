"""The keywords that all readers of tables share, for their signatures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

__all__ = ["TableOptions"]


class TableOptions(TypedDict, total=False):
    """What the columns are; `stream.TableStream` has the words."""

    weight: str | None
    time: str | None
    label_time: str | None
    drop: Iterable[str]
    types: Mapping[str, str] | None
    on_error: str
