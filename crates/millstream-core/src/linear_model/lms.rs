//! Least mean squares (Widrow and Hoff, 1960): w ← w + μ (y − wᵀx) x; normalised (Nagumo and Noda, 1967), the step is
//! divided by ε + |x|², and is then stable for every μ below 2 whatever the scale of the features. The intercept is
//! a feature that is always 1. A sample weight multiplies μ.

use crate::declaration::{Declaration, Role};
use crate::fault::{Fault, Shown};
use crate::linear_model::hyperplane::INTERCEPT;
use crate::linear_model::regression_update::{build, RegressionExample, RegressionUpdate};
use crate::linear_model::weight_vector::{Move, Spread};
use crate::merging::{Merge, BY_COUNT};
use crate::parameter::{Bounds, Default, Kind, Parameter};

/// Keeps an example without features from dividing by 0.
const EPSILON: f64 = 1e-12;

pub static DECLARATION: Declaration = Declaration {
    name: Lms::NAME,
    role: Role::Regressor,
    words: "Least mean squares: a step along each example, proportional to its error",
    merge: Merge::approximate(BY_COUNT),
    parameters: &[
        Parameter::new(
            "learning_rate",
            Kind::Float(Bounds::POSITIVE),
            Default::Float(0.01),
            "learning rate; below 2 if normalized",
        ),
        Parameter::new(
            "normalized",
            Kind::Boolean,
            Default::Boolean(false),
            "whether to divide the step by the squared length of the example",
        ),
        INTERCEPT,
    ],
    build: |arguments| {
        let rule = Lms { rate: arguments.float("learning_rate")?, normalized: arguments.boolean("normalized")? };
        if rule.normalized && rule.rate >= 2.0 {
            return Err(Fault::value(format!(
                "{}: learning_rate must be below 2 with normalized=True, got {}: larger steps diverge",
                arguments.who,
                Shown(rule.rate)
            )));
        }
        Ok(build(rule, Spread::None, arguments.boolean("intercept")?))
    },
};

#[derive(Clone)]
struct Lms {
    rate: f64,
    normalized: bool,
}

impl RegressionUpdate for Lms {
    const NAME: &'static str = "linear_model.LMS";
    const MINI_BATCHES: bool = true;

    #[inline]
    fn asks_variance(&self) -> bool {
        self.normalized
    }

    #[inline]
    fn decide(&self, missed: &RegressionExample) -> Option<Move> {
        let rate = self.rate * missed.w;
        Some(Move::along(match self.normalized {
            true => rate * missed.error / (EPSILON + missed.variance),
            false => rate * missed.error,
        }))
    }
}

#[cfg(test)]
mod tests {
    use crate::learner::testing::Numeric;
    use crate::linear_model::regression_update::tests::regressor;
    use crate::row::{Row, Scratch};
    use serde_json::json;

    /// x = (1, 2), y = 3, μ = 1/8: w = 3/8 (1, 2), b = 3/8, which predicts 3/8 · 6 = 2.25. Normalised, μ = 1/2 goes
    /// half of the way: |x|² + 1 = 6, so it predicts 3/2.
    #[test]
    fn one_step_by_hand() {
        for (rate, normalized, expected) in [(0.125, false, 2.25), (0.5, true, 1.5)] {
            let parameters = json!({ "learning_rate": rate, "normalized": normalized });
            let mut model = regressor("linear_model.LMS", parameters);
            let mut scratch = Scratch::default();
            assert_eq!(model.step_number(Row::Plain(&[1.0, 2.0]), 3.0, 1.0, &mut scratch).unwrap(), 0.0);
            assert!((model.number(Row::Plain(&[1.0, 2.0]), &mut scratch) - expected).abs() < 1e-11);
        }
    }
}
