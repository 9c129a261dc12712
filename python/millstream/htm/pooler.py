"""A spatial pooler."""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Transformer

__all__ = ["SpatialPooler"]


class SpatialPooler(Native, Transformer):
    """Maps rows of bits to a fixed number of active columns.

    Choose it between encoders and `TemporalMemory`: it transforms rows of bits of any size and density into rows
    of `n_columns` bits, of which `active_columns` are 1, and learns to assign similar columns to similar rows. A
    nonzero number is an active bit; nominal and missing values are not active.

    Each column may have synapses with a random fraction of the bits. A synapse with a permanence of at least
    `connected_permanence` is connected. The columns with the most connected active bits are active; their
    synapses with active bits then grow, and the others decay.

    Parameters
    ----------
    n_columns
        Number of columns.
    active_columns
        Number of active columns per row.
    potential_fraction
        Fraction of the bits with which a column may have synapses.
    permanence_increment
        Growth of the synapses of an active column with active bits.
    permanence_decrement
        Decay of the synapses of an active column with other bits.
    connected_permanence
        Lowest permanence of a connected synapse.
    min_overlap
        Lowest number of connected active bits of an active column.
    boost_strength
        Strength of the preference for rarely active columns; 0 for no boosting.
    boost_period
        Number of rows over which the activity of columns is averaged.
    seed
        Seed of the synapses and of the order that decides ties.

    Notes
    -----
    Inhibition is global. NuPIC also raises all permanences of rarely active columns; the paper does not,
    and boosting has the same purpose. Example weights are ignored. Memory is five bytes for each pair of a
    column and a bit; more than 2²⁷ pairs are refused.

    Examples
    --------
    Nearby numbers have more columns in common than distant ones:

    >>> from millstream import htm
    >>> model = htm.ScalarEncoder(limits=(0, 100)) | htm.SpatialPooler()
    >>> for x in range(0, 101, 5):
    ...     model.learn_one({"x": x})
    >>> columns = {x: set(model.transform_one({"x": x})) for x in (50, 51, 80)}
    >>> len(columns[50]), len(columns[50] & columns[51]), len(columns[50] & columns[80])
    (40, 25, 0)

    References
    ----------
    Cui, Y., Ahmad, S. and Hawkins, J. (2017). The HTM spatial pooler: a neocortical algorithm for online sparse
    distributed coding. Frontiers in Computational Neuroscience 11.
    """

    name = "htm.SpatialPooler"

    @forwarded
    def __init__(
        self,
        n_columns: int = 2048,
        active_columns: int = 40,
        potential_fraction: float = 0.8,
        permanence_increment: float = 0.003,
        permanence_decrement: float = 0.0005,
        connected_permanence: float = 0.2,
        min_overlap: int = 1,
        boost_strength: float = 0.0,
        boost_period: int = 1000,
        seed: int = 1,
    ) -> None: ...
