"""Limits on feature names, values and labels, and strict checks of rows at prediction time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from millstream._echo import quoted
from millstream.base import Features, Transformer, check_example
from millstream.errors import InvalidState, InvalidType, InvalidValue
from millstream.registry import nearest

__all__ = ["Guard"]

_WHO = "preprocessing.Guard"

_POLICIES = ("other", "refuse")

#: Number of names in a message.
_NAMED = 4


class Guard(Transformer):
    """Bounds the feature names, nominal values and labels of a stream, and checks rows before predictions.

    Choose it as the first step of a pipeline with untrusted input: a key that is new in each row, such as a
    session id, would otherwise add a feature, value or one-hot column to the model each time. With
    `strict=True`, it also refuses to predict a row whose features differ from the learned ones: a misspelt name
    would be ignored, and a missing feature would be treated as 0.

    Models have limits of their own (100,000 feature names, 100,000 strings of a feature, 10,000 labels); these are
    smaller, and can refuse.

    The counters `dropped`, `folded` and `refused` count the features, values and examples beyond a limit.

    Parameters
    ----------
    strict
        Whether predicting a row with an unknown or absent feature is an error. A feature without a value (None or
        NaN) is allowed, as is any row before the first example.
    max_features
        Largest number of feature names.
    max_values
        Largest number of different strings of a feature.
    max_classes
        Largest number of different labels that are strings. A further label is an error under both policies.
    when_full
        Policy for names and values beyond a limit: `"other"` drops the feature or replaces the value by `other`;
        `"refuse"` raises an error and leaves the model unchanged.
    other
        String that replaces all further values of a feature.

    Examples
    --------
    >>> from millstream import linear_model, preprocessing
    >>> model = preprocessing.Guard(strict=True, max_values=2) | linear_model.LogisticRegression()
    >>> for n in range(100):
    ...     model.learn_one({"session": f"s{n}", "pages": n % 5}, n % 5 > 2)
    >>> model[0].folded, model["LogisticRegression"].features
    (98, ['session', 'pages'])
    >>> model.predict_one({"session": "s100", "pags": 4})
    Traceback (most recent call last):
    millstream.errors.InvalidValue: preprocessing.Guard: the feature 'pags' was never learned, did you mean \
