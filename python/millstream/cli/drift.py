"""`millstream drift`: how good detectors are where the changes are known, and where they find some in a file."""

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

#: The names of `evaluate.detection.streams.STREAMS`, which would take long to import where only help is asked for.
_STREAMS = ("abrupt", "gradual", "slight", "stable")
_ENDINGS = (".png", ".svg", ".pdf")
_SEEDS, _LENGTH = 10, 10_000
_JUDGED = "it judges detections, which needs --changes"
_SAME = "a file is the same every time; other random numbers are for streams of errors and generators"
#: Options that would do nothing, by what SOURCE is, and why.
_NOT_FOR = {
    "file": {
        "--model": "millstream run FILE --model … --detector … watches the errors of a model on a file",
        "--seeds": _SAME,
        "--length": "it is for a generator; a file is read to its end",
    },
    "generator": {"--target": "it is for a file"},
    "stream": {
        "--target": "it is for a file",
        "--model": "it is for a generator; a stream of errors has them already",
        "--length": "it is for a generator",
    },
}


def main(given: Namespace) -> int:
    """Run it."""
    from millstream import evaluate

    if given.plot and Path(given.plot).suffix.lower() not in _ENDINGS:
        raise UsageError(f"--plot: a plot is saved as {', '.join(_ENDINGS)}, got {quoted(given.plot)}")
    if given.kind and not given.plot:
        raise UsageError("--kind: it says what --plot draws, and there is no --plot")
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
    for place, (title, head, rows) in enumerate(result.tables()):
        show.say(("\n" if place else "") + show.bold(title))
        show.say(show.table(head, rows))
    if given.plot:
        show.remark(f"plot in {given.plot}", given.quiet)
    return OK


def _find(given: Namespace) -> int:
    """Where the numbers of a file change, as nobody knows."""
    from millstream.cli.changes import tell

    if given.within is not None:
        raise UsageError(f"--within: {_JUDGED}")
    if given.kind is not None:
        raise UsageError(f"--kind: {_JUDGED}; without, the numbers and what was found are drawn")
    detectors = _of_numbers(_detectors(given.detector or ["ADWIN"]))
    column, values = _values(given)
    return tell(given, column, values, detectors)


def _detectors(texts: list[str] | None) -> Any:
    if not texts:
        return None
    detectors: dict[str, Any] = {}
    for text in texts:
        name, description = named(text)
        name = name or description.strip()
        if name in detectors:
            raise UsageError(f"two detectors are named {quoted(name)}; name=DETECTOR gives one another name")
        detectors[name] = notation.parse(description, role=("drift_detector", "feature_drift_detector"))
    return detectors


def _of_numbers(detectors: Any) -> Any:
    """The same, if all of them are told numbers; by default there are only such."""
    from millstream.drift.base import takes_rows

    for name, detector in (detectors or {}).items():
        if takes_rows(detector):
            own = f"drift.{type(detector).__name__}().update_many(rows) in Python says where your own change"
            words = f"is told whole rows, not numbers; a generator has such, and {own}"
            raise UsageError(f"--detector: {name} {words}")
    return detectors


def _kind_of(source: str | None) -> str:
    """Whether it is a "file", a "stream" of errors or a "generator"."""
    if source is None or source in _STREAMS:
        return "stream"
    if source == "-" or Path(source).exists():
        return "file"
    # The names of generators are in capitals: synth.SEA is none of a file.
    if "(" not in source and Path(source).suffix.islower():
        raise InvalidValue(f"{source}: there is no such file{near_file(Path(source))}")
    if source.isidentifier():
        generators = registry.find(role="generator")
        if source not in {name.rpartition(".")[2] for name in registry.find()}:
            hint = registry.nearest(source, [*_STREAMS, *generators])
            raise UsageError(f"{source}: no file, stream of errors or generator is named so{hint}")
    return "generator"


def _stream(given: Namespace, kind: str, detectors: Any) -> tuple[str | None, Any]:
    """What detectors are told, with the column of a file."""
    source = given.source
    if kind == "file":
        column, values = _values(given)
        return column, {f"{column} of {source_name(source)}": (values, given.changes)}
    if given.changes is not None:
        knows = "a stream of errors" if kind == "stream" else "a generator"
        raise UsageError(f"--changes is for a file; {knows} knows its own")
    if kind == "stream":
        return None, source
    from millstream.drift.base import takes_rows

    built = notation.parse(source, role=("generator",))
    if not given.model and not (detectors and all(map(takes_rows, detectors.values()))):
        raise UsageError('a generator needs a --model, such as "GaussianNB", whose errors the detectors are told')
    return None, built


class _Input(io.BytesIO):
    """What came on standard input, with the name that messages call it by."""

    name = "standard input"


def _values(given: Namespace) -> tuple[str, Any]:
    """A column of a file and its numbers; of a file with one column, that one."""
    import numpy as np

    from millstream import stream

    column = given.target
    # Standard input can be read once only, and is looked at twice.
    whole = sys.stdin.buffer.read() if given.source == "-" else b""

    def read(target: str | None = None) -> Any:
        if given.source != "-":
            return stream.open(given.source, target=target)
        try:
            return stream.open(_Input(whole), target=target)
        except InvalidValue:
            # Of one column nothing shows the format.
            return stream.open(_Input(whole), target=target, format="csv")

    if not column:
        opened = read()
        if len(opened.schema) != 1:
            raise UsageError(f"which column holds the numbers? Name it with --target{choice(opened)}")
        column = str(next(iter(opened.schema)))
    columns = [np.asarray(chunk.y) for chunk in read(column).chunks()]
    values = np.concatenate(columns) if columns else np.zeros(0)
    if values.dtype.kind not in "fiub":
        raise InvalidValue(f"{source_name(given.source)}: column {quoted(column)} holds no numbers")
    return column, values.astype(np.float64)


def _changes(text: str) -> list[int | tuple[int, int]]:
    """Places, or begin-end of gradual changes, with commas between."""
    found: list[int | tuple[int, int]] = []
    try:
        for part in filter(None, (part.strip() for part in text.split(","))):
            begin, sign, end = part.partition("-")
            found.append((int(begin), int(end)) if sign else int(begin))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be places such as 5000,8000-9000, got {quoted(text)}") from None
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
            'or a file with a column of numbers, "-" for standard input; by default the four streams',
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
        Option(
            ("--seeds",),
            f"how many times, with other random numbers; not for a file (default {_SEEDS})",
            value="N",
            kind=positive,
        ),
        Option(
            ("--within",),
            "a detection that comes later is no answer to a change, and a false alarm",
            value="NUMBERS",
            kind=positive,
        ),
        Option(("--length",), f"rows to draw from a generator (default {_LENGTH:,})", value="ROWS", kind=positive),
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
            "what is drawn where changes are known: delay against false alarms (default), or where each found one",
            value="KIND",
            choices=("trade-off", "timeline"),
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
        (
            "on the rows, without labels or a model",
            'drift "Drift(RandomRBF(seed_model=1), RandomRBF(seed_model=2), position=5000, width=0)" -d KSTest',
        ),
        ("where the numbers of a file change", "drift errors.csv --target error"),
        ("on numbers of your own", "drift errors.csv --target error --changes 1200,5000-5500"),
        ("a picture", "drift abrupt --plot detectors.png"),
    ),
    main,
)
