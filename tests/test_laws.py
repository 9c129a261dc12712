"""What every learner must obey, whatever it does (docs/design.md). The learners come from the registry.

The laws that hold for learners in Python too are public in `millstream.testing`; tests/test_testing.py holds
every learner against them. Those here are stricter (bit for bit, mixed rows, memory) or for compiled models only.
A learner that breaks a law on purpose is in `EXCEPTIONS` with its reason.
"""

from __future__ import annotations

import copy
import math
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import testing
from millstream.errors import MillstreamError
from millstream.registry import entry
from streams import ARGUMENTS, CASES, Case, answer, cases, fit, learn_one, mixed, numbers_in, numeric

#: (part, law): reason. A part here excuses the models that are made of it.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("baseline.NoChange", "learns"): "says the last label, whatever the example",
    ("baseline.MajorityClass", "learns"): "a baseline: it does not look at the example",
    ("baseline.Prior", "learns"): "a baseline: it does not look at the example",
    ("baseline.TargetMean", "learns"): "a baseline: it does not look at the example",
    ("anomaly.QuantileFilter", "memory"): "the summary of its scores grows with the logarithm of the stream",
    ("htm.HTMAnomaly", "learns"): "it learns which rows follow which, and rows of the test are independent",
    ("htm.HTMAnomaly", "memory"): "its lists of synapses grow until each was at its longest",
    ("htm.TemporalMemory", "learns"): "it learns which rows follow which, and rows of the test are independent",
    ("preprocessing.QuantileTransformer", "memory"): "its sketch grows with the logarithm of the stream",
    ("preprocessing.RobustScaler", "memory"): "its sketch grows with the logarithm of the stream",
    ("tree.ExtremelyFastDecisionTreeClassifier", "memory"): "it grows with what there is to learn",
    ("tree.HoeffdingAdaptiveTreeClassifier", "memory"): "it grows with what there is to learn",
    ("tree.HoeffdingAdaptiveTreeRegressor", "memory"): "it grows with what there is to learn",
    ("tree.HoeffdingTreeClassifier", "memory"): "it grows with what there is to learn",
    ("tree.HoeffdingTreeRegressor", "memory"): "it grows with what there is to learn",
    ("forest.ARFClassifier", "memory"): "trees grow with what there is to learn",
    ("forest.ARFRegressor", "memory"): "trees grow with what there is to learn",
    ("ensemble.ADWINBagging", "memory"): "windows grow with the logarithm of the stream",
    ("ensemble.LeveragingBagging", "memory"): "windows grow with the logarithm of the stream",
    (
        "ensemble.SRPClassifier",
        "memory",
    ): "its windows grow, and background learners come and go",
    (
        "ensemble.SRPRegressor",
        "memory",
    ): "its windows grow, and background learners come and go",
    ("preprocessing.FeatureHasher", "many"): "transform_many gives a sparse matrix: see tests/test_features.py",
    ("compose.Interact", "many"): "transform_many gives a sparse matrix: see tests/test_interactions.py",
    ("compose.Interact", "sparse"): "transform_many gives a sparse matrix: see tests/test_interactions.py",
    ("preprocessing.FeatureHasher", "sparse"): "transform_many gives a sparse matrix: see tests/test_features.py",
    **{
        (part, law): "transform_one lists active bits, transform_many has a column for each: see tests/test_htm.py"
        for part in ("htm.CategoryEncoder", "htm.DateEncoder", "htm.ScalarEncoder", "htm.SpatialPooler")
        for law in ("many", "sparse")
    },
    **{
        (part, law): "its region is of the inputs that it began with, none of them missing or nominal"
        for part in millstream.find(role="transformer")
        if part.startswith("basis.")
        for law in ("mixed", "narrower", "appear")
    },
}


#: (learner, law): where a step takes a millisecond and the law many steps.
SLOW = {("neural_network.IRMARegressor", "memory")}

#: Those that a test holds, gathered by `under`.
LAWS: set[str] = set()


def under(law: str, *roles: str, varied: bool = False) -> Any:
    """Run a test on every learner of these roles that is not excused from a law."""
    LAWS.add(law)
    excused = lambda case: any((part, law) in EXCEPTIONS for part in case.parts)  # noqa: E731
    chosen = cases(*roles, unless=excused, varied=varied)
    slow = lambda case: [pytest.mark.slow] if (case.name, law) in SLOW else []  # noqa: E731
    return pytest.mark.parametrize(
        "case", [pytest.param(case, marks=slow(case), id=repr(case)) for case in chosen]
    )


