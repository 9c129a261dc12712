"""Text, time and keys on the command line, and saved pipelines with steps in Python."""

import csv
import io
import json
import math
from datetime import UTC, datetime

import numpy as np
import pytest

import millstream
from millstream import cli, feature_extraction, preprocessing, stream
from millstream.errors import InvalidState, InvalidType, InvalidValue

TEXTS = ["win money now", "lunch at noon today", "money money win", "see you at lunch"]


@pytest.fixture
def mails(tmp_path):
    path = tmp_path / "mails.csv"
    lines = [
        f"m{n},2024-01-{n // 24 % 28 + 1:02d}T{n % 24:02d}:30:00,{TEXTS[n % 4]},{n % 7},{n % 2}"
        for n in range(400)
    ]
    path.write_text("\n".join(["id,at,sentence,size,ham", *lines]) + "\n")
    return path


def told(capsys, *words):
    code = cli.main([str(word) for word in words])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.mark.parametrize(
    "text",
    [
        "HashingVectorizer(on='note') | LogisticRegression",
        "HashingVectorizer(n_features=1024, ngram_range=(1, 2)) | MultinomialNB",
        "TFIDF(on='note', max_features=100) | LogisticRegression",
        "BagOfWords(stop_words=['at']) | MultinomialNB",
        "(TFIDF(on='note') + (Drop(['note']) | StandardScaler)) | LogisticRegression",
        "HashingVectorizer(on='note') | (StandardScaler + TargetMean)",
    ],
)
def test_vectorizers_in_the_notation_are_saved_and_loaded(text, tmp_path):
    if "TargetMean" in text:
        with pytest.raises(millstream.errors.InvalidNotation):
            millstream.parse(text)
        return
    model = millstream.parse(text)
    rows = [
        ({"note": note} | ({"size": float(n)} if "Drop" in text else {}), n % 2) for n, note in enumerate(TEXTS)
    ]
    rows *= 5
    if "MultinomialNB" in text:
        model = millstream.parse(text.replace("HashingVectorizer(", "HashingVectorizer(alternate_sign=False, "))
    for x, y in rows:
        model.learn_one(x, y)
    path = tmp_path / "model.ms"
    model.save(path)
    loaded = millstream.load(path)
    assert repr(loaded) == repr(model)
    assert loaded.learned == len(rows)
    for x, y in rows:
        assert loaded.predict_proba_one(x) == model.predict_proba_one(x)
        loaded.learn_one(x, y)
        model.learn_one(x, y)
    assert loaded.to_bytes() == model.to_bytes()


@pytest.mark.parametrize(
    "made",
    [
        feature_extraction.BagOfWords(ngram_range=(1, 2), stop_words=["at"]),
        feature_extraction.TFIDF(max_features=3, when_full="evict"),
        feature_extraction.HashingVectorizer(n_features=64, norm=None),
        preprocessing.Guard(max_features=3),
    ],
    ids=lambda made: type(made).__name__,
)
def test_a_component_in_python_is_saved_alone(made, tmp_path, capsys):
    rows = [
        {text.split()[0]: 1.0, "note": text} if isinstance(made, preprocessing.Guard) else text for text in TEXTS
    ]
    for row in rows[:-1]:
        made.learn_one(row)
    made.save(tmp_path / "part.ms")
    loaded = millstream.load(tmp_path / "part.ms")
    assert type(loaded) is type(made)
    assert repr(loaded) == repr(made)
    for row in rows:
        assert loaded.transform_one(row) == made.transform_one(row)
        loaded.learn_one(row)
        made.learn_one(row)
    assert loaded.to_bytes() == made.to_bytes()
    assert cli.main(["inspect", str(tmp_path / "part.ms")]) == 0
    assert f"written by  millstream {millstream.__version__}" in capsys.readouterr().out
    assert getattr(loaded, "vocabulary", None) == getattr(made, "vocabulary", None)


