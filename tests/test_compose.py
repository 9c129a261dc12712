"""Pipelines, unions, selections and functions: native, in Python, and mixed."""

from __future__ import annotations

import copy
import math
import pickle
import random
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import base, compose, linear_model, preprocessing
from millstream._native import Native
from millstream.compose import Drop, Func, Pipeline, Select, Union
from millstream.errors import InvalidType, InvalidValue, NumericOverflow, UnknownName


def flights(n: int = 120, seed: int = 3) -> list[tuple[dict[str, Any], bool]]:
    draw = random.Random(seed)
    stream = []
    for _ in range(n):
        x = {"carrier": draw.choice(["UA", "DL", "AA"]), "distance": draw.gauss(5, 2), "hour": draw.random()}
        stream.append((x, x["carrier"] == "UA" or x["distance"] > 6))
    return stream


def double(x: Any) -> dict[Any, Any]:
    return {key: 2 * value if isinstance(value, float) else value for key, value in x.items()}


class Halver(base.Transformer):
    def __init__(self) -> None:
        self.seen = 0

    def learn_one(self, x: Any) -> None:
        self.seen += 1

    def transform_one(self, x: Any) -> dict[Any, Any]:
        return {key: value / 2 if isinstance(value, float) else value for key, value in x.items()}


def everything() -> Any:
    numbers = Select(kind="number") | preprocessing.StandardScaler()
    return (numbers + (Select("carrier") | preprocessing.OneHotEncoder())) | linear_model.LogisticRegression()


