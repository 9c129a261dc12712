"""The live join: each label ends in one fate, and the state is a fold over the log."""

from __future__ import annotations

import itertools
import json

import pytest

from millstream import base, linear_model, preprocessing
from millstream.serve.clock import Clock
from millstream.serve.engine import Engine
from millstream.serve.fates import Fate
from millstream.serve.proposal import Proposal
from millstream.serve.records import Kind

DAY = 86_400_000


class Hands:
    """A clock that a test moves."""

    def __init__(self):
        self.seconds = 1_000_000.0

    def clock(self, not_before):
        return Clock(not_before, wall=lambda: 1_600_000_000.0, monotonic=lambda: self.seconds)


class Door:
    """An engine with one model, used as the HTTP interface uses it."""

    def __init__(self, data, model=None, **settings):
        self.hands = settings.pop("hands", None) or Hands()
        model = linear_model.LinearRegression() if model is None else model
        self.engine = Engine(data, {"m": model}, clock=self.hands.clock, **settings)
        self.engine.start()

    @property
    def stream(self):
        return self.engine.state.by_name["m"]

    @property
    def served(self):
        return self.engine.state.models["m"]

    def predict(self, id, x):
        y = self.served.predict(x).y
        body = json.dumps({"x": x, "y": y})
        return self.engine.committer.ask(Proposal(Kind.EVENT, self.stream, id, body, parsed=x))

    def label(self, id, y, **more):
        return self.engine.committer.ask(Proposal(Kind.LABEL, self.stream, id, "", parsed={"y": y, **more}))

    def labels(self, items):
        return self.engine.committer.ask(Proposal(Kind.LABELS, self.stream, None, "", parsed=items))

    def tick(self, seconds):
        self.hands.seconds += seconds
        self.engine.committer.ask(Proposal(Kind.TICK, None, None, ""))

    def bytes(self):
        return self.served.model.to_bytes()

    def close(self):
        self.engine.stop()


@pytest.fixture
def door(tmp_path):
    door = Door(tmp_path / "data")
    yield door
    door.close()


def test_a_label_is_learned_once_with_the_features_as_served(door):
    door.predict("a", {"v": 2.0})
    outcome = door.label("a", 3.0)
    assert outcome.fate is Fate.LEARNED
    alone = linear_model.LinearRegression()
    alone.learn_one({"v": 2.0}, 3.0)
    assert door.bytes() == alone.to_bytes()
    assert door.label("a", 3.0).fate is Fate.DUPLICATE
    assert door.label("a", 4.0).fate is Fate.CONFLICT
    assert door.label("b", 4.0).fate is Fate.UNKNOWN
    assert door.bytes() == alone.to_bytes()


def test_fates_add_up_to_the_received_labels(door):
    for number in range(20):
        door.predict(f"e{number}", {"v": float(number)})
    for number in range(30):
        door.label(f"e{number}", float(number))
    for _ in range(3):
        door.label("e1", 1.0)
    door.label("e2", 99.0)
    door.label("e3", "text")
    door.labels([{"id": "e4", "y": 4.0}, {"id": "none", "y": 1.0}])
    status = door.stream.status()
    assert status["received"] == 30 + 3 + 1 + 1 + 2
    assert sum(status["fates"].values()) == status["received"]
    assert status["fates"]["learned"] == 20
    assert status["fates"]["unknown"] == 11


def test_the_prediction_as_served_is_scored_not_a_new_one(door):
    door.predict("a", {"v": 1.0})
    door.predict("b", {"v": 1.0})
    first = door.served.predict({"v": 1.0}).y
    door.label("a", 10.0)
    assert door.served.predict({"v": 1.0}).y != first
    door.label("b", 10.0)
    assert door.served.figures()["MAE"] == pytest.approx(abs(10.0 - first))


def test_an_unlearnable_label_is_quarantined_and_changes_nothing(door):
    door.predict("a", {"v": 1.0})
    before = door.bytes()
    outcome = door.label("a", "yes")
    assert outcome.fate is Fate.QUARANTINED
    assert "must be a number" in outcome.reason
    assert door.bytes() == before
    assert door.stream.quarantine[-1]["id"] == "a"
    # The event still waits for a label that can be learned.
    assert door.label("a", 2.0).fate is Fate.LEARNED