def test_a_vectorizer_with_a_method_cannot_be_saved_as_data():
    made = feature_extraction.BagOfWords(tokenizer=str.split)
    with pytest.raises(InvalidType, match=r"feature_extraction\.BagOfWords: the function split cannot be saved"):
        made.to_bytes()


def test_a_function_without_an_import_path_cannot_be_saved_as_data():
    model = millstream.parse("TFIDF | LogisticRegression")
    made = feature_extraction.TFIDF(tokenizer=str.split) | millstream.parse("LogisticRegression")
    with pytest.raises(InvalidType, match=r"the function split cannot be saved as data: .*; use pickle"):
        made.to_bytes()
    with pytest.raises(InvalidType, match="the function <lambda> cannot be saved as data, .*: define it"):
        ((lambda x: x) | model).to_bytes()


def test_a_damaged_file_of_a_pipeline_is_refused():
    model = millstream.parse("TFIDF(on='note') | LogisticRegression")
    model.learn_one({"note": "a text"}, 1)
    data = model.to_bytes()
    for place in range(0, len(data), 7):
        bad = bytearray(data)
        bad[place] ^= 0x55
        with pytest.raises(InvalidState):
            millstream.from_bytes(bytes(bad))
    for size in (8, 12, 20, len(data) - 1):
        with pytest.raises(InvalidState, match="truncated|damaged"):
            millstream.from_bytes(data[:size])


def test_only_known_components_are_built_from_a_file():
    import zlib

    head = {"version": 1, "names": None, "learned": 0}
    for segment in (
        {"kind": "os.system", "parameters": {"command": "true"}, "bytes": 0},
        {"kind": "feature_extraction.TFIDF", "parameters": {"max_features": -1}, "learned": 0, "bytes": 0},
        {"kind": "compiled", "bytes": 10**9},
        {},
    ):
        text = json.dumps(head | {"segments": [segment]}).encode()
        body = b"MILLPIPE" + len(text).to_bytes(8, "little") + text
        with pytest.raises(InvalidState, match="saved pipeline is not valid"):
            millstream.from_bytes(body + zlib.crc32(body).to_bytes(4, "little"))


def test_rows_of_a_hashing_vectorizer_are_equal_in_all_forms():
    import pyarrow

    words = feature_extraction.HashingVectorizer(on="note")
    rows = [{"note": text, "x": 1.0} for text in TEXTS]
    table = pyarrow.table({"note": TEXTS, "x": [1.0] * 4})
    many = words.transform_many(table)
    assert many.indices.tolist() == words.transform_many(rows).indices.tolist()
    first = words.transform_one(rows[0])
    count = many.starts[1]
    assert first == dict(zip(many.indices[:count].tolist(), many.values[:count].tolist(), strict=True))
    assert words.transform_one({"note": None, "x": 1.0}) == {}
    with pytest.raises(InvalidType, match="a text must be a str, got 3"):
        words.transform_one({"note": 3})
    with pytest.raises(InvalidType, match="column is the former name of on"):
        feature_extraction.HashingVectorizer(on="a", column="b")
    assert repr(feature_extraction.HashingVectorizer(column="a")) == "HashingVectorizer(on='a')"


def test_a_text_column_is_learned_by_its_words(capsys, mails, tmp_path):
    model, out = tmp_path / "model.ms", tmp_path / "out.csv"
    words = ["-t", "ham", "--types", "sentence=text", "--drop", "at"]
    code, said, err = told(capsys, "run", mails, *words, "--keep", "id", "--predictions", out, "--save", model)
    assert code == 0
    assert "HashingVectorizer(on='sentence')" in err
    # The words say everything; the text as one category would need each text to be seen.
    assert "--types sentence=text" not in said
    found = list(csv.DictReader(out.open()))
    assert list(found[0]) == ["row", "id", "truth", "prediction", "probability"]
    assert [row["id"] for row in found] == [f"m{n}" for n in range(400)]
    assert sum(row["prediction"] == row["truth"] for row in found) > 380
    code, said, err = told(capsys, "predict", mails, *words, "--keep", "id,size", "--load", model, "--limit", "3")
    assert code == 0
    assert [line.split(",")[1:3] for line in said.splitlines()[1:]] == [
        ['"m0"', "0"],
        ['"m1"', "1"],
        ['"m2"', "2"],
    ]
    code, said, _ = told(
        capsys, "compare", mails, "-t", "ham", "--types", "sentence=text", "--drop", "at,id", "--json"
    )
    assert code == 0
    names = [each["name"] for each in json.loads(said)["models"]]
    assert "LogisticRegression with texts" in names
    assert "GaussianNB without texts" in names


