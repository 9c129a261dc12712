"""A route: a champion that serves predictions, and challengers that predict and learn the same events."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue
from millstream.serve.promotion import log_evidence
from millstream.serve.served_model import ServedModel

__all__ = ["PromotionRule", "Route"]

_MODES = ("shadow", "split")
_MOST_PROMOTIONS = 100


class PromotionRule:
    """A rule for automatic promotion: a metric, a minimum number of labels, and a significance level.

    The metric of the challenger must be better than that of the champion, and the sequential test in `promotion`
    must reject the hypothesis that it is no better. The significance level is divided by the number of
    challengers.
    """

    def __init__(self, min_labels: int = 1000, significance: float = 0.01, metric: str | None = None) -> None:
        if not isinstance(min_labels, int) or isinstance(min_labels, bool) or min_labels < 1:
            raise InvalidValue(f"promote.min_labels must be an integer >= 1, got {min_labels!r}")
        if not isinstance(significance, (int, float)) or not 0 < significance < 1:
            raise InvalidValue(f"promote.significance must be in (0, 1), got {significance!r}")
        self.min_labels, self.significance, self.metric = min_labels, float(significance), metric

    @classmethod
    def of(cls, given: Any) -> PromotionRule | None:
        """The rule in a request; None allows only manual promotion."""
        if given is None or isinstance(given, cls):
            return given
        if not isinstance(given, dict) or set(given) - {"min_labels", "significance", "metric"}:
            raise InvalidType("promote must be an object with min_labels, significance and metric")
        return cls(**given)

    def describe(self) -> dict[str, Any]:
        """The rule as plain data."""
        return {"min_labels": self.min_labels, "significance": self.significance, "metric": self.metric}


class Route:
    """Champion and challengers of a stream.

    In "shadow" mode, the champion serves every request. In "split" mode, a challenger serves its fraction of the
    keys; a given key (or id, if there is no key) is always served by the same model.
    """

    def __init__(
        self,
        name: str,
        champion: str,
        challengers: Sequence[str] = (),
        *,
        mode: str = "shadow",
        split: Mapping[str, float] | None = None,
        rule: PromotionRule | None = None,
    ) -> None:
        self.name, self.champion, self.challengers = name, champion, list(challengers)
        if len(set(self.members)) != len(self.members):
            raise InvalidValue(f"route {quoted(name)}: a model is listed twice")
        if mode not in _MODES:
            raise InvalidValue(f"route.mode must be one of {', '.join(_MODES)}, got {quoted(str(mode))}")
        self.mode, self.rule = mode, rule
        if split is not None and not isinstance(split, Mapping):
            raise InvalidType(f"route.split must be an object of fractions, got {typed(split)}")
        self.split = dict(split or {})
        for model, fraction in self.split.items():
            if model not in self.challengers:
                raise InvalidValue(f"route.split: {quoted(model)} is not a challenger")
            if not isinstance(fraction, (int, float)) or isinstance(fraction, bool) or not 0 <= fraction <= 1:
                raise InvalidValue(f"route.split.{model} must be in [0, 1], got {fraction!r}")
        if sum(self.split.values()) > 1:
            raise InvalidValue(
                f"route.split: the fractions must add up to at most 1, got {sum(self.split.values())}"
            )
        #: Wins and defeats of each challenger against the current champion.
        self.duels: dict[str, list[int]] = {model: [0, 0] for model in self.challengers}
        self.labels = 0
        self.promotions: list[dict[str, Any]] = []

    @property
    def members(self) -> list[str]:
        """All models, the champion first."""
        return [self.champion, *self.challengers]

    def serving(self, key: str) -> str:
        """The model that serves a key."""
        if self.mode == "shadow" or not self.split:
            return self.champion
        digest = hashlib.blake2b(f"{self.name}\0{key}".encode(), digest_size=8).digest()
        position = int.from_bytes(digest, "big") / 2**64
        for model in self.challengers:
            position -= self.split.get(model, 0.0)
            if position < 0:
                return model
        return self.champion

    def observe(
        self, losses: Mapping[str, float | None], seq: int, time: int, models: Mapping[str, ServedModel]
    ) -> None:
        """Count which model predicted a label better, and promote a challenger if the rule is met."""
        own = losses.get(self.champion)
        if own is None:
            return
        self.labels += 1
        for model in self.challengers:
            other = losses.get(model)
            if other is not None and other != own:
                self.duels[model][0 if other < own else 1] += 1
        rule = self.rule
        if rule is None or self.labels < rule.min_labels:
            return
        limit = -math.log(rule.significance / max(len(self.challengers), 1))
        for model in self.challengers:
            evidence = log_evidence(*self.duels[model])
            if evidence >= limit and self._is_better(models[model], models[self.champion], rule):
                why = self._reasons(model, models, rule) | {"log_evidence": evidence, "limit": limit}
                self.promote(model, seq, time, why)
                return

    def _is_better(self, challenger: ServedModel, champion: ServedModel, rule: PromotionRule) -> bool:
        name = rule.metric or (champion.metric_names[0] if champion.metric_names else None)
        theirs, ours = challenger.metric_named(name), champion.metric_named(name)
        return theirs is not None and ours is not None and bool(theirs.is_better_than(ours))

    def _reasons(self, model: str, models: Mapping[str, ServedModel], rule: PromotionRule) -> dict[str, Any]:
        wins, defeats = self.duels[model]
        return {
            "by": "rule",
            "rule": rule.describe(),
            "labels": self.labels,
            "wins": wins,
            "defeats": defeats,
            "challenger": models[model].figures(),
            "champion": models[self.champion].figures(),
        }

    def promote(self, model: str, seq: int, time: int, why: Any) -> None:
        """Make a challenger the champion; the champion becomes a challenger, and the duels restart."""
        before = self.champion
        self.challengers = [before if each == model else each for each in self.challengers]
        self.champion = model
        self.split = {each: share for each, share in self.split.items() if each in self.challengers}
        self.duels, self.labels = {each: [0, 0] for each in self.challengers}, 0
        self.promotions.append({"seq": seq, "time": time, "champion": model, "before": before, "why": why})
        del self.promotions[:-_MOST_PROMOTIONS]

    def describe(self) -> dict[str, Any]:
        """The route as plain data, with the state of its duels."""
        return {
            "route": self.name,
            "champion": self.champion,
            "challengers": self.challengers,
            "mode": self.mode,
            "split": self.split,
            "promote": None if self.rule is None else self.rule.describe(),
            "labels": self.labels,
            "duels": {
                model: {"wins": duel[0], "defeats": duel[1], "log_evidence": log_evidence(*duel)}
                for model, duel in self.duels.items()
            },
            "promotions": self.promotions,
        }

    @classmethod
    def of(cls, body: Mapping[str, Any], known: Route | None = None) -> Route:
        """The route in a request; a route with the same models keeps its duels."""
        route = cls(
            body["route"],
            body["champion"],
            body.get("challengers", ()),
            mode=body.get("mode", "shadow"),
            split=body.get("split"),
            rule=PromotionRule.of(body.get("promote")),
        )
        if known is not None:
            route.promotions = known.promotions
            if known.members == route.members:
                route.duels, route.labels = known.duels, known.labels
        return route

    @classmethod
    def restored(cls, described: Mapping[str, Any]) -> Route:
        """The route of a snapshot."""
        route = cls.of(described)
        route.labels, route.promotions = described["labels"], list(described["promotions"])
        route.duels = {model: [duel["wins"], duel["defeats"]] for model, duel in described["duels"].items()}
        return route
