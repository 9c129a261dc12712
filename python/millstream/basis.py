"""Basis functions of bounded inputs, for use in front of a linear learner.

A basis transforms inputs into the values of functions, so that a linear learner learns a nonlinear function. Its
domain is fixed by `bounds`. The inputs are the features of the first learned row. Values outside the bounds are
rejected in learning and predicting unless `outside` allows them. Missing and nominal inputs are rejected too: put
an `Imputer` or an encoder in front.

Directly in front of `linear_model.IRMA` the same space is spanned by orthonormal functions: the choice among bases
of one space (`Polynomial`, `Legendre`, `Chebyshev`) does not change what it learns. In front of any other learner
the functions are used as they are."""

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
    """Base class of basis functions of bounded inputs."""

    def gram(self, inputs: int | None = None) -> NDArray[np.float64]:
        """The Gram matrix: integrals of products of functions over the domain, in closed form where there is one.

        `inputs` is the number of inputs if neither the bounds nor learned rows determine it; 1 by default.

        >>> from millstream import basis
        >>> basis.Polynomial(order=1, bounds=(0, 3)).gram()
        array([[3. , 4.5],
               [4.5, 9. ]])
        """
        return self._gram(inputs)

    def functions(self, *inputs: str) -> list[str]:
        """The names of the functions for inputs with these names.

        >>> from millstream import basis
        >>> basis.Polynomial(order=1, bounds=(0, 3)).functions("x", "y")
        ['1', 'x', 'y', 'x*y']
        """
        pairs: Any = np.broadcast_to(np.asarray(self.bounds, dtype=float), (len(inputs), 2))
        return list(
            self.clone().transform_one({name: sum(pair) / 2 for name, pair in zip(inputs, pairs, strict=True)})
        )


class Polynomial(Basis):
    """Powers of the inputs: 1, x, x^2, ..., x^order.

    Choose it for smooth functions of few inputs. Powers differ widely in scale, which slows down gradient descent
    but not `linear_model.IRMA` and `linear_model.RLS`. An order at which sums of powers lose all but four digits
    is rejected (17 on [0, 1], 33 on [-1, 1]); `Legendre` spans the same space at any order.

    Parameters
    ----------
    order
        Highest power per input.
    bounds
        Lower and upper bound of all inputs, or a pair for each input.
    combine
        How several inputs combine: "tensor" for all products of one power per input, "additive" for a sum of
        one-input functions.
    outside
        Treatment of values beyond the bounds: "refuse", "clamp" (move them to the bound) or "extrapolate".

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
(outside="clamp" or "extrapolate" accepts it)
    """

    name = "basis.Polynomial"

    @forwarded
    def __init__(self, order: int, bounds: Bounds, combine: str = "tensor", outside: str = "refuse") -> None: ...


class Legendre(Basis):
    """Legendre polynomials of the inputs, orthogonal on the bounds.

    Choose it over `Polynomial` for high orders and in front of learners that follow a gradient: its functions lie
    between -1 and 1 and are orthogonal.

    Parameters
    ----------
    order
        Highest polynomial order per input.
    bounds
        Lower and upper bound of all inputs, or a pair for each input.
    combine
        How several inputs combine: "tensor" for all products of one function per input, "additive" for a sum of
        one-input functions.
    outside
        Treatment of values beyond the bounds: "refuse", "clamp" (move them to the bound) or "extrapolate".

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
    """Chebyshev polynomials of the inputs, between -1 and 1 on the bounds.

    Choose it where the largest error matters, in front of learners that follow a gradient. In front of
    `linear_model.IRMA` it is the same as `Legendre`.

    Parameters
    ----------
    order
        Highest polynomial order per input.
    bounds
        Lower and upper bound of all inputs, or a pair for each input.
    combine
        How several inputs combine: "tensor" for all products of one function per input, "additive" for a sum of
        one-input functions.
    outside
        Treatment of values beyond the bounds: "refuse", "clamp" (move them to the bound) or "extrapolate".

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
    """Sines and cosines of the inputs; the bounds are one period.

    Choose it for periodic inputs: the hour of the day, the day of the year, an angle. A function that is not
    periodic is approximated poorly near the bounds.

    Parameters
    ----------
    order
        Highest frequency, in periods between the bounds.
    bounds
        Start and end of the period of all inputs, or a pair for each input.
    combine
        How several inputs combine: "tensor" for all products of one function per input, "additive" for a sum of
        one-input functions.
    outside
        Treatment of values beyond the bounds: "refuse", "clamp" (move them to the bound) or "extrapolate",
        which continues with the next period.

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
    """Gaussian bumps around the points of a grid, or around given centres.

    Choose it for smooth functions whose behaviour varies over the domain: an example changes the function only
    near it. Widths so large that the bumps are numerically dependent are rejected, as are coinciding centres.

    Parameters
    ----------
    bounds
        Lower and upper bound of all inputs, or a pair for each input.
    count
        Number of grid centres per input, bounds included.
    width
        Standard deviation of a bump. None for the distance between grid centres; for given centres, the side of
        the cell that each has to itself.
    centres
        Centres to use instead of a grid: numbers for one input, or points as lists of numbers.
    combine
        How several inputs combine on a grid: "tensor" for all products of one function per input, "additive" for a
        constant and a sum of one-input functions.
    outside
        Treatment of values beyond the bounds: "refuse", "clamp" (move them to the bound) or "extrapolate".

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
    """B-splines: smooth, local piecewise polynomials.

    Choose it for smooth functions with local detail, with many functions per input. They sum to 1 everywhere.

    Parameters
    ----------
    bounds
        Lower and upper bound of all inputs, or a pair for each input.
    intervals
        Number of equal intervals between the bounds; an input has `intervals + degree` functions.
    degree
        Polynomial degree of the pieces: 0 for steps, 1 for straight lines, 3 for continuous second derivatives.
    combine
        How several inputs combine: "tensor" for all products of one function per input, "additive" for a constant
        and a sum of one-input functions.
    outside
        Treatment of values beyond the bounds: "refuse", "clamp" (move them to the bound) or "extrapolate"
        (continue the outermost pieces).

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
    """Lookup table on a grid of the inputs, with linear interpolation between its points.

    Choose it for an interpretable function: a weight is the value of the function at a grid point. Between points
    the function is multilinear.

    Parameters
    ----------
    bounds
        Lower and upper bound of all inputs, or a pair for each input.
    count
        Number of grid points per input, bounds included.
    combine
        How several inputs combine: "tensor" for a table of all points, "additive" for a constant and a sum of
        one-input tables.
    outside
        Treatment of values beyond the bounds: "refuse", "clamp" (move them to the bound) or "extrapolate"
        (continue the outermost lines).

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
