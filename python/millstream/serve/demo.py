"""`millstream serve --demo`: a flight-delay server with a built-in client.

The client requests predictions for the flights of 2013 in order of departure, a few hundred per second. The label
of a flight is sent when the stream reaches its arrival, so labels arrive late and out of order, as in production.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Iterator
from typing import Any

from millstream import _frames, datasets, linear_model, optim, preprocessing
from millstream.serve.client import Client, ServeError

__all__ = ["Feeder", "demo_model", "start_demo"]

#: Number of flights per request.
_ROWS = 20


def demo_model() -> Any:
    """The model of the demo: will a flight arrive late?"""
    return preprocessing.StandardScaler() | linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.1))


class Feeder:
    """Sends flights and, at their arrival, labels. `rate` is the number of flights per second."""

    def __init__(self, url: str, model: str, rate: int, token: str | None = None) -> None:
        self.client = Client(url, token)
        self.model, self.rate = model, rate
        self.sent = self.labelled = 0
        self.stopped = threading.Event()

    def run(self) -> None:
        """Send all flights of the year, again and again, until `stopped` is set."""
        while not self.stopped.is_set():
            waiting: list[tuple[Any, int, str, bool]] = []
            for chunk in datasets.Flights().chunks():
                rows = list(_known(chunk))
                for start in range(0, len(rows), _ROWS):
                    if self.stopped.is_set():
                        return
                    self._send(rows, chunk, range(start, min(start + _ROWS, len(rows))), waiting)

    def _send(self, rows: list[dict[str, Any]], chunk: Any, which: range, waiting: list[Any]) -> None:
        begin = time.monotonic()
        try:
            answers = self.client.predict_many(self.model, [rows[row] for row in which])
            for row, answer in zip(which, answers, strict=True):
                heapq.heappush(waiting, (chunk.label_time[row], self.sent, answer["id"], bool(chunk.y[row])))
                self.sent += 1
            due = []
            while waiting and waiting[0][0] <= chunk.time[which[0]]:
                _, _, id, late = heapq.heappop(waiting)
                due.append({"id": id, "y": late})
            if due:
                self.client.labels(self.model, due)
                self.labelled += len(due)
        except ServeError:
            # The server is stopping or busy; the demo continues once it responds again.
            self.stopped.wait(1.0)
        self.stopped.wait(max(0.0, len(which) / self.rate - (time.monotonic() - begin)))


def _known(chunk: Any) -> Iterator[dict[str, Any]]:
    """The rows of a chunk without missing values, which JSON cannot express as numbers."""
    for row in _frames.dicts(chunk.X):
        yield {name: value for name, value in row.items() if value is not None and value == value}


def start_demo(server: Any, rate: int) -> Feeder:
    """Start the client in a thread."""
    feeder = Feeder(server.url, "flights", rate)
    threading.Thread(target=feeder.run, name="millstream-demo", daemon=True).start()
    return feeder
