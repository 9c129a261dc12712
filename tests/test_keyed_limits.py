"""`compose.Keyed`: what is dropped, spilled or expired does not depend on batches or threads; the spill file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from millstream import base, compose, linear_model, preprocessing, tree
from millstream.errors import InvalidState, InvalidType, InvalidValue

ROWS = 6000


def pipeline() -> Any:
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def hoeffding() -> Any:
    return tree.HoeffdingTreeClassifier(grace_period=10)


def stream(*, texts: bool, more: int = 0) -> tuple[pd.DataFrame, Any]:
    random = np.random.default_rng(3)
    keys = 900
    data = pd.DataFrame(random.normal(size=(ROWS, 3 + more)), columns=[*"abc", *(f"x{i}" for i in range(more))])
    # Some keys come often, and others seldom.
    numbers = np.minimum(random.geometric(0.004, ROWS), keys)
    data["k"] = [f"sensor number {number} " * (number % 3 + 1) for number in numbers] if texts else numbers
    data["t"] = np.arange(ROWS) + random.integers(-100, 100, ROWS)
    return data, (data.a + data.b > 0).to_numpy()


#: Room for some of the models of a stream with 20 features.
MOST = {pipeline: 320_000, hoeffding: 2_000_000}


def states(keyed: Any) -> dict[Any, bytes]:
    return {key: keyed[key].to_bytes() for key in keyed}


def run(keyed: Any, data: pd.DataFrame, y: Any, size: int) -> Any:
    for start in range(0, len(data), size):
        keyed.step_many(data[start : start + size], y[start : start + size])
    return keyed


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize(
    "limits",
    [
        {"max_keys": 60, "ttl": 400},
        {"max_bytes": 60_000},
        {"max_bytes": 60_000, "ttl": 400},
        {"max_keys": 150, "max_bytes": 60_000, "ttl": 2000},
    ],
    ids=str,
)
@pytest.mark.parametrize("template", [pipeline, hoeffding])
def test_what_is_dropped_does_not_depend_on_batches(template: Any, limits: dict[str, Any], texts: bool) -> None:
    data, y = stream(texts=texts)
    seen = []
    for size, threads in ((7, 1), (97, 2), (ROWS, 2)):
        keyed = compose.Keyed(template(), key="k", time="t", n_threads=threads, **limits)
        run(keyed, data, y, size)
        seen.append((states(keyed), keyed.counters, keyed.least_recent(5)))
        assert keyed.memory <= limits.get("max_bytes", 1 << 30)
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][1]["dropped"] + seen[0][1]["expired"] > 50


@pytest.mark.parametrize("texts", [False, True])
def test_a_form_that_comes_later_gets_its_share(texts: bool) -> None:
    keyed = compose.Keyed(linear_model.LinearRegression(), key="k", max_bytes=200_000)
    name = str if texts else int
    for row in range(3000):
        keyed.learn_one({"k": name(row), "a": 1.0}, 1.0)
    for row in range(3000, 6000):
        keyed.learn_one({"k": name(row), "a": 1.0, "b": 2.0, "c": 3.0}, 1.0)
    assert min(int(key) for key in keyed) > 3000
    assert keyed.memory <= 200_000


def test_skipped_rows_do_not_advance_the_clock() -> None:
    X = pd.DataFrame({"k": [1, 2, 1, 2], "t": [0.0, 1e9, 1.0, 2.0], "x": [1.0, np.inf, 1.0, 1.0]})
    for rows in (X, X.to_dict("records")):
        keyed = compose.Keyed(linear_model.LinearRegression(), key="k", time="t", ttl=10)
        assert keyed.learn_many(rows, [1.0] * 4, on_error="skip") == 1
        assert keyed[1].learned == 2
        assert keyed.counters["expired"] == 0
    random = np.random.default_rng(0)
    data, y = stream(texts=False)
    data.loc[random.integers(0, ROWS, 300), "a"] = np.inf
    data.loc[random.integers(0, ROWS, 300), "t"] += 500
    seen = []
    for size in (7, 100, ROWS):
        keyed = compose.Keyed(pipeline(), key="k", time="t", ttl=300)
        for start in range(0, ROWS, size):
            keyed.learn_many(data[start : start + size], y[start : start + size], on_error="skip")
        seen.append((states(keyed), keyed.counters))
    assert seen[0] == seen[1] == seen[2]


def test_refused_and_skipped_labels_are_no_classes() -> None:
    X = np.array([[1.0], [2.0], [np.inf]])
    keyed = compose.Keyed(linear_model.SoftmaxRegression(), key="k")
    with pytest.raises(ValueError, match="row 2"):
        keyed.learn_many(X, ["a", "b", "c"], keys=[1, 2, 3])
    assert keyed.classes == []
    with pytest.raises(ValueError, match="row 2"):
        keyed.learn_many([{"k": 1, 0: x[0]} for x in X], ["a", "b", "c"])
    assert keyed.classes == []
    shares = keyed.step_many(X, ["a", "b", "c"], keys=[1, 1, 1], on_error="skip", proba=True)
    assert np.asarray(shares).shape == (3, 2)
    assert keyed.classes == ["a", "b"]
    keyed.learn_many(X[:2], ["d", "a"], keys=[1, 1])
    assert keyed.classes == ["a", "b", "d"]


def test_large_integers_keep_their_digits() -> None:
    import pyarrow as pa

    large = (1 << 60) + 1
    for keys in ([large, None], pa.array([large, None]), pd.array([large, None], dtype="Int64")):
        keyed = compose.Keyed(linear_model.LinearRegression(), key="k")
        assert keyed.learn_many(np.ones((2, 1)), [1.0, 2.0], keys=keys, on_error="skip") == 1
        assert keyed.keys() == [large]
    with pytest.raises(ValueError, match="64 bits"):
        keyed.learn_many(np.ones((1, 1)), [1.0], keys=np.array([1 << 63], dtype=np.uint64))


# The spill file.


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("template", [pipeline, hoeffding])
def test_spilled_models_come_back_identical(template: Any, texts: bool, tmp_path: Path) -> None:
    data, y = stream(texts=texts, more=17)
    whole = run(compose.Keyed(template(), key="k"), data, y, 1000)
    most = MOST[template]
    for size, threads in ((1000, 1), (137, 2)):
        keyed = compose.Keyed(template(), key="k", max_bytes=most, spill=tmp_path, n_threads=threads)
        given = []
        for start in range(0, ROWS, size):
            part = slice(start, start + size)
            given += list(keyed.step_many(data[part], y[part]))
            assert keyed.memory <= most
        counters = keyed.counters
        assert counters["dropped"] == 0
        assert counters["spilled"] > 300
        assert counters["returned"] > 100
        assert keyed.spilled == counters["spilled"] - counters["returned"] > 0
        assert keyed.spilled_bytes > 0
        assert states(keyed) == states(whole)
        assert list(keyed.predict_many(data)) == list(whole.predict_many(data))
        assert keyed.least_recent(10**6) == whole.least_recent(10**6)
        again = compose.Keyed.from_bytes(keyed.to_bytes())
        assert states(again) == states(whole)
        assert again.memory <= most
    # Nothing is left in the folder.
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("template", [pipeline, hoeffding])
def test_a_refused_batch_with_spilled_models_changes_nothing(template: Any, texts: bool, tmp_path: Path) -> None:
    data, y = stream(texts=texts, more=17)
    keyed = compose.Keyed(template(), key="k", time="t", ttl=2500, max_bytes=MOST[template], spill=tmp_path)
    run(keyed, data[:3000], y, 500)
    before = (states(keyed), keyed.keys(), keyed.least_recent(10**6), keyed.classes)
    bad = data[3000:5000].copy()
    bad.iloc[-1, 0] = np.inf
    for rows in (bad, bad.to_dict("records")):
        with pytest.raises(ValueError, match="row 1999"):
            keyed.learn_many(rows, y[3000:5000])
        assert (states(keyed), keyed.keys(), keyed.least_recent(10**6), keyed.classes) == before
        assert keyed.memory <= MOST[template]
    whole = run(compose.Keyed(template(), key="k", time="t", ttl=2500), data[:3000], y, 500)
    assert states(run(keyed, data[3000:], y[3000:], 700)) == states(run(whole, data[3000:], y[3000:], 700))


def test_too_many_stubs_are_dropped(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(20_000, 20))
    keyed = compose.Keyed(pipeline(), key="k", max_bytes=300_000, spill=tmp_path)
    keyed.learn_many(X, X[:, 0] > 0, keys=np.arange(20_000))
    counters = keyed.counters
    assert counters["created"] - counters["dropped"] == len(keyed) > 500
    assert keyed.keys() == list(range(20_000 - len(keyed), 20_000))
    assert keyed.memory <= 300_000
    # `max_keys` counts models in the file too.
    few = compose.Keyed(pipeline(), key="k", max_bytes=140_000, max_keys=400, spill=tmp_path)
    few.learn_many(X, X[:, 0] > 0, keys=np.arange(20_000))
    assert few.keys() == list(range(19_600, 20_000))
    assert few.spilled > 100


def test_a_cycle_of_too_many_keys(tmp_path: Path) -> None:
    # The next key is always the one that learned least recently.
    X = np.random.default_rng(0).normal(size=(6000, 20))
    keyed = compose.Keyed(pipeline(), key="k", max_bytes=100_000, spill=tmp_path)
    for start in range(0, 6000, 500):
        keyed.learn_many(X[start : start + 500], X[start : start + 500, 0] > 0, keys=np.arange(500))
    assert keyed.counters["dropped"] > 0
    assert keyed.memory <= 100_000


def test_dumps_contain_spilled_models(tmp_path: Path) -> None:
    data, y = stream(texts=True, more=17)
    keyed = compose.Keyed(pipeline(), key="k", max_bytes=320_000, spill=tmp_path / "spill")
    for number in range(6):
        run(keyed, data[number * 1000 : number * 1000 + 1000], y[number * 1000 :], 250)
        keyed.dump(tmp_path / "dumps", position=number)
        restored = compose.Keyed.load(tmp_path / "dumps")
        assert states(restored) == states(keyed)
        assert restored.parameters["spill"] == keyed.parameters["spill"]
        assert restored.least_recent(10**6) == keyed.least_recent(10**6)
        assert restored.spilled > 0
    elsewhere = compose.Keyed.load(tmp_path / "dumps", spill=tmp_path / "other")
    assert elsewhere.spill == str(tmp_path / "other")
    assert states(run(elsewhere, data[:500], y, 100)) == states(run(keyed, data[:500], y, 500))
    # The folder of the dump is gone, and cannot be made.
    (tmp_path / "spill").rmdir()
    (tmp_path / "spill").write_text("")
    with pytest.raises(InvalidState, match="models cannot be spilled to"):
        compose.Keyed.load(tmp_path / "dumps")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the file has no name elsewhere")
def test_a_flipped_bit_is_found_and_named(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(600, 20))
    keyed = compose.Keyed(pipeline(), key="k", max_bytes=200_000, spill=tmp_path)
    keyed.learn_many(X, X[:, 0] > 0, keys=np.arange(600))
    known = [link for link in Path("/proc/self/fd").iterdir() if _target(link).startswith(str(tmp_path))]
    with known[0].open("r+b") as file:
        content = bytearray(file.read())
        content[20] ^= 4
        file.seek(0)
        file.write(content)
    damaged = []
    for key in keyed:
        try:
            keyed[key]
        except InvalidState as error:
            damaged.append(key)
            said = str(error)
    assert len(damaged) == 1
    assert f"key {damaged[0]}: the model that was spilled to {tmp_path} is damaged" in said
    rows, keys = np.ones((2, 20)), [599, damaged[0]]
    before = keyed[599].to_bytes()
    for on_error in ("raise", "skip"):
        with pytest.raises(InvalidState, match=rf"row 1: .*key {damaged[0]}: .* is damaged"):
            keyed.learn_many(rows, [True, False], keys=keys, on_error=on_error)
        assert keyed[599].to_bytes() == before
    with pytest.raises(InvalidState, match="is damaged"):
        keyed.predict_one({"k": damaged[0], 0: 1.0})
    with pytest.raises(InvalidState, match=f"key {damaged[0]}: .*is damaged"):
        keyed.dump(tmp_path / "dumps")
    del keyed[damaged[0]]
    keyed.learn_many(rows, [True, False], keys=keys)
    assert keyed[damaged[0]].learned == 1
    keyed.dump(tmp_path / "dumps")


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


FULL = """
import resource, sys
import numpy as np
from millstream import compose, linear_model, preprocessing
from millstream.errors import InvalidState
X = np.random.default_rng(0).normal(size=(4000, 3))
keyed = compose.Keyed(preprocessing.StandardScaler() | linear_model.LogisticRegression(), key="k",
                      max_bytes=240_000, spill=sys.argv[1])
