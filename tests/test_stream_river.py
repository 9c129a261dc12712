"""River's names for reading give what River gives."""

from __future__ import annotations

import datetime
import gzip
import io
import sqlite3
import warnings
import zipfile

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import river.stream
from sklearn.datasets import load_diabetes, load_iris, load_linnerud

from millstream import evaluate, linear_model, preprocessing, stream
from millstream.errors import InvalidValue

CSV = "name,year,rating,votes\nPlanet Earth II,2016,9.5,\nBand,2001,9.4,3\n'Chernobyl',2019,9.4,5\n"

ARFF = """% cars
@relation CarData
@attribute make {Toyota, Honda}
@attribute year numeric
@attribute price numeric
@attribute mpg numeric
@data
Toyota,2018,15000,30.5
Honda,?,16000,32.2
"""

SPARSE = (
    "@RELATION r\n@ATTRIBUTE y {0, 1}\n@ATTRIBUTE a NUMERIC\n@ATTRIBUTE b NUMERIC\n@DATA\n{ 0 1,1 0.5 }\n{ 2 2 }\n"
)


class Fresh:
    """An argument that is made anew for each."""

    def __init__(self, make, *arguments):
        self.make, self.arguments = make, arguments


def both(name, *arguments, **options):
    """What River gives and what we give."""
    found = []
    for module in (river.stream, stream):
        made = [given.make(*given.arguments) if isinstance(given, Fresh) else given for given in arguments]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(list(getattr(module, name)(*made, **options)))
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"target": "rating"},
        {"target": ["rating", "year"], "converters": {"rating": float}},
        {"target": "rating", "parse_dates": {"year": "%Y"}, "drop": ["name"]},
        {"converters": {"votes": lambda v: float(v) if v else None}, "drop_nones": True},
        {"fraction": 0.5, "seed": 42},
        {"fieldnames": ["a", "b", "c", "d"], "target": "c"},
    ],
)
def test_csv(options):
    theirs, ours = both("iter_csv", Fresh(io.StringIO, CSV), **options)
    assert ours == theirs
    assert ours


def test_csv_files(tmp_path):
    plain, packed, archive = tmp_path / "t.csv", tmp_path / "t.csv.gz", tmp_path / "t.zip"
    plain.write_text(CSV)
    packed.write_bytes(gzip.compress(CSV.encode()))
    with zipfile.ZipFile(archive, "w") as file:
        file.write(plain, "t.csv")
    for path in (plain, packed, archive):
        theirs, ours = both("iter_csv", str(path), target="rating")
        assert ours == theirs
        assert len(ours) == 3
    with pytest.raises(FileNotFoundError, match="there is no file"):
        next(stream.iter_csv(tmp_path / "nothing.csv"))


def test_arrays():
    X, y = np.arange(6).reshape(3, 2), np.array([True, False, True])
    for arguments, options in [
        ((X,), {}),
        ((X, y), {}),
        ((X, y), {"feature_names": ["a", "b"]}),
        ((X, np.stack([y, y], axis=1)), {"target_names": ["p", "q"]}),
        ((X, np.stack([y, y], axis=1)), {}),
        ((["foo", "bar", "baz"], y), {}),
        ((X.tolist(), y.tolist()), {}),
        ((X, y), {"shuffle": True, "seed": 3}),
    ]:
        theirs, ours = both("iter_array", *arguments, **options)
        if options.get("shuffle"):
            theirs, ours = sorted(theirs, key=str), sorted(ours, key=str)
        assert ours == theirs


def test_frames():
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [0.5, 1.5]})
    y = pandas.Series([True, False])
    for name, X, target in [
        ("iter_pandas", frame, y),
        ("iter_pandas", frame, None),
        ("iter_pandas", frame, pandas.DataFrame({"p": [1, 2], "q": [3, 4]})),
        ("iter_polars", polars.from_pandas(frame), polars.Series([True, False])),
        ("iter_frame", frame, y),
        ("iter_frame", pyarrow.Table.from_pandas(frame), pyarrow.chunked_array([[True, False]])),
    ]:
        theirs, ours = both(name, X, target)
        assert ours == theirs, name
    assert len(list(stream.iter_frame(frame, y, shuffle=True, seed=1))) == 2
    with pytest.raises(InvalidValue, match="y has 1 values for 2 rows"):
        list(stream.iter_frame(frame, y[:1]))


