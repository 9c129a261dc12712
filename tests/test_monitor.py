"""drift.Monitor: real and virtual drift, late labels, state, in a loop and in evaluation."""

from __future__ import annotations

import html
import json
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import _core, base, drift, evaluate, linear_model, naive_bayes, preprocessing
from millstream.drift.row_counter import RowCounter
from millstream.errors import MillstreamError


def rows(kind: str, seed: int = 1, n: int = 3000) -> list[tuple[dict[str, float], bool]]:
    """Two features, the first of which decides; something changes in the middle."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    half = n // 2
    if kind in ("virtual", "both"):
        X[half:, 1] += 3.0
    y = X[:, 0] > 0
    if kind in ("real", "both"):
        y[half:] = ~y[half:]
    return [({"a": a, "b": b}, bool(label)) for (a, b), label in zip(X.tolist(), y.tolist(), strict=True)]


def watched(kind: str, **settings: Any) -> drift.Monitor:
    monitor = drift.Monitor({"errors": drift.ADWIN(), "rows": drift.KSTest(significance=1e-6)}, **settings)
    model = naive_bayes.GaussianNB()
    for x, y in rows(kind):
        monitor.step_one(model, x, y)
    return monitor


@pytest.mark.parametrize("kind", ["none", "real", "virtual", "both"])
def test_real_and_virtual_drift_are_told_apart(kind: str) -> None:
    monitor = watched(kind)
    events = monitor.events
    if kind == "none":
        assert events == []
        return
    assert all(1500 <= event.row < 1900 for event in events[:2])
    assert events[0].kind in (("real", "virtual") if kind == "both" else (kind,))
    if kind == "both":
        assert "both" in {event.kind for event in events}
        assert {event.detector for event in events} == {"errors", "rows"}
    moved = [event for event in events if event.detector == "rows"]
    assert all(event.features == ("b",) for event in moved)
    if kind != "virtual":
        real = next(event for event in events if event.detector == "errors")
        assert real.direction == "up"
        assert real.since is not None
        assert abs(real.since - 1500) < 100


def test_labels_that_come_late() -> None:
    prompt, late = (drift.Monitor([drift.ADWIN()]) for _ in range(2))
    errors = [0.0] * 500 + [1.0] * 200
    for error in errors:
        prompt.update({"a": 0.0}, 0, int(error))
    waiting: list[float] = []
    for error in errors:
        late.update({"a": 0.0})
        waiting.append(error)
        if len(waiting) > 100:
            late.update(y_true=0, y_pred=int(waiting.pop(0)))
    assert [(e.row, e.since) for e in late.events] == [(e.row, e.since) for e in prompt.events]
    assert late.events[0].seen == late.events[0].row + 101
    assert (late.rows, late.labels) == (700, 600)
    sampled = drift.Monitor(drift.ADWIN())
    for place, error in enumerate(errors):
        sampled.update(y_true=0, y_pred=int(error), row=10 * place)
    assert sampled.events[0].row == 10 * prompt.events[0].row


def test_saved_pickled_cloned(tmp_path: Path) -> None:
    stream = rows("both")
    whole = drift.Monitor([drift.ADWIN(), drift.KSTest()])
    part = whole.clone()
    model = linear_model.LogisticRegression()
    said = [model.step_one(x, y) for x, y in stream]
    for (x, y), answer in zip(stream, said, strict=True):
        whole.update(x, y, answer)
    for place, ((x, y), answer) in enumerate(zip(stream, said, strict=True)):
        if place == 1600:
            part.save(tmp_path / "monitor")
            part = drift.Monitor.load(tmp_path / "monitor")
        if place == 2000:
            part = pickle.loads(pickle.dumps(part))
        part.update(x, y, answer)
    assert part.events == whole.events
    assert part.to_bytes() == whole.to_bytes()
    assert whole.clone().events == []
    for bad in (b"", b"{}", part.to_bytes()[:-9], drift.ADWIN().to_bytes()):
        with pytest.raises(MillstreamError):
            drift.Monitor.from_bytes(bad)
    with pytest.raises(MillstreamError, match="use pickle"):
        drift.Monitor(drift.ADWIN(), loss=abs).to_bytes()


def test_in_evaluation_and_as_a_detector() -> None:
    stream = rows("real")
    monitor = drift.Monitor({"errors": drift.ADWIN(), "rows": drift.KSTest(significance=1e-6)})
    result = evaluate.prequential(monitor.beside(naive_bayes.GaussianNB()), stream, metrics="Accuracy")
    plain = evaluate.prequential(naive_bayes.GaussianNB(), stream, metrics="Accuracy")
    assert result["Accuracy"] == plain["Accuracy"]
    assert {(event.kind, event.direction) for event in monitor.events} == {("real", "up")}
    marked = evaluate.prequential(naive_bayes.GaussianNB(), stream, detector=drift.Monitor(drift.ADWIN()))
    assert [row for row in marked.drifts if 1500 <= row < 1700]
    late = drift.Monitor(drift.ADWIN())
    evaluate.prequential(late.beside(naive_bayes.GaussianNB()), stream, delay=50)
    assert [event for event in late.events if 1500 <= event.row < 1700]


def test_what_a_monitor_beside_a_model_finds_is_in_the_result(tmp_path: Path) -> None:
    stream = rows("both")
    monitor = drift.Monitor(
        {"errors": drift.ADWIN(significance=0.01), "rows": drift.KSTest(significance=1e-6)}, together=400
    )
    result = evaluate.prequential(monitor.beside(naive_bayes.GaussianNB()), stream, metrics="Accuracy")
    assert result.drifts == sorted({event.row for event in monitor.events})
    assert [row for row in result.drifts if 1500 <= row < 1700]
    assert result.name == "Monitored(GaussianNB)"
    page = result.to_html(tmp_path / "page.html")
    assert "<h1>Monitored(GaussianNB)</h1>" in page
    assert "drift detected" in page
    assert ">both<" in page
    # What is printed runs, and gives the same.
    names = {**vars(drift), **vars(naive_bayes), "evaluate": evaluate, "stream": stream}
    code = html.unescape(page.split("<h3>In Python</h3><pre>")[1].split("</pre>")[0])
    (names["X"], names["y"]) = ([x for x, _ in stream], [y for _, y in stream])
    exec(code, names)
    assert names["result"].drifts == result.drifts
    assert names["model"].monitor.events == monitor.events
    assert names["model"].monitor.together == 400
    marked = evaluate.prequential(naive_bayes.GaussianNB(), stream, detector=drift.Monitor(drift.ADWIN()))
    assert marked.settings["detector"] == "Monitor([ADWIN()])"
    with pytest.raises(MillstreamError, match=r"KSTest of this Monitor is for rows: pass its beside\(model\)"):
        evaluate.prequential(naive_bayes.GaussianNB(), stream, detector=drift.Monitor(drift.KSTest()))


@pytest.mark.slow
def test_rows_of_the_result_are_those_of_the_stream() -> None:
    stream: Any = [(x, y, float(place % 3 > 0)) for place, (x, y) in enumerate(rows("real"))]
    for settings in ({}, {"delay": 50}, {"detector": drift.DDM()}):
        monitor = drift.Monitor(drift.ADWIN())
        pipeline = preprocessing.StandardScaler() | monitor.beside(linear_model.LogisticRegression())
        result = evaluate.prequential(pipeline, stream, metrics="Accuracy", **settings)
        # A row without weight is not learned, so the monitor did not receive it.
        assert (monitor.rows, result.rows) == (2000, 3000)
        assert result.name == "StandardScaler | Monitored(LogisticRegression)"
        assert [row for row in result.drifts if 1500 <= row < 1700 and row % 3]
        assert result.weights is not None
        assert result.weights.names


def test_memory_is_that_of_what_is_watched() -> None:
    detector, model = drift.KSTest(), naive_bayes.GaussianNB()
    monitor = drift.Monitor([detector, Always()])
    both = monitor.beside(model)
    empty = both.memory
    for x, y in rows("none", n=1000):
        both.learn_one(x, y)
    held = both.monitor.detectors["KSTest"].memory + model.memory
    assert held < both.memory < 3 * held + 1000 * 1000
    assert empty < both.memory


def test_numbers_loss_many_and_how_it_looks() -> None:
    monitor = drift.Monitor([drift.ADWIN(), drift.PageHinkley(), drift.ADWIN(significance=0.1)])
    assert list(monitor.detectors) == ["ADWIN", "PageHinkley", "ADWIN 2"]
    assert "0 events" in repr(monitor)
    events = monitor.update_many(y_true=np.zeros(400), y_pred=np.r_[np.zeros(200), np.full(200, 9.0)])
    assert events == monitor.events
    assert monitor.rows == 0
    assert monitor.labels == 400
    assert "up" in repr(monitor)
    assert "<table" in monitor._repr_html_()
    assert list(monitor.to_frame().kind) == ["real"] * len(events)
    squared = drift.Monitor(drift.PageHinkley(), loss=lambda truth, said: (truth - said) ** 2)
    squared.update(None, 1.0, 3.0)
    assert squared.detectors["PageHinkley"].estimation == 4.0
    assert drift.Monitor(drift.ADWIN()).update({}, 1, None) == []
    both = drift.Monitor(drift.ADWIN())
    both.update({}, "a", {"a": 0.4, "b": 0.6})
    assert both.detectors["ADWIN"].estimation == 1.0


def test_whole_numbers_are_classes_and_other_numbers_are_not() -> None:
    for truth, said, error in [
        (np.float32(1.0), np.float32(3.5), 2.5),
        (np.float16(1.0), 3, 2.0),
        (Fraction(1, 2), 1, 0.5),
        (3, 7, 1.0),
        (np.int32(3), np.int64(3), 0.0),
        (True, np.bool_(False), 1.0),
        ("a", "b", 1.0),
    ]:
        monitor = drift.Monitor(drift.PageHinkley())
        monitor.update(None, truth, said)
        assert monitor.detectors["PageHinkley"].estimation == error


def state(monitor: drift.Monitor) -> bytes:
    """What a saved monitor holds beside its description."""
    return _core.SavedFile(monitor.to_bytes()).take_state()[0]


def sealed(state: bytes) -> bytes:
    return _core.seal(json.dumps({"name": "drift.Monitor", "parameters": {}}), 0, state)


@pytest.mark.parametrize("form", ["json", "container"])
def test_a_saved_monitor_keeps_loading(form: str) -> None:
    """1,600 rows; feature a moves at row 800, the errors rise at row 850. `json.ms` has the old format."""
    monitor = millstream.load(Path(__file__).parent / "golden" / "monitor" / f"{form}.ms")
    assert isinstance(monitor, drift.Monitor)
    assert (monitor.rows, monitor.labels, monitor.together) == (1600, 1600, 100)
    found = [(event.kind, event.row, event.since, event.detector, event.features) for event in monitor.events]
    assert found == [("virtual", 849, 800, "rows", ("a",)), ("both", 860, 850, "errors", ())]
    assert {name: each.updates for name, each in monitor.detectors.items()} == {"errors": 1597, "rows": 1600}
    assert monitor.to_bytes().startswith(b"MILLSTRM")
    assert millstream.from_bytes(monitor.to_bytes()).to_bytes() == monitor.to_bytes()


def test_a_monitor_is_saved_in_the_format_of_models() -> None:
    monitor = drift.Monitor([drift.ADWIN()])
    saved = _core.SavedFile(monitor.to_bytes())
    assert saved.name == "drift.Monitor"
    saved.take_state()
    with pytest.raises(MillstreamError, match="was loaded before"):
        saved.take_state()
    with pytest.raises(MillstreamError, match="not a saved monitor but a saved 'drift.ADWIN'"):
        drift.Monitor.from_bytes(drift.ADWIN().to_bytes())


def test_the_last_update_is_saved_too() -> None:
    monitor = drift.Monitor(drift.ADWIN())
    for error in [0.0] * 200 + [1.0] * 200:
        if monitor.update(error):
            break
    assert monitor.drift_detected
    for other in (drift.Monitor.from_bytes(monitor.to_bytes()), pickle.loads(pickle.dumps(monitor))):
        assert other.drift_detected
        assert (other.event_count, other.events) == (1, monitor.events)
        assert other.to_bytes() == monitor.to_bytes()
        other.update(1.0)
        assert not other.drift_detected
    for old, new in (
        (b'"newest": 1', b'"newest": 2'),
        (b'"event_count": 1', b'"event_count": 0'),
        (b'"event_count": 1', b'"event_count": Infinity'),
    ):
        with pytest.raises(MillstreamError, match="not a saved monitor"):
            drift.Monitor.from_bytes(sealed(state(monitor).replace(old, new)))
    # One that was saved before it held them.
    earlier = sealed(state(monitor).replace(b', "event_count": 1, "newest": 1', b""))
    assert drift.Monitor.from_bytes(earlier).event_count == 1


class Always:
    """A detector that always finds a change."""

    drift_detected = True

    def update(self, x: float) -> None:
        """Nothing to count."""


def test_events_do_not_fill_the_memory() -> None:
    monitor = drift.Monitor(Always())
    for _ in range(10_500):
        monitor.update(1.0)
    assert (len(monitor.events), monitor.event_count) == (10_000, 10_500)
    assert (monitor.events[0].row, monitor.events[-1].row) == (500, 10_499)
    assert "10,500 events" in repr(monitor)


def test_one_that_refuses_leaves_all_as_they_were() -> None:
    monitor = drift.Monitor([drift.ADWIN(), drift.DDM()])
    for place in range(100):
        monitor.update(float(place % 2))
    before = monitor.to_bytes()
    for bad in (2.0, float("nan"), "x"):
        with pytest.raises((MillstreamError, ValueError)):
            monitor.update(bad) if not isinstance(bad, str) else monitor.update(y_true=1.0, y_pred=bad)
    assert monitor.to_bytes() == before
    for bad in ([], [3], drift.ADWIN):
        with pytest.raises(MillstreamError):
            drift.Monitor(bad)
    with pytest.raises(MillstreamError):
        drift.Monitor(drift.ADWIN(), together=-1)


def test_a_batch_with_a_bad_row_leaves_the_monitor_as_it_was() -> None:
    monitor = drift.Monitor([drift.ADWIN(), drift.KSTest()])
    X, y = np.zeros((100, 4)), np.zeros(100, int)
    monitor.update_many(X[:20], y[:20], y[:20])
    before = monitor.to_bytes()
    X[50, 0] = np.inf
    with pytest.raises(MillstreamError, match=r"row 50: .*feature 0 must be finite"):
        monitor.update_many(X, y, y)
    with pytest.raises(MillstreamError, match="100 rows, 5 truths and 100 predictions"):
        monitor.update_many(X, y[:5], y)
    assert monitor.to_bytes() == before


class Choosy(base.Classifier):
    """Refuses to learn a row with a large "a"."""

    def __init__(self) -> None:
        self.seen = 0

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        if x["a"] > 5.0:
            raise ValueError("too much")
        self.seen += 1

    def predict_proba_one(self, x: Any) -> Any:
        return {0: 1.0}


@pytest.mark.parametrize(
    ("make", "x", "y", "w"),
    [
        (Choosy, {"a": 9.0}, 1, 1.0),
        (naive_bayes.GaussianNB, {"a": 1.0}, 1, -1.0),
        (naive_bayes.GaussianNB, {"a": 1.0}, None, 1.0),
        (naive_bayes.GaussianNB, {"a": 1e308}, 0, 1.0),
    ],
)
def test_what_a_model_does_not_learn_was_not_seen(make: Any, x: Any, y: Any, w: float) -> None:
    model, monitor = make(), drift.Monitor([drift.ADWIN(), drift.KSTest()])
    both = monitor.beside(model)
    both.learn_many([{"a": 1.0}, {"a": -1.0}] * 50, [0, 1] * 50)
    before = monitor.to_bytes()
    with pytest.raises(ValueError if y is not None else TypeError):
        both.learn_one(x, y, w)
    assert monitor.to_bytes() == before
    # A batch is taken back in place, so that the monitor and the model are those that were given.
    with pytest.raises(ValueError if y is not None else TypeError):
        both.learn_many([{"a": 1.0}, x], [0, y], [1.0, w])
    assert both.monitor is monitor
    assert both.model is model
    assert monitor.to_bytes() == before
    both.learn_one({"a": 1.0}, 0)
    assert (monitor.rows, monitor.detectors["ADWIN"].updates) == (101, 101 - (make is not Choosy))


def test_events_of_what_was_not_learned_are_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millstream.drift.monitor._MOST_EVENTS", 3)
    model, monitor = Choosy(), drift.Monitor([Always(), Always()])
    for _ in range(3):
        monitor.step_one(model, {"a": 1.0}, 0)
    before, events = pickle.dumps(monitor.events), monitor.events
    with pytest.raises(ValueError, match="too much"):
        monitor.step_one(model, {"a": 9.0}, 0)
    assert pickle.dumps(monitor.events) == before
    assert monitor.events is events
    assert (monitor.event_count, monitor.rows, monitor.drift_detected) == (6, 3, True)


def test_an_unanswered_prediction_is_of_a_row_too() -> None:
    def said(place: int) -> int | None:
        # Nothing known for 300 rows, now and then no answer, and wrong from row 3000 on.
        return None if place < 300 or place % 7 == 0 else int(place < 3000)

    together, apart, many, told = (drift.Monitor([drift.ADWIN()]) for _ in range(4))
    for place in range(3100):
        together.update({"a": 0.0}, 1, said(place))
        apart.update({"a": 0.0})
        told.update({"a": 0.0})
        if said(place) is not None:
            told.update(y_true=1, y_pred=said(place), row=place)
    for place in range(3100):
        apart.update(y_true=1, y_pred=said(place))
    answers = np.array([said(place) for place in range(3100)], dtype=object)
    assert many.update_many(np.zeros((3100, 1)), np.ones(3100, int), answers) == together.events
    (event,) = together.events
    # The detector's indices of errors, converted to rows.
    judged = [place for place in range(3100) if said(place) is not None]
    alone = drift.ADWIN()
    found = next(at for at, place in enumerate(judged) if alone.update(1.0 - said(place)) or alone.drift_detected)
    assert (event.row, event.since) == (judged[found], judged[alone.change_point])
    assert 3000 <= event.row < 3050
    assert abs(event.since - 3000) < 5
    for other in (apart, told):
        assert [(each.row, each.since) for each in other.events] == [(event.row, event.since)]
    assert (together.rows, together.labels, apart.labels) == (3100, 3100, 3100)


def test_rows_without_labels_between_those_with() -> None:
    whole, errors = drift.Monitor(drift.ADWIN()), drift.Monitor(drift.ADWIN())
    for place in range(4000):
        label = 1 if place % 4 == 0 else None
        whole.update({"a": 0.0}, label, int(place < 2000))
        errors.update(y_true=label, y_pred=int(place < 2000))
    (event,) = whole.events
    assert (event.row % 4, event.since) == (0, 2000)
    assert [(each.row, each.since) for each in errors.events] == [(event.row, 2000)]
    assert (whole.rows, whole.labels, errors.labels) == (4000, 1000, 1000)


def test_both_kinds_are_seen_although_the_model_knew_nothing_at_first() -> None:
    random = np.random.default_rng(1)
    monitor = drift.Monitor({"errors": drift.ADWIN(), "rows": drift.KSTest()})
    for place in range(4000):
        x = {"a": float(random.normal(3.0 * (place >= 3000)))}
        monitor.update(x, 1, None if place < 600 else int(place < 3000))
    assert [event.kind for event in monitor.events if event.row >= 3000] == ["real", "both"]


def test_a_detector_that_was_told_before_it_came_here() -> None:
    detector = drift.ADWIN()
    detector.update_many(np.zeros(1000))
    monitor = drift.Monitor(detector)
    for place in range(600):
        monitor.update(float(place >= 500))
    assert detector.updates == 1600
    (event,) = monitor.events
    assert event.since is not None
    assert abs(event.since - 500) < 10


class Improving:
    """The stream of a model whose error rate falls from 0.5 to 0.02 at row 1,800; its rows shift at row 2,100."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self.errors = [float(random.random() < (0.5 if row < 1800 else 0.02)) for row in range(4000)]
        self.rows = [{"a": float(random.normal(3.0 * (row >= 2100)))} for row in range(4000)]

    def watched(self, monitor: drift.Monitor, until: int = 4000) -> drift.Monitor:
        for row in range(monitor.rows, until):
            monitor.update(self.rows[row], 0, int(self.errors[row]))
        return monitor


