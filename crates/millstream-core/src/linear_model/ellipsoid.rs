//! Learning by the ellipsoid method (Yang, Jin and Ye, 2009, "Online learning by ellipsoid method", ICML): an
//! ellipsoid {u : (u − w)ᵀΣ⁻¹(u − w) ≤ 1} contains the hypotheses consistent with all examples so far. An example
//! that the centre w misclassifies cuts it, and the smallest ellipsoid around the rest is the next one.
//!
//! Mode 1, CELLIP, is the classical method with deep cuts (Bland, Goldfarb and Todd, 1981, "The ellipsoid method: a
//! survey", Operations Research 29). With m ≤ 0 the margin, v = xᵀΣ x, n coordinates, and α = −m / √v the depth of
//! the cut y uᵀx ≥ 0:
//! ```text
//! w ← w + τ y Σ x / √v,   Σ ← δ (Σ − σ Σ x xᵀΣ / v)
//! τ = (1 + n α) / (n + 1),   σ = 2 (1 + n α) / ((n + 1) (1 + α)),   δ = n² (1 − α²) / (n² − 1)
//! ```
//! From α = 1 on no hypothesis is left: labels are noisy. Cuts are therefore held to a depth below 1.
//!
//! Mode 2, IELLIP, is the paper's improvement: it goes as far as gives the example a margin of 1, and forgets at a rate
//! cₖ = c bᵏ that falls with the number k of steps:
//! ```text
//! w ← w + (1 − m) y Σ x / v,   Σ ← (Σ − cₖ Σ x xᵀΣ / v) / (1 − cₖ)
//! ```
//! As Σ⁻¹ ← (Σ⁻¹ + p x xᵀ) / δ both have p = σ / ((1 − σ) v); of a diagonal the diagonal of that is kept. With several
//! classes the examples of all weight vectors are one long vector. The size of a sample weight above 0 has no effect.

use crate::declaration::{Declaration, Role};
use crate::linear_model::hyperplane::INTERCEPT;
use crate::linear_model::margin::{build, spread, MarginExample, UpdateRule, FULL};
use crate::linear_model::weight_vector::Move;
use crate::merging::Merge;
use crate::parameter::{Bounds, Default, Kind, Parameter};

const BELOW_ONE: Bounds = Bounds { low: 0.0, low_included: true, high: 1.0, high_included: false };

pub static DECLARATION: Declaration = Declaration {
    name: Ellipsoid::NAME,
    role: Role::Classifier,
    words: "Ellipsoid method: each mistake cuts the set of hypotheses consistent with all examples so far",
    merge: Merge::none("ellipsoids of two models do not combine into one: use linear_model.AROW"),
    parameters: &[
        Parameter::new(
            "mode",
            Kind::Integer { low: 1, high: 2 },
            Default::Integer(1),
            "variant: 1 for CELLIP (the classical method), 2 for IELLIP (steps to a margin of 1)",
        ),
        Parameter::new(
            "depth",
            Kind::Float(BELOW_ONE),
            Default::Float(0.5),
            "for CELLIP: maximum depth of a cut, from 0 (centre) to 1 (edge)",
        ),
        Parameter::new(
            "c",
            Kind::Float(BELOW_ONE),
            Default::Float(0.1),
            "for IELLIP: shrinkage of the ellipsoid at the first mistake",
        ),
        Parameter::new(
            "b",
            Kind::Float(Bounds { low: 0.0, low_included: true, high: 1.0, high_included: true }),
            Default::Float(0.3),
            "for IELLIP: decay factor of c per mistake",
        ),
        FULL,
        INTERCEPT,
    ],
    build: |arguments| {
        let rule = Ellipsoid {
            improved: arguments.size("mode")? == 2,
            depth: arguments.float("depth")?,
            c: arguments.float("c")?,
            b: arguments.float("b")?,
        };
        Ok(build(rule, spread(arguments, 1.0)?, arguments.boolean("intercept")?))
    },
};

#[derive(Clone)]
struct Ellipsoid {
    improved: bool,
    depth: f64,
    c: f64,
    b: f64,
}

impl Ellipsoid {
    fn classical(&self, n: f64, margin: f64, variance: f64) -> Move {
        let deviation = variance.sqrt();
        let depth = (-margin / deviation).clamp(0.0, self.depth);
        let along = (1.0 + n * depth) / ((n + 1.0) * deviation);
        // The variance along the cut is multiplied by (1 − σ) δ, across it by δ; a single coordinate has no across.
        let narrow = (n * (1.0 - depth) / (n + 1.0)).powi(2);
        let inflation = if n > 1.0 { n * n * (1.0 - depth * depth) / (n * n - 1.0) } else { 1.0 };
        Move { inflation, ..Move::surer(along, (inflation / narrow - 1.0) / variance) }
    }
}