def test_unstated_texts_are_noted(capsys, mails):
    path = mails.with_name("long.csv")
    path.write_text("t,y\n" + "".join(f"one two three {n % 30},{n % 2}\n" for n in range(300)))
    _, out, _ = told(capsys, "look", path, "-t", "y")
    assert "t has texts of 4 words, each of which is read as one category: --types t=text" in out


def calendar_of(*times, **options):
    text = "at,y\n" + "".join(f"{time},1\n" for time in times)
    source = stream.read_csv(io.BytesIO(text.encode()), target="y").calendar("at", **options)
    return [x for x, _ in source], source


def test_the_features_of_the_calendar():
    times = ["1969-12-31 23:59:30", "2024-02-29 06:30:00", "2024-12-31 00:00:00", "2023-12-31 12:00:00"]
    found, source = calendar_of(*times)
    last = math.nan
    for x, time in zip(found, times, strict=True):
        expected = datetime.fromisoformat(time).replace(tzinfo=UTC)
        assert x["at hour"] == expected.hour
        assert x["at weekday"] == expected.weekday()
        assert x["at yearday"] == expected.timetuple().tm_yday
        hours = expected.hour + expected.minute / 60 + expected.second / 3600
        assert x["at hour sin"] == pytest.approx(math.sin(2 * math.pi * hours / 24), abs=1e-12)
        assert x["at hour cos"] == pytest.approx(math.cos(2 * math.pi * hours / 24), abs=1e-12)
        now = expected.timestamp()
        assert x["at since last"] == pytest.approx(now - last, nan_ok=True)
        last = now
    assert set(source.schema) == set(found[0])
    assert "at" not in found[0]
    assert ".calendar('at')" in repr(source)
    assert set(calendar_of(*times, form="plain")[0][0]) == {"at hour", "at weekday", "at yearday", "at since last"}
    assert "at hour" not in calendar_of(*times, form="cyclic")[0][0]
    assert "at" in calendar_of(*times, keep=True)[0][0]


def test_the_time_since_the_last_row_continues_over_chunks():
    text = "at,y\n" + "".join(f"2024-01-01 00:{n:02d}:00,1\n" for n in range(50))
    source = stream.read_csv(io.BytesIO(text.encode()), target="y").batch(7).calendar("at", form="plain")
    for _ in range(2):
        gaps = [x["at since last"] for x, _ in source]
        assert np.isnan(gaps[0])
        assert gaps[1:] == [60.0] * 49


@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_missing_time_is_skipped_wherever_chunks_are_cut(size):
    text = "at,y\n2024-01-01 00:01:00,1\n,1\n,1\n2024-01-01 00:04:00,1\n2024-01-01 00:06:00,1\n"
    source = stream.read_csv(io.BytesIO(text.encode()), target="y", types={"at": "time"}).batch(size)
    gaps = [x.get("at since last", math.nan) for x, _ in source.calendar("at", form="plain")]
    assert gaps == pytest.approx([math.nan, math.nan, math.nan, 180.0, 120.0], nan_ok=True)


def test_the_column_of_event_times_has_a_calendar_too():
    text = "at,x,y\n2024-01-01 05:00:00,1,1\n"
    source = stream.read_csv(io.BytesIO(text.encode()), target="y", time="at").calendar("at", form="plain")
    ((x, _),) = source
    assert x["at hour"] == 5.0
    assert list(x) == ["x", "at hour", "at weekday", "at yearday", "at since last"]


