//! Softmax regression with the steps of `optim.Adaptive`: scale-free, importance-aware and with penalties.
//!
//! As a function of one score z_k, with the others fixed, the softmax loss is a logistic loss:
//! ```text
//! −ln p_y = ln(1 + e^(−v))  for k = y,   constant + ln(1 + e^v)  for k ≠ y,   v = z_k − ln Σ_{j ≠ k} e^(z_j)
//! ```
//! so each score follows the gradient flow of that logistic loss (losses/flow.rs), and its weights take the step of
//! full_vector/adaptive.rs. A class has weights, and statistics of its gradients, from its first example on. An example
//! moves the weights of all classes or none.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::Built;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::learner::Learner;
use crate::losses::{logistic_slope, Loss};
use crate::optim::{Features, FullVectorOptimizer, Penalty};
use crate::parameter::Arguments;
use crate::part::{Abilities, Part};
use crate::row::{finite, most, Row, Scratch, Value, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, Classes};

use super::full_vector::adaptive::{self, Adaptive, Proposed};
use super::full_vector::{refuse_unsupported, Example, Memory, VectorUpdate};
use super::softmax_regression::softmax;
use super::{named, Coordinates};

/// The largest |v|: e^700 is still finite.
const MOST: f64 = 700.0;

#[derive(Clone)]
struct AdaptiveSoftmax {
    who: String,
    clip: f64,
    intercept: bool,
    /// The rule with its buffers, of each class.
    rules: Vec<Adaptive>,
    unused: Adaptive,
    state: State,
    /// The coordinates, and which classes were met, at `savepoint`.
    held: Option<(Coordinates, Vec<bool>)>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    coordinates: Coordinates,
    /// By class code; none for a class that was not met.
    classes: Vec<Option<adaptive::State>>,
}

pub fn build(arguments: &Arguments<'_>, optimizer: FullVectorOptimizer) -> Result<Built> {
    let FullVectorOptimizer::Adaptive { rate, power, penalty } = optimizer else {
        return Err(Fault::value(format!(
            "{}: {} updates one score at a time: use it with linear_model.LinearRegression or \
             linear_model.LogisticRegression, and multiclass.OneVsRest for several classes",
            arguments.who,
            optimizer.name()
        )));
    };
    refuse_unsupported(arguments, &optimizer)?;
    let penalty = penalty.plus(Penalty { l1: arguments.float("l1")?, l2: arguments.float("l2")? });
    Ok(Built::Classifier(Box::new(AdaptiveSoftmax {
        who: arguments.who.into(),
        clip: arguments.float("clip_gradient")?,
        intercept: arguments.boolean("intercept")?,
        rules: Vec::new(),
        unused: Adaptive::new(rate, power, penalty),
        state: State::default(),
        held: None,
    })))
}

impl AdaptiveSoftmax {
    /// The scores of all classes; −∞ for one that was not met.
    fn scores(&self, features: Features<'_>, scores: &mut Vec<f64>) {
        scores.extend(self.state.classes.iter().map(|class| match class {
            Some(class) => finite(class.score(features)),
            None => f64::NEG_INFINITY,
        }));
    }

    fn write(&self, scores: &[f64], want: Want, out: &mut ClassPrediction) {
        out.clear();
        if !self.state.classes.iter().any(Option::is_some) {
            return;
        }
        out.class = most(scores);
        if want == Want::Probabilities {
            out.probabilities.extend_from_slice(scores);
            softmax(&mut out.probabilities);
        }
    }

    fn is_met(&self, code: usize) -> bool {
        self.state.classes.get(code).is_some_and(Option::is_some)
    }

    /// Give coordinates to all that is new in `x`, and weights to `y`.
    fn grow(&mut self, x: Row<'_>, y: usize) {
        let State { coordinates, classes } = &mut self.state;
        let known = classes.get(y).is_some_and(Option::is_some);
        if known && !coordinates.may_grow(x) {
            return;
        }
        coordinates.grow(x);
        if classes.len() <= y {
            classes.resize(y + 1, None);
        }
        classes[y].get_or_insert_with(|| self.unused.start());
        self.rules.resize(classes.len().max(self.rules.len()), self.unused.clone());
        for class in classes.iter_mut().flatten() {
            self.unused.grow(class, coordinates.width());
        }
    }

    fn shrink(&mut self, width: usize, known: usize, new: Option<usize>) {
        self.state.coordinates.shrink(width);
        if let Some(class) = new.and_then(|code| self.state.classes.get_mut(code)) {
            *class = None;
        }
        self.state.classes.truncate(known);
        for class in self.state.classes.iter_mut().flatten() {
            class.shrink(width);
        }
    }

