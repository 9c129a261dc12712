"""A sample of each class or group."""

from __future__ import annotations

from typing import Any

from millstream._part import forwarded
from millstream.sampling.base import Sampler
from millstream.sampling.rows import Batch, key_column

__all__ = ["Stratified"]


class Stratified(Sampler):
    """A uniform sample of each class, or of each value of a feature, within a total budget.

    Choose it if rare classes or groups must be seen as well: one fraud in a thousand payments is hardly in a
    uniform sample. Shares are as equal as the numbers of rows allow. New strata may appear at any time and take
    their share from the largest. If there are more strata than rows in the budget, the first ones have one row
    each.

    Parameters
    ----------
    size
        Number of rows of all strata together.
    key
        Name of the feature whose values are the strata; None for the target.
    seed
        Seed of the draws. Samples that are to be merged need different seeds.

    Notes
    -----
    Rows of different strata stand for different numbers of rows. `inspect()` has the number of rows that each
    stratum has seen, from which the weight of its rows follows: `seen / rows`.

    Examples
    --------
    >>> from millstream import sampling
    >>> stratified = sampling.Stratified(size=10)
    >>> for number in range(1000):
    ...     stratified.learn_one({"number": number}, "fraud" if number % 250 == 7 else "fine")
    >>> stratified.inspect()["strata"]
    [{'key': 'fine', 'rows': 6, 'seen': 996}, {'key': 'fraud', 'rows': 4, 'seen': 4}]

    References
    ----------
    Vitter, J. S. (1985). Random sampling with a reservoir. ACM Transactions on Mathematical Software 11(1).
    """

    name = "sampling.Stratified"

    @forwarded
    def __init__(self, size: int, key: str | int | None = None, seed: int = 0) -> None: ...

    def _key_of(self, batch: Batch, targets: list[Any] | None) -> Any:
        key = self.parameters["key"]
        if key is not None:
            return key_column(batch.column(key))
        return [None] * batch.rows if targets is None else targets
