"""Files that all libraries read, written once for each size."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import streams
from benchmarks.measure import Outcome, Side
from millstream import evaluate, stream

__all__ = ["arrow_csv", "numbers_csv", "our_csv"]


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="millstream-bench-")


@cache
def numbers_csv(rows: int, width: int = 10) -> Path:
    """Numbers with six decimals, and a label of 0 or 1."""
    import pyarrow
    from pyarrow import csv

    X, y = streams.linear(rows, width)
    path = Path(_folder().name) / f"numbers-{rows}-{width}.csv"
    columns = dict(zip(streams.names(width), X.round(6).T, strict=True))
    csv.write_csv(pyarrow.table({**columns, "y": y}), path)
    return path


def our_csv(build: Callable[[], Any], path: Path, rows: int) -> Side:
    """From a CSV file to the evaluation result."""

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            source = stream.read_csv(path, target="y")
            result = evaluate.prequential(model, source, metrics="Accuracy", progress=False)
            return Outcome(result["Accuracy"], model.memory)

        return run

    return Side("millstream, file to result", rows, prepare)


def arrow_csv(path: Path, rows: int) -> Side:
    """Arrow's CSV reader on all cores, without learning."""

    def prepare() -> Callable[[], Outcome]:
        from pyarrow import csv

        def run() -> Outcome:
            assert csv.read_csv(path).num_rows == rows
            return Outcome()

        return run

    return Side("pyarrow, reading only", rows, prepare)
