"""Write the golden files: one saved model for each part of the registry, and what it says of some rows.

Run it when a part is added, or when a part's state changes before a release; files of a released format are
never written again, since they are there to show that old files keep loading:

    python tests/golden/make.py

A file that exists is kept unless `--again` is given.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from measures import MEASURES, Measured
from streams import CASES, VARIANTS, Case, answer, mixed

FOLDER = Path(__file__).parent / "format-1"


#: Optimisers whose states are of another shape than that of the others.
WHOLE = ("optim.Adaptive", "optim.CoinBetting", "optim.OnlineNewtonStep", "full AdaGrad")


def parts() -> dict[str, Case | Measured]:
    """One of each name, by the name of its file."""
    found = {part.name.replace(" | ", "_"): part for part in reversed([*CASES, *MEASURES])}
    for optimizer in WHOLE:
        name = f"LogisticRegression({optimizer})"
        word = optimizer.removeprefix("optim.").replace(" ", "_")
        found[f"LogisticRegression_{word}"] = next(case for case in VARIANTS if case.name == name)
    return found


def probes() -> list[dict[str, Any]]:
    return [x for x, _ in mixed(6, seed=5)] + [{}, {"a": 1.0}, {"colour": "never seen"}]


def taught(part: Case | Measured) -> Any:
    """The part after some of a stream."""
    return (
        part.told(part.build(), range(80)) if isinstance(part, Measured) else part.learn(part.build(), mixed(80))
    )


def said(part: Case | Measured, thing: Any) -> Any:
    """What it says, as JSON can hold it."""
    if isinstance(part, Measured):
        return _plain(part.value(thing))
    return [_plain(answer(part, thing, x)) for x in probes()]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return [[key, _plain(item)] for key, item in value.items()]
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


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


if __name__ == "__main__":
    main()
