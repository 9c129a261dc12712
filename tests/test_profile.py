"""Profiles of streams: kinds, remarks with the option that corrects them, data contracts, `millstream look`."""

import io
import json
from typing import Any

import numpy as np
import pytest

from millstream import cli, stream
from millstream.errors import InvalidState, InvalidType, InvalidValue
from millstream.stream.profiling.stream_profile import histogram_of


def read(text, **options):
    return stream.read_csv(io.BytesIO(text.encode()), target="y", **options)


def table(**columns):
    names = list(columns)
    rows = zip(*columns.values(), strict=True)
    return ",".join(names) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


N = 400
Y = [n % 2 for n in range(N)]


@pytest.mark.parametrize(
    ("values", "kind", "reason"),
    [
        ([n / 7 for n in range(N)], "number", "all values are numbers"),
        ([n * n for n in range(N)], "number", "integers"),
        ([n % 2 for n in range(N)], "number", "0 and 1 only"),
        ([n + 5 for n in range(N)], "id-like", "counts from 5 to 404"),
        (["ab"[n % 2] for n in range(N)], "nominal", "strings, 2 different"),
        ([f"u{n}" for n in range(N)], "id-like", "400 different values in 400 rows"),
        ([f"the flight {n} was late" for n in range(N)], "text", "5 words on average"),
        (["x"] * N, "constant", "always 'x'"),
        ([3] * N, "constant", "always 3"),
        ([""] * N, "empty", "no row has a value"),
    ],
)
def test_the_kind_of_a_column_and_its_reason(values, kind, reason):
    column = stream.profile(read(table(x=values, y=Y))).columns["x"]
    assert (column.kind, column.reason) == (kind, reason)


def test_moments_histogram_and_missing_values_over_several_chunks():
    random = np.random.default_rng(3)
    values = random.normal(5, 2, 1000)
    values[::10] = np.nan
    X = np.column_stack([values, np.arange(1000)])
    found = stream.profile(stream.from_numpy(X, np.arange(1000) % 3).batch(64))
    column = found.columns[0]
    present = values[~np.isnan(values)]
    assert found.rows == column.rows == 1000
    assert column.missing == 100
    assert column.missing_fraction == 0.1
    assert (column.low, column.high) == (present.min(), present.max())
    assert column.mean == pytest.approx(present.mean(), rel=1e-12)
    assert column.deviation == pytest.approx(present.std(ddof=1), rel=1e-12)
    assert sum(column.histogram) == 900
    assert len(histogram_of(column)) == 12
    assert found.target.different == 3


def test_a_column_that_appears_later_was_missing_before():
    rows = [({"a": 1}, 0)] * 5 + [({"a": 1, "b": "u"}, 1)] * 3
    found = stream.profile(stream.from_examples(rows).batch(4))
    assert found.columns["b"].missing == 5
    assert found.columns["b"].counts == {"u": 3}


