"""Fixed share: expert advice if the best expert changes.

Herbster and Warmuth (1998). After the step of Hedge, a fraction α of the weight is distributed over all experts:
    v_i ∝ w_i exp(−η z_i),    w_i ← (1 − α) v_i + α / N.
Cesa-Bianchi and Lugosi (2006), theorem 5.2: against any sequence of experts with m switches, for losses of range
r_t,
    regret ≤ (1/η) [(m+1) ln N + m ln(1/α) + (T−m−1) ln(1/(1−α))] + (η/8) Σ r_t².

Both may vary. For nonincreasing rates and shares, ln w_i lies between ln(α_T/N) and 0, and summing the same
proof by parts gives
    regret ≤ (1/η_T) [(m+1) ln(N/α_T) + Σ ln(1/(1−α_t))] + Σ η_t r_t² / 8.
By default, α_t = 1/(t+1), so that Σ ln(1/(1−α_t)) = ln T, and η_t = 2 √((m+1) ln(N (t+1)) / Σ_{s≤t} r_s²).
"""

from __future__ import annotations

import math

import numpy as np

from millstream.errors import InvalidType, InvalidValue
from millstream.oco.learner import Bound, Engine, Learner, Terms, checked, over_rate
from millstream.oco.losses import Loss
from millstream.oco.polytopes import Simplex
from millstream.oco.sets import Set
from millstream.oco.vectors import Array, length, number, positive

__all__ = ["FixedShare"]


class _FixedShare(Engine):
    def __init__(self, who: str, experts: int, rate: float | None, share: float | None, switches: int) -> None:
        self.who, self.rate, self.share, self.switches = who, rate, share, switches
        self.w = np.full(experts, 1.0 / experts)
        self.rounds, self.squares, self.spent, self.largest, self.stayed = 0, 0.0, 0.0, 0.0, 0.0
        self.last = math.inf

    def decision(self) -> Array:
        return self.w

    def learn(self, gradient: Array, w: Array, loss: Loss | None) -> None:
        t, experts = self.rounds + 1, len(w)
        low = float(gradient.min())
        spread = float(gradient.max()) - low
        squares = self.squares + spread * spread
        checked(self.who, squares)
        if self.rate is not None:
            rate = self.rate
        elif squares > 0:
            wanted = 2.0 * math.sqrt((self.switches + 1) * math.log(experts * (t + 1)) / squares)
            rate = min(self.last, wanted)
        else:
            rate = math.inf
        share = 1.0 / (t + 1) if self.share is None else self.share
        # Losses whose squares underflow to 0 count as 0.
        moving = spread > 0 and math.isfinite(rate)
        if moving:
            moved = w * np.exp(-np.minimum(rate * (gradient - low), 800.0))
            total = float(moved.sum())
            # The weights of all experts underflow: restart from equal weights.
            moved = moved / total if total > 0 else np.full(experts, 1.0 / experts)
        else:
            moved = w
        self.w = (1.0 - share) * moved + share / experts
        self.squares = squares
        if moving:
            self.last = rate
            self.spent += rate * spread * spread / 8.0
            self.largest = max(self.largest, spread)
        # The cost of not switching after this round.
        self.stayed += -math.log1p(-share) if self.share is None else 0.0
        self.rounds += 1

    def terms(self) -> Terms:
        return {
            "rate": self.last,
            "spent": self.spent,
            "stayed": self.stayed,
            "largest": self.largest,
            "rounds": float(self.rounds),
        }

    def bound(self, terms: Terms, comparator: Array | None, best: float, switches: int) -> Bound | None:
        m, n, rounds, experts = switches, terms["rounds"], terms["rounds"], len(self.w)
        if self.rate is not None and self.share is not None:
            if m > 0 and self.share == 0:
                return None
            theorem = "Cesa-Bianchi and Lugosi (2006), theorem 5.2; Herbster and Warmuth (1998)"
            stays = max(n - m - 1, 0.0)
            code = (m + 1) * math.log(experts) + stays * -math.log1p(-self.share)
            code += m * math.log(1.0 / self.share) if m else 0.0
            formula = "(1/η) [(m+1) ln N + m ln(1/α) + (T−m−1) ln(1/(1−α))] + (η/8) Σ r²"
        else:
            theorem = (
                "Cesa-Bianchi and Lugosi (2006), theorem 5.2, summed by parts for nonincreasing rates and shares"
            )
            share = 1.0 / (n + 1) if self.share is None else self.share
            if share == 0:
                return None
            stayed = terms["stayed"] if self.share is None else n * -math.log1p(-share)
            code = (m + 1) * math.log(experts / share) + stayed
            formula = "(1/η) [(m+1) ln(N/α) + Σ ln(1/(1−α_t))] + Σ η_t r_t² / 8"
        value = over_rate(code, terms["rate"]) + terms["spent"]
        constants = {"m": float(m), "N": float(experts), "η": terms["rate"], "r": terms["largest"], "T": rounds}
        return Bound(theorem, formula, value, constants)


class FixedShare(Learner):
    """Hedge with a minimum weight for every expert, so that it can follow changes of the best expert.

    Choose it for streams in which the best expert changes. A report compares it with the best sequence of experts
    with at most `switches` switches.

    Parameters
    ----------
    experts
        number of experts; by default the length of the first loss
    learning_rate
        η; None to adapt to the losses so far
    share
        α, the fraction of the weight that is redistributed in each round; None for 1 / (t + 1), which requires
        neither the number of rounds nor that of switches
    switches
        expected number of changes of the best expert

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import oco
    >>> losses = np.zeros((2000, 5))
    >>> losses[:1000, 1:] = losses[1000:, :4] = 1.0
    >>> report = oco.play({"Hedge": oco.Hedge(5), "FixedShare": oco.FixedShare(5)}, losses)
    >>> [round(each.loss) for each in report.values()]
    [989, 39]

    References
    ----------
    Herbster, M. and Warmuth, M. K. (1998). Tracking the best expert.
    """

    def __init__(
        self,
        experts: int | None = None,
        learning_rate: float | None = None,
        share: float | None = None,
        switches: int = 1,
    ) -> None:
        self.experts = None if experts is None else length(self.name, "experts", experts)
        if callable(learning_rate):
            raise InvalidType(f"{self.name}: learning_rate must be a number or None, got a function")
        self.learning_rate = None if learning_rate is None else positive(self.name, "learning_rate", learning_rate)
        self.share = None if share is None else number(self.name, "share", share)
        if self.share is not None and not 0 <= self.share < 1:
            raise InvalidValue(f"{self.name}: share must be in [0, 1), got {share}")
        if isinstance(switches, bool) or int(switches) != switches or switches < 0:
            raise InvalidValue(f"{self.name}: switches must be an integer >= 0, got {switches!r}")
        self.switches = int(switches)
        super().__init__(Simplex(self.experts))

    def _make(self, decisions: Set) -> Engine:
        return _FixedShare(self.name, decisions.known, self.learning_rate, self.share, self.switches)
