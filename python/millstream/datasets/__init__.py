"""Data sets to learn on at once, as streams: in the order in which the examples happened where that is known."""

from __future__ import annotations

from millstream.datasets.base import Dataset, find
from millstream.datasets.flights import Flights

__all__ = ["Dataset", "Flights", "find"]
