"""Vowpal Wabbit's options for contextual bandits, as policies of millstream."""

from __future__ import annotations

from typing import Any, Protocol

from millstream._echo import quoted
from millstream.compat.calls import Call
from millstream.errors import InvalidValue

__all__ = ["POLICIES", "policy", "policy_loop", "reads_rounds"]

#: Options that make the model a policy.
POLICIES = ("--cb_explore_adf", "--cb_adf", "--cb_explore", "--cb", "--ccb_explore_adf", "--cats", "--cbify")

#: The estimates of VW, and ours; "sm" is for a softmax policy.
_ESTIMATES = {"mtr": "mtr", "ips": "ips", "dr": "dr", "dm": "dm", "sm": "ips"}


class Options(Protocol):
    """The options of a line."""

    def __contains__(self, name: str) -> bool: ...
    def note(self, words: str) -> None: ...
    def text(self, name: str, default: str = "") -> str: ...
    def number(self, name: str, default: float) -> float: ...
    def integer(self, name: str, default: int) -> int: ...
    def all(self, *names: str) -> list[str]: ...


def reads_rounds(options: Options) -> bool:
    """Whether the file of the line has rounds that a reader of millstream reads."""
    return any(name in options for name in ("--cb_explore_adf", "--cb_adf", "--dsjson"))


def policy(options: Options, optimizer: str | Call) -> Call:
    """The policy of a line."""
    if "--cats" in options:
        return _continuous(options, optimizer)
    made = _contextual(options, optimizer)
    if "--ccb_explore_adf" in options:
        options.note("--ccb_explore_adf: lines with slots are not read; pass rounds to decide_one.")
        return Call("bandit.Slots", (made,))
    for name in ("--cb", "--cb_explore"):
        if name in options:
            options.note(
                f"{name}: lines with one set of features are not read; make rounds with "
                'rounds.Rounds.of, and actions such as ["1", "2"].'
            )
    if "--cbify" in options:
        options.note("--cbify: stream.from_classification makes rounds of labelled rows.")
    return made


def _contextual(options: Options, optimizer: str | Call) -> Call:
    options.note(f"{_chosen(options)}: rewards are negative costs.")
    keywords: dict[str, Any] = {"explore": _explorer(options)}
    kind = options.text("--cb_type", "mtr")
    if kind not in _ESTIMATES:
        raise InvalidValue(f"compat.from_vw: --cb_type must be one of {', '.join(_ESTIMATES)}, got {quoted(kind)}")
    if kind == "sm":
        options.note('--cb_type sm: estimate="ips" is the nearest.')
    if keywords["explore"].function not in ("bandit.explore.RegCB", "bandit.explore.Cover") and kind != "mtr":
        keywords["estimate"] = _ESTIMATES[kind]
    products = options.all("--quadratic", "--interactions", "--cubic")
    is_adf = any(name in options for name in ("--cb_adf", "--cb_explore_adf", "--ccb_explore_adf"))
    if not products and is_adf:
        options.note("without -q, the context cannot matter; products=True forms the products with the actions.")
        keywords["products"] = False
    elif any(len(product) > 2 for product in products) or len(products) > 1:
        options.note(
            "interactions: the policy forms the products of context and action; write others into the features."
        )
    low, high = (
        options.number(name, 0.0) if name in options else None for name in ("--cb_min_cost", "--cb_max_cost")
    )
    if low is not None and high is not None:
        keywords["reward_range"] = [0.0 - high, 0.0 - low]
    member = Call("linear_model.LinearRegression", (), {"optimizer": optimizer})
    return Call("bandit.Contextual", (member,), keywords)


def _chosen(options: Options) -> str:
    return next(name for name in POLICIES if name in options)


def _explorer(options: Options) -> Call:
    epsilon = options.number("--epsilon", 0.05)
    if "--squarecb" in options:
        numbers = options.number("--gamma_scale", 10.0), options.number("--gamma_exponent", 0.5)
        return Call("bandit.explore.SquareCB", () if numbers == (10.0, 0.5) else numbers)
    if "--regcb" in options or "--regcbopt" in options:
        settings: dict[str, Any] = {"optimistic": "--regcbopt" in options}
        return Call("bandit.explore.RegCB", (options.number("--mellowness", 0.1),), settings)
    if "--cover" in options:
        count, psi = options.integer("--cover", 5), options.number("--psi", 1.0)
        return Call("bandit.explore.Cover", (count, psi, 0.0 if "--nounif" in options else epsilon))
    if "--bag" in options:
        greedify = {"greedify": True} if "--greedify" in options else {}
        return Call("bandit.explore.Bag", (options.integer("--bag", 5),), greedify)
    if "--softmax" in options:
        return Call("bandit.explore.Softmax", (options.number("--lambda", 1.0),))
    for name in ("--first", "--rnd", "--synthcover"):
        if name in options:
            options.note(f"{name}: this explorer is not available; SquareCB replaces it.")
            return Call("bandit.explore.SquareCB")
    if not any(name in options for name in ("--cb_explore_adf", "--cb_explore", "--ccb_explore_adf", "--cbify")):
        return Call("bandit.explore.Greedy")
    return Call("bandit.explore.EpsilonGreedy", (epsilon,))


def _continuous(options: Options, optimizer: str | Call) -> Call:
    for name in ("--min_value", "--max_value"):
        if name not in options:
            raise InvalidValue(f"compat.from_vw: --cats needs {name}")
    low, high = options.number("--min_value", 0.0), options.number("--max_value", 1.0)
    count = options.integer("--cats", 4)
    bandwidth = options.number("--bandwidth", (high - low) / count / 2.0)
    options.note("--cats: lines with continuous actions are not read; pass contexts to decide_one.")
    member = Call("linear_model.LinearRegression", (), {"optimizer": optimizer})
    epsilon = Call("bandit.explore.EpsilonGreedy", (options.number("--epsilon", 0.05),))
    return Call("bandit.Continuous", (low, high, bandwidth, member), {"explore": epsilon, "n_actions": count})


def policy_loop(options: Options) -> list[str]:
    """The lines that learn the rounds of a file."""
    if not reads_rounds(options):
        return [
            "decision = model.decide_one(x)" if "--cats" in options else "decision = model.decide_one(x, actions)"
        ]
    if "--testonly" in options:
        return ["probabilities = [model.probabilities_many(rounds) for rounds in reader.chunks()]"]
    return ["for rounds in reader.chunks():", "    probabilities = model.step_many(rounds)"]
