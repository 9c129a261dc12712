"""Champion and challengers: one event and one label for all, and promotion that keeps its error rate."""

from __future__ import annotations

import json
import random

import pytest

from millstream import baseline, linear_model
from millstream.serve.engine import Engine
from millstream.serve.fates import Fate
from millstream.serve.promotion import log_evidence
from millstream.serve.proposal import Proposal
from millstream.serve.records import Kind
from millstream.serve.route import Route


@pytest.fixture
def engine(tmp_path):
    models = {"mean": baseline.TargetMean(), "line": linear_model.LinearRegression()}
    engine = Engine(tmp_path / "data", models)
    engine.start()
    yield engine
    engine.stop()


def route(engine, **settings):
    body = {"op": "route", "route": "r", "champion": "mean", "challengers": ["line"], "policy": {}, **settings}
    engine.administer(body, stream=engine.state.last_stream + 1)
    return engine.state.by_name["r"]


def event(engine, stream, id, x, y):
    served = {name: {"y": engine.state.models[name].predict(x).y} for name in ("mean", "line")}
    body = json.dumps({"x": x, "m": served, "s": "mean"})
    engine.committer.ask(Proposal(Kind.EVENT, stream, id, body, parsed=x))
    return engine.committer.ask(Proposal(Kind.LABEL, stream, id, "", parsed={"y": y}))


def feed(engine, stream, rows, start=0):
    for number in range(start, start + rows):
        x = {"v": float(number % 10) - 4.5}
        assert event(engine, stream, f"e{number}", x, 3.0 * x["v"]).fate is Fate.LEARNED


def test_one_label_scores_and_trains_every_model(engine):
    feed(engine, route(engine), 20)
    for name in ("mean", "line"):
        assert engine.state.models[name].learned == 20
        assert engine.state.models[name].scored == 20


def test_the_rule_promotes_the_better_challenger_and_says_why(engine):
    stream = route(engine, promote={"min_labels": 30, "significance": 0.01})
    feed(engine, stream, 120)
    found = engine.state.routes["r"]
    assert found.champion == "line"
    assert found.challengers == ["mean"]
    why = found.promotions[-1]["why"]
    assert why["by"] == "rule"
    assert why["labels"] >= 30
    assert why["wins"] > why["defeats"]
    assert why["log_evidence"] >= why["limit"]
    assert why["challenger"]["MAE"] < why["champion"]["MAE"]


def test_promotion_by_hand_is_recorded(engine):
    route(engine)
    engine.administer({"op": "promote", "route": "r", "model": "line", "why": {"by": "hand", "why": "asked for"}})
    assert engine.state.routes["r"].champion == "line"
    assert engine.state.routes["r"].promotions[-1]["why"]["why"] == "asked for"


def test_a_restart_keeps_the_duels(engine, tmp_path):
    feed(engine, route(engine, promote={"min_labels": 10_000}), 25)
    before = engine.state.routes["r"].describe()
    replayed = Engine(tmp_path / "data", read_only=True)
    assert json.loads(json.dumps(replayed.state.routes["r"].describe())) == json.loads(json.dumps(before))
    replayed.stop()


def test_the_sequential_test_keeps_its_error_rate_under_continuous_watching():
    """Two equal models, watched after each of 2,000 labels: at most 5 % of the runs may ever promote."""
    generator = random.Random(7)
    promoted = 0
    for _ in range(400):
        wins = defeats = 0
        for _ in range(2000):
            if generator.random() < 0.5:
                wins += 1
            else:
                defeats += 1
            if log_evidence(wins, defeats) >= 2.9957:  # log(1 / 0.05)
                promoted += 1
                break
    assert promoted <= 0.05 * 400


def test_the_sequential_test_has_power():
    assert log_evidence(700, 300) > 20
    assert log_evidence(5, 0) < 3


def test_the_split_is_sticky_and_has_its_fraction():
    split = Route("r", "a", ["b"], mode="split", split={"b": 0.25})
    keys = [f"user{number}" for number in range(4000)]
    chosen = [split.serving(key) for key in keys]
    assert chosen == [split.serving(key) for key in keys]
    assert 0.22 < chosen.count("b") / len(keys) < 0.28


@pytest.mark.parametrize(
    "settings",
    [
        {"mode": "other"},
        {"split": {"c": 0.1}, "mode": "split"},
        {"split": {"b": 1.5}, "mode": "split"},
        {"challengers": ["a"]},
    ],
)
def test_impossible_routes_are_refused(settings):
    from millstream.errors import MillstreamError

    with pytest.raises(MillstreamError):
        Route.of({"route": "r", "champion": "a", "challengers": ["b"], **settings})
