//! IRMA for classification: the incremental risk functional of irma.rs with a classification loss.
//!
//! Of two classes there is one function, the score of the second class, and the loss of its margin: what a step
//! minimises is the paper's functional to the letter. From the third class on there is a function for each. With the
//! logistic loss they are learned together, by the softmax (softmax_step.rs); with any other loss each learns its class
//! against the rest. When the third class comes, half of the function and its negative go to the first two for the
//! softmax (their difference is the function), and the function and its negative for one against the rest.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::{DecisionFunction, Learner};
use crate::losses::Loss;
use crate::merging::Merge;
use crate::optim::Features;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{all_finite, finite, most, Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, Classes};

use super::incremental_risk::{self as risk, Ground, GroundState, Stiffness};
use super::softmax_regression::softmax;
use super::{proximal, softmax_step};

const NAME: &str = "linear_model.IRMAClassifier";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Incremental risk minimisation for two or more classes",
    merge: Merge::none("each example changes the function over its whole domain: use linear_model.AROW"),
    parameters: &[
        Parameter::new(
            "loss",
            Kind::Part(&[Role::Loss]),
            DefaultValue::Part("losses.Logistic"),
            "loss at the example: a convex classification loss",
        ),
        risk::STIFFNESS,
        risk::GROWTH,
        risk::SCHEDULE,
        risk::CAP,
        risk::GRAM,
    ],
    build: |arguments| {
        let stiffness = Stiffness::new(arguments)?;
        Ok(Built::Classifier(Box::new(IrmaClassifier {
            loss: risk::loss(arguments, true)?,
            stiffness,
            ground: Ground::new(arguments)?,
            current: stiffness.start,
            functions: Vec::new(),
            spare: Vec::new(),
            steps: Vec::new(),
        })))
    },
};

#[derive(Clone)]
struct IrmaClassifier {
    loss: Loss,
    stiffness: Stiffness,
    ground: Ground,
    /// λ for the next example.
    current: f64,
    /// Weights of ψ: none before anything is learned, one for two classes, else one for each.
    functions: Vec<Vec<f64>>,
    /// The weights after a step, before they are committed.
    spare: Vec<Vec<f64>>,
    /// The step of each function along ψ.
    steps: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct State {
    ground: GroundState,
    stiffness: f64,
    functions: Vec<Vec<f64>>,
}

impl IrmaClassifier {
    fn state(&self, ground: GroundState) -> Result<Vec<u8>> {
        pack(&State { ground, stiffness: self.current, functions: self.functions.clone() })
    }

    fn scores(&self, features: Features<'_>, out: &mut Vec<f64>) {
        out.extend(self.functions.iter().map(|weights| finite(risk::score_and_square(weights, features).0)));
    }

    /// A function for each class up to `y`; true if some had to be made of the one for two classes.
    fn admit(&mut self, y: usize) {
        let width = self.ground.width();
        self.functions.iter_mut().for_each(|weights| weights.resize(width, 0.0));
        if y < 2 && self.functions.len() < 2 {
            self.functions.resize(1, vec![0.0; width]);
            return;
        }
        if self.functions.len() < 2 {
            let fraction = if self.loss == Loss::Logistic { 0.5 } else { 1.0 };
            let one = self.functions.pop().unwrap_or_else(|| vec![0.0; width]);
            self.functions.push(one.iter().map(|weight| -fraction * weight).collect());
            self.functions.push(one.iter().map(|weight| fraction * weight).collect());
        }
        if y >= self.functions.len() {
            self.functions.resize(y + 1, vec![0.0; width]);
        }
    }

    /// The steps of all functions along ψ.
    fn decide(&mut self, features: Features<'_>, y: usize, w: f64, scratch: &mut Scratch) {
        let mut scores = scratch.take_numbers();
        let mut square = 0.0;
        for weights in &self.functions {
            let (score, own) = risk::score_and_square(weights, features);
            scores.push(score);
            square = own;
        }
        let hardness = self.current / w;
        let sign = |positive: bool| if positive { 1.0 } else { -1.0 };
        self.steps.clear();
        match scores.as_slice() {
            [score] => self.steps.push(proximal::step(&self.loss, sign(y == 1), *score, square, hardness)),
            scores if self.loss == Loss::Logistic => {
                let kappa = (0.5 / hardness).min(1e300);
                softmax_step::probabilities(scores, y, kappa * square, &mut self.steps);
                for (k, step) in self.steps.iter_mut().enumerate() {
                    *step = kappa * (f64::from(u8::from(k == y)) - *step);
                }
            }
            scores => self.steps.extend(
                scores
                    .iter()
                    .enumerate()
                    .map(|(k, score)| proximal::step(&self.loss, sign(k == y), *score, square, hardness)),
            ),
        }
        scratch.give_numbers(scores);
    }

    fn descend(&mut self, features: Features<'_>, y: usize, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.decide(features, y, w, scratch);
        self.spare.resize(self.functions.len(), Vec::new());
        let mut sound = true;
        for ((weights, spare), &step) in self.functions.iter().zip(&mut self.spare).zip(&self.steps) {
            sound &= risk::propose(weights, features, step, spare);
        }
        if !sound {
            return Err(Fault::overflow(NAME));
        }
        for (weights, spare) in self.functions.iter_mut().zip(&mut self.spare) {
            risk::commit(weights, features, spare);
        }
        self.current = self.stiffness.after(self.current);
        Ok(())
    }

    fn write(&self, scores: &[f64], want: Want, out: &mut ClassPrediction) {
        out.clear();
        match scores {
            [] => {}
            [score] => {
                out.class = Some(u32::from(*score > 0.0));
                if want == Want::Probabilities {
                    let p = self.loss.probability(*score);
                    out.probabilities.extend([1.0 - p, p]);
                }
            }
            scores => {
                out.class = most(scores);
                if want == Want::Probabilities {
                    out.probabilities.extend_from_slice(scores);
                    self.normalise(&mut out.probabilities);
                }
            }
        }
    }

