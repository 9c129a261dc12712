"""Built-in losses of a prediction ⟨w, x⟩: squared, absolute, hinge, logistic, and the log loss of a portfolio."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.errors import InvalidValue
from millstream.oco.losses import Losses, MarginLoss
from millstream.oco.vectors import Array, matrix, vector

__all__ = ["Absolute", "Hinge", "Log", "Logistic", "Squared"]


def _signs(who: str, y: Array) -> None:
    if not np.isin(y, (-1.0, 1.0)).all():
        raise InvalidValue(f"{who}: y must be -1 or 1, got {y[~np.isin(y, (-1.0, 1.0))][0]:g}")


class Squared(MarginLoss):
    """Squared loss (⟨w, x⟩ − y)²: online least squares.

    Parameters
    ----------
    x
        the features
    y
        the target

    Examples
    --------
    >>> from millstream import oco
    >>> oco.Squared([1.0, 2.0], 3.0).gradient([0.0, 0.0]).tolist()
    [-6.0, -12.0]
    """

    curve = "square"

    @staticmethod
    def phi(margin: Array, y: Array) -> Array:
        return np.square(margin - y)

    @staticmethod
    def slope(margin: Array, y: Array) -> Array:
        return np.asarray(2.0 * (margin - y))


class Absolute(MarginLoss):
    """Absolute loss |⟨w, x⟩ − y|: regression that is robust to outliers.

    Parameters
    ----------
    x
        the features
    y
        the target

    Examples
    --------
    >>> from millstream import oco
    >>> oco.Absolute([1.0, 2.0], 3.0).value([0.0, 0.0])
    3.0
    """

    smooth, curve = False, "kink"

    @staticmethod
    def phi(margin: Array, y: Array) -> Array:
        return np.abs(margin - y)

    @staticmethod
    def slope(margin: Array, y: Array) -> Array:
        return np.sign(margin - y)

    @classmethod
    def rounded(cls, margin: Array, y: Array, width: float) -> tuple[Array, Array]:
        # Huber's function, lowered by no more than width / 2.
        away = margin - y
        inner = np.clip(away, -width, width)
        return inner * (away - inner / 2) / width, inner / width

    @classmethod
    def pieces(cls, y: Array) -> tuple[Array, Array, Array]:
        return y, np.full(len(y), -1.0), np.full(len(y), 2.0)

    @classmethod
    def below(cls, margin: Array, slope: Array, y: Array) -> Array:
        return np.asarray(slope * (margin - y))


class Hinge(MarginLoss):
    """Hinge loss max(0, 1 − y ⟨w, x⟩) for a class y of −1 or 1, the loss of support vector machines.

    Parameters
    ----------
    x
        the features
    y
        the class, −1 or 1

    Examples
    --------
    >>> from millstream import oco
    >>> oco.Hinge([1.0, 2.0], -1).gradient([0.0, 0.0]).tolist()
    [1.0, 2.0]
    """

    smooth, curve = False, "kink"

    @classmethod
    def _check(cls, y: Array) -> None:
        _signs("oco.Hinge", y)

    @staticmethod
    def phi(margin: Array, y: Array) -> Array:
        return np.maximum(0.0, 1.0 - y * margin)

    @staticmethod
    def slope(margin: Array, y: Array) -> Array:
        return np.where(y * margin < 1.0, -y, 0.0)

    @classmethod
    def rounded(cls, margin: Array, y: Array, width: float) -> tuple[Array, Array]:
        lack = np.maximum(0.0, 1.0 - y * margin)
        inner = np.minimum(lack, width)
        return inner * (lack - inner / 2) / width, -y * inner / width

    @classmethod
    def pieces(cls, y: Array) -> tuple[Array, Array, Array]:
        return y, np.minimum(-y, 0.0), np.ones(len(y))

    @classmethod
    def below(cls, margin: Array, slope: Array, y: Array) -> Array:
        return np.asarray(-y * slope * (1.0 - y * margin))


class Logistic(MarginLoss):
    """Logistic loss log(1 + exp(−y ⟨w, x⟩)) for a class y of −1 or 1: online logistic regression.

    Parameters
    ----------
    x
        the features
    y
        the class, −1 or 1

    Examples
    --------
    >>> from millstream import oco
    >>> round(oco.Logistic([1.0, 2.0], 1).value([0.0, 0.0]), 4)
    0.6931
    """

    curve, constant = "softplus", 4.0

    @classmethod
    def _check(cls, y: Array) -> None:
        _signs("oco.Logistic", y)

    @staticmethod
    def phi(margin: Array, y: Array) -> Array:
        return np.logaddexp(0.0, -y * margin)

    @staticmethod
    def slope(margin: Array, y: Array) -> Array:
        return np.asarray(-y * np.exp(-np.logaddexp(0.0, y * margin)))

    @classmethod
    def pieces(cls, y: Array) -> tuple[Array, Array, Array]:
        return np.zeros(len(y)), np.minimum(-y, 0.0), np.ones(len(y))

    @classmethod
    def below(cls, margin: Array, slope: Array, y: Array) -> Array:
        # log(1 + exp(r)) ≥ α r + H(α), where H is the entropy of a coin that shows heads with probability α.
        alpha = -y * slope
        rest = 1.0 - alpha
        entropy = -alpha * np.log(np.where(alpha > 0, alpha, 1.0)) - rest * np.log(np.where(rest > 0, rest, 1.0))
        return np.asarray(entropy - alpha * y * margin)


class Log(MarginLoss):
    """Log loss −log ⟨w, r⟩ of a portfolio w: minus the log of the growth of wealth if prices change by factors r.

    It is 1-exp-concave: exp(−loss) = ⟨w, r⟩ is linear. It is infinite unless ⟨w, r⟩ is positive, so a portfolio
    must have weight on an asset with a positive factor.

    Parameters
    ----------
    returns
        the factor by which the price of each asset changed, at least 0 and not all 0

    Examples
    --------
    >>> from millstream import oco
    >>> round(oco.Log([2.0, 0.5]).value([0.5, 0.5]), 4)
    -0.2231
    """

    curve, constant, nonnegative = "logarithm", 1.0, False

    def __init__(self, returns: Any) -> None:
        super().__init__(returns, 0.0)
        _returns(self.x[None])

    @staticmethod
    def phi(margin: Array, y: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(margin > 0, -np.log(margin), np.inf)

    @staticmethod
    def slope(margin: Array, y: Array) -> Array:
        with np.errstate(divide="ignore", over="ignore"):
            return -1.0 / np.maximum(margin, 0.0)

    @classmethod
    def pieces(cls, y: Array) -> tuple[Array, Array, Array]:
        return np.zeros(len(y)), np.zeros(len(y)), np.full(len(y), np.inf)

    @classmethod
    def allowed(cls, slope: Array, y: Array) -> Array:
        return np.minimum(slope, 0.0)

    @classmethod
    def below(cls, margin: Array, slope: Array, y: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(slope < 0, slope * margin + 1.0 + np.log(-slope), -np.inf)

    @classmethod
    def many(cls, returns: Any, y: None = None) -> Losses:
        """A sequence of such losses from a matrix of rounds by assets."""
        rows = matrix("oco.Log", "returns", returns)
        _returns(rows)
        return Losses(cls, rows)

    def __repr__(self) -> str:
        return f"Log({self.x.tolist()})"


def _returns(rows: Array) -> None:
    wrong = (rows < 0).any(axis=1) | ~(rows > 0).any(axis=1)
    if wrong.any():
        row = vector("oco.Log", "returns", rows[wrong][0])
        raise InvalidValue(f"oco.Log: returns must be at least 0 and not all 0, got {row.tolist()}")
