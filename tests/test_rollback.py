"""After an example that any step, part or member refuses, all of them are as they were before it."""

from __future__ import annotations

import copy
import logging
import pickle
import random
import re
import signal
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from millstream import compose, drift, ensemble, linear_model, multiclass, preprocessing
from millstream._native import Native
from millstream.base import Classifier, Transformer
from millstream.compose import rollback, snapshot


class Interrupted(BaseException):
    """Not an Exception, like KeyboardInterrupt."""


class Trap:
    """Raises at the call that it is set to, counted over all members that share it."""

    def __init__(self) -> None:
        self.left = -1
        self.error: type[BaseException] = ValueError

    def __deepcopy__(self, memo: dict[int, Any]) -> Trap:
        return self

    def pass_through(self) -> None:
        self.left -= 1
        if self.left == -1:
            raise self.error("trap")


TRAP = Trap()


class Centred(Transformer):
    """Subtracts running means; changes itself before and after the trap."""

    def __init__(self) -> None:
        self.count = 0
        self.means: dict[str, float] = {}
        self.random = random.Random(1)

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        self.count += 1
        for name, value in x.items():
            mean = self.means.get(name, 0.0)
            self.means[name] = mean + (value - mean) / self.count + 1e-3 * self.random.random()
        TRAP.pass_through()
        self.means["last"] = x["a"]

    def transform_one(self, x: Any) -> dict[Any, Any]:
        TRAP.pass_through()
        return {name: value - self.means.get(name, 0.0) for name, value in x.items()}


class LargeCentred(Centred):
    """Too large for a snapshot before each example."""

    def __init__(self) -> None:
        super().__init__()
        self.table = list(range(1000))


class Counting(Classifier):
    """Slots, and a nested list."""

    __slots__ = ("totals",)

    def __init__(self) -> None:
        self.totals: list[list[float]] = [[0.0, 0.0]]

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        self.totals[0][0] += x["a"] * w
        TRAP.pass_through()
        self.totals[0][1] += bool(y)

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        high = self.totals[0][1] / (1.0 + abs(self.totals[0][0]))
        return {True: min(high, 1.0), False: 1.0 - min(high, 1.0)}


