"""Common code of `run` and `compare`: options, evaluation, and the files written at the end."""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream import notation
from millstream._echo import quoted
from millstream._files import write_figure
from millstream.cli.contenders import metrics_for
from millstream.cli.errors import UsageError
from millstream.cli.options import KEEP, Option, count, delay, grouped, keyed_stream, positive
from millstream.cli.show import remark, text_of, warn
from millstream.cli.skipped import refused, unread
from millstream.cli.writers import ENDINGS, Writer, check_apart, check_place
from millstream.errors import InvalidNotation, MillstreamError

if TYPE_CHECKING:
    from millstream.cli.observed import ObservedStream

__all__ = [
    "EVALUATION_OPTIONS",
    "OUTPUT_OPTIONS",
    "Recorder",
    "check_places",
    "evaluated",
    "save",
    "write_pictures",
]

EVALUATION_OPTIONS = grouped(
    "scoring",
    Option(
        ("--metric",),
        "metric, such as F1; repeatable (default Accuracy and CohenKappa, with --report also LogLoss; PRAUC and "
        "ROCAUC first if a class is rarer than 1 in 10; MAE and R2 for numbers; LogLoss or RMSE first in "
        "compare; AdjustedRand, VMeasure and Silhouette for clusters)",
        value="METRIC",
        many=True,
        complete="metric",
    ),
    Option(
        ("--delay",),
        "delay of labels: a number of rows (500), or with --time a duration (30min, 1.5h, 2d)",
        value="DELAY",
        kind=delay,
    ),
    Option(("--window",), "window of the rolling metrics", value="ROWS", kind=positive, default=1000),
    Option(("--warmup",), "number of initial rows that are learned but not scored", value="ROWS", kind=count),
    Option(("--every",), "number of rows between points of the curve", value="ROWS", kind=positive),
    Option(
        ("--detector",),
        'drift detector for the errors, such as "PageHinkley(threshold=100)"',
        value="DETECTOR",
    ),
    Option(
        ("--passes",),
        "number of passes over the source; later passes score rows that were learned before",
        value="N",
        kind=positive,
        default=1,
    ),
    Option(("--threads",), "maximum number of threads for several models", value="N", kind=positive),
)

OUTPUT_OPTIONS = grouped(
    "output",
    Option(("--report",), "write an HTML report with curves and tables", value="FILE.html", complete="file"),
    Option(("--plot",), "plot the curve", value="FILE.png|svg|pdf", complete="file"),
    Option(
        ("--predictions",),
        "write the predictions: row, truth, prediction, probability of the predicted class",
        value="FILE.csv|parquet|jsonl",
        complete="file",
    ),
    KEEP,
)


def check_places(given: Namespace) -> None:
    """Check all output files before learning starts."""
    if given.keep and not given.predictions:
        raise UsageError("--keep needs --predictions, the file into which the columns are copied")
    check_place(given.report, (".html", ".htm"), what="--report")
    check_place(given.plot, (".png", ".svg", ".pdf"), what="--plot")
    check_place(given.predictions, ENDINGS, what="--predictions")
    save = getattr(given, "save", None)
    check_place(save, what="--save")
    outputs = {"--report": given.report, "--plot": given.plot, "--predictions": given.predictions}
    check_apart({"SOURCE": given.source, "--save": save, **outputs})
    # --save may overwrite the resumed model; other outputs may not.
    check_apart({"--resume": getattr(given, "resume", None), **outputs})
    if given.plot:
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            raise UsageError(
                "--plot needs matplotlib: pip install matplotlib; --report does not need it"
            ) from None


class Recorder:
    """Writes predictions as they are made. If writing fails, the run continues, and the error is reported."""

    def __init__(self, path: str, source: Any = None) -> None:
        self.writer = Writer(path)
        self.source = keyed_stream(source)
        self.error: OSError | None = None

    def __call__(self, columns: Mapping[str, Any]) -> None:
        keys = self.source.take_rows(len(columns["row"])) if self.source is not None else {}
        if self.error is not None:
            return
        try:
            self.writer.write({"row": columns["row"], **keys, **columns})
        except OSError as error:
            self.error = error
            warn(f"--predictions: {self.writer.path}: {error.strerror or error}; the run continues without it")

    def close(self) -> None:
        """Write the remaining rows."""
        try:
            self.writer.close()
        except OSError as error:
            self.error = self.error or error


class Failed(Exception):
    """A run that ended with an error; it has a result for the rows before it."""

    def __init__(self, error: MillstreamError) -> None:
        super().__init__(str(error))
        self.error, self.result = error, error.result


#: Names of our metrics in other libraries.
_OTHER_NAMES = {
    "auc": "ROCAUC",
    "auroc": "ROCAUC",
    "rocaucscore": "ROCAUC",
    "f1score": "F1",
    "fscore": "F1",
    "crossentropy": "LogLoss",
    "kappa": "CohenKappa",
    "r2score": "R2",
    "meansquarederror": "MSE",
    "meanabsoluteerror": "MAE",
}


