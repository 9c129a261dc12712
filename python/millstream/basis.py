"""Approximation structures: functions of bounded inputs, in front of a linear learner.

A basis turns inputs into the values of functions φ(x), so that a learner of weights learns a function that is not
linear. Its region Ω is fixed by `bounds`; what lies outside is refused unless `outside` says otherwise, in
predicting too. In front of `linear_model.IRMA` the same space is spanned by orthonormal functions; in front of any
other learner the functions are those that the names say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from millstream.base import Native, Transformer

__all__ = ["Polynomial"]

Pair: TypeAlias = tuple[float, float] | Sequence[float]
Bounds: TypeAlias = Pair | Sequence[Pair]


class Polynomial(Native, Transformer):
    """Powers of the inputs: 1, x, x^2, up to an order.

    Choose it for smooth functions of few inputs. Powers grow unlike each other: learners that follow a gradient
    have a hard time with them, `linear_model.IRMA` and `linear_model.RLS` do not mind. For high orders take
    `Legendre`, which spans the same space.

    Parameters
    ----------
    order
        The highest power of an input.
    bounds
        The least and the greatest value of every input, or a pair for each input.
    combine
        Functions of several inputs: "tensor" for all products of one power of each, "additive" for a sum of
        functions of one input.
    outside
        What happens to a value beyond the bounds: "refuse", "clamp" (it is moved to the bound) or "extrapolate".

    Examples
    --------
    >>> from millstream import basis, linear_model
    >>> powers = basis.Polynomial(order=3, bounds=(0, 3))
    >>> powers.transform_one({"x": 2.0})
    {'1': 1.0, 'x': 2.0, 'x^2': 4.0, 'x^3': 8.0}
    >>> model = basis.Polynomial(order=6, bounds=(0, 3)) | linear_model.IRMA()
    >>> for i in range(100):
    ...     x = (i * 0.7) % 3.0
    ...     model.learn_one({"x": x}, 1.0 / (1.0 + x))
    >>> round(model.predict_one({"x": 1.0}), 2)
    0.5
    """

    name = "basis.Polynomial"

    def __init__(self, order: int, bounds: Bounds, combine: str = "tensor", outside: str = "refuse") -> None:
        super().__init__(order=order, bounds=bounds, combine=combine, outside=outside)
