"""Drift detectors judged: delay, false alarms and misses by hand, all forms of streams, tables, plots, command."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import river.drift

import millstream
from millstream import drift, evaluate, linear_model, naive_bayes, synth
from millstream.cli import main
from millstream.errors import MillstreamError


class Scripted:
    """Finds drift at given indices."""

    def __init__(self, *places: int) -> None:
        self.places, self.seen = places, -1
        self.drift_detected = False

    def update(self, x: float) -> None:
        self.seen += 1
        self.drift_detected = self.seen in self.places


def test_delay_misses_and_false_alarms_by_hand() -> None:
    # Changes at 100, 200 to 220 and 300 of 400 numbers. 50 comes before any: false. 110 answers 100 after 10
    # numbers, 150 is one too many: false. 205 answers 200 after 5, 215 comes while it is under way: neither. 300
    # is missed.
    values = (np.zeros(400), [100, (200, 220), 300])
    found = evaluate.drift({"mine": Scripted(50, 110, 150, 205, 215)}, values)
    run = found.detections[0]
    assert (run.delays, run.false_alarms, run.answers) == ([10, 5], (50, 150), (1, 3, None))
    score = found["values", "mine"]
    assert (score.changes, score.missed, score.delay, score.delay_std) == (3, 1, 7.5, 2.5)
    assert score.false_alarms == 1e4 * 2 / 400
    assert math.isnan(score.off)
    # Within 8 numbers of its beginning: 110 is too late. A gradual change can be answered as long as it lasts.
    found = evaluate.drift({"mine": Scripted(50, 110, 150, 215)}, values, within=8)
    assert found.detections[0].delays == [15]
    assert found.detections[0].false_alarms == (50, 110, 150)


def test_streams_of_errors() -> None:
    errors, changes = evaluate.ErrorStream((0.1, 0.6, 0.3), length=4000)(seed=3)
    assert changes == [4000, 8000]
    means = errors.reshape(3, 4000).mean(axis=1)
    assert np.abs(means - [0.1, 0.6, 0.3]).max() < 0.03
    errors, changes = evaluate.ErrorStream((0.0, 1.0), length=4000, width=2000)(seed=3)
    assert changes == [(3000, 5000)]
    # The sigmoid is 0.5 in the middle, 1 / (1 + e^2) = 0.119 a half width before.
    assert abs(errors[3900:4100].mean() - 0.5) < 0.1
    assert abs(errors[2900:3100].mean() - 0.119) < 0.06
    assert errors[:1500].mean() < 0.02
    assert errors[6500:].mean() > 0.98
    again = evaluate.ErrorStream((0.0, 1.0), length=4000, width=2000)(seed=3)[0]
    assert (errors == again).all()


def test_detectors_are_as_good_as_they_are() -> None:
    found = evaluate.drift(["ADWIN", drift.EWMAChart, drift.DDM()], seeds=5)
    assert found.streams == ["abrupt", "gradual", "slight", "stable"]
    adwin, chart = found["abrupt", "ADWIN"], found["abrupt", "EWMAChart"]
    assert adwin.missed == chart.missed == 0
    assert chart.delay < adwin.delay < 400
    assert adwin.false_alarms < 1 < chart.false_alarms
    assert adwin.delay < found["gradual", "ADWIN"].delay
    # By the cut whose sides differ most; the window after a cut begins far before.
    assert adwin.off < 100
    assert found["stable", "ADWIN"].changes == 0
    for score in found.scores:
        assert 0 < score.nanoseconds < 1e6
        assert 0 < score.memory < 1e6


def test_a_result_is_the_same_for_the_same_seeds() -> None:
    runs = [evaluate.drift(["ADWIN", "KSWIN"], "abrupt", seeds=[4, 2]).detections for _ in range(2)]
    assert [run.places for run in runs[0]] == [run.places for run in runs[1]]
    assert [run.seed for run in runs[0]] == [4, 4, 2, 2]


def test_rivers_detectors_are_judged_beside_ours() -> None:
    found = evaluate.drift({"ours": drift.ADWIN(), "River's": river.drift.ADWIN()}, "abrupt", seeds=3)
    ours, theirs = (found["abrupt", name] for name in ("ours", "River's"))
    assert (ours.delay, ours.missed, ours.false_alarms) == (theirs.delay, theirs.missed, theirs.false_alarms)
    assert math.isnan(theirs.off)
    assert theirs.memory > 0


def test_the_errors_of_a_model_on_a_generator() -> None:
    before, after = synth.Sine(classification_function=0), synth.Sine(classification_function=1)
    stream = synth.Drift(synth.Drift(before, after, position=2000, width=0), before, position=5000, width=400)
    found = evaluate.drift(drift.ADWIN(), stream, model=linear_model.LogisticRegression(), length=8000, seeds=2)
    assert [(change.begin, change.end) for change in found.detections[0].changes] == [(2000, 2000), (4800, 5200)]
    assert found.scores[0].missed == 0
    assert found.scores[0].delay < 400
    assert found.detections[0].places != found.detections[1].places
    recurring = synth.Drift(before, after, position=1000, width=0, period=1000)
    runs = evaluate.drift(
        drift.ADWIN(), recurring, model=naive_bayes.GaussianNB(), length=3500, seeds=1
    ).detections
    assert [change.begin for change in runs[0].changes] == [1000, 2000, 3000]
    with pytest.raises(ValueError, match="needs a model"):
        evaluate.drift(drift.ADWIN(), recurring)
    regression = synth.Planes2D()
    errors = evaluate.drift(drift.PageHinkley(), regression, model=linear_model.LinearRegression(), length=500)
    assert errors.scores[0].changes == 0


MOVING = "Drift(RandomRBF(seed_model=1), RandomRBF(seed_model=2), position=1500, width=0)"


def test_detectors_of_rows_need_no_model() -> None:
    stream = millstream.parse(MOVING)
    found = evaluate.drift([drift.KSTest()], stream, length=3000, seeds=2)
    assert found.scores[0].missed == 0
    assert (found.detections[0].length, found.detections[0].changes[0].begin) == (3000, 1500)
    made = evaluate.drift({"rows": drift.KSTest()}, lambda: stream, length=3000)
    assert made.detections[0].places == found.detections[0].places
    both = evaluate.drift(
        [drift.KSTest(), drift.ADWIN()], stream, model=naive_bayes.GaussianNB(), length=3000, seeds=1
    )
    assert both.detections[0].places == found.detections[0].places
    with pytest.raises(MillstreamError, match="needs a model, whose errors ADWIN receives$"):
        evaluate.drift([drift.KSTest(), drift.ADWIN()], stream)


def test_the_command_tells_rows_of_a_generator(capsys: Any, tmp_path: Path) -> None:
    assert main(["drift", MOVING, "-d", "KSTest", "--length", "3000", "--seeds", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"][0]["missed"] == 0
    path = tmp_path / "errors.csv"
    path.write_text("e\n" + "0\n" * 300)
    for source in (["abrupt"], [], [str(path)], [str(path), "--changes", "5"]):
        assert main(["drift", *source, "-d", "ADWIN", "-d", "mine=KSTest"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "mine is for rows, not numbers" in line
        assert "drift.KSTest().update_many(rows)" in line
    assert main(["drift", MOVING, "-d", "KSTest", "-d", "ADWIN"]) == 2


def test_a_function_of_a_seed_and_rows_of_features() -> None:
    class Moved:
        """Looks at the first feature of a row."""

        drifting_features: list[Any] = []
        drift_detected = False

        def update(self, x: dict[Any, float]) -> None:
            self.drift_detected = x[0] > 5 and not self.drifting_features
            if self.drift_detected:
                self.drifting_features = [0]

    def make(seed: int) -> tuple[Any, list[int]]:
        rows = np.random.default_rng(seed).normal(size=(300, 2))
        rows[200:, 0] += 10
        return rows, [200]

    found = evaluate.drift(Moved(), make, seeds=3)
    assert [run.delays for run in found.detections] == [[0]] * 3
    assert found.streams == ["make"]
    with pytest.raises(TypeError, match="ADWIN needs numbers"):
        evaluate.drift(drift.ADWIN(), make)


def test_tables_frames_and_plots(tmp_path: Path) -> None:
    found = evaluate.drift(["ADWIN", "DDM"], ["abrupt", "stable"], seeds=2)
    text = repr(found)
    assert "abrupt, 2 times" in text
    assert "false alarms / 10,000" in text
    assert "0 of 2" in text
    frame = found.to_frame()
    assert list(frame.stream) == ["abrupt", "abrupt", "stable", "stable"]
    assert set(frame.columns) >= {"detector", "missed", "delay", "false_alarms", "nanoseconds", "memory"}
    assert found.to_frame("polars").height == 4
    assert json.loads(json.dumps(found.to_dict()["scores"][0]))["detector"] == "ADWIN"
    page = found._repr_html_()
    assert page.count("<svg") == 2
    assert "http" not in page
    for kind in ("trade-off", "timeline"):
        found.save_plot(tmp_path / f"{kind}.svg", kind, stream="abrupt")
        assert (tmp_path / f"{kind}.svg").read_text().rstrip().endswith("</svg>")
    for kind in ("trade-off", "timeline"):
        assert [ax.get_title(loc="left") for ax in found.plot(kind)] == ["abrupt", "stable"]
    assert found.plot("timeline", stream="stable").get_title(loc="left") == "stable"
    for bad in ({"kind": "nothing"}, {"stream": "nothing"}):
        with pytest.raises(ValueError, match="must be one of"):
            found.plot(**bad)
    with pytest.raises(ValueError, match="no stream and detector"):
        found["abrupt", "STEPD"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"detector": "ADWINN"}, "did you mean"),
        ({"detector": 3}, "a detector must have update"),
        ({"detector": []}, "at least one detector, got none"),
        ({"stream": "abruptly"}, "stream must be one of"),
        ({"stream": 3}, "stream must be one of"),
        ({"stream": ([0.0, 1.0], [5])}, "a change point must be an index"),
        ({"stream": ([0.0, 1.0], [-1])}, "a change point must be an index"),
        ({"stream": ([0.0, 7.0], [1]), "detector": drift.DDM()}, "in [0, 1]"),
        ({"stream": lambda seed: 3}, "must return"),
        ({"seeds": 0}, "at least 1"),
        ({"seeds": []}, "at least one seed"),
        ({"within": 0}, "within must be"),
        ({"length": -1}, "length must be"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], words: str) -> None:
    import re

    given = {"detector": drift.ADWIN(), "stream": "abrupt"} | arguments
    with pytest.raises(MillstreamError, match=re.escape(words)):
        evaluate.drift(given.pop("detector"), given.pop("stream"), **given)
    with pytest.raises(MillstreamError, match="shares must be"):
        evaluate.ErrorStream((2.0,))


def test_the_command(capsys: Any, tmp_path: Path) -> None:
    assert main(["drift", "abrupt", "-d", "ADWIN", "-d", "slow=DDM(drift_threshold=5)", "--seeds", "2"]) == 0
    out = capsys.readouterr().out
    assert "abrupt, 2 times" in out
    assert "slow" in out
    path = tmp_path / "errors.csv"
    path.write_text("e\n" + "0\n" * 300 + "1\n" * 100)
    assert main(["drift", str(path), "-t", "e", "--changes", "300", "-d", "ADWIN", "--json", "--quiet"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["source"], data["column"]) == (str(path), "e")
    assert data["scores"][0]["stream"] == f"e of {path}"
    assert data["scores"][0]["missed"] == 0
    assert data["detections"][0]["delays"] == [19]
    plot = tmp_path / "p.svg"
    generator = "Drift(Sine(), Sine(classification_function=1), position=500, width=0)"
    words = ["drift", generator, "-m", "LogisticRegression", "-d", "ADWIN", "--length", "900", "--plot", str(plot)]
    assert main([*words, "--kind", "timeline", "--seeds", "1"]) == 0
    assert plot.exists()
    for bad in (
        ["drift", generator],
        ["drift", "abrupt", "--changes", "3"],
        ["drift", str(path), "-m", "GaussianNB"],
        ["drift", str(path), "--within", "5"],
        ["drift", "abrupt", "--plot", "p.txt"],
        ["drift", "abrupt", "-d", "GaussianNB"],
        ["drift", "abrupt", "-d", "ADWIN", "-d", "ADWIN"],
        ["drift", str(path), "-t", "e", "--changes", "x"],
        ["drift", str(path), "--seeds", "2"],
        ["drift", str(path), "--changes", "300", "--seeds", "2"],
        ["drift", str(path), "--length", "2"],
        ["drift", str(path), "--plot", str(plot), "--kind", "timeline"],
        ["drift", "abrupt", "--kind", "timeline"],
        ["drift", "abrupt", "--length", "300"],
        ["drift", "abrupt", "-m", "GaussianNB"],
        ["drift", "abrupt", "--target", "e"],
    ):
        capsys.readouterr()
        assert main(bad) == 2
        assert capsys.readouterr().err.strip().count("\n") <= 2
    for name, near in (("abrup", "abrupt"), ("Hyperplan", "synth.Hyperplane")):
        assert main(["drift", name]) == 2
        assert f"did you mean {near!r}?" in capsys.readouterr().err
    assert millstream.find(role="drift_detector")


def test_the_command_finds_changes_in_a_file(capsys: Any, tmp_path: Path) -> None:
    path, plot = tmp_path / "errors.csv", tmp_path / "p.svg"
    numbers = [0, 0, 0, 1] * 250 + [0, 1, 1, 0] * 250 + [0, 0, 0, 0, 0, 0, 0, 1] * 125
    path.write_text("n,error\n" + "".join(f"{place},{x}\n" for place, x in enumerate(numbers)))
    assert main(["drift", str(path), "-t", "error", "--plot", str(plot)]) == 0
    out, err = capsys.readouterr()
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["detector", "row", "direction", "began", "warned", "before", "after"],
        # 992 = 31 · 32 is where a bucket ends; from there to 1,119, the first 8 numbers are of the old share.
        ["ADWIN", "1,119", "up", "992", "1,087", "0.25", "0.4844"],
        ["ADWIN", "2,079", "down", "2,000", "-", "0.5", "0.125"],
    ]
    assert out.splitlines()[0] == f"error of {path}: 2 changes found in 3,000 numbers"
    assert "rows count from 0" in err
    picture = plot.read_text()
    assert f"<!-- error of {path} -->" in picture
    assert "<!-- mean of 20 -->" in picture
    assert "<!-- one number in 2 -->" in picture
    assert "false alarms" not in picture

    assert main(["drift", str(path), "-t", "error", "-d", "ADWIN", "-d", "rise=HDDM_A", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["source"], data["column"], data["numbers"]) == (str(path), "error", 3000)
    assert [each["detector"] for each in data["detectors"]] == ["ADWIN", "rise"]
    first = data["detectors"][0]["changes"][0]
    after = float(np.mean(numbers[992:1120]))
    assert first == {
        "row": 1119, "direction": "up", "began": 992, "warned": 1087, "before": 0.25, "after": after,
    }  # fmt: skip
    places = drift.HDDM_A().update_many(numbers).tolist()
    assert [change["row"] for change in data["detectors"][1]["changes"]] == places

    # Up to the warning: no detection, and the warning is printed.
    short = tmp_path / "short.csv"
    short.write_text("error\n" + "".join(f"{x}\n" for x in numbers[:1100]))
    assert main(["drift", str(short), "-q"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1:] == ["ADWIN: no change found", "ADWIN: warning at the end, up since row 992"]
    assert main(["drift", str(short), "--json"]) == 0
    warning = json.loads(capsys.readouterr().out)["detectors"][0]["warning"]
    assert (warning["warned"], warning["began"], warning["direction"]) == (1087, 992, "up")

    for bad, words in (
        ([str(path)], "pass --target COLUMN; columns: n, error"),
        ([str(path), "-t", "n", "-d", "DDM"], "row 2: drift.DDM: a number must be in [0, 1]"),
        ([str(tmp_path / "eror.csv")], "there is no such file"),
    ):
        assert main(["drift", *bad]) != 0
        assert words in capsys.readouterr().err


def test_the_command_reads_standard_input(capsys: Any, monkeypatch: Any) -> None:
    text = "n,e\n" + "1,0\n" * 300 + "2,1\n" * 100
    for more in (["--target", "e"], ["--target", "e", "--changes", "300", "-d", "ADWIN"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert main(["drift", "-", *more, "-q"]) == 0
        out = capsys.readouterr().out
        assert out.startswith("e of standard input: ")
    assert out.splitlines()[0] == "e of standard input: 400 numbers, 1 change"
    # One column has nothing that shows a format, and needs no name.
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"e\n" + b"0\n" * 300 + b"1\n" * 100)))
    assert main(["drift", "-", "-q"]) == 0
    assert capsys.readouterr().out.startswith("e of standard input: 1 change found in 400 numbers")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["drift", "-", "--target", "none"]) == 1
    assert capsys.readouterr().err.startswith("standard input: there is no column 'none'")


def test_points_of_a_trade_off_can_be_told_apart() -> None:
    found = evaluate.drift(None, "abrupt", seeds=1)
    ax = found.plot()
    looks = set()
    for points in ax.collections:
        edge, path = tuple(points.get_edgecolors()[0]), points.get_paths()[0].vertices
        looks.add((edge, path.shape, path.round(3).tobytes()))
    known = [score for score in found.scores if score.delay == score.delay]
    assert len(looks) == len(ax.collections) == len(known) > 8
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [score.detector for score in known]
    assert ax.get_xlim()[0] == ax.get_ylim()[0] == 0


def test_the_cost_of_a_short_stream_is_measured_often() -> None:
    told = []

    class Counts:
        drift_detected = False

        def update(self, x: float) -> None:
            told.append(x)

    found = evaluate.drift(Counts(), ([0.0, 1.0, 0.0], []), seeds=1)
    assert len(told) > 300
    assert 0 < found.scores[0].nanoseconds * len(told) < 60e9
