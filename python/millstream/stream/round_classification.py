"""Labelled rows as rounds: a classification problem in which only the reward of one class is seen."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue
from millstream.rounds import Round

__all__ = ["from_classification"]


class ClassificationRounds:
    """Rounds of labelled rows; created by `from_classification`. Each pass draws the same actions."""

    def __init__(
        self,
        rows: Iterable[tuple[Any, Any]],
        classes: Sequence[Any] | None,
        reward: Callable[[Any, Any], float] | None,
        seed: int,
    ) -> None:
        self.rows, self.classes, self.seed = rows, None if classes is None else list(classes), seed
        self._reward = reward

    def __iter__(self) -> Iterator[Round]:
        draw = random.Random(self.seed)
        classes = list(self.classes or [])
        known = set(classes)
        for x, label in self.rows:
            if label not in known and self.classes is None:
                if label is None or label != label:
                    raise InvalidValue("stream.from_classification: a row must have a label, got none")
                known.add(label)
                # A new list: rounds keep the one they were given.
                classes = [*classes, label]
            if label not in known:
                raise InvalidValue(
                    f"stream.from_classification: the label must be one of the classes, got {quoted(label)}"
                )
            action = draw.choice(classes)
            reward = float(action == label) if self._reward is None else float(self._reward(action, label))
            yield Round(x, classes, action, 1.0 / len(classes), reward)


def from_classification(
    stream: Iterable[tuple[Any, Any]],
    classes: Sequence[Any] | None = None,
    *,
    reward: Callable[[Any, Any], float] | None = None,
    seed: int = 0,
) -> ClassificationRounds:
    """Turn labelled rows into rounds of a log: the classes are the actions, and a right one is rewarded with 1.

    The log is that of a policy which takes each class with the same probability, so that any policy with context
    can learn from it and be evaluated on it, against the truth that the labels tell.

    Parameters
    ----------
    stream
        Pairs of features and label, such as `zip(X, y)` or a data set.
    classes
        All labels. None for those of the rows so far: then early rounds have fewer actions.
    reward
        Function of the class taken and the label; None for 1 if they are equal and otherwise 0.
    seed
        Seed of the actions taken.

    Examples
    --------
    >>> from millstream import bandit, stream
    >>> rows = [({"x": -1.0}, "low"), ({"x": 1.0}, "high")] * 100
    >>> policy = bandit.LinUCB()
    >>> policy.learn_many(stream.from_classification(rows, ["low", "high"]))
    0
    >>> policy.probabilities_one({"x": 2.0}, ["low", "high"])
    {'low': 0.0, 'high': 1.0}
    """
    if classes is None:
        return ClassificationRounds(stream, None, reward, seed)
    if isinstance(classes, (str, bytes)) or not isinstance(classes, Sequence) or not classes:
        raise InvalidType(f"stream.from_classification: classes must be a list of labels, got {typed(classes)}")
    if len(set(classes)) < len(classes):
        raise InvalidValue("stream.from_classification: a class is listed twice")
    return ClassificationRounds(stream, classes, reward, seed)
