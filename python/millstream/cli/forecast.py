"""`millstream forecast`: forecast the next values of a column, with the error of past forecasts."""

from __future__ import annotations

import itertools
from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from millstream import notation
from millstream._echo import plain, quoted
from millstream.cli import evaluation, show
from millstream.cli.errors import UsageError
from millstream.cli.models import is_saved, loaded, named, no_rows
from millstream.cli.options import DATA_ERROR, JSON, OK, QUIET, Command, Option, grouped, positive
from millstream.cli.sources import SOURCE_OPTIONS, choice, source_of
from millstream.cli.writers import check_apart, check_place
from millstream.errors import InvalidType, InvalidValue
from millstream.registry import nearest
from millstream.roles import FORECASTER, role_of

if TYPE_CHECKING:
    from millstream.evaluate.forecasts import ForecastResults
    from millstream.stream import Stream

__all__ = ["COMMAND"]

#: Options without a meaning for a series.
_UNUSED = ("--weight", "--label-time", "--follow", "--shuffle", "--seed")


def main(given: Namespace) -> int:
    """Run the command."""
    from millstream.evaluate import forecast

    for option in _UNUSED:
        setattr(given, option.strip("-").replace("-", "_"), None)
    check_place(given.save, (".ms",), what="--save")
    check_apart({"SOURCE": given.source, "--save": given.save})
    models = _models(given)
    stream = _stream(given)
    if given.limit is not None:
        stream = stream.take(given.limit)
    metric = evaluation.metric_of(given.metric) if given.metric else FORECASTER.metrics
    missing = "skip" if given.on_error == "skip" else "raise"
    results = forecast(models, _values(given, stream), given.horizon, metrics=metric, missing=missing)
    best = results.best
    if not best.learned:
        raise InvalidValue(no_rows(given, stream))
    ahead = best.model.forecast(given.horizon)
    if given.json:
        show.say(show.as_json(_data(given, results, ahead)))
    else:
        show.say(_told(given, results, ahead))
    well = not given.save or evaluation.save(best.model, given.save, given.quiet or given.json)
    return OK if well else DATA_ERROR


def _models(given: Namespace) -> dict[str, Any]:
    models: dict[str, Any] = {}
    for text in given.model or _usual(given.period):
        name, description = named(text)
        saved = is_saved(description)
        model = loaded(description) if saved else notation.parse(description, role=FORECASTER)
        if role_of(model) is not FORECASTER:
            raise InvalidType(f"{description}: --model must be a forecaster, got {type(model).__name__}")
        name = name or description.strip()
        if name in models:
            raise UsageError(f"duplicate model name {quoted(name)}; use name=MODEL to name a model")
        models[name] = model
    return models


def _usual(period: int | None) -> list[str]:
    """The default models: a baseline and exponential smoothing."""
    if period is None or period == 1:
        return ["SeasonalNaive", "HoltWinters(0.3)", "HoltWinters(0.3, 0.1, damping=0.95)"]
    seasons = f"0.3, period={period}"
    return [f"SeasonalNaive({period})", f"HoltWinters(0.3, 0.1, {seasons})", f"HoltWinters(0.3, None, {seasons})"]


def _stream(given: Namespace) -> Stream:
    """The source, with the series as a feature.

    Readers skip rows without a target, but every row is a time step. Therefore the column is read as a feature,
    and --on-error applies to values only.
    """
    return source_of(Namespace(**{**vars(given), "target": None, "on_error": "raise"}), learning=False)


def _values(given: Namespace, stream: Stream) -> Iterator[Any]:
    from millstream.stream.chunk import as_list

    chunks, rows = stream.chunks(), 0
    for chunk in chunks:
        names = getattr(chunk.X, "column_names", None)
        if given.target is None and chunk.y is not None:
            yield from as_list(chunk.y)
        elif names is None or (given.target is None and len(names) > 1):
            if given.target is not None:
                raise UsageError("--target: this source has no named columns")
            raise UsageError(f"no target given: pass --target COLUMN{choice(stream)}")
        elif given.target is not None and given.target not in names:
            hint = nearest(given.target, names)
            raise UsageError(f"--target: there is no column {quoted(given.target)}{hint}")
        else:
            name = given.target or names[0]
            column = chunk.X.column(name)
            if _is_text(column):
                later = (other.X.column(name) for other in chunks)
                raise InvalidType(f"{given.source}: {_not_numeric(name, itertools.chain([column], later), rows)}")
            yield from column.to_pylist()
        rows += len(chunk)


