"""The command line."""

import csv
import datetime
import gzip
import io
import itertools
import json
import os
import pathlib
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

import millstream
from millstream import cli, drift, evaluate, notation, stream
from millstream.cli.commands import COMMANDS
from millstream.cli.completion import script
from millstream.cli.options import count, delay
from millstream.cli.parser import parser_of

OK, DATA_ERROR, USAGE, INTERRUPTED = 0, 1, 2, 130
MODEL = "StandardScaler | LogisticRegression(l2=0.001)"


def run(capsys, *arguments):
    code = cli.main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def shell(*arguments, **more):
    command = [sys.executable, "-m", "millstream", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=(2, 3000)).round(4)
    color = rng.choice(["red", "blue"], size=3000)
    late = np.where(a + b + (color == "red") > 0.5, "yes", "no")
    at = np.datetime64("2024-01-01T00:00:00") + np.arange(3000) * np.timedelta64(60, "s")
    return pyarrow.table(
        {
            "at": at.astype(str),
            "a": a,
            "b": b,
            "color": color,
            "w": np.ones(3000),
            "price": 3 * a - b,
            "late": late,
        }
    )


@pytest.fixture
def data(tmp_path, table):
    path = tmp_path / "data.csv"
    pyarrow.csv.write_csv(table.drop_columns(["at", "w", "price"]), path)
    return path


@pytest.fixture
def wide(tmp_path, table):
    path = tmp_path / "wide.csv"
    pyarrow.csv.write_csv(table, path)
    return path


def expected(path, model=MODEL, **more):
    """What the library finds of the same file."""
    return evaluate.prequential(millstream.parse(model), stream.open(path, target="late"), **more)


# what there is


def test_list_names_every_part(capsys):
    code, out, _ = run(capsys, "list")
    assert code == OK
    assert [line.split()[0] for line in out.splitlines()] == sorted([*millstream.find(), *notation.IN_PYTHON])


@pytest.mark.parametrize("arguments", [("classifier",), ("--role", "classifier")])
def test_list_of_one_role_as_json(capsys, arguments):
    code, out, _ = run(capsys, "list", *arguments, "--json")
    entries = json.loads(out)
    assert code == OK
    assert [entry["name"] for entry in entries] == millstream.find(role="classifier")
    assert {entry["role"] for entry in entries} == {"classifier"}


def test_list_of_sources(capsys):
    code, out, _ = run(capsys, "list", "source")
    assert code == OK
    assert {"datasets.Flights", "stream.read_csv", "synth.SEA"} <= {line.split()[0] for line in out.splitlines()}


@pytest.mark.parametrize("name", millstream.find())
def test_describe_shows_words_and_parameters(capsys, name):
    code, out, _ = run(capsys, "describe", name)
    declared = json.loads(run(capsys, "describe", name, "--json")[1])
    assert code == OK
    assert out.startswith(f"{name} ({declared['role']})")
    for parameter in declared["parameters"]:
        assert f"\n{parameter['name']}: {parameter['must_be']}, " in out
        for former in parameter["formerly"]:
            assert re.search(rf"^{parameter['name']}: .*, formerly .*\b{former}\b", out, re.MULTILINE)
    assert ("formerly" in out) == any(parameter["formerly"] for parameter in declared["parameters"])


def test_describe_by_short_name_and_of_a_source(capsys):
    assert run(capsys, "describe", "GaussianNB")[1].startswith("naive_bayes.GaussianNB (classifier)")
    code, out, _ = run(capsys, "describe", "Flights")
    assert (code, out.splitlines()[0]) == (OK, "datasets.Flights (source)")
    assert "**options)" in run(capsys, "describe", "read_csv")[1]
    declared = json.loads(run(capsys, "describe", "Flights", "--json")[1])
    assert (declared["name"], declared["role"]) == ("datasets.Flights", "source")
    assert declared["parameters"][0] == {"name": "target", "required": False, "default": "late"}
    declared = json.loads(run(capsys, "describe", "read_csv", "--json")[1])
    assert [p["name"] for p in declared["parameters"] if p["required"]] == ["source"]
    code, _, err = run(capsys, "describe", "Rolling")
    assert (code, err) == (USAGE, "'Rolling' may be metrics.Rolling or stats.Rolling: write it in full\n")


def test_components_in_python_are_listed_and_described(capsys):
    listed = run(capsys, "list", "feature_extraction")[1]
    assert "feature_extraction.TFIDF " in listed
    assert "preprocessing.Guard" in run(capsys, "list", "transformer")[1]
    assert "TFIDF" not in run(capsys, "list", "source")[1]
    code, out, _ = run(capsys, "describe", "HashingVectorizer")
    assert (code, out.splitlines()[0]) == (OK, "feature_extraction.HashingVectorizer (transformer)")
    declared = json.loads(run(capsys, "describe", "Guard", "--json")[1])
    assert (declared["role"], declared["parameters"][0]["name"]) == ("transformer", "strict")


def test_a_wrong_name_is_one_line_and_a_code(capsys):
    code, out, err = run(capsys, "describe", "linear_model.Logistic")
    assert (code, out) == (USAGE, "")
    assert err == (
        "millstream: no component named 'linear_model.Logistic', did you mean 'linear_model.LogisticRegression'?\n"
    )


def test_a_wrong_role_names_the_roles(capsys):
    code, _, err = run(capsys, "list", "--role", "classifer")
    assert code == USAGE
    assert "role must be one of " in err
    assert "classifier" in err


def test_version_from_a_shell():
    done = shell("--version")
    assert done.stdout == f"millstream {millstream.__version__}\n"


def test_starting_loads_nothing_heavy():
    code = "import sys, millstream.cli; print({'numpy', 'pyarrow', 'rich', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


