"""`millstream look`: what is in a file, before anything is learned from it."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from millstream._echo import plain
from millstream.cli import show
from millstream.cli.models import no_rows
from millstream.cli.options import DATA_ERROR, JSON, OK, Command, Option
from millstream.cli.sources import SOURCE_OPTIONS, source_of
from millstream.errors import InvalidValue

if TYPE_CHECKING:
    from millstream.cli.observed import ObservedStream

__all__ = ["COMMAND", "profile_lines", "show_profile"]

#: Number of rows that are read unless --limit is given.
_ROWS = 100_000

#: Number of notes that are printed before a run.
_NOTES = 8


def show_profile(given: Namespace, stream: ObservedStream) -> None:
    """Print what is in the first rows before they are learned, if a person is watching.

    Otherwise `profile_lines` are part of the result.
    """
    stream.notes_only = given.quiet
    if given.quiet or given.json or given.follow or not stream.reads_ahead or not sys.stderr.isatty():
        return
    if stream.first() is not None:
        for line in profile_lines(stream):
            show.remark(line)
        stream.profile_shown = True


def profile_lines(stream: ObservedStream) -> list[str]:
    """What is in the first rows of a stream, unless it was printed already."""
    found = stream.profile
    if found is None or stream.profile_shown:
        return []
    # In an ordered stream, a column may be constant for a long time, such as the month.
    constant = {plain(column.name, 60) for column in found.columns.values() if column.kind == "constant"}
    notes = [str(remark) for remark in found.remarks if remark.column not in constant]
    more = [f"{len(notes) - _NOTES} more: see millstream look"] if len(notes) > _NOTES else []
    if stream.notes_only:
        return notes[:_NOTES] + more
    lines = found.facts() + [f"note     {note}" for note in notes[:_NOTES] + more]
    return [f"first {show.counted(found.rows, 'row')}:", *(f"  {line}" for line in lines)]


def main(given: Namespace) -> int:
    """Run the command."""
    from millstream.stream.profiling import Profile, profile

    source: Any = source_of(given, learning=False)
    rows = given.limit if given.limit is not None else _ROWS
    checked = None
    if given.contract:
        checked = source = Profile.load(given.contract).check(source.take(rows))
        if source.endless:
            source = source.take(rows)
    found = profile(source, rows)
    if not found.rows:
        raise InvalidValue(no_rows(given, source))
    if given.json:
        remarks = [vars(remark) for remark in found.remarks]
        violations = None if checked is None else checked.violations
        columns = [column.to_dict() | {"kind": column.kind} for column in found.columns.values()]
        target = None if found.target is None else found.target.to_dict()
        data = {"source": given.source, "rows": found.rows, "columns": columns, "target": target}
        show.say(show.as_json({**data, "remarks": remarks, "violations": violations}))
    else:
        show.say(f"{show.bold(plain(given.source))}, first {found}")
    if checked is not None and not given.json:
        show.say("\n".join(checked.summary) or "all rows follow the contract")
    if given.save:
        found.save(given.save)
        show.remark(f"contract in {given.save}", given.json)
    return DATA_ERROR if checked is not None and checked.violations else OK


COMMAND = Command(
    "look",
    "show what is in a source: columns by kind, missing values, the target, probable mistakes",
    "Reads the first 100,000 rows, or as many as --limit says, and learns nothing. --save writes what was found\n"
    "as a data contract; --contract compares the rows with one and ends with exit code 1 if they violate it.",
    (
        *SOURCE_OPTIONS,
        Option(("--save",), "write the profile as a data contract", value="FILE.json", complete="file"),
        Option(("--contract",), "compare the rows with a data contract", value="FILE.json", complete="file"),
        JSON,
    ),
    (
        ("look at a file", "look flights.csv --target late"),
        ("save a data contract and check tomorrow's file", "look flights.csv -t late --save contract.json"),
        ("", "look tomorrow.csv -t late --contract contract.json"),
    ),
    main,
)
