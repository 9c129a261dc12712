"""Pages, plots, weights and live progress of an evaluation."""

from __future__ import annotations

import base64
import contextlib
import re
import sys
import time
from dataclasses import replace
from datetime import datetime, timedelta
from html.parser import HTMLParser
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest

from millstream import (
    baseline,
    drift,
    evaluate,
    forest,
    linear_model,
    metrics,
    multiclass,
    naive_bayes,
    preprocessing,
    synth,
)
from millstream import stream as streams
from millstream.base import Classifier
from millstream.errors import InvalidValue
from millstream.evaluate.progress import Progress
from millstream.evaluate.report.axes import TimeAxis, axis_of, short, ticks
from millstream.evaluate.report.charts import Chart, Line, drifts, few
from millstream.evaluate.report.distributions import _shift, rare_values
from millstream.evaluate.report.figures import scale_of
from millstream.evaluate.report.ranking_curves import points
from millstream.evaluate.report.reproduce import call
from millstream.evaluate.stream_sample import StreamSample
from millstream.evaluate.weights import weights_of

EVIL = "<script>alert(1)</script>\"'&"


def scaled():
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def stream(rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    sign = np.where(np.arange(rows) < rows // 2, 1.0, -1.0)
    return X, sign * (X @ np.array([2.0, -1.0, 0.5, 0.0])) > 0


@pytest.fixture(scope="module")
def one():
    metrics = ["Accuracy", "LogLoss", "ROCAUC"]
    return evaluate.prequential(scaled(), stream(), metrics, delay=50, detector=drift.PageHinkley(threshold=20))


@pytest.fixture(scope="module")
def several():
    models = {"logistic": scaled(), "bayes": naive_bayes.GaussianNB(), "none": baseline.MajorityClass()}
    return evaluate.prequential(models, stream(), ["Accuracy", "LogLoss"], detector=drift.PageHinkley())


class Reader(HTMLParser):
    """Checks that tags are closed in order, and that nothing is fetched or run."""

    void = frozenset(("meta", "input", "br", "img"))

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.words, self.tags = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "link", "iframe", "object", "embed")
        for name, value in attributes:
            assert not name.startswith("on")
            if name == "src" and tag == "img":
                start, _, picture = value.partition(",")
                assert start == "data:image/svg+xml;base64"
                Reader(base64.b64decode(picture).decode())
                ElementTree.fromstring(base64.b64decode(picture))
                continue
            assert name not in ("src", "href", "xlink:href")
            if name == "id":
                self.ids.append(value)
        self.tags.append(tag)
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


def test_the_page_of_one_model(one, tmp_path):
    page = one.to_html(tmp_path / "page.html", command="millstream run x.csv --target late", title="My run")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    read = Reader(page)
    for section in (
        "My run",
        "Over time",
        "Pending labels",
        "Confusion matrix",
        "Calibration",
        "Features",
        "Speed and memory",
        "Drift",
        "How to reproduce this",
        "millstream run x.csv --target late",
        "delay=50",
        "detector=PageHinkley(threshold=20.0)",
        "Labels arrived after 50 rows",
    ):
        assert section in read.text
    assert len(read.ids) == len(set(read.ids)) == 3
    for library in ("millstream", "Python", "numpy", "pyarrow"):
        assert re.search(rf"{library} \d+\.\d+", read.text)
    assert "http" not in page
    assert len(page) < 100_000


def test_the_page_of_several_models(several):
    page = several.to_html(command=["millstream", "compare", "x.csv"])
    read = Reader(page)
    assert "3 models compared" in read.text
    assert "Best by Accuracy" in read.text
    assert "millstream compare x.csv" in read.text
    assert read.tags.count("details") > 3
    assert page.count('<details class="model">') == 3
    assert len(read.ids) == len(set(read.ids)) == 8
    order = [read.text.index(f"{result.name} ") for result in several.ranked()]
    assert order == sorted(order)
    assert len(page) < 300_000


def test_the_page_of_a_regressor():
    X, _ = stream(800)
    result = evaluate.prequential(linear_model.LinearRegression(), (X, X[:, 0] * 3), ["MAE", "R2"])
    read = Reader(result.to_html())
    assert "Predictions and truths" in read.text
    assert "Confusion" not in read.text
    assert "Pending labels" not in read.text


def test_pages_of_next_to_nothing(tmp_path):
    empty = evaluate.prequential(scaled(), (np.empty((0, 2)), []), ["Accuracy", "LogLoss"])
    single = evaluate.prequential(scaled(), [({"x": 1.0}, True)], ["Accuracy", "LogLoss"])
    two = evaluate.prequential(scaled(), [({"x": 1.0}, True)] * 2, ["Accuracy", "LogLoss"])
    alone = evaluate.prequential(baseline.MajorityClass(), [({"x": 1.0}, "a")] * 300, ["Accuracy", "LogLoss"])
    huge = evaluate.prequential(
        baseline.TargetMean(), [({"x": 1.0}, y) for y in (1e308, -1e308, 9e307, 1e308)], "MAE", on_error="skip"
    )
    for result in (empty, single, two, alone, huge):
        Reader(result.to_html())
        Reader(result._repr_html_())
    assert "no models" in evaluate.Results({})._repr_html_()


def test_everything_is_escaped():
    rows = [({EVIL: float(i % 7), f"c{EVIL}": EVIL}, EVIL if i % 7 > 3 else "b") for i in range(400)]
    rows[50] = ({EVIL: float("inf")}, "b")
    made = evaluate.prequential(
        {EVIL: scaled(), "b": scaled()}, rows, {EVIL: "Accuracy", "l": "LogLoss"}, on_error="skip"
    )
    whole = (made.to_html(command=EVIL, title=EVIL), made[EVIL].to_html(command=EVIL), made.report().text)
    for page in (*whole, made._repr_html_(), made[EVIL]._repr_html_()):
        Reader(page)
        assert "<script" not in page
    assert EVIL in Reader(made.to_html()).text


class Strange(Classifier):
    """Everything that a page may ask of it fails."""

    @property
    def memory(self):
        raise RuntimeError("no")

    @property
    def weights(self):
        raise RuntimeError("no")

    def learn_one(self, x, y=None, w=1.0):
        pass

    def predict_proba_one(self, x):
        return {True: 0.7, False: 0.3}


def test_a_model_of_ones_own():
    result = evaluate.prequential(
        Strange(), [({"x": 1.0}, i % 3 > 0) for i in range(300)], ["Accuracy", "LogLoss"]
    )
    assert result.weights is None
    assert "Calibration" in Reader(result.to_html()).text


@pytest.mark.slow
def test_big_results_stay_small_and_quick(one):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 1000, size=5000).tolist()
    many_classes = evaluate.prequential(baseline.NoChange(), [({"x": 1.0}, y) for y in labels], "Accuracy")
    assert len(many_classes.confusion.labels) > 900
    X = rng.normal(size=(200, 10_000))
    many_features = evaluate.prequential(scaled(), (X, X[:, 0] > 0), "LogLoss")
    long = evaluate.prequential(scaled(), stream(50_000), ["Accuracy", "LogLoss"], every=1)
    assert len(long.curve["row"]) == 50_000
    many_drifts = replace(one, drifts=list(range(0, 2000, 1)) * 3)
    for result in (many_classes, many_features, long, many_drifts):
        begun = time.perf_counter()
        page = result.to_html()
        assert time.perf_counter() - begun < 3.0
        assert len(page) < 150_000, len(page)
        Reader(page)
    assert "most frequent of" in many_classes.to_html()
    assert "The 20 largest of 10,000" in many_features.to_html()
    result = evaluate.prequential([baseline.NoChange() for _ in range(30)], stream(2000), ["Accuracy", "LogLoss"])
    assert len(result.to_html()) < 1_500_000


