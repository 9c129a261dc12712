"""The time of one explanation: `python -m benchmarks.run --only explanations`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import goals
from millstream import forest, linear_model, preprocessing, synth, tree

__all__ = ["page", "rows"]

#: Models with the goal in microseconds.
MODELS: dict[str, tuple[Callable[[], Any], float]] = {
    "scaler + logistic regression": (
        lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        5.0,
    ),
    "Hoeffding tree": (tree.HoeffdingTreeClassifier, 20.0),
    "random forest of 10": (lambda: forest.ARFClassifier(n_models=10, seed=1), 200.0),
}
STREAMS: dict[str, Callable[[], Any]] = {
    "RandomRBF, 10 features": lambda: synth.RandomRBF(seed=42, n_features=10),
    "Agrawal, 9 features": lambda: synth.Agrawal(classification_function=2, seed=42),
}
#: Examples that are learned before, and examples that are explained.
_LEARNED, _EXPLAINED = 10_000, 20
#: Explanations of the same example between two readings of the clock.
_REPEATS = 20


def rows(*, quick: bool) -> Iterator[goals.Row]:
    """Explain examples with a model that has not learned since, and after each learned example."""
    rounds = 10 if quick else 50
    for name, (build, goal) in MODELS.items():
        for title, stream in STREAMS.items():
            examples = list(stream().take(_LEARNED + _EXPLAINED))
            model = build()
            for x, y in examples[:_LEARNED]:
                model.learn_one(x, y)
            rest = examples[_LEARNED:]
            took = min(_seconds(model, rest) for _ in range(rounds)) * 1e6
            yield goals.Row(f"{name}, {title}", f"{took:,.1f} µs", f"{goal:g} µs", took <= goal)
            took = min(_seconds(model, rest, learn=True) for _ in range(rounds)) * 1e6
            yield goals.Row(f"{name}, {title}, after learning an example", f"{took:,.1f} µs", "–", None)


def _seconds(model: Any, examples: list[Any], *, learn: bool = False) -> float:
    """The processor time per explanation."""
    took = 0.0
    for x, y in examples:
        if learn:
            model.learn_one(x, y)
        start = time.process_time()
        if learn:
            model.explain_one(x)
        else:
            for _ in range(_REPEATS):
                model.explain_one(x)
        took += time.process_time() - start
    return took / len(examples) / (1 if learn else _REPEATS)


def page(where: str, found: list[goals.Row]) -> str:
    """The page of these rows."""
    how = (
        f"Each model has learned {_LEARNED:,} examples and explains {_EXPLAINED} others: the processor time of "
        "one call of `explain_one`, in the fastest round. Contributions of a linear model are sorted when they "
        "are read, which is not included."
    )
    return goals.page("Explanations", "python -m benchmarks.run --only explanations --write", where, how, found)
