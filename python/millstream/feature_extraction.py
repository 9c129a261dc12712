"""Features from raw text, and from groups of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millstream import _core, _frames
from millstream._echo import quoted
from millstream._keyed import Keyed, shown_key
from millstream._native import Native
from millstream._sparse import Sparse
from millstream.base import Transformer
from millstream.errors import InvalidType, InvalidValue

if TYPE_CHECKING:
    from millstream.stream.chunk import Chunk

__all__ = ["Agg", "HashingVectorizer", "TargetAgg"]

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


class _Aggregate(Keyed, Native, Transformer):
    """What `Agg` and `TargetAgg` share."""

    @property
    def state(self) -> dict[Any, float]:
        """The statistic of each group, by its value of `by`, or by a tuple of values."""
        groups = {}
        for key, value in self.inspect()["groups"]:
            parts = tuple(shown_key(part) for part in key)
            groups[parts[0] if len(parts) == 1 else parts] = float("nan") if value is None else value
        return groups

    @property
    def feature_name(self) -> str:
        """The name of the output, such as `revenue_mean_by_place`."""
        return str(self.inspect()["output"])


def _names(by: str | int | Sequence[str | int] | None) -> Any:
    return [by] if isinstance(by, (str, int)) else by


class Agg(_Aggregate):
    """A running statistic of a feature for each group of rows, like a group-by over the stream so far.

    Choose it for features such as the mean price of a product or the number of payments of a card. Learning a row
    updates the statistic of its group; the output is the statistic of the group and nothing else. `+` combines
    several, and adds the original features by `compose.Select` or a scaler. Behind it, a learner learns a row with
    the statistic that includes the row, as in River.

    Parameters
    ----------
    on
        Name of the feature that is summarised, a number.
    by
        Name or names of the features whose values form a group; None for one group of all rows.
    how
        The statistic, of one variable: any of `millstream.stats`.
    time
        Name of the feature with the time of a row, for statistics that need it. It is read from the row, so
        that it works in a pipeline and with batches.
    max_keys
        The largest number of groups with a statistic of their own.
    when_full
        What happens to a new group beyond `max_keys`: with `"other"` it shares one statistic with all others that
        came too late; with `"evict"` it replaces the group learned least recently; with `"refuse"` its row is refused.

    Notes
    -----
    The name of the output is that of River. A statistic is missing while it is undefined (River returns 0), and so
    is the output for a row whose group is missing; such a row is not learned, nor is one whose number is missing
    (River raises an error). `state` is a dict and needs no pandas.

    Examples
    --------
    >>> from millstream import feature_extraction, stats
    >>> rows = [
    ...     {"country": "France", "place": "Taco Bell", "revenue": 42},
    ...     {"country": "Sweden", "place": "Burger King", "revenue": 16},
    ...     {"country": "France", "place": "Burger King", "revenue": 24},
    ...     {"country": "Sweden", "place": "Taco Bell", "revenue": 58},
    ... ]
    >>> agg = feature_extraction.Agg(on="revenue", by="place", how=stats.Mean())
    >>> for x in rows:
    ...     agg.learn_one(x)
    ...     print(agg.transform_one(x))
    {'revenue_mean_by_place': 42.0}
    {'revenue_mean_by_place': 16.0}
    {'revenue_mean_by_place': 20.0}
    {'revenue_mean_by_place': 50.0}
    >>> agg.state
    {'Taco Bell': 50.0, 'Burger King': 20.0}

    Several aggregates side by side:

    >>> both = agg.clone() + feature_extraction.Agg(on="revenue", by=["place", "country"], how=stats.Max())
    >>> for x in rows:
    ...     both.learn_one(x)
    >>> both.transform_one(rows[0])
    {'revenue_mean_by_place': 50.0, 'revenue_max_by_place_and_country': 42.0}
    """

    name = "feature_extraction.Agg"

    def __init__(
        self,
        on: str | int,
        by: str | int | Sequence[str | int] | None,
        how: Any,
        time: str | int | None = None,
        max_keys: int = 100_000,
        when_full: str = "other",
    ) -> None:
        super().__init__(on=on, by=_names(by), how=how, time=time, max_keys=max_keys, when_full=when_full)


class TargetAgg(_Aggregate):
    """A running statistic of the target for each group of rows.

    Choose it if the mean of `preprocessing.TargetEncoder` is not enough: a variance, a quantile, the mean of the last
    rows or of the last days, or groups by several features. The output for a row never contains its own target,
    and the target is learned when the label arrives.

    Parameters
    ----------
    by
        Name or names of the features whose values form a group; None for one group of all rows.
    how
        The statistic, of one variable: any of `millstream.stats`.
    target_name
        Name of the target in the output.
    time
        Name of the feature with the time of a row, for statistics that need it.
    max_keys
        The largest number of groups with a statistic of their own.
    when_full
        What happens to a new group beyond `max_keys`: with `"other"` it shares one statistic with all others that
        came too late; with `"evict"` it replaces the group learned least recently; with `"refuse"` its row is refused.

    Notes
    -----
    Of two classes, the first counts 0 and the second 1. A third class is refused.

    Examples
    --------
    >>> from millstream import feature_extraction, stats
    >>> agg = feature_extraction.TargetAgg(by="place", how=stats.Mean())
    >>> for place, revenue in (("cafe", 10.0), ("bar", 40.0), ("cafe", 16.0)):
    ...     print(agg.transform_one({"place": place}))
    ...     agg.learn_one({"place": place}, revenue)
    {}
    {}
    {'y_mean_by_place': 10.0}
    >>> agg.state
    {'cafe': 13.0, 'bar': 40.0}
    """

    name = "feature_extraction.TargetAgg"

    def __init__(
        self,
        by: str | int | Sequence[str | int] | None,
        how: Any,
        target_name: str = "y",
        time: str | int | None = None,
        max_keys: int = 100_000,
        when_full: str = "other",
    ) -> None:
        super().__init__(
            by=_names(by), how=how, target_name=target_name, time=time, max_keys=max_keys, when_full=when_full
        )
