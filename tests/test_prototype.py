"""Learning vector quantization, against NumPy row by row."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import millstream
from millstream import drift, errors, evaluate, preprocessing, prototype, testing

pytestmark = pytest.mark.linear_algebra

NAMES = prototype.__all__


def blobs(rows: int, width: int, count: int, seed: int = 0, scale: float = 4.0) -> tuple[Any, Any]:
    """Rows around centres, and the index of the centre of each."""
    random = np.random.default_rng(seed)
    centres = random.normal(scale=scale, size=(count, width))
    labels = random.integers(0, count, rows)
    return centres[labels] + random.normal(size=(rows, width)), labels


def positions(model: Any) -> Any:
    return np.array([list(found["at"].values()) for found in model.prototypes])


def seeds_of(X: Any, y: Any, each: int) -> tuple[Any, Any, Any]:
    """The prototypes of the first rows of each class, their classes, and the remaining rows."""
    rows, counts = [], dict.fromkeys(set(y.tolist()), 0)
    for row, label in enumerate(y.tolist()):
        if counts[label] < each:
            counts[label] += 1
            rows.append(row)
    rest = np.setdiff1d(np.arange(len(X)), rows)
    return X[rows].copy(), y[rows], rest


def lvq1(m: Any, c: Any, x: Any, y: int, d: Any) -> None:
    nearest = d.argmin()
    m[nearest] += (0.05 if c[nearest] == y else -0.05) * (x - m[nearest])


def window(m: Any, c: Any, x: Any, y: int, d: Any, epsilon: float) -> None:
    first, second = np.argsort(d, kind="stable")[:2]
    right = [c[first] == y, c[second] == y]
    if all(right):
        m[[first, second]] += epsilon * 0.05 * (x - m[[first, second]])
    elif any(right) and np.sqrt(d[first] / d[second]) > 0.7 / 1.3:
        for index, is_right in zip((first, second), right, strict=True):
            m[index] += (0.05 if is_right else -0.05) * (x - m[index])


def glvq(m: Any, c: Any, x: Any, y: int, d: Any) -> None:
    own, other = np.where(c == y, d, np.inf).argmin(), np.where(c == y, np.inf, d).argmin()
    factor = 0.1 * 4.0 / (d[own] + d[other]) ** 2
    m[own] += factor * d[other] * (x - m[own])
    m[other] -= factor * d[own] * (x - m[other])


def rslvq(m: Any, c: Any, x: Any, y: int, d: Any) -> None:
    def softmax(mask: Any) -> Any:
        e = np.where(mask, np.exp(-(d - d[mask].min()) / 2.0), 0.0)
        return e / e.sum()

    m += 0.1 * (softmax(c == y) - softmax(c >= 0))[:, None] * (x - m)


RULES: dict[str, Any] = {
    "LVQ1": lvq1,
    "LVQ21": lambda *given: window(*given, 0.0),
    "LVQ3": lambda *given: window(*given, 0.3),
    "GLVQ": glvq,
    "RSLVQ": rslvq,
}


@pytest.mark.parametrize("name", RULES)
def test_each_step_is_that_of_numpy(name: str) -> None:
    X, y = blobs(400, 5, 4, scale=1.0)
    model = getattr(prototype, name)(n_prototypes=2)
    m, c, rest = seeds_of(X, y, 2)
    first = np.setdiff1d(np.arange(len(X)), rest)
    order = np.concatenate([first, rest])
    model.learn_many(X[first], y[first])
    for row in rest:
        d = ((X[row] - m) ** 2).sum(axis=1)
        densities = [np.exp(-(d[c == label] - d.min()) / 2.0).sum() for label in range(4)]
        expected = int(np.argmax(densities)) if name == "RSLVQ" else c[d.argmin()]
        assert model.predict_one(dict(enumerate(X[row].tolist()))) == expected
        RULES[name](m, c, X[row], y[row], d)
        model.learn_one(dict(enumerate(X[row].tolist())), int(y[row]))
    np.testing.assert_allclose(positions(model), m, rtol=1e-9, atol=1e-9)
    assert sum(found["weight"] for found in model.prototypes) == len(order)


def test_gmlvq_is_that_of_numpy() -> None:
    X, y = blobs(300, 4, 3, scale=1.0)
    model = prototype.GMLVQ(n_prototypes=1, relevance_learning_rate=0.05)
    m, c, rest = seeds_of(X, y, 1)
    first = np.setdiff1d(np.arange(len(X)), rest)
    model.learn_many(X[first], y[first])
    model.learn_many(X[rest], y[rest])
    omega = np.eye(4) / 2.0
    for x, label in zip(X[rest], y[rest], strict=True):
        d = (((x - m) @ omega.T) ** 2).sum(axis=1)
        own, other = np.where(c == label, d, np.inf).argmin(), np.where(c == label, np.inf, d).argmin()
        a, b = x - m[own], x - m[other]
        s, t = 2.0 * d[other] / (d[own] + d[other]) ** 2, 2.0 * d[own] / (d[own] + d[other]) ** 2
        metric = omega.T @ omega
        m[own] += min(0.2 * s, 1.0) * metric @ a
        m[other] -= min(0.2 * t, 1.0) * metric @ b
        gradient = 2.0 * s * np.outer(omega @ a, a) - 2.0 * t * np.outer(omega @ b, b)
        length = np.linalg.norm
        longest = 0.1 * (s * length(omega @ a) * length(a) + t * length(omega @ b) * length(b))
        omega -= 0.05 * min(1.0, 0.5 / longest) * gradient
        omega /= np.sqrt((omega**2).sum())
    np.testing.assert_allclose(positions(model), m, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.relevance_matrix, omega.T @ omega, rtol=1e-9, atol=1e-9)
    assert sum(model.relevances.values()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_size_of_calls_does_not_matter(name: str) -> None:
    X, y = blobs(300, 4, 5)
    make = getattr(prototype, name)
    whole, pieces, single = (make() for _ in range(3))
    said = whole.step_many(X, y).tolist()
    parts = [pieces.step_many(X[at : at + 37], y[at : at + 37]) for at in range(0, 300, 37)]
    assert np.concatenate(parts).tolist() == said
    rows = [dict(enumerate(x)) for x in X.tolist()]
    assert [single.step_one(x, label) for x, label in zip(rows, y.tolist(), strict=True)] == said
    assert whole.to_bytes() == pieces.to_bytes() == single.to_bytes()
    learned = make()
    learned.learn_many(X, y)
    assert learned.to_bytes() == whole.to_bytes()
    dense, sparse = X.copy(), make()
    dense[np.abs(dense) < 1.0] = 0.0
    sparse.learn_many(csr_matrix(dense), y)
    whole = make()
    whole.learn_many(dense, y)
    np.testing.assert_array_equal(positions(sparse), positions(whole))


@pytest.mark.parametrize("name", NAMES)
def test_easy_classes_are_learned(name: str) -> None:
    X, y = blobs(2000, 10, 8)
    predicted = getattr(prototype, name)().step_many(X, y)
    assert np.mean(predicted[500:] == y[500:]) > 0.97


@pytest.mark.parametrize("name", NAMES)
def test_probabilities_agree_with_classes(name: str) -> None:
    X, y = blobs(600, 3, 4, scale=1.0)
    model = getattr(prototype, name)()
    model.learn_many(X, y)
    p = model.predict_proba_many(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    assert (np.array(model.classes)[p.argmax(axis=1)] == model.predict_many(X)).all()
    assert model.predict_one({0: 1e300, 1: -1e300, 2: 0.0}) in model.classes


def test_probabilities_are_relative_distances() -> None:
    model = prototype.GLVQ(n_prototypes=1)
    model.learn_one({"x": 0.0}, "a")
    model.learn_one({"x": 4.0}, "b")
    assert model.predict_proba_one({"x": 1.0}) == pytest.approx({"a": 0.9, "b": 0.1}, abs=1e-15)
    assert model.predict_proba_one({"x": 4.0}) == {"a": 0.0, "b": 1.0}
    model.learn_one({"x": 0.0}, "c")
    assert model.predict_proba_one({"x": 0.0}) == {"a": 0.5, "b": 0.0, "c": 0.5}


@pytest.mark.parametrize("name", NAMES)
def test_new_classes_features_and_values(name: str) -> None:
    model = getattr(prototype, name)(n_prototypes=1)
    model.learn_one({"size": 0.0}, "a")
    model.learn_one({"size": 9.0, "colour": "red"}, "b")
    model.learn_one({"size": 0.0, "colour": "blue"}, "c")
    model.learn_one({"colour": "green"}, "d")
    for _ in range(3):
        model.learn_one({"size": 0.1}, "a")
        model.learn_one({"size": 9.1, "colour": "red"}, "b")
    assert {found["class"] for found in model.prototypes} == {"a", "b", "c", "d"}
    assert model.predict_one({"size": 8.0, "colour": "red"}) == "b"
    assert model.predict_one({"size": 0.1, "colour": "blue"}) in ("a", "c")
    assert model.predict_one({"colour": "green", "size": None}) == "d"
    assert model.predict_one({}) in ("a", "b")
    testing.check_model(getattr(prototype, name)())


def test_missing_values_are_left_out() -> None:
    X, y = blobs(3000, 6, 4)
    holes = X.copy()
    holes[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    predicted = prototype.GLVQ().step_many(holes, y)
    assert np.mean(predicted[500:] == y[500:]) > 0.93


def test_the_number_of_prototypes_is_bounded() -> None:
    X, y = blobs(2000, 2, 200)
    model = prototype.LVQ1(n_prototypes=3, max_prototypes=50)
    model.learn_many(X, y)
    assert len(model.prototypes) == 50
    known = {found["class"] for found in model.prototypes}
    assert model.n_skipped == model.inspect()["skipped"] > 0
    assert set(model.predict_many(X).tolist()) <= known
    assert model.memory < 50_000


@pytest.mark.parametrize("name", NAMES)
def test_weights(name: str) -> None:
    """A row of weight 0 changes nothing; LVQ1 learns a row of weight 2 as two equal rows."""
    X, y = blobs(100, 3, 3, scale=1.0)
    model = getattr(prototype, name)(n_prototypes=1)
    model.learn_many(X, y)
    before = model.to_bytes()
    model.learn_many(X[:5], y[:5], w=np.zeros(5))
    assert [found["at"] for found in model.prototypes] == [
        found["at"] for found in millstream.from_bytes(before).prototypes
    ]
    model.learn_one({0: 0.0, 1: 0.5, 2: 0.5}, 0, w=2.0)
    assert model.to_bytes() != before


def test_weight_two_is_two_rows() -> None:
    models = [prototype.LVQ1(n_prototypes=1, learning_rate=0.1) for _ in range(2)]
    for model in models:
        model.learn_one({"x": 0.0}, "a")
    models[0].learn_one({"x": 1.0}, "a", w=2.0)
    for _ in range(2):
        models[1].learn_one({"x": 1.0}, "a")
    assert models[0].prototypes[0]["at"]["x"] == pytest.approx(models[1].prototypes[0]["at"]["x"], abs=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_coinciding_classes(name: str) -> None:
    """Distances 0 to prototypes of both classes: nothing is divided by 0."""
    model = getattr(prototype, name)()
    for label in ("a", "b", "a", "b"):
        model.learn_one({"x": 1.0, "y": 2.0}, label)
    assert model.predict_proba_one({"x": 1.0, "y": 2.0}) == {"a": 0.5, "b": 0.5}
    assert all(np.isfinite(list(found["at"].values())).all() for found in model.prototypes)


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_push_prototypes_away_for_ever(name: str) -> None:
    """Labels without any relation to the rows: prototypes stay finite."""
    random = np.random.default_rng(1)
    rates = {"learning_rate": 1.0 if name.startswith("LVQ") else 1e6}
    model = getattr(prototype, name)(**rates)
    model.learn_many(random.normal(size=(2000, 2)), random.integers(0, 2, 2000))
    assert np.isfinite(positions(model)).all()
    assert np.isfinite(model.predict_proba_many(random.normal(size=(20, 2)))).all()


def test_tiny_and_huge_rows_are_learned() -> None:
    for scale in (1e-200, 1e-20, 1e20, 1e99):
        X, y = blobs(200, 3, 3)
        for name in NAMES:
            model = getattr(prototype, name)()
            model.learn_many(scale * X, y)
            assert np.isfinite(positions(model)).all()
    with pytest.raises(errors.NumericOverflow, match=r"prototype.GLVQ"):
        prototype.GLVQ().learn_one({"x": 1e101}, "a")


def test_drift_replaces_the_prototypes_of_the_classes_that_changed() -> None:
    """Classes 0 and 1 swap; class 2 stays where it is."""
    random = np.random.default_rng(3)
    y = random.integers(0, 3, 6000)
    after = np.arange(6000) >= 3000
    place = np.where(after & (y < 2), 1 - y, y)
    X = 6.0 * place[:, None] + random.normal(size=(6000, 2))
    kept, reset = (
        prototype.RSLVQ(learning_rate=0.001),
        prototype.RSLVQ(learning_rate=0.001, detector=drift.ADWIN()),
    )
    accuracy = [float(np.mean(model.step_many(X, y)[3000:] == y[3000:])) for model in (kept, reset)]
    assert accuracy[0] < 0.5
    assert accuracy[1] > 0.9
    assert (kept.n_drifts, reset.n_drifts) == (0, 1)
    # Class 2 kept the weight of all its rows.
    weight = sum(found["weight"] for found in reset.prototypes if found["class"] == 2)
    assert weight == (y == 2).sum()
    assert len(reset.prototypes) == 9


def test_a_detector_is_saved() -> None:
    X, y = blobs(500, 2, 3, scale=1.0)
    model = prototype.RSLVQ(detector=drift.DDM())
    model.learn_many(X[:200], y[:200])
    other = millstream.from_bytes(model.to_bytes())
    for each in (model, other):
        each.learn_many(X[200:], y[200:])
    assert model.to_bytes() == other.to_bytes()


def test_relevances_find_the_features_that_count() -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 4000)
    rows = [
        {"signal": 3.0 * label + noise, "noise": other, "kind": "ab"[kind]}
        for label, noise, other, kind in zip(
            y.tolist(),
            random.normal(size=4000).tolist(),
            random.normal(size=4000).tolist(),
            random.integers(0, 2, 4000).tolist(),
            strict=True,
        )
    ]
    model = prototype.GMLVQ(n_prototypes=1)
    for x, label in zip(rows, y.tolist(), strict=True):
        model.learn_one(x, label)
    relevances = model.relevances
    assert list(relevances) == ["signal", "noise", "kind"]
    assert sum(relevances.values()) == pytest.approx(1.0)
    assert relevances["signal"] > 0.6 > 0.2 > relevances["noise"]
    frame = model.relevance_frame("pandas")
    assert frame["feature"].tolist()[0] == "signal"
    assert set(frame["feature"]) == {"signal", "noise", "kind=a", "kind=b"}
    assert frame["relevance"].sum() == pytest.approx(1.0)
    matrix = frame.set_index("feature")[[f"with {name}" for name in frame["feature"]]].to_numpy()
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix).min() > -1e-12
    ax = model.plot_relevances()
    assert [bar.get_width() for bar in ax.patches] == sorted(relevances.values())
    assert prototype.GMLVQ().relevances == {}
    assert len(prototype.GMLVQ().relevance_frame("pandas")) == 0


def test_a_plot_needs_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        prototype.GMLVQ().plot_relevances()


def test_wide_rows() -> None:
    """GLVQ learns sparse rows of many columns; GMLVQ refuses them in one line."""
    random = np.random.default_rng(0)
    X = csr_matrix((random.random(500), (np.repeat(np.arange(50), 10), random.integers(0, 5000, 500))), (50, 5000))
    y = random.integers(0, 2, 50)
    prototype.GLVQ().learn_many(X, y)
    model = prototype.GMLVQ()
    with pytest.raises(errors.InvalidValue, match=r"prototype\.GMLVQ: supports up to 2048 features"):
        model.learn_many(X, y)
    assert model.prototypes == []


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("LVQ1", {"learning_rate": 0.0}, "learning_rate must be in (0, 1], got 0"),
        ("LVQ21", {"window_width": 1.0}, "window_width must be in (0, 1), got 1"),
        ("LVQ3", {"epsilon": -0.1}, "epsilon must be in [0, 1], got -0.1"),
        ("GLVQ", {"activation": "relu"}, "activation must be one of identity, sigmoid, got 'relu'"),
        ("GMLVQ", {"relevance_learning_rate": -1.0}, "relevance_learning_rate must be >= 0, got -1"),
        ("RSLVQ", {"sigma": 0.0}, "sigma must be in [0.000001, 1000000], got 0"),
        ("GLVQ", {"max_prototypes": 0}, "max_prototypes must be an integer in [1, 1000000], got 0"),
    ],
)
def test_bad_parameters(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.InvalidValue) as raised:
        getattr(prototype, name)(**parameters)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_in_a_pipeline_and_evaluated() -> None:
    X, y = blobs(1500, 4, 3)
    X[:, 0] *= 1000.0
    model = preprocessing.StandardScaler() | prototype.GMLVQ()
    result = evaluate.prequential(model, (X, y), "Accuracy")
    assert result["Accuracy"] > 0.9