keyed.learn_many(X[:300], X[:300, 0] > 0, keys=np.arange(300))
states = lambda: {key: keyed[key].to_bytes() for key in keyed}
before = states()
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
for _ in range(2):
    try:
        keyed.learn_many(X, X[:, 0] > 0, keys=np.arange(4000))
    except InvalidState as error:
        print("refused:", str(error)[-13:], states() == before)
try:
    for row in range(4000):
        keyed.learn_one({"k": row, 0: 1.0}, True)
except InvalidState as error:
    after = states()
    print("refused one:", row, row not in keyed, len(keyed) == max(row, 300))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
keyed.learn_many(X[:2000], X[:2000, 0] > 0, keys=np.arange(2000))
print("goes on:", len(keyed), keyed.memory <= 240_000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the size of files")
def test_a_full_folder_refuses_and_changes_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=False, timeout=120
    )
    lines = done.stdout.splitlines()
    assert lines[:2] == ["refused: (os error 27) True"] * 2, done.stdout + done.stderr
    assert lines[2].startswith("refused one:")
    assert lines[2].endswith("True True"), lines
    assert lines[3].startswith("goes on:")
    assert lines[3].endswith("True")


def test_bad_spill_settings(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidState, match="models cannot be spilled to .*file"):
        compose.Keyed(pipeline(), key="k", spill=tmp_path / "file")
    with pytest.raises(InvalidValue, match="spill needs a limit of memory"):
        compose.Keyed(pipeline(), key="k", spill=tmp_path, max_bytes=None)
    with pytest.raises(InvalidType, match="spill must be a folder"):
        compose.Keyed(pipeline(), key="k", spill=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidType, match="models written in Python cannot be spilled"):
        compose.Keyed(Mean(), key="k", spill=tmp_path)


