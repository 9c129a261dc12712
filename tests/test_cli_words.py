"""The command line, asked for what it cannot do: one line, with what to write instead, and exit code 2."""

import csv
import json
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream
from millstream import cli
from millstream.cli.python_hints import as_options

OK, DATA_ERROR, USAGE = 0, 1, 2


def run(capsys, *arguments):
    code = cli.main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.vw"
    path.write_text("".join(f"{1 if i % 7 > 3 else -1} | a:{i % 7} b{i % 3}\n" for i in range(200)))
    return path


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,late\n" + "".join(f"{i % 70},{i % 2}\n" for i in range(200)))
    return path


def taught(capsys, path, model, *more):
    assert run(capsys, "run", path, "-q", "--save", model, *more)[0] == OK
    return model


@pytest.mark.slow
def test_another_width_is_refused(capsys, words, tmp_path):
    model = taught(capsys, words, tmp_path / "wide.ms", "--option", "bits=20")
    line = f"{model} has 1,048,576 columns, but {words} is read with 262,144 (bits=18): add --option bits=20\n"
    for command in (["predict", "--load", model], ["run", "--resume", model], ["compare", "-m", model]):
        code, out, err = run(capsys, command[0], words, *command[1:])
        assert (code, out) == (USAGE, "")
        assert err.endswith(line)
        assert run(capsys, command[0], words, *command[1:], "-q", "--option", "bits=20")[0] == OK


def test_a_model_that_knows_no_column_is_refused(capsys, words, people, tmp_path):
    of_words = taught(capsys, words, tmp_path / "words.ms", "--option", "bits=10")
    of_people = taught(capsys, people, tmp_path / "people.ms", "-t", "late")
    code, out, err = run(capsys, "predict", people, "--load", of_words, "-t", "late")
    assert (code, out) == (USAGE, "")
    known = "it has 0, 1, 2, 3, 4, 5, … (1,024 in total); the file has age"
    assert err.endswith(f"\n{of_words} has no column in common with {people}: {known}\n")
    code, out, err = run(capsys, "predict", words, "--load", of_people)
    assert (code, out) == (USAGE, "")
    assert "it has age; the file has columns numbered below 262,144" in err


