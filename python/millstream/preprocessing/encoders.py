"""Encoders: they turn nominal features into numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream._key_counts import KeyCounts
from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Transformer

__all__ = ["CountEncoder", "OneHotEncoder", "OrdinalEncoder", "TargetEncoder"]


class OneHotEncoder(Native, Transformer):
    """Encodes each value of a nominal feature as an indicator: 1 if the row has it, otherwise 0.

    The value `UA` of `carrier` becomes the feature `carrier_UA`. Numbers pass through, unlike in River,
    which encodes them too: convert codes that are not quantities to strings first. Learners of millstream accept
    nominal features directly; choose an encoder in front of a scaler or of a model of another library, or to
    inspect the weight of each value.

    Output features are in the order in which values are learned. A value that was never learned, like a
    missing one, gives zeros. Memory grows with the number of distinct values.

    Parameters
    ----------
    drop_zeros
        Whether to omit zeros from the output.
    drop_first
        Whether to omit the indicator of the first value of each feature, which the others determine.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> encoder = preprocessing.OneHotEncoder()
    >>> for x in ({"carrier": "UA", "distance": 3.0}, {"carrier": "DL", "distance": 4.0}):
    ...     encoder.learn_one(x)
    >>> encoder.transform_one({"carrier": "DL", "distance": 5.0})
    {'carrier_UA': 0.0, 'distance': 5.0, 'carrier_DL': 1.0}
    """

    name = "preprocessing.OneHotEncoder"
    unsupported = {
        "categories": "categories are learned; put compose.Select or a filter of rows in front",
    }

    @forwarded
    def __init__(self, drop_zeros: bool = False, drop_first: bool = False) -> None: ...


class OrdinalEncoder(KeyCounts, Native, Transformer):
    """Encodes each value of a nominal feature as a whole number, in order of arrival.

    Choose it for models that need numbers and split by thresholds, such as trees of another library. The order of
    the numbers has no meaning, so it does not suit linear models, scalers and distances: `OneHotEncoder`,
    `TargetEncoder` and `CountEncoder` do.

    Parameters
    ----------
    features
        Names of the features to encode; None for all nominal ones. Other features pass through.
    unknown_value
        Number of a value that was never learned; None for a missing value.
    none_value
        Number of a missing value; None to keep it missing.
    max_keys
        The largest number of values of a feature with a number of their own.
    when_full
        What happens to a new value beyond `max_keys`: with `"other"` it gets the number of all others that came
        too late; with `"evict"` it takes over the number of the value learned least recently; with `"refuse"` its
        row is refused.

    Notes
    -----
    The first number is 1, because 0 stands for values that were never learned, as in River. River encodes
    numbers too; here they pass through unless `features` names them. Pass whole numbers beyond 2⁵³ as strings: as
    numbers, neighbours could not be distinguished.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> encoder = preprocessing.OrdinalEncoder()
    >>> for place in ("Taco Bell", None, "Burger King", "Burger King", "Starbucks"):
    ...     print(encoder.transform_one({"place": place}))
    ...     encoder.learn_one({"place": place})
    {'place': 0.0}
    {'place': -1.0}
    {'place': 0.0}
    {'place': 2.0}
    {'place': 0.0}
    >>> encoder.values
    {'place': {'Taco Bell': 1, 'Burger King': 2, 'Starbucks': 3}}
    """

    name = "preprocessing.OrdinalEncoder"
    unsupported = {"categories": "categories are learned; put compose.Select or a filter of rows in front"}

    @forwarded
    def __init__(
        self,
        features: Sequence[str | int] | None = None,
        unknown_value: int | None = 0,
        none_value: int | None = -1,
        max_keys: int = 100_000,
        when_full: str = "other",
    ) -> None: ...

    @property
    def values(self) -> dict[str | int, dict[Any, int]]:
        """The number of each value, by feature."""
        return self._by_feature()


class CountEncoder(KeyCounts, Native, Transformer):
    """Encodes each value of a nominal feature as the number of rows that have it, or as their share.

    Choose it if rare and frequent values behave differently, as users, addresses and devices often do, and for
    features with very many values: one number replaces them, and a new value is simply rare. It needs no target.
    Values that are equally frequent get the same number; `TargetEncoder` distinguishes them.

    A missing value counts as a value of its own. A value that was never learned is 0.

    Parameters
    ----------
    features
        Names of the features to encode; None for all nominal ones. Other features pass through.
    normalize
        Whether to write the fraction of rows instead of their number. Numbers grow without bound, fractions do
        not: choose fractions in front of a learner without a scaler.
    max_keys
        The largest number of values of a feature with a count of their own.
    when_full
        What happens to a new value beyond `max_keys`: with `"other"` it shares one count with all others that came
        too late; with `"evict"` it replaces the value learned least recently, whose count is lost; with `"refuse"`
        its row is refused.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> encoder = preprocessing.CountEncoder(normalize=True)
    >>> for device in ("phone", "laptop", "phone", "phone"):
    ...     encoder.learn_one({"device": device, "price": 3.0})
    >>> encoder.transform_one({"device": "phone", "price": 3.0})
    {'device': 0.75, 'price': 3.0}
    >>> encoder.transform_one({"device": "watch", "price": 3.0})
    {'device': 0.0, 'price': 3.0}
    """

    name = "preprocessing.CountEncoder"

    @forwarded
    def __init__(
        self,
        features: Sequence[str | int] | None = None,
        normalize: bool = False,
        max_keys: int = 100_000,
        when_full: str = "other",
    ) -> None: ...

    @property
    def counts(self) -> dict[str | int, dict[Any, float]]:
        """The number or share of rows of each value, by feature."""
        return self._by_feature()


class TargetEncoder(KeyCounts, Native, Transformer):
    """Encodes each value of a nominal feature as the mean target of its rows, shrunk towards the mean of all rows.

    Choose it for features with many values, such as users, products and postcodes, in front of a learner of
    numbers: one column replaces thousands of indicators, and a value that was never learned gets the mean of all
    rows.

    The encoding of a row never contains its own target, neither when it is predicted nor when the learner behind
    the encoder learns it. It is learned when the label arrives, also with late labels
    (`evaluate.prequential(delay=...)`). Before the first target the encoding is missing.

    Targets are the numbers or classes of the learner behind it, or the `y` of `learn_one`, where strings and bools
    are
    classes. With two classes the encoding is the probability of the second one. With more classes there is a
    column for each class but the first, whose encoding follows from the others.

    Parameters
    ----------
    features
        Names of the features to encode; None for all nominal ones. Other features pass through.
    smooth
        Weight of the mean of all targets, as a number of rows: 0 for none, large numbers for rare values with
        noisy targets. `"auto"` estimates it for each value from the variances of targets (empirical Bayes); it
        does not shrink values whose targets do not vary, in particular not those of a single row.
    max_keys
        The largest number of values of a feature with an encoding of their own.
    when_full
        What happens to a new value beyond `max_keys`: with `"other"` it shares one encoding with all others that
        came too late; with `"evict"` it replaces the value learned least recently, whose targets are forgotten;
        with `"refuse"` its row is refused.

    Notes
    -----
    After all rows, encodings are those of scikit-learn's `TargetEncoder` after `fit`, except that scikit-learn
    has a column for the first of several classes too. scikit-learn needs cross-fitting to keep the target of a
    row out of its encoding; here the order of the stream does that. A missing value is a value of its own, as in
    scikit-learn. Pass whole numbers beyond 2⁵³ as strings: as numbers, neighbours could not be distinguished.

    Examples
    --------
    >>> from millstream import linear_model, preprocessing
    >>> encoder = preprocessing.TargetEncoder(smooth=2.0)
    >>> for place, revenue in (("cafe", 10.0), ("bar", 40.0), ("cafe", 16.0)):
    ...     encoder.learn_one({"place": place}, revenue)
    >>> encoder.transform_one({"place": "cafe"})
    {'place': 17.5}
    >>> encoder.transform_one({"place": "museum"})
    {'place': 22.0}
    >>> encoder.encodings
    {'place': {'cafe': 17.5, 'bar': 28.0}}

    In front of a learner:

    >>> model = preprocessing.TargetEncoder(smooth=2.0) | linear_model.LogisticRegression()
    >>> for place, late in (("cafe", False), ("bar", True), ("cafe", False)):
    ...     model.learn_one({"place": place}, late)

    References
    ----------
    Micci-Barreca, D. (2001). A preprocessing scheme for high-cardinality categorical attributes in classification
    and prediction problems.
    """

    name = "preprocessing.TargetEncoder"
    unsupported = {
        "categories": "values are learned",
        "target_type": "the learner behind the encoder determines it",
        "cv": "each row is encoded before its target is learned",
    }

    @forwarded
    def __init__(
        self,
        features: Sequence[str | int] | None = None,
        smooth: float | str = "auto",
        max_keys: int = 100_000,
        when_full: str = "other",
    ) -> None: ...

    @property
    def encodings(self) -> dict[str | int, dict[Any, Any]]:
        """The encoding of each value, by feature; a list for more than two classes."""
        return self._by_feature()

    @property
    def target_mean(self) -> Any:
        """The mean of all targets, which encodes a value that was never learned; None before the first."""
        return self._numbers()["target_mean"]
