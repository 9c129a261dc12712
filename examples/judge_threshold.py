"""From which score can a judge be trusted? A threshold that keeps its errors below a bound while scores drift.

The judge is SIMULATED: right answers score higher than wrong ones, and from the middle on the judge grows lenient,
so that wrong answers score higher too. A threshold that was chosen on the first answers then lets too many errors
through.
"""

from __future__ import annotations

import argparse
from collections import deque

import numpy as np

from millstream import llm

MAX_ERROR = 0.05
#: Number of answers after which a label arrives.
DELAY = 200
CALIBRATION = 2000


def answers(count: int, seed: int = 0) -> list[tuple[float, bool]]:
    """Scores, and whether the answers are right: four of five."""
    random = np.random.default_rng(seed)
    found = []
    for index in range(count):
        right = bool(random.random() < 0.8)
        lenient = 2.5 * max(0.0, 2.0 * index / count - 1.0)
        found.append((float(random.beta(6.0, 2.0) if right else random.beta(3.0 + lenient, 3.0)), right))
    return found


def fixed_threshold(known: list[tuple[float, bool]]) -> float:
    """The lowest score above which few enough of the known answers are wrong."""
    for threshold in np.linspace(0.0, 1.0, 201):
        above = [right for score, right in known if score >= threshold]
        if not above or 1.0 - np.mean(above) <= MAX_ERROR:
            return float(threshold)
    return 1.0


def main() -> None:
    """Compare a threshold that is chosen once with one that follows the labels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=40_000, help="number of answers")
    scored = answers(parser.parse_args().answers)
    fixed = fixed_threshold(scored[:CALIBRATION])
    judge = llm.JudgeThreshold(max_error=MAX_ERROR, threshold=fixed)
    waiting: deque[tuple[int, llm.Verdict, bool]] = deque()
    print(f"A simulated judge that grows lenient; at most {MAX_ERROR:.0%} of the accepted answers may be wrong.\n")
    print(f"{'':>10}{'fixed threshold':>24}{'followed threshold':>32}")
    print(f"{'answers':>10}{'accepted':>14}{'wrong':>10}{'accepted':>14}{'wrong':>10}{'at':>8}")
    size = len(scored) // 4
    for part in range(4):
        once, followed = [], []
        for now, (score, right) in enumerate(scored[part * size : (part + 1) * size], part * size):
            if score >= fixed:
                once.append(right)
            verdict = judge.decide_one(score)
            if verdict.accepted:
                followed.append(right)
                waiting.append((now + DELAY, verdict, right))
            while waiting and waiting[0][0] <= now:
                judge.learn_one(*waiting.popleft()[1:])
        cells = [f"{len(found) / size:>14.1%}{1 - np.mean(found or [1]):>10.1%}" for found in (once, followed)]
        print(f"{(part + 1) * size:>10,}{''.join(cells)}{judge.threshold:>8.2f}")
    print(f"\n{judge.errors:,} of {judge.labelled:,} accepted answers were wrong ({judge.error_rate:.2%}).")
    print(f"Whatever the scores had done, it would have been at most {judge.bound:,.0f}.")


if __name__ == "__main__":
    main()
