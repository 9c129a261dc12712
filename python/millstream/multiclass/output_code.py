"""Output codes: a fixed number of binary classifiers, each of which separates two sets of classes."""

from __future__ import annotations

import math
import random
from typing import Any

from millstream._echo import typed
from millstream.base import Features, Label
from millstream.compose.reduction import Lesson
from millstream.errors import InvalidType, InvalidValue
from millstream.multiclass.members import BinaryReduction
from millstream.multiclass.one_vs_rest import vote

__all__ = ["OutputCode", "OutputCodeClassifier"]

#: Codes that are drawn for a new class; the one farthest from all others is taken.
_DRAWN = 32
#: No member is so sure that its error alone decides.
_LEAST = 0.01


class OutputCode(BinaryReduction):
    """Error-correcting output codes: multiclass classification with a fixed number of binary classifiers.

    Each class has a code of random bits, one per member, and a member learns its bit of the class of an example.
    The predicted class is the one whose code best fits the members' predictions, which corrects errors of a few
    members. The cost does not depend on the number of classes: choose it for hundreds of classes, with about `10 *
    log2(classes)` members. With few classes, `OneVsRest` is better.

    Parameters
    ----------
    model
        Classifier of a bit: any native model or pipeline, or your own classifier in Python, which is cloned for
        each member. An example that a member refuses leaves all members unchanged.
    code_size
        Number of members. River has the same parameter; in scikit-learn, it is a multiple of the number of
        classes, which a stream does not know.
    seed
        Seed of the codes. A class gets its code with its first example.

    Examples
    --------
    >>> from millstream import linear_model, multiclass
    >>> model = multiclass.OutputCode(linear_model.LogisticRegression("adaptive"), code_size=20)
    >>> for index in range(500):
    ...     model.learn_one({f"word {index % 50}": 1.0}, f"topic {index % 50}")
    >>> model.predict_one({"word 2": 1.0}), model.predict_one({"word 42": 1.0})
    ('topic 2', 'topic 42')

    References
    ----------
    Dietterich, T. G. and Bakiri, G. (1995). Solving multiclass learning problems via error-correcting output
    codes.
    """

    aliases = {"classifier": "model", "estimator": "model", "random_state": "seed"}
    _who = "multiclass.OutputCode"

    def __init__(self, model: Any, code_size: int = 15, seed: int = 0) -> None:
        self._check_model(model)
        for what, number, least in (("code_size", code_size, 1), ("seed", seed, 0)):
            if isinstance(number, bool) or not isinstance(number, int):
                raise InvalidType(f"{self._who}: {what} must be an integer >= {least}, got {typed(number)}")
            if number < least:
                raise InvalidValue(f"{self._who}: {what} must be an integer >= {least}, got {number}")
        self.model, self.code_size, self.seed = model, code_size, seed
        #: The code of each class: bit i is for member i.
        self.codes: dict[Label, int] = {}
        #: The members, by bit.
        self.members: list[Any] = [model.clone() for _ in range(code_size)]
        self._start()

    @property
    def classes(self) -> list[Label]:  # type: ignore[override]
        """The classes so far, in the order of their first example."""
        return list(self.codes)

    def _admit(self, y: Label) -> None:
        # By the place of the class, so that a class that is removed and added again gets the same code.
        draw = random.Random(f"{self.seed} {len(self.codes)}")
        drawn = [draw.getrandbits(self.code_size) for _ in range(_DRAWN)]
        known = self.codes.values()
        self.codes[y] = max(
            drawn, key=lambda code: min(((code ^ other).bit_count() for other in known), default=0)
        )

    def _remove(self, y: Label) -> None:
        del self.codes[y]

    def _lessons(self, x: Features, y: Label, w: float) -> list[Lesson]:
        code = self.codes[y]
        return [(member, x, bool(code >> bit & 1), w) for bit, member in enumerate(self.members)]

    def predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example: by the likelihood of its code."""
        if not self.codes:
            return {}
        votes = [min(max(vote(member, x), _LEAST), 1.0 - _LEAST) for member in self.members]
        ones, zeros = [math.log(p) for p in votes], [math.log(1.0 - p) for p in votes]
        fits = {
            label: sum(ones[bit] if code >> bit & 1 else zeros[bit] for bit in range(self.code_size))
            for label, code in self.codes.items()
        }
        best = max(fits.values())
        shares = {label: math.exp(fit - best) for label, fit in fits.items()}
        total = sum(shares.values())
        return {label: share / total for label, share in shares.items()}


#: The name in River and scikit-learn.
OutputCodeClassifier = OutputCode