class Mean(base.Regressor):
    """The mean of the targets."""

    def __init__(self) -> None:
        self.sum = 0.0
        self.count = 0

    def learn_one(self, x: Any, y: Any) -> None:
        if x.get("bad"):
            raise ValueError("a bad row")
        self.sum += y
        self.count += 1

    def predict_one(self, x: Any) -> float:
        return self.sum / self.count if self.count else 0.0


# New keys begin with a global model.


@pytest.mark.parametrize("template", [pipeline, hoeffding, Mean])
def test_new_keys_begin_with_the_global_model(template: Any) -> None:
    data, labels = stream(texts=False)
    data, y = data[:600], labels[:600].astype(float) if template is Mean else labels[:600]
    expected: dict[int, Any] = {}
    everyone, answers = template(), []
    import copy

    for x, target in zip(data[["a", "b", "c", "k"]].to_dict("records"), y.tolist(), strict=True):
        model = expected.setdefault(x.pop("k"), copy.deepcopy(everyone))
        answers.append(model.predict_one(x))
        model.learn_one(x, target)
        everyone.learn_one(x, target)
    for size, threads in ((1, 1), (71, 2), (600, 2)):
        keyed = compose.Keyed(template(), key="k", prior="global", n_threads=threads)
        given = []
        for start in range(0, 600, size):
            rows = data.drop(columns="t")[start : start + size]
            given += list(keyed.step_many(rows, y[start : start + size]))
        assert given == answers
        if template is Mean:
            assert all(vars(keyed[key]) == vars(model) for key, model in expected.items())
            assert vars(keyed.prior_model) == vars(everyone)
            continue
        assert states(keyed) == {key: model.to_bytes() for key, model in expected.items()}
        assert keyed.prior_model.to_bytes() == everyone.to_bytes()
        x = {"a": 1.0, "b": 1.0, "c": 1.0}
        assert keyed.predict_one({**x, "k": 10**6}) == everyone.predict_one(x)
        other = compose.Keyed.from_bytes(keyed.to_bytes())
        assert other.prior == "global"
        assert other.prior_model.to_bytes() == everyone.to_bytes()
        before = (states(keyed), keyed.prior_model.to_bytes())
        bad = data.drop(columns="t").copy()
        bad.iloc[-1, 0] = np.inf
        for wrong in (bad, bad.to_dict("records")):
            with pytest.raises(ValueError, match="row 599"):
                keyed.learn_many(wrong, y)
            assert (states(keyed), keyed.prior_model.to_bytes()) == before
        keyed.learn_one({**x, "k": 10**6}, y.tolist()[0])
        assert keyed[10**6].learned == everyone.learned + 1
    with pytest.raises(InvalidValue, match='prior must be "template" or "global"'):
        compose.Keyed(template(), key="k", prior="none")


