"""A model that learns sampled rows only."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream import _frames
from millstream._answers import probabilities_of
from millstream._part import shown_part, unlearned_copy
from millstream._python_loop import check_on_error, run_rows, teach
from millstream.base import Features, Label, Wrapper
from millstream.errors import InvalidType, MillstreamError
from millstream.roles import STEPS, one_of, role_of
from millstream.sampling.base import Sampler
from millstream.stream.chunk import take

__all__ = ["Sampled"]


class Sampled(Wrapper):
    """A model that learns only the rows that a sampler keeps, and predicts all rows. `sampler | model` makes one.

    The sampler must decide by the row alone, as `ByKey` does: then a model learns all rows of some users, and
    another one the rows of the others. The rows that enter a reservoir are no sample of the stream, because early
    rows enter more often; such samplers are refused.

    Parameters
    ----------
    sampler
        A sampler that decides by the row alone: `ByKey`. It stores no rows here.
    model
        The model or pipeline behind it.

    Examples
    --------
    >>> from millstream import linear_model, sampling
    >>> model = sampling.ByKey(0.5, "user") | linear_model.LinearRegression()
    >>> for user in range(100):
    ...     model.learn_one({"user": user}, user / 100)
    >>> model.learned
    39
    """

    name = "sampling.Sampled"

    def __init__(self, sampler: Sampler, model: Any) -> None:
        if not isinstance(sampler, Sampler):
            raise InvalidType(f"{self.name}: sampler must be a sampler, got {shown_part(sampler)}")
        if type(sampler).keeps_one is Sampler.keeps_one:
            sampler.keeps_one({})
        if isinstance(model, type) or role_of(model) not in STEPS:
            raise InvalidType(f"{self.name}: model must be {one_of(STEPS)}, got {shown_part(model)}")
        self.sampler = sampler.clone()
        self.model = model
        self._wrap(model)

    @property
    def parameters(self) -> dict[str, Any]:
        """The given parameters."""
        return {"sampler": self.sampler, "model": self.model}

    def describe(self) -> dict[str, Any]:
        raise InvalidType(
            f"{self.name}: a sampled model has no description; its sampler and its model have one, or use pickle"
        )

    def clone(self, **changes: Any) -> Any:
        """A model that has learned nothing, with the same parameters except for `changes`."""
        given = {"sampler": self.sampler.clone(), "model": unlearned_copy(self.model), **changes}
        return Sampled(**given)

    @property
    def learned(self) -> int:
        """Number of examples that the model has learned."""
        return int(self.model.learned)

    @property
    def classes(self) -> list[Label]:
        """The classes that the model has learned."""
        return list(getattr(self.model, "classes", ()))

    def __or__(self, other: Any) -> Any:
        return Sampled(self.sampler, self.model | other)

    def __repr__(self) -> str:
        return f"{self.sampler!r} | {self.model!r}"

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example if it is in the sample."""
        if self.sampler.keeps_one(x):
            teach(self.model, x, y, w)

    def learn_many(self, X: Any, y: Any = None, w: Any = None, *, on_error: str = "raise") -> int:
        """Learn the examples that are in the sample, with the same result as `learn_one` one by one."""
        check_on_error(on_error)
        if not isinstance(X, np.ndarray) and _frames._library(X) not in ("pandas", "polars", "pyarrow"):
            return run_rows(self, X, y, w, None, on_error)[1]
        chosen = np.flatnonzero(self.sampler.keeps_many(X))
        try:
            return int(self.model.learn_many(*(_take(part, chosen) for part in (X, y, w)), on_error=on_error))
        except MillstreamError as error:
            if error.row is None:
                raise
            # The model counts the rows of the sample.
            given = type(error)(str(error).removeprefix(f"row {error.row}: "))
            given.at_row(int(chosen[error.row]))
            raise given from None

    def _predict_one(self, x: Features) -> Any:
        """Predict one example."""
        return self.model.predict_one(x)

    def _predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example."""
        return probabilities_of(self.model, x)

    def _predict_interval_one(self, x: Features, coverage: float = 0.9) -> tuple[float, float]:
        """Two numbers between which the target lies with probability `coverage`."""
        lower, upper = self.model.predict_interval_one(x, coverage)
        return float(lower), float(upper)

    def _score_one(self, x: Features) -> float:
        """The anomaly score of one example."""
        return float(self.model.score_one(x))

    def _transform_one(self, x: Features) -> dict[Any, Any]:
        """Transform one example."""
        return dict(self.model.transform_one(x))


def _take(column: Any, indices: Any) -> Any:
    return None if column is None else take(column, indices)
