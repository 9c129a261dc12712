"""Rounds: batches from dicts, matrices and frames; files of VW and dsjson; what is refused."""

from __future__ import annotations

import io
import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest

from millstream import bandit, rounds, stream

TEXT = "shared |u age:2 city=nl\n|a id=1\n0:-1.5:0.25 |a id=2 x:3\n\n|a id=1\n\n"
LINE = {
    "_label_cost": -1.5,
    "_label_probability": 0.25,
    "_labelIndex": 1,
    "a": [2, 1],
    "p": [0.25, 0.75],
    "c": {"u": {"age": 2, "city": "nl"}, "_multi": [{"a": {"id": "1"}}, {"a": {"id": "2", "x": 3}}]},
}


def dsjson(**changes):
    return json.dumps({**LINE, **changes})


def test_text_and_json_are_the_same_round():
    text = next(iter(stream.read_vw(io.StringIO(TEXT), labels="actions")))
    (other,) = stream.read_dsjson(io.StringIO(dsjson()))
    assert text == other
    assert text.shared == {"u^age": 2.0, "u^city=nl": 1.0}
    assert text.actions == [{"a^id=1": 1.0}, {"a^id=2": 1.0, "a^x": 3.0}]
    assert (text.action, text.probability, text.reward) == (1, 0.25, 1.5)


def test_a_round_without_a_label_has_no_reward():
    second = list(stream.read_vw(io.StringIO(TEXT), labels="actions"))[1]
    assert (second.action, second.probability, second.reward) == (None, None, None)
    policy = bandit.LinUCB()
    assert policy.learn_many(stream.read_vw(io.StringIO(TEXT), labels="actions")) == 0
    assert policy.learned == 1


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("0:1:0", r"\(0, 1\], got 0"),
        ("0:1:-0.5", r"\(0, 1\], got -0.5"),
        ("0:1:1.5", r"\(0, 1\], got 1.5"),
        ("0:1:nan", r"\(0, 1\], got NaN"),
        ("0:nan:0.5", "the reward must be finite"),
        ("0:inf:0.5", "the reward must be finite"),
    ],
)
def test_wrong_text_names_its_line_or_is_skipped(label, words):
    text = f"|a x\n\n|a x\n{label} |a y\n\n|a z\n\n"
    read = []
    with pytest.raises(ValueError, match=rf"line 3: .*{words}"):
        read.extend(stream.read_vw(io.StringIO(text), labels="actions"))
    assert len(read) == 1
    skipping = stream.read_vw(io.StringIO(text), labels="actions", on_error="skip")
    assert [entry.actions for entry in skipping] == [[{"a^x": 1.0}], [{"a^z": 1.0}]]
    assert len(skipping.skipped) == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (dsjson(_label_probability=0), r"\(0, 1\], got 0"),
        (dsjson(_label_probability=None), "must have _label_probability"),
        (dsjson(_label_cost="much"), "_label_cost must be a number"),
        (dsjson(_labelIndex=5), "one of the 2 actions"),
        (dsjson(_labelIndex=1, _label_Action=1), "must be the same action, got 1 and 1"),
        (dsjson(a=[1]), "a must have one entry for each of the 2 actions, got 1"),
        (dsjson(p=[0.5, 0.2, 0.3]), "p must have one entry for each of the 2 actions, got 3"),
        (dsjson(c={"u": {"age": 2}}), "at least one action"),
        (dsjson(c={"_multi": [3]}), "an action must be an object"),
        (dsjson(c={"u": [[1]], "_multi": [{"x": 1}]}), "must not be a list of lists"),
        ("{", "c"),
        ("[]", "a line must be a JSON object"),
        (dsjson()[:-3], "byte"),
    ],
)
def test_wrong_json_names_its_line_or_is_skipped(line, words):
    text = f"{dsjson()}\n{line}\n{dsjson()}\n"
    with pytest.raises(ValueError, match=rf"line 2: .*{words}"):
        list(stream.read_dsjson(io.StringIO(text)))
    skipping = stream.read_dsjson(io.StringIO(text), on_error="skip")
    assert len(list(skipping)) == 2
    assert len(skipping.skipped) == 1