# the command line itself


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_teaches(capsys, command):
    code, out, _ = run(capsys, command.name, "--help")
    assert code == OK
    assert out.startswith(f"usage: millstream {command.name} ")
    for option in command.options:
        assert option.is_argument or option.names[0] in out
    for words, line in command.examples:
        assert words in out
        assert f"millstream {line}" in out


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_examples_of_the_help_can_be_parsed(command):
    for _, line in command.examples:
        words = itertools.takewhile(lambda word: word not in ("<", ">", "&&"), shlex.split(line))
        parser_of(COMMANDS).parse(list(words))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rnu", "x.csv"], "millstream: unknown command 'rnu', did you mean 'run'?"),
        (
            ["run", "x.csv", "--tagret", "y"],
            "millstream run: unknown option --tagret, did you mean '--target'?",
        ),
        (["run", "x.csv", "y.csv"], "millstream run: unexpected argument 'y.csv'"),
        (["run"], "millstream run: the following arguments are required: SOURCE"),
        (["run", "x.csv", "--limit", "many"], "--limit: must be an integer >= 0, got 'many'"),
        (["run", "x.csv", "--window", "0"], "--window: must be an integer >= 1, got 0"),
        (
            ["run", "x.csv", "--delay", "soon"],
            "--delay: must be rows (500) or a time (30min, 1.5h, 2d), got 'soon'",
        ),
        (["run", "x.csv", "--types", "a"], "--types: must be COLUMN=KIND, got 'a'"),
        (["run", "x.csv", "--on-error", "cry"], "--on-error: invalid choice: 'cry'"),
    ],
)
def test_a_wrong_command_line(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (USAGE, "")
    assert message in err
    assert err.splitlines()[-1].startswith("try millstream")


def test_numbers_as_people_write_them():
    assert [count(text) for text in ("10", "1e5", "1_000", "1,000")] == [10, 100_000, 1000, 1000]
    assert delay("500") == 500
    assert delay("90min") == delay("1.5h")
    assert delay("2d").days == 2


# run


def test_run_finds_what_the_library_finds(capsys, data):
    code, out, err = run(capsys, "run", data, "--target", "late", "--model", MODEL, "--json")
    found = json.loads(out)
    result = expected(data)
    assert (code, err) == (OK, "")
    assert found["metrics"]["Accuracy"]["whole"] == result["Accuracy"]
    assert found["metrics"]["CohenKappa"]["last"] == result.curve["rolling_CohenKappa"][-1]
    assert (found["rows"], found["scored"], found["target"]) == (3000, result.scored, "late")
    assert found["model"] == MODEL
    assert found["confusion"]["labels"] == result.confusion.labels
    assert not found["interrupted"]


def test_run_for_people(capsys, data):
    code, out, err = run(capsys, "run", data, "-t", "late", "-m", MODEL, "--detector", "PageHinkley")
    assert code == OK
    lines = out.splitlines()
    assert lines[0] == f"{data} → late  {MODEL}"
    assert lines[2].split() == ["all", "rows", "last", "1,000", "best", "constant"]
    assert lines[3].split()[0] == "Accuracy"
    assert "3,000 rows in " in out
    assert "drift" in out
    assert err == ""


@pytest.mark.parametrize(
    ("target", "model"),
    [
        ("late", "StandardScaler | LogisticRegression"),
        ("price", "StandardScaler | LinearRegression"),
        ("kind", "StandardScaler | SoftmaxRegression"),
        ("flag", "StandardScaler | LogisticRegression"),
        ("count", "StandardScaler | LinearRegression"),
    ],
)
def test_a_model_is_chosen_by_the_target(capsys, tmp_path, table, target, model):
    numbers = np.arange(3000)
    columns = {
        "late": table["late"],
        "price": table["price"],
        "kind": pyarrow.array(np.array(["x", "y", "z"])[numbers % 3]),
        "flag": pyarrow.array(numbers % 2),
        "count": pyarrow.array(numbers % 50),
    }
    path = tmp_path / "data.parquet.csv"
    pyarrow.csv.write_csv(pyarrow.table({"a": table["a"], target: columns[target]}), path)
    code, out, err = run(capsys, "run", path, "-t", target)
    assert code == OK
    assert err.startswith(f"{model}  (the target ")
    assert model in out


def test_run_options_reach_the_library(capsys, wide):
    common = ["--drop", "price,w", "--drop", "at"]
    _, out, _ = run(capsys, "run", wide, "-t", "late", "-m", MODEL, *common, "--delay", "50", "--json",
                    "--metric", "F1('yes')", "--metric", "Rolling(Accuracy, 10)", "--window", 100, "--warmup", 10,
                    "--every", "500", "--limit", "2000", "--skip", "500")  # fmt: skip
    found = json.loads(out)
    source = stream.open(wide, target="late", drop=["price", "w", "at"]).skip(500)
    metrics = [millstream.parse("F1('yes')"), millstream.parse("metrics.Rolling(Accuracy, 10)")]
    result = evaluate.prequential(
        millstream.parse(MODEL), source, metrics, delay=50, window=100, warmup=10, every=500, limit=2000
    )
    assert {name: each["whole"] for name, each in found["metrics"].items()} == result.values
    assert (found["rows"], found["warmup"], found["unanswered"]) == (2000, 10, result.unanswered)


def test_run_by_time_with_weights_and_types(capsys, wide):
    arguments = [
        "--time",
        "at",
        "--delay",
        "30min",
        "--weight",
        "w",
        "--types",
        "color=nominal",
        "--drop",
        "price",
    ]
    _, out, _ = run(capsys, "run", wide, "-t", "late", "-m", "GaussianNB", *arguments, "--json")
    found = json.loads(out)
    source = stream.open(wide, target="late", time="at", weight="w", drop=["price"])
    late = evaluate.prequential(millstream.parse("GaussianNB"), source, delay=datetime.timedelta(minutes=30))
    assert found["metrics"]["Accuracy"]["whole"] == late["Accuracy"]
    assert found["unanswered"] == late.unanswered == 30


def test_run_in_passes_and_shuffled(capsys, data):
    _, out, _ = run(capsys, "run", data, "-t", "late", "-m", MODEL, "--passes", 2, "--json")
    assert json.loads(out)["rows"] == 6000
    first = run(capsys, "run", data, "-t", "late", "-m", MODEL, "--shuffle", 100, "--seed", 3, "--json")[1]
    again = run(capsys, "run", data, "-t", "late", "-m", MODEL, "--shuffle", 100, "--seed", 3, "--json")[1]
    assert json.loads(first)["metrics"] == json.loads(again)["metrics"]


def test_saved_and_resumed_is_never_stopped(capsys, data, tmp_path):
    saved = tmp_path / "model.ms"
    assert run(capsys, "run", data, "-t", "late", "-m", MODEL, "--limit", 1000, "--save", saved)[0] == OK
    code, _, err = run(capsys, "run", data, "-t", "late", "--resume", saved, "--skip", 1000, "--save", saved)
    assert code == OK
    assert f"from {saved}, 1,000 rows learned" in err
    whole = millstream.parse(MODEL)
    evaluate.prequential(whole, stream.open(data, target="late"))
    assert saved.read_bytes() == whole.to_bytes()


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_predictions(capsys, data, tmp_path, ending):
    path = tmp_path / f"said.{ending}"
    code, _, err = run(capsys, "run", data, "-t", "late", "-m", MODEL, "--predictions", path)
    assert code == OK
    assert f"predictions in {path}\n" in err
    if ending == "csv":
        rows = pyarrow.csv.read_csv(
            path, convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True)
        ).to_pylist()
    elif ending == "parquet":
        rows = pyarrow.parquet.read_table(path).to_pylist()
    else:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    given = []
    expected(data, predictions=given.append)
    predicted = [value for columns in given for value in columns["prediction"]]
    assert [row["row"] for row in rows] == list(range(3000))
    assert [row["prediction"] for row in rows] == predicted
    assert rows[0]["probability"] is None
    assert 0.5 <= rows[-1]["probability"] <= 1.0


