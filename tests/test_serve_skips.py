"""Records that are skipped at a start: nothing is learned from them, in this recovery and in all later ones."""

from __future__ import annotations

import time

import pytest

from millstream import base, linear_model, preprocessing
from millstream.cli import main
from millstream.errors import InvalidState, InvalidType, InvalidValue
from millstream.serve.engine import Engine
from millstream.serve.fates import Fate
from millstream.serve.proposal import Proposal
from millstream.serve.records import Kind
from millstream.serve.replay_watch import ReplayWatch
from millstream.serve.retention import Retention
from millstream.serve.skips import skip_mismatch
from millstream.serve.snapshots import read_header
from serving_process import until
from test_serve_labels import Door

BAD = 13.0


class Hangs(KeyboardInterrupt):
    """A learner does not return; a test cannot wait for that."""


class Trap(base.Regressor):
    """A learner written in Python that does not return from one label if `is_set`."""

    def __init__(self):
        self.learned = []
        self.is_set = False

    def predict_one(self, x):
        return 0.0

    def learn_one(self, x, y, w=1.0):
        if self.is_set and y == BAD:
            raise Hangs
        self.learned.append(y)


def trap():
    model = Trap()
    model.is_set = True
    return model


def native():
    return preprocessing.StandardScaler() | linear_model.LinearRegression()


def teach(door, numbers):
    """Learn labels; returns the record of each."""
    seqs = []
    for number in numbers:
        door.predict(f"e{number}", {"v": float(number % 7)})
        seqs.append(door.label(f"e{number}", float(number)).seq)
    return seqs


def learned(numbers):
    alone = native()
    for number in numbers:
        alone.learn_one({"v": float(number % 7)}, float(number))
    return alone.to_bytes()


def everything(engine):
    """The state without the name of the learner's object."""
    stream = engine.state.by_name["m"]
    return engine.state.models["m"].learned, stream.status(), list(stream.quarantine)


def test_a_label_on_which_a_learner_hangs_is_skipped_once_and_for_all(tmp_path):
    door = Door(tmp_path, Trap())
    seqs = teach(door, [11, 12, 13, 14])
    door.close()
    with pytest.raises(Hangs):
        Door(tmp_path, trap())

    door = Door(tmp_path, trap(), skip_records=[seqs[2]])
    assert door.served.model.learned == [11.0, 12.0, 14.0]
    assert door.stream.quarantine[-1] | {"time": 0} == {
        "id": "e13",
        "seq": seqs[2],
        "time": 0,
        "reason": "skipped at start",
        "y": BAD,
    }
    assert door.stream.status()["fates"]["quarantined"] == 1
    assert f"record {seqs[2]} is skipped: no model learns from it" in door.engine.recovery.notes
    # The client that had no reply sends the label again, and does not stop the server again.
    assert door.label("e13", BAD).fate is Fate.DUPLICATE
    assert door.label("e13", 1.0).fate is Fate.CONFLICT
    teach(door, [15])
    expected = everything(door.engine)
    assert sum(door.stream.status()["fates"].values()) == door.stream.received
    door.close()

    for settings in ({}, {"skip_records": [seqs[2]]}):
        door = Door(tmp_path, trap(), **settings)
        assert door.served.model.learned == [11.0, 12.0, 14.0, 15.0]
        # Repeated labels are not in the log.
        assert everything(door.engine)[::2] == expected[::2]
        last = door.engine.state.seq
        door.close()
    assert last == door.engine.store._bounds.last
    for settings in ({"until": seqs[3]}, {"from_start": True}):
        offline = Engine(tmp_path, {"m": trap()}, read_only=True, **settings)
        assert offline.state.models["m"].model.learned[:3] == [11.0, 12.0, 14.0]
        offline.stop()


def test_the_operation_is_written_once(tmp_path):
    door = Door(tmp_path, native())
    seq = teach(door, range(5))[2]
    door.close()
    for _ in range(3):
        door = Door(tmp_path, native(), skip_records=[seq, seq])
        door.close()
    offline = Engine(tmp_path, read_only=True)
    written = [record.body for record in offline.store.read() if record.kind == Kind.ADMIN]
    offline.stop()
    assert written[1:] == [f'{{"op":"skip","record":{seq}}}']


