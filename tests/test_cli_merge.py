"""`millstream merge`: files of parts of a stream become one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import millstream
from millstream import cli, drift, linear_model, tree

OK, DATA_ERROR, USAGE = 0, 1, 2


def run(capsys: Any, *arguments: Any) -> tuple[int, str, str]:
    code = cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def learned(model: Any, rows: range) -> Any:
    for n in rows:
        model.learn_one({"a": float(n % 7), "b": float(n % 5)}, 2.0 * (n % 7) - (n % 5))
    return model


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{name}.ms" for name in ("first", "second", "third")]
    for start, path in enumerate(paths):
        learned(linear_model.RLS(), range(start * 30, start * 30 + 30)).save(path)
    return paths


def test_files_become_one(capsys: Any, parts: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "whole.ms"
    code, said, err = run(capsys, "merge", *parts, "--out", out)
    assert (code, said, err) == (OK, f"{out}: 3 files merged (exact), 90 examples\n", "")
    whole = learned(linear_model.RLS(), range(90))
    x = {"a": 3.0, "b": 1.0}
    assert millstream.load(out).predict_one(x) == pytest.approx(whole.predict_one(x), rel=1e-9)
    code, said, _ = run(capsys, "merge", *parts, "--out", out, "--json")
    assert json.loads(said) == {"out": str(out), "merged": 3, "learned": 90, "exactness": "exact"}


def test_a_base_counts_once(capsys: Any, parts: list[Path], tmp_path: Path) -> None:
    base = tmp_path / "base.ms"
    assert run(capsys, "merge", parts[0], "--fork", "--out", base)[0] == OK
    for name, rows in (("one", range(30, 60)), ("two", range(60, 90))):
        learned(millstream.load(base), rows).save(tmp_path / f"{name}.ms")
    files = [tmp_path / "one.ms", tmp_path / "two.ms"]
    out = tmp_path / "next.ms"
    assert run(capsys, "merge", *files, "--base", base, "--out", out)[0] == OK
    merged, whole = millstream.load(out), learned(linear_model.RLS(), range(90))
    x = {"a": 3.0, "b": 1.0}
    assert merged.learned == 90
    assert merged.predict_one(x) == pytest.approx(whole.predict_one(x), rel=1e-9)
    # Another base is refused, and nothing is written.
    refused = tmp_path / "refused.ms"
    code, said, err = run(capsys, "merge", *files, "--base", parts[1], "--out", refused)
    assert (code, said, err.count("\n")) == (DATA_ERROR, "", 1)
    assert "cannot be merged with this base" in err
    assert not refused.exists()


def test_a_refusal_is_one_line(capsys: Any, parts: list[Path], tmp_path: Path) -> None:
    grown = tmp_path / "tree.ms"
    learned(tree.HoeffdingTreeRegressor(), range(20)).save(grown)
    detector = tmp_path / "detector.ms"
    drift.ADWIN().save(detector)
    other = tmp_path / "other.ms"
    linear_model.RLS(l2=2.0).save(other)
    out = tmp_path / "out.ms"
    for files, reason in (
        ([grown, grown], "train an ensemble by member instead"),
        ([parts[0], other], "got l2 1.0 and 2.0"),
        ([parts[0], grown], "only the same model can be merged"),
        ([parts[0], detector], "only the same component can be merged, got drift.ADWIN"),
        ([detector, detector], "run one detector on the ordered stream"),
    ):
        code, said, err = run(capsys, "merge", *files, "--out", out)
        assert (code, said, err.count("\n")) == (DATA_ERROR, "", 1), err
        assert reason in err
        assert str(files[1]) in err
    assert not out.exists()


def test_wrong_usage(capsys: Any, parts: list[Path], tmp_path: Path) -> None:
    assert run(capsys, "merge", *parts)[0] == USAGE
    assert run(capsys, "merge", "--out", tmp_path / "out.ms")[0] == USAGE
    assert run(capsys, "merge", *parts, "--out", tmp_path / "out.txt")[0] == USAGE
    missing = tmp_path / "missing.ms"
    code, _, err = run(capsys, "merge", parts[0], missing, "--out", tmp_path / "out.ms")
    assert code == DATA_ERROR
    assert str(missing) in err


def test_the_list_shows_how_exactly_components_merge(capsys: Any) -> None:
    lines = run(capsys, "list", "linear_model")[1].splitlines()
    of = {line.split()[0]: line.split()[2] for line in lines}
    assert of["linear_model.RLS"] == "exact"
    assert of["linear_model.AROW"] == "approximate"
    assert of["linear_model.IRMA"] == "none"