@pytest.mark.parametrize(
    ("values", "remark"),
    [
        (
            ["-" if n % 50 == 0 else n / 7 for n in range(N)],
            "98 % of x are numbers, but it is read as strings because of '-' (8 ×): --option missing=-",
        ),
        (
            ["-" if n % 50 == 0 else "bad" if n % 51 == 0 else n / 7 for n in range(N)],
            "96.2 % of x are numbers, but it is read as strings because of '-' (8 ×), 'bad' (7 ×): "
            "--types x=number",
        ),
        (
            [f'"{n},5"' for n in range(N)],
            "x is read as strings because its numbers have a comma: try --option decimal=,",
        ),
        (
            [f'"{n % 9 + 1},{n:03d}.50"' if n % 3 else "7" for n in range(N)],
            "x is read as strings because its numbers have a comma ('2,001.50'): "
            "remove the thousands separators from the file",
        ),
        (
            [f'"{n % 9 + 1},{n:03d}"' for n in range(N)],
            "x is read as strings because its numbers have a comma ('1,000'): remove it from the file, "
            "or, if it is a decimal comma, try --option decimal=,",
        ),
        (
            [f"${n / 4:.2f}" for n in range(N)],
            "x has numbers with a symbol or a unit ('$0.00') and is read as strings: "
            "remove the symbol or unit from the file",
        ),
        (
            [f"{n % 40} %" for n in range(N)],
            "x has numbers with a symbol or a unit ('0 %') and is read as strings: "
            "remove the symbol or unit from the file",
        ),
        ([f"{n % 3} kg" for n in range(N)], None),
        ([f"{n % 30}{'abc'[n % 3]}" for n in range(N)], None),
        (
            [f"{n % 28 + 1}/{n % 12 + 1}/2024" for n in range(N)],
            "x has dates with the day first ('1/1/2024'), which are read as strings: --types x=time:%d/%m/%Y",
        ),
        (
            [f"{n % 12 + 1:02d}-{n % 28 + 1:02d}-24 {n % 24:02d}:00" for n in range(N)],
            "x has dates with the month first ('01-01-24 00:00'), which are read as strings: "
            "--types 'x=time:%m-%d-%y %H:%M'",
        ),
        (
            [f"{n % 12 + 1:02d}.{n % 11 + 1:02d}.2024" for n in range(N)],
            "x has dates with the day or the month first ('01.01.2024'), which are read as strings: "
            "--types x=time:%d.%m.%Y",
        ),
        (
            [f"'{n / 7}'" for n in range(N)],
            """x has numbers in quotes and is read as strings: --option quote="'\"""",
        ),
        (
            [f'"""{n / 7}"""' for n in range(N)],
            "x has numbers in quotes and is read as strings: remove the quotes from the file",
        ),
        (
            [f"2024-01-{n % 28 + 1:02d}" for n in range(N)],
            "x is a time, read as seconds since 1970, which later rows exceed: --calendar x, --time x or --drop x",
        ),
        (
            [n % 5 for n in range(N)],
            "x has 5 different integers, which may be categories or amounts: if categories, --types x=nominal",
        ),
        (
            [f"u{n}" for n in range(N)],
            "x seems to identify rows (400 different values in 400 rows): consider --drop x",
        ),
        (["x"] * N, "x is always 'x': --drop x"),
        ([""] * N, "x has no values: --drop x"),
        (["ab"[n % 2] for n in range(N)], None),
        ([n / 7 for n in range(N)], None),
    ],
)
def test_a_remark_names_the_option_that_corrects_it(values, remark):
    found = stream.profile(read(table(x=values, y=Y))).remarks
    assert [str(each) for each in found] == ([remark] if remark else [])


def test_the_suggested_options_work():
    text = table(x=["-" if n % 50 == 0 else n / 7 for n in range(N)], y=Y)
    # The default strings stay missing values beside the new one.
    found = stream.profile(read(text.replace("\n-,", "\nNA,", 1), missing="-"))
    assert found.columns["x"].kind == "number"
    assert found.columns["x"].missing == 8
    commas = table(x=[f'"{n},5"' for n in range(N)], y=Y)
    assert stream.profile(read(commas, decimal=",")).remarks == []


@pytest.mark.parametrize("decimal", [".", ","])
def test_decimal_commas_beside_another_value_need_two_options(decimal):
    text = table(x=["-" if n % 50 == 0 else f'"{n},5"' for n in range(N)], y=Y)
    found = [str(remark) for remark in stream.profile(read(text, decimal=decimal)).remarks]
    assert found == [
        "x is read as strings because its numbers have a comma; other values: '-' (8 ×): "
        "try --option decimal=, --option missing=-"
    ]
    assert stream.profile(read(text, decimal=",", missing="-")).remarks == []


def test_decimal_commas_of_a_target_are_noted():
    text = table(x=[n / 7 for n in range(N)], y=[f'"{n},5"' for n in range(N)])
    found = [str(remark) for remark in stream.profile(read(text)).remarks]
    assert found == ["the target y is read as classes because its numbers have a comma: try --option decimal=,"]


def test_a_target_of_few_integers_may_be_classes_or_amounts():
    remarks = stream.profile(read(table(x=[n / 7 for n in range(N)], y=[n % 5 for n in range(N)]))).remarks
    assert "5 different integers, which may be classes or amounts" in remarks[0].message
    constant = stream.profile(read(table(x=[n / 7 for n in range(N)], y=[1] * N))).remarks
    assert str(constant[0]) == "the target y is always 1: there is nothing to learn"


