"""Naive Bayes from tables of moments and frequencies: of a model, or of each leaf of trees.

`naive_bayes/class_statistics.rs` and `class_table.rs` in array form. All arrays have the axes (table, class,
feature). A value that a class cannot have makes it impossible; the classes with the fewest impossible values
compete.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from millstream.export.graph import Value
from millstream.export.rows import Row

_FARTHEST = 1e300
_LARGEST, _SMALLEST = 1e300, 1e-300


def inverse_variances(squares: Any, divisor: Any) -> np.ndarray[Any, Any]:
    """1 / variance; 0 where there is none (`gaussians.rs`)."""
    squares = np.asarray(squares, dtype=np.float64)
    with np.errstate(all="ignore"):
        inverse = np.asarray(divisor, dtype=np.float64) / squares
    return np.where((inverse > _SMALLEST) & (inverse < _LARGEST), inverse, 0.0)


class Tables:
    """The statistics of some tables of classes, as arrays."""

    def __init__(
        self,
        row: Row,
        tables: Sequence[Sequence[dict[str, Any]]],
        features: Sequence[Any],
        classes: int,
        alpha: float,
        ddof: float,
    ) -> None:
        self.row, self.classes, self.ddof, self.alpha = row, classes, ddof, alpha
        slots = [range(row.width) if each is None else [int(slot) for slot in each] for each in features]
        # By table: pairs of the index within its statistics and the slot.
        numbers = [[(i, s) for i, s in enumerate(each) if s in set(row.number_slots)] for each in slots]
        nominals = [[(i, s) for i, s in enumerate(each) if s in set(row.nominal_slots)] for each in slots]
        width = max((len(each) for each in numbers), default=0)
        shape = (len(tables), classes, width)
        self.means, self.inverses = np.zeros(shape), np.zeros(shape)
        self.logarithms = np.zeros(shape)
        self.priors = np.full(shape[:2], -np.inf)
        #: Of each table: the slots of its numbers; beyond them a slot that is always missing.
        self.slots = np.full((len(tables), width), row.width, dtype=np.int64)
        for number, (table, pairs) in enumerate(zip(tables, numbers, strict=True)):
            self.slots[number, : len(pairs)] = [slot for _, slot in pairs]
            for code, saved in enumerate(table):
                self._moments(number, code, saved, [index for index, _ in pairs])
        self._frequencies(tables, nominals)

    def _moments(self, number: int, code: int, saved: dict[str, Any], indices: list[int]) -> None:
        prior = saved["count"] + saved.get("inherited", 0.0)
        if prior > 0.0:
            self.priors[number, code] = np.log(prior)
        means = np.asarray(saved["means"], dtype=np.float64)
        counts = np.asarray(saved["counts"], dtype=np.float64)
        counts = counts if len(counts) else np.full(len(means), saved["count"])
        inverses = inverse_variances(saved["squares"], counts - self.ddof) if len(means) else means
        places = [place for place, index in enumerate(indices) if index < len(means) and counts[index] > 0.0]
        known = [indices[place] for place in places]
        # No number equals infinity: where there are no moments, every number is impossible.
        self.means[number, code, : len(indices)] = np.inf
        self.means[number, code, places] = means[known]
        self.inverses[number, code, places] = inverses[known]
        with np.errstate(divide="ignore"):
            logarithms = np.where(inverses > 0.0, np.log(inverses / (2.0 * np.pi)), 0.0)
        self.logarithms[number, code, places] = logarithms[known]

    def ignore_features(self, tables: Any, priors: Any) -> None:
        """Let some tables predict by given priors alone: what is compared with NaN counts for nothing."""
        self.means[tables], self.inverses[tables], self.logarithms[tables] = np.nan, 0.0, 0.0
        self.priors[tables] = priors[tables]
        self.distinct[tables] = 0

    def _frequencies(
        self, tables: Sequence[Sequence[dict[str, Any]]], nominals: Sequence[list[tuple[int, int]]]
    ) -> None:
        """Rows of log frequencies by class; row 0 says nothing. `starts` tells where those of a feature begin."""
        width = max((len(each) for each in nominals), default=0)
        self.nominal_slots = np.full((len(tables), width), self.row.width, dtype=np.int64)
        self.starts = np.zeros((len(tables), width), dtype=np.int64)
        self.distinct = np.zeros((len(tables), width), dtype=np.int64)
        rows: list[np.ndarray[Any, Any]] = [np.zeros(self.classes)]
        for number, (table, pairs) in enumerate(zip(tables, nominals, strict=True)):
            for place, (index, slot) in enumerate(pairs):
                self.nominal_slots[number, place] = slot
                known = [each["nominals"][index] if index < len(each["nominals"]) else None for each in table]
                distinct = max((len(each["by_code"]) for each in known if each), default=0)
                self.starts[number, place], self.distinct[number, place] = len(rows), distinct
                counts = np.zeros((distinct, self.classes))
                totals = np.zeros(self.classes)
                for code, each in enumerate(known):
                    if each:
                        counts[: len(each["by_code"]), code] = each["by_code"]
                        totals[code] = each["total"]
                with np.errstate(all="ignore"):
                    fractions = (counts + self.alpha) / (totals + self.alpha * distinct)
                    # -inf marks an impossible value.
                    found = np.where(fractions >= np.finfo(np.float64).tiny, np.log(fractions), -np.inf)
                rows.extend(found)
        self.rows = np.array(rows)

    def fits(self, table: Value | None) -> tuple[Value, Value]:
        """By class: the number of impossible values and the log likelihood. `table` has the table of each tree;
        without
        it there is one table alone."""
        graph = self.row.graph
        batch = 1 if table is None else table.shape[0]

        def of(array: np.ndarray[Any, Any]) -> Value:
            return graph.as_value(array) if table is None else graph.gather(array, table)

        impossible: Any = np.zeros((batch, self.classes))
        logarithm: Any = of(self.priors)
        if self.means.shape[2]:
            x = self._numbers(table)
            away = x - of(self.means)
            # Halved tables spare a multiplication. A term is NaN where the number is missing, and where there is
            # no mean.
            terms = of(0.5 * self.logarithms) - away * away * of(0.5 * self.inverses)
            form = graph.where(graph.isnan(terms), 0.0, terms).sum()
            logarithm = logarithm + graph.maximum(form, -0.5 * _FARTHEST)
            if not (self.inverses > 0.0).all():
                # A missing number differs from nothing: the comparison with NaN is false.
                flat = graph.gather(self.inverses == 0.0, table) if table is not None else self.inverses == 0.0
                impossible = graph.to_double((graph.apply("abs", away) > 0.0) & flat).sum()
        if self.nominal_slots.shape[1]:
            found = graph.gather(self.rows, self._rows_of(table))
            if np.isinf(self.rows).any():
                never = found.equals(-np.inf)
                impossible = graph.as_value(impossible) + graph.to_double(never).sum(-2)
                found = graph.where(never, 0.0, found)
            logarithm = logarithm + found.sum(-2)
        return graph.as_value(impossible), graph.as_value(logarithm)

    def _numbers(self, table: Value | None) -> Value:
        """The numbers that each table reads, as (table, 1, feature)."""
        found = self._read(self.slots, table, self.row.take)
        return found.reshape(found.shape[0], 1, found.shape[1])

    def _read(self, slots: np.ndarray[Any, Any], table: Value | None, take: Any) -> Value:
        """What `take` gives for the slots of each table; of one row if all tables read the same."""
        graph = self.row.graph
        width = slots.shape[1]
        if (slots == slots[:1]).all():
            same: Value = take([int(slot) for slot in slots[0]]).reshape(1, width)
            return same
        assert table is not None, "one table reads the same features for all rows"
        used = [int(slot) for slot in np.unique(slots)]
        index = graph.gather(np.searchsorted(used, slots), table).reshape(table.shape[0] * width)
        return graph.pick(take(used), index).reshape(table.shape[0], width)

    def _rows_of(self, table: Value | None) -> Value:
        """The row of log frequencies of each nominal feature."""
        graph = self.row.graph
        # Slots beyond the row are missing, as place 0.
        places = self._read(self.nominal_slots, table, self._places)
        codes = places - 2
        starts, distinct = self.starts, self.distinct
        first = graph.as_value(starts) if table is None else graph.gather(starts, table)
        count = graph.as_value(distinct) if table is None else graph.gather(distinct, table)
        known = (codes >= 0) & (codes < count)
        return graph.where(known, codes + first, 0)

    def _places(self, slots: list[int]) -> Value:
        graph = self.row.graph
        kinds = np.array([slot in set(self.row.nominal_slots) for slot in slots])
        filled = self.row.filled(slots, -2.0)
        return graph.to_int(graph.where(kinds, filled, -2.0) + 2.0) if not kinds.all() else self.row.places(slots)


def decide(row: Row, tables: Tables, table: Value | None) -> Value:
    """Class probabilities along the last axis, of the classes with the fewest impossible values."""
    graph = row.graph
    impossible, logarithm = tables.fits(table)
    if impossible.data is not None and not impossible.data.any():
        return graph.softmax(logarithm)
    absent = np.isinf(tables.priors)
    if absent.any():
        # A class without examples does not compete.
        never = np.where(absent, np.inf, 0.0)
        impossible = impossible + (graph.as_value(never) if table is None else graph.gather(never, table))
    fewest = impossible.min().reshape(*impossible.shape[:-1], 1)
    return graph.softmax(graph.where(impossible.equals(fewest), logarithm, -np.inf))
