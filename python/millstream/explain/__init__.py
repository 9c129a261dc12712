"""Explanations of single predictions, and feature importances that are updated with each example.

Classifiers, regressors and anomaly detectors have the method `explain_one(x)`, which returns the contribution of
each feature to one prediction. Explanations of pipelines name the features of the input. `PermutationImportance`
and `SAGE` wrap a model and estimate the current importance of its features while it learns.

Examples
--------
>>> from millstream import linear_model, preprocessing
>>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
>>> for i in range(500):
...     model.learn_one({"hour": float(i % 24), "day": float(i % 7)}, i % 24 > 15)
>>> model.explain_one({"hour": 20.0, "day": 2.0})
feature           value  contribution
hour                 20        +1.378
day                   2        +0.014
nothing known                  -0.532
log odds of True               +0.861
"""

from __future__ import annotations

from millstream.explain.explanation import Explanation
from millstream.explain.one import explain_one
from millstream.explain.permutation import PermutationImportance
from millstream.explain.sage import SAGE

__all__ = ["SAGE", "Explanation", "PermutationImportance", "explain_one"]