def test_memory_is_bounded_for_endless_values(monkeypatch):
    monkeypatch.setattr("millstream.stream.profiling.columns.MOST_VALUES", 100)
    monkeypatch.setattr("millstream.stream.profiling.columns.MOST_NUMBERS", 100)
    rows = (({"x": f"k{n}", "z": n / 7}, 0) for n in range(1000))
    columns = stream.profile(stream.from_examples(rows)).columns
    assert len(columns["x"].counts) == 100
    assert columns["x"].more_values
    assert len(columns["z"].number_counts) == 100


def contract():
    random = np.random.default_rng(0)
    rows = [({"x": float(v), "c": "ab"[n % 2]}, n % 2) for n, v in enumerate(random.uniform(0, 1, 300))]
    return stream.profile(stream.from_examples(rows))


BAD = {
    "range": {"x": 99.0, "c": "a"},
    "category": {"x": 0.5, "c": "z"},
    "type": {"x": "one", "c": "a"},
    "missing": {"c": "a"},
    "column": {"x": 0.5, "c": "a", "new": 1},
}


@pytest.mark.parametrize("rule", BAD)
def test_rows_that_violate_a_contract_are_reported_or_quarantined(rule, tmp_path):
    path = tmp_path / "contract.json"
    contract().save(path)
    loaded = stream.Profile.load(path)
    good = ({"x": 0.5, "c": "a"}, 1)
    rows = stream.from_examples([good, (BAD[rule], 0), good]).batch(1)
    reported = loaded.check(rows)
    assert len(list(reported)) == 3
    assert reported.violations == {rule: 1}
    (violation,) = reported.examples_of_violations
    assert (violation.row, violation.rule) == (1, rule)
    kept = loaded.check(rows, on_violation="quarantine")
    assert list(kept) == [good, good]
    assert kept.quarantined == [(1, BAD[rule], 0)]
    # Another pass starts from the beginning.
    assert len(list(kept)) == 2
    assert kept.left_out == 1


def test_a_loaded_profile_is_the_saved_one_and_continues(tmp_path):
    made = contract()
    made.save(tmp_path / "a.json")
    loaded = stream.Profile.load(tmp_path / "a.json")
    assert str(loaded) == str(made)
    chunk = next(iter(stream.from_examples([({"x": 3.0, "c": "b"}, 1)]).chunks()))
    made.update(chunk)
    loaded.update(chunk)
    assert str(loaded) == str(made)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"format": "x"}', '{"format": "millstream profile"}'])
def test_a_file_that_is_no_profile_is_refused_in_one_line(tmp_path, text):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(InvalidState, match="no profile can be loaded") as caught:
        stream.Profile.load(path)
    assert "\n" not in str(caught.value)


def test_a_changed_field_of_a_saved_profile_is_refused(tmp_path):
    path = tmp_path / "contract.json"
    contract().save(path)
    data = json.loads(path.read_text())
    del data["columns"][0]["low"]
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidState, match="must have the fields"):
        stream.Profile.load(path)


def test_bad_arguments():
    with pytest.raises(InvalidType, match="must be a stream"):
        stream.profile([1, 2])
    with pytest.raises(InvalidValue, match="rows must be at least 1"):
        stream.profile(stream.from_examples([({"x": 1}, 0)]), rows=0)
    from millstream import synth

    with pytest.raises(InvalidValue, match="never ends"):
        stream.profile(synth.SEA(seed=1))
    assert stream.profile(synth.SEA(seed=1), rows=100).rows == 100
    with pytest.raises(InvalidValue, match="on_violation must be"):
        contract().check(synth.SEA(seed=1), on_violation="drop")