def _is_text(column: Any) -> bool:
    import pyarrow

    kind = column.type.value_type if pyarrow.types.is_dictionary(column.type) else column.type
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def _not_numeric(name: str, columns: Iterable[Any], row: int) -> str:
    """The message for a column of strings: how many are not numbers, and the first of them."""
    total, wrong, first = 0, 0, ""
    for value in itertools.chain.from_iterable(column.to_pylist() for column in columns):
        total += value is not None
        if value is not None and not _is_number(value):
            first = first or f"the first is {quoted(value)} in row {row}"
            wrong += 1
        row += 1
    if not wrong:
        return f"column {quoted(name)} is not numeric: its values are read as text; add --types {name}=number"
    are = "is not a number" if wrong == 1 else "are not numbers"
    return f"column {quoted(name)} is not numeric: {wrong:,} of {total:,} values {are}; {first}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _data(given: Namespace, results: ForecastResults, ahead: Any) -> dict[str, Any]:
    best = results.best
    models = [
        {"name": each.name, "mean": {name: each.mean(name) for name in each.metrics}, "by_step": each.values}
        for each in results.ranked()
    ]
    head = {"source": given.source, "target": given.target, "horizon": given.horizon}
    counts = {"values": best.learned, "missing": best.missing, "origins": best.origins}
    return head | counts | {"best": best.name, "forecast": ahead, "models": models}


def _told(given: Namespace, results: ForecastResults, ahead: Any) -> str:
    best = results.best
    target = f" → {plain(given.target)}" if given.target else ""
    lines = [show.bold(f"{plain(given.source)}{target}"), ""]
    metrics = list(best.metrics)
    if best.origins:
        rows = [
            [f"{place}. {each.name}", *(show.number(each.mean(name)) for name in metrics)]
            for place, each in enumerate(results.ranked(), 1)
        ]
        steps, origins = show.counted(given.horizon, "step"), show.counted(best.origins, "origin")
        lines += [show.table(["", *metrics], rows), "", f"mean error over {steps} ahead, from {origins}"]
    else:
        needed = best.grace_period + best.horizon
        lines.append(
            f"too few values to measure the error: {needed:,} are needed, the series has {best.learned:,}"
        )
    skipped = f", {show.counted(best.missing, 'missing value')} skipped" if best.missing else ""
    lines += [f"{show.counted(best.learned, 'value')} learned{skipped}", "", show.bold(f"forecast of {best.name}")]
    lines += [f"+{step:<4} {show.number(value)}" for step, value in enumerate(ahead, 1)]
    return "\n".join(lines)


COMMAND = Command(
    "forecast",
    "forecast the next values of a column, with the error of past forecasts",
    "Each row is one time step. At each row, every model forecasts the values of the next --horizon rows and\n"
    "then learns one more. The model with the smallest error forecasts the values after the last row. Without\n"
    "--model, a baseline and exponential smoothing are compared; --period gives them seasons. With --on-error\n"
    "skip, missing values are skipped.",
    (
        *(option for option in SOURCE_OPTIONS if option.names[0] not in _UNUSED),
        *grouped(
            "forecast",
            Option(("--horizon",), "number of rows to forecast", value="ROWS", kind=positive, default=12),
            Option(
                ("--model", "-m"),
                "forecaster, such as 'HoltWinters(0.3, 0.1)', or the file of a saved one; repeatable",
                value="MODEL",
                many=True,
                complete="model",
            ),
            Option(("--period",), "length of the season of the default models, in rows", "ROWS", kind=positive),
            Option(
                ("--metric",), "regression metric, such as RMSE (default MAE)", value="METRIC", complete="part"
            ),
            Option(
                ("--save",), "save the best model, which has learned all rows", value="FILE.ms", complete="file"
            ),
        ),
        JSON,
        QUIET,
    ),
    (
        ("the next 12 months", "forecast passengers.csv --target passengers --period 12"),
        ("define the model", "forecast passengers.csv -t passengers -m 'HoltWinters(0.3, 0.1)'"),
    ),
    main,
)
