"""`millstream drift`: an evaluation of drift detectors on known changes, or their detections in a file."""

from __future__ import annotations

import argparse
import io
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from millstream import notation, registry
from millstream._echo import quoted
from millstream.cli import show
from millstream.cli.errors import UsageError
from millstream.cli.models import MODEL, model_of, named
from millstream.cli.options import JSON, OK, QUIET, Command, Option, positive
from millstream.cli.sources import choice, near_file, source_name
from millstream.errors import InvalidValue

__all__ = ["COMMAND"]

#: The names of `evaluate.detection.known_streams.STREAMS`, which is slow to import.
_STREAMS = ("abrupt", "gradual", "slight", "stable")
_ENDINGS = (".png", ".svg", ".pdf")
_SEEDS, _LENGTH = 10, 10_000
_JUDGED = "it needs known changes: pass --changes"
_SAME = "a file is the same for every seed; seeds are for error streams and generators"
#: Options without effect, by the kind of SOURCE, and why.
_NOT_FOR = {
    "file": {
        "--model": "not for a file; millstream run FILE --model … --detector … monitors the errors of a model",
        "--seeds": _SAME,
        "--length": "only for a generator; a file is read to its end",
    },
    "generator": {"--target": "only for a file"},
    "stream": {
        "--target": "only for a file",
        "--model": "only for a generator; an error stream already has errors",
        "--length": "only for a generator",
    },
}


def main(given: Namespace) -> int:
    """Run the command."""
    from millstream import evaluate

    if given.plot and Path(given.plot).suffix.lower() not in _ENDINGS:
        raise UsageError(f"--plot: a plot is saved as {', '.join(_ENDINGS)}, got {quoted(given.plot)}")
    if given.kind and not given.plot:
        raise UsageError("--kind: only with --plot")
    kind = _kind_of(given.source)
    for name, why in _NOT_FOR[kind].items():
        if getattr(given, name[2:]) is not None:
            raise UsageError(f"{name}: {why}")
    if kind == "file" and given.changes is None:
        return _find(given)
    detectors = _detectors(given.detector)
    if kind != "generator":
        _of_numbers(detectors)
    column, stream = _stream(given, kind, detectors)
    result = evaluate.drift(
        detectors,
        stream,
        seeds=given.seeds or _SEEDS,
        within=given.within,
        model=model_of(given.model) if given.model else None,
        length=given.length or _LENGTH,
    )
    if given.plot:
        result.save_plot(given.plot, given.kind or "trade-off")
    if given.json:
        data = {"source": given.source, "column": column, **result.to_dict()}
        show.say(show.as_json({**data, "files": {"plot": given.plot} if given.plot else {}}))
        return OK
    for index, (title, head, rows) in enumerate(result.tables()):
        show.say(("\n" if index else "") + show.bold(title))
        show.say(show.table(head, rows))
    if given.plot:
        show.remark(f"plot in {given.plot}", given.quiet)
    return OK


def _find(given: Namespace) -> int:
    """The detections in a file without known changes."""
    from millstream.cli.changes import report

    if given.within is not None:
        raise UsageError(f"--within: {_JUDGED}")
    if given.kind is not None:
        raise UsageError(f"--kind: {_JUDGED}; without it, the plot shows the values and the detections")
    detectors = _of_numbers(_detectors(given.detector or ["ADWIN"]))
    column, values = _values(given)
    return report(given, column, values, detectors)


def _detectors(texts: list[str] | None) -> Any:
    if not texts:
        return None
    detectors: dict[str, Any] = {}
    for text in texts:
        name, description = named(text)
        name = name or description.strip()
        if name in detectors:
            raise UsageError(f"duplicate detector {quoted(name)}; name=DETECTOR sets another name")
        detectors[name] = notation.parse(description, role=("drift_detector", "feature_drift_detector"))
    return detectors


def _of_numbers(detectors: Any) -> Any:
    """The detectors, if all are for numbers; the default ones are."""
    from millstream.drift.base import takes_rows

    for name, detector in (detectors or {}).items():
        if takes_rows(detector):
            own = f"drift.{type(detector).__name__}().update_many(rows) in Python"
            raise UsageError(f"--detector: {name} is for rows, not numbers; use a generator, or {own}")
    return detectors


def _kind_of(source: str | None) -> str:
    """The kind of a source: "file", "stream" (of errors) or "generator"."""
    if source is None or source in _STREAMS:
        return "stream"
    if source == "-" or Path(source).exists():
        return "file"
    # Generators are capitalised: synth.SEA is not a file.
    if "(" not in source and Path(source).suffix.islower():
        raise InvalidValue(f"{source}: there is no such file{near_file(Path(source))}")
    if source.isidentifier():
        generators = registry.find(role="generator")
        if source not in {name.rpartition(".")[2] for name in registry.find()}:
            hint = registry.nearest(source, [*_STREAMS, *generators])
            raise UsageError(f"{source}: no such file, error stream or generator{hint}")
    return "generator"


