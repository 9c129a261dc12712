//! Generalized learning vector quantization (Sato and Yamada, 1996, "Generalized learning vector quantization", NIPS 8).
//!
//! Each row takes a step down the gradient of f(μ) with its relative distance μ (`activation`). With the squared distances
//! d₁, d₂ to the nearest prototypes m₁ of its class and m₂ of all others, and the learning rate α (eq. 8 and 9, whose
//! constant factor 4 is part of α there):
//!
//! ```text
//! m₁ ← m₁ + α f'(μ) 4 d₂ / (d₁ + d₂)² (x − m₁)
//! m₂ ← m₂ − α f'(μ) 4 d₁ / (d₁ + d₂)² (x − m₂)
//! ```
//!
//! The factors of (x − m) are at most 1: where all distances are tiny, the gradient is huge, and a prototype would jump over
//! its row. While there is one class alone, nothing moves.

use crate::cluster::centres::Centres;
use crate::declaration::{Built, Declaration, Role};
use crate::merging::Merge;
use crate::prototype::activation::{Activation, ACTIVATION, STEEPNESS};
use crate::prototype::classifier::{
    Example, PrototypeClassifier, Rule, LARGEST, MAX_PROTOTYPES, N_PROTOTYPES, STEP_SIZE,
};
use crate::row::Scratch;

const NAME: &str = "prototype.GLVQ";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Generalized learning vector quantization: gradient descent on relative distances to prototypes",
    merge: Merge::EXEMPLARS,
    parameters: &[N_PROTOTYPES, STEP_SIZE, ACTIVATION, STEEPNESS, MAX_PROTOTYPES],
    build: |arguments| {
        let rule =
            Glvq { learning_rate: arguments.float("learning_rate")?, activation: Activation::new(arguments)? };
        Ok(Built::Classifier(Box::new(PrototypeClassifier::new(arguments, rule, None)?)))
    },
};

#[derive(Clone)]
struct Glvq {
    learning_rate: f64,
    activation: Activation,
}

impl Rule for Glvq {
    type State = ();
    const NAME: &'static str = NAME;

    #[inline]
    fn learn(&mut self, prototypes: &mut Centres, _classes: &[u32], example: Example<'_>, _: &mut Scratch) {
        let Example { x, complete, w, own, other: Some(other), .. } = example else { return };
        let Some(slopes) = self.activation.slopes(own.distance, other.distance) else { return };
        // Twice, as the gradient of |x − m|² by m is −2 (x − m).
        let rate = 2.0 * self.learning_rate * w;
        prototypes.step(own.prototype, x, complete, (rate * slopes.own).min(1.0), LARGEST);
        prototypes.step(other.prototype, x, complete, (rate * slopes.other).max(-1.0), LARGEST);
    }

    fn save(&self) {}

    fn load(&mut self, _state: (), _width: usize) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::prototype::classifier::testing::{assert_near, built, learn, prototypes};

    /// Prototypes 0 of class 0 and 4 of class 1, and the row 1 of class 0: d₁ = 1, d₂ = 9. With α = 5, the factors are
    /// 5 · 4 · 9 / 100, at most 1, and 5 · 4 · 1 / 100 = 0.2: m₁ = 1, m₂ = 4 − 0.2 (1 − 4) = 4.6.
    #[test]
    fn a_step_worked_by_hand() {
        let mut model = built(NAME, json!({ "n_prototypes": 1, "learning_rate": 5.0 }));
        learn(&mut *model, &[0.0], 0, 1.0);
        learn(&mut *model, &[4.0], 1, 1.0);
        learn(&mut *model, &[1.0], 0, 1.0);
        assert_near(&prototypes(&*model, 1), &[&[1.0], &[4.6]]);
        // d₁ = 0: the other prototype has the factor 0, and its own is there already.
        learn(&mut *model, &[1.0], 0, 1.0);
        assert_near(&prototypes(&*model, 1), &[&[1.0], &[4.6]]);
    }

    /// Both classes have a prototype at the row: 0/0.
    #[test]
    fn coinciding_prototypes_stay() {
        let mut model = built(NAME, json!({ "n_prototypes": 1 }));
        for _ in 0..2 {
            learn(&mut *model, &[2.0, 3.0], 0, 1.0);
            learn(&mut *model, &[2.0, 3.0], 1, 1.0);
        }
        assert_near(&prototypes(&*model, 2), &[&[2.0, 3.0], &[2.0, 3.0]]);
    }

    /// A step is −α times the gradient of the cost by each coordinate of each prototype, by central differences.
    #[test]
    fn steps_follow_the_gradient() {
        let (x, rows) =
            ([0.7, -0.4, 1.1], [[0.2, 0.1, 0.9], [-1.0, 0.5, 0.3], [1.5, 0.3, -0.2], [2.0, -1.0, 1.0]]);
        for activation in [Activation::Identity, Activation::Sigmoid(2.0)] {
            let distance = |row: &[f64; 3]| row.iter().zip(&x).map(|(m, x)| (x - m) * (x - m)).sum::<f64>();
            let cost = |rows: &[[f64; 3]; 4]| {
                let of = |from: usize| distance(&rows[from]).min(distance(&rows[from + 1]));
                activation.cost(of(0), of(2))
            };
            let word = if matches!(activation, Activation::Identity) { "identity" } else { "sigmoid" };
            let rate = 0.01;
            let parameters = json!({ "n_prototypes": 2, "learning_rate": rate, "activation": word });
            let mut model = built(NAME, parameters);
            rows.iter().enumerate().for_each(|(index, row)| learn(&mut *model, row, index as u32 / 2, 1.0));
            learn(&mut *model, &x, 0, 1.0);
            let moved = prototypes(&*model, 3);
            for prototype in 0..4 {
                for coordinate in 0..3 {
                    let (mut up, mut down) = (rows, rows);
                    up[prototype][coordinate] += 1e-6;
                    down[prototype][coordinate] -= 1e-6;
                    let gradient = (cost(&up) - cost(&down)) / 2e-6;
                    let step = moved[prototype][coordinate] - rows[prototype][coordinate];
                    assert!((step + rate * gradient).abs() < 1e-6 * rate, "{step} {gradient}");
                }
            }
        }
    }
}
