"""Encoders: they turn nominal features into numbers."""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Transformer

__all__ = ["OneHotEncoder"]


class OneHotEncoder(Native, Transformer):
    """Encodes each value of a nominal feature as an indicator: 1 if the row has it, otherwise 0.

    The value `UA` of `carrier` becomes the feature `carrier_UA`. Numbers pass through, unlike in River,
    which encodes them too: convert codes that are not quantities to strings first. Learners of millstream accept
    nominal features directly; choose an encoder in front of a scaler or of a model of another library, or to
    inspect the weight of each value.

    Output features are in the order in which values are learned. A value that was never learned, like a
    missing one, gives zeros. Memory grows with the number of distinct values.

    Parameters
    ----------
    drop_zeros
        Whether to omit zeros from the output.
    drop_first
        Whether to omit the indicator of the first value of each feature, which the others determine.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> encoder = preprocessing.OneHotEncoder()
    >>> for x in ({"carrier": "UA", "distance": 3.0}, {"carrier": "DL", "distance": 4.0}):
    ...     encoder.learn_one(x)
    >>> encoder.transform_one({"carrier": "DL", "distance": 5.0})
    {'carrier_UA': 0.0, 'distance': 5.0, 'carrier_DL': 1.0}
    """

    name = "preprocessing.OneHotEncoder"

    @forwarded
    def __init__(self, drop_zeros: bool = False, drop_first: bool = False) -> None: ...
