"""Ensembles of learners that are written in Python: what they share.

Native learners go through rows in the core, on many threads. Here members take their turns row by row, and answer
with dicts. What a member does is the same, and the random numbers are others.
"""

from __future__ import annotations

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

#: Examples from one copy of the members to the next, which is what leads back when one of them raises.
_KEPT = 64


@dataclass
class Member:
    """One of the learners, with all that is its own."""

    model: Any
    random: random.Random
    detector: Any = None
    #: How much it was told, and the mean of its errors.
    weight: float = 0.0
    error: float = 0.0
    replaced: int = 0

    def hear(self, error: float, w: float) -> None:
        """Hear how wrong it was."""
        self.weight += w
        self.error += (error - self.error) * (w / self.weight)


@dataclass
class State:
    """All that changes in an ensemble."""

    members: list[Any] = field(default_factory=list)
    #: The weight of each class so far.
    classes: dict[Label, float] = field(default_factory=dict)
    learned: int = 0
    #: What else an ensemble remembers.
    memory: dict[str, Any] = field(default_factory=dict)


class Ensemble(Predictor):
    """Members, which can be counted, looked at and gone through."""

    name: ClassVar[str]
    #: The compiled form, for native members.
    _native: ClassVar[Any] = None
    _state: State
    # Parameters that most of them have.
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
        # Without arguments, `__new__` would make the compiled form.
        return object.__new__, (type(self),), dict(self.__dict__)

    @classmethod
    def _revive(cls, source: Any) -> Any:
        model = cls._native.__new__(cls._native)
        model._load(source)
        return model

    def _make(self, **parameters: Any) -> None:
        """Keep the parameters, checked as they are declared, and make the members."""
        # The compiled form knows the bounds; native parts stand in for those that may be one's own.
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
        """Make the members, of the parameters."""
        raise NotImplementedError

    def __len__(self) -> int:
        if isinstance(self, Native):
            parameters = self._description_dict["parameters"]
            return int(parameters["n_models"]) if "n_models" in parameters else len(parameters["models"])
        return len(self._state.members)

    def __getitem__(self, place: int) -> Any:
        """The member at a place; a native one as a copy that has learned the same."""
        place = find_member(self.name, len(self), place)
        return self._member(place) if isinstance(self, Native) else self._state.members[place].model

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def __bool__(self) -> bool:
        return True

    @property
    def models(self) -> list[Any]:
        """The members."""
        return list(self)

    @property
    def learned(self) -> int:
        """How many examples it has learned."""
        return self._state.learned

    @property
    def feature_importances(self) -> dict[Any, float]:
        """How much each feature matters to members that are trees, as shares: the mean over them."""
        members = list(self)
        if not all(hasattr(member, "feature_importances") for member in members):
            raise AttributeError(f"{self.name}: only trees have feature_importances")
        return mean_importances(members)

    def inspect(self) -> Any:
        """How each member has done, as plain data."""
        return {"members": [self._report(member) for member in self._state.members]}

    def _numbers(self) -> Any:
        return {"members": [{"replaced": member.replaced} for member in self._state.members]}

    def _report(self, member: Member) -> dict[str, Any]:
        report: dict[str, Any] = {"weight": member.weight, "error": member.error}
        if member.detector is not None:
            report |= {"estimated_error": member.detector.estimation, "replaced": member.replaced}
        return report

    def _begin(self, seed: int, models: list[Any], detector: Any = None) -> None:
        """Make the members, which have learned nothing."""
        members = [
            Member(model, random.Random(f"{seed} {place}"), detector=detector.clone() if detector else None)
            for place, model in enumerate(models)
        ]
        self._state = State(members)
        self._before: State | None = None
        self._since: list[tuple[Features, Any, float]] = []

    def _copies(self, model: Any, count: int) -> list[Any]:
        """The base learner, checked, as often as it is wanted."""
        if isinstance(model, (str, dict)):
            model = self.model = build({"name": model} if isinstance(model, str) else model)
        self._check(model)
        return [unlearned_copy(model) for _ in range(count)]

    def _check(self, model: Any, parameter: str = "model") -> None:
        if isinstance(model, type) or role_of(model) != self.role:
            words = f"; a class of your own inherits from millstream.base.{self.role.capitalize()}"
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
        if self._before is None or len(self._since) >= _KEPT:
            self._before, self._since = copy.deepcopy(self._state), []
        try:
            self._learn(x, y, w)
        except BaseException:
            since, self._since = self._since, []
            self._state, self._before = self._before, None
            for example in since:
                self._learn(*example)
            raise
        self._since.append((dict(x), y, w))

    def _learn(self, x: Features, y: Any, w: float) -> None:
        self._step(x, y, w)
        self._state.learned += 1

    def _step(self, x: Features, y: Any, w: float) -> None:
        """Let the members learn an example."""
        raise NotImplementedError

    def _turn(self, place: int, work: Callable[..., Any], *args: Any) -> Any:
        """Let a member work; if it raises, the error says which it was."""
        try:
            return work(*args)
        except MillstreamError as error:
            raise error.by(f"{self.name}: member {place}") from None
        except Exception as error:
            error.add_note(f"{self.name}: member {place}")
            raise

    def _teach(self, place: int, x: Features, y: Any, w: float, times: float = 1.0) -> None:
        """Teach a member an example so many times: by its weight if it takes one."""
        model = self._state.members[place].model
        if times == 0.0:
            return
        if times == 1.0 or isinstance(model, Native) or takes_weight(model):
            self._turn(place, teach, model, x, y, w * times)
            return
        for _ in range(int(times)):
            self._turn(place, teach, model, x, y, w)


