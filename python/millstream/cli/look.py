"""`millstream look`: the profile of a source, without learning."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from millstream._echo import plain
from millstream.cli import show
from millstream.cli.contracts import CONTRACT_OPTIONS, under_contract, write_quarantine
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


def show_profile(given: Namespace, stream: ObservedStream, *, always: bool = False) -> None:
    """Print the profile of the first rows before they are learned, if the output is a terminal, or always.

    Otherwise `profile_lines` are part of the result.
    """
    stream.notes_only = given.quiet
    if given.quiet or given.json or given.follow or not stream.reads_ahead:
        return
    if not always and not sys.stderr.isatty():
        return
    if stream.first() is not None:
        for line in profile_lines(stream):
            show.remark(line)
        stream.profile_shown = True


def profile_lines(stream: ObservedStream) -> list[str]:
    """The profile of a stream; if it was printed already, only new remarks."""
    found = stream.profile
    if found is None:
        return []
    # In an ordered stream, a column may be constant for a long time, such as the month.
    constant = {plain(column.name, 60) for column in found.columns.values() if column.kind == "constant"}
    remarks = [remark for remark in found.remarks if remark.column not in constant and not remark.minor]
    remarks = [remark for remark in remarks if stream.is_learned or not remark.of_learning]
    notes = [str(remark) for remark in remarks if (remark.column, remark.option) not in stream.notes_shown]
    stream.notes_shown |= {(remark.column, remark.option) for remark in remarks}
    more = [f"{len(notes) - _NOTES} more: see millstream look"] if len(notes) > _NOTES else []
    if stream.notes_only or stream.profile_shown:
        return notes[:_NOTES] + more
    lines = found.facts() + [f"note     {note}" for note in notes[:_NOTES] + more]
    first = "" if stream.rows == found.rows else "first "
    return [f"{first}{show.counted(found.rows, 'row')}:", *(f"  {line}" for line in lines)]


def main(given: Namespace) -> int:
    """Run the command."""
    from millstream.stream.profiling import profile

    source: Any = source_of(given, learning=False)
    rows = given.limit if given.limit is not None else _ROWS
    checked: Any = None
    if given.contract:
        checked = source = under_contract(source.take(rows), given)
    found = profile(source, rows)
    if not found.rows:
        raise InvalidValue(no_rows(given, source))
    if given.json:
        remarks = [vars(remark) for remark in found.remarks]
        violations = None if checked is None else checked.violations
        columns = [
            column.to_dict() | {"kind": column.kind, "reason": column.reason} for column in found.columns.values()
        ]
        target = None if found.target is None else found.target.to_dict()
        data = {
            "source": given.source,
            "rows": found.rows,
            "columns": columns,
            "target": target,
            "omitted": found.omitted,
        }
        show.say(show.as_json({**data, "remarks": remarks, "violations": violations}))
    else:
        show.say(f"{show.bold(plain(given.source))}, first {found}")
    if checked is not None and not given.json:
        show.say("\n".join(checked.summary) or "all rows follow the contract")
    if given.save:
        found.save(given.save)
        show.remark(f"contract in {given.save}", given.json)
    write_quarantine(source, given, given.json)
    return DATA_ERROR if checked is not None and checked.violations else OK


COMMAND = Command(
    "look",
    "profile a source: columns by kind, missing values, the target, probable mistakes",
    "Reads the first 100,000 rows, or the number given by --limit, and learns nothing. --save writes the profile\n"
    "as a data contract; --contract compares the rows with a contract and exits with code 1 on violations.",
    (
        *SOURCE_OPTIONS,
        *CONTRACT_OPTIONS,
        Option(("--save",), "write the profile as a data contract", value="FILE.json", complete="file"),
        JSON,
    ),
    (
        ("look at a file", "look flights.csv --target late"),
        ("save a data contract and check tomorrow's file", "look flights.csv -t late --save contract.json"),
        ("", "look tomorrow.csv -t late --contract contract.json"),
    ),
    main,
)