# Models written in Python.


def test_python_models_are_checked_and_restored() -> None:
    keyed = compose.Keyed(Mean(), key="k", max_keys=3)
    for key in ("a", "b", "c", "a"):
        keyed.learn_one({"k": key}, 1.0)
    before = (keyed.keys(), keyed.least_recent(), keyed.counters, keyed["a"].count, keyed.memory)
    with pytest.raises(ValueError, match="a bad row") as caught:
        keyed.learn_many([{"k": "d"}, {"k": "a"}, {"k": "b", "bad": 1}], [1.0, 2.0, 3.0])
    assert caught.value.__notes__ == ["row 2, key 'b'"]
    assert (keyed.keys(), keyed.least_recent(), keyed.counters, keyed["a"].count, keyed.memory) == before
    with pytest.raises(TypeError, match="the keys so far are strings, got an integer"):
        keyed.learn_one({"k": 1}, 1.0)
    with pytest.raises(TypeError, match="a model of the template is required"):
        keyed["a"] = linear_model.LinearRegression()
    with pytest.raises(TypeError, match="a model of the template is required"):
        keyed["a"] = 3
    keyed.learn_one({"k": "d"}, 1.0)
    assert keyed.keys() == ["a", "c", "d"]


def test_what_cannot_be_keyed_is_said() -> None:
    with pytest.raises(TypeError, match="put a transformer in a pipeline before a model"):
        compose.Keyed(preprocessing.StandardScaler(), key="k")
    with pytest.raises(TypeError, match=r"got the class LinearRegression: write LinearRegression\(\)"):
        compose.Keyed(linear_model.LinearRegression, key="k")
    with pytest.raises(TypeError, match="keyed models cannot be keyed again"):
        compose.Keyed(compose.Keyed(pipeline(), key="a"), key="b")
    with pytest.raises(TypeError, match="a classifier, regressor, .* a forecaster or a drift detector"):
        compose.Keyed(3, key="k")