def obeys(law: str, case: Case) -> None:
    """Hold a learner against one of the public laws."""
    next(check for check in testing.checks(case.build()) if check.__name__ == law)()


def _probes() -> list[dict[str, Any]]:
    return [x for x, _ in mixed(25, seed=11)] + [{}, {"never seen": 1.0}, {"colour": "never seen"}]


def test_every_part_can_be_built_by_the_laws() -> None:
    for case in CASES:
        needed = [p["name"] for p in entry(case.description["name"])["parameters"] if p["required"]]
        given = case.description["parameters"]
        assert set(needed) <= set(given), f"{case.name}: give {needed} in tests/streams.py, ARGUMENTS"
        case.build()
    assert set(ARGUMENTS) <= set(millstream.find())


def test_every_exception_is_of_a_known_part_and_law() -> None:
    for (part, law), reason in EXCEPTIONS.items():
        assert part in millstream.find()
        assert law in LAWS
        assert reason


@under("description", varied=True)
def test_description_goes_round(case: Case) -> None:
    obeys("description", case)


@under("saved")
@pytest.mark.parametrize("split", [0, 1, 2, 23, 80])
def test_saved_and_continued_is_never_stopped(case: Case, split: int) -> None:
    stream = mixed(100)
    whole = case.learn(case.build(), stream)
    part = case.learn(case.build(), stream[:split])
    revived = millstream.from_bytes(part.to_bytes())
    assert revived.to_bytes() == part.to_bytes()
    assert case.answers(revived, _probes()) == case.answers(part, _probes())
    assert case.learn(revived, stream[split:]).to_bytes() == whole.to_bytes()


@under("saved", varied=True)
def test_saved_and_continued_in_the_middle(case: Case) -> None:
    stream = mixed(60)
    whole = case.learn(case.build(), stream)
    part = case.learn(case.build(), stream[:33])
    assert case.learn(millstream.from_bytes(part.to_bytes()), stream[33:]).to_bytes() == whole.to_bytes()


@under("many", varied=True)
def test_a_matrix_is_its_rows(case: Case) -> None:
    X, numbers = numeric(60)
    y = case.targets(numbers)
    one = case.build()
    for row, x in enumerate(_as_dicts(X, "C")):
        learn_one(case, one, x, numbers[row])
    for rows in (X, np.asfortranarray(X)):
        many, stepped = case.build(), case.build()
        many.learn_many(rows, y)
        assert many.to_bytes() == one.to_bytes()
        if "step_one" in case.role.verbs:
            stepped.step_many(rows[:17], *_slice(y, 0, 17), proba=case.role == "classifier")
            stepped.step_many(rows[17:], *_slice(y, 17, 60))
            assert stepped.to_bytes() == one.to_bytes()


def _slice(y: Any, start: int, end: int) -> tuple[Any, ...]:
    """The targets of some rows, as arguments; none for a role that learns without."""
    return () if y is None else (y[start:end],)


@under("saved", varied=True)
def test_saved_and_continued_on_a_matrix(case: Case) -> None:
    X, numbers = numeric(90)
    y = case.targets(numbers)
    whole = case.build()
    whole.learn_many(X, y)
    for split in (1, 30, 89):
        part = case.build()
        part.learn_many(X[:split], None if y is None else y[:split])
        revived = pickle.loads(pickle.dumps(part))
        revived.learn_many(X[split:], None if y is None else y[split:])
        assert revived.to_bytes() == whole.to_bytes()


@under("seed", varied=True)
def test_same_seed_same_run(case: Case) -> None:
    stream = mixed(60)
    assert case.learn(case.build(), stream).to_bytes() == case.learn(case.build(), stream).to_bytes()


#: Kinds of batches whose columns have names.
NAMED = ("pandas", "polars", "arrow", "batch", "dicts")


def _as_dicts(X: Any, kind: str) -> list[dict[Any, Any]]:
    keys = [f"c{i}" for i in range(X.shape[1])] if kind in NAMED else None
    return [dict(zip(keys or range(X.shape[1]), row, strict=True)) for row in X.astype(float).tolist()]