def test_the_other_labels_of_a_native_model_are_learned(tmp_path):
    """The labels before and after the skipped ones are replayed natively, many in one call."""
    door = Door(tmp_path, native())
    seqs = teach(door, range(200))
    door.close()
    for file in (tmp_path / "snapshots").iterdir():
        file.unlink()
    door = Door(tmp_path, native(), skip_records=[seqs[0], seqs[50], seqs[51], seqs[199]])
    assert door.bytes() == learned([n for n in range(200) if n not in (0, 50, 51, 199)])
    assert door.stream.status()["fates"]["learned"] == 196
    door.close()


def by_label(door):
    door.predict("e", {"v": 1.0})
    return door.label("e", BAD).seq


def by_batch(door):
    door.predict("e", {"v": 1.0})
    return door.labels([{"id": "e", "y": BAD}])[0].seq


def by_label_with_features(door):
    return door.label("e", BAD, x={"v": 1.0}).seq


def by_example(door):
    body = '{"x":{"v":1.0},"y":13.0}'
    return door.engine.committer.ask(Proposal(Kind.LEARN, door.stream, None, body)).seq


def by_example_with_id(door):
    body = '{"x":{"v":1.0},"y":13.0}'
    return door.engine.committer.ask(Proposal(Kind.LEARN, door.stream, "e", body)).seq


def by_late_event(door):
    assert door.label("e", BAD).fate is Fate.PARKED
    return door.predict("e", {"v": 1.0})


def by_parked_label(door):
    seq = door.label("e", BAD).seq
    door.predict("e", {"v": 1.0})
    return seq


def by_window(door):
    door.predict("e", {"v": 1.0})
    assert door.label("e", BAD).fate is Fate.COLLECTED
    door.tick(3600)
    return door.engine.state.seq


def by_collected_label(door):
    door.predict("e", {"v": 1.0})
    seq = door.label("e", BAD).seq
    door.tick(3600)
    return seq


def by_default_label(door):
    door.predict("e", {"v": 1.0})
    door.tick(90)
    return door.engine.state.seq


EARLY = {"early_window": "1h"}
ON_CLOSE = {"window": 60, "learn_when": "on_window_close"}


@pytest.mark.parametrize("model", [Trap, native])
@pytest.mark.parametrize(
    ("send", "policy"),
    [
        (by_label, {}),
        (by_batch, {}),
        (by_label_with_features, {}),
        (by_example, {}),
        (by_example_with_id, {}),
        (by_late_event, EARLY),
        (by_parked_label, EARLY),
        (by_window, ON_CLOSE),
        (by_collected_label, ON_CLOSE),
        (by_default_label, {"window": 60, "default_label": BAD}),
    ],
)
def test_whatever_a_record_teaches_is_skipped(tmp_path, model, send, policy):
    door = Door(tmp_path, model(), policy=policy)
    seq = send(door)
    assert door.served.learned == 1
    hands = door.hands
    door.close()
    given = trap() if model is Trap else native()
    door = Door(tmp_path, given, hands=hands, skip_records=[seq])
    assert door.served.learned == 0
    assert [each["reason"] for each in door.stream.quarantine] == ["skipped at start"]
    assert sum(door.stream.status()["fates"].values()) == door.stream.received
    if model is native:
        assert door.bytes() == native().to_bytes()
    if door.stream.policy.learn_when == "on_label" and send not in (by_example, by_parked_label):
        # The same label again is not learned.
        assert door.label("e", BAD, x={"v": 1.0}).fate in (Fate.DUPLICATE, Fate.LATE)
    door.close()
    given = trap() if model is Trap else native()
    door = Door(tmp_path, given, hands=hands)
    assert door.served.learned == 0
    door.close()


class Detector(base.AnomalyDetector):
    """An anomaly detector that learns events when they arrive."""

    def __init__(self):
        self.learned = []

    def score_one(self, x):
        return 0.0

    def learn_one(self, x):
        self.learned.append(x["v"])