def test_predictions_that_begin_late_keep_their_type(capsys, tmp_path):
    path = tmp_path / "said.parquet"
    code, *_ = run(capsys, "run", "SEA(seed=1)", "--limit", 40_000, "--delay", 20_000, "-m", "GaussianNB",
                   "--predictions", path, "-q")  # fmt: skip
    found = pyarrow.parquet.read_table(path)
    assert code == OK
    assert found.schema.field("prediction").type == found.schema.field("truth").type == pyarrow.int64()
    assert found["prediction"].null_count == 20_000


@pytest.mark.slow
def test_report_and_plot(capsys, data, tmp_path):
    page, plot, drawn = tmp_path / "page.html", tmp_path / "plot.png", tmp_path / "plot.svg"
    code, _, err = run(capsys, "run", data, "-t", "late", "--report", page, "--plot", plot)
    assert code == OK
    assert f"report in {page}" in err
    assert "<html" in page.read_text()
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert run(capsys, "run", data, "-t", "late", "--plot", drawn)[0] == OK
    assert "<svg" in drawn.read_text()


def test_the_page_says_the_command(capsys, data, tmp_path, monkeypatch):
    page = tmp_path / "page.html"
    arguments = ["run", str(data), "-t", "late", "-m", MODEL, "--report", str(page), "--quiet"]
    monkeypatch.setattr(sys, "argv", ["millstream", *arguments])
    code, _, err = run(capsys, *arguments)
    assert (code, err) == (OK, "")
    assert f"millstream run {data}" in page.read_text()


@pytest.mark.slow
def test_standard_input(capsys, data, monkeypatch):
    with data.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        code, out, err = run(capsys, "run", "-", "-t", "late", "-m", MODEL, "--json")
    assert code == OK, err
    assert json.loads(out)["metrics"]["Accuracy"]["whole"] == expected(data)["Accuracy"]
    with data.open() as file:
        done = shell("run", "-", "-t", "late", stdin=file)
    assert (done.returncode, "LogisticRegression" in done.stderr) == (OK, True)
    with data.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        code, _, err = run(capsys, "run", "-", "-t", "late", "-m", MODEL, "--passes", 2)
    assert (code, "read again" in err) == (DATA_ERROR, True)


def test_data_sets_and_generators(capsys):
    code, out, _ = run(capsys, "run", "Iris", "--json")
    assert (code, json.loads(out)["rows"]) == (OK, 150)
    code, out, _ = run(capsys, "run", "SEA(seed=1).take(500)", "--json")
    assert (code, json.loads(out)["rows"]) == (OK, 500)


def test_a_data_base(capsys, tmp_path, table):
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table sales (a, b, late)")
        rows = [(row["a"], row["b"], row["late"]) for row in table.to_pylist()]
        connection.executemany("insert into sales values (?, ?, ?)", rows)
    connection.close()
    if not hasattr(stream, "read_sql"):
        pytest.skip("no reader of data bases")
    for chosen in (("-m", MODEL), ()):
        code, out, err = run(capsys, "run", path, "-t", "late", *chosen, "--json")
        assert code == OK, err
        assert json.loads(out)["rows"] == 3000
    code, out, err = run(capsys, "run", path, "-t", "late", "-m", MODEL, "--json", "--query",
                         "select * from sales limit 100")  # fmt: skip
    assert json.loads(out)["rows"] == 100
    with sqlite3.connect(path) as connection:
        connection.execute("create table other (x)")
    connection.close()
    code, _, err = run(capsys, "run", path, "-t", "late")
    assert code == USAGE
    assert "tables: other, sales" in err


# the others


def test_compare_ranks(capsys, data, tmp_path):
    said = tmp_path / "said.csv"
    code, out, _ = run(capsys, "compare", data, "-t", "late", "-m", f"linear={MODEL}", "-m", "MajorityClass",
                       "-m", "bayes=GaussianNB", "--predictions", said, "--report", tmp_path / "page.html",
                       "--save", tmp_path / "best.ms")  # fmt: skip
    assert code == OK
    ranked = [line.split()[1] for line in out.splitlines() if re.match(r"\d\. ", line)]
    assert set(ranked) == {"linear", "bayes", "MajorityClass"}
    assert ranked[-1] == "MajorityClass"
    assert f"best by LogLoss: {ranked[0]}" in out
    with said.open() as file:
        head = next(csv.reader(file))
    assert head[:4] == ["row", "truth", "prediction linear", "probability linear"]
    assert millstream.load(tmp_path / "best.ms").learned == 3000
    data_of = json.loads(run(capsys, "compare", data, "-t", "late", "-m", MODEL, "-m", "NoChange", "--json")[1])
    assert data_of["best"] == MODEL
    assert data_of["models"][0]["metrics"]["Accuracy"]["whole"] == expected(data)["Accuracy"]


