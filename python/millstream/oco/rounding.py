"""Bounds of rounding errors, for certificates and for printed bounds.

A sum of n floating-point numbers differs from the exact sum by at most γ_n = n u / (1 − n u) times the sum of the
absolute values, in any order of summation, where u = 2⁻⁵³ (Higham, 2002, section 4.2). A margin is therefore
proportional to the number of operations and to the magnitudes. It depends neither on the processor nor on the
summation order of the BLAS.
"""

from __future__ import annotations

import math

import numpy as np

__all__ = ["UNIT", "gamma"]

#: The unit roundoff u: the largest relative error of one operation.
UNIT = float(np.finfo(np.float64).eps) / 2


def gamma(operations: float) -> float:
    """γ_n: the largest relative error of n operations; ∞ if n u ≥ ½."""
    error = operations * UNIT
    return error / (1.0 - error) if error < 0.5 else math.inf
