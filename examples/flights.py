"""Flights: a service that predicts each flight at departure and learns it at arrival.

The lesson: a backtest computes what production would have computed. The loop below uses only past events: a flight
is queued when it is predicted, and learned when it has landed. `evaluate.prequential` computes bit-identical
probabilities, and is faster.
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
    """The service in production: it receives departures and arrivals, and nothing else."""

    def __init__(self) -> None:
        self.model, self.score = model(), metrics.ROCAUC()
        #: Flights by arrival time, with their features and predictions.
        self.in_the_air: list[tuple[Any, int, dict[str, Any], dict[Any, float], bool]] = []
        self.predictions: list[dict[Any, float]] = []

    def departs(self, x: dict[str, Any], arrival: Any, late: bool) -> None:
        """Predict the probability that a flight will be late, and queue the flight until it arrives."""
        probabilities = self.model.predict_proba_one(x)
        heapq.heappush(self.in_the_air, (arrival, len(self.predictions), x, probabilities, late))
        self.predictions.append(probabilities)

    def land(self, until: Any = None) -> None:
        """Learn from the flights that have landed."""
        while self.in_the_air and (until is None or self.in_the_air[0][0] <= until):
            _, _, x, probabilities, late = heapq.heappop(self.in_the_air)
            if probabilities:
                self.score.update(late, probabilities)
            self.model.learn_one(x, late)


def main() -> None:
    """Run the service and the backtest, and compare their predictions."""
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
    backtest = np.concatenate([some["probability"] for some in kept])
    served = np.array([max(each.values(), default=np.nan) for each in service.predictions])
    print(f"{rows:,} flights of 2013 in order of departure; at the last departure, {waiting:,} are in the air.")
    print(f"service    ROC AUC {service.score.get():.6f}   {rows / seconds:>9,.0f} flights/s, one by one")
    print(f"backtest   ROC AUC {result['ROCAUC']:.6f}   {result.throughput:>9,.0f} flights/s")
    different = int((served != backtest)[~np.isnan(served)].sum())
    print(f"Of {(~np.isnan(served)).sum():,} predictions, {different:,} differ.")


if __name__ == "__main__":
    main()