    fn normalise(&self, scores: &mut [f64]) {
        if self.loss == Loss::Logistic {
            return softmax(scores);
        }
        scores.iter_mut().for_each(|score| *score = self.loss.probability(*score));
        let (sum, count) = (scores.iter().sum::<f64>(), scores.len() as f64);
        scores.iter_mut().for_each(|p| *p = if sum > 0.0 { *p / sum } else { 1.0 / count });
    }
}

impl Part for IrmaClassifier {
    fn save(&self) -> Result<Vec<u8>> {
        self.state(self.ground.state.clone())
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        self.stiffness.validate(NAME, state.stiffness)?;
        let mut ground = self.ground.clone();
        ground.load(NAME, state.ground)?;
        let learned = !state.functions.is_empty();
        require(NAME, learned || ground.state.coordinates.width() == 0, "coordinates without weights")?;
        require(NAME, state.functions.len() != 2, "two functions instead of one, or three and more")?;
        for weights in &state.functions {
            require(NAME, weights.len() == ground.width(), "a wrong number of weights")?;
            require(NAME, all_finite(weights), "a weight is not finite")?;
        }
        (self.ground, self.current, self.functions) = (ground, state.stiffness, state.functions);
        Ok(())
    }

    fn memory(&self) -> usize {
        let vectors = self.functions.iter().chain(&self.spare).map(|weights| 24 + 8 * weights.capacity());
        std::mem::size_of::<Self>() + vectors.sum::<usize>() + self.ground.memory()
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            missing_is_zero: true,
            wants_orthonormal: self.ground.wants_orthonormal(),
            ..Abilities::default()
        }
    }

    fn change_basis(&self, change: &[f64]) -> Result<Option<Vec<u8>>> {
        self.state(self.ground.change_basis(change)).map(Some)
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let planes = self.functions.iter().map(|weights| json!({ "weights": self.ground.named(weights, schema) }));
        json!({ "planes": planes.collect::<Vec<_>>(), "stiffness": self.current })
    }
}

impl Learner<Classes> for IrmaClassifier {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        self.ground.with(x, scratch, |features, scratch| {
            let mut scores = scratch.take_numbers();
            self.scores(features, &mut scores);
            self.write(&scores, want, out);
            scratch.give_numbers(scores);
        });
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        let y = y as usize;
        let before = self.ground.grow(NAME, x)?;
        let known = self.functions.len();
        let settled = if known == 1 { y < 2 } else { y < known };
        let grown = before < self.ground.state.coordinates.width() || !settled;
        // Kept where the functions change their number or their width, which is seldom.
        let kept = grown.then(|| self.functions.clone());
        if grown || known == 0 {
            self.admit(y);
        }
        // Moved out while it is read, since the features may borrow from it.
        let ground = std::mem::take(&mut self.ground);
        let learned = ground.with(x, scratch, |features, scratch| self.descend(features, y, w, scratch));
        self.ground = ground;
        if learned.is_err() {
            self.ground.shrink(before);
            if let Some(kept) = kept {
                self.functions = kept;
            }
        }
        learned
    }

    fn decision_function(&self) -> Option<&dyn DecisionFunction> {
        Some(self)
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

impl DecisionFunction for IrmaClassifier {
    fn score(&self, x: Row<'_>, scratch: &mut Scratch) -> Option<f64> {
        if self.functions.len() > 1 {
            return None;
        }
        Some(self.ground.with(x, scratch, |features, _| match self.functions.first() {
            Some(weights) => finite(risk::score_and_square(weights, features).0),
            None => 0.0,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn build(parameters: Json) -> Box<dyn Learner<Classes>> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Classifier(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    /// Hinge, λ = 1, so κ = 1/2; ψ = (2, 0), s = 4, y = +1, z = 0: the margin lacks 1, a = min(1/4, 1/2) = 1/4,
    /// w = (1/2, 0), score 1. Then y = −1 at λ = 2 (growth 2), κ = 1/4: it lacks 2, a = −min(1/2, 1/4), w = (0, 0).
    #[test]
    fn one_step_by_hand() {
        let mut model = build(json!({ "loss": "losses.Hinge", "stiffness": 1.0, "growth": 2.0 }));
        let mut scratch = Scratch::default();
        let x = Row::Plain(&[2.0, 0.0]);
        model.learn(x, 1, 1.0, &mut scratch).unwrap();
        assert_eq!(model.decision_function().unwrap().score(x, &mut scratch), Some(1.0));
        model.learn(x, 0, 1.0, &mut scratch).unwrap();
        assert_eq!(model.decision_function().unwrap().score(x, &mut scratch), Some(0.0));
    }

    #[test]
    fn a_third_class_that_is_refused_leaves_no_trace() {
        let mut model = build(json!({}));
        let mut scratch = Scratch::default();
        model.learn(Row::Plain(&[1.0]), 1, 1.0, &mut scratch).unwrap();
        let before = model.save().unwrap();
        assert!(model.learn(Row::Plain(&[1e200, 1e308]), 2, 1.0, &mut scratch).is_err());
        assert_eq!(model.save().unwrap(), before);
        model.learn(Row::Plain(&[1.0, 2.0]), 2, 1.0, &mut scratch).unwrap();
        let mut out = ClassPrediction::default();
        model.predict(Row::Plain(&[1.0, 2.0]), Want::Probabilities, &mut out, &mut scratch);
        assert_eq!(out.class, Some(2));
        assert!((out.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
