//! Generalized matrix learning vector quantization (Schneider, Biehl and Hammer, 2009, "Adaptive relevance matrices in
//! learning vector quantization", Neural Computation 21(12)).
//!
//! The distance d = (x − m)ᵀ Λ (x − m) has a matrix Λ = Ωᵀ Ω that is learned with the prototypes, down the gradient of the
//! cost of GLVQ (eq. 9 to 13). With δ = x − m and the derivatives s₁ ≥ 0 and s₂ ≤ 0 of the cost by d₁ and d₂ (`activation`):
//!
//! ```text
//! m₁ ← m₁ + α 2 s₁ Λ δ₁        m₂ ← m₂ + α 2 s₂ Λ δ₂
//! Ω ← Ω − η (2 s₁ Ω δ₁ δ₁ᵀ + 2 s₂ Ω δ₂ δ₂ᵀ)
//! ```
//!
//! Then Ω is divided by the root of the sum of its squares, so that the trace of Λ is 1 (eq. 14): the diagonal of Λ has the
//! relevance of each coordinate. Ω starts as a multiple of the identity; a new coordinate starts as relevant as one of the
//! first. As in GLVQ, a step of a prototype is at most its distance; a step of Ω is at most half its norm.
//!
//! A missing value counts as no difference, and the distance is scaled to all coordinates.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::cluster::centres::Centres;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::linear_model::{named, Coordinates};
use crate::merging::Merge;
use crate::numeric::dot;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::prototype::activation::{Activation, ACTIVATION, STEEPNESS};
use crate::prototype::classifier::{
    Example, PrototypeClassifier, Rule, LARGEST, MAX_PROTOTYPES, N_PROTOTYPES, STEP_SIZE,
};
use crate::row::Scratch;
use crate::schema::Schema;

const NAME: &str = "prototype.GMLVQ";
/// The largest number of coordinates: Ω has the square of it.
const WIDEST: usize = 2048;
/// The largest step of Ω, whose norm is 1.
const LONGEST_STEP: f64 = 0.5;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Generalized matrix LVQ: prototypes, and how relevant each feature and each pair of features is",
    merge: Merge::EXEMPLARS,
    parameters: &[
        N_PROTOTYPES,
        STEP_SIZE,
        Parameter::new(
            "relevance_learning_rate",
            Kind::Float(Bounds::NOT_NEGATIVE),
            DefaultValue::Float(0.003),
            "factor of the gradient of the relevance matrix; 0 to keep all features equally relevant",
        ),
        ACTIVATION,
        STEEPNESS,
        MAX_PROTOTYPES,
    ],
    build: |arguments| {
        let rule = Gmlvq {
            learning_rate: arguments.float("learning_rate")?,
            relevance_learning_rate: arguments.float("relevance_learning_rate")?,
            activation: Activation::new(arguments)?,
            width: 0,
            omega: Vec::new(),
        };
        Ok(Built::Classifier(Box::new(PrototypeClassifier::new(arguments, rule, None)?)))
    },
};

#[derive(Clone)]
struct Gmlvq {
    learning_rate: f64,
    relevance_learning_rate: f64,
    activation: Activation,
    width: usize,
    /// Ω by rows.
    omega: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct GmlvqState {
    omega: Vec<f64>,
}

/// The difference of a row and a prototype, and the step that it causes.
struct Pull {
    prototype: usize,
    /// δ
    differences: Vec<f64>,
    /// Ω δ
    projected: Vec<f64>,
    /// Twice the derivative of the cost by the distance, with the factor of a partial distance.
    slope: f64,
}

impl Gmlvq {
    /// Ω δ
    fn project(&self, differences: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.extend(self.omega.chunks_exact(self.width.max(1)).map(|row| dot(row, differences)));
    }

    fn pull(&self, prototypes: &Centres, prototype: usize, x: &[f64], slope: f64, scratch: &mut Scratch) -> Pull {
        let (mut differences, mut projected) = (scratch.take_numbers(), scratch.take_numbers());
        let factor = prototypes.differences(prototype, x, &mut differences);
        self.project(&differences, &mut projected);
        Pull { prototype, differences, projected, slope: 2.0 * slope * factor }
    }

