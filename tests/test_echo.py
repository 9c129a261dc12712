"""Foreign values in messages: one line, of bounded length, printable; numbers that no float holds are refused."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream
from millstream import (
    cli,
    compose,
    drift,
    ensemble,
    evaluate,
    linear_model,
    losses,
    metrics,
    multiclass,
    notation,
    preprocessing,
    stats,
    stream,
    tree,
)
from millstream._echo import LONGEST, LONGEST_MESSAGE, fitting, plain, quoted, shortened, typed
from millstream.errors import InvalidValue, MillstreamError

ROW = {"a": 1.0}


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_values_are_shortened_in_the_middle() -> None:
    assert quoted("text") == "'text'"
    assert quoted("x" * 70_000) == f"'{'x' * 39}…{'x' * 18}'"
    assert len(quoted(list(range(1000)))) == LONGEST
    assert quoted(7) == "7"
    assert quoted(10**400) == f"1{'0' * 39}…{'0' * 19}"
    assert quoted(-(10**5000)) == "an int of about 5001 digits"
    assert quoted(Broken()) == "<Broken object>"
    assert quoted([10**5000]) == "<list object>"
    assert quoted(b"x" * 1000).startswith("b'xxx")
    assert typed(1.5) == "float 1.5"
    assert typed(None) == "None"
    assert typed(10**5000) == "an int of about 5001 digits"
    assert quoted(np.zeros((2, 2))) == "array([[0., 0.], [0., 0.]])"
    assert plain("a\x1b[31m\u202eb\nc", 40) == "a\\x1b[31m\\u202eb\\nc"


@given(st.text() | st.integers() | st.binary() | st.lists(st.text()), st.integers(1, 100))
def test_echoes_are_short_and_printable(value: Any, longest: int) -> None:
    words = quoted(value, longest)
    assert words.isprintable()
    assert len(words) <= max(longest, 40)
    assert plain(value, longest).isprintable()
    assert len(plain(value, longest)) <= longest
    assert len(shortened(str(value), longest)) <= longest
    assert quoted(value, 10**6) == repr(value) or "\n" in repr(value) or not repr(value).isprintable()


@given(st.text(max_size=3000))
def test_messages_fit_on_a_line(text: str) -> None:
    message = fitting(f"who: feature '{text}' must be good, got '{text}'")
    assert message.isprintable()
    assert len(message) <= LONGEST_MESSAGE
    assert message.startswith("who: feature '")


class Own(millstream.base.Classifier):
    def predict_one(self, x: Any) -> Any:
        return 0

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        pass


def logistic() -> Any:
    return linear_model.LogisticRegression()


def linear() -> Any:
    return linear_model.LinearRegression()


def objects(*values: Any) -> Any:
    return np.array(values, dtype=object)


TOO_LARGE: dict[str, Callable[[int], Any]] = {
    "weight": lambda n: logistic().learn_one(ROW, 1, w=n),
    "weight of a step": lambda n: logistic().step_one(ROW, 1, w=n),
    "value": lambda n: logistic().learn_one({"a": n}, 1),
    "name": lambda n: logistic().learn_one({n: 1.0}, 1),
    "label": lambda n: logistic().learn_one(ROW, n),
    "target": lambda n: linear().learn_one(ROW, n),
    "weights": lambda n: logistic().learn_many([ROW, ROW], [0, 1], w=[1, n]),
    "weights in an array": lambda n: logistic().learn_many([ROW, ROW], [0, 1], w=objects(1, n)),
    "weights in a series": lambda n: logistic().learn_many([ROW], [0], w=pandas.Series([n], dtype=object)),
    "values in dicts": lambda n: logistic().learn_many([{"a": n}], [0]),
    "values in a frame": lambda n: logistic().learn_many(pandas.DataFrame({"a": [n]}, dtype=object), [0]),
    "values in a matrix": lambda n: logistic().learn_many(objects(n, 1).reshape(1, 2), [0]),
    "values in lists": lambda n: logistic().learn_many([[n, 1]], [0]),
    "labels": lambda n: logistic().learn_many([ROW], [n]),
    "targets": lambda n: linear().learn_many([ROW], [n]),
    "targets in an array": lambda n: linear().learn_many([ROW], objects(n)),
    "value to predict": lambda n: logistic().predict_one({"a": n}),
    "values to predict": lambda n: logistic().predict_many([{"a": n}]),
    "metric": lambda n: metrics.MAE().update(n, 1.0),
    "weight of a metric": lambda n: metrics.MAE().update(1.0, 1.0, n),
    "label of a metric": lambda n: metrics.Accuracy().update(n, 1),
    "column of a metric": lambda n: metrics.MAE().update_many([n], [1.0]),
    "weights of a metric": lambda n: metrics.MAE().update_many([1.0], [1.0], [n]),
    "statistic": lambda n: stats.Mean().update(n),
    "weight of a statistic": lambda n: stats.Mean().update(1.0, n),
    "column of a statistic": lambda n: stats.Mean().update_many([n]),
    "detector": lambda n: drift.ADWIN().update(n),
    "parameter": lambda n: linear_model.LogisticRegression(l2=n),
    "whole parameter": lambda n: tree.HoeffdingTreeClassifier(grace_period=n),
    "described parameter": lambda n: millstream.build(
        {"name": "linear_model.LogisticRegression", "parameters": {"l2": n}}
    ),
    "weight of an example": lambda n: evaluate.prequential(logistic(), [(ROW, 0, n)], progress=False),
    "weights of a table": lambda n: evaluate.prequential(logistic(), ([[1.0]], [0], [n]), progress=False),
    "value of an example": lambda n: evaluate.prequential(logistic(), [({"a": n}, 0)], progress=False),
    "target of an example": lambda n: evaluate.prequential(linear(), [(ROW, n)], progress=False),
    "weight for Python": lambda n: evaluate.prequential(Own(), [(ROW, 0, n)], progress=False),
    "delay": lambda n: evaluate.prequential(logistic(), [(ROW, 0)], delay=n, progress=False),
    "window": lambda n: evaluate.prequential(logistic(), [(ROW, 0)], window=n, progress=False),
    "weight of a stream": lambda n: list(stream.from_examples([(ROW, 0, n)]).chunks()),
    "weight in training": lambda n: millstream.train(logistic(), [(ROW, 0, n), (ROW, 1)]),
    "scaler": lambda n: preprocessing.StandardScaler().learn_one({"a": n}),
    "weight of an ensemble": lambda n: ensemble.Bagging(Own(), n_models=2).learn_one(ROW, 0, w=n),
    "weight of one versus rest": lambda n: multiclass.OneVsRest(logistic()).learn_one(ROW, 0, w=n),
    "made value": lambda n: (compose.Func(lambda x: {"a": n}) | logistic()).learn_one(ROW, 0),
    "loss": lambda n: losses.Squared().value(n, 1.0),
}


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize("name", TOO_LARGE)
def test_integers_that_no_float_holds_are_refused_in_one_line(name: str, digits: int) -> None:
    with pytest.raises(MillstreamError) as found:
        TOO_LARGE[name](10**digits)
    words = str(found.value)
    assert "\n" not in words
    assert len(words) < 200
    assert any(got in words for got in (f"about {digits + 1} digits", "got inf", "0000…0000", "<list object>"))


def test_frames_of_large_integers_are_read_as_infinite() -> None:
    frame = pandas.DataFrame({"a": [10**400], "y": [1]}, dtype=object)
    rows = stream.from_pandas(frame, target="y")
    assert list(rows) == [({"a": float("inf")}, 1)]
    with pytest.raises(InvalidValue, match="feature 'a' must be finite"):
        evaluate.prequential(logistic(), rows, progress=False)


def taught() -> Any:
    model = logistic()
    model.learn_one(ROW, 1)
    return model


def csv(text: str, **options: Any) -> list[Any]:
    return list(stream.read_csv(io.BytesIO(text.encode()), **options))


TOO_LONG: dict[str, Callable[[str], Any]] = {
    "target": lambda s: linear().learn_one(ROW, s),
    "text for a number": lambda s: taught().learn_one({"a": s}, 1),
    "name": lambda s: logistic().learn_one({s: float("inf")}, 1),
    "name of an object": lambda s: logistic().learn_one({s: object()}, 1),
    "name in a batch": lambda s: logistic().learn_many([{s: float("inf")}], [1]),
    "name in a frame": lambda s: logistic().learn_many(pandas.DataFrame({s: [object()]}), [1]),
    "weight": lambda s: logistic().learn_one(ROW, 1, w=s),
    "weights": lambda s: logistic().learn_many([ROW], [1], w=[s]),
    "parameter": lambda s: linear_model.LogisticRegression(l2=s),  # type: ignore[arg-type]
    "choice": lambda s: tree.HoeffdingTreeClassifier(leaf_prediction=s),
    "described name": lambda s: millstream.build({"name": s}),
    "described parameter": lambda s: millstream.build(
        {"name": "linear_model.LogisticRegression", "parameters": {s: 1}}
    ),
    "role": lambda s: millstream.find(role=s),
    "notation": lambda s: notation.parse(s),
    "path": lambda s: stream.open(s),
    "path of a model": lambda s: millstream.load(s),
    "column": lambda s: csv("a,b\n1,2\n", target=s),
    "columns": lambda s: csv(f"{s},{s}2,{s}3\n1,2,3\n", target="q"),
    "key": lambda s: list(stream.read_csv(io.BytesIO(b"a,b\n1,2\n")).split(s).chunks()),
    "value in a file": lambda s: csv(f"a,b\n1,2\n{s},3\n", types={"a": "number"}),
    "name in a file": lambda s: csv(f"{s},b\n1,2\nx,3\n", types={s: "number"}),
    "metric": lambda s: evaluate.prequential(logistic(), [(ROW, 0)], s, progress=False),
    "third label": lambda s: logistic().learn_many([ROW] * 3, ["a", s + "1", s + "2"]),
    "step": lambda s: (preprocessing.StandardScaler() | logistic())[s],
    "label in VW": lambda s: list(stream.read_vw(io.BytesIO(f"{s} |a b\n".encode())).chunks()),
    "value in libsvm": lambda s: list(stream.read_libsvm(io.BytesIO(f"1 1:{s}\n".encode())).chunks()),
    "attribute": lambda s: list(
        stream.read_arff(io.BytesIO(f"@relation r\n@attribute '{s}' {s}\n@data\n".encode())).chunks()
    ),
    "nominal values": lambda s: list(
        stream.read_arff(io.BytesIO(f"@relation r\n@attribute a {{{s},b}}\n@data\nc\n".encode())).chunks()
    ),
    "query": lambda s: list(stream.read_sql(f"select {s}", sqlite3.connect(":memory:")).chunks()),
    "detector": lambda s: drift.ADWIN().update(s),
}


@pytest.mark.parametrize("text", ["x" * 70_000, "wörd-\x1b[2J\u202e" * 7_000], ids=["plain", "hostile"])
@pytest.mark.parametrize("name", TOO_LONG)
def test_long_values_are_not_echoed_whole(name: str, text: str) -> None:
    with pytest.raises(MillstreamError) as found:
        TOO_LONG[name](text)
    assert len(str(found.value)) < 420
    assert str(found.value).isprintable()


def test_reasons_of_skipped_rows_are_short() -> None:
    text = f'{{"a": 1, "y": 0}}\n{{"a": "{"x" * 70_000}", "y": 0}}\n'
    rows = stream.read_json_lines(io.BytesIO(text.encode()), target="y", on_error="skip")
    assert len(list(rows)) == 1
    assert len(str(rows.skipped)) < 200


@pytest.mark.parametrize("text", ["x" * 70_000, "wörd-\x1b[2J\u202e" * 7_000], ids=["plain", "hostile"])
def test_long_labels_in_tables_are_short(text: str) -> None:
    matrix = metrics.ConfusionMatrix()
    matrix.update(text, "b")
    y = ["b", text] * 10
    result = evaluate.prequential(logistic(), ([ROW] * 20, y), ["F1"], progress=False)
    for shown in (repr(matrix), str(result.confusion), repr(result)):
        assert len(shown) < 500
        assert "\x1b" not in shown
    assert matrix[text] == {text: 0.0, "b": 1.0}


def test_long_keywords_and_paths_are_short() -> None:
    name = "q" * 70_000
    for call in (
        lambda: linear_model.LogisticRegression(**{name: 1}),
        lambda: logistic().clone(**{name: 1}),
        lambda: metrics.F1(**{name: 1}),
    ):
        with pytest.raises(TypeError, match="unexpected keyword argument 'qqq") as found:
            call()
        assert len(str(found.value)) < 200
    with pytest.raises(OSError, match="File name too long") as failure:
        logistic().save(name)
    assert len(str(failure.value)) < 400


def test_a_long_path_on_the_command_line_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "q" * 70_000]) == 1
    assert len(capsys.readouterr().err) < 400


def test_a_parameter_that_is_too_large_must_fit_in_its_own_type() -> None:
    assert linear_model.LogisticRegression(l2=10**305).l2 == 1e305
    for value in (10**400, -(10**400)):
        with pytest.raises(InvalidValue, match=r"LogisticRegression: l2 must fit in a float, got int -?1000"):
            linear_model.LogisticRegression(l2=value)
    with pytest.raises(InvalidValue, match="Bagging: seed must fit in 64 bits, got int 1000"):
        ensemble.Bagging(logistic(), seed=10**400)
