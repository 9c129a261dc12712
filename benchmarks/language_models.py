"""Adapting frozen language models: rates, and what a router and a judge's threshold reach on simulated data."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import report
from millstream import llm

__all__ = ["Row", "page", "rows"]

#: Numbers of an embedding.
WIDTH = 384


@dataclass
class Row:
    """A line of the table."""

    work: str
    reached: str


def rows(*, quick: bool) -> Iterator[Row]:
    """Measure everything; a quick run has one turn and one seed."""
    turns = 1 if quick else 5
    random = np.random.default_rng(0)
    X = random.normal(size=(200 if quick else 1000, WIDTH))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = (X[:, :3].argmax(axis=1)).tolist()
    for method in ("rls", "nearest_mean", "logistic", "lda"):
        count = len(y) // 10 if method == "lda" else len(y)
        learn = functools.partial(_head, method, X, y, count)
        yield _rate(f'Head("{method}"), {WIDTH} numbers, predicted and learned', learn, turns)
    yield _rate("Router of 3 models, 8 features, decided and learned", lambda: _router(1000, 0)[2], turns)
    yield _rate("JudgeThreshold, decided and learned", lambda: _judge(1000, 0)[2], turns)
    yield from _simulated(1 if quick else 10)


def _rate(work: str, run: Callable[[], int], turns: int) -> Row:
    rates = []
    for _ in range(turns):
        started = time.process_time()
        count = run()
        rates.append(count / (time.process_time() - started))
    return Row(work, f"{report.rate(statistics.median(rates))} examples/s")


def _head(method: str, X: Any, y: list[int], count: int) -> int:
    head = llm.Head(method)
    for x, label in zip(X[:count], y, strict=False):
        head.step_one(x, label)
    return count


def _router(queries: int, seed: int) -> tuple[float, float, int]:
    """Three simulated models; the fraction of successes, the mean cost, and the number of queries."""
    random = np.random.default_rng(seed)
    costs, strengths, weaknesses = (0.0, 0.05, 0.3), (0.8, 1.2, 1.6), (3.0, 1.8, 0.4)
    router = llm.Router(dict(enumerate(costs)), budget=0.08, seed=seed)
    successes = 0.0
    for x in random.normal(size=(queries, 8)):
        decision = router.decide_one(x)
        hard = weaknesses[decision.action] * x[0] - strengths[decision.action]
        reward = float(random.random() < 1.0 / (1.0 + np.exp(hard)))
        successes += reward
        router.learn_one(decision.id, reward)
    return successes / queries, router.spent / router.decided, queries


def _judge(answers: int, seed: int) -> tuple[float, float, int]:
    """A simulated judge that grows lenient; the fractions of errors and of accepted answers, and their number."""
    random = np.random.default_rng(seed)
    judge = llm.JudgeThreshold(max_error=0.05)
    waiting: list[tuple[llm.Verdict, bool]] = []
    for now in range(answers):
        right = bool(random.random() < 0.8)
        score = random.beta(6.0, 2.0) if right else random.beta(3.0 + 2.0 * now / answers, 3.0)
        verdict = judge.decide_one(float(score))
        if verdict.accepted:
            waiting.append((verdict, right))
        if now % 100 == 99:
            for late, correct in waiting:
                judge.learn_one(late, correct)
            waiting = []
    return judge.error_rate, judge.accepted / judge.decided, answers


def _simulated(seeds: int) -> Iterator[Row]:
    found = np.array([_router(6000, seed)[:2] for seed in range(seeds)])
    yield Row(
        f"Router, simulated: 6,000 queries, budget 0.08, {seeds} seeds",
        f"success {found[:, 0].mean():.3f} ± {found[:, 0].std():.3f} at a cost of {found[:, 1].mean():.3f} "
        "(always one model: 0.59 at 0, 0.69 at 0.05, 0.83 at 0.3)",
    )
    found = np.array([_judge(20_000, seed)[:2] for seed in range(seeds)])
    yield Row(
        f"JudgeThreshold, simulated: 20,000 answers, the judge grows lenient, at most 5 % wrong, {seeds} seeds",
        f"{found[:, 0].mean():.2%} of the accepted answers wrong (largest {found[:, 0].max():.2%}), "
        f"{found[:, 1].mean():.0%} accepted",
    )


def page(where: str, found: list[Row]) -> str:
    """LANGUAGE_MODELS.md."""
    how = (
        "Rates are examples per second of CPU time of one thread, the median turn. Models, queries and scores are "
        "simulated: the last two lines show that the parts do what they promise, and nothing about real models."
    )
    parts = [
        "# Adapting language models",
        f"Written by `python -m benchmarks.run --only language_models --write`. {where}",
        how,
    ]
    lines = [[row.work, row.reached] for row in found]
    return "\n\n".join([*parts, report.table(["work", "reached"], lines)]) + "\n"
