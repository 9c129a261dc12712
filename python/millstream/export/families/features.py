"""Selection of features by data, and their products."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export.families.projections import names_of
from millstream.export.rows import NOMINAL, NUMBER, Component, Row
from millstream.export.translation import translates


def _whole(row: Row, numbers: Any) -> dict[Any, Any]:
    """A row without missing values."""
    names = names_of(row)
    whole: dict[Any, Any] = {names[slot]: number for slot, number in zip(row.number_slots, numbers, strict=True)}
    return whole | {names[slot]: (row.texts[slot] or ["?"])[0] for slot in row.nominal_slots}


@translates(
    "feature_selection.PoissonInclusion", "feature_selection.SelectKBest", "feature_selection.VarianceThreshold"
)
def mask(component: Component, row: Row) -> Row:
    """The features that are kept; the others are missing."""
    graph = row.graph
    found = component.alive(row).transform_one(_whole(row, np.ones(len(row.number_slots))))
    kept = np.array([name in found for name in names_of(row)], dtype=bool)
    if kept.all():
        return row
    return row.with_values(graph.where(kept, row.values, np.nan))


@translates("feature_extraction.PolynomialExtender")
def products(component: Component, row: Row) -> Row:
    """Products of numbers. With a prime for each number, a product names its factors."""
    graph = row.graph
    slots = row.number_slots
    primes = _primes(len(slots))
    degree = int(component.parameters["degree"])
    if primes and float(primes[-1]) ** degree > 2.0**53:
        raise component.refuse("with so many features")
    found = component.alive(row).transform_one(_whole(row, [float(prime) for prime in primes]))
    # The last column is 1, for products of fewer factors.
    factors = np.full((degree, len(found)), row.width, dtype=np.int64)
    kinds = [NUMBER] * len(found)
    texts: list[list[str]] = [[] for _ in found]
    names = names_of(row)
    for place, (name, value) in enumerate(found.items()):
        if isinstance(value, str):
            slot = names.index(name)
            kinds[place], texts[place], factors[0, place] = NOMINAL, row.texts[slot], slot
            continue
        own: list[int] = []
        rest = round(value)
        for slot, prime in zip(slots, primes, strict=True):
            while rest % prime == 0:
                own.append(slot)
                rest //= prime
        factors[: len(own), place] = own
    values = graph.concat([row.values, np.ones(1)])
    product = graph.take(values, factors[0])
    for each in factors[1:]:
        product = product * graph.take(values, each)
    return row.with_values(product, names=list(found), kinds=kinds, texts=texts)


def _primes(count: int) -> list[int]:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return found
