"""Learning without forgetting: rates and accuracies on digits whose classes come in pairs, against peers.

Peers that are not installed are compared by the figures of an earlier measurement on the same rows and network,
marked as such: PyTorch 2.5.1, deep-river 0.3.4, Avalanche 0.6.0 and CapyMOA 0.15.1 on the same kind of machine
(two cores, single runs, load 2 to 8).
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import planted_anomalies, report
from millstream import anomaly, compose, continual, datasets, evaluate, htm, neural_network, optim, stream

__all__ = ["Row", "page", "rows"]

#: Examples per second of peers in the earlier measurement.
EARLIER = {"torch": 1920.0, "deep_river": 1180.0, "avalanche": 870.0, "capymoa": 2010.0, "capymoa_32": 63_800.0}


@dataclass
class Row:
    """A line of the table."""

    work: str
    reached: str
    goal: str
    met: bool | None


def rows(*, quick: bool) -> Iterator[Row]:
    """Measure everything; a quick run has one seed and one turn."""
    turns = 1 if quick else 5
    X, y = _digits()
    yield from _discriminants(X, y, turns)
    yield from _networks(X, y, turns)
    yield from _accuracies(1 if quick else 5)
    yield from _temporal_memory(turns)
    yield from _planted(1 if quick else 5)
    yield from _numenta(1 if quick else 5)


def _digits() -> tuple[Any, Any]:
    chunk = next(iter(datasets.Digits().chunks()))
    return np.column_stack([column.to_numpy() for column in chunk.X.columns]) / 16.0, np.asarray(chunk.y)


def _rate(work: Callable[[], int], turns: int) -> float:
    """Examples per second of CPU time in the median turn."""
    rates = []
    for _ in range(turns):
        started = time.process_time()
        count = work()
        rates.append(count / (time.process_time() - started))
    return statistics.median(rates)


def _installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _against(peer: str, theirs: float | None, earlier: float) -> tuple[float, str]:
    """The rate of a peer, and its name with how it was measured."""
    if theirs is None:
        return earlier, f"{peer} (not installed: {earlier:,.0f}/s in an earlier measurement)"
    return theirs, f"{peer} ({theirs:,.0f}/s)"


def _ratio(work: str, ours: float, against: tuple[float, str], goal: float) -> Row:
    theirs, name = against
    ratio = ours / theirs
    return Row(work, f"{report.rate(ours)} examples/s, {ratio:.3g} × {name}", f"{goal:g} ×", ratio >= goal)


def _discriminants(X: Any, y: Any, turns: int) -> Iterator[Row]:
    dicts = [dict(enumerate(row)) for row in X.tolist()]
    labels = y.tolist()

    def one_by_one() -> int:
        model = continual.StreamingLDA()
        for x, label in zip(dicts, labels, strict=True):
            model.learn_one(x, label)
        return len(labels)

    def predicting() -> int:
        model = continual.StreamingLDA()
        for x, label in zip(dicts, labels, strict=True):
            model.step_one(x, label)
        return len(labels)

    def many() -> int:
        model = continual.StreamingLDA()
        for start in range(0, len(y), 32):
            model.learn_many(X[start : start + 32], y[start : start + 32])
        model.predict_many(X)
        return len(y)

    single, batched = _capymoa(X, y, 1), _capymoa(X, y, 32)
    predicted = _capymoa(X, y, 1, predicting=True)
    work = "StreamingLDA, 64 features, 10 classes"
    single_against = _against("CapyMOA's SLDA, batch 1", single, EARLIER["capymoa"])
    yield _ratio(f"{work}, one row a call, learned", _rate(one_by_one, turns), single_against, 10.0)
    name = "CapyMOA's SLDA, batch 1" if predicted is None else "CapyMOA's SLDA, batch 1, predicted and learned"
    against = _against(name, predicted, EARLIER["capymoa"])
    yield _ratio(f"{work}, one row a call, predicted and learned", _rate(predicting, turns), against, 10.0)
    against = _against("CapyMOA's SLDA, batch 32", batched, EARLIER["capymoa_32"])
    yield _ratio(f"{work}, 32 rows a call, then all predicted", _rate(many, turns), against, 3.0)


def _capymoa(X: Any, y: Any, batch: int, *, predicting: bool = False) -> float | None:
    """Examples per second of CapyMOA's streaming LDA in batches; None if it or PyTorch is not installed."""
    if not (_installed("capymoa") and _installed("torch")):
        return None
    import torch
    from capymoa.ocl.strategy import SLDA
    from capymoa.stream import Schema

    schema = Schema.from_custom(
        features=[f"x{place}" for place in range(X.shape[1])] + ["y"],
        target="y",
        categories={"y": [str(label) for label in range(10)]},
        name="digits",
    )
    rows, labels = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
    model = SLDA(schema)
    started = time.process_time()
    for start in range(0, len(labels), batch):
        if predicting:
            model.batch_predict(rows[start : start + batch])
        model.batch_train(rows[start : start + batch], labels[start : start + batch])
    return len(labels) / (time.process_time() - started)


