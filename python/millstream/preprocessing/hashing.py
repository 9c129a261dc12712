"""Feature hashing."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

from millstream import _core, _frames
from millstream._native import Native
from millstream._python_loop import Features
from millstream._sparse import Sparse
from millstream.base import Transformer
from millstream.errors import MillstreamError
from millstream.stream.feature_names import FeatureNames, collected, names_parameter

__all__ = ["FeatureHasher"]


#: Hashers without a state, by their parameters: models stay copies of plain data.
_hasher = lru_cache(maxsize=64)(lambda parameters: _core.DictHasher(*parameters))


class FeatureHasher(Native, Transformer):
    """Hashes names and nominal values into a fixed number of columns.

    Choose it for very many names or nominal values: a learner behind it has a fixed number of weights, whatever
    appears in the stream. A number is added to the column of its name; a nominal value adds 1 to the column of
    `name=value`. Names that share a column are added up there. With 2²⁰ columns and ordinary data this effect is
    small. Zeros and missing values add nothing.

    `transform_many` returns sparse rows for the `*_many` methods of models, and `transform_one` a dict of the
    columns that are in use. Both hash names that were never learned too, and a feature may be a number in one
    row and a string in the next, because nothing is stored; in a pipeline, that is refused. Inside a pipeline,
    a name or nominal value that was never learned is ignored in predictions, as everywhere in millstream, and
    the pipeline stores each name and nominal value that it has learned, once. If these are too many to store,
    hash first and pass the sparse rows to the learner; for texts, choose
    `feature_extraction.HashingVectorizer`.

    Parameters
    ----------
    n_features
        Number of columns.
    seed
        Selects another hash function: that of River for this seed. None for that of scikit-learn.
    alternate_sign
        Whether half of the features are subtracted, so that those of one column cancel out on average.
    names
        True to collect the names of columns in `feature_names`, up to 64 MiB, or the maximum number of bytes.
        Weights and explanations of the pipeline then have names. Names are not saved.

    Notes
    -----
    Columns, signs and values are, bit for bit, those of scikit-learn's `FeatureHasher` with `input_type="dict"`;
    with a seed, those of River. Unlike in River, no seed means a fixed hash function and not a random one, and a
    name that is an int is hashed as its digits.

    Examples
    --------
    >>> from millstream import preprocessing
    >>> hasher = preprocessing.FeatureHasher(n_features=10, seed=42)
    >>> hasher.transform_one({"dog": 1, "cat": 2, "elephant": 4})
    {5: -3.0, 7: 2.0}
    >>> hasher.transform_one({"animal": "dog", "run": 5})
    {3: 1.0, 9: -5.0}

    As a step of a pipeline:

    >>> from millstream import linear_model
    >>> model = preprocessing.FeatureHasher(n_features=2**18) | linear_model.LogisticRegression()
    >>> for _ in range(20):
    ...     model.learn_one({"word": "money", "length": 0.4}, True)
    ...     model.learn_one({"word": "lunch", "length": 0.5}, False)
    >>> model.predict_one({"word": "money"})
    True

    References
    ----------
    Weinberger, K., Dasgupta, A., Langford, J., Smola, A. and Attenberg, J. (2009). Feature hashing for large scale
    multitask learning.
    """

    name = "preprocessing.FeatureHasher"

    def __init__(
        self,
        n_features: int = 2**20,
        seed: int | None = None,
        alternate_sign: bool = True,
        names: bool | int = 0,
    ) -> None:
        super().__init__(
            n_features=n_features,
            seed=seed,
            alternate_sign=alternate_sign,
            names=names_parameter(str(self.name), names),
        )

    @property
    def feature_names(self) -> FeatureNames | None:
        """The names of the columns of all rows that were transformed; None without `names`."""
        return collected(self.inspect()["names"]) if self.names else None

    @cached_property
    def _hashing(self) -> tuple[int, int | None, bool]:
        parameters = self._description_dict["parameters"]
        return parameters["n_features"], parameters["seed"], parameters["alternate_sign"]

    def transform_one(self, x: Features) -> dict[Any, Any]:
        """The hashed columns of one example that are in use, ascending."""
        if self.names:
            return self._transform_one(x)
        try:
            return _hasher(self._hashing).one(x if type(x) is dict else _frames.plain_dict(x))
        except MillstreamError as error:
            raise error.by(self.name) from None

    def transform_many(self, X: Any) -> Sparse:
        """Hashed rows, as a sparse matrix for the `*_many` methods of models."""
        try:
            rows = [x if type(x) is dict else _frames.plain_dict(x) for x in _frames.dicts(X)]
            starts, indices, values = _hasher(self._hashing).many(rows)
        except MillstreamError as error:
            raise error.by(self.name) from None
        found = Sparse(starts, indices, values, int(self.n_features))
        if self.names:
            for row in rows:
                self._transform_one(row)
            object.__setattr__(found, "feature_names", self.feature_names)
        return found