@pytest.mark.parametrize("first", ["errors", "rows"])
def test_falling_errors_are_an_improvement_and_not_drift(first: str) -> None:
    detectors = {"errors": drift.ADWIN(), "rows": drift.KSTest()}
    monitor = drift.Monitor({name: detectors[name] for name in sorted(detectors, reverse=first == "rows")})
    told = []
    stream = Improving()
    for row, x in enumerate(stream.rows):
        found = monitor.update(x, 0, int(stream.errors[row]))
        assert monitor.drift_detected == bool(found)
        told += found
    assert [(event.kind, event.direction, event.detector) for event in told] == [("virtual", None, "rows")]
    assert monitor.events == told
    assert 2100 <= told[0].row < 2200
    assert monitor.event_count == 1
    (better,) = monitor.improvements
    assert (better.kind, better.direction, better.detector) == ("improvement", "down", "errors")
    assert 1800 <= better.row < 1900
    assert monitor.improvement_count == 1
    assert list(monitor.to_frame().kind) == ["virtual"]
    assert "1 events, 1 improvements" in repr(monitor)
    assert monitor.clone().improvements == []


def test_real_drift_after_an_improvement_is_not_both() -> None:
    monitor = drift.Monitor({"errors": drift.ADWIN(), "rows": drift.KSTest()})
    stream = Improving()
    stream.errors[3000:] = [1.0] * 1000
    stream.watched(monitor)
    assert [event.kind for event in monitor.events] == ["virtual", "real"]
    assert monitor.events[1].direction == "up"