def test_compare_with_baselines(capsys, data):
    code, out, err = run(capsys, "compare", data, "-t", "late")
    assert code == OK
    assert "baselines" in err
    assert "NoChange" in out
    assert "StandardScaler | LogisticRegression" in out


def test_compare_refuses_what_cannot_be_compared(capsys, data):
    assert run(capsys, "compare", data, "-t", "late", "-m", "NoChange", "-m", "TargetMean")[0] == USAGE
    code, _, err = run(capsys, "compare", data, "-t", "late", "-m", "NoChange", "-m", "NoChange")
    assert (code, "name=MODEL" in err) == (USAGE, True)


@pytest.fixture
def saved(data, tmp_path):
    path = tmp_path / "saved.ms"
    model = millstream.parse(MODEL)
    evaluate.prequential(model, stream.open(data, target="late"))
    model.save(path)
    return path


def test_predict(capsys, data, saved, tmp_path):
    out = tmp_path / "out.csv"
    code, _, err = run(capsys, "predict", data, "-t", "late", "--load", saved, "--out", out)
    assert code == OK
    assert f"predictions in {out}" in err
    found = pyarrow.csv.read_csv(out)
    model = millstream.load(saved)
    X = next(iter(stream.open(data, target="late").chunks())).X
    assert found["prediction"].to_pylist()[: X.num_rows] == list(model.predict_many(X))
    assert model.learned == millstream.load(saved).learned == 3000


def test_predict_all_probabilities_to_standard_output(capsys, data, saved):
    _, out, _ = run(capsys, "predict", data, "--drop", "late", "--load", saved, "--limit", 2, "--proba")
    rows = list(csv.DictReader(io.StringIO(out)))
    classes = [str(label) for label in millstream.load(saved).classes]
    assert list(rows[0]) == ["row", "prediction", *(f"p {label}" for label in classes)]
    assert sum(float(rows[0][f"p {label}"]) for label in classes) == pytest.approx(1.0)
    _, out, _ = run(capsys, "predict", data, "--drop", "late", "--load", saved, "--limit", 2, "--json")
    assert [json.loads(line)["row"] for line in out.splitlines()] == [0, 1]


def test_predict_needs_a_model(capsys, data, tmp_path):
    assert run(capsys, "predict", data)[0] == USAGE
    code, _, err = run(capsys, "predict", data, "--load", tmp_path / "no.ms")
    assert (code, err) == (DATA_ERROR, f"there is no file '{tmp_path / 'no.ms'}'\n")
    code, _, err = run(capsys, "predict", data, "--load", data)
    assert code == DATA_ERROR
    assert str(data) in err


def test_predict_sets_bad_rows_aside(capsys, saved, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("a,b,color\n1,2,red\n1,inf,blue\n3,4,red\n")
    code, _, err = run(capsys, "predict", path, "--load", saved)
    assert code == DATA_ERROR
    assert "row 1" in err
    code, _, _ = run(capsys, "predict", path, "--load", saved, "--on-error", "skip", "--out", tmp_path / "o.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert [row["prediction"] is None for row in rows] == [False, True, False]


def test_inspect(capsys, saved):
    code, out, _ = run(capsys, "inspect", saved)
    assert code == OK
    for words in (
        MODEL,
        "3,000 examples",
        "a, b, color",
        "format 1",
    ):
        assert words in out
    weights = re.findall(r"^(\S+)\s+(-?\d+\.\d+)\s+█", out, re.MULTILINE)
    sizes = [abs(float(value)) for _, value in weights]
    assert sizes == sorted(sizes, reverse=True)
    assert {"a", "b", "color=red"} <= {name for name, _ in weights}
    found = json.loads(run(capsys, "inspect", saved, "--json")[1])
    assert found["description"] == millstream.load(saved).describe()
    assert found["state"] == millstream.load(saved).inspect()
    assert (found["learned"], found["written_by"]) == (3000, millstream.__version__)


def test_inspect_of_a_monitor(capsys, tmp_path):
    monitor = drift.Monitor({"errors": drift.ADWIN(), "rows": drift.KSTest()})
    for place in range(600):
        monitor.update({"a": 0.0}, 1, None if place < 10 else int(place < 500))
    monitor.save(tmp_path / "monitor.ms")
    code, out, _ = run(capsys, "inspect", tmp_path / "monitor.ms")
    assert code == 0
    assert out.startswith("Monitor({'errors': ADWIN(), 'rows': KSTest()})\n")
    for name, value in (
        ("detectors for errors", "errors"),
        ("detectors for rows", "rows"),
        ("rows", "600"),
        ("labels", "600"),
    ):
        assert re.search(rf"^{name} +{value}$", out, re.MULTILINE)
    (event,) = monitor.events
    assert re.search(rf"^{event.row} +real +{event.since} +up +errors$", out, re.MULTILINE)
    assert "real" not in run(capsys, "inspect", tmp_path / "monitor.ms", "--top", "0")[1]
    found = json.loads(run(capsys, "inspect", tmp_path / "monitor.ms", "--json")[1])
    assert (found["name"], found["rows"], found["event_count"]) == ("drift.Monitor", 600, 1)
    assert found["events"][0]["since"] == event.since
    assert found["detectors"]["rows"]["name"] == "drift.KSTest"


def test_inspect_of_other_parts(capsys, tmp_path):
    metric = millstream.parse("Accuracy")
    metric.update(True, True)
    metric.save(tmp_path / "metric.ms")
    code, out, _ = run(capsys, "inspect", tmp_path / "metric.ms")
    assert (code, "1.0000" in out) == (OK, True)


def test_inspect_of_a_model_that_is_replaced(capsys, tmp_path):
    from millstream import drift, naive_bayes, preprocessing, synth

    rows = synth.Drift(synth.Sine(classification_function=0), synth.Sine(classification_function=1), position=500)
    retrained = drift.Retrain(
        naive_bayes.GaussianNB(), drift.DDM(), warning_detector=drift.ADWIN(significance=0.1)
    )
    model = preprocessing.StandardScaler() | retrained
    for x, y in rows.take(1500):
        model.learn_one(x, y)
    model.save(tmp_path / "model.ms")
    _, out, _ = run(capsys, "inspect", tmp_path / "model.ms")
    last = model[-1]
    assert re.search(rf"^replaced +{last.replaced} times?; the current model has learned", out, re.MULTILINE)
    assert re.search(rf"^detector +DDM.*, mean error {last.detector.estimation:.4f}$", out, re.MULTILINE)
    assert re.search(r"^warnings by +ADWIN\(significance=0.1", out, re.MULTILINE)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "arff", "vw", "libsvm"])
