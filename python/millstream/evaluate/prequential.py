"""Prequential evaluation: predict, score and learn each example of a stream."""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from millstream import _core, registry
from millstream._dates import times_of
from millstream._echo import plain, quoted
from millstream._feature_names import note_names
from millstream.drift.base import checked_detector
from millstream.drift.monitor import Monitor
from millstream.errors import InvalidValue, MillstreamError
from millstream.evaluate.calibration import Calibration
from millstream.evaluate.chunks import GATHERED, EvaluationChunk, chunks, labelled, length, target_name
from millstream.evaluate.cluster_loop import ClusterRun
from millstream.evaluate.inputs import check_without_labels, chosen_metrics, common_role, named_models
from millstream.evaluate.interrupts import Interrupts
from millstream.evaluate.predictions import Predictions, Sink, decoded
from millstream.evaluate.progress import Progress
from millstream.evaluate.python_loop import AnomalyRun, PythonRun, stopped
from millstream.evaluate.residuals import Residuals
from millstream.evaluate.result import Confusion, Result, Results
from millstream.evaluate.stream_sample import StreamSample, StreamSampler
from millstream.evaluate.times import Times
from millstream.roles import Answer, Role
from millstream.stream.base import Stream
from millstream.stream.owner_thread import owned

__all__ = ["prequential"]

#: What is scored, if it is not classes, and the loops of roles whose predictions are compared with labels later.
_SCORED = {Answer.NUMBER: "numbers", Answer.CLUSTER: "clusters"}
_LOOPS: dict[Answer, type[PythonRun]] = {Answer.SCORE: AnomalyRun, Answer.CLUSTER: ClusterRun}

#: Number of points of a curve if the length of the stream is known.
POINTS = 200


@dataclass
class RunSettings:
    """The settings of a run."""

    window: int
    warmup: int
    every: int
    #: Whether `every` doubles as the curve fills, because the length of the stream is unknown.
    doubling: bool
    #: Delay of labels in rows.
    delay: int
    #: Whether labels arrive by time.
    timed: bool
    on_error: str


