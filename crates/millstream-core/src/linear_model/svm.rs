//! A linear support vector machine, online: steps down the hinge loss ℓ = max(0, 1 − m), m the margin.
//!
//! * "pegasos" (Shalev-Shwartz, Singer, Srebro and Cotter, 2011, Mathematical Programming 127, figure 1): with l2 > 0
//!   and η = 1 / (l2 t), w ← (1 − η l2) w + η y x if m < 1, and then w is projected to |w| ≤ 1 / √l2. The intercept is a
//!   feature that is always 1, so it is penalised too.
//! * "osd", online subgradient descent (Zinkevich, 2003, ICML): η = learning_rate / √t, w ← w + η y x if m < 1, without
//!   l2.
//!
//! A sample weight multiplies the loss.

use crate::declaration::{Declaration, Role};
use crate::linear_model::hyperplane::INTERCEPT;
use crate::linear_model::margin::{build, MarginExample, UpdateRule};
use crate::linear_model::weight_vector::{Move, Spread};
use crate::merging::{Merge, BY_COUNT};
use crate::parameter::{Bounds, Default, Kind, Parameter};

pub static DECLARATION: Declaration = Declaration {
    name: Svm::NAME,
    role: Role::Classifier,
    words: "Linear support vector machine by subgradient descent on the hinge loss",
    merge: Merge::approximate(BY_COUNT),
    parameters: &[
        Parameter::new(
            "method",
            Kind::Choice(&["osd", "pegasos"]),
            Default::Text("osd"),
            "'osd': learning rate learning_rate / √t; 'pegasos': 1 / (l2 t) with an L2 penalty",
        ),
        Parameter::new("l2", Kind::Float(Bounds::POSITIVE), Default::Float(1e-4), "for 'pegasos': L2 penalty"),
        Parameter::new(
            "learning_rate",
            Kind::Float(Bounds::POSITIVE),
            Default::Float(1.0),
            "for 'osd': learning rate of the first step",
        ),
        INTERCEPT,
    ],
    build: |arguments| {
        let pegasos = arguments.text("method")? == "pegasos";
        let rule = Svm { l2: pegasos.then_some(arguments.float("l2")?), rate: arguments.float("learning_rate")? };
        Ok(build(rule, Spread::None, arguments.boolean("intercept")?))
    },
};

#[derive(Clone)]
struct Svm {
    /// None for osd.
    l2: Option<f64>,
    rate: f64,
}

impl UpdateRule for Svm {
    const NAME: &'static str = "linear_model.SVM";
    const LENGTH: bool = true;
    const MINI_BATCHES: bool = true;

    #[inline]
    fn idle(&self, margin: f64) -> bool {
        self.l2.is_none() && margin >= 1.0
    }

    #[inline]
    fn decide(&self, seen: &MarginExample) -> Option<Move> {
        let hit = if seen.margin < 1.0 { seen.w } else { 0.0 };
        let Some(l2) = self.l2 else {
            return (hit > 0.0).then(|| Move::along(hit * self.rate / seen.t.sqrt()));
        };
        Some(pegasos(l2, hit, seen))
    }

    /// Weight of the example in the subgradient.
    fn pull(&self, margin: f64, w: f64) -> f64 {
        if margin < 1.0 {
            w
        } else {
            0.0
        }
    }

    fn decide_mean(&self, seen: &MarginExample) -> Move {
        match self.l2 {
            None => Move::along(self.rate / seen.t.sqrt()),
            Some(l2) => pegasos(l2, 1.0, seen),
        }
    }
}

/// The step of Pegasos along an example, or the mean of some: `hit` is 0 if there is no loss.
fn pegasos(l2: f64, hit: f64, seen: &MarginExample) -> Move {
    let scale = 1.0 - 1.0 / seen.t;
    let along = hit / (l2 * seen.t);
    let squares = scale * scale * seen.length + 2.0 * scale * along * seen.margin + along * along * seen.variance;
    let shrink = if squares * l2 > 1.0 { 1.0 / (squares * l2).sqrt() } else { 1.0 };
    Move::scaled(scale * shrink, along * shrink)
}

#[cfg(test)]
mod tests {
    use crate::linear_model::margin::tests::{classifier, score};
    use crate::row::{Row, Scratch};
    use serde_json::json;

    /// Pegasos, l2 = 1/4. x = 1, y = 1, t = 1: η = 4, w = 4, held to 1 / √(1/4) = 2. x = −1, y = 1, t = 2: η = 2,
    /// m = −2: w = (1 − 1/2) 2 − 2 = −1. x = −3, t = 3: m = 3, no loss: w = −1 · (1 − 1/3).
    #[test]
    fn pegasos_by_hand() {
        let mut model =
            classifier("linear_model.SVM", json!({ "method": "pegasos", "l2": 0.25, "intercept": false }));
        for (x, w) in [(1.0, 2.0), (-1.0, -1.0), (-3.0, -2.0 / 3.0)] {
            model.learn(Row::Plain(&[x]), 1, 1.0, &mut Scratch::default()).unwrap();
            assert!((score(&*model, &[1.0]) - w).abs() < 1e-15);
        }
    }

    /// Rate 1: x = 1/2, w = 1/2; then t = 2, m = 1/4: w = 1/2 + 1/(2 √2).
    #[test]
    fn subgradient_descent_by_hand() {
        let mut model = classifier("linear_model.SVM", json!({ "method": "osd", "intercept": false }));
        for w in [0.5, 0.5 + 0.5 / 2f64.sqrt()] {
            model.learn(Row::Plain(&[0.5]), 1, 1.0, &mut Scratch::default()).unwrap();
            assert!((score(&*model, &[1.0]) - w).abs() < 1e-15);
        }
    }
}