def _stream(given: Namespace, kind: str, detectors: Any) -> tuple[str | None, Any]:
    """The input of the detectors, with the column of a file."""
    source = given.source
    if kind == "file":
        column, values = _values(given)
        return column, {f"{column} of {source_name(source)}": (values, given.changes)}
    if given.changes is not None:
        what = "an error stream" if kind == "stream" else "a generator"
        raise UsageError(f"--changes: only for a file; {what} has known changes")
    if kind == "stream":
        return None, source
    from millstream.drift.base import takes_rows

    built = notation.parse(source, role=("generator",))
    if not given.model and not (detectors and all(map(takes_rows, detectors.values()))):
        raise UsageError('a generator needs --model, such as "GaussianNB": the detectors receive its errors')
    return None, built


class _Input(io.BytesIO):
    """The data of standard input, with its name for messages."""

    name = "standard input"


def _values(given: Namespace) -> tuple[str, Any]:
    """A column of a file and its numbers; by default the only column."""
    import numpy as np

    from millstream import stream

    column = given.target
    # Standard input can be read only once, and is needed twice.
    whole = sys.stdin.buffer.read() if given.source == "-" else b""

    def read(target: str | None = None) -> Any:
        if given.source != "-":
            return stream.open(given.source, target=target)
        try:
            return stream.open(_Input(whole), target=target)
        except InvalidValue:
            # A single column does not show the format.
            return stream.open(_Input(whole), target=target, format="csv")

    if not column:
        opened = read()
        if len(opened.schema) != 1:
            raise UsageError(f"no column given: pass --target COLUMN{choice(opened)}")
        column = str(next(iter(opened.schema)))
    columns = [np.asarray(chunk.y) for chunk in read(column).chunks()]
    values = np.concatenate(columns) if columns else np.zeros(0)
    if values.dtype.kind not in "fiub":
        raise InvalidValue(f"{source_name(given.source)}: column {quoted(column)} must contain numbers")
    return column, values.astype(np.float64)


def _changes(text: str) -> list[int | tuple[int, int]]:
    """Comma-separated indices, or begin-end of gradual changes."""
    found: list[int | tuple[int, int]] = []
    try:
        for part in filter(None, (part.strip() for part in text.split(","))):
            begin, sign, end = part.partition("-")
            found.append((int(begin), int(end)) if sign else int(begin))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be indices such as 5000,8000-9000, got {quoted(text)}") from None
    return found


COMMAND = Command(
    "drift",
    "detect drift in a column of a file, or evaluate drift detectors on known changes",
    "Each detector processes the same streams, once for each seed. The table has its delay, missed changes,\n"
    "false alarms in 10,000 values, and the time of an update. By default, all detectors for errors run on four\n"
    "error streams, whose error rate is 0.2 and after 5,000 values 0.4.\n\n"
    "For a file without --changes the output lists the detections of the detectors, by default ADWIN: row,\n"
    "direction, estimated change point, and the means before and after.",
    (
        Option(
            ("source",),
            f'one of {", ".join(_STREAMS)}; a generator such as "Drift(SEA(), SEA(variant=2), position=5000)"; '
            'or a file with a column of numbers, "-" for standard input (default: the four streams)',
            value="SOURCE",
            optional=True,
            complete="file",
        ),
        Option(
            ("--detector", "-d"),
            "a detector, or name=DETECTOR; may be repeated",
            value="DETECTOR",
            many=True,
            complete="part",
        ),
        MODEL,
        Option(
            ("--seeds",),
            f"number of seeds; not for a file (default {_SEEDS})",
            value="N",
            kind=positive,
        ),
        Option(
            ("--within",),
            "maximum delay of a detection; a later one is a false alarm",
            value="NUMBERS",
            kind=positive,
        ),
        Option(
            ("--length",), f"number of rows from a generator (default {_LENGTH:,})", value="ROWS", kind=positive
        ),
        Option(("--target", "-t"), "column of a file with the numbers", value="COLUMN"),
        Option(
            ("--changes",),
            "known changes in a file, as indices counted from 0: 5000,8000-9000",
            value="INDICES",
            kind=_changes,
        ),
        Option(
            ("--plot",), "save a plot to a file: .png, .svg or .pdf", value="FILE", complete="file", group="output"
        ),
        Option(
            ("--kind",),
            "plot with known changes: delay against false alarms (default), or a timeline of the detections",
            value="KIND",
            choices=("trade-off", "timeline"),
            group="output",
        ),
        JSON,
        QUIET,
    ),
    (
        ("all detectors on all streams", "drift"),
        ("two detectors on a gradual change", 'drift gradual -d "ADWIN(significance=0.01)" -d DDM --seeds 50'),
        (
            "with the errors of a model",
            'drift "Drift(SEA(), SEA(variant=2), position=5000, width=0)" -m GaussianNB -d ADWIN -d PageHinkley',
        ),
        (
            "with rows, without labels or a model",
            'drift "Drift(RandomRBF(seed_model=1), RandomRBF(seed_model=2), position=5000, width=0)" -d KSTest',
        ),
        ("drift in a column of a file", "drift errors.csv --target error"),
        ("an evaluation on your own numbers", "drift errors.csv --target error --changes 1200,5000-5500"),
        ("a plot", "drift abrupt --plot detectors.png"),
    ),
    main,
)