def prequential(
    model: Any,
    stream: Any,
    metrics: Any = None,
    *,
    delay: Any = None,
    time: Any = None,
    label_time: Any = None,
    window: int = 1000,
    warmup: int = 0,
    every: int | None = None,
    detector: Any = None,
    on_error: str = "raise",
    limit: int | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    passes: int = 1,
    predictions: Sink | None = None,
    on_interrupt: str = "raise",
) -> Any:
    """Predict each example of a stream, score the prediction, then learn the example.

    Native models run in native code, chunk by chunk, without the GIL; models, metrics and detectors written in
    Python run in a Python loop with the same result. The model learns in place, as in River. When the label of an
    example arrives, its earlier prediction is scored. Examples for which the model has no prediction yet, because
    it has learned nothing, are counted as `unanswered` and not scored.

    Parameters
    ----------
    model
        A classifier, regressor, anomaly detector or clusterer; or several, as a dict by name or a list, which are
        evaluated in one pass, each in a thread of its own. The results are the same as those of separate runs.
    stream
        `(X, y)` or `(X, y, w)` with a NumPy matrix, a pandas, polars or Arrow frame or a SciPy sparse matrix;
        `y` may be the name of a column. Or an iterable of examples `(x, y)` or `(x, y, w)` with dicts x, such as
        River's datasets and infinite generators. Or an iterable of chunks `(X, y)`. Or a `stream.Stream`, whose
        event and label times are used unless others are given; with `delay=0`, labels arrive at once. For a
        clusterer, labels may be absent: a matrix or frame alone, an iterable of dicts, a stream without a target,
        or labels of None.
    metrics
        Names ("Accuracy"), classes or instances from `metrics`, one or a list; also custom objects with
        `update(y_true, y_pred)` and `get()`. An instance is updated in place if there is one model. The default is
        accuracy and Cohen's kappa for classifiers, MAE and R2 for regressors, the adjusted Rand index, V-measure
        and silhouette for clusterers, of which the silhouette needs no labels.
    delay
        Delay of labels: a number of rows, or with `time` a timedelta or number. The label of row i is learned just
        before row i + delay is predicted. For streams of dicts also a function of (x, y) or a key.
    time
        Times of examples: the name of a column or key (which is then not a feature), an array, or a function of x.
    label_time
        Times at which labels arrive, in the same forms; a label is learned before the first example at or after
        its time.
    window
        Number of scored examples in the window of the rolling metrics.
    warmup
        Number of initial rows that are learned but not scored.
    every
        Number of rows between points of the curve; by default there are about 200 points.
    detector
        A drift detector, which receives the errors (0 or 1, or absolute errors; the distance of a row to its
        centre for clusterers). `drifts` of the result lists the
        rows at which it detected drift. Decreasing errors are not listed, because they are an improvement. Each
        model gets a new detector with the given parameters. To use several detectors, or detectors of rows,
        evaluate `drift.Monitor(…).beside(model)`, whose drift events are listed too.
    on_error
        What to do with a row that cannot be predicted or learned: "raise" stops there, with the rows before it
        learned, and the error has the `result` so far; "skip" skips and counts the row.
    limit
        Maximum number of rows.
    threads
        Maximum number of threads for several models; by default one per processor.
    progress
        Whether to show a progress bar; by default on a terminal and in a notebook.
    passes
        Number of passes over the stream. All remaining labels arrive at the end of each pass. From the second pass
        on, the scored rows have been learned before, so the metrics are optimistic.
    predictions
        A function that receives the predictions chunk by chunk: a dict with the columns `row`, `truth`,
        `prediction` and, for classifiers, `probability`, the probability of the predicted class. Several models
        have columns `prediction <name>` each. A row without a prediction has None, NaN, or -1 for clusterers;
        a stream without labels has no column `truth`.
    on_interrupt
        On Ctrl-C: "raise" KeyboardInterrupt, or "return" the result so far, with `interrupted` set.

    Returns
    -------
    Result or Results
        Final metrics, curve, confusion matrix, rows of drift, throughput and memory; for several models a mapping
        from name to result.

    Examples
    --------
    >>> from millstream import evaluate, linear_model, preprocessing
    >>> rows = [({"x": float(i % 7)}, i % 7 > 3) for i in range(500)]
    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> result = evaluate.prequential(model, rows, metrics="Accuracy", delay=10)
    >>> result.scored, round(result["Accuracy"], 3)
    (490, 0.99)

    References
    ----------
    Dawid, A. P. (1984). Statistical theory: the prequential approach. Journal of the Royal Statistical Society A.
    Gama, J., Sebastião, R. and Rodrigues, P. (2013). On evaluating stream learning algorithms. Machine Learning.
    Grzenda, M., Gomes, H. M. and Bifet, A. (2020). Delayed labelling evaluation for data streams. Data Mining and
    Knowledge Discovery.
    """
    models, several = named_models(model)
    role = common_role(models)
    for each in models.values():
        note_names(each, stream)
    times = Times.of_stream(stream, time, label_time, delay)
    times.features = [name for each in models.values() for name in times_of(each)]
    for what, value, least in (
        ("window", window, 1),
        ("warmup", warmup, 0),
        ("every", every, 1),
        ("limit", limit, 0),
        ("threads", threads, 1),
        ("passes", passes, 1),
    ):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise InvalidValue(f"{what} must be an integer >= {least}, got {quoted(value)}")
        if value >= 2**63:
            raise InvalidValue(f"{what} must be below 2**63, got {quoted(value)}")
    if on_error not in ("raise", "skip"):
        raise InvalidValue(f"on_error must be 'raise' or 'skip', got {quoted(on_error)}")
    if on_interrupt not in ("raise", "return"):
        raise InvalidValue(f"on_interrupt must be 'raise' or 'return', got {quoted(on_interrupt)}")
    if passes > 1 and (isinstance(stream, Iterator) or not getattr(stream, "repeatable", True)):
        raise InvalidValue(f"{passes} passes need a stream that can be read again, got {type(stream).__name__}")
    optional, with_labels = bool(role.metrics_without_labels), True
    if optional:
        stream, with_labels = labelled(stream)
        metrics = role.metrics_without_labels if metrics is None and not with_labels else metrics
    total = length(stream, limit)
    total = None if total is None else total * passes
    spacing = every or (10 if total is None else max(1, math.ceil(total / POINTS)))
    settings = RunSettings(
        int(window),
        int(warmup),
        int(spacing),
        every is None and total is None,
        times.delay_rows,
        times.timed,
        on_error,
    )
    if detector is not None:
        detector = checked_detector("evaluate.prequential", "detector", detector)
    chosen = chosen_metrics(metrics, role)
    if not with_labels:
        check_without_labels(chosen, role)
    run = PrequentialRun(models, role, chosen, detector, settings)
    run.target = target_name(stream)
    run.sampler = StreamSampler(times)
    if predictions is not None:
        run.keep_predictions(predictions, with_labels)
    first = next(iter(run.names), "")
    if len(models) > 1:
        first = f"{plain(next(iter(models)), 24)}: {first}"
    begun = perf_counter()
    with Progress(progress, total, first, warmup) as bar, Interrupts(on_interrupt == "return") as interrupts:
        passing = (chunks(stream, times, limit, run.gathered, optional) for _ in range(passes))
        failure = run.run(passing, threads or os.cpu_count() or 1, bar, interrupts)
    run.elapsed = perf_counter() - begun
    if (aside := getattr(stream, "skipped", None) if isinstance(stream, Stream) else None) is not None:
        run.unread, run.unread_reasons = aside.count, list(aside.reasons)
    # Streams of the command line have a profile.
    run.profile = getattr(stream, "profile", None) if isinstance(stream, Stream) else None
    told = {**asdict(settings), "delay": delay, "time": time, "label_time": label_time, "limit": limit}
    if passes > 1:
        told["passes"] = passes
    told["detector"] = None if detector is None else _code(detector)
    told["stream"] = repr(stream) if isinstance(stream, Stream) else None
    results = run.results({key: value for key, value in told.items() if key not in ("timed", "doubling")})
    found = Results(results) if several else next(iter(results.values()))
    if failure is not None:
        if isinstance(failure, MillstreamError):
            failure.result = found
        try:
            raise failure
        finally:
            # A reference cycle between the error and this frame would keep the stream open.
            del failure
    return found


