"""The run of a clusterer: it learns without labels; its clusters are compared with those that there are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millstream import _core, _frames
from millstream._answers import cluster_of
from millstream._python_loop import teach, title_of
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.evaluate.chunks import EvaluationChunk, TableChunk, cut
from millstream.evaluate.clusters import ClusterSample
from millstream.evaluate.interrupts import Interrupts
from millstream.evaluate.python_loop import PythonRun

__all__ = ["ClusterRun"]


def label_of(y: Any) -> Any:
    """A label, or None if there is none; an integral float counts as an integer."""
    if y is None or (isinstance(y, (float, np.floating)) and math.isnan(y)):
        return None
    if isinstance(y, (float, np.floating)):
        if not float(y).is_integer():
            raise InvalidType(f"the label of a row must be a bool, an int or a str, got {y}")
        return int(y)
    return y


class ClusterRun(PythonRun):
    """The run of a clusterer."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.sample = ClusterSample()

    def feed(self, chunk: EvaluationChunk, interrupts: Interrupts | None = None) -> None:
        """Process the next examples, a block of rows in one call where that gives the same result."""
        for block in chunk.blocks():
            if interrupts is not None and interrupts.asked:
                raise KeyboardInterrupt
            if not self._feed_at_once(block):
                super().feed(block, interrupts)

    def _feed_at_once(self, chunk: EvaluationChunk) -> bool:
        """Predict and learn a table in one call; False if rows must be processed one by one."""
        late = chunk.now is not None or self.settings.delay > 0
        recorded = self.metrics.metrics or self.detector is not None or self.kept is not None
        if not isinstance(self.model, _core.Model) or late or recorded or not isinstance(chunk, TableChunk):
            return False
        try:
            labels, indices = _distinct(chunk.y)
            found, _ = self.model._run_many(chunk.parts, None, chunk.w, "proba", "raise")
        except (MillstreamError, TypeError, ValueError):
            # The model is unchanged. Row by row, the faulty one is named or skipped.
            return False
        clusters, own, following = found
        listed = clusters.tolist()
        given = (labels, indices, listed, (own, following), chunk.w)
        self.engine.observe_clusters(self.place, self.model, self.rows, *given)
        skipped = max(0, self.settings.warmup - self.rows)
        self.sample.count(cluster for cluster in listed[skipped:] if cluster >= 0)
        for place in range(chunk.size):
            if self.sample.wants(self.rows + place):
                x = next(iter(_frames.rows_of(cut(chunk.parts, place, place + 1))))
                truth = None if indices is None or indices[place] < 0 else labels[indices[place]]
                self.sample.add(self.rows + place, x, listed[place], truth)
        self.rows += chunk.size
        return True

    def predict(self, x: Any) -> tuple[Any, Any]:
        """The cluster, with the distances to the centres of this and the next cluster if the model has them."""
        if isinstance(self.model, _core.Model):
            cluster, own, following = self.model._predict_cluster(x)
            return cluster, (own, following)
        return cluster_of(self.model, x), None

    def learn(self, row: int, x: Any, y: Any, w: float) -> None:
        """Learn one example. A label is passed on only if the model accepts it."""
        if not (isinstance(w, (int, float)) and 0.0 <= w < math.inf):
            raise InvalidValue(f"{title_of(self.model)}: the weight must be finite and not negative, got {w}")
        label_of(y)
        teach(self.model, x, y, w)
        if self.sample.wants(row):
            self._last = dict(x)

    def score(self, row: int, y: Any, w: float, answer: tuple[Any, Any]) -> None:
        """Score the cluster of an example."""
        cluster, distances = answer
        label = label_of(y)
        labels, indices = ([], None) if label is None else ([label], [0])
        pair = None if distances is None else (np.array(distances[:1]), np.array(distances[1:]))
        given = (labels, indices, [cluster], pair, np.array([w], dtype=np.float64))
        self.engine.observe_clusters(self.place, self.model, row, *given)
        if self.sample.wants(row):
            self.sample.add(row, self._last, cluster, label)
        if row >= self.settings.warmup and cluster >= 0:
            self.sample.count([cluster])
            self.metrics.update(y, cluster, None, w)
            if self.detector is not None and distances is not None:
                self.detector.update(distances[0])
                if self.detector.drift_detected and getattr(self.detector, "direction", None) != "down":
                    self.marks.append(row)
        if self.metrics.metrics:
            self.record()


def _distinct(y: Any) -> tuple[list[Any], list[int] | None]:
    """The distinct labels of a column, and the index of each row's, negative for none."""
    listed = y.tolist() if isinstance(y, np.ndarray) else list(y)
    if all(label is None for label in listed):
        return [], None
    places: dict[Any, int] = {}
    indices = []
    for given in listed:
        label = label_of(given)
        # True and 1 are equal keys, but different labels.
        indices.append(-1 if label is None else places.setdefault((type(label), label), len(places)))
    return [label for _, label in places], indices
