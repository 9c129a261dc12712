"""The comparisons and their goals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import (
    adaptive_trees,
    anomalies,
    clusterers,
    decompositions,
    detectors,
    encoders,
    features,
    files,
    forests,
    games,
    generators,
    kernels,
    least_squares,
    nearest,
    number_trees,
    ours,
    peers,
    prototypes,
    risk,
    rolling,
    samplers,
    scalers,
    sketches,
    streams,
    trees,
    word_counts,
)
from benchmarks.measure import Comparison
from millstream import linear_model, naive_bayes, optim, preprocessing

__all__ = ["WORKLOADS"]

#: Rows by side: all for native loops, fewer for loops that would take minutes.
ROWS, SLOW_ROWS = 1_000_000, 20_000


def scaled_logistic() -> Any:
    """Our pipeline."""
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def river_scaled_logistic() -> Any:
    """River's pipeline with the same steps and rates."""
    from river import linear_model, optim, preprocessing

    return preprocessing.StandardScaler() | linear_model.LogisticRegression(optim.SGD(0.01))


def river_naive_bayes() -> Any:
    """River's Gaussian naive Bayes."""
    from river import naive_bayes

    return naive_bayes.GaussianNB()


def dicts(size: float, width: int) -> Comparison:
    """The dict path."""
    X, y = streams.linear(int(2 * SLOW_ROWS * size), width)
    rows, targets = streams.as_dicts(X), y.astype(bool).tolist()
    return Comparison(
        f"scaler + logistic, predict_one + learn_one on dicts of {width} numbers",
        "accuracy",
        [ours.dict_loop(scaled_logistic, rows, targets), peers.river(river_scaled_logistic, rows, targets)],
        {"River": 25 if width == 10 else 10},
    )


def matrix(size: float) -> Comparison:
    """The matrix path, compared with all libraries that have linear models."""
    X, y = streams.linear(int(ROWS * size), 10)
    scaled = streams.standardised(X)
    few = min(SLOW_ROWS, len(y))
    sides = [
        ours.step_many(scaled_logistic, X, y, "millstream, step_many", scored=few),
        peers.river(river_scaled_logistic, streams.as_dicts(X[:few]), y[:few].astype(bool).tolist()),
        peers.sgd_classifier(scaled, y),
        peers.sgd_classifier(scaled, y, **peers.IN_ORDER),
        peers.vw_lines(scaled, y, few),
        peers.vw_driver(scaled, y, 5 * few),
    ]
    if peers.has_java():
        # -o 1 is the logistic loss.
        learner = "moa.classifiers.functions.SGD"
        sides.append(peers.moa(learner, scaled, y, 10 * few, "-o 1 -l 0 -r 0.01", "MOA SGD"))
    return Comparison(
        "scaler + logistic, step_many on a matrix of 10 columns",
        "accuracy",
        sides,
        {"River": 100, "scikit-learn SGDClassifier, learning only": 2},
        f"scikit-learn, VW and MOA receive rows that are already scaled, so they do less work; the accuracy of "
        f"millstream is over the first {few:,} rows, as for River",
    )


def matrix_prequential(size: float) -> Comparison:
    """The evaluation loop."""
    X, y = streams.linear(int(ROWS * size), 10)
    few = min(SLOW_ROWS, len(y))
    return Comparison(
        "scaler + logistic, evaluate.prequential on a matrix of 10 columns",
        "accuracy",
        [
            ours.prequential(scaled_logistic, X, y),
            peers.river(river_scaled_logistic, streams.as_dicts(X[:few]), y[:few].astype(bool).tolist()),
            peers.sgd_classifier(streams.standardised(X), y),
            peers.sgd_classifier(streams.standardised(X), y, **peers.IN_ORDER),
        ],
        {"River": 100, "scikit-learn SGDClassifier, learning only": 2.3},
    )


