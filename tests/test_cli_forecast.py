"""`millstream forecast`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import millstream
from millstream import cli, evaluate, time_series
from millstream.cli.options import DATA_ERROR, OK, USAGE

SALES = [30, 21, 29, 47, 37, 27, 34, 53, 40, 30, 39, 58, 43, 33, 41, 62, 46, 36, 45, 67]


def run(capsys: Any, *arguments: Any) -> tuple[int, str, str]:
    code = cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    path = tmp_path / "sales.csv"
    path.write_text("month,sales\n" + "".join(f"{row},{y}\n" for row, y in enumerate(SALES)))
    return path


def test_the_best_model_forecasts_what_follows(capsys: Any, sales: Path, tmp_path: Path) -> None:
    saved = tmp_path / "best.ms"
    models = ("-m", "seasons=HoltWinters(0.5, 0.1, 0.3, 4)", "-m", "SeasonalNaive")
    arguments = ("forecast", sales, "-t", "sales", "--horizon", 3, *models, "--save", saved)
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (OK, "")
    found = json.loads(out)
    result = evaluate.forecast(time_series.HoltWinters(0.5, 0.1, 0.3, 4), SALES, 3)
    assert (found["best"], found["values"], found["origins"]) == ("seasons", 20, result.origins)
    assert found["forecast"] == result.model.forecast(3).tolist()
    assert found["models"][0]["by_step"]["MAE"] == result["MAE"].tolist()
    assert [each["name"] for each in found["models"]] == ["seasons", "SeasonalNaive"]
    assert millstream.load(saved).to_bytes() == result.model.to_bytes()
    code, out, err = run(capsys, *arguments)
    assert code == OK
    assert f"+1    {result.model.forecast(1)[0]:.4f}" in out
    assert "mean error over 3 steps ahead, from 15 origins" in out
    assert err == f"saved in {saved}\n"
    code, out, _ = run(capsys, "forecast", sales, "-t", "sales", "-m", saved, "--horizon", 2, "--json")
    assert (code, len(json.loads(out)["forecast"])) == (OK, 2)


@pytest.mark.parametrize(("period", "best"), [((), "HoltWinters"), (("--period", 4), "period=4")])
def test_without_a_model(capsys: Any, sales: Path, period: tuple[Any, ...], best: str) -> None:
    code, out, _ = run(capsys, "forecast", sales, "-t", "sales", "--horizon", 4, *period, "--json")
    found = json.loads(out)
    assert code == OK
    assert best in found["best"]
    assert any("SeasonalNaive" in each["name"] for each in found["models"])


def test_missing_values(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text("month,sales\n" + "".join(f"{row},{'' if row == 9 else y}\n" for row, y in enumerate(SALES)))
    arguments = ("forecast", path, "-t", "sales", "--horizon", 2, "-m", "SeasonalNaive(4)")
    code, _, err = run(capsys, *arguments)
    assert (code, err.count("\n")) == (DATA_ERROR, 1)
    assert "value 9 of the series is missing" in err
    code, out, _ = run(capsys, *arguments, "--on-error", "skip")
    assert code == OK
    assert "19 values learned, 1 missing value skipped" in out
    # The missing value counts as a time step, so the seasons after it stay in place.
    assert f"+1    {SALES[16]:.4f}" in out


def test_a_short_series_is_forecast_without_an_error(capsys: Any, sales: Path) -> None:
    code, out, _ = run(
        capsys, "forecast", sales, "-t", "sales", "--limit", 5, "-m", "SeasonalNaive", "--horizon", 4
    )
    assert code == OK
    assert "too few values to measure the error: 8 are needed, the series has 5" in out
    assert "+4    37.0000" in out


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (("-m", "LinearRegression"), USAGE, "expected a forecaster, got LinearRegression"),
        (("-m", "SeasonalNaive", "-m", "SeasonalNaive"), USAGE, "duplicate model name 'SeasonalNaive'"),
        (("-t", "sale"), USAGE, "there is no column 'sale', did you mean 'sales'?"),
        (("--horizon", 0), USAGE, "--horizon"),
        (("--shuffle", 5), USAGE, "--shuffle"),
        (("--metric", "Accuracy"), DATA_ERROR, "a metric must be a regression metric, got Accuracy"),
    ],
)
def test_a_wrong_command_line(capsys: Any, sales: Path, more: tuple[Any, ...], code: int, words: str) -> None:
    try:
        found, out, err = run(capsys, "forecast", sales, "-t", "sales", *more)
    except SystemExit as stopped:
        found, (out, err) = int(stopped.code or 0), capsys.readouterr()
    assert words in err
    assert (found, out) == (code, "")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ("1 2 n/a 4 x", "2 of 5 values are not numbers; the first is 'n/a' in row 2"),
        ("1 2 n/a 4", "1 of 4 values is not a number; the first is 'n/a' in row 2"),
    ],
)
def test_a_column_that_is_not_numeric(capsys: Any, tmp_path: Path, values: str, words: str) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("month,sales\n" + "".join(f"{row},{y}\n" for row, y in enumerate(values.split())))
    code, out, err = run(capsys, "forecast", path, "-t", "sales")
    assert (code, out) == (DATA_ERROR, "")
    assert err == f"{path}: column 'sales' is not numeric: {words}\n"


def test_numbers_that_are_read_as_text(capsys: Any, sales: Path) -> None:
    code, _, err = run(capsys, "forecast", sales, "-t", "sales", "--types", "sales=text")
    assert code == DATA_ERROR
    assert "column 'sales' is not numeric: its values are read as text" in err


def test_a_saved_forecaster_is_not_asked_for_predictions(capsys: Any, sales: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.ms"
    time_series.SeasonalNaive().save(path)
    code, _, err = run(capsys, "predict", sales, "-t", "sales", "--load", path)
    assert code != OK
    assert err.endswith("a forecaster does not predict; see millstream forecast\n")
