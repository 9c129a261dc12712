"""Incremental permutation feature importance (iPFI) of Fumagalli, Muschalik, Hüllermeier and Hammer (2023).

For an example (x, y), each feature j in turn gets the value of a row from the reservoir; the increase of the loss,
λ_j = loss(h(x with x_j replaced), y) − loss(h(x), y) (their equation 3), is averaged with decay α:
φ_j ← (1 − α) φ_j + α λ_j (equation 5). Until 1/α examples, φ is the plain mean.
"""

from __future__ import annotations

from typing import Any

from millstream.explain.importance import RunningImportance

__all__ = ["PermutationImportance"]


class PermutationImportance(RunningImportance):
    """Increase of the loss of a model without each feature, estimated while it learns.

    Choose it for any classifier or regressor, to monitor which features the model uses. It needs one
    prediction per feature and example; `every` reduces this cost. Features with the same information may each seem
    unimportant; `SAGE` divides the importance among them.

    Parameters
    ----------
    model
        Classifier or regressor. It is not copied.
    loss
        "log" or "zero_one" for classes, "squared" or "absolute" for numbers; "auto" is "log" or "squared".
    reservoir_size
        Number of stored rows, from which replaced values are drawn.
    decay
        Weight of the newest example; 0 weighs all examples equally.
    every
        Number of examples between updates of the importances.
    max_features
        Maximum number of features with an importance; later features have none.
    seed
        Seed of the draws.

    Examples
    --------
    >>> from millstream import explain, linear_model
    >>> model = explain.PermutationImportance(linear_model.LogisticRegression(), seed=1)
    >>> for i in range(3000):
    ...     model.learn_one({"used": float(i % 7) - 3, "unused": float(i % 5)}, i % 7 > 3)
    >>> {name: round(value, 2) for name, value in model.importances.items()}
    {'used': 2.09, 'unused': -0.0}

    References
    ----------
    Fumagalli, F., Muschalik, M., Hüllermeier, E. and Hammer, B. (2023). Incremental permutation feature importance
    (iPFI): towards online explanations on data streams. Machine Learning 112.
    """

    about = "increase of the loss without the feature"

    def __init__(
        self,
        model: Any,
        loss: str = "auto",
        *,
        reservoir_size: int = 100,
        decay: float = 0.001,
        every: int = 1,
        max_features: int = 100,
        seed: int = 0,
    ) -> None:
        super().__init__(model, loss, reservoir_size, decay, every, max_features, seed)

    def _gains(self, x: dict[Any, Any], y: Any) -> dict[Any, float]:
        answer = self._answer(x)
        if answer is None or answer == {}:
            return {}
        own = self._loss(answer, y)
        gains = {}
        for name in x:
            row = self._rows[int(self._random.integers(len(self._rows)))]
            other = dict(x)
            if name in row:
                other[name] = row[name]
            else:
                del other[name]
            gains[name] = self._loss(self._answer(other), y) - own
        return gains
