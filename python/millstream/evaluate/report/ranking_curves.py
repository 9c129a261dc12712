"""ROC and precision-recall curves, from the sums of predicted probabilities that calibration keeps."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream.evaluate.frames import number
from millstream.evaluate.plot import COLOURS
from millstream.evaluate.report.charts import square, trace
from millstream.evaluate.report.tables import cut

if TYPE_CHECKING:
    from millstream.evaluate.calibration import Calibration
    from millstream.evaluate.result import Result

__all__ = ["curves", "points"]

_SIDE, _LEFT, _TOP = 300.0, 52.0, 8.0


def points(found: Calibration) -> tuple[Any, Any, Any] | None:
    """False positive rate, recall and precision at 100 thresholds, highest first; None without both classes."""
    if found.of_predicted:
        return None
    weights, positive = found._sums[::-1, 1], found._sums[::-1, 3]
    hits, alarms = np.cumsum(positive), np.cumsum(weights)
    negatives = alarms[-1] - hits[-1] if len(alarms) else 0.0
    if not hits[-1] > 0 or not negatives > 0:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = hits / alarms
    precision[alarms == 0] = 1.0
    return (alarms - hits) / negatives, hits / hits[-1], precision


def curves(results: Mapping[str, Result], colours: Mapping[str, int]) -> str:
    """Both charts beside each other with one legend; empty if no model has probabilities of a positive class."""
    found = {}
    for name, result in results.items():
        at = None if result.calibration is None else points(result.calibration)
        if at is not None:
            found[name] = at
    if not found:
        return ""
    roc, recall, keys = [], [], []
    base = 0.0
    for name, (alarms, hits, precision) in found.items():
        colour = colours[name] % len(COLOURS)
        xs, ys = np.r_[0.0, alarms], np.r_[0.0, hits]
        area = float(np.diff(xs) @ (ys[1:] + ys[:-1])) / 2.0
        # Average precision: the precision at each step of the recall.
        average = float(np.sum(np.diff(np.r_[0.0, hits]) * precision))
        roc.append(_line(xs, ys, colour, f"{name}: area {number(area)}"))
        shown = hits > 0
        recall.append(_line(hits[shown], precision[shown], colour, f"{name}: average precision {number(average)}"))
        keys.append(
            f'<span><i class="key c{colour}"></i>{cut(name, 60) + ": " if len(found) > 1 else ""}'
            f"ROC {number(area)}, PR {number(average)}</span>"
        )
        base = float(precision[-1])
    left = _square(roc, "ROC curve", "false positive rate", "recall", [(0.0, 0.0), (1.0, 1.0)])
    right = _square(recall, "precision-recall curve", "recall", "precision", [(0.0, base), (1.0, base)])
    positive = next(result.calibration for name, result in results.items() if name in found)
    about = html.escape(positive.about.removeprefix("probability of ")) if positive is not None else ""
    note = (
        f"Positive class: {about.removesuffix(', the positive class')}. Left: recall (vertical) over the false "
        f"positive rate. Right: precision (vertical) over recall; {base:.1%} of the rows are positive. Dashed: a "
        "random ranking. 100 thresholds; areas in the legend are those of the drawn curves."
    )
    return (
        f'<div class="pair"><div>{left}</div><div>{right}</div></div><div class="legend">{"".join(keys)}</div>'
        f'<p class="note">{note}</p>'
    )


def _line(x: Any, y: Any, colour: int, title: str) -> str:
    across, down = _LEFT + _SIDE * x, _TOP + _SIDE * (1.0 - y)
    words = f"<title>{html.escape(title)}</title>"
    return f'<polyline class="rolling c{colour}" points="{trace(across, down)}">{words}</polyline>'


def _square(lines: list[str], label: str, across: str, up: str, chance: list[tuple[float, float]]) -> str:
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = _LEFT + _SIDE * tick, _TOP + _SIDE * (1 - tick)
        parts.append(f'<line class="grid" x1="{_LEFT:g}" x2="{_LEFT + _SIDE:g}" y1="{y:g}" y2="{y:g}"/>')
        parts.append(f'<text x="{_LEFT - 8:g}" y="{y + 4:g}" text-anchor="end">{tick:.0%}</text>')
        anchor = "end" if tick == 1 else "start" if tick == 0 else "middle"
        parts.append(f'<text x="{x:g}" y="{_TOP + _SIDE + 18:g}" text-anchor="{anchor}">{tick:.0%}</text>')
    (x1, y1), (x2, y2) = ((_LEFT + _SIDE * x, _TOP + _SIDE * (1 - y)) for x, y in chance)
    parts.append(f'<line class="axis" x1="{x1:g}" x2="{x2:g}" y1="{y1:g}" y2="{y2:g}"/>')
    middle = _LEFT + _SIDE / 2
    parts.append(f'<text x="{middle:g}" y="{_TOP + _SIDE + 38:g}" text-anchor="middle">{across}</text>')
    parts.append(
        f'<text x="10" y="{_TOP + _SIDE / 2:g}" text-anchor="middle" '
        f'transform="rotate(-90 10 {_TOP + _SIDE / 2:g})">{up}</text>'
    )
    return square([*parts, *lines], _LEFT + _SIDE + 12, _TOP + _SIDE + 44, label)
