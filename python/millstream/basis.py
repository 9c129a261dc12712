"""Approximation structures: functions of bounded inputs, in front of a linear learner.

A basis turns inputs into the values of functions, so that a learner of weights learns a function that is not
linear. Its region is fixed by `bounds`: the inputs are those of the first row that is learned, and what lies
outside is refused in learning and predicting unless `outside` says otherwise. A missing or nominal input is
refused too: put an `Imputer` or an encoder in front.

Directly in front of `linear_model.IRMA` the same space is spanned by orthonormal functions, so that the choice
among bases of one space (`Polynomial`, `Legendre`, `Chebyshev`) changes nothing in what it learns. In front of any
other learner the functions are those that their names say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Transformer

__all__ = ["BSpline", "Chebyshev", "Fourier", "GaussianRBF", "Grid", "Legendre", "Polynomial"]

Pair: TypeAlias = Sequence[float]
Bounds: TypeAlias = Pair | Sequence[Pair]


class Basis(Native, Transformer):
    """Functions of bounded inputs: what the bases share."""

    def gram(self, inputs: int | None = None) -> NDArray[np.float64]:
        """The integrals of the products of functions over the region, in closed form where there is one.

        `inputs` is the number of inputs, where neither the bounds nor what was learned says it; 1 by default.

        >>> from millstream import basis
        >>> basis.Polynomial(order=1, bounds=(0, 3)).gram()
        array([[3. , 4.5],
               [4.5, 9. ]])
        """
        return self._gram(inputs)

    def functions(self, *inputs: str) -> list[str]:
        """The names of the functions of inputs with these names; their number is the length of the list.

        >>> from millstream import basis
        >>> basis.Polynomial(order=1, bounds=(0, 3)).functions("x", "y")
        ['1', 'x', 'y', 'x*y']
        """
        pairs: Any = np.broadcast_to(np.asarray(self.bounds, dtype=float), (len(inputs), 2))
        return list(
            self.clone().transform_one({name: sum(pair) / 2 for name, pair in zip(inputs, pairs, strict=True)})
        )


class Polynomial(Basis):
    """Powers of the inputs: 1, x, x^2, up to an order.

    Choose it for smooth functions of few inputs. Powers grow unlike each other: learners that follow a gradient
    have a hard time with them, `linear_model.IRMA` and `linear_model.RLS` do not mind. An order at which sums of
    powers lose all but four digits is refused (17 on [0, 1], 33 on [-1, 1]); `Legendre` spans the same space at
    any order.

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
    >>> model.predict_one({"x": 3.5})
    Traceback (most recent call last):
    ...
    millstream.errors.InvalidValue: basis.Polynomial: 'x' must be within the bounds [0, 3], got 3.5 \