class ExtendedScaler(preprocessing.StandardScaler):
    """A native transformer that a user has extended."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        super().learn_one(x, y, w)
        self.calls += 1
        TRAP.pass_through()


def doubled(x: Any) -> Any:
    TRAP.pass_through()
    return {name: 2.0 * value for name, value in x.items()}


Scaler, Logistic = preprocessing.StandardScaler, linear_model.LogisticRegression

MODELS: dict[str, Callable[[], Any]] = {
    "python | native": lambda: Centred() | Logistic(),
    "large python | native": lambda: LargeCentred() | Logistic(),
    "large python + python | native": lambda: (LargeCentred() + Centred()) | Logistic(),
    "native | python | native": lambda: Scaler() | Centred() | Logistic(),
    "native | python | native | native": lambda: Scaler() | Centred() | Scaler() | Logistic(),
    "function | native": lambda: compose.Pipeline(doubled, Scaler(), Logistic()),
    "python | function | python": lambda: compose.Pipeline(Centred(), doubled, Counting()),
    "native | python learner": lambda: Scaler() | Counting(),
    "extended native": lambda: Scaler() | ExtendedScaler() | Logistic(),
    "python + native": lambda: Centred() + Scaler(),
    "native + python": lambda: Scaler() + Centred(),
    "native + function + python + native": lambda: compose.Union(
        Scaler(), doubled, Centred(), preprocessing.MinMaxScaler()
    ),
    "union in a pipeline": lambda: (Scaler() + Centred()) | Centred() | Logistic(),
    "pipeline in a union in a pipeline": lambda: ((Scaler() | Centred()) + Centred()) | Scaler() | Counting(),
    "one against the rest": lambda: multiclass.OneVsRest(Counting()),
    "one against the rest of pipelines": lambda: multiclass.OneVsRest(Centred() | Logistic()),
    "one against the rest of functions": lambda: multiclass.OneVsRest(compose.Pipeline(doubled, Logistic())),
    "pipeline | one against the rest": lambda: Centred() | multiclass.OneVsRest(Scaler() | Counting()),
    "one against the rest, nested": lambda: multiclass.OneVsRest(
        (Centred() + Scaler()) | multiclass.OneVsRest(Counting())
    ),
}


def state_of(thing: Any) -> Any:
    """All that a model and its members hold, as values that can be compared."""
    if isinstance(thing, Native):
        return type(thing), thing.to_bytes(), state_of(thing.__dict__)
    if isinstance(thing, random.Random):
        return thing.getstate()
    if isinstance(thing, np.ndarray):
        return thing.tolist()
    if isinstance(thing, dict):
        return [(key, state_of(value)) for key, value in thing.items() if key not in ("_lock", "_rollback")]
    if isinstance(thing, (list, tuple, deque)):
        return [state_of(item) for item in thing]
    if hasattr(thing, "__dict__") and not callable(thing):
        slots = [getattr(thing, name) for name in getattr(type(thing), "__slots__", ()) if hasattr(thing, name)]
        return type(thing), state_of(slots), state_of(vars(thing))
    return thing


def members_of(model: Any) -> list[Any]:
    """The model and the members that it exposes, all levels."""
    inner: list[Any] = getattr(model, "_segments", None) or getattr(model, "_parts", None) or []
    if isinstance(model, multiclass.OneVsRest) and not isinstance(model, Native):
        inner = list(model.members.values())
    return [model, *(deeper for item in inner for deeper in members_of(item))]


def rows(count: int) -> list[tuple[dict[str, float], str | bool]]:
    drawn = random.Random(7)
    return [({"a": drawn.gauss(0, 1), "b": drawn.gauss(3, 2)}, "xyz"[place % 3]) for place in range(count)]


def binary(name: str) -> bool:
    return "rest" not in name


@pytest.mark.parametrize("error", [ValueError, Interrupted])
@pytest.mark.parametrize("verb", ["learn_one", "step_one"])
@pytest.mark.parametrize("name", MODELS)
def test_a_failure_at_any_point_leaves_every_member_as_it_was(
    name: str, verb: str, error: type[BaseException]
) -> None:
    model, twin = MODELS[name](), MODELS[name]()
    if verb == "step_one" and model.role == "transformer":
        pytest.skip("transformers do not predict")
    TRAP.left, TRAP.error = -1, error
    failures = 0
    # The last row of the first loop brings a feature and, to some, a class that are new.
    for place, (x, label) in enumerate([*rows(7), ({"a": 0.5, "b": 1.0, "c": 2.0}, "new")]):
        y = label == "x" if binary(name) else label
        for point in range(1000):
            held = members_of(model)
            before = [state_of(member) for member in held]
            TRAP.left = point
            try:
                getattr(model, verb)(x, y, 1.0 + place)
            except error:
                failures += 1
                assert [state_of(member) for member in held] == before, (place, point)
                assert [id(member) for member in members_of(model)] == [id(member) for member in held]
            else:
                break
            finally:
                TRAP.left = -1
        getattr(twin, verb)(x, y, 1.0 + place)
        assert state_of(model) == state_of(twin)
    assert failures >= 8


@pytest.mark.parametrize("name", MODELS)
def test_learn_many_restores_the_members_that_the_caller_holds(name: str) -> None:
    model = MODELS[name]()
    TRAP.left, TRAP.error = -1, ValueError
    data = rows(9)
    labels = [label == "x" if binary(name) else label for _, label in data]
    model.learn_many([x for x, _ in data], labels)
    held = members_of(model)
    before = [state_of(member) for member in held]
    TRAP.left = 7
    with pytest.raises(ValueError, match="trap"):
        model.learn_many([x for x, _ in data], labels)
    TRAP.left = -1
    assert [state_of(member) for member in members_of(model)] == before
    # Members of classes that came since the last copy are made again.
    if binary(name):
        assert [state_of(member) for member in held] == before


@pytest.mark.parametrize("kind", [Centred, LargeCentred])
@pytest.mark.parametrize("count", [63, 64, 65, 200])
def test_rollback_repeats_the_examples_since_the_last_copy(count: int, kind: type[Centred]) -> None:
    step = kind()
    model, twin = step | Logistic(), kind() | Logistic()
    TRAP.left, TRAP.error = -1, ValueError
    for x, label in rows(count):
        model.learn_one(x, label == "x")
        twin.learn_one(x, label == "x")
    with pytest.raises(ValueError, match="class"):
        model.learn_one({"a": 1.0, "b": 1.0}, "neither")
    assert state_of(model) == state_of(twin)
    assert step.count == count


def test_large_steps_are_copied_less_often_than_every_64_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = []
    clock = iter(range(100_000))

    def copied(member: Any) -> Any:
        copies.append(member)
        # Copying takes as long as 500 rows.
        for _ in range(499):
            next(clock)
        return copy.deepcopy(member)

    monkeypatch.setattr(rollback, "_copy", copied)
    monkeypatch.setattr(rollback.time, "perf_counter", lambda: next(clock))
    model = LargeCentred() | Logistic()
    TRAP.left = -1
    for x, label in rows(1001):
        model.learn_one(x, label == "x")
    assert len(copies) == 3


def test_small_steps_are_never_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollback, "_copy", lambda member: pytest.fail(f"{member!r} was copied"))
    model = Centred() | Logistic()
    TRAP.left = -1
    for x, label in rows(100):
        model.learn_one(x, label == "x")
    assert model.learned == 100


@pytest.mark.parametrize("kind", [Centred, LargeCentred])
def test_changes_from_outside_survive_a_rollback(kind: type[Centred]) -> None:
    step = kind()
    model = step | Logistic()
    TRAP.left = -1
    for x, label in rows(5):
        model.learn_one(x, label == "x")
    step.learn_one({"a": 100.0, "b": 0.0})
    step.flag = "set"  # type: ignore[attr-defined]
    before = state_of(step)
    with pytest.raises(ValueError, match="class"):
        model.learn_one({"a": 1.0, "b": 1.0}, "neither")
    assert state_of(step) == before


def test_functions_and_native_steps_are_never_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    def copied(member: Any) -> Any:
        raise AssertionError(f"{member!r} was copied")

    monkeypatch.setattr(rollback, "_copy", copied)
    TRAP.left = -1
    model = compose.Pipeline(doubled, Scaler(), Logistic())
    for x, label in rows(100):
        model.learn_one(x, label == "x")
    assert model.learned == 100


class Generating(Centred):
    """Cannot be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = (number for number in range(10))


