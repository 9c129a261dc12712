"""A model that is replaced when its errors drift."""

from __future__ import annotations

from typing import Any

from millstream._answers import number_of, probabilities_of
from millstream._echo import quoted
from millstream._examples import check_example
from millstream._native import Native, NativeWrapper
from millstream._part import shown_part, unlearned_copy
from millstream._python_loop import teach
from millstream.base import Features, Label, Wrapper
from millstream.compose.members import compiles, refuse_learned
from millstream.drift.base import DriftDetector, checked_detector
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.registry import class_of
from millstream.roles import LEARNERS, REGRESSOR, one_of, role_of

__all__ = ["DriftRetrainingClassifier", "Retrain"]

#: Larger errors are clipped to this value, as in the core.
_LARGEST_ERROR = 1e100


class Retrain(Wrapper):
    """A model that is replaced when a drift detector finds drift in its errors.

    Choose it for a learner that does not forget, such as naive Bayes: it learns without forgetting until the
    stream changes. The detector receives the error of each prediction before its example is learned: 0 or 1, or
    the absolute error of a regressor. At a warning a background model starts training. It is dropped when the
    warning passes, and replaces the model at drift. It has then learned exactly the examples since the warning. A
    decrease of the errors replaces nothing.

    All detectors here give warnings; a second, more sensitive detector can give them instead. Without a warning,
    an untrained model replaces the model at drift. With `DDM` and `RDDM` a model without an error during their
    `grace_period` is replaced at its first error.

    `model` is the active model and `background` the background model. `detector` and `warning_detector` are the
    detectors in their current state. Native ones are copies. The given components are unchanged and available in
    `parameters`, from which `clone()` makes an untrained copy.

    Parameters
    ----------
    model
        Classifier or regressor: any native model or pipeline, or a Python model of your own, which is cloned.
    detector
        Drift detector for its errors; one of your own needs `update(x)` and `drift_detected`.
    warm
        Train a background model from the warning on. Otherwise the replacement has learned only the newest
        example.
    warning_detector
        Second detector, whose drifts count as warnings. These warnings do not pass, and each new one restarts the
        background model.

    Examples
    --------
    >>> from millstream import drift, evaluate, naive_bayes, synth
    >>> a, b = synth.Sine(classification_function=0), synth.Sine(classification_function=1)
    >>> rows = synth.Drift(a, b, position=5000, width=0).take(10_000)
    >>> plain = naive_bayes.GaussianNB()
    >>> retrained = drift.Retrain(naive_bayes.GaussianNB(), drift.DDM())
    >>> for model in (plain, retrained):
    ...     print(round(evaluate.prequential(model, rows, metrics="Accuracy")["Accuracy"], 2))
    0.49
    0.95
    >>> retrained.replaced, retrained.model.learned, round(retrained.detector.estimation, 2)
    (1, 4984, 0.05)

    References
    ----------
    Gama, J., Medas, P., Castillo, G. and Rodrigues, P. (2004). Learning with drift detection.
    Gomes, H. M. and others (2017). Adaptive random forests for evolving data stream classification.
    """

    name = "drift.Retrain"
    aliases = {"drift_detector": "detector", "train_in_background": "warm"}

    def __new__(cls, model: Any = None, detector: Any = None, *others: Any, **named: Any) -> Any:
        watching = (named.get("drift_detector"), named.get("warning_detector"))
        parts = [part for part in (detector, *others, *watching) if part is not None]
        if cls is Retrain and compiles(model) and all(map(_is_described, parts)):
            return _NativeRetrain.__new__(_NativeRetrain)
        return super().__new__(cls)

    def __init__(
        self,
        model: Any,
        detector: Any,
        warm: bool = True,
        warning_detector: Any = None,
    ) -> None:
        if isinstance(model, type) or role_of(model) not in LEARNERS:
            raise InvalidType(f"{self.name}: model must be {one_of(LEARNERS)}, got {shown_part(model)}")
        if _is_unclear(model):
            words = "inherit from millstream.base.Classifier or Regressor"
            raise InvalidType(f"{self.name}: the role of {type(model).__name__} is unknown: {words}")
        refuse_learned(self.name, [model])
        detector = checked_detector(self.name, "detector", detector)
        if warning_detector is not None:
            warning_detector = checked_detector(self.name, "warning_detector", warning_detector)
        if not isinstance(warm, bool):
            raise InvalidValue(f"{self.name}: warm must be true or false, got {quoted(warm)}")
        self.warm = warm
        self._wrap(model)
        if self.role is REGRESSOR:
            _check_size(self.name, detector=detector, warning_detector=warning_detector)
        self._given = {
            "model": model,
            "detector": detector,
            "warm": self.warm,
            "warning_detector": warning_detector,
        }
        self._now = unlearned_copy(model)
        self._background: Any = None
        self._watch, self._warner = unlearned_copy(detector), unlearned_copy(warning_detector)
        self._replaced = self._learned = 0

    @classmethod
    def _revive(cls, source: Any) -> Any:
        return _NativeRetrain._revive(source)

    @property
    def parameters(self) -> dict[str, Any]:
        """The given parameters."""
        return dict(self._given)

    @property
    def model(self) -> Any:
        """The active model; a native one as a copy in its current state."""
        return self._now

    @property
    def background(self) -> Any:
        """The background model, trained since a warning, or None."""
        return self._background

    @property
    def detector(self) -> Any:
        """The drift detector in its current state."""
        return self._watch

    @property
    def warning_detector(self) -> Any:
        """The warning detector in its current state, or None."""
        return self._warner

    @property
    def replaced(self) -> int:
        """Number of replacements of the model."""
        return self._replaced

    @property
    def growing(self) -> bool:
        """Whether a background model is being trained."""
        return self._background is not None

    @property
    def learned(self) -> int:
        """Number of learned examples."""
        return self._learned

    @property
    def features(self) -> list[Any]:
        """The features that the model has learned."""
        return list(self._now.features)

    @property
    def classes(self) -> list[Label]:
        """The classes that the model has learned."""
        return list(getattr(self._now, "classes", ()))

    @property
    def max_classes(self) -> int | None:
        """The largest number of classes of the model; None for no limit."""
        most: int | None = self._now.max_classes
        return most

    def _predict_one(self, x: Features) -> Any:
        """Predict one example."""
        try:
            return number_of(self._now, x) if self.role is REGRESSOR else self._now.predict_one(x)
        except MillstreamError as error:
            raise error.by(self.name) from None

    def _predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example."""
        try:
            return probabilities_of(self._now, x)
        except MillstreamError as error:
            raise error.by(self.name) from None

    def _predict_interval_one(self, x: Features, coverage: float = 0.9) -> tuple[float, float]:
        """An interval that contains the target with probability `coverage`."""
        try:
            lower, upper = self._now.predict_interval_one(x, coverage)
        except MillstreamError as error:
            raise error.by(self.name) from None
        return float(lower), float(upper)

    def _score_one(self, x: Features) -> float:
        """The signed distance of one example to the decision boundary."""
        try:
            return float(self._now.score_one(x))
        except MillstreamError as error:
            raise error.by(self.name) from None

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example, and update the detectors with the error of its prediction."""
        check_example(self.name, self.role, y, w)
        if w == 0.0:
            return
        prediction = self._predict_one(x)
        teach(self._now, x, y, w)
        self._learned += 1
        action = "keep" if prediction is None else self._action(prediction, y)
        if action == "drop":
            self._background = None
        elif action == "restart" or (action == "start" and self._background is None):
            self._background = self._untrained()
        if self._background is not None:
            self._background = _taught(self._background, x, y, w)
        if action == "replace":
            model = _taught(self._untrained(), x, y, w) if self._background is None else self._background
            self._now = self._untrained() if model is None else model
            self._background = None
            self._replaced += 1

    def _untrained(self) -> Any:
        """An untrained copy of the model."""
        return unlearned_copy(self._given["model"])

    def _action(self, prediction: Any, y: Any) -> str:
        """Update the detectors with an error; returns what to do with the models."""
        if self.role is REGRESSOR:
            error = min(abs(float(prediction) - float(y)), _LARGEST_ERROR)
        else:
            error = float(prediction != y)
        self._watch.update(error)
        if self._watch.drift_detected:
            if getattr(self._watch, "direction", None) == "down":
                return "keep"
            self._warner = unlearned_copy(self._given["warning_detector"])
            return "replace"
        if not self.warm:
            return "keep"
        if self._warner is not None:
            self._warner.update(error)
            down = getattr(self._warner, "direction", None) == "down"
            return "restart" if self._warner.drift_detected and not down else "keep"
        down = getattr(self._watch, "direction", None) == "down"
        return "start" if getattr(self._watch, "warning_detected", False) and not down else "drop"

    def inspect(self) -> Any:
        """The number of replacements and the current model, as plain data."""
        inner = self._now.inspect() if callable(getattr(self._now, "inspect", None)) else None
        estimate = getattr(self._watch, "estimation", None)
        found = {"replaced": self._replaced, "growing": self.growing, "estimated_error": estimate}
        return {**found, "model": inner}


