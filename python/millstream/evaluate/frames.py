"""Columns as frames, and formatted numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream._echo import quoted
from millstream.errors import InvalidValue

__all__ = ["amount", "frame", "number", "table"]


def frame(columns: Mapping[str, Any], kind: str | None) -> Any:
    """Columns as a frame of the given library, by default of the first that is installed."""
    kinds = ("pandas", "polars", "pyarrow")
    if kind is not None and kind not in kinds:
        raise InvalidValue(f"kind must be one of {', '.join(kinds)}, got {quoted(kind)}")
    for library in kinds if kind is None else (kind,):
        try:
            if library == "pandas":
                import pandas

                return pandas.DataFrame(dict(columns))
            if library == "polars":
                import polars

                return polars.DataFrame(dict(columns))
            import pyarrow

            return pyarrow.table(dict(columns))
        except ImportError as error:
            if kind is not None:
                if error.name in (kind, None):
                    raise ImportError(f"a frame of {kind} needs {kind}: pip install {kind}") from None
                raise
    raise ImportError("a frame needs pandas, polars or pyarrow: pip install pandas")


def number(value: float) -> str:
    """Format a number: four decimals, or four significant digits if it is large or small."""
    if value != value:
        return "–"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4f}"
    return f"{value:.4g}"


def amount(size: float) -> str:
    """Format a number of bytes."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A text table: the first column is left-aligned, the others are right-aligned."""
    widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
    lines = []
    for row in [head, *rows]:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