class PrequentialRun:
    """One or more models with their metrics, in one pass over a stream."""

    def __init__(
        self, models: Mapping[str, Any], role: Role, metrics: dict[str, Any], detector: Any, settings: RunSettings
    ) -> None:
        self.models, self.role, self.settings = models, role, settings
        self.elapsed = 0.0
        #: Lines or rows that could not be read.
        self.unread, self.unread_reasons = 0, list[str]()
        self.target: str | None = None
        self.weighted = False
        self.profile: Any = None
        #: Collects rows of the first pass.
        self.sampler: StreamSampler | None = None
        self.names = list(metrics)
        native_metrics = all(isinstance(metric, _core.Metric) for metric in metrics.values())
        native_detector = detector is None or _is_native_detector(detector)
        # Native models and models that need Python have separate engines.
        self.engines = {True: _core.Prequential(), False: _core.Prequential()}
        self.places: dict[str, tuple[bool, int]] = {}
        self.metrics: dict[str, dict[str, Any]] = {}
        self.loops: dict[str, PythonRun] = {}
        counts = {True: 0, False: 0}
        for name, model in models.items():
            own = metrics if len(models) == 1 else {key: copy.deepcopy(metric) for key, metric in metrics.items()}
            watch = detector if native_detector else copy.deepcopy(detector)
            native = isinstance(model, _core.Model) and native_metrics and native_detector
            # The compiled loop scores classes and numbers only.
            native = native and role.answer not in _LOOPS
            self.metrics[name] = own
            self.places[name] = (native, counts[native])
            known = [metric for metric in own.values() if isinstance(metric, _core.Metric)]
            self.engines[native].add(
                model if native else None,
                known,
                json.dumps(watch.describe()) if native_detector and watch is not None else None,
                scored=_SCORED.get(role.answer, "classes"),
                window=settings.window,
                warmup=settings.warmup,
                every=settings.every,
                doubling=settings.doubling,
                delay=settings.delay,
                timed=settings.timed,
                skip=settings.on_error == "skip",
            )
            if not native:
                theirs = [metric for metric in own.values() if not isinstance(metric, _core.Metric)]
                self.loops[name] = _LOOPS.get(role.answer, PythonRun)(
                    self.engines[False],
                    counts[native],
                    model,
                    theirs,
                    None if native_detector else watch,
                    settings,
                )
            counts[native] += 1
        self.any_native = counts[True] > 0
        self.predictions: Predictions | None = None
        self.sample: StreamSample | None = None
        self.interrupted = False
        self.rows = 0

    @property
    def gathered(self) -> int:
        """Number of examples per chunk: one if all models are written in Python, so that no example waits."""
        return GATHERED if self.any_native else 1

    def keep_predictions(self, sink: Sink, labelled: bool = True) -> None:
        """Pass each prediction to a sink, with the truth if the stream has labels."""
        self.predictions = Predictions(sink, list(self.models), self.role, labelled)
        self.engines[True].keep_predictions()
        for loop in self.loops.values():
            loop.keep_predictions()

    def run(
        self, passes: Iterable[Iterator[EvaluationChunk]], threads: int, bar: Progress, interrupts: Interrupts
    ) -> Exception | None:
        """Process the stream, once per pass. Returns the error that ended the run early, if any."""
        for engine in self.engines.values():
            engine.start()
        tick = bar.tick if bar.wanted else None
        sampler = self.sampler
        try:
            for stream in passes:
                # A returned error references this frame, which would keep the stream open.
                with owned(stream):
                    for chunk in interrupts.reading(stream):
                        self._take(chunk, threads, tick, interrupts)
                        if sampler is not None:
                            sampler.add(chunk)
                        if not self.any_native:
                            bar.count(chunk.size, self.engines[False].status)
                sampler = None
                self.engines[True].finish(threads)
                for loop in self.loops.values():
                    loop.finish()
        except KeyboardInterrupt:
            if not interrupts.wanted:
                raise
            self._stop()
        except Exception as error:
            self._stop()
            return error
        finally:
            # Also after an error, so that the metrics match the models.
            for name, metrics in self.metrics.items():
                native, place = self.places[name]
                known = [metric for metric in metrics.values() if isinstance(metric, _core.Metric)]
                self.engines[native].copy_metrics(place, known)
        return None

    def _stop(self) -> None:
        """End the run early; the result covers the rows so far."""
        self.interrupted = True
        self.engines[True].stop()
        for loop in self.loops.values():
            loop.stop()

    def _take(self, chunk: EvaluationChunk, threads: int, tick: Any, interrupts: Interrupts) -> None:
        """Process one chunk with all models and pass on their predictions."""
        before = self.rows
        self.weighted = self.weighted or chunk.w is not None
        whole, stop = False, None
        try:
            if self.any_native and self.loops:
                self._feed(chunk, before, threads, tick)
            elif self.any_native:
                # Native code checks for signals between blocks of rows, where all models are at the same row.
                with interrupts.allowed():
                    self._feed(chunk, before, threads, tick)
            for loop in self.loops.values():
                loop.feed(chunk, interrupts if len(self.models) == 1 else None)
            whole = True
        except MillstreamError as error:
            # Native code counts a block of rows before it processes them.
            if error.row is not None and not self.settings.delay and not self.settings.timed:
                stop = max(error.row, before)
            raise
        finally:
            counts = [self.engines[True].rows(0)] if self.any_native else []
            self.rows = min(counts + [loop.rows for loop in self.loops.values()])
            self.rows = self.rows if stop is None else min(self.rows, stop)
            if self.predictions is not None:
                self._give(self.predictions, chunk, chunk.size if whole else self.rows - before, whole)

    def _give(self, predictions: Predictions, chunk: EvaluationChunk, done: int, whole: bool) -> None:
        answers = {}
        for name, model in self.models.items():
            native, place = self.places[name]
            if native:
                answers[name] = decoded(self.engines[True].predictions(place), model._labels(), self.role)
            else:
                answers[name] = self.loops[name].predictions()
        if not whole:
            # The row that ends the run and the rows after it have no predictions.
            done = min(done, *(len(predicted) for predicted, _ in answers.values()), done)
        predictions.give(chunk.y, answers, done)

    def _feed(self, chunk: EvaluationChunk, rows: int, threads: int, tick: Any) -> None:
        engine = self.engines[True]
        for start, stop, parts, error in chunk.groups():
            if parts is None:
                assert error is not None, "an unreadable row has a reason"
                if self.settings.on_error == "raise":
                    raise stopped(error, rows + start)
                engine.unreadable(str(error))
                continue
            whole = (start, stop) == (0, chunk.size)
            y, w, now, due = (
                column if whole or column is None else column[start:stop]
                for column in (chunk.y, chunk.w, chunk.now, chunk.due)
            )
            engine.feed(parts, y, w, now, due, threads, tick)

    def results(self, settings: dict[str, Any]) -> dict[str, Result]:
        """The results by name."""
        self.sample = None if self.sampler is None else self.sampler.sample()
        return {name: self._result(name, settings) for name in self.models}

    def _result(self, name: str, settings: dict[str, Any]) -> Result:
        native, place = self.places[name]
        found = self.engines[native].result(place)
        loop = self.loops.get(name)
        metrics, model = self.metrics[name], self.models[name]
        known = [key for key, metric in metrics.items() if isinstance(metric, _core.Metric)]
        curve = {"row": found["rows"].astype(np.int64)}
        rolling = {}
        for number, key in enumerate(known):
            curve[key] = found["values"][:, number]
            rolling[key] = found["values"][:, len(known) + number]
        others = [key for key in metrics if key not in known]
        for number, key in enumerate(others):
            points = (
                [loop.curve.get(row, ([math.nan] * len(others),) * 2) for row in curve["row"].tolist()]
                if loop
                else []
            )
            curve[key] = np.array([whole[number] for whole, _ in points], dtype=np.float64)
            rolling[key] = np.array([recent[number] for _, recent in points], dtype=np.float64)
        curve = {"row": curve["row"], **{key: curve[key] for key in metrics}}
        curve |= {f"rolling_{key}": rolling[key] for key in metrics}
        curve |= {"seconds": found["seconds"], "memory": found["memory"].astype(np.int64)}
        memory = memory_of(model)
        if loop is not None and len(curve["memory"]):
            # The points before have the last count.
            curve["memory"][-1] = memory
        curve["waiting"] = found["waiting"].astype(np.int64)
        named = self.role.answer is Answer.CLASS
        drifts = found["drifts"] if loop is None or loop.detector is None else loop.marks
        if loop is not None and loop.noticed:
            drifts = sorted({*drifts, *loop.noticed})
        return Result(
            model=model,
            name=name,
            metrics=metrics,
            values={key: float(metric.get()) for key, metric in metrics.items()},
            bigger_is_better={key: bool(getattr(m, "bigger_is_better", True)) for key, m in metrics.items()},
            curve=curve,
            confusion=Confusion(*found["confusion"]) if named and found["confusion"] else None,
            calibration=Calibration.of(*found["calibration"]) if found["calibration"] else None,
            residuals=Residuals.of(found["sample"]) if found["sample"] is not None else None,
            drifts=list(drifts),
            rows=self.rows,
            scored=found["scored"],
            learned=found["arrived"],
            warmup=found["warmup"],
            unanswered=found["unanswered"],
            skipped=found["skipped"],
            refusals=found["refusals"],
            seconds=found["busy"],
            memory=memory,
            settings=settings,
            interrupted=self.interrupted,
            clusters=loop.sample.clusters(found["confusion"]) if isinstance(loop, ClusterRun) else None,
            waiting=self.engines[True].waiting(place)[0] if loop is None else len(loop.waiting),
            elapsed=self.elapsed,
            unread=self.unread,
            unread_reasons=self.unread_reasons,
            target=self.target,
            weighted=self.weighted,
            profile=self.profile,
            sample=self.sample,
        )


def memory_of(model: Any) -> int:
    """Memory of a model in bytes; 0 if it is unknown."""
    try:
        return int(model.memory)
    except Exception:
        return 0


def _code(detector: Any) -> str:
    """Python code that creates the detector; the representation of a monitor lists its events."""
    return detector._code() if isinstance(detector, Monitor) else repr(detector)


def _is_native_detector(detector: Any) -> bool:
    """Whether the core has the detector, so that it can be built from its description."""
    name = getattr(detector, "name", None)
    return isinstance(name, str) and name.startswith("drift.") and name in registry.find()