def test_generate(capsys, tmp_path, ending):
    path = tmp_path / f"sea.{ending}"
    code, _, err = run(capsys, "generate", "SEA(seed=1)", "-n", 2000, "--out", path)
    assert code == OK, err
    assert "2,000 rows" in err
    target = [] if ending in ("vw", "libsvm") else ["--target", "y"]
    # Hashed features are many, so a model of few weights is chosen.
    model = "LogisticRegression(optimizer=AdaGrad)"
    written = json.loads(run(capsys, "run", path, *target, "-m", model, "--json")[1])
    made = json.loads(run(capsys, "run", "SEA(seed=1)", "--limit", 2000, "-m", model, "--json")[1])
    assert written["rows"] == 2000
    assert written["metrics"]["Accuracy"]["whole"] == pytest.approx(made["metrics"]["Accuracy"]["whole"], abs=0.1)


def test_generate_to_standard_output(capsys):
    assert len(run(capsys, "generate", "SEA(seed=1)", "-n", 5)[1].splitlines()) == 6
    assert run(capsys, "generate", "SEA(seed=1)", "-n", 5, "--to", "vw")[1].count("|") == 5


def test_generate_samples_a_file(capsys, tmp_path):
    from millstream import sampling

    rows = [(f"u{row * 7 % 90}", row % 11) for row in range(1000)]
    (tmp_path / "big.csv").write_text("user,query\n" + "".join(f"{user},{query}\n" for user, query in rows))
    small = tmp_path / "small.csv"
    code, _, err = run(capsys, "generate", tmp_path / "big.csv", "--sample-by", "user", "0.3", "--out", small)
    assert code == OK, err
    written = [line.replace('"', "").split(",") for line in small.read_text().splitlines()]
    by = sampling.ByKey(0.3, "user")
    kept = [[user, str(query)] for user, query in rows if by.keeps_one({"user": user})]
    assert written == [["user", "query"], *kept]
    assert f"{len(kept):,} rows" in err
    # A column of integers has the same keys in any format.
    column = tmp_path / "column.parquet"
    run(capsys, "generate", tmp_path / "big.csv", "--out", column)
    for source in (tmp_path / "big.csv", column):
        out = run(capsys, "generate", source, "--sample-by", "query", "0.5", "--sample-seed", "3")[1]
        by = sampling.ByKey(0.5, "query", seed=3)
        wanted = {str(query) for query in range(11) if by.keeps_one({"query": query})}
        assert {line.rpartition(",")[2] for line in out.splitlines()[1:]} == wanted
    # A uniform sample, in the order of the rows.
    out = run(capsys, "generate", tmp_path / "big.csv", "--sample", 20, "--sample-seed", 1)[1]
    order = [line.replace('"', "") for line in out.splitlines()[1:]]
    all_rows = [f"{user},{query}" for user, query in rows]
    found = iter(all_rows)
    assert len(order) == 20
    assert all(line in found for line in order)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sample-by", "usr", "0.1"), "each row needs a column 'usr', did you mean 'user'?"),
        (("--sample-by", "user", "x"), "FRACTION must be a number, got 'x'"),
        (("--sample-by", "user", "0"), "FRACTION must be in (0, 1], got '0'"),
        (("--sample-by", "user"), "expected 2 arguments"),
        (("--sample", "0"), "--sample"),
        (("--sample", "5", "--sample-by", "user", "0.1"), "pass --sample or --sample-by, not both"),
        (("--sample-by", "user", "0.0000001"), "no row is in the sample"),
    ],
)
def test_a_bad_sample_is_refused(capsys, tmp_path, options, words):
    (tmp_path / "big.csv").write_text("user\nann\nbob\n")
    code, _, err = run(capsys, "generate", tmp_path / "big.csv", *options)
    assert code != OK
    assert words in err


@pytest.mark.slow
def test_a_closed_pipe_is_no_error():
    code = f"{sys.executable} -m millstream generate 'SEA(seed=1)' -n 1000000 | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


def test_bench(capsys):
    code, out, _ = run(capsys, "bench", "-n", 2000, "--repeat", 1, "-m", "GaussianNB", "--json", "--no-river")
    found = json.loads(out)
    assert (code, found["rows"], found["models"][0]["model"]) == (OK, 2000, "GaussianNB")
    assert found["models"][0]["rows_per_second"] > 1000
    code, out, _ = run(capsys, "bench", "-n", 1000, "--repeat", 1, "--features", 3)
    assert "StandardScaler | LogisticRegression" in out
    assert "River" in out


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_completion(capsys, shell_name):
    code, out, _ = run(capsys, "completion", shell_name)
    assert code == OK
    for command in COMMANDS:
        assert command.name in out
    assert "LogisticRegression" in out
    assert out == script(shell_name, COMMANDS)


def test_completion_completes_in_bash():
    def completed(*words):
        line = " ".join(f"'{word}'" for word in ("millstream", *words))
        asked = f"COMP_WORDS=({line})\nCOMP_CWORD={len(words)}\n_millstream\n"
        program = script("bash", COMMANDS) + asked + 'printf "%s\\n" "${COMPREPLY[@]}"'
        return subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True).stdout.split()

    assert completed("co") == ["compare", "completion"]
    assert completed("run", "x.csv", "--mo") == ["--model"]
    assert completed("run", "x.csv", "--metric", "Acc") == ["Accuracy"]
    assert completed("run", "x.csv", "--on-error", "") == ["raise", "skip"]
    assert completed("describe", "GaussianN") == ["GaussianNB"]


# what goes wrong


