"""Drift detectors for a stream of numbers, such as the errors of a model, and for rows.

Detectors for numbers of any size: `ADWIN`, `PageHinkley`, `CUSUM`, `KSWIN`. For the errors of a classifier, 1 for
an error and 0 for none: `DDM`, `EDDM`, `RDDM`, `HDDM_A`, `HDDM_W`, `FHDDM`, `STEPD`, `EWMAChart`.

Detectors for rows, without labels, that name the drifted features: `KSTest`, `ChiSquareTest`, `PSI` and
`HellingerDistance` test each feature; `D3`, `OCDD` and `ClusterDrift` test all features together.

`Monitor` runs several detectors beside a model and distinguishes real from virtual drift. `Retrain` replaces a
model at drift.
"""

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
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

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