def _rows(X: Any, kind: str) -> Any:
    named = {f"c{i}": np.ascontiguousarray(X[:, i]) for i in range(X.shape[1])}
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(named)
    if kind == "polars":
        import polars

        return polars.DataFrame(named)
    if kind in ("arrow", "batch"):
        import pyarrow

        return pyarrow.table(named) if kind == "arrow" else pyarrow.record_batch(named)
    if kind == "dicts":
        return _as_dicts(X, kind)
    if kind == "F":
        return np.asfortranarray(X)
    if kind == "strided":
        return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    return X


_DTYPES = {"float32": np.float32, "int": np.int64, "uint8": np.uint8, "bool": np.bool_}


@under("many")
@pytest.mark.parametrize(
    "kind", ["C", "F", "strided", "float32", "int", "uint8", "bool", "pandas", "polars", "arrow", "batch", "dicts"]
)
def test_many_is_one_n_times(case: Case, kind: str) -> None:
    X, numbers = numeric(50)
    if kind in _DTYPES:
        X = (X > 0 if kind == "bool" else np.abs(X * 10)).astype(_DTYPES[kind])
    y, dicts = case.targets(numbers), _as_dicts(X, kind)
    one = case.build()
    said = []
    for row, x in enumerate(dicts):
        if case.role == "transformer":
            one.learn_one(x)
        else:
            said.append(one.step_one(x, case.target(numbers[row])) if case.has_target else one.step_one(x))
    later = [answer(case, one, x) for x in dicts]
    for chunk in (1, 7, 50):
        many = case.build()
        answers: list[Any] = []
        for start in range(0, len(X), chunk):
            rows = _rows(X[start : start + chunk], kind)
            if case.role == "transformer":
                many.learn_many(rows)
            else:
                answers.extend(many.step_many(rows, *_slice(y, start, start + chunk)).tolist())
        assert many.to_bytes() == one.to_bytes(), f"in chunks of {chunk}"
        assert answers == said
        learned = case.build()
        learned.learn_many(_rows(X, kind), y)
        assert learned.to_bytes() == one.to_bytes()
    if case.role == "transformer":
        # A dict lacks what is missing.
        present = [
            [value for value in row if value == value] for row in _values(one.transform_many(_rows(X, kind)))
        ]
        assert present == [list(row.values()) for row in later]
    else:
        predicted = [row[0] if case.role == "classifier" else row for row in later]
        assert case.ask_many(one)(_rows(X, kind)).tolist() == predicted
    if case.role == "classifier":
        assert _values(one.predict_proba_many(_rows(X, kind))) == [list(row[1].values()) for row in later]


def _values(table: Any) -> list[list[float]]:
    """The rows of what `transform_many` gives, as lists."""
    if isinstance(table, list):
        return [list(row.values()) for row in table]
    if type(table).__module__.startswith("pyarrow"):
        return [list(row.values()) for row in table.to_pylist()]
    array = table if isinstance(table, np.ndarray) else table.to_numpy()
    return [list(row) for row in array.tolist()]


@under("mixed")
def test_many_is_one_on_mixed_rows(case: Case) -> None:
    import pandas

    stream = mixed(80)
    frame = pandas.DataFrame([x for x, _ in stream], columns=["a", "b", "colour", "flag", "late", "city"])
    columns = {name: [None if value != value else value for value in frame[name]] for name in frame}
    dicts = [{name: columns[name][row] for name in columns} for row in range(len(frame))]
    one, many = case.build(), case.build()
    for row, x in enumerate(dicts):
        learn_one(case, one, x, stream[row][1])
    y = case.targets([number for _, number in stream])
    for start in range(0, len(frame), 17):
        many.learn_many(frame[start : start + 17], None if y is None else y[start : start + 17])
    assert many.to_bytes() == one.to_bytes()
    if case.role != "transformer":
        said = [answer(case, one, x) for x in dicts]
        assert case.ask_many(many)(frame).tolist() == [s[0] if case.role == "classifier" else s for s in said]


@under("pure", varied=True)
def test_prediction_changes_nothing_and_is_finite(case: Case) -> None:
    model = case.build()
    extremes: list[dict[str, Any]] = [
        {"a": 1e308, "b": -1e308, "late": 1e308},
        {"a": 5e-324, "b": -5e-324},
        {"a": 0.0, "b": -0.0, "flag": 1e300},
    ]
    stream = mixed(60)
    for learned in (0, 1, 2, 60):
        while model.learned < learned:
            learn_one(case, model, *stream[model.learned])
        before = model.to_bytes()
        for x in _probes() + extremes:
            said = answer(case, model, x)
            assert all(math.isfinite(number) for number in numbers_in(said)), (learned, x, said)
        assert model.to_bytes() == before


