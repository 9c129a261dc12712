//! The approximate large margin algorithm ALMA (Gentile, 2001, JMLR 2, figure 1, p = 2): with x̂ = x / |x| and k
//! counting steps from 1, if m̂ = y wᵀx̂ ≤ (1 − α) γ, γ = B / √k, then
//! ```text
//! w ← w + η y x̂,   η = C / √k,   and w ← w / |w| if it is longer than 1
//! ```
//! B = √8 / α and C = √2 are those of the paper's theorem 3: after finitely many steps over separable data the margin is
//! at least 1 − α times the best. A sample weight multiplies η.

use crate::declaration::{Declaration, Role};
use crate::linear_model::hyperplane::INTERCEPT;
use crate::linear_model::margin::{build, MarginExample, UpdateRule};
use crate::linear_model::weight_vector::{Move, Spread};
use crate::merging::{Merge, BY_COUNT};
use crate::parameter::{Bounds, Default, Kind, Parameter};

pub static DECLARATION: Declaration = Declaration {
    name: Alma::NAME,
    role: Role::Classifier,
    words: "Approximate large margin: shrinking perceptron steps towards a fraction of the maximum margin",
    merge: Merge::approximate(BY_COUNT),
    parameters: &[
        Parameter::new(
            "margin_slack",
            Kind::Float(Bounds { low: 0.0, low_included: false, high: 1.0, high_included: true }),
            Default::Float(0.9),
            "fraction of the maximum margin that may be given up",
        )
        .formerly(&["alpha"]),
        INTERCEPT,
    ],
    build: |arguments| {
        let rule = Alma { alpha: arguments.float("margin_slack")? };
        Ok(build(rule, Spread::None, arguments.boolean("intercept")?))
    },
};

#[derive(Clone)]
struct Alma {
    alpha: f64,
}

impl UpdateRule for Alma {
    const NAME: &'static str = "linear_model.ALMA";
    const LENGTH: bool = true;

    fn decide(&self, seen: &MarginExample) -> Option<Move> {
        let size = seen.variance.sqrt();
        let k = (seen.moves + 1.0).sqrt();
        let margin = seen.margin / size;
        if size == 0.0 || margin > (1.0 - self.alpha) * 8f64.sqrt() / (self.alpha * k) {
            return None;
        }
        let eta = seen.w * 2f64.sqrt() / k;
        let length = (seen.length + 2.0 * eta * margin + eta * eta).max(0.0).sqrt();
        let shrink = 1.0 / length.max(1.0);
        Some(Move::scaled(shrink, shrink * eta / size))
    }
}

#[cfg(test)]
mod tests {
    use crate::linear_model::margin::tests::{classifier, score};
    use crate::row::{Row, Scratch};
    use serde_json::json;

    /// x = (3, 4), |x| = 5: η = √2, w = √2 (0.6, 0.8), longer than 1, so w = (0.6, 0.8). The same x has m̂ = 1 and
    /// k = 2: γ (1 − α) = √4 / 0.9 · 0.1 = 0.222, no step. (4, −3) has m̂ = 0: η = 1, w = (0.6 + 0.8, 0.8 − 0.6) / √2.
    #[test]
    fn two_steps_by_hand() {
        let mut model = classifier("linear_model.ALMA", json!({ "intercept": false }));
        let mut scratch = Scratch::default();
        for x in [[3.0, 4.0], [3.0, 4.0], [4.0, -3.0]] {
            model.learn(Row::Plain(&x), 1, 1.0, &mut scratch).unwrap();
        }
        assert!((score(&*model, &[1.0, 0.0]) - 1.4 / 2f64.sqrt()).abs() < 1e-15);
        assert!((score(&*model, &[0.0, 1.0]) - 0.2 / 2f64.sqrt()).abs() < 1e-15);
    }
}
