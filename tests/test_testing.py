"""`testing.check_model`: good models pass, and each broken one fails with its law named."""

from __future__ import annotations

import copy
import functools
import math
import pickle
import random
from collections import deque
from typing import Any

import pytest

from millstream import base, compat, linear_model, metrics, naive_bayes, preprocessing, roles, testing, time_series
from millstream.errors import InvalidType, InvalidValue
from streams import Case, cases

#: Models whose checks take more than half a second of CPU time.
SLOW = {
    "basis.BSpline",
    "basis.Fourier",
    "basis.GaussianRBF",
    "ensemble.SRPRegressor",
    "kernel.Nystroem",
    "kernel.RandomFourierFeatures",
    "neural_network.IRMARegressor",
}


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[pytest.mark.slow] if case.name in SLOW else [], id=repr(case)) for case in cases()],
)
def test_every_model_of_the_registry_passes(case: Case) -> None:
    model = case.build()
    before = model.to_bytes()
    testing.check_model(model)
    assert model.to_bytes() == before


class Sides(base.Regressor):
    """The mean target on each side of a = 0."""

    def __init__(self) -> None:
        self.means: dict[bool, tuple[float, float]] = {}

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        base.check_example(self, y, w)
        side = x.get("a", 0.0) > 0.0
        n, mean = self.means.get(side, (0.0, 0.0))
        if w:
            self.means[side] = (n + w, mean + w / (n + w) * (y - mean))

    def predict_one(self, x: Any) -> float:
        return self.means.get(x.get("a", 0.0) > 0.0, (0.0, 0.0))[1]


class Counts(base.Classifier):
    """The classes on each side of a = 0, counted."""

    def __init__(self, smoothing: float = 1.0) -> None:
        self.smoothing = smoothing
        self.counts: dict[Any, list[float]] = {}

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        base.check_example(self, y, w)
        side = int(x.get("a", 0.0) > 0.0)
        if w:
            self.counts.setdefault(y, [self.smoothing] * 2)[side] += w

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        side = int(x.get("a", 0.0) > 0.0)
        total = sum(counts[side] for counts in self.counts.values())
        return {label: counts[side] / total for label, counts in self.counts.items()}


class Last(base.Classifier):
    """The last label: no weights, no probabilities."""

    def __init__(self) -> None:
        self.last: Any = None

    def learn_one(self, x: Any, y: Any) -> None:
        base.check_example(self, y)
        self.last = y

    def predict_one(self, x: Any) -> Any:
        return self.last


class Largest(base.Transformer):
    """Divides by the largest absolute value so far; a learner of numbers alone."""

    def __init__(self) -> None:
        self.largest: dict[Any, float] = {}

    def learn_one(self, x: Any) -> None:
        sizes = {name: abs(value) for name, value in x.items()}
        if not all(size < math.inf for size in sizes.values()):
            raise ValueError("Largest: features must be finite")
        self.largest.update({name: max(size, self.largest.get(name, 1.0)) for name, size in sizes.items()})

    def transform_one(self, x: Any) -> dict[Any, float]:
        if not all(abs(value) < math.inf for value in x.values()):
            raise ValueError("Largest: features must be finite")
        return {name: value / self.largest.get(name, 1.0) for name, value in x.items()}


class Half(base.Transformer):
    """Learns nothing."""

    def transform_one(self, x: Any) -> dict[Any, Any]:
        return {name: value / 2 if type(value) is float else 0.0 for name, value in x.items() if value != math.inf}


class Stranger:
    """Has the verbs and nothing else."""

    def __init__(self) -> None:
        self.last = 0.0

    def learn_one(self, x: Any, y: Any) -> None:
        if not (isinstance(y, float) and math.isfinite(y)):
            raise ValueError("Stranger: the target must be a finite number")
        self.last = y

    def predict_one(self, x: Any) -> float:
        return self.last


#: The laws that a class breaks because its features may be infinite.
HALVES = {"bad features": "minus infinity is halved", "huge numbers": "not a learner"}


