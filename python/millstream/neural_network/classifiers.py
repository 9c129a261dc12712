"""Networks that predict a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Classifier
from millstream.neural_network.layers import HasLayers
from millstream.optim import Optimizer

__all__ = ["MLPClassifier"]


class MLPClassifier(HasLayers, Native, Classifier):
    """Neural network with several hidden layers for any number of classes, by stochastic gradient descent.

    Choose it where a linear model is not flexible enough and examples are plentiful: a step takes about ten
    microseconds with 64 features, 64 units and 10 classes. Scale the features (with
    `preprocessing.StandardScaler`). Classes need not be declared; each is added with its first example.
    If classes arrive one after another, a network forgets the earlier ones: see `continual.Replay` and
    docs/forgetting.md.

    A missing number contributes nothing. A nominal feature has one weight per value and unit of the first layer,
    or, with `embedding_size`, a learned vector per value, which needs fewer weights and lets the values share
    weights of the first layer. `millstream.train` takes mini-batches.

    Parameters
    ----------
    hidden_units
        Number of units in each hidden layer, or one number for one layer.
    activation
        Function of the hidden units: "relu" or "tanh".
    optimizer
        Optimiser of the weights. `optim.SGD` is the fastest. `optim.FTRLProximal` is not supported: it computes
        weights from its own state only and would lose the initial weights of the hidden layers.
    embedding_size
        Length of the learned vector of each nominal value; 0 for a weight per value and unit.
    seed
        Random seed of the initial weights.

    Examples
    --------
    >>> from millstream import neural_network, optim, preprocessing
    >>> model = preprocessing.StandardScaler() | neural_network.MLPClassifier(16, optimizer=optim.SGD(0.1))
    >>> for step in range(4000):
    ...     x, y = step * 0.618 % 1, step * 0.414 % 1
    ...     model.learn_one({"x": x, "y": y}, "inside" if (x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.1 else "outside")
    >>> model.predict_one({"x": 0.5, "y": 0.5}), model.predict_one({"x": 0.1, "y": 0.1})
    ('inside', 'outside')

    With a vector for each value of a nominal feature:

    >>> model = neural_network.MLPClassifier(8, embedding_size=2)
    >>> for colour in ["red", "green", "blue"] * 50:
    ...     model.learn_one({"colour": colour}, colour == "red")
    >>> model.embeddings["colour"]["red"].shape, model.layers[0].weights["colour"].shape
    ((2,), (2, 8))

    References
    ----------
    Rumelhart, D. E., Hinton, G. E. and Williams, R. J. (1986). Learning representations by back-propagating
    errors. Nature 323. Bengio, Y., Ducharme, R., Vincent, P. and Jauvin, C. (2003). A neural probabilistic
    language model. Journal of Machine Learning Research 3.
    """

    name = "neural_network.MLPClassifier"

    @forwarded
    def __init__(
        self,
        hidden_units: int | Sequence[int] = (64,),
        activation: str = "relu",
        optimizer: Optimizer | str = "optim.SGD",
        embedding_size: int = 0,
        seed: int = 0,
    ) -> None: ...

    @property
    def embeddings(self) -> dict[str, dict[str, Any]]:
        """The vector of each value of each nominal feature; empty without `embedding_size`."""
        found = self.inspect().get("embeddings", {})
        return {
            name: {value: np.array(vector) for value, vector in values.items()} for name, values in found.items()
        }
