"""Limits for what grows with a stream, and strict features at prediction time."""

import json
import zlib

import pytest

import millstream
from millstream import cli, evaluate, linear_model, naive_bayes, preprocessing
from millstream.errors import InvalidState, InvalidType, InvalidValue


def guarded(**settings):
    return preprocessing.Guard(**settings) | linear_model.LogisticRegression()


def test_new_keys_of_each_row_do_not_grow_the_model():
    model = guarded(max_features=5, max_values=3)
    for n in range(2000):
        model.learn_one({"x": n % 7, f"key {n}": 1.0, "session": f"s{n}"}, n % 2)
    guard, inner = model[0], model["LogisticRegression"]
    assert guard.features == ["x", "key 0", "session", "key 1", "key 2"]
    assert inner.features == guard.features
    assert (guard.dropped, guard.folded) == (1997, 1997)
    assert guard.inspect()["values"] == {"x": 0, "key 0": 0, "session": 3, "key 1": 0, "key 2": 0}
    before = inner.memory
    for n in range(2000, 4000):
        model.learn_one({"x": n % 7, f"key {n}": 1.0, "session": f"s{n}"}, n % 2)
    assert model["LogisticRegression"].memory == before
    # Further values are one value.
    assert set(model["LogisticRegression"].weights["session"]) == {"s0", "s1", "s2", "other"}


def test_a_refused_example_changes_nothing():
    model = guarded(max_features=2, max_values=2, when_full="refuse")
    rows = [({"a": 1.0, "b": "u"}, True), ({"a": 2.0, "b": "v"}, False)]
    for x, y in rows:
        model.learn_one(x, y)
    before = model.to_bytes()
    with pytest.raises(InvalidValue, match="there are 2 features already, so 'c' is refused"):
        model.learn_one({"a": 1.0, "c": 2.0}, True)
    with pytest.raises(InvalidValue, match="there are 2 values of 'b' already, so 'w' is refused"):
        model.learn_one({"a": 1.0, "b": "w"}, True)
    assert model[0].refused == 2
    assert model.learned == 2
    model[0].refused = 0
    assert model.to_bytes() == before
    # A later step refuses: the guard forgets the names.
    guarded_model = guarded()
    with pytest.raises(InvalidValue):
        guarded_model.learn_one({"a": float("inf")}, True)
    assert guarded_model[0].features == []
    assert guarded_model[0].learned == 0


def test_further_labels_are_refused():
    model = preprocessing.Guard(max_classes=2) | naive_bayes.GaussianNB()
    for label in ("a", "b", "a"):
        model.learn_one({"x": 1.0}, label)
    with pytest.raises(InvalidValue, match="there are 2 classes already, so 'c' is refused"):
        model.learn_one({"x": 1.0}, "c")
    assert model.classes == ["a", "b"]
    # With on_error="skip", such rows are counted.
    rows = [({"x": float(n)}, f"user {n % 5}") for n in range(50)]
    result = evaluate.prequential(
        preprocessing.Guard(max_classes=2) | naive_bayes.GaussianNB(), rows, on_error="skip"
    )
    assert result.skipped == 30


def test_strict_features():
    model = guarded(strict=True)
    # Before the first example, nothing is known.
    assert model.predict_proba_one({"anything": 1.0}) == {}
    model.learn_one({"carrier": "UA", "wind": 3.0}, True)
    model.learn_one({"carrier": "WN"}, False)
    assert model.predict_one({"carrier": "UA", "wind": None}) in (True, False)
    with pytest.raises(InvalidValue, match="the feature 'wnd' was never learned, did you mean 'wind'"):
        model.predict_one({"carrier": "UA", "wnd": 3.0})
    with pytest.raises(InvalidValue, match="the feature 'wind' was learned but missing in the row"):
        model.predict_proba_one({"carrier": "UA"})
    with pytest.raises(
        InvalidValue, match="the features 'wind', 'carrier' were|the features 'carrier', 'wind' were"
    ):
        model.predict_one({})
    # Learning accepts new and missing features, and they are known from then on.
    model.learn_one({"carrier": "UA", "wind": 1.0, "rain": 2.0}, True)
    assert model.predict_many([{"carrier": "UA", "wind": 1.0, "rain": 2.0}]).tolist() == [True]
    with pytest.raises(InvalidValue, match="never learned"):
        model.predict_many([{"carrier": "UA", "wind": 1.0, "rain": 2.0, "snow": 1.0}])


