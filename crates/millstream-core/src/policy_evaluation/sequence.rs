//! A confidence sequence for a mean: an interval that is valid at all times at once.
//!
//! The numbers φ_t have conditional means μ_t, which may change, as the value of a policy that learns does; the interval is
//! one of their average so far. With a predictable centre c_t (here the mean so far) and ξ_t = φ_t − c_t ≥ −a, for any λ in
//! [0, 1/a), the product of 1 + λ ξ_t is at least
//!   exp(λ Σ ξ − ψ(λa)/a² Σ ξ²),                  ψ(y) = −ln(1 − y) − y,
//!   exp(λ Σ ξ − λ²/2 Σ ξ² + λ³/3 Σ ξ³ − χ(λa) λ⁴ Σ ξ⁴),   χ(y) = (−ln(1 − y) − y − y²/2 − y³/3) / y⁴.
//! The first line is the empirical Bernstein bound (Howard, Ramdas, McAuliffe and Sekhon, 2021, "Time-uniform, nonparametric,
//! nonasymptotic confidence sequences", Theorem 4; Waudby-Smith and Ramdas, 2023, "Estimating means of bounded random
//! variables by betting", Theorem 2). The second line follows in the same way from two more terms of the logarithm, whose
//! remainder over y⁴ is monotone, and is much sharper where weights are large. Since 1 + λ(μ − c) ≤ exp(λ(μ − c)), the larger
//! one times exp(−λ Σ (μ − c)) is bounded by a nonnegative supermartingale that starts at 1, and so is a mixture over λ. By
//! Ville's inequality the mixture exceeds 1/α at any time with probability at most α.
//!
//! The mixture replaces the sequence of bets λ_t of Waudby-Smith and Ramdas, whose interval is one of an average in which
//! early rounds count more. It also leaves only four sums, so that an update is a few additions, and parts of a log can be
//! merged.
//!
//! Upwards, φ_t may be unbounded: the weights of a policy need no bound for the lower end. `reach` is a, the largest so far of
//! what a round could have fallen short of its centre.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::numeric::elementary::{exp, ln, ln_1p};

/// Candidates for λ: from 0.9 down to 1e-7, each smaller by exp(−1/4).
const BETS: usize = 64;
/// The bets between these have equal weight: they are the best for a sum of squares between 1,000 and 30,000, such as that of
/// 10,000 rounds.
const CORE: [f64; 2] = [0.02, 0.1];
/// No bet above this fraction of 1/a, where ψ and χ have a pole.
const LARGEST_BET: f64 = 0.95;

/// λ, and the logarithm of its weight in the mixture, which falls with the square of the logarithm outside the core.
fn bets() -> &'static [(f64, f64); BETS] {
    static TABLE: OnceLock<[(f64, f64); BETS]> = OnceLock::new();
    TABLE.get_or_init(|| {
        let bet = |k: usize| 0.9 * exp(-0.25 * k as f64);
        let weight = |bet: f64| {
            let outside = (ln(CORE[0]) - ln(bet)).max(ln(bet) - ln(CORE[1])).max(0.0);
            1.0 / ((1.0 + outside) * (1.0 + outside))
        };
        let total: f64 = (0..BETS).map(|k| weight(bet(k))).sum();
        std::array::from_fn(|k| (bet(k), ln(weight(bet(k)) / total)))
    })
}

/// Σ y^(j − first) / j for j = first, first + 1, …: ψ(y)/y² from 2 on, and χ(y) from 4 on.
fn tail(y: f64, first: i32) -> f64 {
    if y < 0.25 {
        let (mut sum, mut power) = (0.0, 1.0);
        for j in first..first + 32 {
            sum += power / f64::from(j);
            power *= y;
        }
        return sum;
    }
    let head: f64 = (1..first).map(|j| y.powi(j) / f64::from(j)).sum();
    (-ln_1p(-y) - head) / y.powi(first)
}

