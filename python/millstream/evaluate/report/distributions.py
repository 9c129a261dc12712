"""The target and the features over the stream: their distribution in parts of a sample, and their drift."""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream.evaluate.plot import COLOURS
from millstream.evaluate.report.axes import axis_of
from millstream.evaluate.report.charts import Chart, Line
from millstream.evaluate.report.tables import cut

if TYPE_CHECKING:
    from millstream.evaluate.stream_sample import StreamSample

__all__ = ["features", "rare_values", "target"]

#: Number of parts of the stream, minimum number of rows of a part, and maximum number of features and of values.
_PARTS, _LEAST, _MOST_FEATURES, _MOST_VALUES = 20, 8, 12, 5
#: Values below this fraction of the rows are grouped.
_RARE = 0.01
#: Probability that any feature of a stream without drift is marked as shifted.
_SIGNIFICANCE = 0.01
_OTHER = "other"


def target(sample: StreamSample | None, classes: bool, last: float) -> str:
    """Class frequencies, or quantiles of a numeric target, over the stream; empty if there is nothing to draw."""
    if sample is None or not any(y is not None for y in sample.y):
        return ""
    values = [str(y) if classes and y is not None else y for y in sample.y]
    chart = _chart(sample, values, last, "middle")
    return "" if chart is None else f"{chart}{_note(sample, 'frequency of each class' if classes else _QUANTILES)}"


_QUANTILES = "median, and the band between the 10 % and 90 % quantiles"


def features(sample: StreamSample | None, last: float) -> str:
    """Each feature over the stream, those with the largest shift first."""
    if sample is None:
        return ""
    found = []
    for name, values in sample.features.items():
        chart = _chart(sample, values, last, "low")
        if chart is not None:
            found.append((*_shift(values), str(name), chart))
    if not found:
        return ""
    limit = _SIGNIFICANCE / len(found)
    order = sorted(found, key=lambda one: (one[1] >= limit, -one[0]))
    cards = []
    for distance, p, name, chart in order[:_MOST_FEATURES]:
        told = f"{distance:.2f}" + (" · shifted" if p < limit else "")
        kind = ' class="shifted"' if p < limit else ""
        cards.append(f"<div><h3>{cut(name, 60)} <span{kind}>{told}</span></h3>{chart}</div>")
    more = f" {len(found) - _MOST_FEATURES:,} more are not shown." if len(found) > _MOST_FEATURES else ""
    about = (
        f"Numbers: {_QUANTILES}. Nominal values: their frequencies. Beside the name: the distance between the "
        "distributions of the first and the last quarter (Kolmogorov-Smirnov, or half the sum of differences), "
        f"from 0 to 1; “shifted” if chance explains it with a probability below {limit:.2g}.{more}"
    )
    return f'<div class="grid-of-charts">{"".join(cards)}</div>{_note(sample, about)}'


def _note(sample: StreamSample, words: str) -> str:
    rows = f"From a sample of {len(sample.row):,} rows, evenly spread over the stream."
    words = words[:1].upper() + words[1:].removesuffix(".")
    return f'<p class="note">{html.escape(words)}. {rows}</p>'


