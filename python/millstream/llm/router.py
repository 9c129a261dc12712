"""A router that chooses a model for each query, under costs and a budget."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from millstream._core import Decision
from millstream._echo import quoted, typed
from millstream._part import from_description, shown_part
from millstream.bandit.base import finite_number
from millstream.bandit.context import ContextualPolicy
from millstream.bandit.linear import LinUCB
from millstream.errors import InvalidType, InvalidValue
from millstream.llm.router_arguments import (
    LARGEST_STEP,
    MOST_QUERIES,
    NAME,
    cost_of,
    listed,
    positive,
    reward_range_of,
)
from millstream.llm.saved import MOST_COUNTED, Saved, packed, unpacked

__all__ = ["Router"]


class Router(Saved):
    """Chooses a model for each query under costs and a budget, and learns from late rewards.

    A contextual bandit policy predicts the reward of each model from features of the query, such as its embedding.
    The router chooses by reward minus `price` times cost. The price of a unit of cost rises when spending
    exceeds the budget and falls otherwise, so that expensive models are called where they help most. Costs are
    fixed, passed for one query, or learned from the query by ridge regression. Models may be added and removed.

    Rewards and costs may arrive in any order. If the policy uses least squares (any policy except `Contextual`
    over a model), the order of arrivals between two decisions changes the state only by rounding errors.

    **Guarantee.** With known costs, for every sequence of queries and rewards, the sum of costs exceeds the budget
    per query times the number of queries by at most `price` / `price_step`. The price is bounded if predicted
    rewards are bounded and some model costs less than the budget; the average excess then decreases as
    1 / queries. With known costs, `total_budget` is never exceeded: models that cost more than the remaining
    budget are not offered. With learned costs, both statements hold for predicted costs, and actual costs are
    charged when they arrive.

    Parameters
    ----------
    models
        Dict of models to their cost per query, None to learn it; or a list of models.
    policy
        `bandit.LinUCB`, `LinThompson` or `Contextual` that predicts rewards; None for `bandit.LinUCB`.
    budget
        Largest average cost of a query; None for none.
    total_budget
        Largest sum of costs over all `queries`; the remainder is divided among the remaining queries.
    queries
        Number of queries that `total_budget` covers.
    reward_range
        Lowest and highest reward, for the steps of the price and for the default policy.
    step
        Step size of the price: the largest change per query, as a fraction of the reward range per unit of budget.
    max_pending
        Number of later decisions after which a decision without a reward is dropped.
    seed
        Random seed of the default policy.

    Examples
    --------
    The large model is better only for hard queries and costs ten times as much.

    >>> import random
    >>> from millstream import llm
    >>> router, draw = llm.Router({"small": 0.1, "large": 1.0}, budget=0.4), random.Random(0)
    >>> for _ in range(3000):
    ...     query = {"hard": float(draw.random() < 0.3)}
    ...     decision = router.decide_one(query)
    ...     good = 0.9 if decision.action == "large" or query["hard"] == 0.0 else 0.2
    ...     router.learn_one(decision.id, float(draw.random() < good))
    >>> router.decide_one({"hard": 1.0}).action, router.decide_one({"hard": 0.0}).action
    ('large', 'small')
    >>> round(router.spent / router.decided, 2)
    0.37

    References
    ----------
    Agrawal, S. and Devanur, N. R. (2016). Linear contextual bandits with knapsacks. NeurIPS, algorithm 1.
    Badanidiyuru, A., Kleinberg, R. and Slivkins, A. (2013). Bandits with knapsacks. FOCS.
    """

    name = NAME

    def __init__(
        self,
        models: Mapping[Any, float | None] | Iterable[Any],
        policy: ContextualPolicy | None = None,
        budget: float | None = None,
        total_budget: float | None = None,
        queries: int | None = None,
        reward_range: tuple[float, float] | list[float] = (0.0, 1.0),
        step: float = 0.02,
        max_pending: int = 10_000,
        seed: int = 0,
    ) -> None:
        if isinstance(max_pending, bool) or not isinstance(max_pending, int) or max_pending < 1:
            raise InvalidValue(f"{NAME}: max_pending must be an integer >= 1, got {quoted(max_pending)}")
        self.max_pending, self.seed = max_pending, seed
        low, high = reward_range_of(reward_range)
        self.reward_range = (low, high)
        self.step = positive("step", step)
        self.budget = None if budget is None else positive("budget", budget)
        self.total_budget = None if total_budget is None else positive("total_budget", total_budget)
        if budget is not None and total_budget is not None:
            raise InvalidValue(f"{NAME}: budget and total_budget are two forms of one limit; pass one of them")
        if (total_budget is None) != (queries is None):
            raise InvalidValue(f"{NAME}: total_budget needs queries, the number of queries it is for")
        if queries is not None and (
            isinstance(queries, bool) or not isinstance(queries, int) or not 1 <= queries <= MOST_QUERIES
        ):
            raise InvalidValue(
                f"{NAME}: queries must be an integer in [1, {MOST_QUERIES:,}], got {quoted(queries)}"
            )
        self.queries = queries
        if policy is not None and not isinstance(policy, ContextualPolicy):
            raise InvalidType(
                f"{NAME}: policy must be bandit.LinUCB, bandit.LinThompson or bandit.Contextual over a native "
                f"model, got {shown_part(policy)}"
            )
        self._given = None if policy is None else policy.clone()
        settings: Any = {"max_pending": max_pending, "seed": seed}
        #: The policy that predicts rewards.
        self.policy: Any = LinUCB(reward_range=[low, high], **settings) if policy is None else policy.clone()
        #: Ridge regressions of the costs that are learned.
        self._costs: Any = LinUCB(max_pending=max_pending)
        self._models: dict[Any, float | None] = {}
        for model, cost in listed(models).items():
            self.add(model, cost)
        self._first = dict(self._models)
        #: Sum of the costs of all decisions: predicted ones until the actual ones are learned.
        self.spent = 0.0
        #: Number of decisions.
        self.decided = 0
        self._price = 0.0
        # Differences of actual costs from predicted ones, which the next decision charges.
        self._unbilled = 0.0
        # By decision that waits for its reward or cost: the charged cost, and the id of the cost if it is learned.
        self._open: dict[int, tuple[float, int | None]] = {}

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        names = ("budget", "total_budget", "queries", "reward_range", "step", "max_pending", "seed")
        return {
            "models": dict(self._first),
            "policy": self._given,
            **{name: getattr(self, name) for name in names},
        }

    def describe(self) -> dict[str, Any]:
        """The complete description as plain data."""
        found = super().describe()["parameters"]
        # A list: keys of JSON would be strings.
        return {"name": NAME, "parameters": {**found, "models": [list(each) for each in self._first.items()]}}

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> Router:
        models = dict(parameters["models"])
        return cls(**{**parameters, "models": models, "policy": from_description(parameters["policy"])})

    @property
    def models(self) -> dict[Any, float | None]:
        """The models that are offered, with their costs; None for costs that are learned."""
        return dict(self._models)

    @property
    def price(self) -> float:
        """The reward that a unit of cost must currently add."""
        return self._price

    @property
    def price_step(self) -> float:
        """Increase of the price for each unit of cost above the budget."""
        per_query = self._per_query(0.0, 0)
        if per_query is None:
            return 0.0
        largest: float = max([per_query, *(cost for cost in self._first.values() if cost is not None)])
        step = self.step * (self.reward_range[1] - self.reward_range[0]) / (per_query * largest)
        return min(step, LARGEST_STEP)

    @property
    def pending(self) -> int:
        """Number of decisions that wait for their rewards."""
        return int(self.policy.pending)

    @property
    def dropped(self) -> int:
        """Number of decisions that were dropped without a reward."""
        return int(self.policy.dropped)

    @property
    def learned(self) -> int:
        """Number of rewards that were learned."""
        return int(self.policy.learned)

    def add(self, model: Any, cost: float | None = None) -> None:
        """Offer a model, or change its cost; None to learn its costs."""
        if isinstance(model, np.generic):
            model = model.item()
        if not isinstance(model, (bool, int, str)):
            raise InvalidType(f"{NAME}: a model must be a bool, int or str, got {typed(model)}")
        self._models[model] = None if cost is None else cost_of(cost)

    def remove(self, model: Any) -> None:
        """Stop offering a model. Its learned state is kept, and its open decisions can still be learned."""
        if not isinstance(model, Hashable) or model not in self._models:
            raise InvalidValue(f"{NAME}: there is no model {quoted(model)}")
        if len(self._models) == 1:
            raise InvalidValue(f"{NAME}: the last model cannot be removed, got {quoted(model)}")
        del self._models[model]

    def rewards_one(self, x: Any = None) -> dict[Any, float]:
        """The predicted reward of each model; changes nothing."""
        found: dict[Any, float] = self.policy.rewards_one(x, list(self._models))
        return found

    def costs_one(self, x: Any = None, costs: Mapping[Any, float] | None = None) -> dict[Any, float]:
        """The cost of each model, predicted if it is learned; changes nothing."""
        if costs is not None and not isinstance(costs, Mapping):
            raise InvalidType(f"{NAME}: costs must be a dict of costs by model, got {typed(costs)}")
        given = {} if costs is None else {model: cost_of(cost) for model, cost in costs.items()}
        if unknown := [model for model in given if model not in self._models]:
            raise InvalidValue(f"{NAME}: costs are of models that are offered, got {quoted(unknown[0])}")
        unknown = [model for model, cost in self._models.items() if cost is None and model not in given]
        predicted = self._costs.rewards_one(x, unknown) if unknown else {}
        found: dict[Any, float] = {}
        for model, cost in self._models.items():
            known = given.get(model, cost)
            found[model] = max(predicted[model], 0.0) if known is None else known
        return found

    def probabilities_one(self, x: Any = None, costs: Mapping[Any, float] | None = None) -> dict[Any, float]:
        """The probability of each model that can be afforded; changes nothing."""
        offered = self._offered(self.costs_one(x, costs))
        found: dict[Any, float] = self.policy.probabilities_one(x, list(offered), prices=self._prices(offered))
        return found

    def _offered(self, costs: dict[Any, float]) -> dict[Any, float]:
        """The models that the remaining budget can pay for."""
        if self.total_budget is None:
            return costs
        left = self.total_budget - self.spent
        offered = {model: cost for model, cost in costs.items() if cost <= left}
        if not offered:
            cheapest = min(costs.values())
            raise InvalidValue(
                f"{NAME}: total_budget must be larger for more queries, {max(left, 0.0):g} of "
                f"{self.total_budget:g} is left and the cheapest model costs {cheapest:g}"
            )
        return offered

    def _prices(self, offered: dict[Any, float]) -> list[float] | None:
        return [self._price * cost for cost in offered.values()] if self._price else None

    def _per_query(self, spent: float, decided: int) -> float | None:
        """Average cost that the budget allows for the next query."""
        if self.total_budget is None or self.queries is None:
            return self.budget
        return max(self.total_budget - spent, 0.0) / max(self.queries - decided, 1)

    def decide_one(self, x: Any = None, costs: Mapping[Any, float] | None = None) -> Decision:
        """Choose a model for a query. Its reward is learned later by `learn_one(id, reward)`.

        `x` are features of the query: a dict, a vector or None. `costs` are known costs of this query, by model.
        """
        found = self.costs_one(x, costs)
        offered = self._offered(found)
        decision = self.policy.decide_one(x, list(offered), prices=self._prices(offered))
        charged = offered[decision.action]
        learns = self._models[decision.action] is None and not (costs and decision.action in costs)
        key = self._costs.decide_one(x, [decision.action]).id if learns else None
        per_query = self._per_query(self.spent, self.decided)
        if per_query is not None:
            over = charged + self._unbilled - per_query
            self._price = max(self._price + self.price_step * over, 0.0)
        self._unbilled = 0.0
        self.spent += charged
        self.decided += 1
        self._open[decision.id] = (charged, key)
        while self._open and (oldest := next(iter(self._open))) <= decision.id - self.max_pending:
            del self._open[oldest]
        return decision  # type: ignore[no-any-return]

    def learn_one(
        self,
        id: int | Decision,  # noqa: A002
        reward: float | None = None,
        cost: float | None = None,
    ) -> None:
        """Learn the reward of a decision, its actual cost, or both, at any later time and in any order."""
        key = id.id if isinstance(id, Decision) else id
        if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
            raise InvalidType(f"{NAME}: the id of a decision must be an integer, got {typed(id)}")
        key = int(key)
        if reward is None and cost is None:
            raise InvalidType(f"{NAME}: learn_one needs the id of a decision, and its reward or its cost")
        if cost is not None:
            cost = cost_of(cost)
            if key not in self._open:
                known = 0 <= key < self.decided
                reason = (
                    "has its cost already, or was dropped" if known else f"was never made ({self.decided} were)"
                )
                raise InvalidValue(f"{NAME}: decision {quoted(key)} {reason}")
        if reward is not None:
            self.policy.learn_one(key, finite_number(NAME, "reward", reward))
        if cost is not None:
            charged, learned = self._open.pop(key)
            if learned is not None:
                self._costs.learn_one(learned, cost)
            self.spent += cost - charged
            self._unbilled += cost - charged

    def _count(self) -> int:
        return self.learned

    def _state(self) -> dict[str, Any]:
        return {
            "models": [list(each) for each in self._models.items()],
            "policy": packed(self.policy),
            "costs": packed(self._costs),
            "numbers": [self.spent, self._price, self._unbilled],
            "decided": self.decided,
            "open": [[key, *entry] for key, entry in self._open.items()],
        }

    def _adopt(self, state: dict[str, Any]) -> None:
        policy, costs = unpacked(state["policy"]), unpacked(state["costs"])
        if policy.describe() != self.policy.describe() or costs.describe() != self._costs.describe():
            raise ValueError("policy")
        self.policy, self._costs, self._models = policy, costs, {}
        for model, cost in state["models"]:
            self.add(model, cost)
        self.spent, self._price, self._unbilled = (finite_number(NAME, "state", n) for n in state["numbers"])
        self.decided = int(state["decided"])
        self._open = {
            int(key): (cost_of(charged), None if learned is None else int(learned))
            for key, charged, learned in state["open"]
        }
        if not 0 <= self.decided <= MOST_COUNTED:
            raise ValueError("decided")
        keys = list(self._open)
        ordered = all(one < other for one, other in itertools.pairwise(keys))
        if not (self._models and ordered and self._price >= 0.0 and all(0 <= key < self.decided for key in keys)):
            raise ValueError("decisions")

    def __repr__(self) -> str:
        defaults = inspect.signature(Router.__init__).parameters
        settings = {name: value for name, value in self.parameters.items() if name != "models"}
        changed = [f"{name}={value!r}" for name, value in settings.items() if value != defaults[name].default]
        return f"Router({', '.join([repr(self._models), *changed])})"
