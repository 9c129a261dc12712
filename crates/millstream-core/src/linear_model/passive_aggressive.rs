//! Passive-aggressive learning (Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, 2006, JMLR 7, section 3):
//! the smallest change of the weights that gives the example a margin of 1, or an
//! error of at most ε. With ℓ = max(0, 1 − margin),
//! ```text
//! w ← w + τ y x,   τ = ℓ / |x|²  (PA),   min(C, ℓ / |x|²)  (PA-I),   ℓ / (|x|² + 1 / (2 C))  (PA-II)
//! ```
//! For regression (section 5) ℓ = max(0, |y − wᵀx| − ε) and the step has the sign of the error.
//!
//! A sample weight multiplies C, as it multiplies the slack that C weighs; PA has none, and ignores it.

use crate::declaration::{Declaration, Role};
use crate::fault::Result;
use crate::linear_model::hyperplane::INTERCEPT;
use crate::linear_model::margin::{build, MarginExample, UpdateRule};
use crate::linear_model::regression_update::{self, RegressionExample, RegressionUpdate as _};
use crate::linear_model::weight_vector::{Move, Spread};
use crate::merging::{Merge, BY_COUNT};
use crate::parameter::{Arguments, Bounds, Default, Kind, Parameter};

pub const C: Parameter = Parameter::new(
    "C",
    Kind::Float(Bounds::POSITIVE),
    Default::Float(1.0),
    "aggressiveness: maximum step per example",
);
pub const MODE: Parameter = Parameter::new(
    "mode",
    Kind::Integer { low: 0, high: 2 },
    Default::Integer(1),
    "variant: 0 for PA, 1 for PA-I (steps up to C), 2 for PA-II (softened steps)",
);

pub static CLASSIFIER: Declaration = Declaration {
    name: PassiveAggressive::NAME,
    role: Role::Classifier,
    words: "Passive-aggressive classification: the smallest change that gives a margin of 1",
    merge: Merge::approximate(BY_COUNT),
    parameters: &[C, MODE, INTERCEPT],
    build: |arguments| {
        let rule = PassiveAggressive { step: Step::new(arguments)? };
        Ok(build(rule, Spread::None, arguments.boolean("intercept")?))
    },
};

pub static REGRESSOR: Declaration = Declaration {
    name: Tube::NAME,
    role: Role::Regressor,
    words: "Passive-aggressive regression: the smallest change that reduces the error to epsilon",
    merge: Merge::approximate(BY_COUNT),
    parameters: &[
        C,
        MODE,
        Parameter::new(
            "epsilon",
            Kind::Float(Bounds::NOT_NEGATIVE),
            Default::Float(0.1),
            "errors up to this are ignored",
        )
        .formerly(&["eps"]),
        INTERCEPT,
    ],
    build: |arguments| {
        let rule = Tube { step: Step::new(arguments)?, eps: arguments.float("epsilon")? };
        Ok(regression_update::build(rule, Spread::None, arguments.boolean("intercept")?))
    },
};

/// How a loss becomes a step.
#[derive(Clone, Copy, Debug)]
struct Step {
    c: f64,
    mode: usize,
}

impl Step {
    fn new(arguments: &Arguments<'_>) -> Result<Self> {
        Ok(Step { c: arguments.float("C")?, mode: arguments.size("mode")? })
    }

    /// τ for a loss at an example of squared length `squares`; 0 for one that has no length.
    #[inline]
    fn size(&self, loss: f64, squares: f64, w: f64) -> f64 {
        let c = self.c * w;
        match self.mode {
            2 => loss / (squares + 0.5 / c),
            _ if squares == 0.0 => 0.0,
            1 => (loss / squares).min(c),
            _ => loss / squares,
        }
    }
}

#[derive(Clone)]
struct PassiveAggressive {
    step: Step,
}

impl UpdateRule for PassiveAggressive {
    const NAME: &'static str = "linear_model.PAClassifier";

    #[inline]
    fn idle(&self, margin: f64) -> bool {
        margin >= 1.0
    }