def test_a_warning_that_errors_fall_is_not_a_warning_of_drift() -> None:
    monitor, alone = drift.Monitor(drift.ADWIN()), drift.ADWIN()
    random, warned = np.random.default_rng(0), 0
    # A slow fall, so that a warning comes first.
    for error in (random.random(4000) < np.linspace(0.5, 0.1, 4000)).astype(float).tolist():
        monitor.update(error)
        alone.update(error)
        down = alone.warning_detected and alone.direction == "down"
        warned += down
        assert monitor.warning_detected == (alone.warning_detected and not down)
    assert warned


def test_improvements_are_saved_and_taken_back(tmp_path: Path) -> None:
    stream = Improving()
    monitor = stream.watched(drift.Monitor({"errors": drift.ADWIN(), "rows": drift.KSTest()}))
    part = stream.watched(monitor.clone(), 2000)
    assert part.improvement_count == 1
    part.save(tmp_path / "monitor")
    other = stream.watched(drift.Monitor.load(tmp_path / "monitor"))
    assert other.to_bytes() == stream.watched(pickle.loads(pickle.dumps(part))).to_bytes() == monitor.to_bytes()
    with pytest.raises(MillstreamError, match="not a saved monitor"):
        drift.Monitor.from_bytes(sealed(state(part).replace(b'"improvement_count": 1', b'"improvement_count": 0')))
    refused = drift.Monitor({"errors": drift.ADWIN()})
    model = Choosy()
    for error in stream.errors:
        before = pickle.dumps((refused.improvements, refused.improvement_count))
        with pytest.raises(ValueError, match="too much"):
            refused.step_one(model, {"a": 9.0}, int(error))
        assert pickle.dumps((refused.improvements, refused.improvement_count)) == before
        refused.step_one(model, {"a": 1.0}, int(error))
    assert refused.improvement_count == 1


