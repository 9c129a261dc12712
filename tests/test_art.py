"""Adaptive resonance theory, against artlib and published figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import millstream
from millstream import art, errors, evaluate, preprocessing, testing

pytestmark = pytest.mark.linear_algebra


def unit_blobs(rows: int, width: int, count: int, seed: int = 0) -> tuple[Any, Any]:
    """Rows around centres in the unit cube, and the index of the centre of each."""
    random = np.random.default_rng(seed)
    centres = random.uniform(0.2, 0.8, size=(count, width))
    labels = random.integers(0, count, rows)
    return np.clip(centres[labels] + random.normal(scale=0.08, size=(rows, width)), 0.0, 1.0), labels


def weights_of(model: Any, found: str) -> Any:
    """The weights of all categories as artlib has them: lower corners, then complements of upper corners."""
    boxes = model.inspect()[found]
    low = np.array([list(box["low"].values()) for box in boxes])
    high = np.array([list(box["high"].values()) for box in boxes])
    return np.hstack([low, 1.0 - high])


class Peer:
    """Fuzzy ART and ARTMAP by NumPy, row by row, with the search in the order of choices."""

    def __init__(self, rho: float, alpha: float, beta: float, tracking: float = 0.0) -> None:
        self.rho, self.alpha, self.beta, self.tracking = rho, alpha, beta, tracking
        self.W: list[Any] = []
        self.classes: list[Any] = []

    def learn(self, a: Any, label: Any = None) -> int:
        i = np.concatenate([a, 1.0 - a])
        choices = [np.minimum(i, w).sum() / (self.alpha + w.sum()) for w in self.W]
        rho = self.rho
        for j in sorted(range(len(choices)), key=lambda j: (-choices[j], j)):
            match = np.minimum(i, self.W[j]).sum() / len(a)
            if match < rho:
                continue
            if self.classes[j] == label:
                self.W[j] = self.beta * np.minimum(i, self.W[j]) + (1.0 - self.beta) * self.W[j]
                return j
            rho = match + self.tracking
        self.W.append(i)
        self.classes.append(label)
        return len(self.W) - 1


@pytest.mark.parametrize("beta", [1.0, 0.4])
def test_fuzzy_art_category_by_category(beta: float) -> None:
    X, _ = unit_blobs(600, 10, 8)
    model, peer = art.FuzzyART(vigilance=0.7, choice=0.01, learning_rate=beta), Peer(0.7, 0.01, beta)
    for x in X:
        row = dict(enumerate(x.tolist()))
        said, count = model.predict_one(row), len(peer.W)
        model.learn_one(row)
        chosen = peer.learn(x)
        assert said == (chosen if chosen < count else -1)
    assert len(peer.W) > 8
    np.testing.assert_allclose(weights_of(model, "clusters"), peer.W, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_fuzzy_art_is_that_of_artlib() -> None:
    """One ordered pass with rho 0.7, alpha 0.01 and beta 1: the same categories with the same weights."""
    import artlib as peer
    from artlib.common.utils import complement_code

    X, _ = unit_blobs(1000, 10, 8, seed=3)
    theirs = peer.FuzzyART(rho=0.7, alpha=0.01, beta=1.0)
    theirs.fit(complement_code(X), max_iter=1)
    ours = art.FuzzyART(vigilance=0.7, choice=0.01)
    said = ours.step_many(X)
    assert len(theirs.W) == len(ours.boxes) > 8
    np.testing.assert_allclose(weights_of(ours, "clusters"), np.array(theirs.W), rtol=0, atol=1e-12)
    known = said >= 0
    assert (said[known] == theirs.labels_[known]).all()
    # A row of no category so far becomes the next one.
    assert theirs.labels_[~known].tolist() == list(range(len(theirs.W)))


@pytest.mark.parametrize("tracking", [0.001, -0.01])
@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_fuzzy_artmap_category_by_category(tracking: float, beta: float) -> None:
    X, y = unit_blobs(500, 4, 3, seed=1)
    model = art.FuzzyARTMAP(vigilance=0.3, match_tracking=tracking, learning_rate=beta)
    peer = Peer(0.3, 0.01, beta, tracking)
    model.learn_many(X, y)
    for x, label in zip(X, y.tolist(), strict=True):
        peer.learn(x, label)
    np.testing.assert_allclose(weights_of(model, "prototypes"), peer.W, rtol=0, atol=1e-12)
    assert [found["class"] for found in model.prototypes] == peer.classes


def test_circle_in_the_square() -> None:
    """Half of the square lies in the circle (Carpenter and others, 1992, section VI)."""
    for rows, least in ((100, 0.85), (1000, 0.90), (5000, 0.93)):
        found = []
        for seed in range(5):
            X = np.random.default_rng(seed).random((rows + 5000, 2))
            y = ((X - 0.5) ** 2).sum(axis=1) < 1.0 / (2.0 * np.pi)
            model = art.FuzzyARTMAP()
            model.learn_many(X[:rows], y[:rows])
            found.append(np.mean(model.predict_many(X[rows:]) == y[rows:]))
        assert np.mean(found) > least


def test_fast_learning_remembers_each_row() -> None:
    X, y = unit_blobs(400, 3, 4, seed=5)
    model = art.FuzzyARTMAP()
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), label)
        assert model.predict_one(dict(enumerate(x))) == label


def test_boxes_contain_their_rows_and_keep_the_vigilance() -> None:
    X, _ = unit_blobs(2000, 3, 5)
    model = art.FuzzyART(vigilance=0.8)
    model.learn_many(X)
    corners = [[list(box[side].values()) for side in ("low", "high")] for box in model.boxes.values()]
    low, high = (np.array([corner[side] for corner in corners]) for side in (0, 1))
    assert ((high - low).sum(axis=1) <= 3 * 0.2 + 1e-12).all()
    inside = ((X[:, None] >= low - 1e-12) & (X[:, None] <= high + 1e-12)).all(axis=2).any(axis=1)
    assert inside.all()
    assert sum(model.weights.values()) == 2000


@pytest.mark.parametrize("make", [art.FuzzyART, art.FuzzyARTMAP])
def test_values_out_of_range_are_refused(make: Any) -> None:
    model = make()
    model.learn_many(np.array([[0.5, 0.2], [0.1, 0.9]]), [0, 1])
    before = model.to_bytes()
    with pytest.raises(errors.InvalidValue, match=r"must be in \[0, 1\], got 1.5; declare its range with limits"):
        model.learn_one({"0": 0.5, "b": 1.5}, 0)
    with pytest.raises(errors.InvalidValue, match=r"got -0.25; declare"):
        model.learn_many(np.array([[0.5, 0.5], [0.5, -0.25]]), [0, 1])
    assert model.to_bytes() == before
    with pytest.raises(errors.InvalidValue) as raised:
        make(limits={"a": (0, 10)}).learn_one({"a": 3.0, "b": 7.0}, 0)
    assert "feature 'b' must be in [0, 1], got 7" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("make", [art.FuzzyART, art.FuzzyARTMAP])
def test_limits_are_a_scale(make: Any) -> None:
    X, y = unit_blobs(300, 2, 3)
    plain, all_alike, named = make(), make(limits=(-4.0, 4.0)), make(limits={0: (-4, 4), 1: (-4, 4)})
    wide = X * 8.0 - 4.0
    said = plain.step_many(X, y).tolist()
    assert all_alike.step_many(wide, y).tolist() == said
    assert named.step_many(wide, y).tolist() == said
    assert named.limits == {0: (-4.0, 4.0), 1: (-4.0, 4.0)}
    assert all_alike.limits == (-4.0, 4.0)
    assert millstream.build(named.describe()).limits == named.limits
    assert make(range=(-4.0, 4.0), rho=0.5, alpha=0.1, beta=0.5).describe() == (
        make(limits=(-4.0, 4.0), vigilance=0.5, choice=0.1, learning_rate=0.5).describe()
    )
    # Beyond declared limits, a value counts as the nearest one.
    all_alike.learn_one({"0": 400.0, "1": 4.0}, 0)
    with pytest.raises(errors.InvalidType, match=r"limits of 'a' must be a pair low < high, got 3"):
        make(limits={"a": 3})


@pytest.mark.parametrize("make", [art.FuzzyART, art.FuzzyARTMAP])
def test_the_size_of_calls_does_not_matter(make: Any) -> None:
    X, y = unit_blobs(300, 4, 5)
    whole, pieces, single, learned, sparse = (make() for _ in range(5))
    said = whole.step_many(X, y).tolist()
    parts = [pieces.step_many(X[at : at + 37], y[at : at + 37]) for at in range(0, 300, 37)]
    assert np.concatenate(parts).tolist() == said
    rows = [dict(enumerate(x)) for x in X.tolist()]
    assert [single.step_one(x, label) for x, label in zip(rows, y.tolist(), strict=True)] == said
    learned.learn_many(X, y)
    sparse.learn_many(csr_matrix(X), y)
    assert whole.to_bytes() == pieces.to_bytes() == single.to_bytes() == learned.to_bytes() == sparse.to_bytes()


@pytest.mark.parametrize("make", [art.FuzzyART, art.FuzzyARTMAP])
def test_the_number_of_categories_is_bounded(make: Any) -> None:
    random = np.random.default_rng(0)
    X, y = random.random((5000, 5)), random.integers(0, 20, 5000)
    model = make(vigilance=0.95, max_prototypes=40)
    model.learn_many(X, y)
    found = model.inspect()["clusters" if make is art.FuzzyART else "prototypes"]
    assert len(found) == 40
    assert model.n_skipped > 4000
    # Nothing else was learned: no box is larger than the vigilance allows.
    assert all(sum(box["high"].values()) - sum(box["low"].values()) <= 5 * 0.05 + 1e-12 for box in found)
    assert model.memory < 60_000


@pytest.mark.parametrize("make", [art.FuzzyART, art.FuzzyARTMAP])
def test_new_features_values_and_missing_numbers(make: Any) -> None:
    model = make(limits={"size": (0, 10)})
    model.learn_one({"size": 1.0}, "a")
    model.learn_one({"size": 9.0, "colour": "red"}, "b")
    model.learn_one({"size": 1.5, "colour": "blue"}, "a")
    model.learn_one({"colour": "green", "size": None}, "c")
    assert model.predict_one({"size": 8.9, "colour": "red"}) != model.predict_one({"size": 1.2, "colour": "blue"})
    model.learn_one({}, "a")
    testing.check_model(make(limits=(-8.0, 8.0)))


def test_a_scaler_may_stand_in_front() -> None:
    """A value beyond all so far is predicted as the nearest limit, and learned as the limit."""
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 2000)
    X = 100.0 * y[:, None] + random.normal(size=(2000, 2))
    model = preprocessing.MinMaxScaler() | art.FuzzyARTMAP()
    assert np.mean(model.step_many(X, y)[200:] == y[200:]) > 0.99


def test_evaluated_as_a_clusterer(tmp_path: Any) -> None:
    X, y = unit_blobs(2000, 3, 3, seed=7)
    result = evaluate.prequential(art.FuzzyART(vigilance=0.6), (X, y))
    assert result["AdjustedRand"] > 0.3
    assert result.clusters is not None
    result.to_html(tmp_path / "report.html")
    assert "Clusters" in (tmp_path / "report.html").read_text()


def test_bad_parameters() -> None:
    for parameters, message in [
        ({"vigilance": 1.5}, "art.FuzzyART: vigilance must be in [0, 1], got 1.5"),
        ({"choice": 0.0}, "art.FuzzyART: choice must be in (0, 1000000], got 0"),
        ({"learning_rate": 0.0}, "art.FuzzyART: learning_rate must be in (0, 1], got 0"),
    ]:
        with pytest.raises(errors.InvalidValue) as raised:
            art.FuzzyART(**parameters)
        assert message in str(raised.value)