def test_a_step_that_cannot_be_copied_still_learns() -> None:
    step = Generating()
    model = step | Logistic()
    TRAP.left = -1
    model.learn_one({"a": 1.0}, True)
    model.learn_one({"a": 2.0}, False)
    with pytest.raises(ValueError, match="class"):
        model.learn_one({"a": 1.0, "b": 1.0}, "neither")
    assert (step.count, model.learned) == (3, 2)


@pytest.mark.parametrize("name", MODELS)
def test_copies_for_rollback_are_not_pickled(name: str) -> None:
    model = MODELS[name]()
    TRAP.left = -1
    for x, label in rows(5):
        model.learn_one(x, label == "x" if binary(name) else label)
    assert b"Rollback" not in pickle.dumps(model)
    again = pickle.loads(pickle.dumps(model))
    assert state_of(again) == state_of(model)
    again.learn_one({"a": 1.0, "b": 1.0}, True)
    assert state_of(again) != state_of(model)


class Service:
    """Up or down, for all steps that need it."""

    down: type[BaseException] | None = None

    @classmethod
    def call(cls) -> None:
        if cls.down is not None:
            raise cls.down("service down")


@pytest.fixture(autouse=True)
def service_is_up() -> Iterator[None]:
    yield
    Service.down = None


class Enriched(Transformer):
    """Changes its state, then needs a service."""

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self.table = {str(place): [float(place)] for place in range(size)}
        self.count, self.totals, self.recent = 0, np.zeros(2), deque(maxlen=3)

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        self.count += 1
        self.totals[0] += x["a"]
        self.recent.append(x["a"])
        Service.call()
        self.totals[1] += 1.0

    def transform_one(self, x: Any) -> dict[Any, Any]:
        return {**x, "total": float(self.totals[0])}


class Remote(Classifier):
    """A classifier that needs the service to learn."""

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self.table = list(range(size))
        self.count = 0

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        self.count += 1
        Service.call()

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        return {True: 0.5, False: 0.5}


REMOTE: dict[str, Callable[[int], Any]] = {
    "pipeline": lambda size: Enriched(size) | Logistic(),
    "native | python": lambda size: Scaler() | Enriched(size) | Logistic(),
    "two steps": lambda size: compose.Pipeline(Enriched(size), Enriched(size), Logistic()),
    "union": lambda size: (Scaler() + Enriched(size)) | Logistic(),
    "learner": lambda size: Scaler() | Remote(size),
    "one against the rest": lambda size: multiclass.OneVsRest(Remote(size)),
    "one against the rest of pipelines": lambda size: multiclass.OneVsRest(Enriched(size) | Logistic()),
}


@pytest.mark.parametrize("error", [ConnectionError, KeyboardInterrupt])
@pytest.mark.parametrize("count", [1, 50, 70])
@pytest.mark.parametrize("name", REMOTE)
def test_a_lasting_fault_leaves_every_member_as_it_was(name: str, count: int, error: type[BaseException]) -> None:
    model = REMOTE[name](0)
    TRAP.left = -1
    data = [(x, label == "x" if binary(name) else label) for x, label in rows(count + 1)]
    for x, y in data[:-1]:
        model.learn_one(x, y)
    held = members_of(model)
    before = [state_of(member) for member in held]
    Service.down = error
    for _ in range(3):
        with pytest.raises(error, match="service down"):
            model.learn_one(*data[-1])
        assert [state_of(member) for member in held] == before


