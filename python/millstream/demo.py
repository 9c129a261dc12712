"""`millstream demo`: a year of flights, learned as they came, and what there is to know about it.

Two models and a baseline go through `datasets.Flights` in one pass. Each flight is predicted at its scheduled
departure, and learned and scored when it had arrived.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from millstream import baseline, datasets, drift, evaluate, linear_model, naive_bayes, optim, preprocessing
from millstream.errors import MillstreamError

__all__ = ["main", "models"]

#: It gives every flight the share of late ones so far.
BASELINE = "baseline"
#: How many flights rolling metrics look at: about those of five days.
WINDOW = 5_000
#: With fewer flights there is nothing to say.
LEAST = 1_000
#: New York's mornings begin about then, in UTC: what is before belongs to the day before.
_NIGHT = np.timedelta64(9, "h")


def models() -> dict[str, Any]:
    """Who takes part.

    AdaGrad and its step size were chosen on this very stream, among a dozen; with plain SGD, which is the default,
    ROCAUC is 0.723 and not 0.734.
    """
    return {
        "logistic regression": preprocessing.StandardScaler()
        | linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.1)),
        "naive Bayes": naive_bayes.GaussianNB(),
        BASELINE: baseline.Prior(),
    }


class Year:
    """The times of the stream, to say when something was."""

    def __init__(self, stream: datasets.Flights, rows: int | None) -> None:
        chunks = list(stream.chunks())
        late = np.concatenate([chunk.y for chunk in chunks])[:rows]
        self.rows, self.late = len(late), float(late.mean())
        departure = np.concatenate([chunk.time for chunk in chunks])[:rows]
        arrival = np.concatenate([chunk.label_time for chunk in chunks])[:rows]
        self.wait = (arrival - departure).astype("timedelta64[m]").astype(np.int64)
        # Rows of a result are counted by the labels that have come.
        order = np.argsort(arrival, kind="stable")
        self.arrivals, self.late_by_label = arrival[order], late[order]

    def day_of_label(self, row: int) -> Any:
        """The day on which so many labels had come."""
        return (self.arrivals[max(0, min(row, self.rows) - 1)] - _NIGHT).astype("datetime64[D]")

    def late_until(self, row: int) -> float:
        """The share of late flights in the window that ends with a label."""
        return float(self.late_by_label[max(0, row - WINDOW) : row].mean())


def _date(day: Any) -> str:
    date: datetime.date = day.item()
    return f"{date.day} {date:%B}"


def _share(part: float, digits: int = 0) -> str:
    return f"{100 * part:.{digits}f} %"


def _plain(*columns: str) -> Table:
    """A table of few lines, words to the left and numbers to the right."""
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False, show_edge=False)
    for column in columns:
        words = column in ("", "around", "late", "on time")
        table.add_column(column, justify="left" if words else "right", no_wrap=True)
    return table


def _table(results: evaluate.Results) -> Table:
    names = list(next(iter(results.values())).values)
    table = _plain("", *names, "flights/s", "memory")
    for result in results.ranked():
        values = [f"{result[name]:.4f}" for name in names]
        table.add_row(result.name, *values, f"{result.throughput:,.0f}", f"{result.memory / 1000:,.0f} kB")
    return table


def _in_words(results: evaluate.Results, at_once: evaluate.Result, year: Year) -> list[str]:
    """What the numbers say, and what they do not."""
    best, base = results.best, results[BASELINE]
    others = [result for result in results.values() if result is not best and result is not base]
    lines = [
        f"Of a late flight and a punctual one, {best.name} gives the late one the higher probability in "
        f"{_share(best['ROCAUC'], 1)} of all pairs; a coin would in 50 %.",
        f"Accuracy hides that: {_share(best['Accuracy'], 1)}, and always saying 'on time' has "
        f"{_share(base['Accuracy'], 1)}, because most flights are.",
    ]
    lines += [
        f"{result.name} ranks better than the baseline, and yet its log loss is worse: it is too sure of itself, "
        "because features that repeat each other count twice."
        for result in others
        if result["ROCAUC"] > base["ROCAUC"] and result["LogLoss"] > base["LogLoss"]
    ]
    if best.calibration is not None:
        edges, counts = best.calibration.edges[:-1] >= 0.6, best.calibration.counts
        if rows := int(counts[edges].sum()):
            said, came = (
                float(np.nansum(values[edges] * counts[edges]) / rows)
                for values in (best.calibration.predicted, best.calibration.observed)
            )
            lines.append(
                f"{rows:,} flights were given 60 % or more, {_share(said)} on average, and {_share(came)} of them "
                f"were late; of all flights, {_share(year.late)}."
            )
    waiting = best.curve["waiting"]
    lines += [
        f"Half of the labels came more than {np.median(year.wait) / 60:.1f} hours after the prediction, the last "
        f"after {year.wait.max() / 60:.0f}: {np.median(waiting):.0f} predictions waited for theirs at a time, "
        f"{waiting.max():,.0f} at most.",
        f"Had each label been there at once, ROCAUC would be {at_once['ROCAUC']:.4f}, not {best['ROCAUC']:.4f}: "
        "a test without delay promises what nobody gets.",
    ]
    return lines


def _worst(best: evaluate.Result, year: Year, count: int = 5) -> Table:
    """The times at which the rolling log loss was highest."""
    table = _plain("around", "log loss", "late then")
    rows, losses = best.curve["row"], best.curve["rolling_LogLoss"]
    # The first twentieth is left out: then everything is new.
    first = len(losses) // 20
    shown: list[int] = []
    for place in np.argsort(-losses[first:]) + first:
        row = int(rows[place])
        if len(shown) < count and all(abs(row - other) >= 2 * WINDOW for other in shown):
            shown.append(row)
            day = _date(year.day_of_label(row - WINDOW // 2))
            table.add_row(day, f"{losses[place]:.3f}", _share(year.late_until(row)))
    return table


def _weights(model: Any, count: int = 6) -> Table:
    """The weights that count most: of numbers for one standard deviation, of nominal values against their mean."""
    learned = model.inspect()["steps"][-1]["weights"]
    flat = {name: weight for name, weight in learned.items() if not isinstance(weight, dict)}
    # Of the many flight numbers and destinations some are so rare that their weights mean little.
    for name in ("carrier", "origin", "weekday"):
        mean = float(np.mean(list(learned.get(name, {"": 0.0}).values())))
        flat |= {f"{name} {value}": weight - mean for value, weight in learned.get(name, {}).items()}
    ordered = sorted(flat.items(), key=lambda pair: pair[1])
    table = _plain("late", "weight", "on time", "weight")
    for (more, up), (less, down) in zip(reversed(ordered[-count:]), ordered[:count], strict=False):
        table.add_row(more, f"{up:+.2f}", less, f"{down:+.2f}")
    return table


def _rows(text: str) -> int:
    rows = int(text)
    if rows < LEAST:
        raise argparse.ArgumentTypeError(f"must be at least {LEAST:,}, got {rows:,}")
    return rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="millstream demo", description=__doc__)
    parser.add_argument("--rows", type=_rows, help="only the first so many flights, at least 1,000")
    parser.add_argument("--out", type=Path, default=Path("build"), help="where the page is written")
    return parser


def run(rows: int | None, out: Path, console: Console) -> None:
    """Learn, print, write the page."""
    began = time.perf_counter()
    flights = datasets.Flights()
    year = Year(flights, rows)
    lost = flights.left_out
    console.print(
        f"[bold]{year.rows:,} departures of 2013 from New York[/], in order of time.\n"
        f"{_share(year.late, 1)} arrived more than 15 minutes late. Left out: {lost['cancelled']:,} cancelled and "
        f"{lost['diverted']:,} diverted, which never arrived."
    )
    contest = models()
    metrics = ["ROCAUC", "LogLoss", "Accuracy", "CohenKappa"]
    detector = drift.PageHinkley(delta=0.15, threshold=200.0, mode="up")
    results = evaluate.prequential(contest, flights, metrics, detector=detector, window=WINDOW, limit=rows)
    best = results.best
    again = models()[best.name]
    at_once = evaluate.prequential(again, flights, "ROCAUC", delay=0, limit=rows, progress=False)
    console.print("\n[bold]Predicted at departure, learned and scored at arrival[/]")
    console.print(_table(results))
    console.print()
    for line in _in_words(results, at_once, year):
        console.print(f"• {line}", highlight=False)
    console.print(f"\n[bold]When {best.name} was worst[/], by the rolling log loss of {WINDOW:,} flights")
    console.print(_worst(best, year))
    if best.drifts:
        days = list(dict.fromkeys(_date(year.day_of_label(row)) for row in best.drifts))
        console.print(f"Its errors rose, says PageHinkley, on: {', '.join(days)}.", highlight=False)
    console.print("\n[bold]What logistic regression had learned[/] at the end: weights, by size")
    console.print(_weights(contest["logistic regression"]))
    out.mkdir(parents=True, exist_ok=True)
    page = out / "flights.html"
    command = "millstream demo" + (f" --rows {rows}" if rows else "")
    results.to_html(page, command, "Flights of 2013 from New York: which will be late?")
    console.print(f"\nThe curves over the year are in [bold]{page}[/]. {time.perf_counter() - began:.1f} seconds.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; returns its exit code."""
    given = _parser().parse_args(arguments)
    try:
        run(given.rows, given.out, Console(soft_wrap=False))
    except BrokenPipeError:
        raise
    except (MillstreamError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
