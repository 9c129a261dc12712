"""Ensembles of learners that are written in Python.

Native learners are processed in the core, on several threads. Here members learn row by row, and predict dicts.
The algorithms are the same, with different random numbers.
"""

from __future__ import annotations

import contextlib
import copy
import math
import random
import sys
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from millstream._answers import number_of, probabilities_of
from millstream._examples import check_example
from millstream._native import Native
from millstream._part import shown_part, unlearned_copy
from millstream._python_loop import teach
from millstream.base import Classifier, Features, Label, Predictor, Regressor
from millstream.compose.members import find_member, is_native, refuse_learned
from millstream.errors import InvalidType, MillstreamError
from millstream.registry import build
from millstream.roles import CLASSIFIER, LEARNERS, role_of
from millstream.tree.tables import mean_importances

__all__ = [
    "ClassEnsemble",
    "Ensemble",
    "Member",
    "NumberEnsemble",
    "aggregate",
    "compiled",
    "poisson",
    "unnamed",
    "wrong",
]

#: Number of examples between copies of the members, from which they are restored when one of them raises.
_KEPT = 64


@dataclass
class Member:
    """One of the learners, with its own generator and detector."""

    model: Any
    random: random.Random
    detector: Any = None
    #: Total weight of its examples, and its mean error.
    weight: float = 0.0
    error: float = 0.0
    replaced: int = 0

    def record_error(self, error: float, w: float) -> None:
        """Record the error of a prediction."""
        self.weight += w
        self.error += (error - self.error) * (w / self.weight)


@dataclass
class State:
    """The state of an ensemble."""

    members: list[Any] = field(default_factory=list)
    #: The weight of each class so far.
    classes: dict[Label, float] = field(default_factory=dict)
    learned: int = 0
    #: Further state of an ensemble.
    memory: dict[str, Any] = field(default_factory=dict)


