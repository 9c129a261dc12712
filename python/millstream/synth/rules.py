"""Classes by explicit rules."""

from __future__ import annotations

from typing import ClassVar

from millstream._part import forwarded
from millstream.synth.base import Generator

__all__ = ["SEA", "STAGGER", "Agrawal", "Mixed", "Sine"]


class SEA(Generator):
    """Two classes by a sum of two features, the best-known benchmark of abrupt drift.

    Three features are uniform in [0, 10). The class is 1 if the first two sum to more than a threshold; the
    third is irrelevant. Choose it for a first test of how a model adapts to a change: a linear model can learn
    each variant perfectly, and the variants differ only in the threshold.

    The paper uses 10 % noise and four blocks of 12,500 examples with variants 0 to 3, with abrupt changes. Its
    class 1 is the side up to the threshold; here, as in MOA and River, it is the side above.

    Parameters
    ----------
    variant
        Index of the threshold of the sum: 8, 9, 7 or 9.5.
    noise
        Fraction of examples with a wrong label.
    seed
        Seed of the random generator; the same seed gives the same stream.

    Examples
    --------
    >>> from millstream import synth
    >>> stream = synth.SEA(variant=0, noise=0.1, seed=42)
    >>> for x, y in stream.take(3):
    ...     print({name: round(value, 2) for name, value in x.items()}, y)
    {0: 1.05, 1: 5.92, 2: 5.28} 0
    {0: 1.88, 1: 5.41, 2: 7.78} 0
    {0: 0.25, 1: 3.5, 2: 3.78} 0

    With threshold 8, class 1 covers 68 % of the square:

    >>> chunk = next(synth.SEA(variant=0).chunks(100_000))
    >>> round(float(chunk.y.mean()), 2)
    0.68

    References
    ----------
    Street and Kim, 2001. A streaming ensemble algorithm (SEA) for large-scale classification. KDD, 377-382.
    """

    name: ClassVar[str] = "synth.SEA"

    @forwarded
    def __init__(self, variant: int = 0, noise: float = 0.0, seed: int = 1) -> None: ...


class STAGGER(Generator):
    """Two classes of objects by size, colour and shape, all nominal: the oldest benchmark of drift.

    The concepts are: small and red; green or a circle; medium or large. They hold for 3, 15 and 18 of the 27
    objects. Choose it to see how quickly a model for nominal values forgets an old concept. The names of the
    values differ between sources; these are MOA's.

    Parameters
    ----------
    classification_function
        Index of the concept of class 1: 0, 1 or 2, in the order above.
    seed
        Seed of the random generator; the same seed gives the same stream.
    balance_classes
        Whether the two classes alternate, so that they are equally frequent.

    Examples
    --------
    >>> from millstream import synth
    >>> for x, y in synth.STAGGER(classification_function=1, seed=42).take(3):
    ...     print(x, y)
    {'size': 'large', 'color': 'red', 'shape': 'circle'} 1
    {'size': 'small', 'color': 'green', 'shape': 'square'} 1
    {'size': 'large', 'color': 'blue', 'shape': 'square'} 0

    References
    ----------
    Schlimmer and Granger, 1986. Incremental learning from noisy data. Machine Learning, 1(3), 317-354.
    """

    name: ClassVar[str] = "synth.STAGGER"

    @forwarded
    def __init__(self, classification_function: int = 0, seed: int = 1, balance_classes: bool = False) -> None: ...