def test_states_from_before_improvements_were_kept_apart() -> None:
    stream = Improving()
    monitor = stream.watched(drift.Monitor({"errors": drift.ADWIN(), "rows": drift.KSTest()}), 1900)
    old = json.loads(state(monitor))
    events = [{**event, "kind": "real", "features": ()} for event in old.pop("improvements")]
    del old["improvement_count"]
    old |= {"events": events, "event_count": len(events), "last": {"real": events[-1]["row"]}}
    pickled = dict(monitor.__dict__)
    for name in ("improvements", "improvement_count"):
        del pickled[name]
    pickled |= {
        "events": [drift.Event(**event) for event in events],
        "event_count": len(events),
        "_last": {"real": events[-1]["row"]},
    }
    revived = drift.Monitor.__new__(drift.Monitor)
    revived.__setstate__(pickled)
    for other in (drift.Monitor.from_bytes(sealed(json.dumps(old).encode())), revived):
        assert other.improvements == monitor.improvements
        stream.watched(other)
        assert [event.kind for event in other.events] == ["virtual"]


@pytest.mark.parametrize("own", [False, True])
def test_an_evaluation_does_not_mark_falling_errors(own: bool) -> None:
    errors = Improving().errors

    class Half(base.Classifier):
        """Wrong in half of the first 1,800 rows, and later hardly ever."""

        def __init__(self) -> None:
            # The errors are no attribute, because a copy is kept of all attributes at each row.
            self.place = 0

        def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
            self.place += 1

        def predict_proba_one(self, x: Any) -> Any:
            return {int(errors[self.place]): 1.0}

    class Wrapped:
        """A detector of the user's own."""

        def __init__(self) -> None:
            self.inner = drift.ADWIN()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.__dict__["inner"], name)

        def clone(self) -> Any:
            return Wrapped()

    rows = [({"a": 0.0}, 0)] * 4000
    result = evaluate.prequential(Half(), rows, metrics="Accuracy", detector=Wrapped() if own else drift.ADWIN())
    assert result.drifts == []
    monitor = drift.Monitor(drift.ADWIN())
    assert evaluate.prequential(monitor.beside(Half()), rows, metrics="Accuracy").drifts == []
    assert monitor.improvement_count == 1