def bad_file(tmp_path, kind):
    """A file with a fault, and words of the line that tells it."""
    path = tmp_path / "bad.csv"
    good = "".join(f"{i},{i % 7},{'yes' if i % 2 else 'no'}\n" for i in range(300))
    head = "a,b,late\n"
    if kind == "empty":
        path.write_text("")
        return path, "empty"
    if kind == "only a header":
        path.write_text(head)
        return path, "no rows"
    if kind == "wrong delimiter":
        path.write_text((head + good).replace(",", "\x1f"))
        return path, "late"
    if kind == "ragged":
        path.write_text(head + good + "1,2\n" + good)
        return path, "line 302"
    if kind == "bad UTF-8":
        path.write_bytes((head + good).encode() + b"1,\xff\xfe,no\n")
        return path, "302"
    if kind == "constant target":
        path.write_text(head + "".join(f"{i},1,no\n" for i in range(100)))
        return path, "the target 'late' is 'no' in all 100 rows: there is nothing to learn"
    if kind == "directory":
        path.mkdir()
        return path, "directory"
    if kind == "missing":
        return tmp_path / "bd.csv", "there is no such file"
    if kind == "truncated gzip":
        path = tmp_path / "bad.csv.gz"
        whole = gzip.compress((head + good * 50).encode())
        path.write_bytes(whole[: len(whole) // 2])
        return path, str(path)
    if kind == "truncated Parquet":
        path = tmp_path / "bad.parquet"
        pyarrow.parquet.write_table(pyarrow.table({"a": np.arange(5000.0), "late": ["no", "yes"] * 2500}), path)
        path.write_bytes(path.read_bytes()[:-200])
        return path, str(path)
    raise AssertionError(kind)


@pytest.mark.parametrize(
    "kind",
    [
        "empty", "only a header", "wrong delimiter", "ragged", "bad UTF-8", "constant target", "directory",
        "missing", "truncated gzip", "truncated Parquet",
    ],
)  # fmt: skip
def test_a_bad_file_is_one_clear_line(capsys, tmp_path, kind):
    path, words = bad_file(tmp_path, kind)
    if kind == "truncated Parquet" and not hasattr(stream, "read_parquet"):
        pytest.skip("no reader of Parquet")
    code, _, err = run(capsys, "run", path, "--target", "late", "-m", "GaussianNB")
    assert code == DATA_ERROR
    assert words in err
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err
    assert "bug" not in err


@pytest.mark.parametrize("kind", ["a BOM", "CRLF", "quoted newlines", "nulls"])
def test_an_unusual_file_is_read(capsys, tmp_path, kind):
    rows = "".join(f"{i},{i % 7},{'yes' if i % 2 else 'no'}\n" for i in range(300))
    text = "a,b,late\n" + rows
    if kind == "a BOM":
        text = "\ufeff" + text
    if kind == "CRLF":
        text = text.replace("\n", "\r\n")
    if kind == "quoted newlines":
        text = "a,b,c,late\n" + "".join(f'{i},1,"x\ny",{"yes" if i % 2 else "no"}\n' for i in range(300))
    if kind == "nulls":
        text = "a,b,late\n" + "".join(f"{i},,{'yes' if i % 2 else 'no'}\n" for i in range(300))
    path = tmp_path / "odd.csv"
    path.write_bytes(text.encode())
    code, out, err = run(capsys, "run", path, "-t", "late", "-m", "GaussianNB", "--json")
    assert code == OK, err
    assert json.loads(out)["rows"] == 300


def test_a_target_that_is_not_there(capsys, data):
    code, _, err = run(capsys, "run", data, "--target", "latte")
    assert code == DATA_ERROR
    assert "did you mean 'late'?" in err
    code, _, err = run(capsys, "run", data)
    assert code == USAGE
    assert "--target COLUMN; columns: a, b, color, late" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "StandardScaler | LogisticRegresion"], "did you mean 'linear_model.LogisticRegression'?"),
        (
            ["-m", "StandardScaler"],
            "or a clusterer, got StandardScaler, a transformer",
        ),
        (["-m", "LogisticRegression(l2=-1)"], "l2 must be >= 0, got -1"),
        (["--metric", "Acuracy"], "did you mean 'metrics.Accuracy'?"),
        (["--metric", "StandardScaler"], "expected a metric"),
        (["--detector", "PageHinkly"], "did you mean 'drift.PageHinkley'?"),
        (["--resume", "x.ms", "-m", "GaussianNB"], "--resume and --model exclude each other"),
        (["--label-time", "x"], "--label-time needs --time"),
        (["--delay", "2h"], "needs --time"),
        (["--predictions", "x.xlsx"], "must end in .csv or .parquet"),
        (["--report", "x.pdf"], "must end in .html"),
    ],
)
def test_what_makes_no_sense(capsys, data, arguments, message):
    code, _, err = run(capsys, "run", data, "-t", "late", *arguments)
    assert code == USAGE
    assert message in err


def test_the_place_in_a_model_is_pointed_at(capsys, data):
    _, _, err = run(capsys, "run", data, "-t", "late", "-m", "StandardScaler | Logistc")
    assert err.splitlines()[1:] == ["  StandardScaler | Logistc", "                   ^^^^^^^"]


def test_sources_that_are_not_there(capsys, data):
    code, _, err = run(capsys, "run", "Flihts")
    assert (code, "did you mean 'datasets.Flights'?" in err) == (USAGE, True)
    code, _, err = run(capsys, "run", "SEA(sed=1)")
    assert (code, "did you mean 'seed'?" in err) == (USAGE, True)
    code, _, err = run(capsys, "run", data.with_name("dat.csv"), "-t", "late")
    assert (code, f"did you mean {str(data)!r}?" in err) == (DATA_ERROR, True)
    code, _, err = run(capsys, "run", "SEA(seed=1)", "--target", "other")
    assert (code, "--target applies to files only" in err) == (USAGE, True)
    code, _, err = run(capsys, "run", "StandardScaler")
    assert code == USAGE