def _check_size(who: str, **detectors: Any) -> None:
    """Reject detectors that accept only the errors of a classifier: those of a regressor have any size."""
    for what, detector in detectors.items():
        try:
            if isinstance(detector, DriftDetector):
                detector.clone().update(2.0)
        except MillstreamError:
            words = "such as drift.ADWIN or drift.PageHinkley; this one accepts the errors of a classifier"
            raise InvalidType(f"{who}: {what} must accept numbers of any size for a regressor, {words}") from None


def _taught(model: Any, x: Features, y: Any, w: float) -> Any:
    """The model after an example; None if it cannot learn it, although another model could."""
    try:
        teach(model, x, y, w)
    except Exception:
        return None
    return model


def _is_unclear(model: Any) -> bool:
    """Whether a foreign class would be a regressor only because it has no probabilities."""
    if isinstance(getattr(model, "role", None), str) or hasattr(model, "predict_proba_one"):
        return False
    return not any(base.__module__.partition(".")[0] == "river" for base in type(model).__mro__)


def _is_described(part: Any) -> bool:
    if isinstance(part, (bool, dict, str)):
        return True
    return isinstance(part, DriftDetector) and type(part).__module__.partition(".")[0] == "millstream"


class _NativeRetrain(NativeWrapper, Retrain):
    def __init__(
        self,
        model: Any,
        detector: Any,
        warm: bool = True,
        warning_detector: Any = None,
    ) -> None:
        refuse_learned("drift.Retrain", [model])
        NativeWrapper.__init__(self, model=model, detector=detector, warm=warm, warning_detector=warning_detector)

    @classmethod
    def _revive(cls, source: Any) -> Any:
        model = cls.__new__(cls)
        model._load(source)
        model._publish()
        return model

    @property
    def model(self) -> Any:
        return self._member(0)

    @property
    def background(self) -> Any:
        return self._member(1) if self.growing else None

    @property
    def detector(self) -> Any:
        return self._inner_detector("detector")

    @property
    def warning_detector(self) -> Any:
        return self._inner_detector("warning_detector")

    def _inner_detector(self, parameter: str) -> Any:
        described = self._description_dict["parameters"][parameter]
        kind: Any = class_of(described["name"]) if described else None
        return kind and kind._revive(self._detector(parameter))

    @property
    def replaced(self) -> int:
        return int(self._numbers()["replaced"])

    @property
    def growing(self) -> bool:
        return bool(self._numbers()["growing"])

    def inspect(self) -> Any:
        return Native.inspect(self)


_NativeRetrain.__name__ = "Retrain"

#: Its name in River.
DriftRetrainingClassifier = Retrain
