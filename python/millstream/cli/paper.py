"""`millstream paper`: the experiments of a paper repeated, with its figures beside ours."""

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

#: The names of `millstream.papers.PAPERS`, which would take long to import where only help is asked for.
_NAMES = ("irma",)
_SUFFIXES = {"png": (".png",), "svg": (".svg",), "both": (".png", ".svg")}


def main(given: Namespace) -> int:
    """Run it."""
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
    "repeat the experiments of a paper, beside its own figures",
    "Without a name, lists the papers. Tables are printed; figures are drawn into files. All follows from a\n"
    "seed: the same line gives the same figures.",
    (
        Option(("name",), "the paper", value="NAME", choices=_NAMES, optional=True),
        Option(("--sequences",), "sequences that Table I is the mean of", "N", positive, 1000),
        Option(("--runs",), "runs that Figure 1 is the mean of", "N", positive, 500),
        Option(("--seed",), "the seed of all that is drawn", "SEED", count, 1),
        Option(
            ("--bounds",),
            "the region that IRMA integrates over; --bounds=-0.15,3.15 comes nearest to the paper",
            value="LOW,HIGH",
            kind=_bounds,
            default="0,3",
        ),
        Option(
            ("--output", "-o"),
            "the directory for the figures",
            value="DIRECTORY",
            default="build",
            group="output",
            complete="file",
        ),
        Option(
            ("--format",),
            "what figures are written as",
            value="FORMAT",
            default="png",
            choices=tuple(_SUFFIXES),
            group="output",
        ),
        Option(("--no-plots",), "draw no figures", group="output"),
        JSON,
        QUIET,
    ),
    (
        ("which papers are there?", "paper"),
        ("Table I and Figures 1 and 2 of the paper on IRMA, in some seconds", "paper irma"),
        ("how much of it is chance?", "paper irma --seed 2 --no-plots"),
        ("with the region that comes nearest to the paper's figures", "paper irma --bounds=-0.15,3.15"),
        ("for a program", "paper irma --json --quiet --no-plots > irma.json"),
    ),
    main,
)
