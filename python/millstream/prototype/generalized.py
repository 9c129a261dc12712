"""Generalized learning vector quantization: gradient descent on relative distances, with or without relevances."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._part import forwarded
from millstream.prototype.prototypes import PrototypeClassifier

__all__ = ["GLVQ", "GMLVQ"]

_ALIASES = {"prototype_n_per_class": "n_prototypes", "activation_type": "activation"}


class GLVQ(PrototypeClassifier):
    """Generalized learning vector quantization: gradient descent on the relative distance to prototypes.

    Choose it as the first form of learning vector quantization. Each row moves the nearest prototype of its class
    towards it and the nearest prototype of the other classes away from it, down the gradient of f(μ) with the
    relative distance μ = (d1 - d2) / (d1 + d2) of the squared distances to the two. μ is in [-1, 1], and negative
    if the row is classified correctly.

    The start, missing and nominal values, and probabilities are those of `LVQ1`; of two classes, the nearer one
    has the probability (1 - μ) / 2.

    Parameters
    ----------
    n_prototypes
        Number of prototypes of each class.
    learning_rate
        Factor of the gradient. The gradient is proportional to 1 / (d1 + d2), so the best value depends on the
        scale and the number of features. A step is at most the distance between prototype and row.
    activation
        f: "identity", or "sigmoid" to let rows near the boundary count more.
    steepness
        Steepness of the sigmoid.
    max_prototypes
        Largest number of prototypes of all classes.

    Notes
    -----
    The gradient is the exact one; the paper leaves out its constant factor 4. If both distances are 0, nothing
    moves. sklvq's `GLVQ` learns from a whole data set at once, and starts at class means.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import prototype
    >>> random = np.random.default_rng(1)
    >>> y = random.integers(0, 3, 3000)
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 2.0]])[y] + random.normal(scale=0.5, size=(3000, 2))
    >>> model = prototype.GLVQ(n_prototypes=1)
    >>> predicted = model.step_many(X, y)
    >>> round(float(np.mean(predicted[1000:] == y[1000:])), 2)
    0.96

    References
    ----------
    Sato, A. and Yamada, K. (1996). Generalized learning vector quantization. NIPS 8, 423-429.
    """

    name = "prototype.GLVQ"
    aliases = _ALIASES

    @forwarded
    def __init__(
        self,
        n_prototypes: int = 3,
        learning_rate: float = 0.1,
        activation: str = "identity",
        steepness: float = 2.0,
        max_prototypes: int = 1000,
    ) -> None: ...


class GMLVQ(PrototypeClassifier):
    """Generalized matrix learning vector quantization: it learns how relevant features are.

    Choose it to learn which features, and which pairs of features, tell the classes apart, or where many features
    are noise. The distance is (x - m)ᵀ Λ (x - m) with a relevance matrix Λ = Ωᵀ Ω that is learned together with
    the prototypes m, down the gradient of the cost of `GLVQ`. The diagonal of Λ sums to 1 and has the relevance of
    each feature: `relevances`, `relevance_frame()` and `plot_relevances()`. Scale features first, or relevances
    are those of the units.

    A row takes time and memory proportional to the square of the number of features, of which there may be 2,048.
    The start, missing and nominal values, and probabilities are those of `LVQ1`.

    Parameters
    ----------
    n_prototypes
        Number of prototypes of each class.
    learning_rate
        Factor of the gradient for prototypes. A step is at most the distance between prototype and row.
    relevance_learning_rate
        Factor of the gradient for Ω, smaller than `learning_rate`; 0 to keep all features equally relevant.
    activation
        Function of the relative distance that is minimised: "identity" or "sigmoid".
    steepness
        Steepness of the sigmoid.
    max_prototypes
        Largest number of prototypes of all classes.

    Notes
    -----
    Ω starts as a multiple of the identity. After each row it is divided by a number such that the trace of Λ is 1.

    Examples
    --------
    Two features that tell the classes apart, and two of noise:

    >>> import numpy as np
    >>> from millstream import prototype
    >>> random = np.random.default_rng(1)
    >>> y = random.integers(0, 2, 3000)
    >>> X = random.normal(size=(3000, 4))
    >>> X[:, :2] += 2.0 * y[:, None]
    >>> model = prototype.GMLVQ(n_prototypes=1)
    >>> model.learn_many(X, y)
    0
    >>> sum(sorted(model.relevances.values())[:2]) < 0.1
    True

    References
    ----------
    Schneider, P., Biehl, M. and Hammer, B. (2009). Adaptive relevance matrices in learning vector quantization.
    Neural Computation, 21(12), 3532-3561.
    """

    name = "prototype.GMLVQ"
    aliases = _ALIASES

    @forwarded
    def __init__(
        self,
        n_prototypes: int = 3,
        learning_rate: float = 0.1,
        relevance_learning_rate: float = 0.003,
        activation: str = "identity",
        steepness: float = 2.0,
        max_prototypes: int = 1000,
    ) -> None: ...

    @property
    def relevances(self) -> dict[str, float]:
        """The relevance of each feature, which sum to 1; of a nominal feature, the sum over its values."""
        found = self.inspect()["relevances"]
        return {
            name: float(sum(value.values()) if isinstance(value, dict) else value) for name, value in found.items()
        }

    @property
    def relevance_matrix(self) -> Any:
        """The relevance matrix Λ by feature; nominal features have a row and a column for each value."""
        size = len(self._coordinates())
        return np.array(self.inspect().get("relevance_matrix", [])).reshape(size, size)

    def _coordinates(self) -> list[str]:
        found = self.inspect().get("coordinates", [])
        return [feature if value is None else f"{feature}={value}" for feature, value in found]

    def relevance_frame(self, kind: str | None = None) -> Any:
        """The relevance matrix as a frame of "pandas", "polars" or "pyarrow"; by default the first installed one.

        A row has the name of a feature (for nominal features "name=value"), its `relevance`, and its entries of
        the matrix in a column per feature. The most relevant feature comes first.
        """
        from millstream.evaluate.frames import frame

        names, matrix = self._coordinates(), self.relevance_matrix
        order = np.argsort(-np.diag(matrix), kind="stable") if names else np.array([], dtype=int)
        columns: dict[str, Any] = {"feature": [names[index] for index in order]}
        columns["relevance"] = [float(matrix[index, index]) for index in order]
        for index, name in enumerate(names):
            columns[f"with {name}"] = [float(number) for number in matrix[order, index]]
        return frame(columns, kind)

    def plot_relevances(self, ax: Any = None) -> Any:
        """Draw the relevance of each feature with matplotlib, the most relevant first; returns the axes."""
        try:
            import matplotlib.pyplot as pyplot
        except ImportError:
            raise ImportError("plot_relevances() needs matplotlib: pip install matplotlib") from None
        from millstream.evaluate.plot import COLOURS

        ordered = sorted(self.relevances.items(), key=lambda item: item[1])
        if ax is None:
            _, ax = pyplot.subplots(figsize=(8.0, 1.0 + 0.3 * max(len(ordered), 1)), layout="constrained")
        ax.barh([name for name, _ in ordered], [relevance for _, relevance in ordered], color=COLOURS[0])
        ax.set_xlabel("relevance")
        return ax
