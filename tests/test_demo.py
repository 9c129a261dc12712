"""The demo: it runs, says what it should, writes its page, and is clear where something is missing."""

import importlib.util

import pytest

from millstream import demo


@pytest.mark.slow
def test_the_demo_says_what_a_user_wants_to_know(tmp_path, capsys):
    assert demo.main(["--rows", "20000", "--out", str(tmp_path / "new")]) == 0
    out, err = capsys.readouterr()
    # Neither is a terminal: a log has no use for progress.
    assert "rows/s" not in err
    out = " ".join(out.split())
    for words in (
        "20,000 departures",
        "ROCAUC",
        "baseline",
        "naive Bayes",
        "8,255 cancelled",
        "With immediate labels",
    ):
        assert words in out
    page = (tmp_path / "new" / "flights.html").read_text()
    assert "logistic regression" in page
    assert "</html>" in page


def test_the_demo_without_its_data_is_one_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert demo.main(["--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_the_demo_refuses_few_rows(capsys):
    with pytest.raises(SystemExit):
        demo.main(["--rows", "10"])
    assert "at least 1,000" in capsys.readouterr().err
