"""Off-policy estimators beside Open Bandit Pipeline, and reductions to binary learners beside Vowpal Wabbit.

Sides take turns in one run, and the minimum of each counts. Open Bandit Pipeline needs an old Python; where it
cannot be imported, the same formulas in NumPy take its place, without its checks of the arguments, which makes
them faster.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from millstream import cost_sensitive, linear_model, multiclass, policy_evaluation, stream

__all__ = ["rows"]

TURNS = 7


#: A row of the page: work, peer, reached, goal, met.
Row = dict[str, Any]


def rows(size: float = 1.0) -> Iterator[Row]:
    """Measure each work; `size` shrinks the data."""
    yield estimators(max(1000, int(10_000 * size)))
    yield ten_classes(max(1000, int(100_000 * size)))
    yield costs(max(1000, int(100_000 * size)))
    yield costs_from_text(max(1000, int(100_000 * size)))


def _in_turns(*sides: Callable[[], object], turns: int = TURNS) -> list[float]:
    """The least CPU seconds of each side."""
    least = [float("inf")] * len(sides)
    for _ in range(turns):
        for place, side in enumerate(sides):
            start = time.process_time()
            side()
            least[place] = min(least[place], time.process_time() - start)
    return least


def _log(n: int) -> dict[str, Any]:
    random = np.random.default_rng(18)
    target = random.dirichlet(np.ones(10), n)
    actions = random.integers(0, 10, n)
    return {
        "reward": (random.random(n) < 0.5).astype(np.float64),
        "action": actions,
        "probability": np.full(n, 0.1),
        "target": target,
        "model": random.random((n, 10)),
    }


def estimators(n: int) -> Row:
    """The seven estimators of Open Bandit Pipeline, from the same arrays."""
    log = _log(n)
    taken = np.arange(n), log["action"]
    kinds = ["IPS", "SNIPS", "DM", "DR", "SNDR", "SwitchDR", "DRos"]
    found: dict[str, float] = {}

    def ours() -> None:
        chances, prediction = log["target"][taken], log["model"][taken]
        value = np.einsum("ij,ij->i", log["target"], log["model"])
        for kind in kinds:
            estimator = getattr(policy_evaluation, kind)()
            estimator.update_many(log["reward"], log["probability"], chances, prediction, value)
            found[kind] = estimator.value

    name, peer = _obp(log)
    mine, theirs = _in_turns(ours, peer, turns=15)
    ratio = theirs / mine
    work = f"off-policy, seven estimators, {n:,} rounds"
    return {
        "work": work,
        "peer": f"{name}: {1e3 * theirs:.2f} ms",
        "reached": f"{1e3 * mine:.2f} ms, {ratio:.1f} ×",
        "goal": "3 ×",
        "met": ratio >= 3.0,
    }


def _obp(log: dict[str, Any]) -> tuple[str, Callable[[], object]]:
    r, p, q, m = log["reward"], log["probability"], log["target"], log["model"]
    taken = np.arange(len(r)), log["action"]
    try:
        from obp.ope import estimators as peer
    except ImportError:

        def formulas() -> list[float]:
            # Each estimator of the peer computes its own weights and means.
            found = []
            for kind in range(7):
                weight, residual = q[taken] / p, r - m[taken]
                value = np.average(m, weights=q, axis=1)
                weight = weight if kind < 6 else 10.0 * weight / (weight**2 + 10.0)
                found.append(float((value + weight * residual).mean()))
            return found

        return "the formulas in NumPy", formulas
    arguments = {
        "reward": r,
        "action": log["action"],
        "pscore": p,
        "action_dist": q[:, :, None],
        "position": np.zeros(len(r), dtype=int),
        "estimated_rewards_by_reg_model": m[:, :, None],
    }
    made = [
        peer.InverseProbabilityWeighting(),
        peer.SelfNormalizedInverseProbabilityWeighting(),
        peer.DirectMethod(),
        peer.DoublyRobust(),
        peer.SelfNormalizedDoublyRobust(),
        peer.SwitchDoublyRobust(lambda_=10.0),
        peer.DoublyRobustWithShrinkage(lambda_=100.0),
    ]
    return "Open Bandit Pipeline", lambda: [one.estimate_policy_value(**arguments) for one in made]


def _rows(n: int) -> tuple[Any, Any, Any]:
    """The research recipe: ten classes, 20 numbers, linear scores with noise; and costs of the classes."""
    random = np.random.default_rng(102)
    weights, X = random.normal(size=(10, 20)), random.normal(size=(n, 20))
    scores = X @ weights.T
    y = (scores + random.gumbel(size=(n, 10))).argmax(1)
    costs = np.maximum(0.0, (scores.max(1, keepdims=True) - scores) / 5 + random.normal(size=(n, 10)) * 0.1)
    return np.round(X, 4), y, np.round(costs, 4)


def _vw(lines: list[str], options: str) -> tuple[float, float]:
    """Seconds without set-up, and the progressive loss that it prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines.vw"
        path.write_text("".join(lines))
        seconds, loss = [], float("nan")
        for data in ("/dev/null", str(path)):
            command = [sys.executable, "-m", "vowpalwabbit", *options.split(), "-d", data]
            start = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            seconds.append(time.perf_counter() - start)
            for line in (done.stderr + done.stdout).splitlines():
                # Without lines it is "n.a.".
                if line.startswith("average loss") and data != "/dev/null":
                    loss = float(line.partition("=")[2].split()[0])
        return seconds[1] - seconds[0], loss


