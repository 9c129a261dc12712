"""Hashed word counts of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millstream import _core, _frames
from millstream._echo import quoted
from millstream._python_loop import Features
from millstream._sparse import Sparse
from millstream.base import Transformer
from millstream.errors import InvalidType, InvalidValue
from millstream.stream.feature_names import FeatureNames, names_limit

if TYPE_CHECKING:
    from millstream.stream.chunk import Chunk

__all__ = ["HashingVectorizer"]

_WHO = "feature_extraction.HashingVectorizer"


class HashingVectorizer(Transformer):
    """Converts texts to word counts, hashed into a fixed number of columns.

    Choose it for any text: mails, tickets, titles. It is stateless and stores no words, so a model behind it has a
    fixed size, whatever the number of new words. Some words share a column; with 2¹⁸ columns and ordinary texts
    this effect is small.

    It is a step of a pipeline, also in the notation: `"HashingVectorizer(on='title') | LogisticRegression"`. Other
    features of a row are not part of the output: add them with `HashingVectorizer(on="title") +
    compose.Drop(["title"])`. `transform_many` returns sparse rows for the `*_many` methods of models. Pass the
    vectorizer to `stream.map_chunks` to replace the text column of each chunk, which is fastest.

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
    on
        Name of the text feature, if rows have more than one feature. `column` is its former name.
    names
        True to collect the words of columns in `feature_names`, up to 64 MiB, or the maximum number of bytes.
        Models that learn the rows then name their weights by words, and `feature_names.collisions` lists the words
        that share a column. Vectorizing takes several times as long.

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

    With names, weights are those of words:

    >>> words = feature_extraction.HashingVectorizer(names=True)
    >>> model = linear_model.LogisticRegression()
    >>> model.learn_many(words.transform_many(texts), spam)
    0
    >>> sorted(model.weights)
    ['at', 'lunch', 'money', 'noon', 'now', 'see', 'win', 'you']

    References
    ----------
    Weinberger, K., Dasgupta, A., Langford, J., Smola, A. and Attenberg, J. (2009). Feature hashing for large scale
    multitask learning.
    """

    #: Nothing is learned, so there is nothing to revert.
    undoes_examples = True

    def __init__(
        self,
        n_features: int = 2**18,
        ngram_range: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        binary: bool = False,
        alternate_sign: bool = True,
        norm: str | None = "l2",
        on: str | int | None = None,
        names: bool | int = False,
        *,
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
        self.binary, self.alternate_sign, self.norm = binary, alternate_sign, norm
        if on is not None and column is not None:
            raise InvalidType(f"{_WHO}: column is the former name of on; pass on only")
        self.on = column if on is None else on
        limit = names_limit(_WHO, names)
        #: The words of the columns so far, with `names`.
        self.feature_names = None if limit is None else FeatureNames(limit)

    def transform_many(self, texts: Any) -> Sparse:
        """A sparse row for each text, or for the text of each row of a frame or of dicts."""
        if isinstance(texts, (str, bytes)):
            raise InvalidType(f"{_WHO}: texts must be a list of str, got one str")
        if hasattr(texts, "columns") or hasattr(texts, "column_names") or _has_dicts(texts):
            texts = self._texts(texts)
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
            names=None if self.feature_names is None else self.feature_names._core,
        )
        rows = Sparse(starts, indices, values, self.n_features)
        if self.feature_names is not None:
            object.__setattr__(rows, "feature_names", self.feature_names)
        return rows

    def transform_one(self, x: Features | str) -> dict[Any, Any]:
        """The nonzero columns of one text, as a dict."""
        text = self._text(x)
        if text is not None and not isinstance(text, str) and text == text:
            raise InvalidType(f"{_WHO}: a text must be a str, got {quoted(text)}")
        row = self.transform_many([text if isinstance(text, str) else None])
        return dict(zip(row.indices.tolist(), row.values.tolist(), strict=True))

    def _undo(self) -> None:
        """Revert the last example."""

    def __call__(self, chunk: Chunk) -> Chunk:
        """A chunk whose text column is replaced by sparse rows."""
        return replace(chunk, X=self.transform_many(self._texts(chunk.X)))

    def _texts(self, X: Any) -> Any:
        if isinstance(X, list):
            return [self._text(x) for x in X]
        if hasattr(X, "column_names"):
            name = self.on
            if name is None and len(X.column_names) == 1:
                name = X.column_names[0]
            if name not in X.column_names:
                raise self._absent(list(X.column_names))
            return X.column(name).to_pylist()
        return [self._text(x) for x in _frames.dicts(X)]

    def _text(self, x: Any) -> Any:
        if not isinstance(x, Mapping):
            return x
        if self.on is None and len(x) == 1:
            return next(iter(x.values()))
        if self.on not in x:
            raise self._absent(list(x))
        return x[self.on]

    def _absent(self, known: list[Any]) -> InvalidValue:
        return InvalidValue(f"{_WHO}: on must be one of {known}, got {self.on!r}")


def _has_dicts(texts: Any) -> bool:
    return isinstance(texts, Sequence) and bool(texts) and isinstance(texts[0], Mapping)
