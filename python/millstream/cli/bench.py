"""`millstream bench`: measure the speed of learning on synthetic rows, and that of River if it is installed."""

from __future__ import annotations

import importlib.util
import itertools
import time
from argparse import Namespace
from typing import Any

from millstream import notation
from millstream.cli import show
from millstream.cli.options import JSON, OK, Command, Option, positive
from millstream.roles import LEARNERS, REGRESSOR

__all__ = ["COMMAND"]

_MODELS = (
    "StandardScaler | LogisticRegression",
    "GaussianNB",
    "StandardScaler | SoftmaxRegression",
    "StandardScaler | LinearRegression",
)

#: Number of rows for River, which take about a second; its rate does not depend on their number.
_RIVER_ROWS = 5_000


def main(given: Namespace) -> int:
    """Run the command."""
    from millstream import evaluate

    X, classes, numbers = _rows(given.rows, given.features)
    measured = []
    for text in given.model or _MODELS:
        model = notation.parse(text, role=LEARNERS)
        y = numbers if model.role is REGRESSOR else classes
        result = max(
            (evaluate.prequential(model.clone(), (X, y), progress=False) for _ in range(given.repeat)),
            key=lambda each: each.throughput,
        )
        rates = {"model": text, "rows_per_second": result.throughput, "metrics": result.values}
        river = None if given.no_river else _river(text)
        if river is not None:
            rates["river_rows_per_second"] = _rate_of_river(river, X, y)
        measured.append(rates)
    if given.json:
        show.say(show.as_json({"rows": given.rows, "features": given.features, "models": measured}))
        return OK
    show.say(f"predict, score and learn row by row: {given.rows:,} rows of {given.features} numbers\n")
    show.say(_table(measured))
    return OK


def _rows(rows: int, features: int) -> tuple[Any, Any, Any]:
    import numpy as np

    random = np.random.default_rng(1)
    X = random.normal(size=(rows, features))
    scores = X @ random.normal(size=features) + random.normal(size=rows)
    return X, scores > 0, scores


def _table(measured: list[dict[str, Any]]) -> str:
    beside = any("river_rows_per_second" in each for each in measured)
    rows = []
    for each in measured:
        name, value = next(iter(each["metrics"].items()))
        row = [each["model"], f"{each['rows_per_second']:,.0f}", f"{name} {show.number(value)}"]
        if beside:
            rate = each.get("river_rows_per_second")
            row += [f"{rate:,.0f}", f"{each['rows_per_second'] / rate:,.0f} ×"] if rate else ["–", "–"]
        rows.append(row)
    return show.table(["", "rows/s", "", *(["River, rows/s", "faster"] if beside else [])], rows)


def _river(text: str) -> Any:
    """The corresponding model of River, if there is one and River is installed."""
    if importlib.util.find_spec("river") is None:
        return None
    linear_model, naive_bayes, preprocessing = (
        importlib.import_module(f"river.{name}") for name in ("linear_model", "naive_bayes", "preprocessing")
    )

    return {
        _MODELS[0]: lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        _MODELS[1]: lambda: naive_bayes.GaussianNB(),
        _MODELS[2]: lambda: preprocessing.StandardScaler() | linear_model.SoftmaxRegression(),
        _MODELS[3]: lambda: preprocessing.StandardScaler() | linear_model.LinearRegression(),
    }.get(text, lambda: None)()


def _rate_of_river(model: Any, X: Any, y: Any) -> float:
    metrics = importlib.import_module("river.metrics")
    metric = metrics.MAE() if y.dtype.kind == "f" else metrics.Accuracy()
    rows = [dict(enumerate(row)) for row in X[:_RIVER_ROWS].tolist()]
    begun = time.perf_counter()
    for x, target in zip(rows, itertools.islice(y.tolist(), len(rows)), strict=True):
        metric.update(target, model.predict_one(x))
        model.learn_one(x, target)
    return len(rows) / (time.perf_counter() - begun)


COMMAND = Command(
    "bench",
    "measure the speed of learning on this machine",
    "Synthetic rows of numbers in memory are predicted, scored and learned one by one. If River is installed,\n"
    "its corresponding models are measured too.",
    (
        Option(("--model", "-m"), "model to measure; repeatable", value="MODEL", many=True, complete="part"),
        Option(("--rows", "-n"), "number of rows", value="ROWS", kind=positive, default=200_000),
        Option(("--features",), "number of features", value="N", kind=positive, default=10),
        Option(("--repeat",), "number of runs, of which the fastest counts", value="N", kind=positive, default=3),
        Option(("--no-river",), "do not measure River"),
        JSON,
    ),
    (("the default models", "bench"), ("one model", 'bench -m "MinMaxScaler | GaussianNB" --features 50')),
    main,
)
