//! Robust soft learning vector quantization (Seo and Obermayer, 2003, "Soft learning vector quantization", Neural Computation
//! 15(7)).
//!
//! Each prototype m is the mean of a normal distribution of variance σ² in each coordinate, all with the same prior. A row x of
//! class y takes a step up the gradient of ln P(x, y) − ln P(x) (eq. 25 and 26):
//!
//! ```text
//! m ← m + α/σ² (P_y(m | x) − P(m | x)) (x − m)    for prototypes of class y,
//! m ← m − α/σ² P(m | x) (x − m)                   for the others
//! ```
//!
//! P(m | x) ∝ exp(−|x − m|² / 2σ²) over all prototypes, and P_y(m | x) over those of class y alone. Exponents are relative to
//! the largest of each sum, so that no sum underflows. As in GLVQ, a step is at most the distance of the prototype. The
//! probability of a class is the sum of P(m | x) over its prototypes.

use crate::cluster::centres::Centres;
use crate::declaration::{Built, Declaration, Role};
use crate::ensemble::bagged::Detector;
use crate::merging::Merge;
use crate::numeric::elementary::exp;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::prototype::classifier::{
    normalise, Example, PrototypeClassifier, Rule, LARGEST, MAX_PROTOTYPES, N_PROTOTYPES, STEP_SIZE,
};
use crate::prototype::reaction::Reaction;
use crate::row::{Scratch, Want};
use crate::task::ClassPrediction;

const NAME: &str = "prototype.RSLVQ";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Robust soft LVQ: prototypes as normal distributions, with class probabilities",
    merge: Merge::EXEMPLARS,
    parameters: &[
        N_PROTOTYPES,
        STEP_SIZE,
        Parameter::new(
            "sigma",
            Kind::Float(Bounds::new(1e-6, true, 1e6, true)),
            DefaultValue::Float(1.0),
            "standard deviation of the normal distribution around each prototype",
        ),
        Parameter::new(
            "detector",
            Kind::Optional(&Kind::Part(&[Role::DriftDetector])),
            DefaultValue::Null,
            "drift detector for the errors on each class, which starts again at a drift; null for none",
        ),
        MAX_PROTOTYPES,
    ],
    build: |arguments| {
        let sigma = arguments.float("sigma")?;
        let rule = Rslvq { learning_rate: arguments.float("learning_rate")?, variance: sigma * sigma };
        let reaction = Detector::given(arguments, "detector")?.map(Reaction::new);
        Ok(Built::Classifier(Box::new(PrototypeClassifier::new(arguments, rule, reaction)?)))
    },
};

#[derive(Clone)]
struct Rslvq {
    learning_rate: f64,
    variance: f64,
}

impl Rslvq {
    /// exp(−(distance − nearest) / 2σ²)
    #[inline]
    fn relative_density(&self, distance: f64, nearest: f64) -> f64 {
        exp((nearest - distance) / (2.0 * self.variance))
    }
}

impl Rule for Rslvq {
    type State = ();
    const NAME: &'static str = NAME;

    fn learn(&mut self, prototypes: &mut Centres, classes: &[u32], example: Example<'_>, scratch: &mut Scratch) {
        let Example { x, complete, class, w, distances, own, other } = example;
        let nearest = other.map_or(own.distance, |other| other.distance.min(own.distance));
        let mut densities = scratch.take_numbers();
        densities.extend(distances.iter().map(|&distance| self.relative_density(distance, nearest)));
        let sum: f64 = densities.iter().sum();
        let mut own_sum = 0.0;
        for (&distance, _) in distances.iter().zip(classes).filter(|(_, &of)| of == class) {
            own_sum += self.relative_density(distance, own.distance);
        }
        let rate = self.learning_rate * w / self.variance;
        for (prototype, (&density, &of)) in densities.iter().zip(classes).enumerate() {
            let expected = match of == class {
                true => self.relative_density(distances[prototype], own.distance) / own_sum,
                false => 0.0,
            };
            let rate = (rate * (expected - density / sum)).clamp(-1.0, 1.0);
            if rate != 0.0 {
                prototypes.step(prototype, x, complete, rate, LARGEST);
            }
        }
        scratch.give_numbers(densities);
    }

