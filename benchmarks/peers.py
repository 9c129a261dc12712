"""The peers' sides of the comparisons. Each is used in the fastest way that its documentation offers."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Outcome, Side
from benchmarks.streams import names

__all__ = [
    "IN_ORDER",
    "capymoa_loop",
    "has_java",
    "moa",
    "moa_evaluated",
    "moa_model_bytes",
    "partial_fit",
    "river",
    "sgd_classifier",
    "vw_cache",
    "vw_driver",
    "vw_lines",
]

Build = Callable[[], Any]
PACKAGES = ("numpy", "river", "scikit-learn", "capymoa", "vowpalwabbit", "padasip", "pandas", "polars", "pyarrow")


def versions() -> dict[str, str]:
    """The versions of the installed libraries."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    return found


def river(build: Build, rows: list[dict[str, float]], y: list[Any], name: str = "River") -> Side:
    """River's loop: `predict_one`, then `learn_one`, dict by dict."""

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            hits = 0
            for x, target in zip(rows, y, strict=True):
                hits += model.predict_one(x) == target
                model.learn_one(x, target)
            return Outcome(hits / len(y), model._raw_memory_usage)

        return run

    return Side(name, len(y), prepare)


def sgd_classifier(X: Any, y: Any, **settings: Any) -> Side:
    """scikit-learn's SGDClassifier learning alone, all rows in one call; they come scaled.

    By default as users call it: with a penalty, and shuffled, which costs it much of its time.
    """
    from sklearn.linear_model import SGDClassifier

    how = ", in order, no penalty" if settings else ""
    name = f"scikit-learn SGDClassifier, learning only{how}"
    return partial_fit(lambda: SGDClassifier(loss="log_loss", random_state=1, **settings), X, y, name)


def partial_fit(build: Build, X: Any, y: Any, name: str) -> Side:
    """A scikit-learn classifier that learns all rows in one call, without predicting them."""
    classes = np.unique(y)

    def prepare() -> Callable[[], Outcome]:
        model = build()

        def run() -> Outcome:
            model.partial_fit(X, y, classes=classes)
            return Outcome(memory=len(pickle.dumps(model)))

        return run

    return Side(name, len(y), prepare)


#: Options for the same update as ours, in order: without shuffling and without a penalty.
IN_ORDER = {"penalty": None, "learning_rate": "constant", "eta0": 0.01, "shuffle": False}


@cache
def has_java() -> bool:
    """Whether MOA can run on this machine."""
    try:
        import capymoa  # noqa: F401
    except Exception:
        return False
    return True


@cache
def _moa_rows(key: int) -> Any:
    """Rows as MOA objects in memory, so that the time includes neither a generator nor a reader."""
    import jpype
    from capymoa.stream import NumpyStream
    from com.yahoo.labs.samoa.instances import DenseInstance, Instances

    X, y = _KEPT[key]
    schema = NumpyStream(X[:100], y[:100], target_type="categorical").get_schema()
    header = schema.get_moa_header()
    table = np.column_stack([X, y.astype(float)])
    instances = Instances(header, len(table))
    doubles = jpype.JArray(jpype.JDouble)
    for row in table:
        instance = DenseInstance(1.0, doubles(row))
        instance.setDataset(header)
        instances.add(instance)
    return schema, instances


_KEPT: dict[int, tuple[Any, Any]] = {}


def moa_evaluated(learner: str, X: Any, y: Any, options: str = "", seed: int | None = None) -> Any:
    """MOA's evaluator after its own loop in Java, over rows in memory."""
    return _moa_run(learner, X, y, options, seed)()[1]


def _moa_run(learner: str, X: Any, y: Any, options: str, seed: int | None = None) -> Callable[[], tuple[Any, Any]]:
    import jpype
    from capymoa.evaluation import ClassificationEvaluator
    from moa.evaluation import EfficientEvaluationLoops
    from moa.streams import CachedInstancesStream

    key = id(X)
    _KEPT[key] = (X, y)
    schema, instances = _moa_rows(key)
    stream = CachedInstancesStream(instances)
    model = jpype.JClass(learner)()
    if options:
        model.getOptions().setViaCLIString(options)
    if seed is not None:
        model.setRandomSeed(seed)
    model.setModelContext(stream.getHeader())
    model.prepareForUse()
    evaluator = ClassificationEvaluator(schema=schema)

    def run() -> tuple[Any, Any]:
        EfficientEvaluationLoops.PrequentialEvaluation(
            stream, model, evaluator.moa_basic_evaluator, None, -1, 1000, False, False
        )
        return model, evaluator

    return run


def _java_bytes() -> int:
    """The used heap of the JVM after garbage collection."""
    import jpype

    runtime = jpype.JClass("java.lang.Runtime").getRuntime()
    for _ in range(3):
        jpype.JClass("java.lang.System").gc()
    return int(runtime.totalMemory() - runtime.freeMemory())


