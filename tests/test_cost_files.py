"""Costs of classes in Vowpal Wabbit's text: rows, examples with features of classes, writers, and bad input."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from millstream import cost_sensitive, feature_extraction, linear_model, stream
from millstream.errors import InvalidType, InvalidValue

LINES = "1:0.5 2:1 3 'first |a x:2 y\n2:-1.5 |a x:3\n|a y\n"


def costs_of(text: str, **options: Any) -> Any:
    return stream.read_vw(io.StringIO(text), labels="costs", **options)


def test_rows_by_hand() -> None:
    (rows,) = costs_of(LINES, constant=False).chunks()
    assert rows.classes == [1, 2, 3]
    np.testing.assert_array_equal(rows.costs, [[0.5, 1, np.nan], [np.nan, -1.5, np.nan], [np.nan] * 3])
    assert (rows.tags, len(rows)) == (["first", "", ""], 3)
    x, y = stream.hash_feature("x", "a"), stream.hash_feature("y", "a")
    examples = list(costs_of(LINES, constant=False))
    assert examples == [({x: 2.0, y: 1.0}, {1: 0.5, 2: 1.0}), ({x: 3.0}, {2: -1.5}), ({y: 1.0}, {})]


def test_features_are_those_of_other_labels() -> None:
    options: dict[str, Any] = {"bits": 10, "interactions": ["ab"], "names": True}
    text = "1 |a x:2 y |b u v\n1 |a x |b u\n"
    (plain,) = stream.read_vw(io.StringIO(text), **options).chunks()
    reader = costs_of(text.replace("1 |", "1:2 |"), **options)
    (rows,) = reader.chunks()
    assert rows.X.indices.tolist() == plain.X.indices.tolist()
    assert rows.X.values.tolist() == plain.X.values.tolist()
    model = cost_sensitive.CostRegression(linear_model.LinearRegression("adaptive"))
    model.learn_many(rows.X, rows.costs, classes=rows.classes)
    assert "a^x × b^u" in model.members[1].weights
    assert reader.feature_names.collisions == {}


def test_many_rows_in_parallel_blocks_are_in_order(tmp_path: Any) -> None:
    path = tmp_path / "costs.vw"
    lines = [f"{row % 7}:{row} {7 + row % 5}:{-row} |f {row % 100}:{row + 1} z\n" for row in range(120_000)]
    path.write_text("".join(lines))
    row = 0
    for rows in stream.read_vw(path, labels="costs", constant=False).chunks():
        known = ~np.isnan(rows.costs)
        assert (known.sum(1) == 2).all()
        assert np.nanmax(rows.costs, axis=1).tolist() == list(range(row, row + len(rows)))
        row += len(rows)
    assert row == len(lines)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("x:1 |a", "integer class, got 'x:1'"),
        ("-1:1 |a", "integer class"),
        ("1.5:1 |a", "integer class"),
        ("1:nan |a", "a cost must be a finite number, got '1:nan'"),
        ("1:inf |a", "finite number"),
        ("1: |a", "finite number"),
        ("1:1:1 |a", "finite number"),
        ("1:1 1:2 |a", "a class must be listed once, got 1 twice"),
        ("99999999999:1 |a", "integer class"),
        ("shared |a", "by_class=True"),
        ("1:1 'tag 2:2 |a", "last word before the bar"),
        ("1:1 a", "a line must have a bar"),
        ("1:1 |a x:nan", "a value must be finite"),
    ],
)
def test_a_bad_line_is_refused_or_skipped(line: str, words: str) -> None:
    text = f"1:1 |a x\n{line}\n2:2 |a y\n"
    with pytest.raises(InvalidValue, match="line 2") as refused:
        list(costs_of(text))
    assert words in str(refused.value)
    reader = costs_of(text, on_error="skip")
    (rows,) = reader.chunks()
    assert (rows.classes, np.nansum(rows.costs)) == ([1, 2], 3.0)
    assert reader.skipped.count == 1


def test_options_that_do_not_fit() -> None:
    with pytest.raises(InvalidValue, match="by_class must be False with labels='auto'"):
        stream.read_vw(io.StringIO(""), by_class=True)
    with pytest.raises(InvalidValue, match="there are no rows"):
        list(costs_of(""))
    with pytest.raises(InvalidValue, match="there are no examples"):
        list(costs_of("", by_class=True))
    with pytest.raises(InvalidValue, match="labels must be"):
        stream.write_vw([], io.StringIO(), labels="cost")


GROUPS = """shared |u age:2
1:0.5 't |i price:3 red
2:1 |i price:-1