@pytest.mark.parametrize("error", [ConnectionError, KeyboardInterrupt])
@pytest.mark.parametrize("count", [1, 50, 70])
@pytest.mark.parametrize("name", REMOTE)
def test_large_members_lose_nothing_and_finish_the_rollback_later(
    name: str, count: int, error: type[BaseException]
) -> None:
    model, twin = REMOTE[name](1000), REMOTE[name](1000)
    TRAP.left = -1
    data = [(x, label == "x" if binary(name) else label) for x, label in rows(count + 1)]
    for x, y in data[:-1]:
        model.learn_one(x, y)
        twin.learn_one(x, y)
    counts = [member.count for member in members_of(model) if hasattr(member, "count")]
    Service.down = error
    for _ in range(3):
        with pytest.raises(error, match="service down"):
            model.learn_one(*data[-1])
        now = [member.count for member in members_of(model) if hasattr(member, "count")]
        # A member that has changed itself before the fault may keep this change until the service is back.
        assert all(after - earlier in (0, 1) for after, earlier in zip(now, counts, strict=True))
    Service.down = None
    model.learn_one(*data[-1])
    twin.learn_one(*data[-1])
    assert state_of(model) == state_of(twin)


def test_an_interrupted_replay_is_finished_before_the_next_example() -> None:
    step = Enriched(1000)
    model, twin = step | Logistic(), Enriched(1000) | Logistic()
    data = [(x, label == "x") for x, label in rows(41)]
    for x, y in data[:-1]:
        model.learn_one(x, y)
        twin.learn_one(x, y)
    calls = iter(range(1000))

    def interrupted() -> None:
        # The first call succeeds; the learner refuses the class; the replay is interrupted at its tenth example.
        if next(calls) == 10:
            raise KeyboardInterrupt

    Service.call, original = interrupted, Service.call  # type: ignore[method-assign,assignment]
    try:
        with pytest.raises(KeyboardInterrupt):
            model.learn_one(data[-1][0], "neither")
        assert step.count == 41
        model.learn_one(*data[-1])
    finally:
        Service.call = original  # type: ignore[method-assign]
    twin.learn_one(*data[-1])
    assert state_of(model) == state_of(twin)


