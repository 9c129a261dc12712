"""The dialect of a CSV file, inferred from its first lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice

from millstream.stream.blocks import Record, Rules

__all__ = ["DELIMITERS", "fields", "sniff_delimiter"]

#: In order of preference. A space only if nothing else separates fields, since strings contain spaces.
DELIMITERS = (",", "\t", ";", "|", " ")

#: Number of records examined.
LOOKED_AT = 100


def sniff_delimiter(head: bytes, quote: str | None, newline: bytes) -> str:
    """The delimiter that gives most of the first records the same number of fields, more than one."""
    best, chosen = 0.0, ","
    for delimiter in DELIMITERS:
        rules = Rules(quote.encode() if quote else None, delimiter.encode(), newline)
        records = [record for record in islice(rules.records(head, 1), LOOKED_AT) if record.data]
        counts = Counter(len(fields(record, delimiter, quote)) for record in records)
        if not counts:
            break
        (width, often) = max(counts.items(), key=lambda item: (item[1], item[0]))
        if width < 2 or (delimiter == " " and often < len(records)):
            continue
        agreement = often / len(records)
        # Of two equally good ones the first is chosen, unless the other finds more fields.
        merit = agreement + (0 if delimiter == " " else min(width, 1000) / 10_000)
        if merit > best and (agreement > 0.5 or best == 0) and not (delimiter == " " and best > 0):
            best, chosen = merit, delimiter
    return chosen


def divides(head: bytes) -> bool:
    """Whether a text looks like CSV: most lines contain the delimiter."""
    if b"\0" in head:
        return False
    newline = b"\r" if b"\r" in head and b"\n" not in head else b"\n"
    whole = head[: head.rfind(newline) + 1] or head
    delimiter = sniff_delimiter(whole, '"', newline)
    lines = [line for line in whole.split(newline)[:LOOKED_AT] if line.strip()]
    return bool(lines) and sum(delimiter.encode() in line for line in lines) > 0.9 * len(lines)


def fields(record: Record, delimiter: str, quote: str | None) -> list[str]:
    """The fields of one record; bytes that are not UTF-8 are kept as surrogates."""
    text = record.data.decode("utf-8", "surrogateescape")
    if quote is None or quote not in text:
        return text.split(delimiter)
    cells, start = [], 0
    while True:
        inside, stop = "", start
        if text.startswith(quote, start):
            inside, stop = _quoted(text, start, quote)
        end = text.find(delimiter, stop)
        cells.append(inside + text[stop : end if end >= 0 else len(text)])
        if end < 0:
            return cells
        start = end + 1


def _quoted(text: str, start: int, quote: str) -> tuple[str, int]:
    """The content of a quoted field, and the end of its closing quote."""
    stop = start + 1
    while (stop := text.find(quote, stop)) >= 0 and text.startswith(quote, stop + 1):
        stop += 2
    end = len(text) if stop < 0 else stop
    return text[start + 1 : end].replace(quote * 2, quote), end if stop < 0 else end + 1


def named(given: Sequence[str]) -> list[str]:
    """Names for all columns; one without a name gets its number."""
    return [name.strip() or f"column_{place}" for place, name in enumerate(given, 1)]


def numbered(width: int) -> list[str]:
    """Names for columns that have none."""
    return named([""] * width)