def bayes(size: float) -> Comparison:
    """Naive Bayes, compared with MOA and River."""
    X, y = streams.random_rbf(int(ROWS * size), 10)
    few = min(SLOW_ROWS // 4, len(y))
    sides = [
        ours.prequential(naive_bayes.GaussianNB, X, y),
        peers.river(river_naive_bayes, streams.as_dicts(X[:few]), y[:few].tolist()),
    ]
    if peers.has_java():
        learner = "moa.classifiers.bayes.NaiveBayes"
        sides += [peers.moa(learner, X, y, len(y) // 2), peers.capymoa_loop("NaiveBayes", X, y, few)]
    return Comparison(
        "GaussianNB, evaluate.prequential on a matrix of 10 columns, RandomRBF",
        "accuracy",
        sides,
        {"River": 500, "MOA": 4},
        "MOA reads rows from memory; its accuracy is over the first half of the rows, "
        "River's over the first few rows",
    )


def frame(size: float, library: str) -> Comparison:
    """A frame compared with a matrix of the same numbers."""
    X, y = streams.linear(int(ROWS * size), 10)
    return Comparison(
        f"scaler + logistic, step_many on a frame of {library} against a NumPy matrix",
        "accuracy",
        [
            ours.step_many(scaled_logistic, streams.frames(X)[library], y, f"millstream, {library}"),
            ours.step_many(scaled_logistic, X, y, "millstream, NumPy"),
        ],
        {"millstream, NumPy": 1 / 1.5},
    )


def csv_file(size: float) -> Comparison:
    """From a CSV file to a trained and scored model, compared with only reading it."""
    rows = int(ROWS * size)
    path = files.numbers_csv(rows)
    return Comparison(
        "CSV of 10 numbers and a label to a trained and scored scaler + logistic",
        "accuracy",
        [files.our_csv(scaled_logistic, path, rows), files.arrow_csv(path, rows)],
        {"pyarrow, reading only": 0.6},
        "pyarrow reads the whole file into memory, on all cores, and learns nothing",
    )


def vw_text(size: float) -> Comparison:
    """From a text file to a trained and scored model, compared with VW."""
    path = streams.words_file(int(200_000 * size), 80)
    rows = int(200_000 * size)
    return Comparison(
        "logistic on a file of VW text, 80 words a line, 22 bits, evaluate.prequential",
        "accuracy",
        [
            ours.vw_file(path, rows, optim.AdaGrad(0.5), "millstream, AdaGrad"),
            peers.vw_file(path, rows, "", "VW, native driver"),
            ours.vw_file(path, rows, optim.SGD(0.1), "millstream, SGD"),
            peers.vw_file(path, rows, "--sgd", "VW, native driver, --sgd"),
        ],
        {"VW, native driver": 3},
        "VW reads and learns in two threads, and so does millstream; words are drawn by Zipf's law from 200,000",
    )


def margin_sparse(size: float, learner: str) -> Comparison:
    """Margin-based learners on sparse rows, compared with VW's plain gradient steps."""
    rows = int(200_000 * size)
    path = streams.words_file(rows, 80)
    return Comparison(
        f"{learner} on sparse rows of 80 words, 22 bits, parsed and hashed before, step_many",
        "accuracy",
        [
            ours.sparse_rows(getattr(linear_model, learner), path, rows, f"millstream, {learner}"),
            peers.vw_cache(path, rows, "--sgd", "VW, native driver on its cache, --sgd"),
            peers.vw_cache(path, rows, "", "VW, native driver on its cache"),
        ],
        {"VW, native driver on its cache, --sgd": 1},
        "no text is parsed on either side: millstream receives the rows as a sparse matrix, VW reads its cache "
        "file in a separate thread; the rows are the same, so the ratio is also that of features per second",
    )


def margin_dense(size: float, learner: str) -> Comparison:
    """Perceptron and passive-aggressive steps on a matrix, with predictions, compared with learning only."""
    from sklearn.linear_model import Perceptron, SGDClassifier

    X, y = streams.linear(int(ROWS * size), 10)
    X = streams.standardised(X)
    few = min(SLOW_ROWS, len(y))

    def theirs(**settings: Any) -> Any:
        if learner == "Perceptron":
            return Perceptron(random_state=1, **settings)
        # The replacement of PassiveAggressiveClassifier: PA-I with C = 1.
        return SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, random_state=1, **settings)

    name = "Perceptron" if learner == "Perceptron" else "SGDClassifier, pa1"
    shuffled, in_order = (f"scikit-learn {name}, learning only{how}" for how in ("", ", in order"))
    return Comparison(
        f"{learner}, step_many on a matrix of 10 columns",
        "accuracy",
        [
            ours.step_many(getattr(linear_model, learner), X, y, "millstream, step_many", scored=few),
            peers.partial_fit(theirs, X, y, shuffled),
            peers.partial_fit(lambda: theirs(shuffle=False), X, y, in_order),
        ],
        {shuffled: 1, in_order: 1},
        "millstream predicts and scores every row before learning it; scikit-learn only learns",
    )


#: Workloads by their name for --only. A size of 1 is the full run.
WORKLOADS: dict[str, Callable[[float], Comparison]] = {
    "dicts-6": lambda size: dicts(size, 6),
    "dicts-10": lambda size: dicts(size, 10),
    "matrix": matrix,
    "prequential": matrix_prequential,
    "bayes": bayes,
    "pandas": lambda size: frame(size, "pandas"),
    "polars": lambda size: frame(size, "polars"),
    "arrow": lambda size: frame(size, "Arrow"),
    "csv": csv_file,
    "vw-text": vw_text,
    "margin-sparse-pa": lambda size: margin_sparse(size, "PAClassifier"),
    "margin-sparse-arow": lambda size: margin_sparse(size, "AROW"),
    "margin-dense-perceptron": lambda size: margin_dense(size, "Perceptron"),
    "margin-dense-pa": lambda size: margin_dense(size, "PAClassifier"),
    "generate": generators.random_rbf,
    "hedge": games.hedge,
    "irma": risk.irma,
    "rls": least_squares.recursive,
    "least-squares": least_squares.solved,
    "bayesian": least_squares.bayesian,
    "kernel-sgd": kernels.recursion,
    "fourier": kernels.fourier,
    **anomalies.WORKLOADS,
    **clusterers.WORKLOADS,
    **prototypes.WORKLOADS,
    **decompositions.WORKLOADS,
    **rolling.WORKLOADS,
    **scalers.WORKLOADS,
    **nearest.WORKLOADS,
    **word_counts.WORKLOADS,
    **encoders.WORKLOADS,
    **features.WORKLOADS,
    **trees.WORKLOADS,
    "adwin-one": lambda size: detectors.adwin(size, together=False),
    "adwin-many": lambda size: detectors.adwin(size, together=True),
    "reservoir-one": lambda size: samplers.reservoir(size, together=False),
    "reservoir-many": lambda size: samplers.reservoir(size, together=True),
    **sketches.WORKLOADS,
    "forest-10": lambda size: forests.adaptive_random_forest(size, 10, {"MOA, 2 threads": 10, "River": 200}),
    "forest-100": lambda size: forests.adaptive_random_forest(size, 100, {"MOA, 2 threads": 8}),
    "forest-threads": forests.threads,
    "adaptive-tree": adaptive_trees.adaptive,
    "anytime-tree": adaptive_trees.anytime,
    "number-tree": number_trees.hoeffding,
    "number-adaptive-tree": number_trees.adaptive,
    "number-forest": number_trees.adaptive_random_forest,
}


def chosen(only: list[str] | None) -> Iterator[tuple[str, Callable[[float], Comparison]]]:
    """The workloads whose name starts with one of the given names."""
    for name, make in WORKLOADS.items():
        if only is None or any(name.startswith(wanted) for wanted in only):
            yield name, make