def test_unknown_fields_and_skipped_learning_are_reported():
    log = stream.read_dsjson(io.StringIO(f"{dsjson(odd=1)}\n{dsjson(_skipLearn=True, odd=[2])}\n"))
    assert [entry.reward for entry in log] == [1.5, None]
    assert (log.unread, log.not_learned) == ({"odd": 2}, 1)


def test_what_is_written_is_read_again():
    g = np.random.default_rng(1)
    log = []
    for row in range(50):
        actions = [{f"a^x{j}": float(v) for j, v in enumerate(g.normal(size=2))} for _ in range(1 + row % 4)]
        taken = None if row % 5 == 0 else int(g.integers(0, len(actions)))
        outcome = (None, None) if taken is None else (0.25, float(g.normal()))
        log.append(rounds.Round({"s^age": float(row + 1), "s^city=nl": 1.0}, actions, taken, *outcome))
    for write, read in (
        (stream.write_vw, lambda file: stream.read_vw(file, labels="actions")),
        (stream.write_dsjson, stream.read_dsjson),
    ):
        file = io.StringIO()
        assert write(log, file) == 50
        assert list(read(io.StringIO(file.getvalue()))) == log


def test_pieces_of_any_size_give_the_same_rounds(tmp_path):
    path = tmp_path / "log.vw"
    path.write_text("".join(TEXT.replace("age:2", f"age:{row + 1}") for row in range(3000)))
    log = stream.read_vw(path, labels="actions")
    batches = list(log.chunks())
    assert max(map(len, batches)) <= 1024
    assert sum(map(len, batches)) == 6000
    assert batches[0][0].shared["u^age"] == 1.0
    assert [entry.shared["u^age"] for entry in log if entry.shared] == [row + 1.0 for row in range(3000)]


def test_matrices_and_dicts_are_the_same_rounds():
    g = np.random.default_rng(2)
    shared, actions = g.normal(size=(6, 3)), g.normal(size=(4, 2))
    outcome = {"action": g.integers(0, 4, 6), "probability": 0.25, "reward": g.random(6)}
    fixed = rounds.Rounds.from_numpy(shared, actions, **outcome)
    each = rounds.Rounds.from_numpy(shared, np.repeat(actions[None], 6, axis=0), **outcome)
    assert list(fixed) == list(each)
    one, other = bandit.LinUCB(), bandit.LinUCB()
    one.learn_many(fixed)
    for row in range(6):
        action, reward = int(outcome["action"][row]), outcome["reward"][row]
        other.learn_one(x=shared[row], actions=actions, action=action, reward=reward, probability=0.25)
    assert one.to_bytes() == other.to_bytes()
    assert list(pickle.loads(pickle.dumps(fixed))) == list(fixed)


def test_a_long_frame():
    frame = pd.DataFrame(
        {
            "visit": [1, 1, 2, 2],
            "hour": [9, 9, 10, 10],
            "item": ["a", "b", "b", "c"],
            "price": [1.0, 2.0, 2.0, 3.0],
            "shown": [False, True, True, False],
            "p": [0.5, 0.5, 0.25, 0.75],
            "click": [0.0, 1.0, 0.0, 0.0],
        }
    )
    log = rounds.Rounds.from_frame(
        frame, by="visit", shared=["hour"], label="item", taken="shown", probability="p", reward="click"
    )
    assert log[0] == rounds.Round({"hour": 9.0}, {"a": {"price": 1.0}, "b": {"price": 2.0}}, "b", 0.5, 1.0)
    assert log[-1].action == "b"
    assert log.rewards.tolist() == [1.0, 0.0]