def test_an_event_of_a_model_without_labels_is_skipped(tmp_path):
    door = Door(tmp_path, Detector())
    seqs = [door.predict(f"e{number}", {"v": float(number)}) for number in range(3)]
    door.close()
    door = Door(tmp_path, Detector(), skip_records=[seqs[1]])
    assert door.served.model.learned == [0.0, 2.0]
    assert door.stream.pending.find("e1") is not None
    assert door.stream.quarantine[-1]["reason"] == "skipped at start"
    door.close()


def rollback(door, **body):
    operation = {"op": "rollback", "model": "m", "folder_id": door.served.folder_id, "exclude": [], **body}
    outcome = door.engine.administer(operation)
    assert not isinstance(outcome, BaseException), outcome
    return outcome


def test_saved_states_that_contain_the_record_are_not_used(tmp_path):
    door = Door(tmp_path, native())
    seqs = teach(door, range(10))
    version = door.engine.administer({"op": "version", "model": "m", "version": "v1"})
    teach(door, range(10, 20))
    undone = rollback(door, to=door.engine.state.seq, exclude=["e15"])
    door.close()
    assert list((tmp_path / "snapshots").glob("*.snapshot"))

    rest = [n for n in range(20) if n not in (3, 15)]
    door = Door(tmp_path, native(), skip_records=[seqs[3]])
    assert any(f"it contains record {seqs[3]}, which is skipped" in note for note in door.engine.recovery.notes)
    assert door.bytes() == learned(rest)
    for seq in (version, undone):
        # Later recoveries use them, also after older records are trimmed.
        assert read_header(door.engine.kept.path(door.served.folder_id, seq))["skipped"] == [seqs[3]]
        assert door.engine.kept.fault(door.served.folder_id, seq) is None
    teach(door, [20])
    door.close()
    # The states that were saved since then leave the record out.
    door = Door(tmp_path, native())
    assert door.engine.recovery.snapshot_seq == door.engine.state.seq
    assert door.engine.recovery.notes == []
    assert door.bytes() == learned([*rest, 20])
    rollback(door, to=version)
    assert door.bytes() == learned([n for n in range(10) if n != 3])
    rollback(door, to=door.engine.state.seq, exclude=["e5"])
    assert door.bytes() == learned([n for n in range(10) if n not in (3, 5)])
    expected = door.bytes()
    door.close()
    offline = Engine(tmp_path, read_only=True, from_start=True)
    assert offline.state.models["m"].model.to_bytes() == expected
    offline.stop()


def test_a_record_that_only_saved_states_contain_cannot_be_skipped_and_nothing_changes(tmp_path):
    door = Door(tmp_path, native(), policy={"window": 1})
    seqs = teach(door, range(10))
    door.tick(3600)
    teach(door, range(10, 20))
    expected = door.bytes()
    door.close()
    door = Door(tmp_path, native(), retention=Retention(age=60))
    door.engine.store.trim(seqs[4])
    hands = door.hands
    door.close()
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.snapshot")}
    with pytest.raises(InvalidValue, match=rf"records 1 to {seqs[4] - 1} are needed, and were trimmed"):
        Door(tmp_path, native(), hands=hands, skip_records=[seqs[6]])
    assert before == {file: file.read_bytes() for file in tmp_path.rglob("*.snapshot")}
    # A record that is gone is no reason to stop a server whose start command still names it.
    door = Door(tmp_path, native(), hands=hands, skip_records=[seqs[0]])
    assert door.bytes() == expected
    assert any(note.startswith(f"record {seqs[0]} is not skipped") for note in door.engine.recovery.notes)
    door.close()


