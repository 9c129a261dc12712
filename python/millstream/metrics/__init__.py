"""How good predictions are, told one at a time: plain, over a window (`Rolling`) or fading (`Fading`).

    metric = metrics.Rolling(metrics.Accuracy(), window_size=1000)
    metric.update(y_true, y_pred)
    metric.get()

Metrics of labels take a label, or a dict of probabilities of which the most probable counts. No prediction
(None, or an empty dict) counts as wrong. Metrics of probabilities (`LogLoss`, `Brier`, `ROCAUC`, `PRAUC`)
take a dict, or a float: the probability of the positive class. There, no prediction counts as the toss of a
coin. A metric that has been told nothing is 0, and `ROCAUC` is 0.5 until both classes have come.

`Precision`, `Recall`, `F1`, `FBeta`, `ROCAUC` and `PRAUC` are about one class, `metric.positive_class`, which
never depends on the order of outcomes. It is `pos_val` where that is given; True or 1 where the labels are bools,
0 and 1, or −1 and 1; otherwise the rarer class by the weight of the true labels since the start. Of classes that
are equally rare it is the last in sort order. Windows and fading do not change it. With more than two classes,
metrics of labels score the rarest class against all others; `ROCAUC` and `PRAUC` need `pos_val`.
"""

from __future__ import annotations

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
from millstream.metrics.windows import Fading, Rolling

#: Other names for the same.
Kappa = CohenKappa
KappaT = KappaTemporal

__all__ = [
    "F1",
    "MAE",
    "MAPE",
    "MSE",
    "PRAUC",
    "R2",
    "RMSE",
    "ROCAUC",
    "SMAPE",
    "Accuracy",
    "BalancedAccuracy",
    "Brier",
    "CohenKappa",
    "ConfusionMatrix",
    "FBeta",
    "Fading",
    "Kappa",
    "KappaM",
    "KappaT",
    "KappaTemporal",
    "LogLoss",
    "MacroF1",
    "MacroFBeta",
    "MacroPrecision",
    "MacroRecall",
    "Metric",
    "MicroF1",
    "MicroFBeta",
    "MicroPrecision",
    "MicroRecall",
    "Precision",
    "Recall",
    "Rolling",
    "WeightedF1",
    "WeightedFBeta",
    "WeightedPrecision",
    "WeightedRecall",
]
