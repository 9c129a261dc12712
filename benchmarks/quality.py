"""Quality compared with peers: the prequential loss of untuned linear learners on the same streams.

Every example is predicted before it is learned. All parameters are defaults. Each library is configured as its own
guide recommends, which for River, scikit-learn and some of ours means a scaler in front. All receive the same
features: numbers unchanged, nominal values as an indicator for each value, missing values omitted. Flights is a
prefix of the year; two of the generated streams drift.

scikit-learn learns one row at a time but predicts ten rows before learning them, since its calls cost more than
its arithmetic; it receives all nominal values in advance. VW runs on a text file, as its own command would. The
learners of VW are its default, `--coin` and `--ftrl`; those of the others are all of their linear learners with
the output that the loss needs: probabilities for the log loss, numbers for the squared loss. River's
`LogisticRegression(optimizer=AdaGrad())` would give the same figures as ours, as tests verify.
"""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from millstream import datasets, linear_model, optim, preprocessing, synth

__all__ = ["Quality", "Scales", "qualities", "scales"]

Rows = list[dict[str, Any]]


@dataclass
class Quality:
    """Losses on one stream, by library and learner."""

    stream: str
    loss: str
    rows: int
    losses: dict[str, dict[str, float]]

    def best(self, *libraries: str) -> tuple[float, str, str]:
        """The smallest loss, with its library and learner."""
        return min(
            (loss, library, learner) for library in libraries for learner, loss in self.losses[library].items()
        )


@dataclass
class Scales:
    """The log loss of `optimizer="adaptive"` and of VW's default: as the stream is, and with every number in
    another unit."""

    stream: str
    ours: tuple[float, float]
    theirs: tuple[float, float]


@dataclass
class _Task:
    stream: str
    x: Rows
    y: list[Any]
    numbers: bool = False

    @property
    def loss(self) -> str:
        return "squared error" if self.numbers else "log loss"

    def scored(self, predicted: Any) -> float:
        """The mean loss of predictions: probabilities of the class True, or numbers."""
        predicted, truth = np.asarray(predicted, float), np.asarray(self.y, float)
        if self.numbers:
            return float(np.mean((predicted - truth) ** 2))
        right = np.where(truth > 0, predicted, 1 - predicted)
        return float(-np.mean(np.log(np.clip(right, 1e-15, 1.0))))


def _taken(name: str, stream: Any, rows: int, numbers: bool = False) -> _Task:
    pairs = [({str(key): value for key, value in x.items()}, y) for x, y in stream.take(rows)]
    made = float if numbers else bool
    return _Task(name, [x for x, _ in pairs], [made(y) for _, y in pairs], numbers)