7:0 |i:2 red
3 |i price
"""


def test_examples_by_hand() -> None:
    assert list(costs_of(GROUPS, by_class=True)) == [
        ({1: {"u^age": 2, "i^price": 3, "i^red": 1}, 2: {"u^age": 2, "i^price": -1}}, {1: 0.5, 2: 1}),
        ({7: {"i^red": 2}, 3: {"i^price": 1}}, {7: 0}),
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1:1 |a", "1 twice"),
        ("shared |a", "must be the first"),
        ("x |a", "'shared' or class:cost"),
        ("2:inf |a", "a cost must be a finite number"),
        ("2:1 3:1 |a", "one class"),
        ("2:1 |a x:y", "the value of a feature"),
        ("2:1 |a:z x", "the scale of a namespace"),
        ("2:1 a", "a bar"),
    ],
)
def test_a_bad_example_is_refused_or_skipped(line: str, words: str) -> None:
    text = f"1:0 |a x\n\n1:1 |a x\n{line}\n\n1:2 |a x\n"
    with pytest.raises(InvalidValue, match="example from line 3") as refused:
        list(costs_of(text, by_class=True))
    assert words in str(refused.value)
    reader = costs_of(text, by_class=True, on_error="skip")
    assert [costs for _, costs in reader] == [{1: 0.0}, {1: 2.0}]
    assert reader.skipped.count == 1


@pytest.mark.parametrize(
    "model",
    [
        cost_sensitive.CostRegression(linear_model.LinearRegression("adaptive"), by_class=True),
        cost_sensitive.PairwiseCosts(linear_model.LogisticRegression("adaptive"), by_class=True),
    ],
    ids=["regression", "pairwise"],
)
def test_models_learn_examples_of_a_file(model: Any) -> None:
    model = model.clone()
    random = np.random.default_rng(3)
    made = []
    for _ in range(300):
        x = {label: {"i^u": float(u), "i^v": 1.0} for label, u in enumerate(random.normal(size=3).round(3))}
        made.append((x, {label: x[label]["i^u"] + 2.0 for label in x}))
    file = io.StringIO()
    assert stream.write_vw(made, file, labels="costs", by_class=True) == 300
    read = list(costs_of(file.getvalue(), by_class=True))
    assert read == made
    for x, costs in read:
        model.learn_one(x, costs)
    assert np.mean([model.predict_one(x) == min(costs, key=costs.__getitem__) for x, costs in read]) > 0.95


def test_written_costs_are_read_again() -> None:
    made = [({"a^x": 0.1, "y": -2.0}, {1: 1 / 3, 4: -1e-9}), ({"word": "low"}, {})]
    file = io.StringIO()
    stream.write_vw(made, file, labels="costs")
    assert file.getvalue().split("\n")[0] == f"1:{1 / 3!r} 4:-1e-09 | y:-2.0 |a x:0.1"
    (rows,) = costs_of(file.getvalue(), constant=False).chunks()
    assert rows.costs[0].tolist() == [1 / 3, -1e-9]
    assert sorted(rows.X.values.tolist()) == [-2.0, 0.1, 1.0]


@pytest.mark.parametrize(
    ("example", "words"),
    [
        (({"a b": 1.0}, {1: 1}), "no space"),
        (({"a": 1.0}, {"x": 1}), "a class must be an int"),
        (({"a": 1.0}, {True: 1}), "a class must be an int"),
        (({"a": 1.0}, {1: float("nan")}), "must be finite"),
        (({"a": None}, {1: 1}), "must be a number"),
        ({"a": 1.0}, "two dicts"),
    ],
)
def test_a_bad_example_is_not_written(example: Any, words: str) -> None:
    with pytest.raises((InvalidType, InvalidValue), match=words):
        stream.write_vw([example], io.StringIO(), labels="costs")
    with pytest.raises((InvalidType, InvalidValue)):
        stream.write_vw([example], io.StringIO(), labels="costs", by_class=True)


def test_words_of_hashed_columns() -> None:
    words = feature_extraction.HashingVectorizer(8, names=True, norm=None, alternate_sign=False)
    plain = feature_extraction.HashingVectorizer(8, norm=None, alternate_sign=False)
    texts = ["win money now", "lunch at noon", "see you at lunch"]
    rows = words.transform_many(texts)
    assert rows.indices.tolist() == plain.transform_many(texts).indices.tolist()
    names = words.feature_names
    assert names is not None
    assert sorted(word for column in names for word in names.of(column)) == sorted({*" ".join(texts).split()})
    assert names.collisions
    assert all(len(shared) > 1 for shared in names.collisions.values())
    small = feature_extraction.HashingVectorizer(names=100)
    small.transform_many(texts)
    assert small.feature_names is not None
    assert small.feature_names.unnamed > 0
    with pytest.raises(InvalidValue, match="HashingVectorizer: names must be True, False"):
        feature_extraction.HashingVectorizer(names=-1)


def test_more_classes_than_a_table_has_room_for_are_refused() -> None:
    labels = " ".join(f"{label}:1" for label in range(1, 10_002))
    rows = stream.read_vw(io.StringIO(f"{labels} | a\n"), labels="costs")
    with pytest.raises(InvalidValue, match="supports up to 10,000 classes in a block of rows, got 10,001"):
        list(rows.chunks())


def test_wrong_labels_name_all_forms():
    for labels in ("cost", None, ["costs"]):
        with pytest.raises(
            InvalidValue, match="labels must be 'auto', 'class', 'number', 'costs' or 'actions', got"
        ):
            stream.read_vw("rows.vw", labels=labels)
