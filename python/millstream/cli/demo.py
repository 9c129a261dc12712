"""`millstream demo`: predict delays of departures from New York, with labels that arrive with the flights."""

from __future__ import annotations

from argparse import Namespace

from millstream.cli.options import Command, Option

__all__ = ["COMMAND"]


def main(given: Namespace) -> int:
    """Run the command."""
    from millstream import demo

    arguments = ["--rows", str(given.rows)] if given.rows else []
    if given.out:
        arguments += ["--out", given.out]
    return int(demo.main(arguments))


COMMAND = Command(
    "demo",
    "predict which flights are late: a tour of the features",
    "Learns the departures of 2013 from New York in their order, compares models, and writes an HTML report.",
    (
        Option(("--rows",), "maximum number of flights", value="ROWS", kind=int),
        Option(("--out",), "directory of the report", value="DIRECTORY", complete="file"),
    ),
    (("all flights, in less than a minute", "demo"),),
    main,
)
