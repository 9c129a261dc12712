"""Laws of merging over the registry: what `MERGE` declares holds for random parts of a stream.

Parts are random subsets of the rows, so features and labels arrive in another order in each of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import millstream
from measures import ROLES as MEASURE_ROLES
from measures import Measured
from millstream._merging import Mergeable
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from streams import ARGUMENTS, ROLES, mixed, numbers_in

#: Roles of components without a state of their own.
SETTINGS = ("optimizer", "loss", "schedule", "kernel", "search_engine", "buffer", "generator")
#: Learners of counts.
COUNTS = ("naive_bayes.CategoricalNB", "naive_bayes.ComplementNB", "naive_bayes.MultinomialNB")
#: Arguments with which a component can be merged although it cannot by default.
MERGEABLE_ARGUMENTS: dict[str, dict[str, Any]] = {
    "stats.Mode": {"k": -1},
    # Components that are not refreshed after each row are those of some rows before.
    "decomposition.PCA": {"refresh_interval": 1},
}
#: Exact components that cannot count a base once.
WITHOUT_BASE = (
    "covariance.",
    "decomposition.PCA",
    "sampling.ByKey",
    "sketch.DDSketch",
    "stats.KolmogorovSmirnov",
)
#: Covariance estimators that are exact for complete rows.
SHRUNK = ("covariance.LedoitWolf", "covariance.OAS", "covariance.ShrunkCovariance")
PARTS = 3
ROWS = 150


class Subject:
    """A component of any role: how it learns a row, and what it says."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.role = millstream.registry.entry(name)["role"]
        self.measured = Measured(self.role, name) if self.role in MEASURE_ROLES else None
        if self.measured:
            parameters = {**self.measured.description["parameters"], **MERGEABLE_ARGUMENTS.get(name, {})}  # type: ignore[dict-item]
        else:
            parameters = {**ARGUMENTS.get(name, {}), **MERGEABLE_ARGUMENTS.get(name, {})}
        self.description = {"name": name, "parameters": parameters}

    def __repr__(self) -> str:
        return self.name

    def build(self, **changes: Any) -> Any:
        return millstream.build({**self.description, "parameters": {**self.description["parameters"], **changes}})

    def row(self, index: int) -> tuple[Any, float]:
        x, number = mixed(ROWS)[index]
        if self.name in COUNTS:
            return {f"w{index % 5}": 2, f"w{index % 7}": 1, "w0": index % 3}, number
        if self.name.startswith(("basis.", "kernel.")):
            return {"a": number, "b": float(index % 5) - 2.0}, number
        if self.name.startswith("decomposition."):
            return {"a": abs(number), "b": index % 5 + 0.5, "c": (index * index) % 7 + 0.1 * abs(number)}, number
        return x, number

    def learn(self, part: Any, rows: Any) -> Any:
        for index in map(int, rows):
            if self.measured:
                news = self.measured.news(index)
                if self.name in SHRUNK:
                    # Missing numbers are replaced by the mean so far, which depends on the order.
                    news = ({"a": news[0]["a"], "b": news[0]["b"] ** 2},)
                self.measured.tell(part, *news)
                continue
            x, number = self.row(index)
            if self.role == "classifier":
                # Label by label in another order in each part; two classes, because some learners have no more.
                part.learn_one(x, "yes" if number > 0.3 else "no")
            elif self.role == "regressor" or self.name == "feature_selection.SelectKBest":
                part.learn_one(x, number)
            else:
                part.learn_one(x)
        return part

    def says(self, part: Any) -> Any:
        if self.measured:
            if self.role == "covariance_estimator":
                names = sorted(part.features)
                return {f"{a} {b}": float(part[a, b]) for a in names for b in names}
            if self.role == "policy_estimator":
                return [[part.value]]
            if self.role == "sampler":
                return repr(sorted(part.sample(), key=repr))
            return self.measured.value(part)
        answers = []
        for index in range(0, ROWS, 7):
            x, _ = self.row(index)
            if self.role == "classifier":
                answers.append(part.predict_proba_one(x))
            elif self.role == "regressor":
                answers.append(part.predict_one(x))
            elif self.role == "anomaly_detector":
                answers.append(part.score_one(x))
            elif self.name.startswith("decomposition."):
                # Components have no sign.
                answers.append(sorted(map(abs, part.transform_one(x).values())))
            elif self.role == "transformer":
                answers.append(part.transform_one(x))
            else:
                answers.append(part.predict_one(x))
        return answers


