"""Classes by random regions: the sides of a plane, the leaves of a tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from millstream._part import forwarded
from millstream.synth.base import Generator

__all__ = ["Hyperplane", "RandomTree"]


class Hyperplane(Generator):
    """Two sides of a rotating hyperplane: slow, incremental drift of a linear concept.

    Features are uniform in [0, 1) and the hyperplane passes through the centre, so the classes are equally
    frequent. After each example the first `n_drift_features` weights move by `mag_change`; each reverses its
    direction with probability `sigma`. Choose it to tune learning rates and forgetting: a linear model with a
    fixed rate follows, one with a decreasing rate does not.

    Parameters
    ----------
    seed
        Seed of the random generator; the same seed gives the same stream.
    n_features
        Number of features.
    n_drift_features
        Number of moving weights, from the first; all if there are fewer.
    mag_change
        Change of a moving weight per example; the literature uses 0.001 to 0.01.
    noise_percentage
        Fraction of examples with a wrong label.
    sigma
        Probability per example that a moving weight reverses its direction.

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

    The true concept is a tree, which favours tree learners; its size determines the difficulty. Numbers are
    uniform in [0, 1), nominal values equally likely.

    Parameters
    ----------
    seed
        Seed of the random generator; the same seed gives the same stream.
    seed_model
        Seed of the tree; None for `seed`. Streams that differ in `seed` only are samples of the same concept.
    n_classes
        Number of classes.
    n_num_features
        Number of numeric features.
    n_cat_features
        Number of nominal features.
    n_categories_per_feature
        Number of values of each nominal feature.
    max_tree_depth
        Level at which all nodes are leaves; the root has level 0.
    first_leaf_level
        Lowest level at which nodes may be leaves.
    fraction_leaves_per_level
        Probability that a node from that level on is a leaf.

    Examples
    --------
    >>> from millstream import synth
    >>> stream = synth.RandomTree(seed=42, n_num_features=2, n_cat_features=2, n_categories_per_feature=3)
    >>> for x, y in stream.take(2):
    ...     print({name: value if isinstance(value, str) else round(value, 2) for name, value in x.items()}, y)
    {'x_num_0': 0.1, 'x_num_1': 0.59, 'x_cat_0': 'value2', 'x_cat_1': 'value3'} 0
    {'x_num_0': 0.19, 'x_num_1': 0.54, 'x_cat_0': 'value3', 'x_cat_1': 'value3'} 1

    The paper uses 100 features of two values and trees of up to 18 levels with a leaf fraction of 0.25:

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
