"""Plots of a game with matplotlib, and an HTML fragment for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream.errors import InvalidValue
from millstream.evaluate.frames import number
from millstream.evaluate.plot import COLOURS
from millstream.evaluate.report.axes import short, ticks

if TYPE_CHECKING:
    from millstream.oco.report import Report

__all__ = ["KINDS", "fragment", "plot", "save"]

KINDS = ("regret", "average", "loss", "decisions")
_SUFFIXES = (".png", ".svg", ".pdf")
_DASHED = (0, (4, 2))
#: Maximum number of points per line.
_POINTS = 1000


def plot(reports: Mapping[str, Report], kind: str, ax: Any) -> Any:
    """Draw on the given axes, or on new ones."""
    _check(reports, kind)
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
    if ax is None:
        _, ax = pyplot.subplots(figsize=(8.0, 4.0), layout="constrained")
    _draw(reports, kind, ax)
    return ax


def save(reports: Mapping[str, Report], path: str | PathLike[str], kind: str) -> None:
    """Save the plot to a file, without a window and without pyplot state."""
    _check(reports, kind)
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise InvalidValue(f"a plot is saved as {', '.join(_SUFFIXES)}, got {str(path)!r}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("save_plot() needs matplotlib: pip install matplotlib") from None
    figure = Figure(figsize=(8.0, 4.0), layout="constrained")
    _draw(reports, kind, figure.subplots())
    figure.savefig(path, dpi=160)


def _check(reports: Mapping[str, Report], kind: str) -> None:
    if kind not in KINDS:
        raise InvalidValue(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if not reports:
        raise InvalidValue("there are no reports to plot")
    if kind == "decisions":
        if len(reports) > 1:
            raise InvalidValue("a plot of kind 'decisions' shows one learner only")
        if next(iter(reports.values())).decisions is None:
            raise InvalidValue("decisions were not stored: play with keep_decisions=True")


def _draw(reports: Mapping[str, Report], kind: str, ax: Any) -> None:
    from matplotlib.ticker import FuncFormatter

    if kind == "decisions":
        _decisions(next(iter(reports.values())), ax)
    else:
        for index, (name, report) in enumerate(reports.items()):
            _curves(report, name if len(reports) > 1 else "", COLOURS[index % len(COLOURS)], kind, ax)
    first = next(iter(reports.values()))
    if kind == "loss":
        # Learners that played the same losses have the same comparator.
        comparators = {float(report.best.loss): report for report in reports.values()}
        for report in comparators.values():
            label = "best fixed decision" if not report.switches else f"best with {report.switches} switches"
            ax.plot(
                report.curve["round"],
                report.curve["best"],
                color="#7F7F7F",
                linestyle=_DASHED,
                label=label,
                zorder=1,
            )
    if kind == "regret" and len(reports) > 1:
        _limit_y_axis(reports, ax)
    words = {
        "regret": "regret" if not first.switches else f"regret against {first.switches} switches",
        "average": "regret per round",
        "loss": "loss so far",
        "decisions": "decision",
    }
    ax.set_title(first.name if len(reports) == 1 else "", loc="left", fontsize=11)
    ax.set_xlabel("rounds")
    ax.set_ylabel(words[kind])
    if kind == "average":
        ax.set_xscale("log")
        ax.set_yscale("log")
    else:
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.grid(axis="y", color="#00000018", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.margins(x=0.01)
    ax.spines[["top", "right"]].set_visible(False)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=9)


def _curves(report: Report, name: str, colour: str, kind: str, ax: Any) -> None:
    curve = report.curve
    rounds = curve["round"]
    if kind == "loss":
        shown = np.unique(np.linspace(0, report.rounds - 1, _POINTS).astype(int))
        ax.plot(shown + 1, np.cumsum(report.costs)[shown], color=colour, linewidth=1.6, label=name or "learner")
        return
    divisor = rounds if kind == "average" else 1.0
    regret = curve["regret"] / divisor
    if kind == "average":
        regret = np.where(regret > 0, regret, np.nan)
    ax.plot(rounds, regret, color=colour, linewidth=1.6, label=name or "regret")
    if np.isfinite(curve["bound"]).any():
        label = _of("bound", name)
        ax.plot(rounds, curve["bound"] / divisor, color=colour, linewidth=1.0, linestyle=_DASHED, label=label)


def _limit_y_axis(reports: Mapping[str, Report], ax: Any) -> None:
    """Limit the y axis to the regrets if the bounds are far above them."""
    regrets = np.concatenate([report.curve["regret"] for report in reports.values()])
    bounds = np.concatenate([report.curve["bound"] for report in reports.values()])
    regrets, bounds = regrets[np.isfinite(regrets)], bounds[np.isfinite(bounds)]
    if len(regrets) and len(bounds) and bounds.max() > 5 * max(regrets.max(), 0.0) > 0:
        ax.set_ylim(min(0.0, 1.1 * float(regrets.min())), 3 * float(regrets.max()))


def _of(what: str, name: str) -> str:
    return f"{what} of {name}" if name else what


def _decisions(report: Report, ax: Any) -> None:
    assert report.decisions is not None
    rounds = np.arange(1, report.rounds + 1)
    for index in range(min(report.decisions.shape[1], len(COLOURS))):
        ax.plot(rounds, report.decisions[:, index], color=COLOURS[index], linewidth=1.2, label=str(index))


def fragment(reports: Mapping[str, Report]) -> str:
    """A self-contained HTML table and SVG plot of regret and bound."""
    head = "".join(f"<th>{word}</th>" for word in ("", "loss", "regret", "bound", "theorem"))
    rows = []
    for index, (name, report) in enumerate(reports.items()):
        bound = report.bound
        cells = [
            number(report.loss),
            number(report.regret),
            "–" if bound is None else number(bound.value),
            "none applies" if bound is None else bound.theorem,
        ]
        mark = f'<td style="color:{COLOURS[index % len(COLOURS)]}"><b>{escape(name)}</b></td>'
        rows.append(f"<tr>{mark}{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
    first = next(iter(reports.values()))
    words = f"{first.rounds:,} rounds; best in hindsight {number(first.best.loss)}, {first.best.method}"
    return (
        f'<div style="font:13px system-ui,sans-serif">{_picture(reports)}'
        f"<table><tr>{head}</tr>{''.join(rows)}</table><div>{escape(words)}; dashed: the bound</div></div>"
    )


def _picture(reports: Mapping[str, Report]) -> str:
    width, height, left, foot = 560, 200, 64, 40
    curves = [report.curve for report in reports.values()]
    most = max(float(curve["round"][-1]) for curve in curves)
    every = np.concatenate([np.concatenate([curve["regret"], curve["bound"]]) for curve in curves])
    every = every[np.isfinite(every)]
    if not len(every):
        return ""
    low, high = min(0.0, float(every.min())), max(0.0, float(every.max()))
    span = (high - low) or 1.0

    def line(rounds: Any, values: Any, style: str) -> str:
        known = np.isfinite(values)
        x, y = rounds[known] / most * width, (high - values[known]) / span * height
        points = " ".join(f"{across:.1f},{down:.1f}" for across, down in zip(x, y, strict=True))
        return f'<polyline points="{points}" fill="none" {style}/>'

    def words(x: float, y: float, text: str, anchor: str = "middle", more: str = "") -> str:
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
        return f'<text {place} font-size="11" fill="currentColor" {more}>{escape(text)}</text>'

    parts = []
    for tick in ticks(low, high, 4):
        y = (high - tick) / span * height
        parts.append(f'<path d="M0 {y:.1f}H{width}" stroke="currentColor" stroke-opacity=".14"/>')
        parts.append(words(-7, y + 4, short(tick), "end"))
    parts += [words(tick / most * width, height + 15, short(tick)) for tick in ticks(0.0, most, 5)]
    parts.append(words(width / 2, height + 32, "rounds"))
    parts.append(
        words(-left + 12, height / 2, "regret", more=f'transform="rotate(-90 {-left + 12} {height / 2:g})"')
    )
    for index, curve in enumerate(curves):
        colour = COLOURS[index % len(COLOURS)]
        parts.append(line(curve["round"], curve["regret"], f'stroke="{colour}" stroke-width="1.6"'))
        parts.append(line(curve["round"], curve["bound"], f'stroke="{colour}" stroke-dasharray="4 2"'))
    box = f'viewBox="{-left} -10 {width + left + 16} {height + foot + 10}" width="{width + left + 16}"'
    style = 'style="max-width:100%;height:auto"'
    return f'<svg role="img" aria-label="regret over rounds" {box} {style}>{"".join(parts)}</svg>'