def test_look_prints_the_profile_and_checks_a_contract(tmp_path, capsys):
    path, saved = tmp_path / "data.csv", tmp_path / "contract.json"
    path.write_text(table(x=[n / 7 for n in range(N)], c=["ab"[n % 2] for n in range(N)], y=Y))
    assert cli.main(["look", str(path), "-t", "y", "--save", str(saved)]) == 0
    out = capsys.readouterr().out
    assert "400 rows" in out
    assert "columns  2: 1 number (x), 1 nominal (c)" in out
    assert "target   y: 0 50 %, 1 50 %" in out
    assert cli.main(["look", str(path), "-t", "y", "--contract", str(saved)]) == 0
    assert "all rows follow the contract" in capsys.readouterr().out
    path.write_text(path.read_text() + "1e9,z,0\n")
    assert cli.main(["look", str(path), "-t", "y", "--contract", str(saved)]) == 1
    out = capsys.readouterr().out
    assert "1 violation of the contract (range), first: row 400: x is outside of 0 to 57" in out
    assert "1 violation of the contract (category), first: row 400: c is 'z', which never occurred" in out
    assert cli.main(["look", str(path), "-t", "y", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["rows"], data["columns"][0]["kind"]) == (401, "number")


@pytest.mark.parametrize("command", ["run", "compare"])
@pytest.mark.parametrize("watched", [True, False])
def test_run_and_compare_show_what_is_in_the_file(tmp_path, capsys, monkeypatch, command, watched):
    path = tmp_path / "data.csv"
    path.write_text(table(x=["-" if n % 50 == 0 else n / 7 for n in range(N)], y=Y))
    monkeypatch.setattr("sys.stderr.isatty", lambda: watched, raising=False)
    assert cli.main([command, str(path), "-t", "y"]) == 0
    shown = capsys.readouterr()
    words = "400 rows:\n  columns  1: 1 id-like (x)\n  target   y: 0 50 %, 1 50 %\n  note     98 % of x"
    words = f"first {words}" if watched else words
    # A person sees it before the run, a program in the result.
    assert words in (shown.err if watched else shown.out)
    assert words not in (shown.out if watched else shown.err)


def test_a_column_that_changes_after_the_first_rows_is_noted(tmp_path, capsys, monkeypatch):
    path = tmp_path / "data.csv"
    x = ["-" if n > 140_000 and n % 50 == 0 else str(n / 7) for n in range(150_000)]
    path.write_text(table(x=x, y=[n % 2 for n in range(150_000)]))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert cli.main(["run", str(path), "-t", "y", "--types", "x=nominal", "-m", "NoChange"]) == 0
    shown = capsys.readouterr()
    # The first rows have no "-"; the note is printed at the end.
    assert "'-'" not in shown.err
    assert "% of x are numbers, but it is read as strings because of '-' (" in shown.out


def test_dates_in_any_layout_are_times():
    text = table(x=[f"{n % 28 + 1}.{n % 12 + 1}.2024 {n % 24}:30" for n in range(N)], y=Y)
    layout = "time:%d.%m.%Y %H:%M"
    source = read(text, types={"x": layout})
    column = stream.profile(source).columns["x"]
    assert column.kind == "time"
    # 2024-01-01 00:30 UTC
    assert column.low == 1_704_069_000
    assert "2024-01-01 00:30 to 2024-12-" in str(stream.profile(source))
    assert layout in repr(source)
    with pytest.raises(InvalidValue, match=r"must be a time like %d/%m/%Y, got '1.1.2024 0:30'"):
        list(read(text, types={"x": "time:%d/%m/%Y"}))
    assert next(iter(read(text, types={"x": layout}, time="x").chunks())).time[0].as_py().hour == 0


def test_a_missing_rate_that_rises_violates_the_contract():
    def rows(every):
        return stream.from_examples([({"x": None if n % every == 0 else 0.5, "c": "a"}, 0) for n in range(1000)])

    made = stream.profile(rows(10))
    assert made.columns["x"].missing_fraction == 0.1
    same = made.check(rows(10))
    list(same)
    assert same.violations == {}
    more = made.check(rows(2))
    list(more)
    assert more.violations == {"missing rate": 1}
    assert "x is missing in 50 % of the rows, which was 10 %" in more.summary[0]


def test_each_rule_has_its_first_example_however_often_another_is_violated():
    rows = [({"x": 0.5, "c": "a", "new": 1}, 0)] * 2000 + [({"x": 99.0, "c": "a", "new": 1}, 0)]
    checked = contract().check(stream.from_examples(rows))
    list(checked)
    assert checked.violations == {"column": 2001, "range": 1}
    assert "first: row 2,000: x is outside" in checked.summary[1]


@pytest.fixture
def files(tmp_path):
    good, bad, saved = tmp_path / "good.csv", tmp_path / "bad.csv", tmp_path / "contract.json"
    good.write_text(table(x=[n / 7 for n in range(N)], c=["ab"[n % 2] for n in range(N)], y=Y))
    bad.write_text(good.read_text() + "1e9,a,0\n1,z,1\n")
    assert cli.main(["look", str(good), "-t", "y", "--save", str(saved)]) == 0
    return good, bad, saved


@pytest.mark.parametrize("command", ["run", "compare"])
def test_run_and_compare_under_a_contract(files, capsys, tmp_path, command):
    good, bad, saved = map(str, files)
    capsys.readouterr()
    assert cli.main([command, good, "-t", "y", "-m", "NoChange", "--contract", saved]) == 0
    assert "all rows follow the contract" in capsys.readouterr().out
    assert cli.main([command, bad, "-t", "y", "-m", "NoChange", "--contract", saved]) == 0
    out = capsys.readouterr().out
    assert "1 violation of the contract (range), first: row 400: x is outside of 0 to 57 by more than" in out
    assert "402 rows" in out
    kept = tmp_path / "kept.csv"
    words = [command, bad, "-t", "y", "-m", "NoChange", "--contract", saved, "--quarantine", str(kept), "--json"]
    assert cli.main(words) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["contract"]["violations"] == {"range": 1, "category": 1}
    assert data["contract"]["quarantined"] == 2
    assert kept.read_text() == '"row","x","c","y"\n400,1000000000,"a",0\n401,1,"z",1\n'


def test_predict_shows_what_is_wrong_with_its_rows(files, capsys, tmp_path, monkeypatch):
    good, bad, saved = map(str, files)
    model, out = str(tmp_path / "model.ms"), str(tmp_path / "out.csv")
    assert cli.main(["run", good, "-t", "y", "--save", model, "-q"]) == 0
    renamed = tmp_path / "renamed.csv"
    renamed.write_text(files[0].read_text().replace("x,c,y", "xx,c,y"))
    capsys.readouterr()
    assert cli.main(["predict", str(renamed), "--load", model, "--out", out]) == 0
    err = capsys.readouterr().err
    assert f"{model} has learned x, which {renamed} does not have, did you mean 'xx'?" in err
    assert f"{renamed} has columns that {model} does not know: xx, y" in err
    assert cli.main(["predict", bad, "-t", "y", "--load", model, "--out", out, "--contract", saved]) == 0
    assert (
        "1 violation of the contract (category), first: row 401: c is 'z', which never" in capsys.readouterr().err
    )
    # The target and dropped columns are no violations.
    assert cli.main(["predict", good, "--load", model, "--out", out, "--contract", saved, "--drop", "c"]) == 0
    assert "all rows follow the contract" in capsys.readouterr().err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert cli.main(["predict", good, "-t", "y", "--load", model, "--out", out]) == 0
    assert (
        "first 400 rows:\n  columns  2: 1 number (x), 1 nominal (c)\n  target   y: 0 50 %"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("command", [["run", "-m", "NoChange"], ["run"], ["compare", "-m", "NoChange"], ["look"]])
def test_a_contract_that_no_row_follows_is_named(tmp_path, capsys, command):
    good, bad, contract, kept = (tmp_path / name for name in ("good.csv", "bad.csv", "c.json", "kept.csv"))
    good.write_text("x,z,y\n" + "".join(f"{n},{n % 3},{n % 2}\n" for n in range(50)))
    bad.write_text("x,y\n" + "".join(f"{n},{n % 2}\n" for n in range(50)))
    assert cli.main(["look", str(good), "-t", "y", "--save", str(contract)]) == 0
    capsys.readouterr()
    words = [*command[:1], str(bad), "-t", "y", *command[1:], "--contract", str(contract)]
    assert cli.main([*words, "--quarantine", str(kept)]) == 1
    err = capsys.readouterr().err
    assert (
        f"{bad}: no row follows the contract {contract}: 50 violations of the contract (missing), first: " in err
    )
    assert "row 0: z is missing" in err
    assert "there are no rows" not in err
    assert len(kept.read_text().splitlines()) == 51


def test_a_contract_that_is_not_json_is_named(tmp_path, capsys):
    path, contract = tmp_path / "rows.csv", tmp_path / "contract.json"
    path.write_text("x,y\n1,0\n")
    for content in (b"x,y\n", b"\xff\xfe\x00", b""):
        contract.write_bytes(content)
        assert cli.main(["look", str(path), "-t", "y", "--contract", str(contract)]) == 1
        assert f"{contract}: no profile can be loaded from it: it is not JSON" in capsys.readouterr().err


def test_quarantine_needs_a_contract(files, capsys):
    assert cli.main(["run", str(files[0]), "-t", "y", "--quarantine", "bad.csv"]) == 2
    assert "--quarantine needs --contract" in capsys.readouterr().err


def test_a_report_begins_with_what_is_in_the_stream(files, capsys, tmp_path):
    page = tmp_path / "report.html"
    assert cli.main(["run", str(files[0]), "-t", "y", "--report", str(page), "-q"]) == 0
    text = page.read_text()
    assert "400 rows of the stream" in text
    assert "1 number (x), 1 nominal (c)" in text
    assert text.index("400 rows of the stream") < text.index("Over time")


def test_columns_that_are_no_features_are_said_to_be_omitted(files, capsys, tmp_path):
    text = "id,at,wt,x,y\n" + "".join(f"{n},2024-01-01,1,{n % 7},{n % 2}\n" for n in range(50))
    found = stream.profile(read(text, time="at", weight="wt", drop=["id"]).take(20))
    assert found.omitted == {"id": "dropped", "at": "event time", "wt": "weight"}
    assert "omitted  at (event time), wt (weight), id (dropped)" in str(found)
    path = tmp_path / "data.csv"
    path.write_text(text)
    words = ["run", str(path), "-t", "y", "--keep", "id", "--drop", "at", "--predictions", str(tmp_path / "p.csv")]
    assert cli.main(words) == 0
    assert "omitted  id (copied), at (dropped)" in capsys.readouterr().out


def test_a_rare_value_is_not_hidden_by_rounding():
    found = stream.profile(read(table(x=list(range(1000)), y=["no"] * 998 + ["yes"] * 2)))
    assert "y: no 99.8 %, yes 0.2 %" in str(found)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rows", None),
        ("rows", -1),
        ("strings", "x"),
        ("numbers", 10**400),
        ("low", None),
        ("squares", -1.0),
        ("histogram", []),
        ("histogram", "x"),
        ("counts", [[None, 1]]),
        ("number_counts", [[1.0, 10**400]]),
        ("whole", 1),
        ("name", [1]),
    ],
)
def test_a_forged_column_is_refused(tmp_path: Any, field: str, value: Any) -> None:
    path = tmp_path / "contract.json"
    stream.profile(stream.from_numpy(np.arange(20.0).reshape(10, 2), np.arange(10.0))).save(path)
    data = json.loads(path.read_text())
    data["columns"][0][field] = value
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidState, match="no profile can be loaded from it"):
        stream.Profile.load(path)