def _build(self: Any, **parameters: Any) -> None:
    models = parameters.get("models")
    several = models if isinstance(models, (list, tuple)) else ()
    refuse_learned(self.name, [parameters.get("model"), parameters.get("meta_model"), *several])
    # As in River, None is the default learner.
    Native.__init__(self, **{k: v for k, v in parameters.items() if k != "model" or v is not None})


def compiled(face: Any) -> Any:
    """Give a class its compiled form, which it becomes when all its learners are native."""
    own = {"__init__": face.__init__, "_make": _build, "__module__": face.__module__}
    native: Any = type(f"_Native{face.__name__}", (Native, face), own)
    # Pickle finds it by this name; people see the other.
    setattr(sys.modules[face.__module__], native.__qualname__, native)
    native.__name__ = face.__name__
    face._native = native
    return face


def _is_own(value: Any) -> bool:
    """Whether an argument is, or holds, a model that is not native."""
    if isinstance(value, (list, tuple)):
        return any(_is_own(item) for item in value)
    return role_of(value) in LEARNERS and not is_native(value)


def unnamed(models: Any) -> Any:
    """Models without names, which scikit-learn's pairs have."""
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

    def _votes(self, place: int, x: Features) -> dict[Label, float]:
        """The probabilities that a member gives; all for the class if it knows none."""
        return self._votes_of(self._state.members[place].model, place, x)

    def _votes_of(self, model: Any, place: int, x: Features) -> dict[Label, float]:
        if isinstance(model, Native) or not _has_no_probabilities(type(model)):
            try:
                return dict(self._turn(place, probabilities_of, model, x))
            except NotImplementedError:
                # Some of scikit-learn's have the method and no probabilities.
                pass
        said = self._turn(place, model.predict_one, x)
        return {} if said is None else {said: 1.0}

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
        """What the members' votes weigh."""
        return [1.0] * len(self)

    def predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example."""
        return self._combine([self._votes(place, x) for place in range(len(self))], self._trust())

    @property
    def classes(self) -> list[Label]:
        """The classes that have come."""
        return list(self._state.classes)

    def _learn(self, x: Features, y: Any, w: float) -> None:
        super()._learn(x, y, w)
        self._state.classes[y] = self._state.classes.get(y, 0.0) + w


def _has_no_probabilities(kind: Any) -> bool:
    method = getattr(kind, "predict_proba_one", None)
    # River's own base class has the method too, and raises.
    return method is None or method is Classifier.predict_proba_one or "river.base" in method.__module__


def wrong(votes: dict[Label, float], y: Any) -> float | None:
    """1 if the most voted class is not `y`, 0 if it is; None if there are no votes."""
    if not votes or max(votes.values()) <= 0:
        return None
    return float(max(votes, key=votes.__getitem__) != y)


class NumberEnsemble(Ensemble, Regressor):
    """Members whose numbers are averaged."""

    aggregation: str = "mean"

    def _number(self, place: int, x: Features) -> float:
        return self._number_of(self._state.members[place].model, place, x)

    def _number_of(self, model: Any, place: int, x: Features) -> float:
        return float(self._turn(place, number_of, model, x))

    def _trust(self) -> list[float]:
        return [1.0] * len(self)

    def predict_one(self, x: Features) -> float:
        """What the members' numbers come to."""
        numbers = [self._number(place, x) for place in range(len(self))]
        return aggregate(numbers, self._trust(), self.aggregation)
