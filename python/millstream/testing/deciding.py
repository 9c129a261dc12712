"""Laws of policies."""

from __future__ import annotations

import math
from typing import Any

from millstream._echo import quoted, typed
from millstream.testing.answers import same
from millstream.testing.law import broken, law
from millstream.testing.policies import ACTIONS, PolicySubject

#: Rewards that must be refused.
_BAD_REWARDS: list[Any] = [math.nan, math.inf, -math.inf, None, "text", [1.0]]
_BAD_PROBABILITIES: list[Any] = [0.0, -0.5, 1.5, math.nan, math.inf, "text"]


@law("probabilities of actions")
def probabilities_of_any_actions(subject: PolicySubject) -> None:
    """`probabilities_one` gives each listed action, new ones too, a probability; the sum is 1 within 1e-12."""
    model = subject.fresh()
    lists: tuple[tuple[Any, ...], ...] = (ACTIONS, ("red",), (3, "red"), ("new", "red", False), tuple(range(500)))
    for x, y in subject.examples:
        for actions in lists:
            given = subject.situation(x, actions)
            subject.check_probabilities(subject.call(model, "probabilities_one", *given), actions)
        subject.learn(model, x, y)


@law("decisions")
def decides_by_its_probabilities(subject: PolicySubject) -> None:
    """`decide_one` returns a listed action with the probability that `probabilities_one` said, and a new id."""
    model, ids = subject.fresh(), set()
    for row, (x, y) in enumerate(subject.examples):
        actions = ACTIONS if row % 3 else ("late", "red")
        said = subject.call(model, "probabilities_one", *subject.situation(x, actions))
        decision = subject.decide(model, x, actions)
        action, probability, identity = decision
        if action not in said:
            broken(f"one of the actions {quoted(actions)}", typed(action))
        if not probability > 0.0 or abs(probability - said[action]) > 1e-12:
            broken(f"the probability {said[action]!r} of {quoted(action)}", repr(probability))
        if identity in ids:
            broken("a new id for each decision", f"{identity} again")
        ids.add(identity)
        subject.call(model, "learn_one", identity, y)


@law("late rewards")
def rewards_arrive_in_any_order(subject: PolicySubject) -> None:
    """Rewards may arrive late and in any order; the policy equals one that learned them from a log."""
    for step in (1, -1, 7):
        late, log = subject.fresh(), subject.fresh()
        # Both know all actions from the start.
        subject.decide(log, subject.rows[0])
        decisions = [subject.decide(late, x) for x, _ in subject.examples]
        if late.pending != len(decisions):
            broken(f"{len(decisions)} decisions pending", repr(late.pending))
        rows = list(range(len(decisions)))
        for row in rows[::step] if step != 7 else sorted(rows, key=lambda row: (row % 7, row)):
            (x, y), decision = subject.examples[row], decisions[row]
            subject.call(late, "learn_one", decision.id, y)
            context = {"x": dict(x), "actions": list(ACTIONS)} if subject.uses_context else {}
            taken = {"action": decision.action, "reward": y, "probability": decision.probability}
            subject.call(log, "learn_one", **context, **taken)
        if late.pending != 0:
            broken("no decision pending", repr(late.pending))
        # The draws of the two differ in number, so a policy that draws while it learns is not compared.
        if not subject.uses_context:
            for x in subject.rows[:1]:
                one, other = subject.ask(late, x), subject.ask(log, x)
                if not same(one, other):
                    broken("late rewards to be learned as from a log", f"{quoted(one)} instead of {quoted(other)}")


@law("ids")
def ids_are_learned_once(subject: PolicySubject) -> None:
    """A second reward for a decision, and an id that was never given, are refused and change nothing."""
    model = subject.fresh()
    for x, _ in subject.examples[:6]:
        subject.decide(model, x)
    subject.call(model, "learn_one", 2, 0.5)
    state = subject.unchanged(model)
    for wrong in (2, 6, -1, 10**30, "text", None, math.nan):
        learn = lambda wrong=wrong: subject.call(model, "learn_one", wrong, 0.5)  # noqa: E731
        if not subject.refuses(learn, f"the id {quoted(wrong)}"):
            broken(f"the id {quoted(wrong)} to be refused with a ValueError or TypeError", "no error")
        state.check(f"the id {quoted(wrong)} was refused")


@law("bad rewards")
def bad_rewards_are_refused(subject: PolicySubject) -> None:
    """A reward or probability that is missing or out of range is refused, and the decision still waits."""
    model = subject.taught(subject.fresh(), subject.examples[:5])
    x, y = subject.examples[5]
    decision = subject.decide(model, x)
    log = {"x": x, "actions": list(ACTIONS)} if subject.uses_context else {}
    state = subject.unchanged(model)
    for reward in _BAD_REWARDS:
        for given in ({"id": decision.id}, {"action": "red", **log}, {"action": "unseen", **log}):
            arguments = {**given, "reward": reward}
            if not subject.refuses(lambda: subject.call(model, "learn_one", **arguments), f"{quoted(reward)}"):  # noqa: B023
                broken(f"the reward {quoted(reward)} to be refused", "no error")
            state.check(f"the reward {quoted(reward)} was refused")
    for probability in _BAD_PROBABILITIES:
        arguments = {"action": "red", "reward": y, "probability": probability, **log}
        if not subject.refuses(lambda: subject.call(model, "learn_one", **arguments), f"{quoted(probability)}"):  # noqa: B023
            broken(f"the probability {quoted(probability)} to be refused", "no error")
        state.check(f"the probability {quoted(probability)} was refused")
    subject.call(model, "learn_one", decision.id, y)


@law("bad actions")
def bad_actions_are_refused(subject: PolicySubject) -> None:
    """No actions at all, and an action twice, are refused and change nothing."""
    model = subject.taught(subject.fresh(), subject.examples[:5])
    x = subject.rows[0]
    state = subject.unchanged(model)
    for actions in ([], ["red", "red"], ["new", "red", "new"], [1, True]):
        for verb in ("decide_one", "probabilities_one"):
            call = lambda verb=verb, actions=actions: subject.call(model, verb, *subject.situation(x, actions))  # noqa: E731
            if not subject.refuses(call, f"the actions {quoted(actions)}"):
                broken(f"{verb} to refuse the actions {quoted(actions)}", "no error")
            state.check(f"the actions {quoted(actions)} were refused")