@under("tiny", varied=True)
def test_numbers_near_zero_stay_finite(case: Case) -> None:
    """Squares of these underflow: a variance of 0 that is not quite 0 must not become a division by it."""
    model = case.build()
    for row in range(40):
        x = {"a": (row % 2) * 1e-162, "b": (row % 3) * 5e-324, "late": 1e-308 * row}
        learn_one(case, model, x, float(row % 2) - 0.5)
        said = answer(case, model, x)
        assert all(math.isfinite(number) for number in numbers_in(said)), (row, said)
    assert millstream.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


@under("sparse", varied=True)
def test_dense_equals_sparse(case: Case) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    random = np.random.default_rng(3)
    X = np.where(random.random((60, 6)) < 0.4, random.normal(size=(60, 6)), 0.0)
    y = case.targets(X @ np.arange(1.0, 7.0))
    dense, thin = case.build(), case.build()
    if case.role == "transformer":
        dense.learn_many(X)
        thin.learn_many(sparse.csr_matrix(X))
        got, wanted = thin.transform_many(sparse.csr_matrix(X)), dense.transform_many(X)
        np.testing.assert_allclose(np.asarray(got, dtype=float), np.asarray(wanted, dtype=float), rtol=1e-9)
        return
    given = () if y is None else (y,)
    got, wanted = thin.step_many(sparse.csr_matrix(X), *given), dense.step_many(X, *given)
    if case.role == "classifier":
        assert got.tolist() == wanted.tolist()
        got, wanted = thin.predict_proba_many(sparse.csr_matrix(X)), dense.predict_proba_many(X)
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)
    one = case.build()
    for row, x in enumerate(_as_dicts(X, "C")):
        learn_one(case, one, x, float((X @ np.arange(1.0, 7.0))[row]))
    assert one.to_bytes() == dense.to_bytes()


@under("narrower", varied=True)
def test_sparse_rows_may_be_narrower_than_before(case: Case) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X, numbers = numeric(30, width=6)
    y = case.targets(numbers)
    model = case.build()
    for width in (6, 3, 6, 8, 2):
        wide = np.zeros((30, width))
        wide[:, : min(width, 6)] = X[:, :width]
        model.learn_many(sparse.csr_matrix(wide), y)
        case.ask_many(model)(sparse.csr_matrix(wide))
    revived = millstream.from_bytes(model.to_bytes())
    assert revived.to_bytes() == model.to_bytes()


@under("missing")
def test_absent_none_and_nan_are_the_same(case: Case) -> None:
    ways: list[Any] = [
        lambda x, k: x.pop(k),
        lambda x, k: x.update({k: None}),
        lambda x, k: x.update({k: math.nan}),
    ]
    saved, said = [], []
    for way in ways:
        model = case.build()
        for row, (x, number) in enumerate(mixed(60)):
            x = {"a": 0.1, "b": 0.2, "colour": "red", **{k: v for k, v in x.items() if v is not None and v == v}}
            if row % 3 == 2:
                way(x, "a")
            if row % 4 == 3:
                way(x, "colour")
            learn_one(case, model, x, number)
        saved.append(model.to_bytes())
        probe: dict[str, Any] = {"a": 1.0, "b": 2.0, "colour": "red"}
        way(probe, "b")
        said.append(answer(case, model, probe))
    assert saved[0] == saved[1] == saved[2]
    assert said[0] == said[1] == said[2]


@under("appear", varied=True)
def test_features_appear_vanish_and_return(case: Case) -> None:
    model = case.build()
    features: list[Any] = []
    rows: list[dict[str, Any]] = [
        {"a": 1.0},
        {"b": 2.0},
        {"a": 3.0, "b": 4.0, "c": 5.0},
        {},
        {"c": -1.0, "d": "text"},
        {"a": 2.0},
        {"d": "other", "b": 1.0},
        {"e": None},
        {"e": "late to have a kind", "a": 1.0},
        {"a": 1.0, "b": 2.0, "c": 3.0, "d": "text", "e": "late to have a kind"},
    ]
    for row, x in enumerate(rows * 3):
        learn_one(case, model, x, row % 3 - 1.0)
        assert model.features[: len(features)] == features, "a feature keeps its slot"
        features = model.features
        said = [answer(case, model, probe) for probe in rows]
        assert all(math.isfinite(number) for number in numbers_in(tuple(said)))
        assert millstream.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()
    assert features == ["a", "b", "c", "d", "e"]