/// How much Σ φ may differ from Σ μ on one side, given Σ ξ², Σ ξ³ and Σ ξ⁴; infinite if nothing is known.
fn boundary(sums: [f64; 3], reach: f64, significance: f64) -> f64 {
    let wanted = -ln(significance);
    let mut offsets = [f64::NEG_INFINITY; BETS];
    // Where one bet alone reaches the boundary, the mixture is at least there.
    let mut start = f64::INFINITY;
    for (&(bet, weight), offset) in bets().iter().zip(&mut offsets) {
        let y = bet * reach;
        if y > LARGEST_BET {
            continue;
        }
        let second = tail(y, 2) * bet * bet * sums[0];
        let fourth = bet * bet * (0.5 * sums[0] - bet / 3.0 * sums[1] + tail(y, 4) * bet * bet * sums[2]);
        *offset = weight - second.min(fourth);
        start = start.min((wanted - *offset) / bet);
    }
    // Newton's method from above: the logarithm of a sum of exponentials is convex and increases.
    let mut distance = start;
    for _ in 0..60 {
        if !distance.is_finite() {
            break;
        }
        let terms = || bets().iter().zip(&offsets).map(|(&(bet, _), offset)| (bet, offset + bet * distance));
        let largest = terms().map(|(_, term)| term).fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut slope) = (0.0, 0.0);
        for (bet, term) in terms() {
            let share = exp(term - largest);
            sum += share;
            slope += share * bet;
        }
        let step = (largest + ln(sum) - wanted) * sum / slope;
        distance -= step;
        if step <= 1e-12 * distance.abs() {
            break;
        }
    }
    distance
}

/// Sums of weighted numbers. Weights are relative to the first one, so that a common factor changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sequence {
    unit: f64,
    /// Σ w and Σ w φ.
    n: f64,
    sum: f64,
    /// Σ (w ξ)², Σ (w ξ)³ and Σ (w ξ)⁴.
    powers: [f64; 3],
    /// The largest possible w ξ downwards and upwards so far.
    down: f64,
    up: f64,
}

impl Sequence {
    /// The mean so far, with one observation of `prior`: known before the next number.
    #[inline]
    pub fn centre(&self, prior: f64) -> f64 {
        (prior + self.sum) / (1.0 + self.n)
    }

    /// Receive φ, with the distances by which it could have been below and above `centre`, whatever the reward and the action.
    #[inline]
    pub fn update(&mut self, number: f64, centre: f64, (down, up): (f64, f64), w: f64) {
        if self.n == 0.0 {
            self.unit = w;
        }
        // A division takes as long as all that follows; most rounds have the same weight.
        let w = if w == self.unit { 1.0 } else { w / self.unit };
        let x = w * (number - centre);
        let square = x * x;
        self.n += w;
        self.sum += w * number;
        self.powers[0] += square;
        self.powers[1] += square * x;
        self.powers[2] += square * square;
        self.down = self.down.max(w * down);
        self.up = self.up.max(w * up);
    }

    /// The mean so far; NaN before the first number.
    pub fn mean(&self) -> f64 {
        self.sum / self.n
    }

    /// Lower end for the mean; −∞ while nothing is known.
    pub fn lower(&self, significance: f64) -> f64 {
        match self.n > 0.0 {
            true => (self.sum - boundary(self.powers, self.down, significance)) / self.n,
            false => f64::NEG_INFINITY,
        }
    }

    /// Upper end for the mean; ∞ while nothing is known.
    pub fn upper(&self, significance: f64) -> f64 {
        let [second, third, fourth] = self.powers;
        match self.n > 0.0 {
            true => (self.sum + boundary([second, -third, fourth], self.up, significance)) / self.n,
            false => f64::INFINITY,
        }
    }

    /// Add the sums of another part of the log, or with sign −1 remove those of a common beginning. The supermartingales of
    /// two parts multiply, so that their sums add.
    pub fn merge(&mut self, other: &Sequence, sign: f64) {
        if other.n == 0.0 {
            return;
        }
        if self.n == 0.0 {
            self.unit = other.unit;
        }
        let ratio = other.unit / self.unit;
        self.n = (self.n + sign * ratio * other.n).max(0.0);
        self.sum += sign * ratio * other.sum;
        let mut factor = sign * ratio;
        for (ours, theirs) in self.powers.iter_mut().zip(other.powers) {
            factor *= ratio;
            *ours += factor * theirs;
        }
        if sign > 0.0 {
            self.down = self.down.max(ratio * other.down);
            self.up = self.up.max(ratio * other.up);
        }
    }