def test_a_folder_and_bad_margins_are_refused(tmp_path: Any) -> None:
    with pytest.raises(InvalidState, match="it is a directory"):
        stream.Profile.load(tmp_path)
    source = stream.from_numpy(np.arange(20.0).reshape(10, 2), np.arange(10.0))
    made = stream.profile(source)
    for margin in (None, "1", float("nan"), float("inf"), -1):
        with pytest.raises(InvalidValue, match="margin must be"):
            made.check(source, margin=margin)
    with pytest.raises(InvalidValue, match="rows must be"):
        stream.profile(source, rows="1")


def test_weak_remarks_have_an_ordinary_style_in_a_report(tmp_path):
    path, page = tmp_path / "rows.csv", tmp_path / "page.html"
    path.write_text("code,same,y\n" + "".join(f"{n % 5},1,{n % 2}\n" for n in range(300)))
    assert cli.main(["run", str(path), "-t", "y", "-m", "NoChange", "-q", "--report", str(page)]) == 0
    text = page.read_text()
    assert "code has 5 different integers" in text
    assert '<p class="warning">same is always 1' in text
    assert '<p class="warning">code' not in text


def test_a_notebook_displays_a_profile_as_a_table():
    page = stream.profile(read(table(x=["<b>" if n % 2 else "a" for n in range(N)], y=Y)))._repr_html_()
    assert "<details open>" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