def _networks(X: Any, y: Any, turns: int) -> Iterator[Row]:
    dicts = [dict(enumerate(row)) for row in X.tolist()]
    labels = y.tolist()

    def network() -> Any:
        return neural_network.MLPClassifier(64, optimizer=optim.SGD(0.05))

    def many(model: Any) -> int:
        for _ in range(3):
            model.learn_many(X, y)
        return 3 * len(y)

    def one_by_one() -> int:
        model = network()
        for x, label in zip(dicts, labels, strict=True):
            model.learn_one(x, label)
        return len(labels)

    fast = _rate(lambda: many(network()), turns)
    work = "MLPClassifier 64-64-10, SGD, one example a step"
    yield _ratio(f"{work}, a matrix", fast, _against("PyTorch, batch 1", _torch(X, y), EARLIER["torch"]), 30.0)
    against = _against("deep-river, learn_one", _deep_river(dicts, labels), EARLIER["deep_river"])
    yield _ratio(f"{work}, a matrix", fast, against, 50.0)
    yield _ratio(f"{work}, a dict a call", _rate(one_by_one, turns), against, 50.0)
    replayed = _rate(
        lambda: many(continual.Replay(network(), continual.ClassBalanced(100), n_replay=10)), max(1, turns - 2)
    )
    against = _against("Avalanche's Replay, minibatch 1", _avalanche(X, y), EARLIER["avalanche"])
    yield _ratio("Replay over it, 10 rows drawn a step from 100", replayed, against, 30.0)


def _torch(X: Any, y: Any) -> float | None:
    if not _installed("torch"):
        return None
    import torch

    torch.set_num_threads(1)
    module = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimiser = torch.optim.SGD(module.parameters(), lr=0.05)
    rows, labels = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
    started = time.process_time()
    for index in range(len(labels)):
        loss = torch.nn.functional.cross_entropy(module(rows[index : index + 1]), labels[index : index + 1])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return len(labels) / (time.process_time() - started)


def _deep_river(dicts: list[dict[int, float]], labels: list[int]) -> float | None:
    if not (_installed("torch") and _installed("deep_river")):
        return None
    import torch
    from deep_river.classification import Classifier

    torch.set_num_threads(1)
    module = torch.nn.Sequential(
        torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10), torch.nn.Softmax(dim=-1)
    )
    model = Classifier(module, loss_fn="cross_entropy", optimizer_fn="sgd", lr=0.05)
    count = 400
    started = time.process_time()
    for x, label in zip(dicts[:count], labels, strict=False):
        model.learn_one({str(name): value for name, value in x.items()}, label)
    return count / (time.process_time() - started)


def _avalanche(X: Any, y: Any) -> float | None:
    if not (_installed("torch") and _installed("avalanche")):
        return None
    import torch
    from avalanche.benchmarks.utils import as_classification_dataset
    from avalanche.training.supervised import Replay

    torch.set_num_threads(1)
    module = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    strategy = Replay(
        model=module,
        optimizer=torch.optim.SGD(module.parameters(), lr=0.05),
        criterion=torch.nn.CrossEntropyLoss(),
        mem_size=100,
        train_mb_size=1,
        train_epochs=1,
    )
    from avalanche.benchmarks import benchmark_from_datasets

    def part(low: int) -> Any:
        chosen = (y >= low) & (y < low + 2)
        data = torch.utils.data.TensorDataset(
            torch.tensor(X[chosen], dtype=torch.float32), torch.tensor(y[chosen])
        )
        data.targets = torch.tensor(y[chosen]).tolist()
        return as_classification_dataset(data)

    scenario = benchmark_from_datasets(train=[part(low) for low in range(0, 10, 2)])
    started = time.process_time()
    for experience in scenario.train_stream:
        strategy.train(experience)
    return len(y) / (time.process_time() - started)


def _accuracies(seeds: int) -> Iterator[Row]:
    X, y = _digits()
    goals = {"StreamingLDA": 0.94, "Replay, class-balanced buffer of 100": 0.88}
    for name, make in _methods().items():
        results = []
        for seed in range(seeds):
            tasks = stream.tasks((X, y), n_tasks=5, seed=seed)
            results.append(evaluate.continual(make(seed), tasks))
        final = np.array([result.final_accuracy for result in results])
        words = ", ".join(
            f"{what} {np.mean([result.metrics[what] for result in results]):.3f}"
            for what in ("anytime accuracy", "forgetting")
        )
        goal = goals.get(name)
        yield Row(
            f"digits, 5 tasks of 2 classes, {seeds} seeds: {name}",
            f"final accuracy {final.mean():.3f} ± {final.std():.3f}, {words}",
            "–" if goal is None else f"{goal:g}",
            None if goal is None else bool(final.mean() >= goal),
        )


