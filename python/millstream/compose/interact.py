"""Products of groups of features, hashed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from millstream._answers import each_row
from millstream._echo import quoted
from millstream._native import Native
from millstream._sparse import Sparse
from millstream.base import Transformer
from millstream.errors import InvalidType, MillstreamError
from millstream.stream.feature_names import FeatureNames, collected, names_parameter

__all__ = ["Interact"]

#: Between the groups of a product.
TIMES = " × "


class Interact(Native, Transformer):
    """Adds products of groups of features, hashed into a fixed number of columns.

    Choose it in front of a linear learner if features act together, such as a user and an item: the learner then
    has a weight for each combination, in a fixed amount of memory. A nominal value counts 1 under the name
    `user=ann`, so the product of two nominal features is their combination; numbers are multiplied. Zeros and
    missing values add nothing. Only products of features that a row has are formed. For exact products of a few
    numbers, with their names, choose `feature_extraction.PolynomialExtender`; for Vowpal Wabbit's text,
    `stream.read_vw(path, interactions=…)`.

    A pair is a tuple of two to six groups. A group is the name of a feature, a pattern of names (`"lag_*"`,
    `"*"` for all; `?` is a single character), or a kind: `"kind:nominal"` or `"kind:number"`. A product of the
    same features is formed once for each pair, whatever their order; a group multiplied by itself has squares
    too. A name or pattern without a feature is an error that lists the features there are.

    `transform_many` returns sparse rows. A row with its products is made when it is needed and is not stored.

    Parameters
    ----------
    pairs
        The products, each a tuple of groups of features.
    bits
        Base-2 logarithm of the number of columns.
    linear
        Whether to keep the features themselves.
    max_products
        Largest number of products of a row; a row with more is refused before they are formed.
    names
        True to collect the names of columns in `feature_names`, up to 64 MiB, or the maximum number of bytes.
        Weights and explanations of the pipeline then have names such as `user=ann × item=red`; `save` drops them.

    Notes
    -----
    Columns are those of Vowpal Wabbit and `stream.read_vw` for the line `| user=ann price:2` and the same
    products.

    Examples
    --------
    >>> from millstream import compose, linear_model
    >>> compose.Interact([("user", "price")], bits=8).transform_one({"user": "ann", "price": 2.0})
    {11: 1.0, 14: 2.0, 95: 2.0}

    Which user likes which item:

    >>> model = compose.Interact([("user", "item")]) | linear_model.LogisticRegression()
    >>> for user, item, likes in [("ann", "red", True), ("ann", "blue", False), ("bob", "blue", True)] * 20:
    ...     model.learn_one({"user": user, "item": item}, likes)
    >>> [model.predict_one({"user": "ann", "item": item}) for item in ("red", "blue")]
    [True, False]

    References
    ----------
    Weinberger, K., Dasgupta, A., Langford, J., Smola, A. and Attenberg, J. (2009). Feature hashing for large scale
    multitask learning.
    """

    name = "compose.Interact"

    def __init__(
        self,
        pairs: Iterable[tuple[str | int, ...] | str],
        bits: int = 18,
        linear: bool = True,
        max_products: int = 2**20,
        names: bool | int = 0,
    ) -> None:
        if isinstance(pairs, str) or not isinstance(pairs, Iterable):
            raise InvalidType(f'{self.name}: pairs must be a list such as [("user", "item")], got {quoted(pairs)}')
        super().__init__(
            pairs=[_joined(pair) for pair in pairs],
            bits=bits,
            linear=linear,
            max_products=max_products,
            names=names_parameter(str(self.name), names),
        )

    @property
    def feature_names(self) -> FeatureNames | None:
        """The names of the columns of all rows that were transformed; None without `names`."""
        return collected(self.inspect()["names"]) if self.names else None

    def transform_many(self, X: Any) -> Sparse:
        """Hashed rows, as a sparse matrix for the `*_many` methods of models."""
        try:
            rows = list(each_row(self.transform_one, X))
        except MillstreamError as error:
            raise error.by(self.name) from None
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        starts[1:] = np.cumsum([len(row) for row in rows])
        entries = [entry for row in rows for entry in row.items()]
        indices = np.fromiter((column for column, _ in entries), dtype=np.uint32, count=len(entries))
        values = np.fromiter((value for _, value in entries), dtype=np.float64, count=len(entries))
        found = Sparse(starts, indices, values, 1 << int(self.bits))
        if self.names:
            object.__setattr__(found, "feature_names", self.feature_names)
        return found


def _joined(pair: tuple[str | int, ...] | str) -> str:
    """A pair as it is described: its groups in one string."""
    if isinstance(pair, str):
        return pair
    if not isinstance(pair, (tuple, list)) or not all(isinstance(group, (str, int)) for group in pair):
        raise InvalidType(f"compose.Interact: a pair must be a tuple of groups of features, got {quoted(pair)}")
    return TIMES.join(str(group) for group in pair)
