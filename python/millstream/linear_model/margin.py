"""Classifiers that update along an example whose margin is too small."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.linear_model.weights import MarginClassifier

__all__ = ["ALMA", "ROMMA", "SVM", "PAClassifier", "Perceptron"]


class Perceptron(MarginClassifier):
    """Perceptron: a step along each misclassified example.

    A simple baseline without tuning parameters. Its steps do not shrink, so it does not converge on noisy data;
    `PAClassifier` and `AROW` are better there.

    Parameters
    ----------
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1.

    Examples
    --------
    Only the first example (score 0) and the last one are mistakes.

    >>> from millstream import linear_model
    >>> model = linear_model.Perceptron(intercept=False)
    >>> for x, y in [(2.0, True), (1.0, True), (-3.0, False), (-1.0, True)]:
    ...     model.learn_one({"x": x}, y)
    ...     print(model.weights)
    {'x': 2.0}
    {'x': 2.0}
    {'x': 2.0}
    {'x': 1.0}

    References
    ----------
    Rosenblatt, F. (1958). The perceptron: a probabilistic model. Psychological Review 65.
    """

    name = "linear_model.Perceptron"

    @forwarded
    def __init__(self, intercept: bool = True) -> None: ...


class PAClassifier(MarginClassifier):
    """Passive-aggressive classification: the smallest change that gives each example a margin of 1.

    Choose it for drifting streams with little noise: its steps do not shrink with time. `C` bounds the influence
    of a single, possibly mislabelled, example. A sample weight multiplies `C`. Defaults are those of River.

    Parameters
    ----------
    C
        Aggressiveness: the maximum step per example.
    mode
        Variant: 0 for PA with unbounded steps, 1 for PA-I with steps up to `C`, 2 for PA-II with softened steps.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1.

    Examples
    --------
    One step gives the example a margin of 1, unless `C` limits it.

    >>> from millstream import linear_model
    >>> model = linear_model.PAClassifier(C=1.0, intercept=False)
    >>> model.learn_one({"x": 2.0}, True)
    >>> model.score_one({"x": 2.0})
    1.0
    >>> model = linear_model.PAClassifier(C=0.1, intercept=False)
    >>> model.learn_one({"x": 2.0}, True)
    >>> model.score_one({"x": 2.0})
    0.4

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y. (2006). Online passive-aggressive
    algorithms. Journal of Machine Learning Research 7.
    """

    name = "linear_model.PAClassifier"
    aliases = {"learn_intercept": "intercept"}

    @forwarded
    def __init__(self, C: float = 1.0, mode: int = 1, intercept: bool = True) -> None: ...


class SVM(MarginClassifier):
    """Linear support vector machine by subgradient descent on the hinge loss.

    With `method="osd"` steps shrink as 1 / √t for all data: a good choice without tuning. With "pegasos" weights
    are penalised by `l2` and steps shrink as 1 / (l2 t): it converges to the batch solution after about 1 / `l2`
    examples and is unstable before.

    Parameters
    ----------
    method
        "osd" (online subgradient descent) or "pegasos".
    l2
        For "pegasos": L2 penalty.
    learning_rate
        For "osd": learning rate of the first step.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1.

    Examples
    --------
    The support vectors have a margin of about 1.

    >>> from millstream import linear_model
    >>> model = linear_model.SVM(method="pegasos", l2=0.1, intercept=False)
    >>> for x, y in [(2.0, True), (-2.0, False)] * 200:
    ...     model.learn_one({"x": x}, y)
    >>> round(model.score_one({"x": 2.0}), 2)
    1.02

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


class ROMMA(MarginClassifier):
    """Relaxed online maximum margin: the shortest weights consistent with this example and the previous weights.

    It approximates the maximum margin of separable data in one pass. The aggressive variant learns from every
    example with a margin below 1, not only from mistakes. If the shortest weights for the new example alone also
    satisfy the constraint of the previous ones, they are used.

    Parameters
    ----------
    aggressive
        Whether to update at every margin below 1, not only at mistakes.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1.

    Examples
    --------
    After the second example both have a margin of exactly 1.

    >>> from millstream import linear_model
    >>> model = linear_model.ROMMA(intercept=False)
    >>> model.learn_one({"a": 1.0}, True)
    >>> model.learn_one({"a": 1.0, "b": 2.0}, False)
    >>> {name: round(weight, 6) for name, weight in model.weights.items()}
    {'a': 1.0, 'b': -1.0}

    References
    ----------
    Li, Y. and Long, P. M. (2002). The relaxed online maximum margin algorithm. Machine Learning 46.
    """

    name = "linear_model.ROMMA"

    @forwarded
    def __init__(self, aggressive: bool = False, intercept: bool = True) -> None: ...


class ALMA(MarginClassifier):
    """Approximate large margin: shrinking perceptron steps towards a fraction of the maximum margin.

    Examples are scaled to length 1, so the common scale of the features has no effect. The constants are those of
    the paper's theorem 3, in the Euclidean norm.

    Parameters
    ----------
    margin_slack
        Fraction of the maximum margin that may be given up: 0.9 asks for a tenth of it. The paper's alpha.
    intercept
        Whether to fit an intercept: the weight of a feature that is always 1.

    Examples
    --------
    The weight vector never exceeds length 1.

    >>> from millstream import linear_model
    >>> model = linear_model.ALMA(intercept=False)
    >>> model.learn_one({"a": 3.0, "b": 4.0}, True)
    >>> {name: round(weight, 6) for name, weight in model.weights.items()}
    {'a': 0.6, 'b': 0.8}

    References
    ----------
    Gentile, C. (2001). A new approximate maximal margin classification algorithm. Journal of Machine Learning
    Research 2.
    """

    name = "linear_model.ALMA"

    @forwarded
    def __init__(self, margin_slack: float = 0.9, intercept: bool = True) -> None: ...
