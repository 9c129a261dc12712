"""Short lines of Vowpal Wabbit's text, with and without products of namespaces, beside VW."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import millstream
from benchmarks.measure import Comparison, Outcome, Side, measure
from millstream import evaluate, linear_model, metrics, stream

__all__ = ["rows"]

ROWS = 100_000
#: Times the file is written one after the other, so that a run takes a second.
TIMES = 5
#: Rounds in which both sides take turns.
TURNS = 5

#: The work, VW's options, arguments of the reader, the goal for the rate.
WORK: list[tuple[str, str, dict[str, Any], float]] = [
    ("short lines, 11 features, linear, prequential", "-b 18", {"bits": 18}, 2.5),
    ("`-q ab`, 18 bits", "-b 18 -q ab", {"bits": 18, "interactions": ["ab"]}, 3.0),
    ("`-q ab`, 22 bits", "-b 22 -q ab", {"bits": 22, "interactions": ["ab"]}, 3.0),
]


def rows() -> Iterator[dict[str, Any]]:
    """The rows of the page: rates on one file, both sides in turns, and progressive losses of its first part."""
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        path, first = Path(folder) / "lines.vw", Path(folder) / "first.vw"
        text = pairs_of_words()
        first.write_text(text)
        path.write_text(text * TIMES)
        for work, options, arguments, goal in WORK:
            sides = [_ours(path, arguments), _theirs(path, options)]
            found = measure(Comparison(work, "", sides, {"VW": goal}), TURNS)
            losses = _our_loss(first, arguments), _their_loss(first, options)
            ratio = found.ratio("VW")
            if work == WORK[0][0]:
                yield _trained(path, arguments)
            yield {
                "work": work,
                "peer": f"VW {found.rate('VW'):,.0f} ex/s, loss {losses[1]:.4f}",
                "reached": f"{found.rate('millstream'):,.0f} ex/s, {ratio:.2f} × VW, loss {losses[0]:.4f}",
                "goal": f"{goal} × VW, loss ≤ VW + 0.001",
                "met": ratio >= goal and losses[0] <= losses[1] + 0.001,
            }


def _trained(path: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    """`train` beside `evaluate.prequential` on the same file."""

    def prepare() -> Callable[[], Outcome]:
        def run() -> Outcome:
            millstream.train(_model(), stream.read_vw(path, **arguments))
            return Outcome()

        return run

    sides = [Side("train", ROWS * TIMES, prepare), replace(_ours(path, arguments), name="prequential")]
    found = measure(Comparison("train", "", sides, {"prequential": 1.0}), TURNS)
    ratio = found.ratio("prequential")
    return {
        "work": "`train` on the same short lines",
        "peer": f"`evaluate.prequential` {found.rate('prequential'):,.0f} ex/s",
        "reached": f"{found.rate('train'):,.0f} ex/s, {ratio:.2f} ×",
        # Two equal rates differ by a few per cent from run to run.
        "goal": "as fast, within 5 %",
        "met": ratio >= 0.95,
    }


def pairs_of_words(count: int = ROWS) -> str:
    """Five words in each of two namespaces, some far more frequent than others; the truth is in their pairs."""
    draw = np.random.default_rng(101)
    effects = draw.normal(size=(1000, 1000))
    # Two draws that are not used, as in the data that VW was first measured on.
    draw.integers(0, 1000, size=(count, 5))
    draw.integers(0, 1000, size=(count, 5))
    words = [np.minimum((draw.pareto(1.2, size=(count, 5)) * 5).astype(int), 999) for _ in "ab"]
    scores = effects[words[0][:, :, None], words[1][:, None, :]].sum((1, 2)) / 5
    labels = np.where(draw.random(count) < 1 / (1 + np.exp(-3 * scores)), 1, -1)
    return "".join(
        f"{label} |a {' '.join(f'u{word}' for word in a)} |b {' '.join(f'i{word}' for word in b)}\n"
        for label, a, b in zip(labels, *words, strict=True)
    )


def _model() -> Any:
    return linear_model.LogisticRegression("adaptive", intercept=False)


def _ours(path: Path, arguments: dict[str, Any]) -> Side:
    def prepare() -> Callable[[], Outcome]:
        def run() -> Outcome:
            evaluate.prequential(_model(), stream.read_vw(path, **arguments), metrics=[metrics.LogLoss()])
            return Outcome()

        return run

    return Side("millstream", ROWS * TIMES, prepare)


def _theirs(path: Path, options: str) -> Side:
    def prepare() -> Callable[[], Outcome]:
        from vowpalwabbit import Workspace

        def run() -> Outcome:
            Workspace(f"-d {path} --loss_function logistic --quiet {options}").finish()
            return Outcome()

        return run

    return Side("VW", ROWS * TIMES, prepare)


def _our_loss(path: Path, arguments: dict[str, Any]) -> float:
    """The mean progressive loss, the first line included, which VW predicts as 0."""
    reader = stream.read_vw(path, **arguments)
    result = evaluate.prequential(_model(), reader, metrics=[metrics.LogLoss()], warmup=1)
    return (float(result["LogLoss"]) * (ROWS - 1) + float(np.log(2))) / ROWS


def _their_loss(path: Path, options: str) -> float:
    from vowpalwabbit import Workspace

    workspace = Workspace(f"-d {path} --loss_function logistic --quiet {options}")
    loss = workspace.get_sum_loss() / ROWS
    workspace.finish()
    return float(loss)
