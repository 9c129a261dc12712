"""Flights, as a service would do it: predict at departure, learn at arrival, one by one.

The lesson: a back-test is the production run. The loop below knows only what has happened so far: a flight is put
aside when it is predicted, and learned when it has landed. `evaluate.prequential` gives the same probabilities, to
the last bit, and is faster; so what it promises is what the service gets.
"""

from __future__ import annotations

import argparse
import heapq
import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from millstream import datasets, errors, evaluate, linear_model, metrics, optim, preprocessing


def model() -> Any:
    """The pipeline of the demo."""
    return preprocessing.StandardScaler() | linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.1))


class Service:
    """What runs day and night: it is told of departures and arrivals, and of nothing else."""

    def __init__(self) -> None:
        self.model, self.score = model(), metrics.ROCAUC()
        #: Flights by the time of arrival, with their features and what was said of them.
        self.in_the_air: list[tuple[Any, int, dict[str, Any], dict[Any, float], bool]] = []
        self.said: list[dict[Any, float]] = []

    def departs(self, x: dict[str, Any], arrival: Any, late: bool) -> None:
        """Say how probable it is that a flight will be late. What is known later is only put aside."""
        answer = self.model.predict_proba_one(x)
        heapq.heappush(self.in_the_air, (arrival, len(self.said), x, answer, late))
        self.said.append(answer)

    def land(self, until: Any = None) -> None:
        """Learn from the flights that have landed."""
        while self.in_the_air and (until is None or self.in_the_air[0][0] <= until):
            _, _, x, answer, late = heapq.heappop(self.in_the_air)
            if answer:
                self.score.update(late, answer)
            self.model.learn_one(x, late)


def main() -> None:
    """Run the service and the back-test, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    rows = parser.parse_args().rows
    flights = datasets.Flights()
    service = Service()
    began = time.perf_counter()
    try:
        for chunk in flights.take(rows).chunks():
            for (x, late), now, arrival in zip(chunk.examples(), chunk.time, chunk.label_time, strict=True):
                service.land(until=now)
                service.departs(x, arrival, late)
    except errors.MissingPackage as missing:
        sys.exit(str(missing))
    waiting = len(service.in_the_air)
    service.land()
    seconds = time.perf_counter() - began

    kept: list[Mapping[str, Any]] = []
    result = evaluate.prequential(model(), flights.take(rows), "ROCAUC", predictions=kept.append)
    tested = np.concatenate([some["probability"] for some in kept])
    said = np.array([max(answer.values(), default=np.nan) for answer in service.said])
    print(f"{rows:,} flights of 2013 in order of departure; after the last one {waiting:,} are in the air.")
    print(f"service    ROC AUC {service.score.get():.6f}   {rows / seconds:>9,.0f} flights a second, one by one")
    print(f"back-test  ROC AUC {result['ROCAUC']:.6f}   {result.throughput:>9,.0f} flights a second")
    different = int((said != tested)[~np.isnan(said)].sum())
    print(f"Of {(~np.isnan(said)).sum():,} predictions {different:,} differ.")


if __name__ == "__main__":
    main()