@pytest.mark.parametrize("row", [-5, 10, 10**9, 1.5, True, "3"])
def test_a_row_that_was_not_seen_is_refused(row: Any) -> None:
    monitor = drift.Monitor([drift.ADWIN(), drift.KSTest()])
    for _ in range(10):
        monitor.update({"a": 1.0})
    before = monitor.to_bytes()
    with pytest.raises(MillstreamError, match=r"^drift.Monitor: row must be [^\n]*$"):
        monitor.update(y_true=1, y_pred=0, row=row)
    assert monitor.to_bytes() == before
    monitor.update(y_true=1, y_pred=0, row=np.int64(9))
    # From errors alone the number of rows is unknown.
    errors = drift.Monitor(drift.ADWIN())
    with pytest.raises(MillstreamError, match="row must be counted from 0, got -5"):
        errors.update(y_true=1, y_pred=0, row=-5)
    errors.update(y_true=1, y_pred=0, row=1000)


def test_a_number_is_for_detectors_of_errors() -> None:
    monitor = drift.Monitor([drift.KSTest()])
    before = monitor.to_bytes()
    with pytest.raises(MillstreamError, match="row of features, as KSTest is for rows, got the number 1.0"):
        monitor.update(1.0)
    with pytest.raises(MillstreamError, match="x must be a row of features"):
        drift.Monitor(drift.ADWIN()).update(object())
    assert monitor.to_bytes() == before


