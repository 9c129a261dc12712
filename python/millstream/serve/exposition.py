"""A writer of the Prometheus text format, version 0.0.4.

Each metric family is written once, with its help and type before its samples. Label values are escaped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

__all__ = ["CONTENT_TYPE", "Buckets", "Page"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})
#: Label values are truncated, because some contain class names.
_LONGEST_VALUE = 200

Labels = Mapping[str, str]


class Buckets(NamedTuple):
    """A histogram: upper bounds, bucket counts (one more than bounds), and the sum."""

    bounds: Sequence[float]
    counts: Sequence[int]
    sum: float


class Page:
    """Collects metric families.

    Examples
    --------
    >>> from millstream.serve.exposition import Page
    >>> page = Page()
    >>> page.counter("labels_total", "Received labels.", [({"model": "m"}, 3)])
    >>> print(page.text(), end="")
    # HELP labels_total Received labels.
    # TYPE labels_total counter
    labels_total{model="m"} 3
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._names: set[str] = set()

    def gauge(self, name: str, meaning: str, samples: Iterable[tuple[Labels, float | None]]) -> None:
        """Add values that rise and fall; None is left out."""
        self._family(name, "gauge", meaning)
        self._lines += [_line(name, labels, value) for labels, value in samples if value is not None]

    def counter(self, name: str, meaning: str, samples: Iterable[tuple[Labels, float]]) -> None:
        """Add values that only rise."""
        self._family(name, "counter", meaning)
        self._lines += [_line(name, labels, value) for labels, value in samples]

    def histogram(self, name: str, meaning: str, samples: Iterable[tuple[Labels, Buckets]]) -> None:
        """Add histograms; bucket counts become cumulative."""
        self._family(name, "histogram", meaning)
        for labels, buckets in samples:
            # The total is the last bucket, even if another thread counts meanwhile.
            totals = list(accumulate(buckets.counts))
            bounds = [*map(_number, buckets.bounds), "+Inf"]
            for bound, total in zip(bounds, totals, strict=True):
                self._lines.append(_line(f"{name}_bucket", {**labels, "le": bound}, total))
            self._lines.append(_line(f"{name}_sum", labels, buckets.sum))
            self._lines.append(_line(f"{name}_count", labels, totals[-1]))

    def text(self) -> str:
        """The text of all families."""
        return "".join(f"{line}\n" for line in self._lines)

    @property
    def names(self) -> frozenset[str]:
        """The names of the families."""
        return frozenset(self._names)

    def _family(self, name: str, kind: str, meaning: str) -> None:
        if _NAME.fullmatch(name) is None or name in self._names:
            raise ValueError(f"the name of a metric must be new and valid, got {name!r}")
        self._names.add(name)
        escaped = meaning.replace("\\", "\\\\").replace("\n", "\\n")
        self._lines += [f"# HELP {name} {escaped}", f"# TYPE {name} {kind}"]


def _line(name: str, labels: Labels, value: float) -> str:
    if not labels:
        return f"{name} {_number(value)}"
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {_number(value)}"


def _escaped(text: str) -> str:
    if len(text) > _LONGEST_VALUE:
        text = f"{text[: _LONGEST_VALUE - 1]}…"
    # A lone surrogate cannot be encoded.
    return text.encode("utf-8", "replace").decode().translate(_ESCAPES)


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    if math.isfinite(value):
        return f"{value:.0f}" if value == int(value) and abs(value) < 1e15 else repr(float(value))
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
