"""`millstream demo`: a model on real departures from New York, with labels that come when the flights arrive."""

from __future__ import annotations

from argparse import Namespace

from millstream.cli.options import Command, Option

__all__ = ["COMMAND"]


def main(given: Namespace) -> int:
    """Run it."""
    from millstream import demo

    arguments = ["--rows", str(given.rows)] if given.rows else []
    if given.out:
        arguments += ["--out", given.out]
    return int(demo.main(arguments))


COMMAND = Command(
    "demo",
    "learn which flights will be late, and see what there is to see",
    "Learns the departures of 2013 from New York as they happened, compares models, and writes a page.",
    (
        Option(("--rows",), "only the first so many flights", value="ROWS", kind=int),
        Option(("--out",), "the directory for the page", value="DIRECTORY", complete="file"),
    ),
    (("all of it, in less than a minute", "demo"),),
    main,
)
