"""No label and no learner can stop the log, or leave a folder that cannot be opened."""

from __future__ import annotations

import json

import pytest

from millstream import base, baseline, linear_model, time_series
from millstream.errors import InvalidValue
from millstream.serve.engine import Engine
from millstream.serve.fates import Fate
from millstream.serve.proposal import Proposal
from millstream.serve.records import Kind
from test_serve_labels import Door


def reopened(path, **models):
    engine = Engine(path, models, read_only=True, from_start=True)
    state = engine.state
    engine.stop()
    return state


@pytest.mark.parametrize("aggregate", ["mean", "sum", "median"])
def test_labels_whose_aggregate_overflows_are_quarantined(tmp_path, aggregate):
    door = Door(tmp_path, policy={"window": 60, "learn_when": "on_window_close", "aggregate": aggregate})
    door.predict("a", {"v": 1.0})
    assert door.label("a", 1.7e308).fate is Fate.COLLECTED
    assert door.label("a", 1.6e308).fate is Fate.QUARANTINED
    door.tick(61)
    door.engine.state.snapshot()
    status = door.stream.status()
    assert sum(status["fates"].values()) == status["received"] == 2
    door.close()
    assert reopened(tmp_path).seq == door.engine.state.seq


def test_a_long_label_does_not_fill_the_quarantine(tmp_path):
    door = Door(tmp_path)
    door.predict("a", {"v": 1.0})
    assert door.label("a", "x" * 1_000_000).fate is Fate.QUARANTINED
    assert len(json.dumps(list(door.stream.quarantine))) < 2000
    door.close()


class Words(base.Regressor):
    """Predicts no number."""

    def learn_one(self, x, y, w=1.0):
        x["added"] = 1

    def predict_one(self, x):
        return "n/a"


def route(engine, champion, challengers, **settings):
    body = {
        "op": "route",
        "route": "r",
        "champion": champion,
        "challengers": challengers,
        "policy": {},
        **settings,
    }
    engine.administer(body, stream=engine.state.last_stream + 1)
    return engine.state.by_name["r"]


def ask(engine, stream, id, predictions, y):
    body = json.dumps({"x": {"v": 1.0}, "m": {name: {"y": p} for name, p in predictions.items()}, "s": "a"})
    engine.committer.ask(Proposal(Kind.EVENT, stream, id, body, parsed={"v": 1.0}))
    return engine.committer.ask(Proposal(Kind.LABEL, stream, id, "", parsed={"y": y}))


def test_a_challenger_that_predicts_no_number_is_not_compared(tmp_path):
    models = {"a": baseline.TargetMean(), "b": Words()}
    engine = Engine(tmp_path, models)
    engine.start()
    stream = route(engine, "a", ["b"], promote={"min_labels": 1})
    for number in range(5):
        assert ask(engine, stream, f"e{number}", {"a": 1.0, "b": "n/a"}, 2.0).fate is Fate.LEARNED
    engine.stop()
    assert reopened(tmp_path, **models).models["a"].learned == 5


def test_models_without_the_metric_of_the_rule_are_not_promoted(tmp_path):
    engine = Engine(tmp_path, {"a": baseline.TargetMean()})
    engine.start()
    engine.create("b", baseline.TargetMean(), metrics=["MAE"])
    stream = route(engine, "a", ["b"], promote={"min_labels": 1, "metric": "R2"})
    for number in range(60):
        ask(engine, stream, f"e{number}", {"a": 1.0, "b": 2.0}, 2.0)
    assert engine.state.routes["r"].champion == "a"
    engine.stop()
    assert reopened(tmp_path).routes["r"].labels == 60


class Faulty(base.Regressor):
    """Refuses everything."""

    def learn_one(self, x, y, w=1.0):
        raise RuntimeError("no")

    def predict_one(self, x):
        return 0.0


def test_challengers_do_not_learn_a_label_that_the_champion_refuses(tmp_path):
    engine = Engine(tmp_path, {"a": Faulty(), "b": baseline.TargetMean()})
    engine.start()
    stream = route(engine, "a", ["b"])
    assert ask(engine, stream, "e", {"a": 0.0, "b": 0.0}, 2.0).fate is Fate.QUARANTINED
    for _ in range(3):
        label = Proposal(Kind.LABEL, stream, "e", "", parsed={"y": 2.0})
        assert engine.committer.ask(label).fate is Fate.QUARANTINED
    assert engine.state.models["b"].learned == 0
    engine.stop()


