"""Decompositions of rows as they are, without centring."""

from __future__ import annotations

from typing import Any

from millstream._part import forwarded
from millstream.decomposition.base import Decomposition

__all__ = ["FrequentDirections", "IncrementalSVD"]


class _Singular(Decomposition):
    """Base class of decompositions with singular values."""

    @property
    def singular_values(self) -> list[float]:
        """The singular values, the largest first."""
        return list(self._numbers()["singular_values"])


class IncrementalSVD(_Singular):
    """Truncated singular value decomposition of all rows, updated with a batch of rows at a time.

    Choose it where zero has a meaning and should stay zero, as with counts of words (latent semantic analysis), or
    with `forgetting` below 1 to follow drift. Rows are not centred; for variances choose `PCA`. What the
    truncation drops is lost, so the result is approximate unless the rows have at most `n_components` directions.

    A batch is a number of rows, whatever the calls in which they arrive: rows that wait for their batch are part
    of the state. With batches of one row, each row updates the components. Missing values count as 0.

    Parameters
    ----------
    n_components
        Number of components, and of output features.
    batch_size
        Number of rows per update.
    forgetting
        Factor of the singular values at each batch; 1 to forget nothing.

    Examples
    --------
    >>> from millstream import decomposition
    >>> svd = decomposition.IncrementalSVD(n_components=2, batch_size=1)
    >>> for x in ({"a": 4.0, "b": 0.0}, {"a": 0.0, "b": 3.0}):
    ...     svd.learn_one(x)
    >>> [round(value, 4) for value in svd.singular_values]
    [4.0, 3.0]
    >>> {name: round(value, 4) for name, value in svd.transform_one({"a": 5.0, "b": 6.0}).items()}
    {'svd_0': 5.0, 'svd_1': 6.0}

    References
    ----------
    Brand, M. (2002). Incremental singular value decomposition of uncertain data with missing values.
    Levy, A. and Lindenbaum, M. (2000). Sequential Karhunen-Loeve basis extraction and its application to images.
    """

    name = "decomposition.IncrementalSVD"

    @forwarded
    def __init__(self, n_components: int = 2, batch_size: int = 100, forgetting: float = 1.0) -> None: ...


class FrequentDirections(_Singular):
    """A sketch of all rows with an error bound after every row, and its principal directions.

    Choose it for wide rows where you need a guarantee. The sketch B has at most twice `sketch_size` rows. For the
    matrix A of all rows so far, every direction x of length 1 satisfies `0 <= |A x|² - |B x|² <= error_bound`, and
    `error_bound` is at most `squared_norm / (sketch_size + 1)`, whatever the order of the rows. Rows are not
    centred.

    `merge` is exact in this sense: the result is a sketch of both parts, and the bounds add up. It is not the
    sketch of the stream in one piece. The components are updated every `sketch_size` rows. Missing values count as
    0.

    Parameters
    ----------
    n_components
        Number of components, and of output features.
    sketch_size
        Number of rows of the sketch, at least `n_components`.

    Examples
    --------
    >>> from millstream import decomposition
    >>> sketch = decomposition.FrequentDirections(n_components=1, sketch_size=1)
    >>> for x in ({"a": 3.0, "b": 0.0}, {"a": 0.0, "b": 2.0}):
    ...     sketch.learn_one(x)
    >>> round(sketch.error_bound, 4), round(sketch.squared_norm, 4)
    (4.0, 13.0)
    >>> [{name: round(value, 4) for name, value in row.items()} for row in sketch.sketch]
    [{'a': 2.2361, 'b': 0.0}]

    References
    ----------
    Ghashami, M., Liberty, E., Phillips, J. M. and Woodruff, D. P. (2016). Frequent directions: simple and
    deterministic matrix sketching. SIAM Journal on Computing 45(5).
    """

    name = "decomposition.FrequentDirections"

    @forwarded
    def __init__(self, n_components: int = 2, sketch_size: int = 20) -> None: ...

    @property
    def sketch(self) -> list[dict[str, Any]]:
        """The rows of the sketch: the entry of each feature."""
        return list(self.inspect()["sketch"])

    @property
    def error_bound(self) -> float:
        """The largest possible difference of `|A x|²` and `|B x|²` for a direction x of length 1."""
        return float(self._numbers()["error_bound"])

    @property
    def squared_norm(self) -> float:
        """The sum of the squares of all numbers so far."""
        return float(self._numbers()["squared_norm"])
