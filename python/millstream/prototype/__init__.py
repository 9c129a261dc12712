"""Learning vector quantization: classifiers that compare a row with prototypes, each of which belongs to a class.

The first `n_prototypes` distinct rows of each class become its prototypes, and later rows move them. A row gets
the class of the nearest prototype. Prototypes are points in the space of the features, so they can be read:
`model.prototypes`. Scale features first (`preprocessing.StandardScaler() | prototype.GLVQ()`).
"""

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.prototype.generalized import GLVQ, GMLVQ
from millstream.prototype.lvq import LVQ1, LVQ3, LVQ21
from millstream.prototype.soft import RSLVQ

__all__ = ["GLVQ", "GMLVQ", "LVQ1", "LVQ3", "LVQ21", "RSLVQ"]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