def test_style_does_not_leak(one):
    found = re.search(r"<style>(.*?)</style>", one._repr_html_(), re.DOTALL).group(1)
    flat = re.sub(r"@media[^{]*\{", "", found)
    for selectors in re.findall(r"([^{}]+)\{", flat):
        for selector in selectors.split(","):
            assert selector.strip().startswith(".ms"), selector


def test_two_outputs_of_a_notebook_do_not_mix(one):
    first, second = Reader(one.report()._repr_html_()).ids, Reader(one.report()._repr_html_()).ids
    assert first
    assert not set(first) & set(second)


def test_a_page_is_written_whole_or_not_at_all(one, tmp_path):
    target = tmp_path / "page.html"
    target.write_text("old", encoding="utf-8")
    one.to_html(target)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(FileNotFoundError):
        one.to_html(tmp_path / "nowhere" / "page.html")
    with pytest.raises(OSError):
        one.to_html(tmp_path)


# Weights.


def test_weights_by_hand():
    rows = [({"x": float(i % 7), "carrier": "UA" if i % 2 else "B6"}, i % 7 > 3) for i in range(300)]
    logistic = evaluate.prequential(linear_model.LogisticRegression(), rows)
    assert set(logistic.weights.names) == {"x", "carrier=UA", "carrier=B6"}
    by_name = dict(zip(logistic.weights.names, logistic.weights.values.tolist(), strict=True))
    assert by_name["x"] == logistic.model.weights["x"]
    assert by_name["carrier=UA"] == logistic.model.weights["carrier"]["UA"]
    assert np.all(np.diff(np.abs(logistic.weights.values)) <= 0)
    assert logistic.weights.signed
    assert "per unit" in logistic.weights.about
    assert "per standard deviation" in evaluate.prequential(scaled(), rows).weights.about
    assert logistic.weights.to_frame("pandas").shape == (3, 2)
    assert "carrier=UA" in repr(logistic.weights)
    softmax = evaluate.prequential(linear_model.SoftmaxRegression(), rows)
    learned = softmax.model.weights
    values = dict(zip(softmax.weights.names, softmax.weights.values.tolist(), strict=True))
    assert values["x"] == learned[True]["x"] - learned[False]["x"]
    assert "towards True" in softmax.weights.about
    three = [(x, i % 3) for i, (x, _) in enumerate(rows)]
    many = evaluate.prequential(multiclass.OneVsRest(linear_model.LogisticRegression()), three)
    assert not many.weights.signed
    assert evaluate.prequential(baseline.MajorityClass(), rows).weights is None