def test_a_label_of_an_unknown_event_is_learned_with_its_features_and_not_scored(door):
    assert door.label("lost", 2.0, x={"v": 1.0}).fate is Fate.LEARNED
    assert door.served.learned == 1
    assert door.served.scored == 0
    assert door.label("lost", 2.0, x={"v": 1.0}).fate is Fate.DUPLICATE


def test_an_early_label_waits_for_its_event(tmp_path):
    door = Door(tmp_path, policy={"early_window": "1h"})
    assert door.label("a", 2.0).fate is Fate.PARKED
    assert door.label("a", 2.0).fate is Fate.DUPLICATE
    assert door.label("a", 3.0).fate is Fate.CONFLICT
    assert door.served.learned == 0
    door.predict("a", {"v": 1.0})
    assert door.served.learned == 1
    door.label("never", 1.0)
    door.tick(3601)
    status = door.stream.status()
    assert status["fates"]["expired"] == 1
    assert status["fates"]["parked"] == 0
    door.close()


@pytest.mark.parametrize(
    ("late", "fate"), [("drop", Fate.LATE), ("learn", Fate.LATE), ("dead_letter", Fate.DEAD_LETTER)]
)
def test_a_label_after_the_default_label_follows_the_policy_but_is_not_learned(tmp_path, late, fate):
    door = Door(tmp_path / "data", policy={"window": 60, "default_label": 1.0, "late": late})
    door.predict("a", {"v": 2.0})
    door.tick(61)
    before = door.bytes()
    assert door.served.learned == 1
    assert door.label("a", 3.0).fate is fate
    assert door.bytes() == before
    assert [each["y"] for each in door.stream.quarantine] == ([3.0] if fate is Fate.DEAD_LETTER else [])
    assert door.stream.status()["fates"][fate.word] == door.stream.received == 1
    door.close()


@pytest.mark.parametrize(
    ("late", "fate"), [("drop", Fate.LATE), ("learn", Fate.LEARNED), ("dead_letter", Fate.DEAD_LETTER)]
)
def test_a_label_after_the_window(tmp_path, late, fate):
    door = Door(tmp_path, policy={"window": "1d", "late": late})
    door.predict("a", {"v": 1.0})
    door.tick(86_401)
    assert door.label("a", 2.0).fate is fate
    assert door.served.learned == int(late == "learn")
    door.tick(86_401)
    assert door.label("a", 2.0).fate is Fate.UNKNOWN or late == "learn"
    door.close()


def test_a_window_without_a_label_gets_the_default_label(tmp_path):
    door = Door(tmp_path, policy={"window": 60, "default_label": 0.0})
    door.predict("a", {"v": 1.0})
    door.predict("b", {"v": 1.0})
    door.label("a", 1.0)
    door.tick(61)
    assert door.served.learned == 2
    assert door.stream.status()["default_labels"] == 1
    assert door.label("b", 1.0).fate in (Fate.LATE, Fate.CONFLICT)
    door.close()


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [("last", 4.0), ("sum", 7.0), ("mean", 7 / 3), ("min", 1.0), ("max", 4.0), ("median", 2.0)],
)
def test_labels_are_aggregated_when_the_window_closes(tmp_path, aggregate, expected):
    door = Door(tmp_path, policy={"window": 60, "learn_when": "on_window_close", "aggregate": aggregate})
    door.predict("a", {"v": 1.0})
    for y in (1.0, 2.0, 4.0):
        assert door.label("a", y).fate is Fate.COLLECTED
    assert door.label("a", 2.0).fate is Fate.DUPLICATE
    assert door.served.learned == 0
    door.tick(61)
    alone = linear_model.LinearRegression()
    alone.learn_one({"v": 1.0}, expected)
    assert door.bytes() == alone.to_bytes()
    assert door.stream.status()["fates"]["learned"] == 3
    door.close()


def test_a_bad_item_of_a_batch_does_not_stop_the_others(door):
    items = []
    for number in range(100):
        door.predict(f"e{number}", {"v": float(number)})
        items.append({"id": f"e{number}", "y": "bad" if number == 37 else float(number)})
    outcomes = door.labels(items)
    assert [outcome.fate for outcome in outcomes].count(Fate.LEARNED) == 99
    assert outcomes[37].fate is Fate.QUARANTINED


