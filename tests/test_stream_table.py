"""Readers of Arrow tables: kinds of columns, what is taken out of the features, rows that are set aside."""

import datetime

import pyarrow as arrow
import pytest

from millstream.errors import InvalidType, InvalidValue, UnknownName
from millstream.stream.table import Fault, Piece, TableStream


class Tables(TableStream):
    source = "here"

    def __init__(self, *given, **options):
        super().__init__(**options)
        self.given = given

    def tables(self):
        yield from self.given


def first():
    return arrow.table(
        {
            "a": [1, 2, 3],
            "c": ["x", None, "y"],
            "n": arrow.nulls(3),
            "t": ["2020-01-01", "2020-01-01T00:00:01Z", "2021-01-01 10:00"],
            "y": ["u", "v", "u"],
        }
    )


def second():
    return arrow.table(
        {
            "a": [1.5, 2, None],
            "c": ["x", None, "z"],
            "n": ["k", "l", None],
            "t": ["2020-01-01", "soon", None],
            "y": ["u", None, "u"],
        }
    )


def test_kinds_are_found_in_the_first_rows_or_stated():
    stream = Tables(first(), second(), target="y", types={"t": "time"}, on_error="skip")
    assert stream.schema == {"a": "number", "c": "nominal", "n": "unknown", "t": "time"}
    rows = list(stream)
    assert stream.schema["n"] == "nominal"
    assert [y for _, y in rows] == ["u", "v", "u", "u", "u"]
    assert rows[1][0]["t"] == datetime.datetime(2020, 1, 1, 0, 0, 1, tzinfo=datetime.UTC).timestamp()
    assert rows[4][0]["c"] == "z"
    assert len(stream.skipped) == 1
    assert stream.skipped.reasons == ["here, row 4, column 't': must be a time, got 'soon'"]
    assert str(stream.skipped).startswith("1 row skipped: here, row 4")


def test_the_rows_before_an_error_are_given():
    chunks = Tables(first(), second(), target="y").chunks()
    assert [len(next(chunks)), len(next(chunks))] == [3, 1]
    with pytest.raises(
        InvalidValue, match=r"^here, row 4, column 'y': the target must not be missing, got nothing$"
    ):
        next(chunks)


def test_each_pass_counts_anew():
    stream = Tables(first(), second(), target="y", on_error="skip")
    for _ in range(2):
        assert len(list(stream)) == 5
        assert stream.set_aside.count == stream.skipped.count == 1


def test_only_the_first_reasons_are_kept():
    bad = arrow.table({"a": ["q"] * 1000, "y": [0] * 1000})
    stream = Tables(arrow.table({"a": [1], "y": [0]}), bad, target="y", on_error="skip")
    assert len(list(stream)) == 1
    assert stream.skipped.count == 1000
    assert len(stream.skipped.reasons) == 5
    assert str(stream.skipped).endswith("; …")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "late_"}, "here: there is no column 'late_' for target, did you mean 'late'?"),
        ({"weight": "zzz"}, "here: there is no column 'zzz' for weight; there are 'a', 'late'"),
        ({"drop": ["aa"]}, "here: there is no column 'aa' to drop, did you mean 'a'?"),
        ({"types": {"aa": "number"}}, "here: there is no column 'aa' of types, did you mean 'a'?"),
    ],
)
def test_a_name_that_is_not_there(options, words):
    with pytest.raises(UnknownName) as error:
        list(Tables(arrow.table({"a": [1], "late": [0]}), **options))
    assert str(error.value) == words


@pytest.mark.parametrize(
    "options",
    [{"on_error": "stop"}, {"types": {"a": "int"}}, {"label_time": "t"}],
)
def test_options_out_of_range(options):
    with pytest.raises(InvalidValue):
        Tables(first(), **options)


@pytest.mark.parametrize(
    ("stated", "values", "expected"),
    [
        ("nominal", [7, None, 8], ["7", None, "8"]),
        ("number", ["7", None, " 8.5 "], [7.0, None, 8.5]),
        ("time", [datetime.date(1970, 1, 2), None, datetime.date(1970, 1, 1)], [86400.0, None, 0.0]),
        ("time", [5, None, 6], [5, None, 6]),
        ("text", ["p", None, "q"], ["p", None, "q"]),
    ],
)
def test_what_is_stated_is_converted(stated, values, expected):
    (chunk,) = Tables(arrow.table({"a": values}), types={"a": stated}).chunks()
    assert chunk.X.column("a").to_pylist() == expected


def test_beside_the_features():
    table = arrow.table(
        {
            "x": [1.0, 2.0],
            "w": [1, 2],
            "t": [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2)],
            "l": ["2020-01-02", "2020-01-03T10:00:00+02:00"],
            "y": [True, False],
            "id": ["p", "q"],
        }
    )
    stream = Tables(table, target="y", weight="w", time="t", label_time="l", drop="id")
    (chunk,) = stream.chunks()
    assert stream.schema == {"x": "number"}
    assert chunk.X.column_names == ["x"]
    assert chunk.y.to_pylist() == [True, False]
    assert chunk.w.to_pylist() == [1, 2]
    assert chunk.label_time.to_pylist()[1] == datetime.datetime(2020, 1, 3, 8)


def test_a_type_that_no_feature_has():
    with pytest.raises(InvalidType, match=r"column 'a' is list<.*drop=\['a'\]"):
        list(Tables(arrow.table({"a": [[1], [2]]})))


def test_nominal_does_not_become_a_number():
    with pytest.raises(InvalidValue, match="here, row 1, column 'a': must be a string, got 5"):
        list(Tables(arrow.table({"a": ["u"]}), arrow.table({"a": [5]})))


def test_faults_of_the_reader_itself():
    piece = Piece(
        arrow.table({"a": [1, 2], "y": [0, None]}),
        lambda row: f"line {row + 2}",
        [Fault(1, "here, line 3: too long")],
    )
    stream = Tables(piece, target="y", on_error="skip")
    assert len(list(stream)) == 1
    assert stream.skipped.reasons == [
        "here, line 3: too long",
        "here, line 3, column 'y': the target must not be missing, got nothing",
    ]
    with pytest.raises(InvalidValue, match="line 3: too long"):
        list(Tables(piece, target="y"))


def test_no_rows_and_no_features():
    with pytest.raises(InvalidValue, match="here: there are no rows"):
        list(Tables(first().slice(0, 0), target="y"))
    assert list(Tables(arrow.table({"y": [1, 2]}), target="y")) == [({}, 1), ({}, 2)]
