"""Pages, plots, weights and live progress of an evaluation."""

from __future__ import annotations

import contextlib
import re
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from millstream import (
    baseline,
    drift,
    evaluate,
    forest,
    linear_model,
    multiclass,
    naive_bayes,
    preprocessing,
    synth,
)
from millstream.base import Classifier
from millstream.errors import InvalidValue
from millstream.evaluate.progress import Progress
from millstream.evaluate.report.charts import Chart, Line, few, short, ticks
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

    void = frozenset(("meta", "input", "br"))

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.words, self.tags = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "link", "iframe", "object", "embed", "img")
        for name, value in attributes:
            assert not name.startswith("on")
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
    for page in (made.to_html(command=EVIL, title=EVIL), made[EVIL].to_html(command=EVIL), made._repr_html_()):
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
    first, second = Reader(one._repr_html_()).ids, Reader(one._repr_html_()).ids
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
    assert f"prequential(model, {synth.SEA(seed=1).take(500)!r}, " in Reader(made.to_html()).text
    assert "prequential(model, stream, " in Reader(evaluate.prequential(scaled(), stream(100)).to_html()).text


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
    assert "The first points are cut off: they reach 0.2." in page


def test_one_run_has_one_time_in_all_places(one, several):
    assert one.elapsed >= one.seconds > 0
    told = Reader(one.to_html()).text
    assert f"rows/s: {one.elapsed:.3g} s in total, {one.seconds:.3g} s for the model" in told
    assert {result.elapsed for result in several.values()} == {several.best.elapsed}
    assert f"2,000 rows in {several.best.elapsed:.3g} s" in Reader(several.to_html()).text
