"""Networks whose steps are guided by a method against forgetting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Classifier, Model
from millstream.continual.buffers import Buffer

__all__ = ["AGEM", "EWC", "SI", "DERPlusPlus", "LwF"]


class _EndsTasks(Native, Classifier):
    def end_task(self) -> None:
        """Tell the model that a task has ended. Without examples since the last end, nothing changes."""
        self._end_task()

    @property
    def tasks(self) -> int:
        """Number of ended tasks."""
        return int(self._numbers()["tasks"])


class _Stores(Native, Classifier):
    @property
    def stored(self) -> int:
        """Number of stored rows."""
        return int(self._numbers()["method"]["stored"])


class EWC(_EndsTasks):
    """Elastic weight consolidation: a network whose important weights stay near those of earlier tasks.

    At the end of a task, the weights become an anchor, and the mean squared gradient of its examples measures the
    importance of each weight. Each later step also pulls the weights towards the anchor, in proportion to their
    importance. No rows are stored. This is the online form: one anchor, and importances that accumulate with a
    decay.

    Choose it for successive domains with the same classes, where rows must not be stored. It does not help when
    classes arrive one after another: on the digits it forgets as much as the network alone. See
    docs/forgetting.md; `Replay` and `StreamingLDA` do help.

    Parameters
    ----------
    model
        The network: `neural_network.MLPClassifier`.
    strength
        Factor λ of the penalty. The pull is a proximal step, which is stable for any strength; the gradient of the
        penalty would diverge.
    decay
        Factor of the importance from earlier tasks when a task ends.
    period
        Number of examples after which a task ends by itself; 0 for only when `end_task` is called.

    Examples
    --------
    >>> from millstream import continual, neural_network, optim
    >>> model = continual.EWC(neural_network.MLPClassifier(16, optimizer=optim.SGD(0.1)), strength=1000.0)
    >>> for step in range(400):
    ...     model.learn_one({"x": step % 10 / 10, "task": 0}, step % 10 > 4)
    >>> model.end_task()
    >>> model.tasks
    1

    References
    ----------
    Kirkpatrick, J. and others (2017). Overcoming catastrophic forgetting in neural networks. PNAS 114.
    Schwarz, J. and others (2018). Progress & compress: a scalable framework for continual learning. ICML.
    Huszár, F. (2018). Note on the quadratic penalties in elastic weight consolidation. PNAS 115.
    """

    name = "continual.EWC"

    @forwarded
    def __init__(
        self,
        model: Model | Mapping[str, Any] | str = "neural_network.MLPClassifier",
        strength: float = 100.0,
        decay: float = 0.9,
        period: int = 0,
    ) -> None: ...


class SI(_EndsTasks):
    """Synaptic intelligence: a network whose weights are protected by their contribution to earlier tasks.

    Like `EWC`, with another measure of importance: the decrease of the loss along the path of a weight, relative
    to its squared displacement. It at most doubles the cost of a step and stores no rows. As with `EWC`, it does
    not help when classes arrive one after another.

    Parameters
    ----------
    model
        The network: `neural_network.MLPClassifier`.
    strength
        Factor c of the penalty.
    damping
        Added to the squared distance that a weight has moved (ξ), so that weights at rest are not important.
    period
        Number of examples after which a task ends by itself; 0 for only when `end_task` is called.

    Examples
    --------
    >>> from millstream import continual
    >>> model = continual.SI(period=50)
    >>> for step in range(120):
    ...     model.learn_one({"x": step % 10 / 10}, step % 10 > 4)
    >>> model.tasks
    2

    References
    ----------
    Zenke, F., Poole, B. and Ganguli, S. (2017). Continual learning through synaptic intelligence. ICML.
    """

    name = "continual.SI"

    @forwarded
    def __init__(
        self,
        model: Model | Mapping[str, Any] | str = "neural_network.MLPClassifier",
        strength: float = 1.0,
        damping: float = 0.1,
        period: int = 0,
    ) -> None: ...


class LwF(_EndsTasks):
    """Learning without forgetting: a network that preserves the predictions of an earlier copy.

    At the end of a task the network is copied. For each later example the copy's probabilities of the earlier
    classes are a second target. It stores no rows. Choose it where the features of a new task resemble those of
    earlier ones; otherwise the copy's predictions carry little information.

    Parameters
    ----------
    model
        The network: `neural_network.MLPClassifier`.
    strength
        Factor of the second target.
    temperature
        Divisor of the scores that are compared; higher values weight small probabilities more.
    period
        Number of examples after which a task ends by itself; 0 for only when `end_task` is called.

    Examples
    --------
    >>> from millstream import continual
    >>> model = continual.LwF(period=50)
    >>> for step in range(120):
    ...     model.learn_one({"x": step % 10 / 10}, step % 10 > 4)
    >>> model.tasks
    2

    References
    ----------
    Li, Z. and Hoiem, D. (2016). Learning without forgetting. ECCV.
    """

    name = "continual.LwF"

    @forwarded
    def __init__(
        self,
        model: Model | Mapping[str, Any] | str = "neural_network.MLPClassifier",
        strength: float = 1.0,
        temperature: float = 2.0,
        period: int = 0,
    ) -> None: ...


class AGEM(_Stores):
    """A-GEM: a network whose steps do not increase the mean loss of stored rows.

    For each example, the gradient of the mean loss of some stored rows is computed too. If the step would increase
    that loss, its component along this gradient is removed. Stored rows are not learned, which protects them less
    than `Replay` and costs as much.

    Parameters
    ----------
    model
        The network: `neural_network.MLPClassifier`.
    buffer
        Which rows are stored, and how many.
    n_replay
        Number of stored rows that are drawn for each example.

    Examples
    --------
    >>> from millstream import continual
    >>> model = continual.AGEM(buffer=continual.Reservoir(size=50), n_replay=5)
    >>> for step in range(120):
    ...     model.learn_one({"x": step % 10 / 10}, step % 10 > 4)
    >>> model.stored
    50

    References
    ----------
    Chaudhry, A., Ranzato, M., Rohrbach, M. and Elhoseiny, M. (2019). Efficient lifelong learning with A-GEM. ICLR.
    """

    name = "continual.AGEM"

    @forwarded
    def __init__(
        self,
        model: Model | Mapping[str, Any] | str = "neural_network.MLPClassifier",
        buffer: Buffer | str = "continual.Reservoir",
        n_replay: int = 10,
    ) -> None: ...


class DERPlusPlus(_Stores):
    """Dark experience replay: a network that learns stored rows again and preserves its scores for them.

    Choose it among the methods for networks if rows may be stored. One step follows the sum of three mean
    gradients: of the new example, of stored rows with their classes, and of the distance from the scores stored
    with other rows. Classes that arrived after a row was stored are not compared.

    Parameters
    ----------
    model
        The network: `neural_network.MLPClassifier`.
    buffer
        Which rows are stored, and how many.
    n_replay
        Number of stored rows that are drawn for each of the two terms.
    score_weight
        Factor of the squared distance from the stored scores; α in the paper.
    class_weight
        Factor of the loss of stored rows with their classes; β in the paper.

    Examples
    --------
    >>> from millstream import continual
    >>> model = continual.DERPlusPlus(buffer=continual.ClassBalanced(size=50), n_replay=5)
    >>> for step in range(120):
    ...     model.learn_one({"x": step % 10 / 10}, step % 10 > 4)
    >>> model.stored
    50

    References
    ----------
    Buzzega, P., Boschini, M., Porrello, A., Abati, D. and Calderara, S. (2020). Dark experience for general
    continual learning: a strong, simple baseline. NeurIPS.
    """

    name = "continual.DERPlusPlus"

    @forwarded
    def __init__(
        self,
        model: Model | Mapping[str, Any] | str = "neural_network.MLPClassifier",
        buffer: Buffer | str = "continual.Reservoir",
        n_replay: int = 10,
        score_weight: float = 0.5,
        class_weight: float = 1.0,
    ) -> None: ...
