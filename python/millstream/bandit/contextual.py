"""Any regressor as the model of rewards, under any explorer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream._native import Native
from millstream.bandit import explore as explorers
from millstream.bandit.base import Policy
from millstream.bandit.context import ContextualPolicy
from millstream.bandit.explore import Explorer
from millstream.errors import InvalidType, InvalidValue

__all__ = ["Contextual"]


class Contextual(ContextualPolicy):
    """Any regressor as the model of rewards, under any explorer.

    Without a model, the rewards are learned by exact least squares, as `LinUCB` does; with the default explorer
    this has the lowest regret in our benchmarks. Pass a model if the number of weights is large (the cost of a
    linear model depends only on the features present) or if the reward is not linear in products (trees, forests,
    kernels, your own class).

    A linear model receives the features of context and action and their products: without products, the context
    could not change which action is best. Other models receive the features without products.

    Parameters
    ----------
    model
        Regressor of the reward: any native model or pipeline, or your own in Python; None for exact least squares.
    explore
        Explorer, or its name in lower case: see `bandit.explore`. None for `RegCB` with least squares, otherwise
        `SquareCB`.
    estimate
        How the rewards of a round become examples. "dm" learns the action taken as it is; "mtr" weights it by
        1 / (K p), where p is its probability, and with `SquareCB` by 1 / K as VW does; "ips" learns r / p for the
        action taken and 0 for the others; "dr" learns the prediction of a second model for all actions, plus its
        error over p for the action taken. None for "dm" with least squares or `RegCB`, otherwise "mtr".
    reward_range
        Lowest and highest reward; others are refused, and the model learns the difference to the middle. None for
        any finite reward.
    products
        Whether the model gets products of context and action; None for linear models only.
    l2
        Penalty of the least squares.
    max_pending
        Number of later decisions after which a decision without a reward is dropped and counted in `dropped`.
    max_features
        Largest number of weights of the least squares, or of features and products; None for 4096 and 2^24.
    seed
        Seed of the draws.

    Examples
    --------
    >>> from millstream import bandit, linear_model
    >>> policy = bandit.Contextual(
    ...     linear_model.LinearRegression(optimizer="adaptive"), explore="squarecb", reward_range=[0, 1]
    ... )
    >>> for hour in range(200):
    ...     x = {"morning": float(hour % 24 < 12)}
    ...     decision = policy.decide_one(x, ["coffee", "tea"])
    ...     policy.learn_one(decision.id, float((decision.action == "coffee") == (x["morning"] == 1.0)))
    >>> probabilities = policy.probabilities_one({"morning": 1.0}, ["coffee", "tea"])
    >>> probabilities["coffee"] > 0.9
    True

    References
    ----------
    Bietti, A., Agarwal, A. and Langford, J. (2021). A contextual bandit bake-off.
    """

    name = "bandit.Contextual"

    def __new__(cls, model: Any = None, *args: Any, **others: Any) -> Any:
        if cls is Contextual and not (model is None or isinstance(model, (Native, dict, str))):
            from millstream.bandit.python_contextual import PythonContextual

            return PythonContextual(model, *args, **others)
        return super().__new__(cls)

    def __init__(
        self,
        model: Any = None,
        explore: Explorer | Mapping[str, Any] | str | None = None,
        estimate: str | None = None,
        reward_range: list[float] | tuple[float, float] | None = None,
        products: bool | None = None,
        l2: float = 1.0,
        max_pending: int = 10000,
        max_features: int | None = None,
        seed: int = 0,
    ) -> None:
        names = {name.lower(): name for name in explorers.__all__ if name != "Explorer"}
        if isinstance(explore, str):
            explore = explore.replace("_", "").lower() if explore.isidentifier() else explore
        elif isinstance(explore, (Policy, ContextualPolicy)):
            kind = type(explore).__name__
            hint = f"; write bandit.explore.{kind}(…)" if kind.lower() in names else ""
            raise InvalidType(f"{self.name}: explore must be an explorer, got the policy bandit.{kind}{hint}")
        if isinstance(explore, str) and explore.isidentifier() and explore.lower() not in names:
            raise InvalidValue(f"{self.name}: explore must be one of {', '.join(sorted(names))}, got {explore!r}")
        super().__init__(
            model=model,
            explore=explore,
            estimate=estimate,
            reward_range=reward_range,
            products=products,
            l2=l2,
            max_pending=max_pending,
            max_features=max_features,
            seed=seed,
        )
