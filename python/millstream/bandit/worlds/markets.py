"""Markets: dynamic pricing, and bidding in auctions."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.bandit.worlds.base import World, count, number, numbers
from millstream.errors import InvalidValue

__all__ = ["Auction", "Pricing"]


class Pricing(World):
    """A shop: the action is a price, and the reward is that price if the customer buys.

    A customer buys with probability 1 / (1 + exp((price - value) / spread)), as long as there is stock. Without
    stock every price has an expected reward of 0. With limited stock the regret compares prices in the present
    round only, so judge policies by the sum of their rewards.

    Parameters
    ----------
    prices
        The prices to choose from. An integer is an action as it is, and another number as a string: 9.5 is "9.5".
    value
        The price at which half of the customers buy.
    spread
        How much customers differ: the scale of the demand curve.
    stock
        Number of items at the start of each season; None has no limit.
    season
        Number of customers after which the stock is filled up.

    Examples
    --------
    >>> from millstream.bandit import worlds
    >>> world = worlds.Pricing([5, 7, 9.5], value=8.0, spread=1.0)
    >>> _, actions = world.round()
    >>> {price: round(revenue, 2) for price, revenue in world.means().items()}
    {5: 4.76, 7: 5.12, '9.5': 1.73}
    """

    reward_range: tuple[float, float]

    def __init__(
        self,
        prices: Sequence[float],
        value: float = 10.0,
        spread: float = 1.0,
        stock: int | None = None,
        season: int = 1000,
    ) -> None:
        self.prices = _amounts(self._who, "prices", prices)
        self.value, self.spread = number(self._who, "value", value), number(self._who, "spread", spread, 0.0)
        self.stock = None if stock is None else count(self._who, "stock", stock)
        self.season = count(self._who, "season", season)
        self.reward_range = (0.0, max(self.prices))
        names = [int(price) if price.is_integer() else repr(price) for price in self.prices]
        described = {"kind": "pricing", "prices": self.prices, "value": self.value, "spread": self.spread}
        self._start(names, {**described, "stock": self.stock, "season": self.season})

    def price(self, action: int | str) -> float:
        """The price that an action stands for."""
        return self.prices[self._indices[action]]


class Auction(World):
    """Ads under a budget: the action is a bid for an impression, in auctions where the winner pays the second
    price.

    The highest other bid is log-normal. An impression that is won is clicked with probability `click`, and a
    click is worth `value`; the reward is that worth less the price. Prices come from a budget; a price above
    what is left of it loses the auction. With a budget the regret compares bids in the present round only, so
    judge policies by the sum of their rewards.

    Parameters
    ----------
    bids
        The bids to choose from. An integer is an action as it is, and another number as a string: 0.5 is "0.5".
    value
        The worth of a click.
    click
        The probability of a click.
    location
        The mean of the logarithm of the highest other bid.
    scale
        The standard deviation of the logarithm of the highest other bid.
    budget
        Budget of each season; None has no limit.
    season
        Number of auctions after which the budget is filled up.

    Examples
    --------
    >>> from millstream.bandit import worlds
    >>> world = worlds.Auction([0.5, 1, 2], value=10.0, click=0.1)
    >>> _, actions = world.round()
    >>> {bid: round(profit, 3) for bid, profit in world.means().items()}
    {'0.5': 0.049, 1: 0.15, 2: -0.003}
    """

    reward_range: tuple[float, float]

    def __init__(
        self,
        bids: Sequence[float],
        value: float = 10.0,
        click: float = 0.1,
        location: float = 0.0,
        scale: float = 0.5,
        budget: float | None = None,
        season: int = 1000,
    ) -> None:
        self.bids = _amounts(self._who, "bids", bids)
        self.value, self.click = (
            number(self._who, "value", value, 0.0),
            number(self._who, "click", click, 0.0, 1.0),
        )
        self.location, self.scale = number(self._who, "location", location), number(self._who, "scale", scale, 0.0)
        self.budget = None if budget is None else number(self._who, "budget", budget, 0.0)
        self.season = count(self._who, "season", season)
        self.reward_range = (-max(self.bids), self.value)
        names = [int(bid) if bid.is_integer() else repr(bid) for bid in self.bids]
        described = {"kind": "auction", "bids": self.bids, "value": self.value, "click": self.click}
        limits = {"budget": self.budget, "season": self.season}
        self._start(names, {**described, "location": self.location, "scale": self.scale, **limits})

    def bid(self, action: int | str) -> float:
        """The bid that an action stands for."""
        return self.bids[self._indices[action]]


def _amounts(who: str, name: str, values: Sequence[float]) -> list[float]:
    found = numbers(who, name, values)
    if any(amount < 0.0 for amount in found) or len(set(found)) != len(found):
        raise InvalidValue(f"{who}: {name} must be different amounts >= 0, got {found}")
    return found