def test_a_guard_is_saved_with_its_state():
    model = millstream.parse("Guard(strict=True, max_values=2) | StandardScaler | LogisticRegression")
    for n in range(10):
        model.learn_one({"a": n, "b": f"v{n}"}, n % 2)
    loaded = millstream.from_bytes(model.to_bytes())
    assert repr(loaded) == repr(model)
    assert loaded[0].inspect() == model[0].inspect()
    assert loaded.predict_proba_one({"a": 1, "b": "new"}) == model.predict_proba_one({"a": 1, "b": "new"})
    with pytest.raises(InvalidValue, match="never learned"):
        loaded.predict_one({"a": 1, "c": "new"})
    guard = preprocessing.Guard(max_values=1)
    with pytest.raises(InvalidState, match="exceeds the limits"):
        guard._restore(model[0]._state())


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"strict": 1}, InvalidType, "strict must be True or False, got 1"),
        ({"max_features": 0}, InvalidValue, "max_features must be an integer >= 1, got 0"),
        ({"max_values": 1.5}, InvalidValue, "max_values must be an integer >= 1, got 1.5"),
        ({"when_full": "evict"}, InvalidValue, "when_full must be 'other' or 'refuse', got 'evict'"),
        ({"other": None}, InvalidType, "other must be a str, got None"),
    ],
)
def test_bad_settings(settings, error, message):
    with pytest.raises(error, match=message):
        preprocessing.Guard(**settings)


@pytest.fixture
def files(tmp_path, capsys):
    good, bad, more, model = (tmp_path / name for name in ("good.csv", "bad.csv", "more.jsonl", "model.ms"))
    lines = "".join(f"{n % 7},{'uv'[n % 2]},{n % 2}\n" for n in range(100))
    good.write_text("wind,carrier,y\n" + lines)
    bad.write_text("wnd,carrier,y\n" + lines)
    rows = [{"wind": n % 7, "y": n % 2} | ({"gust": 1} if n > 60_000 else {}) for n in range(60_100)]
    more.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert cli.main(["run", str(good), "-t", "y", "--save", str(model), "-q"]) == 0
    capsys.readouterr()
    return good, bad, more, model


def test_strict_on_the_command_line(files, capsys, tmp_path):
    good, bad, more, model = map(str, files)
    out = str(tmp_path / "out.csv")
    assert cli.main(["predict", good, "-t", "y", "--load", model, "--out", out, "--strict"]) == 0
    # A key column is no feature.
    assert (
        cli.main(["predict", bad, "-t", "y", "--load", model, "--out", out, "--strict", "--keep", "carrier"]) == 1
    )
    capsys.readouterr()
    assert cli.main(["predict", bad, "-t", "y", "--load", model, "--out", out, "--strict"]) == 1
    assert f"--strict: {bad} has wnd, absent from {model}, did you mean 'wind'?" in capsys.readouterr().err
    assert cli.main(["predict", good, "-t", "y", "--drop", "wind", "--load", model, "--out", out, "--strict"]) == 1
    assert f"--strict: {good} lacks wind, present in {model}" in capsys.readouterr().err
    assert cli.main(["run", bad, "-t", "y", "--resume", model, "--strict", "-q"]) == 1
    assert f"has wnd, absent from {model}, did you mean 'wind'?" in capsys.readouterr().err
    assert cli.main(["compare", bad, "-t", "y", "-m", model, "-m", "NoChange", "--strict", "-q"]) == 1
    assert cli.main(["run", good, "-t", "y", "-m", "NoChange", "--strict", "-q"]) == 0
    capsys.readouterr()
    assert cli.main(["run", more, "-t", "y", "-m", "NoChange", "--strict", "-q"]) == 1
    assert "has gust, absent from the first rows" in capsys.readouterr().err


def test_a_row_that_is_no_dict_is_refused() -> None:
    with pytest.raises(InvalidType, match="an example must be a dict, got NoneType"):
        preprocessing.Guard().learn_one(None)


def test_a_pipeline_file_with_an_infinite_count_is_refused() -> None:
    model = preprocessing.Guard() | linear_model.LogisticRegression()
    model.learn_one({"a": 1.0}, True)
    data = model.to_bytes()
    size = int.from_bytes(data[8:16], "little")
    head = json.loads(data[16 : 16 + size])
    text = json.dumps(head | {"learned": float("inf")}).encode()
    body = data[:8] + len(text).to_bytes(8, "little") + text + data[16 + size : -4]
    with pytest.raises(InvalidState, match="the saved pipeline is not valid"):
        millstream.from_bytes(body + zlib.crc32(body).to_bytes(4, "little"))


def test_feature_names_that_cannot_be_saved_are_refused() -> None:
    guard = preprocessing.Guard()
    guard.learn_one({("a", 1): 1.0})
    with pytest.raises(InvalidState, match="a feature name must be a str or int to be saved, got"):
        guard._state()
