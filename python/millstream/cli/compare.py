"""`millstream compare`: evaluate several models in one pass over a source and rank them."""

from __future__ import annotations

import math
from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millstream._echo import plain, quoted
from millstream.cli import evaluation, show
from millstream.cli.contenders import contenders
from millstream.cli.contracts import CONTRACT_OPTIONS, contract_data, under_contract, write_quarantine
from millstream.cli.errors import UsageError
from millstream.cli.look import show_profile
from millstream.cli.models import MODEL, is_saved, model_of, named, no_rows
from millstream.cli.options import DATA_ERROR, INTERRUPTED, JSON, OK, QUIET, Command, Option
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
    models = _models(given)
    optional = bool(models) and all(model.role.metrics_without_labels for model in models.values())
    read = under_contract(source_of(given, learning=not optional), given)
    source = with_key_columns(read, given, learned_columns(*models.values()))
    if given.strict:
        source = StrictColumns(source, models, given)
    stream = ObservedStream(source)
    for text in given.model or ():
        name, description = named(text)
        if is_saved(description):
            check_width(models[name or description.strip()], description, stream, given)
    if not models:
        models = contenders(stream, given)
        show.remark("no --model given: models of several kinds, and baselines", given.quiet or given.json)
    show_profile(given, stream)
    recorder = evaluation.Recorder(given.predictions, stream.source) if given.predictions else None
    try:
        results = evaluation.evaluated(given, models, stream, recorder)
    except evaluation.Failed as failed:
        # The results of the rows before the faulty row are not lost.
        if failed.result.best.rows:
            _told(given, failed.result, stream, recorder)
        raise failed.error from None
    return _told(given, results, stream, recorder)


def _models(given: Namespace) -> dict[str, Any]:
    models: dict[str, Any] = {}
    for text in given.model or ():
        name, description = named(text)
        model = model_of(description)
        name = name or description.strip()
        if name in models:
            raise UsageError(f"duplicate model name {quoted(name)}; use name=MODEL to name a model")
        models[name] = model
    roles = {model.role for model in models.values()}
    if len(roles) > 1:
        raise UsageError(f"{' and '.join(sorted(role.phrase for role in roles))} cannot be compared")
    return models


def _told(given: Namespace, results: Any, stream: ObservedStream, recorder: evaluation.Recorder | None) -> int:
    ranked = results.ranked()
    best = ranked[0]
    if best.rows == 0:
        if best.interrupted:
            raise KeyboardInterrupt
        raise InvalidValue(no_rows(given, stream))
    silent = given.quiet or given.json
    written, well = evaluation.write_pictures(results, given, stream)
    if given.save and best.scored:
        kept = f", with the {show.counted(best.learned, 'row')} learned so far" if best.interrupted else ""
        well &= evaluation.save(best.model, given.save, silent, kept)
    elif given.save:
        show.warn(f"--save: nothing was scored, so there is no best model; {given.save} was not written")
        well = False
    if recorder is not None:
        well &= recorder.error is None
        written["predictions"] = given.predictions
    if given.json:
        data = {"source": given.source, "target": stream.target, "best": best.name if best.scored else None}
        differences = results.differences() if best.scored else None
        data |= contract_data(stream, given)
        data["differences"] = None if differences is None else differences.to_dict()
        show.say(show.as_json({**data, "models": [show.result_data(each) for each in ranked], "files": written}))
    else:
        show.say(_closing(given, results, stream))
    write_quarantine(stream, given, silent)
    for what, path in written.items():
        show.remark(f"{what} in {path}", silent)
    constant = evaluation.only_value(stream)
    if constant:
        show.warn(constant)
    if best.interrupted:
        return INTERRUPTED
    return DATA_ERROR if constant or not well else OK


def _closing(given: Namespace, results: Any, stream: ObservedStream) -> str:
    from millstream.evaluate.differences import verdict
    from millstream.evaluate.headings import headings

    ranked = results.ranked()
    best = ranked[0]
    first = next(iter(best.values))
    target = f" → {plain(stream.target)}" if stream.target else ""
    heads = headings(ranked)
    differences = results.differences() if best.scored else None
    head = ["", *heads.values(), f"{heads[first]}, last {given.window:,}", "rows/s", "memory"]
    if differences is not None:
        head.insert(2, f"behind ({100 * differences.level:g} %)")
    rows = [_row(result, place, heads, differences, first) for place, result in enumerate(ranked, 1)]
    if constant := best.constant:
        cells = [show.number(constant.get(name, math.nan)) for name in best.values]
        rows.append(
            ["best constant", *cells[:1], *([""] if differences is not None else []), *cells[1:], "", "", ""]
        )
    lines = [show.bold(f"{plain(given.source)}{target}"), "", show.table(head, rows), ""]
    whole = f"{show.counted(best.rows, 'row')} in {best.elapsed:.3g} s"
    told = f"best by {heads[first]}: {best.name}" if best.scored else "nothing was scored"
    lines.append(f"{whole}, rows/s is that of each model alone; {told}")
    if best.scored and (how := verdict(results)):
        lines.append(how)
    if given.detector:
        lines += [f"{result.name}: {show.drift_line(result)}" for result in ranked]
    lines += evaluation.remarks_on(best, stream, given)
    if best.interrupted:
        lines.append("interrupted: this is the result so far")
    return "\n".join(lines)


def _row(result: Any, place: int, heads: dict[str, str], differences: Any, first: str) -> list[str]:
    """A model in the table."""
    from millstream.evaluate.headings import score

    cells = [score(result, name, whole, heads) for name, (whole, _) in result.scores.items()]
    if differences is not None:
        cells.insert(1, str(differences[result.name]) if result.name in differences else "")
    last = score(result, first, result.scores[first][1], heads)
    return [f"{place}. {result.name}", *cells, last, f"{result.throughput:,.0f}", show.amount(result.memory)]


COMMAND = Command(
    "compare",
    "evaluate several models in one pass over a source and rank them",
    "Each model predicts a row before it learns it, in a thread of its own. The results equal those of separate\n"
    "runs. Models are ranked by the first --metric, by default the log loss or the squared error. The column\n"
    '"behind" is the mean difference from the best model with a 95 % interval. Without --model, a linear model,\n'
    "naive Bayes, a tree and a forest are compared with baselines.",
    (
        *SOURCE_OPTIONS,
        *CONTRACT_OPTIONS,
        replace(MODEL, many=True, words="a model, name=MODEL, or the file of a saved model; repeatable"),
        Option(("--save",), "save the best model", value="FILE.ms", complete="file", group="model"),
        *evaluation.EVALUATION_OPTIONS,
        *evaluation.OUTPUT_OPTIONS,
        JSON,
        QUIET,
    ),
    (
        ("compare with baselines", "compare flights.csv --target late"),
        (
            "two named models",
            'compare flights.csv -t late -m "linear=StandardScaler | LogisticRegression" -m bayes=GaussianNB',
        ),
        (
            "a report with all curves",
            'compare "SEA(seed=1)" --limit 100000 -m GaussianNB -m NoChange --report report.html',
        ),
    ),
    main,
)
