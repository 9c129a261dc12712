"""Data sets as streams, in temporal order where it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
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

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
