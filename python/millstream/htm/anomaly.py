"""An anomaly detector of hierarchical temporal memory."""

from __future__ import annotations

from millstream._limits import Limited, Limits, described
from millstream._native import Native
from millstream.base import AnomalyDetector

__all__ = ["HTMAnomaly"]


class HTMAnomaly(Limited, Native, AnomalyDetector):
    """Anomaly detector with hierarchical temporal memory, for rows that earlier rows do not predict.

    Choose it for a time series of one or a few features whose anomalies are changes of the pattern and not only
    extreme values, such as a missing spike or a load at the wrong time of day. It learns continuously, without
    labels, and needs neither a period nor a model of the series. If rows are independent of each other, choose
    `anomaly.HalfSpaceTrees`.

    Each row is encoded as bits, which `SpatialPooler` maps to active columns. `TemporalMemory` predicts the
    active columns from earlier rows, and `AnomalyLikelihood` compares the fraction of active columns that were
    not predicted with earlier fractions. The score is 0 for the first `grace_period + min_samples` rows; without
    `limits`, for `calibration_period` rows more.

    Parameters
    ----------
    time
        Name of the feature with the time: a date, or seconds since 1970. The time of day is encoded. A row
        whose time is before that of the last row is refused.
    limits
        Range of each feature: a dict of feature to (low, high), or one pair for all features. The range of other
        features is that of their first `calibration_period` values.
    calibration_period
        Number of initial values that determine the range of a feature; the feature is ignored until then.
    n_buckets
        Number of buckets within the range of a feature, each with its own code. Numbers outside the range have
        codes too.
    n_bits
        Number of bits that encode all features except the time; increase it for more than a few features.
    n_active
        Number of active bits of a feature.
    weekend
        Whether to encode weekends in addition to the time of day.
    max_gap
        Number of seconds without a row after which the sequence restarts; None for no limit. Learned sequences are
        kept.
    spatial_tolerance
        A number outside the range observed so far by more than this fraction of the range has score 1; None
        disables the rule.
    n_columns
        Number of columns.
    active_columns
        Number of active columns per row.
    cells_per_column
        Number of cells per column: the number of contexts that a column can distinguish.
    activation_threshold
        Number of connected synapses from active cells that activate a segment.
    min_threshold
        Minimum number of synapses from active cells for a segment to learn in a column that was not predicted.
    new_synapses
        Maximum number of synapses from active cells to which a learning segment grows.
    max_segments_per_cell
        Largest number of segments of a cell; the least recently used one is replaced.
    max_synapses
        Largest number of synapses of a segment; the weakest ones are replaced.
    max_segments
        Largest number of segments; the least recently used one is replaced.
    grace_period
        Number of initial rows whose scores are excluded from the distribution of scores.
    min_samples
        Number of scores in the distribution before rows are scored.
    window_size
        Number of most recent scores from which the distribution is estimated.
    smoothing_window
        Number of most recent scores whose mean is compared with the distribution.
    refresh_interval
        Number of rows between updates of the distribution.
    scale
        "log", "likelihood", or "raw" for the fraction of columns that were not predicted.
    onsets_only
        Whether only the first of consecutive anomalies has its full score.
    seed
        Seed of synapses and of codes.

    Notes
    -----
    A row without a value also restarts the sequence and has score 0. If a feature is constant during
    calibration, the width of its buckets is proportional to its magnitude. Example weights are ignored. `undo`
    is not supported, so a filter around this detector copies it for each row. See docs/notes/htm.md for
    departures from NuPIC.

    Examples
    --------
    A daily pattern with one value per hour. The last day has no peak, although each of its values is ordinary:

    >>> import math
    >>> from millstream import htm
    >>> model = htm.HTMAnomaly("time", limits={"load": (0, 100)}, seed=1)
    >>> def load(hour):
    ...     return 50 + 40 * math.sin(hour % 24 / 24 * 2 * math.pi) if hour < 1500 else 50.0
    >>> scores = [model.step_one({"time": 3600 * hour, "load": load(hour)}) for hour in range(1524)]
    >>> round(max(scores[1000:1500]), 3), round(max(scores[1500:]), 3)
    (0.157, 1.0)

    References
    ----------
    Ahmad, S., Lavin, A., Purdy, S. and Agha, Z. (2017). Unsupervised real-time anomaly detection for streaming
    data. Neurocomputing 262.
    Lavin, A. and Ahmad, S. (2015). Evaluating real-time anomaly detection algorithms: the Numenta anomaly
    benchmark. ICMLA.
    """

    name = "htm.HTMAnomaly"

    def __init__(
        self,
        time: str | int | None = None,
        limits: Limits | None = None,
        calibration_period: int = 100,
        n_buckets: int = 130,
        n_bits: int = 400,
        n_active: int = 21,
        weekend: bool = False,
        max_gap: float | None = None,
        spatial_tolerance: float | None = 0.05,
        n_columns: int = 2048,
        active_columns: int = 40,
        cells_per_column: int = 32,
        activation_threshold: int = 13,
        min_threshold: int = 10,
        new_synapses: int = 20,
        max_segments_per_cell: int = 128,
        max_synapses: int = 32,
        max_segments: int = 131_072,
        grace_period: int = 288,
        min_samples: int = 100,
        window_size: int = 8640,
        smoothing_window: int = 10,
        refresh_interval: int = 100,
        scale: str = "log",
        onsets_only: bool = False,
        seed: int = 1,
    ) -> None:
        super().__init__(
            time=time,
            limits=described(self.name, limits),
            calibration_period=calibration_period,
            n_buckets=n_buckets,
            n_bits=n_bits,
            n_active=n_active,
            weekend=weekend,
            max_gap=max_gap,
            spatial_tolerance=spatial_tolerance,
            n_columns=n_columns,
            active_columns=active_columns,
            cells_per_column=cells_per_column,
            activation_threshold=activation_threshold,
            min_threshold=min_threshold,
            new_synapses=new_synapses,
            max_segments_per_cell=max_segments_per_cell,
            max_synapses=max_synapses,
            max_segments=max_segments,
            grace_period=grace_period,
            min_samples=min_samples,
            window_size=window_size,
            smoothing_window=smoothing_window,
            refresh_interval=refresh_interval,
            scale=scale,
            onsets_only=onsets_only,
            seed=seed,
        )

    @property
    def n_segments(self) -> int:
        """Number of segments of the temporal memory."""
        return int(self._numbers()["memory"]["n_segments"])

    @property
    def gaps(self) -> int:
        """Number of restarts of the sequence."""
        return int(self._numbers()["gaps"])