def _tasks(rows: int) -> Iterator[_Task]:
    yield _taken("Flights", datasets.Flights(), rows)
    before, after = (synth.SEA(variant=variant, noise=0.1, seed=variant + 1) for variant in (0, 3))
    drifting = synth.Drift(before, after, position=rows // 2, width=1)
    yield _taken("SEA, abrupt drift", drifting, rows)
    yield _taken("Agrawal", synth.Agrawal(classification_function=2, perturbation=0.05), rows)
    rotating = synth.Hyperplane(n_drift_features=5, mag_change=0.001)
    yield _taken("Hyperplane, slow drift", rotating, rows)
    yield _taken("RandomRBF", synth.RandomRBF(), rows)
    yield _taken("Friedman", synth.Friedman(), rows, numbers=True)


# ---------------------------------------------------------------------------------------------- ours


def _ours(task: _Task) -> dict[str, float]:
    scaler = preprocessing.StandardScaler
    learners: dict[str, Any]
    if task.numbers:
        learners = {
            "StandardScaler ∣ LinearRegression": scaler() | linear_model.LinearRegression(),
            'LinearRegression(optimizer="adaptive")': linear_model.LinearRegression(optimizer="adaptive"),
            "LinearRegression(optimizer=CoinBetting())": linear_model.LinearRegression(optim.CoinBetting()),
            "RLS": linear_model.RLS(),
        }
    else:
        logistic = linear_model.LogisticRegression
        learners = {
            "StandardScaler ∣ LogisticRegression": scaler() | logistic(),
            "StandardScaler ∣ LogisticRegression(optimizer=AdaGrad())": scaler() | logistic(optim.AdaGrad()),
            'LogisticRegression(optimizer="adaptive")': logistic(optimizer="adaptive"),
            'StandardScaler ∣ LogisticRegression(optimizer="adaptive")': scaler() | logistic(optimizer="adaptive"),
            "StandardScaler ∣ LogisticRegression(optimizer=CoinBetting())": scaler()
            | logistic(optim.CoinBetting()),
        }
        if task.stream != "Flights":
            # A full matrix over all flight numbers would take minutes.
            newton = logistic(optim.OnlineNewtonStep())
            learners["StandardScaler ∣ LogisticRegression(optimizer=OnlineNewtonStep())"] = scaler() | newton
    return {name: task.scored(_looped(model, task)) for name, model in learners.items()}


def _looped(model: Any, task: _Task) -> list[float]:
    """Predict, then learn, row by row; millstream and River have the same verbs."""
    predicted = []
    for x, y in zip(task.x, task.y, strict=True):
        predicted.append(model.predict_one(x) if task.numbers else model.predict_proba_one(x).get(True, 0.5))
        model.learn_one(x, y)
    return predicted


# --------------------------------------------------------------------------------------------- peers


def _missing(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _river(task: _Task) -> dict[str, float]:
    import numbers

    from river import compose, linear_model, preprocessing

    def piped(model: Any) -> Any:
        scaled = compose.SelectType(numbers.Number) | preprocessing.StandardScaler()
        encoded = compose.SelectType(str) | preprocessing.OneHotEncoder()
        return (scaled + encoded) | model

    whole = [{key: value for key, value in x.items() if not _missing(value)} for x in task.x]
    seen = _Task(task.stream, whole, task.y, task.numbers)
    learners = [linear_model.LogisticRegression()]
    if task.numbers:
        learners = [
            linear_model.LinearRegression(),
            linear_model.BayesianLinearRegression(),
            linear_model.PARegressor(),
        ]
    return {
        f"StandardScaler ∣ {type(model).__name__}": task.scored(_looped(piped(model), seen)) for model in learners
    }


def _sklearn(task: _Task, ahead: int = 10) -> dict[str, float]:
    from scipy import sparse
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import PassiveAggressiveRegressor, SGDClassifier, SGDRegressor
    from sklearn.preprocessing import StandardScaler

    keys = [key for key, value in task.x[0].items() if not isinstance(value, str)]
    X = np.array([[x[key] for key in keys] for x in task.x])
    values = [{key: value for key, value in x.items() if isinstance(value, str)} for x in task.x]
    nominal = DictVectorizer().fit_transform(values) if values[0] else None
    learners: list[Any] = [SGDClassifier(loss="log_loss", random_state=1)]
    if task.numbers:
        learners = [SGDRegressor(random_state=1), PassiveAggressiveRegressor(random_state=1)]
    losses = {}
    # Of a column that was missing so far, and of a learner that has a new name.
    warnings.filterwarnings("ignore", module="sklearn")
    for model in learners:
        scaler, predicted = StandardScaler(), np.empty(len(X))
        for start in range(0, len(X), ahead):
            part = slice(start, start + ahead)
            scaler.partial_fit(X[part])
            rows: Any = np.nan_to_num(scaler.transform(X[part]))
            if nominal is not None:
                rows = sparse.hstack([sparse.csr_matrix(rows), nominal[part]], format="csr")
            y = np.array(task.y[part])
            if start == 0:
                predicted[part] = 0.0 if task.numbers else 0.5
            else:
                predicted[part] = model.predict(rows) if task.numbers else model.predict_proba(rows)[:, 1]
            if task.numbers:
                model.partial_fit(rows, y)
            else:
                model.partial_fit(rows, y, classes=[False, True])
        losses[f"StandardScaler ∣ {type(model).__name__}"] = task.scored(predicted)
    return losses


def _vw_lines(task: _Task, units: dict[str, float]) -> Iterator[str]:
    for x, y in zip(task.x, task.y, strict=True):
        features = []
        for key, value in x.items():
            if isinstance(value, str):
                features.append(f"{key}={value.replace(' ', '_').replace(':', '_').replace('|', '_')}")
            elif not _missing(value):
                features.append(f"{key}:{value * units.get(key, 1.0)!r}")
        label = y if task.numbers else (1 if y else -1)
        yield f"{label} | {' '.join(features)}\n"


def _vw(task: _Task, options: str = "", units: dict[str, float] | None = None) -> float:
    from vowpalwabbit import Workspace

    loss = "squared" if task.numbers else "logistic"
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        data, out = Path(folder) / "data.vw", Path(folder) / "predictions"
        data.write_text("".join(_vw_lines(task, units or {})))
        Workspace(f"--quiet -d {data} -p {out} --loss_function {loss} {options}").finish()
        predicted = np.array([float(line.split()[0]) for line in out.read_text().splitlines()])
    return task.scored(predicted if task.numbers else 1 / (1 + np.exp(-predicted)))


# ------------------------------------------------------------------------------------------- results


def qualities(size: float = 1.0) -> Iterator[Quality]:
    """Flights and five generated streams."""
    for task in _tasks(int(20_000 * size)):
        losses = {
            "millstream": _ours(task),
            "River": _river(task),
            "scikit-learn": _sklearn(task),
            "VW": {f"vw {options}".strip(): _vw(task, options) for options in ("", "--coin", "--ftrl")},
        }
        yield Quality(task.stream, task.loss, len(task.y), losses)


def scales(size: float = 1.0) -> Iterator[Scales]:
    """The binary streams, unchanged and with numbers rescaled by factors from 1e-6 to 1e6."""
    for task in _tasks(int(20_000 * size)):
        if task.numbers:
            continue
        rng = np.random.default_rng(1)
        keys = [key for key, value in task.x[0].items() if not isinstance(value, str)]
        units = {key: 10.0 ** int(rng.integers(-6, 7)) for key in keys}
        rescaled = [
            {key: value * units[key] if key in units else value for key, value in x.items()} for x in task.x
        ]
        ours = []
        for x in (task.x, rescaled):
            model = linear_model.LogisticRegression(optimizer="adaptive")
            ours.append(task.scored(_looped(model, _Task(task.stream, x, task.y))))
        yield Scales(task.stream, (ours[0], ours[1]), (_vw(task), _vw(task, units=units)))
