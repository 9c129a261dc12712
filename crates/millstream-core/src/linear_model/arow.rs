//! Adaptive regularisation of weights (Crammer, Kulesza and Dredze, 2009, NIPS, figure 1). With m the margin,
//! v = xᵀΣ x and β = 1 / (v + r), if m < 1:
//! ```text
//! w ← w + (1 − m) β y Σ x,   Σ ← Σ − β Σ x xᵀΣ
//! ```
//! For regression (Vaits and Crammer, 2011, "Re-adapting the regularization of weights for non-stationary regression",
//! section 3) the step is β times the error, at every example; with a full covariance that is recursive least squares.
//!
//! The covariance is Σ⁻¹ ← Σ⁻¹ + x xᵀ / r; of a diagonal covariance only the diagonal of that is kept. A sample
//! weight divides r, as if the example had been seen so often.

use crate::declaration::{Declaration, Role};
use crate::linear_model::hyperplane::INTERCEPT;
use crate::linear_model::margin::{build, spread, MarginExample, UpdateRule, FULL};
use crate::linear_model::regression_update::{self, RegressionExample, RegressionUpdate as _};
use crate::linear_model::weight_vector::Move;
use crate::merging::{Merge, BY_PRECISION};
use crate::parameter::{Bounds, Default, Kind, Parameter};

pub const R: Parameter = Parameter::new(
    "r",
    Kind::Float(Bounds::POSITIVE),
    Default::Float(1.0),
    "noise level of the examples; larger values give smaller steps",
);

pub static CLASSIFIER: Declaration = Declaration {
    name: Arow::NAME,
    role: Role::Classifier,
    words: "Adaptive regularisation of weights: large steps for rare features, robust to label noise",
    merge: Merge::approximate(BY_PRECISION),
    parameters: &[R, FULL, INTERCEPT],
    build: |arguments| {
        let rule = Arow { r: arguments.float("r")? };
        Ok(build(rule, spread(arguments, 1.0)?, arguments.boolean("intercept")?))
    },
};

pub static REGRESSOR: Declaration = Declaration {
    name: ArowRegressor::NAME,
    role: Role::Regressor,
    words: "Adaptive regularisation of weights for regression: one adaptive learning rate per feature",
    merge: Merge::approximate(BY_PRECISION),
    parameters: &[R, FULL, INTERCEPT],
    build: |arguments| {
        let rule = ArowRegressor { r: arguments.float("r")? };
        Ok(regression_update::build(rule, spread(arguments, 1.0)?, arguments.boolean("intercept")?))
    },
};

#[derive(Clone)]
struct Arow {
    r: f64,
}

impl UpdateRule for Arow {
    const NAME: &'static str = "linear_model.AROW";

    #[inline]
    fn idle(&self, margin: f64) -> bool {
        margin >= 1.0
    }

    #[inline]
    fn decide(&self, seen: &MarginExample) -> Option<Move> {
        let (loss, r) = (1.0 - seen.margin, self.r / seen.w);
        (loss > 0.0).then(|| Move::surer(loss / (seen.variance + r), 1.0 / r))
    }
}

#[derive(Clone)]
struct ArowRegressor {
    r: f64,
}

impl regression_update::RegressionUpdate for ArowRegressor {
    const NAME: &'static str = "linear_model.AROWRegressor";

    #[inline]
    fn decide(&self, missed: &RegressionExample) -> Option<Move> {
        let r = self.r / missed.w;
        Some(Move::surer(missed.error / (missed.variance + r), 1.0 / r))
    }
}

#[cfg(test)]
mod tests {
    use crate::learner::testing::Numeric;
    use crate::linear_model::margin::tests::{classifier, score};
    use crate::linear_model::regression_update::tests::regressor;
    use crate::row::{Row, Scratch};
    use serde_json::json;

    /// Σ = I, x = (1, 2), r = 1: v = 5, β = 1/6, w = x / 6. Then Σ = diag(1/2, 1/5) of a diagonal, and
    /// I − x xᵀ/6 of a full covariance. (1, 0) of the negative class: m = −1/6, ℓ = 7/6. Diagonal: v = 1/2,
    /// β = 1 / 1.5, w₁ = 1/6 − 7/6 · 2/3 · 1/2 = −2/9. Full: v = 5/6, β = 6/11, α = 7/11, Σx = (5/6, −1/3):
    /// w = (1/6 − 35/66, 1/3 + 7/33).
    #[test]
    fn two_steps_by_hand() {
        for (full, expected) in [(false, [-2.0 / 9.0, 1.0 / 3.0]), (true, [1.0 / 6.0 - 35.0 / 66.0, 18.0 / 33.0])]
        {
            let mut model = classifier("linear_model.AROW", json!({ "full": full, "intercept": false }));
            let mut scratch = Scratch::default();
            model.learn(Row::Plain(&[1.0, 2.0]), 1, 1.0, &mut scratch).unwrap();
            assert!((score(&*model, &[6.0, 0.0]) - 1.0).abs() < 1e-15);
            model.learn(Row::Plain(&[1.0, 0.0]), 0, 1.0, &mut scratch).unwrap();
            let found = [score(&*model, &[1.0, 0.0]), score(&*model, &[0.0, 1.0])];
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-15, "{full} {found} {expected}");
            }
        }
    }

    /// Σ = 1, r = 1, x = 2, y = 5: v = 4, w = 5 / 5 · 2 = 2, Σ = 1/5. Then x = 1, y = 3: v = 1/5, w = 2 + 1 / 1.2 / 5.
    /// It is ridge regression with l2 = 1: (2 · 5 + 1 · 3) / (4 + 1 + 1) = 13/6.
    #[test]
    fn numbers_by_hand() {
        for full in [false, true] {
            let mut model = regressor("linear_model.AROWRegressor", json!({ "full": full, "intercept": false }));
            let mut scratch = Scratch::default();
            for (x, y) in [(2.0, 5.0), (1.0, 3.0)] {
                model.learn(Row::Plain(&[x]), y, 1.0, &mut scratch).unwrap();
            }
            assert!((model.number(Row::Plain(&[1.0]), &mut scratch) - 13.0 / 6.0).abs() < 1e-15);
        }
    }
}
