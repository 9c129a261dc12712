"""The verbs of models, one class per family; a role combines the families that it has.

`hasattr(model, "transform_one")` and tab completion therefore show what a model can do. Here, verbs for many rows
call those for one row; compiled models have their own (see `_native.py`).
"""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

import numpy as np

from millstream import _frames
from millstream._answers import each_row, probabilities_of
from millstream._python_loop import Features, check_on_error, run_rows, teach
from millstream.roles import ANOMALY_DETECTOR, role_of

__all__ = [
    "FAMILIES",
    "OPTIONAL",
    "VERBS",
    "Decides",
    "Explains",
    "Learns",
    "Predicts",
    "PredictsIntervals",
    "PredictsProbabilities",
    "Scores",
    "Transforms",
]

Label: TypeAlias = bool | int | str


def _undefined(model: Any, verb: str) -> NotImplementedError:
    return NotImplementedError(f"{type(model).__name__} does not define {verb}")


@functools.cache
def _explainer() -> Any:
    """`explain.explain_one`, which imports the models."""
    from millstream.explain.one import explain_one

    return explain_one


class Learns:
    """Learns examples."""

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example."""
        raise _undefined(self, "learn_one")

    def learn_many(self, X: Any, y: Any = None, w: Any = None, *, on_error: str = "raise") -> int:
        """Learn rows one after the other, exactly as `learn_one` would.

        `X` is a NumPy matrix, a pandas, polars or Arrow frame, a SciPy sparse matrix, or an iterable of dicts.
        `on_error` defines what happens at a row that cannot be learned: with "raise" the call fails and the model
        is unchanged; with "stop" it fails and keeps the rows before; with "skip" the row is skipped. Returns the
        number of skipped rows.
        """
        check_on_error(on_error)
        _, skipped = run_rows(self, X, y, w, None, on_error)
        return skipped


class Predicts:
    """Predicts the target."""

    def predict_one(self, x: Features) -> Any:
        """Predict one example."""
        raise _undefined(self, "predict_one")

    def step_one(self, x: Features, y: Any, w: float = 1.0, *, proba: bool = False) -> Any:
        """Predict one example, then learn it. Returns the prediction."""
        predicted = self.predict_proba_one(x) if proba else self.predict_one(x)  # type: ignore[attr-defined]
        teach(self, x, y, w)
        return predicted

    def predict_many(self, X: Any) -> Any:
        """Predict rows, exactly as `predict_one` would."""
        return _frames.pack_answers(list(each_row(self.predict_one, X)))

    def step_many(self, X: Any, y: Any, w: Any = None, *, proba: bool = False, on_error: str = "raise") -> Any:
        """Predict each row, then learn it. Returns the predictions, each made before its row was learned."""
        check_on_error(on_error)
        answers, _ = run_rows(self, X, y, w, "proba" if proba else "class", on_error)
        return _frames.pack_probabilities(answers) if proba else _frames.pack_answers(answers)


class PredictsProbabilities:
    """Predicts the probability of each class."""

    def predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example."""
        raise _undefined(self, "predict_proba_one")

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities of rows: a column for each class, in the order of `classes`."""
        return _frames.pack_probabilities(list(each_row(self.predict_proba_one, X)))

    def predict_one(self, x: Features) -> Label | None:
        """The most probable class."""
        probabilities = probabilities_of(self, x)
        return max(probabilities, key=probabilities.__getitem__) if probabilities else None


class PredictsIntervals:
    """Predicts an interval around a number."""

    def predict_interval_one(self, x: Features, coverage: float = 0.9) -> tuple[float, float]:
        """Two numbers between which the target lies with probability `coverage`."""
        raise _undefined(self, "predict_interval_one")

    def predict_interval_many(self, X: Any, coverage: float = 0.9) -> Any:
        """Intervals of rows, exactly as `predict_interval_one` would: columns of lower and of upper ends."""
        rows = each_row(lambda x: self.predict_interval_one(x, coverage), X)
        return np.array(list(rows), dtype=np.float64).reshape(-1, 2)


class Scores:
    """Scores an example: the signed distance to a decision boundary, or its anomaly score."""

    def score_one(self, x: Features) -> float:
        """The score of one example."""
        raise _undefined(self, "score_one")

    def score_many(self, X: Any) -> Any:
        """Scores of rows, exactly as `score_one` would."""
        return np.array(list(each_row(self.score_one, X)), dtype=np.float64)


class Decides:
    """Decides by its score whether an example is an anomaly."""

    def classify(self, score: float) -> bool:
        """Whether a score is that of an anomaly."""
        raise _undefined(self, "classify")

    def predict_one(self, x: Features) -> bool:
        """Whether one example is an anomaly."""
        return bool(self.classify(self.score_one(x)))  # type: ignore[attr-defined]

    def predict_many(self, X: Any) -> Any:
        """Which rows are anomalies, exactly as by `predict_one`."""
        return np.array(list(each_row(self.predict_one, X)), dtype=np.bool_)


class Explains:
    """Explains its predictions."""

    def explain_one(self, x: Features, label: Any = None, **options: Any) -> Any:
        """What each feature adds to the prediction for one example.

        The features are those that the user passes, also of a pipeline. Contributions of linear models and naive
        Bayes are exact; other models have Shapley values, with standard errors if they have more than 6 features.
        `label` is the class to explain, by default the predicted one; the options are those of
        `explain.explain_one`.
        """
        return _explainer()(self, x, label, **options)

    def debug_one(self, x: Features) -> str:
        """The explanation as a string: `explain_one` under River's name."""
        return str(self.explain_one(x))


class Transforms:
    """Converts features to features."""

    def transform_one(self, x: Features) -> dict[Any, Any]:
        """Transform one example."""
        raise _undefined(self, "transform_one")

    def transform_many(self, X: Any) -> Any:
        """Transform rows, exactly as `transform_one` would."""
        return _frames.from_dicts([self.transform_one(x) for x in _frames.dicts(X)], like=X)


FAMILIES = (Learns, Predicts, PredictsProbabilities, PredictsIntervals, Scores, Decides, Transforms)
#: The names of all verbs.
VERBS = frozenset(name for family in FAMILIES for name in vars(family) if not name.startswith("_"))


class MissingVerb:
    """A verb that a model does not have: the error gives the reason, and `hasattr` is False.

    A `__getattr__` would slow every call of the verbs that it has.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, model: Any, cls: type) -> Any:
        name = self._name
        if model is None:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)
        hint = ""
        if name.startswith("predict_interval"):
            hint = "; linear_model.BayesianLinearRegression predicts intervals"
        # A role that is inferred from the verbs would ask for this one again.
        elif isinstance(getattr(model, "role", None), str) and (role := role_of(model)) is not None:
            hint = f": it is {role.phrase}"
            if role is ANOMALY_DETECTOR and name in vars(Decides):
                hint += "; anomaly.QuantileFilter turns its score into a decision"
        raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}{hint}", name=name, obj=model)


#: Verbs of only some models of a role, with the class that defines each.
OPTIONAL: dict[str, type] = {
    "score_one": Scores,
    "predict_interval_one": PredictsIntervals,
    "predict_one": Decides,
}
