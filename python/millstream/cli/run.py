"""`millstream run`: learn a source row by row, and say how well each row was predicted before it was learned."""

from __future__ import annotations

import math
import shlex
from argparse import Namespace
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from millstream._echo import plain
from millstream.cli import evaluation, show
from millstream.cli.contracts import CONTRACT_OPTIONS, contract_data, under_contract, write_quarantine
from millstream.cli.errors import UsageError
from millstream.cli.look import show_profile
from millstream.cli.models import MODEL, is_saved, model_of, no_rows, predictor, suitable
from millstream.cli.options import DATA_ERROR, INTERRUPTED, JSON, OK, QUIET, Command, Option, grouped
from millstream.cli.sources import SOURCE_OPTIONS, source_of
from millstream.errors import InvalidValue

if TYPE_CHECKING:
    from millstream.cli.observed import ObservedStream

__all__ = ["COMMAND"]


def main(given: Namespace) -> int:
    """Run the command."""
    from millstream.cli.compatibility import StrictColumns, check_width, learned_columns
    from millstream.cli.key_columns import with_key_columns
    from millstream.cli.observed import ObservedStream

    evaluation.check_places(given)
    model, why = _model(given)
    optional = model is not None and bool(model.role.metrics_without_labels)
    read = under_contract(source_of(given, learning=not optional), given)
    source = with_key_columns(read, given, learned_columns(model))
    if given.strict:
        source = StrictColumns(source, {given.resume or given.model or "": model}, given)
    stream = ObservedStream(source)
    if given.resume or is_saved(given.model):
        check_width(model, given.resume or given.model, stream, given)
    if stream.endless and given.limit is None and not given.follow and given.passes > 1:
        raise UsageError("--passes needs --limit, because the source is infinite")
    if isinstance(given.delay, timedelta) and stream.time is None:
        raise UsageError("--delay with a time needs --time, the column of event times")
    if model is None:
        model, why = suitable(stream, given)
    silent = given.quiet or given.json
    show_profile(given, stream)
    if why:
        show.remark(f"{show.text_of(model)}  ({why})", silent)
    recorder = evaluation.Recorder(given.predictions, stream.source) if given.predictions else None
    before = getattr(model, "learned", 0)
    try:
        result = evaluation.evaluated(given, model, stream, recorder)
    except evaluation.Failed as failed:
        # The result of the rows before the faulty row is not lost.
        if getattr(model, "learned", 0) > before and failed.result.rows:
            _told(given, failed.result, stream, recorder, failed)
        elif given.save:
            failed.error.add_note(f"nothing was learned; {given.save} was not written")
        raise failed.error from None
    return _told(given, result, stream, recorder)


def _hint_after(failed: evaluation.Failed, given: Namespace) -> None:
    """Add a note on how to continue to an error, unless continuing would end in the same error."""
    if given.on_error == "skip" or isinstance(failed.error, OSError) or given.quiet or given.json:
        return
    done = failed.result.learned + failed.result.skipped
    without = Namespace(**{**vars(given), "on_error": "skip"})
    failed.error.add_note(_how_to_go_on(without, done, "to continue without it"))


def _model(given: Namespace) -> tuple[Any, str]:
    if given.model is not None and len(given.model) > 1:
        raise UsageError(f"run accepts one model, got {len(given.model)}; use millstream compare for several")
    given.model = given.model[0] if given.model else None
    if given.resume and given.model is not None:
        raise UsageError("--resume and --model exclude each other")
    if given.resume:
        model = predictor(given.resume)
        return model, f"from {given.resume}, {show.counted(model.learned, 'row')} learned"
    return (model_of(given.model), "") if given.model is not None else (None, "")


def _told(
    given: Namespace,
    result: Any,
    stream: ObservedStream,
    recorder: evaluation.Recorder | None,
    failed: evaluation.Failed | None = None,
) -> int:
    """Print the result and write the requested files; returns the exit code. The caller reports an error."""
    if result.rows == 0:
        if result.interrupted:
            raise KeyboardInterrupt
        raise InvalidValue(no_rows(given, stream))
    silent = given.quiet or given.json
    if not given.json:
        show.say(_closing(given, result, stream, failed is not None))
        show.say(end="", flush=True)
    code = OK
    written, well = evaluation.write_pictures(result, given, stream)
    if given.save:
        kept = f", with the {show.counted(result.learned, 'row')} learned before the error" if failed else ""
        if evaluation.save(result.model, given.save, silent, kept):
            written["save"] = given.save
            if failed:
                _hint_after(failed, given)
        else:
            well = False
    if recorder is not None:
        if recorder.error is None:
            written["predictions"] = given.predictions
        else:
            show.warn(f"--predictions: {given.predictions} is incomplete: {recorder.error.strerror}")
            well = False
    if given.json:
        data = {"source": given.source, "target": stream.target, **show.result_data(result)}
        data |= contract_data(stream, given)
        show.say(show.as_json({**data, "files": written}))
    write_quarantine(stream, given, silent)
    for what in ("report", "plot", "predictions"):
        if what in written:
            show.remark(f"{what} in {written[what]}", silent)
    constant = evaluation.only_value(stream)
    if constant:
        show.warn(constant)
    if constant or not well:
        code = DATA_ERROR
    if result.interrupted and not failed:
        show.remark(_how_to_go_on(given, result.rows), silent)
        code = INTERRUPTED
    return code


