"""Classes by random regions: the sides of a plane, the leaves of a tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from millstream._part import forwarded
from millstream.synth.base import Generator

__all__ = ["Hyperplane", "RandomTree"]


class Hyperplane(Generator):
    """Two sides of a hyperplane that turns: slow, incremental drift of a linear truth.

    Features are uniform in [0, 1) and the plane goes through the middle, so the classes are equally frequent.
    After each example the first `n_drift_features` weights move by `mag_change`; each turns round with chance
    `sigma`. Choose it to set learning rates and forgetting: a linear model with a fixed rate follows, one that
    settles falls behind.

    Parameters
    ----------
    seed
        Where the random numbers start; the same seed gives the same stream.
    n_features
        The number of features.
    n_drift_features
        How many weights move, from the first; all if there are fewer.
    mag_change
        How far a moving weight goes after each example; the literature uses 0.001 to 0.01.
    noise_percentage
        The share of examples whose class is another than the rule's.
    sigma
        The chance with which a moving weight turns round after an example.

    Examples
    --------
    >>> from millstream import evaluate, linear_model, synth
    >>> for change in (0.0, 0.01):
    ...     stream = synth.Hyperplane(mag_change=change, n_drift_features=10, sigma=0.0001, seed=42)
    ...     result = evaluate.prequential(linear_model.LogisticRegression(), stream.take(50_000))
    ...     print(change, round(result.values["Accuracy"], 2))
    0.0 0.87
    0.01 0.86

    References
    ----------
    Hulten, Spencer and Domingos, 2001. Mining time-changing data streams. KDD, 97-106.
    """

    name: ClassVar[str] = "synth.Hyperplane"

    @forwarded
    def __init__(
        self,
        seed: int = 1,
        n_features: int = 10,
        n_drift_features: int = 2,
        mag_change: float = 0.0,
        noise_percentage: float = 0.05,
        sigma: float = 0.1,
    ) -> None: ...


class RandomTree(Generator):
    """Classes by a random decision tree over numbers and nominal values.

    The truth is a tree, so trees are at home here, and the size of the tree says how hard the problem is. Numbers
    are uniform in [0, 1), nominal values equally likely.

    Parameters
    ----------
    seed
        Where the random numbers start; the same seed gives the same stream.
    seed_model
        The seed of the tree, None for `seed`: streams that differ in `seed` alone are samples of one truth.
    n_classes
        The number of classes.
    n_num_features
        The number of features that are numbers.
    n_cat_features
        The number of nominal features.
    n_categories_per_feature
        How many values each nominal feature has.
    max_tree_depth
        The level at which all nodes are leaves; the root is at level 0.
    first_leaf_level
        The level from which nodes may be leaves.
    fraction_leaves_per_level
        The chance with which a node is a leaf from that level on.

    Examples
    --------
    >>> from millstream import synth
    >>> stream = synth.RandomTree(seed=42, n_num_features=2, n_cat_features=2, n_categories_per_feature=3)
    >>> for x, y in stream.take(2):
    ...     print({name: value if isinstance(value, str) else round(value, 2) for name, value in x.items()}, y)
    {'x_num_0': 0.1, 'x_num_1': 0.59, 'x_cat_0': 'value2', 'x_cat_1': 'value3'} 0
    {'x_num_0': 0.19, 'x_num_1': 0.54, 'x_cat_0': 'value3', 'x_cat_1': 'value3'} 1

    The paper has 100 features of two values and trees of up to 18 levels with a quarter of leaves:

    >>> stream = synth.RandomTree(
    ...     n_num_features=0,
    ...     n_cat_features=100,
    ...     n_categories_per_feature=2,
    ...     max_tree_depth=18,
    ...     fraction_leaves_per_level=0.25,
    ... )
    >>> len(stream.features)
    100

    References
    ----------
    Domingos and Hulten, 2000. Mining high-speed data streams. KDD, 71-80.
    """

    name: ClassVar[str] = "synth.RandomTree"
    aliases: ClassVar[Mapping[str, str]] = {"seed_sample": "seed", "seed_tree": "seed_model"}

    @forwarded
    def __init__(
        self,
        seed: int = 1,
        seed_model: int | None = None,
        n_classes: int = 2,
        n_num_features: int = 5,
        n_cat_features: int = 5,
        n_categories_per_feature: int = 5,
        max_tree_depth: int = 5,
        first_leaf_level: int = 3,
        fraction_leaves_per_level: float = 0.15,
    ) -> None: ...