def _methods() -> dict[str, Callable[[int], Any]]:
    def network(seed: int) -> Any:
        return neural_network.MLPClassifier(64, optimizer=optim.SGD(0.05), seed=seed)

    def gentle(seed: int) -> Any:
        # Replay takes eleven steps for each example.
        return neural_network.MLPClassifier(64, optimizer=optim.SGD(0.02), seed=seed)

    return {
        "MLPClassifier alone": network,
        "EWC, strength 100": lambda seed: continual.EWC(network(seed), strength=100.0),
        "EWC, strength 1,000": lambda seed: continual.EWC(network(seed), strength=1000.0),
        "EWC, strength 100,000": lambda seed: continual.EWC(network(seed), strength=100_000.0),
        "SI": lambda seed: continual.SI(network(seed)),
        "LwF": lambda seed: continual.LwF(network(seed)),
        "A-GEM, 100 rows": lambda seed: continual.AGEM(network(seed), continual.Reservoir(100, seed)),
        "Replay, reservoir of 100": lambda seed: continual.Replay(gentle(seed), continual.Reservoir(100, seed)),
        "Replay, class-balanced buffer of 100": lambda seed: continual.Replay(
            gentle(seed), continual.ClassBalanced(100, seed)
        ),
        "DER++, class-balanced buffer of 100": lambda seed: continual.DERPlusPlus(
            network(seed), continual.ClassBalanced(100, seed)
        ),
        "GDumb, class-balanced buffer of 100": lambda seed: continual.GDumb(
            network(seed), continual.ClassBalanced(100, seed), passes=60
        ),
        "NearestClassMean": lambda seed: continual.NearestClassMean(),
        "StreamingLDA": lambda seed: continual.StreamingLDA(),
    }


def _temporal_memory(turns: int) -> Iterator[Row]:
    """A daily pattern with noise, every five minutes: the rate after 10,000 rows, when the memory is large."""
    random = np.random.default_rng(1)
    times = 300.0 * np.arange(12_000)
    values = 50 + 30 * np.sin(times / 86_400 * 2 * np.pi) + random.normal(scale=4.0, size=len(times))
    X = np.column_stack([times, values])
    model = htm.HTMAnomaly(0, limits={1: (0, 100)})
    model.learn_many(X[:10_000])

    def learn() -> int:
        copied = model.copy()
        started = time.process_time()
        copied.learn_many(X[10_000:])
        spent.append(time.process_time() - started)
        return 2000

    spent: list[float] = []
    for _ in range(turns):
        learn()
    rate = 2000 / statistics.median(spent)
    yield Row(
        f"HTMAnomaly, 2,048 columns of 32 cells, {model.n_segments:,} segments, learned",
        f"{report.rate(rate)} rows/s",
        "1,000 rows/s",
        rate >= 1000,
    )


def _planted(seeds: int) -> Iterator[Row]:
    """Series with planted anomalies, scored as the Numenta anomaly benchmark scores."""
    detectors: dict[str, Callable[[evaluate.NABSeries], Any]] = {
        "HTMAnomaly": planted_anomalies.detector,
        "GaussianScorer": lambda series: compose.Select("value") | anomaly.GaussianScorer(),
    }
    reached: dict[str, list[float]] = {name: [] for name in detectors}
    for seed in range(1, seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            planted_anomalies.write(Path(folder), seed)
            for name, build in detectors.items():
                reached[name].append(evaluate.nab(build, folder).scores["standard"])
    for name, scores in reached.items():
        words = f"{statistics.mean(scores):.1f} ± {statistics.pstdev(scores):.1f}"
        yield Row(
            f"12 series with 24 planted anomalies, scored as in NAB, {seeds} draws: {name}", words, "–", None
        )


def _numenta(seeds: int) -> Iterator[Row]:
    """The Numenta anomaly benchmark, if MILLSTREAM_NAB names its folder."""
    work = f"Numenta anomaly benchmark, standard profile, {seeds} seeds: HTMAnomaly"
    folder = os.environ.get("MILLSTREAM_NAB")
    if not folder:
        yield Row(work, "not measured: MILLSTREAM_NAB does not name a copy of the benchmark", "55", None)
        return
    reached = [
        evaluate.nab(partial(planted_anomalies.detector, seed=seed), folder).scores["standard"]
        for seed in range(1, seeds + 1)
    ]
    mean, spread = statistics.mean(reached), statistics.pstdev(reached)
    yield Row(work, f"{mean:.1f} ± {spread:.1f} (published: 64.6 for Numenta TM)", "55", mean >= 55)


def page(where: str, found: list[Row]) -> str:
    """CONTINUAL.md."""
    words = {True: "yes", False: "**no**", None: "–"}
    lines = [[row.work, row.reached, row.goal, words[row.met]] for row in found]
    how = (
        "Rates are examples per second of CPU time of one thread, the median turn, on scikit-learn's digits "
        "divided by 16. Accuracies are means over tasks after the last one, without a task id, one pass, with a "
        "fifth of the rows of each task held out. Settings were not tuned for each method. Peers that are not "
        "installed are compared by an earlier measurement on the same rows and network on another day, which says "
        "less than a common run."
    )
    parts = [
        "# Continual learning",
        f"Written by `python -m benchmarks.run --only continual --write`. {where}",
        how,
    ]
    return "\n\n".join([*parts, report.table(["work", "reached", "goal", "met"], lines)]) + "\n"