def test_a_change_from_outside_ends_an_unfinished_rollback() -> None:
    step = Enriched(1000)
    model = step | Logistic()
    for x, label in rows(5):
        model.learn_one(x, label == "x")
    Service.down = ConnectionError
    with pytest.raises(ConnectionError):
        model.learn_one({"a": 1.0, "b": 1.0}, True)
    Service.down = None
    step.count = 100
    model.learn_one({"a": 1.0, "b": 1.0}, True)
    assert step.count == 101


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_interruption_beside_a_native_step_leaves_all_steps_alike(
    place: int, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Python delivers Ctrl-C when a compiled call returns: the step may have learned already.
    steps = [Scaler(), Centred(), Logistic()]
    model = compose.Pipeline(*steps)
    TRAP.left = -1
    data = [(x, label == "x") for x, label in rows(9)]
    for x, y in data[:-1]:
        model.learn_one(x, y)
    untouched, learned = copy.deepcopy(model), copy.deepcopy(model)
    learned.learn_one(*data[-1])
    segments, usual = model._segments, rollback.teach

    def interrupted(member: Any, *example: Any) -> None:
        if member is not segments[place]:
            usual(member, *example)
            return
        if after:
            usual(member, *example)
        raise KeyboardInterrupt

    monkeypatch.setattr(rollback, "teach", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.learn_one(*data[-1])
    # The last step cannot undo an example, so that the others keep it too.
    expected = learned if after and place == 2 else untouched
    assert state_of(model) == state_of(expected)


class Holder:
    def __init__(self) -> None:
        self.ordered = OrderedDict(a=1, b=[2])
        self.counts, self.grouped = Counter("abca"), defaultdict(list, x=[1])
        self.names, self.pair = {"p", ("q", 1)}, ({"deep": [1]}, frozenset({2}))
        self.numbers, self.random = np.arange(5.0), random.Random(3)
        self.inner = Counting()
        self.alias = self.grouped
        self.missing: Any = None


def test_a_snapshot_restores_everything_in_place() -> None:
    holder = Holder()
    parts = [holder.ordered, holder.counts, holder.grouped, holder.names, holder.numbers, holder.inner]
    before = pickle.dumps(holder)
    taken = snapshot.take(holder)
    assert taken is not None
    holder.ordered.move_to_end("a")
    holder.ordered["b"].append(3)
    holder.counts.update("zz")
    holder.grouped["y"].append(2)
    holder.names.clear()
    holder.pair[0]["deep"].append(2)
    holder.numbers *= 2.0
    holder.numbers.resize(3, refcheck=False)
    holder.random.random()
    holder.inner.totals[0][0] = 7.0
    del holder.missing
    holder.new = 1  # type: ignore[attr-defined]
    assert pickle.dumps(holder) != before
    for _ in range(2):
        snapshot.put_back([taken])
        assert pickle.dumps(holder) == before
    assert holder.alias is holder.grouped
    now = [holder.ordered, holder.counts, holder.grouped, holder.names, holder.numbers, holder.inner]
    assert all(a is b for a, b in zip(parts, now, strict=True))


@pytest.mark.parametrize(
    "held",
    [preprocessing.StandardScaler(), iter([1]), list(range(1000)), np.zeros(10_000), np.zeros(9)[::3], TRAP],
    ids=lambda held: type(held).__name__,
)
def test_no_snapshot_of_what_is_large_or_hides_its_state(held: Any) -> None:
    step = Centred()
    assert snapshot.take(step) is not None
    step.held = held  # type: ignore[attr-defined]
    assert snapshot.take(step) is None


@pytest.mark.parametrize(
    "held",
    [threading.Lock(), threading.RLock(), logging.getLogger("steps"), signal.SIGINT, re.compile("a"), len, str],
    ids=lambda held: type(held).__name__,
)
def test_a_step_may_hold_what_examples_do_not_change(held: Any) -> None:
    step = Centred()
    step.held, step.method = held, step.transform_one  # type: ignore[attr-defined]
    assert snapshot.take(step) is not None
    model = step | Logistic()
    TRAP.left = -1
    model.learn_one({"a": 1.0}, True)
    model.learn_one({"a": 2.0}, False)
    with pytest.raises(ValueError, match="class"):
        model.learn_one({"a": 1.0, "b": 1.0}, "neither")
    assert (step.count, step.means["a"] < 2.0, step.held) == (2, True, held)  # type: ignore[attr-defined]


def test_an_interrupted_restoration_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    step = Centred()
    model = step | Logistic()
    TRAP.left = -1
    model.learn_one({"a": 1.0}, True)
    model.learn_one({"a": 2.0}, False)
    before, calls, usual = state_of(step), iter(range(100)), snapshot._put_items

    def interrupted(target: Any, items: Any) -> None:
        if next(calls) == 0:
            target.clear()
            raise KeyboardInterrupt
        usual(target, items)

    monkeypatch.setitem(snapshot._CONTAINERS, dict, (dict, interrupted))
    with pytest.raises(KeyboardInterrupt):
        model.learn_one({"a": 1.0, "b": 1.0}, "neither")
    assert state_of(step) == before


@pytest.mark.parametrize("error", [ConnectionError, KeyboardInterrupt])
@pytest.mark.parametrize("make", [ensemble.Bagging, lambda model: ensemble.Voting([model, Remote()])])
def test_ensembles_lose_nothing_in_a_lasting_fault(make: Any, error: type[BaseException]) -> None:
    model, twin = make(Remote()), make(Remote())
    data = [(x, label == "x") for x, label in rows(71)]
    for x, y in data[:-1]:
        model.learn_one(x, y)
        twin.learn_one(x, y)
    counts = [member.count for member in model]
    Service.down = error
    for _ in range(3):
        with pytest.raises(error, match="service down"):
            model.learn_one(*data[-1])
        assert all(0 <= member.count - earlier <= 10 for member, earlier in zip(model, counts, strict=True))
        assert model.learned == 70
    Service.down = None
    model.learn_one(*data[-1])
    twin.learn_one(*data[-1])
    assert [member.count for member in model] == [member.count for member in twin]


class RemoteDetector:
    drift_detected = False

    def __init__(self) -> None:
        self.count = 0

    def update(self, value: Any) -> None:
        self.count += 1
        Service.call()


def test_a_monitor_loses_nothing_in_a_lasting_fault() -> None:
    monitor = drift.Monitor({"remote": RemoteDetector()})
    for _ in range(70):
        monitor.update(0.0)
    Service.down = ConnectionError
    for _ in range(3):
        with pytest.raises(ConnectionError):
            monitor.update(1.0)
        assert monitor.detectors["remote"].count in (70, 71)
    Service.down = None
    monitor.update(1.0)
    assert (monitor.detectors["remote"].count, monitor.labels) == (71, 71)