def test_bad_calendars():
    with pytest.raises(InvalidType, match="has no times; state its kind with types"):
        list(stream.read_csv(io.BytesIO(b"c,y\nu,1\nv,0\n"), target="y").calendar("c"))
    with pytest.raises(InvalidValue, match="there is no column 'when'; there are at"):
        list(stream.read_csv(io.BytesIO(b"at,y\n2024-01-01,1\n"), target="y").calendar("when"))
    with pytest.raises(InvalidValue, match="form must be"):
        calendar_of("2024-01-01", form="round")
    with pytest.raises(InvalidType, match="named columns"):
        list(stream.from_numpy(np.zeros((2, 1)), np.zeros(2)).calendar("at"))


def test_the_calendar_on_the_command_line(capsys, mails, tmp_path):
    out = tmp_path / "out.csv"
    words = ["-t", "ham", "--drop", "sentence", "--calendar", "at", "--keep", "at,id"]
    code, said, _ = told(capsys, "run", mails, *words, "--predictions", out, "--save", tmp_path / "m.ms")
    assert code == 0
    assert "at hour, at hour sin" in said
    assert list(next(csv.DictReader(out.open()))) == ["row", "at", "id", "truth", "prediction", "probability"]
    model = millstream.load(tmp_path / "m.ms")
    assert "at hour sin" in model.features
    assert not {"at", "id"} & set(model.features)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--keep", "id"], "--keep needs --predictions"),
        (["--keep", "idd", "--predictions", "p.csv"], "--keep: there is no column 'idd', did you mean 'id'?"),
        (["--keep", "row", "--predictions", "p.csv"], "--keep: the predictions have a column 'row' already"),
    ],
)
def test_bad_key_columns(capsys, mails, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    code, _, err = told(capsys, "run", mails, "-t", "ham", *words)
    assert code in (1, 2)
    assert message in err


def test_key_columns_of_late_labels_and_several_passes(capsys, mails, tmp_path):
    out = tmp_path / "out.jsonl"
    words = [
        "-t",
        "ham",
        "--drop",
        "sentence,at",
        "--delay",
        "5",
        "--passes",
        "2",
        "--keep",
        "id",
        "-m",
        "NoChange",
    ]
    assert told(capsys, "run", mails, *words, "--predictions", out)[0] == 0
    found = [json.loads(line)["id"] for line in out.read_text().splitlines()]
    assert found == [f"m{n}" for n in range(400)] * 2


def test_kept_times_and_those_of_a_notebook_are_dates(capsys, tmp_path):
    path = tmp_path / "times.csv"
    rows = [f"2024-01-01 {n // 60:02d}:{n % 60:02d}:40,2023-05-{n % 28 + 1:02d},{n},{n % 2}\n" for n in range(200)]
    path.write_text("time,day,x,y\n" + "".join(rows) + ",,3,1\n")
    for words in ([], ["--time", "time"]):
        out = tmp_path / "out.csv"
        words = [
            *words,
            "-t",
            "y",
            "--keep",
            "time,day,x",
            "--predictions",
            out,
            "-m",
            "NoChange",
            "--limit",
            "99",
        ]
        assert told(capsys, "run", path, *words)[0] == 0
        found = [(row["time"], row["day"], row["x"]) for row in csv.DictReader(out.open())]
        assert found[:2] == [
            ("2024-01-01 00:00:40", "2023-05-01 00:00:00", "0"),
            ("2024-01-01 00:01:40", "2023-05-02 00:00:00", "1"),
        ]
    page = stream.read_csv(path, target="y")._repr_html_()
    assert "2024-01-01 00:01:40" in page
    assert "e+09" not in page


def test_there_are_no_remarks_on_parts_of_the_calendar(tmp_path):
    path = tmp_path / "times.csv"
    rows = [f"2024-01-{n // 20 + 1:02d} {n % 20:02d}:00,{n % 5},{n % 2}\n" for n in range(400)]
    path.write_text("at,x,y\n" + "".join(rows))
    found = stream.profile(stream.read_csv(path, target="y").calendar("at", form="plain"))
    assert [remark.column for remark in found.remarks] == ["x"]