def _features(row: Any) -> str:
    return " ".join(f"{place}:{number:.4f}" for place, number in enumerate(row))


def _beside_vw(work: str, lines: list[str], options: str, ours: Callable[[], float], most: float | None) -> Row:
    mine = theirs = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        loss = ours()
        mine = min(mine, time.perf_counter() - start)
        seconds, their_loss = _vw(lines, options)
        theirs = min(theirs, seconds)
    ratio, most = theirs / mine, their_loss if most is None else most
    return {
        "work": work,
        "peer": f"{len(lines) / theirs:,.0f} examples/s, loss {their_loss:.5f}",
        "reached": f"{len(lines) / mine:,.0f} examples/s, {ratio:.2f} ×, loss {loss:.5f}",
        "goal": f"3 ×, loss at most {most:.5f}",
        "met": ratio >= 3.0 and loss <= most,
    }


def ten_classes(n: int) -> Row:
    """Ten classes, logistic, one against the rest."""
    X, y, _ = _rows(n)
    lines = [f"{label + 1} |f {_features(row)}\n" for row, label in zip(X, y, strict=True)]

    def ours() -> float:
        model = multiclass.OneVsRest(linear_model.LogisticRegression("adaptive"))
        return float(np.mean(model.step_many(X, y) != y))

    return _beside_vw("ten classes, logistic", lines, "--oaa 10 --loss_function logistic", ours, 0.25)


def costs(n: int) -> Row:
    """Costs of ten classes."""
    X, _, table = _rows(n)
    lines = [
        f"{' '.join(f'{place + 1}:{cost:.4f}' for place, cost in enumerate(row))} |f {_features(x)}\n"
        for x, row in zip(X, table, strict=True)
    ]

    def ours() -> float:
        model = cost_sensitive.CostRegression(linear_model.LinearRegression("adaptive"))
        chosen = model.step_many(X, table)
        # As the peer counts: above the lowest cost of the row. Before the first row, no class is chosen.
        places = np.concatenate([[0], chosen[1:].astype(np.int64)])
        return float(np.mean(table[np.arange(len(table)), places] - table.min(1)))

    return _beside_vw("--csoaa 10", lines, "--csoaa 10", ours, None)


def costs_from_text(n: int) -> Row:
    """The same from Vowpal Wabbit's text, which is parsed too."""
    X, _, table = _rows(n)
    lines = [
        f"{' '.join(f'{place + 1}:{cost:.4f}' for place, cost in enumerate(row))} |f {_features(x)}\n"
        for x, row in zip(X, table, strict=True)
    ]
    text = "".join(lines).encode()

    def ours() -> float:
        model = cost_sensitive.CostRegression(linear_model.LinearRegression("adaptive", intercept=False))
        total = 0.0
        for rows in stream.read_vw(io.BytesIO(text), labels="costs").chunks():
            chosen = model.step_many(rows.X, rows.costs, classes=rows.classes)
            places = np.searchsorted(rows.classes, [label or rows.classes[0] for label in chosen])
            total += float((rows.costs[np.arange(len(rows)), places] - rows.costs.min(1)).sum())
        return total / n

    return _beside_vw("--csoaa 10, from text", lines, "--csoaa 10", ours, None)