def test_wrong_rounds_are_refused_in_one_line():
    for given, words in [
        ([rounds.Round({}, [])], "at least one action"),
        ([rounds.Round({}, ["a"], "b")], "must be one of"),
        ([rounds.Round({}, ["a", "a"])], "listed once"),
        ([rounds.Round({}, ["a"], "a", 0.0)], r"\(0, 1\], got 0"),
        ([rounds.Round({}, ["a"], "a", 0.5, float("nan"))], "reward must be finite"),
        ([rounds.Round({}, ["a"], "a", "much")], "must be numbers"),
        ([{"context": {}}], "must have the fields"),
        ("text", "must be Rounds"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            bandit.LinUCB().learn_many(given)
    for action in ([0.5, 1.0], ["a", "b"], [0, 5]):
        with pytest.raises(
            ValueError, match="rounds: (action must have the index|the action taken must be one of)"
        ):
            rounds.Rounds.from_numpy(np.ones((2, 1)), np.ones((3, 1)), action=action, reward=[0.0, 1.0])
    missing = rounds.Rounds.from_numpy(np.ones((2, 1)), np.ones((3, 1)), action=[math.nan, 2.0], reward=[0.0, 1.0])
    assert [entry.action for entry in missing] == [None, 2]
    with pytest.raises(TypeError, match="must have the fields .*, got int 3"):
        bandit.LinUCB().learn_many([3])
    frame = pd.DataFrame({"visit": [1, 1], "hour": [9, 10], "item": ["a", "b"]})
    with pytest.raises(ValueError, match="the frame must have the column 'price', got visit, hour, item"):
        rounds.Rounds.from_frame(frame, by="visit", shared=["price"], label="item")
    with pytest.raises(ValueError, match="round 1 must have one value of 'hour', got 9 and 10"):
        rounds.Rounds.from_frame(frame, by="visit", shared=["hour"], label="item")
    with pytest.raises(ValueError, match="2 rounds and actions 3"):
        rounds.Rounds.from_numpy(np.ones((2, 1)), np.ones((3, 2, 1)))
    with pytest.raises(ValueError, match="row 1: .*must be finite"):
        rounds.Rounds.from_numpy([[1.0], [np.inf]], [[1.0]])


def test_labelled_rows_become_rounds():
    log = stream.from_classification([({"x": 1.0}, "b"), ({"x": 2.0}, "a")] * 50, ["a", "b"], seed=4)
    first = list(log)
    assert list(log) == first
    assert {entry.probability for entry in first} == {0.5}
    assert all(entry.reward == (entry.action == label) for entry, label in zip(first, "ba" * 50, strict=True))
    with pytest.raises(ValueError, match="one of the classes"):
        list(stream.from_classification([({}, "c")], ["a", "b"]))


def test_classes_need_not_be_known():
    log = list(stream.from_classification([({}, "b"), ({}, "a"), ({}, "b"), ({}, "c")], seed=4))
    assert [entry.actions for entry in log] == [["b"], ["b", "a"], ["b", "a"], ["b", "a", "c"]]
    assert [entry.probability for entry in log] == [1.0, 1 / 2, 1 / 2, 1 / 3]
    with pytest.raises(ValueError, match="a row must have a label"):
        list(stream.from_classification([({}, None)]))


@pytest.mark.parametrize(
    "make",
    [bandit.LinUCB, bandit.Contextual, lambda: bandit.Experts([lambda x, actions: dict.fromkeys(actions, 0.5)])],
)
def test_rounds_by_position_and_by_name(make):
    one, other = make(), make()
    one.learn_one({"a": 1.0}, ["u", "v"], "u", 1.0, 0.5)
    one.learn_one({"a": 1.0}, ["u", "v"], "v", 0.0, probability=0.5)
    for action, reward in (("u", 1.0), ("v", 0.0)):
        other.learn_one(x={"a": 1.0}, actions=["u", "v"], action=action, reward=reward, probability=0.5)
    assert one.probabilities_one({"a": 1.0}, ["u", "v"]) == other.probabilities_one({"a": 1.0}, ["u", "v"])
    for given in (({}, ["u"], "u"), ({}, ["u"], "u", 1.0, 0.5, 0.5)):
        with pytest.raises(TypeError, match=r"learn_one takes \(id, reward\) or \(x, actions, action, reward"):
            one.learn_one(*given)
    with pytest.raises(TypeError, match="two probabilities"):
        one.learn_one({}, ["u", "v"], "u", 1.0, 0.5, probability=0.5)


@pytest.mark.parametrize(
    "option",
    [{"interactions": ["sa"]}, {"ignore": "s"}, {"names": True}, {"bits": 20}, {"ngram": 2}, {"constant": False}],
)
def test_options_without_a_meaning_for_rounds_are_refused(option):
    with pytest.raises(ValueError, match=f"{next(iter(option))} has no meaning with labels='actions'"):
        stream.read_vw(io.StringIO(""), labels="actions", **option)
    with pytest.raises(ValueError, match="by_class must be False with labels='actions'"):
        stream.read_vw(io.StringIO(""), labels="actions", by_class=True)
