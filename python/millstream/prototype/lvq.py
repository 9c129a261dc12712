"""Learning vector quantization as Kohonen described it: LVQ1, LVQ2.1 and LVQ3."""

from __future__ import annotations

from millstream._part import forwarded
from millstream.prototype.prototypes import PrototypeClassifier

__all__ = ["LVQ1", "LVQ3", "LVQ21"]


class LVQ1(PrototypeClassifier):
    """LVQ1: the nearest prototype moves towards rows of its class, and away from rows of other classes.

    Choose it as the simplest form of learning vector quantization: it is stable, and follows changes at the speed
    of its `learning_rate`. `GLVQ` is usually more accurate, because it moves the nearest right and wrong
    prototypes of each row together.

    The first `n_prototypes` distinct rows of a class become its prototypes, at any time in the stream. With
    `max_prototypes` in all, no more are added; a row of a class without prototypes is then not learned, and
    counted in `n_skipped`.

    A missing value does not count: the distance over the other features is scaled up, and the prototype keeps its
    value. A nominal feature has a coordinate for each value, 1 or 0, so that rows with different values are √2
    apart. A new feature joins a prototype with the first row that it moves towards. A row that shares no feature
    with any prototype gets the class of the largest weight.

    Parameters
    ----------
    n_prototypes
        Number of prototypes of each class.
    learning_rate
        Fraction of the way that a prototype moves to its row, or away from it. A row of weight w moves it by
        `1 - (1 - learning_rate) ** w`.
    max_prototypes
        Largest number of prototypes of all classes.

    Notes
    -----
    The probability of a class is proportional to 1/d, with the squared distance d to its nearest prototype. It is
    not calibrated. Of two classes at distances d1 and d2, the first has d2 / (d1 + d2).

    Prototypes of several models cannot be merged: they start at different rows.

    Examples
    --------
    >>> from millstream import prototype
    >>> model = prototype.LVQ1(n_prototypes=1, learning_rate=0.5)
    >>> for x, y in [(0.0, "low"), (4.0, "high"), (1.0, "low"), (6.0, "high")]:
    ...     model.learn_one({"x": x}, y)
    >>> [(found["class"], found["at"]) for found in model.prototypes]
    [('low', {'x': 0.5}), ('high', {'x': 5.0})]
    >>> model.predict_one({"x": 2.0})
    'low'
    >>> round(model.predict_proba_one({"x": 2.0})["low"], 3)
    0.8

    References
    ----------
    Kohonen, T. (1990). The self-organizing map. Proceedings of the IEEE, 78(9), 1464-1480.
    """

    name = "prototype.LVQ1"

    @forwarded
    def __init__(self, n_prototypes: int = 3, learning_rate: float = 0.05, max_prototypes: int = 1000) -> None: ...


class LVQ21(PrototypeClassifier):
    """LVQ2.1: rows near a class boundary move the nearest right and wrong prototypes.

    Choose it to refine a boundary: nothing moves unless one of the two nearest prototypes is of the row's class,
    the other is of another class, and the row lies in a window around the plane between them. Prototypes do not
    follow the rows of their class otherwise, and may drift away from them in long streams; `LVQ3` prevents that.

    The start, missing and nominal values, and probabilities are those of `LVQ1`.

    Parameters
    ----------
    n_prototypes
        Number of prototypes of each class.
    learning_rate
        Fraction of the way that a prototype moves to its row, or away from it. A row of weight w moves it by
        `1 - (1 - learning_rate) ** w`.
    window_width
        Relative width v of the window: distances a <= b to the two prototypes with a / b > (1 - v) / (1 + v). 0.2
        to 0.3 in the paper.
    max_prototypes
        Largest number of prototypes of all classes.

    Examples
    --------
    >>> from millstream import prototype
    >>> model = prototype.LVQ21(n_prototypes=1, learning_rate=0.5)
    >>> for x, y in [(0.0, "low"), (10.0, "high"), (1.0, "low"), (6.0, "low")]:
    ...     model.learn_one({"x": x}, y)
    >>> [(found["class"], found["at"]) for found in model.prototypes]
    [('low', {'x': 3.0}), ('high', {'x': 12.0})]

    References
    ----------
    Kohonen, T. (1990). Improved versions of learning vector quantization. IJCNN, 545-550.
    Kohonen, T. (1990). The self-organizing map. Proceedings of the IEEE, 78(9), 1464-1480.
    """

    name = "prototype.LVQ21"

    @forwarded
    def __init__(
        self,
        n_prototypes: int = 3,
        learning_rate: float = 0.05,
        window_width: float = 0.3,
        max_prototypes: int = 1000,
    ) -> None: ...


class LVQ3(PrototypeClassifier):
    """LVQ3: `LVQ21` whose prototypes also follow the rows of their class.

    If both of the two nearest prototypes are of the row's class, both move towards it, by `epsilon` times the
    learning rate. Choose it instead of `LVQ21` for long streams, with at least two prototypes of each class.

    The start, missing and nominal values, and probabilities are those of `LVQ1`.

    Parameters
    ----------
    n_prototypes
        Number of prototypes of each class.
    learning_rate
        Fraction of the way that a prototype moves to its row, or away from it. A row of weight w moves it by
        `1 - (1 - learning_rate) ** w`.
    window_width
        Relative width v of the window: distances a <= b to the two prototypes with a / b > (1 - v) / (1 + v). It
        holds for two prototypes of different classes alone.
    epsilon
        Fraction of the learning rate if both nearest prototypes are of the row's class; 0.1 to 0.5 in the paper.
    max_prototypes
        Largest number of prototypes of all classes.

    Examples
    --------
    >>> from millstream import prototype
    >>> model = prototype.LVQ3(n_prototypes=2, learning_rate=0.5, epsilon=0.5)
    >>> for x, y in [(0.0, "low"), (2.0, "low"), (10.0, "high"), (1.0, "low")]:
    ...     model.learn_one({"x": x}, y)
    >>> [(found["class"], found["at"]) for found in model.prototypes]
    [('low', {'x': 0.25}), ('low', {'x': 1.75}), ('high', {'x': 10.0})]

    References
    ----------
    Kohonen, T. (1990). The self-organizing map. Proceedings of the IEEE, 78(9), 1464-1480.
    """

    name = "prototype.LVQ3"

    @forwarded
    def __init__(
        self,
        n_prototypes: int = 3,
        learning_rate: float = 0.05,
        window_width: float = 0.3,
        epsilon: float = 0.3,
        max_prototypes: int = 1000,
    ) -> None: ...
