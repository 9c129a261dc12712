"""Naive Bayes: features are assumed independent given the class.

`GaussianNB` is for numbers, `MultinomialNB`, `ComplementNB` and `BernoulliNB` for counts, such as those of the
words of a document, and `CategoricalNB` for categories. All learn new classes and features at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.naive_bayes.categories import CategoricalNB
from millstream.naive_bayes.gaussian import GaussianNB
from millstream.naive_bayes.words import BernoulliNB, ComplementNB, MultinomialNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