def test_rows_that_cannot_be_learned(capsys, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("a,late\n" + "".join(f"{'inf' if i == 100 else i},{i % 2}\n" for i in range(200)))
    saved = tmp_path / "model.ms"
    code, _, err = run(capsys, "run", path, "-t", "late", "-m", MODEL, "--save", saved)
    assert code == DATA_ERROR
    assert "row 100" in err
    # What was learned before is not lost.
    assert millstream.load(saved).learned == 100
    code, out, _ = run(capsys, "run", path, "-t", "late", "-m", MODEL, "--on-error", "skip")
    assert code == OK
    assert "1 row refused by the model: row 100: " in out


def test_places_that_cannot_be_written_are_refused_first(capsys, data, tmp_path):
    for option, name in (
        ("--save", "m.ms"),
        ("--report", "r.html"),
        ("--predictions", "p.csv"),
        ("--plot", "p.png"),
    ):
        code, out, err = run(capsys, "run", data, "-t", "late", option, tmp_path / "no" / name)
        assert (code, out) == (DATA_ERROR, "")
        assert f"{option}: there is no directory" in err
        assert run(capsys, "run", data, "-t", "late", option, tmp_path)[0] in (DATA_ERROR, USAGE)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")  # noqa: PTH110
def test_a_full_disk(capsys, data):
    code, out, err = run(capsys, "run", data, "-t", "late", "--save", "/dev/full")
    assert code == DATA_ERROR
    assert "3,000 rows in " in out
    assert "--save: /dev/full: No space left on device" in err
    # The model is not lost: it is kept elsewhere, and the line says where.
    kept = re.search(r"the model is in (\S+) instead", err)
    assert millstream.load(kept[1]).learned == 3000
    os.unlink(kept[1])  # noqa: PTH108
    os.rmdir(os.path.dirname(kept[1]))  # noqa: PTH106, PTH120
    code, out, err = run(capsys, "run", data, "-t", "late", "--predictions", "/dev/full")
    assert code == DATA_ERROR
    assert "3,000 rows in " in out
    assert "No space left on device" in err
    code, _, err = run(capsys, "run", data, "-t", "late", "--report", "/dev/full")
    assert (code, "No space left" in err) == (DATA_ERROR, True)


@pytest.mark.slow
def test_a_disk_that_fills_while_saving_leaves_the_old_file(data, tmp_path):
    saved = tmp_path / "model.ms"
    saved.write_bytes(b"precious")
    program = f"""
import resource, signal, sys, tempfile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
from millstream.cli import main
sys.exit(main(["run", {str(data)!r}, "-t", "late", "--save", {str(saved)!r}]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == DATA_ERROR
    assert f"--save: {saved}: File too large; the existing file is unchanged" in done.stderr
    assert "3,000 rows in " in done.stdout
    assert saved.read_bytes() == b"precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "model.ms"]


def test_debugging_shows_the_traceback(data, monkeypatch):
    with pytest.raises(millstream.errors.MillstreamError):
        cli.main(["run", str(data), "-t", "latte", "--debug"])
    monkeypatch.setenv("MILLSTREAM_DEBUG", "1")
    with pytest.raises(millstream.errors.MillstreamError):
        cli.main(["run", str(data), "-t", "latte"])


# Ctrl-C


def begun(*arguments, **more):
    command = [sys.executable, "-m", "millstream", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def lines_of(path, at_least):
    """Wait until a file has so many lines."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if path.exists() and len(path.read_bytes().splitlines()) >= at_least:
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} has not got {at_least} lines")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_loses_nothing(capsys, tmp_path, number):
    saved, said = tmp_path / "model.ms", tmp_path / "said.csv"
    process = begun("run", "SEA(seed=1)", "-m", MODEL, "--save", saved, "--predictions", said, "--json")
    lines_of(said, 20_000)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED, err.decode()
    found = json.loads(out)
    assert found["interrupted"]
    assert found["rows"] == millstream.load(saved).learned > 0
    assert len(said.read_bytes().splitlines()) == found["rows"] + 1
    # What was found so far is what a run over so many rows finds.
    _, out, _ = run(capsys, "run", "SEA(seed=1)", "-m", MODEL, "--limit", found["rows"], "--json")
    assert json.loads(out)["metrics"] == found["metrics"]


@pytest.mark.slow
def test_an_interruption_while_waiting_for_input(tmp_path):
    saved, said = tmp_path / "model.ms", tmp_path / "said.csv"
    process = begun("run", "-", "-t", "y", "--format", "csv", "-m", "GaussianNB", "--follow", "--save", saved,
                    "--drop", "id", "--types", "x=number", "--limit", 1000, "--delay", 0,
                    "--predictions", said, stdin=subprocess.PIPE)  # fmt: skip
    process.stdin.write(b"x,y,id\n" + b"".join(b"%d,%d,%d\n" % (i, i % 2, i) for i in range(100)))
    process.stdin.flush()
    lines_of(said, 101)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED, err.decode()
    assert "100 rows in " in out.decode()
    assert "interrupted: this is the result so far" in out.decode()
    # The line that goes on reads the rows as this run did.
    assert (
        "to continue: millstream run - --target y --drop id --types x=number --format csv --follow --delay 0 "
        f"--limit 900 --resume {saved} --save {saved} --skip 100\n"
    ) in err.decode()
    assert millstream.load(saved).learned == 100


@pytest.mark.slow
def test_a_growing_file(tmp_path):
    path, said = tmp_path / "log.csv", tmp_path / "said.jsonl"
    path.write_text("x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(50)))
    process = begun("run", path, "-t", "y", "-m", "GaussianNB", "--follow", "--predictions", said)
    lines_of(said, 50)
    with path.open("a") as file:
        file.write("".join(f"{i},{i % 2}\n" for i in range(50)))
    lines_of(said, 100)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED, err.decode()
    assert "100 rows in " in out.decode()


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("run", ["-t", "late", "--save"]),
        ("run", ["-t", "late", "--predictions"]),
        ("compare", ["-t", "late", "--predictions"]),
        ("generate", ["--out"]),
    ],
)
def test_nothing_is_written_over_the_source(capsys, data, command, options):
    before = data.read_bytes()
    code, _, error = run(capsys, command, data, *options, data.parent / "." / data.name)
    assert code == USAGE
    assert "is also SOURCE" in error
    assert data.read_bytes() == before


