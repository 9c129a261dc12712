"""An A/B test that may stop at any time.

Two versions of a page are shown with equal chances. A confidence sequence is valid at all rounds at once: one may
look after every visitor and stop as soon as the interval of the difference excludes 0. The usual interval, looked
at as often, finds a winner in many tests of two equal versions. This is shown first.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from millstream import evaluate, policy_evaluation


def visitors(rows: int, chance_a: float, chance_b: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether each visitor saw version B, and whether they bought something."""
    random = np.random.default_rng(seed)
    saw_b = random.random(rows) < 0.5
    return saw_b, random.random(rows) < np.where(saw_b, chance_b, chance_a)


def false_winners(tests: int, rows: int, looks: int) -> tuple[float, float]:
    """The fraction of tests of equal versions in which sequence and normal interval exclude 0 at a look."""
    found = np.zeros(2)
    for seed in range(tests):
        saw_b, bought = visitors(rows, 0.1, 0.1, seed)
        test, excluded = policy_evaluation.Difference(), np.zeros(2, dtype=bool)
        for part in np.array_split(np.arange(rows), looks):
            half = np.full(len(part), 0.5)
            test.update_many(bought[part], half, saw_b[part], ~saw_b[part])
            for place, (low, high) in enumerate((test.interval(), test.interval("normal"))):
                excluded[place] |= low > 0.0 or high < 0.0
        found += excluded
    sequence, normal = found / tests
    return float(sequence), float(normal)


def main() -> None:
    """Test two equal versions many times, and two different ones once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="visitors of the test")
    parser.add_argument("--out", type=Path, help="folder for a plot")
    options = parser.parse_args()

    sequence, normal = false_winners(tests=100, rows=5_000, looks=50)
    print("100 tests of two equal versions, looked at 50 times:")
    print(f"  the normal interval declares a winner in {normal:.0%}")
    print(f"  the confidence sequence declares a winner in {sequence:.0%}")

    # Version B is better: 14 % of its visitors buy, 10 % of those of version A.
    saw_b, bought = visitors(options.rows, 0.10, 0.14, seed=1)
    log = (
        {"actions": ["A", "B"], "action": "B" if b else "A", "probability": 0.5, "reward": float(buys)}
        for b, buys in zip(saw_b, bought, strict=True)
    )
    results = evaluate.policies(log, {"A": lambda x, actions: "A", "B": lambda x, actions: "B"})
    print(f"\nA test of {options.rows:,} visitors:")
    print(results)
    test = results.difference("B", "A")
    if test.since is not None:
        print(f"The test could have stopped after {test.since:,} visitors.")
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        results.save_plot(options.out / "ab_test.png", "difference", against="A")


if __name__ == "__main__":
    main()
