"""The workloads: learners, metrics, detectors, generators, readers, saving and loading.

A workload prepares its data for a number of rows and returns a unit of work, which can be repeated: each time it
starts with a new model and the same rows. Only NumPy and millstream are imported, since each import adds to the
counted instructions.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import millstream
from benchmarks import learners, streams

__all__ = ["Unit", "Workload", "chosen", "workloads"]

Unit = Callable[[], object]

_SCALER = {"name": "preprocessing.StandardScaler"}
_LOGISTIC = {"name": "linear_model.LogisticRegression"}
_PIPELINE = {"name": "compose.Pipeline", "parameters": {"steps": [_SCALER, _LOGISTIC]}}

#: Arguments for metrics, statistics and generators that require them.
ARGUMENTS: dict[str, dict[str, Any]] = {
    **{f"metrics.{average}FBeta": {"beta": 2.0} for average in ("", "Macro", "Micro", "Weighted")},
    "metrics.Fading": {"metric": {"name": "metrics.MAE"}},
    "metrics.Rolling": {"metric": {"name": "metrics.MAE"}},
    "stats.BayesianMean": {"prior": 0.5, "prior_weight": 3.0},
    "stats.Link": {"left": {"name": "stats.Shift"}, "right": {"name": "stats.Mean"}},
    "stats.Rolling": {"statistic": {"name": "stats.Mean"}},
    "stats.TimeRolling": {"statistic": {"name": "stats.Mean"}, "period": 1000.0},
    "synth.Drift": {
        "stream": {"name": "synth.SEA"},
        "drift_stream": {"name": "synth.SEA", "parameters": {"variant": 1}},
    },
    "synth.Imbalance": {"stream": {"name": "synth.SEA"}, "shares": [0.5, 0.5]},
    "synth.LabelNoise": {"stream": {"name": "synth.SEA"}},
    "synth.Missing": {"stream": {"name": "synth.SEA"}},
}


@dataclass(frozen=True)
class Workload:
    """A workload. `prepare` is not timed."""

    name: str
    prepare: Callable[[int], Unit]


def _build(name: str) -> Any:
    return millstream.build({"name": name, "parameters": ARGUMENTS.get(name, {})})


@cache
def _rows(role: str, rows: int) -> tuple[Any, Any]:
    X, y = streams.regression(rows, 10) if role == "regressor" else streams.linear(rows, 10)
    return streams.standardised(X), y


def _matrix(description: dict[str, Any]) -> Callable[[int], Unit]:
    """`step_many`, or `learn_many` and `transform_many`, on a matrix of ten columns."""

    def prepare(rows: int) -> Unit:
        role = millstream.build(description).role
        X, y = _rows(role, rows)

        def unit() -> object:
            model = millstream.build(description)
            if role != "transformer":
                return model.step_many(X, y)
            model.learn_many(X)
            return model.transform_many(X)

        return unit

    return prepare


def _dicts(description: dict[str, Any]) -> Callable[[int], Unit]:
    """`predict_one` and `learn_one`, or `learn_one` and `transform_one`, dict by dict."""

    def prepare(rows: int) -> Unit:
        role = millstream.build(description).role
        X, y = _rows(role, rows)
        examples = list(zip(streams.as_dicts(X), y.tolist(), strict=True))

        def unit() -> object:
            model = millstream.build(description)
            if role == "transformer":
                for x, _ in examples:
                    model.learn_one(x)
                    model.transform_one(x)
                return model
            ask = getattr(model, learners.UNLABELLED.get(role, "predict_one"))
            for x, target in examples:
                ask(x)
                model.learn_one(x, target)
            return model

        return unit

    return prepare


def _sparse(name: str, width: int = 1 << 18, words: int = 40) -> Callable[[int], Unit]:
    """`step_many` on sparse rows of hashed words."""

    def prepare(rows: int) -> Unit:
        from millstream import stream

        random = np.random.default_rng(1)
        indices = np.sort(random.integers(0, width, (rows, words)), axis=1)
        # No duplicate columns within a row.
        indices += np.arange(words)
        X = stream.Sparse(np.arange(rows + 1) * words, indices.ravel(), np.ones(rows * words), width + words)
        y = random.integers(0, 2, rows)
        return lambda: millstream.build({"name": name}).step_many(X, y)

    return prepare


def _prequential(description: dict[str, Any]) -> Callable[[int], Unit]:
    def prepare(rows: int) -> Unit:
        from millstream import evaluate

        X, y = streams.linear(rows, 10)

        def unit() -> object:
            model = millstream.build(description)
            return evaluate.prequential(model, (X, y), metrics=["Accuracy", "LogLoss"], progress=False)

        return unit

    return prepare


def _forest(n_threads: int) -> Callable[[int], Unit]:
    description = {"name": "forest.ARFClassifier", "parameters": {"n_models": 10, "n_threads": n_threads}}

    def prepare(rows: int) -> Unit:
        X, y = streams.random_rbf(rows, 10)
        return lambda: millstream.build(description).step_many(X, y)

    return prepare


def _mini_batches(rows: int) -> Unit:
    X, y = _rows("regressor", rows)

    def unit() -> object:
        model = millstream.build({"name": "linear_model.LinearRegression"})
        return millstream.train(model, (X, y), passes=1, batch_size=32, progress=False)

    return unit


def _detector(name: str, *, together: bool) -> Callable[[int], Unit]:
    """A drift detector of numbers; most receive zeros and ones."""

    def prepare(rows: int) -> Unit:
        errors = (np.random.default_rng(1).random(rows) < 0.2).astype(float)
        numbers = errors.tolist()

        def unit() -> object:
            detector = _build(name)
            if together:
                return detector.update_many(errors)
            for number in numbers:
                detector.update(number)
            return detector

        return unit

    return prepare


def _row_detector(name: str) -> Callable[[int], Unit]:
    def prepare(rows: int) -> Unit:
        X = np.random.default_rng(1).normal(size=(rows, 10))
        return lambda: _build(name).update_many(X)

    return prepare


def _policy_estimator(name: str) -> Callable[[int], Unit]:
    def prepare(rows: int) -> Unit:
        random = np.random.default_rng(1)
        rewards = (random.random(rows) < 0.5).astype(np.float64)
        optional = 4 if name.endswith("Difference") else 2
        columns = [random.uniform(0.1, 1.0, rows) for _ in range(2 + optional)]
        return lambda: _build(name).update_many(rewards, *columns)

    return prepare


def _metric(name: str, *, together: bool) -> Callable[[int], Unit]:
    def prepare(rows: int) -> Unit:
        random = np.random.default_rng(1)
        truth = random.integers(0, 2, rows)
        said: Any = np.where(random.random(rows) < 0.8, truth, 1 - truth)
        metric = _build(name)
        if metric._takes_numbers():
            truth, said = truth + random.random(rows), said + random.random(rows)
        classes = None
        if metric._wants_probabilities():
            classes, share = [0, 1], random.random(rows)
            said = np.column_stack([1.0 - share, share])
        pairs = list(zip(truth.tolist(), said.tolist(), strict=True))
        if classes is not None:
            pairs = [(true, dict(enumerate(shares))) for true, shares in pairs]

        def unit() -> object:
            metric = _build(name)
            if together:
                metric.update_many(truth, said, **({} if classes is None else {"classes": classes}))
            else:
                for true, predicted in pairs:
                    metric.update(true, predicted)
            return metric.get()

        return unit

    return prepare


def _sketch(name: str) -> Callable[[int], Unit]:
    def prepare(rows: int) -> Unit:
        random = np.random.default_rng(1)
        keys = _build(name)._takes_keys()
        items = random.zipf(1.2, rows) % 1_000_000 if keys else random.lognormal(size=rows)

        def unit() -> object:
            sketch = _build(name)
            sketch.update_many(items)
            return sketch.total_weight

        return unit

    return prepare


def _statistic(name: str) -> Callable[[int], Unit]:
    def prepare(rows: int) -> Unit:
        random = np.random.default_rng(1)
        numbers = [random.normal(size=rows) for _ in range(2 if _build(name)._takes_pairs() else 1)]
        timed = name == "stats.TimeRolling"
        # Distinct values are few, or these would measure their limit.
        if name in ("stats.ChiSquared", "stats.Entropy", "stats.Mode"):
            numbers = [np.round(3.0 * column) for column in numbers]

        def unit() -> object:
            statistic = _build(name)
            statistic.update_many(*numbers, **({"t": np.arange(float(rows))} if timed else {}))
            return statistic.get()

        return unit

    return prepare


def _generator(name: str) -> Callable[[int], Unit]:
    def prepare(rows: int) -> Unit:
        def unit() -> object:
            left = rows
            for chunk in _build(name).chunks(min(rows, 4096)):
                left -= len(chunk)
                if left <= 0:
                    break
            return left

        return unit

    return prepare


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="millstream-baseline-")


def _line(kind: str, x: list[float], label: int) -> str:
    if kind == "csv":
        return ",".join([*(f"{value:.6f}" for value in x), str(label)])
    if kind == "jsonl":
        return "{" + ", ".join([*(f'"x{i}": {value:.6f}' for i, value in enumerate(x)), f'"y": {label}']) + "}"
    if kind == "libsvm":
        return " ".join([str(label), *(f"{i + 1}:{value:.6f}" for i, value in enumerate(x))])
    return f"{label or -1} |t " + " ".join(f"word{int(abs(value) * 1000)}" for value in x)


def _file(kind: str, rows: int) -> Path:
    X, y = streams.linear(rows, 10)
    lines = [_line(kind, x, label) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    if kind == "csv":
        lines.insert(0, ",".join([*streams.names(10), "y"]))
    path = Path(_folder().name) / f"{rows}.{kind}"
    path.write_text("\n".join(lines) + "\n")
    return path


def _source(kind: str, path: Path) -> Any:
    from millstream import stream

    return {
        "csv": lambda: stream.read_csv(path, target="y"),
        "jsonl": lambda: stream.read_json_lines(path, target="y"),
        "libsvm": lambda: stream.read_libsvm(path),
        "vw": lambda: stream.read_vw(path, bits=18),
    }[kind]()


def _reader(kind: str) -> Callable[[int], Unit]:
    """All chunks of a file."""

    def prepare(rows: int) -> Unit:
        path = _file(kind, rows)
        return lambda: sum(len(chunk) for chunk in _source(kind, path).chunks())

    return prepare


def _file_to_model(kind: str) -> Callable[[int], Unit]:
    """From a file to a model and its score."""

    def prepare(rows: int) -> Unit:
        from millstream import evaluate

        path = _file(kind, rows)
        description = _PIPELINE if kind == "csv" else _LOGISTIC

        def unit() -> object:
            model = millstream.build(description)
            return evaluate.prequential(model, _source(kind, path), metrics="Accuracy", progress=False)

        return unit

    return prepare


def _kept(verb: str, description: dict[str, Any]) -> Callable[[int], Unit]:
    """Saving, loading or copying a trained model; each repetition counts as a row."""

    def prepare(rows: int) -> Unit:
        X, y = streams.random_rbf(5000, 10)
        model = millstream.build(description)
        model.learn_many(X, y)
        saved = model.to_bytes()
        work = {"save": model.to_bytes, "load": lambda: millstream.from_bytes(saved), "copy": model.copy}[verb]

        def unit() -> object:
            for _ in range(rows):
                work()
            return saved

        return unit

    return prepare


_KEPT = {
    "scaler | logistic": _PIPELINE,
    "Hoeffding tree": {"name": "tree.HoeffdingTreeClassifier"},
    "forest of 10": {"name": "forest.ARFClassifier", "parameters": {"n_models": 10}},
}


def workloads() -> Iterator[Workload]:
    """All workloads, with the components in the registry of the current build."""
    for name in learners.names():
        yield Workload(f"matrix/{name}", _matrix(learners.describe(name)))
        yield Workload(f"dicts/{name}", _dicts(learners.describe(name)))
    for name in ("LogisticRegression", "AROW", "SoftmaxRegression"):
        yield Workload(f"sparse/linear_model.{name}", _sparse(f"linear_model.{name}"))
    yield Workload("sparse/naive_bayes.GaussianNB", _sparse("naive_bayes.GaussianNB"))
    yield Workload("prequential/scaler | logistic", _prequential(_PIPELINE))
    yield Workload("prequential/GaussianNB", _prequential({"name": "naive_bayes.GaussianNB"}))
    yield Workload("train/mini-batches of 32", _mini_batches)
    for threads in (1, 2):
        yield Workload(f"forest/ARFClassifier of 10, n_threads={threads}", _forest(threads))
    for name in learners.of_role("drift_detector"):
        yield Workload(f"detect/{name}, many", _detector(name, together=True))
        yield Workload(f"detect/{name}, one by one", _detector(name, together=False))
    for name in learners.of_role("feature_drift_detector"):
        yield Workload(f"detect/{name}", _row_detector(name))
    for name in learners.of_role("metric"):
        yield Workload(f"metric/{name}", _metric(name, together=True))
    for name in ("metrics.Accuracy", "metrics.MAE", "metrics.ROCAUC"):
        yield Workload(f"metric/{name}, one by one", _metric(name, together=False))
    for name in learners.of_role("sketch"):
        yield Workload(f"sketch/{name}", _sketch(name))
    for name in learners.of_role("statistic"):
        yield Workload(f"statistic/{name}", _statistic(name))
    for name in learners.of_role("covariance_estimator"):
        yield Workload(f"covariance/{name}", _row_detector(name))
    for name in learners.of_role("policy_estimator"):
        yield Workload(f"policy/{name}", _policy_estimator(name))
    for name in learners.of_role("generator"):
        yield Workload(f"generate/{name}", _generator(name))
    for kind in ("csv", "jsonl", "libsvm", "vw"):
        yield Workload(f"read/{kind}", _reader(kind))
    for kind in ("csv", "vw"):
        yield Workload(f"file to model/{kind}", _file_to_model(kind))
    for verb in ("save", "load", "copy"):
        for title, description in _KEPT.items():
            yield Workload(f"{verb}/{title}", _kept(verb, description))


def chosen(only: list[str] | None) -> list[Workload]:
    """The workloads whose name contains one of the words; all without words."""
    return [each for each in workloads() if only is None or any(word in each.name for word in only)]