def test_data_sets_of_sklearn():
    for load in (load_diabetes, load_iris, load_linnerud):
        theirs, ours = both("iter_sklearn_dataset", load())
        assert [x for x, _ in ours] == [x for x, _ in theirs]
        if load is not load_linnerud:
            assert ours == theirs


def test_libsvm():
    text = "+1 x:-134.26 y:0.2563\n1 x:-12 z:0.3\n-1 y:.25\n"
    for kind in (int, float, str):
        theirs, ours = both("iter_libsvm", Fresh(io.StringIO, text), target_type=kind)
        assert ours == theirs


def test_arff(tmp_path):
    path = tmp_path / "cars.arff"
    path.write_text(ARFF)
    for target in ("price", None, ["price", "mpg"]):
        theirs, ours = both("iter_arff", str(path), target=target)
        assert ours == theirs
    theirs, ours = both("iter_arff", Fresh(io.StringIO, SPARSE), target="y", sparse=True)
    # River leaves the zeros out, the numbers as text, and a first label None; the format says what they are.
    assert [{name: float(value) for name, value in x.items()} for x, _ in theirs] == [
        {name: value for name, value in x.items() if value} for x, _ in ours
    ]
    assert ours == [({"a": 0.5, "b": 0.0}, "1"), ({"a": 0.0, "b": 2.0}, "0")]


def test_sql():
    connection = sqlite3.connect(":memory:")
    connection.execute("create table t (a, b)")
    connection.executemany("insert into t values (?, ?)", [(1, "x"), (None, "y")])
    assert list(stream.iter_sql("select * from t", connection, "b")) == [({"a": 1}, "x"), ({"a": None}, "y")]
    assert list(stream.iter_sql("select a from t", connection)) == [({"a": 1}, None), ({"a": None}, None)]


def test_shuffle():
    for size in (1, 3, 100):
        found = list(stream.shuffle(range(20), size, seed=4))
        assert sorted(found) == list(range(20))
        assert found == list(stream.shuffle(range(20), size, seed=4))
        assert all(item <= place + size for place, item in enumerate(found))
    with pytest.raises(InvalidValue, match="buffer_size must be at least 1"):
        list(stream.shuffle([], 0))


def trips():
    start = datetime.datetime(2020, 1, 1, 20)
    table = [(0, 900), (10, 1800), (20, 300), (45, 400), (50, 240), (55, 450), (55, 0)]
    return [
        ({"at": start + datetime.timedelta(minutes=at), "wait": datetime.timedelta(seconds=wait), "n": wait}, wait)
        for at, wait in table
    ]


@pytest.mark.parametrize(
    ("moment", "delay"),
    [
        ("at", lambda x, y: datetime.timedelta(seconds=y)),
        ("at", "wait"),
        ("at", datetime.timedelta(minutes=15)),
        (lambda x: x["at"], datetime.timedelta(minutes=10)),
        (None, 2),
        (None, lambda x, y: x["n"] // 300),
        (None, None),
    ],
)
def test_questions_and_answers(moment, delay):
    for copy in (True, False):
        theirs, ours = both("simulate_qa", trips(), moment, delay, copy=copy)
        assert ours == theirs


def test_they_go_into_evaluation():
    bunch = load_iris()
    model = preprocessing.StandardScaler() | linear_model.SoftmaxRegression()
    rows = stream.shuffle(stream.iter_sklearn_dataset(bunch), buffer_size=150, seed=1)
    assert evaluate.prequential(model, rows, "Accuracy", progress=False)["Accuracy"] > 0.7
