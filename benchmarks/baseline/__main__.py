"""Compare the working tree with a revision: `python -m benchmarks.baseline --against REVISION`."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from benchmarks.baseline import builds
from benchmarks.baseline.measure import Comparison, by_instructions, by_time
from benchmarks.baseline.page import is_beyond, line, page
from benchmarks.baseline.workloads import Workload, chosen

PAGE = Path(__file__).parent.parent / "BASELINE.md"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.baseline", description=__doc__)
    parser.add_argument("--against", metavar="REVISION", help="the git revision to compare with")
    parser.add_argument(
        "--only", nargs="+", metavar="WORD", help="only workloads whose name contains one of these words"
    )
    parser.add_argument("--rounds", type=int, default=5, help="number of pairs of processes to time (default: 5)")
    parser.add_argument(
        "--instructions", action="store_true", help="count instructions with valgrind instead of timing; slow"
    )
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}; not with --only")
    parser.add_argument("--list", action="store_true", help="list the workloads and exit")
    given = parser.parse_args()
    if given.against is None and not given.list:
        parser.error("no revision given: pass --against REVISION")
    if given.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {given.rounds}")
    if given.write and given.only is not None:
        parser.error("--write needs all workloads: omit --only")
    if given.instructions and shutil.which("valgrind") is None:
        parser.error("--instructions needs valgrind (sudo apt install valgrind)")
    return given


def _told(comparison: Comparison) -> None:
    print(line(comparison), file=sys.stderr, flush=True)


def _timed(then: builds.Build, now: builds.Build, workloads: list[Workload], rounds: int) -> list[Comparison]:
    """Compare by time. Workloads beyond the threshold are timed again, twice as often; only this result counts."""
    compared = {comparison.name: comparison for comparison in by_time(then, now, workloads, rounds, _told)}
    doubtful = [workload for workload in workloads if is_beyond(compared[workload.name])]
    if doubtful:
        print(f"timing {len(doubtful)} again", file=sys.stderr, flush=True)
        again = by_time(then, now, doubtful, 2 * rounds, _told)
        compared |= {comparison.name: comparison for comparison in again}
    return list(compared.values())


def main() -> int:
    """Build, measure and print; returns 1 if a workload is slower."""
    given = _arguments()
    workloads = chosen(given.only)
    if given.list:
        print("\n".join(workload.name for workload in workloads))
        return 0
    if not workloads:
        raise SystemExit(f"no workload has one of these words in its name: {', '.join(given.only)}")
    then, now = builds.of_revision(given.against), builds.of_working_tree()
    if given.instructions:
        compared = by_instructions(then, now, workloads, _told)
    else:
        compared = _timed(then, now, workloads, given.rounds)
    text = page(then.name, compared, rounds=None if given.instructions else given.rounds)
    print(text)
    if given.write:
        PAGE.write_text(text)
    return int(any(is_beyond(each) and each.ratio > 1.0 for each in compared))


if __name__ == "__main__":
    sys.exit(main())