    pub fn is_valid(&self) -> bool {
        let numbers = [self.unit, self.n, self.sum, self.down, self.up];
        let finite = numbers.iter().chain(&self.powers).all(|number| number.is_finite());
        let positive = self.n >= 0.0 && self.powers[0] >= 0.0 && self.powers[2] >= 0.0;
        finite && positive && self.down >= 0.0 && self.up >= 0.0 && (self.n == 0.0 || self.unit > 0.0)
    }
}

/// For a ratio Σ q / Σ r with q = r e and 0 ≤ e ≤ 1, where E[q − v r] = 0: the ends between which v lies, from the sums of q,
/// r, q², q r and r² and the largest r. The centre of each round is 0, its mean for the true v.
pub fn of_ratio([q, r]: [f64; 2], [qq, qr, rr]: [f64; 3], reach: f64, significance: f64) -> (f64, f64) {
    if r <= 0.0 {
        return (0.0, 1.0);
    }
    // The same of 1 − e for the upper end.
    let lower = |q: f64, qq: f64, qr: f64| {
        let (mut low, mut high) = (0.0, q / r);
        for _ in 0..50 {
            let v = 0.5 * (low + high);
            let squares = (qq - 2.0 * v * qr + v * v * rr).max(0.0);
            // With the fourth power as large as can be, so that the sharper form is not used.
            let excluded = q - v * r >= boundary([squares, 0.0, f64::MAX], reach, significance);
            if excluded {
                low = v;
            } else {
                high = v;
            }
        }
        low
    };
    (lower(q, qq, qr), 1.0 - lower(r - q, rr - 2.0 * qr + qq, rr - qr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_and_closed_forms_agree() {
        for y in [0.2499, 0.25] {
            assert!((tail(y, 2) - (-(1.0f64 - y).ln() - y) / (y * y)).abs() < 1e-12);
            let head = y + y * y / 2.0 + y * y * y / 3.0;
            assert!((tail(y, 4) - (-(1.0f64 - y).ln() - head) / y.powi(4)).abs() < 1e-10);
        }
        assert_eq!((tail(0.0, 2), tail(0.0, 4)), (0.5, 0.25));
    }

    #[test]
    fn both_bounds_lie_below_the_logarithm() {
        for reach in [1.0, 7.0] {
            for bet in [0.01, 0.05, 0.13] {
                for step in 0..400 {
                    let x = -reach + 0.05 * f64::from(step);
                    let y: f64 = bet * reach;
                    let exact = (1.0 + bet * x).ln();
                    let second = bet * x - tail(y, 2) * bet * bet * x * x;
                    let fourth = bet * x
                        - bet * bet * (0.5 * x * x - bet / 3.0 * x * x * x + tail(y, 4) * bet * bet * x.powi(4));
                    assert!(second <= exact + 1e-12 && fourth <= exact + 1e-12, "{bet} {x}");
                }
            }
        }
    }

    #[test]
    fn the_mixture_is_at_its_threshold() {
        // Two bets by hand would need a root; here the mixture is evaluated at the distance that was found.
        let (sums, reach, significance) = ([900.0, 40.0, 2000.0], 2.0, 0.025);
        let distance = boundary(sums, reach, significance);
        let mixture: f64 = bets()
            .iter()
            .filter(|(bet, _)| bet * reach <= LARGEST_BET)
            .map(|&(bet, weight)| {
                let y = bet * reach;
                let second = tail(y, 2) * bet * bet * sums[0];
                let fourth = bet * bet * (0.5 * sums[0] - bet / 3.0 * sums[1] + tail(y, 4) * bet * bet * sums[2]);
                (weight + bet * distance - second.min(fourth)).exp()
            })
            .sum();
        assert!((mixture * significance - 1.0).abs() < 1e-9, "{mixture}");
        let total: f64 = bets().iter().map(|(_, weight)| weight.exp()).sum();
        assert!((total - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_common_factor_of_the_weights_changes_nothing() {
        let [one, other] = [1.0, 8.0].map(|w| {
            let mut sequence = Sequence::default();
            for step in 0..200 {
                let number = f64::from(step % 3 % 2);
                sequence.update(number, sequence.centre(0.5), (1.0, 1.0), w);
            }
            (sequence.lower(0.025), sequence.upper(0.025))
        });
        assert_eq!(one, other);
        assert!(one.0 < 1.0 / 3.0 && one.1 > 1.0 / 3.0);
    }
}
