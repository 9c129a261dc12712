"""The command line on rows that are missing in a result: not read, refused, not scored, behind an error."""

import csv
import json
import shlex

import pytest

import millstream
from millstream import cli, evaluate, linear_model, stream
from millstream.evaluate.progress import Progress

OK, DATA_ERROR, USAGE = 0, 1, 2


def run(capsys, *arguments):
    code = cli.main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def lines_of(n):
    return [f"{1 if i % 7 > 3 else -1} | a:{i % 7} b{i % 3}" for i in range(n)]


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.vw"
    path.write_text("\n".join(lines_of(300)) + "\n")
    return path


@pytest.fixture
def bad(tmp_path):
    """Four lines of it cannot be read, and two have no label."""
    lines = lines_of(300)
    for place in (3, 10, 90, 200):
        lines[place] = "label | a:1"
    lines[20] = lines[30] = "| a:1"
    path = tmp_path / "bad.vw"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def second(tmp_path):
    """The second row has no label, so it ends a run in which nothing was scored."""
    lines = lines_of(300)
    lines[1] = "| a:1"
    path = tmp_path / "second.vw"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def saved(capsys, good, tmp_path):
    path = tmp_path / "model.ms"
    assert run(capsys, "run", good, "-q", "--save", path)[0] == OK
    return path


def test_run_tells_what_could_not_be_read_from_what_was_refused(capsys, bad, tmp_path):
    page = tmp_path / "page.html"
    code, out, _ = run(capsys, "run", bad, "--on-error", "skip", "--report", page)
    assert code == OK
    told = out.splitlines()
    place = told.index("4 lines could not be read:")
    assert told[place + 1] == f"  {bad}, line 4, column 1: the label must be a number, got 'label'"
    assert told[place + 4] == "  … and 1 more"
    assert told[place + 5] == "2 rows refused by the model:"
    assert told[place + 6].startswith("  row 18: ")
    assert max(map(len, told[place:])) < 200
    assert "4 could not be read" in page.read_text()
    assert "line 4, column 1" in page.read_text()
    found = json.loads(run(capsys, "run", bad, "--on-error", "skip", "--json")[1])
    assert [found[name] for name in ("rows", "skipped", "unread", "refused")] == [296, 6, 4, 2]
    assert [len(found[name]) for name in ("unread_reasons", "refusals")] == [4, 2]


