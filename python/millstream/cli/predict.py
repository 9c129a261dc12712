"""`millstream predict`: what a saved model says of the rows of a source. Nothing is learned."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from millstream.cli import show
from millstream.cli.errors import UsageError
from millstream.cli.models import predictor
from millstream.cli.options import OK, QUIET, Command, Option
from millstream.cli.sources import SOURCE_OPTIONS, source_of
from millstream.cli.writers import ENDINGS, Writer, check_apart, check_place
from millstream.errors import InvalidValue, MillstreamError

if TYPE_CHECKING:
    from millstream.stream import Chunk

__all__ = ["COMMAND"]


def main(given: Namespace) -> int:
    """Run it."""
    if not given.load:
        raise UsageError("which model? Name it with --load FILE.ms")
    check_place(given.out, ENDINGS, what="--out")
    check_apart({"SOURCE": given.source, "--out": given.out})
    check_apart({"--load": given.load, "--out": given.out})
    model = predictor(given.load)
    stream = source_of(given, learning=False)
    if given.limit is not None:
        stream = stream.take(given.limit)
    begun = time.perf_counter()
    refused = 0
    with Writer(given.out, "jsonl" if given.json and given.out == "-" else None) as writer:
        for chunk in stream.chunks():
            columns, bad = _columns(model, chunk, writer.rows, given)
            refused += bad
            if len(columns["row"]):
                writer.write(columns)
        rows = writer.rows
    if not rows:
        raise InvalidValue(f"{given.source}: there are no rows")
    seconds = time.perf_counter() - begun
    set_aside = f", {refused:,} without a prediction" if refused else ""
    where = "" if given.out == "-" else f"; predictions in {given.out}"
    show.remark(
        f"{show.counted(rows, 'row')} in {seconds:.3g} s ({rows / seconds:,.0f} rows/s){set_aside}{where}",
        given.quiet or given.out == "-",
    )
    return OK


def _columns(model: Any, chunk: Chunk, before: int, given: Namespace) -> tuple[dict[str, Any], int]:
    """Row numbers, truths if there are any, and what the model says; and how many rows it refused."""
    import numpy as np

    from millstream import _frames

    columns: dict[str, Any] = {"row": np.arange(before, before + len(chunk))}
    if chunk.y is not None and given.target:
        columns["truth"] = _frames.targets(chunk.y)
    try:
        return columns | _said(model, chunk.X, given), 0
    except MillstreamError as error:
        if given.on_error == "raise":
            raise _at(error, before) from None
    answers = []
    refused = 0
    for place in range(len(chunk)):
        try:
            answers.append(_said(model, chunk.cut(place, place + 1).X, given))
        except MillstreamError:
            answers.append({})
            refused += 1
    names = dict.fromkeys(name for answer in answers for name in answer)
    for name in names or ("prediction",):
        columns[name] = _frames.pack_answers([answer[name][0] if name in answer else None for answer in answers])
    return columns, refused


def _at(error: MillstreamError, before: int) -> MillstreamError:
    """The row is that of the source, not of the chunk."""
    if error.row is not None:
        error.args = (str(error).replace(f"row {error.row}", f"row {before + error.row}", 1), *error.args[1:])
    return error


def _said(model: Any, X: Any, given: Namespace) -> dict[str, Any]:
    import numpy as np

    predicted = model.predict_many(X)
    if model.role == "regressor":
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
    """Probabilities of any form as a matrix with a column for each class."""
    import numpy as np

    if hasattr(probabilities, "column_names"):
        columns = [column.to_numpy() for column in probabilities.columns]
        return np.column_stack(columns) if columns else np.empty((rows, 0))
    if hasattr(probabilities, "to_numpy"):
        probabilities = probabilities.to_numpy()
    return np.asarray(probabilities, dtype=np.float64)


COMMAND = Command(
    "predict",
    "what a saved model says of the rows of a source, without learning",
    "Gives row, truth (with --target), prediction, and for classes the probability of the one that is predicted.\n"
    "A target among the columns must be named, or left out with --drop, so that it is not taken for a feature.",
    (
        *SOURCE_OPTIONS,
        Option(("--load",), "the saved model", value="FILE.ms", complete="file", group="model"),
        Option(
            ("--out",),
            'where to write; "-" is standard output, as CSV',
            value="FILE.csv|parquet|jsonl",
            default="-",
            complete="file",
            group="output",
        ),
        Option(("--proba",), "the probability of every class, in a column each", group="output"),
        Option(("--json",), "JSON lines on standard output", group="output"),
        QUIET,
    ),
    (
        ("predictions on the screen", "predict new.csv --load late.ms"),
        ("all probabilities to a file", "predict new.parquet --load late.ms --proba --out said.parquet"),
    ),
    main,
)