    #[inline]
    fn decide(&self, seen: &MarginExample) -> Option<Move> {
        let loss = 1.0 - seen.margin;
        (loss > 0.0).then(|| Move::along(self.step.size(loss, seen.variance, seen.w)))
    }
}

#[derive(Clone)]
struct Tube {
    step: Step,
    eps: f64,
}

impl regression_update::RegressionUpdate for Tube {
    const NAME: &'static str = "linear_model.PARegressor";

    #[inline]
    fn idle(&self, error: f64) -> bool {
        error.abs() <= self.eps
    }

    fn loss(&self, error: f64) -> f64 {
        (error.abs() - self.eps).max(0.0)
    }

    #[inline]
    fn decide(&self, missed: &RegressionExample) -> Option<Move> {
        let loss = missed.error.abs() - self.eps;
        let step = || self.step.size(loss, missed.variance, missed.w).copysign(missed.error);
        (loss > 0.0).then(|| Move::along(step()))
    }
}

#[cfg(test)]
mod tests {
    use crate::learner::testing::Numeric;
    use crate::linear_model::margin::tests::{classifier, score};
    use crate::linear_model::regression_update::tests::regressor;
    use crate::row::{Row, Scratch};
    use serde_json::json;

    /// x = (1, 2), |x|² = 5, ℓ = 1: τ = 1/5 for PA, min(0.1, 1/5) for PA-I with C = 0.1, 1 / (5 + 5) for PA-II; the
    /// score of x becomes 5 τ. With weight 4 PA-I takes min(0.4, 1/5), and PA-II 1 / (5 + 1.25).
    #[test]
    fn one_step_by_hand() {
        for (mode, w, tau) in
            [(0, 1.0, 0.2), (1, 1.0, 0.1), (2, 1.0, 0.1), (0, 4.0, 0.2), (1, 4.0, 0.2), (2, 4.0, 0.16)]
        {
            let mut model =
                classifier("linear_model.PAClassifier", json!({ "C": 0.1, "mode": mode, "intercept": false }));
            model.learn(Row::Plain(&[1.0, 2.0]), 1, w, &mut Scratch::default()).unwrap();
            assert!((score(&*model, &[1.0, 2.0]) - 5.0 * tau).abs() < 1e-15, "{mode} {w}");
        }
    }

    /// Of three classes the margin is that to the rival, and both move: |(x, −x)|² = 2 |x|².
    #[test]
    fn three_classes_by_hand() {
        let mut model = classifier("linear_model.PAClassifier", json!({ "mode": 0, "intercept": false }));
        let mut scratch = Scratch::default();
        // All scores are 0: ℓ = 1, τ = 1 / (2 · 4) = 1/8, so class 2 gets 0.25 x and class 0, its rival, −0.25 x.
        model.learn(Row::Plain(&[2.0]), 2, 1.0, &mut scratch).unwrap();
        let mut found = crate::task::ClassPrediction::default();
        model.predict(Row::Plain(&[1.0]), crate::row::Want::Probabilities, &mut found, &mut scratch);
        assert_eq!(found.class, Some(2));
        let ratio = found.probabilities[2] / found.probabilities[0];
        assert!((ratio - 0.5f64.exp()).abs() < 1e-15, "{ratio}");
    }

    /// x = (1, 2), y = −3, ε = 1/2: ℓ = 5/2, τ = −1/2, so it predicts −5/2, half a unit short. PA-I with C = 0.1 takes
    /// τ = −0.1.
    #[test]
    fn a_number_by_hand() {
        for (mode, expected) in [(0, -2.5), (1, -0.5)] {
            let parameters = json!({ "C": 0.1, "mode": mode, "epsilon": 0.5, "intercept": false });
            let mut model = regressor("linear_model.PARegressor", parameters);
            let mut scratch = Scratch::default();
            model.learn(Row::Plain(&[1.0, 2.0]), -3.0, 1.0, &mut scratch).unwrap();
            assert!((model.number(Row::Plain(&[1.0, 2.0]), &mut scratch) - expected).abs() < 1e-15);
        }
    }
}