    /// Move a prototype by `rate` times its slope times Λ δ.
    fn move_prototype(&self, prototypes: &mut Centres, pull: &Pull, x: &[f64], rate: f64, scratch: &mut Scratch) {
        let mut direction = scratch.take_numbers();
        direction.resize(self.width, 0.0);
        for (row, &projected) in self.omega.chunks_exact(self.width).zip(&pull.projected) {
            direction.iter_mut().zip(row).for_each(|(sum, omega)| *sum += omega * projected);
        }
        // The distance does not depend on a coordinate that the row lacks.
        direction.iter_mut().zip(x).filter(|(_, x)| x.is_nan()).for_each(|(sum, _)| *sum = 0.0);
        prototypes.shift_within(pull.prototype, &direction, (rate * pull.slope).clamp(-1.0, 1.0), LARGEST);
        if pull.slope > 0.0 {
            prototypes.fill(pull.prototype, x);
        }
        scratch.give_numbers(direction);
    }

    /// Take a step of Ω and make the trace of Λ 1.
    fn move_omega(&mut self, pulls: [&Pull; 2], rate: f64) {
        let norm = |numbers: &[f64]| dot(numbers, numbers).sqrt();
        let length = |pull: &Pull| pull.slope.abs() * norm(&pull.projected) * norm(&pull.differences);
        let longest = rate * (length(pulls[0]) + length(pulls[1]));
        if !longest.is_finite() || longest == 0.0 {
            return;
        }
        let rate = rate * (LONGEST_STEP / longest).min(1.0);
        for (index, row) in self.omega.chunks_exact_mut(self.width).enumerate() {
            for pull in pulls {
                let factor = rate * pull.slope * pull.projected[index];
                row.iter_mut()
                    .zip(&pull.differences)
                    .for_each(|(omega, difference)| *omega -= factor * difference);
            }
        }
        self.normalise();
    }

    fn normalise(&mut self) {
        let norm = dot(&self.omega, &self.omega).sqrt();
        self.omega.iter_mut().for_each(|omega| *omega /= norm);
    }

    /// An entry of Λ.
    fn relevance(&self, a: usize, b: usize) -> f64 {
        self.omega.chunks_exact(self.width).map(|row| row[a] * row[b]).sum()
    }
}

impl Rule for Gmlvq {
    type State = GmlvqState;
    const NAME: &'static str = NAME;

    fn distances(
        &self,
        prototypes: &Centres,
        x: &[f64],
        _complete: bool,
        out: &mut Vec<f64>,
        scratch: &mut Scratch,
    ) {
        out.clear();
        let mut differences = scratch.take_numbers();
        for prototype in 0..prototypes.len() {
            let factor = prototypes.differences(prototype, x, &mut differences);
            out.push(match factor.is_finite() {
                true => {
                    let rows = self.omega.chunks_exact(self.width);
                    let squares = rows.map(|row| dot(row, &differences)).map(|projected| projected * projected);
                    factor * squares.sum::<f64>()
                }
                false => f64::INFINITY,
            });
        }
        scratch.give_numbers(differences);
    }

    fn learn(&mut self, prototypes: &mut Centres, _classes: &[u32], example: Example<'_>, scratch: &mut Scratch) {
        let Example { x, w, own, other: Some(other), .. } = example else { return };
        let Some(slopes) = self.activation.slopes(own.distance, other.distance) else { return };
        let own = self.pull(prototypes, own.prototype, x, slopes.own, scratch);
        let other = self.pull(prototypes, other.prototype, x, slopes.other, scratch);
        self.move_prototype(prototypes, &own, x, self.learning_rate * w, scratch);
        self.move_prototype(prototypes, &other, x, self.learning_rate * w, scratch);
        self.move_omega([&own, &other], self.relevance_learning_rate * w);
        for Pull { differences, projected, .. } in [own, other] {
            scratch.give_numbers(differences);
            scratch.give_numbers(projected);
        }
    }

    fn check_width(&self, width: usize) -> Result<()> {
        match width > WIDEST {
            true => Err(Fault::value(format!(
                "{NAME}: supports up to {WIDEST} features and nominal values, got {width}: use GLVQ, or select features"
            ))),
            false => Ok(()),
        }
    }

    fn widen(&mut self, coordinates: &Coordinates) {
        let (before, width) = (self.width, coordinates.width());
        if before == width {
            return;
        }
        let mut omega = vec![0.0; width * width];
        for (index, row) in omega.chunks_exact_mut(width).enumerate() {
            match index < before {
                true => row[..before].copy_from_slice(&self.omega[index * before..(index + 1) * before]),
                false => row[index] = 1.0 / (width as f64).sqrt(),
            }
        }
        (self.width, self.omega) = (width, omega);
        self.normalise();
    }

