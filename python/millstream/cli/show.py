"""Output of commands: tables, JSON, and remarks on standard error."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import millstream
from millstream import notation
from millstream._echo import escaped, visible
from millstream.errors import MillstreamError

__all__ = ["as_json", "bold", "dim", "remark", "result_data", "say", "text_of"]


#: The only escape sequences that are printed: those of `bold` and `dim`.
_STYLES = re.compile(r"(\033\[[012]m)")


def _has_styles() -> bool:
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _styled(text: str, code: str) -> str:
    return f"\033[{code}m{visible(text)}\033[0m" if _has_styles() else text


def say(text: object = "", *, end: str = "\n", flush: bool = False) -> None:
    """Print a part of the result. Control characters are printed as escapes."""
    words = str(text)
    if _has_styles():
        parts = _STYLES.split(words)
        words = "".join(part if place % 2 else visible(part) for place, part in enumerate(parts))
    else:
        words = visible(words)
    print(words, end=end, flush=flush)


def bold(text: str) -> str:
    """Bold text on a terminal."""
    return _styled(text, "1")


def dim(text: str) -> str:
    """Dim text on a terminal."""
    return _styled(text, "2")


def remark(text: str, quiet: bool = False) -> None:
    """Print a remark to standard error."""
    if not quiet:
        print(visible(text), file=sys.stderr)


def warn(text: str) -> None:
    """Print a warning to standard error, even with --quiet."""
    print(visible(text), file=sys.stderr)


def as_json(value: Any) -> str:
    """Plain data as JSON, which has no NaN. Control characters are written as escapes."""
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: json.dumps(found[0])[1:-1], text)


#: Control and invisible characters beyond ASCII.
_UNPRINTABLE = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        # NumPy arrays and scalars.
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return str(value)


def text_of(model: Any) -> str:
    """A model as it can be typed."""
    try:
        return notation.text(model)
    except (MillstreamError, TypeError):
        return repr(model)


def amount(size: float) -> str:
    """Format a number of bytes."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def number(value: float) -> str:
    """Format a number: four decimals, or four significant digits if it is large or small."""
    if value != value:
        return "–"
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e5 else f"{value:.4g}"


def print_facts(facts: Sequence[tuple[str, str]]) -> None:
    """Print names and values in two columns, without empty values."""
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        if value:
            say(f"{name:<{width}}  {value}")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A text table: the first column is left-aligned, the others are right-aligned."""
    every = [[escaped(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[place]) for row in every) for place in range(len(head))]
    lines = []
    for row in every:
        cells = [cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in _with(row, widths)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join([bold(lines[0]), *lines[1:]])


def _with(row: Sequence[str], widths: Sequence[int]) -> Any:
    return enumerate(zip(row, widths, strict=True))


def counted(count: int, what: str, many: str | None = None) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{count:,} {what if count == 1 else many or what + 's'}"


def rows_line(result: Any) -> str:
    """The numbers of rows, and the speed."""
    rate = result.rows / max(result.elapsed, 1e-9)
    parts = [f"{counted(result.rows, 'row')} in {result.elapsed:.3g} s ({rate:,.0f} rows/s)"]
    notes = (
        ("warm-up", result.warmup),
        ("without a prediction", result.unanswered),
        ("skipped", result.skipped),
        ("still waiting for labels", result.waiting),
    )
    parts += [f"{count:,} {what}" for what, count in notes if count]
    return ", ".join(parts)


def delay_line(result: Any) -> str:
    """The largest number of waiting rows, if labels were late."""
    waiting = max((int(count) for count in result.curve.get("waiting", ())), default=0)
    return f"late labels: up to {counted(waiting, 'row')} waited for labels" if waiting > 1 else ""


def drift_line(result: Any) -> str:
    """The rows at which the detector found drift."""
    shown = ", ".join(f"{row:,}" for row in result.drifts[:8]) + (", …" if len(result.drifts) > 8 else "")
    return f"drift at row {shown}" if result.drifts else "no drift detected"


def _score(result: Any, name: str, whole: float, last: float) -> dict[str, Any]:
    data = {"whole": whole, "last": last}
    return data | {"positive": result.positive[name]} if name in result.positive else data


def result_data(result: Any) -> dict[str, Any]:
    """A result as plain data; `seconds` is the time of the whole run, `model_seconds` that of the model."""
    confusion = result.confusion
    return {
        "name": result.name,
        "model": text_of(result.model),
        "metrics": {name: _score(result, name, *score) for name, score in result.scores.items()},
        "constant": result.constant,
        "base_rates": result.base_rates,
        "warnings": result.warnings,
        "rows": result.rows,
        "scored": result.scored,
        "learned": result.learned,
        "warmup": result.warmup,
        "unanswered": result.unanswered,
        "skipped": result.unread + result.skipped,
        "unread": result.unread,
        "unread_reasons": result.unread_reasons,
        "refused": result.skipped,
        "refusals": [{"row": row, "reason": reason} for row, reason in result.refusals],
        "waiting": result.waiting,
        "interrupted": result.interrupted,
        "drifts": result.drifts,
        "confusion": None if confusion is None else {"labels": confusion.labels, "matrix": confusion.matrix},
        "seconds": result.elapsed,
        "rows_per_second": result.rows / max(result.elapsed, 1e-9),
        "model_seconds": result.seconds,
        "model_rows_per_second": result.throughput,
        "memory": result.memory,
        "settings": result.settings,
        "version": millstream.__version__,
    }
