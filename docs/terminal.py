"""Record two commands as docs/terminal.svg, the picture of README.md: `python docs/terminal.py`.

`make docs` does not draw it, because the output has measured rates, which are different each time.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

import numpy as np

PICTURE = Path(__file__).parent / "terminal.svg"

COMMANDS = ("look visits.csv -t buy", "run visits.csv -t buy --option missing=- --drop visit --report report.html")

#: Size of a character and of a line in pixels, and the margin.
WIDTH, HEIGHT, MARGIN = 8.0, 18, 18

TEXT, DIM, GREEN, YELLOW, BACKGROUND = "#e6edf3", "#9aa7b4", "#7ee787", "#f2cc60", "#0d1117"


def write_visits(path: Path, rows: int = 20_000) -> None:
    """Visits of a shop. One price in fifty is written as "-"."""
    random = np.random.default_rng(1)
    price, hour = random.gamma(4.0, 20.0, rows), random.integers(0, 24, rows)
    age = random.normal(42, 12, rows).clip(18, 95)
    city = random.choice(["Bonn", "Oslo", "Rome"], rows)
    score = hour / 8 - price / 40 - (age - 42) / 30 + 1.5 * (city == "Rome")
    buys = score + random.logistic(scale=0.5, size=rows) > 0.5
    gap = random.random(rows) < 0.02
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["visit", "price", "age", "hour", "city", "buy"])
        for n in range(rows):
            shown = "-" if gap[n] else f"{price[n]:.1f}"
            answer = "yes" if buys[n] else "no"
            writer.writerow([f"v{n:05d}", shown, f"{age[n]:.0f}", hour[n], city[n], answer])


def record() -> list[tuple[str, str]]:
    """The lines of the terminal, each with its colour."""
    lines: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        write_visits(Path(folder, "visits.csv"))
        for command in COMMANDS:
            lines.append((f"$ millstream {command}", GREEN))
            call = [sys.executable, "-m", "millstream", *command.split()]
            done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=True)
            said = [*done.stdout.splitlines(), ""]
            lines += [(line, YELLOW if line.strip().startswith("note") else TEXT) for line in said]
    return lines[:-1]


def drawn(lines: list[tuple[str, str]]) -> str:
    """The lines as SVG. Each has a fixed length, whatever the font."""
    wide = max(len(line) for line, _ in lines) * WIDTH + 2 * MARGIN
    high = len(lines) * HEIGHT + 2 * MARGIN
    rows = []
    for place, (line, colour) in enumerate(lines):
        y = MARGIN + (place + 0.75) * HEIGHT
        # Words keep their columns if the font has other widths for some characters.
        start = 0
        for word in line.split("  "):
            if word.strip():
                left = start + len(word) - len(word.lstrip())
                shown = word.strip()
                at = f'x="{MARGIN + left * WIDTH:.0f}" y="{y:.1f}" textLength="{len(shown) * WIDTH:.0f}"'
                rows.append(f'<text {at} fill="{colour}">{escape(shown)}</text>')
            start += len(word) + 2
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" width="{wide:.0f}"'
    title = "millstream look finds '-' among the numbers of a file; millstream run learns the file"
    return "\n".join([
        f'{head} role="img" font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace"',
        f'font-size="13" lengthAdjust="spacingAndGlyphs"><title>{escape(title)}</title>',
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
        *rows,
        "</svg>\n",
    ])  # fmt: skip


if __name__ == "__main__":
    PICTURE.write_text(drawn(record()), encoding="utf-8")