    fn save(&self) -> GmlvqState {
        GmlvqState { omega: self.omega.clone() }
    }

    fn load(&mut self, state: GmlvqState, width: usize) -> bool {
        let trace = dot(&state.omega, &state.omega);
        let fits = state.omega.len() == width * width && (width == 0 || (trace - 1.0).abs() < 1e-6);
        if fits {
            (self.width, self.omega) = (width, state.omega);
        }
        fits
    }

    fn memory(&self) -> usize {
        8 * self.omega.capacity()
    }

    /// `{"relevances": {feature: number, or {value: number}}, "relevance_matrix": [[…]]}`; the matrix is by coordinate in the
    /// order of `coordinates`, pairs of a feature and its value, or null for a number.
    fn inspect(
        &self,
        found: &mut serde_json::Map<String, serde_json::Value>,
        coordinates: &Coordinates,
        schema: &Schema,
    ) {
        let relevances = named(schema, |slot, value| {
            let place = coordinates.of(slot, value)? as usize;
            (place < self.width).then(|| self.relevance(place, place))
        });
        found.insert("relevances".into(), json!(relevances));
        if schema.is_empty() {
            return;
        }
        let mut names = Vec::new();
        let mut places = Vec::new();
        coordinates.each_slot(|slot, number, values| {
            let Some(name) = schema.names().nth(slot) else { return };
            names.extend(number.iter().map(|_| json!([name.text(), null])));
            places.extend(number);
            for (code, text) in (0..).map_while(|code| Some((code, schema.values(slot).text(code)?.to_string()))) {
                if let Some(place) = coordinates.of(slot, crate::row::Value::Nominal(Some(code))) {
                    if values.contains(&(place as usize)) {
                        names.push(json!([name.text(), text]));
                        places.push(place as usize);
                    }
                }
            }
        });
        let row = |&a: &usize| places.iter().map(|&b| self.relevance(a, b)).collect::<Vec<f64>>();
        let matrix: Vec<Vec<f64>> = places.iter().map(row).collect();
        found.insert("coordinates".into(), json!(names));
        found.insert("relevance_matrix".into(), json!(matrix));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::learner::Learner;
    use crate::prototype::classifier::testing::{assert_near, built, learn, prototypes};
    use crate::task::Classes;

    fn matrix(model: &dyn Learner<Classes>, features: usize) -> Vec<Vec<f64>> {
        let mut schema = Schema::default();
        schema.widen(features);
        let found = model.inspect(&schema)["relevance_matrix"].clone();
        serde_json::from_value(found).unwrap()
    }

    /// Prototypes (0, 0) of class 0 and (4, 0) of class 1, Ω = I/√2, and the row (1, 1) of class 0: δ₁ = (1, 1), δ₂ = (−3, 1),
    /// d₁ = 1, d₂ = 5, s₁ = 2 · 5/36 = 5/18, s₂ = −1/18. With α = 0.9, m₁ += 0.9 · 2 · 5/18 · ½ (1, 1) = (0.25, 0.25) and
    /// m₂ −= 0.9 · 2/18 · ½ (−3, 1) = (−0.15, 0.05). With η = 0.9, Ω −= (I/√2)(0.5 δ₁δ₁ᵀ − 0.1 δ₂δ₂ᵀ), that is
    /// (I − [[0.5 − 0.9, 0.5 + 0.3], [0.8, 0.5 − 0.1]])/√2 = [[1.4, −0.8], [−0.8, 0.6]]/√2 before the division, if its length
    /// 0.5 · 1 · √2 + 0.1 · √5 · √10 = √2 is at most ½: so η is divided by 2√2, and with c = 1/(2√2) Ω is proportional to
    /// [[1 + 0.4 c, −0.8 c], [−0.8 c, 1 − 0.4 c]].
    #[test]
    fn a_step_worked_by_hand() {
        let parameters = json!({ "n_prototypes": 1, "learning_rate": 0.9, "relevance_learning_rate": 0.9 });
        let mut model = built(NAME, parameters);
        learn(&mut *model, &[0.0, 0.0], 0, 1.0);
        learn(&mut *model, &[4.0, 0.0], 1, 1.0);
        assert_near(&matrix(&*model, 2), &[&[0.5, 0.0], &[0.0, 0.5]]);
        learn(&mut *model, &[1.0, 1.0], 0, 1.0);
        assert_near(&prototypes(&*model, 2), &[&[0.25, 0.25], &[4.15, -0.05]]);
        let c = 1.0 / 8f64.sqrt();
        let (a, b, d) = (1.0 + 0.4 * c, -0.8 * c, 1.0 - 0.4 * c);
        let trace = a * a + 2.0 * b * b + d * d;
        let wanted =
            [[a * a + b * b, b * (a + d)], [b * (a + d), b * b + d * d]].map(|row| row.map(|x| x / trace));
        assert_near(&matrix(&*model, 2), &[&wanted[0], &wanted[1]]);
    }

    #[test]
    fn a_matrix_of_another_size_or_trace_is_refused() {
        let mut rule = Gmlvq {
            learning_rate: 0.1,
            relevance_learning_rate: 0.1,
            activation: Activation::Identity,
            width: 0,
            omega: Vec::new(),
        };
        let mut load = |omega: &[f64], width: usize| rule.load(GmlvqState { omega: omega.to_vec() }, width);
        assert!(load(&[1.0, 0.0, 0.0, 0.0], 2));
        assert!(!load(&[1.0, 0.0, 0.0], 2));
        assert!(!load(&[1.0, 1.0, 0.0, 0.0], 2));
        assert!(!load(&[f64::NAN, 0.0, 0.0, 0.0], 2));
    }

    /// Steps of prototypes and of Ω (before it is divided by its norm) are those of the gradient, by central differences.
    #[test]
    fn steps_follow_the_gradient() {
        let x = [0.7, -0.4, 1.1];
        let rows = [[0.2, 0.1, 0.9], [1.5, 0.3, -0.2]];
        let mut omega = [[0.6, 0.1, -0.2], [0.3, 0.5, 0.1], [0.0, -0.1, 0.4]];
        let norm = omega.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
        omega.iter_mut().flatten().for_each(|x| *x /= norm);
        for activation in [Activation::Identity, Activation::Sigmoid(3.0)] {
            let distance = |omega: &[[f64; 3]; 3], row: &[f64; 3]| {
                let projected = |o: &[f64; 3]| (0..3).map(|k| o[k] * (x[k] - row[k])).sum::<f64>();
                omega.iter().map(|o| projected(o).powi(2)).sum::<f64>()
            };
            let cost = |omega: &[[f64; 3]; 3], rows: &[[f64; 3]; 2]| {
                activation.cost(distance(omega, &rows[0]), distance(omega, &rows[1]))
            };
            let (learning_rate, relevance_learning_rate) = (0.01, 0.02);
            let (width, flat) = (3, omega.concat());
            let mut rule = Gmlvq { learning_rate, relevance_learning_rate, activation, width, omega: flat };
            let mut prototypes = Centres::default();
            rows.iter().for_each(|row| prototypes.push(row, 1.0));
            let (mut scratch, mut distances) = (Scratch::default(), Vec::new());
            rule.distances(&prototypes, &x, true, &mut distances, &mut scratch);
            let near = |prototype: usize| crate::prototype::classifier::Neighbour {
                prototype,
                distance: distances[prototype],
            };
            let (own, other) = (near(0), Some(near(1)));
            let example = Example { x: &x, complete: true, class: 0, w: 1.0, distances: &distances, own, other };
            rule.learn(&mut prototypes, &[0, 1], example, &mut scratch);
            for k in 0..6 {
                let (mut up, mut down) = (rows, rows);
                up[k / 3][k % 3] += 1e-6;
                down[k / 3][k % 3] -= 1e-6;
                let gradient = (cost(&omega, &up) - cost(&omega, &down)) / 2e-6;
                let step = prototypes.value(k / 3, k % 3) - rows[k / 3][k % 3];
                assert!((step + learning_rate * gradient).abs() < 1e-6 * learning_rate);
            }
            let mut wanted = omega;
            for k in 0..9 {
                let (mut up, mut down) = (omega, omega);
                up[k / 3][k % 3] += 1e-6;
                down[k / 3][k % 3] -= 1e-6;
                wanted[k / 3][k % 3] -= relevance_learning_rate * (cost(&up, &rows) - cost(&down, &rows)) / 2e-6;
            }
            let norm = wanted.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
            let wanted = wanted.concat().into_iter().map(|x| x / norm);
            assert!(rule.omega.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6 * relevance_learning_rate));
        }
    }
}
