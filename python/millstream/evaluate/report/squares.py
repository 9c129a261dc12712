"""Square charts: a reliability diagram, and scatter plots of predictions and truths and of clusters."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from millstream.evaluate.frames import number
from millstream.evaluate.plot import COLOURS
from millstream.evaluate.report.charts import short, square, ticks, trace
from millstream.evaluate.report.tables import brief

if TYPE_CHECKING:
    from millstream.evaluate.calibration import Calibration
    from millstream.evaluate.clusters import Clusters
    from millstream.evaluate.residuals import Residuals

__all__ = ["clusters", "reliability", "residuals"]

#: Maximum number of clusters in a legend.
_MOST_KEYS = 24


def reliability(found: Calibration) -> str:
    """A reliability diagram over a histogram of the predicted probabilities."""
    side, left, top, gap, tall = 300.0, 52.0, 8.0, 12.0, 54.0
    foot = top + side + gap + tall
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = left + side * tick, top + side * (1 - tick)
        parts.append(f'<line class="grid" x1="{left:g}" x2="{left + side:g}" y1="{y:g}" y2="{y:g}"/>')
        parts.append(f'<text x="{left - 8:g}" y="{y + 4:g}" text-anchor="end">{tick:.0%}</text>')
        anchor = "end" if tick == 1 else "start" if tick == 0 else "middle"
        parts.append(f'<text x="{x:g}" y="{foot + 16:g}" text-anchor="{anchor}">{tick:.0%}</text>')
    parts.append(f'<line class="axis" x1="{left:g}" x2="{left + side:g}" y1="{top + side:g}" y2="{top:g}"/>')
    known = np.flatnonzero(found.counts)
    x, y = left + side * found.predicted[known], top + side * (1 - found.observed[known])
    parts.append(f'<polyline class="rolling c0" points="{trace(x, y)}"/>')
    most = float(found.counts.max())
    for a, b, place in zip(x, y, known.tolist(), strict=True):
        mean, observed = f"{found.predicted[place]:.1%}", f"{found.observed[place]:.1%}"
        words = f"{found.counts[place]:,} rows: {mean} predicted, {observed} observed"
        radius = 3.0 + 5.0 * (found.counts[place] / most) ** 0.5
        parts.append(
            f'<circle class="point" cx="{a:.1f}" cy="{b:.1f}" r="{radius:.1f}"><title>{words}</title></circle>'
        )
        width = side * (found.edges[place + 1] - found.edges[place])
        height = max(1.0, tall * found.counts[place] / most)
        parts.append(
            f'<rect class="column" x="{left + side * found.edges[place] + 1:.1f}" y="{foot - height:.1f}" '
            f'width="{width - 2:.1f}" height="{height:.1f}"><title>{words}</title></rect>'
        )
    label = f"reliability of the {found.about}: expected calibration error {number(found.ece)}"
    words = html.escape(found.about)
    parts.append(f'<text x="{left + side / 2:g}" y="{foot + 36:g}" text-anchor="middle">{words}</text>')
    drawn = square(parts, left + side + 12, foot + 42, label)
    rows = [
        [
            f"{found.edges[place]:.0%} to {found.edges[place + 1]:.0%}",
            f"{found.counts[place]:,}",
            f"{found.predicted[place]:.1%}",
            f"{found.observed[place]:.1%}",
        ]
        for place in known.tolist()
    ]
    note = (
        f"Horizontal axis: the {html.escape(found.about)}. Vertical axis: the observed frequency. "
        "Both are equal on the dashed line. The bars show the number of rows. "
        f"Expected calibration error <strong>{number(found.ece)}</strong>."
    )
    numbers = brief("show numbers", ["predicted", "rows", "mean", "observed"], rows)
    return f'{drawn}<p class="note">{note}</p>{numbers}'


def residuals(found: Residuals) -> str:
    """Scatter plot of predictions and truths, with quantiles of the error."""
    known = np.isfinite(found.predicted)
    truth, predicted = found.truth[known], found.predicted[known]
    if not len(truth):
        return '<p class="note">No data to plot yet.</p>'
    step = max(1, len(truth) // 800)
    # A few extreme predictions, as at the start, must not flatten the rest.
    both = np.concatenate([np.quantile(truth, [0.0, 1.0]), np.quantile(predicted, [0.01, 0.99])])
    low, high = float(both.min()), float(both.max())
    side, left, top = 300.0, 60.0, 8.0
    if not (np.isfinite(high - low) and high > low):
        low, high = low - 0.5, low + 0.5
    parts = []
    scale = side / (high - low)
    for tick in ticks(low, high, 4):
        x, y = left + (tick - low) * scale, top + side - (tick - low) * scale
        parts.append(f'<line class="grid" x1="{left:g}" x2="{left + side:g}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{left - 8:g}" y="{y + 4:.1f}" text-anchor="end">{short(tick)}</text>')
        parts.append(f'<text x="{x:.1f}" y="{top + side + 20:g}" text-anchor="middle">{short(tick)}</text>')
    parts.append(f'<line class="axis" x1="{left:g}" x2="{left + side:g}" y1="{top + side:g}" y2="{top:g}"/>')
    x = left + (np.clip(truth[::step], low, high) - low) * scale
    y = top + side - (np.clip(predicted[::step], low, high) - low) * scale
    parts.append(
        f'<path class="dots c0" d="{"".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(x, y, strict=True))}"/>'
    )
    levels = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
    rows = [
        [f"{level:.0%}", number(float(value))] for level, value in zip(levels, found.quantile(levels), strict=True)
    ]
    drawn = square(parts, left + side + 20, top + side + 28, "predictions against truths")
    note = (
        "Horizontal axis: the truth. Vertical axis: the prediction, "
        f"for {len(truth):,} rows spread over the stream. "
        f"Mean error (prediction minus truth): <strong>{number(float(found.error[known].mean()))}</strong>. "
        f"Half of all errors are between {rows[2][1]} and {rows[4][1]}."
    )
    return f'{drawn}<p class="note">{note}</p>{brief("show numbers", ["quantile", "prediction - truth"], rows)}'


def clusters(found: Clusters) -> str:
    """Scatter plot of a sample of rows by cluster."""
    plane = found.plane()
    if plane is None or not len(plane.x):
        return '<p class="note">The rows have no numbers to plot.</p>'
    side, left, top = 300.0, 60.0, 8.0
    parts, places = [], []
    for values, along in ((plane.x, "x"), (plane.y, "y")):
        # A few extreme rows must not flatten the rest.
        low, high = (float(end) for end in np.quantile(values, [0.005, 0.995]))
        if not (np.isfinite(high - low) and high > low):
            low, high = low - 0.5, low + 0.5
        margin = 0.04 * (high - low)
        low, high = low - margin, high + margin
        scale = side / (high - low)
        for tick in ticks(low, high, 4):
            at = (tick - low) * scale
            if along == "x":
                parts.append(
                    f'<text x="{left + at:.1f}" y="{top + side + 20:g}" text-anchor="middle">{short(tick)}</text>'
                )
            else:
                y = top + side - at
                parts.append(f'<line class="grid" x1="{left:g}" x2="{left + side:g}" y1="{y:.1f}" y2="{y:.1f}"/>')
                parts.append(f'<text x="{left - 8:g}" y="{y + 4:.1f}" text-anchor="end">{short(tick)}</text>')
        at = (np.clip(values, low, high) - low) * scale
        places.append(left + at if along == "x" else top + side - at)
    owners = np.array(found.clusters)
    for cluster in found.counts:
        members = owners == cluster
        points = zip(places[0][members], places[1][members], strict=True)
        path = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in points)
        if path:
            title = f"<title>cluster {cluster}</title>"
            parts.append(f'<path class="dots c{cluster % len(COLOURS)}" d="{path}">{title}</path>')
    across, up = (html.escape(title[:60]) for title in plane.titles)
    parts.append(f'<text x="{left + side / 2:g}" y="{top + side + 40:g}" text-anchor="middle">{across}</text>')
    drawn = square(parts, left + side + 20, top + side + 46, f"{len(found.counts):,} clusters of a sample of rows")
    keys = "".join(
        f'<span><i class="key c{cluster % len(COLOURS)}"></i>{cluster}: {count:,} rows</span>'
        for cluster, count in list(found.counts.items())[:_MOST_KEYS]
    )
    more = f"<span>and {len(found.counts) - _MOST_KEYS:,} more</span>" if len(found.counts) > _MOST_KEYS else ""
    repeated = " Colours repeat." if len(found.counts) > len(COLOURS) else ""
    note = f"{len(plane.x):,} rows spread over the stream, by cluster. Vertical axis: {up}.{repeated}"
    return f'{drawn}<div class="legend">{keys}{more}</div><p class="note">{note}</p>'
