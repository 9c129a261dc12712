"""`evaluate.policies`: values by hand, learning policies, reward models, differences, warnings, and bad input."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from millstream import evaluate, linear_model, policy_evaluation
from millstream.errors import InvalidType, InvalidValue

ACTIONS = ["red", "green", "blue"]
#: The chance of a reward, by context and action.
CHANCES = {0: {"red": 0.7, "green": 0.3, "blue": 0.1}, 1: {"red": 0.1, "green": 0.3, "blue": 0.6}}


def make_log(n: int = 3000, seed: int = 1) -> list[dict[str, Any]]:
    random = np.random.default_rng(seed)
    log = []
    for _ in range(n):
        group = int(random.integers(2))
        action = ACTIONS[random.choice(3, p=[0.5, 0.25, 0.25])]
        log.append(
            {
                "shared": {"group": float(group)},
                "actions": ACTIONS,
                "action": action,
                "probability": 0.5 if action == "red" else 0.25,
                "reward": float(random.random() < CHANCES[group][action]),
            }
        )
    return log


def best(x: Any, actions: Any) -> str:
    return "blue" if x["group"] else "red"


def uniform(x: Any, actions: Any) -> dict[str, float]:
    return dict.fromkeys(actions, 1 / len(actions))


class Greedy:
    """Learns the mean reward of each action, and takes the best one with probability 0.8."""

    uses_context = False

    def __init__(self) -> None:
        self.sums = dict.fromkeys(ACTIONS, 0.0)
        self.counts = dict.fromkeys(ACTIONS, 0)
        self.learned: list[Any] = []

    def probabilities_one(self, actions: Any) -> dict[str, float]:
        chosen = max(actions, key=lambda action: self.sums[action] / (self.counts[action] or 1))
        return {action: 0.8 * (action == chosen) + 0.2 / len(actions) for action in actions}

    def learn_one(self, *, action: str, reward: float, probability: float) -> None:
        self.sums[action] += reward
        self.counts[action] += 1
        self.learned.append((action, reward, probability))


def test_values_are_those_of_the_estimator() -> None:
    log = make_log(500)
    results = evaluate.policies(log, {"best": best, "uniform": uniform})
    r = np.array([round_["reward"] for round_ in log])
    p = np.array([round_["probability"] for round_ in log])
    hit = np.array([best(round_["shared"], ACTIONS) == round_["action"] for round_ in log], dtype=float)
    assert results["best"].value == pytest.approx((hit / p * r).sum() / (hit / p).sum())
    assert results["logged"].value == pytest.approx(r.mean())
    assert results["logged"].weights.largest == 1.0
    assert results["best"].weights.largest == 4.0
    expected = policy_evaluation.SNIPS()
    expected.update_many(r, p, hit)
    assert results["best"].interval() == expected.interval()
    assert results["best"].interval("normal", 0.9) == expected.interval("normal", 0.9)
    difference = policy_evaluation.Difference()
    difference.update_many(r, p, hit, np.full(len(r), 1 / 3))
    found = results.difference("best", "uniform")
    assert (found.value, found.interval()) == (difference.value, difference.interval())
    turned = results.difference("uniform", "best")
    assert turned.value == -found.value
    assert turned.interval() == tuple(-end for end in found.interval()[::-1])
    assert results.rounds == 500
    assert results.skipped == 0
    assert list(results) == ["best", "uniform", "logged"]


def test_the_better_policy_is_found_and_said() -> None:
    results = evaluate.policies(make_log(), {"best": best, "uniform": uniform, "red": lambda x, actions: "red"})
    assert results.best.name == "best"
    assert results["best"].value == pytest.approx(0.65, abs=0.06)
    found = results.difference("best", "red")
    assert found.better == "best"
    assert 16 < (found.since or 0) <= 3000
    at = np.flatnonzero(found.rounds == found.since)[0]
    assert found.low[at] > 0.0 >= found.low[at - 1]
    assert repr(found).startswith(f"best is better than red since round {found.since:,}: difference +0.")
    assert repr(results.difference("red", "best")) == repr(found)
    same = evaluate.policies(make_log(200), {"a": uniform, "b": uniform}).difference("a", "b")
    assert same.value == 0.0
    assert same.better is None
    assert same.since is None
    assert "cannot be told apart" in repr(same)
    text = repr(results)
    assert "3,000 rounds, SNIPS, 95 % confidence sequences" in text
    assert "effective size" in text
    assert "<table>" in results._repr_html_()
    assert len(results.to_frame("pandas")) == 4


def test_policies_learn_after_they_were_judged() -> None:
    log, policy = make_log(300), Greedy()
    results = evaluate.policies(log, {"greedy": policy})
    assert policy.learned == [(each["action"], each["reward"], each["probability"]) for each in log]
    copy, weights = Greedy(), []
    for each in log:
        weights.append(copy.probabilities_one(ACTIONS)[each["action"]] / each["probability"])
        copy.learn_one(action=each["action"], reward=each["reward"], probability=each["probability"])
    rewards = np.array([each["reward"] for each in log])
    assert results["greedy"].value == pytest.approx((np.array(weights) * rewards).sum() / sum(weights))
    frozen = Greedy()
    evaluate.policies(log, {"greedy": frozen}, learn=False)
    assert frozen.learned == []


def test_a_reward_model_narrows_the_interval() -> None:
    log = make_log(2000)
    plain = evaluate.policies(log, {"best": best}, estimator=policy_evaluation.IPS())
    model = linear_model.LinearRegression("adaptive")
    robust = evaluate.policies(log, {"best": best}, reward_model=model)
    assert type(robust["best"].estimator) is policy_evaluation.DR
    assert model.learned == 0
    assert robust["best"].value == pytest.approx(0.65, abs=0.06)
    width = [np.subtract(*result["best"].interval("normal")[::-1]) for result in (plain, robust)]
    assert width[1] < width[0]
    # The logged policy has its mean reward with any estimator.
    assert robust["logged"].value == pytest.approx(plain["logged"].value)
    others = evaluate.policies(
        log, {"best": best}, reward_model=model, estimator=policy_evaluation.SwitchDR(max_weight=3.0)
    )
    assert others["best"].weights.reduced > 0


def test_actions_with_features_and_other_forms_of_rounds() -> None:
    log = make_log(400)
    features = {"red": {"warm": 1.0}, "green": {"warm": 0.5}, "blue": {"warm": 0.0}}
    seen: list[Any] = []

    def look(x: Any, actions: Any) -> Any:
        seen.append(actions)
        return best(x, actions)

    rich = [SimpleNamespace(**{**each, "actions": features}) for each in log]
    model = linear_model.LinearRegression("adaptive")
    results = evaluate.policies([rich[:100], rich[100:]], {"best": look}, reward_model=model)
    assert seen[0] == features
    assert results.rounds == 400
    indexed = [
        {**each, "actions": list(features.values()), "action": ACTIONS.index(each["action"])} for each in log
    ]
    again = evaluate.policies(indexed, {"best": lambda x, actions: 2 if x["group"] else 0}, reward_model=model)
    assert again["best"].value == pytest.approx(results["best"].value)
    late = [*log, {**log[0], "reward": None}, {**log[0], "action": None}]
    assert evaluate.policies(late, {"best": best}).skipped == 2
    assert "2 rounds without an action or a reward were skipped" in repr(evaluate.policies(late, {"best": best}))


def test_wrong_probabilities_are_said() -> None:
    log = [{**each, "probability": 0.25 if each["action"] == "red" else 0.5} for each in make_log(2000)]
    results = evaluate.policies(log, {"red": lambda x, actions: "red", "uniform": uniform})
    assert any(warning.startswith("red: the logged probabilities are wrong") for warning in results.warnings)
    assert "WARNING: red: the logged probabilities are wrong" in repr(results)
    assert evaluate.policies(make_log(2000), {"best": best, "uniform": uniform}).warnings == []


def test_plots(tmp_path: Any) -> None:
    results = evaluate.policies(make_log(1500), {"best": best, "uniform": uniform})
    for kind in ("value", "difference"):
        results.save_plot(tmp_path / f"{kind}.png", kind)
        assert (tmp_path / f"{kind}.png").stat().st_size > 10_000
    with pytest.raises(InvalidValue, match="kind must be one of value, difference, got 'x'"):
        results.save_plot(tmp_path / "x.png", "x")
    with pytest.raises(InvalidValue, match="a plot must be saved as"):
        results.save_plot(tmp_path / "x.txt")
    with pytest.raises(InvalidValue, match="against must be one of best, uniform, logged"):
        results.plot("difference", against="none")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probability": 0.0}, r"round 3: evaluate.policies: probability must be in \(0, 1\], got 0.0"),
        ({"probability": math.nan}, r"probability must be in \(0, 1\], got nan"),
        ({"probability": None}, "the probability must be a number, got None"),
        ({"reward": 7.0}, r"reward must be in reward_range \(0, 1\), got 7.0"),
        ({"reward": math.inf}, "reward must be in reward_range"),
        ({"reward": "1"}, "the reward must be a number, got str '1'"),
        ({"action": "black"}, "the action taken, 'black', is not among the actions"),
    ],
)
def test_bad_rounds(change: dict[str, Any], message: str) -> None:
    log, policy = make_log(6), Greedy()
    log[3] = {**log[3], **change}
    with pytest.raises((InvalidValue, InvalidType), match=message):
        evaluate.policies(log, {"greedy": policy})
    assert len(policy.learned) == 3


def test_bad_arguments() -> None:
    log = make_log(10)
    for bad, message in [
        ({"policies": {}}, "policies must be a dict of policies by name"),
        ({"policies": [best]}, "policies must be a dict of policies by name"),
        ({"policies": {"logged": best}}, "the name 'logged' is that of the policy that wrote the log"),
        (
            {"policies": {"a": 3}},
            r"policy 'a' must have probabilities_one\(x, actions\) or be a function, got int 3",
        ),
        ({"policies": {"a": lambda x, actions: "black"}}, "policy 'a' took 'black', which is not an action"),
        ({"policies": {"a": lambda x, actions: {"red": 0.5}}}, "must be >= 0 with sum 1, got sum 0.5"),
        ({"policies": {"a": lambda x, actions: {"red": math.nan}}}, "must be >= 0 with sum 1, got sum nan"),
        ({"policies": {"a": lambda x, actions: {"red": -0.5, "blue": 1.5}}}, "must be >= 0 with sum 1"),
        ({"policies": {"a": best}, "estimator": policy_evaluation.DR()}, "DR needs a reward_model"),
        ({"policies": {"a": best}, "estimator": policy_evaluation.Difference()}, "estimator must be an estimator"),
        ({"policies": {"a": best}, "reward_model": linear_model.LogisticRegression()}, "must be a regressor"),
        ({"policies": {"a": best}, "coverage": 1.0}, r"coverage must be in \(0, 1\), got 1.0"),
    ]:
        with pytest.raises((InvalidValue, InvalidType), match=message):
            evaluate.policies(log, **bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="the log has no round with an action and a reward"):
        evaluate.policies([], {"a": best})
    with pytest.raises(InvalidType, match="a round must have shared, actions"):
        evaluate.policies([3], {"a": best})
    with pytest.raises(InvalidType, match="log must be an iterable of rounds, got int 3"):
        evaluate.policies(3, {"a": best})  # type: ignore[arg-type]
    results = evaluate.policies(log, {"a": best})
    with pytest.raises(InvalidValue, match="policy must be one of a, logged, got 'b'"):
        results.difference("a", "b")
