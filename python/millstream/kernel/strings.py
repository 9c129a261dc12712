"""A kernel on strings."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from millstream import _core
from millstream._echo import quoted
from millstream.base import Features
from millstream.errors import InvalidType, InvalidValue
from millstream.kernel.kernels import Kernel

__all__ = ["String"]

#: Number of strings whose norm in the feature space is cached.
_REMEMBERED = 10_000


class String(Kernel):
    """String kernel: substrings or subsequences that two strings have in common, for one string feature.

    "spectrum" counts common substrings of `length` characters; it is fast and suits words, names and codes.
    "subsequence" counts common subsequences of `length` characters, with gaps, and weights that fall with the
    length that they span. It is slower (the product of both lengths) and tolerates insertions and typing errors.

    `KernelSGD`, `KernelRLS` and `Nystroem` accept it. They then store the strings of their points and run in
    Python around this native kernel, because a native learner sees only the codes of known strings. Such a model
    is saved by pickle. For long texts with many words, `feature_extraction.HashingVectorizer` and a linear learner
    are faster.

    Parameters
    ----------
    length
        Length of a piece, in characters.
    pieces
        Pieces to count: "spectrum" for substrings, "subsequence" for subsequences with gaps.
    decay
        For "subsequence": weight per character that a piece spans, gaps included.
    normalized
        Whether to normalise, `k(s, t) / sqrt(k(s, s) k(t, t))`, so that the values do not grow with the length of
        the strings.
    feature
        Name of the string feature; None for the only string feature of a row. Other features are ignored.

    Examples
    --------
    >>> from millstream import kernel
    >>> round(kernel.String(length=2)("online", "offline"), 4)
    0.5477
    >>> round(kernel.String(length=2, pieces="subsequence")("cat", "cart"), 4)
    0.574
    >>> model = kernel.KernelSGD(kernel.String(length=2))
    >>> for mail, spam in [("win money now", True), ("meeting at noon", False), ("easy money", True)]:
    ...     model.learn_one({"mail": mail}, spam)
    >>> model.predict_one({"mail": "more money"}), model.predict_one({"mail": "no meeting"})
    (True, False)

    References
    ----------
    Leslie, C., Eskin, E. and Noble, W. S. (2002). The spectrum kernel: a string kernel for SVM protein
    classification.
    Lodhi, H., Saunders, C., Shawe-Taylor, J., Cristianini, N. and Watkins, C. (2002). Text classification using
    string kernels.
    """

    name = "kernel.String"

    def __init__(
        self,
        length: int = 3,
        pieces: str = "spectrum",
        decay: float = 0.5,
        normalized: bool = True,
        feature: str | None = None,
    ) -> None:
        super().__init__(length=length, pieces=pieces, decay=decay, normalized=normalized, feature=feature)
        self._selves: dict[str, float] = {}

    def __call__(self, a: Any, b: Any) -> Any:
        if isinstance(a, str):
            row = self.row(a, [b] if isinstance(b, str) else list(b))
            return float(row[0]) if isinstance(b, str) else row
        return np.array([self(text, b) for text in a])

    def row(self, x: str, points: list[str]) -> Any:
        """The kernel between a string and each of several strings."""
        if bad := [text for text in (x, *points) if not isinstance(text, str)]:
            raise InvalidType(f"{self.name}: takes strings, got {quoted(bad[0])}")
        values = _core.texts(json.dumps(self.describe()), x, points)
        if self.normalized and points:
            lengths = np.array([self._itself(text) for text in points]) * self._itself(x)
            values = np.divide(values, np.sqrt(lengths), out=np.zeros(len(points)), where=lengths > 0.0)
        return values

    def _itself(self, text: str) -> float:
        if text not in self._selves:
            if len(self._selves) >= _REMEMBERED:
                self._selves.clear()
            self._selves[text] = float(_core.texts(json.dumps(self.describe()), text, [text])[0])
        return self._selves[text]

    def read(self, x: Features) -> str:
        """The string of an example; empty if it is missing."""
        if self.feature is not None:
            value = x.get(self.feature)
        else:
            texts = {name: value for name, value in x.items() if isinstance(value, str)}
            if len(texts) > 1:
                names = ", ".join(map(repr, texts))
                raise InvalidValue(f"more than one feature is a string ({names}); name one: feature=…")
            value = next(iter(texts.values()), None)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return ""
        if not isinstance(value, str):
            raise InvalidType(f"feature {quoted(self.feature)} must be a string, got {quoted(value)}")
        return value
