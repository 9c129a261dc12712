"""Buffers: which rows of a stream are stored, to be learned again."""

from __future__ import annotations

from millstream._part import Config, forwarded

__all__ = ["Buffer", "ClassBalanced", "Reservoir"]


class Buffer(Config):
    """Base class of buffers: settings of a learner that stores rows, which it keeps itself."""


class ClassBalanced(Buffer):
    """Stores equally many rows of each class, as far as there are any.

    Choose it where classes arrive one after another or have very different frequencies: a reservoir would store
    few rows of a late class. While a class has never been the largest in the buffer, each of its rows
    is stored in place of a random row of the largest class; from then on its rows are a random sample of those of
    its class.

    Parameters
    ----------
    size
        Number of stored rows.
    seed
        Random seed of the rows that are stored and drawn.

    Examples
    --------
    >>> from millstream import continual, naive_bayes
    >>> buffer = continual.ClassBalanced(size=10)
    >>> model = continual.Replay(naive_bayes.GaussianNB(), buffer, n_replay=2)
    >>> for step in range(100):
    ...     model.learn_one({"x": step}, "late" if step >= 95 else "early")
    >>> model.stored, model.buffer.size
    (10, 10)

    References
    ----------
    Chrysakis, A. and Moens, M.-F. (2020). Online continual learning from imbalanced data. ICML.
    """

    name = "continual.ClassBalanced"

    @forwarded
    def __init__(self, size: int = 200, seed: int = 0) -> None: ...


class Reservoir(Buffer):
    """Stores every row so far with the same probability.

    Choose it for regressors, or if the stored rows should have the class frequencies of the stream.

    Parameters
    ----------
    size
        Number of stored rows.
    seed
        Random seed of the rows that are stored and drawn.

    Examples
    --------
    >>> from millstream import continual, linear_model
    >>> model = continual.Replay(linear_model.LinearRegression(), continual.Reservoir(size=50), n_replay=5)
    >>> for step in range(100):
    ...     model.learn_one({"x": step / 100}, step / 50)
    >>> model.stored
    50

    References
    ----------
    Vitter, J. S. (1985). Random sampling with a reservoir. ACM Transactions on Mathematical Software 11.
    """

    name = "continual.Reservoir"

    @forwarded
    def __init__(self, size: int = 200, seed: int = 0) -> None: ...