def test_ways_to_write_a_pipeline() -> None:
    scaler, model = preprocessing.StandardScaler, linear_model.LogisticRegression
    written = [
        scaler() | model(),
        Pipeline(scaler(), model()),
        Pipeline([scaler(), model()]),
        Pipeline((scaler(), model())),
        Pipeline("preprocessing.StandardScaler", {"name": "linear_model.LogisticRegression"}),
        Pipeline(Pipeline(scaler()), model()),
    ]
    assert len({str(pipeline.describe()) for pipeline in written}) == 1
    assert all(isinstance(pipeline, Native) and isinstance(pipeline, Pipeline) for pipeline in written)
    assert [repr(pipeline) for pipeline in written] == ["StandardScaler() | LogisticRegression()"] * 6
    named = Pipeline(("scale", scaler()), ("learn", model()))
    assert named.names == ["scale", "learn"]
    assert repr(named) == "Pipeline(('scale', StandardScaler()), ('learn', LogisticRegression()))"
    again = millstream.build(named.describe())
    assert again.names == ["scale", "learn"]
    assert millstream.from_bytes(named.to_bytes()).names == ["scale", "learn"]


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (lambda: Pipeline(), InvalidValue, "needs at least one step"),
        (lambda: Pipeline(3), InvalidType, "a component must be a model, a function or a description, got 3"),
        (lambda: Pipeline(preprocessing.StandardScaler), InvalidType, r"write StandardScaler\(\)"),
        (lambda: linear_model.LogisticRegression() | preprocessing.StandardScaler(), InvalidType, "only the last"),
        (lambda: linear_model.LogisticRegression() | double, InvalidType, "only the last step may be a learner"),
        (lambda: double | linear_model.LogisticRegression() | Halver(), InvalidType, "only the last"),
        (
            lambda: Pipeline("preprocessing.StandardScalar"),
            UnknownName,
            "did you mean 'preprocessing.StandardScaler'",
        ),
        (lambda: Pipeline(Halver(), names=["a", "b"]), InvalidValue, "one for each of 1 steps"),
        (lambda: Pipeline(preprocessing.StandardScaler(), names=["a", "b"]), InvalidValue, "one for each of 1"),
        (lambda: Union(), InvalidValue, "needs at least one part"),
        (lambda: Halver() + linear_model.LogisticRegression(), InvalidType, "parts must be transformers"),
        (lambda: preprocessing.StandardScaler() + linear_model.LogisticRegression(), InvalidValue, "transformer"),
        (lambda: Select(), InvalidValue, "needs names, a kind or a pattern"),
        (lambda: Select(kind="colour"), InvalidValue, "kind must be one of number, nominal"),
        (lambda: Func(3), InvalidType, "function must be callable"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_composed(wrong: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        wrong()


def test_parts_that_have_learned_are_not_silently_forgotten() -> None:
    scaler = preprocessing.StandardScaler()
    scaler.learn_one({"x": 1.0})
    for compose_them in (
        lambda: scaler | linear_model.LogisticRegression(),
        lambda: scaler + preprocessing.MinMaxScaler(),
        lambda: (scaler + preprocessing.MinMaxScaler()) | linear_model.LogisticRegression(),
    ):
        with pytest.raises(InvalidValue, match=r"has already learned 1 examples.*clone\(\)"):
            compose_them()
    # In Python the part itself is kept, with what it has learned.
    mixed = scaler | Func(double)
    assert mixed.transform_one({"x": 5.0}) == {"x": 0.0}
    assert mixed.steps[0] is scaler
    (scaler.clone() | linear_model.LogisticRegression()).learn_one({"x": 1.0}, True)


def test_steps_come_as_copies_that_have_learned() -> None:
    model = everything()
    for x, y in flights():
        model.learn_one(x, y)
    assert model.names == ["Union", "LogisticRegression"]
    union, learner = model.steps
    assert repr(model[0]) == repr(union) == repr(model["Union"])
    assert learner.learned == model.learned
    assert learner.classes == model.classes
    x = {"carrier": "UA", "distance": 7.0, "hour": 0.5}
    assert learner.predict_proba_one(union.transform_one(x)) == pytest.approx(
        model.predict_proba_one(x), rel=1e-12
    )
    scaler = union[0]["StandardScaler"]
    values = np.array([x["distance"] for x, _ in flights()])
    assert scaler.inspect()["features"]["distance"]["mean"] == pytest.approx(values.mean())
    before = model.to_bytes()
    learner.learn_one({"distance": 1.0}, True)
    assert model.to_bytes() == before
    with pytest.raises(UnknownName, match="did you mean 'LogisticRegression'"):
        model["LogisticRegresion"]
    with pytest.raises(IndexError):
        model[2]
    assert [type(step).__name__ for step in model] == ["Union", "LogisticRegression"]
    assert len(model) == 2
    assert repr(model[-1]) == "LogisticRegression()"


def test_union_by_hand() -> None:
    union = preprocessing.MinMaxScaler() + preprocessing.MaxAbsScaler()
    for x in (2.0, 6.0):
        union.learn_one({"x": x})
    assert union.transform_one({"x": 3.0}) == {"x": 0.25, "MaxAbsScaler_x": 0.5}
    union.learn_one({"x": 6.0, "late": 4.0})
    assert list(union.transform_one({"x": 3.0, "late": 1.0})) == [
        "x",
        "MaxAbsScaler_x",
        "late",
        "MaxAbsScaler_late",
    ]
    named = Union(("low", preprocessing.MinMaxScaler()), ("top", preprocessing.MaxAbsScaler()))
    named.learn_one({"x": 3.0})
    assert named.transform_one({"x": 3.0}) == {"x": 0.0, "top_x": 1.0}
    assert repr(named) == "Union(('low', MinMaxScaler()), ('top', MaxAbsScaler()))"
    three = preprocessing.MinMaxScaler() + preprocessing.MaxAbsScaler() + preprocessing.StandardScaler()
    assert len(three) == 3


def test_union_with_python_parts_gives_what_the_native_one_gives() -> None:
    native = preprocessing.MinMaxScaler() + preprocessing.MaxAbsScaler()

    class Own(preprocessing.MaxAbsScaler):
        pass

    mixed = Union(preprocessing.MinMaxScaler(), ("MaxAbsScaler", Own()))
    assert isinstance(native, Native)
    assert not isinstance(mixed, Native)
    draw = random.Random(2)
    for row in range(60):
        x = {"a": draw.gauss(0, 1), "b": draw.random()}
        if row > 20:
            x["c"] = draw.random()
        if row % 5 == 0:
            del x["a"]
        native.learn_one(x)
        mixed.learn_one(x)
        assert native.transform_one(x) == mixed.transform_one(x)


def test_wide_unions_are_sparse_inside_and_the_same_outside() -> None:
    draw = random.Random(5)
    rows = [{"c": f"v{draw.randint(0, 150)}", "n": draw.random(), "m": draw.random()} for _ in range(400)]
    parts = Select(kind="number") + (Select("c") | preprocessing.OneHotEncoder())
    for x in rows:
        parts.learn_one(x)
    names = parts.inspect()["output"]
    z = parts.transform_one(rows[0])
    assert list(z) == names
    assert {k: v for k, v in z.items() if v} == {f"c_{rows[0]['c']}": 1.0, "n": rows[0]["n"], "m": rows[0]["m"]}
    gone = parts.transform_one({"c": rows[0]["c"], "n": 0.5})
    assert {k: v for k, v in gone.items() if v} == {f"c_{rows[0]['c']}": 1.0, "n": 0.5}
    assert "m" not in gone


def test_union_of_passed_through_nominal_features_keeps_their_values() -> None:
    union = Select(kind="nominal") + preprocessing.StandardScaler()
    for c in "uvw":
        union.learn_one({"c": c, "n": 1.0})
    assert union.transform_one({"c": "v", "n": 1.0}) == {"c": "v", "StandardScaler_c": "v", "n": 0.0}


def test_selections() -> None:
    x = {"a": 1.0, "lag_1": 2.0, "lag_22": 3.0, "c": "u", 7: 4.0}
    cases: list[tuple[Any, list[Any]]] = [
        (Select("a", 7), ["a", 7]),
        (Select(["a", "c"]), ["a", "c"]),
        (Select({"c", "a"}), ["a", "c"]),
        (Select(pattern="lag_*"), ["lag_1", "lag_22"]),
        (Select(pattern="lag_?"), ["lag_1"]),
        (Select(kind="nominal"), ["c"]),
        (Select("a", kind="nominal"), ["a", "c"]),
        (Drop("a", pattern="lag*"), ["c", 7]),
        (Drop(kind="number"), ["c"]),
        (Drop("c"), ["a", "lag_1", "lag_22", 7]),
    ]
    for part, names in cases:
        assert list(part.transform_one(x)) == names, part
        part.learn_one(x)
        assert list(part.transform_one(x)) == names, part
        again = millstream.build(part.describe())
        assert again.describe() == part.describe()
        assert repr(again) == repr(part)
        assert repr(part.clone()) == repr(part)
    assert repr(Select("a", 7, kind="number")) == "Select('a', 7, kind='number')"


def test_selection_keeps_places_when_a_kind_becomes_known_late() -> None:
    model = Select(kind="number") | linear_model.LogisticRegression()
    model.learn_one({"a": None, "b": 1.0}, True)
    model.learn_one({"a": 2.0, "b": 1.0}, False)
    assert model[0].inspect() == {"output": ["b", "a"]}
    again = millstream.from_bytes(model.to_bytes())
    x = {"a": 3.0, "b": 0.5}
    assert again.predict_proba_one(x) == model.predict_proba_one(x)


def test_selecting_behind_an_encoder_follows_values_as_they_come() -> None:
    model = preprocessing.OneHotEncoder() | Select("c_w", "n") | preprocessing.StandardScaler()
    for c in ("u", "v", "w", "u", "w"):
        model.learn_one({"c": c, "n": 1.0})
    assert list(model.transform_one({"c": "w", "n": 1.0})) == ["n", "c_w"]
    again = millstream.from_bytes(model.to_bytes())
    assert again.transform_one({"c": "w", "n": 1.0}) == model.transform_one({"c": "w", "n": 1.0})


def test_a_refusal_is_taken_back_by_all_parts_of_a_native_model() -> None:
    model = everything()
    for x, y in flights(40):
        model.learn_one(x, y)
    before = model.to_bytes()
    with pytest.raises(NumericOverflow):
        model.learn_one({"carrier": "new", "distance": 1e308, "fresh": 1.0}, True, w=1e10)
    assert model.to_bytes() == before
    for x, y in flights(10, seed=9):
        model.learn_one(x, y)


def test_native_parts_behind_a_function_learn_what_they_learn_alone() -> None:
    alone = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    mixed = double | preprocessing.StandardScaler() | linear_model.LogisticRegression()
    assert repr(mixed) == "Func(double) | StandardScaler() | LogisticRegression()"
    assert mixed.role == "classifier"
    for x, y in flights():
        assert mixed.predict_proba_one(x) == alone.predict_proba_one(double(x))
        assert mixed.step_one(x, y, proba=True) == alone.step_one(double(x), y, proba=True)
        assert mixed.predict_one(x) == alone.predict_one(double(x))
        assert mixed.score_one(x) == alone.score_one(double(x))
    # The native steps are one compiled segment.
    assert len(mixed._segments) == 2
    assert mixed.names == ["double", "StandardScaler", "LogisticRegression"]
    assert mixed["StandardScaler"].inspect() == alone["StandardScaler"].inspect()
    assert mixed.learned == 120


def test_many_rows_of_a_python_pipeline_are_one_row_many_times() -> None:
    pandas = pytest.importorskip("pandas")
    stream = flights()
    frame, y = pandas.DataFrame([x for x, _ in stream]), [y for _, y in stream]
    one = double | preprocessing.StandardScaler() | linear_model.LogisticRegression()
    many = one.clone()
    said = [one.step_one(x, target) for x, target in stream]
    assert many.step_many(frame, y).tolist() == said
    assert many.predict_many(frame).tolist() == [one.predict_one(x) for x, _ in stream]
    np.testing.assert_array_equal(
        many.predict_proba_many(frame)[:, 0],
        [one.predict_proba_one(x)[one[-1].classes[0]] for x, _ in stream],
    )
    transformer = double | preprocessing.StandardScaler()
    transformer.learn_many(frame)
    table = transformer.transform_many(frame)
    assert table.iloc[5].to_dict() == transformer.transform_one(stream[5][0])


def test_a_refusal_is_taken_back_by_native_steps_of_a_python_pipeline() -> None:
    halver = Halver()
    model = Pipeline(
        preprocessing.StandardScaler(),
        preprocessing.OneHotEncoder(),
        halver,
        preprocessing.MinMaxScaler(),
        double,
        linear_model.LogisticRegression(),
    )
    for x, y in flights(30):
        model.learn_one(x, y)
    before = [step.to_bytes() for step in model.steps if isinstance(step, Native)]
    for bad in ({"y": "a third class"}, {"y": None}):
        with pytest.raises((ValueError, TypeError)):
            model.learn_one({"carrier": "new", "distance": 3.0, "fresh": 2.0}, **bad)
    with pytest.raises(ValueError, match="finite"):
        model.learn_one({"carrier": "UA", "distance": math.inf}, True)
    assert [step.to_bytes() for step in model.steps if isinstance(step, Native)] == before
    assert model.learned == 30
    for x, y in flights(30, seed=8):
        model.learn_one(x, y)


def test_python_pipelines_copy_clone_and_pickle() -> None:
    model = double | preprocessing.StandardScaler() | Halver() | linear_model.LogisticRegression()
    for x, y in flights(50):
        model.learn_one(x, y)
    x = flights(1, seed=77)[0][0]
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.copy()):
        assert other.predict_proba_one(x) == model.predict_proba_one(x)
        said = model.predict_proba_one(x)
        other.learn_one(x, True)
        assert model.predict_proba_one(x) == said
        assert repr(other) == repr(model)
        assert other.learned == 51
    fresh = model.clone()
    assert fresh.learned == 0
    assert fresh["Halver"].seen == 0
    assert fresh.predict_one(x) is None
    with pytest.raises(InvalidType, match="pickle"):
        model.describe()
    with pytest.raises(InvalidType, match="pickle"):
        model.to_bytes()
    assert model.memory > sum(step.memory for step in model.steps if isinstance(step, Native))


def test_a_function_may_give_a_single_value() -> None:
    def area(x: Any) -> float:
        return float(x["w"] * x["h"])

    union = Func(area) + Select("w")
    union.learn_one({"w": 2.0, "h": 3.0})
    assert union.transform_one({"w": 2.0, "h": 3.0}) == {"area": 6.0, "w": 2.0}
    assert (Select("w") + area).transform_one({"w": 2.0, "h": 3.0}) == {"w": 2.0, "area": 6.0}


def test_names_that_come_from_river() -> None:
    assert compose.Discard is Drop
    assert compose.FuncTransformer is Func
    assert compose.TransformerUnion is Union


def test_parts_of_river_fit_in_a_pipeline() -> None:
    river = pytest.importorskip("river.preprocessing")
    model = Pipeline(river.MinMaxScaler(), linear_model.LogisticRegression())
    alone = preprocessing.MinMaxScaler() | linear_model.LogisticRegression()
    for x, y in flights():
        x = {k: v for k, v in x.items() if k != "carrier"}
        assert model.step_one(x, y, proba=True) == pytest.approx(alone.step_one(x, y, proba=True))


def test_weights_reach_the_last_step() -> None:
    twice, heavy = (double | linear_model.LogisticRegression() for _ in range(2))
    for x, y in flights(20):
        heavy.learn_one(x, y, w=2.0)
        twice.learn_one(x, y)
    assert heavy.predict_proba_one(x) != twice.predict_proba_one(x)
    before = pickle.dumps(heavy)
    heavy.learn_one(x, y, w=0.0)
    assert pickle.dumps(heavy) == before