    /// The proposals of all classes; false if any would overflow. Whether there is a step is written to `steps`.
    fn propose(
        &mut self,
        features: Features<'_>,
        y: usize,
        w: f64,
        scores: &[f64],
        others: &[f64],
        steps: &mut Vec<u32>,
    ) -> bool {
        for (code, (class, rule)) in self.state.classes.iter().zip(&mut self.rules).enumerate() {
            let Some(class) = class else { continue };
            let sign = if code == y { 1.0 } else { -1.0 };
            let score = match others[code] == f64::NEG_INFINITY && scores[code] == f64::NEG_INFINITY {
                true => -MOST,
                false => (scores[code] - others[code]).clamp(-MOST, MOST),
            };
            let slope = logistic_slope(sign, score).clamp(-self.clip, self.clip);
            let example = Example {
                features,
                intercept: self.intercept,
                w,
                slope,
                gradient: slope * w,
                t: 1.0,
                y: sign,
                score,
                loss: Loss::Logistic,
                clip: self.clip,
            };
            match rule.propose(class, &example) {
                Proposed::Step => steps.push(code as u32),
                Proposed::Nothing => {}
                Proposed::Overflow => return false,
            }
        }
        true
    }

    /// Learn, and write to `answer` what was predicted before.
    fn take(
        &mut self,
        x: Row<'_>,
        y: usize,
        w: f64,
        answer: Option<(Want, &mut ClassPrediction)>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (width, known) = (self.state.coordinates.width(), self.state.classes.len());
        let new = (!self.is_met(y)).then_some(y);
        self.grow(x, y);
        let located = self.state.coordinates.locate(x, scratch);
        let (mut scores, mut others) = (scratch.take_numbers(), scratch.take_numbers());
        let mut steps = scratch.take_indices();
        self.scores(located.features(), &mut scores);
        if let Some((want, out)) = answer {
            self.write(&scores, want, out);
        }
        if let Some(code) = new {
            // It has probability 0 until now.
            scores[code] = f64::NEG_INFINITY;
        }
        log_sums_of_others(&scores, &mut others);
        let sound = self.propose(located.features(), y, w, &scores, &others, &mut steps);
        if sound {
            for &code in &steps {
                if let Some(class) = &mut self.state.classes[code as usize] {
                    self.rules[code as usize].commit(class, located.features());
                }
            }
        }
        located.release(scratch);
        scratch.give_numbers(scores);
        scratch.give_numbers(others);
        scratch.give_indices(steps);
        if !sound {
            self.shrink(width, known, new);
            return Err(Fault::overflow(&self.who));
        }
        Ok(())
    }
}

/// ln Σ_{j ≠ k} e^(z_j) for each k. Sums from both ends, since subtracting the own term from the sum of all would
/// cancel.
fn log_sums_of_others(scores: &[f64], out: &mut Vec<f64>) {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        out.resize(scores.len(), f64::NEG_INFINITY);
        return;
    }
    let mut before = 0.0;
    for score in scores {
        out.push(before);
        before += (score - largest).exp();
    }
    let mut after = 0.0;
    for (score, sum) in scores.iter().zip(out.iter_mut()).rev() {
        *sum = (*sum + after).ln() + largest;
        after += (score - largest).exp();
    }
}

impl Part for AdaptiveSoftmax {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(&self.who, bytes)?;
        state.coordinates.validate(&self.who)?;
        let width = state.coordinates.width();
        for class in state.classes.iter().flatten() {
            class.validate(&self.who, width)?;
            let constant = self.intercept || class.constant() == 0.0;
            require(&self.who, constant, "an intercept where there is none")?;
        }
        require(
            &self.who,
            width == 0 || state.classes.iter().any(Option::is_some),
            "coordinates without a class",
        )?;
        require(&self.who, state.classes.last().is_none_or(Option::is_some), "the last class has no weights")?;
        self.rules.resize(state.classes.len().max(self.rules.len()), self.unused.clone());
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        let classes = self.state.classes.iter().flatten().map(Memory::memory).sum::<usize>();
        let rules = self.rules.iter().map(VectorUpdate::memory).sum::<usize>();
        std::mem::size_of::<Self>()
            + self.state.classes.len() * std::mem::size_of::<Option<adaptive::State>>()
            + self.rules.len() * std::mem::size_of::<Adaptive>()
            + classes
            + rules
            + self.state.coordinates.memory()
    }

    fn savepoint(&mut self) -> bool {
        let met = self.state.classes.iter().map(Option::is_some).collect();
        self.held = Some((self.state.coordinates.clone(), met));
        self.state.classes.iter_mut().flatten().all(Memory::savepoint)
    }

    fn rollback(&mut self) {
        if let Some((coordinates, met)) = self.held.take() {
            self.state.coordinates = coordinates;
            self.state.classes.truncate(met.len());
            for (class, met) in self.state.classes.iter_mut().zip(met) {
                if !met {
                    *class = None;
                }
            }
            self.state.classes.iter_mut().flatten().for_each(Memory::rollback);
        }
    }

    fn commit(&mut self) {
        self.held = None;
        self.state.classes.iter_mut().flatten().for_each(Memory::commit);
    }

    fn abilities(&self) -> Abilities {
        Abilities { missing_is_zero: true, ..Abilities::default() }
    }

    /// As that of softmax regression; a class without weights has an empty entry.
    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let State { coordinates, classes } = &self.state;
        let plane = |class: &Option<adaptive::State>| {
            let weight = |slot: usize, value: Value| {
                coordinates
                    .of(slot, value)
                    .map(|index| class.as_ref().map_or(0.0, |class| class.weight(index as usize)))
            };
            let intercept = class.as_ref().map_or(0.0, Memory::constant);
            json!({ "intercept": intercept, "weights": named(schema, weight) })
        };
        json!({ "classes": classes.iter().map(plane).collect::<Vec<_>>() })
    }
}