    fn predict(&self, distances: &[f64], classes: &[u32], codes: usize, want: Want, out: &mut ClassPrediction) {
        let nearest = distances.iter().fold(f64::INFINITY, |nearest, &distance| nearest.min(distance));
        out.probabilities.resize(codes, 0.0);
        for (&distance, &class) in distances.iter().zip(classes) {
            out.probabilities[class as usize] += self.relative_density(distance, nearest);
        }
        out.decide();
        match want {
            Want::Class => out.probabilities.clear(),
            Want::Probabilities => normalise(&mut out.probabilities),
        }
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
    use crate::prototype::classifier::testing::{assert_near, built, learn, predict, prototypes};

    /// Prototypes 0 of class 0 and 2 of class 1, σ = 1, and the row 1 of class 0: both have P = 1/2. With α = 0.2,
    /// 0 → 0.2 · ½ · 1 = 0.1 and 2 → 2 − 0.2 · ½ · (1 − 2) = 2.1. Then 1.1 is as far from both: probabilities 1/2. At 0.1 + x,
    /// the second is exp(((2 − x)² − x²)/2) = exp(2 − 2 x) times less probable.
    #[test]
    fn a_step_worked_by_hand() {
        let mut model = built(NAME, json!({ "n_prototypes": 1, "learning_rate": 0.2 }));
        learn(&mut *model, &[0.0], 0, 1.0);
        learn(&mut *model, &[2.0], 1, 1.0);
        learn(&mut *model, &[1.0], 0, 1.0);
        assert_near(&prototypes(&*model, 1), &[&[0.1], &[2.1]]);
        assert_near(&[predict(&*model, &[1.1]).probabilities], &[&[0.5, 0.5]]);
        let ratio = 1f64.exp();
        assert_near(&[predict(&*model, &[0.6]).probabilities], &[&[ratio / (1.0 + ratio), 1.0 / (1.0 + ratio)]]);
        // Far away, densities underflow and probabilities do not.
        assert_near(&[predict(&*model, &[-1e6]).probabilities], &[&[1.0, 0.0]]);
    }

    /// Steps are α times the gradient of ln P(x, y) − ln P(x), by central differences.
    #[test]
    fn steps_follow_the_gradient() {
        let (x, rows) =
            ([0.7, -0.4, 1.1], [[0.2, 0.1, 0.9], [-1.0, 0.5, 0.3], [1.5, 0.3, -0.2], [2.0, -1.0, 1.0]]);
        let sigma = 0.8;
        let likelihood = |rows: &[[f64; 3]; 4]| {
            let density = |row: &[f64; 3]| {
                let distance: f64 = row.iter().zip(&x).map(|(m, x)| (x - m) * (x - m)).sum();
                (-distance / (2.0 * sigma * sigma)).exp()
            };
            let own = density(&rows[0]) + density(&rows[1]);
            (own / (own + density(&rows[2]) + density(&rows[3]))).ln()
        };
        let rate = 0.01;
        let mut model = built(NAME, json!({ "n_prototypes": 2, "learning_rate": rate, "sigma": sigma }));
        rows.iter().enumerate().for_each(|(index, row)| learn(&mut *model, row, index as u32 / 2, 1.0));
        learn(&mut *model, &x, 0, 1.0);
        let moved = prototypes(&*model, 3);
        for k in 0..12 {
            let (mut up, mut down) = (rows, rows);
            up[k / 3][k % 3] += 1e-6;
            down[k / 3][k % 3] -= 1e-6;
            let gradient = (likelihood(&up) - likelihood(&down)) / 2e-6;
            let step = moved[k / 3][k % 3] - rows[k / 3][k % 3];
            assert!((step - rate * gradient).abs() < 1e-6 * rate, "{step} {gradient}");
        }
    }

    /// Class 0 moves from 0 to 5 and class 1 from 5 to 0. With a detector, both start again at once.
    #[test]
    fn classes_start_again_after_a_drift() {
        let run = |detector: serde_json::Value| {
            let mut model = built(NAME, json!({ "n_prototypes": 1, "learning_rate": 1e-3, "detector": detector }));
            for row in 0..2000u32 {
                let (y, jitter) = (row % 2, f64::from(row % 7) * 0.01);
                let x = if (y == 0) == (row < 1000) { jitter } else { 5.0 + jitter };
                learn(&mut *model, &[x], y, 1.0);
            }
            (prototypes(&*model, 1), predict(&*model, &[0.0]).class, model.scalars()["drifts"].clone())
        };
        assert_eq!((run(json!(null)).1, run(json!(null)).2), (Some(0), json!(0)));
        let (found, class, drifts) = run(json!({ "name": "drift.ADWIN" }));
        assert_eq!((found.len(), class, drifts), (2, Some(1), json!(1)));
    }
}