def metric_of(text: str) -> Any:
    """The metric that a string describes."""
    try:
        return notation.parse(text, role="metric")
    except InvalidNotation as error:
        other = _OTHER_NAMES.get(text.replace("_", "").lower())
        if other is None or "no component named" not in str(error):
            raise
        raise UsageError(f"--metric: unknown metric {quoted(text)}, did you mean {quoted(other)}?") from None


def evaluated(given: Namespace, models: Any, stream: ObservedStream, recorder: Recorder | None) -> Any:
    """The result of one run over the stream."""
    from millstream import evaluate

    metrics: list[Any] | None = [metric_of(text) for text in given.metric or ()]
    several = isinstance(models, dict)
    first = next(iter(models.values())) if several else models
    metrics = metrics or metrics_for(first.role, stream, given, ranking=several)
    detector = notation.parse(given.detector, role="drift_detector") if given.detector else None
    try:
        return evaluate.prequential(
            models,
            stream,
            metrics,
            delay=given.delay,
            window=given.window,
            warmup=given.warmup or 0,
            every=given.every,
            detector=detector,
            on_error=given.on_error,
            limit=given.limit,
            threads=given.threads,
            progress=False if given.quiet or given.json else None,
            passes=given.passes,
            predictions=recorder,
            on_interrupt="return",
        )
    except MillstreamError as error:
        if error.result is not None:
            raise Failed(error) from error
        if "but the model predicts" in str(error):
            raise UsageError(f"--metric: {str(error).removeprefix('metrics.')}") from None
        raise
    finally:
        if recorder is not None:
            recorder.close()


def save(model: Any, path: str, quiet: bool = False, words: str = "") -> bool:
    """Save a model and return whether it succeeded; on failure, warn and try a temporary directory."""
    try:
        model.save(path)
    except (OSError, MillstreamError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        kept = _kept_elsewhere(model, path)
        old = "; the existing file is unchanged" if Path(path).is_file() else ""
        warn(f"--save: {path}: {reason}{old}{kept}")
        return False
    remark(f"saved in {path}{words}", quiet)
    return True


def _kept_elsewhere(model: Any, path: str) -> str:
    try:
        other = Path(tempfile.mkdtemp(prefix="millstream-")) / Path(path).name
        model.save(other)
    except (OSError, MillstreamError):
        return ""
    return f"; the model is in {other} instead"


def write_pictures(result: Any, given: Namespace, stream: ObservedStream) -> tuple[dict[str, str], bool]:
    """Write the requested report and plot; returns their paths, and whether all succeeded."""
    # The report includes the messages of the terminal. Weak remarks are among the facts on the columns only.
    found = [] if stream.profile is None else stream.profile.remarks
    remarks = [str(remark) for remark in found if not remark.minor]
    for each in result.values() if hasattr(result, "ranked") else [result]:
        each.notes = remarks
    written: dict[str, str] = {}
    well = True
    for what, path, write in (("report", given.report, _page), ("plot", given.plot, _plot)):
        if path is None:
            continue
        try:
            write(result, path, given)
            written[what] = path
        except OSError as error:
            warn(f"--{what}: {path}: {error.strerror or error}")
            well = False
    return written, well


def _page(result: Any, path: str, given: Namespace) -> None:
    source = Path(given.source).name or given.source
    what = text_of(result.model) if hasattr(result, "model") else f"{len(result)} models compared"
    result.to_html(path, command=command_line(), title=f"{source}: {what}")


def _plot(result: Any, path: str, _given: Namespace) -> None:
    import matplotlib

    matplotlib.use("Agg")
    axes = result.plot()
    # A device such as /dev/stdout has no suffix, so the format is given.
    write_figure(path, axes.figure, dpi=150, format=Path(path).suffix.removeprefix(".").lower() or "png")


def command_line() -> str:
    """The command as it was typed."""
    import shlex

    return shlex.join(["millstream", *sys.argv[1:]])


def remarks_on(result: Any, stream: ObservedStream, given: Namespace) -> list[str]:
    """Remarks on the rows of the source."""
    from millstream.cli.contracts import contract_lines
    from millstream.cli.look import profile_lines
    from millstream.evaluate.constants import target_line

    # The target line of the profile has the base rates already.
    hidden = stream.profile is None or stream.profile_shown or stream.notes_only
    said = [
        *filter(None, [target_line(result) if hidden else ""]),
        *result.warnings,
        *profile_lines(stream),
        *contract_lines(stream, given),
        *unread(result.unread, result.unread_reasons),
    ]
    return said + refused(result.skipped, [f"row {row}: {reason}" for row, reason in result.refusals])


def only_value(stream: ObservedStream) -> str | None:
    """The message for a target that never changes."""
    if not stream.only or stream.rows < 2:
        return None
    name = f"target {quoted(stream.target)}" if stream.target else "target"
    return f"the {name} is {quoted(stream.only[0])} in all {stream.rows:,} rows: there is nothing to learn"
