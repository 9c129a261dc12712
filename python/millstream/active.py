"""Active learning: a model decides which labels it needs.

    query = model.query_one(x)
    if query.wanted:
        model.learn_one(x, label_of(x), probability=query.probability)

Labels are queried with a probability and learned with its inverse as weight, so that the weighted loss is unbiased
whatever the probabilities.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any, NamedTuple

from millstream._answers import probabilities_of
from millstream._echo import typed
from millstream._examples import check_example
from millstream._other_names import unknown_name
from millstream._part import shown_part
from millstream.base import Classifier, Features, Label, Model
from millstream.compose.reduction import Reduction
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import CLASSIFIER, role_of

__all__ = ["ImportanceWeighted", "Query"]

_WHO = "active.ImportanceWeighted"


class Query(NamedTuple):
    """Whether the label of an example is wanted."""

    wanted: bool
    #: The probability with which it is wanted, to be passed to `learn_one`.
    probability: float


class ImportanceWeighted(Reduction, Classifier):
    """Importance-weighted active learning: queries labels at random and weights them by inverse probability.

    A committee of `n_models` copies of the classifier learns the labelled examples, each copy with random weights,
    so that the copies differ where labels are few. The query probability is `min_probability + (1
    - min_probability) * d`, where d is the largest difference of two copies in the loss of any label. Where the
    copies agree, few labels are queried. The predicting classifier learns a label with weight 1 / probability,
    which makes the weighted errors unbiased. Uncertainty sampling has no such guarantee and can stay wrong
    indefinitely.

    In an evaluation, where all labels are given, call `learn_one` without a probability: the model then decides
    whether to use the label, and counts the labels used in `queried`.

    Parameters
    ----------
    model
        Classifier: any native model or pipeline, or your own classifier in Python. It is cloned.
    n_models
        Number of copies in the committee.
    min_probability
        Smallest query probability; labels have a weight of at most its inverse.
    seed
        Seed of the queries and of the weights in the committee.

    Examples
    --------
    >>> from millstream import active, linear_model
    >>> model = active.ImportanceWeighted(linear_model.LogisticRegression(), seed=1)
    >>> for index in range(2000):
    ...     x = {"a": (index * 37 % 100) / 50 - 1, "b": (index * 61 % 100) / 50 - 1}
    ...     model.learn_one(x, x["a"] + x["b"] > 0)
    >>> model.queried < 500, model.predict_one({"a": 0.5, "b": 0.1}), model.predict_one({"a": -0.5, "b": 0.1})
    (True, True, False)

    References
    ----------
    Beygelzimer, A., Dasgupta, S. and Langford, J. (2009). Importance weighted active learning; the committee is
    the bootstrap instantiation of section 7.
    """

    aliases = {"classifier": "model"}

    def __init__(self, model: Any, n_models: int = 10, min_probability: float = 0.05, seed: int = 0) -> None:
        if isinstance(model, type) or not isinstance(model, Model) or role_of(model) is not CLASSIFIER:
            raise InvalidType(f"{_WHO}: model must be a classifier, got {shown_part(model)}")
        for what, number, least in (("n_models", n_models, 2), ("seed", seed, 0)):
            if isinstance(number, bool) or not isinstance(number, int):
                raise InvalidType(f"{_WHO}: {what} must be an integer >= {least}, got {typed(number)}")
            if number < least:
                raise InvalidValue(f"{_WHO}: {what} must be an integer >= {least}, got {number}")
        self.min_probability = _probability("min_probability", min_probability)
        self.n_models, self.seed = n_models, seed
        #: The classifier that predicts.
        self.model: Any = model.clone()
        #: The committee.
        self.members: list[Any] = [model.clone() for _ in range(n_models)]
        #: The classes so far, in the order of their first example.
        self.classes: list[Label] = []
        #: The number of labels that were learned.
        self.queried = 0
        #: The number of examples that were offered with a label.
        self.seen = 0
        self._draw = random.Random(seed)
        self._start()

    def query_probability_one(self, x: Features) -> float:
        """The probability with which the label of an example is wanted; changes nothing."""
        if not self.classes:
            return 1.0
        # The loss of a label is 1 minus its probability.
        found = [probabilities_of(member, x) for member in self.members]
        spread = 0.0
        for label in self.classes:
            votes = [probabilities.get(label, 0.0) for probabilities in found]
            spread = max(spread, max(votes) - min(votes))
        # A class that is alone says nothing about others.
        spread = 1.0 if len(self.classes) < 2 else min(spread, 1.0)
        return self.min_probability + (1.0 - self.min_probability) * spread

    def query_one(self, x: Features) -> Query:
        """Decide whether the label of an example is wanted."""
        probability = self.query_probability_one(x)
        return Query(self._draw.random() < probability, probability)

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0, *, probability: float | None = None) -> None:
        """Learn an example whose label was queried with this probability.

        Without a probability, the model decides whether it uses the label.
        """
        check_example(_WHO, self.role, y, w)
        if probability is not None:
            probability = _probability("probability", probability)
        if w == 0.0:
            return
        state = self._draw.getstate()
        try:
            if probability is None:
                query = self.query_one(x)
                if not query.wanted:
                    self.seen += 1
                    return
                probability = query.probability
            weight = w / probability
            lessons = [(self.model, x, y, weight)]
            for member in self.members:
                copies = _poisson(self._draw)
                if copies:
                    lessons.append((member, x, y, weight * copies))
            self._teach(lessons)
        except BaseException:
            self._draw.setstate(state)
            raise
        if y not in self.classes:
            self.classes.append(y)
        self.queried += 1
        self.seen += 1

    def predict_one(self, x: Features) -> Label | None:
        """Predict one example."""
        return self.model.predict_one(x)  # type: ignore[no-any-return]

    def predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example."""
        return self.model.predict_proba_one(x)  # type: ignore[no-any-return]

    def predict_many(self, X: Any) -> Any:
        """Predict rows, exactly as `predict_one` would."""
        return self.model.predict_many(X)

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities of rows."""
        return self.model.predict_proba_many(X)


def _probability(what: str, given: Any) -> float:
    if isinstance(given, (bool, str, bytes)) or not hasattr(given, "__float__"):
        raise InvalidType(f"{_WHO}: {what} must be a number in (0, 1], got {typed(given)}")
    number = float(given)
    if not 0.0 < number <= 1.0:
        raise InvalidValue(f"{_WHO}: {what} must be in (0, 1], got {number}")
    return number


def _poisson(draw: random.Random) -> int:
    """The number of copies of an example in a bootstrap sample: Poisson with mean 1, by inversion (Knuth)."""
    count, product, limit = 0, draw.random(), math.exp(-1.0)
    while product > limit:
        count += 1
        product *= draw.random()
    return count


if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
