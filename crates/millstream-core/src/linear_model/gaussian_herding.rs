//! Learning by Gaussian herding, NHERD (Crammer and Lee, 2010, NIPS, figure 1): a Gaussian distribution of weight
//! vectors is changed so that each vector moves as little as possible. With m the margin, v = xᵀΣ x, if m < 1:
//! ```text
//! w ← w + (1 − m) / (v + 1 / C) y Σ x,   Σ ← Σ − (C² v + 2 C) / (1 + C v)² Σ x xᵀΣ
//! ```
//! which is Σ⁻¹ ← Σ⁻¹ + (2 C + C² v) x xᵀ; of a diagonal covariance the diagonal of that is kept (the paper's "exact"
//! diagonal form). A sample weight multiplies C.

use crate::declaration::{Declaration, Role};
use crate::linear_model::hyperplane::INTERCEPT;
use crate::linear_model::margin::{build, spread, MarginExample, UpdateRule, FULL};
use crate::linear_model::passive_aggressive::C;
use crate::linear_model::weight_vector::Move;
use crate::merging::{Merge, BY_PRECISION};

pub static DECLARATION: Declaration = Declaration {
    name: Herding::NAME,
    role: Role::Classifier,
    words: "Gaussian herding: a distribution of weight vectors, each changed as little as possible",
    merge: Merge::approximate(BY_PRECISION),
    parameters: &[C, FULL, INTERCEPT],
    build: |arguments| {
        let rule = Herding { c: arguments.float("C")? };
        Ok(build(rule, spread(arguments, 1.0)?, arguments.boolean("intercept")?))
    },
};

#[derive(Clone)]
struct Herding {
    c: f64,
}

impl UpdateRule for Herding {
    const NAME: &'static str = "linear_model.GaussianHerding";

    #[inline]
    fn idle(&self, margin: f64) -> bool {
        margin >= 1.0
    }

    #[inline]
    fn decide(&self, seen: &MarginExample) -> Option<Move> {
        let (loss, c, v) = (1.0 - seen.margin, self.c * seen.w, seen.variance);
        (loss > 0.0).then(|| Move::surer(loss / (v + 1.0 / c), 2.0 * c + c * c * v))
    }
}

#[cfg(test)]
mod tests {
    use crate::linear_model::margin::tests::{classifier, score};
    use crate::row::{Row, Scratch};
    use serde_json::json;

    /// Σ = 1, x = 2, C = 1/2: v = 4, α = 1 / (4 + 2) = 1/6, w = 1/3. The paper's factor is (1 + 1) / 3² = 2/9, so
    /// Σ = 1 − 2/9 · 4 = 1/9; here 1 / Σ = 1 + (1 + 1) · 4 = 9. Then x = 1 of the negative class: m = −1/3, v = 1/9,
    /// α = (4/3) / (1/9 + 2) = 12/19, w = 1/3 − 12/19 · 1/9.
    #[test]
    fn two_steps_by_hand() {
        for full in [false, true] {
            let mut model =
                classifier("linear_model.GaussianHerding", json!({ "C": 0.5, "full": full, "intercept": false }));
            let mut scratch = Scratch::default();
            model.learn(Row::Plain(&[2.0]), 1, 1.0, &mut scratch).unwrap();
            model.learn(Row::Plain(&[1.0]), 0, 1.0, &mut scratch).unwrap();
            let expected = 1.0 / 3.0 - 12.0 / 19.0 / 9.0;
            assert!((score(&*model, &[1.0]) - expected).abs() < 1e-15, "{full}");
        }
    }
}
