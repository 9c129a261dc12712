"""Exported models: onnxruntime and C beside `predict_proba_many`, on the same rows in the same run."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import goals
from benchmarks.goals import Row
from millstream import export, forest, linear_model, preprocessing, tree

__all__ = ["page", "rows"]

#: Rows to predict, and features.
BATCH, FEATURES = 10_000, 10

#: A loop over rows, which shared code calls once.
LOOP = """
#include "model.c"
void many(const double *x, int n, double *p)
{
    for (int i = 0; i < n; i++) model_predict(x + %d * i, p + 2 * i);
}
"""


def _clusters(n: int, seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Points around twelve centres, of two classes."""
    centres = np.random.default_rng(0).normal(size=(12, FEATURES)) * 2
    random = np.random.default_rng(seed)
    own = random.integers(0, 12, n)
    return centres[own] + random.normal(size=(n, FEATURES)), own % 2 == 0


def _models() -> dict[str, Any]:
    return {
        "scaler + logistic regression": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        "Hoeffding tree": tree.HoeffdingTreeClassifier(),
        "forest of 10 trees": forest.ARFClassifier(n_models=10, seed=1),
    }


def _fastest(works: list[Callable[[], object]], turns: int) -> list[float]:
    """The least CPU time of each work; they take turns."""
    least = [np.inf] * len(works)
    for _ in range(turns):
        for place, work in enumerate(works):
            started = time.process_time()
            work()
            least[place] = min(least[place], time.process_time() - started)
    return [float(each) for each in least]


def _compiled(model: Any, folder: Path) -> Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]] | None:
    """The C export in a loop over rows; None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    export.c(model, folder / "model.c")
    (folder / "loop.c").write_text(LOOP % FEATURES)
    command = [
        compiler,
        "-std=c99",
        "-O2",
        "-shared",
        "-fPIC",
        str(folder / "loop.c"),
        "-o",
        str(folder / "m.so"),
        "-lm",
    ]
    subprocess.run(command, check=True)
    many = ctypes.CDLL(str(folder / "m.so")).many
    doubles = ctypes.POINTER(ctypes.c_double)

    def predict(X: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        out = np.empty((len(X), 2))
        many(X.ctypes.data_as(doubles), len(X), out.ctypes.data_as(doubles))
        return out

    return predict


def rows(*, quick: bool) -> Iterator[Row]:
    """All rows."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    X, y = _clusters(6_000 if quick else 60_000, 1)
    asked, _ = _clusters(BATCH, 2)
    asked[np.random.default_rng(3).random(asked.shape) < 0.03] = np.nan
    turns = 5 if quick else 15
    for name, model in _models().items():
        model.learn_many(X, y)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.onnx")
            export.onnx(model, path)
            session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
            in_c = _compiled(model, Path(folder))
            works: list[Callable[[], object]] = [
                lambda model=model: model.predict_proba_many(asked),  # type: ignore[misc]
                lambda session=session: session.run(None, {"numbers": asked}),  # type: ignore[misc]
            ]
            if in_c is not None:
                works.append(lambda in_c=in_c: in_c(asked))  # type: ignore[misc]
            seconds = [each / BATCH * 1e6 for each in _fastest(works, turns)]
            ours, theirs = seconds[:2]
            difference = np.abs(model.predict_proba_many(asked) - session.run(None, {"numbers": asked})[1]).max()
            yield Row(
                f"{name}, batch of {BATCH:,} rows in onnxruntime",
                f"{theirs:.2f} µs a row, {theirs / ours:.2f} × predict_proba_many (differs by {difference:.0e})",
                "2 ×",
                theirs <= 2 * ours,
            )
            if in_c is not None:
                found = seconds[2]
                reached = f"{found:.2f} µs a row, {found / theirs:.2f} × onnxruntime"
                yield Row("the same in C, gcc -O2", reached, "1 ×", found <= theirs)
            one = asked[:1].copy()
            calls = 200 if quick else 2000

            def ask(session: Any = session, one: Any = one, calls: int = calls) -> None:
                for _ in range(calls):
                    session.run(None, {"numbers": one})

            (single,) = (each / calls * 1e6 for each in _fastest([ask], 5))
            is_forest = "forest" in name
            met = single <= 60 if is_forest else None
            yield Row("the same, one row a call", f"{single:.0f} µs", "60 µs" if is_forest else "–", met)


def page(where: str, found: list[Row]) -> str:
    """EXPORT.md."""
    how = (
        "CPU time of one thread, the least of several turns that alternate between the two. The rows "
        "have 10 features, the models two classes; 3 % of the numbers to predict are missing."
    )
    return goals.page("Exported models", "python -m benchmarks.run --only export --write", where, how, found)