def test_states_from_before_unanswered_rows_were_counted() -> None:
    monitor = drift.Monitor(drift.ADWIN())
    for error in [0.0] * 500:
        monitor.update(error)
    old = json.loads(state(monitor))
    del old["places"]
    pickled = monitor.__reduce_ex__(4)[2]
    assert isinstance(pickled, dict)
    revived = drift.Monitor.__new__(drift.Monitor)
    revived.__setstate__({name: value for name, value in pickled.items() if name != "_places"})
    for other in (drift.Monitor.from_bytes(sealed(json.dumps(old).encode())), revived):
        for _ in range(100):
            other.update(1.0)
        assert [event.since for event in other.events] == [500]
    for bad in ({"next": -1}, {"judged": 501}, {"runs": []}, {"runs": [[0, -1]]}, {"runs": [[5, 5], [0, 0]]}):
        places = {"next": 500, "judged": 500, "runs": [[0, 0]], **bad}
        with pytest.raises(MillstreamError, match="not a saved monitor"):
            drift.Monitor.from_bytes(sealed(json.dumps({**old, "places": places}).encode()))


def test_the_rows_of_errors_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millstream.drift.row_counter._MOST_RUNS", 3)
    places = RowCounter()
    for row in (0, 1, 10, 20, 21, 30):
        places.judge(row)
    assert [places.row_of(error) for error in range(2, 6)] == [10, 20, 21, 30]
    assert places.row_of(0) == 8
    before, mark = places.to_data(), places.mark()
    before["runs"] = list(before["runs"])
    places.judge(50)
    places.next = 51
    places.go_back(mark)
    assert places.to_data() == before


def test_a_number_that_no_float_holds_is_refused_in_one_line() -> None:
    monitor = drift.Monitor([drift.ADWIN()])
    with pytest.raises(MillstreamError, match="^drift.Monitor: x must fit in a float, got 1000"):
        monitor.update(10**400)
    assert (monitor.labels, monitor.detectors["ADWIN"].width) == (0, 0)
