"""Learners that change a function as little as possible over the domain of its inputs."""

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
    """Incremental risk minimisation: each example changes the function as little as possible over its domain.

    Choose it behind a `basis` to learn a function of few inputs one example at a time: it is as stable with powers
    of order 10 as with local functions, needs no scaling, and costs as much as a gradient step. With the growing
    stiffness of the paper it stops adapting after a few hundred examples; `cap` or `growth=1` keeps it adapting.

    The change is the integral of its square over the bounds of the basis directly in front of the learner. Without
    a basis it is the squared change of the weights, or given by `gram`. A sample weight multiplies the loss. There
    is no intercept: the constant is one of the functions of the basis.

    Parameters
    ----------
    loss
        Loss at the example: any convex regression loss.
    stiffness
        Cost of changing the function at the first example; smaller values fit the example more closely.
    growth
        Growth factor of the stiffness per example; 1 keeps it constant.
    schedule
        "geometric" multiplies the stiffness by `growth` with each example, "linear" adds
        `stiffness * (growth - 1)`.
    cap
        Maximum stiffness. From about 1e16 times the square of the features on, an example changes nothing.
    gram
        Gram matrix of the features: the integrals of their products, as a list of rows in the order of the
        features. Only for use without a basis in front of the learner. It must be positive definite.

    Examples
    --------
    >>> from millstream import basis, linear_model
    >>> model = basis.Polynomial(order=6, bounds=(0, 3)) | linear_model.IRMA()
    >>> for i in range(150):
    ...     x = (i * 0.7) % 3.0
    ...     model.learn_one({"x": x}, x * (3.0 - x))
    >>> round(model.predict_one({"x": 2.0}), 3)
    2.0

    The weights are those of the named functions of the basis:

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

    Choose it behind a `basis` to learn the decision boundary between classes in few inputs one example at a time,
    for the reasons given at `IRMA`. With two classes it learns one function, whose sign is the class. From the
    third class on there is one function per class: with the logistic loss they are learned jointly by the exact
    step of the softmax loss, with any other loss each class against the rest. A step never increases the loss at
    its example.

    Parameters
    ----------
    loss
        Loss at the example: any convex classification loss. With the logistic loss the function is the log-odds.
    stiffness
        Cost of changing the function at the first example; smaller values fit the example more closely.
    growth
        Growth factor of the stiffness per example; 1 keeps it constant.
    schedule
        "geometric" multiplies the stiffness by `growth` with each example, "linear" adds
        `stiffness * (growth - 1)`.
    cap
        Maximum stiffness.
    gram
        Gram matrix of the features: the integrals of their products, as a list of rows in the order of the
        features. Only for use without a basis in front of the learner. It must be positive definite.

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
        """The weight of each feature (of a nominal one, of each of its values); with several classes, by class."""
        planes = self.inspect()["planes"]
        if len(planes) < 2:
            return planes[0]["weights"] if planes else {}
        named = zip(self._labels(), planes, strict=False)
        return {label: plane["weights"] for label, plane in named if label is not None}
