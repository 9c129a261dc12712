"""Profiles of streams: kinds, remarks with the option that corrects them, data contracts, `millstream look`."""

import io
import json

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
            "98 % of x are numbers, but it is read as strings; not: '-' (8 ×): --option missing=-",
        ),
        (
            ["-" if n % 50 == 0 else "bad" if n % 51 == 0 else n / 7 for n in range(N)],
            "96.2 % of x are numbers, but it is read as strings; not: '-' (8 ×), 'bad' (7 ×): --types x=number",
        ),
        (
            [f'"{n},5"' for n in range(N)],
            "x is read as strings because its numbers have a comma: try --option decimal=,",
        ),
        (
            [f"{n % 28 + 1}/{n % 12 + 1}/2024" for n in range(N)],
            "x has dates with the day first ('1/1/2024'), which are read as strings: write them as 2024-12-31 and "
            "use --types x=time, or --drop x",
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


def test_a_target_of_few_integers_may_be_classes_or_amounts():
    remarks = stream.profile(read(table(x=[n / 7 for n in range(N)], y=[n % 5 for n in range(N)]))).remarks
    assert "5 different integers, which may be classes or amounts" in remarks[0].message
    constant = stream.profile(read(table(x=[n / 7 for n in range(N)], y=[1] * N))).remarks
    assert str(constant[0]) == "the target y is always 1: there is nothing to learn"


def test_memory_is_bounded_for_endless_values(monkeypatch):
    monkeypatch.setattr("millstream.stream.profiling.columns.MOST_VALUES", 100)
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
    words = "first 400 rows:\n  columns  1: 1 id-like (x)\n  target   y: 0 50 %, 1 50 %\n  note     98 % of x"
    # A person sees it before the run, a program in the result.
    assert words in (shown.err if watched else shown.out)
    assert words not in (shown.out if watched else shown.err)