@pytest.mark.parametrize("line", ["{label} | a:{value}", "{label} 1:{value}"])
def test_label_is_the_target_of_labelled_lines(capsys, tmp_path, line):
    path = tmp_path / f"data.{'vw' if '|' in line else 'libsvm'}"
    path.write_text("".join(line.format(label=i % 7 // 4, value=i % 7) + "\n" for i in range(200)))
    model, out = tmp_path / "model.ms", tmp_path / "said.csv"
    code, shown, _ = run(capsys, "run", path, "-t", "label", "--save", model)
    assert (code, f"{path} → label" in shown) == (OK, True)
    for target in ([], ["-t", "label"]):
        assert run(capsys, "predict", path, "--load", model, "--out", out, *target)[0] == OK
        assert [int(row["truth"]) for row in csv.DictReader(out.open())] == [i % 7 // 4 for i in range(200)]
    code, _, err = run(capsys, "run", path, "-t", "y")
    assert (code, "omit --target" in err) == (USAGE, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--option", "bits=abc"], "bits must be an integer in [1, 28], got str 'abc'"),
        (
            ["--option", "bit=22"],
            "no option 'bit', did you mean 'bits'? Its options are bits, constant, interactions, ngram, skips,"
            " ignore, keep, ignore_linear, max_products, names, labels, by_class, idle",
        ),
        (["--option", "zzz=22"], "no option 'zzz'. Its options are bits"),
        (["--option", "bits="], "--option: must be NAME=VALUE, got 'bits='"),
        (["--weight", "w"], "its reader does not support --weight"),
        (["--metric", "RMSE"], "RMSE: scores numbers, but the model predicts classes"),
        (["--metric", "AUC"], "unknown metric 'AUC', did you mean 'ROCAUC'?"),
        (["--metric", "F1score"], "unknown metric 'F1score', did you mean 'F1'?"),
        (
            ["-m", "NoChange", "-m", "MajorityClass"],
            "run accepts one model, got 2; use millstream compare for several",
        ),
        (["-b", "22"], "unknown option -b; use --option bits=22"),
        (["-d", "x"], "unknown option -d; the file is an argument"),
        (["--loss_function", "logistic"], "unknown option --loss_function; the model determines the loss"),
    ],
)
def test_wrong_use_has_its_code(capsys, words, options, message):
    code, out, err = run(capsys, "run", words, *options)
    assert (code, out) == (USAGE, "")
    assert message in err


@pytest.mark.parametrize("option", ["-m", "--model"])
def test_predict_has_another_option_for_the_model(capsys, people, option):
    code, _, err = run(capsys, "predict", people, option, "late.ms")
    assert (code, f"unknown option {option}; use --load FILE.ms" in err) == (USAGE, True)


def test_wrong_types_and_commands(capsys, people):
    code, _, err = run(capsys, "run", people, "-t", "late", "--types", "age=float")
    assert (code, err) == (
        USAGE,
        f"{people}: the kind of 'age' must be one of 'number', 'nominal', 'text', 'time', got 'float'\n",
    )
    code, _, err = run(capsys, "train", people)
    assert (code, "did you mean 'run'?" in err) == (USAGE, True)


def test_words_are_those_of_the_command(capsys, words, tmp_path):
    script = tmp_path / "make.py"
    script.write_text("import os\nprint(os)\n")
    assert "pass --format (one of csv" in run(capsys, "run", script)[2]
    model = taught(capsys, words, tmp_path / "model.ms")
    for command in (["run"], ["run", "-m", "NoChange"], ["compare"], ["predict", "--load", model]):
        code, _, err = run(capsys, command[0], words, *command[1:], "--skip", 10_000)
        assert code == DATA_ERROR
        assert err.splitlines()[-1] == (f"{words}: there are no rows after the first 10,000, which --skip skips")


def test_one_model_is_taken_as_before(capsys, words):
    found = json.loads(run(capsys, "run", words, "-m", "NoChange", "--json")[1])
    assert found["model"] == "NoChange"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("say which, as in encoding='latin-1'", "say which, as in --option encoding=latin-1"),
        ("leave it out with drop=['a']", "leave it out with --drop a"),
        ("leave it out with drop=['a b']", "leave it out with --drop 'a b'"),
        ("perhaps delimiter=';'", "perhaps --option delimiter=';'"),
        ("perhaps delimiter='\\t'", "perhaps --option delimiter=''\"'\"'\\t'\"'\"''"),
        ("is another delimiter= needed?", "is another --option delimiter= needed?"),
        ("pass zero_based=True", "pass --option zero_based=True"),
        ("pass format= csv", "pass --format csv"),
        ("pass query=; tables: a", "pass --query; tables: a"),
        ("name its column with target=", "name its column with --target"),
        (
            "value 3 of the series is missing; missing='skip' passes it",
            "value 3 of the series is missing; --on-error skip passes it",
        ),
        ("alpha must be >= 0, got -1", "alpha must be >= 0, got -1"),
        ("no column 'drop'", "no column 'drop'"),
    ],
)
def test_hints_of_python_are_options_on_the_command_line(message: str, expected: str) -> None:
    assert as_options(message) == expected


def test_a_suggested_option_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    latin = tmp_path / "latin.csv"
    latin.write_bytes("name,y\nMüller,0\nMeier,1\n".encode("latin-1") * 3)
    assert cli.main(["run", str(latin), "--target", "y", "--quiet"]) == 1
    assert "as in --option encoding=latin-1\n" in capsys.readouterr().err
    nested = tmp_path / "nested.parquet"
    pq.write_table(pa.table({"a b": [[1, 2], [3]], "y": [0, 1]}), nested)
    assert cli.main(["run", str(nested), "--target", "y", "--quiet"]) == 1
    assert "leave it out with --drop 'a b'\n" in capsys.readouterr().err
    assert cli.main(["run", str(nested), "--target", "y", "--quiet", "--drop", "a b"]) == 0
    tabs = tmp_path / "tabs.csv"
    tabs.write_text("a\tb\ty\n1\t2\t0\n")
    assert cli.main(["run", str(tabs), "-t", "y", "--option", "delimiter=,", "--quiet"]) == 1
    suggested = capsys.readouterr().err.partition("perhaps ")[2]
    assert cli.main(["run", str(tabs), "-t", "y", "--quiet", *shlex.split(suggested)]) == 0


@pytest.fixture
def mails(tmp_path):
    path = tmp_path / "mails.csv"
    rows = [f"s{n % 3},{n % 5},{['cheap money now', 'see you tomorrow'][n % 2]},{n % 2}\n" for n in range(200)]
    path.write_text("shop,size,body,ham\n" + "".join(rows))
    return path


def test_the_columns_of_a_model_of_texts_are_compared(capsys, mails, tmp_path):
    model = taught(capsys, mails, tmp_path / "mails.ms", "-t", "ham", "--types", "body=text")
    asked = ["--load", model, "-t", "ham", "--types", "body=text"]
    assert run(capsys, "predict", mails, *asked, "--strict")[0] == OK
    assert str(model) not in run(capsys, "predict", mails, *asked)[2]
    other = tmp_path / "other.csv"
    other.write_text(mails.read_text().replace("shop,size", "shop,sise"))
    code, _, err = run(capsys, "predict", other, *asked, "--strict")
    assert code == DATA_ERROR
    assert "sise" in err
    assert "did you mean 'size'?" in err
    code, _, err = run(capsys, "predict", other, *asked)
    assert code == OK
    assert f"{model} has learned size, which {other} does not have, did you mean 'sise'?" in err
    assert f"{other} has a column that {model} does not know: sise" in err


def test_a_vectorizer_alone_ignores_other_columns(capsys, mails, tmp_path):
    description = "HashingVectorizer(on='body') | LogisticRegression"
    model = taught(capsys, mails, tmp_path / "mails.ms", "-t", "ham", "-m", description)
    assert run(capsys, "predict", mails, "--load", model, "-t", "ham", "--strict")[0] == OK
    other = tmp_path / "other.csv"
    other.write_text(mails.read_text().replace("body", "bodi"))
    code, _, err = run(capsys, "predict", other, "--load", model, "-t", "ham", "--strict")
    assert code == DATA_ERROR
    assert "lacks body" in err


@pytest.mark.parametrize("types", [["--types", "body=text"], []])
def test_a_kept_column_that_was_learned_remains_a_feature(capsys, mails, tmp_path, types):
    model = taught(capsys, mails, tmp_path / "mails.ms", "-t", "ham", *types)
    asked = ["predict", mails, "--load", model, "-t", "ham", "--strict", *types]
    code, plain, _ = run(capsys, *asked)
    assert code == OK
    code, out, err = run(capsys, *asked, "-q", "--keep", "shop,body")
    assert (code, err) == (OK, "")
    plain, rows = (list(csv.DictReader(text.splitlines())) for text in (plain, out))
    assert [row["shop"] for row in rows[:4]] == ["s0", "s1", "s2", "s0"]
    assert rows[0]["body"] == "cheap money now"
    assert [row["probability"] for row in rows] == [row["probability"] for row in plain]


def test_predictions_say_nothing_of_learning_their_target(capsys, people, tmp_path):
    model = taught(capsys, people, tmp_path / "people.ms", "-t", "late")
    same = tmp_path / "same.csv"
    for label in ("0", "{}"):
        same.write_text("age,late\n" + "".join(f"{n},{label.format(n % 5)}\n" for n in range(250)))
        code, _, err = run(capsys, "predict", same, "--load", model, "-t", "late", "--out", tmp_path / "out.csv")
        assert code == OK
        assert "nothing to learn" not in err
        assert "pass --model" not in err


def test_inspect_tells_the_format_of_a_pipeline_in_python(capsys, mails, tmp_path):
    model = taught(capsys, mails, tmp_path / "mails.ms", "-t", "ham", "--types", "body=text")
    code, out, _ = run(capsys, "inspect", model)
    version = millstream.__version__
    assert code == OK
    assert f"millstream {version}, format 1; this is {version}" in out
