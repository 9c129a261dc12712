"""The clusters of a run: their sizes, their classes, and a sample of rows in the plane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream.evaluate.frames import frame, table

__all__ = ["ClusterSample", "Clusters", "Plane"]

#: Maximum number of rows of the sample, and of features of its picture.
_MOST_ROWS = 1000
_MOST_FEATURES = 200


@dataclass(frozen=True)
class Plane:
    """Points of the sample in the plane, with the titles of the axes."""

    x: Any
    y: Any
    titles: tuple[str, str]


@dataclass(frozen=True)
class Clusters:
    """Clusters with the weight of their rows by class, and a sample of rows spread evenly over the stream.

    Examples
    --------
    >>> from millstream import cluster, evaluate
    >>> rows = [({"x": 10.0 * (i % 3) + i % 2}, "abc"[i % 3]) for i in range(300)]
    >>> result = evaluate.prequential(cluster.KMeans(n_clusters=3), rows)
    >>> result["AdjustedRand"], result.unanswered
    (1.0, 60)
    >>> sorted(result.clusters.weights.values())
    [80.0, 80.0, 80.0]
    """

    #: Indices of the clusters with rows.
    indices: list[int]
    #: The labels that occurred; empty if there were none.
    labels: list[Any]
    #: Weight by label (rows) and cluster (columns).
    matrix: Any
    #: Rows of the stream in the sample, with their features, cluster and label (None if there is none).
    rows: list[int]
    features: list[dict[Any, Any]]
    clusters: list[int]
    truths: list[Any]
    #: Number of scored rows of each cluster, whatever their weight.
    counts: dict[int, int]

    @property
    def weights(self) -> dict[int, float]:
        """The weight of the labelled rows of each cluster; the number of rows if there are no labels."""
        if not self.labels:
            return {index: float(count) for index, count in self.counts.items()}
        return dict(zip(self.indices, self.matrix.sum(axis=0).tolist(), strict=True))

    def to_frame(self, kind: str | None = None) -> Any:
        """The weights as a frame with a row per cluster and a column per label."""
        columns: dict[str, Any] = {"cluster": list(self.counts), "rows": list(self.counts.values())}
        for place, label in enumerate(self.labels):
            by_cluster = dict(zip(self.indices, self.matrix[place].tolist(), strict=True))
            columns[f"label {label}"] = [by_cluster.get(index, 0.0) for index in self.counts]
        return frame(columns, kind)

    def plane(self) -> Plane | None:
        """The sample in the plane: its two features, or the first two principal components of more.

        Numbers are standardized; missing values are at the mean. Nominal features are left out.
        """
        names = list(dict.fromkeys(name for x in self.features for name in x))
        columns = [_numbers(self.features, name) for name in names[:_MOST_FEATURES]]
        known = [(name, column) for name, column in zip(names, columns, strict=False) if column is not None]
        if not known:
            return None
        if len(known) == 1:
            return Plane(known[0][1], np.array(self.rows, dtype=np.float64), (str(known[0][0]), "row"))
        if len(known) == 2:
            (first, x), (second, y) = known
            return Plane(x, y, (str(first), str(second)))
        matrix = np.column_stack([_standardized(column) for _, column in known])
        _, axes = np.linalg.eigh(matrix.T @ matrix)
        axes = axes[:, [-1, -2]]
        # The sign of an eigenvector is arbitrary.
        axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
        points = matrix @ axes
        return Plane(points[:, 0], points[:, 1], ("first principal component", "second principal component"))

    def __repr__(self) -> str:
        if not self.labels:
            return table(["cluster", "rows"], [[str(index), f"{count:,}"] for index, count in self.counts.items()])
        head = ["label \\ cluster", *map(str, self.indices)]
        return table(
            head,
            [
                [str(label), *(f"{cell:,.6g}" for cell in cells)]
                for label, cells in zip(self.labels, self.matrix.tolist(), strict=True)
            ],
        )


def _numbers(features: list[dict[Any, Any]], name: Any) -> Any:
    """A feature as a column without missing values; None if it is nominal or never present."""
    values = [x.get(name) for x in features]
    if any(isinstance(value, (str, bytes)) for value in values):
        return None
    column = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    finite = np.isfinite(column)
    if not finite.any():
        return None
    return np.where(finite, column, column[finite].mean())


def _standardized(column: Any) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (column - column.mean()) / (column.std() or 1.0)
    return np.nan_to_num(scaled, posinf=0.0, neginf=0.0)


class ClusterSample:
    """Collects rows: every row at first, then every second, and so on, so that it is the same in every run."""

    def __init__(self) -> None:
        self.stride = 1
        self.kept: list[tuple[int, dict[Any, Any], int, Any]] = []
        self.counts: dict[int, int] = {}

    def wants(self, row: int) -> bool:
        """Whether to add a row."""
        return row % self.stride == 0

    def count(self, clusters: Iterable[int]) -> None:
        """Count the rows of clusters."""
        for cluster in clusters:
            self.counts[cluster] = self.counts.get(cluster, 0) + 1

    def add(self, row: int, x: Mapping[Any, Any], cluster: int, truth: Any) -> None:
        """Add a row."""
        self.kept.append((row, dict(x), cluster, truth))
        if len(self.kept) > _MOST_ROWS:
            self.stride *= 2
            self.kept = [kept for kept in self.kept if kept[0] % self.stride == 0]

    def clusters(self, confusion: tuple[list[Any], Any] | None) -> Clusters | None:
        """The clusters; `confusion` is the matrix of labels and clusters, both among its labels."""
        counts = {cluster: self.counts[cluster] for cluster in sorted(self.counts) if cluster >= 0}
        if not counts:
            return None
        labels, indices, matrix = [], [], np.zeros((0, 0))
        if confusion is not None and len(confusion[0]):
            names, cells = confusion
            true, found = np.flatnonzero(cells.sum(axis=1) > 0), np.flatnonzero(cells.sum(axis=0) > 0)
            labels, indices = [names[place] for place in true], [int(names[place]) for place in found]
            order = np.argsort(indices)
            indices = [indices[place] for place in order]
            matrix = cells[np.ix_(true, found[order])]
        rows = [kept for kept in self.kept if kept[2] >= 0]
        return Clusters(
            indices=indices,
            labels=labels,
            matrix=matrix,
            rows=[row for row, _, _, _ in rows],
            features=[x for _, x, _, _ in rows],
            clusters=[cluster for _, _, cluster, _ in rows],
            truths=[truth for _, _, _, truth in rows],
            counts=counts,
        )