def _chart(sample: StreamSample, values: Sequence[Any], last: float, size: str) -> str | None:
    known = [place for place, value in enumerate(values) if value is not None]
    parts = min(_PARTS, len(known) // _LEAST)
    if parts < 2:
        return None
    axis = axis_of(sample, last)
    pieces = [[known[place] for place in piece] for piece in np.array_split(np.arange(len(known)), parts)]
    rows = np.array([float(np.mean(sample.row[piece])) for piece in pieces])
    if all(isinstance(values[place], (int, float)) and not isinstance(values[place], bool) for place in known):
        numbers = [np.array([values[place] for place in piece], dtype=np.float64) for piece in pieces]
        low, middle, high = (np.array([np.quantile(each, q) for each in numbers]) for q in (0.1, 0.5, 0.9))
        if not np.isfinite(high - low).all():
            return None
        lines = [Line(rows, low, "edge", 0, "10 %"), Line(rows, middle, "rolling", 0, "median")]
        lines.append(Line(rows, high, "edge", 0, "90 %"))
        return Chart(lines, "quantiles over the stream", size=size, axis=axis, hovers=parts).draw()
    texts = [None if value is None else str(value) for value in values]
    shown, grouped = _values(texts)
    lines = []
    for colour, value in enumerate([*shown, *([_OTHER] * bool(grouped))]):
        chosen = grouped if value is _OTHER and grouped else {value}
        fractions = np.array([sum(texts[place] in chosen for place in piece) / len(piece) for piece in pieces])
        name = f"{len(grouped)} other values" if value is _OTHER and grouped else value
        lines.append(Line(rows, fractions, "rolling", colour % len(COLOURS), name))
    drawn = Chart(
        lines,
        "frequencies over the stream",
        from_zero=True,
        size=size,
        axis=axis,
        shown=lambda value: f"{value:.0%}" if abs(value) >= 0.1 or value == 0 else f"{value:.1%}",
        hovers=parts,
    ).draw()
    keys = "".join(f'<span><i class="key c{line.colour}"></i>{cut(line.name, 30)}</span>' for line in lines)
    return f'{drawn}<div class="legend">{keys}</div>'


def _values(texts: Sequence[str | None]) -> tuple[list[str], set[str | None]]:
    """The most frequent values, and the others, which are drawn together."""
    counts = Counter(text for text in texts if text is not None)
    total = sum(counts.values())
    order = [
        value for value, count in counts.most_common(_MOST_VALUES) if count >= _RARE * total or len(counts) <= 2
    ]
    rest: set[str | None] = {value for value in counts if value not in order}
    if len(rest) == 1 and len(order) < _MOST_VALUES:
        order += [value for value in rest if value is not None]
        rest = set()
    return order, rest


def rare_values(sample: StreamSample | None, name: str) -> set[str]:
    """The nominal values of a feature that few rows of the sample have."""
    if sample is None:
        return set()
    values = next((values for feature, values in sample.features.items() if str(feature) == name), None)
    if values is None:
        return set()
    counts = Counter(str(value) for value in values if value is not None)
    return {value for value, count in counts.items() if count < _RARE * sum(counts.values())}


def _shift(values: Sequence[Any]) -> tuple[float, float]:
    """The distance between the first and the last quarter, and the probability of a larger one by chance."""
    known = [value for value in values if value is not None]
    size = len(known) // 4
    if size < _LEAST:
        return 0.0, 1.0
    first, last = known[:size], known[-size:]
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        both = np.sort(np.array(first + last, dtype=np.float64))
        one, other = (np.searchsorted(np.sort(part), both, side="right") / size for part in (first, last))
        distance = float(np.abs(one - other).max())
        # The asymptotic distribution of Kolmogorov; n m / (n + m) is half of n for equal sizes.
        root = math.sqrt(size / 2) * distance
        p = 2 * sum((-1) ** (k - 1) * math.exp(-2 * k * k * root * root) for k in range(1, 101))
        return distance, min(1.0, max(0.0, p)) if root > 0.2 else 1.0
    before, after = Counter(map(str, first)), Counter(map(str, last))
    names = sorted({*before, *after})
    distance = sum(abs(before[name] - after[name]) for name in names) / (2 * size)
    # Two samples of equal size: chi squared with one degree less than values; its tail by Wilson and Hilferty.
    square = sum((before[name] - after[name]) ** 2 / (before[name] + after[name]) for name in names)
    degrees = max(len(names) - 1, 1)
    z = ((square / degrees) ** (1 / 3) - (1 - 2 / (9 * degrees))) / math.sqrt(2 / (9 * degrees))
    return distance, 0.5 * math.erfc(z / math.sqrt(2))
