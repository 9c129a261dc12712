"""Write the golden files: a saved file for each component of the registry, with its predictions of some rows.

Run it when a component is added, or when the state of a component changes before a release. Files of a released
format are never rewritten, since they prove that old files keep loading:

    python tests/golden/make.py

Existing files are kept unless `--again` is given.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from measures import MEASURES, Measured
from millstream import drift
from streams import CASES, VARIANTS, Case, answer, mixed

FOLDER = Path(__file__).parent / "format-1"
MONITOR = Path(__file__).parent / "monitor" / "container.ms"


#: Optimisers whose states differ in structure from those of the others.
FULL_VECTOR = ("optim.Adaptive", "optim.CoinBetting", "optim.OnlineNewtonStep", "full AdaGrad")


def parts() -> dict[str, Case | Measured]:
    """A component of each name, by the name of its file."""
    found = {part.name.replace(" | ", "_"): part for part in reversed([*CASES, *MEASURES])}
    for optimizer in FULL_VECTOR:
        name = f"LogisticRegression({optimizer})"
        word = optimizer.removeprefix("optim.").replace(" ", "_")
        found[f"LogisticRegression_{word}"] = next(case for case in VARIANTS if case.name == name)
    return found


def probes() -> list[dict[str, Any]]:
    return [x for x, _ in mixed(6, seed=5)] + [{}, {"a": 1.0}, {"colour": "never seen"}]


def taught(part: Case | Measured) -> Any:
    """The component after it has learned part of a stream."""
    return (
        part.told(part.build(), range(80)) if isinstance(part, Measured) else part.learn(part.build(), mixed(80))
    )


def said(part: Case | Measured, thing: Any) -> Any:
    """Its predictions or its value, as JSON data."""
    if isinstance(part, Measured):
        return _plain(part.value(thing))
    return [_plain(answer(part, thing, x)) for x in probes()]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return [[key, _plain(item)] for key, item in value.items()]
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def watched() -> drift.Monitor:
    """A monitor after 1,600 rows: feature a shifts at row 800, the errors increase at row 850."""
    detectors = {"errors": drift.PageHinkley(grace_period=20, threshold=10.0), "rows": drift.KSTest()}
    monitor = drift.Monitor(detectors, together=100)
    draw = random.Random(7)
    for row in range(1600):
        x = {"a": draw.gauss(3.0 if row >= 800 else 0.0, 1.0), "b": draw.random()}
        monitor.update(x, row % 2, None if row < 3 else (row + (row >= 850)) % 2)
    return monitor


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, part in parts().items():
        path = FOLDER / f"{name}.ms"
        if path.exists() and "--again" not in sys.argv:
            continue
        thing = taught(part)
        thing.save(path)
        record = {"describe": thing.describe(), "said": said(part, thing)}
        path.with_suffix(".json").write_text(json.dumps(record) + "\n")
        print("wrote", path.name)
    # json.ms in the same folder has the previous format, in which monitors are no longer written.
    if not MONITOR.exists() or "--again" in sys.argv:
        watched().save(MONITOR)
        print("wrote", MONITOR.name)


if __name__ == "__main__":
    main()
