"""Naive Bayes for words and other counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from millstream._part import forwarded
from millstream.base import Features, Label
from millstream.naive_bayes.base import Counting

__all__ = ["BernoulliNB", "ComplementNB", "MultinomialNB"]


class _Words(Counting):
    """Base class of naive Bayes models of words."""

    @property
    def n_terms(self) -> int:
        """The number of known words."""
        return int(self._numbers()["n_terms"])

    @property
    def class_totals(self) -> dict[Label, float]:
        """The weighted sum of the counts of all words of each class."""
        return {label: known["total"] for label, known in self._known(self._numbers())}

    @property
    def feature_counts(self) -> dict[str, dict[Label, float]]:
        """The count of each word in each class. A nominal value is the word `feature=value`."""
        counts: dict[str, dict[Label, float]] = {}
        for label, known in self._known(self.inspect()):
            for word, told in known["features"].items():
                counts.setdefault(word, {})[label] = told["count"]
        return counts

    @property
    def feature_log_prob(self) -> dict[Label, dict[str, float]]:
        """The logarithm of the probability of each word in each class; for `ComplementNB` its weight."""
        return {
            label: {word: told["log_probability"] for word, told in known["features"].items()}
            for label, known in self._known(self.inspect())
        }

    def p_feature_given_class(self, f: Any, c: Label) -> float:
        """The probability of a word in a class."""
        known = dict(self._known(self.inspect()))[c]
        told = known["features"].get(str(f))
        return math.exp(told["log_probability"]) if told else self._p_unknown(known)

    def joint_log_likelihood(self, x: Features) -> dict[Label, float]:
        """The logarithm of the joint probability of a row and each class. Unknown words are ignored.

        Computed in Python from `inspect()`, for study; `predict_proba_one` is faster.
        """
        counts = {f"{name}={value}" if isinstance(value, str) else str(name): value for name, value in x.items()}
        words = {
            word: 1.0 if isinstance(value, str) else float(value)
            for word, value in counts.items()
            if value is not None and value == value
        }
        return {label: self._joint(known, words) for label, known in self._known(self.inspect())}

    def _joint(self, known: dict[str, Any], words: dict[str, float]) -> float:
        features = known["features"]
        total = math.fsum(
            count * features[word]["log_probability"] for word, count in words.items() if word in features
        )
        return float(known["log_prior"]) + total

    def _p_unknown(self, known: dict[str, Any]) -> float:
        """The probability of a word that was never learned."""
        raise NotImplementedError


class MultinomialNB(_Words):
    """Naive Bayes for counts, such as those of the words of a document.

    The usual first model for text: a row holds how often each word occurs, as a dict or as a row of a sparse
    matrix. Fractions, such as TF-IDF values, work as well. Words of zero count take no time, and only words that
    were counted take memory: 8 bytes per class, plus about 8. If classes differ much in size, try
    `ComplementNB`; for short documents try `BernoulliNB`.

    The probability of a word in a class is `(count + alpha) / (total + alpha * n_terms)`, where `total` is the
    count of all words of the class, and `n_terms` is the number of known words: all names of dicts so far, or
    all columns of a matrix. New words and new classes may appear at any time. In a prediction, unknown words are
    ignored. A nominal feature is a word for each of its values, which occurs once. Missing values count as 0.
    Negative counts are refused.

    Models of parts of a stream can be merged (`merge`); the result is exact to rounding, and for whole counts and
    weights bit for bit.

    Parameters
    ----------
    alpha
        Additive smoothing: added to each count. Less than 1e-10 counts as 1e-10, so that no probability is 0.
    fit_prior
        Whether the prior probability of a class is its frequency; if false, all classes have the same.
    class_prior
        Prior probabilities of the classes, in the order of `classes`, instead of fitted ones. A class beyond
        them is refused.

    Notes
    -----
    River gives an unknown word the probability `alpha / (total + alpha * n_terms)`, so that it counts against
    classes with many words, and probabilities of words add up to more than 1. Here, as in scikit-learn, it is
    ignored. Predictions equal those of scikit-learn after the same rows, for `alpha=0` those with
    `force_alpha=False`.

    Examples
    --------
    >>> from millstream import naive_bayes
    >>> model = naive_bayes.MultinomialNB(alpha=1.0)
    >>> model.learn_one({"Chinese": 2, "Beijing": 1}, "yes")
    >>> model.learn_one({"Chinese": 2, "Shanghai": 1}, "yes")
    >>> model.learn_one({"Chinese": 1, "Macao": 1}, "yes")
    >>> model.learn_one({"Tokyo": 1, "Japan": 1, "Chinese": 1}, "no")
    >>> x = {"Chinese": 3, "Tokyo": 1, "Japan": 1}
    >>> model.predict_one(x)
    'yes'
    >>> round(model.predict_proba_one(x)["yes"], 4)
    0.6898
    >>> round(model.p_feature_given_class("Chinese", "yes"), 4)  # (5 + 1) / (8 + 6)
    0.4286

    References
    ----------
    McCallum, A. and Nigam, K. (1998). A comparison of event models for naive Bayes text classification.
    """

    name = "naive_bayes.MultinomialNB"

    @forwarded
    def __init__(
        self, alpha: float = 1.0, fit_prior: bool = True, class_prior: Sequence[float] | None = None
    ) -> None: ...

    def _p_unknown(self, known: dict[str, Any]) -> float:
        alpha = max(float(self.alpha), 1e-10)
        return alpha / float(known["total"] + alpha * max(self.n_terms, 1))


class ComplementNB(_Words):
    """Naive Bayes for counts that describes a class by all other classes.

    Choose it for text whose classes differ in size: the counts of all other classes are larger and less uneven
    than those of a small class, so weights are estimated better. Often the most accurate of the naive Bayes
    models for words.

    The weight of a word in a class is `-log((count in other classes + alpha) / (total of other classes + alpha *
    n_terms))`, and the score of a row is the sum of its counts times the weights. Words, new classes, missing,
    nominal and negative values are treated as in `MultinomialNB`, and models can be merged in the same way.

    Parameters
    ----------
    alpha
        Additive smoothing: added to each count. Less than 1e-10 counts as 1e-10.
    norm
        Whether to divide the weights of a class by the sum of their sizes, so that a class with dependent words
        has no larger weights than others. An example then costs one step per class for each of its words also
        when it is learned.

    Notes
    -----
    The model has no prior, so there is no `fit_prior` and no `class_prior`: in scikit-learn they matter only as
    long as there is one class, which then has probability 1 anyway. Predictions equal those of scikit-learn.

    Examples
    --------
    >>> from millstream import naive_bayes
    >>> model = naive_bayes.ComplementNB()
    >>> model.learn_one({"Chinese": 2, "Beijing": 1}, "yes")
    >>> model.learn_one({"Chinese": 2, "Shanghai": 1}, "yes")
    >>> model.learn_one({"Chinese": 1, "Macao": 1}, "maybe")
    >>> model.learn_one({"Tokyo": 1, "Japan": 1, "Chinese": 1}, "no")
    >>> model.predict_one({"Chinese": 1, "Shanghai": 1})
    'yes'
    >>> {label: round(p, 4) for label, p in model.predict_proba_one({"Chinese": 1, "Shanghai": 1}).items()}
    {'yes': 0.5348, 'maybe': 0.2486, 'no': 0.2166}

    References
    ----------
    Rennie, J. D. M., Shih, L., Teevan, J. and Karger, D. R. (2003). Tackling the poor assumptions of naive Bayes
    text classifiers. ICML.
    """

    name = "naive_bayes.ComplementNB"

    @forwarded
    def __init__(self, alpha: float = 1.0, norm: bool = False) -> None: ...

    def p_class(self, c: Label) -> float:
        """The fraction of the weights of a class. Predictions do not use it."""
        counts = self.class_counts
        return counts.get(c, 0.0) / sum(counts.values()) if counts else 0.0

    def p_feature_given_class(self, f: Any, c: Label) -> float:
        """The probability of a word in all classes but one."""
        told = dict(self._known(self.inspect()))
        others = [known for label, known in told.items() if label != c]
        alpha = max(float(self.alpha), 1e-10)
        count = sum(known["features"].get(str(f), {"count": 0.0})["count"] for known in others)
        total = sum(known["total"] for known in others)
        return float((count + alpha) / (total + alpha * max(self.n_terms, 1)))

    def _joint(self, known: dict[str, Any], words: dict[str, float]) -> float:
        return super()._joint({**known, "log_prior": 0.0}, words)


class BernoulliNB(_Words):
    """Naive Bayes for features that are present or absent, such as the words of a document.

    Choose it for short documents and for other sets of features: it counts in how many rows a feature is
    present, not how often, and the absence of a feature counts too. For longer documents `MultinomialNB` is
    usually better.

    The probability of a word in a class is `(rows with the word + alpha) / (rows + 2 * alpha)`. Every known word
    counts in every prediction, but a row costs time only for the words in it and, when it is learned, for the
    different counts of words in its class: these are few, unless rows have different weights. New words and new
    classes may appear at any time; in a prediction, unknown words are ignored. A nominal feature is a word for
    each of its values. Missing values are absent, and so are negative numbers.

    Models of parts of a stream can be merged (`merge`); the result is exact to rounding, and for whole weights
    bit for bit.

    Parameters
    ----------
    alpha
        Additive smoothing: added to each count. Less than 1e-10 counts as 1e-10, so that no probability is 0 or 1.
    threshold
        A number above it is present. `binarize` in scikit-learn, `true_threshold` in River; both names are
        accepted.
    fit_prior
        Whether the prior probability of a class is its frequency; if false, all classes have the same.
    class_prior
        Prior probabilities of the classes, in the order of `classes`, instead of fitted ones. A class beyond
        them is refused.

    Notes
    -----
    River adds 1e-9 to each probability; here nothing is added. Predictions equal those of scikit-learn.

    Examples
    --------
    >>> from millstream import naive_bayes
    >>> model = naive_bayes.BernoulliNB(alpha=1.0)
    >>> model.learn_one({"Chinese": 2, "Beijing": 1}, "yes")
    >>> model.learn_one({"Chinese": 2, "Shanghai": 1}, "yes")
    >>> model.learn_one({"Chinese": 1, "Macao": 1}, "yes")
    >>> model.learn_one({"Tokyo": 1, "Japan": 1, "Chinese": 1}, "no")
    >>> round(model.predict_proba_one({})["yes"], 4)
    0.8832
    >>> round(model.p_feature_given_class("Chinese", "yes"), 4)  # (3 + 1) / (3 + 2)
    0.8

    References
    ----------
    McCallum, A. and Nigam, K. (1998). A comparison of event models for naive Bayes text classification.
    """

    name = "naive_bayes.BernoulliNB"

    @forwarded
    def __init__(
        self,
        alpha: float = 1.0,
        threshold: float = 0.0,
        fit_prior: bool = True,
        class_prior: Sequence[float] | None = None,
    ) -> None: ...

    def _joint(self, known: dict[str, Any], words: dict[str, float]) -> float:
        threshold = float(self.threshold)
        alpha = max(float(self.alpha), 1e-10)
        rows = known["count"]
        terms = (
            told["log_probability"]
            if words.get(word, 0.0) > threshold
            else math.log((rows - told["count"] + alpha) / (rows + 2.0 * alpha))
            for word, told in known["features"].items()
        )
        return float(known["log_prior"]) + math.fsum(terms)

    def _p_unknown(self, known: dict[str, Any]) -> float:
        alpha = max(float(self.alpha), 1e-10)
        return alpha / float(known["count"] + 2.0 * alpha)