'pages'?
    """

    #: A pipeline reverts the last example by `_undo`.
    undoes_examples = True

    def __init__(
        self,
        strict: bool = False,
        max_features: int = 10_000,
        max_values: int = 1_000,
        max_classes: int = 1_000,
        when_full: str = "other",
        other: str = "other",
    ) -> None:
        if not isinstance(strict, (bool, np.bool_)):
            raise InvalidType(f"{_WHO}: strict must be True or False, got {quoted(strict)}")
        for name, most in (
            ("max_features", max_features),
            ("max_values", max_values),
            ("max_classes", max_classes),
        ):
            if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
                raise InvalidValue(f"{_WHO}: {name} must be an integer >= 1, got {quoted(most)}")
        if not isinstance(when_full, str) or when_full not in _POLICIES:
            raise InvalidValue(f"{_WHO}: when_full must be 'other' or 'refuse', got {quoted(when_full)}")
        if not isinstance(other, str):
            raise InvalidType(f"{_WHO}: other must be a str, got {quoted(other)}")
        self.strict, self.when_full, self.other = bool(strict), when_full, other
        self.max_features, self.max_values, self.max_classes = int(max_features), int(max_values), int(max_classes)
        #: Number of examples learned.
        self.learned = 0
        #: Number of features that were dropped, of values that were replaced, and of examples that were refused.
        self.dropped = self.folded = self.refused = 0
        #: The known strings of each known feature.
        self._values: dict[Any, dict[str, None]] = {}
        self._labels: dict[str, None] = {}
        #: The last learned example: a pipeline transforms it next, and that is not a prediction.
        self._learning: Any = None
        self._last: tuple[list[Any], list[tuple[Any, str]], str | None, int, int] = ([], [], None, 0, 0)

    @property
    def features(self) -> list[Any]:
        """The learned features."""
        return list(self._values)

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn the names and values of one example; those beyond a limit are dropped, replaced or refused."""
        check_example(self, None, w)
        if not isinstance(x, Mapping):
            raise InvalidType(f"{_WHO}: an example must be a dict, got {type(x).__name__}")
        if w == 0.0:
            return
        names: list[Any] = []
        added: list[tuple[Any, str]] = []
        dropped = folded = 0
        for name, value in x.items():
            known = self._values.get(name)
            if known is None:
                if len(self._values) + len(names) >= self.max_features:
                    self._full("features", self.max_features, name)
                    dropped += 1
                    continue
                names.append(name)
                known = {}
            if isinstance(value, str) and value not in known:
                if len(known) >= self.max_values:
                    self._full(f"values of {quoted(name)}", self.max_values, value)
                    folded += 1
                else:
                    added.append((name, value))
        label = y if isinstance(y, str) and y not in self._labels else None
        if label is not None and len(self._labels) >= self.max_classes:
            self.refused += 1
            raise InvalidValue(
                f"{_WHO}: there are {self.max_classes:,} classes already, so {quoted(y)} is refused"
            )
        for name in names:
            self._values[name] = {}
        for name, value in added:
            self._values[name][value] = None
        if label is not None:
            self._labels[label] = None
        self.learned += 1
        self.dropped += dropped
        self.folded += folded
        self._last = (names, added, label, dropped, folded)
        self._learning = x

    def _full(self, what: str, most: int, new: Any) -> None:
        if self.when_full == "refuse":
            self.refused += 1
            raise InvalidValue(f"{_WHO}: there are {most:,} {what} already, so {quoted(new)} is refused")

    def _undo(self) -> None:
        """Revert the last example."""
        names, added, label, dropped, folded = self._last
        for name, value in added:
            self._values[name].pop(value, None)
        for name in names:
            self._values.pop(name, None)
        if label is not None:
            self._labels.pop(label, None)
        self.learned -= 1
        self.dropped -= dropped
        self.folded -= folded
        self._last = ([], [], None, 0, 0)

    def transform_one(self, x: Features) -> dict[Any, Any]:
        """The known features of one example, with further strings replaced."""
        if not isinstance(x, Mapping):
            raise InvalidType(f"{_WHO}: an example must be a dict, got {type(x).__name__}")
        if not self.learned:
            return dict(x)
        is_learning, self._learning = x is self._learning, None
        if self.strict and not is_learning and x.keys() != self._values.keys():
            self._check(x)
        made = {}
        for name, value in x.items():
            known = self._values.get(name)
            if known is None:
                continue
            if isinstance(value, str) and len(known) >= self.max_values and value not in known:
                value = self.other
            made[name] = value
        return made

    def _check(self, x: Features) -> None:
        """Refuse a row whose features differ from the learned ones, unless a limit dropped them."""
        known = self._values
        unknown = [name for name in x if name not in known]
        missing = [name for name in known if name not in x]
        if unknown and len(known) < self.max_features:
            hint = nearest(str(unknown[0]), [str(name) for name in missing or known])
            raise InvalidValue(f"{_WHO}: {_named(unknown)} never learned{hint}")
        if missing:
            raise InvalidValue(f"{_WHO}: {_named(missing)} learned but missing in the row")

    def inspect(self) -> dict[str, Any]:
        """The counters, and the number of known values by feature."""
        counters = {"dropped": self.dropped, "folded": self.folded, "refused": self.refused}
        return counters | {"values": {name: len(values) for name, values in self._values.items()}}

    def _state(self) -> bytes:
        for name in self._values:
            if not isinstance(name, (str, int)):
                raise InvalidState(f"{_WHO}: a feature name must be a str or int to be saved, got {quoted(name)}")
        values = [[name, list(known)] for name, known in self._values.items()]
        counters = [self.dropped, self.folded, self.refused]
        return json.dumps({"values": values, "labels": list(self._labels), "counters": counters}).encode()

    def _restore(self, state: bytes) -> None:
        data = json.loads(state)
        self._values = {name: dict.fromkeys(known) for name, known in data["values"]}
        self._labels = dict.fromkeys(data["labels"])
        self.dropped, self.folded, self.refused = (int(count) for count in data["counters"])
        fits = all(len(known) <= self.max_values for known in self._values.values())
        if not fits or len(self._values) > self.max_features or len(self._labels) > self.max_classes:
            raise InvalidState(f"{_WHO}: the state exceeds the limits")


def _named(names: list[Any]) -> str:
    shown = ", ".join(quoted(name) for name in names[:_NAMED]) + ", …" * (len(names) > _NAMED)
    return f"the feature {shown} was" if len(names) == 1 else f"the features {shown} were"
