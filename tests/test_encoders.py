"""Encoders of nominal features: values, bounds, and exactness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import millstream
from millstream import compose, ensemble, evaluate, linear_model, preprocessing, tree
from millstream.errors import InvalidType, InvalidValue, NumericOverflow

pytestmark = pytest.mark.linear_algebra

ENCODERS = ("OrdinalEncoder", "CountEncoder", "TargetEncoder")


def _frame(rows: int, users: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """Users by frequency, with a number, a colour and a target that depends on the user."""
    random = np.random.default_rng(seed)
    user = (users * random.random(rows) ** 2).astype(int)
    colour = random.choice(["red", "green", "blue"], rows)
    frame = pd.DataFrame({"user": [f"u{u}" for u in user], "x": random.normal(size=rows), "colour": colour})
    return frame, user % 7 + random.normal(size=rows)


def _dicts(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return frame.to_dict("records")


def _build(name: str, **parameters: Any) -> Any:
    return getattr(preprocessing, name)(**parameters)


# Values


def test_ordinal_numbers_are_those_of_river() -> None:
    river = pytest.importorskip("river.preprocessing")
    places = ("T", None, "B", "B", "S", "S", "T", None)
    rows = [{"country": c, "place": p} for c, p in zip("FNSFRRSN", places, strict=True)]
    for arguments in ({}, {"unknown_value": None}, {"unknown_value": 1, "none_value": 2}, {"none_value": 0}):
        ours, theirs = preprocessing.OrdinalEncoder(**arguments), river.OrdinalEncoder(**arguments)
        for x in rows:
            wanted = {name: value for name, value in theirs.transform_one(x).items() if value is not None}
            assert ours.transform_one(x) == wanted
            ours.learn_one(x)
            theirs.learn_one(x)
        assert ours.values == theirs.values


@pytest.mark.parametrize("smooth", [0.0, 3.5, "auto"])
@pytest.mark.parametrize("target", ["numbers", "two", "three"])
def test_target_encodings_are_those_of_scikit_learn(smooth: Any, target: str) -> None:
    sklearn = pytest.importorskip("sklearn.preprocessing")
    frame, numbers = _frame(800, 60)
    y: Any = numbers
    if target != "numbers":
        names = np.array(["a", "b", "c"])
        y = names[np.clip(numbers.astype(int) // 3, 0, 1 if target == "two" else 2)]
    kind = {"numbers": "continuous", "two": "binary", "three": "multiclass"}[target]
    theirs = sklearn.TargetEncoder(smooth=smooth, target_type=kind).fit(frame[["user"]], y)
    ours = preprocessing.TargetEncoder(smooth=smooth)
    ours.learn_many(frame[["user"]], y)
    classes = list(theirs.classes_) if target != "numbers" else []
    encodings = theirs.encodings_
    for place, user in enumerate(theirs.categories_[0]):
        row = list(ours.transform_one({"user": user}).values())
        if target == "numbers":
            wanted = [encodings[0][place]]
        elif target == "two":
            positive = ours.classes.index(classes[1])
            wanted = [encodings[0][place] if positive == 1 else 1.0 - encodings[0][place]]
        else:
            wanted = [encodings[classes.index(label)][place] for label in ours.classes[1:]]
        assert row == pytest.approx(wanted, abs=1e-10)
    # A value that was never learned.
    assert ours.transform_one({"user": "new"})["user"] == pytest.approx(np.atleast_1d(ours.target_mean)[0])


def test_a_missing_value_is_a_value_of_its_own() -> None:
    encoder = preprocessing.TargetEncoder(smooth=0.0)
    for user, y in (("a", 1.0), (None, 5.0), ("a", 3.0), (None, 7.0)):
        encoder.learn_one({"user": user}, y)
    assert encoder.encodings == {"user": {"a": 2.0, None: 6.0}}
    assert encoder.transform_one({"user": None}) == {"user": 6.0}


def test_weights_count_as_rows() -> None:
    frame, y = _frame(200, 20)
    w = np.random.default_rng(1).integers(1, 4, 200)
    repeated = frame.loc[frame.index.repeat(w)]
    for smooth in (2.0, "auto"):
        once, often = (preprocessing.TargetEncoder(smooth=smooth) for _ in range(2))
        once.learn_many(frame, y, w)
        often.learn_many(repeated, np.repeat(y, w))
        for user, encoding in once.encodings["user"].items():
            assert encoding == pytest.approx(often.encodings["user"][user], abs=1e-10)
    counts = preprocessing.CountEncoder()
    counts.learn_many(frame, w=w)
    assert counts.counts["user"]["u1"] == (repeated["user"] == "u1").sum()


def test_numbers_are_keys_if_they_are_named() -> None:
    encoder = preprocessing.CountEncoder(features=["user"])
    for user in (1, 1.0, True, 2, 1.5):
        encoder.learn_one({"user": user, "x": 1.0})
    assert encoder.counts == {"user": {1: 3.0, 2: 1.0, 1.5: 1.0}}
    assert encoder.transform_one({"user": 1, "x": 7.0}) == {"user": 3.0, "x": 7.0}
    matrix = np.array([[1.0, 5.0], [1.0, 6.0], [2.0, 5.0]])
    encoder = preprocessing.CountEncoder(features=[0])
    encoder.learn_many(matrix)
    assert encoder.transform_many(matrix).tolist() == [[2.0, 5.0], [2.0, 6.0], [1.0, 5.0]]


def test_other_features_pass() -> None:
    encoder = preprocessing.OrdinalEncoder(features=["user"])
    encoder.learn_one({"user": "a", "colour": "red", "x": 2.0})
    assert encoder.transform_one({"user": "a", "colour": "red", "x": None}) == {"user": 1.0, "colour": "red"}


# Exactness


@pytest.mark.parametrize("when_full", ["other", "evict", "refuse"])
@pytest.mark.parametrize("name", ENCODERS)
def test_batches_equal_loops_beyond_the_bound(name: str, when_full: str) -> None:
    frame, y = _frame(400, 150)
    one, many = (_build(name, max_keys=20, when_full=when_full) for _ in range(2))
    for x, target in zip(_dicts(frame), y, strict=True):
        try:
            one.learn_one(x, float(target))
        except InvalidValue:
            assert when_full == "refuse"
    for start in range(0, 400, 37):
        part = slice(start, start + 37)
        many.learn_many(frame[part], y[part], on_error="skip")
        many = millstream.from_bytes(many.to_bytes())
    assert many.to_bytes() == one.to_bytes()
    transformed = many.transform_many(frame)
    for place in range(0, 400, 13):
        assert one.transform_one(_dicts(frame)[place])["user"] == transformed["user"].iloc[place]
    assert one.n_keys == (23 if when_full != "refuse" else one.n_keys) <= 23
    assert (one.n_folded > 0, one.n_evicted > 0) == (when_full == "other", when_full == "evict")


@pytest.mark.parametrize("when_full", ["other", "evict", "refuse"])
@pytest.mark.parametrize("target", ["numbers", "classes"])
def test_a_weighted_frame_is_its_rows_one_by_one(target: str, when_full: str) -> None:
    frame, numbers = _frame(900, 150)
    frame.loc[::7, "colour"] = None
    random = np.random.default_rng(4)
    w = random.choice([0.0, 0.5, 1.0, 3.0], len(frame))
    # The sixth class arrives late, and two in the same batch.
    classes = np.array(list("abcdef"))[np.minimum(numbers.astype(int).clip(0, 9) // 2, np.arange(900) // 100)]
    y = numbers if target == "numbers" else classes
    one, many = (preprocessing.TargetEncoder(max_keys=90, when_full=when_full) for _ in range(2))
    rows = [{name: None if value != value else value for name, value in x.items()} for x in _dicts(frame)]
    for x, label, weight in zip(rows, y.tolist(), w.tolist(), strict=True):
        try:
            one.learn_one(x, label, w=weight)
        except InvalidValue:
            assert when_full == "refuse"
    many.learn_many(frame[:10], y[:10], w=w[:10], on_error="skip")
    many.learn_many(frame[10:], y[10:], w=w[10:], on_error="skip")
    assert many.to_bytes() == one.to_bytes()
    transformed = many.transform_many(frame)
    for place, x in enumerate(rows):
        expected = one.transform_one(x)
        assert all(expected[name] == transformed[name].iloc[place] for name in expected)
    many._undo()
    one._undo()
    assert many.to_bytes() == one.to_bytes()


def test_a_failed_batch_of_an_encoder_changes_nothing() -> None:
    frame, y = _frame(2000, 300)
    encoder = preprocessing.TargetEncoder(max_keys=200)
    encoder.learn_many(frame[:500], y[:500])
    before = encoder.to_bytes()
    bad = y[500:].copy()
    bad[-1] = np.inf
    with pytest.raises(InvalidValue):
        encoder.learn_many(frame[500:], bad)
    assert encoder.to_bytes() == before


def test_a_huge_target_is_refused_so_that_later_ones_can_be_learned() -> None:
    frame, y = _frame(50, 5)
    encoder = preprocessing.TargetEncoder()
    before = encoder.to_bytes()
    for huge in (1e160, -1e101):
        with pytest.raises(NumericOverflow):
            encoder.learn_one({"user": "u9"}, huge)
        with pytest.raises(NumericOverflow):
            encoder.learn_many(frame, np.append(y[:-1], huge))
    assert encoder.to_bytes() == before
    encoder.learn_many(frame, y)
    assert encoder.learned == len(y)


@pytest.mark.parametrize("when_full", ["other", "evict"])
def test_a_failed_batch_changes_nothing(when_full: str) -> None:
    frame, y = _frame(300, 100)
    for name in ENCODERS:
        model = _build(name, max_keys=10, when_full=when_full) | linear_model.LinearRegression()
        model.learn_many(frame[:150], y[:150])
        before = model.to_bytes()
        bad = y[150:].copy()
        bad[-1] = np.nan
        with pytest.raises(InvalidValue):
            model.learn_many(frame[150:], bad)
        assert model.to_bytes() == before
        model.learn_many(frame[150:], bad, on_error="skip")
        other = millstream.from_bytes(before)
        other.learn_many(frame[150:-1], y[150:-1])
        assert model.to_bytes() == other.to_bytes()


def test_a_refused_row_changes_nothing() -> None:
    model = preprocessing.TargetEncoder(max_keys=2, when_full="refuse") | linear_model.LinearRegression()
    model.learn_one({"user": "a"}, 1.0)
    model.learn_one({"user": "b"}, 2.0)
    before = model.to_bytes()
    with pytest.raises(InvalidValue, match=r"TargetEncoder: there are 2 keys already \(max_keys\), got a new one"):
        model.learn_one({"user": "c"}, 3.0)
    assert model.to_bytes() == before
    # The row is predicted nevertheless.
    assert np.isfinite(model.predict_one({"user": "c"}))


def test_a_learner_never_sees_the_target_of_a_row_in_its_features() -> None:
    frame, y = _frame(300, 40)
    model = preprocessing.TargetEncoder(features=["user"]) | linear_model.LinearRegression()
    encoder, learner = preprocessing.TargetEncoder(features=["user"]), linear_model.LinearRegression()
    predictions = []
    for x, target in zip(_dicts(frame), y.tolist(), strict=True):
        z = encoder.transform_one(x)
        predictions.append(learner.predict_one(z))
        learner.learn_one(z, target)
        encoder.learn_one(x, target)
    # The features of the learner are in another order, because the first row has no encoding.
    assert model.step_many(frame, y).tolist() == pytest.approx(predictions, rel=1e-9)


def test_targets_are_learned_when_labels_arrive() -> None:
    frame, y = _frame(300, 40)
    rows, targets, delay = _dicts(frame), y.tolist(), 25
    model = preprocessing.TargetEncoder() | linear_model.LinearRegression()
    result = evaluate.prequential(model, list(zip(rows, targets, strict=True)), metrics=["MAE"], delay=delay)
    by_hand = preprocessing.TargetEncoder() | linear_model.LinearRegression()
    errors = []
    for place, x in enumerate(rows):
        if place >= delay:
            by_hand.learn_one(rows[place - delay], targets[place - delay])
        if place > delay:
            errors.append(abs(by_hand.predict_one(x) - targets[place]))
        else:
            errors.append(abs((by_hand.predict_one(x) or 0.0) - targets[place]))
    for place in range(len(rows) - delay, len(rows)):
        by_hand.learn_one(rows[place], targets[place])
    assert result["MAE"] == pytest.approx(np.mean(errors), rel=1e-12)
    assert model.to_bytes() == by_hand.to_bytes()


def test_members_of_an_ensemble_have_encoders_of_their_own() -> None:
    frame, y = _frame(400, 60)
    labels = y > 3
    one, many = (
        ensemble.Bagging(
            preprocessing.TargetEncoder(max_keys=30, when_full="evict") | linear_model.LogisticRegression(),
            n_models=3,
            seed=1,
        )
        for _ in range(2)
    )
    predicted = [one.step_one(x, bool(label)) for x, label in zip(_dicts(frame), labels, strict=True)]
    assert many.step_many(frame, labels).tolist() == predicted
    assert many.to_bytes() == one.to_bytes()


def test_three_classes_in_a_pipeline_and_new_features_later() -> None:
    random = np.random.default_rng(0)
    model = preprocessing.TargetEncoder(smooth=1.0) | tree.HoeffdingTreeClassifier(grace_period=20)
    for row in range(600):
        user = int(random.integers(6))
        x = {"user": f"u{user}"} | ({"device": f"d{user % 2}", "x": 1.0} if row > 50 else {})
        model.learn_one(x, "abc"[user % 3] if row > 20 else "ab"[user % 2])
    assert [model.predict_one({"user": f"u{u}", "device": f"d{u % 2}", "x": 1.0}) for u in range(6)] == list(
        "abcabc"
    )
    encoder = model[0]
    names = list(encoder.transform_one({"user": "u1", "device": "d1", "x": 1.0}))
    assert names == ["user", "user_class_2", "device", "x", "device_class_2"]
    again = millstream.from_bytes(encoder.to_bytes())
    assert again.encodings == encoder.encodings
    assert len(again.encodings["user"]["u1"]) == 2


# Bounds


def _grows(model: Any, rows: list[dict[str, Any]]) -> bool:
    """Whether memory or the saved state grows over the second half of many new keys."""

    def learn(part: list[dict[str, Any]]) -> tuple[int, int]:
        model.learn_many(part, [len(x["user"]) % 2 == 0 for x in part])
        return model.memory, len(model.to_bytes())

    half = len(rows) // 2
    learn(rows[:half])
    before = learn(rows[half : half + 100])
    after = learn(rows[half + 100 :])
    # A copy of the model, such as a savepoint, has buffers without spare room, which grow again by up to a tenth.
    # The 2,900 keys would take half as much again.
    return after[0] > before[0] * 1.15 or after[1] > before[1] * 1.01


@pytest.mark.parametrize("when_full", ["other", "evict"])
@pytest.mark.parametrize("name", ENCODERS)
def test_memory_is_bounded_over_new_keys(name: str, when_full: str) -> None:
    random = np.random.default_rng(0)
    rows = [{"user": f"user {n}", "x": float(x)} for n, x in enumerate(random.normal(size=6000))]
    bound = {"max_keys": 50, "when_full": when_full}
    assert not _grows(_build(name, **bound), rows)
    for model in (
        _build(name, **bound) | linear_model.LogisticRegression(),
        preprocessing.StandardScaler() | _build(name, **bound) | linear_model.LogisticRegression(),
        (_build(name, **bound) + compose.Select(["x"])) | linear_model.LogisticRegression(),
        ensemble.Bagging(_build(name, **bound) | linear_model.LogisticRegression(), n_models=2),
    ):
        assert not _grows(model, rows), model


def test_a_feature_that_is_also_used_otherwise_keeps_all_its_values() -> None:
    frame, y = _frame(400, 100)
    both = preprocessing.OneHotEncoder() + preprocessing.TargetEncoder(max_keys=10)
    alone, hot = preprocessing.TargetEncoder(max_keys=10), preprocessing.OneHotEncoder()
    for model in (both, alone, hot):
        model.learn_many(frame, y)
    x = _dicts(frame)[7]
    wanted = hot.transform_one(x)
    transformed = both.transform_one(x)
    assert {name: transformed[name] for name in wanted} == wanted
    assert alone.transform_one(x)["user"] in transformed.values()
    # Behind a selection of other features, it is a key only.
    split = (compose.Drop(["user"]) | preprocessing.OneHotEncoder()) + preprocessing.TargetEncoder(
        features=["user"], max_keys=10
    )
    model = split | linear_model.LinearRegression()
    rows = [{"user": f"u{n}", "colour": "red"} for n in range(4000)]
    model.learn_many(rows[:2000], [1.0] * 2000)
    before = model.memory
    model.learn_many(rows[2000:], [1.0] * 2000)
    assert model.memory < before * 1.01


def test_a_step_taken_out_of_a_pipeline_continues() -> None:
    frame, y = _frame(600, 200)
    model = preprocessing.TargetEncoder(max_keys=30, when_full="evict") | linear_model.LinearRegression()
    alone = preprocessing.TargetEncoder(max_keys=30, when_full="evict")
    model.learn_many(frame[:300], y[:300])
    alone.learn_many(frame[:300], y[:300])
    step = model[0]
    assert step.to_bytes() == alone.to_bytes()
    for encoder in (step, alone):
        encoder.learn_many(frame[300:], y[300:])
    assert step.to_bytes() == alone.to_bytes()


def test_keys_without_a_text_are_shown_by_their_hash() -> None:
    encoder = preprocessing.CountEncoder(max_keys=2, when_full="evict")
    for user in "abcc":
        encoder.learn_one({"user": user})
    (first, second) = encoder.counts["user"].items()
    # XXH64 of "sc", without its last 12 bits, in hexadecimal digits.
    assert first == ("#e3b6d22458a84", 2.0)
    assert second == ("b", 1.0)


# Refusals


def test_bad_arguments_are_refused_in_one_line() -> None:
    with pytest.raises(
        InvalidValue, match=r"preprocessing.TargetEncoder: smooth must be auto, or a number >= 0, got"
    ):
        preprocessing.TargetEncoder(smooth="some")
    with pytest.raises(InvalidValue, match="max_keys must be an integer in"):
        preprocessing.CountEncoder(max_keys=0)
    with pytest.raises(InvalidValue, match="when_full must be one of other, evict, refuse, got 'drop'"):
        preprocessing.OrdinalEncoder(when_full="drop")
    with pytest.raises(InvalidValue, match="features must not be empty"):
        preprocessing.OrdinalEncoder(features=[])
    encoder = preprocessing.TargetEncoder()
    encoder.learn_one({"user": "a"}, 1.0)
    before = encoder.to_bytes()
    with pytest.raises(InvalidType, match="the targets are numbers, got class labels"):
        encoder.learn_one({"user": "b"}, "late")
    with pytest.raises(InvalidValue, match="target must be finite"):
        encoder.learn_one({"user": "b"}, float("nan"))
    with pytest.raises(NumericOverflow):
        encoder.learn_one({"user": "b"}, 1e308, 1e308)
    assert encoder.to_bytes() == before
    # Without a target nothing is learned.
    encoder.learn_one({"user": "b"})
    assert encoder.n_keys == 1


def test_an_old_file_without_keys_loads_as_before() -> None:
    model = preprocessing.StandardScaler() | tree.HoeffdingTreeClassifier()
    for n in range(50):
        model.learn_one({"user": f"u{n}"}, n % 2 == 0)
    again = millstream.from_bytes(model.to_bytes())
    assert again.to_bytes() == model.to_bytes()
