"""Words of texts: counts, and weights by how rare a word is."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from millstream import _core
from millstream._echo import quoted
from millstream._python_loop import Features, title_of
from millstream.base import Transformer, check_example
from millstream.errors import InvalidType, InvalidValue, MillstreamError

__all__ = ["TFIDF", "BagOfWords"]

#: The words of compiled code: see `crates/millstream-core/src/text/vocabulary.rs`.
_PATTERN = r"(?u)\b\w[\w\-]+\b"

_WHEN_FULL = ("ignore", "evict")


def _is_missing(text: Any) -> bool:
    return text is None or (isinstance(text, float) and math.isnan(text)) or type(text).__name__ == "NAType"


class _Vectorizer(Transformer):
    """Base class of transformers from texts to words."""

    aliases: ClassVar[Mapping[str, str]] = {"token_pattern": "tokenizer_pattern"}
    #: A pipeline reverts the last example by `_undo`, as of native transformers.
    undoes_examples = True

    def __init__(
        self,
        on: str | int | None,
        strip_accents: bool,
        lowercase: bool,
        preprocessor: Callable[[str], str] | None,
        stop_words: Iterable[str] | None,
        tokenizer_pattern: str,
        tokenizer: Callable[[str], Iterable[str]] | None,
        ngram_range: tuple[int, int],
        max_features: int,
        when_full: str,
    ) -> None:
        self.on, self.strip_accents, self.lowercase, self.preprocessor = on, strip_accents, lowercase, preprocessor
        who = title_of(self)
        self.stop_words = _stop_words(who, stop_words)
        self.tokenizer_pattern, self.tokenizer, self.ngram_range = tokenizer_pattern, tokenizer, ngram_range
        self.max_features, self.when_full = max_features, when_full
        #: Number of texts learned.
        self.learned = 0
        if not (on is None or isinstance(on, (str, int))):
            raise InvalidType(f"{who}: on must be the name of a feature, or None, got {quoted(on)}")
        for name, flag in (("strip_accents", strip_accents), ("lowercase", lowercase)):
            if not isinstance(flag, (bool, np.bool_)):
                raise InvalidType(f"{who}: {name} must be True or False, got {quoted(flag)}")
        low, high = _pair(who, ngram_range)
        if not (isinstance(max_features, int) and 1 <= max_features <= 2**31):
            raise InvalidValue(f"{who}: max_features must be in [1, 2**31], got {quoted(max_features)}")
        if when_full not in _WHEN_FULL:
            raise InvalidValue(f"{who}: when_full must be 'ignore' or 'evict', got {quoted(when_full)}")
        for name, function in (("preprocessor", preprocessor), ("tokenizer", tokenizer)):
            if function is not None and not callable(function):
                raise InvalidType(f"{who}: {name} must be a function of a str, got {quoted(function)}")
        try:
            self._pattern = None if tokenizer_pattern == _PATTERN else re.compile(tokenizer_pattern)
        except (re.error, TypeError) as error:
            raise InvalidValue(
                f"{who}: tokenizer_pattern must be a regular expression, got {quoted(tokenizer_pattern)}: {error}"
            ) from None
        self._words = _core.Vocabulary(
            max_features=max_features,
            evicts=when_full == "evict",
            ngrams=(low, high),
            lowercase=bool(lowercase) and preprocessor is None,
            stop_words=sorted(self.stop_words or ()),
        )

    def _text(self, x: Any) -> str | list[str]:
        """The text of an example after preprocessing, or its tokens."""
        if self.on is not None and isinstance(x, Mapping):
            if self.on not in x:
                raise InvalidValue(f"{title_of(self)}: on must be one of {list(x)}, got {quoted(self.on)}")
            x = x[self.on]
        elif isinstance(x, Mapping) and len(x) == 1:
            x = next(iter(x.values()))
        if _is_missing(x):
            x = ""
        if not isinstance(x, str):
            message = "a text must be a str" if self.on is not None else "an example must be a str, or set `on`"
            raise InvalidType(f"{title_of(self)}: {message}, got {quoted(x)}")
        if self.preprocessor is not None:
            x = self.preprocessor(x)
            if not isinstance(x, str):
                raise InvalidType(f"{title_of(self)}: preprocessor must return a str, got {quoted(x)}")
        elif self.strip_accents and not x.isascii():
            x = "".join(c for c in unicodedata.normalize("NFKD", x) if not unicodedata.combining(c))
        if self.tokenizer is not None:
            return self._tokens(self.tokenizer(x.lower() if self._lowers else x))
        if self._pattern is not None:
            found = self._pattern.finditer(x.lower() if self._lowers else x)
            return [match[1] if match.lastindex else match.group() for match in found]
        text: str = x
        return text

    def _tokens(self, found: Any) -> list[str]:
        if isinstance(found, str) or not isinstance(found, Iterable):
            raise InvalidType(f"{title_of(self)}: tokenizer must return a list of str, got {quoted(found)}")
        tokens = list(found)
        if not all(isinstance(token, str) for token in tokens):
            raise InvalidType(f"{title_of(self)}: tokenizer must return a list of str, got {quoted(tokens)}")
        return tokens

    @property
    def _lowers(self) -> bool:
        return self.lowercase and self.preprocessor is None

    def learn_one(self, x: Features | str, y: Any = None, w: float = 1.0) -> None:
        """Count the words of one text. Its weight does not matter, unless it is 0."""
        check_example(self, None, w)
        if w == 0.0:
            return
        try:
            self._words.learn(self._text(x))
        except MillstreamError as error:
            raise error.by(title_of(self)) from None
        self.learned += 1

    def learn_many(self, X: Any, y: Any = None, w: Any = None, *, on_error: str = "raise") -> int:
        """Learn texts: a list, a series, or the column `on` of a frame or of dicts."""
        texts = self._texts(X)
        if y is not None and hasattr(y, "__len__") and len(y) != len(texts):
            raise InvalidValue(f"{title_of(self)}: y has {len(y)} values for {len(texts)} rows")
        if w is None and on_error == "raise":
            ready = [self._text(text) for text in texts]
            for text in ready:
                self._words.learn(text)
            self.learned += len(ready)
            return 0
        column = self.on if self.on is not None else "text"
        rows = [text if isinstance(text, Mapping) else {column: text} for text in texts]
        return super().learn_many(rows, y, w, on_error=on_error)

    def _transformed(self, text: str | list[str]) -> dict[str, Any]:
        raise NotImplementedError

    def transform_one(self, x: Features | str) -> dict[Any, Any]:
        """The words of one text."""
        try:
            return self._transformed(self._text(x))
        except MillstreamError as error:
            raise error.by(title_of(self)) from None

    def transform_many(self, X: Any) -> Any:
        """The words of texts: a list of dicts; for pandas, a sparse frame with a column per word."""
        rows = [self.transform_one(text) for text in self._texts(X)]
        if type(X).__module__.partition(".")[0] != "pandas":
            return rows
        return _sparse_frame(rows, X.index)

    def _texts(self, X: Any) -> list[Any]:
        """The texts of rows."""
        if isinstance(X, (str, bytes, Mapping)):
            raise InvalidType(f"{title_of(self)}: texts must be a list of str, got one {type(X).__name__}")
        if hasattr(X, "to_pylist") and not hasattr(X, "column_names"):
            return list(X.to_pylist())
        if hasattr(X, "columns") or hasattr(X, "column_names"):
            names = list(X.columns if hasattr(X, "columns") and not hasattr(X, "column_names") else X.column_names)
            on = names[0] if self.on is None and len(names) == 1 else self.on
            if on not in names:
                raise InvalidValue(f"{title_of(self)}: on must be one of {names}, got {quoted(self.on)}")
            column = X.column(on) if hasattr(X, "column_names") else X[on]
            return list(column.to_pylist() if hasattr(column, "to_pylist") else column)
        return list(X)

    def _undo(self) -> None:
        self._words.undo()
        self.learned -= 1

    def _state(self) -> bytes:
        return self._words.state()

    def _restore(self, state: bytes) -> None:
        self._words.restore(state)

    @property
    def vocabulary(self) -> dict[str, int]:
        """Each learned word, and the number of texts with it."""
        return self._words.words()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_words": self._words.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        words, learned = state.pop("_words"), state.pop("learned")
        fresh = {name: value for name, value in state.items() if not name.startswith("_")}
        type(self).__init__(self, **fresh)
        self._words.restore(words)
        self.learned = learned

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._words = self._words.__deepcopy__(memo)
        return copy


def _stop_words(who: str, stop_words: Any) -> frozenset[str] | None:
    if stop_words is None:
        return None
    is_list = isinstance(stop_words, Iterable) and not isinstance(stop_words, str)
    words: list[Any] = list(stop_words) if is_list else [None]
    if not all(isinstance(word, str) for word in words):
        raise InvalidType(f"{who}: stop_words must be a set of str, got {quoted(stop_words)}")
    return frozenset(words)


def _pair(who: str, ngram_range: Any) -> tuple[int, int]:
    message = f"{who}: ngram_range must be (low, high) with 1 <= low <= high <= 16, got {quoted(ngram_range)}"
    try:
        low, high = ngram_range
        if not 1 <= low <= high <= 16 or (int(low), int(high)) != (low, high):
            raise InvalidValue(message)
        return int(low), int(high)
    except (TypeError, ValueError):
        raise InvalidValue(message) from None


def _sparse_frame(rows: list[dict[str, Any]], index: Any) -> Any:
    """A pandas frame with a sparse column for each word, 0 where a row lacks it."""
    import pandas

    columns: dict[str, tuple[list[int], list[Any]]] = {}
    for row, words in enumerate(rows):
        for word, value in words.items():
            places, values = columns.setdefault(word, ([], []))
            places.append(row)
            values.append(value)

    def sparse(places: list[int], values: list[Any]) -> Any:
        dense = np.zeros(len(rows), dtype=np.asarray(values).dtype)
        dense[places] = values
        return pandas.arrays.SparseArray(dense, fill_value=0)

    return pandas.DataFrame({word: sparse(*entries) for word, entries in columns.items()}, index=index)


class BagOfWords(_Vectorizer):
    """Counts the words of a text.

    Choose it in front of learners of counts, such as naive Bayes and topic models, to see which words matter:
    features are named by their words. `HashingVectorizer` needs no memory for words and is faster.

    An example is a text, or a dict whose feature `on` is the text; its other features are not part of the output:
    add them with `BagOfWords(on="text") + compose.Drop(["text"])`.

    The vocabulary is bounded, so that a learner behind it is bounded too: after `max_features` different words,
    new ones are ignored. As a step of a pipeline it learns the words of a row after the prediction for that row.
    It is saved like other components, unless `preprocessor` or `tokenizer` is given; pickle saves all.

    Parameters
    ----------
    on
        Name of the feature that is the text; None if the example itself is a text.
    strip_accents
        Whether to remove accents.
    lowercase
        Whether to convert texts to lower case.
    preprocessor
        Function of a text that replaces the two steps above.
    stop_words
        Words to leave out.
    tokenizer_pattern
        Regular expression of a word; if it has a group, the first group is the word. The default runs compiled.
    tokenizer
        Function that splits a text into words, instead of the pattern.
    ngram_range
        Smallest and largest number of consecutive words of a feature: (1, 2) for words and pairs of words.
    max_features
        Largest number of words that are stored.
    when_full
        What happens to a new word after that: "ignore", or "evict" the least recently seen word. With "evict", the
        next learner still receives an unbounded number of new names.

    Notes
    -----
    Words and counts are those of River. Consecutive words are joined by a space, as in scikit-learn; River has
    tuples, which models here do not accept as names.

    Examples
    --------
    >>> from millstream import feature_extraction
    >>> bag = feature_extraction.BagOfWords(ngram_range=(1, 2))
    >>> bag.transform_one("Good morning, good-bye")
    {'good': 1, 'morning': 1, 'good-bye': 1, 'good morning': 1, 'morning good-bye': 1}

    In front of a learner, on a column:

    >>> from millstream import linear_model
    >>> model = feature_extraction.BagOfWords(on="title") | linear_model.LogisticRegression()
    >>> for _ in range(20):
    ...     model.learn_one({"title": "Win money now"}, True)
    ...     model.learn_one({"title": "Lunch at noon"}, False)
    >>> model.predict_one({"title": "money for lunch money"})
    True
    """

    def __init__(
        self,
        on: str | int | None = None,
        strip_accents: bool = True,
        lowercase: bool = True,
        preprocessor: Callable[[str], str] | None = None,
        stop_words: Iterable[str] | None = None,
        tokenizer_pattern: str = _PATTERN,
        tokenizer: Callable[[str], Iterable[str]] | None = None,
        ngram_range: tuple[int, int] = (1, 1),
        max_features: int = 2**20,
        when_full: str = "ignore",
    ) -> None:
        super().__init__(
            on,
            strip_accents,
            lowercase,
            preprocessor,
            stop_words,
            tokenizer_pattern,
            tokenizer,
            ngram_range,
            max_features,
            when_full,
        )

    def _transformed(self, text: str | list[str]) -> dict[str, Any]:
        return self._words.counts(text)


class TFIDF(_Vectorizer):
    """Weighs the words of a text by how rare they are in the texts so far: tf-idf.

    Choose it in front of linear learners and for similarity of texts: frequent words that say little get small
    weights. The weight of a word is its fraction of the text times ln((1 + n) / (1 + df)) + 1, with n texts so
    far, of which df have the word; then the weights are divided by their Euclidean norm.

    As a step of a pipeline, a text is weighed for the prediction before it is counted, and for the learner behind
    after it is counted, which is River's order too. `transform_one` alone counts nothing: call `learn_one` first
    if a text should count itself, as in River's examples.

    Document frequencies are bounded by `max_features`; see `BagOfWords`, which has the same parameters.

    Parameters
    ----------
    normalize
        Whether to divide the weights of a text by their Euclidean norm.
    on
        Name of the feature that is the text; None if the example itself is a text.
    strip_accents
        Whether to remove accents.
    lowercase
        Whether to convert texts to lower case.
    preprocessor
        Function of a text that replaces the two steps above.
    stop_words
        Words to leave out.
    tokenizer_pattern
        Regular expression of a word; if it has a group, the first group is the word. The default runs compiled.
    tokenizer
        Function that splits a text into words, instead of the pattern.
    ngram_range
        Smallest and largest number of consecutive words of a feature: (1, 2) for words and pairs of words.
    max_features
        Largest number of words that are stored.
    when_full
        What happens to a new word after that: "ignore", or "evict" the least recently seen word, whose document
        frequency is lost.

    Examples
    --------
    >>> from millstream import feature_extraction
    >>> tfidf = feature_extraction.TFIDF()
    >>> for text in ("This is the first document.", "This document is the second document."):
    ...     tfidf.learn_one(text)
    >>> {word: round(weight, 3) for word, weight in tfidf.transform_one("the second document").items()}
    {'the': 0.502, 'second': 0.705, 'document': 0.502}

    References
    ----------
    Salton, G. and Buckley, C. (1988). Term-weighting approaches in automatic text retrieval.
    """

    def __init__(
        self,
        normalize: bool = True,
        on: str | int | None = None,
        strip_accents: bool = True,
        lowercase: bool = True,
        preprocessor: Callable[[str], str] | None = None,
        stop_words: Iterable[str] | None = None,
        tokenizer_pattern: str = _PATTERN,
        tokenizer: Callable[[str], Iterable[str]] | None = None,
        ngram_range: tuple[int, int] = (1, 1),
        max_features: int = 2**20,
        when_full: str = "ignore",
    ) -> None:
        self.normalize = normalize
        super().__init__(
            on,
            strip_accents,
            lowercase,
            preprocessor,
            stop_words,
            tokenizer_pattern,
            tokenizer,
            ngram_range,
            max_features,
            when_full,
        )

    def _transformed(self, text: str | list[str]) -> dict[str, Any]:
        return self._words.weights(text, self.normalize)

    @property
    def n(self) -> int:
        """Number of learned texts."""
        return self._words.n

    @property
    def dfs(self) -> dict[str, int]:
        """Each learned word, and the number of texts with it."""
        return self.vocabulary
