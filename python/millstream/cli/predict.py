"""`millstream predict`: predict the rows of a source with a saved model, without learning."""

from __future__ import annotations

import time
from argparse import Namespace
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from millstream.cli import show
from millstream.cli.contracts import (
    CONTRACT_OPTIONS,
    contract_data,
    contract_lines,
    under_contract,
    write_quarantine,
)
from millstream.cli.errors import UsageError
from millstream.cli.look import profile_lines, show_profile
from millstream.cli.models import no_rows, predictor
from millstream.cli.options import KEEP, OK, QUIET, Command, Option, keyed_stream
from millstream.cli.skipped import refused, unread
from millstream.cli.sources import SOURCE_OPTIONS, source_of
from millstream.cli.writers import ENDINGS, Writer, check_apart, check_place
from millstream.errors import InvalidValue, MillstreamError
from millstream.roles import Answer, Truth

if TYPE_CHECKING:
    from millstream.cli.observed import ObservedStream
    from millstream.stream import Chunk, Stream

__all__ = ["COMMAND"]


def main(given: Namespace) -> int:
    """Run the command."""
    from millstream.cli.compatibility import StrictColumns, learned_columns
    from millstream.cli.key_columns import with_key_columns
    from millstream.cli.observed import ObservedStream

    if not given.load:
        raise UsageError("no model given: pass --load FILE.ms")
    check_place(given.out, ENDINGS, what="--out")
    check_apart({"SOURCE": given.source, "--out": given.out})
    check_apart({"--load": given.load, "--out": given.out})
    model = predictor(given.load)
    read = under_contract(source_of(given, learning=False), given)
    source = with_key_columns(read, given, learned_columns(model))
    if given.strict:
        source = StrictColumns(source, {given.load: model}, given)
    stream = ObservedStream(source if given.limit is None else source.take(given.limit))
    stream.is_learned = False
    # Standard output is a table of predictions, so the profile does not follow it.
    show_profile(given, stream, always=True)
    begun = time.perf_counter()
    refusals = Refusals()
    with Writer(given.out, "jsonl" if given.json and given.out == "-" else None) as writer:
        try:
            _write(writer, model, stream, given, refusals)
        except MillstreamError as error:
            if writer.rows and given.out != "-":
                error.add_note(
                    f"{given.out} contains the predictions of the first {show.counted(writer.rows, 'row')}"
                )
            raise
        rows = writer.rows
    if not rows:
        raise InvalidValue(no_rows(given, stream))
    return _told(given, rows, time.perf_counter() - begun, stream, refusals)


def _write(writer: Writer, model: Any, stream: Stream, given: Namespace, refusals: Refusals) -> None:
    from millstream.cli.compatibility import check_known, check_width, differing_columns

    check_width(model, given.load, stream, given)
    truths: bool | None = None
    for chunk in stream.chunks():
        if truths is None:
            check_known(model, given.load, chunk, given)
            for line in differing_columns(model, given.load, chunk, given):
                show.remark(line, given.quiet)
            # The columns of the output are fixed by the first chunk.
            truths = _has_truths(chunk, given)
        columns = _columns(model, chunk, writer.rows, given, refusals, truths)
        if (keyed := keyed_stream(stream)) is not None:
            columns = {"row": columns["row"], **keyed.take_rows(len(chunk)), **columns}
        if len(columns["row"]):
            writer.write(columns)


def _has_truths(chunk: Chunk, given: Namespace) -> bool:
    """Whether there are labels: in the target column, or at the start of a sparse row."""
    import numpy as np

    from millstream.stream import Sparse

    if chunk.y is None or given.target:
        return chunk.y is not None
    return isinstance(chunk.X, Sparse) and not bool(np.isnan(np.asarray(chunk.y, dtype=np.float64)).all())


@dataclass
class Refusals:
    """Rows that the model could not predict, with the reasons for the first of them."""

    count: int = 0
    reasons: list[tuple[int, str]] = field(default_factory=list)

    def add(self, row: int, error: MillstreamError) -> None:
        """Add a row."""
        from millstream.stream.table import REASONS

        self.count += 1
        if len(self.reasons) < REASONS:
            self.reasons.append((row, str(error).removeprefix("row 0: ")))


def _told(given: Namespace, rows: int, seconds: float, stream: ObservedStream, refusals: Refusals) -> int:
    """Report the numbers of rows and probable mistakes in them."""
    aside = stream.skipped
    count, reasons = (0, []) if aside is None else (aside.count, aside.reasons)
    why = [f"row {row}: {reason}" for row, reason in refusals.reasons]
    lines = unread(count, reasons) + refused(refusals.count, why, "without a prediction")
    if not given.json:
        stream.notes_only = True
        lines += profile_lines(stream) + contract_lines(stream, given)
    write_quarantine(stream, given, given.quiet or given.json)
    if given.out != "-":
        told = f"{show.counted(rows, 'row')} in {seconds:.3g} s ({rows / seconds:,.0f} rows/s)"
        show.remark(f"{told}; predictions in {given.out}", given.quiet or given.json)
        if given.json:
            data = {"source": given.source, "rows": rows, "seconds": seconds}
            data |= {"skipped": count + refusals.count, "unread": count, "unread_reasons": reasons}
            refusals_data = [{"row": row, "reason": reason} for row, reason in refusals.reasons]
            data |= {"refused": refusals.count, "refusals": refusals_data, "files": {"out": given.out}}
            data |= contract_data(stream, given)
            show.say(show.as_json(data))
            return OK
    for line in lines:
        show.remark(line, given.quiet)
    return OK


