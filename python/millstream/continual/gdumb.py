"""GDumb: a model trained on stored rows alone, on request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream._native import Native
from millstream._part import forwarded
from millstream.base import Classifier, Model
from millstream.continual.buffers import Buffer

__all__ = ["GDumb"]


class GDumb(Native, Classifier):
    """Stores rows, and trains a new model on them on request.

    Choose it as a baseline for methods against forgetting, or where examples may be stored and the model is
    needed only occasionally. `learn_one` only stores the row. `retrain()` trains an untrained copy of the
    model on the stored rows; `end_task` does the same. Before the first training
    there is no prediction. Predictions come from the last training and never start one.

    Parameters
    ----------
    model
        Classifier: any native model or pipeline.
    buffer
        Which rows are stored, and how many.
    passes
        Number of passes over the stored rows when the model is trained, each in a new random order.
    period
        Number of examples after which the model is trained; 0 for only when it is asked.

    Examples
    --------
    >>> from millstream import continual, naive_bayes
    >>> model = continual.GDumb(naive_bayes.GaussianNB(), continual.ClassBalanced(size=20), passes=1)
    >>> for step in range(100):
    ...     model.learn_one({"x": step}, "late" if step >= 50 else "early")
    >>> model.predict_one({"x": 80}) is None
    True
    >>> model.retrain()
    >>> model.predict_one({"x": 80}), model.stored, model.trained
    ('late', 20, 1)

    References
    ----------
    Prabhu, A., Torr, P. H. S. and Dokania, P. K. (2020). GDumb: a simple approach that questions our progress in
    continual learning. ECCV.
    """

    name = "continual.GDumb"

    @forwarded
    def __init__(
        self,
        model: Model | Mapping[str, Any] | str,
        buffer: Buffer | str = "continual.ClassBalanced",
        passes: int = 30,
        period: int = 0,
    ) -> None: ...

    def retrain(self) -> None:
        """Train an untrained copy of the model on the stored rows."""
        self._end_task()

    def end_task(self) -> None:
        """The same as `retrain`."""
        self._end_task()

    @property
    def stored(self) -> int:
        """Number of stored rows."""
        return int(self._numbers()["buffer"]["stored"])

    @property
    def trained(self) -> int:
        """How often the model was trained."""
        return int(self._numbers()["trained"])

    @property
    def trained_model(self) -> Any:
        """The model as it was last trained, as a copy."""
        return self._member(0)
