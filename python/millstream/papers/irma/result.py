"""Results of a reproduction, with the published values."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from millstream.errors import InvalidValue
from millstream.evaluate.frames import frame, table
from millstream.papers.irma.published import CHOICES, CITATION, EXAMPLES, MISTAKES, ORDERS, WIDER_REGION

__all__ = ["Cell", "Curve", "Reproduction", "Snapshot"]


@dataclass(frozen=True)
class Cell:
    """One cell of Table I: the squared error to the truth after a number of examples, over all sequences."""

    order: int
    examples: int
    #: "incremental" or "batch".
    learning: str
    mean: float
    std: float
    variance: float
    median: float
    paper_mean: float
    #: The number after ± in the paper, which calls it a standard deviation.
    paper_spread: float

    @classmethod
    def of(cls, order: int, examples: int, learning: str, errors: Any, paper: tuple[float, float]) -> Cell:
        """The cell of the errors of all sequences."""
        std = float(np.std(errors, ddof=1))
        return cls(
            order, examples, learning, float(np.mean(errors)), std, std**2, float(np.median(errors)), *paper
        )

    @property
    def ratio(self) -> float:
        """Our mean divided by that of the paper."""
        return self.mean / self.paper_mean


@dataclass(frozen=True)
class Curve:
    """The cumulative loss of a learner after each example: mean, standard deviation and median over all runs."""

    name: str
    mean: Any
    std: Any
    median: Any


@dataclass(frozen=True)
class Snapshot:
    """One panel of Figure 2: a polynomial after the examples that it has learned."""

    order: int
    examples: int
    learning: str
    grid: Any
    truth: Any
    said: Any
    x: Any
    y: Any


def _wrapped(text: str, mark: str = "") -> str:
    return textwrap.fill(text, 110, initial_indent=mark, subsequent_indent=" " * len(mark))


@dataclass
class Reproduction:
    """Table I and Figures 1 and 2. Its representation contains the tables and the choices made."""

    table: list[Cell]
    #: The incremental cells with a region that is 5 % wider at both ends.
    wider: list[Cell]
    curves: list[Curve]
    snapshots: list[Snapshot]
    settings: dict[str, Any] = field(default_factory=dict)

    def cell(self, order: int, examples: int, learning: str) -> Cell:
        """One cell of the table."""
        for cell in self.table:
            if (cell.order, cell.examples, cell.learning) == (order, examples, learning):
                return cell
        raise InvalidValue(
            f"papers.irma: there is no cell of order {order} after {examples} examples, {learning!r}; orders are "
            f'{ORDERS}, examples {EXAMPLES}, and learning is "incremental" or "batch"'
        )

    def curve(self, name: str) -> Curve:
        """One curve of Figure 1."""
        for curve in self.curves:
            if curve.name == name:
                return curve
        raise InvalidValue(f"papers.irma: there is no curve {name!r}; there are {', '.join(self._names())}")

    def _names(self) -> list[str]:
        return [curve.name for curve in self.curves]

    def to_frame(self, kind: str | None = None) -> Any:
        """The table as a frame with a row per cell."""
        rows = [{**asdict(cell), "ratio": cell.ratio} for cell in self.table]
        return frame({name: [row[name] for row in rows] for name in rows[0]}, kind)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        cells = [[{**asdict(cell), "ratio": cell.ratio} for cell in cells] for cells in (self.table, self.wider)]
        return {
            "paper": CITATION,
            "settings": self.settings,
            "table_1": cells[0],
            "table_1_wider_region": {"bounds": list(WIDER_REGION), "cells": cells[1]},
            "figure_1": [asdict(curve) for curve in self.curves],
            "figure_2": [asdict(snapshot) for snapshot in self.snapshots],
            "chosen": list(CHOICES),
            "mistakes": list(MISTAKES),
        }

    def plot(self, figure: int = 1) -> Any:
        """Figure 1 or 2 as a matplotlib figure."""
        from millstream.papers.irma.plots import figure_1, figure_2

        if figure not in (1, 2):
            raise InvalidValue(f"papers.irma: figure must be 1 or 2, got {figure!r}")
        return (figure_1 if figure == 1 else figure_2)(self)

    def save_plots(self, directory: str | PathLike[str], suffixes: Sequence[str] = (".png",)) -> list[Path]:
        """Save both figures in a directory, which is created if necessary."""
        Path(directory).mkdir(parents=True, exist_ok=True)
        written = []
        for number in (1, 2):
            drawn = self.plot(number)
            for suffix in suffixes:
                path = Path(directory) / f"irma_figure_{number}{suffix}"
                drawn.savefig(path, dpi=150)
                written.append(path)
        return written

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Each table: title, header and rows."""
        loss = (
            "Cumulative loss, order 6 (Figure 1): mean ± standard deviation of all runs, and the median at the end"
        )
        wider = f"The same with IRMA's region {list(WIDER_REGION)}: incremental, ours / paper's"
        return [
            (
                "Table I: mean squared error to the truth; ± is the variance, in brackets the standard deviation",
                ["examples", *(f"order {order}" for order in ORDERS)],
                [
                    row
                    for n in EXAMPLES
                    for learning in ("incremental", "batch")
                    for row in self._rows(n, learning)
                ],
            ),
            (
                wider,
                ["examples", *(f"order {order}" for order in ORDERS)],
                [
                    [
                        str(n),
                        *(f"{cell.mean:.1e}  × {cell.ratio:.2f}" for cell in self.wider if cell.examples == n),
                    ]
                    for n in EXAMPLES
                ],
            ),
            (
                loss,
                ["", *(f"after {n}" for n in EXAMPLES), "median"],
                [
                    [
                        curve.name,
                        *(f"{curve.mean[n - 1]:.3g} ± {curve.std[n - 1]:.2g}" for n in EXAMPLES),
                        f"{curve.median[-1]:.3g}",
                    ]
                    for curve in self.curves
                ],
            ),
        ]

    def _rows(self, n: int, learning: str) -> list[list[str]]:
        cells = [self.cell(order, n, learning) for order in ORDERS]
        return [
            [f"{n} {learning}", *(f"{c.mean:.1e} ± {c.variance:.1e} ({c.std:.1e})" for c in cells)],
            ["  paper", *(f"{c.paper_mean:.1e} ± {c.paper_spread:.1e}".ljust(27) for c in cells)],
            ["  ours / paper's; median", *(f"× {c.ratio:.3g}; {c.median:.1e}".ljust(27) for c in cells)],
        ]

    def __repr__(self) -> str:
        lines = [_wrapped(CITATION), ""]
        for words, head, rows in self.tables():
            lines += [words, table(head, rows), ""]
        for words, said in (("Not said in the paper, and chosen:", CHOICES), ("Wrong in the paper:", MISTAKES)):
            lines += [words, *(_wrapped(line, "- ") for line in said), ""]
        return "\n".join(lines).rstrip()

    def _repr_html_(self) -> str:
        parts = [f"<p>{html.escape(CITATION)}</p>"]
        for words, head, rows in self.tables():
            cells = "".join(f"<th>{html.escape(name)}</th>" for name in head)
            body = "".join(
                f"<tr>{''.join(f'<td>{html.escape(cell.strip())}</td>' for cell in row)}</tr>" for row in rows
            )
            parts.append(f"<p>{html.escape(words)}</p><table><tr>{cells}</tr>{body}</table>")
        for words, said in (("Not said in the paper, and chosen", CHOICES), ("Wrong in the paper", MISTAKES)):
            parts.append(f"<p>{words}</p><ul>{''.join(f'<li>{html.escape(line)}</li>' for line in said)}</ul>")
        return "".join(parts)
