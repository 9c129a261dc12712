"""`millstream drift`: how good detectors are where the changes are known, and where they find some in a file."""

from __future__ import annotations

import argparse
from argparse import Namespace
from pathlib import Path
from typing import Any

from millstream import notation
from millstream.cli import show
from millstream.cli.errors import UsageError
from millstream.cli.models import MODEL, model_of, named
from millstream.cli.options import JSON, OK, QUIET, Command, Option, positive
from millstream.cli.sources import choice, near_file
from millstream.errors import InvalidValue

__all__ = ["COMMAND"]

#: The names of `evaluate.detection.streams.STREAMS`, which would take long to import where only help is asked for.
_STREAMS = ("abrupt", "gradual", "slight", "stable")
_ENDINGS = (".png", ".svg", ".pdf")
_NOT_FOR_FILES = {
    "--model": "millstream run FILE --model … --detector … watches the errors of a model on a file",
    "--within": "it judges detections, which needs --changes",
}


def main(given: Namespace) -> int:
    """Run it."""
    from millstream import evaluate

    if given.plot and Path(given.plot).suffix.lower() not in _ENDINGS:
        raise UsageError(f"--plot: a plot is saved as {', '.join(_ENDINGS)}, got {given.plot!r}")
    if given.source is not None and given.changes is None and Path(given.source).exists():
        return _find(given)
    stream = _stream(given)
    result = evaluate.drift(
        _detectors(given.detector),
        stream,
        seeds=given.seeds,
        within=given.within,
        model=model_of(given.model) if given.model else None,
        length=given.length,
    )
    if given.plot:
        result.save_plot(given.plot, given.kind)
    if given.json:
        print(show.as_json({**result.to_dict(), "files": {"plot": given.plot} if given.plot else {}}))
        return OK
    for place, (title, head, rows) in enumerate(result.tables()):
        print(("\n" if place else "") + show.bold(title))
        print(show.table(head, rows))
    if given.plot:
        show.remark(f"plot in {given.plot}", given.quiet)
    return OK


def _find(given: Namespace) -> int:
    """Where the numbers of a file change, as nobody knows."""
    from millstream.cli.changes import tell

    for option, needs in ((given.model, "--model"), (given.within, "--within")):
        if option is not None:
            raise UsageError(f"{needs}: {_NOT_FOR_FILES[needs]}")
    column, values = _values(given)
    return tell(given, column, values, _detectors(given.detector or ["ADWIN"]))


def _detectors(texts: list[str] | None) -> Any:
    if not texts:
        return None
    detectors: dict[str, Any] = {}
    for text in texts:
        name, description = named(text)
        name = name or description.strip()
        if name in detectors:
            raise UsageError(f"two detectors are named {name!r}; name=DETECTOR gives one another name")
        detectors[name] = notation.parse(description, role=("drift_detector",))
    return detectors


def _stream(given: Namespace) -> Any:
    source = given.source
    if source is None or source in _STREAMS:
        if given.changes is not None:
            raise UsageError("--changes is for a file; a stream of errors knows its own")
        return source
    if Path(source).exists():
        return _values(given)[1], given.changes or []
    if given.changes is not None:
        raise UsageError("--changes is for a file; a generator knows its own")
    # The names of generators are in capitals: synth.SEA is none of a file.
    if "(" not in source and Path(source).suffix.islower():
        raise InvalidValue(f"{source}: there is no such file{near_file(Path(source))}")
    built = notation.parse(source, role=("generator",))
    if not given.model:
        raise UsageError('a generator needs a --model, such as "GaussianNB", whose errors the detectors are told')
    return built


def _values(given: Namespace) -> tuple[str, Any]:
    """A column of a file and its numbers; of a file with one column, that one."""
    import numpy as np

    from millstream import stream

    column = given.target
    if not column:
        opened = stream.open(given.source)
        if len(opened.schema) != 1:
            raise UsageError(f"which column holds the numbers? Name it with --target{choice(opened)}")
        column = str(next(iter(opened.schema)))
    columns = [np.asarray(chunk.y) for chunk in stream.open(given.source, target=column).chunks()]
    values = np.concatenate(columns) if columns else np.zeros(0)
    if values.dtype.kind not in "fiub":
        raise InvalidValue(f"{given.source}: column {column!r} holds no numbers")
    return column, values.astype(np.float64)


def _changes(text: str) -> list[int | tuple[int, int]]:
    """Places, or begin-end of gradual changes, with commas between."""
    found: list[int | tuple[int, int]] = []
    try:
        for part in filter(None, (part.strip() for part in text.split(","))):
            begin, sign, end = part.partition("-")
            found.append((int(begin), int(end)) if sign else int(begin))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be places such as 5000,8000-9000, got {text!r:.60}") from None
    return found


COMMAND = Command(
    "drift",
    "where the numbers of a file change, and how good drift detectors are where that is known",
    "Each detector goes through the same streams, once for each seed: how late it finds a change, how many it\n"
    "misses, how many false alarms it gives in 10,000 numbers, what an update costs. By default all detectors of\n"
    "errors on four streams of errors, whose share is 0.2 and after 5,000 numbers 0.4.\n\n"
    "Of a file without --changes nothing is known: printed is where the detectors, by default ADWIN, find a\n"
    "change, which way it goes, with which row they believe it to have begun, and the means before and after.",
    (
        Option(
            ("source",),
            f'one of {", ".join(_STREAMS)}; a generator such as "Drift(SEA(), SEA(variant=2), position=5000)"; '
            "or a file with a column of numbers",
            value="SOURCE",
            optional=True,
            complete="file",
        ),
        Option(
            ("--detector", "-d"),
            "a detector, or name=DETECTOR; several times",
            value="DETECTOR",
            many=True,
            complete="part",
        ),
        MODEL,
        Option(("--seeds",), "how many times, with other random numbers", value="N", kind=positive, default=10),
        Option(
            ("--within",),
            "a detection that comes later is no answer to a change, and a false alarm",
            value="NUMBERS",
            kind=positive,
        ),
        Option(("--length",), "rows to draw from a generator", value="ROWS", kind=positive, default=10_000),
        Option(("--target", "-t"), "the column of a file that holds the numbers", value="COLUMN"),
        Option(
            ("--changes",),
            "where the numbers of a file change, counted from 0: 5000,8000-9000",
            value="PLACES",
            kind=_changes,
        ),
        Option(("--plot",), "draw into a file: .png, .svg or .pdf", value="FILE", complete="file", group="output"),
        Option(
            ("--kind",),
            "what is drawn: delay against false alarms, or where each found a change",
            value="KIND",
            choices=("trade-off", "timeline"),
            default="trade-off",
            group="output",
        ),
        JSON,
        QUIET,
    ),
    (
        ("all detectors on all streams", "drift"),
        ("two of them, on a change that takes its time", 'drift gradual -d "ADWIN(delta=0.01)" -d DDM --seeds 50'),
        (
            "on the errors of a model",
            'drift "Drift(SEA(), SEA(variant=2), position=5000, width=0)" -m GaussianNB -d ADWIN -d PageHinkley',
        ),
        ("where the numbers of a file change", "drift errors.csv --target error"),
        ("on numbers of your own", "drift errors.csv --target error --changes 1200,5000-5500"),
        ("a picture", "drift abrupt --plot detectors.png"),
    ),
    main,
)
