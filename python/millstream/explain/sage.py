"""Incremental SAGE (iSAGE) of Muschalik, Fumagalli, Hammer and Hüllermeier (2023).

For an example (x, y), the features become known in a random order. With the features S known, the prediction is
the mean over `n_samples` rows of the reservoir whose values in S are replaced by those of x. The reduction of
the loss when a feature becomes known is averaged with decay α (their algorithm 1), as in `permutation.py`. The
sum of all importances is the part of the loss that the features explain.

There are two departures from the paper. With no feature known, the paper uses the running mean of the
predictions. It is less noisy than a mean over few rows, so the first known feature appears to increase the loss;
here the same rows are used for all S. In addition, the squared loss of a mean over n rows is too large by the
variance over n, which is subtracted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream._echo import quoted
from millstream.errors import InvalidValue
from millstream.explain.importance import RunningImportance
from millstream.roles import CLASSIFIER

__all__ = ["SAGE"]

_MOST_SAMPLES = 100_000


class SAGE(RunningImportance):
    """Reduction of the loss of a model by each feature, as Shapley values estimated while it learns.

    Choose it over `PermutationImportance` if features carry the same information: the importance is divided among
    them, and the importances add up to the reduction of the loss by all features together. It needs `n_samples`
    predictions per feature and example.

    Parameters
    ----------
    model
        Classifier or regressor. It is not copied.
    loss
        "log" or "zero_one" for classes, "squared" or "absolute" for numbers; "auto" is "log" or "squared".
    reservoir_size
        Number of stored rows, from which the values of unknown features are drawn.
    decay
        Weight of the newest example; 0 weighs all examples equally.
    n_samples
        Number of rows over which a prediction with unknown features is averaged.
    every
        Number of examples between updates of the importances.
    max_features
        Maximum number of features with an importance; later features have none.
    seed
        Seed of the draws.

    Examples
    --------
    >>> from millstream import explain, linear_model
    >>> model = explain.SAGE(linear_model.LinearRegression(), seed=1)
    >>> for i in range(3000):
    ...     model.learn_one({"used": float(i % 7) - 3, "unused": float(i % 5)}, float(i % 7))
    >>> {name: round(value, 1) for name, value in model.importances.items()}
    {'used': 4.2, 'unused': -0.0}

    References
    ----------
    Muschalik, M., Fumagalli, F., Hammer, B. and Hüllermeier, E. (2023). iSAGE: an incremental version of SAGE for
    online explanation on data streams. ECML PKDD.
    Covert, I., Lundberg, S. and Lee, S.-I. (2020). Understanding global feature contributions with additive
    importance measures. NeurIPS.
    """

    about = "reduction of the loss by the feature"

    def __init__(
        self,
        model: Any,
        loss: str = "auto",
        *,
        reservoir_size: int = 100,
        decay: float = 0.001,
        n_samples: int = 5,
        every: int = 1,
        max_features: int = 100,
        seed: int = 0,
    ) -> None:
        if isinstance(n_samples, bool) or not isinstance(n_samples, int) or not 1 <= n_samples <= _MOST_SAMPLES:
            raise InvalidValue(
                f"explain.SAGE: n_samples must be an integer in [1, {_MOST_SAMPLES:,}], got {quoted(n_samples)}"
            )
        self.n_samples = n_samples
        super().__init__(model, loss, reservoir_size, decay, every, max_features, seed)

    def _gains(self, x: dict[Any, Any], y: Any) -> dict[Any, float]:
        whole = self._answer(x)
        if whole is None or whole == {}:
            return {}
        places = self._random.integers(len(self._rows), size=self.n_samples).tolist()
        rows = [self._rows[place] for place in places]
        names, gains = list(x), {}
        known: dict[Any, Any] = {}
        before = self._expected_loss(rows, known, y)
        for count, place in enumerate(self._random.permutation(len(names)).tolist(), 1):
            name = names[place]
            known[name] = x[name]
            after = self._loss(whole, y) if count == len(names) else self._expected_loss(rows, known, y)
            gains[name] = before - after
            before = after
        return gains

    def _expected_loss(self, rows: list[dict[Any, Any]], known: dict[Any, Any], y: Any) -> float:
        """The loss of the mean prediction if only some features are known."""
        answers = [self._answer({**row, **known}) for row in rows]
        if self.role is CLASSIFIER:
            labels = dict.fromkeys(label for answer in answers for label in answer)
            mean = {label: sum(answer.get(label, 0.0) for answer in answers) / len(answers) for label in labels}
            return self._loss(mean, y)
        numbers = np.array([float(answer or 0.0) for answer in answers])
        excess = numbers.var(ddof=1) / len(numbers) if self.loss == "squared" and len(numbers) > 1 else 0.0
        return self._loss(float(numbers.mean()), y) - float(excess)