class Agrawal(Generator):
    """Two groups of loan applicants, by one of ten rules over numbers and nominal values.

    Nine features: `salary`, `commission`, `age`, `elevel` (level of education), `car`, `zipcode`, `hvalue`
    (value of the house), `hyears` (years owned) and `loan`; `elevel`, `car` and `zipcode` are nominal. Class 1
    is group A of the paper. Choose it for rules of varied complexity: some functions use one feature, others
    six, and two of the features are never used.

    Where programs differ, this follows the paper. A perturbation of p moves a value by at most p/2 of its range;
    MOA and River move it by up to p, so pass twice their value. River's function 4 uses the salary where the paper
    uses the loan, and its functions 6 to 9 have the classes reversed; MOA has group A as class 0 in all of them.

    Parameters
    ----------
    classification_function
        Index of the rule for group A, from 0.
    seed
        Seed of the random generator; the same seed gives the same stream.
    balance_classes
        Whether the two classes alternate, so that they are equally frequent.
    perturbation
        Size of the perturbation of numbers after labelling: up to half of this fraction of their range.

    Examples
    --------
    >>> from millstream import synth
    >>> for x, y in synth.Agrawal(classification_function=2, seed=42).take(1):
    ...     for name, value in x.items():
    ...         print(name, value if isinstance(value, str) else round(value, 2))
    ...     print(y)
    salary 33610.29
    commission 48497.67
    age 52.0
    elevel level3
    car car4
    zipcode zipcode5
    hvalue 639198.38
    hyears 29.0
    loan 12720.19
    1

    Function 0 uses the age only, and 2/3 of the applicants are in group A:

    >>> chunk = next(synth.Agrawal(classification_function=0).chunks(100_000))
    >>> round(float(chunk.y.mean()), 2)
    0.67

    References
    ----------
    Agrawal, Imielinski and Swami, 1993. Database mining: a performance perspective. IEEE Transactions on Knowledge
    and Data Engineering, 5(6), 914-925.
    """

    name: ClassVar[str] = "synth.Agrawal"

    @forwarded
    def __init__(
        self,
        classification_function: int = 0,
        seed: int = 1,
        balance_classes: bool = False,
        perturbation: float = 0.0,
    ) -> None: ...


class Mixed(Generator):
    """Two of three conditions, on two flags and a curve.

    Features 0 and 1 are flags, 0 or 1; features 2 and 3 are the paper's x and y, uniform in [0, 1). If at least
    two of the flags and y < 0.5 + 0.3 sin(3πx) hold, the class is 1, or 0 after the change. In MOA and River the
    two functions are swapped.

    Parameters
    ----------
    classification_function
        0 if two conditions make class 1, 1 for the reverse.
    seed
        Seed of the random generator; the same seed gives the same stream.
    balance_classes
        Whether the two classes alternate, so that they are equally frequent.

    Examples
    --------
    >>> from millstream import synth
    >>> for x, y in synth.Mixed(seed=42, balance_classes=True).take(3):
    ...     print({name: round(value, 2) for name, value in x.items()}, y)
    {0: 1.0, 1: 1.0, 2: 0.69, 3: 0.98} 1
    {0: 1.0, 1: 0.0, 2: 0.89, 3: 0.9} 0
    {0: 1.0, 1: 1.0, 2: 0.37, 3: 0.34} 1

    References
    ----------
    Gama, Medas, Castillo and Rodrigues, 2004. Learning with drift detection. SBIA, 286-295.
    """

    name: ClassVar[str] = "synth.Mixed"

    @forwarded
    def __init__(self, classification_function: int = 0, seed: int = 1, balance_classes: bool = False) -> None: ...


class Sine(Generator):
    """Two sides of a sine curve, with four rules.

    Two features are uniform in [0, 1): 0 is the paper's x, and 1 its y; in River they are swapped. Class
    1 is the side below the curve for rules 0 and 2, and the side above for 1 and 3, which are the paper's contexts
    after the change: all classes are then reversed, the hardest kind of drift.

    Parameters
    ----------
    classification_function
        Index of the rule: below sin(x), above it, below 0.5 + 0.3 sin(3πx), above it.
    seed
        Seed of the random generator; the same seed gives the same stream.
    balance_classes
        Whether the two classes alternate, so that they are equally frequent.
    has_noise
        Whether to add two irrelevant features.

    Examples
    --------
    >>> from millstream import synth
    >>> for x, y in synth.Sine(classification_function=2, seed=42).take(3):
    ...     print({name: round(value, 2) for name, value in x.items()}, y)
    {0: 0.1, 1: 0.59} 1
    {0: 0.53, 1: 0.73} 0
    {0: 0.19, 1: 0.54} 1

    References
    ----------
    Gama, Medas, Castillo and Rodrigues, 2004. Learning with drift detection. SBIA, 286-295.
    """

    name: ClassVar[str] = "synth.Sine"

    @forwarded
    def __init__(
        self,
        classification_function: int = 0,
        seed: int = 1,
        balance_classes: bool = False,
        has_noise: bool = False,
    ) -> None: ...