def _columns(
    model: Any, chunk: Chunk, before: int, given: Namespace, refusals: Refusals, truths: bool
) -> dict[str, Any]:
    """Row numbers, truths if there are any, and predictions."""
    import numpy as np

    from millstream import _frames

    columns: dict[str, Any] = {"row": np.arange(before, before + len(chunk))}
    if truths:
        columns["truth"] = _truths(model, chunk)
    try:
        return columns | _said(model, chunk.X, given)
    except MillstreamError as error:
        if given.on_error == "raise":
            raise _at(error, before) from None
    answers = []
    for place in range(len(chunk)):
        try:
            answers.append(_said(model, chunk.cut(place, place + 1).X, given))
        except MillstreamError as error:
            answers.append({})
            refusals.add(before + place, error)
    names = dict.fromkeys(name for answer in answers for name in answer)
    for name in names or ("prediction",):
        columns[name] = _frames.pack_answers([answer[name][0] if name in answer else None for answer in answers])
    return columns


def _truths(model: Any, chunk: Chunk) -> Any:
    """The labels; those of sparse rows may be integers in one chunk and floats in another."""
    import numpy as np

    from millstream import _frames
    from millstream.stream import Sparse

    if not isinstance(chunk.X, Sparse):
        return _frames.targets(chunk.y)
    labels = np.asarray(chunk.y, dtype=np.float64)
    if model.role.truth is Truth.NUMBER:
        return labels
    return [None if label != label else int(label) if label.is_integer() else label for label in labels.tolist()]


def _at(error: MillstreamError, before: int) -> MillstreamError:
    """The error with the row of the source instead of that of the chunk."""
    if error.row is not None:
        error.args = (str(error).replace(f"row {error.row}", f"row {before + error.row}", 1), *error.args[1:])
    return error


def _said(model: Any, X: Any, given: Namespace) -> dict[str, Any]:
    import numpy as np

    if model.role.answer is Answer.SCORE:
        return {"score": model.score_many(X)}
    predicted = model.predict_many(X)
    if model.role.answer is not Answer.CLASS:
        return {"prediction": predicted}
    matrix = _matrix(model.predict_proba_many(X), len(predicted))
    classes = list(model.classes)
    if given.proba:
        return {"prediction": predicted, **{f"p {label}": matrix[:, place] for place, label in enumerate(classes)}}
    if not matrix.size:
        return {"prediction": predicted, "probability": np.full(len(predicted), np.nan)}
    places = {label: place for place, label in enumerate(classes)}
    at = np.array([places.get(label, 0) for label in predicted])
    return {"prediction": predicted, "probability": matrix[np.arange(len(predicted)), at]}


def _matrix(probabilities: Any, rows: int) -> Any:
    """Probabilities of any form as a matrix with a column per class."""
    import numpy as np

    if hasattr(probabilities, "column_names"):
        columns = [column.to_numpy() for column in probabilities.columns]
        return np.column_stack(columns) if columns else np.empty((rows, 0))
    if hasattr(probabilities, "to_numpy"):
        probabilities = probabilities.to_numpy()
    return np.asarray(probabilities, dtype=np.float64)


COMMAND = Command(
    "predict",
    "predict the rows of a source with a saved model, without learning",
    "Writes row, truth (with --target, or the labels of VW and libsvm), prediction, and for classifiers the\n"
    "probability of the predicted class. If the source contains the target, pass --target or --drop, so that it\n"
    "is not used as a feature.",
    (
        *SOURCE_OPTIONS,
        *CONTRACT_OPTIONS,
        Option(("--load",), "file of the saved model", value="FILE.ms", complete="file", group="model"),
        Option(
            ("--out",),
            'output file; "-" is standard output, as CSV',
            value="FILE.csv|parquet|jsonl",
            default="-",
            complete="file",
            group="output",
        ),
        KEEP,
        Option(("--proba",), "write the probability of each class in a column of its own", group="output"),
        Option(("--json",), "print JSON lines; with --out, print a summary as JSON", group="output"),
        QUIET,
    ),
    (
        ("print the predictions", "predict new.csv --load late.ms"),
        (
            "write all probabilities to a file",
            "predict new.parquet --load late.ms --proba --out predictions.parquet",
        ),
    ),
    main,
)
