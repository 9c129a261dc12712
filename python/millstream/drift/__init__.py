"""Detectors of change in a stream of numbers, often a model's errors.

For numbers of any size: `ADWIN`, `PageHinkley`, `CUSUM`, `KSWIN`. For the errors of a classifier, 1 for an error
and 0 for none: `DDM`, `EDDM`, `RDDM`, `HDDM_A`, `HDDM_W`, `FHDDM`, `STEPD`, `EWMAChart`.

Detectors of change in rows, without labels, that say which features moved: `KSTest`,
`ChiSquareTest`, `PSI`, `HellingerDistance` look at each feature by itself; `D3`, `OCDD` and `ClusterDrift` at all
together.

`Monitor` runs several at once beside a model and tells real drift from virtual; `Retrain` replaces a model.
"""

from millstream.drift import binary
from millstream.drift.base import DriftDetector
from millstream.drift.clusters import ClusterDrift
from millstream.drift.discriminative import D3
from millstream.drift.error_rate import DDM, EDDM, FHDDM, HDDM_A, HDDM_W, RDDM, STEPD, EWMAChart
from millstream.drift.feature_tests import PSI, ChiSquareTest, HellingerDistance, KSTest
from millstream.drift.mean_change import ADWIN, CUSUM, KSWIN, PageHinkley
from millstream.drift.monitor import Event, Monitor
from millstream.drift.one_class import OCDD
from millstream.drift.retrain import DriftRetrainingClassifier, Retrain
from millstream.drift.row_detector import FeatureDriftDetector, FeatureReport

__all__ = [
    "ADWIN",
    "CUSUM",
    "D3",
    "DDM",
    "EDDM",
    "FHDDM",
    "HDDM_A",
    "HDDM_W",
    "KSWIN",
    "OCDD",
    "PSI",
    "RDDM",
    "STEPD",
    "ChiSquareTest",
    "ClusterDrift",
    "DriftDetector",
    "DriftRetrainingClassifier",
    "EWMAChart",
    "Event",
    "FeatureDriftDetector",
    "FeatureReport",
    "HellingerDistance",
    "KSTest",
    "Monitor",
    "PageHinkley",
    "Retrain",
    "binary",
]
