"""`millstream inspect`: show the content of a saved model."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path
from typing import Any

import millstream
from millstream._echo import plain
from millstream.cli import show
from millstream.cli.models import loaded
from millstream.cli.options import JSON, OK, Command, Option, count

__all__ = ["COMMAND"]


def main(given: Namespace) -> int:
    """Run the command."""
    from millstream.drift import Monitor

    part = loaded(given.file)
    if isinstance(part, Monitor):
        from millstream.cli.monitors import print_monitor

        return print_monitor(given, part)
    data = _data(part, Path(given.file))
    if given.json:
        state = part.inspect() if callable(getattr(part, "inspect", None)) else None
        show.say(show.as_json({**data, "description": part.describe(), "state": state}))
        return OK
    show.say(show.bold(plain(data["text"], 1000)))
    facts = [("role", data["role"]), ("learned", _learned(data)), ("features", _names(data["features"]))]
    facts += [("classes", _names(data["classes"])), ("in memory", show.amount(data["memory"]))]
    facts[2:2] = _replacements(part)
    facts += [("on disk", show.amount(data["file_size"]))]
    facts += [
        ("written by", f"millstream {data['written_by']}, format {data['format']}; this is {data['version']}")
    ]
    if "value" in data:
        facts.insert(2, ("value", show.number(data["value"])))
    show.print_facts(facts)
    _show_weights(part, given.top)
    _show_tree(part)
    return OK


def _data(part: Any, path: Path) -> dict[str, Any]:
    written_by, version = _origin(path.read_bytes())
    data: dict[str, Any] = {
        "file": str(path),
        "name": part.name,
        "role": getattr(part, "role", None),
        "text": show.text_of(part),
        "learned": getattr(part, "learned", getattr(part, "updates", None)),
        "features": [str(name) for name in getattr(part, "features", ())],
        "classes": list(getattr(part, "classes", ())),
        "memory": part.memory,
        "file_size": path.stat().st_size,
        "format": version,
        "written_by": written_by,
        "version": millstream.__version__,
    }
    if callable(getattr(part, "get", None)):
        data["value"] = float(part.get())
    return data


def _origin(data: bytes) -> tuple[str | None, int]:
    """The version of the package that wrote a file, and the version of its format."""
    from millstream.compose.pipeline_file import MARK, file_version

    is_pipeline = data.startswith(MARK)
    version = file_version(data) if is_pipeline else int.from_bytes(data[8:12], "little")
    # Earlier pipelines with steps in Python have it in their compiled steps only.
    writer = re.search(rb'written_by(?:[\xa0-\xbf]|": ")([0-9][\w.+-]*)', data if is_pipeline else data[:200])
    return (writer[1].decode() if writer else None), version


def _replacements(part: Any) -> list[tuple[str, str]]:
    """For `drift.Retrain`: the number of replacements, and the detectors."""
    from millstream.compose import Pipeline
    from millstream.drift import Retrain

    last = part[-1] if isinstance(part, Pipeline) else part
    if not isinstance(last, Retrain):
        return []
    learned = getattr(last.model, "learned", None)
    words = show.counted(last.replaced, "time")
    words += "" if learned is None else f"; the current model has learned {show.counted(learned, 'example')}"
    found = [("replaced", words + ("; a background model is training" if last.growing else ""))]
    for name, detector in (("detector", last.detector), ("warnings by", last.warning_detector)):
        if detector is not None:
            found.append((name, f"{show.text_of(detector)}, mean error {_estimate(detector)}"))
    return found


def _estimate(detector: Any) -> str:
    value = getattr(detector, "estimation", None)
    return "–" if value is None else show.number(float(value))


def _learned(data: dict[str, Any]) -> str:
    return "" if data["learned"] is None else show.counted(data["learned"], "example")


def _names(names: list[Any], most: int = 12) -> str:
    more = f", … ({len(names):,} in total)" if len(names) > most else f"  ({len(names)})"
    return ", ".join(plain(name) for name in names[:most]) + more if names else ""


def _show_weights(part: Any, top: int) -> None:
    from millstream.evaluate.weights import weights_of

    weights = weights_of(part)
    if weights is None or not top:
        return
    values = [float(value) for value in weights.values]
    largest = max((abs(value) for value in values), default=0.0) or 1.0
    rows = [
        [
            plain(name),
            show.number(value),
            ("█" * max(1, round(20 * abs(value) / largest)) if value else "").ljust(20),
        ]
        for name, value in zip(weights.names[:top], values, strict=False)
    ]
    show.say(f"\n{weights.about}")
    show.say(show.table(["feature", "value", ""], rows))
    if len(values) > top:
        show.say(show.dim(f"… and {len(values) - top:,} more; --top shows more"))


def _show_tree(part: Any) -> None:
    """A tree, or a pipeline that ends in one, as text."""
    from millstream.compose import Pipeline
    from millstream.drift import Retrain
    from millstream.tree.readable import ReadableTree

    last = part[-1] if isinstance(part, Pipeline) else part
    last = last.model if isinstance(last, Retrain) else last
    if isinstance(last, ReadableTree):
        show.say(f"\n{last.draw()}")


COMMAND = Command(
    "inspect",
    "show a saved model: parameters, learned examples, largest weights",
    "Loads a file written by --save, which is safe even if the file comes from a stranger. Shows the features\n"
    "with the largest weights; for a tree, the most important features and the tree; for drift.Retrain, the\n"
    "number of replacements; for a drift.Monitor, its newest events.",
    (
        Option(("file",), "saved model", value="FILE.ms", complete="file"),
        Option(("--top",), "number of features or events to show", value="N", kind=count, default=20),
        JSON,
    ),
    (("show a summary", "inspect late.ms"), ("print the whole state as JSON", "inspect late.ms --json")),
    main,
)
