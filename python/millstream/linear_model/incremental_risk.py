"""Learners that change a function as little as possible over the region of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Classifier, Regressor
from millstream.losses import Loss
from millstream.verbs import Scores

__all__ = ["IRMA", "IRMAClassifier"]


class IRMA(Native, Regressor):
    """Incremental risk minimisation: each example changes the function as little as possible over its region.

    Choose it behind a `basis` to learn a function of few inputs from one example at a time: it is as stable with
    powers of order 10 as with local functions, needs no scaling, and costs as much as a gradient step. With the
    growing stiffness of the paper it comes to rest after a few hundred examples; keep it adapting with `cap` or
    `growth=1`.

    The change is measured by the integral of its square over the bounds of the basis that stands directly before
    it. Without a basis it is measured by the squared change of the weights, or by `gram`. A sample weight
    multiplies the loss. There is no constant term: the constant is one of the basis's functions.

    Parameters
    ----------
    loss
        The loss at the example; any convex one for numbers.
    stiffness
        What a change of the function costs at the first example; the smaller, the nearer the function comes to it.
    growth
        The factor by which the stiffness grows with each example; 1 keeps it.
    schedule
        "geometric" multiplies the stiffness by `growth` with each example, "linear" adds
        `stiffness * (growth - 1)`.
    cap
        The stiffness grows up to this and stays. From about 1e16 times the square of the features on, an example
        changes nothing.
    gram
        The integral of the products of features, as a list of rows in the order of the features, where no basis
        stands before the learner. It must be positive definite.

    Examples
    --------
    >>> from millstream import basis, linear_model
    >>> model = basis.Polynomial(order=6, bounds=(0, 3)) | linear_model.IRMA()
    >>> for i in range(150):
    ...     x = (i * 0.7) % 3.0
    ...     model.learn_one({"x": x}, x * (3.0 - x))
    >>> round(model.predict_one({"x": 2.0}), 3)
    2.0

    The weights are those of the basis as it is named:

    >>> {name: round(weight, 2) for name, weight in model["IRMA"].weights.items()}
    {'1': -0.0, 'x': 3.0, 'x^2': -1.0, 'x^3': 0.0, 'x^4': -0.0, 'x^5': 0.0, 'x^6': -0.0}

    References
    ----------
    Buschermöhle, A., Schoenke, J., Rosemann, N. and Brockmann, W. (2013). The incremental risk functional: basics
    of a novel incremental learning approach. IEEE International Conference on Systems, Man, and Cybernetics.
    """

    name = "linear_model.IRMA"

    @forwarded
    def __init__(
        self,
        loss: Loss | str = "losses.Squared",
        stiffness: float = 0.1,
        growth: float = 1.05,
        schedule: str = "geometric",
        cap: float = 1e100,
        gram: Sequence[Sequence[float]] | None = None,
    ) -> None: ...

    @property
    def weights(self) -> dict[str, Any]:
        """The weight of each feature; of a nominal one, the weight of each of its values."""
        return self.inspect()["weights"]  # type: ignore[no-any-return]


class IRMAClassifier(Native, Scores, Classifier):
    """Incremental risk minimisation for two or more classes.

    Choose it behind a `basis` to learn the border between classes of few inputs from one example at a time, for
    the reasons given at `IRMA`. Of two classes it learns one function, whose sign is the class. From the third
    class on there is a function for each: with the logistic loss they are learned together by the exact step of
    the softmax loss, with any other loss each class against the rest. The new loss at an example is never larger
    than the old.

    Parameters
    ----------
    loss
        The loss at the example; any convex one for classes. The logistic loss makes the function the log odds.
    stiffness
        What a change of the function costs at the first example; the smaller, the nearer the function comes to it.
    growth
        The factor by which the stiffness grows with each example; 1 keeps it.
    schedule
        "geometric" multiplies the stiffness by `growth` with each example, "linear" adds
        `stiffness * (growth - 1)`.
    cap
        The stiffness grows up to this and stays.
    gram
        The integral of the products of features, as a list of rows in the order of the features, where no basis
        stands before the learner. It must be positive definite.

    Examples
    --------
    >>> from millstream import basis, linear_model
    >>> model = basis.Legendre(order=4, bounds=(-1, 1)) | linear_model.IRMAClassifier(stiffness=0.01)
    >>> for i in range(200):
    ...     x = (i * 0.618) % 2.0 - 1.0
    ...     model.learn_one({"x": x}, "inside" if abs(x) < 0.5 else "outside")
    >>> [model.predict_one({"x": x}) for x in (-0.8, 0.0, 0.8)]
    ['outside', 'inside', 'outside']
    >>> {label: round(p, 2) for label, p in model.predict_proba_one({"x": 0.55}).items()}
    {'outside': 0.88, 'inside': 0.12}

    References
    ----------
    Buschermöhle, A., Schoenke, J., Rosemann, N. and Brockmann, W. (2013). The incremental risk functional: basics
    of a novel incremental learning approach. IEEE International Conference on Systems, Man, and Cybernetics. (The
    paper has the squared loss only and names pattern recognition as its next step.)
    """

    name = "linear_model.IRMAClassifier"

    @forwarded
    def __init__(
        self,
        loss: Loss | str = "losses.Logistic",
        stiffness: float = 0.1,
        growth: float = 1.05,
        schedule: str = "geometric",
        cap: float = 1e100,
        gram: Sequence[Sequence[float]] | None = None,
    ) -> None: ...

    @property
    def weights(self) -> dict[Any, Any]:
        """The weight of each feature (of a nominal one, of each of its values); of several classes, by class."""
        planes = self.inspect()["planes"]
        if len(planes) < 2:
            return planes[0]["weights"] if planes else {}
        named = zip(self._labels(), planes, strict=False)
        return {label: plane["weights"] for label, plane in named if label is not None}