def test_learned_ids_are_bounded_too(tmp_path):
    door = Door(tmp_path, policy={"max_pending": 5})
    for number in range(20):
        body = {"x": {"v": 1.0}, "y": 1.0}
        door.engine.committer.ask(Proposal(Kind.LEARN, door.stream, f"e{number}", json.dumps(body), parsed=body))
    assert len(door.stream.pending) == 5
    assert door.served.learned == 20
    door.close()


def test_collected_labels_of_a_forgotten_event_get_a_fate(tmp_path):
    door = Door(tmp_path, policy={"window": 60, "learn_when": "on_window_close", "aggregate": "last"})
    door.predict("a", {"v": 1.0})
    door.label("a", 1.0)
    door.engine.administer({"op": "forget", "stream": "m", "id": "a"})
    status = door.stream.status()
    assert not door.stream.collected
    assert sum(status["fates"].values()) == status["received"] == 1
    door.close()


def test_one_event_has_a_limited_number_of_labels(tmp_path):
    door = Door(tmp_path, policy={"window": 60, "learn_when": "on_window_close", "aggregate": "last"})
    door.predict("a", {"v": 1.0})
    outcomes = door.labels([{"id": "a", "y": float(number)} for number in range(1100)])
    assert [outcome.fate for outcome in outcomes].count(Fate.COLLECTED) == 1000
    assert outcomes[-1].fate is Fate.CONFLICT
    door.close()


def test_a_rollback_does_not_bring_back_another_model_of_the_same_name(tmp_path):
    door = Door(tmp_path)
    early = door.engine.state.seq
    door.engine.administer({"op": "delete", "model": "m"})
    door.engine.create("m", baseline.Prior())
    operation = {"op": "rollback", "model": "m", "folder_id": door.served.folder_id, "to": early, "exclude": []}
    with pytest.raises(Exception, match="another one had its name"):
        door.engine.administer(operation)
    assert str(door.served.role) == "classifier"
    door.close()


class Changing(base.AnomalyDetector):
    """Changes what it is given."""

    def __init__(self):
        self.seen = []

    def learn_one(self, x, y=None, w=1.0):
        self.seen.append(sorted(x))

    def score_one(self, x):
        x["added"] = 1.0
        return 0.0


def test_a_learner_that_changes_its_features_is_replayed_alike(tmp_path):
    door = Door(tmp_path, Changing())
    door.predict("a", {"v": 1.0})
    assert door.served.model.seen == [["v"]]
    door.close()
    assert reopened(tmp_path, m=Changing()).models["m"].model.seen == [["v"]]


def test_a_forecaster_learns_the_next_value_without_the_horizon(tmp_path):
    door = Door(tmp_path, time_series.HoltWinters(0.3), policy={"window": 60})
    for number in range(12):
        door.predict(f"e{number}", {"horizon": 2})
        assert door.label(f"e{number}", float(number)).fate is Fate.LEARNED
    alone = time_series.HoltWinters(0.3)
    for number in range(12):
        alone.learn_one(float(number))
    assert door.served.predict({"horizon": 3}).y == pytest.approx(alone.forecast(3))
    door.close()


def test_an_unexpected_fault_quarantines_the_label_and_the_log_goes_on(tmp_path, monkeypatch):
    door = Door(tmp_path)
    door.predict("a", {"v": 1.0})
    door.predict("b", {"v": 1.0})
    with monkeypatch.context() as patched:
        patched.setattr(door.engine.state.join, "_join", lambda *_: 1 / 0)
        outcome = door.label("a", 1.0)
    assert outcome.fate is Fate.QUARANTINED
    assert "ZeroDivisionError" in outcome.reason
    assert door.label("b", 1.0).fate is Fate.LEARNED
    door.close()


def test_a_batch_sent_again_reads_its_record_once(tmp_path):
    door = Door(tmp_path, linear_model.LinearRegression())
    items = []
    for number in range(300):
        door.predict(f"e{number}", {"v": 1.0})
        items.append({"id": f"e{number}", "y": float(number)})
    door.labels(items)
    reads = []
    record = door.engine.state.events.record
    door.engine.state.events.record = lambda seq: reads.append(seq) or record(seq)
    again = door.labels(items)
    assert {outcome.fate for outcome in again} == {Fate.DUPLICATE}
    assert len(reads) <= 1
    door.close()


def test_a_folder_with_a_python_learner_needs_the_learner(tmp_path):
    door = Door(tmp_path, Changing())
    door.predict("a", {"v": 1.0})
    door.close()
    with pytest.raises(InvalidValue, match="was written in Python: pass it to"):
        Engine(tmp_path)