def close(a: Any, b: Any, tolerance: float = 1e-9) -> bool:
    """Equal within a relative tolerance; dicts by key, whatever their order."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key], tolerance) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(lambda x, y: close(x, y, tolerance), a, b))
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
    return bool(a == b)


def merged(first: Any, *others: Any, base: Any = None) -> Any:
    whole = first.copy()
    for other in others:
        whole.merge(other, base)
    return whole


def parts_of(rows: int, seed: int) -> list[Any]:
    owner = np.random.default_rng(seed).integers(PARTS, size=rows)
    return [np.flatnonzero(owner == part) for part in range(PARTS)]


SUBJECTS = [Subject(name) for role in (*ROLES, *MEASURE_ROLES) for name in millstream.find(role=role)]
#: What a policy says depends on its draws and its open decisions, which are not merged: test_policy_merging.py.
OUTSIDE = ("policy",)


def of_exactness(*words: str) -> Any:
    chosen = [subject for subject in SUBJECTS if subject.build().MERGE in words]
    chosen = [subject for subject in chosen if subject.role not in OUTSIDE or "none" in words]
    return pytest.mark.parametrize("subject", chosen, ids=repr)


def test_every_component_declares_its_merging() -> None:
    for name in millstream.find():
        entry = millstream.registry.entry(name)
        assert entry["merge"] in ("exact", "bounded", "approximate", "none"), name
        # Bounds, rules and reasons are named; a reason says what to do instead.
        assert entry["merge"] == "exact" or entry["merge_words"], name
        if entry["merge"] == "none":
            assert ": " in entry["merge_words"], name
        cls: Any = millstream.registry.class_of(name)
        if entry["role"] not in (*SETTINGS, "wrapper") and issubclass(cls, Mergeable):
            assert entry["merge"] == cls.MERGE, name


@of_exactness("exact")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_exact_parts_are_the_whole(subject: Subject, seed: int) -> None:
    parts = [subject.learn(subject.build(), rows) for rows in parts_of(ROWS, seed)]
    whole = subject.learn(subject.build(), range(ROWS))
    before = [part.to_bytes() for part in parts]
    together = merged(*parts)
    assert close(subject.says(together), subject.says(whole)), subject
    assert [part.to_bytes() for part in parts] == before
    a, b, c = parts
    said = subject.says(together)
    assert close(subject.says(merged(b, a, c)), said), "commutative"
    assert close(subject.says(merged(a, merged(b, c))), said), "associative"
    counted = "learned" if hasattr(whole, "learned") else "updates"
    assert getattr(together, counted) == getattr(whole, counted)


@of_exactness("exact", "bounded", "approximate")
def test_an_unlearned_model_is_the_identity(subject: Subject) -> None:
    part = subject.learn(subject.build(), range(60))
    fresh = subject.build()
    if subject.role == "sampler" and subject.name != "sampling.ByKey":
        fresh = subject.build(seed=2)
    said = subject.says(part)
    assert close(subject.says(merged(part, fresh)), said)
    if subject.role != "sampler" or subject.name == "sampling.ByKey":
        assert close(subject.says(merged(fresh, part)), said)


@of_exactness("exact")
def test_an_exact_base_counts_once(subject: Subject) -> None:
    base = subject.learn(subject.build(), range(50)).fork()
    first, second = millstream.from_bytes(base.to_bytes()), base.copy()
    subject.learn(first, range(50, 90))
    subject.learn(second, range(90, ROWS))
    if subject.name.startswith(WITHOUT_BASE):
        with pytest.raises(InvalidValue, match="base"):
            first.merge(second, base)
        return
    # Subtracting cancels digits: sums of squares lose a few of them.
    whole = subject.learn(subject.build(), range(ROWS))
    assert close(subject.says(merged(first, second, base=base)), subject.says(whole), 1e-7)
    assert close(subject.says(merged(base, second, base=base)), subject.says(second), 1e-7)


@of_exactness("approximate")
def test_approximate_parts_are_finite_and_follow_the_whole(subject: Subject) -> None:
    if subject.role == "sampler":
        pytest.skip("a sample has other draws")
    first, second = (subject.learn(subject.build(), range(start, ROWS, 2)) for start in (0, 1))
    before = second.to_bytes()
    both = merged(first, second)
    assert second.to_bytes() == before
    said = subject.says(both)
    numbers = [number for answer in said for number in numbers_in(answer)]
    assert all(map(math.isfinite, numbers))
    # It lies no farther from the whole than the farther part does.
    if subject.role in ("classifier", "regressor"):
        whole = subject.says(subject.learn(subject.build(), range(ROWS)))
        distance = [_distance(subject.says(part), whole) for part in (first, second, both)]
        assert distance[2] <= max(distance[:2]) * 1.1 + 1e-9, distance


def _distance(said: Any, whole: Any) -> float:
    pairs = zip(said, whole, strict=True)
    return sum(
        abs(a - b) for x, y in pairs for a, b in zip(numbers_in(_ordered(x)), numbers_in(_ordered(y)), strict=True)
    )


def _ordered(answer: Any) -> Any:
    return {key: answer[key] for key in sorted(answer)} if isinstance(answer, dict) else answer


@of_exactness("approximate")
def test_an_approximate_base_counts_once(subject: Subject) -> None:
    base = subject.learn(subject.build(), range(50)).fork()
    if subject.role in ("sampler", "sketch"):
        pytest.skip("cannot be subtracted")
    first = subject.learn(base.copy(), range(50, 100))
    together = merged(first, base.copy(), base=base)
    # The other part has learned nothing since: what was learned here is kept.
    assert close(subject.says(together), subject.says(first), 1e-6)
    counted = "learned" if hasattr(first, "learned") else "updates"
    assert getattr(together, counted) == getattr(first, counted)


@of_exactness("none")
def test_what_cannot_be_merged_says_why_and_changes_nothing(subject: Subject) -> None:
    first, second = (subject.learn(subject.build(), range(start, start + 40)) for start in (0, 40))
    before = first.to_bytes(), second.to_bytes()
    with pytest.raises(InvalidValue, match="cannot be merged: .+: ") as refused:
        first.merge(second)
    assert "\n" not in str(refused.value)
    assert (first.to_bytes(), second.to_bytes()) == before


@of_exactness("exact", "bounded", "approximate")
def test_wrong_arguments_change_nothing(subject: Subject) -> None:
    part = subject.learn(subject.build(), range(40))
    before = part.to_bytes()
    with pytest.raises(InvalidType, match="only the same"):
        part.merge(3)
    other = millstream.build({"name": "stats.Mean" if subject.name != "stats.Mean" else "stats.Max"})
    with pytest.raises(MillstreamError, match="only the same"):
        part.merge(other)
    other_seed = {"seed": 2} if subject.role == "sampler" and subject.name != "sampling.ByKey" else {}
    learned = subject.learn(subject.build(**other_seed), range(9))
    with pytest.raises(MillstreamError, match="base"):
        part.merge(learned, subject.learn(subject.build(), range(5)))
    assert part.to_bytes() == before


def test_bounded_quantiles_keep_their_bound() -> None:
    from millstream.sketch import KLL

    numbers = np.random.default_rng(3).normal(size=20_000)
    sketches = [KLL(k=200, seed=seed) for seed in range(8)]
    for sketch, part in zip(sketches, np.array_split(numbers, 8), strict=True):
        sketch.update_many(part)
    together = merged(*sketches)
    ranks = np.searchsorted(np.sort(numbers), together.query([0.1, 0.5, 0.9])) / len(numbers)
    assert np.abs(ranks - [0.1, 0.5, 0.9]).max() <= together.error().bound


def test_bounded_counters_keep_their_bound() -> None:
    from millstream.sketch import SpaceSaving

    keys = np.random.default_rng(4).zipf(1.5, size=5_000).tolist()
    sketches = [SpaceSaving(capacity=40) for _ in range(4)]
    for index, key in enumerate(keys):
        sketches[index % 4].update(key)
    together = merged(*sketches)
    bound = together.error().bound
    for key in (1, 2, 3, 5):
        assert abs(together.query(key) - keys.count(key)) <= bound


def test_another_base_is_refused_and_named() -> None:
    from millstream import stats

    base = stats.Mean()
    base.update(1.0)
    other_base = stats.Mean()
    other_base.update(2.0)
    one, two = base.fork(), other_base.fork()
    one.update(3.0)
    two.update(4.0)
    before = one.to_bytes()
    with pytest.raises(
        InvalidValue, match=f"version {base.version} with 1 examples: the other model started from"
    ):
        one.merge(two, base)
    with pytest.raises(InvalidValue, match="this model started from another one"):
        one.merge(two, other_base)
    assert one.to_bytes() == before
    # A copy that nobody forked has no record.
    with pytest.raises(InvalidValue, match=r"no record of its base; let copies made by base.fork\(\) learn"):
        one.merge(millstream.build({"name": "stats.Mean"}), base)
    # A fork differs from its origin by the record alone.
    assert base.fork().version == base.version
    assert base.fork().to_bytes() != base.to_bytes()


def test_labels_and_features_are_aligned_by_name() -> None:
    from millstream.linear_model import AROW, LogisticRegression, Perceptron, SoftmaxRegression

    rows = [({"a": float(n % 7) - 3.0, "b": float(n % 5)}, "high" if n % 7 > 3 else "low") for n in range(100)]
    for kind in (LogisticRegression, AROW, Perceptron, SoftmaxRegression):
        same, turned = kind(), kind()
        for x, y in rows:
            same.learn_one(x, y)
        # The other label first, and the other feature first.
        for x, y in sorted(rows, key=lambda row: row[1] == "low"):
            turned.learn_one(dict(reversed(x.items())), y)
        right = merged(same, turned)
        assert sum(right.predict_one(x) == y for x, y in rows) >= 85, kind


def test_a_third_class_of_one_part() -> None:
    from millstream.linear_model import AROW, LogisticRegression

    def learned(kind: Any, labels: str, start: int) -> Any:
        model = kind()
        for n in range(start, start + 120):
            label = labels[n % len(labels)]
            model.learn_one({label: 1.0, "noise": float(n % 3)}, label)
        return model

    both = merged(learned(AROW, "ab", 0), learned(AROW, "cb", 1))
    assert [both.predict_one({label: 1.0, "noise": 1.0}) for label in "abc"] == ["a", "b", "c"]
    one, other = learned(LogisticRegression, "ab", 0), learned(LogisticRegression, "cb", 1)
    before = one.to_bytes()
    with pytest.raises(InvalidValue, match="supports 2 classes, but the labels of both models are 3 together"):
        one.merge(other)
    assert one.to_bytes() == before


def test_pipelines_and_unions_are_merged_step_by_step() -> None:
    from millstream import preprocessing
    from millstream.compose import Union
    from millstream.linear_model import RLS, LogisticRegression

    def learned(model: Any, rows: range) -> Any:
        for n in rows:
            x = {"a": float(n % 11), "b": float(n % 7), "c": float(n * n % 13)}
            names = sorted(x, key=lambda name: (n % 2, name), reverse=n % 2 == 1)
            y = x["a"] - 2 * x["b"]
            model.learn_one({name: x[name] for name in names}, y)
        return model

    plain = preprocessing.Normalizer() | RLS()
    assert plain.MERGE == "exact"
    scaled = preprocessing.StandardScaler() | RLS()
    assert scaled.MERGE == "approximate"
    assert (preprocessing.StandardScaler() | LogisticRegression()).MERGE == "approximate"
    assert Union(preprocessing.StandardScaler(), preprocessing.MinMaxScaler()).MERGE == "exact"
    asked = {"a": 3.0, "b": 2.0, "c": 1.0}
    both = merged(learned(plain.clone(), range(80)), learned(plain.clone(), range(81, 160)))
    whole = learned(plain.clone(), range(80))
    learned(whole, range(81, 160))
    assert both.predict_one(asked) == pytest.approx(whole.predict_one(asked), rel=1e-9)
    both = merged(learned(scaled.clone(), range(80)), learned(scaled.clone(), range(81, 160)))
    assert both.predict_one(asked) == pytest.approx(-1.0, abs=0.5)


def test_other_settings_are_refused_and_named() -> None:
    from millstream.linear_model import RLS
    from millstream.sketch import CountMin

    with pytest.raises(InvalidValue, match="can be merged if the parameters are equal, got l2 1.0 and 2.0"):
        RLS().merge(RLS(l2=2.0))
    with pytest.raises(InvalidValue, match="got seed 1 and 2"):
        CountMin(seed=1).merge(CountMin(seed=2))
    with pytest.raises(InvalidValue, match=r"linear_model.RLS: cannot be merged: .* use forgetting=1"):
        RLS(forgetting=0.9).merge(RLS(forgetting=0.9))


@pytest.mark.parametrize("with_base", [False, True])
def test_precisions_of_full_covariances_are_exact_for_least_squares(with_base: bool) -> None:
    """With a full covariance, AROW regression is recursive least squares, where the rule by precision is exact."""
    from millstream.linear_model import AROWRegressor

    def learned(model: Any, rows: range) -> Any:
        for n in rows:
            names = "abc" if n % 2 else "cba"
            x = dict(zip(names, (float(n % 7), float(n % 5) - 2.0, float(n * n % 11)), strict=True))
            model.learn_one(x, x["a"] - 2.0 * x["c"] + 1.0)
        return model

    base = learned(AROWRegressor(full=True), range(40) if with_base else range(0)).fork()
    # Features come in another order here and there.
    first, second = learned(base.copy(), range(40, 81)), learned(base.copy(), range(81, 120))
    whole = learned(base.copy(), range(40, 120))
    first.merge(second, base if with_base else None)
    asked = {"a": 3.0, "b": 1.0, "c": 2.0}
    assert first.predict_one(asked) == pytest.approx(whole.predict_one(asked), rel=1e-7)
    assert first.learned == whole.learned


def test_averaged_weights_are_merged_too() -> None:
    from millstream.linear_model import LinearRegression

    def learned(rows: range) -> Any:
        model = LinearRegression(averaging=True)
        for n in rows:
            model.learn_one({"a": float(n % 7) / 7}, 2.0 * (n % 7) / 7)
        return model

    first, second = learned(range(300)), learned(range(300, 400))
    asked = {"a": 1.0}
    expected = 0.75 * first.predict_one(asked) + 0.25 * second.predict_one(asked)
    first.merge(second)
    assert first.predict_one(asked) == pytest.approx(expected, rel=1e-12)


def test_wide_sparse_models_are_merged() -> None:
    """Weights that are stored in pairs with their memory, beyond 16,384 columns."""
    from scipy.sparse import random_array

    from millstream import optim
    from millstream.linear_model import AROW, LogisticRegression

    X = random_array((60, 40_000), density=0.001, rng=np.random.default_rng(2)).tocsr()
    y = np.arange(60) % 2 == 0
    for model in (LogisticRegression(optimizer=optim.AdaGrad()), AROW()):
        parts = [model.clone(), model.clone()]
        for start, part in enumerate(parts):
            part.learn_many(X[start::2], y[start::2] if start else ~y[start::2])
        both = merged(*parts)
        assert both.learned == 60
        assert np.isfinite(list(both.predict_proba_many(X)[:, 0])).all()


def test_a_model_merged_with_itself_counts_twice() -> None:
    from millstream.naive_bayes import GaussianNB

    model = GaussianNB()
    for n in range(20):
        model.learn_one({"a": float(n), "colour": "red" if n % 3 else "blue"}, n % 2 == 0)
    before = model.predict_proba_one({"a": 3.0, "colour": "red"})
    model.merge(model)
    assert model.learned == 40
    assert close(model.inspect()["classes"][0]["count"], 20.0)
    assert before.keys() == model.predict_proba_one({"a": 3.0}).keys()
