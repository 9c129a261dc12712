"""`compose.Keyed` of forecasters and of drift detectors: exactly a dict of them."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import millstream
from millstream import compose, drift, linear_model, time_series

FORECASTERS = {
    "naive": lambda: time_series.SeasonalNaive(period=3),
    "level": lambda: time_series.HoltWinters(0.3),
    "seasons": lambda: time_series.HoltWinters(0.3, 0.1, 0.6, seasonality=4),
}
DETECTORS = sorted(millstream.find("drift_detector"))


def sales(rows: int = 400) -> pd.DataFrame:
    random = np.random.default_rng(3)
    shops = random.integers(0, 7, rows)
    return pd.DataFrame(
        {
            "shop": [f"shop {shop}" for shop in shops],
            "t": np.arange(rows) / 2,
            "y": shops + random.normal(size=rows),
        }
    )


def states(keyed: Any) -> dict[Any, bytes]:
    return {key: keyed[key].to_bytes() for key in keyed}


def by_key(build: Any, data: pd.DataFrame) -> dict[Any, bytes]:
    models: dict[Any, Any] = {}
    for shop, y in zip(data.shop, data.y.tolist(), strict=True):
        models.setdefault(shop, build()).learn_one(y)
    return {shop: model.to_bytes() for shop, model in models.items()}


@pytest.mark.parametrize("build", FORECASTERS.values(), ids=FORECASTERS)
def test_it_is_a_dict_of_forecasters(build: Any) -> None:
    data = sales()
    expected = by_key(build, data)
    forms: dict[str, Any] = {
        "pandas": data,
        "polars": pl.from_pandas(data),
        "arrow": pa.Table.from_pandas(data),
        "dicts": data[["shop"]].to_dict("records"),
    }
    for X in forms.values():
        keyed = compose.Keyed(build(), key="shop")
        assert keyed.learn_many(data.y.to_numpy(), X) == 0
        assert states(keyed) == expected
    one = compose.Keyed(build(), key="shop")
    for x, y in zip(data[["shop"]].to_dict("records"), data.y.tolist(), strict=True):
        one.learn_one(y, x)
    assert states(one) == expected
    halves = compose.Keyed(build(), key="shop")
    for part in (data[:151], data[151:]):
        halves.learn_many(part.y.tolist(), keys=part.shop.tolist())
    assert states(halves) == expected
    for key in one:
        assert one.forecast(5, key=key).tolist() == one[key].forecast(5).tolist()
    assert one.forecast_many(2, one.keys()).tolist() == [one[key].forecast(2).tolist() for key in one]
    assert one.forecast(2, key="unknown").tolist() == build().forecast(2).tolist()


def test_errors_are_those_one_step_ahead() -> None:
    data = sales()
    keyed = compose.Keyed(time_series.SeasonalNaive(), key="shop")
    keyed.learn_many(data.y.to_numpy(), data)
    expected = {shop: part.y.diff().abs().mean() for shop, part in data.groupby("shop")}
    totals = keyed.totals()
    assert dict(zip(totals["key"], totals["mean_error"], strict=True)) == pytest.approx(expected)
    assert keyed.most_surprising(1)[0][0] == max(expected, key=lambda shop: expected[shop])


@pytest.mark.parametrize("missing", [None, float("nan"), float("inf"), "x"])
def test_values_that_cannot_be_learned(missing: Any) -> None:
    build = FORECASTERS["seasons"]
    keyed = compose.Keyed(build(), key="shop")
    rows = [{"shop": shop} for shop in "aababb"]
    keyed.learn_many([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], rows)
    before = (keyed.to_bytes(), keyed.counters)
    ys = [7.0, missing, 9.0]
    with pytest.raises((ValueError, TypeError), match=r"row 1: .*y must be") as caught:
        keyed.learn_many(ys, keys=["a", "b", "c"])
    assert "\n" not in str(caught.value)
    assert (keyed.to_bytes(), keyed.counters) == before
    with pytest.raises((ValueError, TypeError), match="y must be"):
        keyed.learn_one(missing, {"shop": "b"})
    assert (keyed.to_bytes(), keyed.counters) == before
    stopped = keyed.copy()
    with pytest.raises((ValueError, TypeError), match="row 1"):
        stopped.learn_many(ys, keys=["a", "b", "c"], on_error="stop")
    assert (stopped["a"].learned, "c" in stopped) == (4, False)
    assert keyed.learn_many(ys, keys=["a", "b", "c"], on_error="skip") == 1
    alone = build()
    alone.learn_many([3.0, 5.0, 6.0])
    alone.skip_one()
    assert keyed["b"].to_bytes() == alone.to_bytes()
    other = compose.Keyed(build(), key="shop")
    other.learn_many([3.0, 5.0, 6.0], keys=["b"] * 3)
    other.skip_one({"shop": "b"})
    assert other["b"].to_bytes() == alone.to_bytes()


def test_wrong_calls_have_one_line() -> None:
    keyed = compose.Keyed(time_series.HoltWinters(0.3), key="shop", time="t", ttl=10)
    for call, words in (
        (lambda: keyed.learn_many([1.0]), "need X with a column 'shop'"),
        (lambda: keyed.learn_many([1.0], keys=["a", "b"]), "2 values for 1 rows"),
        (lambda: keyed.learn_many([1.0], keys=[None]), "the key is missing"),
        (lambda: keyed.learn_many([1.0], keys=[1.5]), "an integer or a string"),
        (lambda: keyed.learn_many([1.0], keys=["x" * 5000]), "up to 4096 bytes"),
        (lambda: keyed.learn_many([1.0], pd.DataFrame({"a": [1]})), "no column 'shop'"),
        (lambda: keyed.learn_one(1.0, {"t": 1.0}), "no column 'shop'"),
        (lambda: keyed.learn_one(1.0, {"shop": "a"}), "no column 't'"),
        (lambda: keyed.forecast(0, key="a"), "horizon must be"),
        (lambda: keyed.forecast(2.5, key="a"), "horizon must be"),
        (lambda: keyed.forecast(2, key=None), "the key is missing"),
        (lambda: keyed.__setitem__("a", time_series.HoltWinters(0.4)), "a model of the template is required"),
        (lambda: keyed.__setitem__("a", linear_model.LinearRegression()), "a model of the template is required"),
        (lambda: compose.Keyed(time_series.HoltWinters(0.3), key="k", prior="global"), "prior must be"),
        (lambda: compose.Keyed(drift.ADWIN(), key="k").update("x", key=1), "x must be"),
        (lambda: compose.Keyed(drift.ADWIN(), key="k").update_many([1.0, np.nan], keys=[1, 2]), "row 1"),
        (lambda: compose.Keyed(keyed, key="k"), "cannot be keyed again"),
    ):
        with pytest.raises((ValueError, TypeError, KeyError), match=words) as caught:
            call()
        assert "\n" not in str(caught.value), words
    assert len(keyed) == 0


def test_verbs_are_those_of_the_template() -> None:
    keyed = compose.Keyed(time_series.HoltWinters(0.3), key="shop")
    assert not any(hasattr(keyed, verb) for verb in ("predict_one", "predict_many", "step_one", "score_one"))
    assert repr(keyed).startswith("Keyed(HoltWinters(")
    assert isinstance(keyed.clone(), type(keyed))
    with pytest.raises(AttributeError, match="forecaster"):
        keyed.predict_one({})


@pytest.mark.parametrize("build", FORECASTERS.values(), ids=FORECASTERS)
def test_limits_dumps_and_copies(build: Any, tmp_path: Path) -> None:
    data = sales()
    whole = compose.Keyed(build(), key="shop")
    whole.learn_many(data.y.to_numpy(), data)
    keyed = compose.Keyed(build(), key="shop")
    for number, part in enumerate((data[:100], data[100:250], data[250:])):
        keyed.learn_many(part.y.to_numpy(), part)
        assert keyed.dump(tmp_path, position=number)["models"] > 0
        restored = compose.Keyed.load(tmp_path)
        assert (states(restored), restored.position) == (states(keyed), number)
    for other in (
        restored,
        compose.Keyed.from_bytes(keyed.to_bytes()),
        pickle.loads(pickle.dumps(keyed)),
        copy.deepcopy(keyed),
        keyed.copy(),
    ):
        assert type(other) is type(keyed)
        assert states(other) == states(whole)
        assert other.totals()["mean_error"].tolist() == whole.totals()["mean_error"].tolist()
        other.learn_one(5.0, {"shop": "shop 1"})
    assert states(keyed) == states(whole)
    few = compose.Keyed(build(), key="shop", max_keys=3)
    few.learn_many(data.y.to_numpy(), data)
    assert (len(few), few.counters["dropped"]) == (3, few.counters["created"] - 3)
    aged = compose.Keyed(build(), key="shop", time="t", ttl=1.0)
    aged.learn_many(data.y.to_numpy(), data)
    assert aged.counters["expired"] > 0
    spilled = compose.Keyed(build(), key="shop", max_bytes=9_000, spill=tmp_path / "spill")
    spilled.learn_many(data.y.to_numpy(), data)
    if spilled.counters["dropped"] == 0:
        assert states(spilled) == states(whole)
    keyed.save(tmp_path / "keyed.ms")
    assert states(millstream.load(tmp_path / "keyed.ms")) == states(whole)


@pytest.mark.parametrize("name", DETECTORS)
def test_it_is_a_dict_of_detectors(name: str) -> None:
    random = np.random.default_rng(5)
    keys = random.integers(0, 3, 3000)
    values = (random.random(3000) < np.where((keys == 1) & (np.arange(3000) > 1500), 0.9, 0.1)).astype(float)

    def build() -> Any:
        return millstream.build({"name": name})

    models: dict[int, Any] = {}
    expected = []
    for row, (key, value) in enumerate(zip(keys.tolist(), values.tolist(), strict=True)):
        model = models.setdefault(key, build())
        model.update(value)
        if model.drift_detected:
            expected.append(row)
    keyed = compose.Keyed(build(), key="sensor")
    found = np.concatenate([keyed.update_many(values[:1000], keys=keys[:1000]),
                            keyed.update_many(values[1000:], keys=keys[1000:]) + 1000])  # fmt: skip
    assert found.tolist() == expected
    assert states(keyed) == {key: model.to_bytes() for key, model in models.items()}
    assert compose.Keyed.from_bytes(keyed.to_bytes()).update(1.0, key=1) in (True, False)
    before = keyed.to_bytes()
    with pytest.raises(ValueError, match="row 2: key 1: "):
        keyed.update_many([0.0, 1.0, float("nan")], keys=[0, 1, 1])
    assert keyed.to_bytes() == before


def test_ctrl_c_leaves_all_series_as_they_were() -> None:
    import _thread
    import threading

    keyed = compose.Keyed(time_series.HoltWinters(0.3), key="k")
    values, keys = np.zeros(8_000_000), np.arange(8_000_000) % 1000
    keyed.learn_many(values[:5000], keys=keys[:5000])
    before = keyed.to_bytes()
    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        keyed.learn_many(values, keys=keys)
    assert keyed.to_bytes() == before