def test_a_recovery_that_fails_leaves_saved_states_as_they_are(tmp_path):
    """The version could be computed without the record, but the state of the rollback could not."""
    door = Door(tmp_path, native(), policy={"window": 1})
    teach(door, range(10))
    door.engine._take_snapshot(door.engine.state)
    old = door.engine.state.seq
    seqs = teach(door, range(10, 15))
    version = door.engine.administer({"op": "version", "model": "m", "version": "v1"})
    rollback(door, to=door.engine.state.seq, exclude=["e0"])
    door.tick(3600)
    door.engine.store.trim(old)
    expected, hands, folder_id = door.bytes(), door.hands, door.served.folder_id
    door.close()
    for file in (tmp_path / "snapshots").glob("*.snapshot"):
        if file.name != f"{old}.snapshot":
            file.unlink()
    saved = tmp_path / "versions" / folder_id / f"{version}.snapshot"
    before = saved.read_bytes()
    with pytest.raises(InvalidState, match=f"it contains record {seqs[2]}, which is skipped"):
        Door(tmp_path, native(), hands=hands, skip_records=[seqs[2]])
    assert saved.read_bytes() == before
    door = Door(tmp_path, native(), hands=hands)
    assert door.bytes() == expected
    door.close()


@pytest.mark.parametrize("seq", [0, -1, 999])
def test_a_record_that_does_not_exist_is_refused(tmp_path, seq):
    door = Door(tmp_path)
    teach(door, range(2))
    door.close()
    with pytest.raises(InvalidValue, match="skip_records: the log has no record"):
        Engine(tmp_path, skip_records=[seq])


class Store:
    first_seq = 10


@pytest.mark.parametrize(
    ("header", "skipped", "expected"),
    [
        ({}, (), None),
        ({}, (30,), None),
        ({}, (15,), "it contains record 15, which is skipped"),
        ({"skipped": [15]}, (15, 30), None),
        ({"skipped": [12]}, (), "it leaves out record 12, which is not skipped"),
        # The operation was trimmed with the record.
        ({"skipped": [5]}, (), None),
        ({"skipped": "x"}, (15,), "it contains record 15, which is skipped"),
        ({"skipped": [[1], 15]}, (15,), None),
    ],
)
def test_which_saved_states_are_used(header, skipped, expected):
    assert skip_mismatch(Store, 20, header, skipped) == expected


def test_replay_without_a_record_changes_nothing(tmp_path, capsys):
    data, file = tmp_path / "data", tmp_path / "m.ms"
    door = Door(data, native())
    seqs = teach(door, range(10))
    door.close()
    before = Engine(data, read_only=True).store.last_seq
    words = ["replay", str(data), "--model", "m", "--save", str(file)]
    assert main([*words, "--skip-record", str(seqs[4]), "--skip-record", str(seqs[7])]) == 0
    assert file.read_bytes() == learned([n for n in range(10) if n not in (4, 7)])
    assert main(words) == 0
    assert file.read_bytes() == learned(range(10))
    assert Engine(data, read_only=True).store.last_seq == before
    assert main([*words, "--skip-record", "999"]) == 1
    assert "the log has no record 999" in capsys.readouterr().err


class Served:
    is_native = False


class Replayed:
    def __init__(self, seq):
        self.seq, self.models = seq, {"m": Served()}


def test_the_record_on_which_a_replay_hangs_is_named_once():
    said = []
    watch = ReplayWatch(0.05, said.append)
    outer, inner = Replayed(100), Replayed(7)
    with watch.watching(outer):
        assert until(lambda: said, 10)
        assert "replaying record 100 has taken" in said[0]
        assert "skip_records=[100] (--skip-record 100)" in said[0]
        # A rollback replays the log into another state.
        with watch.watching(inner):
            assert until(lambda: len(said) > 1, 10)
            assert "skip_records=[7] (--skip-record 7)" in said[1]
            time.sleep(0.3)
            assert len(said) == 2


def test_a_replay_that_goes_on_and_native_models_are_not_reported():
    said = []
    watch = ReplayWatch(0.2, said.append)
    state = Replayed(1)
    with watch.watching(state):
        for _ in range(60):
            time.sleep(0.01)
            state.seq += 1
    state.models["m"].is_native = True
    with watch.watching(state):
        time.sleep(0.6)
    assert said == []


@pytest.mark.parametrize("given", [5, "3", ["1"], [True], [1.0], [None]])
def test_numbers_of_records_are_integers(tmp_path, given):
    Door(tmp_path, native()).close()
    with pytest.raises(InvalidType, match="skip_records must be a list of integers"):
        Engine(tmp_path, skip_records=given)
