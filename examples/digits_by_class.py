"""Digits by class: first all zeros and ones, then all twos and threes, and so on. Who still knows the zeros?

The lesson: a network that learns one example after the other forgets the classes that no longer come, within a few
hundred examples, and a penalty for changing important weights does not help when classes come one by one. A
hundred stored rows that are learned again do help, and a learner that keeps sums has nothing to forget.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from millstream import continual, datasets, evaluate, neural_network, optim, preprocessing, stream


def network(rate: float = 0.05) -> Any:
    """64 numbers, 64 hidden units, and a class more whenever one comes."""
    return neural_network.MLPClassifier(64, optimizer=optim.SGD(rate))


LEARNERS: dict[str, Callable[[], Any]] = {
    "a network": network,
    "the same with EWC": lambda: continual.EWC(network(), strength=1000.0),
    "replay of 100 rows": lambda: continual.Replay(network(0.02), continual.ClassBalanced(100), n_replay=10),
    "nearest class mean": continual.NearestClassMean,
    "streaming LDA": continual.StreamingLDA,
}


def main() -> None:
    """Learn five pairs of digits one after the other, and test on all of them after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for a plot of each learner")
    folder = parser.parse_args().out
    digits = datasets.Digits()
    tasks = stream.tasks(digits, n_tasks=5)
    print(f"{tasks.n_samples:,} training rows: {'; '.join(tasks.names)}\n")
    print(f"{'accuracy on the test rows of':<22}{''.join(f'{name:>8}' for name in tasks.names)}     all")
    for name, make in LEARNERS.items():
        # The range of the pixels is known, so that nothing about later classes is used.
        model = preprocessing.MinMaxScaler() | make()
        result = evaluate.continual(model, tasks, evaluations=4)
        result.name = name
        cells = "".join(f"{value:8.1%}" for value in result.matrix[-1])
        print(f"{name:<28}{cells}{result.final_accuracy:8.1%}")
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            result.save_plot(folder / f"{name.replace(' ', '_')}.png")


if __name__ == "__main__":
    main()