def moa(
    learner: str, X: Any, y: Any, rows: int, options: str = "", name: str = "MOA", weighed: bool = False
) -> Side:
    """MOA's own loop in Java over rows in memory, scored by its basic evaluator; `weighed` measures its memory."""
    X, y = X[:rows], y[:rows]
    held: list[int] = []

    def prepare() -> Callable[[], Outcome]:
        if weighed and not held:
            held.append(moa_model_bytes(learner, X, y))
        run = _moa_run(learner, X, y, options)

        def scored() -> Outcome:
            _, evaluator = run()
            return Outcome(evaluator.accuracy() / 100, held[0] if held else None)

        return scored

    return Side(name, len(y), prepare)


def moa_model_bytes(learner: str, X: Any, y: Any) -> int:
    """The memory of MOA's model after all rows: the decrease of the heap when it is released."""
    model, evaluator = _moa_run(learner, X, y, "")()
    del evaluator
    held = _java_bytes()
    del model
    return held - _java_bytes()


def capymoa_loop(learner: str, X: Any, y: Any, rows: int) -> Side:
    """CapyMOA's loop over a NumPy stream."""

    def prepare() -> Callable[[], Outcome]:
        from capymoa import classifier
        from capymoa.evaluation import prequential_evaluation
        from capymoa.stream import NumpyStream

        stream = NumpyStream(X[:rows], y[:rows], target_type="categorical")
        model = getattr(classifier, learner)(schema=stream.get_schema())

        def run() -> Outcome:
            result = prequential_evaluation(stream, model, window_size=rows, progress_bar=False)
            return Outcome(result.cumulative.accuracy() / 100)

        return run

    return Side("CapyMOA, NumPy stream", rows, prepare)


VW_OPTIONS = "--loss_function logistic --binary --quiet --no_stdin"


def vw_text(X: Any, y: Any) -> list[str]:
    """Lines of VW's text format."""
    keys = names(X.shape[1])
    return [
        f"{1 if target else -1} | " + " ".join(f"{key}:{value!r}" for key, value in zip(keys, row, strict=True))
        for row, target in zip(X.tolist(), y.tolist(), strict=True)
    ]


def vw_lines(X: Any, y: Any, rows: int) -> Side:
    """VW from Python: `learn` of a line of text, which also predicts it first."""
    lines: list[str] = []

    def prepare() -> Callable[[], Outcome]:
        from vowpalwabbit import Workspace

        if not lines:
            lines.extend(vw_text(X[:rows], y[:rows]))
        model = Workspace(VW_OPTIONS)

        def run() -> Outcome:
            for line in lines:
                model.learn(line)
            return Outcome(1 - model.get_sum_loss() / len(lines))

        return run

    return Side("VW, learn(line)", rows, prepare)


def vw_driver(X: Any, y: Any, rows: int) -> Side:
    """VW's native driver on a text file; the time includes reading the text, as always with VW."""
    path: list[Path] = []

    def prepare() -> Callable[[], Outcome]:
        from vowpalwabbit import Workspace

        if not path:
            folder = Path(tempfile.mkdtemp(prefix="millstream-bench-"))
            path.append(folder / "rows.vw")
            path[0].write_text("\n".join(vw_text(X[:rows], y[:rows])) + "\n")

        def run() -> Outcome:
            model = Workspace(f"-d {path[0]} {VW_OPTIONS}")
            return Outcome(1 - model.get_sum_loss() / rows)

        return run

    return Side("VW, native driver on text", rows, prepare)


def vw_file(path: Path, rows: int, options: str, name: str) -> Side:
    """VW's native driver on a file of words; it also scores each line before learning it."""

    def prepare() -> Callable[[], Outcome]:
        from vowpalwabbit import Workspace

        def run() -> Outcome:
            model = Workspace(f"-d {path} -b 22 --loss_function logistic --quiet {options}")
            model.finish()
            return Outcome()

        return run

    return Side(name, rows, prepare)


def vw_cache(path: Path, rows: int, options: str, name: str) -> Side:
    """VW on its own cache of a file of words, whose examples are already parsed and hashed.

    The text file is empty, so that VW must read the cache, which was created from the text before.
    """
    cache: list[Path] = []

    def prepare() -> Callable[[], Outcome]:
        from vowpalwabbit import Workspace

        common = "-b 22 --loss_function logistic --quiet"
        if not cache:
            folder = Path(tempfile.mkdtemp(prefix="millstream-bench-"))
            (folder / "empty.vw").touch()
            cache.append(folder / "words.cache")
            Workspace(f"-d {path} --cache_file {cache[0]} -k {common}").finish()

        def run() -> Outcome:
            model = Workspace(f"-d {cache[0].parent / 'empty.vw'} --cache_file {cache[0]} {common} {options}")
            learned = int(model.get_weighted_examples())
            model.finish()
            if learned != rows:
                raise RuntimeError(f"VW must learn {rows} examples of its cache, got {learned}")
            return Outcome()

        return run

    return Side(name, rows, prepare)
