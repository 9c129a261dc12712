"""`--contract` and `--quarantine`: rows that violate a data contract are reported or quarantined."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from millstream.cli import show
from millstream.cli.errors import UsageError
from millstream.cli.options import Option, grouped
from millstream.cli.writers import ENDINGS, check_place

if TYPE_CHECKING:
    from millstream.stream import Stream

__all__ = [
    "CONTRACT_OPTIONS",
    "contract_data",
    "contract_lines",
    "under_contract",
    "violations_of",
    "write_quarantine",
]

CONTRACT_OPTIONS = grouped(
    "source",
    Option(
        ("--contract",),
        "data contract written by millstream look --save; violations are counted and reported by rule",
        value="FILE.json",
        complete="file",
    ),
    Option(
        ("--quarantine",),
        "with --contract: skip rows that violate it, and write the first 1,000 of them to this file",
        value="FILE.csv|parquet|jsonl",
        complete="file",
    ),
    Option(("--strict",), "stop if the columns differ from those of the saved model or of the first rows"),
)


def under_contract(stream: Stream, given: Namespace) -> Stream:
    """The stream, compared with the contract of the command line if there is one."""
    if given.quarantine and not given.contract:
        raise UsageError("--quarantine needs --contract, the file that millstream look --save wrote")
    check_place(given.quarantine, ENDINGS, what="--quarantine")
    if not given.contract:
        return stream
    from millstream.stream.profiling import Profile

    contract = Profile.load(given.contract)
    return contract.check(stream, on_violation="quarantine" if given.quarantine else "report")


def _checked(stream: Any) -> Any:
    """The checked stream inside a derived one; None if there is none."""
    from millstream.stream.profiling import Checked

    while stream is not None and not isinstance(stream, Checked):
        stream = getattr(stream, "source", None)
    return stream


def contract_lines(stream: Any, given: Namespace) -> list[str]:
    """The violations of the contract, a line for each rule."""
    checked = _checked(stream) if given.contract else None
    if checked is None:
        return []
    return checked.summary or [f"all rows follow the contract {given.contract}"]


def violations_of(stream: Any, given: Namespace) -> list[str]:
    """The violations for which rows were left out; empty without such rows."""
    checked = _checked(stream) if getattr(given, "quarantine", None) else None
    return checked.summary[:-1] if checked is not None and checked.left_out else []


def contract_data(stream: Any, given: Namespace) -> dict[str, Any]:
    """The violations as plain data, if there is a contract."""
    checked = _checked(stream) if given.contract else None
    if checked is None:
        return {}
    examples = [vars(each) for each in checked.examples_of_violations[:10]]
    found = {"violations": checked.violations, "examples": examples, "quarantined": checked.left_out}
    return {"contract": found}


def write_quarantine(stream: Any, given: Namespace, silent: bool) -> None:
    """Write the quarantined rows."""
    checked = _checked(stream) if given.quarantine else None
    if checked is None or not checked.quarantined:
        return
    from millstream.cli.writers import Writer

    names = dict.fromkeys(name for _, x, _ in checked.quarantined for name in x)
    columns: dict[str, Any] = {"row": [row for row, _, _ in checked.quarantined]}
    columns |= {str(name): [x.get(name) for _, x, _ in checked.quarantined] for name in names}
    if stream.target and str(stream.target) not in columns:
        columns[stream.target] = [y for _, _, y in checked.quarantined]
    # Quarantined columns may have values of several types.
    columns = {name: values if name == "row" else _of_one_type(values) for name, values in columns.items()}
    with Writer(given.quarantine) as writer:
        writer.write(columns)
    show.remark(f"{show.counted(writer.rows, 'row')} in quarantine in {given.quarantine}", silent)


def _of_one_type(values: list[Any]) -> list[Any]:
    if all(value is None or isinstance(value, (int, float)) for value in values):
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]
