"""Data sets to learn on at once, as streams: in the order in which the examples happened where that is known."""

from __future__ import annotations

from millstream.datasets.base import Dataset, find
from millstream.datasets.flights import Flights
from millstream.datasets.small import BreastCancer, Diabetes, Digits, Iris, Wine
from millstream.datasets.spam_assassin import SpamAssassin

__all__ = [
    "BreastCancer",
    "Dataset",
    "Diabetes",
    "Digits",
    "Flights",
    "Iris",
    "SpamAssassin",
    "Wine",
    "find",
]
