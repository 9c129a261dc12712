"""Compare millstream with its peers: `python -m benchmarks.run`, or `make bench`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks import (
    continual,
    covariances,
    decisions,
    detectors,
    explanations,
    exports,
    forecasters,
    front,
    generators,
    keyed,
    language_models,
    learners,
    merging,
    quality,
    readers,
    report,
    resources,
    row_detectors,
    running_statistics,
    samplers,
    sensors,
    serving,
    sketches,
    workloads,
)
from benchmarks.measure import Comparison, Result, measure

RESULTS = Path(__file__).parent / "RESULTS.md"
PARTS = Path(__file__).parent / "PARTS.md"
SERVING = Path(__file__).parent / "SERVING.md"
#: Pages that are written alone with --only, each with the module that measures it.
PAGES = {
    "keyed": keyed,
    "merging": merging,
    "decisions": decisions,
    "explanations": explanations,
    "export": exports,
    "continual": continual,
    "language_models": language_models,
    "sensors": sensors,
}


def _measured(comparison: Comparison, turns: int) -> Result:
    result = measure(comparison, turns)
    ours = comparison.sides[0].name
    ratios = ", ".join(f"{result.ratio(side.name):.3g} × {side.name}" for side in comparison.sides[1:])
    print(
        f"{comparison.title}: {report.rate(result.rate(ours))} examples/s; {ratios}", file=sys.stderr, flush=True
    )
    return result


def _judged(size: float) -> tuple[list[quality.Quality], list[quality.Scales]]:
    judged = []
    for found in quality.qualities(size):
        (ours, _, learner), (theirs, library, other) = found.best("millstream"), found.best(*report.PEERS)
        print(
            f"{found.stream}: {found.loss} {ours:.5f} by {learner}; {theirs:.5f} by {library}, {other}",
            file=sys.stderr,
            flush=True,
        )
        judged.append(found)
    return judged, list(quality.scales(size))


def main() -> None:
    """Run the selected benchmarks and print the pages."""
    more = (
        "learners",
        "forecasters",
        "samplers",
        "sketches",
        "statistics",
        "covariances",
        "generators",
        "detectors",
        "row-detectors",
        "readers",
        "quality",
        "memory",
        "file-memory",
        "import",
        *PAGES,
        "serving",
        *serving.names(),
    )
    names = ", ".join([*workloads.WORKLOADS, *more])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="use a tenth of the rows and fewer rounds")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        help=f"only these: {names}, or the names of learners, generators and detectors",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="write RESULTS.md, PARTS.md, SERVING.md, the table of README.md, and the page of each name in "
        "PAGES; with --only, the pages of the given names",
    )
    half = parser.add_mutually_exclusive_group()
    half.add_argument("--goals", action="store_true", help="only comparisons with goals; the other pages are kept")
    half.add_argument("--parts", action="store_true", help="only tables of all components; RESULTS.md is kept")
    given = parser.parse_args()
    size, turns = (0.1, 3) if given.quick else (1.0, 5)
    only: list[str] | None = given.only
    where = report.machine() + (" A quick run, with a tenth of the rows." if given.quick else "")
    if only is None or any(name.startswith("serving") for name in only):
        if not given.goals and not given.parts:
            _serving(where, only, quick=given.quick, write=given.write)
        only = None if only is None else [name for name in only if not name.startswith("serving")]
        if only == []:
            return
    if not given.goals and not given.parts:
        for name in PAGES:
            # The million sensors take half an hour, so they are measured by name only.
            if name in only if only is not None else name != "sensors":
                _page(name, where, quick=given.quick, write=given.write)
    only = None if only is None else [name for name in only if name not in PAGES]
    if only == []:
        return
    if not given.parts:
        _goals(where, size, turns, only, write=given.write and only is None)
    if not given.goals:
        # Three rounds suffice without goals.
        _parts(where, size, 3, only, write=given.write and only is None)


def _serving(where: str, only: list[str] | None, *, quick: bool, write: bool) -> None:
    every = only is None or "serving" in only
    found = list(serving.rows(quick=quick, only=None if every else only))
    if found:
        page = serving.page(where, found)
        print(page)
        if write and every:
            SERVING.write_text(page)


def _page(name: str, where: str, *, quick: bool, write: bool) -> None:
    module: Any = PAGES[name]
    page = module.page(where, list(module.rows(quick=quick)))
    print(page)
    if write:
        (Path(__file__).parent / f"{name.upper()}.md").write_text(page)


def _goals(where: str, size: float, turns: int, only: list[str] | None, *, write: bool) -> None:
    def wanted(name: str) -> bool:
        return only is None or name in only

    results = [_measured(make(size), turns) for _, make in workloads.chosen(only)]
    judged, rescaled = _judged(size) if wanted("quality") else ([], [])
    rows = int(10_000_000 * size)
    runs = [resources.long_run(model, rows) for model in ("scaler + logistic", "GaussianNB") if wanted("memory")]
    seconds = resources.import_seconds() if wanted("import") else None
    peaks = resources.file_peaks(int(4_000_000 * size)) if wanted("file-memory") else None
    page = report.page(where, results, runs, seconds, turns, peaks, judged, rescaled)
    print(page)
    if write:
        RESULTS.write_text(page)
        front.write(turns)


def _parts(where: str, size: float, turns: int, only: list[str] | None, *, write: bool) -> None:
    def measured(module: Any, name: str) -> list[Result]:
        every = None if only is None or name in only else only
        return [_measured(comparison, turns) for comparison in module.comparisons(size, every)]

    parts = measured(learners, "learners") + measured(forecasters, "forecasters")
    parts += measured(row_detectors, "row-detectors")
    drawn, watched = measured(generators, "generators"), measured(detectors, "detectors")
    sampled, sketched = measured(samplers, "samplers"), measured(sketches, "sketches")
    updated, matrices = measured(running_statistics, "statistics"), measured(covariances, "covariances")
    waits = list(readers.waits(size)) if only is None or "readers" in only else []
    if parts or drawn or watched or sampled or sketched or updated or matrices or waits:
        page = report.parts_page(
            where, turns, parts, drawn, watched, sampled, waits, sketched, [*updated, *matrices]
        )
        print(page)
        if write:
            PARTS.write_text(page)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    if "jpype" in sys.modules:
        # MOA's JVM can keep the process from exiting.
        os._exit(0)
