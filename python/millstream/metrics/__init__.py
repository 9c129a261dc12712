"""Incremental metrics of predictions: over the whole stream, over a window (`Rolling`) or fading (`Fading`).

    metric = metrics.Rolling(metrics.Accuracy(), window_size=1000)
    metric.update(y_true, y_pred)
    metric.get()

Label metrics accept a label, or a dict of probabilities, of which the most probable label counts. A missing
prediction (None, or an empty dict) counts as wrong. Probability metrics (`LogLoss`, `Brier`, `ROCAUC`, `PRAUC`)
accept a dict, or a float, which is the probability of the positive class. For them, a missing prediction counts as
probability 0.5. A metric without outcomes is 0, and `ROCAUC` is 0.5 until both classes have been seen.

`Precision`, `Recall`, `F1`, `FBeta`, `ROCAUC` and `PRAUC` score one class, `metric.positive_class`, which does not
depend on the order of outcomes. It is `pos_val` if that is given; True or 1 if the labels are bools, 0 and 1, or
−1 and 1; otherwise the rarest class by the weight of the true labels since the start. Of equally rare classes it
is the last in sort order. Windows and fading do not change it. With more than two classes, label metrics score the
rarest class against all others; `ROCAUC` and `PRAUC` need `pos_val`.

`AdjustedRand`, `VMeasure` and the others of `metrics.clusters` compare clusters with classes, whatever their
names. A pair of rows counts with the product of their weights, and a missing prediction is a cluster of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.metrics import multioutput
from millstream.metrics.averages import (
    MacroF1,
    MacroFBeta,
    MacroPrecision,
    MacroRecall,
    MicroF1,
    MicroFBeta,
    MicroPrecision,
    MicroRecall,
    WeightedF1,
    WeightedFBeta,
    WeightedPrecision,
    WeightedRecall,
)
from millstream.metrics.base import Metric
from millstream.metrics.clusters import (
    AdjustedRand,
    Completeness,
    FowlkesMallows,
    Homogeneity,
    NormalizedMutualInfo,
    Rand,
    Silhouette,
    VMeasure,
)
from millstream.metrics.confusions import (
    MCC,
    RMSLE,
    GeometricMean,
    Jaccard,
    MacroJaccard,
    MicroJaccard,
    MultiFBeta,
    MutualInfo,
    WeightedJaccard,
)
from millstream.metrics.labels import (
    F1,
    Accuracy,
    BalancedAccuracy,
    CohenKappa,
    ConfusionMatrix,
    FBeta,
    KappaM,
    KappaTemporal,
    Precision,
    Recall,
)
from millstream.metrics.numbers import MAE, MAPE, MSE, R2, RMSE, SMAPE
from millstream.metrics.probabilities import PRAUC, ROCAUC, Brier, LogLoss
from millstream.metrics.report import ClassificationReport
from millstream.metrics.together import Metrics
from millstream.metrics.windows import Fading, Rolling, RollingPRAUC, RollingROCAUC

#: Aliases.
Kappa = CohenKappa
KappaT = KappaTemporal
VBeta = VMeasure
CrossEntropy = LogLoss

__all__ = [
    "F1",
    "MAE",
    "MAPE",
    "MCC",
    "MSE",
    "PRAUC",
    "R2",
    "RMSE",
    "RMSLE",
    "ROCAUC",
    "SMAPE",
    "Accuracy",
    "AdjustedRand",
    "BalancedAccuracy",
    "Brier",
    "ClassificationReport",
    "CohenKappa",
    "Completeness",
    "ConfusionMatrix",
    "CrossEntropy",
    "FBeta",
    "Fading",
    "FowlkesMallows",
    "GeometricMean",
    "Homogeneity",
    "Jaccard",
    "Kappa",
    "KappaM",
    "KappaT",
    "KappaTemporal",
    "LogLoss",
    "MacroF1",
    "MacroFBeta",
    "MacroJaccard",
    "MacroPrecision",
    "MacroRecall",
    "Metric",
    "Metrics",
    "MicroF1",
    "MicroFBeta",
    "MicroJaccard",
    "MicroPrecision",
    "MicroRecall",
    "MultiFBeta",
    "MutualInfo",
    "NormalizedMutualInfo",
    "Precision",
    "Rand",
    "Recall",
    "Rolling",
    "RollingPRAUC",
    "RollingROCAUC",
    "Silhouette",
    "VBeta",
    "VMeasure",
    "WeightedF1",
    "WeightedFBeta",
    "WeightedJaccard",
    "WeightedPrecision",
    "WeightedRecall",
    "multioutput",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
