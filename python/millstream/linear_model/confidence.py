"""Classifiers that keep the uncertainty of each weight."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.linear_model.weights import MarginClassifier

__all__ = ["AROW", "CW", "SCW", "Ellipsoid", "GaussianHerding"]


class CW(MarginClassifier):
    """Confidence-weighted learning: the smallest change that is correct with a given probability.

    Each weight has a variance. Weights of rare features take large steps and weights of frequent features small
    ones, so rare words of a text are learned at once. It treats every label as correct; for noisy labels use `SCW`
    or `AROW`.

    Parameters
    ----------
    confidence
        Probability with which each example should be classified correctly after its update; above 0.5.
    full
        Whether to keep the full covariance matrix, for up to a few thousand features and nominal values, instead
        of its diagonal, which costs no more than the features present in an example.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1.

    Examples
    --------
    A word that occurs once has a larger weight than one that occurs in every mail.

    >>> from millstream import linear_model
    >>> mails = [("cheap pills now", True), ("see you now", False), ("flights now", False), ("pills now", True)]
    >>> model = linear_model.CW()
    >>> for mail, spam in mails:
    ...     model.learn_one(dict.fromkeys(mail.split(), 1.0), spam)
    >>> abs(model.weights["flights"]) > abs(model.weights["now"])
    True

    References
    ----------
    Dredze, M., Crammer, K. and Pereira, F. (2008). Confidence-weighted linear classification. ICML.
    Crammer, K., Dredze, M. and Pereira, F. (2008). Exact convex confidence-weighted learning. NIPS.
    """

    name = "linear_model.CW"

    @forwarded
    def __init__(self, confidence: float = 0.9, full: bool = False, intercept: bool = True) -> None: ...


class SCW(MarginClassifier):
    """Soft confidence-weighted learning: confidence-weighted and robust to label noise.

    Choose it over `CW` for noisy labels: `C` bounds the influence of a single example. A sample weight multiplies
    `C`.

    Parameters
    ----------
    confidence
        Probability with which each example should be classified correctly after its update; above 0.5.
    C
        Aggressiveness: the maximum step per example.
    mode
        Variant: 1 for SCW-I with steps up to `C`, 2 for SCW-II with softened steps.
    full
        Whether to keep the full covariance matrix, for up to a few thousand features and nominal values, instead
        of its diagonal, which costs no more than the features present in an example.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1.

    Examples
    --------
    A single contradicting label changes the prediction of `CW`, but not that of `SCW`.

    >>> from millstream import linear_model
    >>> models = {"CW": linear_model.CW(intercept=False), "SCW": linear_model.SCW(C=0.1, intercept=False)}
    >>> for name, model in models.items():
    ...     for y in [True] * 20 + [False]:
    ...         model.learn_one({"x": 1.0}, y)
    ...     print(name, model.predict_one({"x": 1.0}))
    CW False
    SCW True

    References
    ----------
    Wang, J., Zhao, P. and Hoi, S. C. H. (2012). Exact soft confidence-weighted learning. ICML.
    """

    name = "linear_model.SCW"

    @forwarded
    def __init__(
        self, confidence: float = 0.9, C: float = 1.0, mode: int = 1, full: bool = False, intercept: bool = True
    ) -> None: ...


class AROW(MarginClassifier):
    """Adaptive regularisation of weights: large steps for rare features, robust to label noise.

    A good first choice among linear classifiers, above all for sparse rows: it needs no scaling of single features
    and hardly any tuning. The steps of a weight shrink as its feature occurs more often, so it adapts slowly to
    drift.

    Parameters
    ----------
    r
        Noise level of the examples; larger values give smaller steps. A sample weight divides it.
    full
        Whether to keep the full covariance matrix, for up to a few thousand features and nominal values, instead
        of its diagonal, which costs no more than the features present in an example.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1.

    Examples
    --------
    >>> from millstream import linear_model
    >>> mails = [("cheap pills now", True), ("see you now", False), ("flights now", False), ("pills now", True)]
    >>> model = linear_model.AROW()
    >>> for mail, spam in mails:
    ...     model.learn_one(dict.fromkeys(mail.split(), 1.0), spam)
    >>> max(model.weights, key=model.weights.get)
    'pills'
    >>> model.predict_one({"pills": 1.0, "tomorrow": 1.0})
    True

    References
    ----------
    Crammer, K., Kulesza, A. and Dredze, M. (2009). Adaptive regularization of weight vectors. NIPS.
    """

    name = "linear_model.AROW"

    @forwarded
    def __init__(self, r: float = 1.0, full: bool = False, intercept: bool = True) -> None: ...


class GaussianHerding(MarginClassifier):
    """Gaussian herding (NHERD): a distribution of weight vectors, each changed as little as possible.

    Like `AROW`, with steps that shrink faster for examples of large variance.

    Parameters
    ----------
    C
        Aggressiveness: the maximum step per example.
    full
        Whether to keep the full covariance matrix, for up to a few thousand features and nominal values, instead
        of its diagonal, which costs no more than the features present in an example.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.GaussianHerding()
    >>> for hour, late in [(7, False), (18, True), (9, False), (20, True)] * 5:
    ...     model.learn_one({"hour": hour / 12 - 1, "carrier": "WN" if late else "UA"}, late)
    >>> model.predict_one({"hour": 0.5, "carrier": "WN"})
    True

    References
    ----------
    Crammer, K. and Lee, D. D. (2010). Learning via Gaussian herding. NIPS.
    """

    name = "linear_model.GaussianHerding"

    @forwarded
    def __init__(self, C: float = 1.0, full: bool = False, intercept: bool = True) -> None: ...


class Ellipsoid(MarginClassifier):
    """Ellipsoid method: each mistake cuts the set of hypotheses consistent with all examples so far.

    An ellipsoid contains these hypotheses, and its centre makes the predictions. A mistake removes the hypotheses
    that make the same mistake; the smallest ellipsoid around the rest is the next one. Choose it for linearly
    separable data: it makes few mistakes there, whatever the scale of the features. It is not robust to noise:
    every wrong label removes good hypotheses, and after many cuts the model hardly changes. Use `AROW` or `SCW`
    for noisy labels. The size of a sample weight above 0 has no effect.

    Parameters
    ----------
    mode
        Variant: 1 for CELLIP, the classical method; 2 for IELLIP, which gives the example a margin of 1, keeps
        adapting, and shrinks the ellipsoid less with each mistake.
    depth
        For CELLIP: maximum depth of a cut, from 0 (centre) to 1 (edge). From 1 on no hypothesis is consistent with
        all examples; deeper cuts are limited to `depth`. 0 always halves the ellipsoid.
    c
        For IELLIP: shrinkage of the ellipsoid at the first mistake.
    b
        For IELLIP: decay factor of `c` per mistake.
    full
        Whether the ellipsoid is a full matrix, for up to a few thousand features and nominal values, instead of a
        diagonal, which costs no more than the features present in an example.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1.

    Examples
    --------
    Mistakes on separable data with features of very different scales.

    >>> import numpy as np
    >>> from millstream import linear_model
    >>> X = np.random.default_rng(1).uniform(-1, 1, size=(500, 2)) * [1.0, 1000.0]
    >>> y = X @ [1.0, 0.001] > 0.2
    >>> for model in (linear_model.Ellipsoid(full=True), linear_model.Perceptron()):
    ...     print(type(model).__name__, int(np.sum(model.step_many(X, y) != y)))
    Ellipsoid 28
    Perceptron 166

    References
    ----------
    Yang, L., Jin, R. and Ye, J. (2009). Online learning by ellipsoid method. ICML.
    Bland, R. G., Goldfarb, D. and Todd, M. J. (1981). The ellipsoid method: a survey. Operations Research 29.
    """

    name = "linear_model.Ellipsoid"

    @forwarded
    def __init__(
        self,
        mode: int = 1,
        depth: float = 0.5,
        c: float = 0.1,
        b: float = 0.3,
        full: bool = False,
        intercept: bool = True,
    ) -> None: ...