@under("weight 0", varied=True)
def test_weight_zero_changes_nothing(case: Case) -> None:
    model = case.build()
    empty = model.to_bytes()
    learn_one(case, model, {"a": 1.0, "colour": "red"}, 1.0, 0.0)
    assert model.to_bytes() == empty
    case.learn(model, mixed(30))
    before = model.to_bytes()
    learn_one(case, model, {"a": 1.0, "new": 3.0, "colour": "violet"}, 1.0, 0.0)
    learn_one(case, model, mixed(1)[0][0], -5.0, 0.0)
    if case.role == "classifier":
        model.learn_one(fit(case, {"a": 1.0}), True, 0.0)
        model.step_one(fit(case, {"a": 1.0}), False, 0.0)
    assert model.to_bytes() == before
    X, numbers = numeric(20)
    batch = case.build()
    batch.learn_many(X, case.targets(numbers), np.zeros(20))
    assert batch.to_bytes() == empty


#: Learners of sums: an example of weight 2 is the example learned twice.
COUNTED = (
    "preprocessing.StandardScaler",
    "preprocessing.MinMaxScaler",
    "preprocessing.MaxAbsScaler",
    "preprocessing.OneHotEncoder",
    "preprocessing.Imputer",
    "naive_bayes.GaussianNB",
    "baseline.MajorityClass",
    "baseline.Prior",
    "baseline.TargetMean",
    "linear_model.BayesianLinearRegression",
    "linear_model.LeastSquares",
    "linear_model.RLS",
    "linear_model.RidgeClassifier",
)


@pytest.mark.parametrize("case", [case for case in CASES if case.name in COUNTED], ids=repr)
def test_weight_two_is_learning_twice(case: Case) -> None:
    heavy, twice = case.build(), case.build()
    for x, number in mixed(60):
        learn_one(case, heavy, x, number, 2.0)
        learn_one(case, twice, x, number)
        learn_one(case, twice, x, number)
    for x in _probes():
        a, b = answer(case, heavy, x), answer(case, twice, x)
        np.testing.assert_allclose(numbers_in(a), numbers_in(b), rtol=1e-9, atol=1e-12)
        if case.role == "classifier":
            assert a[0] == b[0]


@under("memory")
def test_memory_is_flat_on_a_long_stream(case: Case) -> None:
    X, numbers = numeric(50_000)
    y = case.targets(numbers)
    model = case.build()
    model.learn_many(X[:5000], None if y is None else y[:5000])
    early, bytes_early = model.memory, len(model.to_bytes())
    for start in range(5000, 50_000, 5000):
        rows = slice(start, start + 5000)
        model.learn_many(X[rows], None if y is None else y[rows])
    # The blocks of a batch follow the clock, and the buffers of an ensemble follow them. A number kept for each
    # row would take 360,000 bytes.
    assert model.memory <= early * 1.01 + 2**16
    assert len(model.to_bytes()) <= bytes_early * 1.01 + 64


@under("learns", "classifier")
def test_classifier_learns_an_easy_problem(case: Case) -> None:
    X, numbers = numeric(3000)
    y = case.targets(numbers)
    model = case.build()
    said = model.step_many(X, y)
    share = max(np.mean(y), 1 - np.mean(y))
    assert np.mean(said[1000:] == y[1000:]) > share + 0.8 * (1 - share) - 0.12


@under("learns", "regressor")
def test_regressor_learns_an_easy_problem(case: Case) -> None:
    X, numbers = numeric(3000)
    model = case.build()
    said = model.step_many(X, numbers)
    error = np.mean((said[1000:] - numbers[1000:]) ** 2)
    assert error < 0.2 * np.var(numbers)


@under("learns", "anomaly_detector")
def test_anomaly_detector_scores_outliers_higher(case: Case) -> None:
    X, _ = numeric(3000)
    X[2000::50] += 30.0
    model = case.build()
    scores = model.step_many(X)
    assert np.median(scores[2000::50]) > np.quantile(np.delete(scores[2000:], np.s_[::50]), 0.9)


