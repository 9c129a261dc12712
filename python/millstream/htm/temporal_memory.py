"""A temporal memory."""

from __future__ import annotations

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import AnomalyDetector

__all__ = ["TemporalMemory"]


class TemporalMemory(Native, AnomalyDetector):
    """Learns sequences of rows of bits, and scores rows by the fraction of bits that it did not predict.

    Choose it behind `SpatialPooler`, or directly on sparse rows of bits, to learn sequences of rows. The score
    of a row is the fraction of its active bits that were not predicted from earlier rows. It is 0 for the first
    row, for which there is no prediction. `HTMAnomaly` combines it with encoders and with
    `AnomalyLikelihood`.

    Each bit is a column of cells. Cells have segments of synapses with cells that were active at the previous
    row; a segment with enough synapses from active cells predicts its own cell. An active column activates its
    predicted cells, or all of its cells if there are none, and then one of them learns a new segment. The same
    bit thus has different active cells in different contexts, which distinguishes sequences with common parts.

    Parameters
    ----------
    n_columns
        Number of columns; a row with an active bit at a larger index is refused.
    cells_per_column
        Number of cells per column: the number of contexts that a column can distinguish.
    activation_threshold
        Number of connected synapses from active cells that activate a segment. Rows must have more active bits.
    min_threshold
        Minimum number of synapses from active cells for a segment to learn in a column that was not predicted.
    new_synapses
        Maximum number of synapses from active cells to which a learning segment grows.
    initial_permanence
        Permanence of a new synapse.
    connected_permanence
        Lowest permanence of a connected synapse.
    permanence_increment
        Growth of the synapses of a learning segment from active cells.
    permanence_decrement
        Decay of the other synapses of a learning segment.
    predicted_decrement
        Decay of the synapses from active cells of a segment whose prediction was wrong.
    max_segments_per_cell
        Largest number of segments of a cell; the least recently used one is replaced.
    max_synapses
        Largest number of synapses of a segment; the weakest ones are replaced.
    max_segments
        Largest number of segments; the least recently used one is replaced. It bounds the memory: with the
        default of `max_synapses`, about 50 MB.
    seed
        Seed of the choice of cells and synapses.

    Notes
    -----
    The state of the sequence is part of the model: rows must come in order. Example weights are ignored.

    Examples
    --------
    D follows A B C, and Y follows X B C. After A B C, the memory predicts D and not Y:

    >>> from millstream import htm
    >>> letters = {letter: {20 * place + bit: 1 for bit in range(20)} for place, letter in enumerate("ABCDEXYF")}
    >>> model = htm.TemporalMemory(n_columns=160, cells_per_column=8)
    >>> for letter in "ABCDEXBCYF" * 40:
    ...     model.learn_one(letters[letter])
    >>> for letter in "ABC":
    ...     model.learn_one(letters[letter])
    >>> model.score_one(letters["D"]), model.score_one(letters["Y"])
    (0.0, 1.0)

    References
    ----------
    Hawkins, J. and Ahmad, S. (2016). Why neurons have thousands of synapses, a theory of sequence memory in
    neocortex. Frontiers in Neural Circuits 10.
    """

    name = "htm.TemporalMemory"

    @forwarded
    def __init__(
        self,
        n_columns: int = 2048,
        cells_per_column: int = 32,
        activation_threshold: int = 13,
        min_threshold: int = 10,
        new_synapses: int = 20,
        initial_permanence: float = 0.21,
        connected_permanence: float = 0.5,
        permanence_increment: float = 0.1,
        permanence_decrement: float = 0.1,
        predicted_decrement: float = 0.001,
        max_segments_per_cell: int = 128,
        max_synapses: int = 32,
        max_segments: int = 131_072,
        seed: int = 1,
    ) -> None: ...

    @property
    def n_segments(self) -> int:
        """Number of segments."""
        return int(self._numbers()["n_segments"])

    @property
    def n_synapses(self) -> int:
        """Number of synapses."""
        return int(self._numbers()["n_synapses"])

    @property
    def evictions(self) -> int:
        """Number of segments that were replaced because a limit was reached."""
        return int(self._numbers()["evictions"])