impl UpdateRule for Ellipsoid {
    const NAME: &'static str = "linear_model.Ellipsoid";
    const WANTED: f64 = 0.0;

    #[inline]
    fn idle(&self, margin: f64) -> bool {
        margin > 0.0
    }

    fn decide(&self, seen: &MarginExample) -> Option<Move> {
        let MarginExample { margin, variance, coordinates, .. } = *seen;
        if self.idle(margin) || variance <= 0.0 {
            return None;
        }
        if !self.improved {
            return Some(self.classical(coordinates, margin, variance));
        }
        let c = self.c * self.b.powf(seen.moves);
        let step = Move::surer((1.0 - margin) / variance, c / ((1.0 - c) * variance));
        Some(Move { inflation: 1.0 / (1.0 - c), ..step })
    }
}

#[cfg(test)]
mod tests {
    use crate::linear_model::margin::tests::{classifier, score};
    use crate::row::{Row, Scratch};
    use serde_json::json;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-14, "{found} {expected}");
    }

    /// Two coordinates. x = (2, 0) of the positive class: m = 0, v = 4, α = 0, τ = 1/3: w = (1/3, 0);
    /// σ = 2/3, δ = 4/3: Σ = diag(4/3 · 1/3, 4/3) = diag(4/9, 4/3). Then (1, 1) of the negative class: m = −1/3,
    /// v = 16/9, α = (1/3) / (4/3) = 1/4, τ = (3/2) / 3 = 1/2, so w ← w − 1/2 · (4/9, 4/3) / (4/3) = (1/6, −1/2): a full
    /// and a diagonal Σ do not differ before a second cut that is not along an axis.
    #[test]
    fn two_cuts_by_hand() {
        for full in [false, true] {
            let parameters = json!({ "full": full, "intercept": false });
            let mut model = classifier("linear_model.Ellipsoid", parameters);
            let mut scratch = Scratch::default();
            model.learn(Row::Plain(&[2.0, 0.0]), 1, 1.0, &mut scratch).unwrap();
            close(score(&*model, &[1.0, 0.0]), 1.0 / 3.0);
            // Right by now: nothing happens.
            model.learn(Row::Plain(&[1.0, 0.0]), 1, 1.0, &mut scratch).unwrap();
            model.learn(Row::Plain(&[1.0, 1.0]), 0, 1.0, &mut scratch).unwrap();
            close(score(&*model, &[1.0, 0.0]), 1.0 / 6.0);
            close(score(&*model, &[0.0, 1.0]), -0.5);
        }
    }

    /// One coordinate is an interval that is halved: from [−1, 1] with x > 0 of the positive class to [0, 1], so w =
    /// 1/2; then x > 0 of the negative class is at depth α = (1/2) / (1/2) = 1, held to 1/2: τ = (1 + 1/2) / 2 = 3/4
    /// and w = 1/2 − 3/4 · 1/2 = 1/8. The half-width is then (1 − 1/2) / 2 · 1/2 = 1/8, so x > 0 of the negative
    /// class again, at depth 1 held to 1/2, moves w by 3/4 · 1/8.
    #[test]
    fn an_interval_by_hand() {
        let mut model = classifier("linear_model.Ellipsoid", json!({ "intercept": false }));
        let mut scratch = Scratch::default();
        for (y, w) in [(1, 0.5), (0, 0.125), (0, 0.125 - 0.75 / 8.0)] {
            model.learn(Row::Plain(&[3.0]), y, 1.0, &mut scratch).unwrap();
            close(score(&*model, &[1.0]), w);
        }
    }

    /// IELLIP with c = 1/2, b = 1/2: (2, 0) of the positive class: v = 4, w = (1/2, 0), which has the margin 1;
    /// Σ = 2 (I − 1/2 diag(1, 0)) = diag(1, 2). (1, 1) of the negative class: m = −1/2, v = 3,
    /// w ← (1/2, 0) − (3/2) / 3 · (1, 2) = (0, −1).
    #[test]
    fn two_improved_steps_by_hand() {
        for full in [false, true] {
            let parameters = json!({ "mode": 2, "c": 0.5, "b": 0.5, "full": full, "intercept": false });
            let mut model = classifier("linear_model.Ellipsoid", parameters);
            let mut scratch = Scratch::default();
            model.learn(Row::Plain(&[2.0, 0.0]), 1, 1.0, &mut scratch).unwrap();
            model.learn(Row::Plain(&[1.0, 1.0]), 0, 1.0, &mut scratch).unwrap();
            close(score(&*model, &[1.0, 0.0]), 0.0);
            close(score(&*model, &[0.0, 1.0]), -1.0);
        }
    }
}