def test_one_reason_stands_on_the_line(capsys, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("x,y\n" + "".join(f"{row},{row % 2}\n" for row in range(50)) + "1,2,3\n")
    _, out, _ = run(capsys, "run", path, "-t", "y", "--on-error", "skip")
    assert f"1 line could not be read: {path}, line 52" in out


def test_nothing_that_could_be_read(capsys, saved, tmp_path):
    path = tmp_path / "none.vw"
    path.write_text("label | a:1\nlabel | a:2\n")
    line = f"{path}: no row could be read; the first error: {path}, line 1, column 1: "
    for command in (["run"], ["run", "-m", "NoChange"], ["compare"], ["predict", "--load", saved]):
        code, out, err = run(capsys, command[0], path, *command[1:], "--on-error", "skip")
        assert (code, out) == (DATA_ERROR, "")
        assert err.startswith(line)


def test_compare_tells_it_too(capsys, bad, tmp_path):
    page = tmp_path / "page.html"
    models = ("-m", "LogisticRegression", "-m", "NoChange")
    code, out, _ = run(capsys, "compare", bad, *models, "--on-error", "skip", "--report", page)
    assert code == OK
    assert "4 lines could not be read:" in out
    assert "Unreadable rows" in page.read_text()


def test_a_result_knows_what_its_reader_skipped(bad):
    rows = stream.read_vw(bad, on_error="skip")
    result = evaluate.prequential(millstream.parse("LogisticRegression"), rows, on_error="skip")
    assert (result.rows, result.unread, result.skipped) == (296, 4, 2)
    assert result.unread_reasons == rows.skipped.reasons
    assert "4 could not be read" in repr(result)


def test_predict_tells_what_could_not_be_read(capsys, bad, saved, tmp_path):
    out = tmp_path / "said.csv"
    arguments = ("predict", bad, "--load", saved, "--on-error", "skip", "--out", out)
    code, _, err = run(capsys, *arguments)
    assert code == OK
    assert "4 lines could not be read:\n" in err
    assert "line 4, column 1: the label must be a number" in err
    found = json.loads(run(capsys, *arguments, "--json")[1])
    assert [found[name] for name in ("rows", "skipped", "unread", "refused")] == [296, 4, 4, 0]
    assert found["files"] == {"out": str(out)}
    # On standard output there are the predictions, and the words are beside them.
    code, out, err = run(capsys, *arguments[:-2], "--json")
    assert len(out.splitlines()) == 296
    assert "4 lines could not be read:\n" in err


def test_predict_tells_why_a_row_has_no_prediction(capsys, tmp_path):
    data, model, new = tmp_path / "data.csv", tmp_path / "model.ms", tmp_path / "new.csv"
    data.write_text("a,y\n" + "".join(f"{row % 9},{row % 2}\n" for row in range(50)))
    run(capsys, "run", data, "-t", "y", "-q", "--save", model)
    new.write_text("a\n1\ninf\n3\n")
    out = tmp_path / "said.csv"
    code, _, err = run(capsys, "predict", new, "--load", model, "--on-error", "skip", "--out", out)
    assert code == OK
    assert "1 row without a prediction: row 1: " in err


def test_an_error_in_predict_says_what_is_written(capsys, good, saved, tmp_path):
    path, out = tmp_path / "cut.vw", tmp_path / "said.csv"
    path.write_text(good.read_text() + "label | a:1\n")
    code, _, err = run(capsys, "predict", path, "--load", saved, "--out", out)
    assert code == DATA_ERROR
    assert err.splitlines()[-1] == f"{out} contains the predictions of the first 300 rows"
    assert len(out.read_text().splitlines()) == 301


# nothing was scored


def test_what_was_not_scored_has_no_number(capsys, second, tmp_path):
    code, out, _ = run(capsys, "run", second)
    assert code == DATA_ERROR
    assert [line.split() for line in out.splitlines() if line.startswith("Accuracy")] == [["Accuracy", "–", "–"]]
    found = json.loads(run(capsys, "run", second, "--json")[1])
    assert found["metrics"] == {name: {"whole": None, "last": None} for name in ("Accuracy", "CohenKappa")}
    best = tmp_path / "best.ms"
    code, out, err = run(capsys, "compare", second, "--save", best)
    assert code == DATA_ERROR
    assert "0.0000" not in out
    assert "nothing was scored" in out
    assert "--save: nothing was scored" in err
    assert not best.exists()
    assert json.loads(run(capsys, "compare", second, "--json")[1])["best"] is None


def test_progress_has_no_number_before_the_first_label():
    bar = Progress(False, None, "Accuracy", 10)
    bar.tick(5, (0.0, 0, None, 0))
    assert ("Accuracy –", "bold") in bar.words((0.0, 0, None, 0), 1.0)
    bar.tick(15, (0.0, 0, None, 10))
    assert ("Accuracy –", "bold") in bar.words((0.0, 0, None, 10), 1.0)
    assert ("Accuracy 0.5000", "bold") in bar.words((0.5, 0, None, 9), 1.0)


# behind an error


def test_an_error_says_what_is_saved_and_how_to_go_on(capsys, tmp_path):
    lines = lines_of(300)
    lines[100], lines[200] = "| a:1", "label | a:1"
    path, model = tmp_path / "middle.vw", tmp_path / "model.ms"
    path.write_text("\n".join(lines) + "\n")
    code, out, err = run(capsys, "run", path, "--save", model)
    assert code == DATA_ERROR
    assert "100 rows in " in out
    assert f"saved in {model}, with the 100 rows learned before the error\n" in err
    words, _, line = err.splitlines()[-1].partition(": ")
    assert words == "to continue without it"
    assert shlex.split(line)[-2:] == ["--skip", "100"]
    assert run(capsys, *shlex.split(line)[1:])[0] == OK
    assert millstream.load(model).learned == 298


def test_an_error_in_the_first_row_saves_nothing(capsys, tmp_path):
    path, model = tmp_path / "first.vw", tmp_path / "model.ms"
    path.write_text("| a:1\n" + "\n".join(lines_of(50)))
    code, _, err = run(capsys, "run", path, "-m", "LogisticRegression", "--save", model)
    assert code == DATA_ERROR
    assert err.splitlines()[-1] == f"nothing was learned; {model} was not written"
    assert not model.exists()


def test_rows_done_in_another_order_are_not_skipped(capsys, tmp_path):
    path, model = tmp_path / "middle.vw", tmp_path / "model.ms"
    path.write_text("\n".join([*lines_of(100), "| a:1"]))
    _, _, err = run(capsys, "run", path, "-m", "LogisticRegression", "--save", model, "--shuffle", 2)
    assert err.splitlines()[-1] == f"the model is saved in {model}; continue with --resume {model}"


def test_rows_count_what_was_done_before_the_error(capsys):
    rows = [({"a": float(row % 5)}, row % 2) for row in range(3000)]
    rows[1500] = ({"a": float("inf")}, 1)
    with pytest.raises(millstream.errors.MillstreamError) as caught:
        evaluate.prequential(millstream.parse("GaussianNB"), rows)
    assert (caught.value.result.rows, caught.value.result.learned) == (1500, 1500)


def test_predictions_of_labels_that_are_missing_here_and_there(capsys, saved, tmp_path):
    path, out = tmp_path / "some.vw", tmp_path / "said.csv"
    path.write_text("1 | a:6\n| a:1\n-1 | a:2\n")
    assert run(capsys, "predict", path, "--load", saved, "--out", out)[0] == OK
    assert [row["truth"] for row in csv.DictReader(out.open())] == ["1", "", "-1"]
    path.write_text("| a:6\n| a:1\n")
    assert run(capsys, "predict", path, "--load", saved, "--out", out)[0] == OK
    assert "truth" not in out.read_text()


def test_a_label_that_is_no_class_is_not_cut_to_one(capsys, saved, tmp_path):
    """It comes when the column of truths is known to be one of whole numbers."""
    path, out = tmp_path / "late.vw", tmp_path / "out.csv"
    path.write_text("1 | a:1\n" * 40_000 + "0.5 | a:1\n")
    assert run(capsys, "predict", path, "--load", saved, "--out", out, "-q")[0] == OK
    with out.open() as file:
        truths = [row["truth"] for row in csv.DictReader(file)]
    assert truths[:40_000] == ["1"] * 40_000
    assert truths[40_000:] == [""]


def test_a_model_that_scored_nothing_is_not_the_best():
    """Its error would be 0, the least there is."""
    deaf = linear_model.LinearRegression()
    deaf.learn_one({"a": 1.0}, 1.0)
    rows = [({"a": "text"}, float(place)) for place in range(20)]
    models = {"deaf": deaf, "fresh": linear_model.LinearRegression()}
    results = evaluate.prequential(models, rows, metrics="MAE", on_error="skip", progress=False)
    assert results["deaf"].scored == 0
    assert results.best.name == "fresh"
    assert [result.name for result in results.ranked()] == ["fresh", "deaf"]


def test_lines_that_could_not_be_read_are_told_of_before_those_that_were_skipped(capsys, tmp_path):
    path = tmp_path / "bad.vw"
    path.write_text("a,b,c\nd,e,f\n")
    _, _, error = run(capsys, "run", path, "--on-error", "skip", "--skip", "1")
    assert "no row could be read; the first error" in error