def test_importances_of_naive_bayes_by_hand():
    # x: class means 0 and 2 of 10 rows each, variance 1 within each: between 20 * 1, within 20 * 1, so a half.
    # c follows the class, so all of it is explained; d is the same in both, so nothing is.
    model = naive_bayes.GaussianNB()
    for i in range(20):
        y = i % 2 == 1
        model.learn_one({"x": 2.0 * y + (1.0 if i % 4 < 2 else -1.0), "c": str(y), "d": "ab"[i % 4 // 2]}, y)
    found = weights_of(model)
    values = dict(zip(found.names, found.values.tolist(), strict=True))
    assert values["x"] == pytest.approx(0.5)
    assert values["c"] == pytest.approx(1.0)
    assert values["d"] == pytest.approx(0.0)


def test_the_stream_is_told_as_a_call():
    made = evaluate.prequential(scaled(), synth.SEA(seed=1).take(500), "Accuracy")
    assert f"stream_of_rows = {synth.SEA(seed=1).take(500)!r}" in Reader(made.to_html()).text
    assert "stream_of_rows = (X, y)" in Reader(evaluate.prequential(scaled(), stream(100)).to_html()).text


def test_the_call_gives_the_same_result_when_it_is_pasted(one, tmp_path):
    path = tmp_path / "flights, all.csv"
    rows = "".join(f"2024-01-0{1 + i // 100},{i % 7},{'xyz'[i % 3]},{i % 7 > 3}\n" for i in range(400))
    path.write_text(f"day,a,b,late\n{rows}", encoding="utf-8")
    models = {
        "forest": forest.ARFClassifier(n_models=2),
        "coded": preprocessing.OneHotEncoder() | naive_bayes.GaussianNB(),
    }
    source = streams.read_csv(path, target="late", time="day")
    several = evaluate.prequential(
        models, source, ["LogLoss", metrics.F1(pos_val=True)], delay=timedelta(days=1), detector=drift.ADWIN(0.01)
    )
    generated = evaluate.prequential(scaled(), synth.SEA(seed=1).take(500), {"mine": "Accuracy"}, window=50)
    X, y = stream()
    for result, data in ((one, {"X": X, "y": y}), (several, {}), (generated, {})):
        results = dict(result) if result is several else {result.name: result}
        space = dict(data)
        exec(call(results), space)
        found = dict(space["result"]) if result is several else {result.name: space["result"]}
        for name, made in results.items():
            assert found[name].values == made.values
            assert found[name].drifts == made.drifts


# Plots.


@pytest.mark.parametrize("kind", ["metric", "confusion", "calibration", "weights", "waiting", "speed", "memory"])
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_plots_are_saved(one, kind, suffix, tmp_path):
    path = tmp_path / f"plot.{suffix}"
    one.save_plot(path, kind=kind)
    start = path.read_bytes()[:200]
    assert start.startswith(b"\x89PNG") if suffix == "png" else b"<?xml" in start


@pytest.mark.slow
def test_plots_of_several_and_of_numbers(several, tmp_path):
    for kind in ("metric", "calibration", "speed", "memory", "waiting"):
        several.save_plot(tmp_path / "x.png", kind=kind)
    X, _ = stream(500)
    numbers = evaluate.prequential(linear_model.LinearRegression(), (X, X[:, 0]))
    numbers.save_plot(str(tmp_path / "x.svg"), kind="residuals")
    assert numbers.plot("residuals").get_xlabel() == "truth"
    assert several.plot("LogLoss").get_ylabel() == "LogLoss"


def test_plots_that_cannot_be_drawn(one, several, tmp_path):
    with pytest.raises(InvalidValue, match=r"\.png, \.svg, \.pdf"):
        one.save_plot(tmp_path / "x.gif")
    with pytest.raises(InvalidValue, match="kind must be one of"):
        one.plot(kind="pie")
    with pytest.raises(InvalidValue, match="only regressors have residuals"):
        one.plot(kind="residuals")
    with pytest.raises(InvalidValue, match="shows one model"):
        several.plot(kind="confusion")
    only = evaluate.prequential(scaled(), stream(100), "Accuracy")
    with pytest.raises(InvalidValue, match="such as LogLoss"):
        only.plot(kind="calibration")


def test_axes():
    assert ticks(0, 1, 5) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert ticks(3, 3, 5) == [3]
    assert [short(value) for value in (0, 0.25, 1500, 20_000, 1.5e6, 2e9, -30_000)] == [
        "0",
        "0.25",
        "1,500",
        "20k",
        "1.5M",
        "2G",
        "-30k",
    ]
    values = np.zeros(10_000)
    values[1234], values[77] = 5.0, np.nan
    rows, kept = few(np.arange(10_000), values)
    assert len(rows) <= 700
    assert kept.max() == 5.0
    assert rows[-1] == 9_999


# Live progress.


def test_lines_away_from_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("millstream.evaluate.progress._FIRST_LINE", 0.0)
    # Slow enough that a status is due before the end.
    X, y = stream(50_000)
    model = forest.ARFClassifier(n_models=10, n_threads=1, seed=1)
    evaluate.prequential(model, (X, y), delay=100, detector=drift.PageHinkley(threshold=100), progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert re.match(r"[\d,]+ of 50,000 rows · Accuracy [01]\.\d{4} · ", lines[0])
    assert "100 labels to come" in lines[0] or "99 labels to come" in lines[0]
    assert "rows/s" in lines[0]
    evaluate.prequential(scaled(), ((X[:5000], y[:5000]) for _ in range(40)), progress=False)
    assert capsys.readouterr().err == ""


class Terminal:
    """What is written to a terminal."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return True


@pytest.mark.parametrize("total", [100_000, None])
def test_one_line_on_a_terminal(monkeypatch, total):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr("millstream.evaluate.progress._REDRAWN", 0.0)
    with contextlib.suppress(KeyboardInterrupt), Progress(None, total, "Accuracy") as bar:
        bar.pause = 0.0
        bar.tick(50_000, (0.8765, 3, 41_000, 120))
        bar.live.refresh()
        raise KeyboardInterrupt
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.text)
    for part in ("50,000 ", "Accuracy 0.8765", "3 drifts, last at 41,000", "120 labels to come", "rows/s"):
        assert part in plain
    # The cursor is shown again and the line is wiped.
    assert screen.text.count("\x1b[?25h") == screen.text.count("\x1b[?25l") == 1
    assert "\x1b[2K" in screen.text.rpartition("rows/s")[2]


def test_rows_are_counted_by_both_loops():
    told = []
    bar = Progress(True, None, "x")
    bar.wanted, bar.pause = True, 1e9
    bar.count(10, lambda run: told.append(run))
    bar.tick(5, (None, 0, None, 0))
    assert bar.rows == 15
    assert told == []
    assert bar.words((float("nan"), 0, None, 0), 1.0) == [("15 rows", ""), ("15 rows/s", "dim")]


def test_a_line_fits_its_terminal():
    bar = Progress(False, 336_776, "Rolling[Accuracy]")
    bar.rows = 150_000
    status = (0.8123, 3, 120_544, 4_812)
    for room in (130, 109, 69, 49, 40):
        plain = re.sub(r"(?<!\\)\[[a-z/]*\]", "", bar.line(status, 12.0, room)).replace("\\[", "[")
        assert len(plain) <= room
        assert plain.startswith("150,000")
        assert "Rolling[Accuracy] 0.8123" in plain
    assert "15 s left" in bar.line(status, 12.0, 130)
    assert "120,544" in bar.line(status, 12.0, 130)
    assert "120,544" not in bar.line(status, 12.0, 60)


def test_the_command_tells_of_calibration(tmp_path, monkeypatch):
    from millstream.cli import main

    path = tmp_path / "x.csv"
    path.write_text("a,late\n" + "".join(f"{i % 7},{i % 7 > 3}\n" for i in range(400)), encoding="utf-8")
    page = tmp_path / "page.html"
    given = [
        "run",
        str(path),
        "--target",
        "late",
        "--model",
        "LogisticRegression",
        "--report",
        str(page),
        "--quiet",
    ]
    monkeypatch.setattr(sys, "argv", ["millstream", *given])
    assert main(given) == 0
    text = Reader(page.read_text(encoding="utf-8")).text
    assert "Calibration" in text
    assert "millstream run" in text


def test_a_scale_holds_all_points_or_says_what_it_cuts_off():
    def drawn(first):
        values = np.array([first, 0.95, 0.96, 0.97])
        page = Chart([Line(np.arange(100, 500, 100), values)], "accuracy", scale=values[1:]).draw()
        points = re.search(r'<polyline class="rolling c0" points="([^"]*)"', page)[1].split()
        return page, [float(point.split(",")[1]) for point in points]

    page, heights = drawn(0.92)
    assert "cut off" not in page
    assert all(0 < height < 2000 for height in heights)
    # The first point would make the scale over four times as high: the line leaves the drawing, which is said.
    page, heights = drawn(0.2)
    assert heights[0] > 2000
    assert all(0 < height < 2000 for height in heights[1:])
    assert "Points beyond the axis are cut off: they reach 0.2." in page


def test_one_run_has_one_time_in_all_places(one, several):
    assert one.elapsed >= one.seconds > 0
    told = Reader(one.to_html()).text
    assert f"rows/s: {one.elapsed:.3g} s in total, {one.seconds:.3g} s for the model" in told
    assert {result.elapsed for result in several.values()} == {several.best.elapsed}
    assert f"2,000 rows in {several.best.elapsed:.3g} s" in Reader(several.to_html()).text


# Samples of the stream, and what is drawn of them.


def test_a_sample_does_not_depend_on_the_chunks():
    X, y = stream(30_000)
    found = []
    for rows in (30_000, 777, 1):
        parts = [(X[start : start + rows], y[start : start + rows]) for start in range(0, len(X), rows)]
        if rows == 1:
            parts = [(dict(enumerate(x)), bool(label)) for x, label in zip(X.tolist(), y, strict=True)]
        found.append(evaluate.prequential(naive_bayes.GaussianNB(), parts, "Accuracy").sample)
    # 30,000 rows, of which at most 2,000 are kept: every 16th, 1,875 rows.
    assert found[0].row.tolist() == list(range(0, 30_000, 16))
    for other in found[1:]:
        assert other.row.tolist() == found[0].row.tolist()
        assert other.y == found[0].y
        assert other.features == found[0].features
    assert found[0].features[1][3] == X[48, 1]


def test_a_sample_is_of_the_first_pass_and_of_the_rows_that_were_read():
    result = evaluate.prequential(scaled(), stream(300), passes=3, limit=200)
    assert len(result.sample.row) == 200


def test_times_of_rows():
    day = np.datetime64("2024-01-01", "ns")
    at = day + np.array([0, 10, 20], dtype="timedelta64[h]")
    sample = StreamSample(np.array([0, 100, 200]), [None] * 3, at)
    # Half of the rows between two known times took half of the time.
    assert sample.time_of([50])[0] == (day + np.timedelta64(5, "h")).astype("int64")
    axis = axis_of(sample, 200)
    assert isinstance(axis, TimeAxis)
    assert axis.place([0, 50, 200]).tolist() == [0.0, 0.25, 1.0]
    assert axis.name(50) == "row 50, 2024-01-01 05:00"
    assert [words for _, words in axis.ticks()][:2] == ["00:00", "06:00"]
    numbers = StreamSample(np.array([0, 100]), [None] * 2, np.array([3.0, 5.0]))
    assert axis_of(numbers, 100).name(50) == "row 50, time 4"
    # Times that do not increase are no axis.
    assert axis_of(StreamSample(np.array([0, 100]), [None] * 2, np.array([3.0, 3.0])), 100).title == "rows"
    years = StreamSample(np.array([0, 1]), [None] * 2, np.array(["1990-05", "2024-02"], dtype="datetime64[ns]"))
    assert [words for _, words in axis_of(years, 1).ticks()] == ["2000", "2010", "2020"]


@pytest.mark.parametrize("source", ["stream", "column", "dicts", "numbers"])
def test_the_axis_has_times_where_they_are_known(source, tmp_path):
    begin = datetime(2024, 3, 1)
    times = [begin + timedelta(hours=i) for i in range(600)]
    rows = [{"a": float(i % 7), "t": at} for i, at in enumerate(times)]
    labels = [i % 7 > 3 for i in range(600)]
    if source == "stream":
        path = tmp_path / "x.csv"
        path.write_text(
            "t,a,y\n" + "".join(f"{at.isoformat()},{i % 7},{i % 7 > 3}\n" for i, at in enumerate(times))
        )
        result = evaluate.prequential(scaled(), streams.read_csv(path, target="y", time="t"))
    elif source == "dicts":
        result = evaluate.prequential(
            scaled(), list(zip(rows, labels, strict=True)), time="t", delay=timedelta(hours=3)
        )
    else:
        X = np.arange(600.0)[:, None] % 7
        at = np.array(times, dtype="datetime64[ns]") if source == "column" else np.arange(600.0) * 2
        delay = timedelta(hours=3) if source == "column" else 3.0
        result = evaluate.prequential(scaled(), (X, np.array(labels)), time=at, delay=delay)
    page = result.to_html()
    if source == "numbers":
        assert "row 600, time 1,198" in page
    else:
        assert ">2024-03-07<" in page
        assert "2024-03-25 23:00" in page


def test_the_best_constant_by_hand():
    # 3 of 4 rows are of class a, so that this constant has an accuracy of 3/4; the frequencies have a log loss of
    # -(3/4) log(3/4) - (1/4) log(1/4) = 0.5623.
    rows = [({"x": 1.0}, "b" if i % 4 == 0 else "a") for i in range(401)]
    result = evaluate.prequential(naive_bayes.GaussianNB(), rows, ["Accuracy", "LogLoss", "F1"])
    assert round(result.constant["Accuracy"], 4) == 0.75
    assert round(result.constant["LogLoss"], 4) == 0.5623
    assert "best constant: 0.7500" in Reader(result.to_html()).text
    numbers = evaluate.prequential(
        baseline.TargetMean(), [({"x": 1.0}, float(i % 4 == 0)) for i in range(400)], ["MAE", "MSE"]
    )
    # The median 0 has the smallest absolute error, 1/4; the mean 1/4 the smallest squared one, 3/16.
    assert round(numbers.constant["MAE"], 3) == 0.25
    assert round(numbers.constant["MSE"], 3) == 0.188


def test_curves_of_thresholds_by_hand():
    class Known(Classifier):
        """Predicts what the row says."""

        def learn_one(self, x, y=None, w=1.0):
            pass

        def predict_proba_one(self, x):
            return {True: x["p"], False: 1 - x["p"]}

    # By descending probability: two positives, a negative, a positive, two negatives.
    rows = [
        ({"p": p}, y) for p, y in ((0.9, True), (0.8, True), (0.7, False), (0.6, True), (0.3, False), (0.1, False))
    ]
    result = evaluate.prequential(Known(), rows, ["LogLoss", "ROCAUC"])
    alarms, recall, precision = points(result.calibration)
    at = {(round(a, 3), round(r, 3), round(p, 3)) for a, r, p in zip(alarms, recall, precision, strict=True)}
    assert {(0.0, 0.333, 1.0), (0.0, 0.667, 1.0), (0.333, 0.667, 0.667), (0.333, 1.0, 0.75), (1.0, 1.0, 0.5)} <= at
    # Of 9 pairs, 8 are in order; the precisions at the positives are 1, 1 and 3/4.
    assert "ROC 0.8889, PR 0.9167" in result.to_html()


def test_many_drifts_are_bands():
    assert drifts(np.arange(12) * 150.0).count("<rect") == 0
    drawn = drifts(np.concatenate([np.arange(40) * 2.0, [1500.0]]))
    assert drawn.count('class="band"') == 3
    assert 'class="drift solid"' in drawn


def test_a_shift_by_hand():
    # All of the last quarter is above all of the first: the distance is 1.
    distance, p = _shift([float(i) for i in range(400)])
    assert distance == 1.0
    assert p < 1e-6
    rng = np.random.default_rng(0)
    assert _shift(rng.normal(size=400).tolist())[1] > 0.01
    # A quarter of the rows moves from a to b.
    distance, p = _shift(["a"] * 100 + ["b"] * 200 + ["a"] * 25 + ["b"] * 75)
    assert distance == 0.75
    assert p < 1e-6
    assert _shift(["a", "b"] * 200) == (0.0, pytest.approx(1.0, abs=0.1))


def test_features_over_time_are_drawn_with_their_shift():
    rows = [
        ({"moves": i / 500 + i % 5, "kind": "abc"[i % 3] if i % 90 else f"rare {i}", "empty": None}, i % 2 == 0)
        for i in range(2000)
    ]
    text = Reader(evaluate.prequential(linear_model.LogisticRegression(), rows).to_html()).text
    assert re.search(r"moves\s+0\.\d+ · shifted", text)
    assert re.search(r"kind\s+0\.0\d", text)
    assert "23 other values" in text
    # Rare values are not among the weights, but counted.
    assert "kind=rare" not in text
    assert "left out: 23 of kind" in text


def test_rare_values():
    sample = StreamSample(np.arange(200), [None] * 200, features={"k": ["a"] * 199 + ["b"]})
    assert rare_values(sample, "k") == {"b"}
    assert rare_values(sample, "other") == rare_values(None, "k") == set()


def test_a_bad_model_does_not_flatten_the_others(several):
    curves = [np.array([0.4, 0.5]), np.array([0.45, 0.6]), np.array([0.5, 0.7]), np.array([9.0, 22.0])]
    assert scale_of(curves)[-2:] == [0.5, 0.7]
    legend = re.search(r'class="legend">(.*?)</div>', several.to_html(), re.DOTALL).group(1)
    order = [legend.index(f"{result.name} ") for result in several.ranked()]
    assert order == sorted(order)


def test_values_below_the_pointer(one, several):
    assert re.search(r'data-v="row [\d,]+\nall rows 0\.\d+\nlast 1,000 0\.\d+"', one.to_html())
    assert re.search(r'data-v="row [\d,]+\n\w+ [\d.]+\n\w+ [\d.]+\n\w+ [\d.]+"', several.to_html())


def test_notes_are_on_the_page(one):
    page = replace(one, notes=["2 % of wind are not numbers: <->"]).to_html()
    assert '<p class="warning">2 % of wind are not numbers: &lt;-&gt;</p>' in page


def test_a_notebook_shows_a_summary(one, several):
    for result in (one, several):
        shown = result._repr_html_()
        assert len(shown) < 40_000
        read = Reader(shown)
        assert read.tags.count("img") == 1
        assert "how to reproduce this" in read.text
        assert "<table>" in shown
    assert "Confusion matrix" in Reader(one._repr_html_()).text
    assert "Over time" in Reader(one.report()._repr_html_()).text
    assert repr(one.report()).startswith("HTML report of ")


class Kernel:
    """The shell of a notebook."""

    kernel = object()


def test_a_notebook_has_a_bar(monkeypatch):
    shown = []

    class Handle:
        def update(self, what):
            shown.append(what._repr_html_())

    def display(what, display_id):
        shown.append(what._repr_html_())
        return Handle()

    shell, screen = ModuleType("IPython"), ModuleType("IPython.display")
    shell.get_ipython, screen.display = Kernel, display
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", screen)
    with Progress(None, 1000, "Accuracy") as bar:
        assert bar.wanted
        bar.tick(10, (0.5, 0, None, 0))
        assert shown == []  # Shorter runs show nothing.
        bar.pause = 0.0
        bar.tick(490, (0.5, 2, 70, 0))
        bar.tick(100, (0.6, 2, 70, 0))
    assert 'value="500" max="1000"' in shown[0]
    assert "Accuracy 0.6000 · 2 drifts, last at 70" in shown[1]
    assert shown[-1] == ""
    assert not Progress(False, 1000, "Accuracy").wanted


@pytest.mark.slow
def test_ten_models_over_a_long_stream_stay_under_a_megabyte():
    X, y = stream(200_000)
    models = {f"a model with a long name, number {i}": naive_bayes.GaussianNB() for i in range(10)}
    metrics = ["Accuracy", "LogLoss", "ROCAUC", "F1"]
    # The curves have as many points for any number of rows.
    result = evaluate.prequential(models, (X, y), metrics, detector=drift.ADWIN(), delay=100)
    assert len(result.best.curve["row"]) < 250
    assert len(result.to_html()) < 1_000_000
