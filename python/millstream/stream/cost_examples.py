"""Files of examples whose classes have features and costs of their own, as of Vowpal Wabbit's `--csoaa_ldf`.

```text
shared |user age:0.3
1:0.5 |item price:2
2:1 |item price:3

```

An example ends with an empty line. The line of shared features may be missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from millstream._echo import fitting, quoted
from millstream.errors import InvalidValue
from millstream.stream.source import Source
from millstream.stream.table import REASONS, SkippedRows

__all__ = ["CostExamples"]

#: The features of each class, and the known costs.
CostExample = tuple[dict[int, dict[str, float]], dict[int, float]]


class CostExamples:
    """A file of examples `(x, costs)`, where x is a dict of features by class; iterate over it.

    Created by `read_vw(labels="costs", by_class=True)`. The name of a feature is `namespace^feature`. Every class
    has the shared features too. A class without a cost has features only.
    """

    def __init__(self, path: Any, *, on_error: str, follow: bool, idle: float | None) -> None:
        if on_error not in ("raise", "skip"):
            raise InvalidValue(f"stream.read_vw: on_error must be 'raise' or 'skip', got {quoted(on_error)}")
        self.path, self.on_error = path, on_error
        self._source = Source(path, follow=follow, idle=idle)
        #: Skipped examples of the last pass, with reasons.
        self.skipped = SkippedRows()

    @property
    def source(self) -> str:
        """The name of the file, for messages."""
        return self._source.name

    def __iter__(self) -> Iterator[CostExample]:
        self.skipped = SkippedRows()
        any_examples = False
        for first, lines in self._groups():
            try:
                example = _read(lines)
            except InvalidValue as error:
                words = fitting(f"{self.source}, example from line {first}: {error}")
                if self.on_error == "raise":
                    raise InvalidValue(words) from None
                self.skipped.count += 1
                if len(self.skipped.reasons) < REASONS:
                    self.skipped.reasons.append(words)
                continue
            any_examples = True
            yield example
        if not any_examples and not self.skipped and not self._source.follow:
            raise InvalidValue(f"{self.source}: there are no examples")

    def _groups(self) -> Iterator[tuple[int, list[str]]]:
        """The lines of each example, with the number of the first."""
        group: list[str] = []
        number = first = 0
        tail = b""
        for piece in self._source.pieces():
            if piece is None:
                # A growing file was cut or replaced.
                group, tail, number = [], b"", 0
                continue
            *lines, tail = (tail + piece).split(b"\n")
            for line in lines:
                number += 1
                text = line.decode(errors="replace").strip("\ufeff\r\t ")
                if text:
                    first = first if group else number
                    group.append(text)
                elif group:
                    yield first, group
                    group = []
        text = tail.decode(errors="replace").strip("\ufeff\r\t ")
        if text:
            first = first if group else number + 1
            group.append(text)
        if group:
            yield first, group

    def __repr__(self) -> str:
        return f"stream.read_vw({self.source!r}, labels='costs', by_class=True)"


def _read(lines: list[str]) -> CostExample:
    shared: dict[str, float] = {}
    x: dict[int, dict[str, float]] = {}
    costs: dict[int, float] = {}
    for place, line in enumerate(lines):
        head, bar, body = line.partition("|")
        if not bar:
            raise InvalidValue(f"a line must have a bar '|' before its features, got {quoted(line)}")
        words = head.split()
        if words and (words[-1].startswith("'") or not head.endswith((" ", "\t"))):
            del words[-1]
        if words == ["shared"] or (not words and head == "shared"):
            if place:
                raise InvalidValue("the line of shared features must be the first of an example")
            _features(body, shared)
            continue
        if len(words) > 1:
            raise InvalidValue(f"a line must have one class, got {quoted(head.strip())}")
        label, cost = _label(words[0]) if words else (len(x), None)
        if label in x:
            raise InvalidValue(f"a class must be listed once, got {label} twice")
        x[label] = dict(shared)
        _features(body, x[label])
        if cost is not None:
            costs[label] = cost
    if not x:
        raise InvalidValue("an example must have at least one class")
    return x, costs


def _label(word: str) -> tuple[int, float | None]:
    name, colon, number = word.partition(":")
    if not (name.isascii() and name.isdigit()):
        raise InvalidValue(f"a label must be 'shared' or class:cost with an integer class, got {quoted(word)}")
    if not colon:
        return int(name), None
    cost = _number(number)
    if cost is None:
        raise InvalidValue(f"a cost must be a finite number, got {quoted(word)}")
    return int(name), cost


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def _features(body: str, x: dict[str, float]) -> None:
    """Add the features of a line, from its first bar on; those of the same name add up."""
    for part in body.split("|"):
        words, space, scale = part.split(), "", 1.0
        # A word that touches the bar names the namespace.
        if words and not part.startswith((" ", "\t")):
            name, colon, text = words.pop(0).partition(":")
            space = f"{name}^"
            given = _number(text) if colon else 1.0
            if given is None:
                raise InvalidValue(f"the scale of a namespace must be a finite number, got {quoted(text)}")
            scale = given
        for word in words:
            name, colon, text = word.rpartition(":") if ":" in word else (word, "", "")
            value = _number(text) if colon else 1.0
            if value is None:
                raise InvalidValue(f"the value of a feature must be a finite number, got {quoted(word)}")
            key = f"{space}{name}"
            x[key] = x.get(key, 0.0) + value * scale
