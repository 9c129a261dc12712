"""Hashed word counts of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millstream import _core, _frames
from millstream._echo import quoted
from millstream._sparse import Sparse
from millstream.errors import InvalidType, InvalidValue

if TYPE_CHECKING:
    from millstream.stream.chunk import Chunk

__all__ = ["HashingVectorizer"]

_WHO = "feature_extraction.HashingVectorizer"


class HashingVectorizer:
    """Converts texts to word counts, hashed into a fixed number of columns.

    Choose it for any text: mails, tickets, titles. It is stateless and stores no words, so a model behind it has a
    fixed size, whatever the number of new words. Some words share a column; with 2¹⁸ columns and ordinary texts
    this effect is small.

    `transform_many` returns sparse rows for the `*_many` methods of models. Pass the vectorizer to
    `stream.map_chunks` to replace the text column of each chunk.

    Columns, signs and numbers are those of scikit-learn's `HashingVectorizer`, whose default is 2²⁰ columns. The
    only difference is that combining marks belong to the word here.

    Parameters
    ----------
    n_features
        Number of columns.
    ngram_range
        Smallest and largest number of consecutive words of a feature: (1, 2) for words and pairs of words.
    lowercase
        Whether to convert texts to lower case.
    binary
        Whether to count a word only once per text.
    alternate_sign
        Whether half of the words count −1, so that words in the same column cancel out on average.
    norm
        Norm by which a row is divided: `"l2"`, so that long and short texts have equal weight; `"l1"`; None for no
        normalisation.
    column
        The text column, if chunks have more than one column.

    Examples
    --------
    >>> from millstream import feature_extraction, linear_model
    >>> texts = ["win money now", "lunch at noon", "money money win", "see you at lunch"] * 20
    >>> spam = [True, False, True, False] * 20
    >>> words = feature_extraction.HashingVectorizer()
    >>> model = linear_model.LogisticRegression()
    >>> model.learn_many(words.transform_many(texts), spam)
    0
    >>> model.predict_many(words.transform_many(["win a lunch", "win some money"])).tolist()
    [False, True]

    One text as a dict:

    >>> feature_extraction.HashingVectorizer(norm=None).transform_one("Money, money!")
    {120506: -2.0}

    References
    ----------
    Weinberger, K., Dasgupta, A., Langford, J., Smola, A. and Attenberg, J. (2009). Feature hashing for large scale
    multitask learning.
    """

    def __init__(
        self,
        n_features: int = 2**18,
        ngram_range: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        binary: bool = False,
        alternate_sign: bool = True,
        norm: str | None = "l2",
        column: str | int | None = None,
    ) -> None:
        if not isinstance(n_features, int) or not 1 <= n_features <= 2**28:
            raise InvalidValue(f"{_WHO}: n_features must be in [1, 2**28], got {quoted(n_features)}")
        low, high = ngram_range
        if not 1 <= low <= high <= 16:
            raise InvalidValue(
                f"{_WHO}: ngram_range must be (low, high) with 1 <= low <= high <= 16, got {ngram_range}"
            )
        if norm not in ("l1", "l2", None):
            raise InvalidValue(f"{_WHO}: norm must be 'l1', 'l2' or None, got {quoted(norm)}")
        self.n_features, self.ngram_range, self.lowercase = n_features, (int(low), int(high)), lowercase
        self.binary, self.alternate_sign, self.norm, self.column = binary, alternate_sign, norm, column

    def transform_many(self, texts: Iterable[str]) -> Sparse:
        """A sparse row for each text."""
        if isinstance(texts, (str, bytes)):
            raise InvalidType(f"{_WHO}: texts must be a list of str, got one str")
        if hasattr(texts, "to_pylist"):
            texts = texts.to_pylist()
        starts, indices, values = _core.hash_words(
            ["" if text is None else text for text in texts],
            n_features=self.n_features,
            ngrams=self.ngram_range,
            lowercase=self.lowercase,
            binary=self.binary,
            alternate_sign=self.alternate_sign,
            norm=self.norm,
        )
        return Sparse(starts, indices, values, self.n_features)

    def transform_one(self, text: str) -> dict[int, float]:
        """The nonzero columns of one text, as a dict."""
        row = self.transform_many([text])
        return dict(zip(row.indices.tolist(), row.values.tolist(), strict=True))

    def __call__(self, chunk: Chunk) -> Chunk:
        """A chunk whose text column is replaced by sparse rows."""
        return replace(chunk, X=self.transform_many(self._texts(chunk.X)))

    def _texts(self, X: Any) -> Any:
        if isinstance(X, list):
            return [self._text(x) for x in X]
        if hasattr(X, "column_names"):
            name = self.column
            if name is None and len(X.column_names) == 1:
                name = X.column_names[0]
            if name not in X.column_names:
                raise self._absent(list(X.column_names))
            return X.column(name).to_pylist()
        return [self._text(x) for x in _frames.dicts(X)]

    def _text(self, x: Any) -> Any:
        if not isinstance(x, Mapping):
            return x
        if self.column is None and len(x) == 1:
            return next(iter(x.values()))
        if self.column not in x:
            raise self._absent(list(x))
        return x[self.column]

    def _absent(self, known: list[Any]) -> InvalidValue:
        return InvalidValue(f"{_WHO}: column must be one of {known}, got {self.column!r}")

    def __repr__(self) -> str:
        return (
            f"HashingVectorizer(n_features={self.n_features}, ngram_range={self.ngram_range}, norm={self.norm!r})"
        )