(outside="clamp" or "extrapolate" takes it)
    """

    name = "basis.Polynomial"

    @forwarded
    def __init__(self, order: int, bounds: Bounds, combine: str = "tensor", outside: str = "refuse") -> None: ...


class Legendre(Basis):
    """Legendre polynomials of the inputs, which are orthogonal on the bounds.

    Choose it over `Polynomial` for high orders and in front of learners that follow a gradient: its functions are
    between -1 and 1 and are not alike.

    Parameters
    ----------
    order
        The highest order in an input.
    bounds
        The least and the greatest value of every input, or a pair for each input.
    combine
        Functions of several inputs: "tensor" for all products of one function of each, "additive" for a sum of
        functions of one input.
    outside
        What happens to a value beyond the bounds: "refuse", "clamp" (it is moved to the bound) or "extrapolate".

    Examples
    --------
    >>> from millstream import basis
    >>> basis.Legendre(order=3, bounds=(0, 2)).transform_one({"x": 1.5})
    {'1': 1.0, 'P1(x)': 0.5, 'P2(x)': -0.125, 'P3(x)': -0.4375}
    """

    name = "basis.Legendre"

    @forwarded
    def __init__(self, order: int, bounds: Bounds, combine: str = "tensor", outside: str = "refuse") -> None: ...


class Chebyshev(Basis):
    """Chebyshev polynomials of the inputs, which swing between -1 and 1 on the bounds.

    Choose it where the largest error matters, in front of learners that follow a gradient. In front of
    `linear_model.IRMA` it is the same as `Legendre`.

    Parameters
    ----------
    order
        The highest order in an input.
    bounds
        The least and the greatest value of every input, or a pair for each input.
    combine
        Functions of several inputs: "tensor" for all products of one function of each, "additive" for a sum of
        functions of one input.
    outside
        What happens to a value beyond the bounds: "refuse", "clamp" (it is moved to the bound) or "extrapolate".

    Examples
    --------
    >>> from millstream import basis
    >>> basis.Chebyshev(order=3, bounds=(0, 2)).transform_one({"x": 1.5})
    {'1': 1.0, 'T1(x)': 0.5, 'T2(x)': -0.5, 'T3(x)': -1.0}
    """

    name = "basis.Chebyshev"

    @forwarded
    def __init__(self, order: int, bounds: Bounds, combine: str = "tensor", outside: str = "refuse") -> None: ...


class Fourier(Basis):
    """Sines and cosines of the inputs, of which the bounds are one period.

    Choose it for what repeats itself: the hour of the day, the day of the year, an angle. A function that does not
    meet itself at the bounds is learned badly there.

    Parameters
    ----------
    order
        How many waves of the shortest fit between the bounds.
    bounds
        The beginning and the end of a period of every input, or a pair for each input.
    combine
        Functions of several inputs: "tensor" for all products of one function of each, "additive" for a sum of
        functions of one input.
    outside
        What happens to a value beyond the bounds: "refuse", "clamp" (it is moved to the bound) or "extrapolate",
        which here goes on with the next period.

    Examples
    --------
    >>> from millstream import basis
    >>> day = basis.Fourier(order=1, bounds=(0, 24), outside="extrapolate")
    >>> {name: round(value, 3) for name, value in day.transform_one({"hour": 32.0}).items()}
    {'1': 1.0, 'cos1(hour)': -0.5, 'sin1(hour)': 0.866}
    """

    name = "basis.Fourier"

    @forwarded
    def __init__(self, order: int, bounds: Bounds, combine: str = "tensor", outside: str = "refuse") -> None: ...


class GaussianRBF(Basis):
    """Bell curves around centres on a grid, or around centres that are given.

    Choose it for smooth functions that are not the same kind everywhere: an example moves the function near it
    only. Widths so large that the curves cannot be told apart are refused, as are centres that coincide.

    Parameters
    ----------
    bounds
        The least and the greatest value of every input, or a pair for each input.
    count
        How many centres an input has on its grid, the bounds among them.
    width
        The standard deviation of a bell curve. Without, the distance of centres; of given centres, the side of the
        cell that each has to itself.
    centres
        The centres, in place of a grid: numbers for one input, or points as lists of numbers.
    combine
        Functions of several inputs on a grid: "tensor" for all products of one function of each, "additive" for a
        constant and a sum of functions of one input.
    outside
        What happens to a value beyond the bounds: "refuse", "clamp" (it is moved to the bound) or "extrapolate".

    Examples
    --------
    >>> from millstream import basis
    >>> curves = basis.GaussianRBF(bounds=(0, 2), count=3)
    >>> {name: round(value, 3) for name, value in curves.transform_one({"x": 1.0}).items()}
    {'rbf0(x)': 0.607, 'rbf1(x)': 1.0, 'rbf2(x)': 0.607}
    >>> around = basis.GaussianRBF(bounds=(0, 1), centres=[[0.2, 0.3], [0.7, 0.9]], width=0.5)
    >>> {name: round(value, 3) for name, value in around.transform_one({"x": 0.2, "y": 0.3}).items()}
    {'rbf0': 1.0, 'rbf1': 0.295}
    """

    name = "basis.GaussianRBF"
    aliases = {"centers": "centres"}

    @forwarded
    def __init__(
        self,
        bounds: Bounds,
        count: int = 10,
        width: float | None = None,
        centres: Sequence[float] | Sequence[Sequence[float]] | None = None,
        combine: str = "tensor",
        outside: str = "refuse",
    ) -> None: ...


class BSpline(Basis):
    """B-splines: piecewise polynomials that join smoothly and are local.

    Choose it for smooth functions of unequal detail, with many functions to an input. They add up to 1 everywhere.

    Parameters
    ----------
    bounds
        The least and the greatest value of every input, or a pair for each input.
    intervals
        How many pieces the bounds are divided into; an input has `intervals + degree` functions.
    degree
        The degree of the pieces: 0 for steps, 1 for straight lines, 3 for a continuous curvature.
    combine
        Functions of several inputs: "tensor" for all products of one function of each, "additive" for a constant
        and a sum of functions of one input.
    outside
        What happens to a value beyond the bounds: "refuse", "clamp" (it is moved to the bound) or "extrapolate"
        (the outermost pieces go on).

    Examples
    --------
    >>> from millstream import basis
    >>> basis.BSpline(bounds=(0, 2), intervals=2, degree=2).transform_one({"x": 0.5})
    {'B0(x)': 0.25, 'B1(x)': 0.625, 'B2(x)': 0.125, 'B3(x)': 0.0}

    References
    ----------
    de Boor, C. (1978). A practical guide to splines. Springer.
    """

    name = "basis.BSpline"

    @forwarded
    def __init__(
        self,
        bounds: Bounds,
        intervals: int = 8,
        degree: int = 3,
        combine: str = "tensor",
        outside: str = "refuse",
    ) -> None: ...


class Grid(Basis):
    """A lookup table on a grid of the inputs, with straight lines between its points.

    Choose it where the learned function should be readable: a weight is the value of the function at a point.
    Between points it is multilinear.

    Parameters
    ----------
    bounds
        The least and the greatest value of every input, or a pair for each input.
    count
        How many points an input has, the bounds among them.
    combine
        Functions of several inputs: "tensor" for a table of all points, "additive" for a constant and a sum of
        tables of one input.
    outside
        What happens to a value beyond the bounds: "refuse", "clamp" (it is moved to the bound) or "extrapolate"
        (the outermost lines go on).

    Examples
    --------
    >>> from millstream import basis, linear_model
    >>> table = basis.Grid(bounds=(0, 1), count=3)
    >>> table.transform_one({"x": 0.625})
    {'x=0': 0.0, 'x=0.5': 0.75, 'x=1': 0.25}
    >>> model = basis.Grid(bounds=(0, 1), count=3) | linear_model.IRMA()
    >>> for i in range(200):
    ...     x = (i * 0.618) % 1.0
    ...     model.learn_one({"x": x}, abs(x - 0.5))
    >>> {point: round(value, 2) for point, value in model["IRMA"].weights.items()}
    {'x=0': 0.5, 'x=0.5': -0.0, 'x=1': 0.5}
    """

    name = "basis.Grid"

    @forwarded
    def __init__(
        self, bounds: Bounds, count: int = 11, combine: str = "tensor", outside: str = "refuse"
    ) -> None: ...