class Ensemble(Predictor):
    """Members, with their length, index and iteration."""

    name: ClassVar[str]
    #: The compiled form, for native members.
    _native: ClassVar[Any] = None
    _state: State
    #: Whether a refused example is still to be removed: see `_roll_back`.
    _unfinished = False
    # Parameters of most ensembles.
    model: Any
    n_models: int
    poisson_rate: float
    seed: int
    n_threads: int | None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        native = cls.__dict__.get("_native")
        if native is None or any(_is_own(value) for value in (*args, *kwargs.values())):
            return super().__new__(cls)
        return native.__new__(native)

    def __reduce__(self) -> tuple[Any, ...]:
        # Without arguments, `__new__` would create the compiled form.
        return object.__new__, (type(self),), dict(self.__dict__)

    @classmethod
    def _revive(cls, source: Any) -> Any:
        model = cls._native.__new__(cls._native)
        model._load(source)
        return model

    def _make(self, **parameters: Any) -> None:
        """Check and store the parameters, and create the members."""
        # The compiled form checks the bounds; native components stand in for the user's own.
        Native.__init__(self._native.__new__(self._native), **{**parameters, **self._stand_ins(parameters)})
        self.__dict__.update(parameters)
        self._ready()

    def _stand_ins(self, parameters: dict[str, Any]) -> dict[str, Any]:
        part = "baseline.Prior" if self.role == CLASSIFIER else "baseline.TargetMean"
        parts: dict[str, Any] = {
            "model": part,
            "meta_model": part,
            "drift_detector": None,
            "warning_detector": None,
        }
        if "models" in parameters:
            models = parameters["models"]
            if not isinstance(models, (list, tuple)):
                raise InvalidType(f"{self.name}: models must be a list of {self.role}s, got {shown_part(models)}")
            parts["models"] = [part] * len(models)
        return {name: value for name, value in parts.items() if name in parameters}

    def _ready(self) -> None:
        """Create the members from the parameters."""
        raise NotImplementedError

    def __len__(self) -> int:
        if isinstance(self, Native):
            parameters = self._description_dict["parameters"]
            return int(parameters["n_models"]) if "n_models" in parameters else len(parameters["models"])
        return len(self._state.members)

    def __getitem__(self, index: int) -> Any:
        """The member at an index; a native one as a copy."""
        index = find_member(self.name, len(self), index)
        return self._member(index) if isinstance(self, Native) else self._state.members[index].model

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __bool__(self) -> bool:
        return True

    @property
    def models(self) -> list[Any]:
        """The members."""
        return list(self)

    @property
    def learned(self) -> int:
        """Number of examples learned."""
        return self._state.learned

    @property
    def feature_importances(self) -> dict[Any, float]:
        """Feature importances of members that are trees, as fractions: the mean over them."""
        members = list(self)
        if not all(hasattr(member, "feature_importances") for member in members):
            raise AttributeError(f"{self.name}: only trees have feature_importances")
        return mean_importances(members)

    def inspect(self) -> Any:
        """The performance of each member, as plain data."""
        return {"members": [self._report(member) for member in self._state.members]}

    def _numbers(self) -> Any:
        return {"members": [{"replaced": member.replaced} for member in self._state.members]}

    def _report(self, member: Member) -> dict[str, Any]:
        report: dict[str, Any] = {"weight": member.weight, "error": member.error}
        if member.detector is not None:
            report |= {"estimated_error": member.detector.estimation, "replaced": member.replaced}
        return report

    def _begin(self, seed: int, models: list[Any], detector: Any = None) -> None:
        """Create the unlearned members."""
        members = [
            Member(model, random.Random(f"{seed} {index}"), detector=detector.clone() if detector else None)
            for index, model in enumerate(models)
        ]
        self._state = State(members)
        self._before: State | None = None
        self._since: list[tuple[Features, Any, float]] = []

    def _copies(self, model: Any, count: int) -> list[Any]:
        """Unlearned copies of the base learner."""
        if isinstance(model, (str, dict)):
            model = self.model = build({"name": model} if isinstance(model, str) else model)
        self._check(model)
        return [unlearned_copy(model) for _ in range(count)]

    def _check(self, model: Any, parameter: str = "model") -> None:
        if isinstance(model, type) or role_of(model) != self.role:
            words = f"; your own class must inherit from millstream.base.{self.role.capitalize()}"
            hint = "" if isinstance(model, (type, Native)) or role_of(model) is None else words
            raise InvalidType(
                f"{self.name}: {parameter} must be {self.role.phrase}, got {shown_part(model)}{hint}"
            )
        refuse_learned(self.name, [model])

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example with all members, or with none of them."""
        check_example(self.name, self.role, y, w)
        if w == 0.0:
            return
        if self._unfinished:
            self._roll_back()
        if self._before is None or len(self._since) >= _KEPT:
            self._before, self._since = copy.deepcopy(self._state), []
        try:
            self._learn(x, y, w)
        except BaseException:
            self._unfinished = True
            # The example's own error is raised; the next example tries again.
            with contextlib.suppress(Exception):
                self._roll_back()
            raise
        self._since.append((dict(x), y, w))

    def _roll_back(self) -> None:
        """Repeat the examples since the last copy of the members; if this fails too, nothing changes."""
        failed, self._state = self._state, copy.deepcopy(self._before)  # type: ignore[assignment]
        try:
            for example in self._since:
                self._learn(*example)
        except BaseException:
            self._state = failed
            raise
        self._unfinished = False

    def _learn(self, x: Features, y: Any, w: float) -> None:
        self._step(x, y, w)
        self._state.learned += 1

    def _step(self, x: Features, y: Any, w: float) -> None:
        """Let the members learn an example."""
        raise NotImplementedError

    def _turn(self, index: int, work: Callable[..., Any], *args: Any) -> Any:
        """Call a function for a member; an error names the member."""
        try:
            return work(*args)
        except MillstreamError as error:
            raise error.by(f"{self.name}: member {index}") from None
        except Exception as error:
            error.add_note(f"{self.name}: member {index}")
            raise

    def _teach(self, index: int, x: Features, y: Any, w: float, times: float = 1.0) -> None:
        """Teach a member an example several times: by its weight if it takes one."""
        model = self._state.members[index].model
        if times == 0.0:
            return
        if times == 1.0 or isinstance(model, Native) or takes_weight(model):
            self._turn(index, teach, model, x, y, w * times)
            return
        for _ in range(int(times)):
            self._turn(index, teach, model, x, y, w)


def _build(self: Any, **parameters: Any) -> None:
    models = parameters.get("models")
    several = models if isinstance(models, (list, tuple)) else ()
    refuse_learned(self.name, [parameters.get("model"), parameters.get("meta_model"), *several])
    # As in River, None is the default learner.
    Native.__init__(self, **{k: v for k, v in parameters.items() if k != "model" or v is not None})


def compiled(cls: Any) -> Any:
    """Create the compiled form of a class, which is used if all its learners are native."""
    own = {"__init__": cls.__init__, "_make": _build, "__module__": cls.__module__}
    native: Any = type(f"_Native{cls.__name__}", (Native, cls), own)
    # Pickle finds it by this name; `repr` shows the other.
    setattr(sys.modules[cls.__module__], native.__qualname__, native)
    native.__name__ = cls.__name__
    cls._native = native
    return cls


def _is_own(value: Any) -> bool:
    """Whether an argument is, or contains, a model that is not native."""
    if isinstance(value, (list, tuple)):
        return any(_is_own(item) for item in value)
    return role_of(value) in LEARNERS and not is_native(value)


def unnamed(models: Any) -> Any:
    """Models without the names in scikit-learn's pairs."""
    if not isinstance(models, (list, tuple)):
        return models
    return [item[1] if _is_named(item) else item for item in models]