@pytest.mark.parametrize(
    "model",
    [Sides, Sides(), Counts, Counts(smoothing=0.5), Last, Largest, Stranger, functools.partial(Counts, 2.0)],
    ids=repr,
)
def test_good_learners_of_ones_own_pass(model: Any) -> None:
    testing.check_model(model)


def test_a_good_learner_in_company_passes() -> None:
    testing.check_model(Half(), skip=HALVES)
    testing.check_model(preprocessing.StandardScaler() | Counts(), skip={"bad features": "-", "huge numbers": "-"})


RIVER = dict.fromkeys(
    ("missing", "strings", "bad features", "huge numbers"),
    "River's models learn feature by feature and do not check values",
)
RIVER_SCALER = {**RIVER, **dict.fromkeys(("pure", "features"), "River's scalers make counters when asked")}
SKLEARN = {"huge numbers": "scikit-learn does not check for overflow"}
SKLEARN_SCALER = {**SKLEARN, **dict.fromkeys(("features", "missing"), "scikit-learn's scalers pass on NaN")}


def _converted() -> list[Any]:
    river = pytest.importorskip("river")
    import river.linear_model
    import river.naive_bayes
    import river.preprocessing
    import sklearn.linear_model
    import sklearn.preprocessing

    logistic = sklearn.linear_model.SGDClassifier(loss="log_loss", random_state=1)
    return [
        (compat.from_river(river.linear_model.LogisticRegression()), RIVER),
        (compat.from_river(river.linear_model.LinearRegression()), RIVER),
        (compat.from_river(river.naive_bayes.GaussianNB()), RIVER),
        (compat.from_river(river.preprocessing.StandardScaler()), RIVER_SCALER),
        (compat.from_sklearn(logistic, classes=[False, True]), SKLEARN),
        (compat.from_sklearn(sklearn.linear_model.SGDRegressor(random_state=1)), SKLEARN),
        (compat.from_sklearn(sklearn.preprocessing.StandardScaler()), SKLEARN_SCALER),
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("place", range(7))
def test_converted_models_pass(place: int) -> None:
    model, skip = _converted()[place]
    testing.check_model(model, skip=skip)


# Learners that break one law each.


class LearnsWhenAsked(Sides):
    def predict_one(self, x: Any) -> float:
        answer = super().predict_one(x)
        self.means[x.get("a", 0.0) > 0.0] = (1.0, answer + 1.0)
        return answer


class CountsQuestions(Sides):
    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def predict_one(self, x: Any) -> float:
        self.asked += 1
        return super().predict_one(x)


class EatsItsInput(Sides):
    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        super().learn_one(x, y, w)
        x.pop("a", None)


class AddsToItsInput(Counts):
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        x["bias"] = 1.0
        return super().predict_proba_one(x)


class ReturnsItself(Sides):
    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> Any:
        super().learn_one(x, y, w)
        return self


class ClonesItsState(Sides):
    def clone(self, **changes: Any) -> Any:
        return copy.deepcopy(self)


class LosesParameters(Sides):
    def __init__(self, start: float = 0.0) -> None:
        super().__init__()
        self.start = start

    def clone(self, **changes: Any) -> Any:
        return type(self)()


class NeedsAnArgumentAgain(Sides):
    def __init__(self, start: float) -> None:
        super().__init__()
        self.begin = start


class SharesItsClass(Sides):
    everywhere: dict[bool, tuple[float, float]] = {}

    def __init__(self) -> None:
        self.means = self.everywhere


class Unnormalised(Counts):
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        return {label: p / 2 for label, p in super().predict_proba_one(x).items()}


class Negative(Counts):
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        n = len(self.counts)
        return {label: (1 + n) * p - 1.0 for label, p in super().predict_proba_one(x).items()}


class Contrary(Counts):
    def predict_one(self, x: Any) -> Any:
        probabilities = self.predict_proba_one(x)
        return min(probabilities, key=probabilities.__getitem__, default=None)


class SharesCopies(Sides):
    def __deepcopy__(self, memo: Any) -> Any:
        other = type(self)()
        other.means = self.means
        return other


class LosesStateInCopies(Sides):
    def __deepcopy__(self, memo: Any) -> Any:
        other = type(self)()
        other.means = {True: self.means[True]} if True in self.means else {}
        return other


class HoldsAFunction(Sides):
    def __init__(self) -> None:
        super().__init__()
        self.function = lambda x: x


class ForgetsInPickles(Sides):
    def __getstate__(self) -> Any:
        return {"means": {}}

    def __deepcopy__(self, memo: Any) -> Any:
        other = type(self)()
        other.means = dict(self.means)
        return other


class Unseeded(Sides):
    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        super().learn_one(x, y + random.random() if isinstance(y, float) else y, w)


class LearnsHalf(Sides):
    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        n, mean = self.means.get(x.get("a", 0.0) > 0.0, (0.0, 0.0))
        self.means[x.get("a", 0.0) > 0.0] = (n + 1.0, mean)
        super().learn_one(x, y, w)


class LearnsAnyLabel(Last):
    def learn_one(self, x: Any, y: Any) -> None:
        self.last = y


class NoAnswerYet(Sides):
    def predict_one(self, x: Any) -> float:
        return self.means[x.get("a", 0.0) > 0.0][1]


class NotFinite(Sides):
    def predict_one(self, x: Any) -> float:
        return math.nan if len(self.means) > 1 else 0.0


class StepsLate(Sides):
    def step_one(self, x: Any, y: Any, w: float = 1.0, *, proba: bool = False) -> Any:
        self.learn_one(x, y, w)
        return self.predict_one(x)


class MiniBatches(Sides):
    def learn_many(self, X: Any, y: Any = None, w: Any = None, *, on_error: str = "raise") -> int:
        rows = list(X) if isinstance(X, list) else []
        for x in rows:
            self.learn_one(x, sum(y) / len(y))
        return 0


class NoWayBack(Sides):
    def learn_many(self, X: Any, y: Any = None, w: Any = None, *, on_error: str = "raise") -> int:
        return super().learn_many(X, y, w, on_error="stop")


class CountsNothing(Sides):
    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        super().learn_one(x, y, w or 1.0)


class IgnoresWeights(base.Classifier):
    """Counts the classes, which are in balance at the end of the examples."""

    def __init__(self) -> None:
        self.counts: dict[Any, int] = {}

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        base.check_example(self, y, w)
        self.counts[y] = self.counts.get(y, 0) + 1

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        total = sum(self.counts.values())
        return {label: count / total for label, count in self.counts.items()}


class MajorityIgnoresWeights(IgnoresWeights):
    """No probabilities."""

    predict_proba_one = base.Classifier.predict_proba_one

    def predict_one(self, x: Any) -> Any:
        return max(self.counts, key=self.counts.__getitem__, default=None)


class OddWeight(Counts):
    def learn_one(self, x: Any, y: Any, w: float = 2.0) -> None:
        super().learn_one(x, y, w)


class AnyWeight(Sides):
    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        super().learn_one(x, y, abs(w) if isinstance(w, float) and math.isfinite(w) else w)


class Weightless(Last):
    def learn_many(self, X: Any, y: Any = None, w: Any = None, *, on_error: str = "raise") -> int:
        return super().learn_many(X, y, on_error=on_error)


class TwoClasses(Counts):
    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        super().learn_one(x, y, w)
        if len(self.counts) > 2:
            raise ValueError("TwoClasses: learns 2 classes")


class Sums(base.Regressor):
    """The mean of all values, which NaN, infinity and overflow spoil."""

    def __init__(self, check: Any = None) -> None:
        self.check = check
        self.total, self.n = 0.0, 0

    def learn_one(self, x: Any, y: Any) -> None:
        base.check_example(self, y)
        values = [value for value in x.values() if value is not None]
        if self.check == "missing" or (self.check and any(value != value for value in values)):
            values = [value for value in values if value == value]
        if self.check == "finite" and any(abs(value) == math.inf for value in values):
            raise ValueError("Sums: features must be finite")
        # Each is a float before the sum changes.
        added = sum(abs(value) for value in values)
        self.total, self.n = float(self.total + added), self.n + 1

    def predict_one(self, x: Any) -> float:
        return self.total / self.n if self.n else 0.0


class NeedsAFeature(Sides):
    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        if "a" not in x and 0 not in x:
            raise KeyError("a")
        super().learn_one(x, y, w)


class Talkative(Sides):
    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        if isinstance(x.get("a"), str):
            raise ValueError("a is a string\nand that is too bad")
        super().learn_one(x, y, w)


class ReadsTexts(Sides):
    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        if type(x.get("a")) is str:
            raise RuntimeError("no strings")
        super().learn_one(x, y, w)


class Window(base.Regressor):
    """The mean of the last targets, which another thread may be changing."""

    def __init__(self) -> None:
        self.last: deque[float] = deque(maxlen=30)

    def learn_one(self, x: Any, y: Any) -> None:
        base.check_example(self, y)
        self.last.append(y)

    def predict_one(self, x: Any) -> float:
        total = 0.0
        for y in self.last:
            total += y
        return total / max(len(self.last), 1)


class SaysNothing(Last):
    def predict_one(self, x: Any) -> Any:
        return None


class Unfinished(base.Regressor):
    def predict_one(self, x: Any) -> float:
        return 0.0


class Promises(Sides):
    def predict_interval_one(self, x: Any, coverage: float = 0.9) -> Any:
        raise NotImplementedError("later")


BROKEN: list[tuple[Any, str, str]] = [
    (LearnsWhenAsked, "pure", "as it was after predicting"),
    (CountsQuestions, "pure", "another saved state"),
    (EatsItsInput, "input", "learn_one to leave its input as it was"),
    (AddsToItsInput, "input", "to leave its input as it was"),
    (ReturnsItself, "input", "None from learn_one"),
    (ClonesItsState, "clone", "as a model that has learned nothing"),
    (LosesParameters(3.0), "clone", "a clone with start=3.0"),
    (NeedsAnArgumentAgain(3.0), "clone", "needs the argument 'start'"),
    (SharesItsClass, "clone", "has learned"),
    (Unnormalised, "probabilities", "probabilities that sum to 1, got a sum of 0.5"),
    (Negative, "probabilities", "not negative"),
    (Contrary, "probabilities", "the most probable class"),
    (SharesCopies, "independence", "shares nothing"),
    (LosesStateInCopies, "copies", "copy.deepcopy"),
    (HoldsAFunction, "pickle", "lambda"),
    (ForgetsInPickles, "pickle", "to predict as the model does"),
    (Unseeded, "determinism", "two models trained on the same examples"),
    (LearnsHalf, "bad targets", "as it was after the target nan was refused"),
    (LearnsAnyLabel, "bad targets", "the target None to be refused"),
    (NoAnswerYet, "unlearned", "KeyError"),
    (NotFinite, "finite", "a finite number from predict_one, got float nan"),
    (StepsLate, "step", "what predict_one gave before learning"),
    (MiniBatches, "many", "to learn as a loop does"),
    (NoWayBack, "bad rows", "has refused a batch"),
    (CountsNothing, "weight zero", "a weight of 0 to teach nothing"),
    (IgnoresWeights, "weight zero", "a weight of 0 to teach nothing"),
    (MajorityIgnoresWeights, "weight zero", "a weight of 0 to teach nothing"),
    (OddWeight, "weights", "a weight of 1"),
    (AnyWeight, "bad weights", "the weight -1.0 to be refused"),
    (Weightless, "weights", "because learn_one takes none"),
    (TwoClasses, "unseen classes", "an unseen class was refused"),
    (Sums, "missing", "a finite number from predict_one, got float nan"),
    (Sums("missing"), "bad features", "a finite number from predict_one, got float inf"),
    (Sums("finite"), "huge numbers", "a finite number from predict_one, got float inf"),
    (NeedsAFeature, "features", "KeyError"),
    (Talkative, "strings", "one line"),
    (ReadsTexts, "strings", "RuntimeError: no strings"),
    (Window, "threads", "deque mutated during iteration"),
    (SaysNothing, "prequential", "predictions that can be scored"),
    (Unfinished, "verbs", "Unfinished does not define learn_one"),
    (Promises, "verbs", "predict_interval_one to work"),
]


@pytest.mark.parametrize(("model", "law", "words"), BROKEN, ids=lambda value: getattr(value, "__name__", None))
def test_a_broken_learner_fails_with_its_law_named(model: Any, law: str, words: str) -> None:
    with pytest.raises(testing.BrokenLaw) as failure:
        testing.check_model(model)
    found = failure.value
    message = str(found)
    assert found.law == law, message
    title = model.__name__ if isinstance(model, type) else type(model).__name__
    assert message.startswith(f"{title} breaks the law '{law}': expected {found.expected[:20]}")
    assert words in message
    assert "\n" not in message
    assert isinstance(found, AssertionError)
    assert str(pickle.loads(pickle.dumps(found))) == message


def test_every_law_but_those_of_native_models_is_broken_by_some_learner() -> None:
    assert set(testing.LAWS) - {law for _, law, _ in BROKEN} == {"description", "examples", "pipeline"}


def test_the_message_of_a_crash_has_the_crash_as_its_cause() -> None:
    with pytest.raises(testing.BrokenLaw) as failure:
        testing.check_model(NoAnswerYet)
    assert isinstance(failure.value.__cause__, KeyError)
    assert "predict_one({'a': " in failure.value.example


def test_laws_can_be_skipped_by_name() -> None:
    testing.check_model(ReturnsItself, skip=["input"])
    testing.check_model(ReturnsItself, skip="input")
    testing.check_model(Window, skip={"threads": "used by one thread"})
    with pytest.raises(InvalidValue, match="skip must name laws .*verbs, unlearned.*got 'inputs'"):
        testing.check_model(Sides, skip=["inputs"])


def test_the_model_that_is_given_learns_nothing() -> None:
    for model in (Sides(), Counts(), linear_model.LogisticRegression(), naive_bayes.GaussianNB()):
        model.learn_one({"a": 1.0}, True)
        before = pickle.dumps(model)
        testing.check_model(model)
        assert pickle.dumps(model) == before


def test_laws_follow_what_a_class_declares() -> None:
    names = {
        model: [check.__name__ for check in testing.checks(model)] for model in (Counts, Last, Largest, Sides)
    }
    assert set(names[Counts]) == set(testing.LAWS) - {"description"}
    assert set(names[Counts]) - set(names[Last]) == {"probabilities", "weight zero", "bad weights"}
    assert not {"bad targets", "bad rows", "prequential", "step"} & set(names[Largest])
    assert "unseen classes" not in names[Sides]
    assert "description" in [check.__name__ for check in testing.checks(naive_bayes.GaussianNB)]


@pytest.mark.parametrize("check", testing.checks(Counts))
def test_checks_are_named_for_pytest(check: Any, request: pytest.FixtureRequest) -> None:
    assert request.node.name == f"test_checks_are_named_for_pytest[{check.__name__}]"
    assert repr(check) == f"<check of Counts: {check.__name__}>"
    assert testing.LAWS[check.__name__] == check.__doc__
    check()


def test_each_law_is_one_sentence() -> None:
    for name, sentence in testing.LAWS.items():
        assert name == name.lower()
        assert sentence.endswith(".")
        assert sentence[0].isupper() or sentence[0] == "`"
        assert ". " not in sentence


class Prices(base.Regressor):
    """A learner that needs features of its own."""

    def __init__(self) -> None:
        self.last: dict[Any, float] = {}

    def learn_one(self, x: Any, y: Any) -> None:
        base.check_example(self, y)
        self.last[_text(x)] = y

    def predict_one(self, x: Any) -> float:
        return self.last.get(_text(x), 0.0)


def _text(x: Any) -> str:
    if not isinstance(x.get("shop"), str):
        raise TypeError("Prices: the feature 'shop' must be a string")
    return x["shop"]  # type: ignore[no-any-return]


def test_a_learner_may_bring_its_own_examples() -> None:
    with pytest.raises(testing.BrokenLaw, match="'shop' must be a string"):
        testing.check_model(Prices)
    testing.check_model(Prices, examples=[({"shop": "abc"[i % 3], "size": i}, float(i)) for i in range(20)])
    with pytest.raises(InvalidValue, match="at least 12 examples, got 1"):
        testing.check_model(Prices, examples=[({"shop": "a"}, 1.0)])
    with pytest.raises(InvalidType, match="pairs of a dict and a target, got 3"):
        testing.check_model(Prices, examples=[3])


@pytest.mark.parametrize("thing", [3, "text", object(), linear_model, roles.CLASSIFIER, metrics.Accuracy()])
def test_what_is_no_model_is_refused(thing: Any) -> None:
    roles_ = "a transformer, a classifier, a regressor, an anomaly detector, a clusterer, a forecaster or a policy"
    with pytest.raises(InvalidType, match=f"check_model: expected {roles_}, got"):
        testing.check_model(thing)


def test_a_class_that_needs_arguments_is_refused() -> None:
    with pytest.raises(InvalidType, match=r"NeedsAnArgumentAgain\(\) failed: .*'start'; give an instance"):
        testing.check_model(NeedsAnArgumentAgain)


# Forecasters.


class Level(time_series.Forecaster):
    """The mean of the values so far."""

    def __init__(self, start: float = 0.0) -> None:
        self.start, self.mean, self.n = start, start, 0

    def learn_one(self, y: Any, x: Any = None) -> None:
        base.check_example(self, y)
        self.n += 1
        self.mean += (y - self.mean) / self.n

    def forecast(self, horizon: int, xs: Any = None) -> list[float]:
        return [self.mean] * horizon


FORECASTERS = [
    time_series.HoltWinters(0.3),
    time_series.HoltWinters(0.3, 0.1, 0.2, period=4, multiplicative=True, damping=0.9),
    time_series.SeasonalNaive(),
    time_series.SeasonalNaive(period=4),
    time_series.SeasonalNaive,
    Level,
    Level(2.0),
    functools.partial(Level, 3.0),
]


@pytest.mark.parametrize("model", FORECASTERS, ids=repr)
def test_good_forecasters_pass(model: Any) -> None:
    testing.check_model(model)


class NoForecastYet(Level):
    def forecast(self, horizon: int, xs: Any = None) -> list[float]:
        return [self.mean if self.n else math.nan] * horizon


class NotFiniteLater(Level):
    def forecast(self, horizon: int, xs: Any = None) -> list[float]:
        return [math.nan if self.n > 3 else 0.0] * horizon


class ForecastsChange(Level):
    def forecast(self, horizon: int, xs: Any = None) -> list[float]:
        self.mean += 1.0
        return [self.mean] * horizon


class NoisyForecasts(Level):
    def learn_one(self, y: Any, x: Any = None) -> None:
        base.check_example(self, y)
        super().learn_one(y + random.random())


class TwelveSteps(Level):
    def forecast(self, horizon: int, xs: Any = None) -> list[float]:
        return [self.mean] * 12


class ClonesItsLevel(Level):
    def clone(self, **changes: Any) -> Any:
        return copy.deepcopy(self)


class CopiesNothing(Level):
    def __deepcopy__(self, memo: Any) -> Any:
        return Level()


class SharesItsValues(Level):
    def __init__(self) -> None:
        super().__init__()
        self.values = [0.0]

    def learn_one(self, y: Any, x: Any = None) -> None:
        super().learn_one(y, x)
        self.values[0] = self.mean

    def forecast(self, horizon: int, xs: Any = None) -> list[float]:
        return self.values * horizon

    def __deepcopy__(self, memo: Any) -> Any:
        other = type(self)()
        other.__dict__.update(self.__dict__)
        return other


class KeepsAFunction(Level):
    def __init__(self) -> None:
        super().__init__()
        self.function = lambda y: y

    def __deepcopy__(self, memo: Any) -> Any:
        other = type(self)()
        other.mean, other.n = self.mean, self.n
        return other


class LearnsAnyValue(Level):
    def learn_one(self, y: Any, x: Any = None) -> None:
        self.mean = y if isinstance(y, float) else 0.0


class CountsTheRefused(Level):
    def learn_one(self, y: Any, x: Any = None) -> None:
        self.n += 1
        super().learn_one(y, x)


class NeedsAFirstValue(Level):
    def skip_one(self, x: Any = None) -> None:
        if not self.n:
            raise RuntimeError("nothing to repeat")


class LearnsTheMean(Level):
    def learn_many(self, ys: Any, X: Any = None, *, on_error: str = "raise") -> int:
        return super().learn_many([sum(ys) / len(ys)], on_error=on_error)


class KeepsWhatItLearned(Level):
    def learn_many(self, ys: Any, X: Any = None, *, on_error: str = "raise") -> int:
        return super().learn_many(ys, on_error="stop" if on_error == "raise" else on_error)


class NamesItsFeatures(Level):
    """Needs features as soon as it is evaluated."""

    def forecast(self, horizon: int, xs: Any = None) -> list[float]:
        if horizon == 3:
            raise ValueError("NamesItsFeatures: xs is missing")
        return super().forecast(horizon, xs)


BROKEN_FORECASTERS: list[tuple[Any, str, str]] = [
    (NoForecastYet, "unlearned", "finite numbers from forecast, got float nan"),
    (NotFiniteLater, "finite", "finite numbers from forecast, got float nan"),
    (ForecastsChange, "pure", "as it was after predicting"),
    (NoisyForecasts, "determinism", "two models trained on the same examples"),
    (ClonesItsLevel, "clone", "as a model that has learned nothing"),
    (CopiesNothing, "copies", "copy.deepcopy"),
    (SharesItsValues, "independence", "shares nothing"),
    (KeepsAFunction, "pickle", "lambda"),
    (LearnsAnyValue, "bad targets", "the target nan to be refused"),
    (CountsTheRefused, "bad targets", "as it was after the target nan was refused"),
    (TwelveSteps, "horizon", "1 numbers from forecast, got 12"),
    (NeedsAFirstValue, "skip", "nothing to repeat"),
    (LearnsTheMean, "series", "to learn as a loop does"),
    (KeepsWhatItLearned, "bad values", "has refused a series"),
    (NamesItsFeatures, "rolling origin", "xs is missing"),
]


@pytest.mark.parametrize(
    ("model", "law", "words"), BROKEN_FORECASTERS, ids=lambda value: getattr(value, "__name__", None)
)
def test_a_broken_forecaster_fails_with_its_law_named(model: Any, law: str, words: str) -> None:
    with pytest.raises(testing.BrokenLaw) as failure:
        testing.check_model(model)
    assert failure.value.law == law, str(failure.value)
    assert words in str(failure.value)


def test_every_law_of_forecasters_but_that_of_native_ones_is_broken_by_some() -> None:
    assert set(testing.FORECASTER_LAWS) - {law for _, law, _ in BROKEN_FORECASTERS} == {"description"}
    for sentence in testing.FORECASTER_LAWS.values():
        assert sentence.endswith(".")


def test_a_forecaster_may_bring_its_own_series() -> None:
    testing.check_model(time_series.HoltWinters(0.5), examples=[float(value % 5) for value in range(20)])
    testing.check_model(TwelveSteps, skip=["horizon", "rolling origin"])
    with pytest.raises(InvalidValue, match="skip must name laws .*rolling origin.*got 'weights'"):
        testing.check_model(Level, skip=["weights"])
    with pytest.raises(InvalidValue, match="at least 12 examples, got 2"):
        testing.check_model(Level, examples=[1.0, 2.0])
    with pytest.raises(InvalidType, match="must be finite numbers, got"):
        testing.check_model(Level, examples=[({"a": 1.0}, 1.0)] * 20)
