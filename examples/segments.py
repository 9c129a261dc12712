"""Segments: group the customers of a shop by their visits, while their habits change.

Three lessons. Scale features first, because the one with the largest range decides alone otherwise. A centre that
is the mean of all of its rows falls behind clusters that move, and one with a half-life follows them. The
silhouette compares numbers of clusters without labels.
"""

from __future__ import annotations

import argparse

import numpy as np

from millstream import cluster, evaluate, preprocessing

NAMES = ("minutes", "pages", "spent")

#: Mean visit of each segment at the start and at the end: minutes on the site, pages seen, and cents spent.
SEGMENTS = {
    "browsers": ((22.0, 30.0, 500.0), (6.0, 30.0, 500.0)),
    "buyers": ((8.0, 9.0, 9_000.0), (8.0, 40.0, 12_000.0)),
    "bargain hunters": ((10.0, 60.0, 3_000.0), (22.0, 60.0, 5_000.0)),
    "one page": ((1.0, 1.5, 100.0), (18.0, 5.0, 100.0)),
}


def visits(rows: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Visits, one per row, and the segment of each. The habits of each segment change in their own way."""
    rng = np.random.default_rng(seed)
    start, end = np.array(list(SEGMENTS.values())).transpose(1, 0, 2)
    segment = rng.choice(len(start), rows, p=[0.4, 0.1, 0.2, 0.3])
    noise = rng.normal(size=(rows, 3)) * (2.0, 3.0, 700.0)
    passed = np.linspace(0.0, 1.0, rows)[:, None]
    return (1.0 - passed) * start[segment] + passed * end[segment] + noise, segment


def main() -> None:
    """Compare scaling, forgetting and numbers of clusters."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    X, segment = visits(rows)
    names = np.array(list(SEGMENTS))[segment]

    models = {
        "raw features": cluster.KMeans(n_clusters=4, half_life=1_000),
        "scaled, mean of all rows": preprocessing.StandardScaler() | cluster.KMeans(n_clusters=4),
        "scaled, half-life of 1,000 rows": preprocessing.StandardScaler()
        | cluster.KMeans(n_clusters=4, half_life=1_000),
    }
    results = evaluate.prequential(models, (X, names), ["AdjustedRand", "VMeasure"])
    print(f"{rows:,} visits of {len(SEGMENTS)} segments, with labels to compare the clusters with.\n")
    print(results)

    best = results["scaled, half-life of 1,000 rows"]
    print("\nVisits by segment and cluster of the last one:\n")
    print(best.clusters)

    # Without labels: which number of clusters?
    print("\nWithout labels, the silhouette of the last 1,000 rows for different numbers of clusters:\n")
    for count in range(2, 8):
        model = preprocessing.StandardScaler() | cluster.KMeans(n_clusters=count, half_life=1_000)
        silhouette = evaluate.prequential(model, X, "Silhouette").scores["Silhouette"][1]
        print(f"  {count} clusters  {silhouette:.3f}  {'#' * round(40 * silhouette)}")


if __name__ == "__main__":
    main()
