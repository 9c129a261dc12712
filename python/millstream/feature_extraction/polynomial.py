"""Products of features."""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Transformer

__all__ = ["PolynomialExtender"]


class PolynomialExtender(Native, Transformer):
    """Adds products of features up to a degree, such as `x*y` and `x*x`.

    Choose it in front of a linear learner if features interact: it then learns a weight for each product. A scaler
    belongs behind it, because products differ widely in size. The number of outputs grows with the number of
    features to the power of `degree`; more than 2²⁰ are refused. For smooth functions of few bounded inputs,
    `basis` has better conditioned functions; trees find interactions by themselves.

    A product with a missing factor is missing. Nominal features pass through and enter no product. Features that
    are learned later add their products at the end, so that the earlier ones keep their place. In scikit-learn
    this is `PolynomialFeatures`.

    Parameters
    ----------
    degree
        Largest number of factors of a product.
    interaction_only
        Whether a product has each feature at most once.
    include_bias
        Whether to add a feature that is always 1.
    bias_name
        Name of that feature.

    Notes
    -----
    Names, order and values are those of River. Values are floats here, and a feature named by an int keeps this
    name.

    Examples
    --------
    >>> from millstream import feature_extraction
    >>> products = feature_extraction.PolynomialExtender(degree=2, include_bias=True)
    >>> products.transform_one({"x": 2.0, "y": 3.0})
    {'x': 2.0, 'y': 3.0, 'x*x': 4.0, 'x*y': 6.0, 'y*y': 9.0, 'bias': 1.0}
    >>> products = feature_extraction.PolynomialExtender(degree=3, interaction_only=True)
    >>> products.transform_one({"x": 2.0, "y": 3.0, "z": 5.0})
    {'x': 2.0, 'y': 3.0, 'z': 5.0, 'x*y': 6.0, 'x*z': 10.0, 'y*z': 15.0, 'x*y*z': 30.0}
    """

    name = "feature_extraction.PolynomialExtender"

    @forwarded
    def __init__(
        self,
        degree: int = 2,
        interaction_only: bool = False,
        include_bias: bool = False,
        bias_name: str | int = "bias",
    ) -> None: ...