def test_two_results_do_not_go_to_one_file(capsys, data, saved, tmp_path):
    one = tmp_path / "one.html"
    code, _, error = run(capsys, "run", data, "-t", "late", "--report", one, "--save", one)
    assert code == USAGE
    assert "--report" in error
    assert "--save" in error
    kept = saved.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(saved)
    code, _, error = run(capsys, "predict", data, "--drop", "late", "--load", saved, "--out", link)
    assert code == USAGE
    assert "is also --load" in error
    assert saved.read_bytes() == kept
    # A run that goes on with a model may put it back.
    assert run(capsys, "run", data, "-q", "-t", "late", "--resume", saved, "--save", saved)[0] == OK


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--limit", "9" * 30], "below 2**63"),
        (["--warmup", "1e300"], "below 2**63"),
        (["--delay", "9" * 30], "below 2**63"),
        (["--delay", "9" * 30 + "d"], "million years"),
        (["--model", ""], "nothing to read"),
        (["--option", "names=1"], "wrong type"),
        (["--option", "idle=x"], "wrong type"),
    ],
)
def test_numbers_beyond_all_bounds_and_options_of_another_type(capsys, data, options, message):
    code, _, error = run(capsys, "run", data, "-q", "-t", "late", *options)
    assert code == USAGE
    assert message in error
    assert "bug" not in error


def test_a_large_number_keeps_its_digits():
    assert count("9007199254740993") == 9007199254740993


def test_a_full_disk_is_named(capsys, data, saved, tmp_path):
    code, _, error = run(capsys, "predict", data, "--drop", "late", "--load", saved, "--out", "/dev/full")
    assert code == DATA_ERROR
    assert error.endswith("\n/dev/full: no space left on device\n")
    code, _, error = run(capsys, "run", data, "-q", "-t", "late", "--plot", "/dev/full")
    assert code == DATA_ERROR
    assert error.startswith("--plot: /dev/full: ")


def test_names_from_a_file_cannot_steer_the_terminal(capsys, tmp_path):
    path, model = tmp_path / "a.csv", tmp_path / "m.ms"
    path.write_text("\x1b[31mred,\u202eback,y\n1,2,\x1b]0;title\x07\n2,1,b\n")
    assert run(capsys, "run", path, "-q", "-t", "y", "--save", model)[0] == OK
    code, out, _ = run(capsys, "inspect", model)
    assert code == OK
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "\u202e" not in out
    assert "\\x1b[31mred" in out


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_standard_stream_that_is_closed(data, closed):
    words = shlex.join([sys.executable, "-m", "millstream", "run", "-" if closed == "<&-" else str(data)])
    done = subprocess.run(
        ["bash", "-c", f"{words} --format csv -q -t late {closed}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if closed == "<&-":
        assert done.returncode == DATA_ERROR
        assert "the file is empty" in done.stderr
    else:
        assert (done.returncode, done.stderr) == (OK, "")


def test_an_error_in_the_middle_of_a_source_loses_nothing(tmp_path, capsys):
    lines = [f"{i % 7},{int(i % 7 > 3)}" for i in range(300)]
    data, page, saved = tmp_path / "data.csv", tmp_path / "page.html", tmp_path / "model.ms"
    data.write_text("\n".join(["x,y", *lines, "1,2,3", *lines]) + "\n")
    code = cli.main(["run", str(data), "--target", "y", "--report", str(page), "--save", str(saved)])
    shown = capsys.readouterr()
    assert code == 1
    assert "300 rows" in shown.out
    assert "stopped by an error: this is the result so far" in shown.out
    assert "line 302" in shown.err
    assert "Traceback" not in shown.err
    assert page.read_text().startswith("<!doctype html>")
    assert millstream.load(saved).learned == 300
    code = cli.main(["compare", str(data), "--target", "y"])
    shown = capsys.readouterr()
    assert code == 1
    assert "this is the result so far" in shown.out


def test_alone_it_teaches(capsys):
    code, out, err = run(capsys)
    assert (code, out) == (USAGE, "")
    assert "evaluate and train a model row by row" in err


def test_run_says_what_is_odd_about_columns(tmp_path, capsys):
    path = tmp_path / "odd.csv"
    rows = [f'r{row},"{row},{row % 7}",{"ab"[row % 2]},{row % 2}' for row in range(400)]
    path.write_text("\n".join(["id,height,kind,y", *rows]))
    code, out, _ = run(capsys, "run", path, "-t", "y", "-q")
    assert code == OK
    assert "id seems to identify rows (400 different values in 400 rows): consider --drop id" in out
    assert "height is read as strings because its numbers have a comma: try --option decimal=," in out
    assert "note     kind" not in out
    code, out, _ = run(capsys, "run", path, "-t", "y", "-q", "--drop", "id", "--option", "decimal=,")
    assert code == OK
    assert "note" not in out


def test_a_page_names_its_data(tmp_path, capsys):
    path, page = tmp_path / "some.csv", tmp_path / "page.html"
    path.write_text("x,y\n" + "".join(f"{row},{row % 2}\n" for row in range(50)))
    assert run(capsys, "run", path, "-t", "y", "-q", "--report", page)[0] == OK
    assert "<h1>some.csv: StandardScaler | LogisticRegression</h1>" in page.read_text()
    assert "stream.read_csv(" in page.read_text()


def test_the_documentation_lists_every_command():
    page = pathlib.Path(__file__).parents[1].joinpath("docs", "command_line.md").read_text()
    rows = re.findall(r"^\| (`.*?`) \|", page.partition("\n## ")[0], re.MULTILINE)
    listed = re.findall(r"`([a-z]+)`", " ".join(rows))
    assert sorted(listed) == sorted(command.name for command in COMMANDS)


def test_a_run_on_a_file_with_times_does_not_import_pandas(tmp_path):
    rows = "".join(f"2024-01-{n % 28 + 1:02d}T10:00:00,{n % 7},{n % 2}\n" for n in range(200))
    (tmp_path / "data.csv").write_text(f"at,a,y\n{rows}")
    code = (
        "import sys\nfrom millstream.cli import main\n"
        "assert main(['run', 'data.csv', '-t', 'y', '--quiet']) == 0\n"
        "assert 'pandas' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_predict_begins_with_what_is_in_the_file(capsys, data, saved):
    code, out, err = run(capsys, "predict", data, "-t", "late", "--load", saved, "--limit", 2)
    assert code == OK
    assert err.startswith("first 2 rows:\n  columns  3: 2 number (a, b), 1 constant (color)\n")
    assert "columns" not in out
    assert run(capsys, "predict", data, "-t", "late", "--load", saved, "--limit", 2, "--quiet")[2] == ""