@under("learns", "clusterer")
def test_clusterer_separates_clusters(case: Case) -> None:
    X, numbers = numeric(3000)
    X += np.where(numbers > 0, 30.0, -30.0)[:, None]
    model = case.build()
    said = model.step_many(X)[1000:]
    # No cluster has rows of both sides.
    assert not set(said[numbers[1000:] > 0]) & set(said[numbers[1000:] <= 0])


@under("clone")
def test_clone_is_fresh_and_independent(case: Case) -> None:
    stream = mixed(40)
    fresh = case.build().to_bytes()
    model = case.learn(case.build(), stream)
    before = model.to_bytes()
    clone = model.clone()
    assert clone.to_bytes() == fresh
    assert type(clone) is type(model)
    case.learn(clone, stream[:5])
    assert model.to_bytes() == before
    assert case.learn(model.clone(), stream).to_bytes() == before


@under("copy")
@pytest.mark.parametrize("way", ["copy", "deepcopy", "pickle", "method"])
def test_copies_are_equal_and_independent(case: Case, way: str) -> None:
    ways = {
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
        "pickle": lambda model: pickle.loads(pickle.dumps(model)),
        "method": lambda model: model.copy(),
    }
    stream = mixed(60)
    model = case.learn(case.build(), stream[:30])
    before = model.to_bytes()
    other = ways[way](model)
    assert type(other) is type(model)
    assert other.to_bytes() == before
    case.learn(other, stream[30:])
    assert model.to_bytes() == before
    assert case.learn(model, stream[30:]).to_bytes() == other.to_bytes()


@under("probabilities", "classifier", varied=True)
def test_probabilities_sum_to_one_and_agree_with_the_class(case: Case) -> None:
    model = case.build()
    for x, number in mixed(60):
        learn_one(case, model, x, number)
        for probe in [*_probes()[:6], x]:
            chosen, probabilities = answer(case, model, probe)
            assert set(probabilities) == set(model.classes)
            assert abs(sum(probabilities.values()) - 1.0) < 1e-9
            assert all(0.0 <= p <= 1.0 for p in probabilities.values())
            assert probabilities[chosen] >= max(probabilities.values()) - 1e-12


@under("labels", "classifier")
def test_each_label_comes_back_whenever_it_was_first_seen(case: Case) -> None:
    """A second class that comes late is a class like the first."""
    for first, second in [(True, False), (False, True), (1, 0), ("b", "a"), (7, -3)]:
        model = case.build()
        for row in range(20):
            model.learn_one({"a": 1.0 + row % 3}, first)
        assert model.predict_one({"a": 1.0}) == first
        for row in range(200):
            model.learn_one({"a": -1.0 - row % 3}, second)
        assert set(model.predict_proba_one({"a": -1.0})) == {first, second}
        assert set(model.classes) == {first, second}
        assert model.predict_one({"a": -1.0}) is not None
        revived = millstream.from_bytes(model.to_bytes())
        assert revived.predict_proba_one({"a": -1.0}) == model.predict_proba_one({"a": -1.0})
        assert revived.classes == model.classes


@under("classes", "classifier")
def test_a_third_class_is_learned_or_refused_whole(case: Case) -> None:
    model = case.build()
    for row in range(30):
        model.learn_one({"a": float(row % 2)}, "even" if row % 2 else "odd")
    before = model.to_bytes()
    refused = None
    try:
        model.learn_one({"a": 5.0, "new": 1.0}, "third")
    except ValueError as error:
        refused = error
    if refused is None:
        assert set(model.predict_proba_one({"a": 5.0})) == {"even", "odd", "third"}
    else:
        assert isinstance(refused, MillstreamError)
        assert "learns 2 classes, got 'third'" in str(refused)
        assert model.to_bytes() == before


@under("threads")
def test_prediction_beside_learning(case: Case) -> None:
    X, numbers = numeric(1500)
    y = case.targets(numbers)
    model, alone = case.build(), case.build()
    alone.learn_many(X, y)
    failures: list[BaseException] = []
    done = threading.Event()

    def predict() -> None:
        try:
            while not done.is_set():
                case.ask_many(model)(X[:64])
                answer(case, model, dict(enumerate(X[0].tolist())))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=predict) for _ in range(3)]
    for thread in threads:
        thread.start()
    for start in range(0, len(X), 50):
        model.learn_many(X[start : start + 50], None if y is None else y[start : start + 50])
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert model.to_bytes() == alone.to_bytes()