def _closing(given: Namespace, result: Any, stream: ObservedStream, failed: bool) -> str:
    target = f" → {plain(stream.target)}" if stream.target else ""
    lines = [show.bold(f"{plain(given.source)}{target}") + f"  {plain(show.text_of(result.model), 1000)}", ""]
    titles, constant = result.titles, result.constant
    rows = [
        [titles[name], show.number(whole), show.number(last), show.number(constant.get(name, math.nan))]
        for name, (whole, last) in result.scores.items()
    ]
    head = ["", "all rows", f"last {given.window:,}", "best constant"]
    columns = len(head) if constant else len(head) - 1
    lines.append(show.table(head[:columns], [row[:columns] for row in rows]))
    lines += ["", f"{show.rows_line(result)}; model size {show.amount(result.memory)}"]
    if late := show.delay_line(result):
        lines.append(late)
    if given.detector:
        lines.append(show.drift_line(result))
    lines += evaluation.remarks_on(result, stream, given)
    if result.interrupted:
        lines.append(f"{'stopped by an error' if failed else 'interrupted'}: this is the result so far")
    return "\n".join(lines)


def _how_to_go_on(given: Namespace, done: int, words: str = "to continue") -> str:
    """The command that continues after the processed rows."""
    if not given.save:
        return "the model was not saved; use --save to keep it"
    if given.shuffle or given.passes > 1:
        # The processed rows are not the first ones.
        return f"the model is saved in {given.save}; continue with --resume {given.save}"
    line = ["millstream", "run", given.source]
    for option in (*SOURCE_OPTIONS, *CONTRACT_OPTIONS):
        name = option.names[0]
        # The learned rows are skipped, and the limit decreases by their number.
        if not option.is_argument and name not in ("--skip", "--limit"):
            line += _as_given(name, getattr(given, name[2:].replace("-", "_")), option.default)
    line += _as_given("--delay", given.delay, None)
    if given.limit is not None:
        line += ["--limit", str(max(given.limit - done, 0))]
    line += ["--resume", given.save, "--save", given.save, "--skip", str(done + (given.skip or 0))]
    return f"{words}: {shlex.join(line)}"


def _as_given(name: str, value: Any, default: Any) -> list[str]:
    """An option as it is typed, or nothing if it was not given."""
    if value is None or value is False or value == default:
        return []
    if value is True:
        return [name]
    if isinstance(value, list):
        return [word for each in value for word in _as_given(name, each, None)]
    if isinstance(value, tuple):
        value = "=".join(value)
    if isinstance(value, timedelta):
        value = f"{value.total_seconds():f}s"
    return [name, str(value)]


COMMAND = Command(
    "run",
    "evaluate and train a model row by row: predict, score, then learn",
    "Each row is predicted first. When its label arrives, the prediction is scored and the row is learned, so no\n"
    "test set is needed. Ctrl-C stops the run, prints the result so far and saves the model. Without --model, a\n"
    "model is chosen by the type of the target.",
    (
        *SOURCE_OPTIONS,
        *CONTRACT_OPTIONS,
        # All values are kept, so that a second one can be refused.
        replace(MODEL, many=True),
        *grouped(
            "model",
            Option(("--save",), "save the model at the end", value="FILE.ms", complete="file"),
            Option(("--resume",), "continue with a saved model", value="FILE.ms", complete="file"),
        ),
        *evaluation.EVALUATION_OPTIONS,
        *evaluation.OUTPUT_OPTIONS,
        JSON,
        QUIET,
    ),
    (
        ("choose a model by the target", "run flights.csv --target late"),
        (
            "define a model, write a report and save the model",
            'run flights.csv -t late -m "StandardScaler | LogisticRegression(l2=0.001)" --report report.html '
            "--save late.ms",
        ),
        ("continue with it on new data", "run tomorrow.csv -t late --resume late.ms --save late.ms"),
        ("labels that arrive 500 rows or two hours late", "run sales.parquet -t sold --delay 500"),
        ("", "run sales.parquet -t sold --time at --delay 2h"),
        (
            "detect drift in the errors",
            'run "SEA(seed=1)" --limit 100000 --detector "PageHinkley(threshold=20)"',
        ),
        ("a growing file, or standard input", "run log.jsonl -t failed --follow --save model.ms"),
        ("", "run - -t y --format csv --json < data.csv"),
    ),
    main,
)
