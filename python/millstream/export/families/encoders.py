"""Encoders of nominal values, and the imputers."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export.families.projections import answers_of, names_of, unseen_text
from millstream.export.rows import NOMINAL, NUMBER, Component, Row
from millstream.export.translation import translates

_DROPPED = 2**32 - 2


@translates("preprocessing.OneHotEncoder")
def one_hot(component: Component, row: Row) -> Row:
    """A feature for each value."""
    graph = row.graph
    state = component.state
    width = int(state["width"])
    columns: list[tuple[int, int | None]] = [(-1, None)] * width
    for slot, place in enumerate(state["numbers"]):
        if place < _DROPPED:
            columns[int(place)] = (slot, None)
    for slot, places in enumerate(state["nominals"]):
        for value, place in enumerate(places):
            if place < _DROPPED:
                columns[int(place)] = (slot, value)
    placed = {slot for slot, code in columns if code is None}
    columns += [(slot, None) for slot in row.number_slots if slot not in placed]
    nominal = np.array([code is not None for _, code in columns], dtype=bool)
    if not columns:
        return row.cut([])
    values = row.take([slot if slot >= 0 else row.width for slot, _ in columns])
    if nominal.any():
        codes = np.array([-5.0 if code is None else float(code) for _, code in columns])
        is_it = values.equals(codes)
        absent = np.nan if component.parameters["drop_zeros"] else 0.0
        encoded = graph.where(is_it, 1.0, absent)
        values = encoded if nominal.all() else graph.where(nominal, encoded, values)
    names: list[str | int] = []
    for slot, code in columns:
        name = row.names[slot] if 0 <= slot < row.width else ""
        names.append(name if code is None else f"{name}_{row.texts[slot][code]}")
    return row.with_values(values, names=names, kinds=[NUMBER] * len(columns), texts=[[] for _ in columns])


@translates("preprocessing.OrdinalEncoder", "preprocessing.CountEncoder", "preprocessing.TargetEncoder")
def by_value(component: Component, row: Row) -> Row:
    """A number in place of each value, which the encoder is asked for."""
    graph = row.graph
    names = names_of(row)
    chosen = component.parameters.get("features")
    encoded = [slot for slot in row.nominal_slots if chosen is None or row.names[slot] in chosen]
    if chosen is not None and any(row.names[slot] in chosen for slot in row.number_slots):
        raise component.refuse("with numbers as keys; turn them into strings")
    columns = [(slot, 1) for slot in range(row.width)]
    listed = component.state.get("columns") if isinstance(component.state, dict) else None
    if listed:
        columns = [(int(each["slot"]), int(each["class"])) for each in listed]
        known = {slot for slot, _ in columns}
        columns += [(slot, 1) for slot in range(row.width) if slot not in known]
    model = component.alive(row)
    whole: dict[Any, Any] = {names[slot]: 0.0 for slot in row.number_slots}
    whole |= {names[slot]: (row.texts[slot] or ["?"])[0] for slot in row.nominal_slots}
    outputs = list(answers_of(model, whole))
    at = iter(outputs)
    titles = [next(at, "") if row.kinds[slot] in (NUMBER, NOMINAL) else "" for slot, _ in columns]
    parts: list[Any] = []
    for slot in encoded:
        mine = [place for place, (own, _) in enumerate(columns) if own == slot]
        table = []
        for text in (None, unseen_text(row.texts[slot]), *row.texts[slot]):
            found = answers_of(model, whole | {names[slot]: text})
            table.append([float(found.get(titles[place], np.nan)) for place in mine])
        parts.append((mine, np.array(table), slot))
    values = row.take([slot for slot, _ in columns])
    for mine, table, slot in parts:
        own = graph.gather(table, row.places([slot])).reshape(len(mine))
        chosen_places = np.zeros(len(columns), dtype=bool)
        chosen_places[mine] = True
        spread = np.zeros(len(columns), dtype=np.int64)
        spread[mine] = np.arange(len(mine))
        values = graph.where(chosen_places, graph.take(own, spread), values)
    kinds = [NUMBER if slot in encoded else row.kinds[slot] for slot, _ in columns]
    texts = [[] if slot in encoded else row.texts[slot] for slot, _ in columns]
    return row.with_values(values, names=list(titles), kinds=kinds, texts=texts)


@translates("preprocessing.Imputer", "preprocessing.PreviousImputer")
def imputer(component: Component, row: Row) -> Row:
    """A number or a value in place of a missing one."""
    graph = row.graph
    parameters = component.parameters
    numbers = parameters.get("strategy", "previous")
    nominals = parameters.get("nominal_strategy", "previous")
    if nominals == "constant" and row.nominal_slots:
        raise component.refuse("with a constant for nominal values; use the most frequent one")
    state = component.state
    estimates = np.full(row.width, np.nan)
    given = np.asarray(state["estimates"], dtype=np.float64)[: row.width]
    estimates[: len(given)] = given
    for slot, kind in enumerate(row.kinds):
        strategy = numbers if kind == NUMBER else nominals
        if strategy == "constant":
            estimates[slot] = parameters["fill_value"]
        elif kind not in (NUMBER, NOMINAL) or strategy in ("none", None):
            estimates[slot] = np.nan
    if np.isnan(estimates).all():
        return row
    return row.with_values(graph.where(graph.isnan(row.values), estimates, row.values))
