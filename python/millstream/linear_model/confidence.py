"""Classifiers that know how sure they are of each weight."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.linear_model.planes import Margin

__all__ = ["AROW", "CW", "SCW", "Ellipsoid", "GaussianHerding"]


class CW(Margin):
    """Confidence-weighted learning: the smallest change that is right with a given probability.

    Each weight has a variance: what was seen seldom moves far, what was seen often little, so rare words of texts
    are learned at once. It believes every label; on noisy ones `SCW` and `AROW` are better.

    Parameters
    ----------
    eta
        The probability with which an example shall be classified rightly after it was learned, above 0.5.
    full
        Whether the covariance is a full matrix, for up to a few thousand features and nominal values, or a
        diagonal, which costs no more than the features that an example has.
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.CW()
    >>> for hour, late in [(7, False), (18, True), (9, False), (20, True)] * 5:
    ...     model.learn_one({"hour": hour / 12 - 1, "carrier": "WN" if late else "UA"}, late)
    >>> model.predict_one({"hour": 0.5, "carrier": "WN"})
    True

    References
    ----------
    Dredze, M., Crammer, K. and Pereira, F. (2008). Confidence-weighted linear classification. ICML.
    Crammer, K., Dredze, M. and Pereira, F. (2008). Exact convex confidence-weighted learning. NIPS.
    """

    name = "linear_model.CW"

    @forwarded
    def __init__(self, eta: float = 0.9, full: bool = False, intercept: bool = True) -> None: ...


class SCW(Margin):
    """Soft confidence-weighted learning: confidence-weighted, and not thrown off by noise.

    Choose it like `CW`, for labels that may be wrong: `C` bounds what one example can do. A sample weight
    multiplies `C`.

    Parameters
    ----------
    eta
        The probability with which an example shall be classified rightly after it was learned, above 0.5.
    C
        How much an example may move the weights.
    mode
        1 for SCW-I, whose steps are held to `C`; 2 for SCW-II, whose steps are softened.
    full
        Whether the covariance is a full matrix, for up to a few thousand features and nominal values, or a
        diagonal, which costs no more than the features that an example has.
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.SCW(C=0.5)
    >>> for hour, late in [(7, False), (18, True), (9, False), (20, True)] * 5:
    ...     model.learn_one({"hour": hour / 12 - 1, "carrier": "WN" if late else "UA"}, late)
    >>> model.predict_one({"hour": 0.5, "carrier": "WN"})
    True

    References
    ----------
    Wang, J., Zhao, P. and Hoi, S. C. H. (2012). Exact soft confidence-weighted learning. ICML.
    """

    name = "linear_model.SCW"

    @forwarded
    def __init__(
        self, eta: float = 0.9, C: float = 1.0, mode: int = 1, full: bool = False, intercept: bool = True
    ) -> None: ...


class AROW(Margin):
    """Adaptive regularisation of weights: rare features take large steps, and noise does little harm.

    A good first choice among linear classifiers, above all for sparse rows: it needs no scaling of single features
    and hardly any tuning. Steps shrink as a feature is seen more often, so it follows drift slowly.

    Parameters
    ----------
    r
        How noisy examples are taken to be: the larger, the smaller the steps. A sample weight divides it.
    full
        Whether the covariance is a full matrix, for up to a few thousand features and nominal values, or a
        diagonal, which costs no more than the features that an example has.
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.AROW()
    >>> for hour, late in [(7, False), (18, True), (9, False), (20, True)] * 5:
    ...     model.learn_one({"hour": hour / 12 - 1, "carrier": "WN" if late else "UA"}, late)
    >>> model.predict_one({"hour": 0.5, "carrier": "WN"})
    True

    References
    ----------
    Crammer, K., Kulesza, A. and Dredze, M. (2009). Adaptive regularization of weight vectors. NIPS.
    """

    name = "linear_model.AROW"

    @forwarded
    def __init__(self, r: float = 1.0, full: bool = False, intercept: bool = True) -> None: ...


class GaussianHerding(Margin):
    """Gaussian herding: a cloud of weight vectors, each moved as little as it must.

    Like `AROW`, with steps that shrink faster the further an example reaches. In the literature: NHERD.

    Parameters
    ----------
    C
        How much an example may move the weights.
    full
        Whether the covariance is a full matrix, for up to a few thousand features and nominal values, or a
        diagonal, which costs no more than the features that an example has.
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1.

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


class Ellipsoid(Margin):
    """The ellipsoid method: each mistake cuts the set of hypotheses that agree with all examples so far.

    An ellipsoid holds these hypotheses, and predictions are made with its centre. A mistake cuts away the
    hypotheses that make it too, and the smallest ellipsoid around the rest is the next one. Choose it for data
    that a plane can separate: it makes few mistakes there, however badly the features are scaled. It has no
    answer to noise: every wrong label cuts away good hypotheses, and after many cuts it hardly moves. `AROW`
    and `SCW` are for noisy labels. A sample weight above 0 changes nothing: a cut is made or not.

    Parameters
    ----------
    mode
        1 for CELLIP, the classical method; 2 for IELLIP, which steps until the example has a margin of 1, so that
        it keeps moving, and narrows the ellipsoid less and less.
    depth
        How deep a cut of CELLIP may be, from 0 at the centre to 1 at the edge. From 1 on no hypothesis agrees with
        all examples; deeper cuts are held to this. 0 always halves the ellipsoid.
    c
        How much the first mistake narrows the ellipsoid, for IELLIP.
    b
        By what factor that falls at each mistake, for IELLIP.
    full
        Whether the ellipsoid is a full matrix, for up to a few thousand features and nominal values, or a
        diagonal, which costs no more than the features that an example has.
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.Ellipsoid()
    >>> for hour, late in [(7, False), (18, True), (9, False), (20, True)] * 5:
    ...     model.learn_one({"hour": hour / 12 - 1, "carrier": "WN" if late else "UA"}, late)
    >>> model.predict_one({"hour": 0.5, "carrier": "WN"})
    True

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