def _is_named(item: Any) -> bool:
    return isinstance(item, (list, tuple)) and len(item) == 2 and isinstance(item[0], str)


def takes_weight(model: Any) -> bool:
    """Whether `learn_one` takes a weight."""
    from millstream._python_loop import arguments_of

    return arguments_of(cast("Hashable", type(model)))[1]


def poisson(mean: float, unit: float) -> float:
    """The count at a number in [0, 1), by the inverse of the Poisson distribution."""
    probability = math.exp(-mean)
    count, total = 0.0, probability
    while unit >= total and (count < mean or total + probability > total):
        count += 1.0
        probability *= mean / count
        total += probability
    return count


def aggregate(numbers: list[float], weights: list[float], aggregation: str = "mean") -> float:
    """The weighted mean of some numbers, or their median."""
    if aggregation == "median":
        ordered, middle = sorted(numbers), len(numbers) // 2
        return ordered[middle] if len(ordered) % 2 else ordered[middle - 1] / 2 + ordered[middle] / 2
    total = sum(weights)
    shares = [w / total for w in weights] if total > 0 else [1 / len(numbers)] * len(numbers)
    return sum(number * share for number, share in zip(numbers, shares, strict=True))


class ClassEnsemble(Ensemble, Classifier):
    """Members that vote for classes."""

    def _votes(self, index: int, x: Features) -> dict[Label, float]:
        """The predicted probabilities of a member; one vote for its class if it has none."""
        return self._votes_of(self._state.members[index].model, index, x)

    def _votes_of(self, model: Any, index: int, x: Features) -> dict[Label, float]:
        if isinstance(model, Native) or not _has_no_probabilities(type(model)):
            try:
                return dict(self._turn(index, probabilities_of, model, x))
            except NotImplementedError:
                # Some classifiers of scikit-learn have the method but no probabilities.
                pass
        predictions = self._turn(index, model.predict_one, x)
        return {} if predictions is None else {predictions: 1.0}

    def _combine(self, votes: list[dict[Label, float]], trust: list[float]) -> dict[Label, float]:
        if not any(trust):
            trust = [1.0] * len(trust)
        totals = dict.fromkeys(self._state.classes, 0.0)
        for vote, weight in zip(votes, trust, strict=True):
            for label, probability in vote.items():
                totals[label] = totals.get(label, 0.0) + probability * weight
        total = sum(totals.values())
        if total <= 0.0:
            totals, total = dict(self._state.classes), sum(self._state.classes.values())
        return {label: value / total for label, value in totals.items()} if total > 0 else {}

    def _trust(self) -> list[float]:
        """The weights of the members' votes."""
        return [1.0] * len(self)

    def predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example."""
        return self._combine([self._votes(index, x) for index in range(len(self))], self._trust())

    @property
    def classes(self) -> list[Label]:
        """The classes so far."""
        return list(self._state.classes)

    def _learn(self, x: Features, y: Any, w: float) -> None:
        super()._learn(x, y, w)
        self._state.classes[y] = self._state.classes.get(y, 0.0) + w


def _has_no_probabilities(kind: Any) -> bool:
    method = getattr(kind, "predict_proba_one", None)
    # River's base class has the method too, and raises.
    return method is None or method is Classifier.predict_proba_one or "river.base" in method.__module__


def wrong(votes: dict[Label, float], y: Any) -> float | None:
    """1 if the most voted class is not `y`, 0 if it is; None if there are no votes."""
    if not votes or max(votes.values()) <= 0:
        return None
    return float(max(votes, key=votes.__getitem__) != y)


class NumberEnsemble(Ensemble, Regressor):
    """Members whose predictions are averaged."""

    aggregation: str = "mean"

    def _number(self, index: int, x: Features) -> float:
        return self._number_of(self._state.members[index].model, index, x)

    def _number_of(self, model: Any, index: int, x: Features) -> float:
        return float(self._turn(index, number_of, model, x))

    def _trust(self) -> list[float]:
        return [1.0] * len(self)

    def predict_one(self, x: Features) -> float:
        """Predict one example: the combined prediction of the members."""
        numbers = [self._number(index, x) for index in range(len(self))]
        return aggregate(numbers, self._trust(), self.aggregation)