@pytest.mark.slow
def test_every_order_of_five_records_gives_the_specified_result(tmp_path):
    """Two events, their labels and a repetition: what is learned depends on the order of the log alone."""
    actions = ("predict a", "predict b", "label a 1", "label b 2", "label a 1")
    for number, order in enumerate(itertools.permutations(range(5))):
        door = Door(tmp_path / str(number))
        known, learned = set(), []
        for index in order:
            verb, id, *rest = actions[index].split()
            if verb == "predict":
                if id not in known:
                    door.predict(id, {"v": float(ord(id))})
                    known.add(id)
                continue
            fate = door.label(id, float(rest[0])).fate
            if id not in known:
                assert fate is Fate.UNKNOWN
            elif id in learned:
                assert fate is Fate.DUPLICATE
            else:
                assert fate is Fate.LEARNED
                learned.append(id)
        alone = linear_model.LinearRegression()
        for id in learned:
            alone.learn_one({"v": float(ord(id))}, {"a": 1.0, "b": 2.0}[id])
        assert door.bytes() == alone.to_bytes()
        door.close()


def test_a_restart_continues_bit_for_bit(tmp_path):
    door = Door(tmp_path / "one", preprocessing.StandardScaler() | linear_model.LinearRegression())
    hands = door.hands
    for number in range(200):
        door.predict(f"e{number}", {"v": float(number % 7), "w": float(number % 3)})
        if number % 2:
            door.label(f"e{number - 1}", float(number % 5))
        if number in (50, 120):
            if number == 50:
                door.close()
            else:
                # As after a kill: no last snapshot.
                door.engine.committer.stop()
                door.engine.store.close()
                door.engine.folder.close()
            door = Door(tmp_path / "one", hands=hands)
    expected = preprocessing.StandardScaler() | linear_model.LinearRegression()
    for number in range(1, 200, 2):
        expected.learn_one({"v": float((number - 1) % 7), "w": float((number - 1) % 3)}, float(number % 5))
    assert door.bytes() == expected.to_bytes()
    header, blobs = door.engine.state.snapshot()
    door.close()
    replayed = Engine(tmp_path / "one", read_only=True, from_start=True)
    again, others = replayed.state.snapshot()
    assert json.loads(json.dumps(again)) == json.loads(json.dumps(header))
    assert others == blobs
    replayed.stop()


def test_the_wall_clock_has_no_effect(tmp_path):
    """The clock goes back a day and on ten years between records: the model is the same."""
    states = []
    for number, steps in enumerate([(0, 0, 0), (-86400, 0, 86400), (3.2e8, -3.2e8, 0)]):
        wall = [1_600_000_000.0]
        engine = Engine(
            tmp_path / str(number),
            {"m": linear_model.LinearRegression()},
            clock=lambda last, wall=wall: Clock(last, wall=lambda: wall[0], monotonic=lambda: 5.0),
        )
        engine.start()
        door = Door.__new__(Door)
        door.engine, door.hands = engine, None
        for index, step in enumerate(steps):
            wall[0] += step
            door.predict(f"e{index}", {"v": float(index)})
            assert door.label(f"e{index}", 1.0).fate is Fate.LEARNED
        states.append(door.bytes())
        engine.stop()
    assert states[0] == states[1] == states[2]


class Faulty(base.Regressor):
    """Counts, and refuses 13."""

    def __init__(self):
        self.n = 0

    def learn_one(self, x, y, w=1.0):
        if y == 13:
            raise RuntimeError("unlucky")
        self.n += 1

    def predict_one(self, x):
        return float(self.n)


def test_a_learner_written_in_python_is_served_and_replayed(tmp_path):
    door = Door(tmp_path, Faulty())
    for number in (1, 2, 13, 4):
        door.predict(f"e{number}", {"v": 1.0})
    assert [door.label(f"e{number}", float(number)).fate.word for number in (1, 2, 13, 4)] == [
        "learned",
        "learned",
        "quarantined",
        "learned",
    ]
    assert "unlucky" in door.stream.quarantine[-1]["reason"]
    door.close()
    door = Door(tmp_path, Faulty())
    assert door.served.model.n == 3
    door.close()


def test_an_anomaly_detector_learns_without_labels_and_is_scored_by_them(tmp_path):
    from millstream import anomaly

    door = Door(tmp_path, anomaly.GaussianScorer() if hasattr(anomaly, "GaussianScorer") else None)
    for number in range(50):
        door.predict(f"e{number}", {"v": float(number % 5)})
    assert door.served.learned == 50
    assert door.label("e1", False).fate is Fate.SCORED
    assert door.label("e2", 3).fate is Fate.QUARANTINED
    door.close()
