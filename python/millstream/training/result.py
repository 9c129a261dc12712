"""The result of training."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from millstream.evaluate.frames import frame, number
from millstream.evaluate.frames import table as text_table

__all__ = ["Training"]


@dataclass
class Training:
    """The result of `train`: the risk after each pass, and the reason for stopping.

    `history` has the columns `pass`, the risk (under its name), `examples` learned so far, and `seconds`.
    """

    model: Any
    #: Name of the risk: "loss", "squared error", "error rate", or the given metric.
    name: str
    history: dict[str, list[Any]]
    #: Reason for stopping: "passes", "tolerance" or "interrupted".
    stopped: str
    #: The pass with the best risk, from 1; 0 if none was completed.
    best_pass: int
    #: Whether the model was restored to its state after that pass.
    kept_best: bool
    settings: dict[str, Any]

    @property
    def passes(self) -> int:
        """Number of completed passes."""
        return len(self.history["pass"])

    @property
    def risks(self) -> list[float]:
        """The risk after each pass."""
        return self.history[self.name]

    @property
    def risk(self) -> float:
        """The risk of the current model: after the last pass, or the best if that was kept."""
        if not self.risks:
            return float("nan")
        return self.risks[self.best_pass - 1 if self.kept_best else -1]

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C stopped the training; what was learned until then is kept."""
        return self.stopped == "interrupted"

    def to_frame(self, kind: str | None = None) -> Any:
        """The history as a frame of "pandas", "polars" or "pyarrow"; by default the first that is installed."""
        return frame(self.history, kind)

    def plot(self, ax: Any = None) -> Any:
        """Draw the risk after each pass with matplotlib; returns the axes."""
        try:
            import matplotlib.pyplot as pyplot
        except ImportError:
            raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
        from millstream.evaluate.plot import COLOURS

        if ax is None:
            _, ax = pyplot.subplots(figsize=(8.0, 4.0), layout="constrained")
        ax.plot(self.history["pass"], self.risks, color=COLOURS[0], marker=".")
        if self.best_pass:
            ax.axvline(self.best_pass, color=COLOURS[6], linestyle=":", linewidth=1)
        ax.set_xlabel("pass")
        ax.set_ylabel(self.name)
        ax.set_title(f"{self.settings['order']}, {self.history['examples'][-1] if self.passes else 0:,} examples")
        return ax

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        head = ["pass", self.name, "examples", "seconds"]
        columns = zip(*(self.history[name] for name in head), strict=True)
        rows = [[str(p), number(risk), f"{n:,}", f"{seconds:.3g}"] for p, risk, n, seconds in columns]
        if len(rows) > 12:
            rows = [*rows[:5], ["…", "", "", ""], *rows[-6:]]
        return head, rows

    def _end(self) -> str:
        why = {
            "passes": "all passes made",
            "tolerance": "the risk no longer fell",
            "interrupted": "interrupted; what was learned is kept",
        }[self.stopped]
        return f"{why}; best after pass {self.best_pass}" + (", which was kept" if self.kept_best else "")

    def __repr__(self) -> str:
        return f"{text_table(*self._rows())}\n{self._end()}"

    def _repr_html_(self) -> str:
        head, rows = self._rows()
        cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        return (
            f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table><p>{html.escape(self._end())}</p>"
        )
