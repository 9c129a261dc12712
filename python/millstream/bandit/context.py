"""The verbs of policies with context that are implemented in Rust."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np

from millstream import _core
from millstream._core import Decision
from millstream._echo import typed
from millstream._measures import Measure
from millstream._python_loop import check_on_error
from millstream.bandit.base import Decisions, from_log
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import POLICY, Role
from millstream.rounds import Ragged, as_rounds

__all__ = ["ContextualPolicy"]


class ContextualPolicy(_core.ContextualPolicy, Measure):
    """A policy that decides by the features of a context and of its actions.

    A context `x` is a dict of features, a vector of numbers or None. `actions` are a list of labels, a dict from
    label to features, or a list of features (dicts, vectors or a matrix), whose labels are their indices. A string
    feature is a feature of its own ("city=Bern"); a missing one counts as 0.
    """

    role: ClassVar[Role] = POLICY
    #: Decisions depend on features: the verbs are `decide_one(x, actions)` and so on.
    uses_context: ClassVar[bool] = True

    def probabilities_one(self, x: Any, actions: Any, *, prices: Any = None) -> dict[Any, float]:
        """The probability of each action; changes nothing. `prices` are those of `decide_one`."""
        return self._values_one(x, actions, False, prices)

    def rewards_one(self, x: Any, actions: Any) -> dict[Any, float]:
        """The predicted reward of each action; changes nothing."""
        return self._values_one(x, actions, True)

    def decide_one(self, x: Any, actions: Any, *, prices: Any = None) -> Decision:
        """Choose an action. The reward is learned later by `learn_one(id, reward)`.

        `prices` are numbers in the order of `actions`, in units of the reward. They are subtracted from the
        predicted rewards when the action is chosen, and are not learned: prices may change with each decision.
        """
        return Decision(*self._decide_one(x, actions, prices))

    def learn_one(
        self,
        id: Any = None,  # noqa: A002
        reward: Any = None,
        *log: Any,
        x: Any = None,
        actions: Any = None,
        action: Any = None,
        probability: Any = None,
    ) -> None:
        """Learn the reward of a decision, or a round of a log.

        `learn_one(id, reward)` learns the reward of a decision, whenever it arrives and in any order.
        `learn_one(x=x, actions=actions, action=action, reward=reward, probability=probability)` learns a round
        that another policy decided, and so does `learn_one(x, actions, action, reward, probability)`.
        """
        if log:
            x, actions, action, reward, probability = from_log(
                str(self.name), (id, reward, *log), (x, actions, action), probability
            )
            id = None  # noqa: A001
        if id is not None and x is None and actions is None and action is None and probability is None:
            self._learn_one(id, reward)
        else:
            self._learn_one(id, reward, x=x, actions=actions, action=action, probability=probability)

    def probabilities_many(self, rounds: Any) -> Ragged:
        """The probabilities of rounds, exactly as by `probabilities_one`; changes nothing."""
        rounds = as_rounds(rounds)
        return Ragged(self._values_many(rounds.batch, False), rounds.counts)

    def rewards_many(self, rounds: Any) -> Ragged:
        """The predicted rewards of rounds, exactly as by `rewards_one`; changes nothing."""
        rounds = as_rounds(rounds)
        return Ragged(self._values_many(rounds.batch, True), rounds.counts)

    def decide_many(self, rounds: Any) -> Decisions:
        """Choose an action in each round, exactly as `decide_one` would."""
        rounds = as_rounds(rounds)
        places, probabilities, ids = self._decide_many(rounds.batch)
        return Decisions(rounds.labels_at(places), probabilities, ids)

    def learn_many(
        self,
        rounds: Any = None,
        *,
        ids: Any = None,
        rewards: Any = None,
        on_error: str = "raise",
    ) -> int:
        """Learn the rounds of a log, or the rewards of decisions, one after the other, exactly as `learn_one`
        would.

        Rounds without a reward are not learned. `on_error` defines what happens at a round that cannot be learned:
        with "raise" the call fails and the policy is unchanged; with "stop" it fails and keeps the rounds before;
        with "skip" the round is skipped. Returns the number of skipped rounds.
        """
        check_on_error(on_error)
        if (rounds is None) == (ids is None):
            raise InvalidType(f"{self.name}: learn_many needs rounds, or the ids of decisions and their rewards")
        if rounds is not None:
            return self._learn_rounds(as_rounds(rounds).batch, False, on_error)[1]
        if rewards is None:
            raise InvalidType(f"{self.name}: learn_many needs the rewards of the decisions")
        places, numbers = _ids(str(self.name), ids), _rewards(str(self.name), rewards)
        if len(numbers) != len(places):
            raise InvalidType(f"{self.name}: ids and rewards differ in number: {len(places)} and {len(numbers)}")
        return self._learn_ids(places, numbers, on_error)

    def step_many(self, rounds: Any, *, on_error: str = "raise") -> Ragged:
        """Learn the rounds of a log, and return the probabilities of each round from before it was learned."""
        check_on_error(on_error)
        rounds = as_rounds(rounds)
        return Ragged(self._learn_rounds(rounds.batch, True, on_error)[0], rounds.counts)

    def pull(self, actions: Any, context: Any = None) -> Any:
        """Choose an action, as River's policies do: its reward is learned by `update(action, reward, context)`."""
        return self.decide_one(context, actions).action

    def update(self, action: Any, reward: float, context: Any = None) -> None:
        """Learn the reward of an action, as River's policies do."""
        self.learn_one(x=context, actions=[action], action=action, reward=reward)

    def inspect(self) -> Any:
        """The state as plain data: the number of learned rewards, and the weights by feature."""
        return json.loads(self._inspect())

    @property
    def weights(self) -> dict[str, Any]:
        """The weights of the least squares: of each action without features, and of the products."""
        state = self.inspect()
        return {"arms": state.get("arms", {}), "products": state.get("products", {})}


def _ids(who: str, given: Any) -> Any:
    """A column of ids as unsigned integers."""
    column = np.asarray(given)
    if column.size == 0:
        return np.empty(0, dtype=np.uint64)
    if column.dtype == object and all(isinstance(key, Decision) for key in column.flat):
        column = np.array([key.id for key in column.flat])
    if column.dtype.kind not in "iu":
        raise InvalidType(f"{who}: ids must be integers, got {typed(given)}")
    if column.min() < 0:
        raise InvalidValue(f"{who}: no decision has the id {column.min()}")
    return np.ascontiguousarray(column, dtype=np.uint64).reshape(-1)


def _rewards(who: str, given: Any) -> Any:
    """A column of rewards as floats."""
    try:
        return np.ascontiguousarray(given, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        raise InvalidType(f"{who}: rewards must be numbers, got {typed(given)}") from None
