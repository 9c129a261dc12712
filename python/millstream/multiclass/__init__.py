"""Multiclass classifiers composed of binary classifiers, and weights of classes.

| | members | choose it |
|---|---|---|
| `OneVsRest` | one per class | by default |
| `OneVsOne` | one per pair of classes | if members are slow to learn many examples, such as kernels |
| `OutputCode` | a number that you choose | with very many classes |
| `LabelTree` | two per class, of which an example meets few | with thousands of classes |

`ClassWeights` gives the examples of rare classes a larger weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.multiclass.class_weights import ClassWeights
from millstream.multiclass.label_tree import LabelTree
from millstream.multiclass.one_vs_one import OneVsOne, OneVsOneClassifier
from millstream.multiclass.one_vs_rest import OneVsRest, OneVsRestClassifier
from millstream.multiclass.output_code import OutputCode, OutputCodeClassifier

__all__ = [
    "ClassWeights",
    "LabelTree",
    "OneVsOne",
    "OneVsOneClassifier",
    "OneVsRest",
    "OneVsRestClassifier",
    "OutputCode",
    "OutputCodeClassifier",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
