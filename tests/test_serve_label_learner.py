"""Labels that are learned natively: state and outcomes are those of the Python path, bit for bit."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from millstream import _core, ensemble, linear_model, metrics, naive_bayes, preprocessing, tree
from millstream.errors import MillstreamError
from millstream.serve.engine import Engine
from millstream.serve.names import new_ids
from millstream.serve.policy import LabelPolicy
from millstream.serve.proposal import Proposal
from millstream.serve.records import Draft, Kind
from millstream.serve.served_model import ServedModel
from millstream.serve.store import EventStore

_START = 1_800_000_000_000
MODELS: dict[str, Any] = {
    "logistic": lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    "bayes": naive_bayes.GaussianNB,
    "tree": tree.HoeffdingTreeClassifier,
    "linear": lambda: preprocessing.StandardScaler() | linear_model.LinearRegression(),
    "words": lambda: preprocessing.StandardScaler() | linear_model.SoftmaxRegression(),
    "codes": naive_bayes.GaussianNB,
}


#: The labels of a model, if they are not bools.
KINDS = {"linear": "float", "words": "str", "codes": "int"}


class Log:
    """Random records as a server writes them: mostly common ones, and all unusual ones."""

    def __init__(self, seed: int, kind: str) -> None:
        self.random, self.kind = random.Random(seed), kind
        self.time = _START
        self.count = 0
        self.ids: list[str] = []
        self.drafts: list[Draft] = []

    def draft(self, kind: Kind, id: str | None, body: Any) -> None:
        text = body if isinstance(body, (str, bytes)) else json.dumps(body, separators=(",", ":"))
        self.drafts.append(Draft(kind, self.time, 1, id, text))

    def new_id(self) -> str:
        self.count += 1
        id = f"e{self.count}" if self.count % 3 else new_ids(_START + self.count, 1).first
        self.ids.append(id)
        return id

    def x(self) -> dict[str, Any]:
        draw = self.random
        x: dict[str, Any] = {"a": draw.gauss(0, 1), "b": round(draw.gauss(0, 1), 3)}
        if draw.random() < 0.05:
            x |= draw.choice([{"new": 1}, {"a": None}, {"b": 7}, {"text": "t"}, {"flag": True}, {"a": 10**25}])
        return x

    def y(self) -> Any:
        draw = self.random
        if self.kind == "float":
            return draw.choice([draw.gauss(0, 1), draw.gauss(0, 1), 3, -2, 0.5])
        if self.kind == "str":
            return draw.choice(["red", "green", "blue", "é"])
        if self.kind == "int":
            # True and 1 are the same class.
            return draw.choice([0, 1, 2, True, 0, 1])
        return draw.random() < 0.7

    def label(self) -> dict[str, Any]:
        draw, chance = self.random, self.random.random()
        if chance < 0.9:
            return {"y": self.y()}
        if chance < 0.93:
            return {"y": self.y(), "w": draw.choice([0.0, 0.5, 2.0])}
        if chance < 0.95:
            return {"y": self.y(), "ts": _START}
        if chance < 0.97:
            return {"y": self.y(), "x": self.x()}
        return {"y": draw.choice([None, "late", 1, 0, 2.5, 10**30, 1e300])}

    def labelled(self) -> str:
        near = self.ids[-50:] if self.random.random() < 0.9 else self.ids
        return self.random.choice([*near, "unknown"]) if near else "unknown"

    def add(self) -> None:
        draw, chance = self.random, self.random.random()
        if draw.random() < 0.2:
            self.time += draw.choice([1, 1, 1, 1000, 30_000])
        served = draw.choice([self.y(), self.y(), None] if draw.random() < 0.2 else [self.y()])
        if chance < 0.4:
            body: dict[str, Any] = {"x": self.x(), "y": served}
            unusual = draw.random()
            if unusual < 0.03:
                body["ts"] = _START
            elif unusual < 0.06:
                body["d"] = True
            id = draw.choice(self.ids) if self.ids and unusual > 0.98 else self.new_id()
            self.draft(Kind.EVENT, id, body)
        elif chance < 0.85:
            self.draft(Kind.LABEL, self.labelled(), self.label())
        elif chance < 0.9:
            count = draw.randint(1, 5)
            ids = new_ids(_START + len(self.drafts), count)
            self.ids += ids.texts()
            rows = [{"x": self.x()} for _ in range(count)]
            ys = [self.y() if draw.random() < 0.9 else {"y": self.y(), "ts": 5} for _ in range(count)]
            self.draft(Kind.EVENTS, None, {"first": ids.first, "y": ys, "rows": rows})
        elif chance < 0.92:
            ids_given = [self.new_id() for _ in range(3)]
            xs = [self.x() for _ in ids_given]
            self.draft(Kind.EVENTS, None, {"ids": ids_given, "y": [self.y() for _ in ids_given], "x": xs})
        elif chance < 0.97:
            labels = [{"id": self.labelled(), **self.label()} for _ in range(draw.randint(1, 8))]
            self.draft(Kind.LABELS, None, labels)
        elif chance < 0.99:
            self.draft(Kind.LEARN, None, {"x": self.x(), "y": self.y()})
        else:
            self.draft(Kind.TICK, None, "")


def with_log(folder: Path, model: Any, drafts: list[Draft], policy: LabelPolicy | None = None) -> None:
    """Make a data folder with a log, and no snapshot."""
    engine = Engine(folder, {"model": model}, policy=policy)
    engine.start()
    engine.stop()
    with EventStore(folder / "events.db") as store:
        for start in range(0, len(drafts), 700):
            store.append(drafts[start : start + 700])


def written(folder: Path, model: str, seed: int, policy: LabelPolicy, records: int) -> None:
    """Make a data folder with a random log, and no snapshot."""
    log = Log(seed, KINDS.get(model, "bool"))
    while len(log.drafts) < records:
        log.add()
    with_log(folder, MODELS[model](), log.drafts, policy)


def recovered(folder: Path) -> Any:
    engine = Engine(folder, {}, read_only=True, from_start=True)
    try:
        return engine.state
    finally:
        engine.stop()


def snapshot_of(state: Any) -> tuple[str, dict[str, bytes]]:
    header, blobs = state.snapshot()
    return json.dumps(header), blobs


POLICIES = {
    "default": LabelPolicy(),
    "short": LabelPolicy(window="20s", early_window="5s", late="learn"),
    "dead letters": LabelPolicy(window="10s", late="dead_letter"),
    "few": LabelPolicy(max_pending=40),
    "on close": LabelPolicy(window="20s", learn_when="on_window_close", aggregate="last"),
    "default label": LabelPolicy(window="20s", default_label=False),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("model", MODELS)
def test_a_replay_equals_that_of_python(tmp_path, monkeypatch, model, policy):
    chosen = POLICIES[policy]
    for seed in range(2):
        folder = tmp_path / str(seed)
        written(folder, model, seed, chosen, 3000)
        with monkeypatch.context() as patch:
            counts = counted(patch)
            native = recovered(folder)
        assert (counts["native"] > 50) is (policy != "on close")
        assert counts["python"] > 0
        with monkeypatch.context() as patch:
            patch.setattr(ServedModel, "_label_learner", lambda self: None)
            counts = counted(patch)
            slow = recovered(folder)
        assert counts["native"] == 0
        assert snapshot_of(native) == snapshot_of(slow)
        assert native.models["model"].scored > 50


def test_a_label_of_a_slow_model_gives_other_threads_a_turn(tmp_path):
    model = ensemble.Bagging(tree.HoeffdingTreeClassifier(), n_models=30)
    drafts = [Draft(Kind.EVENT, _START, 1, f"e{i}", f'{{"x":{{"a":{i % 7}}},"y":true}}') for i in range(3000)]
    labels = [f'{{"y":{str(i % 3 > 0).lower()}}}' for i in range(3000)]
    drafts += [Draft(Kind.LABEL, _START, 1, f"e{i}", label) for i, label in enumerate(labels)]
    with_log(tmp_path / "data", model, drafts)
    longest = 0
    replay = ServedModel.replay

    def counted_replay(self: ServedModel, *arguments: Any) -> Any:
        nonlocal longest
        run = replay(self, *arguments)
        longest = max(longest, run.learned)
        return run

    ServedModel.replay = counted_replay  # type: ignore[method-assign]
    try:
        state = recovered(tmp_path / "data")
    finally:
        ServedModel.replay = replay  # type: ignore[method-assign]
    assert state.models["model"].learned == 3000
    assert longest < 3000


def test_live_labels_equal_their_replay_in_python(tmp_path, monkeypatch):
    """Labels of many requests in one group, and in batches, among events and labels of a second model."""
    for seed, kind in enumerate(("bool", "str", "int")):
        folder = tmp_path / kind
        models = {"model": MODELS["words" if kind == "str" else "bayes"](), "other": MODELS["tree"]()}
        log = Log(seed, kind)
        engine = Engine(folder, models)
        engine.start()
        counts = counted(monkeypatch)
        outcomes: list[Any] = []
        for part in range(20):
            ids = [f"p{part}-{number}" for number in range(100)]
            for number, id in enumerate(ids):
                stream = engine.state.by_name["other" if number % 10 == 0 else "model"]
                body = json.dumps({"x": log.x(), "y": log.y()}, separators=(",", ":"))
                assert engine.committer.events.add(stream.number, id, body) is True
            for number, id in enumerate(ids[:60]):
                stream = engine.state.by_name["other" if number % 10 == 0 else "model"]
                label = log.label()
                proposal = Proposal(Kind.LABEL, stream, id, "", parsed=label, answer=outcomes.append)
                engine.committer.propose(proposal)
            labels = [{"id": id, **log.label()} for number, id in enumerate(ids[60:], 60) if number % 10]
            outcomes += engine.committer.ask(
                Proposal(Kind.LABELS, engine.state.by_name["model"], None, "", parsed=labels)
            )
        engine.stop()
        assert len(outcomes) == 20 * (60 + 36)
        assert all(outcome.fate.word in ("learned", "quarantined") for outcome in outcomes)
        assert counts["native"] > 1000
        assert counts["python"] > 0
        with monkeypatch.context() as patch:
            patch.setattr(ServedModel, "_label_learner", lambda self: None)
            slow = recovered(folder)
        assert snapshot_of(engine.state) == snapshot_of(slow)


@pytest.mark.parametrize("excluded", [[], ["e3", "e10", "unknown"]])
def test_a_rollback_learns_natively_what_it_does_not_exclude(tmp_path, monkeypatch, excluded):
    drafts = []
    for i in range(400):
        drafts.append(Draft(Kind.EVENT, _START + i, 1, f"e{i}", f'{{"x":{{"a":{i % 7}}},"y":true}}'))
        drafts.append(Draft(Kind.LABEL, _START + i, 1, f"e{i}", '{"y":true}' if i % 3 else '{"y":false}'))
    states = []
    for native in (True, False):
        folder = tmp_path / str(native)
        with_log(folder, MODELS["logistic"](), drafts)
        with monkeypatch.context() as patch:
            if not native:
                patch.setattr(ServedModel, "_label_learner", lambda self: None)
            engine = Engine(folder, {})
            engine.start()
            counts = counted(patch)
            served = engine.state.models["model"]
            body = {"op": "rollback", "model": "model", "to": 701, "exclude": excluded}
            engine.administer(body | {"folder_id": served.folder_id})
            assert (counts["native"] > 300) is (native and not excluded)
            states.append(engine.state.models["model"].model.to_bytes())
            assert engine.state.models["model"].learned == 350 - len(excluded[:2])
            engine.stop()
    assert states[0] == states[1]


def counted(monkeypatch) -> dict[str, int]:
    """Counts of labels that were learned natively and one by one."""
    counts = {"native": 0, "python": 0}
    count, learn = ServedModel._count, ServedModel.learn

    def count_run(self: ServedModel, run: _core.LabelRun) -> None:
        counts["native"] += run.learned
        count(self, run)

    def count_one(self: ServedModel, *arguments: Any) -> None:
        counts["python"] += 1
        learn(self, *arguments)

    monkeypatch.setattr(ServedModel, "_count", count_run)
    monkeypatch.setattr(ServedModel, "learn", count_one)
    return counts


def test_common_labels_are_learned_natively(tmp_path, monkeypatch):
    events = [Draft(Kind.EVENT, _START, 1, f"e{i}", f'{{"x":{{"a":{i % 7}}},"y":true}}') for i in range(1000)]
    labels = [Draft(Kind.LABEL, _START, 1, f"e{i}", '{"y":true}') for i in range(1000)]
    mixed = [draft for pair in zip(events, labels, strict=True) for draft in pair]
    with_log(tmp_path / "data", MODELS["logistic"](), mixed)
    counts = counted(monkeypatch)
    state = recovered(tmp_path / "data")
    assert counts == {"native": 1000, "python": 0}
    assert state.models["model"].learned == state.models["model"].scored == 1000


def test_a_point_of_the_curve_and_a_drift_are_not_missed(tmp_path, monkeypatch):
    drafts = []
    for i in range(4000):
        served = "true" if i < 2000 else "false"
        drafts.append(Draft(Kind.EVENT, _START + i, 1, f"e{i}", f'{{"x":{{"a":{i % 7}}},"y":{served}}}'))
        drafts.append(Draft(Kind.LABEL, _START + i, 1, f"e{i}", '{"y":true}'))
    with_log(tmp_path / "data", MODELS["logistic"](), drafts)
    native = recovered(tmp_path / "data")
    monkeypatch.setattr(ServedModel, "_label_learner", lambda self: None)
    slow = recovered(tmp_path / "data")
    served = native.models["model"]
    assert served.drift_count == slow.models["model"].drift_count >= 1
    assert served.drifts == slow.models["model"].drifts
    assert served.curve.describe() == slow.models["model"].curve.describe()
    assert snapshot_of(native) == snapshot_of(slow)


class TestRefused:
    """Models whose labels are learned one by one."""

    def served(self, model: Any, names: Any = None) -> ServedModel:
        return ServedModel("m", model, names)

    def test_probabilities_are_left_to_python(self):
        assert self.served(linear_model.LogisticRegression(), ["LogLoss"]).label_learner is None
        assert self.served(linear_model.LogisticRegression(), ["Accuracy"]).label_learner is not None

    def test_an_overridden_method_is_called(self):
        class Own(linear_model.LogisticRegression):
            def learn_one(self, x, y, w=1.0):
                super().learn_one(x, y, w)

        assert self.served(Own()).label_learner is None

    def test_a_role_without_a_target_is_refused(self):
        detector = ServedModel("m", linear_model.LogisticRegression()).detector
        with pytest.raises(MillstreamError, match="must be a classifier or regressor, got a transformer"):
            _core.LabelLearner(preprocessing.StandardScaler(), [metrics.Accuracy()], detector, 1e100, [1])