impl Learner<Classes> for AdaptiveSoftmax {
    fn predict(&self, x: Row<'_>, want: Want, out: &mut ClassPrediction, scratch: &mut Scratch) {
        let located = self.state.coordinates.locate(x, scratch);
        let mut scores = scratch.take_numbers();
        self.scores(located.features(), &mut scores);
        self.write(&scores, want, out);
        scratch.give_numbers(scores);
        located.release(scratch);
    }

    fn learn(&mut self, x: Row<'_>, y: u32, w: f64, scratch: &mut Scratch) -> Result<()> {
        self.take(x, y as usize, w, None, scratch)
    }

    fn step(
        &mut self,
        x: Row<'_>,
        y: u32,
        w: f64,
        want: Want,
        out: &mut ClassPrediction,
        scratch: &mut Scratch,
    ) -> Result<()> {
        // Predict apart before there is one class more, and before there are more coordinates, over which a dense sum is
        // added in another order.
        let wider = matches!(x, Row::Plain(values) if values.len() > self.state.coordinates.width());
        if wider || !self.is_met(y as usize) {
            self.predict(x, want, out, scratch);
            return self.learn(x, y, w, scratch);
        }
        self.take(x, y as usize, w, Some((want, out)), scratch)
    }

    /// −ln P(y | x), by scores: a probability may be too small for a number.
    fn loss(&self, x: Row<'_>, y: u32, scratch: &mut Scratch) -> Option<f64> {
        if !self.is_met(y as usize) {
            return None;
        }
        let located = self.state.coordinates.locate(x, scratch);
        let mut scores = scratch.take_numbers();
        self.scores(located.features(), &mut scores);
        located.release(scratch);
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|score| (score - most).exp()).sum();
        let loss = most - scores[y as usize] + sum.ln();
        scratch.give_numbers(scores);
        Some(loss)
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn model(parameters: serde_json::Value) -> Box<dyn Learner<Classes>> {
        let description = json!({ "name": "linear_model.SoftmaxRegression", "parameters": parameters });
        let description = registry::resolve(&description).unwrap();
        let Built::Classifier(model) = registry::build_resolved(&description).unwrap() else { panic!() };
        model
    }

    #[test]
    fn two_steps_by_hand() {
        let mut model = model(json!({ "optimizer": "adaptive", "intercept": false }));
        let (mut scratch, mut out) = (Scratch::default(), ClassPrediction::default());
        let x = Row::Plain(&[1.0]);
        // Class 0 was never met: slope −1, a = 1, c = 1, τ = 0.5, and the flow at constant slope is 0.5: w₀ = 0.5.
        model.learn(x, 0, 1.0, &mut scratch).unwrap();
        // Class 1 likewise: w₁ = 0.5. Class 0 has probability 1 and slope 1: a = 1 + 1 = 2, c = 1 / √2,
        // τ = 0.5 / √2 = 0.3536. Its v is 0.5 − (−∞), limited to 700, where the slope stays 1: w₀ = 0.5 − 0.3536.
        model.learn(x, 1, 1.0, &mut scratch).unwrap();
        let odds = (0.5 / 2f64.sqrt()).exp();
        model.predict(x, Want::Probabilities, &mut out, &mut scratch);
        assert_eq!(out.class, Some(1));
        assert!((out.probabilities[1] - odds / (1.0 + odds)).abs() < 1e-15, "{:?}", out.probabilities);
    }

    #[test]
    fn an_overflow_of_one_class_leaves_all() {
        let mut model = model(json!({ "optimizer": "adaptive" }));
        let mut scratch = Scratch::default();
        model.learn(Row::Plain(&[1.0]), 1, 1.0, &mut scratch).unwrap();
        let before = model.save().unwrap();
        assert!(model.learn(Row::Plain(&[1.0, 1.0]), 4, 1e308, &mut scratch).is_err());
        assert_eq!(model.save().unwrap(), before);
    }

    #[test]
    fn an_example_of_great_weight_does_not_go_too_far() {
        let mut model = model(json!({ "optimizer": "adaptive" }));
        let (mut scratch, mut out) = (Scratch::default(), ClassPrediction::default());
        for y in [0, 1, 2, 0, 1, 2] {
            model.learn(Row::Plain(&[1.0]), y, 1.0, &mut scratch).unwrap();
        }
        model.learn(Row::Plain(&[1.0]), 1, 1e6, &mut scratch).unwrap();
        for y in [0, 0] {
            model.learn(Row::Plain(&[1.0]), y, 1e6, &mut scratch).unwrap();
        }
        // Plain steps would have moved the scores by about a thousand, with probabilities of exactly 0.
        model.predict(Row::Plain(&[1.0]), Want::Probabilities, &mut out, &mut scratch);
        assert_eq!(out.class, Some(0));
        assert!(out.probabilities[1] > 0.0, "{:?}", out.probabilities);
    }
}
