"""`millstream paper`: reproduce the experiments of a paper."""

from __future__ import annotations

import argparse
import time
from argparse import Namespace
from pathlib import Path

from millstream._echo import quoted
from millstream.cli import show
from millstream.cli.options import JSON, OK, QUIET, Command, Option, count, positive
from millstream.errors import InvalidValue

__all__ = ["COMMAND"]

#: The names of `millstream.papers.PAPERS`, which is too slow to import for the help.
_NAMES = ("irma",)
_SUFFIXES = {"png": (".png",), "svg": (".svg",), "both": (".png", ".svg")}


def main(given: Namespace) -> int:
    """Run the command."""
    from millstream import papers

    if given.name is None:
        if given.json:
            show.say(show.as_json(papers.PAPERS))
            return OK
        for name, citation in papers.PAPERS.items():
            show.say(f"{show.bold(name)}  {citation}")
        return OK
    place = None if given.no_plots else Path(given.output)
    if place is not None and place.exists() and not place.is_dir():
        raise InvalidValue(f"--output: {given.output} is not a directory")
    begun = time.perf_counter()
    result = papers.irma.reproduce(
        sequences=given.sequences,
        runs=given.runs,
        seed=given.seed,
        bounds=given.bounds,
        progress=False if given.quiet else None,
    )
    drawn = [] if place is None else result.save_plots(place, _SUFFIXES[given.format])
    if given.json:
        show.say(show.as_json({**result.to_dict(), "plots": [str(path) for path in drawn]}))
        return OK
    show.say(result)
    names = ", ".join(str(path) for path in drawn)
    show.remark(
        f"\n{f'{names}. ' if names else ''}{time.perf_counter() - begun:.1f} seconds, seed {given.seed}.",
        given.quiet,
    )
    return OK


def _bounds(text: str) -> tuple[float, float]:
    """Two numbers, LOW,HIGH."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be LOW,HIGH, such as -0.15,3.15, got {quoted(text)}") from None
    return low, high


COMMAND = Command(
    "paper",
    "reproduce the experiments of a paper and compare with its results",
    "Without a name, lists the papers. Tables are printed, and figures are written to files. The same seed gives\n"
    "the same results.",
    (
        Option(("name",), "name of the paper", value="NAME", choices=_NAMES, optional=True),
        Option(("--sequences",), "number of sequences averaged in Table I", "N", positive, 1000),
        Option(("--runs",), "number of runs averaged in Figure 1", "N", positive, 500),
        Option(("--seed",), "random seed", "SEED", count, 1),
        Option(
            ("--bounds",),
            "integration region of IRMA; --bounds=-0.15,3.15 is closest to the paper",
            value="LOW,HIGH",
            kind=_bounds,
            default="0,3",
        ),
        Option(
            ("--output", "-o"),
            "directory of the figures",
            value="DIRECTORY",
            default="build",
            group="output",
            complete="file",
        ),
        Option(
            ("--format",),
            "format of the figures",
            value="FORMAT",
            default="png",
            choices=tuple(_SUFFIXES),
            group="output",
        ),
        Option(("--no-plots",), "do not write figures", group="output"),
        JSON,
        QUIET,
    ),
    (
        ("list the papers", "paper"),
        ("Table I and Figures 1 and 2 of the paper on IRMA, in a few seconds", "paper irma"),
        ("another seed", "paper irma --seed 2 --no-plots"),
        ("the region that is closest to the paper", "paper irma --bounds=-0.15,3.15"),
        ("results as JSON", "paper irma --json --quiet --no-plots > irma.json"),
    ),
    main,
)
