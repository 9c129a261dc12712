"""The engine of gradient steps with active projection: w ← Π(w − η g) after each round.

Zinkevich (2003), theorem 1; Hazan (2016), theorem 3.1. For nonincreasing rates,
    regret(u) ≤ D² / (2 η_T) + ½ Σ η_t ‖g_t‖²,
where D is the diameter or, on an unbounded set, the largest observed ‖w_t − w₁‖ + ‖u − w₁‖; for a constant rate
‖u − w₁‖ suffices. By default, η_t = D / √(2 Σ_{s≤t} ‖g_s‖²), which makes it √2 D √(Σ ‖g_s‖²) without
knowing T or G (Streeter and McMahan, 2010).

σ-strongly convex losses: η_t = 1 / (σ t) and regret ≤ ½ Σ ‖g_t‖² / (σ t) ≤ G² (1 + ln T) / (2 σ) (Hazan, Agarwal
and Kale, 2007, theorem 1; Hazan, 2016, theorem 3.3).
"""

from __future__ import annotations

import math

import numpy as np

from millstream.oco.lazy import Rate, rate_at
from millstream.oco.learner import Bound, Engine, Terms, checked, over_rate
from millstream.oco.losses import Linear, Loss, MarginLoss, SquaredDistance
from millstream.oco.sets import Set, WholeSpace
from millstream.oco.vectors import Array

__all__ = ["Active"]


class Active(Engine):
    """The decision, and the bound so far."""

    def __init__(self, who: str, decisions: Set, rate: Rate, strong_convexity: float, radius: float) -> None:
        self.who, self.decisions, self.rate, self.strong_convexity = who, decisions, rate, strong_convexity
        self.pace = (decisions.diameter if decisions.bounded else radius) / math.sqrt(2.0)
        self.first = self.w = decisions.start()
        self.rounds, self.squares, self.spent, self.largest, self.farthest = 0, 0.0, 0.0, 0.0, 0.0
        self.last, self.falling, self.curved = math.inf, True, True

    def decision(self) -> Array:
        return self.w

    def learn(self, gradient: Array, w: Array, loss: Loss | None) -> None:
        with np.errstate(over="ignore"):
            square = float(gradient @ gradient)
        squares = self.squares + square
        if self.strong_convexity > 0:
            rate = 1.0 / (self.strong_convexity * (self.rounds + 1))
        elif callable(self.rate):
            rate = rate_at(self.who, self.rate, self.rounds + 1)
        elif self.rate is not None:
            rate = self.rate
        else:
            rate = self.pace / math.sqrt(squares) if squares > 0 else math.inf
        with np.errstate(over="ignore"):
            moved = w - rate * gradient if square > 0 else w
        checked(self.who, squares, moved)
        if not isinstance(self.decisions, WholeSpace):
            moved = self.decisions._project(moved)
        else:
            away = moved - self.first
            self.farthest = max(self.farthest, math.sqrt(float(away @ away)))
        self.w, self.squares = moved, squares
        if self.strong_convexity > 0 and square > 0:
            # Built-in losses with less strong convexity than the parameter states.
            flat = loss is None or isinstance(loss, (Linear, MarginLoss))
            flat = flat or (isinstance(loss, SquaredDistance) and self.strong_convexity > 2.0)
            self.curved = self.curved and not flat
        if square > 0:
            self.spent += 0.5 * rate * square
            self.falling = self.falling and rate <= self.last
            self.last, self.largest = rate, max(self.largest, math.sqrt(square))
        self.rounds += 1

    def terms(self) -> Terms:
        return {
            "rate": self.last,
            "spent": self.spent,
            "largest": self.largest,
            "farthest": self.farthest,
            "falling": float(self.falling),
            "curved": float(self.curved),
            "rounds": float(self.rounds),
        }

    def bound(self, terms: Terms, comparator: Array | None, best: float, switches: int) -> Bound | None:
        constants = {"G": terms["largest"], "T": terms["rounds"]}
        if not terms["curved"]:
            return None
        if self.strong_convexity > 0:
            theorem = "Hazan (2016), theorem 3.3"
            formula = "½ Σ ‖g_t‖² / (σ t), at most G² (1 + ln T) / (2 σ)"
            return Bound(theorem, formula, terms["spent"], constants | {"σ": self.strong_convexity})
        constant = self.rate is not None and not callable(self.rate)
        if self.decisions.bounded:
            reach = self.decisions.radius_from(self.first) if constant else self.decisions.diameter
        elif comparator is None:
            return None
        else:
            reach = float(np.linalg.norm(comparator - self.first)) + (0.0 if constant else terms["farthest"])
        if not terms["falling"]:
            return None
        value = over_rate(0.5 * reach**2, terms["rate"]) + terms["spent"]
        if self.rate is None:
            theorem = "Zinkevich (2003), theorem 1; Streeter and McMahan (2010)"
        else:
            theorem = "Zinkevich (2003), theorem 1; Hazan (2016), theorem 3.1"
        formula = "D²/(2η) + ½ Σ η_t ‖g_t‖²"
        if self.rate is None and self.decisions.bounded:
            formula += ", at most √2 D G √T"
        return Bound(theorem, formula, value, constants | {"D": reach, "η": terms["rate"]})
