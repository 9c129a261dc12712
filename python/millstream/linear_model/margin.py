"""Classifiers that step along an example when its margin is too small."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.linear_model.planes import Margin

__all__ = ["ALMA", "ROMMA", "SVM", "PAClassifier", "Perceptron"]


class Perceptron(Margin):
    """The perceptron: a step along each example that is classified wrongly.

    The oldest of them, and a good first baseline: it has nothing to tune. Its steps do not shrink, so on noisy
    data it never settles; `PAClassifier` and `AROW` do better there.

    Parameters
    ----------
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.Perceptron()
    >>> for hour, late in [(7, False), (18, True), (9, False), (20, True)] * 5:
    ...     model.learn_one({"hour": hour / 12 - 1, "carrier": "WN" if late else "UA"}, late)
    >>> model.predict_one({"hour": 0.5, "carrier": "WN"})
    True

    References
    ----------
    Rosenblatt, F. (1958). The perceptron: a probabilistic model. Psychological Review 65.
    """

    name = "linear_model.Perceptron"

    @forwarded
    def __init__(self, intercept: bool = True) -> None: ...


class PAClassifier(Margin):
    """Passive-aggressive classification: the smallest change that gives each example a margin of 1.

    Choose it for a stream with little noise that drifts: its steps do not shrink with time. `C` bounds how far one
    example, which may be mislabelled, can pull. A sample weight multiplies `C`. Parameters are those of River.

    Parameters
    ----------
    C
        How much an example may move the weights.
    mode
        0 for PA, which always goes all the way; 1 for PA-I, whose steps are held to `C`; 2 for PA-II, whose steps
        are softened.
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.PAClassifier(C=0.1)
    >>> for hour, late in [(7, False), (18, True), (9, False), (20, True)] * 5:
    ...     model.learn_one({"hour": hour / 12 - 1, "carrier": "WN" if late else "UA"}, late)
    >>> model.predict_one({"hour": 0.5, "carrier": "WN"})
    True

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y. (2006). Online passive-aggressive
    algorithms. Journal of Machine Learning Research 7.
    """

    name = "linear_model.PAClassifier"
    aliases = {"learn_intercept": "intercept"}

    @forwarded
    def __init__(self, C: float = 1.0, mode: int = 1, intercept: bool = True) -> None: ...


class SVM(Margin):
    """A linear support vector machine by steps down the hinge loss.

    With `method="osd"` steps shrink as 1 / √t, whatever the data: a good choice without tuning. With "pegasos"
    weights are pulled to 0 by `l2` and steps shrink as 1 / (l2 t): it comes to the solution of the batch, after
    about 1 / `l2` examples, and is wild before.

    Parameters
    ----------
    method
        "osd" (online subgradient descent) or "pegasos".
    l2
        Pull of weights towards 0, for pegasos.
    learning_rate
        The size of the first step, for osd.
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.SVM()
    >>> for hour, late in [(7, False), (18, True), (9, False), (20, True)] * 5:
    ...     model.learn_one({"hour": hour / 12 - 1, "carrier": "WN" if late else "UA"}, late)
    >>> model.predict_one({"hour": 0.5, "carrier": "WN"})
    True

    References
    ----------
    Shalev-Shwartz, S., Singer, Y., Srebro, N. and Cotter, A. (2011). Pegasos: primal estimated sub-gradient solver
    for SVM. Mathematical Programming 127.
    Zinkevich, M. (2003). Online convex programming and generalized infinitesimal gradient ascent. ICML.
    """

    name = "linear_model.SVM"

    @forwarded
    def __init__(
        self, method: str = "osd", l2: float = 1e-4, learning_rate: float = 1.0, intercept: bool = True
    ) -> None: ...


class ROMMA(Margin):
    """Relaxed online maximum margin: the shortest weights that are right now and as they were before.

    It comes near the maximum margin of separable data in one pass. The aggressive form learns from every example
    with a margin below 1, not from mistakes only. If the shortest weights for the new example alone also satisfy
    the constraint of the old ones, they are taken.

    Parameters
    ----------
    aggressive
        Whether to step at every margin below 1, or at mistakes only.
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.ROMMA(aggressive=True)
    >>> for hour, late in [(7, False), (18, True), (9, False), (20, True)] * 5:
    ...     model.learn_one({"hour": hour / 12 - 1, "carrier": "WN" if late else "UA"}, late)
    >>> model.predict_one({"hour": 0.5, "carrier": "WN"})
    True

    References
    ----------
    Li, Y. and Long, P. M. (2002). The relaxed online maximum margin algorithm. Machine Learning 46.
    """

    name = "linear_model.ROMMA"

    @forwarded
    def __init__(self, aggressive: bool = False, intercept: bool = True) -> None: ...


class ALMA(Margin):
    """Approximate large margin: perceptron steps that shrink, towards a share of the best margin.

    Examples are scaled to length 1, so the scale of features does not matter as a whole. Parameters are those of
    the paper's theorem 3, in the Euclidean norm.

    Parameters
    ----------
    alpha
        How far below the best margin it may stay, as a share: 0.9 asks for a tenth of it.
    intercept
        Whether there is a constant term; it is the weight of a feature that is always 1.

    Examples
    --------
    >>> from millstream import linear_model
    >>> model = linear_model.ALMA()
    >>> for hour, late in [(7, False), (18, True), (9, False), (20, True)] * 5:
    ...     model.learn_one({"hour": hour / 12 - 1, "carrier": "WN" if late else "UA"}, late)
    >>> model.predict_one({"hour": 0.5, "carrier": "WN"})
    True

    References
    ----------
    Gentile, C. (2001). A new approximate maximal margin classification algorithm. Journal of Machine Learning
    Research 2.
    """

    name = "linear_model.ALMA"

    @forwarded
    def __init__(self, alpha: float = 0.9, intercept: bool = True) -> None: ...
